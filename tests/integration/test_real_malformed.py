"""Testbeds that cannot work: each gets its message before anything is started."""

from __future__ import annotations

from pathlib import Path

import pytest
from real_runs import Ended, Place, fixture_calibrations, fixture_place

__all__ = ["fixture_calibrations", "fixture_place"]

pytestmark = pytest.mark.machine  # the hugepages of others come and go

SMOKE = ("run", "phy2phy_smoke")
NOBODY = (
    "setpriv",
    "--reuid=65534",
    "--regid=65534",
    "--clear-groups",
    "--inh-caps=+dac_override",  # so that it can read the program itself, wherever that is
    "--ambient-caps=+dac_override",
)
LABORATORY = """\
testbed:
  name: laboratory
  links:
    phy0: {speed: 10G, switch: "0000:ff:1f.6", generator: net_null0}
    phy1: {speed: 10G, switch: "0000:ff:1f.7", generator: net_null1}
vswitch: {kind: ovs-dpdk}
generator: {kind: tgen}
"""


def refused(place: Place, *settings: str, code: int, testbed: str = "local") -> Ended:
    """Run with these settings and see that nothing was started or stored."""
    ended = place(*SMOKE, f"--testbed={testbed}", *(f"--set={setting}" for setting in settings))
    assert ended.code == code, ended.err
    assert ended.events == []
    assert not [*place.results.glob("*")]
    assert "fix: " in ended.err or "at: --set " in ended.err  # the limit itself says the fix
    return ended


@pytest.mark.parametrize(
    ("setting", "words"),
    [
        ("vswitch.pmd_cpus=500", "CPU 500 is wanted for pmd"),
        ("generator.cpus=500", "CPU 500 is wanted for generator"),
        ("testbed.machines.local.cpus=0,500", "names the CPUs 0,500"),
        ("vswitch.pmds=100", "100 CPUs are wanted for pmd"),
        ("vswitch.rxqs=300", "must be at most 256"),
        ("generator.queues=300", "must be at most 16"),
        ("vswitch.rxq_affinity.phy0=0:500", "CPU 500"),
        ("vswitch.memory=64", "vswitch.memory is 64 MB"),
        ("vswitch.pmd_cpus=1-0", "vswitch.pmd_cpus"),
    ],
)
def test_what_the_machine_or_the_switch_does_not_have_is_refused(
    setting: str, words: str, place: Place
) -> None:
    assert words in refused(place, setting, code=2).err


def test_a_device_that_ovs_cannot_take_is_refused(place: Place) -> None:
    ended = refused(
        place,
        "testbed.links.phy0.switch=nonsense0",
        "testbed.links.phy0.generator=net_null0",
        code=2,
    )
    assert "names 'nonsense0' as the switch's device" in ended.err


def test_a_card_that_is_not_there_is_refused(place: Place) -> None:
    ended = refused(
        place,
        "testbed.links.phy0.switch=0000:ff:1f.7",
        "testbed.links.phy0.generator=net_null0",
        code=3,
    )
    assert "there is no NIC at 0000:ff:1f.7" in ended.err


def test_a_card_that_a_testbed_of_the_user_names_is_refused(place: Place) -> None:
    testbeds = place.folder / "conf" / "testbeds"
    testbeds.mkdir(parents=True)
    (testbeds / "laboratory.yaml").write_text(LABORATORY)
    ended = refused(place, code=3, testbed="laboratory")
    assert "there is no NIC at 0000:ff:1f.6" in ended.err


def test_a_place_whose_sockets_would_have_too_long_a_path_is_refused(
    place: Place, tmp_path: Path
) -> None:
    deep = tmp_path / ("deep" * 20)
    ended = place(*SMOKE, VSPERF_RUNTIME=str(deep))
    assert ended.code == 3, ended.err
    assert "too long for sockets" in ended.err
    assert "VSPERF_RUNTIME" in ended.err
    assert ended.events == []
    assert not deep.exists()


def test_more_memory_than_the_machine_has_is_refused_with_numbers(place: Place) -> None:
    ended = refused(place, "vswitch.memory=1048576", code=3)
    assert "1048832 MB of hugepages are needed on node 0" in ended.err


def test_an_installation_that_is_not_there_is_refused(place: Place) -> None:
    ended = place(*SMOKE, "--set=vswitch.install=/no/such/folder")
    assert ended.code == 3, ended.err
    assert "/no/such/folder" in ended.err + ended.out
    assert ended.phases == []


def test_nobody_but_root_may_run_it(place: Place) -> None:
    ended = place(*SMOKE, wrapped=NOBODY, VSPERF_RUNTIME=str(place.runtime.with_name("own")))
    assert ended.code == 3, ended.err
    assert "what makes devices wants root" in ended.err
    assert "fix: run vsperf with sudo" in ended.err
    assert not [*place.results.glob("*")]
