"""600 random kills of six kinds of run, at any moment, of any process: nothing is left or lost."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from attacks.campaigns import Kills
from attacks.kills import IN_TURNS, OTG, P2P, PROCESSES, PVP, TWO_SWITCHES, Pace, Scenario
from attacks.tally import Tally

KILLS = 10
"""Of one test."""
TESTS = 10
"""Of each kind of run."""
MOST_ROUNDS = 10 * KILLS
"""A round whose moment never comes kills nothing."""
NEEDS = {
    P2P: ("ovs-dpdk", "tgen"),
    PVP: ("ovs-dpdk", "tgen", "guests"),
    PROCESSES: ("ovs-dpdk", "tgen", "dpdk-testpmd"),
    TWO_SWITCHES: ("ovs-dpdk", "tgen", "dpdk-testpmd"),
    IN_TURNS: ("ovs-dpdk", "tgen", "dpdk-testpmd"),
    OTG: ("bridges", "tgen"),
}

pytestmark = [pytest.mark.thorough, pytest.mark.divided]


# No mark `machine`: a campaign takes the machine itself, and would wait for its own test.
@pytest.mark.parametrize("seed", range(1, TESTS + 1))
@pytest.mark.parametrize("scenario", NEEDS, ids=lambda scenario: scenario.name)
def test_whatever_is_killed_whenever_the_run_holds(
    scenario: Scenario,
    seed: int,
    tmp_path: Path,
    require: Callable[[str], None],
    record_property: Callable[[str, object], None],
) -> None:
    for part in (*NEEDS[scenario], "hugepages"):
        require(part)
    tally, found, number = Tally(), list[str](), 0
    with TemporaryDirectory(prefix="kill-") as base:  # short, as sockets need
        campaign = Kills(scenario, seed, tally, Path(base), tmp_path, pace=Pace())
        try:
            while not found and tally.kills.total() < KILLS and number < MOST_ROUNDS:
                found += [f"round {number}: {problem}" for problem in campaign.round(number)]
                number += 1
        finally:
            for name, count in tally.figures().items():
                record_property(f"{name}, {scenario.name}", count)
    assert found == []
    assert tally.kills.total() >= KILLS, f"of {number} rounds hardly one killed anything"
    assert tally.announced, "no run called anything recorded, so that none can have been lost"
    assert (tally.lost, tally.left, tally.tracebacks, tally.misnamed) == (0, 0, 0, 0)
