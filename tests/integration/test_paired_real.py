"""Real switches in turns: each forwards in its own, and none stands still when a run is over."""

from __future__ import annotations

import os
import signal
from contextlib import suppress
from pathlib import Path

import pytest
from real_runs import Place, Run, fixture_calibrations, fixture_place

from vsperf.records.turns import Role

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
