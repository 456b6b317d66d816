"""Runs that are killed, interrupted, or whose disk is full: nothing is lost, and they go on."""

from __future__ import annotations

import json
import os
import random
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from attacks.announced import assert_recorded, found
from cli_shell import SMOKE, Shell, fixture_vsperf

from vsperf.errors import ExitCode
from vsperf.records.base import SCHEMA_VERSION
from vsperf.records.files.folders import RECORDS, run_folders
from vsperf.records.files.view import open_run
from vsperf.records.flags import Flag

__all__ = ["fixture_vsperf"]


# kill -9 at any moment: no recorded trial is lost, and the run can be brought to its end.

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
        [*argv, "--progress=json"], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, env=environ
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
    return found(open_run(run_folders(results)[0]))


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
        run = open_run(folders[0])
        assert_recorded(said, run)
        in_mid_run += run.end is None
        if run.end is None and chance.random() < 0.3:
            again = vsperf(results, "--resume=latest")
            said += kill_sometime(again, chance)
            run = open_run(folders[0])
            assert_recorded(said, run)
        if run.end is None:
            resumed = vsperf(results, "--resume=latest")
            _, errors = resumed.communicate()
            assert resumed.returncode == 0, errors.decode()
            run = open_run(folders[0])
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
    (case,) = open_run(folder).cases()
    assert (case.attempt, case.record) == (1, None)
    assert len(case.seconds) >= 2


def seconds_in(results: Path) -> int:
    """Count the seconds that are in the records of the only run, if it has begun."""
    records = [folder / RECORDS for folder in run_folders(results)]
    texts = [path.read_text() for path in records if path.exists()]
    return sum(text.count('"type":"second"') for text in texts)


# A disk that fills up while a run is written: nothing is lost, and the run goes on with room.

SMALL_DISK = """
mount -t tmpfs -o size={bytes} small results || exit 99
{vsperf} {run} >/dev/null 2>first
echo $? >code
{vsperf} show latest --json >interrupted
mount -o remount,size=4m results || exit 99
exec {vsperf} run --resume latest --json --progress quiet >resumed
"""
"""Commands in a mount namespace of their own: the disk ends with them."""


@pytest.mark.parametrize("pages", [6, 9, 12, 14])
@pytest.mark.needs("namespaces")
def test_a_run_on_a_disk_that_is_full_is_resumed_as_its_message_says(
    vsperf: Shell, pages: int
) -> None:
    (vsperf.folder / "results").mkdir()
    commands = SMALL_DISK.format(
        bytes=pages * 4096,
        vsperf=shlex.join([sys.executable, "-m", "vsperf"]),
        run=" ".join((*SMOKE, "--repeat", "3", "--progress", "quiet")),
    )
    ended = subprocess.run(
        ["unshare", "--mount", "sh", "-c", commands],
        cwd=vsperf.folder,
        env=vsperf.environ(),
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == ExitCode.OK, ended.stderr
    said = (vsperf.folder / "first").read_text()
    interrupted = json.loads((vsperf.folder / "interrupted").read_text())
    resumed = json.loads((vsperf.folder / "resumed").read_text())
    assert int((vsperf.folder / "code").read_text()) == ExitCode.COMPONENT_FAILED
    assert "No space left on device" in said
    assert f"vsperf run --resume {interrupted['run']}" in said
    assert interrupted["state"] == "interrupted"
    assert (resumed["run"], resumed["state"]) == (interrupted["run"], "finished")
    assert [case["outcome"] for case in resumed["cases"]] == ["PASS"] * 3


# Runs that were interrupted, finished, written by another process or by a newer vsperf.


def test_ctrl_c_keeps_what_was_measured_and_resume_finishes_it(vsperf: Shell) -> None:
    for number, code in ((signal.SIGINT, 130), (signal.SIGTERM, 143)):
        slow = ("--set", "generator.realtime=1", "--progress", "json", "--repeat", "2")
        process = vsperf.start(*SMOKE, *slow)
        assert process.stderr is not None
        for line in process.stderr:
            if "TrialFinished" in line:
                break
        process.send_signal(number)
        out, err = process.communicate()
        assert process.returncode == code
        assert "Traceback" not in err
        assert "ABORTED" in out
        assert "go on with:\n  vsperf run --resume" in out
        run = vsperf("show", "latest", "--json").data
        assert run["state"] == "interrupted"
        assert "ABORTED" in vsperf("results", "--outcome", "aborted").out
        assert f"vsperf run --resume {run['run']}" in vsperf("show", "latest").out
        left = vsperf("run", "--resume", "latest", "--dry-run")
        assert "2 cases of phy2phy_smoke on testbed sim" in left.out
        assert vsperf("show", "latest", "--json").data == run, "it is planned, and not gone on with"
        finished = vsperf("run", "--resume", "latest", "--json")
        assert finished.code == ExitCode.OK
        assert finished.data["run"] == run["run"]
        assert [case["outcome"] for case in finished.data["cases"]] == ["PASS", "PASS"]


@pytest.mark.everyday
def test_a_run_that_is_being_written_is_not_resumed_by_a_second_process(vsperf: Shell) -> None:
    process = vsperf.start(
        *SMOKE, "--set", "generator.realtime=1", "--repeat", "9", "--progress", "json"
    )
    assert process.stderr is not None
    for line in process.stderr:
        if "TrialFinished" in line:
            break
    ended = vsperf("run", "--resume", "latest")
    assert ended.code == ExitCode.NOT_READY
    assert "is being written" in ended.err
    process.kill()
    process.communicate()


def busy_but_the_last(records: Path) -> None:
    """Have a run killed in its last case, and its machine too busy in all before."""
    lines = [json.loads(line) for line in records.read_text().splitlines()]
    (*_, last) = (number for number, line in enumerate(lines) if line["type"] == "case-start")
    for line in lines[:last]:
        if line["type"] == "case":
            line["flags"] = [Flag.TOO_BUSY]
    records.write_text("".join(f"{json.dumps(line)}\n" for line in lines[: last + 1]))


@pytest.mark.everyday
def test_a_resumed_run_is_judged_by_the_machine_of_all_its_cases(vsperf: Shell) -> None:
    assert vsperf(*SMOKE, "--repeat", "3").code == ExitCode.OK
    (folder,) = run_folders(vsperf.folder / "results")
    busy_but_the_last(folder / RECORDS)
    assert vsperf("run", "--resume", "latest").code == ExitCode.INVALID_RESULT
    assert "host: too busy to tell: in 2 of 3 cases" in vsperf("show", "latest").out


@pytest.mark.everyday
def test_a_finished_run_has_nothing_to_resume(vsperf: Shell) -> None:
    vsperf(*SMOKE)
    ended = vsperf("run", "--resume", "latest")
    assert ended.code == ExitCode.BAD_INPUT
    assert "finished" in ended.err


@pytest.mark.everyday
def test_records_of_a_newer_vsperf_are_refused_with_a_hint(vsperf: Shell) -> None:
    vsperf(*SMOKE)
    (folder,) = run_folders(vsperf.folder / "results")
    records = folder / RECORDS
    text = records.read_text()
    records.write_text(text.replace(f'"schema_version":{SCHEMA_VERSION}', '"schema_version":99', 1))
    ended = vsperf("show", "latest")
    assert ended.code == ExitCode.BAD_INPUT
    assert "newer" in ended.err and "99" in ended.err
