"""Hostile inputs of one kind, a tenth of them in each of ten tests; 300,000 of all five kinds.

The modules that share this are one for each kind: shards are made of modules. Inputs are given to
what reads them in children of one process, in a sandbox; no program is started for them.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from attacks import fuzz_agent
from attacks.campaigns import Fuzz

INPUTS = {"loader": 60_000, "cli": 40_000, "records": 10_000, "agent": 100_000, "otg": 90_000}
OF_A_ROUND = {"agent": fuzz_agent.BATCH}
TESTS = 10
seeds = pytest.mark.parametrize("seed", range(1, TESTS + 1))


def rounds_of(name: str) -> int:
    """Return how many rounds of a fuzzer are one test."""
    return INPUTS[name] // TESTS // OF_A_ROUND.get(name, 1)


def give_some(name: str, seed: int, folder: Path, require: Callable[[str], None]) -> None:
    """Give the inputs that follow from a seed; each has an answer or a reason."""
    for part in ("root", "namespaces"):
        require(part)
    campaign = Fuzz(name, seed, folder)
    try:
        found = [f"{n}: {one}" for n in range(rounds_of(name)) for one in campaign.round(n)]
    finally:
        campaign.end()
    assert found == []
