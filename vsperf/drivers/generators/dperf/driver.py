"""The driver: a server for all trials of a case, a client for each, and what both told of it."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from vsperf.config.abilities import Ability, Capabilities
from vsperf.config.case import CaseSpec
from vsperf.config.connections import FIRST_PORT
from vsperf.drivers.ending import until_left
from vsperf.drivers.generators.base import (
    ConnectionEnds,
    ConnectionsRequest,
    OnSample,
    TrialRequest,
    Unmeasured,
    no_frames,
)
from vsperf.drivers.generators.directions import check_directions
from vsperf.drivers.generators.dperf.answer import (
    Block,
    blocks_in,
    busy_ppm,
    client_accounts,
    segments,
    server_accounts,
    summed,
    totals_of,
)
from vsperf.drivers.generators.dperf.plan import (
    CLOSING_S,
    ENDS,
    MEGABYTE,
    ROLE,
    WAIT_S,
    WHO,
    DperfSpec,
    Process,
    case_ends,
    check,
    client_file,
    client_sockets,
    holding_file,
    memory_mb,
    ports_from,
    processes_of,
    seconds_of,
    server_file,
    server_sockets,
    spec_of,
)
from vsperf.drivers.programs.base import InstalledProgram
from vsperf.drivers.programs.find import PackagedProgram, said_by
from vsperf.errors import ComponentError, NotReadyError
from vsperf.host.cpus import CpuNeed, Needs
from vsperf.host.doctor.finding import Answer, Check, Group, Host, missing, ok
from vsperf.host.doctor.wants import Want
from vsperf.host.packet_sockets import Rings
from vsperf.host.process import Managed, log_of, managed, written_since
from vsperf.host.workspace import Workspace
from vsperf.methods.base import method_of
from vsperf.methods.connections import OpensConnections
from vsperf.quantities.units import NANOSECONDS
from vsperf.records.connections import ConnectionCounts
from vsperf.records.run import Endpoint, Placement, Step
from vsperf.records.trial import TrialCounts
from vsperf.waits import ended, sleep

SETTING = "generator.path"
HOW_TO = "docs/how-to/measure-with-dperf.md"
DPERF = PackagedProgram(
    WHO, f"build it from its sources ({HOW_TO})", "-v", r"(\d+(?:\.\d+)+)\s*$", SETTING
)
LEAST = (1, 9)
"""Version from which on it knows all words of our files, and says what is read here."""
TEST = "-t"
FINE = "Config file OK"
REFUSED = re.compile(r"^line (\d+): ", re.MULTILINE)
START_S = 60.0
"""Of which it takes four to measure its clock."""
LOOK_S = 0.5
MOST_SAID = 64 << 20
"""Bytes of the blocks of a trial."""
PCI_VARIABLE = "SYSFS_PCI_DEVICES"
"""Where DPDK looks for NICs: it would take all that no program of the kernel has."""


def find(spec: DperfSpec | None, search: str | None = None) -> InstalledProgram:
    """Return where it is; raise `NotReadyError` where there is none, or one that is too old."""
    program = DPERF.find(None if spec is None else spec.path, search)
    if tuple(map(int, program.version.split(".")))[: len(LEAST)] < LEAST:
        raise NotReadyError(
            f"{program.path} is dperf {program.version}",
            why=f"its files have other words; {_least()} or a newer one knows those of vsperf",
            fix=f"build a newer one, and name it: --set {SETTING}=PATH",
        )
    return program


def _ask(here: Host) -> Answer:
    wanted = here.settings(DperfSpec)
    try:
        program = find(wanted, here.environment.get("PATH"))
    except NotReadyError as error:
        return missing(error.problems[0], wanted=wanted is not None)
    return ok(f"{program.path}, version {program.version} ({_least()} or newer is right)")


def _least() -> str:
    return ".".join(map(str, LEAST))


CHECK = Check(WHO, Group.PROGRAMS, _ask)


def write(process: Process, lines: Sequence[str], workspace: Workspace) -> None:
    """Write what a process is to read."""
    text = "".join(f"{workspace.fill(line)}\n" for line in lines)
    Path(workspace.fill(process.file)).write_text(text)


def require_taken(program: str, process: Process, workspace: Workspace) -> None:
    """Raise `NotReadyError` where dperf does not take its file; it starts nothing for that."""
    file = workspace.fill(process.file)
    said = said_by((program, TEST, "-c", file), SETTING)
    if FINE in said:
        return
    refused = REFUSED.search(said)
    lines = Path(file).read_text().splitlines()
    line = lines[int(refused[1]) - 1] if refused and int(refused[1]) <= len(lines) else ""
    if line.startswith("port ") and not process.port.pci:
        raise NotReadyError(
            f"{program} does not take the port {process.port.name}",
            why="as it is published, dperf takes devices on the PCI bus only, by addresses of 12 "
            "letters",
            fix=f"links on NICs, or a dperf that takes other devices of DPDK; see {HOW_TO}",
        )
    why = " | ".join(filter(None, said.splitlines()[-3:]))
    raise NotReadyError(
        f"{program} does not take {file}",
        why=f"{why}{f': {line}' if line else ''}",
        fix=f"a dperf as it is published, {_least()} or newer: --set {SETTING}=PATH",
    )


@dataclass
class Running:
    """A process that runs, and what it has said since it was started."""

    process: Process
    program: Managed
    begins: int
    """In its log: those of trials before stand before it."""
    workspace: Workspace

    def said(self, since: int | None = None) -> tuple[Block, ...]:
        """Return what it said since it was started, or since a place of its log."""
        begin = self.begins if since is None else since
        _, text = written_since(self.program.log, begin, MOST_SAID)
        return blocks_in(text.decode(errors="replace"))

    def place(self) -> int:
        """Return where its log ends now."""
        return self.program.log.stat().st_size

    def await_end(self, patience_s: float, look: Callable[[], None]) -> tuple[Block, ...]:
        """Wait until it has ended by itself, and return what it said; totals are among it."""
        left_s = patience_s
        while not ended(self.program.pid, LOOK_S):
            look()
            self.workspace.attend(f"while {self.program.name} ran", but=self.program.name)
            left_s -= LOOK_S
            if left_s + self.program.kept_s(patience_s) < 0:
                raise ComponentError(
                    f"{self.program.name} did not end within {patience_s:g} s",
                    why=f"its last words: {self.program.last_words()}",
                )
        said = self.said()
        if totals_of(said) is None:
            how = self.program.ending()
            words = self.program.last_words()
            raise ComponentError(f"{self.program.name} {how} without totals", why=words)
        return said


@contextmanager
def running(
    program: str, process: Process, workspace: Workspace, *, awaited: bool = True
) -> Iterator[Running]:
    """Run a process by the file that was written for it; `awaited`: until it counts."""
    log = log_of(process.name, workspace)
    begins = log.stat().st_size if log.exists() else 0
    environment = {"RUNTIME_DIRECTORY": str(workspace.folder)}
    if process.listens_at is not None:  # nobody else does, and DPDK takes no socket that is there
        Path(workspace.fill(process.listens_at)).unlink(missing_ok=True)
    if not process.port.pci:
        nowhere = workspace.folder / "no-nics"
        nowhere.mkdir(exist_ok=True)
        environment[PCI_VARIABLE] = str(nowhere)

    def counts() -> bool:
        return bool(blocks_in(written_since(log, begins, MOST_SAID)[1].decode(errors="replace")))

    with managed(
        [workspace.fill(word) for word in process.command(program)],
        name=process.name,
        workspace=workspace,
        ready=counts if awaited else None,
        timeout_s=START_S,
        environment=environment,
    ) as started:
        yield Running(process, started, begins, workspace)


ABILITIES = frozenset(
    {
        *(Ability.CONNECTIONS, Ability.PACED, Ability.PER_DIRECTION),
        *(Ability.OWN_COUNTS, Ability.NUMBERED),
    }
)
"""Segments have numbers, by which it knows those of its connections."""
PACKET_SOCKET = "net_af_packet"
"""DPDK's driver whose devices do not tell what found their rings full."""
TRIAL_NS = 26 * NANOSECONDS
"""What a trial took beyond its traffic with dperf 1.9.0: its start, the slow start, its end."""
SLACK_S = 20.0
POLL_S = 0.05
BLOCK_S = 10.0
"""Patience with a block, of which there is one each second."""


@dataclass
class DperfSession:
    """Both processes: somebody holds each port, and the server runs from the first trial on."""

    case: CaseSpec
    program: InstalledProgram
    client: Process
    server: Process
    workspace: Workspace
    stack: ExitStack
    """Ends who holds the ports, or the server."""
    running: list[Running] = field(default_factory=list)
    serving: tuple[ConnectionEnds, int] | None = None
    """Whom it serves, and with how many bytes; None while the ports are only held."""
    taken: set[tuple[str, str]] = field(default_factory=set)
    """Files that dperf was seen to take, by process and mode."""
    missed: int = 0
    """What the server's port had no room for until now."""
    begin_port: int = FIRST_PORT
    """Of clients: with which the next trial begins."""
    rings: Rings | None = None
    """Those of packet sockets, of which the kernel is asked; None where there are none."""
    ended: bool = False

    def run(self, request: TrialRequest, on_sample: OnSample | None = None) -> TrialCounts:
        raise no_frames(
            "dperf sends no frames of its own",
            "--generator tgen, or a testcase whose method opens connections",
        )

    def connect(self, request: ConnectionsRequest) -> ConnectionCounts:
        self._require_open()
        began = time.monotonic_ns()
        asked, ends = request.asked, request.ends
        server = self._server(ends, asked.response_bytes)
        ports = ports_from(asked, ends, self.begin_port)
        self.begin_port = ports.stop
        memory = memory_mb(client_sockets(self.case))
        self._write(self.client, client_file(self.client, ends, asked, ports, memory))
        place, dropped = server.place(), self._dropped(server)
        self._require_open()
        with running(self.program.path, self.client, self.workspace, awaited=False) as client:
            patience_s = START_S + WAIT_S + seconds_of(asked) + CLOSING_S + SLACK_S
            said = client.await_end(patience_s, lambda: self._look(client, server))
        told = totals_of(said)
        assert told is not None  # it has ended with them
        seconds = self._served(server, place)
        served = summed(seconds)
        missed = self._missed(told, served) + self._dropped(server) - dropped
        sleep(self.case.trial.pause.ns / NANOSECONDS)
        return ConnectionCounts(
            settled=told.count("skCon") == 0,
            stopped_early=False,
            elapsed_ns=time.monotonic_ns() - began,
            client=client_accounts(told, asked.connections),
            client_segments=segments(told),
            times=None,
            launching_ns=None,
            completing_ns=None,
            server=server_accounts(served),
            server_segments=segments(served),
            slots=None,
            busy_ppm=max(busy_ppm(said), busy_ppm(seconds)),
            longest_gap_ns=None,
            paused_ns=None,
            missed_frames=missed,
            begin_port=ports.start,
        )

    def failure(self) -> str | None:
        if self.ended:
            return "dperf is no longer connected"
        ways = ((one.program.name, one.program.failure()) for one in self.running)
        return next((f"{name} {how}" for name, how in ways if how is not None), None)

    def facts(self) -> dict[str, Any]:
        return {
            "dperf": self.program.version,
            "path": self.program.path,
            "ports": {one.end.link: one.port.device for one in (self.client, self.server)},
            "argv": {
                one.name: one.command(self.program.path) for one in (self.client, self.server)
            },
        }

    def hold(self) -> None:
        for process in (self.server, self.client):
            self._write(process, holding_file(process))
            self._begin(process)

    def _server(self, ends: ConnectionEnds, response_bytes: int) -> Running:
        """Return the server of these ends; it is another one where they are others."""
        if self.serving != (ends, response_bytes):
            self.stack.close()
            self.running.clear()
            self.serving, self.missed = None, 0
            memory = memory_mb(server_sockets(self.case))
            self._write(self.server, server_file(self.server, ends, response_bytes, memory))
            self._begin(self.server)
            self.serving = (ends, response_bytes)
        return self.running[0]

    def _write(self, process: Process, lines: tuple[str, ...]) -> None:
        """Write what a process reads; of files that differ by numbers one is tried."""
        write(process, lines, self.workspace)
        kind = (process.name, lines[0])
        if kind not in self.taken:
            require_taken(self.program.path, process, self.workspace)
            self.taken.add(kind)

    def _begin(self, process: Process) -> None:
        begun = running(self.program.path, process, self.workspace)
        self.running.append(self.stack.enter_context(begun))

    def _require_open(self) -> None:
        """Raise `ComponentError` once the session has ended: a trial may be a thread's of its own.

        Nothing is started then that nobody would end, and its client is ended by the thread.
        """
        if self.ended:
            raise ComponentError("dperf is no longer connected")

    def _look(self, client: Running, server: Running) -> None:
        """See that the server still runs, and what the kernel dropped before them."""
        self._require_open()
        _require_running(server)
        self._dropped(client)

    def _served(self, server: Running, place: int) -> tuple[Block, ...]:
        """Return what a process has said since a place of its log, another second included."""
        known, until = len(server.said(place)), time.monotonic() + BLOCK_S + START_S
        while len(said := server.said(place)) == known:
            _require_running(server)
            name = server.program.name
            self.workspace.attend(f"while {name} was waited for", but=name)
            if time.monotonic() > until:
                raise ComponentError(f"{name} no longer tells what it counts")
            sleep(POLL_S)  # between two looks at a condition, never instead of one
        return said

    def _missed(self, told: Block, served: Block) -> int:
        """Return what both ports had no room for in a trial; the server's counts on."""
        before, self.missed = self.missed, served.count("imissed")
        return told.count("imissed") + self.missed - before

    def _dropped(self, one: Running) -> int:
        """Return what packet sockets had no room for, of all processes that were asked so far."""
        return 0 if self.rings is None else sum(self.rings.drops_of(one.program.pid).values())


class DperfGenerator(Unmeasured):
    """Opens connections by dperf."""

    kind = "dperf"
    summary = "dperf (1.9 or newer, which you have built): TCP connections a second"
    Spec = DperfSpec
    wants = frozenset({Want.QUIET_CPUS, Want.CYCLE_COUNTER, Want.ROOT, Want.HUGEPAGES})
    checks = (CHECK,)

    def capabilities(self, case: CaseSpec) -> Capabilities:
        return Capabilities(ABILITIES, trial_ns=TRIAL_NS)

    def needs(self, case: CaseSpec) -> Needs:
        spec = spec_of(case)
        pinned = spec.cpus.cpus if spec.cpus is not None else None
        memory = sum(memory_mb(of(case)) for of in (client_sockets, server_sockets))
        return Needs(
            cpus=(CpuNeed(ROLE, len(pinned) if pinned else ENDS, pinned=pinned),),
            hugepage_bytes=memory * MEGABYTE,
        )

    def plan(
        self, case: CaseSpec, endpoints: tuple[Endpoint, ...], placement: Placement
    ) -> tuple[Step, ...]:
        check(case)
        client, server = processes_of(case, endpoints, placement)
        method = method_of(case)
        assert isinstance(method, OpensConnections)  # its cases have connections
        asked, ends = method.checking(), case_ends(case)
        ports = ports_from(asked, ends, FIRST_PORT)
        lines = {
            server.name: server_file(
                server, ends, asked.response_bytes, memory_mb(server_sockets(case))
            ),
            client.name: client_file(client, ends, asked, ports, memory_mb(client_sockets(case))),
        }
        words = {
            server.name: "which answers in all trials",
            client.name: "for each trial anew, here for the path check",
        }
        return tuple(
            Step(
                component=ROLE,
                action=f"start {one.name} on CPU {one.cpu} at {one.end.link}, {words[one.name]}",
                argv=one.command(spec_of(case).path or WHO),
                lines=lines[one.name],
            )
            for one in (server, client)
        )

    @contextmanager
    def start(
        self,
        case: CaseSpec,
        endpoints: tuple[Endpoint, ...],
        directions: tuple[tuple[str, str], ...],
        placement: Placement,
        workspace: Workspace,
    ) -> Iterator[DperfSession]:
        check(case)
        program = find(spec_of(case))
        client, server = processes_of(case, endpoints, placement)
        check_directions(WHO, {endpoint.link for endpoint in endpoints}, directions)
        sockets = any(one.port.name.startswith(PACKET_SOCKET) for one in (client, server))
        with ExitStack() as stack:
            session = DperfSession(case, program, client, server, workspace, stack)
            session.rings = Rings() if sockets else None
            session.hold()
            with until_left(session):  # not by its stack, which is emptied to let go of the ports
                yield session


def _require_running(one: Running) -> None:
    """Raise `ComponentError` where it ended: a part that died is otherwise taken for the switch."""
    if (how := one.program.failure()) is not None:
        raise ComponentError(f"{one.program.name} {how}")
