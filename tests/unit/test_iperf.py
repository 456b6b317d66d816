"""What iperf 2 tells, by recorded answers of 2.1.8 and 2.2.1, and what of it is believed."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from simulated_cases import simulated_case

from vsperf.config.case import CaseSpec
from vsperf.drivers.programs.base import NOT_ENDED, InstalledProgram, Rendezvous, Said, Told
from vsperf.drivers.programs.find import PackagedProgram
from vsperf.drivers.programs.iperf.driver import IPERF, Iperf, IperfSpec
from vsperf.errors import NotReadyError, UsageError
from vsperf.methods.exchanges import ExchangeAsked

GOLDEN = Path(__file__).parents[1] / "golden" / "programs" / "iperf"
TCP = ExchangeAsked(
    "tcp-stream", 1, 1_500_000_000, write_bytes=131_072, buffer_bytes=524_288
)  # `-w 512K -l 128K`
UDP = ExchangeAsked("udp-stream", 1, 1_500_000_000, write_bytes=1400)
MEET = Rendezvous("198.19.0.1", 11003)
LOOKED_LIKE = "ended with exit code 0"


def said(name: str, exit_code: int | None = 0, ending: str = LOOKED_LIKE) -> Said:
    text = (GOLDEN / f"{name}.txt").read_text() if name else ""
    return Said(exit_code, ending, text)


def changed(name: str, pattern: str, by: str) -> Said:
    text, count = re.subn(pattern, by, said(name).text, flags=re.MULTILINE)
    assert count == 1
    return Said(0, LOOKED_LIKE, text)


def case(**settings: Any) -> CaseSpec:
    program = IperfSpec.model_validate({"kind": "iperf", **settings})
    return simulated_case().model_copy(update={"program": program})


def told(asked: ExchangeAsked, client: Said, server: Said) -> Told:
    return Iperf().told(asked, client, server)


def test_a_stream_of_tcp_tells_what_both_ends_counted_to_the_byte() -> None:
    found = told(TCP, said("tcp-client"), said("tcp-server"))
    assert found.problem == ""
    assert (found.sent_bytes, found.received_bytes) == (5_137_104_956, 5_137_104_956)
    assert found.elapsed_ns == 1_803_200_000
    assert (found.write_bytes, found.congestion, found.repeated_segments) == (131_072, "cubic", 3)
    assert (found.sent_packets, found.lost_packets) == (None, None)


def test_its_intervals_are_those_of_the_server_and_come_to_all_that_arrived() -> None:
    for name, asked in (("tcp", TCP), ("udp", UDP)):
        found = told(asked, said(f"{name}-client"), said(f"{name}-server"))
        assert (found.intervals[0].began_ns, found.intervals[0].ended_ns) == (0, 250_000_000)
        assert sum(one.amount for one in found.intervals) == found.received_bytes
        ends = [one.ended_ns for one in found.intervals]
        assert [one.began_ns for one in found.intervals] == [0, *ends[:-1]]
    assert found.intervals[-1].ended_ns == 1_640_000_000


def test_the_first_interval_of_a_server_that_was_cut_off_is_not_taken_for_all_of_the_time() -> None:
    for name, asked in (("tcp", TCP), ("udp", UDP)):
        text = said(f"{name}-server").text
        first = text[: text.index("0.2500-0.5000")].rpartition("\n")[0]
        assert "0.0000-0.2500 sec" in first
        found = told(asked, said(f"{name}-client"), Said(None, NOT_ENDED, first))
        assert "told no line for all of the time" in found.problem
        assert found.received_bytes is None


def test_what_is_in_no_line_came_in_the_last_interval_of_which_there_is_none() -> None:
    """It leaves out the line of a last interval with one read in it."""
    assert "] 1.7500-" not in said("tcp-server").text
    last = told(TCP, said("tcp-client"), said("tcp-server")).intervals[-1]
    assert (last.began_ns, last.ended_ns, last.amount) == (1_750_000_000, 1_785_500_000, 131_072)
    lines = said("tcp-server").text.splitlines()
    told_of = [line for line in lines if " sec " in line]
    without = "\n".join(line for line in lines if line not in told_of[:-1])
    (whole,) = told(TCP, said("tcp-client"), Said(0, LOOKED_LIKE, without)).intervals
    assert (whole.began_ns, whole.ended_ns, whole.amount) == (0, 1_785_500_000, 5_137_104_956)


def test_of_datagrams_what_was_received_is_told_beside_what_was_sent_without_its_last_one() -> None:
    """A client counts the datagram by which it says that it ends, and its server does not."""
    found = told(UDP, said("udp-client"), said("udp-server"))
    assert found.problem == ""
    assert "Sent 126144 datagrams" in said("udp-client").text
    assert (found.sent_packets, found.lost_packets) == (126_143, 62_389)
    assert (found.sent_bytes, found.received_bytes) == (126_143 * 1400, 63_754 * 1400)
    assert (found.repeated_segments, found.congestion) == (None, None)


def test_a_server_that_counts_the_end_as_well_is_believed_and_no_more_than_that() -> None:
    """Some do, where a datagram before it was lost: of 100 floods about ten."""
    server = said("udp-server").text
    for counted, problem in (("62390/126144", ""), ("62391/126145", "126,145 datagrams")):
        assert server.count("62389/126143") == 1
        told_of = Said(0, LOOKED_LIKE, server.replace("62389/126143", counted))
        found = told(UDP, said("udp-client"), told_of)
        assert problem in found.problem
        assert bool(found.problem) == bool(problem)
        if not problem:
            assert (found.sent_packets, found.lost_packets) == (126_143, 62_389)


def test_what_a_client_repeats_of_its_servers_report_is_not_what_it_sent() -> None:
    assert "Server Report:" in said("udp-client").text
    own = Said(0, LOOKED_LIKE, said("udp-client").text.partition("[  1] Server Report:")[0])
    server = said("udp-server")
    assert told(UDP, own, server) == told(UDP, said("udp-client"), server)


def test_a_later_version_says_the_same_in_other_words() -> None:
    plain = ExchangeAsked("tcp-stream", 1, 1_500_000_000)
    found = told(plain, said("tcp-2.2.1-client"), said("tcp-2.2.1-server"))
    assert (found.problem, found.received_bytes) == ("", 1_372_192_832)
    assert (found.write_bytes, found.congestion, found.repeated_segments) == (131_072, "bbr", 0)
    small = replace(UDP, write_bytes=16)
    found = told(small, said("udp-2.2.1-client"), said("udp-2.2.1-server"))
    assert (found.problem, found.received_bytes) == ("", 786_608)
    assert (found.sent_packets, found.lost_packets) == (86_094, 36_931)


def test_datagrams_too_short_for_their_numbers_are_no_answer() -> None:
    """Their server read what was behind each of them, and told of 16,777,216 with one received."""
    short = replace(UDP, write_bytes=1)
    found = told(short, said("udp-1-byte-client"), said("udp-1-byte-server"))
    assert "its server tells of 16,777,216 datagrams, and its client sent 69,422" in found.problem
    assert (found.received_bytes, found.sent_packets) == (None, None)


def test_that_nobody_answered_the_last_datagram_says_nothing_of_the_others() -> None:
    small = replace(UDP, write_bytes=16)
    server = said("udp-unanswered-server")
    assert "WARNING: ack of last datagram failed" in server.text
    found = told(small, said("udp-unanswered-client"), server)
    assert found.problem == ""
    assert (found.sent_packets, found.lost_packets) == (587, 0)
    waits = told(UDP, said("udp-client"), said("udp-server", None, NOT_ENDED))
    assert waits == told(UDP, said("udp-client"), said("udp-server"))


@pytest.mark.parametrize(
    ("client", "server", "problem"),
    [
        (
            said("refused-client"),
            said("tcp-server"),
            "its client says: tcp connect failed: Connection refused",
        ),
        (
            said("", -9, "was killed by SIGKILL"),
            said("killed-client-server"),
            "its client was killed by SIGKILL; its server says: recv failed: Connection reset by "
            "peer",
        ),
        (
            said("killed-server-client"),
            said("", -9, "was killed by SIGKILL"),
            "its client says: tcp write failed: Connection reset by peer; its server was killed by "
            "SIGKILL",
        ),
        (
            said("tcp-client"),
            said("port-taken-server"),
            "its server says: listener bind failed: Address already in use",
        ),
        (
            said("tcp-client"),
            said("tcp-server", 1, "ended with exit code 1"),
            "its server ended with exit code 1",
        ),
        (
            said("tcp-client"),
            said("tcp-server", None, "is stopped: somebody sent it SIGSTOP, or debugs it"),
            "its server is stopped: somebody sent it SIGSTOP, or debugs it",
        ),
        (
            said("tcp-client"),
            said("", None, NOT_ENDED),
            "its server told no end: it had not ended",
        ),
        (
            said("", None, NOT_ENDED),
            said("", -9, "was killed by SIGKILL"),
            "its server was killed by SIGKILL",
        ),
    ],
    ids=[
        *("refused", "client killed", "server killed", "port taken", "exit code", "stopped", "end"),
        "client waited",
    ],
)
def test_what_went_wrong_is_told_by_who_and_how_though_it_exits_with_0(
    client: Said, server: Said, problem: str
) -> None:
    found = told(TCP, client, server)
    assert found.problem == problem
    assert (found.received_bytes, found.elapsed_ns, found.intervals) == (None, None, ())


def test_a_stream_by_smaller_sockets_than_were_asked_for_is_no_answer() -> None:
    for end, limit in (("client", "wmem_max"), ("server", "rmem_max")):
        ends = {"client": said("tcp-client"), "server": said("tcp-server")}
        ends[end] = changed(f"tcp-{end}", r"^(TCP window size:) \d+", r"\1 425984")
        found = told(TCP, ends["client"], ends["server"])
        assert "has 212,992 bytes, and 524,288 were asked for" in found.problem
        assert f"net.core.{limit} " in found.problem
        plain = replace(TCP, buffer_bytes=None)
        assert told(plain, ends["client"], ends["server"]).problem == ""


@pytest.mark.parametrize(
    ("end", "pattern", "by"),
    [
        ("server", r"^(\[  1\] 0\.0000-1\.\d+ sec) +\d+", r"\1  " + "9" * 19),
        ("server", r"^\[  1\] 0\.0000-1\.\d+ sec.*\n", ""),
        ("server", r"^(\[  1\] )0\.2500-0\.5000", r"\g<1>0.2000-0.5000"),
        ("client", r"^Write buffer size.*\n", ""),
        ("client", r"^TCP window size.*\n", ""),
    ],
    ids=["a count", "no line for all", "one over the other", "no size", "no socket"],
)
def test_what_cannot_be_is_no_answer(end: str, pattern: str, by: str) -> None:
    ends = {"client": said("tcp-client"), "server": said("tcp-server")}
    ends[end] = changed(f"tcp-{end}", pattern, by)
    found = told(TCP, ends["client"], ends["server"])
    assert "cannot be read" in found.problem
    assert len(found.problem) < 400
    assert found.received_bytes is None


def test_intervals_that_do_not_come_to_their_sum_are_no_rate() -> None:
    half = changed("tcp-server", r"^\[  1\] 0\.0000-0\.2500 sec.*\n", "")
    found = told(TCP, said("tcp-client"), half)
    assert "its server received 5,137,104,956 bytes by its sum, and 3,694,919,680" in found.problem
    assert found.received_bytes is None


def test_each_end_is_told_of_sizes_in_bytes_as_512k_is_another_number_to_each_version() -> None:
    server, client = (
        " ".join(end(case(congestion="cubic"), "iperf", TCP, MEET))
        for end in (Iperf().server, Iperf().client)
    )
    sizes = "-e -f b -l 131072 -w 524288"
    assert server == f"iperf --server --bind 198.19.0.1 --port 11003 -P 1 -i 0.25 {sizes}"
    assert client == f"iperf --client 198.19.0.1 --port 11003 -t 1.5 {sizes} -Z cubic"


def test_datagrams_are_sent_as_fast_as_can_be_and_read_as_long_as_they_are() -> None:
    server, client = (
        " ".join(end(case(congestion="cubic"), "/its/iperf", UDP, MEET))
        for end in (Iperf().server, Iperf().client)
    )
    assert server.endswith(" -u -l 1400")
    assert client.endswith(" -t 1.5 -e -f b -u -l 1400 -b 100g")


def test_datagrams_that_it_cannot_count_are_refused_before_it_is_run() -> None:
    with pytest.raises(UsageError) as refused:
        Iperf().client(case(), "/its/iperf", replace(UDP, write_bytes=15), MEET)
    assert "search.write=16B" in (refused.value.problems[0].fix or "")


def test_its_version_is_read_and_neither_iperf3_nor_an_old_one_is_taken(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert IPERF.version_of("iperf version 2.1.8 (12 August 2022) pthreads", "iperf") == "2.1.8"
    with pytest.raises(NotReadyError, match="is no iperf"):
        IPERF.version_of("iperf 3.12 (cJSON 1.7.15)", "/its/iperf")
    for version, fits in (("2.1.8", True), ("2.2.1", True), ("2.0.13", False)):
        found = InstalledProgram("/its/iperf", version)
        monkeypatch.setattr(PackagedProgram, "of", lambda *_, found=found: found)
        if fits:
            assert Iperf().find(case()) == found
            continue
        with pytest.raises(NotReadyError, match=r"the answers of iperf 2\.0\.13 are not read"):
            Iperf().find(case())
