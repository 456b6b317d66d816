"""The driver: an instance of DPVS of its own for each case: found, started, asked, and ended."""

from __future__ import annotations

import os
import re
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from vsperf.config.case import CaseSpec
from vsperf.dpdk.command import MEGABYTE
from vsperf.drivers.ending import until_left
from vsperf.drivers.programs.find import PackagedProgram
from vsperf.drivers.settings import reading
from vsperf.drivers.vswitches.base import SwitchPlan, VSwitch, require_root
from vsperf.drivers.vswitches.dpvs.layout import (
    CONFIGURATION,
    DPIP,
    IPC_SOCKET,
    IPC_VARIABLE,
    IPVSADM,
    MAIN_ROLE,
    NAME,
    PID_FILE,
    Design,
    DpvsSpec,
    Port,
    check_ends,
    switch_plan,
)
from vsperf.drivers.vswitches.kernel_ports import MTU, PMD_ROLE
from vsperf.errors import ComponentError, DiedError, NotReadyError, UsageError
from vsperf.host.cpus import CpuNeed, Needs
from vsperf.host.doctor.finding import Answer, Check, Group, Host, missing, ok
from vsperf.host.doctor.wants import POLLING_SWITCH, Want
from vsperf.host.networks import hand_over, private_network
from vsperf.host.process import Managed, end, managed, written
from vsperf.host.taps import tap
from vsperf.host.threads import LCORES, Polling
from vsperf.host.workspace import Workspace, require_fitting
from vsperf.records import threads
from vsperf.records.run import Placement
from vsperf.records.switch import (
    ConnectionCounters,
    Kept,
    PmdCounters,
    PortCounters,
    SwitchCounters,
)
from vsperf.trust.plain_json import MOST_COUNTED
from vsperf.trust.printable import printable
from vsperf.waits import run, sleep

_spec_of = reading("vswitch.kind=dpvs", DpvsSpec, "DPVS")
SETTING = "vswitch.install"
HOW_TO = "docs/how-to/measure-dpvs.md"
INSTALL = f"build it from its sources ({HOW_TO})"
BIN = "bin"
DPVS = PackagedProgram(NAME, INSTALL, "-v", r"dpvs version: (\d+(?:[.-]\d+)+)", SETTING)
LEAST = (1, 10)
"""Version from which on it does without a kernel module for each of its ports, if it is told to."""
ANSWER_S = 10.0
"""Patience with an answer: it waits for all workers, which may share a CPU with it."""


@dataclass(frozen=True, slots=True)
class Programs:
    """One DPVS, by whole paths."""

    daemon: str
    version: str

    def tool(self, name: str) -> str:
        """Return one of its tools; a kernel's ipvsadm is another program of that name."""
        return str(Path(self.daemon).with_name(name))


def planned_program(install: str | None) -> str:
    """Return what a plan calls the program, which need not be there yet."""
    return NAME if install is None else str(_folder(install) / NAME)


def find_programs(spec: DpvsSpec | None, search: str | None = None) -> Programs:
    """Return the DPVS to use; raise `NotReadyError` for what is missing or too old."""
    install = None if spec is None else spec.install
    found = DPVS.find(None if install is None else str(_folder(install) / NAME), search)
    programs = Programs(found.path, found.version)
    least = ".".join(map(str, LEAST))
    if tuple(map(int, found.version.partition("-")[0].split(".")[: len(LEAST)])) < LEAST:
        raise NotReadyError(
            f"{found.path} is DPVS {found.version}",
            why="it wants a module of the kernel for each of its ports; newer ones can do without",
            fix=f"build {least} or newer: --set {SETTING}=FOLDER",
        )
    for name in (DPIP, IPVSADM):
        if not os.access(tool := programs.tool(name), os.X_OK):
            raise NotReadyError(
                f"{tool} cannot be run",
                why=f"{found.path} is told by its own tools, {DPIP} and {IPVSADM}, what to do",
                fix=f"have all three in one folder, as its `install` target does: --set "
                f"{SETTING}=FOLDER",
            )
    return programs


def _folder(install: str) -> Path:
    """Return where its programs are below an install; reads names only."""
    here = Path(install).absolute()
    return here / BIN if (here / BIN / NAME).exists() else here


@dataclass(frozen=True, slots=True)
class Talk:
    """How one that runs is told and asked."""

    programs: Programs
    socket: str

    def shown(self, command: Sequence[str]) -> str:
        """Return the words by which a person says the same."""
        tool, *words = command
        return " ".join((f"{IPC_VARIABLE}={self.socket}", self.programs.tool(tool), *words))

    def say(self, command: Sequence[str]) -> str:
        """Run one of its tools, and return what it writes; a refusal is a `ComponentError`.

        Some say that they were refused and end with 0 all the same.
        """
        tool, *words = command
        what = " ".join(command)
        environment = {**os.environ, IPC_VARIABLE: self.socket}
        try:
            done = run((self.programs.tool(tool), *words), ANSWER_S, environment=environment)
        except subprocess.TimeoutExpired as error:
            raise ComponentError(f"{NAME} does not answer `{what}`", why=str(error)) from error
        except OSError as error:
            raise ComponentError(f"`{what}` cannot be run", why=str(error)) from error
        said = done.stderr.strip()
        if done.returncode != 0 or said:
            why = printable(" | ".join(said.splitlines())) or f"exit code {done.returncode}"
            raise ComponentError(
                f"{NAME} refused `{what}`", why=why, fix="`vsperf plan` shows all that it is told"
            )
        return done.stdout


HEAD = re.compile(r"^\d+: (?P<name>\w+): socket ")
"""Begins what is said of a port, or of a thread, which is called cpu0, cpu1, and so on."""
MAC = re.compile(r"^\s+addr (?P<mac>(?:[0-9a-fA-F]{2}:){5}[0-9a-fA-F]{2})\b")
COUNT = re.compile(r"[0-9]{1,18}")
"""A word that is a count: with one digit more it is none that is believed, and said not to be told.
"""
MISSED = re.compile(rf"\bsa_miss ({COUNT.pattern})(?!\S)")
CONNECTIONS = re.compile(r"dp_vs_conn_\d+")
"""Pools that entries of its table come from, one on each memory node."""
ARROW = "->"


@dataclass(frozen=True, slots=True)
class Served:
    """What its service has done, all servers together."""

    conns: int
    """Connections that were given to a server, whether or not it answered."""
    in_packets: int
    out_packets: int
    """Of those that go by way of it."""


def blocks_in(text: str) -> dict[str, dict[str, int]]:
    """Return by port, or by thread, what is counted: lines of names, each with one of numbers."""
    found: dict[str, dict[str, int]] = {}
    name, titles = None, list[str]()
    for line in text.splitlines():
        if head := HEAD.match(line):
            name, titles = head["name"], []
            found[name] = {}
            continue
        words = line.split()
        numbers = bool(words) and all(map(COUNT.fullmatch, words))
        if name is not None and numbers and len(words) == len(titles):
            found[name] |= {title: int(word) for title, word in zip(titles, words, strict=True)}
        titles = words
    return found


def macs_in(text: str) -> dict[str, str]:
    """Return the MAC address of each port, by its name."""
    found: dict[str, str] = {}
    name = None
    for line in text.splitlines():
        if head := HEAD.match(line):
            name = head["name"]
        elif name is not None and (mac := MAC.match(line)):
            found[name] = mac["mac"].lower()
    return found


def served_in(text: str) -> Served:
    """Return the sums over all servers, of `ipvsadm -ln --stats --exact`."""
    rows = [line.split()[2:5] for line in text.splitlines() if line.split()[:1] == [ARROW]]
    counts = [row for row in rows if all(map(COUNT.fullmatch, row)) and len(row) == 3]
    if not counts:
        raise ComponentError("DPVS tells of no server", why=f"it says {text[:200]!r}")
    return Served(*(sum(map(int, column)) for column in zip(*counts, strict=True)))


def missed_in(text: str) -> int:
    """Return how often no port of an address was free for a connection, of `dpip -s addr show`."""
    return sum(map(int, MISSED.findall(text)))


def entries_in(text: str) -> int | None:
    """Return the entries of its table, of `ipvsadm -ln`; None where it tells of no server."""
    rows = [line.split()[4:6] for line in text.splitlines() if line.split()[:1] == [ARROW]]
    counts = [row for row in rows if len(row) == 2 and all(map(COUNT.fullmatch, row))]
    return sum(int(word) for row in counts for word in row) if counts else None


def entry_bytes_in(text: str) -> int | None:
    """Return what an entry takes, of `dpip eal-mem show pool`; None where it does not tell.

    As many as are in use there are no measure: some of them wait at a worker for the next one.
    """
    heading, *rows = [line.split() for line in text.splitlines() if line.strip()] or [[]]
    pools = [dict(zip(heading, row, strict=False)) for row in rows]
    own = next((one for one in pools if CONNECTIONS.fullmatch(one.get("pool_name", ""))), {})
    parts = [own.get(name, "") for name in ("elt_size", "header_size", "trailer_size")]
    return sum(map(int, parts)) if all(map(COUNT.fullmatch, parts)) else None


POLL_S = 0.02
UP_AGAIN_S = 30.0
"""Patience with one that was started anew; it waits as long for each of its ports."""
GIVEN_UP = "Start {} failed"
"""What it complains of when it leaves a port out and goes on."""
WORDS = 3
"""Lines before that, which say why."""
LINKS = (DPIP, "-s", "link", "show")
THREADS = (*LINKS, "cpu")
SERVED = (IPVSADM, "-ln", "--stats", "--exact")
ADDRESSES = (DPIP, "-s", "addr", "show")
POOLS = (DPIP, "eal-mem", "show", "pool")
TABLE = (IPVSADM, "-ln")
LOST = {
    "imissed": "rx missed",
    "ierrors": "rx errors",
    "rx_nombuf": "rx no buffer",
    "oerrors": "tx errors",
}
"""Its name of a counter of a port → why frames were lost there."""
DROPPED = "worker dropped"
"""Mostly what a port had no room for; which port, it does not say."""
NO_PORT = "no port free"
"""Times that one was looked for in vain, once for each address of its own."""


@dataclass(kw_only=True)
class RunningDpvs:
    """An instance; it answers once somebody was at its ports, and shares out nothing before."""

    design: Design
    talk: Talk
    workspace: Workspace
    daemon: Managed
    start_again: Callable[[Managed, bool], Managed]
    """Ends it, kindly or by SIGKILL, and starts another one."""
    answers: bool = False
    """Whether it has been told what to do."""
    ended: bool = False
    macs: Mapping[str, str] = field(default_factory=dict)
    """Of its ports, by what it calls them."""

    def failure(self) -> str | None:
        if self.ended:
            return "the switch was stopped"
        if (reason := self.daemon.failure()) is not None:
            return f"{NAME} {reason}"
        if not self.answers:
            return None
        try:  # its master asks all workers, so one that hangs is missed, too
            self.talk.say(SERVED)
        except ComponentError as error:
            return error.with_why
        return None

    def await_ports(self, places: tuple[str, ...], patience_s: float) -> None:
        """Wait until it has taken up both ports, and tell it what to do; once.

        It waits for its ports itself, one after the other, and answers nobody meanwhile.
        """
        if not places or self.answers:
            return
        self._await_start(patience_s)
        self._tell()

    def _await_start(self, patience_s: float) -> None:
        written = Path(self.workspace.fill(PID_FILE))
        began = time.monotonic()
        while not written.exists():
            if (reason := self.failure()) is not None:
                raise DiedError("the switch failed while it took up its ports", why=reason)
            self.workspace.attend("while the switch was waited for", but=NAME)
            if time.monotonic() - began > patience_s + self.daemon.kept_s(patience_s):
                raise ComponentError(
                    f"the ports of {NAME} did not come up within {patience_s:g} s",
                    why=self.daemon.last_words() or "nobody is at their other ends",
                    fix="`vsperf plan` prints the commands of both ends, to be tried by hand",
                )
            sleep(POLL_S)  # between two looks at a condition, never instead of one

    def _tell(self) -> None:
        talk = self.talk
        self.macs = macs_in(talk.say((DPIP, "link", "show")))
        log = written(NAME, self.workspace)
        for port in self.design.ports:
            if (why := not_started(port, log)) is not None or port.name not in self.macs:
                raise ComponentError(
                    f"{NAME} goes on without {port.name}, which is its port of {port.end.link}",
                    why=why or "it does not list that",
                    fix="`vsperf plan` prints its command line and its configuration; "
                    f"{HOW_TO} says which ports which builds take",
                )
        for command in self.design.told():
            talk.say(command)
        self.answers = True

    def next_hops(self) -> Mapping[str, str]:
        return {port.end.link: self.macs[port.name] for port in self.design.ports}

    def counters(self) -> SwitchCounters | None:
        """Return all counters as they stand; its own count of connections among them.

        None before it answers: nothing has passed it then.
        """
        if not self.answers:
            return None
        talk = self.talk
        ports, threads = blocks_in(talk.say(LINKS)), blocks_in(talk.say(THREADS))
        served, missed = served_in(talk.say(SERVED)), missed_in(talk.say(ADDRESSES))
        workers = {cpu: threads.get(f"cpu{n}", {}) for n, cpu in enumerate(self.design.cpus, 1)}
        dropped = [count["dropped"] for count in threads.values() if "dropped" in count]
        return SwitchCounters(
            ports=tuple(port_counters(port, ports.get(port.name)) for port in self.design.ports),
            pmds=tuple(
                PmdCounters(cpu=cpu, frames=count["ipackets"], busy_cycles=None, idle_cycles=None)
                for cpu, count in workers.items()
                if "ipackets" in count
            ),
            drops={DROPPED: sum(dropped)} if dropped else {},
            reasons={
                NO_PORT: missed,
                "service packets in": served.in_packets,
                "service packets out": served.out_packets,
            },
            connections=ConnectionCounters(accepted=served.conns, opened=served.conns),
        )

    def kept(self) -> Kept:
        """Return the entries of its table, and what these take of its pool."""
        if not self.answers:
            return Kept()
        entries, size = entries_in(self.talk.say(TABLE)), entry_bytes_in(self.talk.say(POOLS))
        taken = None if entries is None or size is None else entries * size
        believed = taken is not None and taken <= MOST_COUNTED
        return Kept(entries=entries, memory_bytes=taken if believed else None)

    def facts(self) -> dict[str, Any]:
        fill, design = self.workspace.fill, self.design
        return {
            "dpvs_version": self.talk.programs.version,
            "program": self.talk.programs.daemon,
            "argv": list(self.daemon.argv),
            "mode": design.spec.mode,
            "service": design.service,
            "local_addresses": list(design.local_ips),
            "workers": design.spec.worker_count,
            "worker_cpus": list(design.cpus),
            "main_cpu": design.main_cpu,
            "ports": [
                {
                    "place": port.end.link,
                    "name": port.name,
                    "device": fill(port.device),
                    "mac": self.macs.get(port.name),
                }
                for port in design.ports
            ],
            "configuration": list(design.configuration()),
            "told": [" ".join(command) for command in design.told()],
        }

    def restart(self, *, kill: bool) -> None:
        """End it and start it anew: its table is lost, and it is told everything once more."""
        self.answers = False
        self.daemon = self.start_again(self.daemon, kill)
        self._await_start(UP_AGAIN_S)
        self._tell()

    def forget_flows(self) -> None:
        raise UsageError(
            "DPVS cannot be told to forget its connections",
            why="even those of a service that is taken away stay until their time is over",
            fix="let it forget sooner what has ended: --set vswitch.time_wait=1s",
        )

    def change_rules(self, count: int) -> None:
        raise UsageError(
            "DPVS has no rules that could be changed here",
            why="whoever calls its service is passed on to a server",
            fix="choose a switch with rules: --vswitch nftables",
        )

    def access(self) -> tuple[str, ...]:
        talk = self.talk
        asked = (TABLE, SERVED, LINKS, THREADS)
        return (
            *(talk.shown(command) for command in asked),
            f"cat {self.workspace.fill(CONFIGURATION)}",
        )


def not_started(port: Port, log: str) -> str | None:
    """Return why it has given a port up, in its own words; None where it has not."""
    said = log.splitlines()
    given_up = next(
        (at for at, line in enumerate(said) if GIVEN_UP.format(port.name) in line), None
    )
    if given_up is None:
        return None
    return printable(" | ".join(said[max(0, given_up - WORDS) : given_up + 1]))


def port_counters(port: Port, counted: Mapping[str, int] | None) -> PortCounters:
    """Return what DPVS counts at a port; one that it does not tell of is a `ComponentError`."""
    if counted is None or not {"ipackets", "opackets"} <= counted.keys():
        raise ComponentError(f"DPVS tells of no frames at {port.name}, the port of {port.end.link}")
    return PortCounters(
        name=port.place.name,
        link=port.place.link,
        received_frames=counted["ipackets"],
        sent_frames=counted["opackets"],
        drops={reason: counted[name] for name, reason in LOST.items() if name in counted},
    )


START_S = 60.0
"""Patience until it listens: it takes all of its memory before."""
END_S = 5.0


def _programs(here: Host) -> Answer:
    """Look for the install that was chosen, or that is used where a case names no other."""
    chosen = here.settings(DpvsSpec)
    try:
        found = find_programs(chosen, here.environment.get("PATH"))
    except NotReadyError as error:
        return missing(error.problems[0], wanted=chosen is not None)
    return ok(f"{found.daemon}, version {found.version}")


CHECKS = (Check(NAME, Group.PROGRAMS, _programs),)
"""Not among the checks of a run: a case may name another install, and the driver looks at that."""


class Dpvs(VSwitch):
    """Deploys DPVS."""

    kind = "dpvs"
    summary = "DPVS, a load balancer on DPDK, a private instance beside any other"
    Spec = DpvsSpec
    sockets = (IPC_SOCKET,)
    wants = POLLING_SWITCH | {Want.TAPS}
    checks = CHECKS

    def needs(self, case: CaseSpec) -> Needs:
        spec = _spec_of(case)
        check_ends(case)
        main = spec.main_cpu
        master = () if main is None else (CpuNeed(MAIN_ROLE, 1, busy=False, pinned=(main,)),)
        memory = Design(case, spec, Placement()).memory_mb
        return Needs(
            cpus=(CpuNeed.of(PMD_ROLE, spec.worker_cpus, spec.workers), *master),
            hugepage_bytes=memory * MEGABYTE if spec.hugepages else 0,
        )

    def plan(self, case: CaseSpec, placement: Placement) -> SwitchPlan:
        spec = _spec_of(case)
        return switch_plan(Design(case, spec, placement), planned_program(spec.install))

    def require(self, case: CaseSpec) -> None:
        require_root("DPVS", "it takes memory that only root may give, and has devices of its own")
        find_programs(_spec_of(case))

    @contextmanager
    def start(
        self, case: CaseSpec, plan: SwitchPlan, placement: Placement, workspace: Workspace
    ) -> Iterator[RunningDpvs]:
        design = Design(case, _spec_of(case), placement)
        self.require(case)
        require_fitting(design.sockets, workspace)
        with ExitStack() as stack:
            _make_taps(design, workspace, stack)
            text = "".join(f"{line}\n" for line in design.configuration())
            Path(workspace.fill(CONFIGURATION)).write_text(text)
            made = _Maker(design, find_programs(design.spec), workspace, stack)
            running = RunningDpvs(
                design=design,
                talk=Talk(made.programs, workspace.fill(IPC_SOCKET)),
                workspace=workspace,
                daemon=made.started(),
                start_again=made.start_again,
            )
            yield stack.enter_context(until_left(running))


def _make_taps(design: Design, workspace: Workspace, stack: ExitStack) -> None:
    """Make the network and the taps in it, each with a promise to remove it; if there are any."""
    names = tuple(workspace.fill(name) for name in design.taps)
    if not names:
        return
    network = stack.enter_context(private_network(workspace))
    for name in names:
        stack.enter_context(tap(name, workspace, mtu=MTU, several_queues=True))
    hand_over(names, network, design.cpus)


@dataclass(frozen=True)
class _Maker:
    """Starts it, as often as it is asked to."""

    design: Design
    programs: Programs
    workspace: Workspace
    stack: ExitStack
    """Ends what was started."""

    def started(self) -> Managed:
        """Start it, and wait until it listens: it answers later, when it has its ports."""
        for file in (PID_FILE, *self.design.sockets):  # DPDK does not listen where something is
            Path(self.workspace.fill(file)).unlink(missing_ok=True)
        listens = Path(self.workspace.fill(self.design.sockets[0]))
        argv = self.design.command(self.programs.daemon)
        return self.stack.enter_context(
            managed(
                [self.workspace.fill(word) for word in argv],
                name=NAME,
                workspace=self.workspace,
                ready=listens.is_socket,
                timeout_s=START_S,
                environment={"RUNTIME_DIRECTORY": str(self.workspace.folder)},
                polling=Polling(threads.SWITCH, LCORES),
            )
        )

    def start_again(self, before: Managed, kill: bool) -> Managed:
        if kill:
            before.process.kill()
            before.await_end(END_S)
        end(before, self.workspace)
        return self.started()
