"""Measures what a run costs beside its traffic: set-up, teardown, time between trials, Python.

Usage: python tools/bench/real_run.py [TESTCASE] [-- MORE ARGUMENTS OF vsperf run]

Listens to the events of `vsperf run --progress json`, and looks at the clock and at the CPU time
of vsperf itself at each of them. Prints figures and judges nothing.
"""

# ruff: noqa: T201
from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

TICKS = os.sysconf("SC_CLK_TCK")


@dataclass
class Figures:
    """What one run showed."""

    phases_s: dict[str, list[float]] = field(default_factory=dict)
    sending_s: list[float] = field(default_factory=list)
    around_s: list[float] = field(default_factory=list)
    """Time from one trial's start to the next one's that was neither traffic nor drain."""
    python_s: float = 0.0
    traffic_s: float = 0.0
    estimated_s: float = 0.0


def main() -> None:
    """Run a testcase and print what it cost."""
    arguments = sys.argv[1:]
    more = arguments[arguments.index("--") + 1 :] if "--" in arguments else []
    name = next((word for word in arguments if word not in ("--", *more)), "phy2phy_smoke")
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as results:
        argv = [sys.executable, "-m", "vsperf", "run", name, "--results", results]
        argv += ["--progress", "json", *more]
        with subprocess.Popen(  # noqa: S603 - an argument vector of our own
            argv, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
        ) as process:
            figures = observe(process.pid, events(process))
        whole = time.monotonic() - began
    show(figures, whole)


def events(process: subprocess.Popen[str]) -> Iterator[dict[str, Any]]:
    """Return the events of a run as they come."""
    assert process.stderr is not None
    for line in process.stderr:
        if line.startswith("{"):
            yield json.loads(line)


def observe(pid: int, stream: Iterator[dict[str, Any]]) -> Figures:
    """Look at the clock and at the CPU time of vsperf at every event."""
    found = Figures()
    phase, entered, started, cpu = "", time.monotonic(), None, 0.0
    ended: float | None = None
    for event in stream:
        now = time.monotonic()
        match event["event"]:
            case "PhaseEntered":
                if phase:
                    found.phases_s.setdefault(phase, []).append(now - entered)
                phase, entered = event["phase"], now
            case "TrialStarted":
                started, cpu = now, cpu_s(pid)
                if ended is not None and phase == "search":
                    found.around_s[-1] += now - ended
                ended = None
            case "TrialFinished" if started is not None and phase == "search":
                sent = event["duration_ns"] / 1e9
                found.sending_s.append(sent)
                found.around_s.append(now - started - sent)
                found.python_s += cpu_s(pid) - cpu
                found.traffic_s += now - started
                ended = now
            case "CaseFinished":
                found.phases_s.setdefault(phase, []).append(now - entered)
                phase, ended = "", None
    return found


def cpu_s(pid: int) -> float:
    """Return the CPU time of a process, all threads and no children."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


def show(figures: Figures, whole: float) -> None:
    """Print the figures."""
    for phase, times in figures.phases_s.items():
        print(f"{phase:<16} {statistics.median(times):6.2f} s, at most {max(times):.2f} s")
    share = sum(figures.around_s) / max(sum(figures.sending_s), 1e-9)
    print(f"beside traffic   {statistics.median(figures.around_s):6.3f} s per trial of the search")
    print(f"                 {share:6.1%} of the time that frames were sent, drain included")
    print(f"vsperf itself    {figures.python_s / max(figures.traffic_s, 1e-9):6.2%} of a CPU")
    print(f"whole run        {whole:6.1f} s")


if __name__ == "__main__":
    main()
