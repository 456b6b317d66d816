"""kill -9 at any moment: no recorded trial is lost, and the run can be brought to its end.

The program says on stderr when a trial is recorded, so the test knows at each kill what must be in
the file. What a resumed run finds is compared with a run that nobody disturbed; only times differ.
"""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from attacks.announced import assert_recorded, found

from vsperf.store.folders import RECORDS, run_folders
from vsperf.store.reader import read_run

KILLS = 12
PARTS = 2
"""So that two workers share the kills."""
SELECTION = (
    "phy2phy_tput",
    "--testbed=sim",
    "--set=traffic.frame_size=[64,128]",
    "--set=vswitch.behaviour.kind=random-loss",
    "--set=generator.realtime=0.005",
)
EVENTS = 80
"""About as many as an undisturbed run tells of; a moment is counted in them, not in seconds."""
PATIENCE_S = 60
START_S = 0.6
"""About as long as it takes to the first event."""


def vsperf(results: Path, *arguments: str) -> subprocess.Popen[bytes]:
    argv = [sys.executable, "-m", "vsperf", "run", *arguments, f"--results={results}"]
    environ = {key: value for key, value in os.environ.items() if not key.startswith("VSPERF")}
    return subprocess.Popen(
        [*argv, "--progress=json"],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        env=environ,
    )


def kill_sometime(process: subprocess.Popen[bytes], chance: random.Random) -> list[dict[str, Any]]:
    """Kill a program at a random moment, and return the trials that it had called recorded.

    One kill in ten comes before the program has said anything.
    """
    assert process.stderr is not None
    said = b""
    if chance.random() < 0.1:
        time.sleep(chance.uniform(0, START_S))
    else:
        for _ in range(chance.randrange(1, EVENTS)):
            said += process.stderr.readline()
        time.sleep(chance.uniform(0, 0.02))
    process.kill()
    said += process.stderr.read()
    process.stderr.close()
    process.wait()
    whole = said.decode().split("\n")[:-1]
    events = [json.loads(line) for line in whole if line.startswith("{")]
    return [event for event in events if event["event"] == "TrialFinished"]


@pytest.fixture(name="undisturbed", scope="module")
def fixture_undisturbed(tmp_path_factory: pytest.TempPathFactory) -> Any:
    results = tmp_path_factory.mktemp("undisturbed")
    process = vsperf(results, *SELECTION)
    process.communicate()
    assert process.returncode == 0
    return found(read_run(run_folders(results)[0]))


@pytest.mark.parametrize("part", range(PARTS))
def test_killed_runs_lose_nothing_and_end_like_undisturbed_ones(
    part: int, tmp_path: Path, undisturbed: Any
) -> None:
    chance = random.Random(f"kill {part}")
    in_mid_run = 0
    for kill in range(KILLS // PARTS):
        results = tmp_path / str(kill)
        said = kill_sometime(vsperf(results, *SELECTION), chance)
        folders = run_folders(results)
        if not folders or not (folders[0] / RECORDS).exists():
            assert not said  # killed before there was anything to record
            continue
        if b"\n" not in (folders[0] / RECORDS).read_bytes():
            assert not said
            continue
        run = read_run(folders[0])
        assert_recorded(said, run)
        in_mid_run += run.end is None
        if run.end is None and chance.random() < 0.3:
            again = vsperf(results, "--resume=latest")
            said += kill_sometime(again, chance)
            run = read_run(folders[0])
            assert_recorded(said, run)
        if run.end is None:
            resumed = vsperf(results, "--resume=latest")
            _, errors = resumed.communicate()
            assert resumed.returncode == 0, errors.decode()
            run = read_run(folders[0])
            assert_recorded(said, run)
        assert run.end is not None
        assert run.end.exit_code == 0
        assert found(run) == undisturbed
    assert in_mid_run >= KILLS // PARTS // 3, "the kills missed what they should have hit"


def test_a_soak_that_is_killed_keeps_its_seconds(tmp_path: Path) -> None:
    """Each second is in the file when it is over, not with the end of a trial that never comes."""
    asked = ("search.throughput=1Mfps", "search.duration=10m", "traffic.frame_size=64")
    settings = (*asked, "trial.warm_up=0s", "generator.realtime=1")
    options = [f"--set={one}" for one in settings]
    process = vsperf(tmp_path, "phy2phy_soak", "--testbed=sim", *options)
    try:
        told_by = time.monotonic() + PATIENCE_S
        while seconds_in(tmp_path) < 2:
            assert process.poll() is None
            assert time.monotonic() < told_by
            time.sleep(0.1)
    finally:
        process.kill()
        process.communicate()

    assert seconds_in(tmp_path) >= 2
    (folder,) = run_folders(tmp_path)
    (case,) = read_run(folder).cases
    (attempt,) = case.attempts
    assert attempt.record is None
    assert attempt.seconds >= 2


def seconds_in(results: Path) -> int:
    """Count the seconds that are in the records of the only run, if it has begun."""
    records = [folder / RECORDS for folder in run_folders(results)]
    texts = [path.read_text() for path in records if path.exists()]
    return sum(text.count('"type":"second"') for text in texts)
