"""The moment of Ctrl-C, swept over the first two seconds of a run: a model's and the real one's.

What has to hold at each moment needs no clock (`tests/unit/test_stop.py`, `test_stop.py`); here
are the moments that nobody thought of. A sweep of models takes a second of CPU for each of a
thousand starts, that of the real run some seconds for each of two hundred.
"""

from __future__ import annotations

import os
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from attacks.announced import assert_recorded
from interrupted import STOPPED, Moment, listens, moments, struck
from real_runs import FIXED, Place, fixture_calibrations, fixture_place

from vsperf.records.files.folders import LATEST

pytestmark = pytest.mark.thorough
__all__ = ["fixture_calibrations", "fixture_place"]

STEPS = 200
STEP_S = 0.01
SWEEPS = 5
SOON_S = 15.0
"""Five seconds, on a machine that is not busy with something else."""


@pytest.mark.parametrize("sweep", range(SWEEPS))
def test_a_simulated_run_is_stopped_at_any_moment_in_order(sweep: int, tmp_path: Path) -> None:
    """Each sweep begins a fifth of a step later, so that together they look every 2 ms."""
    swept = moments(STEPS, STEP_S, shift_s=sweep * STEP_S / SWEEPS)

    def strike(number: int) -> list[str]:
        return struck(tmp_path / str(number), swept[number])

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        wrong = [one for found in pool.map(strike, range(STEPS)) for one in found]
    assert wrong == []


@pytest.mark.machine
@pytest.mark.parametrize("part", range(10))
def test_a_real_run_is_stopped_at_any_moment_and_leaves_nothing(part: int, place: Place) -> None:
    wrong = []
    for moment in moments(STEPS, STEP_S)[part::10]:
        wrong += stopped_for_real(place, moment)
    assert wrong == []


def stopped_for_real(place: Place, moment: Moment) -> list[str]:
    """Start the real run, stop it at a moment; return what is wrong then."""
    before = (place.results / LATEST).resolve()
    run = place.start(*FIXED)
    run.wait_until(lambda: listens(run.process.pid))
    time.sleep(moment.after_s)
    run.send(moment.number)
    ended = run.end()
    found: dict[str, object] = {
        "exit code": None if ended.code == STOPPED[moment.number] else ended.code,
        "said": ended.said.strip() or None,
        "left": place.traces() or None,
        "took": ended.took_s if ended.took_s > SOON_S else None,
    }
    if (place.results / LATEST).resolve() != before:
        stored = place.records()
        found["came to its end"] = stored.end
        assert_recorded(ended.of("TrialFinished"), stored)
    elif ended.events:
        found["told of"] = ended.events
    return [f"{moment}: {what}: {value}" for what, value in found.items() if value is not None]
