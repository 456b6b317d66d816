"""tgen's socket: whatever comes in, however it is cut, tgen refuses it, goes on, and ends in order.

Carried out with the sanitizers' build. To be carried out in a sandbox: a request may name a file.
"""

from __future__ import annotations

import json
import random
import signal
import socket
import subprocess
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tgen_programs import BUILD

from attacks.damage import any_text, damaged_bytes, damaged_tree
from attacks.worker import Fuzzer

EAL = ("--no-huge", "--no-pci", "--no-shconf", "-m", "256", "--lcores=0@0,1@0")
PATIENCE_S = 30.0
MOST_MESSAGES = 40
LAST = 424_242
"""The id of the question that has to be answered after everything."""
LEFT_IDLE, LEFT_BUSY = 0, 4
"""Exit codes after the controller has gone, by what tgen was doing."""
STREAM = {"transmit_port": 0, "size": 64}
REQUESTS: tuple[dict[str, Any], ...] = (
    {"verb": "hello"},
    {"verb": "ports"},
    {"verb": "configure", "streams": [STREAM]},
    {"verb": "configure", "streams": [{"sizes": [128, 1518], "vxlan": {"vni": 5}, "vlans": [7]}]},
    {
        "verb": "configure",
        "streams": [
            {
                "transmit_port": 0,
                "genome": "aaad",
                "flows": {"vary": [{"field": "source_ip", "count": 4096}], "order": "shuffled"},
            }
        ],
    },
    {"verb": "trial", "frames": 100, "rate_fps": 10_000},
    {"verb": "trial", "duration_ns": 50_000_000, "rate_fps": 1000, "latency": True},
    {"verb": "trial", "duration_ns": 10**15, "rate_fps": 1000, "wait": False},
    {"verb": "burst", "frames": 20, "rate_fps": 7000, "timeout_ns": 10_000_000},
    {"verb": "probe", "frames": 3},
    {"verb": "learn", "rounds": 2},
    {"verb": "capture", "port": 0, "path": "x.pcap", "frames": 10},
    {"verb": "listen", "port": 0, "path": "/nowhere/x.pcap", "frames": 10, "keep": "last"},
    {"verb": "listen", "port": 0, "on": False},
    {"verb": "stalls", "duration_ns": 1_000_000, "threshold_ns": 1000},
    {"verb": "live"},
    {"verb": "stop"},
    {"verb": "quit"},
)


@dataclass
class Talk(Fuzzer):
    """Conversations with a tgen of their own each."""

    folder: Path

    def __call__(self, chance: random.Random) -> list[str]:
        control, log = self.folder / "s", self.folder / "log"
        argv = [str(BUILD / "tgen"), *EAL, "--vdev=net_ring0", "--", "--control", str(control)]
        with (
            log.open("wb") as said,
            subprocess.Popen(argv, cwd=self.folder, stdout=said, stderr=said) as tgen,
        ):
            try:
                found = self._talk(tgen, control, chance)
            except (OSError, TimeoutError) as error:
                found = [f"the conversation broke: {error!r}; tgen: {tgen.poll()}"]
            finally:
                tgen.kill()
        text = log.read_text(errors="replace")
        for word in ("Sanitizer", "runtime error"):
            if word in text:
                found.append(text[text.index(word) - 200 :][:800])
        if found and not any("anitizer" in problem for problem in found):
            found[-1] += f"; it said {text[-300:]!r}"
        if control.exists():
            found.append("it left its socket")
            control.unlink()
        return found

    def _talk(
        self, tgen: subprocess.Popen[bytes], control: Path, chance: random.Random
    ) -> list[str]:
        connection = _connected(control, tgen)
        with connection:
            intruders = [_connected(control, tgen) for _ in range(chance.choice([0, 0, 1, 3]))]
            self._send(connection, chance)
            for intruder in intruders:
                with suppress(OSError):
                    intruder.sendall(_message(chance))
                intruder.close()
            ending = chance.randrange(4)
            if ending == 0:
                tgen.send_signal(signal.SIGTERM)
                return _ended(tgen, {128 + signal.SIGTERM, LEFT_IDLE})
            if ending == 1:
                connection.close()
                return _ended(tgen, {LEFT_IDLE, LEFT_BUSY})
            found = _question(connection, tgen)
        return found or _ended(tgen, {LEFT_IDLE, LEFT_BUSY})

    def _send(self, connection: socket.socket, chance: random.Random) -> None:
        """Send messages in pieces, reading now and then; tgen may hang up at a `quit`."""
        stream = b"".join(_message(chance) for _ in range(chance.randint(1, MOST_MESSAGES)))
        if chance.random() < 0.03:
            stream += chance.choice([b"[", b"a", b'{"a":', b"\xff", b" "]) * chance.randrange(
                3 << 20
            )
        with suppress(BrokenPipeError, ConnectionResetError):
            while stream:
                size = chance.choice([1, 3, 50, 1000, 1 << 20])
                _send_whole(connection, stream[:size])
                stream = stream[size:]
                if chance.random() < 0.1:
                    time.sleep(chance.uniform(0, 0.01))


def _message(chance: random.Random) -> bytes:
    request = {"id": chance.randrange(1000), **chance.choice(REQUESTS)}
    kind = chance.random()
    if kind < 0.3:
        return json.dumps(request).encode() + b"\n"
    if kind < 0.7:
        tree = damaged_tree(request, chance, chance.choice([4, 12, 40]))
        return json.dumps(tree).encode("utf-8", "surrogatepass") + b"\n"
    if kind < 0.95:
        return damaged_bytes(json.dumps(request).encode() + b"\n", chance)
    return any_text(chance).encode("utf-8", "surrogatepass") + b"\n"


def _connected(path: Path, tgen: subprocess.Popen[bytes]) -> socket.socket:
    deadline = time.monotonic() + PATIENCE_S
    while True:
        connection = socket.socket(socket.AF_UNIX)
        connection.settimeout(PATIENCE_S)
        if connection.connect_ex(str(path)) == 0:
            return connection
        connection.close()
        if tgen.poll() is not None or time.monotonic() > deadline:
            raise TimeoutError("it does not listen")
        time.sleep(0.01)


def _send_whole(connection: socket.socket, data: bytes) -> None:
    """Send, and read what comes meanwhile: who never listens may be kept waiting."""
    deadline = time.monotonic() + PATIENCE_S
    while data:
        connection.setblocking(False)
        with suppress(BlockingIOError):
            while connection.recv(1 << 16):
                pass
        with suppress(BlockingIOError):
            data = data[connection.send(data) :]
        if data and time.monotonic() > deadline:
            raise TimeoutError("it reads nothing any more")
    connection.settimeout(PATIENCE_S)


def _question(connection: socket.socket, tgen: subprocess.Popen[bytes]) -> list[str]:
    """Ask something decent; it has to be answered, unless tgen was told to quit."""
    heard = b""
    try:
        connection.settimeout(PATIENCE_S)
        _send_whole(connection, b"\n" + json.dumps({"id": LAST, "verb": "hello"}).encode() + b"\n")
        while f'"id":{LAST}'.encode() not in heard[-(1 << 20) :]:
            chunk = connection.recv(1 << 16)
            if not chunk:
                break
            heard += chunk
        else:
            return []
    except TimeoutError:
        return [f"no answer to `hello` within {PATIENCE_S:g} s"]
    except (BrokenPipeError, ConnectionResetError):
        pass
    return _ended(tgen, {LEFT_IDLE, LEFT_BUSY})


def _ended(tgen: subprocess.Popen[bytes], allowed: set[int]) -> list[str]:
    try:
        code = tgen.wait(PATIENCE_S)
    except subprocess.TimeoutExpired:
        return [f"it did not end within {PATIENCE_S:g} s"]
    return [] if code in allowed else [f"it ended with {code}"]


def fuzzer(folder: Path) -> Fuzzer:
    """Return the fuzzer of this module."""
    return Talk(folder)
