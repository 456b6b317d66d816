"""Measures the cycles that tgen and testpmd's flowgen need for a frame on ports without a switch.

On a ring that leads back to itself every frame is sent and received once. A null port takes every
frame and always delivers some that are nobody's. The ratio is that of cycles of the clock for each
frame sent and, on the ring, received again; a sender's own drops are not counted as sent. What many
streams cost beside one is told, too.
"""

from __future__ import annotations

import argparse
import statistics

from common import Option, Ratio, carry_out, hugepages, options, say, two_cpus
from testpmd import flowgen, next_rates

from vsperf.drivers.generators.tgen.byhand import at_hand
from vsperf.drivers.generators.tgen.command import Options
from vsperf.host.workspace import Workspace

EXAMPLE = "tools/bench/tgen_cycles.py --ports net_null0 --rounds 5"
MEMORY_MB = 640
DRAIN_NS = 0


def main() -> None:
    """Let both take turns on each kind of port."""
    parser = options(
        __doc__,
        EXAMPLE,
        ports=Option("net_ring0,net_null0", "net_ring0", "devices of DPDK, by commas"),
        rounds=Option(3, 3, "turns of both per port"),
        seconds=Option(2, 1, "how long each sends"),
        streams=Option(32, 32, "of tgen, beside a single one"),
        cpu=Option(two_cpus()[1], two_cpus()[1], "of the thread that sends"),
    )
    carry_out(parser, measure)


def measure(found: argparse.Namespace) -> Ratio:
    """Hold both against each other on each port."""
    ratios = []
    with hugepages(MEMORY_MB) as place:
        for port in found.ports.split(","):
            say(f"{port}: {found.rounds} rounds of {found.seconds} s each")
            ours, many, theirs = [], [], []
            for number in range(1, found.rounds + 1):
                cycles, hz = tgen_cycles(place, port, found.cpu, found.seconds)
                ours.append(cycles)
                many.append(tgen_cycles(place, port, found.cpu, found.seconds, found.streams)[0])
                theirs.append(hz / testpmd_rate(place, port, found.cpu, found.seconds))
                say(
                    f"  round {number}: tgen {ours[-1]:.1f} cycles per frame, "
                    f"{many[-1]:.1f} with {found.streams} streams, testpmd {theirs[-1]:.1f}"
                )
            say(
                f"  medians: tgen {statistics.median(ours):.1f} cycles per frame, "
                f"{statistics.median(many):.1f} with {found.streams} streams, "
                f"testpmd {statistics.median(theirs):.1f}"
            )
            ratios += [one / other for one, other in zip(ours, theirs, strict=True)]
    return Ratio.of("cycles of tgen to those of testpmd", ratios)


def tgen_cycles(
    place: Workspace, port: str, cpu: int, seconds: int, streams: int = 1
) -> tuple[float, float]:
    """Return the cycles that tgen needs for a frame, and how many there are in a second."""
    with at_hand([port], Options(cpus=(cpu,), max_frame=1518), place) as tgen:
        tgen.ask("configure", streams=[{"size": 64}] * streams)
        result = tgen.ask("trial", seconds + 20.0, duration_ns=seconds * 10**9, drain_ns=DRAIN_NS)
    sent, hz = sum(one["sent"] for one in result["streams"]), float(result["tsc_hz"])
    sending_ns = max(one["sending_ns"] for one in result["streams"])
    return sending_ns * hz / 1e9 / sent, hz


def testpmd_rate(place: Workspace, port: str, cpu: int, seconds: int) -> float:
    """Return the greatest rate at which flowgen sent in any second."""
    more = ("--port-topology=loop", "--flowgen-flows=1")
    with flowgen(place, [port], cpu, *more) as program:
        return max(next_rates(program, seconds + 1))


if __name__ == "__main__":
    main()
