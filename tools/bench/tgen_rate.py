"""Measures the rate of tgen through OVS-DPDK next to testpmd's flowgen; prints ratios.

Usage: python tools/bench/tgen_rate.py [--tgen PROGRAM] [--rounds 3] [--seconds 3]
       [--cases 64x1,64x4096,64x1048576,64x16777216,1518x1] [--mrg-rxbuf 0|1] [--server]

Both send as fast as they can, both ways, from one core through one forwarding core. tgen numbers,
stamps and checks every frame; testpmd does none of it. They take turns, and in each round a coin
says who is first, because the cores of a virtual machine change their distance within seconds.
Their frames are counted by the switch.
"""

# ruff: noqa: T201
from __future__ import annotations

import argparse
import os
import random
import statistics
import time
from pathlib import Path
from typing import Any

from tgen_parts import Ovs, Tgen, eal, find_tgen, private_ovs, testpmd

WARM_UP_S = 1.0
ORDINARY_FRAME = 1518


def main() -> None:
    """Measure all cases in turn."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tgen")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=3)
    parser.add_argument("--cases", default="64x1,64x4096,64x1048576,64x16777216,1518x1")
    parser.add_argument("--mrg-rxbuf", default="1")
    parser.add_argument("--server", action="store_true", help="OVS listens, generators connect")
    wanted = parser.parse_args()
    program = find_tgen(wanted.tgen)
    options = f",mrg_rxbuf={wanted.mrg_rxbuf}"
    with private_ovs(wanted.server) as ovs:
        vdevs = [ovs.vdev(port, options) for port in (0, 1)]
        for case in wanted.cases.split(","):
            size, flows = (int(number) for number in case.split("x"))
            ratios = []
            for index in range(wanted.rounds):
                first = random.random() < 0.5  # noqa: S311 - a coin
                ours = 0.0
                if first:
                    ours = measure_tgen(ovs, vdevs, program, (size, flows), wanted.seconds)
                theirs = measure_testpmd(ovs, vdevs, size, flows, wanted.seconds)
                if not first:
                    ours = measure_tgen(ovs, vdevs, program, (size, flows), wanted.seconds)
                ratios.append(ours / theirs)
                print(f"  {case} round {index + 1}: ratio {ours / theirs:.3f}", flush=True)
            print(
                f"{case}: median ratio {statistics.median(ratios):.3f}, "
                f"from {min(ratios):.3f} to {max(ratios):.3f}",
                flush=True,
            )


def count(ovs: Ovs, name: str, seconds: float) -> float:
    """Return the frames per second that leave the switch."""
    time.sleep(WARM_UP_S)
    ovs.forget_load()
    before, begin = ovs.forwarded(), time.monotonic()
    time.sleep(seconds)
    after, end = ovs.forwarded(), time.monotonic()
    rate = (after - before) / (end - begin)
    print(f"  {name}: {rate / 1e6:.3f} Mpps forwarded; switch {ovs.load()}", flush=True)
    return rate


def measure_testpmd(ovs: Ovs, vdevs: list[str], size: int, flows: int, seconds: float) -> float:
    """Let testpmd send; its flowgen counts the FCS in the size, as we do."""
    options = [
        "--forward-mode=flowgen",
        *("--rxd=1024", "--txd=1024", f"--txpkts={size}", f"--flowgen-flows={flows}"),
    ]
    with testpmd(eal(f"tgen-bench-{os.getpid()}", vdevs), options):
        time.sleep(WARM_UP_S)
        return count(ovs, "testpmd", seconds)


def measure_tgen(
    ovs: Ovs, vdevs: list[str], program: Path, what: tuple[int, int], seconds: float
) -> float:
    """Let tgen send for as long as the switch is looked at, and see that it checked all of it."""
    size, flows = what
    streams = [
        {
            **{"transmit_port": port, "receive_port": 1 - port, "size": size},
            **({"flows": vary(flows)} if flows > 1 else {}),
        }
        for port in (0, 1)
    ]
    options = ("--max-frame", str(max(size, ORDINARY_FRAME)))  # as vsperf does
    with Tgen(program, eal(f"tgen-bench-{os.getpid()}", vdevs), options) as tgen:
        tgen.ask("configure", streams=streams)
        duration_ns = int((seconds + 2 * WARM_UP_S) * 1e9)
        tgen.begin("trial", duration_ns=duration_ns)
        rate = count(ovs, "tgen", seconds)
        account(tgen.finish())
    return rate


def account(result: dict[str, Any]) -> None:
    """Show where tgen's frames went, and what its loop did."""
    keys = ("sent", "lost", "duplicates", "reordered", "corrupted", "misrouted", "wrong_size")
    sums = {key: sum(stream[key] for stream in result["streams"]) for key in keys}
    rest = {
        "foreign": sum(port["foreign"] for port in result["ports"]),
        "retries": sum(port["transmit_retries"] for port in result["ports"]),
        "polls": sum(port["receive_polls"] for port in result["ports"]),
        "busy": f"{result['workers'][0]['busy_ppm'] / 1e4:.1f} %",
        "p50 latency": result["streams"][0]["latency"].get("percentiles_ns", {}).get("50"),
    }
    print("   ", ", ".join(f"{key} {value}" for key, value in {**sums, **rest}.items()))


def vary(flows: int) -> dict[str, object]:
    """Return flows told apart by the destination address, as testpmd's are."""
    return {"vary": [{"field": "destination_ip", "count": flows}]}


if __name__ == "__main__":
    main()
