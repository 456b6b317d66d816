"""Polling threads are watched from outside: what keeps them from running is in every trial."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from real_runs import FIXED, Place, fixture_calibrations, fixture_place

from vsperf.record.flags import Flag
from vsperf.record.threads import GENERATOR, SWITCH, ThreadActivity
from vsperf.record.trial import Purpose, Trial

pytestmark = pytest.mark.machine
__all__ = ["fixture_calibrations", "fixture_place"]

ROLES = {SWITCH: "pmd", GENERATOR: "generator"}
LONGER = (
    *FIXED,
    "--set=search.loads=[100kfps]",
    "--set=search.repeats=4",
    "--set=search.duration=1s",
    "--set=trial.drain=200ms",
    "--set=trial.stretch_tolerance=100%",
)
"""Trials that stay valid whatever else runs on the machine."""
GREEDY = """
import os, sys, time
os.sched_setaffinity(0, {int(sys.argv[1])})
os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
print("busy", flush=True)
while True:
    until = time.monotonic() + 0.05
    while time.monotonic() < until:
        pass
    time.sleep(0.01)
"""
"""Takes a CPU for 50 ms of 60, whatever else would run there: at 100 kfps a ring lasts for 10."""


@contextmanager
def greedy(cpu: int) -> Iterator[None]:
    """Have a program take most of a CPU."""
    with subprocess.Popen(
        [sys.executable, "-c", GREEDY, str(cpu)], stdout=subprocess.PIPE
    ) as program:
        assert program.stdout is not None
        try:
            assert program.stdout.readline() == b"busy\n"
            yield
        finally:
            program.kill()


def by_part(trial: Trial) -> dict[str, ThreadActivity]:
    return {thread.part: thread for thread in trial.threads}


def cpus_of(place: Place) -> dict[str, tuple[int, ...]]:
    (case,) = place.records().cases
    start = case.attempts[-1].start
    assert start is not None
    return start.plan.placement.cpus


def test_every_trial_has_what_each_polling_thread_waited_for(place: Place) -> None:
    assert place(*FIXED).code == 0
    (case,) = place.records().cases
    cpus = cpus_of(place)
    assert case.trials
    for trial in case.trials:
        found = by_part(trial)
        assert len(trial.threads) == len(found) == 2
        for part, role in ROLES.items():
            assert (found[part].cpu,) == cpus[role]
            assert found[part].delay_ns is not None
            assert found[part].involuntary is not None
    shown = place("show", "latest", "64B").out
    assert "what kept polling threads from running" in shown
    assert all(f"{part}: {thread.name}" in shown for part, thread in found.items())


def test_a_program_that_takes_the_cpu_of_the_switch_is_seen_in_its_waiting_and_named(
    place: Place,
) -> None:
    run = place.start(*LONGER)
    run.wait_for("PhaseEntered", phase="search")
    (cpu,) = cpus_of(place)[ROLES[SWITCH]]
    with greedy(cpu):
        ended_ones = (event for event in run.events() if event["event"] == "TrialFinished")
        finished = sum(event["purpose"] == Purpose.SEARCH for event in ended_ones)
        run.wait_for("TrialFinished", finished + 2, purpose=Purpose.SEARCH)
    ended = run.end()
    assert ended.code == 0, ended.err
    (case,) = place.records().cases
    trial = [trial for trial in case.trials if trial.purpose is Purpose.SEARCH][finished + 1]
    thread = by_part(trial)[SWITCH]
    assert thread.delay_ns is not None
    assert 2 * thread.delay_ns > trial.elapsed_ns, "more than any fair neighbour would take"
    assert thread.involuntary
    assert trial.lost_frames > 0
    assert Flag.KEPT_FROM_RUNNING in trial.flags
    assert trial.held_up == (thread,)
    assert (
        f"{Flag.KEPT_FROM_RUNNING.value}: switch {thread.name} for"
        in place("show", "latest", "64B").out
    )
