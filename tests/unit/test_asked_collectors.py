"""Collectors that ask a part: what it says becomes samples, and what does not fit is refused."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from series_samples import CASE, header

from vsperf.collectors.base import Parts, Seat
from vsperf.collectors.guest import Guest, GuestSpec
from vsperf.collectors.ovs import OvsCollectorSpec, OvsInsides
from vsperf.errors import ComponentError, UsageError
from vsperf.record.plan import Placement
from vsperf.store.series import SeriesFile, series_of
from vsperf.vswitches.ovs import parse
from vsperf.vswitches.ovs.insides import insides

GOLDEN = Path(__file__).parents[1] / "golden" / "ovs"
OVS = OvsCollectorSpec(kind="ovs")


class Counts:
    """A part that counts one more each time that it is asked."""

    def __init__(self) -> None:
        self.asked = 0

    def insides(self) -> dict[str, dict[str, int]]:
        self.asked += 1
        return {"daemon": {"coverage_upcall": self.asked}, "silent": {}}


def seat(folder: Path, switch: object) -> Seat:
    case: Any = SimpleNamespace()
    place: Any = SimpleNamespace()
    file = SeriesFile.begin(folder, header("ovs"))
    return Seat("ovs", case, Placement(), place, Parts(switch, None, None), file)


def case(vswitch: str = "ovs-dpdk", vnf: str | None = None, machines: int = 0) -> Any:
    return SimpleNamespace(
        vswitch=SimpleNamespace(kind=vswitch),
        vnf=SimpleNamespace(kind=vnf, has_agent=True) if vnf else None,
        topology=SimpleNamespace(name="p2p", machines=("vm1",) * machines),
    )


def test_it_is_asked_before_a_trial_and_after_it(tmp_path: Path) -> None:
    with OvsInsides().start(OVS, seat(tmp_path, Counts())) as running:
        running.begin(7)
        running.end(7)
    (found,) = series_of(tmp_path, CASE, 1)
    assert [(one.trial, one.of, one.values) for one in found.samples()] == [
        (7, "daemon", {"coverage_upcall": 1}),
        (7, "daemon", {"coverage_upcall": 2}),
    ]


def test_a_switch_that_cannot_be_asked_is_refused(tmp_path: Path) -> None:
    with (
        pytest.raises(ComponentError, match="cannot be asked"),
        OvsInsides().start(OVS, seat(tmp_path, object())),
    ):
        pass


def test_another_switch_than_it_knows_is_refused_with_both() -> None:
    OvsInsides().require(case("ovs"), OVS)
    with pytest.raises(UsageError) as refused:
        OvsInsides().require(case("vpp"), OVS)
    assert refused.value.problems[0].why == "it asks ovs-dpdk or ovs, and vswitch.kind is vpp"


def test_without_machines_there_is_no_guest_to_ask() -> None:
    settings = GuestSpec(kind="guest")
    Guest().require(case(vnf="qemu", machines=1), settings)
    with pytest.raises(UsageError, match="nothing to collect"):
        Guest().require(case(vnf="qemu"), settings)
    with pytest.raises(UsageError, match="nothing to collect"):
        Guest().require(case(vnf="process", machines=1), settings)


def test_what_ovs_says_has_our_names_and_nothing_of_the_record() -> None:
    threads = parse.thread_performance((GOLDEN / "two-pmds-pmd-perf-show.txt").read_text())
    found = insides(threads, {"netdev_sent": 5})
    assert list(found) == ["pmd on CPU 0", "pmd on CPU 1", "daemon"]
    one = found["pmd on CPU 0"]
    assert (one["iterations"], one["busy_iterations"], one["sent_batches"]) == (
        40672785,
        2496,
        2496,
    )
    assert found["daemon"] == {"coverage_netdev_sent": 5}
    named = {quantity.name for quantity in OvsInsides().quantities(OVS)}
    assert set(one) <= named
