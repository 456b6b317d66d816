#!/usr/bin/env python3
"""Holds tgen against the witness over many frames: every count exact, known delays read as such.

    tools/bench/tgen_truth.py [--frames 1e8]

Frames are shared by both directions; with --frames 0 only delays are looked at. Needs tgen and its
witness (`make setup-dev`). A delay is judged by the quickest hundredth of the frames, for which
neither program had to wait for its CPU; on CPUs with nothing else to do the median says the same.
Exits with 1 when anything differs.
"""

# ruff: noqa: T201

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests"))

from loopbacks import OPTIONS, witness_dut

from vsperf.record.histogram import percentiles_ns
from vsperf.trafficgens.tgen.byhand import Sending, Stream, at_hand, trial, ways_between

PERIOD = 1000
RULES = (
    "drop=17",
    "drop=18",
    "duplicate=101",
    "reorder=200:3",
    "reorder=250:40",
    "corrupt=400:5",
    "misroute=500",
    "foreign=600",
)
WAYS = ways_between(2, "both")
DELAYS_NS = (50_000, 1_000_000)
TOLERANCE = 0.01
SHARES = (1.0, 5.0, 50.0)


def main() -> int:
    """Run both parts."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--frames", type=float, default=1e8, help="of both directions together")
    frames = int(parser.parse_args().frames) // 2
    with tempfile.TemporaryDirectory() as folder:
        right = [counts(Path(folder), frames)] if frames else []
        right += [delay(Path(folder), delay_ns) for delay_ns in DELAYS_NS]
    return 0 if all(right) else 1


def counts(folder: Path, frames: int) -> bool:
    """Compare every counter with what the witness did."""
    began = time.monotonic()
    with witness_dut(folder, RULES, PERIOD) as switch:
        with at_hand(switch.devices, OPTIONS) as tgen:
            tgen.ports()
            result = trial(tgen, WAYS, Stream(64), Sending(frames=frames), lambda event: None)
        switch.stop()
    seconds = time.monotonic() - began
    print(f"{2 * frames:,} frames in {seconds:.0f} s; settled: {result['settled']}")
    right = bool(result["settled"])
    for way, (found, truth) in enumerate(
        zip(result["streams"], switch.report["ports"], strict=True)
    ):
        for name, seen, done in compared(found, truth, result["ports"][way ^ 1]):
            right &= seen == done
            mark = "✓" if seen == done else "✗"
            print(f"  {mark} {WAYS[way].name}: {name:<12} tgen {seen:>12,}  witness {done:>12,}")
    return right


def compared(
    found: dict[str, Any], truth: dict[str, Any], port: dict[str, Any]
) -> list[tuple[str, int, int]]:
    """Return each counter of tgen beside what it should be."""
    lost = truth["drop"] + truth["corrupt"] + truth["misroute"]
    return [
        ("sent", found["sent"], truth["received"]),
        ("lost", found["lost"], lost),
        ("distinct", found["distinct"], truth["received"] - lost),
        ("duplicates", found["duplicates"], truth["duplicate"]),
        ("reordered", found["reordered"], truth["reorder"]),
        ("extent", found["reorder_extent"], 40),
        ("corrupted", found["corrupted"], truth["corrupt"]),
        ("misrouted", found["misrouted"], truth["misroute"]),
        ("foreign", port["foreign"], truth["foreign"]),
        ("late", found["beyond_window"], 0),
        ("stale", port["stale"], 0),
    ]


def delay(folder: Path, delay_ns: int) -> bool:
    """Delay one way only: the difference between the ways is the delay."""
    with witness_dut(folder, delay_ns=(delay_ns, 0)) as switch:
        with at_hand(switch.devices, OPTIONS) as tgen:
            tgen.ports()
            sending = Sending("10000", frames=50_000, burst=1)
            streams = trial(tgen, WAYS, Stream(64), sending, lambda event: None)["streams"]
        switch.stop()
    delayed, straight = (percentiles_ns(s["latency"]["hdr"], SHARES) for s in streams)
    print(f"a delay of {delay_ns:,} ns")
    for share in SHARES:
        read_ns = delayed[share] - straight[share]
        print(
            f"  at p{share:g}: {read_ns:,} ns ({read_ns / delay_ns - 1:+.2%}); "
            f"the way without it takes {straight[share]:,} ns"
        )
    held = switch.report["ports"][0]["held_ns"]
    print(f"  the witness held frames for {held['least']:,.0f} to {held['most']:,.0f} ns")
    return abs((delayed[SHARES[0]] - straight[SHARES[0]]) / delay_ns - 1) <= TOLERANCE


if __name__ == "__main__":
    sys.exit(main())
