"""Programs that exchange data between places: started at one instant, watched to their end.

Servers come first, and are waited for until they listen. Then all clients are started, each of
which waits for the same instant before it becomes the program: so a late one shows, and a machine
that starts processes slowly makes none of them late.
"""

from __future__ import annotations

import shutil
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Protocol

from vsperf.config.case import CaseSpec
from vsperf.config.places import own_stack, place_ip
from vsperf.config.wiring import directions_of
from vsperf.deploy.cpu_looks import Looks, SwitchCpus
from vsperf.deploy.live_rates import LiveRates, Tell, seen_of
from vsperf.deploy.places import Places
from vsperf.deploy.running import How, Running, room_of
from vsperf.drivers.programs.base import (
    InstalledProgram,
    Program,
    Programs,
    Rendezvous,
    Said,
    Told,
    both_problems,
    ended_early,
)
from vsperf.errors import ComponentError, UsageError
from vsperf.host.cpu_time import Watched
from vsperf.host.cpus import CpuNeed
from vsperf.host.procfs import POLL_S
from vsperf.host.workspace import Workspace
from vsperf.methods.exchanges import ExchangeAsked
from vsperf.qemu.programs import MOST_FILES, MOST_PROGRAMS
from vsperf.quantities.human import human_bytes, human_ns
from vsperf.records.cpu_time import PROBE, CpuUse
from vsperf.records.exchange import CLIENTS, ECHO, SERVERS, DeviceUse, Instance, Interval
from vsperf.records.run import Endpoint, Placement, Step
from vsperf.waits import sleep, wait_for

FIRST_PORT = 11_001
LISTENS_S = 10.0
"""Patience with a server that starts."""
LEAD_NS = 200_000_000
LEAD_EACH_NS = 50_000_000
"""From the start of the clients to the instant, so that all of them wait for it by then."""
ENDS_S = 10.0
"""How much longer than asked a client may take, with its connection and what it tells."""
EDGE_NS = 50_000_000
"""From either end of the window to a look at CPUs: clients take a moment to begin, and threads that
end take with them how often they were switched."""
AFTER_S = 3.0
"""Patience with a server whose client has ended."""
MOST_LONGER = 20
"""One part in so many of the time that a client ran may be what it says to have sent for beyond."""
MOST_INTERVALS, LEAST_INTERVAL_NS = 100, 100_000_000
"""So many are believed, and one more for each so many nanoseconds: programs tell four a second."""
ENDED_EARLY = "its client or its server ended long before its time, and tells of no failure"


@dataclass(frozen=True, slots=True)
class Pair:
    """A client and a server that are to be started."""

    name: str
    source: str
    """The link at whose end the client is."""
    target: str
    port: int
    client_cpu: int
    server_cpus: tuple[int, ...]

    @property
    def direction(self) -> str:
        """From where to where data go."""
        return f"{self.source} to {self.target}"


def program_needs(case: CaseSpec) -> tuple[CpuNeed, ...]:
    """Return the CPUs of clients and servers: a server with its own stack never sleeps."""
    asked = {CLIENTS: "client_cpus", SERVERS: "server_cpus"}
    chosen = {role: getattr(case.search, name, None) for role, name in asked.items()}
    apart = getattr(case.search, "pinning", "same") == "apart"
    return tuple(
        CpuNeed(
            role,
            1 if cpus is None else len(cpus),
            busy=role == SERVERS and own_stack(case),
            pinned=None if cpus is None else cpus.cpus,
            apart_from=CLIENTS if role == SERVERS and apart else "",
        )
        for role, cpus in chosen.items()
    )


def together(asked: ExchangeAsked) -> tuple[ExchangeAsked, ...]:
    """Return what is exchanged at one time, in the order of ports and CPUs.

    An echo comes first: so it is on the same CPUs alone and beside others.
    """
    return (asked,) if asked.beside is None else (asked.beside, asked)


def pairs_of(
    case: CaseSpec, asked: ExchangeAsked, placement: Placement, first: int = 0
) -> tuple[Pair, ...]:
    """Return all pairs: each direction has all instances, and CPUs are taken in turns.

    So many others come first. An echo goes both ways, so one direction is enough for it.
    """
    ways = directions_of(case.topology, case.traffic.direction)
    echo = asked.traffic == ECHO
    clients, servers = placement.of(CLIENTS), placement.of(SERVERS)
    found: list[Pair] = []
    for source, target in ways[:1] if echo else ways:
        for _ in range(asked.instances):
            number = first + len(found)
            found.append(
                Pair(
                    "probe" if echo else f"instance {number - first + 1}",
                    source,
                    target,
                    FIRST_PORT + number,
                    clients[number % len(clients)],
                    _shares(servers, number, asked.workers),
                )
            )
    return tuple(found)


def _shares(cpus: Sequence[int], number: int, workers: int) -> tuple[int, ...]:
    """Return the CPUs of a server: one for each of its workers, in turns."""
    first = number * workers
    return tuple(sorted({cpus[one % len(cpus)] for one in range(first, first + workers)}))


def exchange_steps(
    case: CaseSpec,
    programs: Programs,
    asked: ExchangeAsked,
    placement: Placement,
    endpoints: Sequence[Endpoint],
) -> tuple[Step, ...]:
    """Return what one exchange does, for a plan."""
    sockets = {one.link: one for one in endpoints if one.link in case.user_space}
    steps = []
    rows: list[tuple[ExchangeAsked, Pair]] = []
    for one in together(asked):
        rows += [(one, pair) for pair in pairs_of(case, one, placement, len(rows))]
    for one, pair in rows:
        program = programs.exchanging(one.traffic)
        name, server = program.kind, program.SERVER
        meet = Rendezvous(place_ip(case, pair.target), pair.port, sockets.get(pair.target))
        files = program.files(case, one, meet)
        if names := ", ".join(files):
            _require_room_in_guests(case, pair, name, files)
            steps.append(Step(component="program", action=f"write {names} for {pair.name}"))
        for end, where, cpus, argv in (
            ("server", pair.target, pair.server_cpus, program.server(case, server, one, meet)),
            ("client", pair.source, (pair.client_cpu,), program.client(case, name, one, meet)),
        ):
            guest = "" if case.guest_at(where) is None else ", in its guest,"
            action = f"start the {end} of {pair.name} at {where}{guest} on CPU {_listed(cpus)}"
            steps.append(Step(component="program", action=action, argv=argv))
    return tuple(sorted(steps, key=lambda step: "client" in step.action))


def require_few_in_guests(case: CaseSpec, asked: ExchangeAsked, placement: Placement) -> None:
    """Raise `UsageError` where a guest would have to run more programs than it can."""
    pairs = [pair for one in together(asked) for pair in pairs_of(case, one, placement)]
    ends = Counter(link for pair in pairs for link in (pair.source, pair.target))
    for link in case.guests:
        if ends[link] > MOST_PROGRAMS:
            raise UsageError(
                f"the guest at {link} would have {ends[link]} programs",
                why=f"{MOST_PROGRAMS} are the most that one runs",
                fix=f"fewer of `search.instances`, or --set places.{link}=null",
            )


def _require_room_in_guests(
    case: CaseSpec, pair: Pair, program: str, files: Mapping[str, str]
) -> None:
    """Raise `UsageError` for a program that reads more than a guest is given, with an end there."""
    length = sum(map(len, files.values()))
    for link in (pair.source, pair.target):
        if case.guest_at(link) is not None and length > MOST_FILES:
            raise UsageError(
                f"the program {program} reads {', '.join(files)}: {human_bytes(length)}, and "
                f"{human_bytes(MOST_FILES)} are the most that the guest at {link} is given",
                fix=f"less of `search.object`, or --set places.{link}=null",
            )


@dataclass(frozen=True, slots=True)
class Part:
    """What one program exchanges."""

    program: Program
    found: InstalledProgram
    asked: ExchangeAsked
    pairs: tuple[Pair, ...]


@dataclass(frozen=True, slots=True)
class Made:
    """What became of one exchange."""

    instances: tuple[tuple[Instance, ...], ...]
    """Of each part, in their order."""
    elapsed_ns: int
    cpu: CpuUse | None
    """None where it was over before somebody could look twice."""
    device_use: tuple[DeviceUse, ...]
    """None of a device for the same reason."""


class Around(Protocol):
    """Whoever looks at programs that wait for the instant, and at the end of the last client."""

    @property
    def lead_ns(self) -> int:
        """How long the first look may take: the instant is so much later."""

    @property
    def tell(self) -> Tell | None:
        """Who hears once a second what arrives; None where nobody watches."""

    def begin(self) -> None:
        """Look before the instant."""

    def end(self) -> None:
        """Look after it all."""


class Nobody:
    """Nobody looks."""

    lead_ns = 0
    tell: Tell | None = None

    def begin(self) -> None:
        """Do nothing."""

    def end(self) -> None:
        """Do nothing."""


def exchanged(
    parts: Sequence[Part],
    *,
    places: Places,
    workspace: Workspace,
    label: str,
    switch: SwitchCpus,
    around: Around | None = None,
) -> Made:
    """Have all pairs of all parts exchange data, and return what each of them told.

    `label` tells the programs of this exchange from those of others. As soon as one fails the
    others are ended: without it they answer another question.
    """
    around = around or Nobody()
    began_ns = time.monotonic_ns()
    rows = [(part, pair) for part in parts for pair in part.pairs]
    pairs, room = [pair for _, pair in rows], room_of(len(rows))
    with ExitStack() as stack:
        servers, rooms = list[Running](), list[tuple[Path, Mapping[str, str]]]()
        for number, (part, pair) in enumerate(rows, start=1):
            place, found = places.by_link[pair.target], part.found
            meet = Rendezvous(place.address, pair.port, place.socket)
            folder = stack.enter_context(_folder(f"{label}-{number}-files", workspace))
            files = part.program.files(places.case, part.asked, meet)
            for name, text in files.items():
                (folder / name).write_text(text)
            rooms.append((folder, files))
            path = found.server or found.path
            argv = part.program.server(places.case, path, part.asked, meet)
            cpus = pair.server_cpus
            how = How(f"{label}-server-{number}", SERVERS, cpus, folder, room, files=files)
            servers.append(stack.enter_context(place.running(argv, how, workspace)))
        _await_listening(servers, pairs, workspace)
        places.prepare()
        lead_ns = LEAD_NS + LEAD_EACH_NS * len(rows) + around.lead_ns
        instant_ns = time.monotonic_ns() + lead_ns
        clients = list[Running]()
        for number, (part, pair) in enumerate(rows, start=1):
            target = places.by_link[pair.target]
            meet = Rendezvous(target.address, pair.port, target.socket)
            argv = part.program.client(places.case, part.found.path, part.asked, meet)
            place, name = places.by_link[pair.source], f"{label}-client-{number}"
            folder, files = rooms[number - 1]
            how = How(name, CLIENTS, (pair.client_cpu,), folder, room, instant_ns, files)
            clients.append(stack.enter_context(place.running(argv, how, workspace)))
        around.begin()
        sending_ns = [part.asked.sending_ns for part in parts]
        deadline_ns = instant_ns + max(sending_ns) + int(ENDS_S * 1e9)
        whole_ns = instant_ns + min(sending_ns) * 9 // 10
        warm_ns = instant_ns + max(part.asked.warm_up_ns for part in parts)
        watched = (*dict.fromkeys(_watched(rows, clients, servers)), *switch.threads, *switch.ours)
        edge_ns = min(EDGE_NS, min(part.asked.duration_ns for part in parts) // 20)
        end_ns = instant_ns + min(sending_ns)
        looks = Looks(watched, [warm_ns + edge_ns, end_ns - edge_ns], places.seen)
        watching = looks, _live(rows, places, around.tell, (instant_ns, whole_ns))
        _await(clients, servers, deadline_ns, whole_ns, workspace, watching)
        looks.end()
        around.end()
        _await_ends(clients, servers, [part.program.SERVER_ENDS for part, _ in rows])
        ended_ns, clock_ns = time.monotonic_ns(), time.time_ns()
        every = [
            told_by(part.program, part.asked, client.said(), server.said())
            for (part, _), client, server in zip(rows, clients, servers, strict=True)
        ]
        early = [
            any(one.ended_ns is not None and one.ended_ns < whole_ns for one in pair)
            for pair in zip(clients, servers, strict=True)
        ]
        told = [
            believed(one, None if client.ended_ns is None else client.ended_ns - instant_ns)
            for one, client in zip(whose_fault(every, early), clients, strict=True)
        ]
    instances = iter(
        _instance(pair, _ended_ns(one, said, ended_ns - clock_ns), instant_ns, said)
        for pair, one, said in zip(pairs, clients, told, strict=True)
    )
    made = tuple(tuple(islice(instances, len(part.pairs))) for part in parts)
    return Made(
        made,
        ended_ns - began_ns,
        looks.use(_cpus(pairs), switch, instant_ns),
        places.used(looks.seen),
    )


def told_by(program: Program, asked: ExchangeAsked, client: Said, server: Said) -> Told:
    """Return what a pair told, which is nothing where one of them wrote more than is read.

    Clients write at length when their server is dead: it is that which went wrong. Nor does one
    tell anything that lists more intervals than there can be: they would fill the records.
    """
    if client.whole and server.whole:
        told = program.told(asked, client, server)
        if (count := len(told.intervals)) <= MOST_INTERVALS + asked.sending_ns // LEAST_INTERVAL_NS:
            return told
        return Told(problem=f"it tells of {count:,} intervals in {human_ns(asked.sending_ns)}")
    at_client = "" if client.whole else f"its client {client.ending}"
    at_server = "" if server.whole else f"its server {server.ending}"
    if not program.SERVER_ENDS:
        at_server = at_server or ended_early(server)
    return Told(problem=both_problems(client, at_client, at_server))


def whose_fault(told: Sequence[Told], early: Sequence[bool]) -> list[Told]:
    """Return what pairs told, without the problems of those that were ended for another's.

    `early` says of each whether one of its programs ended before its time, and so began that. To
    end early is a failure, whatever is told of it.
    """
    if not any(early):
        return list(told)
    pairs = zip(told, early, strict=True)
    return [
        (one if one.problem else Told(problem=ENDED_EARLY)) if began else replace(one, problem="")
        for one, began in pairs
    ]


def believed(told: Told, ran_ns: int | None) -> Told:
    """Return what a pair told, or that its client cannot have sent for as long as it says.

    Some lay their intervals by the clock of the wall, which somebody may set meanwhile.
    """
    if told.problem or told.elapsed_ns is None or ran_ns is None:
        return told
    if (told.elapsed_ns - ran_ns) * MOST_LONGER <= ran_ns:
        return told
    sent, ran = human_ns(told.elapsed_ns), human_ns(ran_ns)
    return Told(
        problem=f"its client says that it sent for {sent}, and ran for {ran}: the clock was set "
        "meanwhile, or it counts wrongly"
    )


def _watched(
    rows: Sequence[tuple[Part, Pair]], clients: Sequence[Running], servers: Sequence[Running]
) -> Iterator[Watched]:
    """Yield who is looked at for each program; what measures beside others has its own role."""
    for (part, pair), client, server in zip(rows, clients, servers, strict=True):
        beside = part is not rows[-1][0]
        for end, role, one, cpus in (
            ("client", CLIENTS, client, (pair.client_cpu,)),
            ("server", SERVERS, server, pair.server_cpus),
        ):
            yield one.watched(PROBE if beside else role, f"{end} of {pair.name}", cpus)


def _live(
    rows: Sequence[tuple[Part, Pair]], places: Places, tell: Tell | None, span_ns: tuple[int, int]
) -> LiveRates:
    """Return who looks at what arrives between two moments; a server may have no device."""
    seen = (
        seen_of(
            pair.name,
            pair.source if places.by_link[pair.target].socket else pair.target,
            pair.port,
            part.asked,
        )
        for part, pair in rows
    )
    return LiveRates(places, tuple(seen), tell, *span_ns)


def _cpus(pairs: Sequence[Pair]) -> frozenset[int]:
    return frozenset(cpu for pair in pairs for cpu in (pair.client_cpu, *pair.server_cpus))


def _ended_ns(client: Running, told: Told, since_clock_ns: int) -> int | None:
    """Return when a client ceased to send: before it ended, if it tells a time before that."""
    if told.ended_at_ns is None or client.ended_ns is None:
        return client.ended_ns
    return min(client.ended_ns, told.ended_at_ns - client.wall_ahead_ns + since_clock_ns)


def _instance(pair: Pair, ended_ns: int | None, instant_ns: int, told: Told) -> Instance:
    """Return an instance, its times laid from the instant on."""
    began_ns = None
    if told.elapsed_ns is not None and ended_ns is not None:
        began_ns = max(0, ended_ns - instant_ns - told.elapsed_ns)
    return Instance(
        name=pair.name,
        direction=pair.direction,
        port=pair.port,
        began_ns=began_ns,
        elapsed_ns=told.elapsed_ns,
        write_bytes=told.write_bytes,
        congestion=told.congestion,
        sent_bytes=told.sent_bytes,
        received_bytes=told.received_bytes,
        sent_packets=told.sent_packets,
        lost_packets=told.lost_packets,
        transactions=told.transactions,
        round_trips=told.round_trips,
        from_due=told.from_due,
        failures=told.failures,
        packets=told.packets,
        repeated_segments=told.repeated_segments,
        intervals=tuple(
            Interval(
                began_ns=began_ns + one.began_ns,
                ended_ns=began_ns + one.ended_ns,
                amount=one.amount,
            )
            for one in told.intervals
        )
        if began_ns is not None
        else (),
        problem=told.problem,
    )


def _listed(cpus: Sequence[int]) -> str:
    return ",".join(map(str, cpus))


@contextmanager
def _folder(name: str, workspace: Workspace) -> Iterator[Path]:
    """Make a folder for what both ends of an instance read and write, and remove it afterwards."""
    path = workspace.folder / name
    path.mkdir(mode=0o700)
    try:
        yield path
    finally:
        if not workspace.kept:
            shutil.rmtree(path, ignore_errors=True)  # what is left goes with the workspace


def _await_listening(
    servers: Sequence[Running], pairs: Sequence[Pair], workspace: Workspace
) -> None:
    """Wait until all servers can be called."""
    deadline = time.monotonic() + LISTENS_S
    for server, pair in zip(servers, pairs, strict=True):
        while not server.listens(pair.port):
            if server.has_ended() or time.monotonic() > deadline:
                raise ComponentError(
                    f"the server of {pair.name} does not listen at port {pair.port}",
                    why=server.obituary(),
                )
            workspace.attend("while servers started")
            sleep(POLL_S)  # between two looks at a condition, never instead of one


def _await(
    clients: Sequence[Running],
    servers: Sequence[Running],
    deadline_ns: int,
    whole_ns: int,
    workspace: Workspace,
    looks: tuple[Looks, LiveRates],
) -> None:
    """Wait until all clients have ended, or one program of a pair did so before its time.

    Descriptors of the processes say so at once, so the time that is written down is the true one
    unless vsperf itself was kept from running. Programs in a guest share one.
    """
    every = (*clients, *servers)
    with ExitStack() as stack:
        watched: dict[int, list[Running]] = {}
        for one in every:
            watched.setdefault(stack.enter_context(one.descriptor()), []).append(one)
        left = list(clients)
        while left and (now := time.monotonic_ns()) < deadline_ns:
            left_s = min(1.0, (deadline_ns - now) / 1e9, *(look.left_s(now) for look in looks))
            ready = wait_for(tuple(watched), left_s)
            seen_ns = time.monotonic_ns()
            for look in looks:
                look.attend()
            for descriptor, ones in tuple(watched.items()):
                for one in ones:
                    one.notice(seen_ns if descriptor in ready else None)
                watched[descriptor] = [one for one in ones if one.ended_ns is None]
                if not watched[descriptor]:
                    del watched[descriptor]
            workspace.attend("while programs exchanged data")
            if any(one.ended_ns is not None and one.ended_ns < whole_ns for one in every):
                return
            left = [one for one in clients if one.ended_ns is None]


def _await_ends(
    clients: Sequence[Running], servers: Sequence[Running], servers_end: Sequence[bool]
) -> None:
    """Wait a little for servers whose clients have ended, and for clients without a server.

    Nobody waits where servers do not end by themselves.
    """
    until = time.monotonic() + AFTER_S
    for client, server, ends in zip(clients, servers, servers_end, strict=True):
        for one, other in ((server, client), (client, server)) if ends else ():
            if other.has_ended():
                one.await_end(max(0.0, until - time.monotonic()))
        if client.ended_ns is None and client.has_ended():
            client.ended_ns = time.monotonic_ns()
