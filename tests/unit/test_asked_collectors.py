"""Collectors that ask a part: what it says becomes samples, and what does not fit is refused."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from series_samples import CASE, header

from vsperf.drivers.collectors.base import Parts, Seat
from vsperf.drivers.collectors.guest import Guest, GuestSpec
from vsperf.drivers.collectors.ovs import OvsCollectorSpec, OvsInsides
from vsperf.drivers.collectors.vpp import VppCollectorSpec, VppInsides
from vsperf.drivers.vswitches.ovs import parse
from vsperf.drivers.vswitches.ovs.parse import insides
from vsperf.drivers.vswitches.vpp.reading import Reading
from vsperf.drivers.vswitches.vpp.reading import insides as insides_of_vpp
from vsperf.errors import ComponentError, UsageError
from vsperf.plugins import Plugins
from vsperf.records.files.series import SeriesFile, series_of
from vsperf.records.run import Placement

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


def case(vswitch: str = "ovs-dpdk", vnf: str | None = None, vnfs: int = 0) -> Any:
    known = Plugins.load().specs()
    return SimpleNamespace(
        vswitch=known["vswitch"][vswitch](kind=vswitch),
        vnf=known["vnf"][vnf](kind=vnf) if vnf else None,
        topology=SimpleNamespace(name="p2p", vnfs=("vm1",) * vnfs),
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
    assert refused.value.problems[0].why == (
        "vswitch.kind is vpp, which does not tell what it asks"
    )


def test_without_vnfs_there_is_no_guest_to_ask() -> None:
    settings = GuestSpec(kind="guest")
    Guest().require(case(vnf="qemu", vnfs=1), settings)
    with pytest.raises(UsageError, match="nothing to collect"):
        Guest().require(case(vnf="qemu"), settings)
    with pytest.raises(UsageError, match="nothing to collect"):
        Guest().require(case(vnf="process", vnfs=1), settings)


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


def perf_show(bins: int, fast: int, slow: int) -> str:
    """Return what a daemon with metrics says of a thread: counters, histograms, milliseconds."""
    names = ("cycles/it", "packets/it", "cycles/pkt", "pkts/batch", "max vhost qlen", "upcalls/it")
    head = "   " + "  ".join(f"{name:<21}" for name in (*names, "cycles/upcall"))
    rows = [f"   {f'{bound:<9} {fast + bound:<11}  ' * 7}" for bound in range(bins)]
    rest = "   " + f"{'>':<9} {slow:<11}  " * 7
    averages = (
        "   499                    0.51200                904                    32.00000"
        "               0.00000                0.00000                0"
    )
    history = (
        "   ms             iterations   cycles/it    Kpps         cycles/pkt   pkts/batch   "
        "vhost qlen   upcalls      cycles/upcall"
    )
    milliseconds = (
        (1700000001000, 900, 2200, 1700, 910, 31, 4, 0, 0),
        (1700000000999, 800, 2500, 0, 0, 0, 0, 0, 0),
        (1700000000998, 700, 2900, 1500, 1200, 30, 9, 2, 8000),
        (0, 0, 0, 0, 0, 0, 0, 0, 0),
    )
    return "\n".join((
        "Time: 02:22:52.878", "Measurement duration: 3.188 s", "",
        "pmd thread numa_id 0 core_id 1:", "", "  Iterations:  40672785  (0.08 us/it)",
        "  Rx packets:                79872  (25 Kpps, 5247 cycles/pkt)", "", "Histograms", head,
        *rows, rest, "-" * 150, head, averages, "", history,
        *("   " + "".join(f"{number:<15}" for number in row) for row in milliseconds), "",
    ))  # fmt: skip


def test_metrics_of_ovs_are_histograms_and_the_worst_of_the_last_second() -> None:
    found = insides(parse.thread_performance(perf_show(3, 10, 5)), {})
    of_frames = found["pmd on CPU 1: cycles/pkt"]
    assert of_frames == {"bin_0": 10, "bin_1": 11, "bin_2": 12, "bin_more": 5}
    assert "pmd on CPU 1: max vhost qlen" in found
    assert found["pmd on CPU 1: last second"] == {
        "milliseconds": 3,
        "busy_milliseconds": 2,
        "longest_queue": 9,
        "upcalls_in_milliseconds": 2,
        "most_frames_in_ms": 1700,
        "most_cycles_per_frame_in_ms": 1200,
    }
    quantities = OvsInsides().quantities(OVS)
    for values in found.values():
        assert all(any(one.fits(name) for one in quantities) for name in values)


def test_a_switch_that_keeps_no_metrics_says_nothing_of_them() -> None:
    threads = parse.thread_performance((GOLDEN / "two-pmds-pmd-perf-show.txt").read_text())
    assert not [of for of in insides(threads, {}) if ":" in of]


RAN = Reading(
    nodes=("vhost-user-input", "ethernet-input", "never-called"),
    calls=((5, 0, 0), (100, 40, 0)),
    vectors=((0, 0, 0), (1000, 1000, 0)),
    clocks=((50, 0, 0), (9000, 3000, 0)),
    errors={"null-node/blackholed packets": 3},
)


class Runs:
    """A VPP that has carried 500 frames more whenever it is asked."""

    def __init__(self) -> None:
        self.asked = 0

    def insides(self) -> dict[str, dict[str, int]]:
        more = 500 * self.asked
        self.asked += 1
        return {
            "worker 1: ethernet-input": {
                "calls": 40 + more // 25,
                "frames": more,
                "cycles": 2 * more,
            },
            "main thread: idle": {"calls": 7, "frames": 0, "cycles": 70},
        }


def test_what_vpp_counts_is_by_thread_and_node() -> None:
    found = insides_of_vpp(RAN, {"default-numa-0": 16384})
    assert found == {
        "main thread: vhost-user-input": {"calls": 5, "frames": 0, "cycles": 50},
        "worker 1: vhost-user-input": {"calls": 100, "frames": 1000, "cycles": 9000},
        "worker 1: ethernet-input": {"calls": 40, "frames": 1000, "cycles": 3000},
        "daemon": {"count_null-node/blackholed packets": 3, "buffers_default-numa-0": 16384},
    }
    quantities = VppInsides().quantities(VppCollectorSpec(kind="vpp"))
    for values in found.values():
        assert all(any(one.fits(name) for one in quantities) for name in values)


def test_vectors_per_call_and_clocks_per_frame_are_those_of_the_trial(tmp_path: Path) -> None:
    with VppInsides().start(VppCollectorSpec(kind="vpp"), seat(tmp_path, Runs())) as running:
        for trial in (3, 4):
            running.begin(trial)
            running.end(trial)
    (series,) = series_of(tmp_path, CASE, 1)
    per = {
        (one.trial, one.of): (one.values["frames_per_call"], one.values["cycles_per_frame"])
        for one in series.samples()
        if "frames_per_call" in one.values
    }
    assert per == {
        (3, "worker 1: ethernet-input"): (25.0, 2.0),
        (4, "worker 1: ethernet-input"): (25.0, 2.0),
    }, "a node without frames has none, and what was between two trials is of none"


def test_vpp_is_asked_of_vpp_only() -> None:
    settings = VppCollectorSpec(kind="vpp")
    VppInsides().require(case("vpp"), settings)
    with pytest.raises(UsageError) as refused:
        VppInsides().require(case("ovs-dpdk"), settings)
    assert refused.value.problems[0].why == (
        "vswitch.kind is ovs-dpdk, which does not tell what it asks"
    )
