"""A switch that forwards: whether it still does, what it counts, and what it is."""

from __future__ import annotations

import re
import shlex
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from vsperf.drivers.vswitches.ovs import parse
from vsperf.drivers.vswitches.ovs.control import ControlError, ask
from vsperf.drivers.vswitches.ovs.counters import Unseen, silent, switch_counters
from vsperf.drivers.vswitches.ovs.database import Interface
from vsperf.drivers.vswitches.ovs.diagnosis import late_problem
from vsperf.drivers.vswitches.ovs.layout import BRIDGE, SwitchPort
from vsperf.drivers.vswitches.ovs.parse import LAST_MS, insides
from vsperf.drivers.vswitches.ovs.programs import Programs
from vsperf.errors import ComponentError, DiedError
from vsperf.host.process import Managed, written_since
from vsperf.host.procfs import resident_bytes
from vsperf.records.switch import Kept, SwitchCounters
from vsperf.waits import sleep

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
    stopped: bool = False
    _joined: frozenset[str] = frozenset()
    """Interfaces of vhost-user ports that forwarded before."""
    _read: int = 0
    """How many bytes of the log were looked at."""
    _problem: str | None = None

    def failure(self) -> str | None:
        if self.stopped:
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
        deadline = time.monotonic() + patience_s
        awaited = {port.name for port in self.ports if port.place in places}
        while waiting := [name for name in self.waiting_for() if name in awaited]:
            if (reason := self.failure()) is not None:
                raise DiedError("the switch failed while it took up its ports", why=reason)
            self.look()
            if time.monotonic() > deadline:
                names = ", ".join(waiting)
                raise ComponentError(
                    f"port {names} of the switch did not come up within {patience_s:g} s",
                    why="nobody is at its other end, or the switch could not take it up",
                    fix="`vsperf plan` prints the commands of both ends, to be tried by hand",
                )
            sleep(POLL_S)  # between two looks at a condition, never instead of one
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
