"""What a case makes of testpmd as a generator: programs, ports and command lines. Pure."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

from vsperf.config.case import CaseSpec
from vsperf.config.wiring import directions_of
from vsperf.dpdk.command import PROGRAM, Rings, Testpmd
from vsperf.dpdk.console import LINE_BY_LINE
from vsperf.drivers.generators.dpdk_ports import Port, entering, reaching
from vsperf.drivers.generators.testpmd.spec import TestpmdGeneratorSpec
from vsperf.records.run import Endpoint, Placeholder, Placement, Step

ROLE = "generator"
FCS = 4
WHO = "testpmd"


@dataclass(frozen=True, slots=True)
class Part:
    """One testpmd of the generator."""

    name: str
    """Among the programs of the workspace."""
    links: tuple[str, ...]
    """Which link each of its ports reaches, in the order of their numbers."""
    ports: tuple[Port, ...]
    sends: bool
    receives: bool
    cpus: tuple[int, ...]

    @property
    def words(self) -> str:
        """What it does, for people."""
        if self.sends and self.receives:
            return "sends and receives"
        return "sends" if self.sends else "receives"


@dataclass(frozen=True)
class Design:
    """What one case makes of it."""

    case: CaseSpec
    spec: TestpmdGeneratorSpec
    endpoints: tuple[Endpoint, ...]
    placement: Placement = field(default_factory=Placement)

    @cached_property
    def parts(self) -> tuple[Part, ...]:
        """The programs."""
        ports = {
            endpoint.link: reaching(endpoint, number, WHO, ring=self.spec.ring, queues=1)
            for number, endpoint in enumerate(self.endpoints)
        }
        cpus = self.placement.of(ROLE) or tuple(range(self.spec.threads))
        if self.spec.mode == "flowgen":
            # DPDK finds NICs first, in the order of the bus.
            order = sorted(ports, key=lambda link: (not ports[link].pci, _bus(ports[link])))
            named = tuple(ports[link] for link in order)
            return (Part("flowgen", tuple(order), named, True, True, cpus[:1]),)
        ((enters, leaves),) = directions_of(self.case.topology, self.case.traffic.direction)
        return (
            Part("txonly", (enters,), (ports[enters],), True, False, cpus[:1]),
            Part("rxonly", (leaves,), (ports[leaves],), False, True, cpus[1:2] or cpus[:1]),
        )

    @property
    def rings(self) -> Rings:
        """Of the larger program."""
        ports = len(self.endpoints) if self.spec.mode == "flowgen" else 1
        return Rings(
            ports=max(1, ports),
            threads=1,
            rx_descriptors=self.spec.ring,
            tx_descriptors=self.spec.ring,
            frame_bytes=self.case.longest_bytes,
        )

    def testpmd(self, part: Part) -> Testpmd:
        """Return one of the programs, with everything decided."""
        flows = int(self.case.traffic.flows)
        return Testpmd(
            prefix=f"{Placeholder.NAME}-{part.name}",
            cpus=part.cpus,
            devices=tuple(port.device for port in part.ports if not port.pci),
            nics=tuple(port.device for port in part.ports if port.pci),
            rings=self.rings,
            forward="rxonly",
            burst=self.spec.burst,
            hugepages=self.spec.hugepages,
            waits_for_links=False,
            commands=f"{Placeholder.RUN}/{part.name}.commands",
            options=(f"--flowgen-flows={flows}",) if self.spec.mode == "flowgen" else (),
        )

    def command(self, part: Part, program: str = PROGRAM) -> tuple[str, ...]:
        """Return how one of them is run."""
        argv = self.testpmd(part).command_line(program)
        return (*entering(part.ports, WHO), *LINE_BY_LINE, *argv)

    def steps(self) -> tuple[Step, ...]:
        """Return what will be done."""
        size = self.case.traffic.frame_size
        found = []
        for part in self.parts:
            links = " and ".join(part.links)
            action = f"start testpmd, which {part.words} at {links}, on CPU {part.cpus[0]}"
            if part.sends:
                action += f": {self.spec.mode}, {size} frames, UNPACED and unchecked; "
                action += "frames are counted by ports"
            found.append(Step(component=ROLE, action=action, argv=self.command(part)))
        return tuple(found)


def _bus(port: Port) -> str:
    return port.name if port.pci else ""
