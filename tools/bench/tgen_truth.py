"""Holds tgen against the reference DUT: every count exact, known delays read as such.

Counts are of two streams: one flow of short frames, in which order is judged, and frames of mixed
sizes with a tag in many flows. --frames of each are shared by both directions; with --frames 0 only
delays are looked at. Needs tgen and its
reference DUT (`make setup-dev`), and no hugepages. A delay is judged by the quickest hundredth of
the frames, for which neither program had to wait for its CPU; on CPUs with nothing else to do the
median says the same. The ratio is that of the delay read to the delay made. Exits with 5 when
anything differs.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from common import Option, Ratio, carry_out, options, say
from needs import require_reference_dut

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests"))

from loopbacks import OPTIONS, reference_dut

from vsperf.drivers.generators.tgen.byhand import (
    Sending,
    Stream,
    at_hand,
    directions_between,
    trial,
)
from vsperf.errors import ExitCode, VsperfError
from vsperf.records.histogram import percentiles_ns

EXAMPLE = "tools/bench/tgen_truth.py --frames 1e7"
STREAMS = {
    "64 B, one flow": Stream(64),
    "68, 570 and 1518 B as 7:4:1, a VLAN tag, 4096 flows": Stream(
        flows=4096, more={"sizes": [68] * 7 + [570] * 4 + [1518], "vlans": [100]}
    ),
}
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
WAYS = directions_between(2, "both")
DELAYS_NS = (50_000, 1_000_000)
TOLERANCE = 0.01
SHARES = (1.0, 5.0, 50.0)


class Untrue(VsperfError):
    """tgen counted or read something else than was done."""

    exit_code = ExitCode.INVALID_RESULT


def main() -> None:
    """Run both parts."""
    parser = options(
        __doc__,
        EXAMPLE,
        frames=Option(1e8, 1e6, "of each stream, both directions together"),
        rounds=Option(1, 1, "times that each delay is read"),
    )
    carry_out(parser, measure)


def measure(found: argparse.Namespace) -> Ratio:
    """Compare counts, then delays."""
    require_reference_dut()
    with tempfile.TemporaryDirectory() as name:
        folder, frames = Path(name), int(found.frames) // 2
        right = [counts(folder, frames, name) for name in STREAMS if frames]
        read = [delay(folder, ns) for _ in range(found.rounds) for ns in DELAYS_NS]
    if not all(right):
        raise Untrue("tgen does not count what the reference DUT did", why="see the lines with ✗")
    if any(abs(one - 1) > TOLERANCE for one in read):
        raise Untrue(f"a delay is read more than {TOLERANCE:.0%} off, see above")
    return Ratio.of("delay read to delay made", read)


def counts(folder: Path, frames: int, name: str) -> bool:
    """Compare every counter of one stream with what the reference DUT did."""
    began, stream = time.monotonic(), STREAMS[name]
    with reference_dut(folder, RULES, PERIOD) as switch:
        with at_hand(switch.devices, OPTIONS) as tgen:
            tgen.ports()
            result = trial(tgen, WAYS, stream, Sending(frames=frames), lambda event: None)
        switch.stop()
    seconds = time.monotonic() - began
    say(f"{name}: {2 * frames:,} frames in {seconds:.0f} s; settled: {result['settled']}")
    right = bool(result["settled"])
    for way, (found, truth) in enumerate(
        zip(result["streams"], switch.report["ports"], strict=True)
    ):
        for counter, seen, done in compared(found, truth, result["ports"][way ^ 1], stream):
            right &= seen == done
            mark = "✓" if seen == done else "✗"
            say(f"  {mark} {WAYS[way].name}: {counter:<12} tgen {seen:>12,}  DUT {done:>12,}")
    return right


def compared(
    found: dict[str, Any], truth: dict[str, Any], port: dict[str, Any], stream: Stream
) -> list[tuple[str, int, int]]:
    """Return each counter of tgen beside what it should be."""
    lost = truth["drop"] + truth["corrupt"] + truth["misroute"]
    alone = stream.flows == 1  # among many flows no frame is overtaken by one of its own
    return [
        ("sent", found["sent"], truth["received"]),
        ("lost", found["lost"], lost),
        ("distinct", found["distinct"], truth["received"] - lost),
        ("duplicates", found["duplicates"], truth["duplicate"]),
        ("reordered", found["reordered"], truth["reorder"] if alone else 0),
        ("extent", found["reorder_extent"], 40 if alone else 0),
        ("corrupted", found["corrupted"], truth["corrupt"]),
        ("misrouted", found["misrouted"], truth["misroute"]),
        ("wrong size", found["wrong_size"], 0),
        ("foreign", port["foreign"], truth["foreign"]),
        ("late", found["beyond_window"], 0),
        ("stale", port["stale"], 0),
    ]


def delay(folder: Path, delay_ns: int) -> float:
    """Delay one way only, the difference being the delay; return the share of it that is read."""
    with reference_dut(folder, delay_ns=(delay_ns, 0)) as switch:
        with at_hand(switch.devices, OPTIONS) as tgen:
            tgen.ports()
            sending = Sending("10000", frames=50_000, burst=1)
            streams = trial(tgen, WAYS, Stream(64), sending, lambda event: None)["streams"]
        switch.stop()
    delayed, straight = (percentiles_ns(s["latency"]["hdr"], SHARES) for s in streams)
    say(f"a delay of {delay_ns:,} ns")
    for share in SHARES:
        read_ns = delayed[share] - straight[share]
        say(
            f"  at p{share:g}: {read_ns:,} ns ({read_ns / delay_ns - 1:+.2%}); "
            f"the way without it takes {straight[share]:,} ns"
        )
    held = switch.report["ports"][0]["held_ns"]
    say(f"  the reference DUT held frames for {held['least']:,.0f} to {held['most']:,.0f} ns")
    return float(delayed[SHARES[0]] - straight[SHARES[0]]) / delay_ns


if __name__ == "__main__":
    main()
