"""Measures the rate of tgen through OVS-DPDK next to that of testpmd's flowgen.

Both send as fast as they can, both ways, from one core through one forwarding core. tgen numbers,
stamps and checks every frame; testpmd does none of it. They take turns, and in each round a coin
says who is first, because the cores of a virtual machine change their distance within seconds.
Their frames are counted by the switch, which is deployed as for a run. A case is a frame size and
a number of flows. The ratio is that of all rounds of all cases.
"""

from __future__ import annotations

import argparse
import random
import statistics
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any

from common import Option, Ratio, carry_out, options, say, until
from testpmd import flowgen

from vsperf.cli.selection import load
from vsperf.config.loader import Request
from vsperf.deploy.deployment import PORTS_S, prepare
from vsperf.deploy.planner import Drivers, make_plan
from vsperf.drivers.generators.tgen.byhand import (
    Sending,
    Stream,
    at_hand,
    directions_between,
    trial,
)
from vsperf.drivers.generators.tgen.command import Options, port_of
from vsperf.drivers.vswitches.base import RunningSwitch
from vsperf.host.cpus import read_topology
from vsperf.host.workspace import Workspace, workspace
from vsperf.plugins import Plugins
from vsperf.records.run import Endpoint
from vsperf.records.switch import SwitchCounters, cycles_of
from vsperf.waits import sleep

EXAMPLE = "tools/bench/tgen_rate.py --cases 64x1,1518x1 --rounds 5"
WARM_UP_NS = 500_000_000
ORDINARY_FRAME = 1518
WAYS = directions_between(2, "both")
LINKS = ("phy0", "phy1")


@dataclass(frozen=True, slots=True)
class Setting:
    """A switch that is up, and the generator's side of it."""

    switch: RunningSwitch
    place: Workspace
    endpoints: tuple[Endpoint, ...]
    cpu: int

    def devices(self, chosen: Options) -> list[str]:
        """Return the devices that reach the ports of the switch."""
        ports = enumerate(self.endpoints)
        return [port_of(endpoint, number, chosen).device for number, endpoint in ports]

    def counted(self) -> SwitchCounters:
        found = self.switch.counters()
        assert found is not None  # a real switch counts
        return found


def main() -> None:
    """Measure all cases in turn."""
    parser = options(
        __doc__,
        EXAMPLE,
        cases=Option("64x1,64x4096,64x1048576,1518x1", "64x1", "frame size x flows, by commas"),
        rounds=Option(5, 3, "turns of both per case"),
        seconds=Option(3.0, 1.0, "how long each sends"),
    )
    carry_out(parser, measure)


def measure(found: argparse.Namespace) -> Ratio:
    """Deploy the switch and let both take turns."""
    cases = [tuple(int(word) for word in case.split("x")) for case in found.cases.split(",")]
    ratios = []
    with switch() as setting:
        for size, flows in cases:
            ratios += turns(setting, Stream(size, flows), found.rounds, found.seconds)
    return Ratio.of("tgen to testpmd through OVS-DPDK", ratios)


@contextmanager
def switch() -> Iterator[Setting]:
    """Bring OVS-DPDK up between two links, with the memory that a run would reserve."""
    plugins = Plugins.load()
    request = Request(("phy2phy_smoke",), testbed="local")
    spec = load(request, plugins).cases[0].spec
    drivers = Drivers.of(spec, plugins)
    plan = make_plan(spec, drivers, read_topology())
    drivers.vswitch.require(spec)
    placement = plan.plan.placement
    with ExitStack() as stack:
        place = stack.enter_context(workspace("a benchmark of tgen"))
        say("reserving hugepages and starting OVS-DPDK")
        prepare(spec, plan, place, stack)
        running = stack.enter_context(drivers.vswitch.start(spec, plan.switch, placement, place))
        endpoints = tuple(
            endpoint.model_copy(update={"address": place.fill(endpoint.address)})
            for endpoint in plan.plan.endpoints
        )
        yield Setting(running, place, endpoints, placement.of("generator")[0])
    place.require_nothing_left()


def turns(setting: Setting, stream: Stream, rounds: int, seconds: float) -> list[float]:
    """Return the ratio of each round."""
    ratios = []
    say(f"{stream.size} B, {stream.flows} flows, {rounds} rounds of {seconds:g} s each")
    for number in range(1, rounds + 1):
        rates = {}
        both = [("tgen", measure_tgen), ("testpmd", measure_testpmd)]
        for name, sends in both if random.random() < 0.5 else both[::-1]:  # noqa: S311 - a coin
            rates[name] = sends(setting, stream, seconds)
        ratios.append(rates["tgen"] / rates["testpmd"])
        say(
            f"  round {number}: {rates['tgen'] / 1e6:.3f} and {rates['testpmd'] / 1e6:.3f} Mpps "
            f"forwarded, ratio {ratios[-1]:.3f}"
        )
    say(
        f"  median ratio {statistics.median(ratios):.3f}, "
        f"from {min(ratios):.3f} to {max(ratios):.3f}"
    )
    return ratios


def measure_testpmd(setting: Setting, stream: Stream, seconds: float) -> float:
    """Let testpmd send; its flowgen counts the FCS in the size, as we do."""
    more = (
        "--rxd=1024",
        "--txd=1024",
        f"--txpkts={stream.size}",
        f"--flowgen-flows={stream.flows}",
    )
    with flowgen(setting.place, setting.devices(Options()), setting.cpu, *more):
        setting.switch.await_ports(LINKS, PORTS_S)
        idle = forwarded(setting.counted())
        until(lambda: forwarded(setting.counted()) > idle, PORTS_S, "nothing of testpmd arrives")
        before, began = setting.counted(), time.monotonic()
        sleep(seconds)  # this is what is measured
        grown, ended = setting.counted().since(before), time.monotonic()
    return described("testpmd", grown, ended - began)


def measure_tgen(setting: Setting, stream: Stream, seconds: float) -> float:
    """Let tgen send once for nothing and once to be counted."""
    chosen = Options(cpus=(setting.cpu,), max_frame=max(stream.size, ORDINARY_FRAME))
    with at_hand(setting.devices(chosen), chosen, setting.place) as tgen:
        tgen.ports()
        setting.switch.await_ports(LINKS, PORTS_S)
        trial(tgen, WAYS, stream, Sending(duration_ns=WARM_UP_NS), lambda event: None)
        before = setting.counted()
        sending = Sending(duration_ns=int(seconds * 1e9))
        result = trial(tgen, WAYS, stream, sending, lambda event: None)
        grown = setting.counted().since(before)
    account(result)
    return described("tgen", grown, max(one["sending_ns"] for one in result["streams"]) / 1e9)


def forwarded(counters: SwitchCounters) -> int:
    """Return how many frames have left the switch."""
    return sum(port.sent_frames for port in counters.ports if port.link is not None)


def described(name: str, grown: SwitchCounters, seconds: float) -> float:
    """Say what the switch did, and return the frames per second that left it."""
    rate = forwarded(grown) / seconds
    busy, _ = cycles_of(grown.pmds)
    cycles = "unknown" if busy is None else f"{busy / max(1, forwarded(grown)):.0f}"
    say(f"    {name}: {rate / 1e6:.3f} Mpps forwarded, {cycles} cycles of the switch per frame")
    return rate


def account(result: dict[str, Any]) -> None:
    """Show where tgen's frames went, and what its loop did."""
    keys = ("sent", "lost", "duplicates", "reordered", "corrupted", "misrouted", "wrong_size")
    sums = {key: sum(stream[key] for stream in result["streams"]) for key in keys}
    rest = {
        "foreign": sum(port["foreign"] for port in result["ports"]),
        "retries": sum(port["transmit_retries"] for port in result["ports"]),
        "busy": f"{result['workers'][0]['busy_ppm'] / 1e4:.1f} %",
    }
    say("      " + ", ".join(f"{key} {value}" for key, value in {**sums, **rest}.items()))


if __name__ == "__main__":
    main()
