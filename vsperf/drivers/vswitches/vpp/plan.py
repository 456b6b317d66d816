"""Everything that starting an instance does: its configuration, steps, lines and calls. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from typing import Any

from vsperf.config.case import CaseSpec
from vsperf.drivers.vswitches.base import SwitchPlan, step
from vsperf.drivers.vswitches.vpp import layout
from vsperf.drivers.vswitches.vpp.calls import Call, InterfaceOf
from vsperf.drivers.vswitches.vpp.forwarding import forwarding, idle
from vsperf.drivers.vswitches.vpp.layout import SwitchPort
from vsperf.drivers.vswitches.vpp.nat import sessions_of
from vsperf.drivers.vswitches.vpp.programs import Programs, plugin_file
from vsperf.drivers.vswitches.vpp.spec import VppSpec
from vsperf.errors import UsageError
from vsperf.records.run import Placeholder, Placement, Step

WORKER_ROLE = "pmd"
"""As all switches call the threads that poll."""
MAIN_ROLE = "switch main"
MEGABYTE = 1 << 20
LEAST_BUFFERS = 16_384
BURST = 256
"""Frames that VPP takes at once from one queue."""
BUFFER_BYTES = 2496
"""Of a buffer for an ordinary frame, with all that VPP has beside it, and what the last one on a
page leaves unused."""
ROUTE_BYTES = 1024
"""Of a route, or of an address of a bridge, with room for tables that grow by doubling."""
STATISTICS_MB = 64
STATISTICS_S = 1.0
"""How often the main thread copies the counters of nodes. Not oftener, as it may share its CPU with
the generator. Those of ports are always as they are."""
MAIN_SLEEP_US = 10_000
"""How long the main thread sleeps between two looks at its timers and at the API. Left to itself it
turns round and round for the last part of a millisecond before each timer: 3 % of its CPU, in
pieces of 0.3 ms, and those are lost to whoever shares it."""
SESSION_BYTES = 320
"""Of a connection in the table of a thread, with all lists that it stands in. The main thread has a
table, too."""
FLOWS_BYTES = 400
"""Of both directions of a connection in the table by which they are found, half empty as it is."""
HANDED_OVER = 2 * 8192
"""Frames that wait for a worker whose connection they belong to, at most, of both directions."""
NAT = "nat"
PLUGINS = {"vhost": "vhost", "memif": "memif", "packet": "af_packet", "pci": "dpdk"}
"""The plugin that makes each kind of port."""


def startup_lines(
    spec: VppSpec, placement: Placement, ports: tuple[SwitchPort, ...], programs: Programs
) -> tuple[str, ...]:
    """Return the lines, with the folder of the instance not filled in."""
    workers, main = _cpus(placement)
    sections = {
        "unix": _unix(),
        "socksvr": (f"socket-name {layout.API_SOCKET}",),
        "statseg": (
            f"socket-name {layout.STATS_SOCKET}",
            f"size {STATISTICS_MB}M",
            "per-node-counters on",
            f"update-interval {STATISTICS_S:g}",
        ),
        "api-segment": (f"prefix {Placeholder.NAME}",),
        "cpu": (f"main-core {main}", f"corelist-workers {','.join(map(str, workers))}"),
        "memory": (f"main-heap-size {heap_mb(spec, ports)}M",),
        "buffers": (
            f"buffers-per-numa {buffers_of(spec, ports)}",
            f"page-size {'default-hugepage' if spec.hugepages else 'default'}",
        ),
        "plugins": tuple(_plugins(spec, ports, programs)),
        **({"dpdk": tuple(_cards(spec, ports))} if _has(ports, "pci") else {}),
        **({"l2fib": ("num-buckets 524288", "table-size 512M")} if _many_macs(spec) else {}),
    }
    return tuple(line for name, lines in sections.items() for line in _section(name, lines))


def plugins_of(spec: VppSpec, ports: tuple[SwitchPort, ...]) -> tuple[str, ...]:
    """Return the plugins that the ports need, and those that were asked for."""
    needed = (PLUGINS[port.kind] for port in ports)
    tracking = () if spec.nat is None else (NAT,)
    return tuple(dict.fromkeys((*needed, *tracking, *spec.plugins)))


def buffers_of(spec: VppSpec, ports: tuple[SwitchPort, ...]) -> int:
    """Return the buffers of each memory node: as many as can be in use at once, and some more.

    Frames of vhost-user ports and memifs are copied, so a buffer is taken for a moment. Those of
    NICs wait in rings.
    """
    if spec.buffers is not None:
        return spec.buffers
    rings = sum(2 * spec.queues * spec.ring for port in ports if port.kind in ("pci", "packet"))
    bursts = (spec.worker_count + 1) * len(ports) * BURST * 4
    several = spec.nat is not None and spec.worker_count > 1
    waiting = HANDED_OVER * spec.worker_count if several else 0
    return max(LEAST_BUFFERS, 1 << (rings + bursts + waiting - 1).bit_length())


def hugepage_bytes(spec: VppSpec, ports: tuple[SwitchPort, ...]) -> int:
    """Return the memory in hugepages on each node; none without."""
    return buffers_of(spec, ports) * BUFFER_BYTES + 2 * MEGABYTE if spec.hugepages else 0


def heap_mb(spec: VppSpec, ports: tuple[SwitchPort, ...]) -> int:
    """Return the memory for all but buffers [MB]; routes and connections get what they need."""
    routes = spec.routes * len(ports) * ROUTE_BYTES
    workers = spec.worker_count
    each = (workers + 1) * SESSION_BYTES + workers * FLOWS_BYTES
    connections = 0 if spec.nat is None else sessions_of(spec) * each
    return max(spec.heap, 256 + (routes + connections) // MEGABYTE)


def _cpus(placement: Placement) -> tuple[tuple[int, ...], int]:
    workers, main = placement.of(WORKER_ROLE), placement.of(MAIN_ROLE)
    if not workers or not main:
        raise UsageError(
            "no CPU was found for the threads of the switch",
            fix="--set vswitch.worker_cpus=1, or give the testbed's machine more CPUs",
        )
    if main[0] in workers:
        raise UsageError(
            f"the main thread of VPP and a worker would share CPU {main[0]}",
            why="VPP refuses to start with its main thread on the CPU of a worker",
            fix="take fewer workers, or say where they run: vswitch.worker_cpus, vswitch.main_cpu",
        )
    return workers, main[0]


def _unix() -> tuple[str, ...]:
    """Return what keeps the instance in its folder, and its log on standard error."""
    return (
        "nodaemon",
        "nosyslog",
        "nocolor",
        "nobanner",
        "cli-no-pager",
        f"runtime-dir {Placeholder.RUN}",
        f"cli-listen {layout.CLI_SOCKET}",
        f"poll-sleep-usec {MAIN_SLEEP_US}",
    )


def _plugins(spec: VppSpec, ports: tuple[SwitchPort, ...], programs: Programs) -> Iterator[str]:
    if programs.plugins is not None:
        yield f"path {programs.plugins}"
    yield "plugin default { disable }"
    for name in plugins_of(spec, ports):
        if programs.plugins is None or programs.has_plugin(name):
            yield f"plugin {plugin_file(name)} {{ enable }}"


def _cards(spec: VppSpec, ports: tuple[SwitchPort, ...]) -> Iterator[str]:
    for port in ports:
        if port.kind == "pci":
            rings = f"num-rx-desc {spec.ring} num-tx-desc {spec.ring}"
            yield f"dev {port.device} {{ name {port.name} num-rx-queues {spec.queues} {rings} }}"


def _has(ports: tuple[SwitchPort, ...], kind: str) -> bool:
    return any(port.kind == kind for port in ports)


def _many_macs(spec: VppSpec) -> bool:
    """Whether a bridge has more addresses than its table usually has room for."""
    return spec.forwarding == "bridge" and spec.routes > 100_000


def _section(name: str, lines: tuple[str, ...]) -> Iterator[str]:
    yield f"{name} {{"
    yield from (f"  {line}" for line in lines)
    yield "}"


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
        return startup_lines(self.spec, self.placement, self.ports, programs)

    def switch(self, programs: Programs) -> tuple[str, ...]:
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
        step("write its start-up configuration", *design.configuration(programs)),
        step(f"start the switch, polling on CPU {workers}{memory}", argv=design.switch(programs)),
        step("make the ports, over the API", *_lines(design.making)),
        step(f"{says}{learns}", *_lines(design.forwarding)),
    )
    if routes := design.spec.routes:
        first = _lines(islice(design.idle(design.standing, add=True), SHOWN))
        what = "addresses" if design.spec.forwarding == "bridge" else "routes"
        more = (f"… and so on, {routes} for each table",) if routes > SHOWN else ()
        steps = (*steps, step(f"add {routes} {what} that no frame is for", *first, *more))
    endpoints = layout.endpoints_of(design.case, design.spec, design.ports)
    return SwitchPlan(steps, endpoints, layout.wires_of(design.ports))


def _lines(calls: Iterable[Call]) -> tuple[str, ...]:
    return tuple(call.line for call in calls)
