"""Ports of switches of the kernel: devices in a network of their own, alike whatever forwards."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence

from vsperf.config.case import CaseSpec
from vsperf.drivers.vswitches.base import step
from vsperf.drivers.vswitches.ports import Place
from vsperf.errors import ComponentError, UsageError
from vsperf.host.cpus import CpuNeed, Needs
from vsperf.host.devices import Device
from vsperf.host.tuntap import is_held
from vsperf.host.workspace import Workspace
from vsperf.quantities.units import CpuSet
from vsperf.records.run import Placeholder, Step
from vsperf.records.switch import PortCounters
from vsperf.waits import sleep

OF_CONNECTIONS = "it forwards what belongs to a connection, and turns are of frames that do not"
"""Why some of them cannot take turns with others; settings say it as `NOT_HELD`."""
PMD_ROLE = "pmd"
NETWORK = str(Placeholder.NAME)
"""Their network namespace is called like the deployment."""
MTU = 1500
"""Of all devices."""
POLL_S = 0.01
HELD_S = 10.0
"""Patience with virtual machines that are being started."""
NOBODY = "nobody holds the other end of its tap"
LOST = {
    "rx_dropped": "rx dropped",
    "rx_errors": "rx errors",
    "tx_dropped": "tx tap full",
    "tx_errors": "tx errors",
}
"""The kernel's name of a counter → why frames were lost there. What comes in is dropped where the
CPU that is to forward it has a full queue."""


def needs_of(chosen: CpuSet | None, count: int = 1) -> Needs:
    """Return the CPUs that forward: those that were chosen, or so many."""
    return Needs((CpuNeed.of(PMD_ROLE, chosen, count),))


def check_ports(case: CaseSpec, cpus: tuple[int, ...], who: str) -> None:
    """Refuse what no switch of the kernel can do; `who` is this one, for people."""
    if not cpus:
        raise UsageError(
            "no CPU was found that forwards frames",
            fix="--set vswitch.cpus=1, or give the testbed's machine more CPUs",
        )
    for link in case.topology.links:
        if case.testbed.links[link].switch is not None:
            raise UsageError(
                f"testbed link {link} has a device at the switch's end, which {who} is not given",
                why="it is in a network of its own, and its ports are devices that are made there",
                fix=f"leave testbed.links.{link}.switch out",
            )


def steps_of(
    kind: str, made: Iterable[str], moved: Iterable[str], cpus: Sequence[int]
) -> tuple[Step, ...]:
    """Return how devices of a kind are made, and moved into a network together with others."""
    return (
        step("make a network namespace of its own", f"namespace {NETWORK}"),
        step(
            f"make a {kind} for each link",
            *(f"{kind} {device} up, mtu {MTU}, without IPv6 and ARP" for device in made),
        ),
        step(
            f"move all of them there, and have CPU {', '.join(map(str, cpus))} forward what comes "
            "in by them",
            *moved,
        ),
    )


def await_held(name: str, queues: int, workspace: Workspace) -> None:
    """Wait until a VNF, or a guest that is a place, holds its tap: from then on it may be moved."""
    deadline = time.monotonic() + HELD_S
    while not is_held(name, queues):
        workspace.attend("while its tap was waited for")
        if time.monotonic() > deadline:
            raise ComponentError(
                f"nobody has taken hold of the tap {name} within {HELD_S:g} s",
                why="it is moved into the switch's network when a virtual machine has",
                fix="`vsperf plan` prints the command of each, to be tried by hand",
            )
        sleep(POLL_S)  # between two looks at a condition, never instead of one


def counted(place: Place, device: Device) -> PortCounters:
    """Return what the kernel counts at a port."""
    found = device.counted
    return PortCounters(
        name=place.name,
        link=place.link,
        vnf=place.vnf,
        received_frames=found["rx_packets"],
        sent_frames=found["tx_packets"],
        drops={reason: found[name] for name, reason in LOST.items() if name in found},
    )
