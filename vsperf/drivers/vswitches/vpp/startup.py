"""The startup configuration of an instance, line by line. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from vsperf.drivers.vswitches.vpp import layout
from vsperf.drivers.vswitches.vpp.layout import SwitchPort
from vsperf.drivers.vswitches.vpp.nat import sessions_of
from vsperf.drivers.vswitches.vpp.programs import Programs, plugin_file
from vsperf.drivers.vswitches.vpp.spec import VppSpec
from vsperf.errors import UsageError
from vsperf.records.run import Placeholder, Placement

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
