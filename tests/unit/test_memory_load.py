"""The program that loads memory: what it counts, what it refuses, and how its words are read."""

from __future__ import annotations

import json
import signal
import subprocess
from pathlib import Path

import pytest
from conftest import Require

from vsperf.loadgens.memory import MemorySpec
from vsperf.loadgens.patterns import MEMORY_LOAD, last_report, words_of
from vsperf.record.noise import NoiseActivity

PATTERNS = (
    {"buffer": "64KiB", "read_size": "32KiB", "write_size": "32KiB", "read_rate": "50MB/s"},
    {"buffer": "1MiB", "read_size": "1000B", "write_size": "64B", "random": True},
    {"buffer": "8MiB", "read_size": "8MiB", "write_size": "4MiB", "write_rate": "0"},
)
REPORTS = 4
LINE = 64


def spoken(words: tuple[str, ...], count: int = REPORTS) -> list[dict[str, int]]:
    """Return the first reports of the program, and see that it ends when it is told to."""
    argv = [str(MEMORY_LOAD.find()), *words]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, text=True) as program:
        assert program.stdout is not None
        lines = [program.stdout.readline() for _ in range(count)]
        program.send_signal(signal.SIGTERM)
        program.stdout.read()
        assert program.wait(10) == 0
    return [json.loads(line) for line in lines]


@pytest.mark.parametrize("settings", PATTERNS)
def test_its_bytes_are_those_of_its_accesses(settings: dict[str, object], require: Require) -> None:
    """Blocks, bytes and accesses are counted apart: all three have to say the same."""
    require("memory-load")
    spec = MemorySpec.model_validate({"kind": "memory", **settings})
    for said in spoken((*words_of(spec), "--report-ms=20")):
        for kind, blocks, size in (("read", "reads", spec.read_size), ("written", "writes",
                                   spec.write_size)):  # fmt: skip
            rest = said[f"{kind}_bytes"] - said[blocks] * size.bytes
            assert 0 <= rest < size.bytes
            lines = said[blocks] * -(-size.bytes // LINE) + rest // LINE
            assert said[f"{blocks[:-1]}_accesses"] == lines, "one access to each line, no other"


def test_it_leaves_its_cpu_to_others_when_it_is_to_sleep(require: Require) -> None:
    """Both keep to the same rates; who sleeps has had less of the CPU than who looks at a clock."""
    require("memory-load")
    slow = {"buffer": "1MiB", "read_size": "64KiB", "write_size": "64KiB",
            "read_rate": "400MB/s", "write_rate": "200MB/s"}  # fmt: skip

    def last(*, sleep: bool) -> dict[str, int]:
        spec = MemorySpec.model_validate({"kind": "memory", "sleep": sleep, **slow})
        return spoken((*words_of(spec), "--report-ms=50"))[-1]

    busy, rested = last(sleep=False), last(sleep=True)
    assert rested["cpu_ns"] * 2 < busy["cpu_ns"]
    for said in (busy, rested):
        assert 0 < said["read_bytes"] <= 400e6 * said["elapsed_ns"] / 1e9 + 4 * 65536


def test_it_does_no_more_than_it_is_asked_to(require: Require) -> None:
    require("memory-load")
    spec = MemorySpec.model_validate(
        {"kind": "memory", "buffer": "1MiB", "read_size": "64KiB", "write_size": "64KiB",
         "read_rate": "20MB/s", "write_rate": "10MB/s"}
    )  # fmt: skip
    last = spoken((*words_of(spec), "--report-ms=100"))[-1]
    seconds = last["elapsed_ns"] / 1e9
    slack = 4 * spec.read_size.bytes
    assert 0 < last["read_bytes"] <= 20e6 * seconds + slack
    assert 0 < last["written_bytes"] <= 10e6 * seconds + slack
    assert 0 < last["cpu_ns"] < last["elapsed_ns"]


def test_what_is_not_asked_for_is_not_done(require: Require) -> None:
    require("memory-load")
    spec = MemorySpec.model_validate({"kind": "memory", "write_rate": "0", "buffer": "4MiB"})
    assert {said["written_bytes"] for said in spoken(words_of(spec), 2)} == {0}


@pytest.mark.parametrize(
    "words",
    [
        (),
        ("--buffer=10", "--read-size=64", "--write-size=64", "--read-rate=1"),
        ("--buffer=4096", "--read-size=8192", "--write-size=64", "--read-rate=1"),
        ("--buffer=4096", "--read-size=64", "--write-size=64"),
        ("--buffer=-1", "--read-size=64", "--write-size=64", "--read-rate=1"),
        ("--loud=1",),
        ("--buffer=4096", "--read-size=65", "--write-size=64", "--read-rate=1"),
        ("--buffer=4096", "--read-size=64", "--write-size=64", "--read-rate=1", "--report-ms=1"),
        ("--buffer=99999999999999999999", "--read-size=64", "--write-size=64", "--read-rate=1"),
    ],
)
def test_what_makes_no_sense_is_refused_with_its_usage(
    words: tuple[str, ...], require: Require
) -> None:
    require("memory-load")
    argv = [str(MEMORY_LOAD.find()), *words]
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "usage: memory-load" in done.stderr


def test_a_cpu_that_there_is_not_is_refused(require: Require) -> None:
    require("memory-load")
    words = words_of(MemorySpec(kind="memory"))
    argv = [str(MEMORY_LOAD.find()), *words, "--cpu=4095"]
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (3, "memory-load: CPU 4095 cannot be used\n")


def test_the_last_whole_line_counts(tmp_path: Path) -> None:
    log = tmp_path / "log"
    first = '{"elapsed_ns": 5, "cpu_ns": 4, "read_bytes": 3, "written_bytes": 2, "reads": 1}'
    log.write_text(f'{first}\nmemory-load: a remark\n{{"elapsed_ns": 9, "cpu_')
    assert last_report(log, "noise 1") == NoiseActivity(
        instance="noise 1", elapsed_ns=5, cpu_ns=4, read_bytes=3, written_bytes=2
    )


LIES = ("Infinity", "1e300", "-1", str(1 << 61), "true", '"7"', "9" * 4000)
"""What no counter says; a guest may say it."""


@pytest.mark.parametrize(
    "text",
    [
        *(None, "", "{", "[]\n", "no words\n", '{"elapsed_ns": 1}\n', "[" * 4000 + "\n"),
        *(
            f'{{"elapsed_ns": 5, "cpu_ns": {lie}, "read_bytes": 3, "written_bytes": 2}}\n'[:4095]
            for lie in LIES
        ),
    ],
)
def test_who_has_said_nothing_has_done_nothing_that_is_known(
    text: str | None, tmp_path: Path
) -> None:
    log = tmp_path / "log"
    if text is not None:
        log.write_text(text)
    assert last_report(log, "noise 1") == NoiseActivity(instance="noise 1")
