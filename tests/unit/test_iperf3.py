"""What iperf3 tells, by recorded answers of the real one (3.12), and what of it is believed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from simulated_cases import simulated_case

from vsperf.config.case import CaseSpec
from vsperf.drivers.programs.base import NOT_ENDED, Rendezvous, Said, Told
from vsperf.drivers.programs.iperf3.driver import IPERF3, Iperf3, Iperf3Spec
from vsperf.errors import NotReadyError, UsageError
from vsperf.methods.exchanges import ExchangeAsked
from vsperf.records.exchange import Traffic

GOLDEN = Path(__file__).parents[1] / "golden" / "programs" / "iperf3"
TCP = ExchangeAsked("tcp-stream", 1, 2_000_000_000)
UDP = ExchangeAsked("udp-stream", 1, 2_000_000_000, write_bytes=1400)
MEET = Rendezvous("198.19.0.1", 11003)


def said(name: str, exit_code: int | None = 0, ending: str = "ended with exit code 0") -> Said:
    text = (GOLDEN / f"{name}.txt").read_text() if name else ""
    return Said(exit_code, ending, text)


def changed(name: str, change: dict[str, Any]) -> Said:
    document = json.loads((GOLDEN / f"{name}.txt").read_text())
    return Said(0, "ended with exit code 0", json.dumps({**document, **change}))


def case(**settings: Any) -> CaseSpec:
    program = Iperf3Spec.model_validate({"kind": "iperf3", **settings})
    return simulated_case().model_copy(update={"program": program})


def told(asked: ExchangeAsked, client: Said, server: Said) -> Told:
    return Iperf3().told(asked, client, server)


def test_a_stream_of_tcp_tells_what_both_ends_counted() -> None:
    found = told(TCP, said("tcp-client"), said("tcp-server"))
    assert found.problem == ""
    assert (found.sent_bytes, found.received_bytes) == (1_500_774_400, 1_500_774_294)
    assert found.elapsed_ns == 2_003_013_000
    assert (found.write_bytes, found.congestion) == (131_072, "bbr")
    assert found.repeated_segments == 25
    assert (found.sent_packets, found.lost_packets) == (None, None)


def test_its_intervals_are_those_of_the_server_and_hold_all_that_arrived() -> None:
    found = told(TCP, said("tcp-client"), said("tcp-server"))
    assert len(found.intervals) == 5
    first = found.intervals[0]
    assert (first.began_ns, first.ended_ns, first.amount) == (0, 500_339_000, 422_576_128)
    assert sum(one.amount for one in found.intervals) == found.received_bytes


def test_of_datagrams_what_was_received_is_told_beside_what_was_sent() -> None:
    found = told(UDP, said("udp-client"), said("udp-server"))
    assert found.problem == ""
    assert (found.sent_bytes, found.received_bytes) == (186_172_000, 79_830_800)
    assert (found.sent_packets, found.lost_packets) == (132_980, 132_980 - 79_830_800 // 1400)
    assert (found.repeated_segments, found.congestion) == (None, None)


@pytest.mark.parametrize(
    ("client", "server", "problem"),
    [
        (
            said("refused-client"),
            said("tcp-server"),
            "its client says: unable to connect to server: Connection refused",
        ),
        (
            said("", -9, "was killed by SIGKILL"),
            said("killed-client-server"),
            "its client was killed by SIGKILL; its server says: the client has unexpectedly "
            "closed the connection",
        ),
        (
            said("killed-server-client"),
            said("", -9, "was killed by SIGKILL"),
            "its client says: control socket has closed unexpectedly; its server was killed by "
            "SIGKILL",
        ),
        (
            said("tcp-client"),
            said("port-taken-server", 1, "ended with exit code 1"),
            "its server says: error - unable to start listener for connections: Address already "
            "in use",
        ),
        (
            said("tcp-client"),
            said("tcp-server", 1, "ended with exit code 1"),
            "its server ended with exit code 1",
        ),
        (
            said("tcp-client"),
            changed("tcp-server", {"end": {}}),
            "its server told no end",
        ),
        (
            said("", None, NOT_ENDED),
            said("", -9, "was killed by SIGKILL"),
            "its server was killed by SIGKILL",
        ),
    ],
    ids=[
        *("refused", "client killed", "server killed", "port taken", "exit code", "no end"),
        "client waited",
    ],
)
def test_what_went_wrong_is_told_by_who_and_how_whatever_the_exit_code(
    client: Said, server: Said, problem: str
) -> None:
    found = told(TCP, client, server)
    assert found.problem == problem
    assert (found.received_bytes, found.elapsed_ns, found.intervals) == (None, None, ())


@pytest.mark.parametrize(
    "change",
    [
        {"intervals": [{"sum": {"start": 0, "end": 1, "bytes": -1}}]},
        {"intervals": [{"sum": {"start": "x", "end": 1, "bytes": 1}}]},
        {"intervals": 5},
        {"end": {"streams": [{}], "sum_received": {"bytes": True}}},
        {"end": {"streams": [{}, {}], "sum_received": {"bytes": 1}}},
        {"end": {"streams": [{}], "sum_received": 7}},
    ],
)
def test_an_answer_of_another_shape_is_a_problem_and_no_number(change: dict[str, Any]) -> None:
    found = told(TCP, said("tcp-client"), changed("tcp-server", change))
    assert found.problem
    assert found.received_bytes is None


def test_a_warning_before_an_answer_is_no_failure() -> None:
    """A datagram that fills a frame is longer than a segment of TCP, whose header has options."""
    warning = "warning: UDP block size 1472 exceeds TCP MSS 1448, may result in fragmentation\n"
    client = said("udp-client")
    warned = told(UDP, Said(0, client.ending, warning + client.text), said("udp-server"))
    assert warned == told(UDP, client, said("udp-server"))
    assert warned.problem == ""
    alone = told(UDP, Said(1, "ended with exit code 1", warning), said("udp-server"))
    assert alone.problem.startswith("its client ended with exit code 1, and said: warning: UDP")


def parts(*rows: tuple[float, float, int]) -> Said:
    intervals = [{"sum": {"start": a, "end": b, "bytes": count}} for a, b, count in rows]
    return changed("tcp-server", {"intervals": intervals})


def test_intervals_that_do_not_come_to_their_sum_are_no_rate() -> None:
    whole = 1_500_774_294
    fine = told(TCP, said("tcp-client"), parts((0, 1, whole // 2), (1, 2, whole // 2)))
    assert fine.problem == ""
    for server in (
        parts((0, 1, whole), (1, 2, whole)),
        parts((0, 1, whole // 2)),
        parts(),
    ):
        found = told(TCP, said("tcp-client"), server)
        assert "its server received 1,500,774,294 bytes by its sum, and" in found.problem
        assert found.received_bytes is None


def test_intervals_that_lie_over_each_other_are_no_answer() -> None:
    half = 1_500_774_294 // 2
    found = told(TCP, said("tcp-client"), parts((0, 1.5, half), (0.5, 2, half)))
    assert "cannot be read" in found.problem
    assert found.intervals == ()


def test_half_an_answer_and_numbers_that_nobody_counted_are_problems() -> None:
    whole = (GOLDEN / "tcp-server.txt").read_text()
    for text in (whole[: len(whole) // 2], whole.replace("1500774294", "9" * 30), "[1]", ""):
        found = told(TCP, said("tcp-client"), Said(0, "ended with exit code 0", text))
        assert found.problem
        assert found.received_bytes is None


def test_it_is_run_as_asked_in_whole_seconds_with_a_port_of_its_own() -> None:
    asked = ExchangeAsked("udp-stream", 2, 1_500_000_000, 1_000_000_000, 1400, 65_536)
    client = Iperf3().client(case(), "/usr/bin/iperf3", asked, MEET)
    assert client[client.index("--time") + 1] == "3"
    for words in (
        ("--client", "198.19.0.1"),
        ("--port", "11003"),
        ("--bitrate", "0"),
        ("--length", "1400"),
        ("--window", "65536"),
    ):
        assert client[client.index(words[0]) + 1] == words[1]
    server = Iperf3().server(case(), "/usr/bin/iperf3", asked, MEET)
    assert {"--server", "--one-off", "--json"} <= set(server)
    assert server[server.index("--port") + 1] == "11003"


@pytest.mark.parametrize(
    ("traffic", "size", "fix"),
    [("udp-stream", 1, "search.write=16B"), ("tcp-stream", 2 << 20, "search.write=1MiB")],
)
def test_sizes_that_it_does_not_write_are_refused_before_it_is_run(
    traffic: Traffic, size: int, fix: str
) -> None:
    asked = ExchangeAsked(traffic, 1, 1_000_000_000, write_bytes=size)
    with pytest.raises(UsageError) as refused:
        Iperf3().client(case(), "/usr/bin/iperf3", asked, MEET)
    assert fix in (refused.value.problems[0].fix or "")


def test_how_tcp_adapts_its_rate_is_said_where_it_was_asked_for_and_never_of_datagrams() -> None:
    cubic = case(congestion="cubic")
    client = Iperf3().client(cubic, "/usr/bin/iperf3", TCP, MEET)
    assert client[client.index("--congestion") + 1] == "cubic"
    assert "--congestion" not in Iperf3().client(case(), "/usr/bin/iperf3", TCP, MEET)
    assert "--congestion" not in Iperf3().client(cubic, "/usr/bin/iperf3", UDP, MEET)


def test_its_version_is_read_and_another_program_is_none() -> None:
    assert IPERF3.version_of("iperf 3.12 (cJSON 1.7.15)\nLinux", "iperf3") == "3.12"
    with pytest.raises(NotReadyError, match="is no iperf3"):
        IPERF3.version_of("iperf version 2.1.8", "iperf")


def test_what_has_to_be_known_of_a_version_is_told() -> None:
    def known(version: str) -> str:
        return "; ".join(one.what for one in Iperf3.FAULTS if one.is_in(version))

    assert known("3.12").startswith("it exits with 0 when it fails")
    assert "one thread for all streams" in known("3.12")
    assert "exits with 0" not in known("3.14")
    assert "a thread for each stream: do not hold" in known("3.18")
    assert "one thread for all" not in known("3.18").replace("one with one for all", "")


def test_what_is_told_of_an_answer_is_short_however_long_that_is() -> None:
    """It is recorded, and a line of records has a greatest length."""
    client = json.loads(said("tcp-client").text)
    client["end"]["sum_sent"]["bytes"] = "x" * 1_000_000
    client["end"]["sender_tcp_congestion"] = "x" * 1_000_000
    wrong = told(TCP, changed("tcp-client", {"end": client["end"]}), said("tcp-server"))
    assert "is no count" in wrong.problem and len(wrong.problem) < 400
    client["end"]["sum_sent"]["bytes"] = 1
    found = told(TCP, changed("tcp-client", {"end": client["end"]}), said("tcp-server"))
    assert found.problem == "" and len(found.congestion or "") < 400
