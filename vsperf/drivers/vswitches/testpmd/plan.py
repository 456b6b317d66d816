"""What a case makes of testpmd: its ports in pairs, its command line, what it refuses. Pure.

It joins the first port with the second, the third with the fourth. It rewrites at each pass, and a
VNF may do so in between: so it is known for frames that pass it once, from a link to a link.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import Field, ValidationInfo, model_validator

from vsperf.config.case import CaseSpec
from vsperf.config.flows import counts, flows_between, link_mac
from vsperf.config.method import RESTARTED
from vsperf.config.rooted import RootedSpec
from vsperf.config.topology import Topology
from vsperf.config.traffic import TrafficProfile
from vsperf.dpdk.command import PROGRAM, Rings, Testpmd
from vsperf.drivers.settings import require_as_many
from vsperf.drivers.vswitches.base import SwitchPlan, step
from vsperf.drivers.vswitches.forwarding import partners
from vsperf.drivers.vswitches.ports import (
    PCI_ADDRESS,
    VIRTUAL_DEVICE,
    Place,
    VhostRole,
    device_endpoint,
    places_of,
    vhost_endpoint,
    vhost_socket,
    vhost_wire,
)
from vsperf.errors import UsageError
from vsperf.host.tree import Tree
from vsperf.quantities.units import CpuSet
from vsperf.records.run import Endpoint, Placeholder, Placement

VHOST_MAC = "56:48:4f:53:54:{:02x}"
"""Address that DPDK gives to its vhost-user port of a number: VHOST in ASCII, and the number."""
VARIED = {
    "mac": ("destination_mac", "source_mac"),
    "ip": ("destination_ip", "source_ip"),
    "port": ("destination_port", "source_port"),
}
"""Where swapping puts the first and the second field that flows differ by."""
OTHERS = (
    "choose a topology in which each port has one other end, such as p2p, pvp with two NICs, or "
    "pvvp; or a switch that looks into frames: --set vswitch.kind=ovs-dpdk"
)


def in_pairs(topology: Topology) -> tuple[Place, ...]:
    """Return what each port leads to, in the order of their numbers."""
    places = {place.name: place for place in places_of(topology)}
    others = partners(topology, "testpmd", OTHERS)
    found: dict[str, Place] = {}
    for name, place in places.items():
        if name not in found:
            found[name] = place
            found[others[name]] = places[others[name]]
    return tuple(found.values())


def arriving(forward: str, case: CaseSpec, enters: str, leaves: str) -> dict[str, Any]:
    """Return the headers of frames from one link at another."""
    ends = (enters, leaves)
    if forward == "io" or not all(end in case.topology.links for end in ends):
        return {}
    source, target = (case.topology.links.index(end) for end in ends)
    if forward == "mac":
        return {"destination_mac": link_mac(target), **_own_address(case, leaves)}
    return _swapped(case.traffic, source, target, deep=forward == "5tswap")


def _own_address(case: CaseSpec, link: str) -> dict[str, Any]:
    """Return the address of the port that frames leave by; nobody knows those of devices."""
    if any(case.testbed.links[name].switch for name in case.topology.links):
        return {}
    names = [place.name for place in in_pairs(case.topology)]
    return {"source_mac": VHOST_MAC.format(names.index(link))}


def _swapped(traffic: TrafficProfile, source: int, target: int, *, deep: bool) -> dict[str, Any]:
    """Return what was sent, the other way round, but for what differs from flow to flow.

    In a tunnel, and behind MPLS labels, what is swapped above Ethernet is not of the flow.
    """
    flow = next(flows_between(traffic, source, target), None)
    several = counts(traffic)
    if flow is None or several is None:
        return {}
    found: dict[str, Any] = {
        "source_mac": link_mac(target),
        "destination_mac": link_mac(source),
    }
    if deep and not traffic.mpls and traffic.encapsulation is None:
        found |= {
            "source_ip": flow.destination_ip,
            "destination_ip": flow.source_ip,
            "source_port": flow.destination_port,
            "destination_port": flow.source_port,
        }
    for name, count in zip(VARIED[traffic.vary], several, strict=True):
        if count > 1:
            found.pop(name, None)
    return found


Descriptors = Annotated[int, Field(ge=32, le=32768)]
Forward = Literal["io", "mac", "macswap", "5tswap"]


class TestpmdSpec(RootedSpec):
    """Settings of DPDK's testpmd, which forwards between pairs of ports."""

    __test__ = False  # its name looks like that of tests
    CAPPED: ClassVar[bool] = False
    """The generator's cap is measured with a testpmd in the switch's place: it would be its own."""

    HELD_STILL: ClassVar[bool] = True

    kind: Literal["testpmd"]
    forward: Forward = "io"
    """What becomes of a frame: nothing, and nobody looks at it (`io`); the addresses of the next
    hop are written into it (`mac`); its MAC addresses are swapped (`macswap`), or these and its IP
    addresses and ports (`5tswap`)."""
    pmds: Annotated[int, Field(ge=1, le=64)] = 1
    """Forwarding threads, when `pmd_cpus` does not say where they run."""
    pmd_cpus: CpuSet | None = None
    """CPUs of the forwarding threads, one each."""
    main_cpu: Annotated[int, Field(ge=0)] | None = None
    """CPU of the main thread, which mostly sleeps."""
    memory: Annotated[int, Field(ge=64, le=1048576)] | None = None
    """Memory [MB]; what the packet buffers take when not given."""
    hugepages: bool = True
    """Take memory from hugepages; without, it is slower, and enough for trying things out."""
    ports: VhostRole = "vhost-user-client"
    """Ports of VNFs, and of links without a device in the testbed. As `vhost-user-client` the
    switch calls and the other end listens, so the switch may restart; as `vhost-user` the switch
    listens."""
    rxqs: Annotated[int, Field(ge=1, le=16)] = 1
    """Queue pairs of each port; the other end has to have as many."""
    rx_ring: Descriptors = 512
    """Receive descriptors of each queue of a device; those of a vhost-user port are its other
    end's."""
    tx_ring: Descriptors = 512
    """Send descriptors of each queue of a device."""
    burst: Annotated[int, Field(ge=1, le=512)] = 32
    """Most frames that it handles at once."""
    cycles: bool = False
    """Count how long its thread is busy: a little slower, and told by DPDK 23.03 or newer only."""

    @model_validator(mode="after")
    def _pins_agree(self, info: ValidationInfo) -> Self:
        require_as_many(self, "pmds", "pmd_cpus", info)
        return self

    @property
    def pmd_count(self) -> int:
        return self.pmds if self.pmd_cpus is None else len(self.pmd_cpus)

    @property
    def rewriting(self) -> str | None:
        """The setting by which frames are changed; None where they stay as they are."""
        return None if self.forward == "io" else f"vswitch.forward={self.forward}"

    def arriving(self, case: CaseSpec, enters: str, leaves: str) -> dict[str, Any]:
        """Return the headers that frames from one link have at another."""
        return arriving(self.forward, case, enters, leaves)


NAME = "testpmd"
"""Among the programs of a workspace."""
PMD_ROLE = "pmd"
MAIN_ROLE = "switch main"


@dataclass(frozen=True)
class Design:
    """What one case makes of testpmd."""

    case: CaseSpec
    spec: TestpmdSpec
    placement: Placement = field(default_factory=Placement)

    @cached_property
    def places(self) -> tuple[Place, ...]:
        """What each port leads to, by number: DPDK finds NICs first, in the order of the bus."""
        found = in_pairs(self.case.topology)
        return tuple(sorted(found, key=lambda place: (not self.nic(place), self.nic(place))))

    @property
    def tree(self) -> Tree:
        return Tree.of(self.spec)

    def command(self, program: str) -> tuple[str, ...]:
        """Return how it is run, with the folder of the deployment where it is run in a tree."""
        argv = self.testpmd.command_line(program)
        return self.tree.command(argv, folders=(str(Placeholder.RUN),), devices=("vfio",))

    def nic(self, place: Place) -> str:
        """Return the NIC of a link; nothing where it is no NIC."""
        given = self.given(place) or ""
        return given.lower() if PCI_ADDRESS.match(given) else ""

    def given(self, place: Place) -> str | None:
        """Return the device that the testbed names for a link; None for a vhost-user port."""
        return None if place.link is None else self.case.testbed.links[place.link].switch

    @property
    def rings(self) -> Rings:
        """Of all ports."""
        return Rings(
            ports=len(self.places),
            threads=self.spec.pmd_count,
            queues=self.spec.rxqs,
            rx_descriptors=self.spec.rx_ring,
            tx_descriptors=self.spec.tx_ring,
            frame_bytes=self.case.longest_bytes,
        )

    @property
    def testpmd(self) -> Testpmd:
        """The program, with everything decided."""
        main = self.placement.of(MAIN_ROLE)
        devices = [self.device(number) for number, _ in enumerate(self.places)]
        return Testpmd(
            prefix=f"{Placeholder.NAME}-{NAME}",
            cpus=self.placement.of(PMD_ROLE),
            devices=tuple(device for device in devices if not PCI_ADDRESS.match(device)),
            nics=tuple(device for device in devices if PCI_ADDRESS.match(device)),
            rings=self.rings,
            main_cpu=main[0] if main else None,
            forward=self.spec.forward,
            peers=self._peers(),
            burst=self.spec.burst,
            memory=self.spec.memory,
            hugepages=self.spec.hugepages,
            counts_cycles=self.spec.cycles,
            waits_for_links=False,  # whoever is at the other ends comes later
        )

    def device(self, number: int) -> str:
        place = self.places[number]
        if (given := self.given(place)) is not None:
            return given
        words = [f"net_vhost{number}", f"iface={vhost_socket(place)}", f"queues={self.spec.rxqs}"]
        if self.spec.ports == "vhost-user-client":
            words.append("client=1")
        return ",".join(words)

    @property
    def sockets(self) -> tuple[str, ...]:
        """Those at which it listens itself."""
        if self.spec.ports != "vhost-user":
            return ()
        return tuple(vhost_socket(one) for one in self.places if self.given(one) is None)

    def _peers(self) -> tuple[tuple[int, str], ...]:
        """Return where frames that leave by a link go to, for the one mode that writes that."""
        if self.spec.forward != "mac":
            return ()
        links = self.case.topology.links
        return tuple(
            (number, link_mac(links.index(place.name))) for number, place in enumerate(self.places)
        )

    def endpoint(self, link: str) -> Endpoint:
        place = Place(link)
        if self.given(place) is not None:
            return device_endpoint(self.case, link)
        return vhost_endpoint(place, self.spec.ports)


def switch_plan(design: Design) -> SwitchPlan:
    """Return all steps, and where the ports will be."""
    check(design)
    spec, places = design.spec, design.places
    cpus = ", ".join(str(cpu) for cpu in design.placement.of(PMD_ROLE))
    pairs = ", ".join(
        f"{one.name} and {other.name}" for one, other in zip(places[::2], places[1::2], strict=True)
    )
    memory = "" if spec.hugepages else "; WITHOUT HUGEPAGES, so it is slower than it can be"
    start = step(
        f"start testpmd, which forwards in mode {spec.forward} between {pairs}, on CPU "
        f"{cpus}{memory}",
        argv=design.command(PROGRAM),
    )
    endpoints = tuple(design.endpoint(link) for link in design.case.topology.links)
    wires = tuple(
        vhost_wire(place.nic, place, spec.ports) for place in places if place.nic is not None
    )
    return SwitchPlan((start,), endpoints, wires)


def check(design: Design) -> None:
    """Refuse what it cannot do, or what nobody could see it do."""
    _check_done_to_it(design)
    _check_devices(design)
    _check_queues(design)
    _check_rewriting(design)
    if not design.placement.of(PMD_ROLE):
        raise UsageError(
            "no CPU was found for the forwarding threads of testpmd",
            fix="--set vswitch.pmd_cpus=1, or give the testbed's machine more CPUs",
        )


def _check_done_to_it(design: Design) -> None:
    asked = design.case.search.done_to_switch
    if asked is not None and asked != RESTARTED:
        raise UsageError(
            f"testpmd cannot be {asked}",
            why="it knows no flow, no address and no rule: frames of a port go to another one",
            fix="choose another testcase, or a switch with rules: --set vswitch.kind=ovs-dpdk",
        )
    if asked == RESTARTED:
        check_restart(design.spec)


def check_restart(spec: TestpmdSpec) -> None:
    """Refuse a restart after which nobody would be at the other ends."""
    if spec.ports == "vhost-user":
        raise UsageError(
            "testpmd cannot be restarted where it listens (vswitch.ports=vhost-user)",
            why="who has called it does not call again, so no frame would ever come back",
            fix="--set vswitch.ports=vhost-user-client",
        )


def _check_devices(design: Design) -> None:
    given = {place.name: design.given(place) for place in design.places}
    for link, device in given.items():
        if device is None:
            continue
        if not (PCI_ADDRESS.match(device) or device.startswith(VIRTUAL_DEVICE)):
            raise UsageError(
                f"testbed link {link} names {device!r} as the switch's device, which testpmd "
                "cannot take",
                why="a device is a PCI address (0000:03:00.0) or a virtual device of DPDK "
                "(net_af_packet0,iface=eth1)",
                fix=f"mend testbed.links.{link}.switch, or leave it out for a vhost-user port",
            )
    nics = [place.name for place in design.places if design.nic(place)]
    if nics and len(design.places) > 2:
        raise UsageError(
            f"testpmd cannot be told which ports belong together where {', '.join(nics)} "
            f"{'is a NIC' if len(nics) == 1 else 'are NICs'}",
            why="it joins ports in the order in which DPDK finds them, which has NICs first",
            fix="--set topology=p2p, or a switch with rules: --set vswitch.kind=ovs-dpdk",
        )


def _check_queues(design: Design) -> None:
    """See that nobody has to send on a queue which the other end does not have."""
    spec, case = design.spec, design.case
    if spec.pmd_count > len(design.places) * spec.rxqs:
        raise UsageError(
            f"testpmd has {spec.pmd_count} forwarding threads, and {len(design.places)} ports with "
            f"{spec.rxqs} {'queue' if spec.rxqs == 1 else 'queues'} each",
            why="a thread serves at least one queue; others would have nothing to do",
            fix=f"--set vswitch.pmds={len(design.places) * spec.rxqs}, or more vswitch.rxqs",
        )
    others = {}
    if any(place.link is not None and design.given(place) is None for place in design.places):
        others["generator.queues"] = getattr(case.generator, "queues", 1)
    if case.topology.vnfs:
        others["vnf.queues"] = case.vnf_queues
    for setting, queues in others.items():
        if queues != spec.rxqs:
            raise UsageError(
                f"{setting} is {queues}, and vswitch.rxqs is {spec.rxqs}",
                why="testpmd sends on all queues of a port, and nobody empties those that its "
                "other end does not have",
                fix=f"--set vswitch.rxqs={queues} and all of these alike",
            )


def _check_rewriting(design: Design) -> None:
    """Refuse to rewrite where nobody knows what arrives then."""
    case, mode = design.case, design.spec.rewriting
    if mode is None:
        return
    traffic = case.traffic
    if case.topology.vnfs:
        what = f"with {', '.join(case.topology.vnfs)} in between"
        why = "frames are rewritten each time that they pass, and by VNFs as well"
    elif traffic.replay is not None:
        what, why = "with the frames of a file", "which addresses these have, nobody knows"
    elif traffic.destination != "unicast" or traffic.broadcast_every:
        what, why = "with frames for more than one station", "they would come from all of these"
    else:
        return
    raise UsageError(
        f"{mode} cannot be had {what}",
        why=f"{why}, so nobody could tell from what arrives whether it was done",
        fix="--set vswitch.forward=io",
    )
