"""What shows that the machine was kept from a test, and what does not."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import machine_away
import pytest
from machine_away import Sight, Watch, Watcher, evidence, others


def look(kind: str, seconds: float, begin_s: float = 0.0) -> Sight:
    return Sight(begin_s, begin_s + 1.0, kind, seconds, "")


def test_a_cpu_that_ran_nothing_is_evidence_for_the_tests_of_that_moment() -> None:
    sights = [Sight(10.0, 10.31, "late", 0.3, "CPU 1"), Sight(10.6, 10.9, "late", 0.29, "CPU 0")]
    assert evidence(sights, 10.2, 12.0, 2) == ["CPU 1 ran nothing for 300 ms (2 times)"]
    assert evidence(sights, 10.5, 10.7, 2) == ["CPU 0 ran nothing for 290 ms (once)"]
    assert evidence(sights, 11.0, 12.0, 2) == []


@pytest.mark.parametrize(
    ("kind", "seconds", "said"),
    [
        ("stolen", 0.2, ["the hypervisor took 10% of the CPUs"]),
        ("stolen", 0.05, []),
        ("others", 1.5, ["other programs used 75% of the CPUs"]),
        ("others", 0.1, []),
    ],
)
def test_shares_of_the_cpus_are_evidence_from_some_size_on(
    kind: str, seconds: float, said: list[str]
) -> None:
    assert evidence([look(kind, seconds)], 0.0, 1.0, 2) == said


def test_a_moment_of_others_is_none_for_a_test_that_is_long() -> None:
    sights = [look("others", 1.5), *(look("others", 0.0, float(n)) for n in range(1, 20))]
    assert evidence(sights, 0.0, 20.0, 2) == []


def test_others_are_those_that_do_not_descend_from_us() -> None:
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as child:
        ours = others(os.getpid())
        assert child.pid not in ours
        assert os.getppid() in ours


def test_the_watching_program_tells_of_each_second_and_ends_with_the_tests(tmp_path: Path) -> None:
    began = time.monotonic()
    watcher = Watcher()
    try:
        watch = Watch.of_this_run()
        assert watch is not None and watch.file == watcher.file
        kinds: set[str] = set()
        for _ in range(20):  # a busy machine may let it look later than anybody waits for a look
            watch.evidence(began, time.monotonic())
            kinds = {sight.kind for sight in watch._sights()}
            if {"stolen", "others"} <= kinds:
                break
        assert {"stolen", "others"} <= kinds
        assert watcher.process.stdin is not None
        watcher.process.stdin.close()
        assert watcher.process.wait() == 0
    finally:
        watcher.end()
    assert not watcher.file.exists()
    assert Watch.of_this_run() is None


def test_the_program_needs_nothing_but_python() -> None:
    """It starts in a moment, and watches from the first test on."""
    text = Path(machine_away.__file__).read_text()
    assert "import pytest" not in text and "import psutil" not in text
