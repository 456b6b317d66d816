"""Real switches in turns: each forwards in its own, and none stands still when a run is over."""

from __future__ import annotations

import os
import signal
from contextlib import suppress
from pathlib import Path

import pytest
from conftest import Require
from real_runs import Place, Run, fixture_calibrations, fixture_place
from vpp_cases import vpp_install

from vsperf.records.run import Outcome
from vsperf.records.turns import Role, Round, answering

__all__ = ["fixture_calibrations", "fixture_place"]

pytestmark = pytest.mark.machine

COMPARISON = (
    "phy2phy_paired",
    "--vswitch=ovs-dpdk,testpmd",
    "--set=search.turn=1s",  # so a round is much longer than any stall
)


def held(place: Place) -> list[int]:
    """Return the programs of the deployment that stand still."""
    found = []
    for pid in place.programs():
        with suppress(OSError):  # it has just ended
            state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
            found += [pid] if state == "T" else []
    return found


def begun(place: Place) -> Run:
    """Start a comparison, and wait until somebody stands still in a round that goes on for long.

    Those before are short, to see that each switch forwards: as many as it takes where the machine
    was away.
    """
    run = place.start("run", *COMPARISON)
    run.wait_for("PhaseEntered", phase="search")
    run.wait_until(lambda: held(place))
    return run


@pytest.mark.everyday("three switches and a generator start, and are ended while two stand still")
def test_switches_that_stand_still_when_all_is_killed_are_cleaned_up(place: Place) -> None:
    run = begun(place)
    os.kill(run.process.pid, signal.SIGSTOP)  # it would let them go on
    place.signal("tgen", signal.SIGKILL)
    assert held(place)
    os.kill(run.process.pid, signal.SIGKILL)
    run.process.wait()
    # Of checks the last one is that in which all forwarded.
    *_, check = (one for one in next(place.records().cases()).rounds if one.role is Role.CHECK)
    assert {turn.side for turn in check.turns.rows() if turn.turn_received_frames} == {0, 1, 2}
    assert check.direction_names == ("phy0 to phy1", "phy1 to phy0")
    for turn in check.turns.rows():
        sent, came = turn.sent_by_direction, turn.received_by_direction
        assert sent is not None and came is not None
        assert len(sent) == len(came) == 2
        assert all(back > 0 for left, back in zip(sent, came, strict=True) if left)
        assert len(turn.slots_ns or ()) == 5
    assert place("clean").code == 0
    assert place.traces() == []


def test_switches_that_are_held_go_on_when_the_run_is_told_to_end(place: Place) -> None:
    run = begun(place)
    run.send(signal.SIGTERM)
    run.end()
    assert place.traces() == []


# Other kinds, and what is told at a load. Nothing of it asks how many passes a machine leaves:
# where too few are, the case says so, and turns are recorded all the same.

BRIEF = (
    "phy2phy_paired",
    "--set=search.rounds=6",
    "--set=search.pairs=20",
    "--set=search.control=false",
    "--set=search.patience=0%",
    "--set=trial.warm_up=0s",
)


def rounds_of(place: Place, *words: str) -> tuple[Round, ...]:
    """Have switches take turns, and return the rounds that count; nothing is left of them."""
    ended = place("run", *BRIEF, *words)
    (case,) = place.records().cases()
    assert case.record is not None, ended.err
    assert case.record.outcome in (Outcome.PASS, Outcome.INVALID), ended.said
    assert place.traces() == []
    return answering(case.rounds)


def assert_each_forwards_and_no_other(rounds: tuple[Round, ...]) -> None:
    assert len(rounds) == 6
    for one in rounds:
        for side in range(len(one.sides)):
            turns = [turn for turn in one.turns.rows() if turn.side == side]
            assert sum(turn.turn_received_frames for turn in turns) > 0
        elsewhere = sum(turn.elsewhere_frames for turn in one.turns.rows())
        assert elsewhere * 100 <= sum(one.turns.turn_received_frames)


@pytest.mark.needs("vpp", "dpdk-testpmd")
def test_a_vpp_takes_turns_with_others(place: Place) -> None:
    switches = f"[{{kind: testpmd}}, {{kind: vpp, install: {vpp_install()}}}]"
    assert_each_forwards_and_no_other(rounds_of(place, f"--set=vswitch={switches}"))


@pytest.mark.parametrize(
    ("part", "rival"),
    [
        ("bridges", "kind: linux-bridge"),
        ("bridges", "kind: linux-bridge, ports: pair"),
        ("ovs", "kind: ovs, ports: packet"),
    ],
)
def test_a_switch_of_the_kernel_takes_turns_and_some_of_them_can_be_used(
    part: str, rival: str, place: Place, require: Require
) -> None:
    """A burst to it takes the generator for longer than gaps last that are told of other ports."""
    for each in ("dpdk-testpmd", "taps", part):
        require(each)
    rounds = rounds_of(place, f"--set=vswitch=[{{kind: testpmd}}, {{{rival}}}]")
    assert_each_forwards_and_no_other(rounds)
    for one in rounds:
        own = [turn for turn in one.turns.rows() if turn.side == 1]
        assert any(turn.gaps_ns == 0 for turn in own)


@pytest.mark.everyday("three switches are started for each of six rounds")
@pytest.mark.needs("dpdk-testpmd", "taps", "bridges")
def test_rings_are_filled_for_those_that_are_held_and_others_are_offered_a_load(
    place: Place,
) -> None:
    rivals = "{kind: testpmd}, {kind: linux-bridge, ports: pair}"
    words = (f"--set=vswitch=[{{kind: ovs-dpdk}}, {rivals}]", "--set=search.full_rings=true")
    rounds = rounds_of(place, *words)
    assert_each_forwards_and_no_other(rounds)
    for one in rounds:
        for turn in one.turns.rows():
            assert bool(turn.fillings) is (turn.side < 2)
            assert turn.received_frames <= turn.turn_received_frames
            assert turn.measured_ns < turn.ended_ns - turn.began_ns


@pytest.mark.needs("dpdk-testpmd")
def test_processes_behind_switches_are_held_still_with_them(place: Place) -> None:
    words = ("--vswitch=ovs-dpdk,testpmd", "--set=topology=pvp", "--set=vnf.kind=process")
    assert_each_forwards_and_no_other(rounds_of(place, *words))


@pytest.mark.needs("guests")
def test_guests_stand_still_with_their_qemu_and_go_on_where_they_were(place: Place) -> None:
    words = ("--vswitch=ovs-dpdk", "--set=topology=pvp", "--set=search.control=true")
    assert_each_forwards_and_no_other(rounds_of(place, *words))


@pytest.mark.needs("dpdk-testpmd")
def test_at_a_load_each_turn_tells_how_long_frames_were_on_their_way(place: Place) -> None:
    words = ("--set=search.load=200kfps", "--set=search.metric=latency")
    rounds = rounds_of(place, "--vswitch=ovs-dpdk,testpmd", *words)
    assert_each_forwards_and_no_other(rounds)
    for turn in (turn for one in rounds for turn in one.turns.rows() if turn.latencies):
        assert turn.latency_p50_ns is not None
        assert turn.latency_p99_ns is not None
        assert 0 < turn.latency_p50_ns <= turn.latency_p99_ns
    (case,) = place.records().cases()
    assert case.record is not None
    assert case.record.result is not None
    names = [one.name for one in case.record.result.figures]
    assert names[0] == "latency_ratio_b"
    assert {"p99_ratio_b", "delivery_ratio_b", "ratio_b"} <= {*names}
