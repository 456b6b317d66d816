"""Latency under load: what the method asks for and refuses, what it answers, what is doubted."""

from __future__ import annotations

from typing import Any

import pytest
from echoes import MS, PACKETS, Bench, alone, beside, probe
from exchanges import FORWARD, REVERSE, SECOND, cpu, device, exchange, instance, use
from pydantic import ValidationError

from vsperf.analysis.answers import may_be_negative, more_is_better
from vsperf.cli.exchange_view import packets_table
from vsperf.cli.progress import exchange_line
from vsperf.methods.exchanges import ExchangeAsked
from vsperf.methods.latency_under_load import LatencyUnderLoad
from vsperf.records.exchange import ECHO, Exchange, Instance, window_of
from vsperf.records.flags import Flag, Severity
from vsperf.records.result import Figure, Limit, SearchResult


def method(**settings: Any) -> LatencyUnderLoad:
    told = {"kind": "latency_under_load", "duration": "4s", **settings}
    return LatencyUnderLoad.model_validate(told)


def figures(result: SearchResult) -> dict[str, Figure]:
    return {figure.name: figure for figure in result.figures}


class TestAsked:
    def test_the_same_packets_alone_and_then_beside_streams_as_often_as_repeats_say(self) -> None:
        bench = Bench([alone(), beside()] * 2)
        method(repeats=2, instances=4, write="64KiB", interval="20ms").play(bench)
        packets = ExchangeAsked(ECHO, 1, 4 * SECOND, SECOND, interval_ns=20 * MS)
        streams = ExchangeAsked("tcp-stream", 4, 4 * SECOND, SECOND, 65_536, beside=packets)
        assert bench.asked == [packets, streams] * 2

    @pytest.mark.parametrize(
        ("settings", "words"),
        [
            ({"interval": "999us"}, "`interval` is 999us, and 1ms is the least"),
            ({"interval": "41ms"}, "holds 97 packets"),
            ({"interval": "1ms", "duration": "50s"}, "come to 51,000 packets"),
            ({"protocol": "udp", "write": "64KiB"}, "a datagram holds 65,507 bytes at most"),
        ],
    )
    def test_what_says_nothing_or_too_much_is_refused(
        self, settings: dict[str, Any], words: str
    ) -> None:
        with pytest.raises(ValidationError, match=words):
            method(**settings)

    def test_its_time_is_that_of_both_parts_of_each_repeat(self) -> None:
        found = method(repeats=3).rounds_ns(None)  # type: ignore[arg-type]  # of any case
        assert found == (5 * SECOND,) * 6


class TestAnswers:
    def test_percentiles_stand_alone_beside_streams_and_as_what_they_grow_by(self) -> None:
        few = probe(*[1] * 98, 7, 9)
        result = method().play(Bench([alone(few), beside()]))
        found = figures(result)
        assert {name: one.unit for name, one in found.items()} == method().metrics()
        values = {name: one.value for name, one in found.items()}
        assert (values["p50_idle"], values["p50_loaded"], values["p50_difference"]) == (
            1 * MS, 20 * MS, 19 * MS,
        )  # fmt: skip
        assert (values["p99_idle"], values["p99_difference"]) == (7 * MS, 13 * MS)
        assert (values["max_idle"], values["max_loaded"]) == (9 * MS, 20 * MS)
        assert values["p999_loaded"] is None
        assert found["p999_loaded"].reason == "fewer than 1000 packets were due"
        assert values["rate"] == 8 * 125_000_000
        assert found["p50_idle"].at.startswith("udp echo by irtt 0.9.0, ")
        assert found["p50_loaded"].at.startswith("tcp stream by iperf3 3.12, ")

    def test_the_rate_beside_says_what_limited_it_as_that_of_streams_does(self) -> None:
        """Else a criterion on it would blame the switch for what its clients could not do."""
        full = use(cpu(0, busy=1), clients=1)
        loaded = beside().model_copy(update={"cpu": full})
        result = method().play(Bench([alone(), loaded]))
        found = figures(result)
        assert found["rate"].limit is Limit.GENERATOR
        assert "CPU 0 was busy for " in found["rate"].reason
        assert found["p99_loaded"].limit is None
        untold = figures(method().play(Bench([alone(), beside()])))["rate"]
        assert untold.limit is None
        assert "what limited it cannot be told" in untold.reason

    def test_a_difference_is_that_of_each_repeat_and_may_be_below_nothing(self) -> None:
        """The medians are 1 and 2 ms; of the three repeats two grew by 1, and one by 3."""
        pairs = [(1, 2), (1, 4), (3, 2)]
        bench = Bench([one for idle, loaded in pairs for one in (
            alone(probe(idle)), beside(probe(loaded)),
        )])  # fmt: skip
        found = figures(method(repeats=3).play(bench))
        one = found["p50_difference"]
        assert one.value == 1 * MS
        assert one.spread is not None
        assert (one.spread.minimum, one.spread.maximum) == (-1 * MS, 3 * MS)
        assert may_be_negative("p50_difference")
        assert not more_is_better("unsent_loaded", one.unit.RATIO)

    def test_a_stall_of_the_client_is_in_the_answer_and_in_no_time_from_when_it_sent(self) -> None:
        result = method().play(Bench([alone(probe(1, unsent=30)), beside()]))
        found = figures(result)
        assert found["max_idle"].value == 301 * MS
        assert found["max_idle"].reason.endswith(
            "; 1.000 ms from when they were sent, of those that came back"
        )
        assert found["unsent_idle"].value == 30 / 400
        curves = {curve.name: curve for curve in result.curves}
        assert [axis.name for axis in curves["by_share"].columns] == [
            "idle", "loaded", "idle_from_sent", "loaded_from_sent",
        ]  # fmt: skip
        assert curves["by_share"].points[-1] == (1.0, 301 * MS, 20 * MS, 1 * MS, 20 * MS)

    def test_the_longest_time_of_each_second_says_when_it_stood_still(self) -> None:
        result = method().play(Bench([alone(probe(1, unsent=30)), beside()]))
        (curve,) = (one for one in result.curves if one.name == "longest_over_time")
        assert curve.points == tuple(
            (second * SECOND, (301 if second == 2 else 1) * MS, 20 * MS) for second in range(1, 5)
        )
        assert "over_time" in [one.name for one in result.curves]

    def test_what_was_lost_is_a_share_of_what_was_sent_and_has_no_time(self) -> None:
        lossy = probe(20, None)
        found = figures(method().play(Bench([alone(), beside(lossy)])))
        assert (found["lost_idle"].value, found["lost_loaded"].value) == (0, 0.5)
        assert found["max_loaded"].value == 20 * MS

    def test_where_more_was_lost_than_a_share_leaves_out_there_is_no_time_for_it(self) -> None:
        """Else who drops packets that others keep waiting would be the faster one."""
        lossy = [probe(*[20] * 49, None), probe(*[20] * 199, None), probe(*[30] * 49, None)]
        bench = Bench([one for each in lossy for one in (alone(), beside(each))])
        found = figures(method(repeats=3).play(bench))
        assert found["p50_loaded"].value == 20 * MS
        for name in ("p99_loaded", "p99_difference"):
            assert found[name].value is None
            assert found[name].reason.startswith("more than one in 100 packets never came back")
        assert found["p99_loaded"].reason.endswith(
            "; 20.00 ms from when they were sent, of those that came back"
        )
        assert found["p99_idle"].value == 1 * MS
        few = Bench([one for each in lossy[:2] + lossy[1:2] for one in (alone(), beside(each))])
        tail = figures(method(repeats=3).play(few))["p99_loaded"]
        assert tail.value == 20 * MS, "in two of three repeats there is one"

    def test_the_raw_time_beside_a_median_is_the_median_of_the_raw_times(self) -> None:
        made = [alone(probe(one)) for one in (1, 7, 3)]
        bench = Bench([one for idle in made for one in (idle, beside())])
        found = figures(method(repeats=3).play(bench))
        assert found["max_idle"].value == 3 * MS
        assert found["max_idle"].reason.endswith(
            "; 3.000 ms from when they were sent, of those that came back"
        )

    def test_only_packets_of_the_window_count_in_which_all_ran(self) -> None:
        """The streams begin 200 ms late: packets that were alone until then say nothing of them."""
        one = probe(*[1] * 125, *[20] * 375)
        late = (instance(1, 200 * MS), instance(2, 250 * MS, direction=REVERSE))
        made = beside(one, window=window_of((*late, one), SECOND))
        assert made.times is not None
        assert set(made.times.from_due_ns) == {20 * MS}
        assert made.times.due == 375

    def test_recorded_exchanges_come_to_the_same_answer_again(self) -> None:
        bench = Bench([alone(), beside(), alone(probe(2)), beside(probe(30))])
        told = method(repeats=2).play(bench)
        lines = [one.model_dump_json() for one in bench.made]
        again = Bench([Exchange.model_validate_json(line) for line in lines])
        assert again.made == bench.made
        assert method(repeats=2).play(again) == told


class TestDoubts:
    def test_both_programs_can_be_believed(self) -> None:
        assert (alone().flags, beside().flags) == ((), ())

    @pytest.mark.parametrize(
        ("one", "flag", "words"),
        [
            (
                probe(1, problem="its client was killed by SIGKILL"),
                Flag.PROGRAM_FAILED,
                f"probe, {FORWARD}: its client was killed by SIGKILL",
            ),
            (probe(1, packets=None), Flag.PROGRAM_FAILED, "it does not tell what was exchanged"),
            (
                probe(1, began_ns=500 * MS),
                Flag.PROGRAM_LATE,
                f"probe, {FORWARD} began 500.0 ms after the first",
            ),
            (
                probe(1, elapsed_ns=4 * SECOND),
                Flag.SHORT_WINDOW,
                "all instances ran together for 3.000 s",
            ),
        ],
        ids=["killed", "silent", "late", "short"],
    )
    def test_a_probe_beside_streams_is_judged_as_they_are(
        self, one: Instance, flag: Flag, words: str
    ) -> None:
        made = beside(one)
        assert flag in made.flags
        assert not made.valid
        assert any(words in reason for reason in made.reasons)

    def test_devices_have_seen_all_packets_beside_the_bytes_of_the_streams(self) -> None:
        few = tuple(device(place, 10**10, PACKETS - 1) for place in ("phy0", "phy1"))
        assert beside(devices=few).flags == (Flag.DEVICES_DISAGREE,)
        less = tuple(device(place, 10**8, 10**7) for place in ("phy0", "phy1"))
        assert beside(devices=less).flags == (Flag.DEVICES_DISAGREE,)
        assert alone(devices=few).flags == (Flag.DEVICES_DISAGREE,)

    @pytest.mark.parametrize(("unsent", "said"), [(5, False), (6, True)])
    def test_more_than_one_packet_in_a_hundred_that_was_not_sent_is_said(
        self, unsent: int, said: bool
    ) -> None:
        for made in (alone(probe(1, unsent=unsent)), beside(probe(1, unsent=unsent))):
            assert (Flag.PACKETS_UNSENT in made.flags) is said
            assert made.valid
            assert all("6 of 500 packets were not sent" in reason for reason in made.reasons)
        assert Flag.PACKETS_UNSENT.severity is Severity.SUSPECT


def test_a_line_and_a_table_say_what_became_of_packets_alone_and_beside() -> None:
    made = (alone(probe(1, unsent=4)), beside())
    assert "half of the packets within 1.000 ms, the longest 41.00 ms, 0 lost" in exchange_line(
        made[0]
    )
    assert "half of the packets within 20.00 ms" in exchange_line(made[1])
    table = packets_table(made)
    assert table is not None
    rows = [dict(zip(table.names, row, strict=True)) for row in table.texts]
    assert [row["beside"] for row in rows] == ["nothing", "2 × tcp-stream"]
    assert [row["unsent"] for row in rows] == ["4", "0"]
    assert (rows[0]["most from due"], rows[0]["most"]) == ("41.00 ms", "1.000 ms")
    assert packets_table((exchange(),)) is None
