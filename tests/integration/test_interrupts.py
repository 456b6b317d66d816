"""The moment of Ctrl-C, swept over the first two seconds of a run: a model's and the real one's.

What has to hold at each moment needs no clock (`tests/unit/test_stop.py`, `test_stop.py`); here
are the moments that nobody thought of. A sweep of models takes a second of CPU for each of a
thousand starts, that of the real run some seconds for each of two hundred.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import pytest
from attacks.announced import assert_recorded
from real_runs import FIXED, Place, fixture_calibrations, fixture_place

from vsperf.errors import VsperfError
from vsperf.records.files.folders import LATEST
from vsperf.records.files.view import open_run

pytestmark = pytest.mark.thorough
__all__ = ["fixture_calibrations", "fixture_place"]

STEPS = 200
STEP_S = 0.01
SWEEPS = 5
SOON_S = 15.0
"""Five seconds, on a machine that is not busy with something else."""
PATIENCE_S = 60.0
POLL_S = 0.001
SIMULATED = (
    *("run", "phy2phy_smoke", "--testbed", "sim", "--progress", "quiet"),
    *("--set", "generator.realtime=1"),
    *("--set", "search={kind: fixed, loads: [1Mfps], duration: 60s}", "--set", "latency=null"),
)
"""A run that goes on for longer than anybody waits here before it is told to stop."""
STOPPED = {signal.SIGINT: 130, signal.SIGTERM: 143}


@dataclass(frozen=True)
class Moment:
    """When a start is told to stop, from when it listens, and by which signal."""

    after_s: float
    number: signal.Signals

    def __str__(self) -> str:
        return f"{self.number.name} after {self.after_s * 1000:.0f} ms"


def moments(count: int, step_s: float, shift_s: float = 0.0) -> list[Moment]:
    """Return moments with equal steps between them, by both signals in turns."""
    numbers = (signal.SIGINT, signal.SIGTERM)
    return [Moment(shift_s + step_s * at, numbers[at % 2]) for at in range(count)]


def listens(pid: int) -> bool:
    """Whether a program does something about SIGTERM, as Python itself does not."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    found = [int(line.split()[1], 16) for line in lines if line.startswith("SigCgt")]
    return bool(found and found[0] >> (signal.SIGTERM - 1) & 1)


def struck(folder: Path, moment: Moment, words: Sequence[str] = SIMULATED) -> list[str]:
    """Start vsperf in a folder of its own, stop it at a moment; return what is wrong then."""
    folder.mkdir(parents=True)
    own = {"HOME": folder, "XDG_CACHE_HOME": folder, "VSPERF_RUNTIME": folder / "runtime"}
    out, err = folder / "out", folder / "err"
    with out.open("wb") as out_file, err.open("wb") as err_file:
        process = subprocess.Popen(
            [sys.executable, "-m", "vsperf", *words, "--results", str(folder / "results")],
            env={**os.environ, **{name: str(path) for name, path in own.items()}},
            stdin=subprocess.DEVNULL,
            stdout=out_file,
            stderr=err_file,
        )
    try:
        while not listens(process.pid):
            time.sleep(POLL_S)
        time.sleep(moment.after_s)
        process.send_signal(moment.number)
        code = process.wait(PATIENCE_S)
    finally:
        process.kill()
        process.wait()
    wrong = [] if code == STOPPED[moment.number] else [f"exit code {code}"]
    if said := err.read_text().strip():  # click ends the line that ^C stands on
        wrong.append(f"it said: {said}")
    wrong += [str(path) for path in (folder / "runtime").glob("*")]
    return [f"{moment}: {one}" for one in (*wrong, *_stored(folder / "results"))]


def _stored(results: Path) -> list[str]:
    """Return what is wrong with the records of a run that was stopped, if it had begun."""
    if not (results / LATEST).exists():
        return [f"there is {path}" for path in results.glob("*")]
    try:
        stored = open_run(results / LATEST)
    except VsperfError as error:
        return [f"its records cannot be read: {error}"]
    return [] if stored.end is None else ["its records say that it came to its end"]


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
