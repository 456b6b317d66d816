"""`vsperf otg serve`: whatever comes in is answered or refused; what is refused changes nothing.

Carried out without a tgen: what would be sent is looked at, and not sent.
"""

from __future__ import annotations

import json
import random
import re
import socket
import subprocess
import traceback
from contextlib import suppress
from pathlib import Path
from typing import Any, cast

from otg_documents import config, flow, increment, packet, value
from otg_tgen import Echo
from serving import answering

from attacks.damage import any_text, damaged_bytes, damaged_tree
from attacks.worker import Fuzzer
from vsperf.otg.config import Place
from vsperf.otg.document import RefusedError
from vsperf.otg.generator import Generator
from vsperf.otg.reading import read_json
from vsperf.otg.server import OtgServer

PATIENCE_S = 30.0
LEAST, MOST = 64, 9216
DOWN = {"choice": "decrement", "decrement": {"start": 9, "step": 2, "count": 3}}
TCP = [
    {"choice": "ethernet", "ethernet": {"ether_type": value(0x8100)}},
    {"choice": "vlan", "vlan": {"id": increment(1, 5), "tpid": value(0x9100), "cfi": value(1)}},
    {"choice": "ipv6", "ipv6": {"src": increment("2001:2::1", 3, "::2"), "flow_label": value(9)}},
    {"choice": "tcp", "tcp": {"ctl_syn": value(1), "seq_num": value(7)}},
    {"choice": "custom", "custom": {"bytes": "2e2e51"}},
]
SECONDS = {"choice": "fixed_seconds", "fixed_seconds": {"seconds": 0.5}}
ENDLESS = {"choice": "continuous", "continuous": {"gap": 12}}
LAYER1 = [{"name": "l", "port_names": ["a"], "speed": "speed_1_gbps", "mtu": 9000}]
CONFIGS: tuple[dict[str, Any], ...] = (
    config(flow()),
    config(flow("f", packet=TCP, duration=SECONDS), flow("g", duration=ENDLESS), layer1=LAYER1),
    config(flow(packet=packet(udp={"src_port": DOWN}), rate={"choice": "mbps", "mbps": 3})),
    config(flow(packet=packet(vlans=[{"id": value(1)}, {"id": value(2)}]), size={"fixed": 1518})),
    {},
)
CAPTURES = [{"name": "c", "port_names": ["a", "b"], "packet_size": 60, "overwrite": False}]
STATE = {"choice": "traffic", "traffic": {"flow_transmit": {"state": "start", "flow_names": ["f"]}}}
UPDATE = {"flows": {"property_names": ["rate", "size"], "flows": [flow(rate={"pps": 9})]}}
REQUESTS: tuple[tuple[str, str, Any], ...] = (
    *(("POST", "/config", one) for one in CONFIGS),
    ("GET", "/config", None),
    ("PATCH", "/config", {"choice": "flows", **UPDATE}),
    ("POST", "/control/state", STATE),
    ("POST", "/control/state", {"traffic": {"flow_transmit": {"state": "stop"}}}),
    ("POST", "/monitor/metrics", {"choice": "port", "port": {"port_names": ["a"]}}),
    ("POST", "/monitor/metrics", {"choice": "flow", "flow": {"metric_names": ["loss"]}}),
    ("GET", "/capabilities/version", None),
    ("POST", "/config", config(flow(), captures=CAPTURES)),
    ("POST", "/control/state", {"port": {"capture": {"state": "start", "port_names": ["a"]}}}),
    ("POST", "/control/state", {"port": {"capture": {"state": "stop"}}}),
    ("POST", "/monitor/capture", {"port_name": "a"}),
)
ANSWERED = 200
STATUSES = frozenset(
    {200, 400, 401, 404, 405, 408, 409, 411, 413, 414, 415, 421, 431, 501, 503, 505}
)
"""What may be said of a request; 500 is a mistake of ours."""
HEADERS = ("Content-Length", "Host", "Content-Type", "Transfer-Encoding", "Expect", "Connection")
SAID = (
    "",
    "0",
    "-1",
    "²",
    "1" * 5000,
    "[",
    "chunked",
    "127.0.0.1",
    "localhost:x",
    "http://[",
    "\x00",
)


class Watched(OtgServer):
    """Keeps what no request may cause."""

    tracebacks: tuple[str, ...] = ()

    def handle_error(self, request: Any, client_address: Any) -> None:
        self.tracebacks = (*self.tracebacks, traceback.format_exc()[-2000:])


class Conversation(Fuzzer):
    """One server, and requests one after the other."""

    def __init__(self, folder: Path) -> None:
        with suppress(OSError):  # a network of its own begins without
            subprocess.run(["ip", "link", "set", "lo", "up"], check=False, capture_output=True)
        self.folder = folder
        self.tgen = Echo()
        places = {"p1": Place(0, None), "p2": Place(1, 10**10, 1518, 4)}
        self.generator = Generator(cast("Any", self.tgen), places, folder)
        self.server = Watched(("127.0.0.1", 0), self.generator)

    def __call__(self, chance: random.Random) -> list[str]:
        found = self._documents(chance)
        if chance.random() < 0.3:
            found += self._bytes(chance)
        return found

    def _documents(self, chance: random.Random) -> list[str]:
        """Ask without HTTP: several documents in a row, whatever the ones before did."""
        found = []
        for _ in range(chance.randint(1, 5)):
            method, path, content = chance.choice(REQUESTS)
            if content is not None and chance.random() < 0.9:
                content = damaged_tree(content, chance, chance.choice([6, 20, 60]))
            found += self._document(method, path, content)
        self.tgen.asked.clear()
        return found

    def _document(self, method: str, path: str, content: Any) -> list[str]:
        before = self.generator.config
        try:
            body = json.dumps(content).encode("utf-8", "surrogatepass")
        except RecursionError:
            return []  # it cannot even be written
        try:
            content = read_json(body)
            status, answer = self.server.answer(method, path, content)
            if isinstance(answer, dict):
                json.dumps(answer).encode()
            elif not isinstance(answer, bytes):
                answer.close()
        except RefusedError as refused:
            status = refused.code
            if not refused.messages or any("\n" in one for one in refused.messages):
                return [f"{method} {path} is refused with {refused.messages}"]
        except Exception:
            return [f"{method} {path} of {content!r:.500}: {traceback.format_exc()[-1500:]}"]
        self.taken += status == ANSWERED
        found = [] if status in STATUSES else [f"{method} {path} of {content!r:.500}: {status}"]
        if status != ANSWERED and self.generator.config is not before:
            found.append(f"{method} {path} was refused, and changed the configuration")
        return found + self._wrong_streams()

    def _wrong_streams(self) -> list[str]:
        """Return what tgen would refuse, or what it would not find."""
        found = []
        for one in self.generator.config.flows:
            stream = dict(one.stream)
            file = stream.get("replay")
            if file is not None and not Path(file).read_bytes():
                found.append(f"{file} is empty")
            if file is None and not LEAST <= stream["size"] <= MOST:
                found.append(f"a frame has {stream['size']} bytes")
            if not 1 <= one.frames < 1 << 48 or not 0 < one.rate_fps <= 10**10:
                found.append(f"{one.frames} frames at {one.rate_fps}")
        needed = {Path(one.stream["replay"]) for one in self.generator.config.flows if one.written}
        if (left := set(self.folder.glob("flows-*/*"))) != needed:
            found.append(f"there are the files {left}, and {needed} are needed")
        return found

    def _bytes(self, chance: random.Random) -> list[str]:
        """Ask with requests that are damaged on their way; then a decent question is answered."""
        with answering(self.server):
            heard = self._say(_request(chance))
            found = [f"a request was answered by {status!r}" for status in _wrong_statuses(heard)]
            decent = b"GET /config HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
            if not self._say(decent).startswith(b"HTTP/1.1 200 "):
                found.append("a decent question was not answered")
        found += self.server.tracebacks
        self.server.tracebacks = ()
        return found

    def _say(self, content: bytes) -> bytes:
        heard = b""
        address = self.server.server_address[:2]
        with socket.create_connection(cast("Any", address), PATIENCE_S) as connection:
            with suppress(OSError):  # it may hang up before all of it is said
                connection.sendall(content)
                connection.shutdown(socket.SHUT_WR)
            with suppress(ConnectionError):
                while chunk := connection.recv(1 << 16):
                    heard += chunk
        return heard


def _wrong_statuses(heard: bytes) -> list[bytes]:
    """Return statuses that no request may get."""
    found = re.findall(rb"HTTP/1.1 (\d+)", heard)
    return [status for status in found if int(status) not in {*STATUSES, 100}]


def _request(chance: random.Random) -> bytes:
    method, path, content = chance.choice(REQUESTS)
    body = b"" if content is None else json.dumps(content).encode()
    if chance.random() < 0.05:
        body = chance.choice([b"[", b'{"a":', b"9", b"\xff", b'"']) * chance.randrange(200_000)
    headers = {"Host": "localhost", "Content-Type": "application/json"}
    if method != "GET":
        headers["Content-Length"] = str(len(body))
    for _ in range(chance.choice([0, 0, 1, 2])):
        headers[chance.choice(HEADERS)] = chance.choice([*SAID, any_text(chance)])
    if chance.random() < 0.1:
        path = chance.choice(["http://[/config", "//[", "/" * 70_000, any_text(chance)])
    if chance.random() < 0.1:
        method = chance.choice(["HEAD", "DELETE", "OPTIONS", "TRACE", "PUT", any_text(chance)])
    lines = [f"{method} {path} HTTP/1.1", *(f"{name}: {said}" for name, said in headers.items())]
    head = "\r\n".join(lines).encode("utf-8", "surrogatepass") + b"\r\n\r\n"
    whole = head + body
    return damaged_bytes(whole, chance) if chance.random() < 0.5 else whole


def fuzzer(folder: Path) -> Fuzzer:
    """Return the fuzzer of this module."""
    return Conversation(folder)
