"""Real switches in turns: each forwards in its own, and none stands still when a run is over."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest
from real_runs import Place, fixture_calibrations, fixture_place

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
    states = {
        pid: Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
        for pid in place.programs()
    }
    return [pid for pid, state in states.items() if state == "T"]


@pytest.mark.everyday("three switches and a generator start, and are ended while two stand still")
def test_switches_that_stand_still_when_all_is_killed_are_cleaned_up(place: Place) -> None:
    run = place.start("run", *COMPARISON)
    run.wait_for("RoundStarted", 2)  # the first one is to see that each of them forwards
    run.wait_until(lambda: held(place))
    os.kill(run.process.pid, signal.SIGSTOP)  # it would let them go on
    place.signal("tgen", signal.SIGKILL)
    assert held(place)
    os.kill(run.process.pid, signal.SIGKILL)
    run.process.wait()
    (check,) = (one for one in next(place.records().cases()).rounds if one.role is Role.CHECK)
    assert {turn.side for turn in check.turns.rows() if turn.turn_received_frames} == {0, 1, 2}
    assert sum(check.turns.elsewhere_frames) == 0
    assert check.direction_names == ("phy0 to phy1", "phy1 to phy0")
    for turn in check.turns.rows():
        assert turn.received_by_direction is not None
        assert len(turn.received_by_direction) == 2
        assert 0 not in turn.received_by_direction
        assert len(turn.slots_ns or ()) == 5
    assert place("clean").code == 0
    assert place.traces() == []


def test_switches_that_are_held_go_on_when_the_run_is_told_to_end(place: Place) -> None:
    run = place.start("run", *COMPARISON)
    run.wait_for("RoundStarted", 2)
    run.wait_until(lambda: held(place))
    run.send(signal.SIGTERM)
    run.end()
    assert place.traces() == []
