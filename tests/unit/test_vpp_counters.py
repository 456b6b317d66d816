"""What VPP counts becomes the counters of a switch, and closes the account of a trial."""

from __future__ import annotations

from typing import Any

from switch_cases import PVP
from vpp_cases import vpp_case

from vsperf.record.switch import SwitchCounters
from vsperf.vswitches.vpp.counters import address_counts, switch_counters
from vsperf.vswitches.vpp.layout import SwitchPort, ports_of
from vsperf.vswitches.vpp.reading import Reading
from vsperf.vswitches.vpp.spec import VppSpec
from vsperf.vswitches.vpp.work import Meter

FIRST, SECOND = "VirtualEthernet0/0/0", "VirtualEthernet0/0/1"
FULL = "tx packet drops (no available descriptors)"
INTERFACES = {"phy0": 1, "phy1": 2}


def ports(switch: dict[str, Any] | None = None, **case: Any) -> tuple[SwitchPort, ...]:
    made = vpp_case(switch, **case)
    assert isinstance(made.vswitch, VppSpec)
    return ports_of(made, made.vswitch)


def found(**changed: Any) -> Reading:
    """Return a reading of two workers; the main thread is the first, and forwards nothing."""
    usual: dict[str, Any] = {
        "names": ("local0", FIRST, SECOND),
        "received": ((0, 0, 0), (0, 600, 0), (0, 0, 400)),
        "sent": ((0, 0, 0), (0, 0, 600), (0, 400, 0)),
        "dropped": ((0, 0, 0), (0, 0, 0), (0, 0, 0)),
    }
    return Reading(**{**usual, **changed})


def test_frames_are_summed_over_threads() -> None:
    counters = switch_counters(ports(), INTERFACES, found())
    assert [(one.name, one.received_frames, one.sent_frames) for one in counters.ports] == [
        ("phy0", 600, 400),
        ("phy1", 400, 600),
    ]
    assert counters.dropped_frames == 0


def test_a_frame_that_found_a_full_ring_was_dropped_once_and_not_sent() -> None:
    """VPP counts it as sent, among the dropped ones of the interface, and by its reason."""
    read = found(dropped=((0, 0, 0), (0, 0, 90)), errors={f"{SECOND}-tx/{FULL}": 90})
    _, second = switch_counters(ports(), INTERFACES, read).ports
    assert second.sent_frames == 510
    assert {reason: count for reason, count in second.drops.items() if count} == {f"tx {FULL}": 90}
    assert second.lost_on_sending == 90


def test_a_memif_does_not_count_those_among_the_dropped_ones() -> None:
    read = found(
        names=("local0", "memif1/0", "memif2/0"),
        dropped=((0, 0, 0), (0, 0, 7)),
        errors={"memif2/0-tx/no_free_slots": 90, "memif2/0-tx/rollback": 3},
    )
    _, second = switch_counters(ports({"ports": "memif"}), INTERFACES, read).ports
    assert second.lost_on_sending == second.drops["tx no_free_slots"] == 90
    assert second.drops["rx dropped"] == 7


def test_what_was_dropped_inside_is_lost_at_the_port_where_it_entered() -> None:
    read = found(dropped=((0, 0, 0), (0, 25, 0)), errors={"ip4-input/ip4 ttl <= 1": 25})
    first, _ = switch_counters(ports(), INTERFACES, read).ports
    assert first.drops["rx dropped"] == 25
    assert switch_counters(ports(), INTERFACES, read).dropped_frames == 25


def test_frames_that_a_full_tap_refused_were_not_sent() -> None:
    counters = switch_counters(ports(), INTERFACES, found(), refused={"phy1": 40})
    assert counters.ports[1].sent_frames == 560
    assert counters.ports[1].drops["tx tap full"] == 40


def test_a_port_that_vpp_does_not_count_for_is_missing() -> None:
    counters = switch_counters(ports(), {"phy0": 1, "phy1": 5}, found())
    assert [one.name for one in counters.ports] == ["phy0"]


def test_a_port_says_which_machine_is_behind_it() -> None:
    index = {"phy0": 1, "phy1": 2, "vm1_0": 1, "vm1_1": 2}
    counters = switch_counters(ports(topology=PVP), index, found())
    assert [(one.link, one.machine) for one in counters.ports] == [
        ("phy0", None), ("phy1", None), (None, "vm1"), (None, "vm1"),
    ]  # fmt: skip


def test_a_bridge_says_how_many_addresses_it_has_learned() -> None:
    counts = address_counts(40, 1000, found(errors={"l2-learn/L2 learn misses": 50}))
    assert (counts.known, counts.most, counts.learned) == (40, 1000, 50)


NODES = ("vhost-user-input", "ethernet-input", "l2-output")


def worked(
    frames: int, polls: int, finds: int, clocks: tuple[int, int, int], known: int = 0
) -> Reading:
    """Return what one worker has counted so far; `known` frames by its nodes."""
    return Reading(
        names=("local0", FIRST),
        received=((0, 0), (0, frames)),
        nodes=NODES,
        calls=((0, 0, 0), (polls, finds, finds)),
        clocks=((0, 0, 0), clocks),
        vectors=((0, 0, 0), (known, known, known)),
    )


def meter() -> Meter:
    """Return a meter that has seen that a poll in vain takes 50 cycles."""
    made = Meter(cpus=(3,), indices=(1,))
    made.learn(worked(0, 100, 0, (5_000, 0, 0)), worked(0, 300, 0, (15_000, 0, 0)))
    return made


def test_a_worker_that_only_polls_is_idle() -> None:
    made = meter()
    made.add(worked(0, 1_000, 0, (50_000, 0, 0)))
    (worker,) = made.add(worked(0, 2_000, 0, (110_000, 0, 0)))
    assert (worker.cpu, worker.frames, worker.busy_cycles, worker.idle_cycles) == (3, 0, 0, 60_000)


def test_polls_in_vain_are_idle_and_all_else_is_busy() -> None:
    made = meter()
    made.add(worked(0, 0, 0, (0, 0, 0)))
    (worker,) = made.add(worked(2_560, 1_010, 10, (150_000, 20_000, 30_000)))
    assert worker.idle_cycles == 1_000 * 50
    assert worker.busy_cycles == 150_000 + 20_000 + 30_000 - 50_000


def test_cycles_never_count_backwards() -> None:
    """VPP copies these counters while its workers write them, so now and then one is off."""
    made = meter()
    made.add(worked(100, 1_000, 10, (90_000, 9_000, 9_000)))
    (first,) = made.add(worked(200, 5_000, 20, (91_000, 9_100, 9_100)))
    (second,) = made.add(worked(300, 5_100, 30, (80_000, 9_200, 9_200)))
    assert second.busy_cycles >= first.busy_cycles >= 0
    assert second.idle_cycles >= first.idle_cycles >= 0


def test_a_worker_whose_nodes_found_more_frames_than_came_is_left_out_once() -> None:
    made = meter()
    made.add(worked(100, 1_000, 10, (50_000, 0, 0), known=100))
    assert made.add(worked(200, 9_000, 20, (500_000, 9_000, 9_000), known=300)) == ()
    (worker,) = made.add(worked(300, 9_100, 30, (510_000, 9_900, 9_900), known=400))
    assert (worker.frames, worker.busy_cycles) == (300, 10_000 - 90 * 50 + 2 * 900)


def test_without_knowing_what_polling_takes_nothing_is_said() -> None:
    made = Meter(cpus=(3,), indices=(1,))
    assert made.add(worked(100, 1_000, 10, (90_000, 9_000, 9_000))) == ()


def test_polling_is_not_learned_while_frames_come() -> None:
    made = Meter(cpus=(3,), indices=(1,))
    made.learn(worked(0, 100, 0, (5_000, 0, 0)), worked(9, 300, 9, (90_000, 0, 0)))
    assert made.empty_poll == {}


def test_counters_of_nodes_that_do_not_know_of_all_frames_are_waited_for() -> None:
    made = meter()
    made.add(worked(100, 1_000, 1, (50_000, 0, 0), known=100))
    assert made.knows_all(worked(100, 1_000, 1, (50_000, 0, 0), known=100))
    assert not made.knows_all(worked(400, 1_000, 1, (50_000, 0, 0), known=100))
    assert made.knows_all(worked(400, 3_000, 9, (90_000, 9_000, 9_000), known=400))


def test_what_nodes_did_is_told_of_each_worker() -> None:
    made = meter()
    before = made.add(worked(100, 1_000, 10, (50_000, 0, 0), known=100))
    after = made.add(worked(400, 3_000, 30, (90_000, 9_000, 0), known=400))
    growth = SwitchCounters(pmds=after).since(SwitchCounters(pmds=before))
    first, second, _ = growth.pmds[0].stages
    assert (first.name, first.calls, first.frames, first.cycles) == (
        "vhost-user-input", 2_000, 300, 40_000,
    )  # fmt: skip
    assert (second.name, second.calls) == ("ethernet-input", 20)


def test_reasons_that_did_not_grow_are_left_out() -> None:
    before = switch_counters(ports(), INTERFACES, found(errors={"a/b": 7, "c/d": 1}))
    after = switch_counters(ports(), INTERFACES, found(errors={"a/b": 7, "c/d": 5}))
    assert after.since(before).reasons == {"c/d": 4}
