"""A run loads the drivers that it names; one that is broken is in nobody's way."""

from __future__ import annotations

import subprocess
import sys
from typing import Any, Literal

import pytest

from vsperf.config.base import DriverSpec
from vsperf.errors import UsageError
from vsperf.plugins import Plugin, Plugins

PLAN = """
import sys
from vsperf.cli.main import main
sys.argv = ["vsperf", "plan", "phy2phy_smoke", "--testbed", "sim"]
try:
    main()
finally:
    print(*(name for name in sys.modules if name.startswith("vsperf.")), file=sys.stderr)
"""


class WorkingSpec(DriverSpec):
    kind: Literal["working"]


class Working:
    Spec = WorkingSpec


@pytest.fixture(name="asked")
def fixture_asked() -> list[str]:
    return []


@pytest.fixture(name="plugins")
def fixture_plugins(asked: list[str]) -> Plugins:
    def working() -> Working:
        asked.append("working")
        return Working()

    def broken() -> Any:
        raise ImportError("no module named missing")

    return Plugins((Plugin("vnf", "working", working), Plugin("vnf", "broken", broken)))


def test_a_plan_loads_no_driver_that_it_does_not_name() -> None:
    done = subprocess.run(
        [sys.executable, "-c", PLAN], check=False, capture_output=True, text=True, timeout=60
    )
    loaded = set(done.stderr.split())
    assert {"vsperf.drivers.vswitches.sim", "vsperf.drivers.generators.sim"} <= loaded
    others = {"vpp.driver", "ovs.dpdk.driver", "linux_bridge.driver", "testpmd.driver"}
    assert loaded.isdisjoint(f"vsperf.drivers.vswitches.{one}" for one in others)
    assert loaded.isdisjoint(
        {"vsperf.drivers.generators.tgen.driver", "vsperf.drivers.vnfs.qemu.driver"}
    )


def test_a_driver_is_loaded_when_it_is_asked_for_and_once(
    plugins: Plugins, asked: list[str]
) -> None:
    known = plugins.specs()["vnf"]
    assert asked == []
    assert known["working"] is WorkingSpec
    assert isinstance(plugins.driver("vnf", "working"), Working)
    assert asked == ["working"]


def test_a_broken_driver_is_not_among_those_that_can_be_named(plugins: Plugins) -> None:
    known = plugins.drivers("vnf")
    assert list(known) == ["working"]
    assert "broken" not in known
    with pytest.raises(UsageError) as caught:
        plugins.driver("vnf", "broken")
    assert caught.value.problems[0].why == "ImportError: no module named missing"


def test_an_unknown_driver_is_told_those_that_there_are(plugins: Plugins) -> None:
    with pytest.raises(UsageError) as caught:
        plugins.driver("vnf", "unknown")
    assert caught.value.problems[0].fix == "known drivers: working"
