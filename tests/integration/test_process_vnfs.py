"""VNFs that are processes: real testpmds forward, count, say why they ended, leave nothing."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import ovs_traffic
import pytest
import switch_cases
from ovs_cases import ovs_case
from ovs_traffic import wait_until
from places import hugepages, room
from simulated_cases import PATIENCE, patiently
from switch_cases import PVP, V2V

from vsperf.config.case import CaseSpec
from vsperf.config.wiring import nic_mac
from vsperf.deploy.deployment import Deployment
from vsperf.drivers.generators.base import TrialRequest
from vsperf.drivers.generators.tgen import byhand
from vsperf.drivers.generators.tgen.byhand import Sending
from vsperf.drivers.generators.tgen.command import Options, port_of
from vsperf.drivers.generators.tgen.driver import TgenGenerator
from vsperf.drivers.generators.tgen.process import Tgen
from vsperf.drivers.vnfs.process.driver import Processes, ProcessVnf
from vsperf.drivers.vswitches.ovs.running import RunningOvs
from vsperf.errors import ComponentError
from vsperf.host.workspace import Workspace
from vsperf.records.run import Endpoint, Placeholder, Placement, Wire
from vsperf.records.trial import TrialCounts

pytestmark = [pytest.mark.machine, pytest.mark.needs("tgen", "dpdk-testpmd", "hugepages")]

PLACEMENT = Placement(cpus={"vm1": (1,), "generator": (0,)})
SLOWLY = Sending(rate_fps="2000", frames=2000, in_flight=32, quiet_ns=1_000_000_000)
"""A NIC has room for 256 frames."""
FEW = TrialRequest(1000, 200_000_000)
"""All of them have room in a NIC, whoever does not run meanwhile."""


def process_case(
    topology: dict[str, Any], switch: dict[str, Any] | None = None, **settings: Any
) -> CaseSpec:
    """Return a case on a machine that other tests use at the same time.

    Sending may take long, no more is on its way than has room in a ring that nobody empties, and
    what is on its way at the end is waited for though somebody sleeps meanwhile.
    """
    vnf = ProcessVnf.Spec.model_validate({"kind": "process", **settings})
    generator = TgenGenerator.Spec.model_validate(
        {"kind": "tgen", "grace": PATIENCE, "in_flight": 128}
    )
    case = ovs_case(switch, topology=topology, vnf=vnf)
    patient = patiently(case, offered_tolerance="1%", drain="1s", linger="100ms")
    return patient.model_copy(update={"generator": generator})


def wires(nics: int = 2) -> tuple[Wire, ...]:
    """Return NICs that listen, for a generator that takes the switch's part."""
    return tuple(
        Wire(
            vnf="vm1",
            nic=number,
            kind="vhost-user-client",
            address=f"{Placeholder.RUN}/vm1_{number}.sock",
            mac=nic_mac("vm1", number),
            peer_mac=f"02:0{number}:00:00:00:01",
        )
        for number in range(nics)
    )


@contextmanager
def alone(case: CaseSpec, nics: int = 2) -> Iterator[tuple[Processes, Workspace]]:
    """Start the one VNF of a case, and no switch."""
    with room("a test of processes") as place:
        filled = tuple(
            wire.model_copy(update={"address": place.fill(wire.address)}) for wire in wires(nics)
        )
        with ProcessVnf().start(case, filled, PLACEMENT, place) as running:
            yield running, place


@contextmanager
def backend(place: Workspace, nics: int = 2, **options: Any) -> Iterator[Tgen]:
    """Let the generator play the switch on all NICs."""
    chosen = Options(cpus=(0,), **options)
    devices = [
        port_of(
            Endpoint(link="vm1", kind="vhost-user-backend", address=wire.address), wire.nic, chosen
        ).device
        for wire in wires(nics)
    ]
    with byhand.at_hand(devices, chosen, place) as tgen:
        yield tgen


def send(tgen: Tgen, nics: int = 2, sending: Sending = SLOWLY, **stream: Any) -> tuple[int, int]:
    """Send both ways; return the frames sent and the frames that came back, all intact."""
    return ovs_traffic.send(tgen, sending, byhand.directions_between(nics, "both"), **stream)


def sent_in(counts: TrialCounts) -> list[int]:
    """Return what was sent each way: a generator that does not run may leave out some frames."""
    sent = [way.sent_frames for way in counts.directions]
    assert all(sent)
    return sent


@contextmanager
def deployed(case: CaseSpec) -> Iterator[Deployment]:
    """Deploy a case as a run does, and wait until the switch has its ports."""
    with switch_cases.deployed(case) as (running, _):
        assert isinstance(running.switch, RunningOvs)
        switch = running.switch
        wait_until(lambda: not switch.waiting_for())
        yield running


SETTINGS: dict[str, dict[str, Any]] = {
    "as they are": {},
    "with addresses of the next hop": {"forward": "mac"},
    "with swapped addresses": {"forward": "macswap"},
    "with new checksums": {"forward": "csum"},
    "with packed rings": {"packed": True},
    "without hugepages": {"hugepages": False},
}


@pytest.mark.parametrize("settings", SETTINGS.values(), ids=SETTINGS.keys())
def test_frames_come_back_from_a_vnf_and_are_counted(settings: dict[str, Any]) -> None:
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


def test_frames_go_back_out_of_a_single_nic() -> None:
    case = process_case({**PVP, "nics": 1})
    with hugepages(), alone(case, nics=1) as (running, place), backend(place, nics=1) as tgen:
        running.await_forwarding()
        assert send(tgen, nics=1) == (2000, 2000)


def test_frames_come_back_over_two_queues() -> None:
    case = process_case(PVP, queues=2)
    with hugepages(), alone(case) as (running, place), backend(place, queues=2) as tgen:
        running.await_forwarding()
        assert send(tgen, flows=64) == (4000, 4000)
        assert [port["nb_rx_queues"] for port in running.facts()["vm1"]["ports"]] == [2, 2]


def test_frames_of_9000_bytes_come_back_whole() -> None:
    case = process_case(PVP)
    traffic = case.traffic.model_validate(case.traffic.model_dump() | {"frame_size": "9000B"})
    case = case.model_copy(update={"traffic": traffic})
    with hugepages(), alone(case) as (running, place), backend(place) as tgen:
        running.await_forwarding()
        assert send(tgen, size=9000) == (4000, 4000)


@pytest.mark.everyday
def test_a_vnf_that_was_killed_says_so() -> None:
    with hugepages(), alone(process_case(PVP)) as (running, place), backend(place):
        running.await_forwarding()
        os.kill(running.vnfs[0].program.pid, signal.SIGKILL)
        with pytest.raises(ComponentError, match="vm1 was killed by SIGKILL"):
            running.counters()
        assert "vm1 was killed by SIGKILL" in str(running.failure())
        assert "Port statistics" not in str(running.failure())


def test_a_vnf_that_nobody_calls_is_waited_for_until_its_time_is_over() -> None:
    case = process_case(PVP, boot_timeout="3s")
    late = pytest.raises(ComponentError, match="vm1 does not forward after 3 s")
    with hugepages(), alone(case) as (running, _), late as caught:
        running.await_forwarding()
    assert "waiting for client connection" in str(caught.value.problems[0].why)


ENDED = "(ended with exit code 1|was killed by SIGSEGV)"
"""DPDK gives up, and now and then its threads fall over each other meanwhile."""


def test_a_vnf_that_does_not_start_shows_what_it_said() -> None:
    """Who sees it first depends on how soon it ends: whoever waits for it, or for the generator."""
    case = process_case(PVP, testpmd_arguments=["--no-such-option"])
    seen = f"vm1 ({ENDED} while it started|was lost while tgen started)"
    with (
        hugepages(),
        alone(case) as (running, place),
        pytest.raises(ComponentError, match=seen) as caught,
        backend(place),
    ):
        running.await_forwarding()
    assert "no-such-option" in str(caught.value.problems[0].why)


@pytest.mark.everyday
@pytest.mark.parametrize(
    "ports", ["vhost-user-client", pytest.param("vhost-user", marks=pytest.mark.thorough)]
)
@pytest.mark.needs("ovs-dpdk")
def test_frames_pass_the_switch_and_the_vnf_both_ways(ports: str) -> None:
    case = process_case(PVP, {"ports": ports})
    with deployed(case) as running:
        assert running.vnfs is not None
        before = running.vnfs.counters()
        counts = running.generator.run(FEW)
        (growth,) = (
            after.since(then) for after, then in zip(running.vnfs.counters(), before, strict=True)
        )
    assert [way.received_frames for way in counts.directions] == sent_in(counts)
    assert [nic.received_frames for nic in growth.nics] == sent_in(counts)
    assert growth.lost_frames == 0


@pytest.mark.needs("ovs-dpdk")
def test_frames_pass_from_vnf_to_vnf() -> None:
    """The generator plays the switch on the outer NIC of each."""
    with deployed(process_case(V2V)) as running:
        assert running.vnfs is not None
        counts = running.generator.run(FEW)
        names = [vnf.name for vnf in running.vnfs.counters()]
    assert [way.received_frames for way in counts.directions] == sent_in(counts)
    assert names == ["vm1", "vm2"]
