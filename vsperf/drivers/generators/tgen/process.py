"""One tgen process: started, ready when it says hello, stopped with rising force, never left.

Its socket and what it writes are in a workspace, and its memory has no name in a file system. When
vsperf itself is killed, tgen loses its controller, stops sending and ends by itself.
"""

from __future__ import annotations

import subprocess
import time
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from vsperf.drivers.generators.dpdk_ports import Port
from vsperf.drivers.generators.tgen.client import (
    Answer,
    Client,
    Event,
    Gone,
    Look,
    Silent,
    TgenError,
)
from vsperf.drivers.generators.tgen.command import Options, command_line, memory_bytes
from vsperf.errors import ComponentError, DiedError, NotReadyError
from vsperf.host.cpus import read_topology
from vsperf.host.hugepages import reserve
from vsperf.host.open_files import require_open_files
from vsperf.host.own_program import OwnProgram
from vsperf.host.process import Managed, log_of, managed, written_since
from vsperf.host.threads import LCORES, Polling
from vsperf.host.workspace import Workspace, given_or_own
from vsperf.records.run import Placeholder
from vsperf.records.threads import GENERATOR
from vsperf.waits import sleep

VERSIONS: tuple[str, ...] = ("tgen", "dpdk", "build")
TGEN = OwnProgram("tgen", "the traffic generator tgen")


NAME = "tgen"
"""Its name among the programs of a workspace."""
PREFIX = f"{Placeholder.NAME}-{NAME}"
"""Prefix of what DPDK names, as a plan writes it."""
CONTROL = f"{Placeholder.RUN}/{NAME}.sock"
"""Its socket, as a plan writes it."""
PROTOCOL = 1
START_S = 30.0
LINKS_S = 60.0
ANSWER_S = 10.0
ROUND_TRIPS = 400
ROUND_TRIP_ATTEMPTS = 5
"""Of two threads one gives up when the other is kept from running for 10 ms meanwhile."""
STARTS = 5
TAKEN = "could not set PACKET_FANOUT"
"""What DPDK's driver of packet sockets says where the number of a device is another process's.
It makes it of the numbers of process and device: another process has another one."""


@dataclass
class Tgen:
    """A tgen that runs, and the conversation with it."""

    name: str
    """The prefix of what DPDK names."""
    control: Path
    """Its socket."""
    program: Managed
    client: Client | None = None
    wanted: tuple[str, ...] = ()
    """The ports that it was started with; one that DPDK cannot make is missing, not refused."""
    hello: Answer = field(default_factory=dict)
    """What it said about itself: versions, TSC, CPUs."""
    silent: bool = False
    """Whether it once did not answer in time."""
    look: Look = lambda: None
    """Looks at the other parts, without which its links would never come up."""

    @property
    def argv(self) -> tuple[str, ...]:
        return self.program.argv

    @property
    def process(self) -> subprocess.Popen[bytes]:
        return self.program.process

    def ask(self, verb: str, timeout_s: float = ANSWER_S, **parameters: object) -> Answer:
        """Return tgen's answer; when it has died, say how."""
        if self.client is None:
            raise ComponentError("tgen is no longer connected")
        try:
            return self.client.ask(verb, timeout_s, **parameters)
        except Gone as error:
            raise self.obituary(f"during `{verb}`") from error
        except Silent:
            self.silent = True
            raise

    @contextmanager
    def listening(self, on_event: Event) -> Iterator[None]:
        """Send events to `on_event` for a while."""
        if self.client is None:
            yield
            return
        before, self.client.on_event = self.client.on_event, on_event
        try:
            yield
        finally:
            self.client.on_event = before

    def listen(self, on_event: Event) -> None:
        """Send events to `on_event` from now on."""
        if self.client is not None:
            self.client.on_event = on_event

    def ports(self) -> list[Answer]:
        """Return what was negotiated on each port, once all links are up.

        A vhost-user or memif port is up when the other side has answered, a moment after start.
        """
        deadline = time.monotonic() + LINKS_S
        while True:
            ports: list[Answer] = self.ask("ports")["ports"]
            self._require(self.wanted, [str(port["name"]) for port in ports])
            down = [str(port["name"]) for port in ports if not port["link_up"]]
            if not down:
                return ports
            self.look()
            if time.monotonic() > deadline:
                raise ComponentError(
                    f"the link of {', '.join(down)} did not come up within {LINKS_S:g} s",
                    why="the other side of the port does not answer",
                    fix="see that the switch runs and has opened its side of the port",
                )
            sleep(0.01)  # between two looks at a condition, never instead of one

    def _require(self, wanted: Iterable[str], found: Collection[str]) -> None:
        """Refuse to go on with fewer ports than were asked for."""
        for name in wanted:
            if name not in found:
                words = self.last_words()
                why = f"it has {', '.join(found) or 'none'}" + (f"; {words}" if words else "")
                raise ComponentError(f"tgen has no port {name}", why=why)

    def port_numbers(self, ports: Mapping[str, Port]) -> dict[str, int]:
        """Return by link the number that DPDK gave to its port."""
        found = {port["name"]: int(port["port"]) for port in self.ports()}
        self._require([port.name for port in ports.values()], found)
        return {link: found[port.name] for link, port in ports.items()}

    def round_trip_ns(self, cpus: tuple[int, int]) -> int | None:
        """Return how long a cache line takes from one CPU to another and back, by the median."""
        if cpus[0] == cpus[1]:
            return None
        for _ in range(ROUND_TRIP_ATTEMPTS):
            found = self.ask("roundtrip", cpus=list(cpus), rounds=ROUND_TRIPS)
            if "percentiles_ns" in found:
                return int(found["percentiles_ns"]["50"])
        return None

    def facts(self) -> dict[str, Any]:
        known = {name: self.hello[name] for name in VERSIONS if name in self.hello}
        return {**known, "argv": list(self.argv), "ports": self.ports()}

    def other_sources(self) -> NotReadyError | None:
        """Return what is wrong with a program that was built from others than this vsperf."""
        if self.hello.get("protocol") == PROTOCOL:
            return None
        return NotReadyError(
            f"{self.argv[0]} speaks protocol {self.hello.get('protocol')}, not {PROTOCOL}",
            why="it was built from other sources than this vsperf",
            fix=TGEN.build_command,
        )

    def alive(self) -> bool:
        """Whether it still runs, and answers as far as anybody knows."""
        return self.program.poll() is None and not self.silent

    def obituary(self, when: str) -> ComponentError:
        """Return the error that says how tgen ended."""
        return ComponentError(f"tgen {self.program.ending()} {when}", why=self.last_words())

    def last_words(self) -> str | None:
        words = self.program.last_words()
        return f"its last words: {words}" if words else None


@contextmanager
def running(
    ports: Iterable[Port], options: Options, workspace: Workspace | None = None
) -> Iterator[Tgen]:
    """Start a tgen with these ports, and leave nothing of it.

    With a workspace, what the ports' devices say is filled in as in a plan; without one, tgen gets
    one of its own, and claims its memory, which a deployment has done for all of its parts.
    """
    binary, named = str(TGEN.find()), tuple(ports)
    require_open_files()
    claimed = _memory(options) if workspace is None else {}
    with (
        given_or_own(workspace, "a traffic generator by hand") as place,
        _reserved(claimed, place),
        ExitStack() as stack,
    ):
        name, control = place.fill(PREFIX), Path(place.fill(CONTROL))
        argv = command_line(binary, name, control, named, options)
        if workspace is not None:
            argv = tuple(place.fill(word) for word in argv)
        for more in reversed(range(STARTS)):
            try:
                tgen = stack.enter_context(_started(argv, name, control, place))
            except _TakenError:
                if not more:
                    raise
            else:
                break
        tgen.wanted = tuple(port.name for port in named)
        yield tgen


@contextmanager
def _started(argv: tuple[str, ...], name: str, control: Path, place: Workspace) -> Iterator[Tgen]:
    conversation = _Conversation(control)
    log = log_of(NAME, place)
    said = log.stat().st_size if log.exists() else 0
    with (
        closing(conversation),
        managed(
            argv,
            name=NAME,
            workspace=place,
            ready=conversation.begin,
            timeout_s=START_S,
            stop=conversation.quit,
            polling=Polling(GENERATOR, LCORES),
        ) as program,
    ):
        tgen = Tgen(name, control, program, conversation.client)
        tgen.look = lambda: place.attend(f"while {NAME} started", but=NAME)
        try:
            try:
                greet(tgen)
            finally:
                _check_sockets(log, said)
            yield tgen
        finally:
            tgen.client = None


class _TakenError(ComponentError):
    """A number that a device of tgen was to have is another program's."""


def _check_sockets(log: Path, said: int) -> None:
    """Look for a number that was taken in what tgen said after its log had this many bytes."""
    for line in written_since(log, said)[1].decode(errors="replace").splitlines():
        if TAKEN in line:
            raise _TakenError(
                "tgen could not have a packet socket for itself",
                why=f"{line.strip()}: its number, which goes by chance, is another program's",
                fix="try again",
            )


@dataclass
class _Conversation:
    """The connection to a tgen, from its first answer to its end."""

    control: Path
    client: Client | None = None

    def begin(self) -> bool:
        """Connect; say whether it listens by now."""
        with suppress(OSError):
            self.client = Client.connect(self.control, ANSWER_S)
        return self.client is not None

    def quit(self, patience_s: float) -> None:
        if self.client is not None:
            try:
                self.client.ask("quit", patience_s)
            finally:
                self.close()

    def close(self) -> None:
        """Hang up; a tgen that still runs stops sending and ends."""
        if self.client is not None:
            self.client.close()
            self.client = None


def greet(tgen: Tgen, timeout_s: float = START_S) -> None:
    """Hear what it is; it listens before its ports are up."""
    if tgen.client is None:
        raise ComponentError("tgen is no longer connected")
    tgen.client.look = tgen.look
    try:
        tgen.hello = tgen.client.ask("hello", timeout_s)
    except Gone as error:
        tgen.look()  # it ends, too, when the other side of one of its ports has ended before
        raise tgen.obituary("while it started") from error
    except (TgenError, DiedError):
        raise
    except ComponentError as error:
        raise ComponentError(str(error), why=tgen.last_words()) from error
    finally:
        tgen.client.look = None
    if (problem := tgen.other_sources()) is not None:
        raise problem


@contextmanager
def _reserved(needed_bytes: Mapping[int, int], workspace: Workspace) -> Iterator[None]:
    """See to hugepages as `reserve` does; by hand it can also be done without them."""
    with ExitStack() as stack:
        try:
            stack.enter_context(reserve(needed_bytes, workspace))
        except NotReadyError as error:
            (problem,) = error.problems
            fix = f"{problem.fix}; or do without them: --no-hugepages"
            raise NotReadyError(problem.what, why=problem.why, fix=fix) from error
        yield


def _memory(options: Options) -> dict[int, int]:
    """Return how many bytes of hugepages it takes, by memory node."""
    if not options.hugepages:
        return {}
    near = read_topology(frozenset(options.cpus))
    needed = memory_bytes(len(options.cpus), options.queues, options.ring)
    return {near[number].node: needed for number in options.cpus}
