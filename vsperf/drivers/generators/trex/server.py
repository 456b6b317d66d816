"""A TRex server that is connected: its ports, streams and counters, each answer looked at.

What it does with connections is in `stateful.py`.

It is asked by JSON-RPC over ZeroMQ, one question after the other, each with a deadline. ZeroMQ
opens its connections in a thread of its own, which stays in the network namespace that it was made
in; so a server in another network is reached from there.
"""

from __future__ import annotations

import json
import secrets
import time
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

from vsperf.errors import ComponentError, NotReadyError
from vsperf.host.software import to_install_extra
from vsperf.trust.answers import LONGEST
from vsperf.trust.plain_json import MOST_COUNTED, loads
from vsperf.waits import sleep, wait_for

if TYPE_CHECKING:
    import zmq

API = ("STL", 5, 1)
"""The interface in which frames are sent: its name, which is the server's mode, and version."""
TRIED = "v3.08"
"""The version of TRex that it was tried with."""
FINISHED, ACQUIRED = 4, 5
"""Numbers of events: a port has sent all; somebody took a port."""
ALL_CORES = (1 << 64) - 1
NOBODY = "<FREE>"
PORT_COUNTERS = ("opackets", "ipackets", "ierrors")
ANSWER_S = 5.0
"""Patience with an answer; a server that works gives one within a few milliseconds."""
AGAIN_S = 0.01
MOST_WORDS = 500
"""Letters of a reason that a server gives."""
WORKING = -32002
"""The code of an answer that is to come. Its words are the number that it is asked for by."""
GET_ZMQ = to_install_extra("trex")
Answer = Any


class Client:
    """One connection; after a question without an answer it is of no more use."""

    def __init__(self, address: str, port: int) -> None:
        """Get ready to ask; whether anybody is there shows with the first question."""
        library = load_zmq()
        self.where = f"{address}:{port}"
        self.context: zmq.Context[zmq.Socket[bytes]] = library.Context()
        self.socket = self.context.socket(library.REQ)
        self.socket.setsockopt(library.LINGER, 0)
        self.socket.setsockopt(library.MAXMSGSIZE, LONGEST)
        self.socket.connect(f"tcp://{self.where}")
        self.handler: str | None = None
        """What the server wants to see with each question, once versions were compared."""
        self.number = 0
        self.broken: str | None = None

    def ask(self, method: str, **parameters: Any) -> Answer:
        """Return the result of a method; raises `ComponentError` where there is none."""
        answer, until = self._asked(method, parameters), time.monotonic() + ANSWER_S
        while isinstance(answer, _Ticket):
            if time.monotonic() > until:
                raise self._gone(f"it did not end {method} within {ANSWER_S:g} s")
            sleep(AGAIN_S)  # between two looks at a condition, never instead of one
            answer = self._asked("get_async_results", {"ticket_id": answer.number})
        return answer

    def _asked(self, method: str, parameters: dict[str, Any]) -> Answer:
        import zmq

        if self.broken is not None:
            raise ComponentError("TRex is no longer connected", why=self.broken)
        self.number += 1
        if self.handler is not None:
            parameters["api_h"] = self.handler
        question = {"jsonrpc": "2.0", "id": self.number, "method": method, "params": parameters}
        try:
            self.socket.send(json.dumps(question).encode())
            if not self._heard():
                raise self._gone(f"it did not answer {method} within {ANSWER_S:g} s")
            return self._result(method, self.socket.recv())
        except zmq.ZMQError as error:
            raise self._gone(str(error)) from error

    def _heard(self) -> bool:
        """Wait for an answer; say whether it came.

        ZeroMQ's descriptor tells only that there is something new, and tells it once.
        """
        import zmq

        until = time.monotonic() + ANSWER_S
        while not self.socket.poll(0):
            left_s = until - time.monotonic()
            if left_s <= 0:
                return False
            wait_for((self.socket.getsockopt(zmq.FD),), left_s)
        return True

    def close(self) -> None:
        self.broken = self.broken or "the session has ended"
        self.socket.close()
        self.context.term()

    def _result(self, method: str, text: bytes) -> Answer:
        try:
            answer = loads(text)
        except (ValueError, RecursionError) as error:
            raise self._gone(f"what it answered to {method} is no JSON") from error
        if not isinstance(answer, dict) or answer.get("id") != self.number:
            raise self._gone(f"its answer to {method} is one to another question")
        if "error" in answer:
            refused, words = answer["error"], reason_of(answer["error"])
            if isinstance(refused, dict) and refused.get("code") == WORKING and words.isdecimal():
                return _Ticket(int(words))
            raise ComponentError(f"TRex refused {method}", why=words)
        if "result" not in answer:
            raise self._gone(f"its answer to {method} holds no result")
        return answer["result"]

    def _gone(self, why: str) -> ComponentError:
        self.broken = why
        return ComponentError(f"the TRex server at {self.where} does not answer", why=why)


@dataclass(frozen=True, slots=True)
class _Ticket:
    """In place of a result, which is asked for by its number."""

    number: int


def load_zmq() -> Any:
    """Return the library; raises `NotReadyError` without it."""
    try:
        import zmq
    except ImportError as error:
        raise NotReadyError(
            "the Python package pyzmq is not installed",
            why="TRex is spoken to over ZeroMQ (generator.kind=trex)",
            fix=GET_ZMQ,
        ) from error
    return zmq


def reason_of(error: Any) -> str:
    """Return the first words of a reason that a server gives."""
    if isinstance(error, dict):
        error = error.get("specific_err") or error.get("message") or error
    return str(error)[:MOST_WORDS]


@dataclass(frozen=True, slots=True)
class Group:
    """What the server counts of the frames of one stream."""

    sent: Mapping[int, int]
    """By port."""
    received: Mapping[int, int]


@dataclass(frozen=True, slots=True)
class Counted:
    """All counters at one moment."""

    ports: Mapping[int, Mapping[str, int]]
    groups: Mapping[int, Group]

    def fell_since(self, before: Counted) -> bool:
        """Whether any of them is lower than it was."""
        pairs = [
            (counters[name], before.ports[port][name])
            for port, counters in self.ports.items()
            for name in counters
        ]
        for number, group in self.groups.items():
            if (then := before.groups.get(number)) is not None:
                pairs += [(count, then.sent[port]) for port, count in group.sent.items()]
                pairs += [(count, then.received[port]) for port, count in group.received.items()]
        return any(now < then for now, then in pairs)


@dataclass
class Server(ABC):
    """A connection that has its ports, in whichever mode the server runs."""

    api: ClassVar[tuple[str, int, int]]
    """The interface that is spoken: its name, which is the mode, and its version."""
    meant: ClassVar[tuple[str, str]]
    """Why no server of another mode is taken, and how to come to one that is."""

    client: Client
    ports: tuple[int, ...]
    user: str
    session: int = field(default_factory=lambda: secrets.randbits(31))
    handlers: dict[int, str] = field(default_factory=dict)
    """By which the server knows whom a port belongs to."""
    version: dict[str, Any] = field(default_factory=dict)
    system: dict[str, Any] = field(default_factory=dict)

    def greet(self) -> None:
        """Compare versions, and see that the server has the ports."""
        self.version = mapping(self.client.ask("get_version"), "get_version")
        name, major, minor = self.api
        if (mode := self.version.get("mode")) != name:
            why, fix = self.meant
            raise NotReadyError(
                f"the TRex server at {self.client.where} runs in mode {mode}", why=why, fix=fix
            )
        try:
            answer = self.client.ask("api_sync_v2", name=name, major=major, minor=minor)
        except ComponentError as error:
            raise NotReadyError(
                f"TRex {self.version.get('version')} speaks another version of its interface",
                why=error.problems[0].why,
                fix=f"use a version that knows {name} {major}.{minor}, such as {TRIED}",
            ) from error
        self.client.handler = str(mapping(answer, "api_sync_v2").get("api_h"))
        self.system = mapping(self.client.ask("get_system_info"), "get_system_info")
        with reading("get_system_info"):
            known = {int(port["index"]): dict(port) for port in self.system.get("ports", ())}
        for port in self.ports:
            if port not in known:
                raise NotReadyError(
                    f"the TRex server at {self.client.where} has no port {port}",
                    why=f"it has {', '.join(map(str, sorted(known)))}",
                    fix="see testbed.links",
                )
        with reading("get_system_info"):
            self._look_at(known)

    @abstractmethod
    def acquire(self, *, force: bool) -> None:
        """Take the ports; one that somebody else has only where that was asked for."""

    @abstractmethod
    def release(self) -> None:
        """Send no more, and let go of the ports."""

    @abstractmethod
    def _look_at(self, known: Mapping[int, Mapping[str, Any]]) -> None:
        """Raise where ports do not do what is asked of them, by what the server says of all."""

    def _require_free(self, port: int, *, force: bool) -> None:
        owner = self.owner(port)
        if owner and not force:
            raise NotReadyError(
                f"port {port} of TRex belongs to {owner}",
                why="what is sent there now would end",
                fix="wait, or take it: --set generator.force=true",
            )

    def owner(self, port: int) -> str:
        """Return who has a port; empty if nobody."""
        answer = mapping(self.client.ask("get_owner", port_id=port), "get_owner")
        owner = str(answer.get("owner") or "")[:MOST_WORDS]
        return "" if owner == NOBODY else owner

    def events(self) -> tuple[dict[str, Any], ...]:
        """Return what happened since this was asked last."""
        asked = {"session_id": self.session, "user": self.user}
        answer = mapping(self.client.ask("get_async_events", **asked), "get_async_events")
        with reading("get_async_events"):
            return tuple(dict(one) for one in answer.get("data") or ())

    def read_ports(self) -> dict[int, dict[str, int]]:
        found = {}
        for port in self.ports:
            stats = mapping(self.client.ask("get_port_stats", port_id=port), "get_port_stats")
            found[port] = {name: count_in(stats, name) for name in PORT_COUNTERS}
        return found

    def _promiscuous(self, port: int) -> None:
        wanted = {"promiscuous": {"enabled": True}}
        self._own("set_port_attr", port, attr=wanted)

    def _own(self, method: str, port: int, **parameters: Any) -> Any:
        """Ask for what only the owner of a port may."""
        return self.client.ask(
            method, port_id=port, handler=self.handlers.get(port, ""), **parameters
        )


@dataclass
class StatelessServer(Server):
    """Its streams and their counters."""

    api: ClassVar[tuple[str, int, int]] = API
    meant: ClassVar[tuple[str, str]] = (
        "frames are sent in the stateless one",
        "start it without --astf",
    )

    def acquire(self, *, force: bool) -> None:
        for port in self.ports:
            self._require_free(port, force=force)
            asked = {"user": self.user, "force": force, "session_id": self.session}
            self.handlers[port] = str(self.client.ask("acquire", port_id=port, **asked))
            self._own("stop_traffic", port)
            self._own("remove_all_streams", port)
            self._promiscuous(port)
        self.events()

    def release(self) -> None:
        for port in tuple(self.handlers):
            self._own("stop_traffic", port)
            self._own("remove_all_streams", port)
            self._own("release", port)
            del self.handlers[port]

    def load(self, streams: Mapping[int, Sequence[dict[str, Any]]]) -> None:
        for port in self.ports:
            self._own("remove_all_streams", port)
            for number, stream in enumerate(streams.get(port, ()), start=1):
                self._own("add_stream", port, stream_id=number, stream=stream)

    def now(self) -> float:
        """Return the server's time [s]."""
        with reading("ping"):
            return float(mapping(self.client.ask("ping"), "ping")["ts"])

    def start(self, ports: Sequence[int], at_s: float | None = None) -> None:
        """Have ports send, from one moment of the server's time on if that is given."""
        moment = {} if at_s is None else {"start_at_ts": at_s}
        rate = {"type": "raw", "op": "abs", "value": 1.0}
        for port in ports:
            asked = {"mul": rate, "duration": -1.0, "force": True, "core_mask": ALL_CORES}
            self._own("start_traffic", port, **moment, **asked)

    def stop(self, ports: Sequence[int]) -> None:
        for port in ports:
            self._own("stop_traffic", port)

    def finished(self) -> set[int]:
        """Return the ports that have sent all since this was asked last."""
        found = set()
        for event in self.events():
            with reading("get_async_events"):
                data = dict(event.get("data") or {})
                if event.get("type") == FINISHED:
                    found.add(int(data["port_id"]))
                taken = event.get("type") == ACQUIRED and int(data["port_id"]) in self.ports
            if taken and data.get("session_id") != self.session:
                raise ComponentError(
                    f"port {data['port_id']} of TRex was taken by {data.get('who')} "
                    "in the middle of a trial",
                    why="whoever takes a port by force ends what is measured on it",
                    fix="agree with them on who has it when, and run again",
                )
        return found

    def read(self, groups: Sequence[int]) -> Counted:
        ports = self.read_ports()
        told = mapping(self.client.ask("get_pgid_stats", pgids=list(groups)), "get_pgid_stats")
        streams = mapping(told.get("flow_stats") or {}, "get_pgid_stats")
        found = {}
        for number in groups:
            one = streams.get(str(number))
            if one is None:
                raise ComponentError(
                    f"TRex counts nothing of stream {number}",
                    why="it was started anew, or somebody removed the stream",
                )
            with reading("get_pgid_stats"):
                found[number] = Group(
                    {port: count_in(one["tp"], str(port)) for port in self.ports},
                    {port: count_in(one["rp"], str(port)) for port in self.ports},
                )
        return Counted(ports, found)

    def histogram(self, group: int) -> str | None:
        """Return the latencies of a stream [µs] as an HdrHistogram; None if it has none."""
        told = mapping(self.client.ask("get_pgid_stats", pgids=[group]), "get_pgid_stats")
        with reading("get_pgid_stats"):
            stream = (told.get("latency") or {}).get(str(group))
            if not stream or not stream.get("lat"):
                return None
            found = stream["lat"].get("hdrh")
        if found is None:
            raise ComponentError(
                "TRex keeps no fine histogram of latencies",
                why="what it has otherwise are ranges as wide as the latencies themselves",
                fix="start the server with --hdrh",
            )
        return str(found)

    def _look_at(self, known: Mapping[int, Mapping[str, Any]]) -> None:
        for port in self.ports:
            if missing := {"flow_stats", "latency"} - set(known[port]["rx"]["caps"]):
                raise NotReadyError(
                    f"port {port} of TRex does not count by streams ({', '.join(sorted(missing))})",
                    fix="start the server with --software",
                )


def mapping(answer: Any, method: str) -> dict[str, Any]:
    """Return an answer that has names; raises `ComponentError` where it has none."""
    if not isinstance(answer, dict):
        raise _unlike(method)
    return answer


def _unlike(method: str) -> ComponentError:
    return ComponentError(f"TRex answers {method} as another version of it would")


def count_in(counters: Mapping[str, Any], name: str) -> int:
    """Return a counter; what is not there is an error, and never 0."""
    value = counters.get(name)
    if not isinstance(value, int) or isinstance(value, bool):
        raise ComponentError(f"TRex does not tell the counter {name}")
    if not 0 <= value <= MOST_COUNTED:
        raise ComponentError(f"the counter {name} of TRex is none that is believed: {value}")
    return value


@contextmanager
def reading(method: str) -> Iterator[None]:
    """Raise `ComponentError` where an answer has other parts than are looked for in it."""
    try:
        yield
    except (AttributeError, IndexError, KeyError, TypeError, ValueError) as error:
        raise _unlike(method) from error
