"""What irtt tells, by recorded answers of the real one (0.9.0), and what of it is believed.

In those called `frozen` one end stood still for 150 ms in the midst. For `lossy` a relay was
between both ends, which lost three packets there and one back, doubled one, and held one back for
35 ms. A packet stands on a line of its own; of `killed-server` most are left out, as what it says
before them is what counts.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from simulated_cases import simulated_case

from vsperf.config.case import CaseSpec
from vsperf.drivers.programs.base import Rendezvous, Said, Told, in_steps
from vsperf.drivers.programs.irtt.driver import IRTT, Irtt, IrttSpec, packets_of
from vsperf.errors import NotReadyError
from vsperf.methods.exchanges import ExchangeAsked
from vsperf.records.exchange import ECHO
from vsperf.records.packets import Packets

GOLDEN = Path(__file__).parents[1] / "golden" / "programs" / "irtt"
MS = 1_000_000
MEET = Rendezvous("198.19.0.1", 11003)
STANDS = Said(None, "had not ended", "")
"""A server that goes on after its client has ended, as all of them do."""
Document = dict[str, Any]


def asked(duration_ms: int, interval_ms: int = 10, warm_up_ms: int = 0) -> ExchangeAsked:
    duration, warm_up = duration_ms * MS, warm_up_ms * MS
    return ExchangeAsked(ECHO, 1, duration, warm_up, interval_ns=interval_ms * MS)


def said(name: str, exit_code: int = 0, ending: str = "ended with exit code 0") -> Said:
    return Said(exit_code, ending, (GOLDEN / f"{name}-client.txt").read_text())


def document(name: str) -> Document:
    found: Document = json.loads(said(name).text)
    return found


def told(name: str, wanted: ExchangeAsked, server: Said = STANDS) -> Told:
    return Irtt().told(wanted, said(name), server)


def changed(change: Callable[[Document], object], name: str = "echo") -> Told:
    found = document(name)
    change(found)
    return Irtt().told(asked(500), Said(0, "ended with exit code 0", json.dumps(found)), STANDS)


def packets(found: Told) -> Packets:
    assert found.problem == ""
    assert found.packets is not None
    return found.packets


def test_each_packet_has_the_nanoseconds_between_its_own_two_times() -> None:
    found = packets(told("echo", asked(500)))
    rows = [row["timestamps"]["client"] for row in document("echo")["round_trips"]]
    own = [row["receive"]["monotonic"] - row["send"]["monotonic"] for row in rows]
    assert list(found.took_ns) == own
    late = [row["send"]["monotonic"] - rows[0]["send"]["monotonic"] for row in rows]
    assert list(found.late_ns) == [one - number * 10 * MS for number, one in enumerate(late)]


def test_its_own_times_leave_out_what_the_server_took_and_are_not_taken() -> None:
    found = packets(told("echo", asked(500)))
    own = [row["delay"]["rtt"] for row in document("echo")["round_trips"]]
    assert all(
        raw is not None and raw > theirs for raw, theirs in zip(found.took_ns, own, strict=True)
    )


def test_what_came_back_is_counted_once_in_intervals_that_come_to_it() -> None:
    found = told("echo", asked(400, warm_up_ms=100))
    assert found.transactions == 50
    assert sum(one.amount for one in found.intervals) == 50
    assert [one.ended_ns for one in found.intervals] == [250 * MS, 500 * MS]
    assert found.elapsed_ns == 500 * MS
    began = document("echo")["round_trips"][0]["timestamps"]["client"]["send"]["wall"]
    assert found.ended_at_ns == began + 500 * MS


def test_a_client_that_stood_still_hides_none_of_it() -> None:
    """Of what it sent no packet took a millisecond; those that were due meanwhile waited."""
    found = packets(told("frozen-client", asked(500))).whole
    stats = document("frozen-client")["stats"]
    assert stats["rtt"]["max"] < MS
    assert found.from_sent_ns[-1] < MS
    assert found.unsent == stats["timer_misses"] == 15
    assert found.due == 50
    assert 140 * MS < found.from_due_ns[-1] < 160 * MS
    waited = [one for one in found.from_due_ns if one > 5 * MS]
    assert len(waited) == 15
    steps = [later - one for one, later in pairwise(waited)]
    assert all(abs(step - 10 * MS) < MS for step in steps), "one each interval, evenly"


def test_a_server_that_stood_still_is_in_the_raw_times() -> None:
    found = packets(told("frozen-server", asked(500))).whole
    assert 140 * MS < found.from_sent_ns[-1] < 160 * MS
    assert found.lost == 0


def test_what_is_lost_there_and_back_doubled_and_out_of_order_is_counted_each() -> None:
    found = packets(told("lossy", asked(400)))
    assert (found.lost_there, found.lost_back) == (3, 1)
    assert (found.duplicates, found.out_of_order) == (1, 1)
    assert (found.whole.sent, found.whole.lost) == (40, 4)
    assert len(found.whole.from_due_ns) == 36
    assert found.whole.from_due_ns[-1] > 35 * MS


def test_a_server_that_died_is_told_though_its_client_exits_with_0() -> None:
    killed = Said(-9, "was killed by SIGKILL", "")
    assert told("killed-server", asked(600, 20), killed).problem == (
        "its server was killed by SIGKILL"
    )
    assert told("killed-server", asked(600, 20)).problem == (
        "its client says that it could not receive"
    )


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("refused", "connection refused"),
        ("limited", "server increased interval from 1ms to 10ms"),
    ],
)
def test_a_client_that_fails_is_quoted(name: str, words: str) -> None:
    client = said(name, 1, "ended with exit code 1")
    found = Irtt().told(asked(300), client, STANDS)
    assert found.problem.startswith("its client ended with exit code 1, and said: ")
    assert words in found.problem
    assert found.packets is None


def test_a_client_that_was_interrupted_wrote_nothing_and_exits_with_0() -> None:
    found = Irtt().told(asked(300), Said(0, "ended with exit code 0", ""), STANDS)
    assert found.problem == "its client told no end: it ended with exit code 0"


def _sent(at_us: int, number: int) -> Document:
    send = {"monotonic": 5 + at_us * 1000}
    times = {"client": {"send": send, "receive": {"monotonic": 6 + at_us * 1000}}}
    return {"seqno": number, "lost": "false", "timestamps": times}


@pytest.mark.parametrize(
    ("sent_us", "late_us"),
    [
        ((0, 10_000, 20_000), (0, 0, 0)),
        ((0, 14_999, 20_000), (0, 4_999, 0)),
        ((0, 15_000), (0, None, -5_000)),
        ((0, 9_900, 10_100), (0, -100, -9_900)),
        ((0, 10_000, 34_000), (0, 0, 14_000)),
    ],
    ids=["in time", "late", "nearer to the next", "two for one", "behind the last"],
)
def test_a_packet_is_the_one_that_was_due_nearest_to_when_it_was_sent(
    sent_us: tuple[int, ...], late_us: tuple[int | None, ...]
) -> None:
    rows = [_sent(at, number) for number, at in enumerate(sent_us)]
    wanted = tuple(None if one is None else one * 1000 for one in late_us)
    assert packets_of(asked(30), rows, 0).late_ns == (*wanted, None)[:3]


def test_more_packets_than_were_due_are_no_answer() -> None:
    rows = [_sent(at, number) for number, at in enumerate((0, 10_000, 20_000, 20_001))]
    with pytest.raises(ValueError, match="number 3 was due"):
        packets_of(asked(30), rows, 0)


def _lose_all(found: Document) -> None:
    for row in found["round_trips"]:
        row["lost"] = "true"
    found["stats"]["packets_received"] = 0


WRONG: dict[str, tuple[Callable[[Document], object], str]] = {
    "another interval": (
        lambda one: one["config"]["params"].update(interval=20 * MS),
        "had the interval 20000000 ns, and not 10000000 ns",
    ),
    "a shorter time": (
        lambda one: one["config"]["params"].update(duration=MS),
        "had the duration 1000000 ns",
    ),
    "sums of other packets": (
        lambda one: one["stats"].update(packets_sent=51),
        "tells of 50 packets of which 50 came back, and its sums of 51 and 50",
    ),
    "more that came twice than its sum": (
        lambda one: one["stats"].update(duplicates=2),
        "its sums of 50 and 50",
    ),
    "a packet too few": (lambda one: one["round_trips"].pop(3), "where number 3 was due"),
    "all of them lost": (
        _lose_all,
        "of 50 packets none came back",
    ),
    "another word for lost": (
        lambda one: one["round_trips"][4].update(lost="maybe"),
        "packet 4 is said to be lost: 'maybe'",
    ),
    "back before it was sent": (
        lambda one: one["round_trips"][4]["timestamps"]["client"]["receive"].update(monotonic=0),
        "is no number that is believed",
    ),
    "no time": (
        lambda one: one["round_trips"][4]["timestamps"]["client"].pop("send"),
        "its answers cannot be read",
    ),
    "a time that is a text": (
        lambda one: one["round_trips"][4]["timestamps"]["client"]["send"].update(monotonic="1"),
        "its answers cannot be read",
    ),
    "a time that is a text without end": (
        lambda one: one["round_trips"][4]["timestamps"]["client"]["send"].update(
            monotonic="1" * 1_000_000
        ),
        "its answers cannot be read",
    ),
    "no packets": (lambda one: one.update(round_trips=[]), "its sums of 50 and 50"),
    "no list of them": (lambda one: one.update(round_trips=3), "its answers cannot be read"),
    "an error of sending": (lambda one: one.update(send_err={}), "that it could not send"),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_cannot_be_is_no_answer(name: str) -> None:
    change, words = WRONG[name]
    found = changed(change)
    assert words in found.problem
    assert len(found.problem) < 400
    assert found.packets is None
    assert found.transactions is None


def case(**settings: Any) -> CaseSpec:
    probe = IrttSpec.model_validate({"kind": "irtt", **settings})
    return simulated_case().model_copy(update={"probe": probe})


def test_its_words_ask_for_raw_times_by_the_clock_and_for_a_server_that_grants_them() -> None:
    wanted = asked(1500, 5, 1000)
    server = " ".join(Irtt().server(case(), "/usr/bin/irtt", wanted, MEET))
    assert server == "/usr/bin/irtt server -4 -b 198.19.0.1:11003 -i 0 -d 0"
    client = " ".join(Irtt().client(case(), "/usr/bin/irtt", wanted, MEET))
    assert client.startswith("/usr/bin/irtt client -4 -Q -o - -i 5000000ns -d 2500000000ns ")
    assert client.endswith(" 198.19.0.1:11003")
    assert "--wait=2s" in client


def test_its_version_is_read_and_another_program_is_refused() -> None:
    assert IRTT.version_of("irtt version: 0.9.0\nprotocol version: 1", "/usr/bin/irtt") == "0.9.0"
    with pytest.raises(NotReadyError, match="is no irtt"):
        IRTT.version_of("iperf 3.12", "/usr/bin/iperf3")


def test_one_that_is_not_there_says_how_to_get_it_or_to_name_another() -> None:
    with pytest.raises(NotReadyError) as raised:
        Irtt().find(case(path="/nowhere/irtt"))
    (problem,) = raised.value.problems
    assert "apt-get install irtt, or name one: --set probe.path=PATH" in (problem.fix or "")


def test_each_is_counted_in_the_part_of_the_time_in_which_it_ended() -> None:
    parts = in_steps([0, 250 * MS - 1, 250 * MS, 700 * MS], 600 * MS)
    assert [(one.began_ns, one.amount) for one in parts] == [(0, 2), (250 * MS, 1), (500 * MS, 1)]
    assert parts[-1].ended_ns == 600 * MS, "what ended afterwards is in the last one, too"
