"""One Xena chassis as a generator: its ports, a stream for each direction, and what it counts.

Of its text protocol one line asks, and one answers. A setting is answered by `<OK>`, or by the
reason in such brackets; a question, which ends with `?`, by the same words with the values after
them.
"""

from __future__ import annotations

import socket
import time
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from typing import Any, ClassVar

from vsperf.drivers.generators.streams import FCS
from vsperf.errors import ComponentError, NotReadyError
from vsperf.waits import aside, received, sent
from vsperf_chassis.session import Counted, Shot
from vsperf_chassis.streams import Stream

MARK, SMALL_MARK = 20, 6
"""Bytes of what the chassis puts before the FCS of each frame to know it again (TPLD)."""
IDLE_S = 600
"""After so long without a word the chassis hangs up."""
OURS = "RESERVED_BY_YOU"
FREE = "RELEASED"
STREAM = (0,)
"""Each port has one stream, the first one."""
PORT = 22611
OK = "<OK>"
LONGEST = 65_536
CONNECT_S = 10.0
ANSWER_S = 5.0
REASONS = {
    "<NOTLOGGEDON>": "the password was not accepted",
    "<NOTRESERVED>": "the port is not reserved to us",
    "<NOTWRITABLE>": "it cannot be changed now",
    "<NOTREADABLE>": "it cannot be asked",
    "<NOTVALID>": "it cannot be done now",
    "<BADMODULE>": "there is no such module",
    "<BADPORT>": "there is no such port",
    "<BADINDEX>": "there is no such stream",
    "<BADVALUE>": "the chassis does not take this value",
    "<BADSIZE>": "the chassis does not take so many values",
    "<FAILED>": "the chassis could not do it",
}


class Client:
    """A connection to a chassis; whatever goes wrong with it is a `ComponentError`."""

    def __init__(self, address: str) -> None:
        host, _, port = address.partition(":")
        self.address = address
        self._rest = b""
        try:
            self._socket = aside(
                lambda: socket.create_connection((host, int(port or PORT)), CONNECT_S)
            )
        except OSError as error:
            raise ComponentError(
                f"the Xena chassis {address} cannot be reached",
                why=str(error),
                fix="see that it is on, that generator.chassis is its address, and that its "
                "scripting server is enabled",
            ) from error

    def close(self) -> None:
        """Hang up; reservations stay."""
        self._socket.close()

    def tell(self, command: str, shown: str | None = None) -> None:
        """Change something; raise unless the chassis says that it is done."""
        answer = self._ask(command, shown)
        if answer != OK:
            raise self._refused(shown or command, answer)

    def ask(self, command: str) -> tuple[str, ...]:
        """Return the values that answer a question, such as `0/1 P_TRAFFIC`."""
        answer = self._ask(f"{command} ?")
        words, wanted = answer.split(), command.split()
        if [word.upper() for word in words[: len(wanted)]] != [word.upper() for word in wanted]:
            raise self._refused(command, answer)
        return tuple(words[len(wanted) :])

    def numbers(self, command: str, least: int) -> tuple[int, ...]:
        """Return the numbers that answer a question; there have to be so many at least."""
        values = self.ask(command)
        try:
            found = tuple(int(value) for value in values)
        except ValueError:
            found = ()
        if len(found) < least:
            raise ComponentError(
                f"the Xena chassis {self.address} answers {command} with {' '.join(values)!r}",
                why=f"{least} numbers were expected: it speaks another version of the protocol",
            )
        return found

    def text(self, command: str) -> str:
        """Return the one text, in quotation marks, that answers a question."""
        return " ".join(self.ask(command)).strip('"')

    def _ask(self, command: str, shown: str | None = None) -> str:
        try:
            sent(self._socket, f"{command}\n".encode())
            return self._line()
        except OSError as error:
            self._socket.close()  # an answer that comes late would pass for the next one
            raise ComponentError(
                f"the Xena chassis {self.address} does not answer {shown or command}",
                why=str(error) or type(error).__name__,
            ) from error

    def _line(self) -> str:
        """Return the next line that is not empty, and no remark on where a mistake is."""
        deadline, heard = time.monotonic() + ANSWER_S, len(self._rest)
        while True:
            line, found, rest = self._rest.partition(b"\n")
            if found:
                self._rest = rest
                text = line.decode(errors="replace").strip()
                if text and not text.startswith("---"):
                    return text
                continue
            self._socket.settimeout(max(0.001, deadline - time.monotonic()))
            more = received(self._socket, LONGEST)
            if not more:
                raise ConnectionError("it has hung up")
            self._rest += more
            heard += len(more)
            if heard > LONGEST:  # also where no line of it says anything
                raise ConnectionError("its answer has no end")

    def _refused(self, command: str, answer: str) -> ComponentError:
        return ComponentError(
            f"the Xena chassis {self.address} does not do {command}",
            why=REASONS.get(answer.upper(), f"it answers {answer[:80]!r}"),
        )


def at(place: str, command: str, *arguments: object, index: Sequence[int] | None = None) -> str:
    """Return a command for a port such as 0/1, with the index of a stream where it has one."""
    indexed = () if index is None else (f"[{','.join(str(one) for one in index)}]",)
    return " ".join((place, command, *indexed, *(str(one) for one in arguments)))


@dataclass
class XenaChassis:
    """A connection on which ports are reserved under the name of an owner."""

    rest_s: ClassVar[float] = 0.2
    """It is asked for counters of the hardware, and those are as they stand."""

    client: Client
    places: tuple[str, ...]
    owner: str
    streams: tuple[Stream, ...] = field(default=(), init=False)

    def reserve(self) -> None:
        """Reserve ports that are free; take none from anybody."""
        client = self.client
        for place in self.places:
            state = client.text(at(place, "P_RESERVATION")).upper()
            if state == FREE:
                client.tell(at(place, "P_RESERVATION", "RESERVE"))
            elif state != OURS:
                raise NotReadyError(
                    f"port {place} of the Xena chassis {client.address} is reserved by "
                    f"{owner_of(client, place) or 'somebody'}",
                    why="vsperf takes no port from anybody",
                    fix="ask them to release it, or, if it is of a run that was killed: "
                    "vsperf clean",
                )

    def release(self) -> None:
        """Release what is reserved under the name, also by a connection that is gone."""
        client = self.client
        for place in self.places:
            if owner_of(client, place) != self.owner:
                continue
            if client.text(at(place, "P_RESERVATION")).upper() != OURS:
                client.tell(at(place, "P_RESERVATION", "RELINQUISH"))
                client.tell(at(place, "P_RESERVATION", "RESERVE"))
            client.tell(at(place, "P_TRAFFIC", "OFF"))
            client.tell(at(place, "P_RESERVATION", "RELEASE"))

    def load(self, streams: tuple[Stream, ...]) -> None:
        self.streams = streams
        for place in self.places:
            self.client.tell(at(place, "P_RESET"))
            self.client.tell(at(place, "P_LATENCYMODE", "LAST2LAST"))
            for stream in streams:
                self.client.tell(at(place, "P_TPLDMODE", _mark(stream)))
        for number, stream in enumerate(streams):
            self._build(number, stream)

    def _build(self, number: int, stream: Stream) -> None:
        """Build a stream; its frames are known again by the stream's number."""
        place, tell = stream.sender, self.client.tell
        tell(at(place, "PS_CREATE", index=STREAM))
        layers = ("ETHERNET", *("VLAN",) * stream.tags, "IP", "UDP")
        tell(at(place, "PS_PACKETLENGTH", "FIXED", stream.size, stream.size, index=STREAM))
        tell(at(place, "PS_HEADERPROTOCOL", *layers, index=STREAM))
        tell(at(place, "PS_PACKETHEADER", f"0x{stream.header.hex().upper()}", index=STREAM))
        tell(at(place, "PS_PAYLOAD", "PATTERN", "0x00", index=STREAM))
        tell(at(place, "PS_TPLDID", number, index=STREAM))
        tell(at(place, "PS_INSERTFCS", "ON", index=STREAM))
        tell(at(place, "PS_MODIFIERCOUNT", len(stream.fields), index=STREAM))
        for count, one in enumerate(stream.fields):
            index, last = (*STREAM, count), one.first + one.count - 1
            words = (one.offset, "0xFFFF0000", "INC", one.every)
            tell(at(place, "PS_MODIFIER", *words, index=index))
            tell(at(place, "PS_MODIFIERRANGE", one.first, 1, last, index=index))
        tell(at(place, "PS_ENABLE", "ON", index=STREAM))

    def arm(self, shots: tuple[Shot, ...]) -> None:
        for stream, shot in zip(self.streams, shots, strict=True):
            place = stream.sender
            self.client.tell(at(place, "PS_PACKETLIMIT", shot.frames, index=STREAM))
            self.client.tell(at(place, "PS_RATEPPS", shot.load_fps, index=STREAM))
            for command, wanted in (
                ("PS_PACKETLIMIT", shot.frames),
                ("PS_RATEPPS", shot.load_fps),
            ):
                (found, *_) = self.client.numbers(at(place, command, index=STREAM), 1)
                if found != wanted:
                    raise ComponentError(
                        f"the Xena port {place} made {found} of {command} {wanted}",
                        why="it cannot send so fast, or so much",
                        fix="search below it: --set search.max_load=…",
                    )

    def clear(self) -> None:
        for place in self.places:
            self.client.tell(at(place, "PT_CLEAR"))
            self.client.tell(at(place, "PR_CLEAR"))

    def start(self) -> None:
        self._traffic("ON")

    def stop(self) -> None:
        self._traffic("OFF")

    def _traffic(self, state: str) -> None:
        """Start or stop all ports that send, at once."""
        ports = " ".join(stream.sender.replace("/", " ") for stream in self.streams)
        self.client.tell(f"C_TRAFFIC {state} {ports}")

    def sending(self) -> bool:
        states = [self.client.text(at(stream.sender, "P_TRAFFIC")) for stream in self.streams]
        return any(state.upper() == "ON" for state in states)

    def read(self) -> tuple[Counted, ...]:
        return tuple(self._read(number, stream) for number, stream in enumerate(self.streams))

    def _read(self, number: int, stream: Stream) -> Counted:
        """Return the counts of a stream: bits and frames of the last second, bytes, frames."""
        sent = self.client.numbers(at(stream.sender, "PT_STREAM", index=STREAM), 4)
        mark = (number,)
        received = self.client.numbers(at(stream.receiver, "PR_TPLDTRAFFIC", index=mark), 4)
        wrong = self.client.numbers(at(stream.receiver, "PR_TPLDERRORS", index=mark), 4)
        return Counted(sent[3], received[3], _known(wrong[3]), _known(wrong[2]))

    def lost_to(self) -> str | None:
        for place in self.places:
            if self.client.text(at(place, "P_RESERVATION")).upper() != OURS:
                return owner_of(self.client, place) or "nobody"
        return None

    def facts(self) -> dict[str, Any]:
        versions = self.client.numbers("C_VERSIONNO", 2)
        serial = self.client.numbers("C_SERIALNO", 1)
        return {
            "model": self.client.text("C_MODEL"),
            "serial": serial[0],
            "firmware": versions[0],
            "driver": versions[1],
        }


@contextmanager
def logged_on(
    address: str, places: tuple[str, ...], owner: str, password: str
) -> Iterator[XenaChassis]:
    """Connect as somebody; leaving the context hangs up."""
    with closing(Client(address)) as client:
        client.tell(f'C_LOGON "{password}"', shown="C_LOGON")
        client.tell(f"C_TIMEOUT {IDLE_S}")
        client.tell(f'C_OWNER "{owner}"')
        yield XenaChassis(client, places, owner)


def owner_of(client: Client, place: str) -> str:
    """Return who has a port; nothing if nobody has."""
    return client.text(at(place, "P_RESERVEDBY"))


def _known(count: int) -> int | None:
    """Return a count; what a port does not count is below zero."""
    return count if count >= 0 else None


def _mark(stream: Stream) -> str:
    """Return which of two marks has room in a frame behind its headers."""
    room = stream.size - FCS - len(stream.header)
    return "NORMAL" if room >= MARK else "MICRO"
