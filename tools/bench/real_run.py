"""Measures what a run costs beside its traffic: set-up, teardown, time between trials, Python.

Looks at the clock and at the CPU time of vsperf itself at each event of a run. The ratio, over the
trials of the search, is that of the time beside sending (drain included) to the time of sending.
"""

from __future__ import annotations

import argparse
import os
import statistics
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from common import Option, Ratio, carry_out, options, say, vsperf_run

EXAMPLE = "tools/bench/real_run.py --testcase pvp_tput -- --vnf process --set traffic.frame_size=64"
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


def main() -> None:
    """Run a testcase and print what it cost."""
    parser = options(
        __doc__, EXAMPLE, testcase=Option("phy2phy_tput", "phy2phy_smoke", "what is run")
    )
    parser.add_argument("more", nargs="*", metavar="-- MORE", help="arguments of vsperf run")
    carry_out(parser, measure)


def measure(found: argparse.Namespace) -> Ratio:
    """Watch one run."""
    began = time.monotonic()
    with (
        tempfile.TemporaryDirectory() as results,
        vsperf_run(Path(results), found.testcase, *found.more) as (pid, events),
    ):
        figures = observe(pid, events)
    show(figures, time.monotonic() - began)
    pairs = zip(figures.around_s, figures.sending_s, strict=True)
    return Ratio.of("time beside sending to time of sending", [one / other for one, other in pairs])


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
        say(f"{phase:<16} {statistics.median(times):6.2f} s, at most {max(times):.2f} s")
    share = sum(figures.around_s) / max(sum(figures.sending_s), 1e-9)
    say(f"beside traffic   {statistics.median(figures.around_s):6.3f} s per trial of the search")
    say(f"                 {share:6.1%} of the time that frames were sent, drain included")
    say(f"vsperf itself    {figures.python_s / max(figures.traffic_s, 1e-9):6.2%} of a CPU")
    say(f"whole run        {whole:6.1f} s")


if __name__ == "__main__":
    main()
