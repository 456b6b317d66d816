"""Programs that lie: those that exchange data, proxies, dperf, and the server of TRex.

Whatever they say, there is an answer or a reason, in words that are short, within bounds; and what
is made of it is a record that readers take. Many are heard in one child, as each takes little time.
"""

from __future__ import annotations

import json
import random
import re
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from dperf_answers import in_order, second, total
from exchanges import exchange
from trex_server import StatefulTrexServer, TrexServer, opened, served

from attacks.apart import CONTROLS, apart
from attacks.damage import damaged_bytes, damaged_tree, with_wild_numbers
from attacks.worker import Fuzzer
from vsperf.deploy.exchanging import Pair, _instance, believed, told_by
from vsperf.drivers.generators.dperf import answer as dperf
from vsperf.drivers.generators.trex import profile as accounts
from vsperf.drivers.generators.trex.server import Client, StatelessServer
from vsperf.drivers.generators.trex.stateful import StatefulServer
from vsperf.drivers.programs import lua
from vsperf.drivers.programs.base import NOT_ENDED, Program, Said
from vsperf.drivers.programs.h2load.driver import H2load
from vsperf.drivers.programs.iperf.driver import Iperf
from vsperf.drivers.programs.iperf3.driver import Iperf3
from vsperf.drivers.programs.irtt.driver import Irtt
from vsperf.drivers.programs.netperf.driver import Netperf
from vsperf.drivers.programs.wrk.driver import Wrk
from vsperf.drivers.programs.wrk2.driver import Wrk2
from vsperf.drivers.vswitches.proxy.haproxy.driver import told_in
from vsperf.engine.judge_exchange import judged
from vsperf.errors import VsperfError
from vsperf.methods.connections import ConnectionsAsked
from vsperf.methods.exchanges import ExchangeAsked
from vsperf.records.exchange import ECHO, Instance, window_of
from vsperf.records.run import LINE, ExchangeLine
from vsperf.trust.plain_json import loads

BATCH = 20
"""Programs that are heard in one round."""
MOST_WORDS = 2_000
"""Letters of what is said of one that lies."""
GOLDEN = Path(__file__).parents[1] / "golden"
SECOND, MS = 1_000_000_000, 1_000_000
NUMBER = re.compile(r"\d+(?:\.\d+)?")
WILD = (
    *("0", "-1", "nan", "NaN", "inf", "1e400", "1e308", "0.0000000001", "1.5", "x", ""),
    *("9" * 12, "9" * 15),
    *(str(1 << 60), str((1 << 63) - 1), str(1 << 64), "9" * 19, "9" * 30, "9" * 4000, "9" * 6000),
)
CHANGES: tuple[Callable[[Any, random.Random], Any], ...] = (
    with_wild_numbers,
    partial(damaged_tree, one_in=60),
    partial(damaged_tree, one_in=12),
)
FLOOD = 20_000
"""Lines that are said again, or letters of one that has no end."""
STANDS = Said(None, NOT_ENDED, "")
PAIR = Pair("instance 1", "phy0", "phy1", 11_001, 0, (1,))
TCP = ExchangeAsked("tcp-stream", 1, 2 * SECOND)
UDP = ExchangeAsked("udp-stream", 1, 2 * SECOND, write_bytes=1400)
OLD_TCP = ExchangeAsked(
    "tcp-stream", 1, 1_500 * MS, write_bytes=131_072, buffer_bytes=524_288
)  # as it was told when it was recorded
OLD_UDP = ExchangeAsked("udp-stream", 1, 1_500 * MS, write_bytes=1400)
HTTP = ExchangeAsked("http-rr", 1, 2 * SECOND, response_bytes=4 << 20, connections=2)
OPEN = ExchangeAsked("http-open", 1, 3 * SECOND, connections=4, rate=100)
CLOCK = ExchangeAsked("http-open", 1, 10 * SECOND, 11 * SECOND, connections=10, rate=500)
PACKETS = ExchangeAsked(ECHO, 1, 500 * MS, interval_ns=10 * MS)
PROGRAMS: tuple[tuple[Program, ExchangeAsked, str, str], ...] = (
    (Iperf3(), TCP, "iperf3/tcp-client", "iperf3/tcp-server"),
    (Iperf3(), UDP, "iperf3/udp-client", "iperf3/udp-server"),
    (Iperf(), OLD_TCP, "iperf/tcp-client", "iperf/tcp-server"),
    (Iperf(), OLD_UDP, "iperf/udp-client", "iperf/udp-server"),
    (Irtt(), PACKETS, "irtt/echo-client", ""),
    (H2load(), OPEN, "h2load/open-client", ""),
    (H2load(), HTTP, "h2load/http-client", ""),
    (Wrk(), HTTP, "wrk/http-client", ""),
    (Netperf(), ExchangeAsked("tcp-rr", 1, 2 * SECOND), "netperf/tcp-rr-client", ""),
    (Netperf(), ExchangeAsked("tcp-crr", 1, 2 * SECOND), "netperf/tcp-crr-client", ""),
    (Netperf(), replace(TCP, write_bytes=65_536), "netperf/tcp-stream-client", ""),
    (Netperf(), replace(UDP, duration_ns=SECOND), "netperf/udp-stream-client", ""),
    (Wrk2(), CLOCK, "wrk2", ""),
)
"""Each with what it was asked for when it was recorded, and what its client and its server said."""
CONNECTIONS = ConnectionsAsked(rate_cps=1000, connections=100, response_bytes=1024)


def spectrum(kind: str) -> str:
    """Return times as wrk2 prints them."""
    return (
        f"  Latency Distribution (HdrHistogram - {kind} Latency)\n"
        "       1.000     0.000000         2500         1.00\n"
        "       2.000     0.500000         4000         2.00\n"
        "       3.000     1.000000         5000          inf\n"
        f"#[Max     = {3.0:12.3f}, Total count    = {5000:12d}]\n"
    )


def by_clock() -> str:
    """Return what wrk2 says that lets nobody wait."""
    errors = dict.fromkeys(("connect", "read", "write", "status", "timeout"), 0)
    sums = {"ended_us": 1_800_000_000_000_000, "duration_us": 21_000_000, "requests": 10_500}
    sums |= {f"errors_{name}": count for name, count in errors.items()}
    lines = "".join(f"{lua.MARK} {name} {value}\n" for name, value in sums.items())
    calibrated = "  Thread calibration: mean lat.: 1.2ms, rate sampling interval: 10ms\n"
    return f"{calibrated}{spectrum('Recorded')}{spectrum('Uncorrected')}{lines}vsperf whole 1\n"


def recorded(name: str) -> str:
    """Return what a program said."""
    if name == "wrk2":
        return by_clock()
    return (GOLDEN / "programs" / f"{name}.txt").read_text() if name else ""


def damaged(text: str, chance: random.Random) -> str:
    """Return what a program might say that lies, floods, or ends in the midst."""
    if text.lstrip().startswith("{") and chance.random() < 0.7:
        tree = json.loads(text)
        for _ in range(chance.choice([1, 1, 2])):
            tree = chance.choice(CHANGES)(tree, chance)
        text = json.dumps(tree)
    match chance.randrange(6):
        case 0:
            return damaged_bytes(text.encode("utf-8", "surrogatepass"), chance).decode(
                errors="replace"
            )
        case 1:
            lines = text.splitlines(keepends=True) or [""]
            at = chance.randrange(len(lines))
            return "".join([*lines[:at], lines[at] * FLOOD, *lines[at:]])[: 1 << 22]
        case 2:
            at = chance.randrange(len(text) + 1)
            return text[:at] + chance.choice("a \t1.,:[{\x1b\x9b\n-") * FLOOD + text[at:]
        case _:
            wild, one_in = chance.choice(WILD), chance.choice([3, 20, 200])
            return NUMBER.sub(
                lambda found: wild if chance.randrange(one_in) == 0 else found[0], text
            )


Heard = Callable[[], str]
"""Hears something out, and returns what vsperf says of it to people."""


class Programs(Fuzzer):
    """What programs say, and what is made of it."""

    def __call__(self, chance: random.Random) -> list[str]:
        kinds = (_exchanging, _exchanging, _exchanging, _haproxy, _dperf, _trex)
        heard = [chance.choice(kinds)(chance) for _ in range(BATCH)]
        ended = apart(lambda: _hear(heard))
        taken = range(BATCH + 1)
        self.taken += ended.code if ended.code in taken else 0
        return ended.problems({*taken})


def _hear(heard: list[Heard]) -> int:
    """Hear them all; return of how many of them something was made."""
    taken = 0
    for hear in heard:
        try:
            words = hear()
            taken += not words
        except VsperfError as error:
            words = " ".join(f"{one.what} {one.why} {one.fix}" for one in error.problems)
        except BaseException:
            sys.stderr.write(f"of {hear!r:.3000}\n")
            raise
        assert len(words) < MOST_WORDS, f"{len(words)} letters are said: {words[:200]}"
    return taken


def _exchanging(chance: random.Random) -> Heard:
    program, asked, client, server = chance.choice(PROGRAMS)
    said = [recorded(client), recorded(server)]
    ends = [0] if not server else chance.choice([[0], [1], [0, 1]])
    for end in ends:
        said[end] = damaged(said[end], chance)
    return partial(_exchanged, program, asked, *said)


def _exchanged(program: Program, asked: ExchangeAsked, client: str, server: str) -> str:
    """Make an exchange of what both told, as a run does, and see that readers take it."""
    ended = Said(0, "ended with exit code 0", client)
    other = Said(0, "ended with exit code 0", server) if server else STANDS
    told = believed(told_by(program, asked, ended, other), asked.sending_ns + SECOND)
    assert not CONTROLS & {*told.problem}, f"{told.problem!r}"
    one = _instance(PAIR, asked.sending_ns + SECOND, 0, told)
    made = judged(_made(asked, program, one))
    content = LINE.dump_json(ExchangeLine(case="case", exchange=made))
    read = LINE.validate_python(loads(content))
    assert isinstance(read, ExchangeLine)
    assert read.exchange == made
    for each in (made.total_rate, made.worst_rate, made.loss_ratio, made.times):
        str(each)
    assert len(made.rates_over_time(SECOND // 10)) < 1_000
    return told.problem or "; ".join(made.reasons)


def _made(asked: ExchangeAsked, program: Program, one: Instance) -> Any:
    window = window_of((one,), asked.warm_up_ns)
    return exchange(
        one, traffic=asked.traffic, program=program.kind, asked_ns=asked.duration_ns, window=window
    )


def _haproxy(chance: random.Random) -> Heard:
    statistics, activity = (
        (GOLDEN / "haproxy" / name).read_text() for name in ("show-stat.csv", "show-activity.txt")
    )
    if chance.random() < 0.8:
        statistics = damaged(statistics, chance)
    else:
        activity = damaged(activity, chance)
    return partial(_proxied, statistics, activity)


def _proxied(statistics: str, activity: str) -> str:
    told = told_in(statistics, activity)
    _require_counted([told.accepted, told.attempts, *told.reasons.values()])
    return ""


def _dperf(chance: random.Random) -> Heard:
    counts = in_order(100)
    said = second(1, 50, **counts) + second(2, 50, **counts) + total(**counts)
    return partial(_connected, damaged(said, chance))


def _connected(text: str) -> str:
    blocks = dperf.blocks_in(text)
    told = dperf.totals_of(blocks) or dperf.summed(blocks)
    made = dperf.client_accounts(told, 100), dperf.server_accounts(told), dperf.segments(told)
    _require_counted([dperf.busy_ppm(blocks), *(v for one in made for v in dict(one).values())])
    return ""


class _Wire:
    """A server of TRex that lies now and then, in place of its connection."""

    def __init__(self, server: TrexServer, chance: random.Random) -> None:
        self.server, self.chance = server, chance
        self.answer = b""
        self.said: list[bytes] = []

    def send(self, question: bytes) -> None:
        answer = self.server.answer(question) or b""
        if self.chance.randrange(8) == 0:
            answer = _lie(answer, self.chance)
        self.answer = answer
        self.said.append(answer[:300])

    def recv(self) -> bytes:
        return self.answer

    def poll(self, _: int) -> bool:
        return True

    def close(self) -> None:
        """Nothing is open."""

    def __repr__(self) -> str:
        return f"{self.said}"


def _lie(answer: bytes, chance: random.Random) -> bytes:
    if chance.random() < 0.2:
        return damaged_bytes(answer, chance)
    tree = json.loads(answer)
    name = "result" if "result" in tree else "error"
    tree[name] = chance.choice(CHANGES)(tree[name], chance)
    return json.dumps(tree).encode()


def _trex(chance: random.Random) -> Heard:
    told = {"client": opened(100), "server": served(100)}
    stateful = chance.random() < 0.5
    server = StatefulTrexServer(told=told) if stateful else TrexServer()
    return partial(_opened if stateful else _counted, _Wire(server, chance))


def _client(wire: _Wire) -> Client:
    client: Any = object.__new__(Client)
    client.where, client.socket, client.handler, client.number = "here", wire, None, 0
    client.broken = None
    found: Client = client
    return found


def _opened(wire: _Wire) -> str:
    server = StatefulServer(client=_client(wire), ports=(0, 1), user="vsperf")
    server.greet()
    server.acquire(force=False)
    server.point_at(0, "02:00:00:00:00:01")
    server.load({"templates": []})
    server.start(0, 1.0, 1.0)
    server.state()
    told, busy = server.counted(), server.busy_ppm()
    made = (
        accounts.client_accounts(told["client"], CONNECTIONS, accounts.open_now(told["client"])),
        accounts.server_accounts(told["server"]),
        accounts.segments(told["client"]),
    )
    _require_counted([busy, *(value for one in made for value in dict(one).values())])
    server.stop()
    server.release()
    return ""


def _counted(wire: _Wire) -> str:
    server = StatelessServer(client=_client(wire), ports=(0, 1), user="vsperf")
    server.greet()
    server.acquire(force=False)
    server.load({})
    server.start((0, 1), server.now())
    server.finished()
    before = server.read(())
    after = server.read(())
    after.fell_since(before)
    _require_counted([value for port in after.ports.values() for value in port.values()])
    server.stop((0, 1))
    server.release()
    return ""


def _require_counted(counts: list[Any]) -> None:
    """Raise where a count is none that a record can hold."""
    loads(json.dumps(list(_numbers(counts))))


def _numbers(counts: list[Any]) -> Iterator[float]:
    yield from (one for one in counts if isinstance(one, int | float))


def fuzzer(folder: Path) -> Fuzzer:
    """Return the fuzzer of this module."""
    return Programs()
