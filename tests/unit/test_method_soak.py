"""A soak: what is lost when, what drifts, in memory that does not grow."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from bench_models import LOADS, FluidBench, counted, figures, method, with_way_back, word_on

from vsperf.engine.criteria import outcome_of
from vsperf.methods.base import PLAIN, TrialOptions
from vsperf.methods.soak import PARTS, Hours
from vsperf.quantities.units import NANOSECONDS
from vsperf.records.flags import Flag
from vsperf.records.result import Level, Limit, Standard
from vsperf.records.run import Outcome
from vsperf.records.switch import PmdCounters, SwitchCounters
from vsperf.records.threads import ThreadActivity
from vsperf.records.trial import DirectionSample, LatencySample, Sample, Second, Trial
from vsperf.search.base import Budget

GIVEN = replace(LOADS, reference=2_000_000)
HOUR = 3600


def second(
    number: int,
    lost: int = 0,
    p50_ns: int = 10_000,
    cycles: int = 300,
    kept_ns: int = 0,
    refused: int = 0,
) -> Second:
    latency = LatencySample(
        frames=1000, min_ns=1, p50_ns=p50_ns, p99_ns=2 * p50_ns, p999_ns=3 * p50_ns, max_ns=10**6
    )
    way = DirectionSample(
        name="phy0 to phy1",
        sent_frames=1_000_000 * number,
        received_frames=1_000_000 * number - lost,
        lost_frames=lost,
        refused_frames=refused,
        latency=latency,
    )
    pmd = PmdCounters(cpu=1, frames=1000, busy_cycles=1000 * cycles, idle_cycles=0)
    thread = ThreadActivity(part="switch", name="pmd-c01", delay_ns=kept_ns)
    return Second(
        sample=Sample(elapsed_ns=number * NANOSECONDS, directions=(way,)),
        switch=SwitchCounters(pmds=(pmd,)),
        threads=(thread,),
    )


def added_up(losses: Sequence[int]) -> list[Second]:
    """Return seconds that lost so many frames each, as a generator counts them."""
    return [second(i + 1, sum(losses[: i + 1])) for i in range(len(losses))]


def test_seconds_in_a_row_with_loss_are_one_event() -> None:
    hours = Hours(10 * NANOSECONDS, most_events=5)
    for one in added_up([0, 3, 4, 0, 0, 5, 0]):
        hours.add(one)

    assert hours.events_seen == 2
    assert [(e.begin_ns // NANOSECONDS, e.end_ns // NANOSECONDS, e.lost) for e in hours.events] == [
        (1, 3, 7),
        (5, 6, 5),
    ]


def test_frames_that_a_full_port_takes_after_all_were_not_lost() -> None:
    hours = Hours(12 * NANOSECONDS, most_events=5)
    for number, (lost, refused) in enumerate(
        [(0, 0), (0, 600), (0, 0), (7, 0), (7, 600), (7, 0), (7, 0)], start=1
    ):
        hours.add(second(number, lost, refused=refused))

    assert hours.events_seen == 1
    assert [event.lost for event in hours.events] == [7]
    assert sum(part.lost for part in hours.parts) == 7


def test_of_many_events_the_greatest_are_kept_and_all_are_counted() -> None:
    hours = Hours(HOUR * NANOSECONDS, most_events=3)
    losses = [number % 97 if number % 2 else 0 for number in range(HOUR)]
    for one in added_up(losses):
        hours.add(one)

    assert hours.events_seen == sum(loss > 0 for loss in losses)
    assert [event.lost for event in hours.events] == sorted(losses, reverse=True)[:3]


def test_a_day_takes_no_more_memory_than_an_hour() -> None:
    hours = Hours(24 * HOUR * NANOSECONDS, most_events=20)
    lost = 0
    for number in range(1, 24 * HOUR + 1, 7):
        lost += number % 2
        hours.add(second(number, lost))

    assert len(hours.parts) == PARTS
    assert len(hours._kept) <= 2 * 20


def test_what_threads_were_kept_from_stands_beside_the_loss() -> None:
    hours = Hours(10 * NANOSECONDS, most_events=5)
    hours.add(second(1))
    hours.add(second(2, lost=9, kept_ns=40_000_000))

    assert hours.events[0].kept_ns == 40_000_000


def test_drifts_are_told_from_the_first_part_of_the_time_to_the_last() -> None:
    seconds = [
        second(number, p50_ns=10_000 + 100 * number, cycles=300 + number)
        for number in range(1, 121)
    ]
    bench = FluidBench(2_000_000, loads=GIVEN, seconds=seconds)

    found = figures(method("soak", throughput="2Mfps").run(bench))

    assert found["latency_drift"] == pytest.approx(11_000)
    assert found["cycles_drift"] == pytest.approx(110)


def test_the_whole_loss_and_when_it_was_are_told() -> None:
    bench = FluidBench(900_000, loads=GIVEN, seconds=added_up([0, 3, 4, 0, 0, 5, 0]))

    result = method("soak", throughput="2Mfps").run(bench)

    found = figures(result)
    assert found["lost"] == 120 * 100_000
    assert found["loss_ratio"] == pytest.approx(0.1)
    assert found["loss_events"] == 2
    losses = next(curve for curve in result.curves if curve.name == "losses")
    assert [point[0] for point in losses.points] == [NANOSECONDS, 5 * NANOSECONDS]
    assert losses.at == "all of them"


class LosesInHours(FluidBench):
    """Loses a frame of a soak, and nothing of shorter trials."""

    def trial(self, load_fps: int, duration_ns: int, options: TrialOptions = PLAIN) -> Trial:
        trial = super().trial(load_fps, duration_ns, options)
        if options.on_second is None:
            return trial
        return counted(trial, received_frames=trial.directions[0].received_frames - 1)


@pytest.mark.parametrize(("load", "flags"), [("100%", (Flag.UNSTABLE,)), ("50%", ())])
def test_a_throughput_that_loses_frames_for_hours_is_in_doubt_and_the_loss_is_the_answer(
    load: str, flags: tuple[Flag, ...]
) -> None:
    """Of half of it nothing is said that speaks of equal trials."""
    asked = method("soak", throughput_duration="60s", throughput_sum="60s", load=load)

    result = asked.run(LosesInHours(1_000_000))

    (goal,) = result.goals
    assert figures(result)["lost"] == 1
    assert outcome_of(result, ()) == (Outcome.PASS, "")
    assert [one for one in goal.flags if one is Flag.UNSTABLE] == list(flags)
    assert "; later a trial at " in goal.reason and goal.reason.endswith(" lost frames")


def test_a_share_of_the_throughput_is_offered_once_for_the_whole_time() -> None:
    bench = FluidBench(2_000_000, loads=GIVEN)

    method("soak", throughput="2Mfps", load="25%").run(bench)

    (trial,) = bench.made
    assert (trial.load_fps, trial.duration_ns) == (500_000, 120 * NANOSECONDS)


def test_no_loss_is_told_with_what_it_proves_of_the_frames_of_the_soak() -> None:
    bench = FluidBench(2_000_000, loads=GIVEN)

    result = method("soak", throughput="2Mfps", load="50%", duration="1000s").run(bench)

    ratio = next(one for one in result.figures if one.name == "loss_ratio")
    assert ratio.value == 0
    assert ratio.reason == (
        "none of 1,000,000,000 frames sent each way was lost: a loss ratio above 3.0e-09 is "
        "unlikely (3/n, at 95 %)"
    )


def test_the_frames_that_a_share_is_of_are_those_of_its_direction() -> None:
    bench = FluidBench(500_000, loads=GIVEN)
    bench.shown = lambda trial: with_way_back(
        trial, received_frames=trial.directions[0].intended_frames
    )

    result = method("soak", throughput="2Mfps").run(bench)

    lost, ratio = result.figures[:2]
    assert ratio.value == 0.5
    assert ratio.reason == "of 120,000,000 frames, worse direction"
    assert lost.value == 60_000_000


def test_ten_seconds_are_the_least() -> None:
    with pytest.raises(ValueError, match="at least 10s"):
        method("soak", duration="9s")


def test_loss_of_one_direction_does_not_hide_that_of_the_other() -> None:
    hours = Hours(10 * NANOSECONDS, most_events=5)
    for number, (there, back) in enumerate([(0, 0), (9, 0), (9, 0), (9, 7), (9, 7)], start=1):
        (way,) = second(number, there).sample.directions
        other = way.model_copy(update={"name": "phy1 to phy0", "lost_frames": back})
        one = second(number, there)
        sample = one.sample.model_copy(update={"directions": (way, other)})
        hours.add(one.model_copy(update={"sample": sample}))

    assert hours.events_seen == 2
    assert sorted(event.lost for event in hours.events) == [7, 9]


def test_a_loss_is_told_in_its_second_whatever_a_full_port_takes_after_all_then() -> None:
    hours = Hours(10 * NANOSECONDS, most_events=5)
    for number, (lost, refused) in enumerate([(0, 600), (0, 600), (9, 20), (9, 0)], start=1):
        hours.add(second(number, lost, refused=refused))

    assert [(event.begin_ns, event.lost) for event in hours.events] == [(2 * NANOSECONDS, 9)]


def test_what_was_refused_in_the_last_second_only_was_not_lost() -> None:
    seconds = [second(1), second(2, refused=3), second(3, refused=5)]
    bench = FluidBench(LOADS.maximum, loads=GIVEN, seconds=seconds)

    found = figures(method("soak", throughput="2Mfps").run(bench))

    assert (found["lost"], found["loss_events"]) == (0, 0)


def test_what_is_on_its_way_to_a_port_is_refused_by_nobody() -> None:
    hours = Hours(10 * NANOSECONDS, most_events=5, load_fps=2_000_000)
    for number, refused in enumerate([180, 2_000, 60, 2_007], start=1):
        hours.add(second(number, refused=refused))

    assert [event.lost for event in hours.events] == [7]


def failing(trial: Trial) -> Trial:
    gone = {"directions": (), "flags": (Flag.GENERATOR_ERROR,), "error": "it hung up"}
    return trial.model_copy(update=gone)


def doubted(trial: Trial) -> Trial:
    return trial.model_copy(update={"flags": (Flag.RX_EXCEEDS_TX,)})


def test_a_generator_that_fails_after_hours_leaves_what_was_seen() -> None:
    bench = FluidBench(5_000_000, loads=GIVEN, seconds=added_up([0, 3, 0]), shown=failing)

    result = method("soak", throughput="2Mfps").run(bench)

    lost, events = result.figures[:2]
    assert lost.value is None
    assert lost.reason == "the generator failed after 3 seconds: it hung up"
    assert lost.flags == (Flag.GENERATOR_ERROR,)
    assert events.value == 1
    assert result.curves[0].points


def under_tst009(
    bench: FluidBench, limit: Limit | None = None, **settings: Any
) -> tuple[Level, tuple[str, ...]]:
    """Return the word on TST 009; `limit` is what the trials are said to have been limited by."""
    asked = method("soak", **settings)
    result = asked.run(bench)
    if limit is not None:
        told = tuple(one.model_copy(update={"limit": limit}) for one in result.figures)
        result = result.model_copy(update={"figures": told})
    return word_on(Standard.TST009, asked, result)


DAY: dict[str, Any] = {"duration": "24h", "load": "100%"}
GIVEN_DAY: dict[str, Any] = {**DAY, "throughput": "2Mfps"}
WAS_GIVEN = "the throughput was given, not measured here"


def test_a_day_at_the_throughput_is_a_long_duration_of_tst_009() -> None:
    minute: dict[str, Any] = {"throughput_duration": "60s", "throughput_sum": "60s"}
    assert under_tst009(FluidBench(2_000_000), **DAY, **minute) == (
        Level.CONDITIONAL,
        ("the throughput was looked for by a multiple loss ratio search, not by one of its own",),
    )


def test_a_throughput_from_short_trials_is_told_as_that() -> None:
    _, deviations = under_tst009(FluidBench(2_000_000), **DAY)
    assert "the throughput is from trials of 1s instead of 60s" in deviations


def test_a_generator_that_could_do_no_more_and_lost_nothing_is_no_deviation() -> None:
    bench = FluidBench(2_000_000, loads=GIVEN)
    assert under_tst009(bench, Limit.GENERATOR, **GIVEN_DAY)[1] == (WAS_GIVEN,)


def test_loss_within_a_day_is_what_was_looked_for_and_no_deviation() -> None:
    found = under_tst009(FluidBench(1_999_999, loads=GIVEN), **GIVEN_DAY)
    assert found == (Level.CONDITIONAL, (WAS_GIVEN,))


def test_an_hour_at_a_share_is_told_as_that() -> None:
    hour = under_tst009(FluidBench(2_000_000, loads=GIVEN), duration="1h", throughput="2Mfps")
    deviations = (
        WAS_GIVEN,
        "1h of traffic instead of 24h (RFC 8204)",
        "at 50% of the throughput, not at all of it",
    )
    assert hour == (Level.CONDITIONAL, deviations)


@pytest.mark.parametrize("limit", [Limit.GENERATOR, Limit.HOST])
def test_loss_of_generator_or_machine_complies_with_nothing(limit: Limit) -> None:
    level, deviations = under_tst009(FluidBench(900_000, loads=GIVEN), limit, throughput="2Mfps")
    assert level is Level.NOT
    assert deviations[0] == f"the {limit} lost frames, not the switch"


def test_a_soak_that_had_no_time_or_broke_complies_with_nothing() -> None:
    late = FluidBench(2_000_000, loads=GIVEN, budget=Budget(NANOSECONDS))
    broken, odd = (FluidBench(2_000_000, loads=GIVEN, shown=one) for one in (failing, doubted))

    found = [under_tst009(bench, **GIVEN_DAY) for bench in (late, broken, odd)]

    assert [(level, deviations[0]) for level, deviations in found] == [
        (Level.NOT, "the time ended before the trial did"),
        (Level.NOT, "there is no loss to tell: the generator failed after 0 seconds: it hung up"),
        (Level.NOT, "the trial is invalid: rx-exceeds-tx"),
    ]
