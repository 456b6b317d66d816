"""The driver: an instance of OVS-DPDK of its own for each case, its ports, and their memory.

With `per-port-memory` OVS makes for each port as many buffers as it can ever use. Otherwise it
begins with 262144 for all, takes what memory there is, and halves the number until it fits; for
that moment it has nothing left for the port that connects, which then fails.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Annotated, ClassVar, Literal, Self

from pydantic import Field, ValidationInfo, model_validator

from vsperf.config.case import CaseSpec
from vsperf.config.wiring import Nic
from vsperf.drivers.settings import reading, require_as_many
from vsperf.drivers.vswitches.base import wire_of
from vsperf.drivers.vswitches.ovs.bringup import OvsSwitch
from vsperf.drivers.vswitches.ovs.layout import (
    AFXDP,
    LARGEST_USUAL_MTU,
    RING_FRAMES,
    OvsSettings,
    SwitchPort,
    mtu_request,
)
from vsperf.drivers.vswitches.ovs.plan import MAIN_ROLE, PMD_ROLE, Design, caches, limits, word
from vsperf.drivers.vswitches.ovs.programs import SYSTEM_SWITCH, check_of
from vsperf.drivers.vswitches.ports import (
    PCI_ADDRESS,
    VIRTUAL_DEVICE,
    Place,
    device_endpoint,
    place_endpoint,
    places_of,
    tap_name,
    tap_of,
)
from vsperf.errors import UsageError
from vsperf.host.cpus import CpuNeed, Needs
from vsperf.host.threads import Polling
from vsperf.quantities.units import CpuSet
from vsperf.records import threads
from vsperf.records.run import Endpoint, Placeholder, Placement, Wire

Affinity = Annotated[str, Field(pattern=r"^\d{1,4}:\d{1,4}(,\d{1,4}:\d{1,4})*$")]


class OvsDpdkSpec(OvsSettings):
    """Settings of Open vSwitch with DPDK."""

    HELD_STILL: ClassVar[bool] = True
    PLACES: ClassVar[bool] = True
    """Places can be joined to ports of it, each a device that it opens as a packet socket."""
    GUESTS: ClassVar[bool] = True
    """Guests can be places, each on a vhost-user port."""
    OWN_PORTS: ClassVar[bool] = True
    """A program can have such a port to itself."""

    kind: Literal["ovs-dpdk"]
    pmds: Annotated[int, Field(ge=1, le=128)] = 1
    """Polling threads, when `pmd_cpus` does not say where they run."""
    pmd_cpus: CpuSet | None = None
    """CPUs of the polling threads, one each."""
    main_cpus: CpuSet | None = None
    """CPUs of all other threads: they set up flows, and mostly sleep."""
    memory: Annotated[int, Field(ge=64, le=1048576)] | None = None
    """Memory [MB] on each node that has a polling thread; what the packet buffers of its ports
    take when not given."""
    hugepages: bool = True
    """Take memory from hugepages; without, it is slower, and enough for trying things out."""
    ports: Literal["vhost-user-client", "vhost-user"] = "vhost-user-client"
    """Ports of links without a device in the testbed, unless networks are joined to them. As
    `vhost-user-client` the switch calls and the other end listens; as `vhost-user` the switch
    listens (OVS calls that one deprecated)."""
    vnf_ports: Literal["vhost-user", "tap"] = "vhost-user"
    """What the NICs of VNFs are plugged into: `vhost-user`, where `ports` says who calls, or
    taps of the kernel, which the switch opens as packet sockets (DPDK's net_af_packet)."""
    rxqs: Annotated[int, Field(ge=1, le=256)] = 1
    """Receive queues of each device; a vhost-user port has as many as the other end asks for."""
    rx_ring: Annotated[int, Field(ge=32, le=16384)] | None = None
    """Receive descriptors of each device; OVS chooses when not given."""
    tx_ring: Annotated[int, Field(ge=32, le=16384)] | None = None
    """Send descriptors of each device; OVS chooses when not given."""
    rxq_affinity: dict[str, Affinity] = Field(default_factory=dict)
    """By link, which CPU polls which queue: `phy0: "0:2,1:3"` is queue 0 on CPU 2, 1 on 3."""
    tx_retries: Annotated[int, Field(ge=0, le=32)] = 8
    """How often sending to a full vhost-user port is tried again before the frame is dropped."""
    auto_lb: bool = False
    """Let OVS move queues between polling threads on its own; that shows in a measurement."""

    @model_validator(mode="after")
    def _pins_agree(self, info: ValidationInfo) -> Self:
        require_as_many(self, "pmds", "pmd_cpus", info)
        if self.pmd_cpus is not None and self.main_cpus is not None:
            both = sorted(set(self.pmd_cpus) & set(self.main_cpus))
            if both and len(set(self.pmd_cpus) | set(self.main_cpus)) > 1:
                raise ValueError(f"pmd_cpus and main_cpus both name CPU {both[0]}")
        return self

    @property
    def pmd_count(self) -> int:
        return self.pmds if self.pmd_cpus is None else len(self.pmd_cpus)


_spec_of = reading("vswitch.kind=ovs-dpdk", OvsDpdkSpec, "OVS-DPDK")
FOR_NICS = ("vfio", "infiniband")
"""Where the kernel lets programs have NICs; some are reached by RDMA."""
MEGABYTE = 1 << 20
LEAST_BUFFERS = 16_384
"""Of each port, beside those in its rings."""
USUAL_RING = 2048
BURST = 32
OVERHEAD_BYTES = 960
"""Of each buffer: what DPDK and OVS say of the frame, headroom, and the pool's own."""
FRAME_OVERHEAD_BYTES = 154
"""Headers around the packet, and headroom, before rounding up to a kilobyte."""
PAGE_BYTES = 4096
SPARE_MB = 64
"""For all that is no buffer: rings, queues, and what lies between."""
STEP_MB = 64
PACKET_SOCKET = "net_af_packet"
"""DPDK's driver for devices that stay the kernel's."""


def ports_of(case: CaseSpec, spec: OvsDpdkSpec) -> tuple[SwitchPort, ...]:
    """Return the ports, in the order of their numbers."""
    places = places_of(case.topology)
    names = [place.name for place in places]
    unknown = [name for name in spec.rxq_affinity if name not in names]
    if unknown:
        raise UsageError(
            f"vswitch.rxq_affinity names {unknown[0]}, where topology {case.topology.name} has "
            + ", ".join(names),
            fix="name ports that the topology uses",
        )
    mtu = mtu_request(case, spec.mtu)
    found = []
    for number, place in enumerate(places, start=1):
        if place.nic is not None:
            found.append(_vnf_port(place.nic, number, spec, mtu, case.vnf_queues))
        elif case.has_places and place.name not in {*case.guests, *case.user_space}:
            found.append(_place_port(case, place, number, spec, mtu))
        else:
            device = case.testbed.links[place.name].switch
            found.append(_link_port(place.name, number, device, spec, mtu))
    return tuple(found)


def needs_network(port: SwitchPort) -> bool:
    """Whether a port is a network device of the kernel, which only the host's own network has.

    A NIC may be one: some drivers share it between the kernel and DPDK.
    """
    device = port.options.get("dpdk-devargs", "")
    return "iface=" in device or port.type == "afxdp" or needs_pci(port)


def needs_pci(port: SwitchPort) -> bool:
    """Whether a port is a NIC."""
    device = port.options.get("dpdk-devargs", "")
    return bool(PCI_ADDRESS.match(device)) or device.startswith("class=")


def _link_port(
    link: str, number: int, device: str | None, spec: OvsDpdkSpec, mtu: int | None
) -> SwitchPort:
    affinity = spec.rxq_affinity.get(link)
    other_config = {} if affinity is None else {"pmd-rxq-affinity": affinity}
    type_, options = _vhost(link, spec) if device is None else _device(link, device, spec)
    name = link if type_ != "afxdp" else str(device).removeprefix(AFXDP)
    return SwitchPort(name, number, link, type_, options, other_config, mtu)


def _place_port(
    case: CaseSpec, place: Place, number: int, spec: OvsDpdkSpec, mtu: int | None
) -> SwitchPort:
    pair = tap_of(place, case.topology)
    fix = "take shorter frames, or another switch: --set vswitch.kind=ovs"
    device = _packet_socket(place.name, pair, "the pairs of devices of places", fix, spec, mtu)
    found = _link_port(place.name, number, device, spec, mtu)
    return replace(found, tap=pair)


def _vnf_port(nic: Nic, number: int, spec: OvsDpdkSpec, mtu: int | None, queues: int) -> SwitchPort:
    affinity = spec.rxq_affinity.get(nic.port)
    other_config = {} if affinity is None else {"pmd-rxq-affinity": affinity}
    if queues > 1:  # otherwise all frames of a polling thread take the queue of that thread
        other_config["tx-steering"] = "hash"
    if spec.vnf_ports == "tap":
        fix = "take shorter frames, or --set vswitch.vnf_ports=vhost-user"
        device = _packet_socket(nic.port, tap_name(nic), "the taps of VNFs", fix, spec, mtu)
        type_, options = _device(nic.port, device, spec)
    else:
        type_, options = _vhost(nic.port, spec)
    tap = tap_name(nic) if spec.vnf_ports == "tap" else None
    return SwitchPort(nic.port, number, None, type_, options, other_config, mtu, nic, tap=tap)


def _packet_socket(
    name: str, device: str, what: str, fix: str, spec: OvsDpdkSpec, mtu: int | None
) -> str:
    """Return how DPDK opens a device of the kernel: the tap of a NIC, or one that leads to a place.

    DPDK likes to go around the kernel's queues. Frames that a full tap refuses are then kept, and
    only leave in the next trial; by the queues they are dropped at once, and the tap counts them.
    """
    if mtu is not None and mtu > LARGEST_USUAL_MTU:
        raise UsageError(
            f"packets of {mtu} bytes do not pass {what}",
            why=f"DPDK's {PACKET_SOCKET}, by which OVS opens them, takes {LARGEST_USUAL_MTU} bytes",
            fix=fix,
        )
    words = [
        f"{PACKET_SOCKET}_{name}",
        f"iface={device}",
        "qdisc_bypass=0",
        f"framecnt={spec.rx_ring or RING_FRAMES}",
    ]
    if spec.rxqs > 1:
        words.append(f"qpairs={spec.rxqs}")
    return ",".join(words)


def _wire(port: SwitchPort, nic: Nic) -> Wire:
    if port.tap is not None:
        kind, address = "tap", port.tap
    elif port.type == "dpdkvhostuserclient":
        kind, address = "vhost-user-client", port.options["vhost-server-path"]
    else:
        kind, address = "vhost-user", f"{Placeholder.RUN}/{port.name}"
    return wire_of(nic, kind, address)


def _vhost(link: str, spec: OvsDpdkSpec) -> tuple[str, dict[str, str]]:
    retries = {"tx-retries-max": str(spec.tx_retries)}
    if spec.ports == "vhost-user":
        return "dpdkvhostuser", retries
    return "dpdkvhostuserclient", {"vhost-server-path": f"{Placeholder.RUN}/{link}.sock", **retries}


def _device(link: str, device: str, spec: OvsDpdkSpec) -> tuple[str, dict[str, str]]:
    queues = {"n_rxq": str(spec.rxqs)}
    if device.startswith(AFXDP):
        return "afxdp", queues
    rings = {"n_rxq_desc": spec.rx_ring, "n_txq_desc": spec.tx_ring}
    chosen = {name: str(size) for name, size in rings.items() if size is not None}
    if PCI_ADDRESS.match(device) or device.startswith((VIRTUAL_DEVICE, "class=")):
        return "dpdk", {"dpdk-devargs": device, **queues, **chosen}
    raise UsageError(
        f"testbed link {link} names {device!r} as the switch's device, which OVS-DPDK cannot take",
        why="a device is a PCI address (0000:03:00.0) or a virtual device of DPDK "
        "(net_af_packet0,iface=eth1), or afxdp:eth1",
        fix=f"mend testbed.links.{link}.switch, or leave it out for a vhost-user port",
    )


def _endpoint(case: CaseSpec, port: SwitchPort) -> Endpoint:
    link = str(port.link)
    if port.tap is not None:
        return place_endpoint(case, Place(link))
    if port.type == "dpdkvhostuserclient":
        return Endpoint(
            link=link, kind="vhost-user-client", address=port.options["vhost-server-path"]
        )
    if port.type == "dpdkvhostuser":
        return Endpoint(link=link, kind="vhost-user", address=f"{Placeholder.RUN}/{port.name}")
    return device_endpoint(case, link)


def memory_mb(spec: OvsDpdkSpec, ports: tuple[SwitchPort, ...]) -> int:
    """Return the memory that an instance is given; what the user chose has to suffice."""
    needed = needed_mb(spec, ports)
    if spec.memory is None:
        return needed
    if spec.memory < needed - SPARE_MB:
        raise UsageError(
            f"vswitch.memory is {spec.memory} MB, and the buffers of {len(ports)} ports need more",
            why=f"{needed - SPARE_MB} MB is what OVS makes for this MTU and these rings",
            fix=f"--set vswitch.memory={needed}, or leave it out",
        )
    return spec.memory


def needed_mb(spec: OvsDpdkSpec, ports: tuple[SwitchPort, ...]) -> int:
    """Return the memory that suffices [MB], in steps."""
    taken = sum(_buffers(spec) * _buffer_bytes(port, spec.hugepages) for port in ports)
    whole = -(-taken // MEGABYTE) + SPARE_MB
    return -(-whole // STEP_MB) * STEP_MB


def _buffers(spec: OvsDpdkSpec) -> int:
    """Return the buffers of one port; a vhost-user port may get as many queues as a NIC."""
    receive = spec.rxqs * (spec.rx_ring or USUAL_RING)
    send = (spec.pmd_count + 1) * (spec.tx_ring or USUAL_RING)
    return LEAST_BUFFERS + receive + send + spec.rxqs * BURST


def _buffer_bytes(port: SwitchPort, hugepages: bool) -> int:
    packet = port.mtu_request or LARGEST_USUAL_MTU
    data = -(-(packet + FRAME_OVERHEAD_BYTES) // 1024) * 1024
    whole = data + OVERHEAD_BYTES
    if hugepages:
        return whole
    return -(-whole // PAGE_BYTES) * PAGE_BYTES  # no buffer begins on one page and ends on another


@dataclass(frozen=True)
class DpdkDesign(Design):
    """An OVS that polls its ports, with memory of its own."""

    spec: OvsDpdkSpec

    title: ClassVar[str] = "OVS-DPDK"
    dpdk: ClassVar[bool] = True
    patience_s: ClassVar[float] = 60.0
    """DPDK clears its memory, which takes long for many gigabytes."""

    @cached_property
    def ports(self) -> tuple[SwitchPort, ...]:
        return ports_of(self.case, self.spec)

    @property
    def endpoints(self) -> tuple[Endpoint, ...]:
        return tuple(_endpoint(self.case, port) for port in self.ports if port.link is not None)

    @property
    def wires(self) -> tuple[Wire, ...]:
        return tuple(_wire(port, port.nic) for port in self.ports if port.nic is not None)

    @property
    def other_config(self) -> dict[str, str]:
        self._check_affinity()
        return other_config(
            self.spec,
            self.placement,
            memory_mb=memory_mb(self.spec, self.ports),
            pci=self._has_nics,
            rules=self.rules,
            tags=self.tags,
        )

    @property
    def host_ports(self) -> tuple[SwitchPort, ...]:
        return () if self.apart else tuple(port for port in self.ports if needs_network(port))

    @property
    def apart(self) -> bool:
        return self.case.has_places

    @property
    def polling(self) -> Polling:
        return Polling(threads.SWITCH, "pmd-c")

    @property
    def about(self) -> str:
        pmds = ", ".join(str(cpu) for cpu in self.placement.of(PMD_ROLE))
        slow = "" if self.spec.hugepages else "; WITHOUT HUGEPAGES, so it is slower than it can be"
        return f"polling on CPU {pmds}{slow}"

    @property
    def devices(self) -> tuple[str, ...]:
        memory = ("hugepages",) if self.spec.hugepages else ()
        return (*super().devices, *memory, *(FOR_NICS if self._has_nics else ()))

    @property
    def _has_nics(self) -> bool:
        return any(needs_pci(port) for port in self.ports)

    def _check_affinity(self) -> None:
        """Refuse what OVS would only mention in its log, to choose another CPU by itself."""
        pmds = self.placement.of(PMD_ROLE)
        for link, text in self.spec.rxq_affinity.items():
            for pair in text.split(","):
                if (cpu := int(pair.partition(":")[2])) not in pmds:
                    raise UsageError(
                        f"vswitch.rxq_affinity.{link} names CPU {cpu}, where no thread polls",
                        why=f"the polling threads run on CPU {', '.join(map(str, pmds))}",
                        fix="name one of these, or say where they run: vswitch.pmd_cpus",
                    )


def other_config(
    spec: OvsDpdkSpec, placement: Placement, *, memory_mb: int, pci: bool, rules: int, tags: int = 0
) -> dict[str, str]:
    """Return the entries.

    `pci` says whether a NIC is used, `tags` how many VLAN tags are looked at in a frame.
    """
    pmds, main = placement.of(PMD_ROLE), placement.of(MAIN_ROLE)
    if not pmds:
        raise UsageError(
            "no CPU was found for the polling threads of the switch",
            fix="--set vswitch.pmd_cpus=1, or give the testbed's machine more CPUs",
        )
    settings = {
        "dpdk-init": "true",
        "dpdk-lcore-mask": CpuSet.of(main or pmds[:1]).mask,
        "dpdk-extra": " ".join(extra_arguments(spec, memory_mb, pci)),
        "pmd-cpu-mask": CpuSet.of(pmds).mask,
        "per-port-memory": "true",
        **caches(spec),
        "pmd-auto-lb": word(spec.auto_lb),
        **limits(rules, tags),
    }
    if spec.hugepages:
        settings["dpdk-socket-mem"] = socket_memory(memory_mb, placement)
        settings["dpdk-socket-limit"] = settings["dpdk-socket-mem"]  # else it takes what it can get
    return {**settings, **spec.other_config}


def extra_arguments(spec: OvsDpdkSpec, memory_mb: int, pci: bool) -> tuple[str, ...]:
    """Return the arguments of DPDK's environment layer that OVS has no setting for.

    Memory without names in a file system needs no mount and leaves nothing behind. Where NICs
    are used, DPDK is told to begin with none: it would take the generator's, too.
    """
    ordinary = ("--no-huge", "--legacy-mem", "--no-shconf", "-m", str(memory_mb))
    memory = ("--in-memory",) if spec.hugepages else ordinary
    devices = ("--allow=0000:00:00.0",) if pci else ("--no-pci",)
    return (*memory, *devices, f"--file-prefix={Placeholder.NAME}-ovs")


def socket_memory(memory_mb: int, placement: Placement) -> str:
    """Return the memory [MB] of each node, for the nodes of polling threads; others get none."""
    nodes = set(placement.nodes.get(PMD_ROLE, (0,)))
    return ",".join(str(memory_mb if node in nodes else 0) for node in range(max(nodes) + 1))


class OvsDpdk(OvsSwitch):
    """Deploys Open vSwitch with its userspace datapath on DPDK."""

    kind = "ovs-dpdk"
    summary = "Open vSwitch with DPDK, a private instance beside any other"
    Spec = OvsDpdkSpec
    checks = (check_of(kind, OvsDpdkSpec, dpdk=True), SYSTEM_SWITCH)

    def needs(self, case: CaseSpec) -> Needs:
        spec = _spec_of(case)
        memory = memory_mb(spec, ports_of(case, spec))
        return Needs(
            cpus=(
                CpuNeed.of(PMD_ROLE, spec.pmd_cpus, spec.pmds),
                CpuNeed.of(MAIN_ROLE, spec.main_cpus, busy=False),
            ),
            hugepage_bytes=memory * MEGABYTE if spec.hugepages else 0,
        )

    def design(self, case: CaseSpec, placement: Placement) -> Design:
        return DpdkDesign(case, _spec_of(case), placement)
