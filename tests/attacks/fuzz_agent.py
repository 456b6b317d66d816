"""Guests that lie, by all three voices that they have: an agent, a shell, a generator in them.

Whatever they say, there is an answer or a reason, within bounds. Many are heard in one child, as
each takes a millisecond.
"""

from __future__ import annotations

import json
import random
import secrets
import socket
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from attacks.apart import apart
from attacks.damage import any_text, damaged_bytes, damaged_tree, with_wild_numbers
from attacks.worker import Fuzzer
from vsperf.cli import vnf_shell
from vsperf.cli.vnf_shell import VnfShell
from vsperf.drivers.generators.tgen.client import Client
from vsperf.errors import VsperfError
from vsperf.qemu.agent import Agent, last_lines
from vsperf.qemu.answers import Counted, understood
from vsperf.qemu.programs import MOST_WRITTEN, READINGS, clock_of, counted, join, listens, run
from vsperf.qemu.vm import seen_inside

BATCH = 50
"""Conversations of one round."""
ROOM = 150_000
"""Bytes that a socket takes without a reader."""
PATIENCE_S = 5.0
TOKEN = "00" * 4
PROCESSOR = dict.fromkeys(("number", "user_ns", "system_ns", "idle_ns", "interrupts_ns"), 1)
NIC = {"received": 1, "sent": 2, "drops": {"full": 3}}
AGENT = (
    {"event": "booted", "protocol": 1, "kernel": "6.1", "nics": [{"mac": "02:00:00:00:00:01"}]},
    {"id": 1},
    {"id": 2, "nics": [NIC, NIC]},
    {"event": "ended", "app": "testpmd", "how": "by itself", "log": "one\ntwo"},
    {"id": 3, "processors": [{**PROCESSOR, "steal_ns": 1}], "interrupts": 5, "switches": 6},
    {"id": 4, "error": "no such thing", "log": "a\nb"},
)
DEVICE = ("received_bytes", "received_frames", "received_dropped", "sent_bytes", "sent_frames")
CLOCKS = tuple({"id": 3 + number, "now_ns": 7, "wall_ns": 8} for number in range(READINGS))
PLACE: tuple[dict[str, Any], ...] = (
    {
        **{"id": 1, "device": "eth0", "send_bytes": 1, "receive_bytes": 2, "forgets_paths": True},
        "offloads": {"tx checksum": False},
    },
    {"id": 2, **dict.fromkeys((*DEVICE, "sent_dropped"), 3)},
    *CLOCKS,
    {"id": 8, "listens": True},
    {"id": 9},
    {"event": "exited", "program": 1, "code": 0},
    {"event": "exited", "program": 2, "signal": 9},
    {"id": 10, "size": 8, "text": "some"},
    {"id": 11, "size": 8, "text": "more"},
    {"id": 12},
)
"""What is said where programs run in a guest."""
TGEN = (
    {"event": "stats", "elapsed_ns": 1},
    {"id": 1, "ok": True, "result": {"now": 5, "tsc": 6}},
    {"id": None, "ok": False, "error": {"code": "taken", "message": "busy", "path": "x"}},
)
SHELL = (
    f"echo vsperf-begin-''{TOKEN}\r\nvsperf-begin-{TOKEN}\r\n".encode(),
    b"some output \x1b[31m\r\n",
    f"vsperf-end-{TOKEN} 0\r\n".encode(),
)


class Liars(Fuzzer):
    """What guests say, and what is made of it."""

    def __call__(self, chance: random.Random) -> list[str]:
        said = [self._said(chance) for _ in range(BATCH)]
        ended = apart(lambda: _heard(said))
        taken = range(BATCH + 1)
        self.taken += ended.code if ended.code in taken else 0
        return ended.problems({*taken})

    def _said(self, chance: random.Random) -> tuple[Callable[[socket.socket], None], bytes]:
        kind = chance.randrange(4)
        if kind == 0:
            return _agent, _lines(AGENT, chance)
        if kind == 3:
            return _programs, _all_but_one(PLACE, chance)
        if kind == 1:
            return _tgen, _lines(TGEN, chance)
        parts = [*SHELL]
        if chance.random() < 0.5:
            parts.insert(chance.randrange(len(parts) + 1), any_text(chance).encode(*UTF8))
        words = b"".join(parts)
        return _shell, words if chance.random() < 0.2 else damaged_bytes(words, chance)


UTF8 = ("utf-8", "surrogatepass")


def _lines(good: tuple[dict[str, Any], ...], chance: random.Random) -> bytes:
    found = []
    for message in good:
        told: Any = with_wild_numbers(message, chance) if chance.random() < 0.4 else message
        told = damaged_tree(told, chance, chance.choice([6, 20, 60]))
        found.append(json.dumps(told).encode())
    words = b"\n".join(found) + b"\n"
    return damaged_bytes(words, chance) if chance.random() < 0.3 else words


def _all_but_one(good: tuple[dict[str, Any], ...], chance: random.Random) -> bytes:
    """Return a long conversation with one line changed, so that what follows it is heard, too."""
    at = chance.randrange(len(good))
    lines = [json.dumps(message).encode() + b"\n" for message in good]
    lines[at] = _lines(good[at : at + 1], chance)
    return b"".join(lines)


def _heard(said: list[tuple[Callable[[socket.socket], None], bytes]]) -> int:
    """Hear them all; return of how many of them something was made."""
    taken = 0
    vars(secrets)["token_hex"] = lambda _: TOKEN  # the guest sees it, too
    for hear, words in said:
        ours, theirs = socket.socketpair()
        with ours, theirs:
            theirs.sendall(words[:ROOM])
            theirs.shutdown(socket.SHUT_WR)
            try:
                hear(ours)
                taken += 1
            except VsperfError as error:
                assert error.problems
                json.dumps([problem.what for problem in error.problems]).encode(*UTF8)
            except BaseException:
                sys.stderr.write(f"of {words[:2000]!r}\n")
                raise
    return taken


def _agent(connection: socket.socket) -> None:
    agent = Agent("vm1", connection)
    agent.await_boot(time.monotonic() + PATIENCE_S, lambda: None)
    told = understood("vm1", agent.ask("counters", PATIENCE_S), Counted)
    assert all(nic.received is None or nic.received < 1 << 64 for nic in told.nics or ())
    seen_inside("vm1", agent)
    agent.notice()
    last_lines(agent.ended or "")


def _programs(connection: socket.socket) -> None:
    agent = Agent("vm1", connection)
    join(agent, nic="02:00:00:00:00:01", address="198.18.0.1", prefix=15, mtu=1500)
    assert counted(agent).received_bytes < 1 << 64
    assert clock_of(agent).within_ns >= 0
    listens(agent, 11_001)
    with run(agent, ["/usr/bin/iperf3"]) as program:
        assert program.exit_code is None or -64 <= program.exit_code <= 255
        text, whole = program.written()
        assert len(text) <= MOST_WRITTEN and isinstance(whole, bool)
        json.dumps(text).encode(*UTF8)
    assert set(agent.programs) <= {1}


def _tgen(connection: socket.socket) -> None:
    Client(connection).ask("clock", PATIENCE_S)


def _shell(connection: socket.socket) -> None:
    code = VnfShell("vm1", connection).run("true", lambda _: None)
    assert 0 <= code <= vnf_shell.LAST_CODE


def fuzzer(folder: Path) -> Fuzzer:
    """Return the fuzzer of this module."""
    return Liars()
