"""Turns as tgen is asked for them and answers them are those of the record."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from vsperf.errors import ComponentError
from vsperf.record.turns import TurnColumns
from vsperf.trafficgens.tgen.turns import (
    StreamSide,
    StreamTurns,
    patience_s,
    turns_message,
    turns_of,
)

SIDES = (StreamSide((0, 1), (70,)), StreamSide((2, 3)))
ASKED = StreamTurns(SIDES, (0, 1, 1, 0), loads_fps=(1000, 1000, None, 2000), latency=True)
TIMES = (
    "measured_ns",
    "full_ns",
    "gaps_ns",
    "longest_gap_ns",
    "silence_ns",
    "continue_ns",
    "drain_ns",
)


def answered(**changes: Any) -> dict[str, Any]:
    """Return two turns, of which the second saw no frame arrive."""
    turns: dict[str, Any] = {
        name: [1, 2] for name in (*TIMES, "hold_ns", "sent", "distinct", "elsewhere")
    }
    turns |= {"side": [0, 1], "began_ns": [10, 20], "ended_ns": [19, 30], "first_ns": [4, None]}
    turns |= {"drained": [1, 0], "turn_sent": [8, 9], "turn_distinct": [7, 0], "count": 2}
    counted = ("sent", "received", "distinct", "lost", "corrupted", "misrouted", "reordered")
    side = {"streams": [0], "ports": [0, 1], **dict.fromkeys(counted, 5)}
    side |= {"duplicates": 3, "beyond_window": 4, "wrong_size": 0, "foreign": 1, "stale": 2}
    side |= {"unreadable": 0, "elsewhere": 6, "latency": {"count": 2, "hdr": "HISTFAAAA"}}
    result = {"number": 7, "end": "complete", "settled": True, "tsc_hz": 10**9}
    result |= {"started_unix_ns": 5, "elapsed_ns": 30, "turns": turns, "sides": [side], "ports": []}
    return result | changes


def test_a_request_says_whose_turn_it_is_and_who_is_held_still() -> None:
    message = turns_message(ASKED, burst=8)
    assert message["sides"] == [
        {"streams": [0, 1], "processes": [70]},
        {"streams": [2, 3], "processes": []},
    ]
    assert message["order"] == [0, 1, 1, 0]
    assert message["rate_fps"] == [1000, 1000, 0, 2000]
    assert (message["latency"], message["burst"]) == (True, 8)
    assert "rate_fps" not in turns_message(StreamTurns(SIDES, (0, 1)), burst=8)


def test_the_answer_may_take_as_long_as_a_machine_that_is_mostly_away_needs() -> None:
    many = StreamTurns(SIDES, (0, 1) * 500)
    assert patience_s(many) > 3 * 1000 * 0.012
    assert patience_s(ASKED) < patience_s(many)


def test_each_turn_keeps_its_numbers() -> None:
    found = turns_of(answered())
    first, second = found.turns
    assert (first.side, first.began_ns, first.ended_ns, first.first_ns) == (0, 10, 19, 4)
    assert (second.side, second.first_ns, second.drained) == (1, None, False)
    assert (first.sent_frames, second.received_frames, second.turn_sent_frames) == (1, 2, 9)
    assert first.intended_frames is first.latencies is None
    assert first.drained is True


def test_what_was_due_and_latencies_are_there_where_tgen_knows_them() -> None:
    answer = answered()
    more = {"intended": [11, 12], "refused": [0, 1], "latencies": [2, 0], "latency_sum_ns": [9, 0]}
    answer["turns"] |= more
    (first, second) = turns_of(answer).turns
    assert (first.intended_frames, second.refused_frames) == (11, 1)
    assert (first.latencies, first.latency_sum_ns) == (2, 9)


def test_a_side_adds_up_what_tgen_tells_apart_of_copies() -> None:
    (side,) = turns_of(answered()).sides
    assert side.duplicate_frames == 7
    assert (side.elsewhere_frames, side.foreign_frames, side.stale_frames) == (6, 1, 2)
    assert side.latency_histogram == "HISTFAAAA"


def test_the_process_that_ended_them_is_told() -> None:
    found = turns_of(answered(end="process-ended", ended_side=1, ended_process=70))
    assert (found.end, found.ended_side, found.ended_process) == ("process-ended", 1, 70)


def test_an_answer_without_a_column_is_none() -> None:
    answer = answered()
    del answer["turns"]["distinct"]
    with pytest.raises(ComponentError, match="no 'distinct'"):
        turns_of(answer)


def test_columns_have_one_length() -> None:
    columns = turns_of(answered()).columns.model_dump()
    with pytest.raises(ValidationError, match="different lengths"):
        TurnColumns.model_validate(columns | {"hold_ns": (1,)})


def test_turns_can_be_stored() -> None:
    found = turns_of(answered())
    assert type(found).model_validate_json(found.model_dump_json()) == found
