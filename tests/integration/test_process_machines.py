"""Machines that are processes: real testpmds forward, count, say why they ended, leave nothing."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import pytest
from ovs_cases import ovs_case
from places import hugepages

from vsperf.deploy.deployment import Deployment, deploy, prepare
from vsperf.deploy.planner import Drivers, make_plan
from vsperf.errors import ComponentError
from vsperf.host.cpus import Cpu, CpuTopology
from vsperf.host.workspace import Workspace, workspace
from vsperf.plugins import Plugins
from vsperf.record.plan import Endpoint, Placement, Wire
from vsperf.spec.case import CaseSpec
from vsperf.spec.wiring import nic_mac
from vsperf.trafficgens.base import TrialRequest
from vsperf.trafficgens.tgen import byhand
from vsperf.trafficgens.tgen.byhand import Sending, Stream
from vsperf.trafficgens.tgen.command import Options, port_of
from vsperf.trafficgens.tgen.driver import TgenGenerator
from vsperf.trafficgens.tgen.process import Tgen
from vsperf.vnfs.process.driver import Processes, ProcessVnf

pytestmark = pytest.mark.xdist_group("machine")

PLACEMENT = Placement(cpus={"vm1": (1,), "generator": (0,)})
TWO_CPUS = CpuTopology((Cpu(0), Cpu(1, core=1)))
SLOWLY = Sending(rate_fps="2000", frames=2000)
PVP = {"name": "pvp", "paths": [["phy0", "vm1", "phy1"]]}
V2V = {"name": "v2v", "paths": [["vm1", "vm2"]]}


@pytest.fixture(autouse=True)
def _needs(require: Callable[[str], None]) -> None:
    for part in ("tgen", "dpdk-testpmd", "hugepages"):
        require(part)


def process_case(
    topology: dict[str, Any], switch: dict[str, Any] | None = None, **settings: Any
) -> CaseSpec:
    """Return a case on a machine that other tests use at the same time: sending may take long."""
    vnf = ProcessVnf.Spec.model_validate({"kind": "process", **settings})
    generator = TgenGenerator.Spec.model_validate({"kind": "tgen", "grace": "400ms"})
    case = ovs_case(switch, topology=topology, vnf=vnf)
    policy = {"offered_tolerance": "1%", "stretch_tolerance": "100%"}
    trial = case.trial.model_validate(case.trial.model_dump() | policy)
    return case.model_copy(update={"generator": generator, "trial": trial})


def wires(cards: int = 2) -> tuple[Wire, ...]:
    """Return cards that listen, for a generator that takes the switch's part."""
    return tuple(
        Wire(
            machine="vm1",
            nic=number,
            kind="vhost-user-client",
            address=f"RUN/vm1_{number}.sock",
            mac=nic_mac("vm1", number),
            peer_mac=f"02:0{number}:00:00:00:01",
        )
        for number in range(cards)
    )


@contextmanager
def alone(case: CaseSpec, cards: int = 2) -> Iterator[tuple[Processes, Workspace]]:
    """Start the one machine of a case, and no switch."""
    with workspace("a test of processes") as place:
        filled = tuple(
            wire.model_copy(update={"address": place.fill(wire.address)}) for wire in wires(cards)
        )
        with ProcessVnf().start(case, filled, PLACEMENT, place) as running:
            yield running, place


@contextmanager
def backend(place: Workspace, cards: int = 2, **options: Any) -> Iterator[Tgen]:
    """Let the generator play the switch on all cards."""
    chosen = Options(cpus=(0,), **options)
    devices = [
        port_of(
            Endpoint(link="vm1", kind="vhost-user-backend", address=wire.address), wire.nic, chosen
        ).device
        for wire in wires(cards)
    ]
    with byhand.at_hand(devices, chosen, place) as tgen:
        yield tgen


def send(tgen: Tgen, cards: int = 2, sending: Sending = SLOWLY, **stream: Any) -> tuple[int, int]:
    """Send both ways; return the frames sent and the frames that came back, all intact."""
    ways = byhand.ways_between(cards, "both")
    result = byhand.trial(tgen, ways, Stream(**stream), sending, lambda event: None)
    return (
        sum(stream["sent"] for stream in result["streams"]),
        sum(stream["received"] for stream in result["streams"]),
    )


@contextmanager
def deployed(case: CaseSpec) -> Iterator[Deployment]:
    """Deploy a case as a run does."""
    drivers = Drivers.of(case, Plugins.load())
    plan = make_plan(case, drivers, TWO_CPUS)
    with workspace("a test of processes") as place:
        with ExitStack() as stack:
            prepare(case, plan, place, stack)
            yield deploy(case, plan, drivers, place, stack)
        place.require_nothing_left()


SETTINGS: dict[str, dict[str, Any]] = {
    "as they are": {},
    "with addresses of the next hop": {"forward": "mac"},
    "with swapped addresses": {"forward": "macswap"},
    "with new checksums": {"forward": "csum"},
    "with packed rings": {"packed": True},
    "without hugepages": {"hugepages": False},
}


@pytest.mark.parametrize("settings", SETTINGS.values(), ids=SETTINGS.keys())
def test_frames_come_back_from_a_machine_and_are_counted(settings: dict[str, Any]) -> None:
    case = process_case(PVP, **settings)
    with (
        hugepages(),
        alone(case) as (running, place),
        backend(place, hugepages=settings.get("hugepages", True)) as tgen,
    ):
        running.await_forwarding()
        (before,) = running.counters()
        assert send(tgen) == (4000, 4000)
        (after,) = running.counters()
        growth = after.since(before)
        assert [(nic.received_frames, nic.sent_frames) for nic in growth.nics] == [(2000, 2000)] * 2
        assert {count for nic in growth.nics for count in nic.drops.values()} == {0}
        assert running.failure() is None
        assert running.facts()["vm1"]["dpdk"].startswith("DPDK")
        assert [port["mac_addr"] for port in running.facts()["vm1"]["ports"]] == [
            "52:54:00:00:01:00",
            "52:54:00:00:01:01",
        ]
