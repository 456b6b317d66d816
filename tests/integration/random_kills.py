"""A hundred random kills of one kind of run, in ten tests, so that a shard has some of them.

The modules that share this are one for each kind of run: shards are made of modules.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from attacks.campaigns import Kills
from attacks.kills import Pace, Scenario
from attacks.tally import Tally

KILLS = 10
"""Of one test; ten tests of each of five kinds of run make five hundred."""
seeds = pytest.mark.parametrize("seed", range(1, 11))


def kill_some(
    scenario: Scenario, seed: int, evidence: Path, require: Callable[[str], None], *parts: str
) -> None:
    """Carry out rounds until so much was killed; each holds what a soak holds."""
    for part in (*parts, "hugepages"):
        require(part)
    tally, found, number = Tally(), list[str](), 0
    with TemporaryDirectory(prefix="kill-") as base:  # short, as sockets need
        campaign = Kills(scenario, seed, tally, Path(base), evidence, pace=Pace())
        while tally.kills.total() < KILLS:
            found += [f"round {number}: {problem}" for problem in campaign.round(number)]
            number += 1
    assert found == []
    assert (tally.lost, tally.left, tally.misnamed) == (0, 0, 0)
