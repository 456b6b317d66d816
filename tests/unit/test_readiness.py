"""Before the first case of a run starts, every switch of all its cases is asked."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any, ClassVar, Literal

import pytest

from vsperf.cli import selection
from vsperf.engine import readiness
from vsperf.engine.run import plan_cases
from vsperf.engine.session import begin
from vsperf.errors import NotReadyError
from vsperf.host.cpus import CpuNeed, Needs
from vsperf.host.doctor.wants import Want
from vsperf.plugins import Plugin, Plugins
from vsperf.record.placeholder import Placeholder
from vsperf.record.plan import Placement, Step
from vsperf.spec.base import DriverSpec
from vsperf.spec.case import CaseSpec
from vsperf.spec.loader import Request
from vsperf.vswitches.base import SwitchPlan
from vsperf.vswitches.ports import places_of, vhost_endpoint


class PresentSpec(DriverSpec):
    kind: Literal["present"]


class AbsentSpec(DriverSpec):
    kind: Literal["absent"]


class Present:
    """A switch that is installed."""

    kind: ClassVar[str] = "present"
    summary: ClassVar[str] = "a switch of a test"
    Spec: ClassVar[type[DriverSpec]] = PresentSpec

    wants: frozenset[Want] = frozenset()
    sockets: tuple[str, ...] = ()

    def __init__(self, asked: list[str]) -> None:
        self.asked = asked

    def needs(self, case: CaseSpec) -> Needs:
        return Needs(cpus=(CpuNeed("pmd", 1),))

    def plan(self, case: CaseSpec, placement: Placement) -> SwitchPlan:
        ends = tuple(vhost_endpoint(place, "vhost-user") for place in places_of(case.topology))
        return SwitchPlan((Step(component="vswitch", action="start it"),), ends)

    def require(self, case: CaseSpec) -> None:
        self.asked.append(self.kind)

    def start(self, *arguments: Any) -> Any:
        pytest.fail("nothing may be started yet")


def _itself(driver: Present) -> Present:
    return driver


class Absent(Present):
    """One that is not."""

    kind = "absent"
    Spec = AbsentSpec

    def require(self, case: CaseSpec) -> None:
        super().require(case)
        raise NotReadyError("the switch of a test is not installed", fix="install it")


def test_a_run_begins_when_each_of_its_switches_is_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    # What else this machine may lack is no matter here.
    monkeypatch.setattr(readiness, "examine_for", lambda *_: [])
    monkeypatch.setattr(readiness, "refuse_beside_dead", lambda: None)
    monkeypatch.setattr(readiness, "require_memory", lambda *_: None)
    asked: list[str] = []
    own = (Present(asked), Absent(asked))
    found = tuple(Plugin("vswitch", one.kind, partial(_itself, one)) for one in own)
    plugins = Plugins((*Plugins.load().all, *found))
    request = Request(("phy2phy_smoke",), testbed="local", sets=("vswitch=[present,absent]",))
    loaded = selection.load(request, plugins)
    planned = plan_cases(loaded.cases, plugins)
    results = tmp_path / "results"
    with pytest.raises(NotReadyError, match="is not installed"):
        begin(loaded, planned, results, (), plugins)
    assert asked == ["present", "absent"]
    assert not results.exists()


def asked_before(
    driver: Present, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> list[dict[str, Any]]:
    """Plan a case with a switch of another package, and return what was asked of the machine."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(readiness, "refuse_beside_dead", lambda: None)
    monkeypatch.setattr(readiness, "require_memory", lambda *_: None)
    monkeypatch.setattr(readiness, "demand", lambda *_: None)
    plugins = Plugins((*Plugins.load().all, Plugin("vswitch", driver.kind, lambda: driver)))
    request = Request(("phy2phy_smoke",), testbed="local", sets=(f"vswitch={driver.kind}",))
    planned = plan_cases(selection.load(request, plugins).cases, plugins)
    return readiness.require_ready(planned, plugins, tmp_path)


def test_what_a_driver_of_another_package_wants_is_looked_at_before_a_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wants_nothing = {one["name"] for one in asked_before(Present([]), monkeypatch, tmp_path)}
    wanting = Present([])
    wanting.wants = frozenset({Want.HUGEPAGES, Want.TAPS})
    found = {one["name"] for one in asked_before(wanting, monkeypatch, tmp_path)}
    assert found - wants_nothing == {"hugepages", "tap devices"}


def test_a_socket_that_a_driver_makes_has_to_fit_into_the_folder_of_a_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    deep = Present([])
    deep.sockets = (f"{Placeholder.RUN}/{'deep' * 20}",)
    with pytest.raises(NotReadyError, match="too long for sockets"):
        asked_before(deep, monkeypatch, tmp_path)


def test_each_case_has_the_memory_and_the_cpus_of_its_own_switch(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    plugins = Plugins.load()
    two = "vswitch=[{kind: ovs-dpdk, name: a}, {kind: ovs-dpdk, name: b, hugepages: false}]"
    request = Request(("phy2phy_smoke",), testbed="local", sets=(two, "vswitch.main_cpus=0"))
    loaded = selection.load(request, plugins)
    first, second = plan_cases(loaded.cases, plugins)
    assert sum(first.plan.plan.hugepage_bytes.values()) > sum(
        second.plan.plan.hugepage_bytes.values()
    )
    asked = Plugins((*plugins.all, Plugin("vswitch", "present", lambda: Present([]))))
    request = Request(("phy2phy_smoke",), testbed="local", sets=("vswitch=[ovs-dpdk,present]",))
    ovs, other = plan_cases(selection.load(request, asked).cases, asked)
    assert ovs.plan.plan.placement.of("switch main")
    assert other.plan.plan.placement.of("switch main") == ()
