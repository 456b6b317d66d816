"""Programs and servers that lie or flood: what vsperf says of them is short, and no run breaks.

The attacks of `tests/attacks/fuzz_programs.py` at random; here is what they found, and its like.
"""

from __future__ import annotations

import json
import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from dperf_answers import in_order, total
from trex_server import StatefulTrexServer, TrexServer, opened, served

from vsperf.deploy.exchanging import told_by
from vsperf.drivers.generators.dperf.answer import blocks_in, totals_of
from vsperf.drivers.generators.trex.server import Client, Server, StatelessServer
from vsperf.drivers.generators.trex.stateful import StatefulServer
from vsperf.drivers.programs import nginx
from vsperf.drivers.programs.base import LONGEST_WORDS, NOT_ENDED, Said, Told
from vsperf.drivers.programs.find import PackagedProgram
from vsperf.drivers.programs.iperf.driver import Iperf
from vsperf.drivers.programs.iperf3.driver import Iperf3
from vsperf.drivers.vswitches.dpvs import driver as dpvs
from vsperf.drivers.vswitches.proxy.haproxy.driver import told_in
from vsperf.errors import ComponentError, NotReadyError
from vsperf.methods.exchanges import ExchangeAsked
from vsperf.records.exchange import Interval

HAPROXY = Path(__file__).parents[1] / "golden" / "haproxy"
SECOND = 1_000_000_000
STREAM = ExchangeAsked("tcp-stream", 1, SECOND)
ENDED = "ended with exit code 0"
WILD = ("x", "1.5", "nan", "1e400", "-1", "²", "٣" * 4, "9" * 19, "9" * 30, "9" * 5_000)
"""What stands in the place of a count; digits that Python takes for some, too."""
FLOOD = 4 << 20
"""Letters; written out they took a hundred times their memory."""


def said(text: str, exit_code: int | None = 0, ending: str = ENDED) -> Said:
    return Said(exit_code, ending, text)


FLOODS: dict[str, Callable[[], str]] = {
    "words": lambda: said("ab " * (FLOOD // 3)).quoted,
    "iperf3": lambda: (
        Iperf3().told(STREAM, said(json.dumps({"error": "\x9b" * FLOOD})), said("{}")).problem
    ),
    "iperf": lambda: Iperf().told(STREAM, said("ERROR: " + "\x1b" * FLOOD), said("")).problem,
    "nginx": lambda: nginx.wrong_with(said("[emerg]" + "\x1b" * FLOOD, None, NOT_ENDED)),
}


@pytest.mark.parametrize("program", FLOODS)
def test_what_is_quoted_of_a_flood_takes_no_more_memory_than_the_flood(program: str) -> None:
    tracemalloc.start()
    try:
        words = FLOODS[program]()
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert words.isprintable()
    assert len(words) < 3 * LONGEST_WORDS
    assert most < 32 * FLOOD


def test_more_intervals_than_there_can_be_are_no_answer() -> None:
    def told(count: int) -> Told:
        intervals = tuple(Interval(began_ns=n, ended_ns=n + 1, amount=1) for n in range(count))
        program: Any = SimpleNamespace(told=lambda *_: Told(intervals=intervals))
        return told_by(program, STREAM, said(""), said(""))

    assert told(50).problem == ""
    assert told(100_000) == Told(problem="it tells of 100,000 intervals in 1.000 s")


def test_a_version_of_thousands_of_digits_is_none() -> None:
    one = PackagedProgram("iperf3", "apt-get install iperf3", "--version", r"iperf (3\.\d+)")
    assert one.version_of("iperf 3.12 (cJSON)", "iperf3") == "3.12"
    with pytest.raises(NotReadyError, match="is no iperf3") as refused:
        one.version_of(f"iperf 3.{'9' * 5_000}", "iperf3")
    assert len(str(refused.value.problems[0].why)) < 2 * LONGEST_WORDS


@pytest.mark.parametrize("wild", WILD, ids=lambda wild: f"{wild[:6]}-{len(wild)}")
class TestCounts:
    def test_haproxy_tells_no_such_count(self, wild: str) -> None:
        statistics = (HAPROXY / "show-stat.csv").read_text()
        activity = (HAPROXY / "show-activity.txt").read_text()
        column = statistics.splitlines()[0].removeprefix("# ").split(",").index("conn_tot")
        rows = [line.split(",") for line in statistics.splitlines()]
        for row in rows[1:]:
            if len(row) > column and row[1] == "FRONTEND":
                row[column] = wild
        lie = "\n".join(",".join(row) for row in rows)
        with pytest.raises(ComponentError, match="what haproxy counts cannot be read") as refused:
            told_in(lie, activity)
        assert len(str(refused.value.problems[0].why)) < LONGEST_WORDS

    def test_dpvs_tells_no_such_count(self, wild: str) -> None:
        heads = "1: dpdk0: socket 0\n    ipackets opackets\n"
        assert "ipackets" not in dpvs.blocks_in(f"{heads}    {wild} 5\n")["dpdk0"]
        with pytest.raises(ComponentError, match="tells of no server"):
            dpvs.served_in(f"  -> 198.19.0.1:80  {wild} 361 360 4000 5000\n")
        assert dpvs.entries_in(f"  -> 198.19.0.1:80 FullNat 1 {wild} 20\n") is None
        assert dpvs.missed_in(f"sa_miss {wild}\n") == 0
        pool = "pool_name elt_size header_size trailer_size\ndp_vs_conn_0 {} 64 0\n"
        assert dpvs.entry_bytes_in(pool.format(wild)) is None

    def test_dperf_tells_no_such_count(self, wild: str) -> None:
        text = total(**in_order(1234567)).replace("skOpen  1,234,567", f"skOpen  {wild}")
        assert wild in text
        try:
            told = totals_of(blocks_in(text))
            assert told is not None
            count = told.count("skOpen")
        except ComponentError as error:
            assert len(error.with_why) < LONGEST_WORDS
        else:
            raise AssertionError(f"dperf is believed to have opened {count} sockets")


def test_a_field_of_haproxy_without_end_is_an_error() -> None:
    with pytest.raises(ComponentError, match="cannot be read"):
        told_in(f"# pxname,svname\nclients,{'x' * 200_000}\n", "")


def test_a_line_of_dperf_without_end_is_looked_at_once() -> None:
    """With each of its letters as the begin of a name it would take hours."""
    flood = total(**in_order(3)).replace("skOpen", f"{'a' * (1 << 20)} skOpen", 1)
    told = totals_of(blocks_in(flood))
    assert told is not None
    assert told.count("skClose") == 3


class Wire:
    """A server of TRex in place of its connection, whose answer to one question is another one."""

    def __init__(self, server: TrexServer, method: str, result: Any) -> None:
        self.server, self.method, self.result = server, method, result
        self.answer = b""

    def send(self, question: bytes) -> None:
        self.answer = self.server.answer(question) or b""
        if json.loads(question)["method"] == self.method:
            told = {"jsonrpc": "2.0", "id": json.loads(question)["id"], "result": self.result}
            self.answer = json.dumps(told).encode()

    def recv(self) -> bytes:
        return self.answer

    def poll(self, _: int) -> bool:
        return True


@contextmanager
def talking(kind: type[Any], method: str, result: Any) -> Iterator[Any]:
    told = {"client": opened(100), "server": served(100)}
    stateful = kind is StatefulServer
    server = StatefulTrexServer(told=told) if stateful else TrexServer()
    client: Any = object.__new__(Client)
    client.where, client.socket, client.number = "here", Wire(server, method, result), 0
    client.handler = client.broken = None
    yield kind(client=client, ports=(0, 1), user="vsperf")


def use(server: Server) -> None:
    """Ask for all that a trial takes."""
    server.greet()
    server.acquire(force=False)
    server.events()
    if isinstance(server, StatefulServer):
        server.load({"templates": []})
        server.start(0, 1.0, 1.0)
        server.state()
        server.counted()
        server.busy_ppm()
    elif isinstance(server, StatelessServer):
        server.now()
        server.finished()
        server.histogram(1)
        server.read((1,))


def test_a_name_of_an_owner_that_has_no_end_is_told_by_its_first_words() -> None:
    with (
        talking(StatelessServer, "get_owner", {"owner": {"a" * 5_000: 1}}) as server,
        pytest.raises(NotReadyError, match="belongs to") as taken,
    ):
        server.acquire(force=False)
    assert len(taken.value.problems[0].what) < 1_000


EACH = {str(number): "1" for number in range(200)}
"""By number, each counter as what is none."""
PORT = {"index": 0, "rx": {"caps": ["flow_stats", "latency"]}}
NO_PORTS: tuple[Any, ...] = (5, ["x"], [{}], [PORT])
NO_COUNTERS: tuple[Any, ...] = ([{}], 5, [{"name": 1}])
OTHER_ANSWERS: tuple[tuple[type[Server], str, Any], ...] = (
    *((StatelessServer, "get_system_info", {"ports": ports}) for ports in NO_PORTS),
    (StatelessServer, "get_system_info", {"ports": [PORT, {"index": 1, "rx": {"caps": [{}]}}]}),
    (StatelessServer, "get_system_info", {"ports": [PORT, {"index": 1, "rx": None}]}),
    *((StatelessServer, "get_async_events", {"data": data}) for data in (5, ["x"], {"a": 1})),
    (StatelessServer, "get_async_events", {"data": [{"type": 4, "data": {"port_id": "x"}}]}),
    (StatelessServer, "get_async_events", {"data": [{"type": 5, "data": ["port_id"]}]}),
    *((StatelessServer, "ping", result) for result in ({}, {"ts": "x"}, {"ts": None}, 5)),
    *(
        (StatelessServer, "get_pgid_stats", {"flow_stats": {"1": one}, "latency": one})
        for one in (5, {}, {"tp": 5, "rp": 5}, {"tp": {"0": -1}, "rp": {}})
    ),
    *((StatefulServer, "acquire", {"ports": ports}) for ports in ({"x": "a"}, 5)),
    *((StatefulServer, "get_async_events", {"data": data}) for data in (["x"], [{"data": [1]}])),
    *((StatefulServer, "get_counter_desc", {"data": data}) for data in NO_COUNTERS),
    *((StatefulServer, "get_counter_values", {"client": EACH | one}) for one in ({"1": -1}, {})),
    *((StatefulServer, "get_global_stats", {"m_cpu_util": busy}) for busy in (-1, 1e300, "5")),
)


@pytest.mark.parametrize("number", range(len(OTHER_ANSWERS)))
def test_another_answer_of_trex_is_an_error_that_says_so(number: int) -> None:
    kind, method, result = OTHER_ANSWERS[number]
    with talking(kind, method, result) as server, pytest.raises((ComponentError, NotReadyError)):
        use(server)


@pytest.mark.parametrize("number", ["NaN", "Infinity", "1e400", "9" * 30, "9" * 4_000])
def test_a_number_of_trex_that_is_none_is_no_answer(number: str) -> None:
    with talking(StatefulServer, "nothing", None) as server:
        server.client.socket.answer = f'{{"id": 0, "result": {{"m_cpu_util": {number}}}}}'.encode()
        with pytest.raises(ComponentError, match="at here does not answer"):
            server.client._result("get_global_stats", server.client.socket.answer)
