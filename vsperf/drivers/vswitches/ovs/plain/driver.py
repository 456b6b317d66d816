"""The driver: an instance of OVS without DPDK for each case: on taps, devices, AF_XDP."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, Literal, Self

from pydantic import model_validator

from vsperf.config.case import CaseSpec
from vsperf.config.wiring import Nic
from vsperf.drivers.settings import own_settings
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
from vsperf.drivers.vswitches.ovs.plan import MAIN_ROLE, PMD_ROLE, Design, caches, limits
from vsperf.drivers.vswitches.ovs.programs import SYSTEM_SWITCH, check_of
from vsperf.drivers.vswitches.ports import (
    Place,
    device_endpoint,
    link_endpoint,
    places_of,
    tap_name,
    tap_of,
)
from vsperf.errors import UsageError
from vsperf.host.cpus import CpuNeed, Needs
from vsperf.host.threads import Polling
from vsperf.host.tuntap import LONGEST_NAME
from vsperf.quantities.units import CpuSet
from vsperf.records import threads
from vsperf.records.run import Endpoint, Placeholder, Placement, Wire

HELD = ("tap", "internal")
"""Ports whose device the switch makes itself, and whose other end it holds."""


class OvsSpec(OvsSettings):
    """Settings of Open vSwitch without DPDK: its ports are devices of the kernel."""

    CAPPED: ClassVar[bool] = False
    """The generator's cap is one of vhost-user ports, and these are devices of the kernel."""

    NOT_HELD: ClassVar[str] = (
        "its taps are in the network of the host, where each OVS wants a device called ovs-netdev: "
        "with vswitch.ports=packet it has a network of its own"
    )
    PLACES: ClassVar[bool] = True
    """Places can be joined to its ports: devices that it opens, or whose other end it holds."""
    GUESTS: ClassVar[bool] = True
    """Guests can be places, each on a tap that the switch opens."""

    kind: Literal["ovs"]
    datapath: Literal["userspace", "kernel"] = "userspace"
    """Who forwards: the daemon, which needs nothing of the kernel but its devices; or the kernel's
    module openvswitch, which has to be there."""
    ports: Literal["tap", "packet", "afxdp", "internal"] | None = None
    """Ports of links without a device in the testbed. As `tap` the switch holds a tap, and the
    generator sends on its device; as `packet` the generator holds it, as a VNF would, and the
    switch opens its device, in a network of their own. In the kernel, `packet` is all there is.
    A place has one end of a pair of devices, and the switch opens the other one, unless told: as
    `afxdp`, for places alone, by XDP sockets, with threads that poll. Or there is no pair: as
    `internal`, for places alone, the place has the device of an internal port of the bridge, and as
    `tap` that of a tap; a daemon makes the same of both, and these alone take offloads."""
    cpus: CpuSet | None = None
    """CPU on which the daemon forwards, with all its threads; with AF_XDP, CPUs of the polling
    threads, one each. In the kernel, frames are forwarded where they come in."""
    main_cpus: CpuSet | None = None
    """CPUs of the threads that do not forward: with AF_XDP, and where the kernel forwards."""

    @model_validator(mode="after")
    def _the_kernel_holds_no_tap(self) -> Self:
        if self.datapath == "kernel" and self.ports not in (None, "packet"):
            raise ValueError(
                "in the kernel, ports are `packet`: taps and XDP sockets are a daemon's, and its "
                "internal ports are not there for places so far"
            )
        return self

    @property
    def OFFLOADS(self) -> bool:
        """Whether frames may come without checksums, and longer than its ports carry."""
        return self.ports in HELD

    @property
    def apart(self) -> bool:
        """Whether ports of links are devices in a network of their own."""
        return self.datapath == "kernel" or self.ports in ("packet", "afxdp")

    @property
    def HELD_STILL(self) -> bool:
        """Whether it can take turns with others: several of them stand at the same time then."""
        return self.apart


NETWORK = str(Placeholder.NAME)
"""A network of the deployment's own is called like it."""
DEVICE = re.compile(rf"[^\s/:,]{{1,{LONGEST_NAME}}}")
"""What a device of the kernel can be called, as far as OVS is concerned."""


def ports_of(case: CaseSpec, spec: OvsSpec) -> tuple[SwitchPort, ...]:
    """Return the ports, in the order of their numbers."""
    mtu = mtu_request(case, spec.mtu)
    found = []
    for number, place in enumerate(places_of(case.topology), start=1):
        device = None if place.nic else case.testbed.links[place.name].switch
        if (spec.apart or case.has_places) and (place.nic or device):
            raise _out_of_reach(case, place, spec)
        if place.nic is not None:
            found.append(_vnf_port(place.nic, number, mtu))
        elif device is not None:
            found.append(_device_port(place.name, number, device, mtu))
        else:
            tap = tap_of(place, case.topology)
            found.append(_port_of(case, place.name, number, tap, mtu, spec))
    return tuple(found)


def _port_of(
    case: CaseSpec, link: str, number: int, tap: str, mtu: int | None, spec: OvsSpec
) -> SwitchPort:
    """Return the port of a link that the testbed has no device for."""
    if case.guest_at(link) is not None:  # whose QEMU holds the tap
        return SwitchPort(link, number, link, "system", mtu_request=mtu, device=tap)
    if case.has_places and spec.ports in HELD:
        return _held_port(link, number, tap, mtu, spec)
    return _tap_port(link, number, tap, mtu, spec)


def _tap_port(link: str, number: int, tap: str, mtu: int | None, spec: OvsSpec) -> SwitchPort:
    """Return a tap: what is sent on its device comes to who holds it, and the other way round.

    Or the switch's end of a pair of devices, which it opens.
    """
    if not spec.apart and mtu is not None and mtu > LARGEST_USUAL_MTU:
        raise UsageError(
            f"packets of {mtu} bytes do not pass the tap of link {link}",
            why="DPDK's net_af_packet, by which the generator sends on it, takes "
            f"{LARGEST_USUAL_MTU} bytes",
            fix="take shorter frames, or --set vswitch.ports=packet",
        )
    opened = "afxdp" if spec.ports == "afxdp" else "system"
    return SwitchPort(link, number, link, opened if spec.apart else "tap", device=tap, tap=tap)


def _held_port(link: str, number: int, device: str, mtu: int | None, spec: OvsSpec) -> SwitchPort:
    """Return a port whose other end the switch holds, and whose device a place is given."""
    if mtu is not None and mtu > LARGEST_USUAL_MTU:
        raise UsageError(
            f"packets of {mtu} bytes do not pass a port of the kind {spec.ports}, whose device the "
            f"place at {link} is given",
            why="in another network it is out of the switch's sight, which takes it for one of "
            f"{LARGEST_USUAL_MTU} bytes",
            fix="take shorter frames, or --set vswitch.ports=packet",
        )
    return SwitchPort(link, number, link, str(spec.ports), device=device, handed=True)


def _out_of_reach(case: CaseSpec, place: Place, spec: OvsSpec) -> UsageError:
    how = "datapath=kernel" if spec.datapath == "kernel" else f"ports={spec.ports}"
    instead = "" if case.has_places else "; or --set vswitch.ports=tap"
    return UsageError(
        f"vswitch.{how} cannot reach {place.name}, which is in the network of the host",
        why="the switch is in a network of its own then, with the taps of the links, so that "
        "nothing of it is left there",
        fix="take a topology without VNFs and links without devices, such as p2p on the "
        f"testbed local{instead}",
    )


def _vnf_port(nic: Nic, number: int, mtu: int | None) -> SwitchPort:
    """Return the tap of a NIC, which the VNF holds and the switch opens as a device."""
    tap = tap_name(nic)
    return SwitchPort(
        nic.port, number, None, "system", mtu_request=mtu, nic=nic, device=tap, tap=tap
    )


def _device_port(link: str, number: int, device: str, mtu: int | None) -> SwitchPort:
    name = device.removeprefix(AFXDP)
    if DEVICE.fullmatch(name):
        type_ = "afxdp" if device.startswith(AFXDP) else "system"
        return SwitchPort(link, number, link, type_, mtu_request=mtu, device=name)
    raise UsageError(
        f"testbed link {link} names {device!r} as the switch's device, which OVS without DPDK "
        "cannot take",
        why="a device is one of the kernel (eth1), or that by AF_XDP (afxdp:eth1)",
        fix=f"mend testbed.links.{link}.switch, or leave it out for a tap",
    )


@dataclass(frozen=True)
class PlainDesign(Design):
    """An OVS whose main thread forwards, or whose polling threads have AF_XDP, or the kernel."""

    spec: OvsSpec

    title: ClassVar[str] = "OVS"
    dpdk: ClassVar[bool] = False
    patience_s: ClassVar[float] = 10.0

    @cached_property
    def ports(self) -> tuple[SwitchPort, ...]:
        return ports_of(self.case, self.spec)

    @property
    def endpoints(self) -> tuple[Endpoint, ...]:
        """Where the generator finds the ports of links.

        By the kernel's queues, a frame that a full tap refuses is dropped at once, and the tap
        counts it; around them it would be kept, and leave in the next trial.
        """
        case, found = self.case, []
        for number, port in enumerate(port for port in self.ports if port.link is not None):
            if case.has_places or (port.tap is not None and port.type != "tap"):
                place = Place(str(port.link))
                found.append(link_endpoint(case, place, port.interface, NETWORK))
            elif port.type == "tap":
                socket = f"net_af_packet{number},iface={port.device}"
                address = f"{socket},qdisc_bypass=0,framecnt={RING_FRAMES}"
                found.append(Endpoint(link=str(port.link), kind="vdev", address=address))
            else:
                found.append(device_endpoint(case, str(port.link)))
        return tuple(found)

    @property
    def wires(self) -> tuple[Wire, ...]:
        return tuple(
            wire_of(port.nic, "tap", port.tap)
            for port in self.ports
            if port.nic is not None and port.tap
        )

    @property
    def host_ports(self) -> tuple[SwitchPort, ...]:
        return () if self.apart else self.ports

    @property
    def apart(self) -> bool:
        return self.spec.apart or self.case.has_places

    @property
    def polls(self) -> bool:
        """Whether threads of its own poll, as they do for AF_XDP."""
        return any(port.type == "afxdp" for port in self.ports)

    @property
    def userspace(self) -> bool:
        return self.spec.datapath == "userspace"

    @property
    def other_config(self) -> dict[str, str]:
        polling = {"pmd-cpu-mask": CpuSet.of(self.polling_cpus).mask} if self.polls else {}
        cached = caches(self.spec) if self.userspace else {}
        long = getattr(self.case.search, "offloads", "off") == "on"
        return {
            **polling,
            **cached,
            **limits(self.rules, self.tags),
            **({"userspace-tso-enable": "true"} if long else {}),
            **self.spec.other_config,
        }

    @property
    def polling(self) -> Polling:
        names = "pmd-c" if self.polls else "ovs-vswitchd"
        return Polling(threads.SWITCH, names, forwards=self.userspace)

    @property
    def polling_cpus(self) -> tuple[int, ...]:
        return self.placement.of(PMD_ROLE) if self.polls else ()

    @property
    def pinned(self) -> tuple[str, ...]:
        role = PMD_ROLE if self.userspace and not self.polls else MAIN_ROLE
        cpus = self.placement.of(role)
        return ("taskset", "--cpu-list", str(CpuSet.of(cpus))) if cpus else ()

    @property
    def about(self) -> str:
        if not self.userspace:
            return "which has the kernel forward"
        cpus = ", ".join(str(cpu) for cpu in self.placement.of(PMD_ROLE))
        return f"{'polling' if self.polls else 'forwarding'} on CPU {cpus}"


FOR_PLACES = {
    "afxdp": "name a device in the testbed, such as `switch: afxdp:eth1`",
    "internal": "--set vswitch.ports=tap: in user space an internal port is a tap",
}
"""Ports that a generator cannot have, and what it can have instead."""


class Ovs(OvsSwitch):
    """Deploys Open vSwitch without DPDK, on devices of the kernel."""

    kind = "ovs"
    summary = "Open vSwitch without DPDK: taps, devices of the kernel, AF_XDP"
    Spec = OvsSpec
    checks = (check_of(kind, OvsSpec, dpdk=False), SYSTEM_SWITCH)

    def needs(self, case: CaseSpec) -> Needs:
        spec = _spec_of(case)
        design = PlainDesign(case, spec, Placement())
        forwarding = CpuNeed.of(PMD_ROLE, spec.cpus)
        main = CpuNeed.of(MAIN_ROLE, spec.main_cpus, busy=False)
        if not design.userspace:
            return Needs(cpus=(main,))
        return Needs(cpus=(forwarding, main) if design.polls else (forwarding,))

    def design(self, case: CaseSpec, placement: Placement) -> Design:
        return PlainDesign(case, _spec_of(case), placement)


def _spec_of(case: CaseSpec) -> OvsSpec:
    spec = own_settings(case.vswitch, OvsSpec, "OVS without DPDK", "vswitch.kind=ovs")
    if not case.has_places and (instead := FOR_PLACES.get(spec.ports or "")):
        raise UsageError(
            f"vswitch.ports={spec.ports} is for places, and here is a generator at the ends of "
            "links",
            fix=instead,
        )
    # Whoever looks at the settings finds there what ports of places are.
    unsaid = case.has_places and spec.ports is None
    return spec.model_copy(update={"ports": "packet"}) if unsaid else spec
