"""A switch that forwards: whether it does, what it counts and is; and why it does not come up.

A daemon is asked over its control socket, as ovs-appctl does, without a process. Every question has
a deadline, so that one that hangs is noticed and never waited for.
"""

from __future__ import annotations

import errno
import os
import re
import shlex
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from vsperf.drivers.vswitches.base import await_ports
from vsperf.drivers.vswitches.ovs import parse
from vsperf.drivers.vswitches.ovs.database import Interface
from vsperf.drivers.vswitches.ovs.layout import BRIDGE, SwitchPort
from vsperf.drivers.vswitches.ovs.parse import LAST_MS, PortStatistics, ThreadStatistics, insides
from vsperf.drivers.vswitches.ovs.programs import Programs
from vsperf.errors import ComponentError, NotReadyError, VsperfError
from vsperf.host.process import Managed, written_since
from vsperf.host.procfs import resident_bytes
from vsperf.records.switch import Kept, PmdCounters, PortCounters, SwitchCounters
from vsperf.stop import raise_if_stopped

CACHES = {
    "phwol": ("phwol hits",),
    "simple": ("simple match hits",),
    "emc": ("emc hits",),
    "smc": ("smc hits",),
    "megaflow": ("megaflow hits",),
    "upcall": ("miss with success upcall",),
    "lost": ("miss with failed upcall", "lost"),
}
"""Our name of a cache, and what versions of OVS have called its counter."""
TAP_FULL = "tx tap full"
"""The reader of a tap was too slow."""
SOCKET_FULL = "rx socket full"
"""The switch was too slow, which reads the packet socket on a device."""
DROPS = ("datapath_drop_", "drop_action_")
"""Beginnings of coverage counters that count frames."""


@dataclass(frozen=True, slots=True)
class Unseen:
    """Frames that the kernel dropped and OVS knows nothing of, by name of the port."""

    refused: Mapping[str, int] = field(default_factory=dict)
    """As the tap of a VNF was full; OVS counts them as sent."""
    missed: Mapping[str, int] = field(default_factory=dict)
    """As a packet socket was full; OVS counts them as received, unless DPDK has a ring for them."""


def switch_counters(
    ports: tuple[SwitchPort, ...],
    statistics: Iterable[PortStatistics],
    threads: Iterable[ThreadStatistics],
    coverage: Mapping[str, int],
    custom: Mapping[int, Mapping[str, int]] | None = None,
    unseen: Unseen | None = None,
) -> SwitchCounters:
    """Return the counters; a port that nobody is connected to has none.

    `custom` holds the drops, by port number, of ports that count nothing else.
    """
    by_name = {port.name: port for port in statistics}
    found = (_port(port, by_name.get(port.interface), unseen or Unseen()) for port in ports)
    pmds = (_pmd(thread) for thread in threads)
    return SwitchCounters(
        ports=tuple(port for port in found if port is not None),
        pmds=tuple(pmd for pmd in pmds if pmd is not None),
        drops={
            **{name: count for name, count in coverage.items() if name.startswith(DROPS)},
            **_custom_drops(ports, custom or {}),
        },
    )


def silent(ports: Iterable[SwitchPort]) -> bool:
    """Whether a port is among these whose frames OVS does not count."""
    return any(port.type == "dpdkvhostuser" for port in ports)


def _custom_drops(
    ports: Iterable[SwitchPort], custom: Mapping[int, Mapping[str, int]]
) -> dict[str, int]:
    return {
        f"{port.name} {name.removesuffix('_drops').replace('_', ' ')}": count
        for port in ports
        if port.type == "dpdkvhostuser"
        for name, count in custom.get(port.number, {}).items()
    }


def _port(
    port: SwitchPort, statistics: PortStatistics | None, unseen: Unseen
) -> PortCounters | None:
    if statistics is None:
        return None
    received, sent = statistics.received, statistics.sent
    if "packets" not in received or "packets" not in sent:
        return None
    ways = (("rx", received), ("tx", sent))
    drops = {
        f"{way} {reason}": counters[reason]
        for way, counters in ways
        for reason in ("dropped", "errors")
        if reason in counters
    }
    refused, missed = unseen.refused.get(port.name), unseen.missed.get(port.name)
    if refused is not None:
        drops[TAP_FULL] = refused
    if missed is not None:
        drops[SOCKET_FULL] = missed
    return PortCounters(
        name=port.name,
        link=port.link,
        vnf=port.vnf,
        received_frames=received["packets"],
        sent_frames=sent["packets"] - (refused or 0),
        drops=drops,
    )


def _cycles(count: int) -> int | None:
    """Return a sum of cycles, unless it is below zero.

    OVS adds differences of a CPU's cycle counter. A thread that was moved to a CPU whose counter is
    behind adds a negative one, and a sum that gets below zero is printed as if it had 64 bits.
    """
    return count if count < 1 << 63 else None


def _pmd(thread: ThreadStatistics) -> PmdCounters | None:
    counters = thread.counters
    needed = ("packets received", "processing cycles", "idle cycles")
    if thread.cpu is None or any(name not in counters for name in needed):
        return None
    hits = {
        cache: counters[name]
        for cache, names in CACHES.items()
        for name in names
        if name in counters
    }
    return PmdCounters(
        cpu=thread.cpu,
        frames=counters["packets received"],
        busy_cycles=_cycles(counters["processing cycles"]),
        idle_cycles=_cycles(counters["idle cycles"]),
        hits=hits,
    )


LOG_LINE = re.compile(r"\|(?P<module>\w+)(?:\([^)]*\))?\|(?P<level>EMER|ERR|WARN)\|(?P<text>.*)$")
NOT_OPENED = -1
HARMLESS = re.compile(
    r"No free \d+ kB hugepages|TELEMETRY|does not exist\. The Open vSwitch kernel|"
    r"dpdk_initialized|unix:.*(connection (closed|dropped)|send error)"
)
LATE = re.compile(r"Failed to (create memory pool for netdev|set interface \S+ new configuration)")
MEMORY_FIX = "reserve hugepages (sysctl vm.nr_hugepages=1024), or do with less: vswitch.memory"
CAUSES: tuple[tuple[str, str, str], ...] = (
    (
        r"Not enough memory available on socket|[Nn]o free .*hugepages|Cannot get hugepage",
        "there are too few free hugepages for its memory",
        MEMORY_FIX,
    ),
    (
        r"Cannot init memory|FATAL: Cannot init memory",
        "DPDK got no memory",
        MEMORY_FIX,
    ),
    (
        r"Invalid core|core \d+ (?:is )?(?:not detected|unavailable)|lcores? (?:are )?unavailable"
        r"|[Ii]nvalid core ?mask|unavailable; ",
        "it cannot run on the CPUs that it was given",
        "see `vsperf plan`, and choose others: vswitch.main_cpus, vswitch.pmd_cpus",
    ),
    (
        r"^EAL: Option|unrecognized option|invalid option|Invalid .*argument",
        "DPDK does not know one of its arguments",
        "mend dpdk-extra in vswitch.other_config, if it is set there",
    ),
)
"""What a line of the log looks like, what it means, and what helps."""


def complaints(log: str) -> tuple[str, ...]:
    """Return the warnings and errors of a log that mean something, without their time."""
    found = []
    for line in log.splitlines():
        match = LOG_LINE.search(line)
        if match is None:
            continue
        if not HARMLESS.search(match["text"]):
            found.append(match["text"].strip())
    return tuple(dict.fromkeys(found))


def not_started(log: str, obituary: str) -> VsperfError:
    """Return the error for a daemon that ended while it started."""
    said = complaints(log)
    for pattern, meaning, fix in CAUSES:
        line = next((text for text in said if re.search(pattern, text)), None)
        if line is not None:
            return NotReadyError(
                f"OVS did not start: {meaning}", why=f"its log says: {line}", fix=fix
            )
    return ComponentError("OVS ended while it started", why="; ".join(said[-3:]) or obituary)


def late_problem(log: str) -> str | None:
    """Return why a port fell out after it was added, from lines that were written since.

    Packet buffers of a vhost-user port are made when the other end connects, and may not fit then.
    """
    for text in complaints(log):
        if LATE.search(text):
            return text
    return None


def port_problems(
    ports: Iterable[SwitchPort], interfaces: Iterable[Interface], log: str
) -> VsperfError | None:
    """Return the error for the first port that is not as it was asked for."""
    found = {interface.name: interface for interface in interfaces}
    for port in ports:
        interface = found.get(port.interface)
        if interface is None:
            return ComponentError(f"the switch has no port {port.name}")
        if interface.error or interface.number in (None, NOT_OPENED):
            return NotReadyError(
                f"the switch could not open port {port.name} ({port.type})",
                why="; ".join(_about(port, interface, log)) or None,
                fix=_port_fix(port),
            )
        if interface.number != port.number:
            return ComponentError(
                f"port {port.name} has number {interface.number}, not {port.number}",
                why="the switch gave it another one than was asked for",
            )
    return None


def _about(port: SwitchPort, interface: Interface, log: str) -> list[str]:
    """Return what the switch says about one port: the database first, then the log."""
    said = [interface.error] if interface.error else []
    device = port.options.get("dpdk-devargs", port.interface).partition(",")[0]
    words = (port.name, device)
    return list(
        dict.fromkeys(
            said + [text for text in complaints(log) if any(word in text for word in words)][:3]
        )
    )


def _port_fix(port: SwitchPort) -> str:
    if port.vnf is not None and port.tap is not None:
        more = ", and that DPDK has its driver net_af_packet" if port.type == "dpdk" else ""
        return f"see that {port.vnf} runs, which brings the tap with it{more}"
    if port.type == "dpdk" and port.tap is not None:
        return f"see that DPDK has its driver net_af_packet, by which it opens {port.tap}"
    fixes = {
        "dpdk": "see that the device is there and that DPDK may have it: "
        f"{port.options.get('dpdk-devargs')} comes from the testbed's link {port.link}",
        **dict.fromkeys(
            ("tap", "internal"),
            "see that /dev/net/tun is there, and what the log of ovs-vswitchd says of the tap",
        ),
        "system": f"see that the host's network has the device {port.interface}",
        "afxdp": f"see that the device {port.interface} is there, and that OVS was built with "
        "AF_XDP",
    }
    return fixes.get(port.type, "see the log of ovs-vswitchd; `vsperf doctor` checks the machine")


PATIENCE_S = 5.0
LOOK_MS = 50
"""The library waits by itself: so long at most until a wish to stop is noticed."""


class ControlError(ComponentError):
    """A daemon that cannot be reached, does not answer, or refuses."""


def ask(socket: Path, command: str, *arguments: str, patience_s: float = PATIENCE_S) -> str:
    """Return the text that a daemon answers to a command."""
    import ovs.jsonrpc

    deadline = time.monotonic() + patience_s
    connection = _connect(socket, patience_s)
    try:
        request = ovs.jsonrpc.Message.create_request(command, list(arguments))
        if error := connection.send(request):
            raise _unreachable(socket, error)
        reply = _reply(socket, connection, command, deadline, patience_s)
    finally:
        connection.close()
    if reply.error is not None:
        raise ControlError(f"{command} was refused", why=str(reply.error).strip())
    return str(reply.result)


def _connect(socket: Path, patience_s: float) -> Any:
    import ovs.jsonrpc
    import ovs.stream

    opening = ovs.stream.Stream.open(f"unix:{socket}")
    error, stream = ovs.stream.Stream.open_block(opening, int(patience_s * 1000))
    if error:
        raise _unreachable(socket, error)
    return ovs.jsonrpc.Connection(stream)


def _reply(socket: Path, connection: Any, command: str, deadline: float, patience_s: float) -> Any:
    import ovs.poller

    while True:
        error, message = connection.recv()
        if message is not None:
            return message
        if error != errno.EAGAIN:
            raise _unreachable(socket, error)
        raise_if_stopped()
        left_s = deadline - time.monotonic()
        if left_s <= 0:
            raise ControlError(f"{socket.name} did not answer {command} within {patience_s:g} s")
        connection.run()
        poller = ovs.poller.Poller()
        connection.wait(poller)
        connection.recv_wait(poller)
        poller.timer_wait(min(LOOK_MS, int(left_s * 1000) + 1))
        poller.block()


def _unreachable(socket: Path, error: int) -> ControlError:
    why = os.strerror(error) if error > 0 else "it closed the connection"
    return ControlError(f"{socket.name} cannot be reached", why=why)


SWITCH = "ovs-vswitchd"
DATABASE = "ovsdb-server"
VHOST_USER = "dpdkvhostuser"
"""How types of ports begin whose other end comes and goes."""
POLL_S = 0.02
ANSWER_S = 5.0
"""Patience with a daemon whose main thread is alive; it answers within milliseconds."""


@dataclass
class RunningOvs:
    """An instance with its ports and rules in place."""

    folder: Path
    programs: Programs
    ports: tuple[SwitchPort, ...]
    daemons: Mapping[str, Managed]
    """By name: the database server and the switch."""
    controls: Mapping[str, Path]
    """Their control sockets."""
    read_interfaces: Callable[[], tuple[Interface, ...]]
    read_custom: Callable[[], str]
    """Asks for OpenFlow's port statistics, by a process of its own."""
    start_again: Callable[[bool], None]
    """Ends the daemon, kindly or by SIGKILL, and starts it anew on the same database."""
    read_without_link: Callable[[], frozenset[str]] = frozenset
    """Asks the database for interfaces at whose other end nobody is."""
    read_unseen: Callable[[], Unseen] = Unseen
    """Asks the kernel for frames that were dropped before OVS had them, or after."""
    read_filters: Callable[[], parse.Matched | None] = lambda: None
    """Asks how many filters there are and how many frames met one, by a process of its own."""
    write_rules: Callable[[int], None] = lambda count: None
    """Adds rules that nothing matches, or takes them out, by a process of its own."""
    look: Callable[[], None] = lambda: None
    """Raises when a part of the deployment has ended."""
    call_all: Callable[[], None] = lambda: None
    """Calls those who may listen at its ports one day."""
    learns: bool = False
    """Whether it is a bridge that learns addresses."""
    userspace: bool = True
    """Whether the daemon forwards, and so can say what its threads do."""
    settings: dict[str, Any] = field(default_factory=dict)
    """Versions and settings as the database has them."""
    patience_s: float = ANSWER_S
    """With a daemon that is asked; one that needs longer is taken for dead."""
    ended: bool = False
    _joined: frozenset[str] = frozenset()
    """Interfaces of vhost-user ports that forwarded before."""
    _read: int = 0
    """How many bytes of the log were looked at."""
    _problem: str | None = None

    def failure(self) -> str | None:
        if self.ended:
            return "the switch was stopped"
        for name, daemon in self.daemons.items():
            if (found := daemon.failure()) is not None:
                return f"{name} {found}"
        for name, control in self.controls.items():
            try:
                ask(control, "version", patience_s=self.patience_s)
            except ControlError as error:
                if (found := self.daemons[name].failure()) is not None:
                    return f"{name} {found}"
                why = error.problems[0].why
                return f"{name} does not answer: {error}" + (f" ({why})" if why else "")
        self._look_at_log()
        return self._problem

    def counters(self) -> SwitchCounters:
        """Return all counters as they stand.

        Frame counters are exact at once. Those of drops inside the datapath, which come from
        `coverage/show`, are handed in by each polling thread once a second.
        """
        self._look_at_filters()
        counters = switch_counters(
            self.ports,
            parse.port_statistics(self._ask("dpctl/show", "-s")),
            parse.thread_statistics(self._ask_datapath("pmd-stats-show")),
            parse.coverage(self._ask("coverage/show")),
            parse.custom_drops(self.read_custom()) if silent(self.ports) else None,
            self.read_unseen(),
        )
        if not self.learns:
            return counters
        addresses = parse.addresses(self._ask("fdb/stats-show", BRIDGE))
        return counters.model_copy(update={"addresses": addresses})

    def kept(self) -> Kept:
        """Return how many connections its rules keep track of, and the memory of its daemon."""
        entries = self._ask("dpctl/ct-get-nconns").strip() if self.userspace else ""
        daemon = self.daemons[SWITCH].pid
        return Kept(
            entries=int(entries) if entries.isdecimal() else None,
            memory_bytes=resident_bytes(daemon),
        )

    def insides(self) -> dict[str, dict[str, int]]:
        """Return what else it counts, for who collects that."""
        told = self._ask_datapath("pmd-perf-show", "-ms", str(LAST_MS))
        threads = parse.thread_performance(told)
        return insides(threads, parse.coverage(self._ask("coverage/show")))

    def _look_at_filters(self) -> None:
        """See that no frame met a filter: those of the test have other addresses."""
        filters = self.read_filters()
        if filters is not None and filters.frames:
            raise ComponentError(
                f"{filters.frames} frames met a rule of vswitch.filters",
                why="these drop frames between addresses that no test frame has, so somebody else "
                "sends here, too",
                fix="keep others from the switch, or --set vswitch.filters=0",
            )

    def waiting_for(self) -> tuple[str, ...]:
        """Return the ports that do not forward yet, since their other end was not taken up.

        The other end may think that the link is up for a while before: OVS still has to make
        buffers for the port, and to hand it to a polling thread. Buffers stay when that end leaves,
        so of a port that forwarded before they tell nothing, and its link does.
        """
        statistics = parse.port_statistics(self._ask("dpctl/show"))
        ready = {port.name for port in statistics if not re.search(r"\bmtu=0\b", port.about)}
        if self._joined:
            ready -= self._joined & self.read_without_link()
        return tuple(port.name for port in self.ports if port.interface not in ready)

    def await_ports(self, places: tuple[str, ...], patience_s: float) -> None:
        awaited = {port.name for port in self.ports if port.place in places}

        def waiting() -> list[str]:
            return [name for name in self.waiting_for() if name in awaited]

        await_ports(waiting, self.failure, self.look, patience_s)
        self._joined |= {
            port.interface
            for port in self.ports
            if port.name in awaited and port.type.startswith(VHOST_USER)
        }
        self.call_all()

    def facts(self) -> dict[str, Any]:
        return {
            **self.settings,
            "daemon": str(self.programs.daemon),
            "daemon_sha256": self.programs.tree.digest(self.programs.daemon),
            "version": self.programs.version(self.programs.daemon).splitlines(),
            **({"tree": tree} if (tree := self.programs.tree.facts()) else {}),
            "queues": [asdict(queue) for queue in parse.queues(self._ask_datapath("pmd-rxq-show"))],
            "performance": [
                asdict(thread)
                for thread in parse.thread_performance(self._ask_datapath("pmd-perf-show"))
            ],
            "ports": [asdict(interface) for interface in self.read_interfaces()],
            **({} if (filters := self.read_filters()) is None else {"filters": asdict(filters)}),
        }

    def restart(self, *, kill: bool) -> None:
        self.start_again(kill)

    def forget_flows(self) -> None:
        """Have the revalidators forget all flows, and wait until they have.

        Deleted from the datapath alone, flows would not be set up again for as long as they know
        them: every frame would be looked up anew, and counted as a failed upcall.
        """
        self._ask("revalidator/purge")
        if self.learns:
            self._ask("fdb/flush", BRIDGE)

    def change_rules(self, count: int) -> None:
        self.write_rules(count)

    def processes(self) -> tuple[int, ...]:
        return (self.daemons[SWITCH].pid,)

    def access(self) -> tuple[str, ...]:
        daemon, database = self.controls[SWITCH], self.folder / "db.sock"
        bridge = next(self.folder.glob("*.mgmt"), self.folder / "vsperf-br.mgmt")
        rules = ("-O", "OpenFlow14", "dump-flows", f"unix:{bridge}")
        threads = ("dpif-netdev/pmd-stats-show",) if self.userspace else ("dpctl/show", "-s")
        return (
            f"ovs-vsctl --db=unix:{database} show",
            self._by_hand(self.programs.openflow, *rules),
            self._by_hand(self.programs.appctl, "-t", str(daemon), *threads),
        )

    def _by_hand(self, program: Path, *arguments: str) -> str:
        return shlex.join(self.programs.command(program, *arguments, folder=str(self.folder)))

    def _look_at_log(self) -> None:
        """Look for ports that fell out, in whole lines that were written since the last look."""
        begin, news = written_since(self.daemons[SWITCH].log, self._read)
        whole = news[: news.rfind(b"\n") + 1]
        self._read = begin + len(whole)
        self._problem = self._problem or late_problem(whole.decode(errors="replace"))

    def _ask(self, command: str, *arguments: str) -> str:
        return ask(self.controls[SWITCH], command, *arguments, patience_s=self.patience_s)

    def _ask_datapath(self, command: str, *words: str) -> str:
        """Return what the daemon's own datapath answers; nothing where the kernel forwards."""
        return self._ask(f"dpif-netdev/{command}", *words) if self.userspace else ""
