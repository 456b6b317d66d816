"""Measures the cycles that tgen and testpmd's flowgen need for a frame on ports without a switch.

Usage: python tools/bench/tgen_cycles.py [--tgen PROGRAM] [--rounds 3] [--seconds 2] [--cpus 0,1]

On a ring that leads back to itself every frame is sent and received once. A null port takes every
frame and always delivers some that are nobody's. Prints cycles of the clock for each frame sent
and, on the ring, received again; a sender's own drops are not counted as sent.
"""

# ruff: noqa: T201
from __future__ import annotations

import argparse
import os
import re
import statistics
import time

from tgen_parts import Tgen, find_tgen, testpmd

WARM_UP_S = 2.0


def main() -> None:
    """Let both take turns on each kind of port."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tgen")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=int, default=2)
    parser.add_argument("--cpus", default="0,1", help="of the main lcore and the worker")
    wanted = parser.parse_args()
    program = find_tgen(wanted.tgen)
    main_cpu, worker_cpu = wanted.cpus.split(",")
    for vdev in ("net_ring0", "net_null0"):
        arguments = [
            *("--no-pci", "--in-memory", "-m", "512", "--log-level=4", f"--vdev={vdev}"),
            f"--lcores=0@{main_cpu},1@{worker_cpu}",
            f"--file-prefix=tgen-bench-{os.getpid()}",
        ]
        ours, theirs = [], []
        for _ in range(wanted.rounds):
            with Tgen(program, arguments) as tgen:
                tgen.ask("configure", streams=[{"size": 64}])
                result = tgen.ask("trial", duration_ns=wanted.seconds * 10**9, drain_ns=0)
            stream, hz = result["streams"][0], result["tsc_hz"]
            ours.append(stream["sending_ns"] * hz / 1e9 / stream["sent"])
            theirs.append(hz / testpmd_rate(arguments, wanted.seconds))
        print(
            f"{vdev}: tgen {statistics.median(ours):.1f} cycles per frame, testpmd "
            f"{statistics.median(theirs):.1f} (medians of {wanted.rounds}); all: "
            f"{[round(value, 1) for value in ours]} and {[round(value, 1) for value in theirs]}",
            flush=True,
        )


def testpmd_rate(arguments: list[str], seconds: int) -> float:
    """Return the greatest rate at which flowgen sent in any second."""
    options = ["--forward-mode=flowgen", "--port-topology=loop", "--flowgen-flows=1"]
    with testpmd(arguments, [*options, "--stats-period=1"]) as process:
        time.sleep(WARM_UP_S + seconds)
        process.terminate()
        text, _ = process.communicate(timeout=20)
    return max(float(rate) for rate in re.findall(r"Tx-pps:\s+(\d+)", text))


if __name__ == "__main__":
    main()
