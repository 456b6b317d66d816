"""What a case makes of testpmd as a generator, and what it cannot send. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from vsperf.config.base import DriverSpec
from vsperf.config.case import CaseSpec
from vsperf.config.counted import PowerOfTwo
from vsperf.config.traffic import FULL, TrafficProfile
from vsperf.config.wiring import directions_of
from vsperf.dpdk.command import PROGRAM, Rings, Testpmd
from vsperf.dpdk.console import LINE_BY_LINE
from vsperf.drivers.generators.dpdk_ports import Port, entering, reaching
from vsperf.errors import UsageError
from vsperf.methods.base import loads_of, method_of
from vsperf.quantities.units import CpuSet
from vsperf.records.run import Endpoint, Placeholder, Placement, Step

THREADS = {"flowgen": 1, "txonly": 2}
"""How many threads never sleep: with `txonly` one sends and another one, of a second testpmd,
receives."""


class TestpmdGeneratorSpec(DriverSpec):
    """Settings of DPDK's testpmd as a generator: unpaced, and it checks no frame."""

    __test__ = False  # its name looks like that of tests

    kind: Literal["testpmd"]
    mode: Literal["flowgen", "txonly"] = "flowgen"
    """`flowgen` sends and receives by one thread on all ports; `txonly` sends in one direction by
    a thread that does nothing else, and a second testpmd, `rxonly`, receives."""
    cpus: CpuSet | None = None
    """CPUs of the threads that send and receive: one for `flowgen`, two for `txonly`."""
    hugepages: bool = True
    """Take memory from hugepages; without, it is slower, and enough for trying things out."""
    ring: Annotated[int, Field(ge=64, le=32768), PowerOfTwo] = 1024
    """Descriptors of each queue."""
    burst: Annotated[int, Field(ge=1, le=512)] = 64
    """Most frames that it sends or fetches at once."""

    @model_validator(mode="after")
    def _pins_agree(self) -> Self:
        if self.cpus is not None and len(self.cpus) != self.threads:
            raise ValueError(
                f"cpus: mode {self.mode} has {self.threads} threads that never sleep, and "
                f"{self.cpus} are {len(self.cpus)} CPUs"
            )
        return self

    @property
    def threads(self) -> int:
        """How many threads never sleep."""
        return THREADS[self.mode]


ROLE = "generator"
FCS = 4
WHO = "testpmd"
MOST_FLOWS = 1 << 24
OTHER = "--set generator.kind=tgen"


def check(case: CaseSpec, spec: TestpmdGeneratorSpec) -> None:
    """Refuse what it cannot send, or could not defend."""
    _check_frames(case.traffic)
    _check_flows(case, spec)
    if case.trial.learning:
        raise UsageError(
            "testpmd sends no learning frames",
            why="it sends nothing but its test frames, whose addresses are its own",
            fix="--set trial.learning=false",
        )
    if case.rewriting is not None:
        raise UsageError(
            f"testpmd does not see whether the switch does what {case.rewriting} asks",
            why="it counts frames that arrive, and looks at none",
            fix=f"{OTHER}, or a switch that leaves frames as they are",
        )
    _check_directions(case, spec)
    _check_loads(case)


def _check_frames(traffic: TrafficProfile) -> None:
    for setting in _unusual(traffic):
        raise UsageError(
            f"testpmd cannot send what traffic.{setting} asks for",
            why="its frames are UDP on IPv4, all of one size, with addresses of its own",
            fix=f"leave traffic.{setting} out, or {OTHER}",
        )


def _unusual(traffic: TrafficProfile) -> Iterator[str]:
    """Yield the settings that make other frames than it has, or send them in another way."""
    usual: dict[str, object] = {"layer3": "ipv4", "destination": "unicast", "vary": "ip"}
    usual |= {"reverse_load": FULL, "flow_order": "in-order", "vlans": (), "mpls": ()}
    usual |= dict.fromkeys(("imix", "bursts", "encapsulation", "replay"))
    yield from (name for name, value in usual.items() if getattr(traffic, name) != value)
    if traffic.broadcasts.value:
        yield "broadcasts"


def _check_flows(case: CaseSpec, spec: TestpmdGeneratorSpec) -> None:
    flows = int(case.traffic.flows)
    if spec.mode == "txonly" and flows > 1:
        raise UsageError(
            f"testpmd cannot send {flows} flows in mode txonly",
            why="it sends one frame over and over",
            fix="--set generator.mode=flowgen, or --set traffic.flows=1",
        )
    if flows > MOST_FLOWS:
        raise UsageError(
            f"testpmd sends {MOST_FLOWS} flows at most, and {flows} are wanted",
            fix=f"--set traffic.flows={MOST_FLOWS}",
        )


def _check_directions(case: CaseSpec, spec: TestpmdGeneratorSpec) -> None:
    ways = directions_of(case.topology, case.traffic.direction)
    if any(case.topology.lanes(*way) > 1 for way in ways):
        raise UsageError(
            f"testpmd cannot send to the parallel paths of topology {case.topology.name}",
            why="what tells their frames apart are addresses, and its addresses are its own",
            fix=f"--set topology=p2p, or {OTHER}",
        )
    if spec.mode == "txonly" and len(ways) != 1:
        raise UsageError(
            "testpmd sends one way only in mode txonly",
            why="who sends does not receive: a port that frames come back to is nobody's",
            fix="--set traffic.direction=forward, or --set generator.mode=flowgen",
        )
    ends = [end for way in ways for end in way]
    if spec.mode == "flowgen" and len(set(ends)) != 2:
        raise UsageError(
            f"testpmd sends between two ports, and topology {case.topology.name} has "
            f"{len(set(ends))} ends",
            why="what comes in at a port of its is for the other one",
            fix=f"--set topology=p2p, or {OTHER}",
        )
    if spec.mode == "flowgen" and len(ways) != 2:
        raise UsageError(
            "testpmd sends both ways in mode flowgen",
            why="its thread sends on every port that it receives on",
            fix="--set traffic.direction=both, or --set generator.mode=txonly",
        )


def _check_loads(case: CaseSpec) -> None:
    """Refuse loads that are not all it can do; a method that needs a pace has been refused."""
    loads = loads_of(case)
    lowest = min(method_of(case).offered(loads))
    if lowest < loads.line_rate:
        raise UsageError(
            f"testpmd cannot send {lowest} frames per second",
            why="it is unpaced: it sends as fast as it can, which stands for 100% and nothing else",
            fix=f"{OTHER}, or 100% alone: --set search.loads=100%, or --set search.min_load=99%",
        )


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
        argv = self.testpmd(part).command_line(program)
        return (*entering(part.ports, WHO), *LINE_BY_LINE, *argv)

    def steps(self) -> tuple[Step, ...]:
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
