"""Asking a running VPP over its binary API, as its own library writes and reads messages.

The library's way to the socket needs two threads and knows no deadline for a message that comes in
pieces. This one has none of the first and one for all, so that a VPP that hangs is noticed.
"""

from __future__ import annotations

import itertools
import socket
import struct
import time
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

from vsperf.errors import ComponentError, NotReadyError
from vsperf.waits import received, sent

DEFINITIONS = (
    *("memclnt", "vlib", "vpe", "interface", "l2", "ip", "ip_neighbor", "ip6_nd"),
    *("vhost_user", "memif", "af_packet", "nat44_ed"),
)
"""The parts of the API that are spoken."""
HEADER = struct.Struct(">QII")
"""Before each message: nothing, its length, nothing."""
NUMBER = struct.Struct(">H")
"""A message begins with its number."""
CREATE, CREATED = 15, 16
"""The numbers of the first two messages; those of all others are told in the second."""
ON_THE_WAY = 64
"""Calls that are sent over a connection before the first is answered, of many."""
FEW = 256
"""More calls than these are spread over several connections."""
CONNECTIONS = 12
"""For many calls. Between two of its sleeps VPP reads 4 KiB of each connection, some 18 routes, and
looks at 16 files at most."""
NAME = "vsperf"
PING = "control_ping"


class ApiError(ComponentError):
    """A VPP that cannot be reached, does not answer, or refuses."""


class Messages:
    """What can be said to a VPP, from the files that came with it."""

    def __init__(self, files: Iterable[Path]) -> None:
        from vpp_papi import vpp_serializer
        from vpp_papi.vpp_papi import VPPApiJSONFiles

        # The library keeps types for good; those of another version may be other ones.
        for name in [name for name in vpp_serializer.types if name.startswith("vl_api_")]:
            del vpp_serializer.types[name]
        names = [str(path) for path in files]
        try:
            _, self.known, self.services = VPPApiJSONFiles.load_api(apifiles=names or ["none"])
        except (OSError, ValueError) as error:
            raise NotReadyError(
                "the definitions of VPP's API cannot be read",
                why=str(error),
                fix="see that the files *.api.json are those that VPP was installed with",
            ) from error

    def packed(self, name: str, number: int, fields: Mapping[str, Any]) -> bytes:
        message = self.known[name]
        if unknown := set(fields) - set(message.fields):
            raise ApiError(f"{name} has no field {', '.join(sorted(unknown))} in this VPP")
        try:
            return bytes(message.pack({**fields, "_vl_msg_id": number}))
        except Exception as error:  # the library raises whatever its parts do
            why = str(error.__cause__ or error)
            raise ApiError(f"{name} cannot be written for this VPP", why=why) from error


class Api:
    """A connection, which lasts as long as VPP does."""

    def __init__(self, connection: socket.socket, messages: Messages, patience_s: float) -> None:
        self._socket = connection
        self._messages = messages
        self.patience_s = patience_s
        """With each question."""
        self._contexts = itertools.count(1)
        self._numbers: dict[str, int] = {}
        self._names: dict[int, str] = {}
        self._client = 0

    def greet(self) -> None:
        """Make oneself known, and learn the numbers of all messages."""
        deadline = time.monotonic() + self.patience_s
        fields = {"name": NAME, "context": next(self._contexts)}
        self._send(self._messages.packed("sockclnt_create", CREATE, fields), deadline)
        data = self._receive(deadline)
        if NUMBER.unpack_from(data)[0] != CREATED:
            raise ApiError("VPP does not speak its API as the definitions have it")
        reply, _ = self._messages.known["sockclnt_create_reply"].unpack(data)
        self._client = reply.index
        told = {entry.name: entry.index for entry in reply.message_table}
        for name, message in self._messages.known.items():
            number = told.get(f"{name}_{message.crc[2:]}")
            if number is not None:
                self._numbers[name], self._names[number] = number, name

    def has(self, name: str) -> bool:
        """Whether this VPP knows a message as it is defined."""
        return name in self._numbers

    def call(self, name: str, fields: Mapping[str, Any] | None = None) -> Any:
        return next(self.call_all([(name, fields or {})]))

    def call_all(self, calls: Iterable[tuple[str, Mapping[str, Any]]]) -> Iterator[Any]:
        """Make calls and yield their replies, in order; many are on their way at once."""
        return call_over((self,), calls)

    def dump(self, name: str, fields: Mapping[str, Any] | None = None) -> tuple[Any, ...]:
        """Ask for a list, of which each entry is a message, and return it."""
        context = self.ask(name, fields or {})
        self.ask(PING, {}, context)
        deadline = time.monotonic() + self.patience_s
        found: list[Any] = []
        while True:
            said, message = self._next(context, deadline, name)
            if said == f"{PING}_reply":
                return tuple(found)
            found.append(message)

    def ping(self) -> None:
        """See that the main thread answers."""
        self.call(PING)

    def close(self) -> None:
        with suppress(OSError):
            self._socket.close()

    def ask(self, name: str, fields: Mapping[str, Any], context: int | None = None) -> int:
        """Send a question; return the number that its answer will have."""
        if name not in self._numbers:
            raise ApiError(
                f"this VPP does not know {name}",
                why="its version has another API, or the plugin is missing that has it",
                fix="see `vsperf plan` for the plugins, and docs/how-to/measure-vpp.md",
            )
        context = next(self._contexts) if context is None else context
        whole = {**fields, "context": context, "client_index": self._client}
        data = self._messages.packed(name, self._numbers[name], whole)
        self._send(data, time.monotonic() + self.patience_s)
        return context

    def answer(self, name: str, context: int) -> Any:
        """Return the reply to a question that was asked before all others without one."""
        _, reply = self._next(context, time.monotonic() + self.patience_s, name)
        if reply.retval < 0:
            raise ApiError(
                f"VPP refused {name}", why=f"it answered {reply.retval}; its log may say more"
            )
        return reply

    def _next(self, context: int, deadline: float, asked: str) -> tuple[str, Any]:
        """Return the next message in answer to a question; what is for nobody is passed over."""
        while True:
            data = self._receive(deadline, asked)
            name = self._names.get(NUMBER.unpack_from(data)[0])
            if name is None:
                continue
            message, _ = self._messages.known[name].unpack(data)
            if getattr(message, "context", 0) == context:
                return name, message

    def _send(self, data: bytes, deadline: float) -> None:
        try:
            self._socket.settimeout(max(0.001, deadline - time.monotonic()))
            sent(self._socket, HEADER.pack(0, len(data), 0) + data)
        except TimeoutError as error:
            raise ApiError("VPP takes no more questions") from error
        except OSError as error:
            raise ApiError("VPP cannot be reached", why=error.strerror) from error

    def _receive(self, deadline: float, asked: str = "a greeting") -> bytes:
        _, length, _ = HEADER.unpack(self._exactly(HEADER.size, deadline, asked))
        return self._exactly(length, deadline, asked)

    def _exactly(self, wanted: int, deadline: float, asked: str) -> bytes:
        found = bytearray()
        while len(found) < wanted:
            try:
                self._socket.settimeout(max(0.001, deadline - time.monotonic()))
                piece = received(self._socket, wanted - len(found))
            except TimeoutError as error:
                raise ApiError(
                    f"VPP did not answer {asked} within {self.patience_s:g} s"
                ) from error
            except OSError as error:
                raise ApiError("VPP cannot be reached", why=error.strerror) from error
            if not piece:
                raise ApiError("VPP closed the connection to its API")
            found += piece
        return bytes(found)


def call_over(apis: Sequence[Api], calls: Iterable[tuple[str, Mapping[str, Any]]]) -> Iterator[Any]:
    """Make calls over connections in turn, and yield their replies in order."""
    waiting: deque[tuple[Api, str, int]] = deque()
    for api, (name, fields) in zip(itertools.cycle(apis), calls, strict=False):
        waiting.append((api, name, api.ask(name, fields)))
        if len(waiting) >= ON_THE_WAY * len(apis):
            yield _answered(*waiting.popleft())
    while waiting:
        yield _answered(*waiting.popleft())


def _answered(api: Api, name: str, context: int) -> Any:
    return api.answer(name, context)


def call_many(
    path: Path, api: Api, messages: Messages, calls: Iterable[tuple[str, Mapping[str, Any]]]
) -> None:
    """Make calls of which none needs another one, and see that none is refused.

    Where there are more than a few, over some more connections for as long as that takes: VPP reads
    little of each at a time, and then sleeps.
    """
    remaining = iter(calls)
    few = [*itertools.islice(remaining, FEW + 1)]
    with ExitStack() as stack:
        apis = [api]
        if len(few) > FEW:
            for _ in range(CONNECTIONS - 1):
                apis.append(stack.enter_context(connected(path, messages, api.patience_s)))
        for _ in call_over(apis, itertools.chain(few, remaining)):
            pass


@contextmanager
def connected(path: Path, messages: Messages, patience_s: float) -> Iterator[Api]:
    """Connect to the API at a socket."""
    api = connect(path, messages, patience_s)
    try:
        yield api
    finally:
        api.close()


def connect(path: Path, messages: Messages, patience_s: float) -> Api:
    """Connect to the API at a socket; whoever does closes it."""
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM | socket.SOCK_CLOEXEC)
    api = Api(connection, messages, patience_s)
    try:
        connection.settimeout(patience_s)
        connection.connect(str(path))
        api.greet()
    except OSError as error:
        api.close()
        raise ApiError(f"{path.name} cannot be reached", why=error.strerror) from error
    except BaseException:
        api.close()
        raise
    return api
