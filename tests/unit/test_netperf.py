"""What netperf tells, by recorded answers of the real one (2.7.1), and what of it is believed."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from simulated_cases import simulated_case

from vsperf.config.case import CaseSpec
from vsperf.drivers.programs.base import Rendezvous, Said, Told
from vsperf.drivers.programs.netperf.driver import NETPERF, Netperf, NetperfSpec
from vsperf.errors import NotReadyError
from vsperf.methods.exchanges import ExchangeAsked
from vsperf.records.exchange import RoundTrips

GOLDEN = Path(__file__).parents[1] / "golden" / "programs" / "netperf"
RR = ExchangeAsked("tcp-rr", 1, 2_000_000_000)
UDP = ExchangeAsked("udp-rr", 1, 2_000_000_000)
DATAGRAMS = ExchangeAsked("udp-stream", 1, 1_000_000_000, write_bytes=1400)
CRR = ExchangeAsked("tcp-crr", 1, 2_000_000_000)
STREAM = ExchangeAsked("tcp-stream", 1, 2_000_000_000, write_bytes=65_536)
MEET = Rendezvous("198.19.0.1", 11003)
STANDS = Said(None, "had not ended", "")
"""A server that goes on after its client has ended, as all of them do."""


def said(name: str, exit_code: int | None = 0, ending: str = "ended with exit code 0") -> Said:
    return Said(exit_code, ending, (GOLDEN / f"{name}-client.txt").read_text())


def changed(name: str, key: str, value: str) -> Said:
    text, count = re.subn(rf"^{re.escape(key)}=.*$", f"{key}={value}", said(name).text, flags=re.M)
    assert count == 1
    return Said(0, "ended with exit code 0", text)


def case(**settings: Any) -> CaseSpec:
    program = NetperfSpec.model_validate({"kind": "netperf", **settings})
    return simulated_case().model_copy(update={"program": program})


def told(asked: ExchangeAsked, client: Said, server: Said = STANDS) -> Told:
    return Netperf().told(asked, client, server)


@pytest.mark.parametrize(
    ("asked", "name"), [(RR, "tcp-rr"), (UDP, "udp-rr"), (CRR, "tcp-crr")], ids=str
)
def test_transactions_are_those_that_were_answered_and_intervals_come_to_them(
    asked: ExchangeAsked, name: str
) -> None:
    found = told(asked, said(name))
    assert found.problem == ""
    answered = re.search(r"^LOCAL_BYTES_RECVD=(\d+)$", said(name).text, re.M)
    assert answered is not None
    assert found.transactions == int(answered[1])
    assert sum(one.amount for one in found.intervals) == found.transactions
    assert found.intervals[-1].ended_ns == found.elapsed_ns
    ended = re.findall(r"^NETPERF_ENDING\[\d+\]=(\d+)\.(\d+)$", said(name).text, re.M)[-1]
    assert (found.ended_at_ns or 0) // 1_000_000 == pytest.approx(int("".join(ended)), abs=1)
    assert (found.sent_bytes, found.received_bytes) == (None, None)


def test_intervals_lie_side_by_side_and_have_the_rates_that_are_told() -> None:
    text = said("tcp-rr").text
    rates, lengths = (
        [float(one) for one in re.findall(rf"^NETPERF_{key}\[\d+\]=(\S+)$", text, re.M)]
        for key in ("INTERIM_RESULT", "INTERVAL")
    )
    found = told(RR, said("tcp-rr")).intervals
    assert len(found) == len(rates) > 2
    for one, rate, length in zip(found, rates, lengths, strict=True):
        assert one.ended_ns - one.began_ns == pytest.approx(length * 1e9, abs=2)
        assert one.amount == pytest.approx(rate * length, rel=0.02)
    assert [one.began_ns for one in found[1:]] == [one.ended_ns for one in found[:-1]]


def test_round_trips_are_told_in_microseconds_and_kept_in_nanoseconds() -> None:
    answer = Said(0, "ended", said("tcp-rr").text)
    for key, value in {
        "MEAN_LATENCY": "118.80",
        "MIN_LATENCY": "15",
        "P50_LATENCY": "20",
        "P90_LATENCY": "25",
        "P99_LATENCY": "510",
        "MAX_LATENCY": "300923",
    }.items():
        text = re.sub(rf"^{key}=.*$", f"{key}={value}", answer.text, flags=re.M)
        answer = Said(0, "ended", text)
    assert told(RR, answer).round_trips == RoundTrips(
        mean_ns=118_800, least_ns=15_000, p50_ns=20_000, p90_ns=25_000, p99_ns=510_000,
        most_ns=300_923_000,
    )  # fmt: skip


def test_a_stream_tells_what_both_ends_counted_whose_last_write_may_be_cut_short() -> None:
    sent, received = "126713856", "126716626"
    answer = changed("tcp-stream", "LOCAL_BYTES_SENT", sent).text
    answer = re.sub(
        r"^REMOTE_BYTES_RECVD=.*$", f"REMOTE_BYTES_RECVD={received}", answer, flags=re.M
    )
    found = told(STREAM, Said(0, "ended", answer))
    assert (found.sent_bytes, found.received_bytes) == (int(received), int(received))
    assert sum(one.amount for one in found.intervals) == int(received)
    assert found.write_bytes == 65_536
    much_more = answer.replace(received, "226716626")
    told_more = told(STREAM, Said(0, "ended", much_more))
    assert (told_more.sent_bytes, told_more.received_bytes) == (int(sent), 226_716_626)


@pytest.mark.parametrize(
    ("name", "size", "sent", "received"),
    [("udp-stream", 1400, 35_193, 13_556), ("udp-stream-1-byte", 1, 32_151, 21_842)],
)
def test_of_datagrams_what_was_received_is_told_beside_what_was_sent_as_one_sum(
    name: str, size: int, sent: int, received: int
) -> None:
    """Its intervals are of what was sent, so that when the others arrived is told by nobody."""
    found = told(replace(DATAGRAMS, write_bytes=size), said(name))
    assert found.problem == ""
    assert (found.sent_packets, found.lost_packets) == (sent, sent - received)
    assert (found.sent_bytes, found.received_bytes) == (sent * size, received * size)
    assert (found.write_bytes, found.congestion, found.repeated_segments) == (size, None, None)
    (whole,) = found.intervals
    assert (whole.began_ns, whole.ended_ns) == (0, found.elapsed_ns)
    assert whole.amount == found.received_bytes


# Built without interim results it says so first, as its source has it, and tells sums alone.

WITHOUT = """\
Sorry, Demo Mode not configured into this netperf.
please consider reconfiguring netperf with
--enable-demo=yes and recompiling
"""


def without_intervals(name: str) -> Said:
    sums = re.sub(r"^NETPERF_\w+\[\d+\]=.*\n", "", said(name).text, flags=re.M)
    return Said(0, "ended with exit code 0", WITHOUT + sums)


@pytest.mark.parametrize(
    ("asked", "name", "elapsed_ns"),
    [
        (STREAM, "tcp-stream", 2_350_000_000),
        (RR, "tcp-rr", 2_000_000_000),
        (DATAGRAMS, "udp-stream", 1_190_000_000),
    ],
    ids=["tcp stream", "tcp rr", "udp stream"],
)
def test_a_build_without_intervals_has_one_sum_of_all_the_time(
    asked: ExchangeAsked, name: str, elapsed_ns: int
) -> None:
    found, whole = told(asked, without_intervals(name)), told(asked, said(name))
    assert found.problem == ""
    assert (found.received_bytes, found.transactions) == (whole.received_bytes, whole.transactions)
    (one,) = found.intervals
    assert (one.began_ns, one.ended_ns) == (0, elapsed_ns)
    assert one.amount == (found.received_bytes or found.transactions)
    assert (found.elapsed_ns, found.ended_at_ns) == (elapsed_ns, None)


def test_such_a_build_is_no_answer_where_only_intervals_tell_what_has_to_be_known() -> None:
    for asked, name, untold in (
        (UDP, "udp-rr", "whether a client waited for a datagram that was lost"),
        (CRR, "tcp-crr", "when a client ceased to open connections"),
    ):
        found = told(asked, without_intervals(name))
        assert "built without interim results" in found.problem
        assert untold in found.problem
        assert found.transactions is None


def test_a_client_that_tells_of_no_interval_and_can_waited_for_what_never_came() -> None:
    nothing = without_intervals("tcp-rr").text.removeprefix(WITHOUT)
    assert "waited for what never came" in told(RR, Said(0, "ended", nothing)).problem


def test_a_stream_by_smaller_sockets_than_were_asked_for_is_no_answer() -> None:
    """The kernel takes what is more than its limit for the limit, and says twice that."""
    asked = ExchangeAsked("tcp-stream", 1, 2_000_000_000, buffer_bytes=524_288)
    whole = said("tcp-stream").text
    for key, limit in {"LSS_SIZE_END": "wmem_max", "RSR_SIZE_END": "rmem_max"}.items():
        for size, given in (("425984", "212,992"), ("1048574", "524,287")):
            cut = told(asked, Said(0, "ended", f"{whole}\n{key}={size}\n"))
            assert f"of its sockets has {given} bytes, and 524,288 were asked for" in cut.problem
            assert f"net.core.{limit} " in cut.problem
            assert cut.received_bytes is None
        for size in ("1048576", "-1"):
            assert told(asked, Said(0, "ended", f"{whole}\n{key}={size}\n")).problem == ""
        assert told(STREAM, Said(0, "ended", f"{whole}\n{key}=425984\n")).problem == ""


def test_a_client_that_fails_is_quoted_and_a_server_that_ended_is_to_blame_too() -> None:
    killed = said("killed-server", 1, "ended with exit code 1")
    server = Said(-9, "was killed by SIGKILL", "")
    problem = told(RR, killed, server).problem
    assert "its client ended with exit code 1, and said: " in problem
    assert problem.endswith("; its server was killed by SIGKILL")
    refused = said("refused", 255, "ended with exit code 255")
    assert "are you sure there is a netserver listening" in told(RR, refused).problem


def test_a_server_that_ended_is_told_of_also_where_its_client_saw_nothing() -> None:
    problem = told(RR, said("tcp-rr"), Said(0, "ended with exit code 0", "")).problem
    assert problem == "its server ended with exit code 0"


def test_a_server_that_stands_still_in_the_end_is_to_blame() -> None:
    stopped = Said(None, "is stopped: somebody sent it SIGSTOP, or debugs it", "")
    found = told(STREAM, said("tcp-stream"), stopped)
    assert found.problem == "its server is stopped: somebody sent it SIGSTOP, or debugs it"
    assert found.received_bytes is None


def test_a_client_that_waited_for_a_lost_datagram_has_no_rate() -> None:
    text = said("udp-rr").text
    first = re.sub(r"^NETPERF_\w+\[[1-9]\d*\]=.*\n", "", text, flags=re.M)
    assert first != text
    found = told(UDP, Said(0, "ended", first))
    assert "waited for what never came" in found.problem
    assert found.transactions is None


@pytest.mark.parametrize(
    ("case", "kind", "key", "value"),
    [
        *(
            (RR, "tcp-rr", key, value)
            for key, value in (
                ("LOCAL_BYTES_RECVD", "many"), ("LOCAL_BYTES_RECVD", "-1"),
                ("LOCAL_BYTES_RECVD", "9" * 30), ("RESPONSE_SIZE", "2"), ("ELAPSED_TIME", "nan"),
                ("MAX_LATENCY", "1e9"), ("NETPERF_INTERVAL[0]", "-1"),
                ("NETPERF_INTERVAL[0]", "9" * 19),
            )
        ),
        (DATAGRAMS, "udp-stream", "REMOTE_RECV_CALLS", "35194"),
    ],
)  # fmt: skip
def test_what_cannot_be_is_no_answer(case: Any, kind: str, key: str, value: str) -> None:
    found = told(case, changed(kind, key, value))
    assert "cannot be read" in found.problem
    assert (found.transactions, found.received_bytes) == (None, None)


def test_a_version_that_tells_no_latency_still_has_a_rate() -> None:
    text = re.sub(r"^(\w+_LATENCY)=.*$", r"\1=-1", said("tcp-rr").text, flags=re.M)
    found = told(RR, Said(0, "ended", text))
    assert found.problem == ""
    assert found.round_trips is None


def test_the_server_serves_in_the_foreground() -> None:
    words = Netperf().server(case(), "/its/netserver", RR, MEET)
    assert words[:4] == ("/its/netserver", "-D", "-f", "-N")
    assert words[5:9] == ("-L", "198.19.0.1,4", "-p", "11003")


def test_requests_writes_and_sockets_are_what_is_asked_for() -> None:
    asked = ExchangeAsked("udp-rr", 1, 1_500_000_000, 0, request_bytes=100, response_bytes=200)
    words = " ".join(Netperf().client(case(), "/its/netperf", asked, MEET))
    assert "-t UDP_RR -l 2 " in words
    assert "-P ,12003" in words
    assert words.endswith("-r 100,200")
    words = " ".join(Netperf().client(case(), "/its/netperf", DATAGRAMS, MEET))
    assert "-t UDP_STREAM -l 1 " in words
    assert words.endswith(" -R 1 -m 1400")
    buffered = ExchangeAsked("tcp-stream", 1, 1_000_000_000, 0, 1400, 65_536)
    words = " ".join(Netperf().client(case(), "/its/netperf", buffered, MEET))
    assert words.endswith("-m 1400 -s 65536 -S 65536")


def test_how_tcp_adapts_its_rate_is_said_where_it_was_asked_for_and_never_of_datagrams() -> None:
    spec = NetperfSpec.model_validate({"kind": "netperf", "congestion": "cubic"})
    chosen = case().model_copy(update={"program": spec})
    words = Netperf().client(chosen, "/its/netperf", RR, MEET)
    assert words[words.index("-K") + 1] == "cubic"
    assert "-K" not in Netperf().client(chosen, "/its/netperf", DATAGRAMS, MEET)
    assert "-K" not in Netperf().client(case(), "/its/netperf", RR, MEET)


def test_a_version_is_read_and_another_program_is_none() -> None:
    assert NETPERF.version_of("Netperf version 2.7.1", "/its/netperf") == "2.7.1"
    for other in ("iperf 3.12", "x" * 1_000_000):
        with pytest.raises(NotReadyError, match="is no netperf") as refused:
            NETPERF.version_of(other, "/its/netperf")
        assert len(refused.value.problems[0].why or "") < 300
