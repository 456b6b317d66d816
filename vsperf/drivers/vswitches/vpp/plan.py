"""Everything that starting an instance does, as steps, lines and calls. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from typing import Any

from vsperf.config.case import CaseSpec
from vsperf.drivers.vswitches.base import SwitchPlan
from vsperf.drivers.vswitches.vpp import layout
from vsperf.drivers.vswitches.vpp.calls import Call, InterfaceOf
from vsperf.drivers.vswitches.vpp.forwarding import forwarding, idle
from vsperf.drivers.vswitches.vpp.layout import SwitchPort
from vsperf.drivers.vswitches.vpp.programs import Programs
from vsperf.drivers.vswitches.vpp.spec import VppSpec
from vsperf.drivers.vswitches.vpp.startup import WORKER_ROLE, startup_lines
from vsperf.records.run import Placeholder, Placement, Step

POLLING = 1
"""The mode of a queue that is looked at without being told, as the API has it."""
UP = 1
MASTER = 0
"""Of the two ends of a memif, the one that listens."""
ETHERNET = 0
ETHERNET_PACKETS = 1
MEMIF_BUFFER = 2048
"""Bytes of each place in a memif; longer frames take several."""


def making(spec: VppSpec, ports: tuple[SwitchPort, ...]) -> Iterator[Call]:
    """Yield the calls after which all ports are there and up; their other ends need not be."""
    if any(port.kind == "memif" for port in ports):  # its queues come with the other end
        yield Call("sw_interface_set_default_rx_mode", {"mode": POLLING})
    for port in ports:
        yield from _made(spec, port)
        here = {"sw_if_index": InterfaceOf(port.name)}
        if port.kind == "packet":  # it would wait to be told of frames
            yield Call("sw_interface_set_rx_mode", {**here, "mode": POLLING})
        yield Call("sw_interface_set_flags", {**here, "flags": UP})


def _made(spec: VppSpec, port: SwitchPort) -> Iterator[Call]:
    match port.kind:
        case "vhost":
            yield Call("create_vhost_user_if_v2", _vhost(spec, port), makes=port.name)
        case "memif":
            socket = {"socket_id": port.number, "socket_filename": port.endpoint}
            yield Call("memif_socket_filename_add_del_v2", {"is_add": True, **socket})
            yield Call("memif_create_v2", _memif(spec, port), makes=port.name)
        case "packet":
            yield Call("af_packet_create_v3", _packet(spec, port), makes=port.name)
        case "pci":
            yield Call("sw_interface_dump", _named(port.name), makes=port.name)
            if port.mac:
                fields = {"sw_if_index": InterfaceOf(port.name), "mac_address": port.mac}
                yield Call("sw_interface_set_mac_address", fields)


def _vhost(spec: VppSpec, port: SwitchPort) -> dict[str, Any]:
    return {
        "is_server": port.listens,
        "sock_filename": port.endpoint,
        "disable_mrg_rxbuf": not spec.mergeable,
        "enable_packed": spec.packed,
        **({"use_custom_mac": True, "mac_address": port.mac} if port.mac else {}),
        "tag": port.name,
    }


def _memif(spec: VppSpec, port: SwitchPort) -> dict[str, Any]:
    return {
        "role": MASTER,
        "mode": ETHERNET,
        "rx_queues": spec.queues,
        "tx_queues": spec.queues,
        "id": 0,
        "socket_id": port.number,
        "ring_size": spec.ring,
        "buffer_size": MEMIF_BUFFER,
        **({"hw_addr": port.mac} if port.mac else {}),
    }


def _packet(spec: VppSpec, port: SwitchPort) -> dict[str, Any]:
    return {
        "mode": ETHERNET_PACKETS,
        **({"hw_addr": port.mac} if port.mac else {"use_random_hw_addr": True}),
        "host_if_name": port.device,
        "num_rx_queues": spec.queues,
        "num_tx_queues": spec.queues,
    }


def _named(name: str) -> dict[str, Any]:
    """Return what asks for the interface of a NIC, which the start-up configuration has named."""
    return {"name_filter_valid": True, "name_filter": name}


SHOWN = 8
"""Routes beside those of the test that a plan lists one by one."""
SAID = {
    "xconnect": "join the ports in pairs",
    "bridge": "make a bridge of each group of ports",
    "ip4": "route between the ports",
    "ip6": "route between the ports",
    "source": "keep a table of connections, and give clients one address towards the servers",
    "destination": "keep a table of connections, and choose a server for each",
}


@dataclass(frozen=True)
class Design:
    """What one case makes of VPP."""

    case: CaseSpec
    spec: VppSpec
    placement: Placement

    @cached_property
    def ports(self) -> tuple[SwitchPort, ...]:
        return layout.ports_of(self.case, self.spec)

    def configuration(self, programs: Programs) -> tuple[str, ...]:
        """Return the start-up configuration."""
        return startup_lines(self.spec, self.placement, self.ports, programs)

    def switch(self, programs: Programs) -> tuple[str, ...]:
        """Return the command that runs the switch."""
        argv = (str(programs.daemon), "-c", layout.CONFIGURATION)
        return programs.command(*argv, folder=str(Placeholder.RUN))

    @property
    def making(self) -> tuple[Call, ...]:
        return tuple(making(self.spec, self.ports))

    @property
    def forwarding(self) -> tuple[Call, ...]:
        """The calls after which frames find their way."""
        return tuple(forwarding(self.case, self.spec, self.ports))

    @property
    def standing(self) -> range:
        """The numbers of the routes that no frame is for and that are there from the beginning."""
        return range(self.spec.routes)

    def idle(self, numbers: range, *, add: bool) -> Iterator[Call]:
        """Yield the calls that add routes that no frame is for, or take them out."""
        return idle(self.case, self.spec, self.ports, numbers, add=add)


def switch_plan(design: Design, programs: Programs) -> SwitchPlan:
    """Return all steps, and where the ports will be."""
    workers = ", ".join(str(cpu) for cpu in design.placement.of(WORKER_ROLE))
    memory = "" if design.spec.hugepages else "; WITHOUT HUGEPAGES, so it is slower than it can be"
    learns = ", which learn addresses" if design.spec.learns else ""
    says = SAID[design.spec.nat or design.spec.forwarding]
    steps: tuple[Step, ...] = (
        _step("write its start-up configuration", lines=design.configuration(programs)),
        _step(f"start the switch, polling on CPU {workers}{memory}", design.switch(programs)),
        _step("make the ports, over the API", lines=_lines(design.making)),
        _step(f"{says}{learns}", lines=_lines(design.forwarding)),
    )
    if routes := design.spec.routes:
        first = _lines(islice(design.idle(design.standing, add=True), SHOWN))
        what = "addresses" if design.spec.forwarding == "bridge" else "routes"
        more = (f"… and so on, {routes} for each table",) if routes > SHOWN else ()
        steps = (*steps, _step(f"add {routes} {what} that no frame is for", lines=(*first, *more)))
    endpoints = layout.endpoints_of(design.case, design.spec, design.ports)
    return SwitchPlan(steps, endpoints, layout.wires_of(design.ports))


def _lines(calls: Iterable[Call]) -> tuple[str, ...]:
    return tuple(call.line for call in calls)


def _step(action: str, argv: tuple[str, ...] | None = None, lines: tuple[str, ...] = ()) -> Step:
    return Step(component="vswitch", action=action, argv=argv, lines=lines)
