"""Requests of HTTP: what the method asks for and refuses, what it answers, and what is doubted."""

from __future__ import annotations

from typing import Any

import pytest
from exchanges import SECOND, device, exchange, instance
from pydantic import ValidationError

from vsperf.engine.judge_exchange import judged
from vsperf.methods.base import Repeats
from vsperf.methods.http import Http
from vsperf.methods.workload import COST, ONE_SUM, SWITCHED
from vsperf.quantities.unit import Unit
from vsperf.records.exchange import Exchange, Failures, Instance, Interval, RoundTrips
from vsperf.records.flags import Flag, Severity

MS = 1_000_000
NONE = Failures(statuses=0, sockets=0, timeouts=0, unanswered=None)


def http(**settings: Any) -> Http:
    return Http.model_validate({"kind": "http", "duration": "4s", **settings})


def took(p50_ms: int, p99_ms: int) -> RoundTrips:
    return RoundTrips(
        mean_ns=p50_ms * MS, least_ns=MS, p50_ns=p50_ms * MS, p90_ns=p99_ms * MS,
        p99_ns=p99_ms * MS, most_ns=SECOND,
    )  # fmt: skip


def asked(number: int = 1, **changed: Any) -> Instance:
    """One that was answered a thousand times in each of five seconds."""
    parts = tuple(
        Interval(began_ns=second * SECOND, ended_ns=(second + 1) * SECOND, amount=1_000)
        for second in range(5)
    )
    known = {
        "sent_bytes": None,
        "received_bytes": None,
        "repeated_segments": None,
        "transactions": 5_000,
        "intervals": parts,
        "round_trips": took(1, 3),
        "failures": NONE,
    }
    return instance(number, **{**known, **changed})


def made(*instances: Instance, traffic: str = "http-rr", frames: int = 100_000) -> Exchange:
    ends = tuple(device(place, 0, frames) for place in ("phy0", "phy1"))
    return judged(exchange(*instances, traffic=traffic, devices=ends))


class TestAsked:
    @pytest.mark.parametrize(
        ("settings", "traffic"),
        [
            ({}, "http-rr"),
            ({"keepalive": "off"}, "http-crr"),
            ({"rate": 1_600, "connections": 16}, "http-open"),
        ],
    )
    def test_what_programs_exchange_follows_from_the_loop_and_its_connections(
        self, settings: dict[str, Any], traffic: str
    ) -> None:
        each = http(object="2KiB", workers=2, **settings).each
        assert (each.traffic, each.response_bytes, each.workers) == (traffic, 2048, 2)
        assert each.rate == settings.get("rate")

    @pytest.mark.parametrize(
        ("settings", "words"),
        [
            ({"rate": 100, "keepalive": "off"}, "`rate` with `keepalive: off`"),
            ({"rate": 1_601, "connections": 16}, "`connections` is to be 17 or more"),
            ({"rate": 900_000, "connections": 10_000}, "2,000,000 of an instance are the most"),
            (
                {"rate": 100_000, "connections": 1_000, "instances": 17},
                "8,000,000 are the most whose times are kept",
            ),
            ({"object": "17MiB"}, "16MiB are the most"),
        ],
    )
    def test_what_no_program_does_is_refused_with_what_would_do(
        self, settings: dict[str, Any], words: str
    ) -> None:
        with pytest.raises(ValidationError, match=words):
            http(**settings)


class TestAnswers:
    def test_times_are_those_of_the_slowest_instance_and_of_a_loop_that_is_named(self) -> None:
        one = made(asked(1, round_trips=took(2, 3)), asked(2, round_trips=took(1, 9)))
        method = http()
        result = method.answered(Repeats((one,), True))
        found = {figure.name: figure for figure in result.figures}
        told = {name: figure.unit for name, figure in found.items()}
        assert told | {"total": Unit.PER_SECOND} == method.metrics()
        assert found["rate"].value == 2_000
        assert found["p50_from_sent"].value == 2 * MS
        assert found["p99_from_sent"].value == 9 * MS
        assert "closed loop" in found["p99_from_sent"].reason
        assert found["failed_requests"].value == 0

    def test_by_a_clock_times_from_when_requests_were_due_stand_beside_the_raw_ones(self) -> None:
        waiting = NONE.model_copy(update={"unanswered": 2})
        one = made(asked(from_due=took(5, 900), failures=waiting), traffic="http-open")
        method = http(rate=1_000)
        result = method.answered(Repeats((one,), True))
        found = {figure.name: figure.value for figure in result.figures}
        assert {*found, "total"} == {*method.metrics()}
        costs = (COST, SWITCHED)
        assert {name: value for name, value in found.items() if not name.startswith(costs)} == {
            "rate": 1_000,
            "p50_from_due": 5 * MS,
            "p99_from_due": 900 * MS,
            "p50_from_sent": 1 * MS,
            "p99_from_sent": 3 * MS,
            "failed_requests": 0,
            "waiting_requests": 2,
        }
        assert "at least: some still waited" in result.figures[2].reason

    def test_times_that_one_instance_does_not_tell_are_nobodys(self) -> None:
        result = http().answered(Repeats((made(asked(1), asked(2, round_trips=None)),), True))
        found = {figure.name: figure.value for figure in result.figures}
        assert found["rate"] == 2_000
        assert found["p99_from_sent"] is None

    def test_one_sum_of_all_the_time_has_a_rate_and_no_course(self) -> None:
        whole = (Interval(began_ns=0, ended_ns=5 * SECOND, amount=5_000),)
        result = http().answered(Repeats((made(asked(intervals=whole)),), True))
        assert result.figures[0].value == 1_000
        assert ONE_SUM in result.figures[0].reason
        assert [curve.name for curve in result.curves] == ["by_instance"]


class TestDoubts:
    @pytest.mark.parametrize(
        ("failures", "words"),
        [
            ({"statuses": 1}, "1 with another status than 2xx"),
            ({"sockets": 2}, "2 of sockets"),
            ({"timeouts": 3}, "3 answered too late"),
        ],
    )
    def test_one_failed_request_is_said(self, failures: dict[str, int], words: str) -> None:
        one = made(asked(failures=NONE.model_copy(update=failures)))
        assert one.valid
        assert one.flags == (Flag.REQUESTS_FAILED,)
        assert Flag.REQUESTS_FAILED.severity is Severity.SUSPECT
        assert words in one.reasons[0]
        assert one.failed_requests == sum(failures.values())

    @pytest.mark.parametrize(("unanswered", "said"), [(50, False), (51, True)])
    def test_more_than_one_request_in_a_hundred_that_was_left_waiting_is_said(
        self, unanswered: int, said: bool
    ) -> None:
        failures = NONE.model_copy(update={"unanswered": unanswered})
        one = made(asked(failures=failures), traffic="http-open")
        assert (Flag.REQUESTS_WAITING in one.flags) is said
        assert one.failed_requests == 0

    @pytest.mark.parametrize(
        ("traffic", "least"), [("http-rr", 5_000), ("http-crr", 10_000), ("http-open", 2_500)]
    )
    def test_devices_have_seen_the_frames_of_all_requests(self, traffic: str, least: int) -> None:
        assert made(asked(), traffic=traffic, frames=least).valid
        assert made(asked(), traffic=traffic, frames=least - 1).flags == (Flag.DEVICES_DISAGREE,)
