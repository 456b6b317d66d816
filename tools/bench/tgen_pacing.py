"""Measures how exactly tgen keeps an asked rate, and its latency floor; prints and judges nothing.

Usage: python tools/bench/tgen_pacing.py [--tgen PROGRAM] [--seconds 10] [--rates 1000,1000000]
       [--burst 32] [--vdev net_ring0] [--veth]

The port is a ring that leads back to itself, so that nothing but the generator's own loop limits
it. Trials flat out find the greatest rate; the last rates are 90 % of it. With --veth tgen is
compared with tcpreplay on a cable of the kernel instead, see tgen_veth.py.
"""

# ruff: noqa: T201
from __future__ import annotations

import argparse
import os
from typing import Any

import tgen_veth
from tgen_parts import Tgen, find_tgen

RATES = (1_000, 10_000, 100_000, 1_000_000, 4_000_000, 10_000_000)
ROUNDS = 3
PERCENTILES = ("50", "90", "99", "99.9", "99.99")


def main() -> None:
    """Measure all rates in turn."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tgen")
    parser.add_argument("--seconds", type=float, default=10)
    parser.add_argument("--rates")
    parser.add_argument("--burst", type=int, default=32)
    parser.add_argument("--cpus", default="0,1", help="of the main lcore and the worker")
    parser.add_argument("--vdev", default="net_ring0")
    parser.add_argument("--veth", action="store_true", help="compare with tcpreplay on a veth")
    wanted = parser.parse_args()
    main_cpu, worker_cpu = wanted.cpus.split(",")
    default = tgen_veth.RATES if wanted.veth else RATES
    rates = [float(rate) for rate in wanted.rates.split(",")] if wanted.rates else default
    if wanted.veth:
        cpus = (main_cpu, worker_cpu)
        tgen_veth.compare(find_tgen(wanted.tgen), rates, wanted.seconds, cpus)
        return
    arguments = [
        *("--no-pci", "--in-memory", "-m", "256", "--log-level=4"),
        *(f"--lcores=0@{main_cpu},1@{worker_cpu}", f"--vdev={wanted.vdev}"),
        f"--file-prefix=tgen-bench-{os.getpid()}",
    ]
    with Tgen(find_tgen(wanted.tgen), arguments) as tgen:
        tgen.ask("configure", streams=[{"transmit_port": 0, "receive_port": 0, "size": 64}])
        flat_out = tgen.ask("trial", duration_ns=int(wanted.seconds * 1e9))
        greatest = rate_of(flat_out)
        hz, busy_ns = flat_out["tsc_hz"], flat_out["workers"][0]["busy_ns"]
        cycles = busy_ns * hz / 1e9 / flat_out["streams"][0]["sent"]
        print(f"greatest rate {greatest / 1e6:.2f} Mpps, {cycles:.1f} cycles per frame both ways")
        for rate in rates:
            show(tgen, rate, wanted.seconds, wanted.burst)
        for _ in range(ROUNDS):  # the host lends more or less of its time; so each its own maximum
            greatest = rate_of(tgen.ask("trial", duration_ns=int(wanted.seconds * 1e9)))
            print(f"greatest rate {greatest / 1e6:.2f} Mpps; 90 % of it:")
            show(tgen, int(0.9 * greatest), wanted.seconds, wanted.burst)


def rate_of(result: dict[str, Any]) -> float:
    """Return the frames per second between the first frame and the last."""
    stream = result["streams"][0]
    sending: int = stream["sending_ns"]
    return float((stream["sent"] - 1) * 1e9 / sending)


def show(tgen: Tgen, rate: float, seconds: float, burst: int) -> None:
    """Send for a time and show how it went."""
    result = tgen.ask("trial", rate_fps=rate, duration_ns=int(seconds * 1e9), burst=burst)
    stream, worker = result["streams"][0], result["workers"][0]
    error_ppm = (rate_of(result) / rate - 1) * 1e6
    print(
        f"{rate:>12.0f} fps: {error_ppm:+.2f} ppm, unsent {stream['unsent']}, lost "
        f"{stream['lost']}; departure error {quantiles(worker['departure_error'])}; latency "
        f"{quantiles(stream['latency'])}; busy {worker['busy_ppm'] / 1e4:.1f} %, longest gap "
        f"{worker['longest_gap_ns'] / 1e3:.0f} us",
        flush=True,
    )


def quantiles(summary: dict[str, Any]) -> str:
    """Return percentiles in one line."""
    found = summary["percentiles_ns"]
    return " ".join(f"p{name} {found[name]}" for name in PERCENTILES) + " ns"


if __name__ == "__main__":
    main()
