"""What repeats of a case say together."""

from __future__ import annotations

import random
from collections.abc import Callable
from random import Random

import pytest
from assertions import known
from compared_runs import curve
from record_samples import case_record, planned, view_of
from record_samples import goal as answered
from search_models import trial, way

from vsperf.analysis.repeats import (
    SURE,
    Series,
    averages,
    batches,
    order_p,
    series_of,
    student_95,
    taken_together,
)
from vsperf.analysis.summary import CaseRow, lossless_frames
from vsperf.cli.tables import notes
from vsperf.output.case_tables import repeats_table, rests_on
from vsperf.output.report.numbers import numbers_of
from vsperf.quantities.unit import Unit
from vsperf.records.flags import Flag
from vsperf.records.result import (
    Assumption,
    Figure,
    GoalResult,
    Limit,
    SearchResult,
    unlikely_above,
)
from vsperf.records.trial import Event, Purpose


def goal(lower_fps: int | None, *flags: Flag) -> GoalResult:
    return answered(lower_fps, 9_000_000, flags=flags)


def burst(value: float | None) -> Figure:
    return Figure(name="burst", unit=Unit.FRAMES, value=value, reason="the buffer")


def test_a_series_says_where_the_middle_is_and_how_far_the_ends() -> None:
    series = Series("ndr", Unit.FPS, (10.0, 14.0, 12.0))

    assert (series.median, series.mean) == (12, 12)
    assert series.deviation == 2
    assert series.confidence == pytest.approx((12 - 4.968, 12 + 4.968), abs=1e-3)


SKEWED = (1e6, 2e6, 30e6)
"""Times of which one is far from the others: Student's interval would begin at -29.9 ms."""


@pytest.mark.parametrize("name", ["recovery_time", "delay_variation", "loss_ratio", "ndr"])
def test_the_mean_of_what_cannot_be_below_0_is_not_said_to_lie_there(name: str) -> None:
    interval = Series(name, Unit.NANOSECONDS, SKEWED).confidence

    assert interval is not None
    assert interval[0] == 0
    assert interval[1] == pytest.approx(11e6 + 4.303 * 16.462e6 / 3**0.5, rel=1e-3)


@pytest.mark.parametrize("name", ["latency_drift", "cycles_drift", "restart_difference"])
def test_a_difference_may_lie_below_0(name: str) -> None:
    interval = Series(name, Unit.NANOSECONDS, SKEWED).confidence

    assert interval is not None and interval[0] == pytest.approx(-29.9e6, rel=1e-2)


def test_what_was_below_0_once_may_be_there_again() -> None:
    interval = Series("balance", Unit.COUNT, (-1.0, 0.0, 1.0)).confidence

    assert interval is not None and interval[0] < -1


def test_cutting_at_0_takes_no_mean_out_that_there_can_be() -> None:
    """Of exponential times the interval holds the mean as often as it would uncut."""
    chance = Random(1)
    uncut = cut = cases = 0
    for _ in range(1000):
        values = tuple(chance.expovariate(1.0) for _ in range(5))
        pair = [Series(name, Unit.COUNT, values).confidence for name in ("drift", "time")]
        held = [ends is not None and ends[0] <= 1 <= ends[1] for ends in pair]
        uncut, cut, cases = uncut + held[0], cut + held[1], cases + (pair[0] != pair[1])

    assert cases > 100, "or nothing was cut"
    assert cut == uncut


@pytest.mark.parametrize(
    ("freedom", "quantile"),
    [(1, 12.706), (30, 2.042), (31, 2.0395), (60, 2.0003), (99, 1.9842), (10**6, 1.96)],
)
def test_the_quantile_falls_without_a_step_to_the_normal_one(freedom: int, quantile: float) -> None:
    assert student_95(freedom) == pytest.approx(quantile, abs=5e-4)


def test_of_one_repeat_nothing_is_said_on_the_others() -> None:
    series = Series("ndr", Unit.FPS, (5.0,))

    assert series.deviation is None
    assert series.confidence is None


def test_repeats_without_a_number_or_with_one_that_is_not_believed_are_left_out() -> None:
    results = [
        SearchResult(goals=(goal(5),), figures=(burst(100),)),
        SearchResult(goals=(goal(None),), figures=(burst(None),)),
        SearchResult(goals=(goal(9, Flag.RX_EXCEEDS_TX),), figures=(burst(300),)),
    ]

    assert series_of(results) == (
        Series("ndr", Unit.FPS, (5,)),
        Series("burst", Unit.FRAMES, (100, 300)),
    )


def test_no_loss_in_n_frames_leaves_three_in_n() -> None:
    assert unlikely_above(60_000_000) == pytest.approx(5e-8)
    assert unlikely_above(3) is None


def test_no_loss_is_held_against_the_frames_of_the_direction_that_has_fewest() -> None:
    record = case_record("mine")
    assert record.result is not None
    load = known(record.result.goals[0].lower_fps)
    made = [trial(load, 10**9, (way(1000), way(300, name="phy1 to phy0"))) for _ in range(2)]

    assert lossless_frames(record, made) == {record.result.goals[0].goal: 600}


def test_a_later_trial_at_the_load_that_lost_frames_speaks_against_no_loss() -> None:
    record = case_record("mine")
    assert record.result is not None
    load = known(record.result.goals[0].lower_fps)
    held = trial(load, 10**9, (way(1000),))
    later = trial(load, 10**9, (way(1000, 10),)).model_copy(update={"purpose": Purpose.LATENCY})

    assert lossless_frames(record, [held, held]) != {}
    assert lossless_frames(record, [held, later]) == {}


@pytest.mark.parametrize(
    "change",
    [
        {"event": Event(name="restart-switch", began_ns=1, ended_ns=2)},
        {"reference": "beside 1000 rules/s"},
        {"purpose": Purpose.WARM_UP},
    ],
)
def test_what_was_done_to_the_switch_in_a_trial_says_nothing_of_its_load(
    change: dict[str, object],
) -> None:
    """Neither for an answer, in what it rests on or in how many passed, nor against it."""
    record = case_record("mine")
    assert record.result is not None
    load = known(record.result.goals[0].lower_fps)
    held = trial(load, 10**9, (way(1000),))
    away = trial(load, 10**9, (way(1000, 400),)).model_copy(update=change)
    row = CaseRow.of(view_of(planned(), record, [held, away]))

    assert row.lossless == {"ndr": 1000}
    assert row.resting["ndr"].sending_ns == 10**9
    (number,) = numbers_of(row, [held, away])
    assert number.meaning == "highest load without loss, per direction"
    assert "the one lost none" in [fact.value for fact in number.facts]


def test_what_an_answer_rests_on_and_assumes_is_known() -> None:
    record = case_record("mine")
    assert record.result is not None
    load = known(record.result.goals[0].lower_fps)
    tells = {"receiving_ns": 10**9, "duplicate_frames": 0}

    def said(*told: str) -> tuple[str, tuple[Assumption, ...]]:
        one = way(1000).model_copy(update={name: tells[name] for name in told})
        made = [
            trial(load, 10**9, (one,)),
            trial(load, 10**9, (one,)),
            trial(load // 2, 10**9, (way(9),)),
        ]
        return rests_on([CaseRow.of(view_of(planned(), record, made))])

    always = (Assumption.STEADY, Assumption.ONE_DRAW)
    assert said("receiving_ns", "duplicate_frames") == ("2.0 s of trials at its bounds", always)
    assert set(said("duplicate_frames")[1]) == {*always, Assumption.NO_BUFFER}
    assert set(said("receiving_ns")[1]) == {*always, Assumption.NO_COPIES}


def test_what_is_assumed_is_said_in_short_and_as_a_whole() -> None:
    case = case_record("mine")
    load = known(case.result.goals[0].lower_fps if case.result else None)
    row = CaseRow.of(view_of(planned(), case, [trial(load, 10**9, (way(1000),))]))
    short = [line.plain for line in notes([row], False)]
    assert "each answer rests on 1.0 s of trials at its bounds, and assumes: " in "\n".join(short)
    whole = [line.plain for line in notes([row], False, whole=True)]
    assert f"steady: {Assumption.STEADY.meaning}" in whole


def test_a_number_of_one_deployment_is_said_to_be_one_draw_whatever_the_method() -> None:
    found = SearchResult(figures=(burst(100),))
    row = CaseRow.of(view_of(planned(), case_record("mine", result=found)))
    assert "each answer assumes: one-draw" in [line.plain for line in notes([row], False)]
    whole = [line.plain for line in notes([row], False, whole=True)]
    assert f"one-draw: {Assumption.ONE_DRAW.meaning}" in whole
    again = CaseRow.of(view_of(planned(repeat=2), case_record("mine", result=found)))
    assert rests_on([row, again])[1] == (), "each repeat is a draw"
    nothing = SearchResult(figures=(burst(None),))
    assert rests_on([CaseRow.of(view_of(planned(), case_record("mine", result=nothing)))])[1] == ()


def test_a_repeat_that_is_only_a_bound_is_told_and_averaged_with_nothing() -> None:
    bound = Figure(name="burst", unit=Unit.FRAMES, value=300, lower=300, reason="the generator")
    (series,) = series_of([SearchResult(figures=(one,)) for one in (burst(100), bound)])

    assert (series.values, series.bounds) == ((100, 300), (300,))
    assert (series.mean, series.deviation, series.confidence) == (None, None, None)


def test_repeats_that_met_one_regime_each_are_told_apart_by_it() -> None:
    near, far = (70, 125), (380, 500)
    found = series_of(
        [
            SearchResult(goals=(goal(fps),), round_trips_ns=met)
            for fps, met in ((9, near), (8, near), (5, far))
        ]
    )
    told = {one.name: one.values for one in found}
    assert (told["ndr"], told["ndr near"], told["ndr far"]) == ((9, 8, 5), (9, 8), (5,))


def test_a_goal_without_an_upper_bound_is_only_a_bound() -> None:
    open_ended = goal(5).model_copy(update={"upper_fps": None, "limit": Limit.GENERATOR})

    (series,) = series_of([SearchResult(goals=(open_ended,)), SearchResult(goals=(goal(9),))])

    assert series.bounds == (5,)


@pytest.mark.parametrize(
    ("exact", "bounds", "open_ends"),
    [
        ((1, 2, 3), (), (False, False, False)),
        ((1, 2), (3,), (False, False, True)),  # the middle is below the bound wherever that is
        ((1, 3), (2,), (False, True, True)),
        ((2, 3), (1,), (True, True, True)),
        ((1,), (3,), (False, True, True)),
        ((), (1, 2), (True, True, True)),
    ],
)
def test_what_a_bound_leaves_open_is_open(
    exact: tuple[float, ...], bounds: tuple[float, ...], open_ends: tuple[bool, bool, bool]
) -> None:
    series = Series("burst", Unit.FRAMES, (*exact, *bounds), bounds)

    assert (
        series.is_bound(min(series.values)),
        series.median_is_bound,
        series.is_bound(max(series.values)),
    ) == open_ends


def test_repeats_of_a_loss_curve_say_at_each_load_how_far_they_lie_apart() -> None:
    """One that came to two loads without loss sooner says nothing of those that it left out."""
    repeats = [
        curve({1000: "1/10", 900: "0", 800: "0"}, 900),
        curve({1000: "3/10", 900: "1/9", 800: "0", 700: "0"}, 800),
        curve({1000: "2/10", 900: "0", 800: "0"}, 900),
    ]

    found = {series.name: series for series in series_of(repeats)}

    assert next(iter(found)) == "lossless_load", "what matters most comes first"
    top = found["loss at 1000 fps"]
    assert (top.median, top.mean, top.deviation) == pytest.approx((0.2, 0.2, 0.1))
    assert top.confidence == pytest.approx((0, 0.2 + 4.303 * 0.1 / 3**0.5), abs=1e-3)
    assert found["through at 1000 fps"].values == (900, 700, 800)
    assert found["loss at 900 fps"].values == pytest.approx((0, 1 / 9, 0))
    assert found["loss at 700 fps"].values == (0,)


def test_a_load_that_is_not_to_be_believed_is_left_out() -> None:
    whole = curve({1000: "1/10"}, 900)
    doubted = whole.doubted(Flag.RX_EXCEEDS_TX, "frames were counted twice")

    assert [series.values for series in series_of([whole, doubted])][1:] == [(900,), (0.1,)]


def test_the_table_of_repeats_has_the_loads_of_a_curve() -> None:
    repeats = [curve({1000: loss, 900: "0"}, 900) for loss in ("1/10", "2/10")]
    rows = [
        CaseRow(view_of(planned(repeat=number), case_record("mine", result=result)))
        for number, result in enumerate(repeats, start=1)
    ]

    table = known(repeats_table(rows))
    cells = {row[1]: row[2:6] for row in table.texts}

    assert cells["loss at 1000 fps"] == ("2", "15%", "10%", "20%")
    assert cells["loss at 900 fps"] == ("2", "0", "0", "0")


# Repeats that depend on each other are found by their order, and count for fewer.


def states(chance: random.Random, count: int, stays: float) -> list[float]:
    """Numbers of a machine that stays in one of two states with this probability."""
    state, found = chance.random() < 0.5, []
    for _ in range(count):
        state = state if chance.random() < stays else not state
        found.append(1e6 * (1.0 if state else 0.9) * chance.gauss(1, 0.003))
    return found


@pytest.mark.parametrize("count", [6, 10, 30])
@pytest.mark.parametrize("shape", ["normal", "far", "states", "equal"])
def test_numbers_that_do_not_depend_are_seldom_said_to(count: int, shape: str) -> None:
    chance = random.Random(count)
    draw: Callable[[], float] = {
        "normal": lambda: chance.gauss(1e6, 1e3),
        "far": lambda: chance.paretovariate(1),
        "states": lambda: chance.choice((1.0, 0.9)) * chance.gauss(1, 0.001),
        "equal": lambda: chance.choice((1.0, 1.0, 1.01)),
    }[shape]
    alarms = sum(order_p([draw() for _ in range(count)]) < SURE for _ in range(100))
    assert alarms <= 4  # three standard deviations above 1 %


def test_states_that_last_are_found() -> None:
    chance = random.Random(2)
    found = sum(order_p(states(chance, 20, 0.85)) < SURE for _ in range(100))
    assert found > 60


def test_few_numbers_and_equal_ones_are_in_no_surprising_order() -> None:
    assert order_p([1, 2, 3, 4]) == order_p([7] * 30) == 1
    assert order_p([1, 2, 3, 4, 5, 6]) == pytest.approx(2 / 720)


def test_the_unit_and_the_place_of_numbers_do_not_matter() -> None:
    values = [3.0, 1.0, 4.0, 1.0, 5.0, 9.0, 2.0, 6.0]
    assert order_p(values) == order_p([2.0**20 + 8 * value for value in values])


def test_neighbours_count_as_one_until_those_do_not_depend() -> None:
    runs = [value for value in (5, 1, 4, 2, 3, 5, 1, 3, 2, 4) for _ in range(4)]
    assert taken_together([float(value) for value in runs]) == 4


def test_a_drift_leaves_nothing() -> None:
    assert taken_together([float(place) for place in range(40)]) is None


def test_batches_leave_out_first_ones_that_fill_none() -> None:
    assert batches((9, 1, 2, 3, 10, 20, 60), 3) == (2, 20)
    assert averages((9, 1, 2, 3, 10, 20, 60), 3) == (2, 30)


class TestIntervalOfTheMean:
    def test_it_is_wider_where_neighbours_depend(self) -> None:
        values = tuple(float(100 + value) for value in (5, 1, 4, 2, 3, 5, 1, 3) for _ in range(4))
        ordered = Series("ndr", Unit.FPS, values).confidence
        mixed = Series("ndr", Unit.FPS, tuple(random.Random(4).sample(values, 32))).confidence
        assert ordered is not None and mixed is not None
        assert ordered[1] - ordered[0] > 1.5 * (mixed[1] - mixed[0])

    def test_there_is_none_of_a_drift(self) -> None:
        assert (
            Series("ndr", Unit.FPS, tuple(100.0 + place for place in range(12))).confidence is None
        )

    def test_it_holds_the_mean_of_states_more_often_than_one_that_presumes_too_much(self) -> None:
        chance, held, said = random.Random(7), 0, 0
        for _ in range(200):
            interval = Series("ndr", Unit.FPS, tuple(states(chance, 40, 0.8))).confidence
            said += interval is not None
            held += interval is not None and interval[0] <= 0.95e6 <= interval[1]
        assert said > 100
        assert held > 0.75 * said, "where neighbours are not put together it is 0.69"
