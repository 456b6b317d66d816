"""A Xena chassis that follows the published text protocol, in memory: honest, or a liar of a kind.

Its frames take as long as they would on a wire, and none is lost but those that a fault takes.
"""

from __future__ import annotations

import re
import socket
import socketserver
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from serving import Addressed, answering

COMMAND = re.compile(r"(?:(\d+/\d+)\s+)?(\w+)(?:\s+\[([\d,]+)\])?\s*(.*)")
PASSWORD = "xena"
FAULTS = (
    *("over-count", "one-percent-more", "hang", "hang-up", "reset", "never-clears", "slow"),
    *("another-version", "loses-a-port", "never-rests", "lossy", "below-zero"),
)


@dataclass
class Sender:
    """What a port was told to send."""

    settings: dict[str, str] = field(default_factory=dict)
    started: float | None = None
    base: int = 0

    def sent(self, factor: float = 1.0) -> int:
        """Return how many frames have left by now."""
        limit = round(int(self.settings.get("PS_PACKETLIMIT", "0")) * factor)
        if self.started is None:
            return self.base
        rate = int(self.settings.get("PS_RATEPPS", "1"))
        return self.base + min(limit, int((time.monotonic() - self.started) * rate))


@dataclass
class Port:
    """One port, and who has it."""

    owner: str = ""
    connection: object = None
    sender: Sender = field(default_factory=Sender)


class XenaServer(socketserver.ThreadingTCPServer, Addressed):
    """The chassis."""

    allow_reuse_address = True
    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Conversation)
        self.fault = ""
        self.ports = {f"0/{number}": Port() for number in range(4)}
        self.heard: list[str] = []
        self.reads = 0
        self.lock = threading.Lock()

    @property
    def owners(self) -> list[str]:
        """Who has which port."""
        return [port.owner for port in self.ports.values()]


class Conversation(socketserver.StreamRequestHandler):
    """What is said on one connection."""

    server: XenaServer
    owner = ""
    logged_on = False

    def handle(self) -> None:
        for line in self.rfile:
            if self.server.fault == "gone":
                return
            text = line.decode().strip()
            with self.server.lock:
                self.server.heard.append(text)
                answer = self._answer(text)
            if answer is None:
                return
            try:
                self.wfile.write(f"{answer}\n".encode())
            except OSError:
                return

    def _answer(self, text: str) -> str | None:
        found = COMMAND.fullmatch(text)
        if found is None:
            return "<BADCOMMAND>"
        place, command, index, rest = found.groups()
        fault = self.server.fault
        if fault == "hang" and command == "PT_STREAM":
            self.server.lock.release()
            time.sleep(1.0)
            self.server.lock.acquire()
            return None
        if fault == "hang-up" and command == "C_TRAFFIC":
            self.request.shutdown(socket.SHUT_RDWR)
            return None
        if place is None:
            return self._of_chassis(command, rest)
        if place not in self.server.ports:
            return "<BADPORT>"
        if rest.endswith("?"):
            values = self._value(place, command, index)
            shown = f"  [{index}]" if index else ""
            return values if values.startswith("<") else f"{place}  {command}{shown}  {values}"
        return self._set(place, self.server.ports[place], command, index, rest)

    def _of_chassis(self, command: str, rest: str) -> str:
        match command, rest:
            case "C_LOGON", _:
                self.logged_on = rest == f'"{PASSWORD}"'
                return "<OK>" if self.logged_on else "<NOTLOGGEDON>"
            case _ if not self.logged_on:
                return "<NOTLOGGEDON>"
            case "C_OWNER", _:
                self.owner = rest.strip('"')
                return "<OK>"
            case "C_TIMEOUT", _:
                return "<OK>"
            case "C_VERSIONNO", "?":
                wrong = self.server.fault == "another-version"
                return "C_VERSIONNO  next" if wrong else "C_VERSIONNO  456 22"
            case "C_SERIALNO", "?":
                return "C_SERIALNO  1234567"
            case "C_MODEL", "?":
                return 'C_MODEL  "Compact A made up one"'
            case "C_TRAFFIC", _:
                return self._traffic(rest.split())
        return "<NOTVALID>"

    def _traffic(self, words: list[str]) -> str:
        places = [f"{module}/{port}" for module, port in zip(*[iter(words[1:])] * 2, strict=True)]
        for place in places:
            port = self.server.ports[place]
            if port.connection is not self:
                return "<NOTRESERVED>"
            sender = port.sender
            if words[0] == "ON":
                sender.started = time.monotonic()
            else:
                sender.base, sender.started = sender.sent(self._factor), None
        return "<OK>"

    @property
    def _factor(self) -> float:
        return 1.01 if self.server.fault == "one-percent-more" else 1.0

    def _state(self, port: Port) -> str:
        if port.connection is None:
            return "RELEASED"
        return "RESERVED_BY_YOU" if port.connection is self else "RESERVED_BY_OTHER"

    def _value(self, place: str, command: str, index: str | None) -> str:
        port = self.server.ports[place]
        match command:
            case "P_RESERVATION":
                return self._state(port)
            case "P_RESERVEDBY":
                return f'"{port.owner}"'
            case "P_TRAFFIC":
                return "ON" if self._busy(port.sender) else "OFF"
            case "PS_PACKETLIMIT" | "PS_RATEPPS":
                return port.sender.settings.get(command, "-1")
            case "PT_STREAM":
                return self._counts(port.sender)
            case "PR_TPLDTRAFFIC":
                return self._received(int(index or 0))
            case "PR_TPLDERRORS":
                return "-1 -1 -1 -1" if self.server.fault == "uncounted" else "0 0 0 0"
        return "<NOTVALID>"

    def _busy(self, sender: Sender) -> bool:
        if sender.started is None:
            return False
        limit = round(int(sender.settings["PS_PACKETLIMIT"]) * self._factor)
        slow = self.server.fault == "slow"
        if not slow and sender.sent(self._factor) - sender.base >= limit:
            sender.base, sender.started = sender.sent(self._factor), None
        return sender.started is not None

    def _counts(self, sender: Sender) -> str:
        self.server.reads += 1
        if self.server.fault == "reset" and sender.started is not None and sender.sent() > 20:
            sender.started, sender.base = time.monotonic(), 0
            sender.settings["PS_PACKETLIMIT"] = "10"
        if self.server.fault == "loses-a-port" and sender.started is not None:
            self.server.ports["0/1"].owner = "mallory"
            self.server.ports["0/1"].connection = "another one"
        sent = -1 if self.server.fault == "below-zero" else sender.sent(self._factor)
        return f"0 0 {sent * 64} {sent}"

    def _received(self, mark: int) -> str:
        senders = [one.sender for one in self.server.ports.values()]
        found = [one for one in senders if one.settings.get("PS_TPLDID") == str(mark)]
        sent = found[0].sent(self._factor) if found else 0
        match self.server.fault:
            case "over-count":
                sent += 7 if sent else 0
            case "lossy":
                sent -= sent // 10
            case "never-rests":
                sent += self.server.reads if sent else 0
        return f"0 0 {sent * 64} {sent}"

    def _set(self, place: str, port: Port, command: str, index: str | None, rest: str) -> str:
        if not self.logged_on:
            return "<NOTLOGGEDON>"
        if command == "P_RESERVATION":
            return self._reserve(port, rest)
        if port.connection is not self:
            return "<NOTRESERVED>"
        match command:
            case "P_RESET":
                port.sender = Sender()
            case "PT_CLEAR" | "PR_CLEAR":
                if self.server.fault != "never-clears":
                    port.sender.base = 0
            case "P_TRAFFIC":
                port.sender.base, port.sender.started = port.sender.sent(), None
            case _ if index is not None:
                port.sender.settings[command] = rest
        return "<OK>"

    def _reserve(self, port: Port, action: str) -> str:
        state = self._state(port)
        match action, state:
            case "RESERVE", "RELEASED":
                port.owner, port.connection = self.owner, self
            case "RELEASE", "RESERVED_BY_YOU":
                port.owner, port.connection = "", None
            case "RELINQUISH", "RESERVED_BY_OTHER":
                port.owner, port.connection = "", None
            case _:
                return "<NOTVALID>"
        return "<OK>"


@contextmanager
def xena_server() -> Iterator[XenaServer]:
    """Serve until the context is left."""
    with XenaServer() as server, answering(server):
        yield server
