"""320,000 hostile inputs of six kinds: no traceback, no bug told, nothing that hangs.

They are given to what reads them in children of one process, in a sandbox; no program is started
for them.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from attacks import fuzz_agent, fuzz_programs
from attacks.campaigns import Fuzz

INPUTS = {
    **{"loader": 60_000, "cli": 40_000, "records": 10_000, "agent": 100_000, "otg": 90_000},
    "programs": 20_000,
}
OF_A_ROUND = {"agent": fuzz_agent.BATCH, "programs": fuzz_programs.BATCH}
TESTS = 10
"""Of each kind."""
MOST_FOUND = 20
"""With these a test is over: what breaks with each input would take hours to say so."""
LEAST_TAKEN = {
    **{"loader": 0.03, "cli": 0.05, "records": 0.15, "agent": 0.15, "otg": 0.5},
    "programs": 0.15,
}
"""Shares of inputs that nobody refuses; an input of `otg` is several requests."""

pytestmark = [pytest.mark.thorough, pytest.mark.divided]


@pytest.mark.parametrize("seed", range(1, TESTS + 1))
@pytest.mark.parametrize("kind", INPUTS)
@pytest.mark.needs("root", "namespaces")
def test_each_has_an_answer_or_a_reason(
    kind: str, seed: int, tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    of_a_round = OF_A_ROUND.get(kind, 1)
    campaign, found, given = Fuzz(kind, seed, tmp_path), list[str](), 0
    try:
        while given < INPUTS[kind] / TESTS and len(found) < MOST_FOUND:
            number = given // of_a_round
            found += [f"{number}: {problem}" for problem in campaign.round(number)]
            given += of_a_round
    finally:
        campaign.end()
        figures = {"inputs": given, "inputs taken": campaign.taken, "findings": len(found)}
        for name, count in figures.items():
            record_property(f"{name}, {kind}", count)
    assert found == []
    least = LEAST_TAKEN[kind] * INPUTS[kind] / TESTS
    assert campaign.taken >= least, "hardly any input gets past the first check"
