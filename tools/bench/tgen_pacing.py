"""Measures how exactly tgen keeps an asked rate, and its latency floor.

The port is a ring that leads back to itself, so that nothing but the generator's own loop limits
it. Trials flat out find the greatest rate; the last rates are 90 % of it. The ratio is that of the
rate that was kept, from the first frame to the last, to the one that was asked for.
tgen_veth.py compares with tcpreplay.
"""

from __future__ import annotations

import argparse
from typing import Any

from common import Option, Ratio, carry_out, hugepages, options, say, two_cpus

from vsperf.drivers.generators.tgen.byhand import (
    Sending,
    Stream,
    at_hand,
    directions_between,
    trial,
)
from vsperf.drivers.generators.tgen.command import Options
from vsperf.drivers.generators.tgen.process import Tgen

EXAMPLE = "tools/bench/tgen_pacing.py --rates 1000,1000000 --seconds 5"
MEMORY_MB = 256
PERCENTILES = ("50", "90", "99", "99.9", "99.99")


def main() -> None:
    """Measure all rates in turn."""
    parser = options(
        __doc__,
        EXAMPLE,
        rates=Option("1000,10000,100000,1000000,4000000", "10000,100000", "fps, by commas"),
        rounds=Option(3, 1, "times that the greatest rate is looked for"),
        seconds=Option(10.0, 1.0, "how long each rate is sent"),
        burst=Option(32, 32, "most frames sent at once"),
        port=Option("net_ring0", "net_ring0", "device of DPDK whose frames come back"),
        cpu=Option(two_cpus()[1], two_cpus()[1], "of the thread that sends"),
    )
    carry_out(parser, measure)


def measure(found: argparse.Namespace) -> Ratio:
    """Send at each rate, then as fast as it goes, then at 90 % of that."""
    kept = []
    chosen = Options(cpus=(found.cpu,))
    with hugepages(MEMORY_MB) as place, at_hand([found.port], chosen, place) as tgen:
        for rate in found.rates.split(","):
            kept.append(show(tgen, int(rate), found))
        for _ in range(found.rounds):  # the host lends more or less of its time; so each its own
            result = send(tgen, None, found)
            greatest, stream = rate_of(result), result["streams"][0]
            cycles = result["workers"][0]["busy_ns"] * result["tsc_hz"] / 1e9 / stream["sent"]
            say(f"greatest rate {greatest / 1e6:.2f} Mpps, {cycles:.1f} cycles per frame; 90 %:")
            kept.append(show(tgen, int(0.9 * greatest), found))
    return Ratio.of("rate kept to rate asked for", kept)


def send(tgen: Tgen, rate: int | None, found: argparse.Namespace) -> dict[str, Any]:
    """Send for a time, flat out without a rate."""
    asked = None if rate is None else str(rate)
    sending = Sending(asked, duration_ns=int(found.seconds * 1e9), burst=found.burst)
    return trial(tgen, directions_between(1, "both"), Stream(64), sending, lambda event: None)


def rate_of(result: dict[str, Any]) -> float:
    """Return the frames per second between the first frame and the last."""
    stream = result["streams"][0]
    sending: int = stream["sending_ns"]
    return float((stream["sent"] - 1) * 1e9 / sending)


def show(tgen: Tgen, rate: int, found: argparse.Namespace) -> float:
    """Send for a time, show how it went, and return the share of the rate that was kept."""
    result = send(tgen, rate, found)
    stream, worker = result["streams"][0], result["workers"][0]
    kept = rate_of(result) / rate
    say(
        f"{rate:>12} fps: {(kept - 1) * 1e6:+.2f} ppm, unsent {stream['unsent']}, lost "
        f"{stream['lost']}; departure error {quantiles(worker['departure_error'])}; latency "
        f"{quantiles(stream['latency'])}; busy {worker['busy_ppm'] / 1e4:.1f} %, longest gap "
        f"{worker['longest_gap_ns'] / 1e3:.0f} us"
    )
    return kept


def quantiles(summary: dict[str, Any]) -> str:
    """Return percentiles in one line."""
    found = summary["percentiles_ns"]
    return " ".join(f"p{name} {found[name]}" for name in PERCENTILES) + " ns"


if __name__ == "__main__":
    main()
