"""Latency by tagged frames, the first frame after a silence, and loads downwards."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from itertools import count
from typing import Any

import pytest
from bench_models import (
    ALL_SIZES,
    LOADS,
    FluidBench,
    UnevenBench,
    counted,
    figures,
    method,
    with_way_back,
    word_on,
)
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError
from search_models import LINE_RATE, case_of

from vsperf.engine.criteria import outcome_of
from vsperf.errors import SpecError
from vsperf.methods.base import PLAIN, TrialOptions, loads_of
from vsperf.quantities.units import NANOSECONDS
from vsperf.records.flags import Flag
from vsperf.records.histogram import encode
from vsperf.records.result import Level, Limit, Standard
from vsperf.records.run import Outcome
from vsperf.records.trial import Direction, Purpose, Trial
from vsperf.search.base import Budget

# Latency by tagged frames: RFC 2544 section 26.2 and RFC 8219.

GIVEN = replace(LOADS, reference=5_000_000)
FRAMES = [9_000, *([10_000] * 996), 50_000, 60_000, 70_000]
"""The tagged frame first; of a thousand, three are late."""


def test_the_tagged_frame_and_all_behind_it_are_told() -> None:
    bench = FluidBench(5_000_000, loads=GIVEN, latencies_ns=FRAMES)

    found = figures(method("latency", throughput="5Mfps").run(bench))

    assert found["tagged_latency"] == 9_000
    assert found["typical_latency"] == pytest.approx(10_000, rel=1e-3)
    assert found["worst_case_latency"] == pytest.approx(60_000, rel=1e-3)
    assert found["delay_variation"] == pytest.approx(51_000, rel=1e-3)
    assert found["mean_latency"] == pytest.approx(sum(FRAMES) / len(FRAMES), rel=1e-3)


def test_twenty_trials_are_made_at_the_throughput() -> None:
    bench = FluidBench(5_000_000, loads=GIVEN, latencies_ns=FRAMES)

    result = method("latency", throughput="5Mfps").run(bench)

    assert len(bench.made) == 20
    assert {trial.load_fps for trial in bench.made} == {5_000_000}
    assert {trial.purpose for trial in bench.made} == {Purpose.LATENCY}
    spread = result.figures[0].spread
    assert spread is not None and spread.runs == 20


def test_few_frames_say_nothing_on_their_distribution() -> None:
    bench = FluidBench(5_000_000, loads=GIVEN, latencies_ns=FRAMES[:499])

    result = method("latency", throughput="5Mfps").run(bench)

    assert figures(result)["worst_case_latency"] is None
    assert result.figures[2].reason == "no trial had 500 frames after the tag"


def test_a_tagged_frame_that_was_lost_leaves_no_number() -> None:
    result = method("latency", throughput="5Mfps").run(FluidBench(5_000_000, loads=GIVEN))

    assert result.figures[0].value is None
    assert result.figures[0].reason == "in 20 of 20 trials a tagged frame did not come back"


def test_where_all_frames_count_none_is_tagged_and_nothing_is_said_of_it() -> None:
    """Of a tag that there was not, each would be said to have been lost."""
    asked = method("latency", throughput="5Mfps", tag_after="0s")

    found = figures(asked.run(FluidBench(5_000_000, loads=GIVEN, latencies_ns=FRAMES)))

    assert next(iter(found)) == "typical_latency"
    assert "tagged_latency" not in found


NO_NEW_NETWORK = "the tagged frames went where all others did, to no new network"
"""What section 26.2 would have beside the frames to the same destination."""


def test_the_book_s_own_times_comply_but_for_the_tag_to_a_new_network() -> None:
    asked = method("latency")
    result = asked.run(FluidBench(5_000_000, latencies_ns=FRAMES))

    assert word_on(Standard.RFC2544, asked, result, sizes=ALL_SIZES) == (
        Level.CONDITIONAL,
        (NO_NEW_NETWORK,),
    )
    assert word_on(Standard.RFC8219, asked, result, sizes=ALL_SIZES)[0] is Level.UNCONDITIONAL
    for standard in (Standard.RFC2544, Standard.RFC8219):
        level, deviations = word_on(standard, asked, result)
        assert level is Level.CONDITIONAL
        assert "128, 256, 512, 1024, 1280, 1518" in "; ".join(deviations), "a single size"


def test_a_tag_after_the_end_of_the_stream_is_refused() -> None:
    with pytest.raises(ValueError, match="within the duration"):
        method("latency", duration="60s", tag_after="60s")


def test_trials_that_lost_frames_are_told_and_comply_with_nothing() -> None:
    asked = method("latency", throughput="5Mfps", load="100%")
    result = asked.run(FluidBench(4_999_999, latencies_ns=FRAMES, loads=GIVEN))

    assert figures(result)["trials_with_loss"] == 20
    for found in asked.compliance(case_of("mlr", search=asked), [64], result):
        assert found.level is Level.NOT
        assert "lost in 20 trials" in "; ".join(found.deviations)


def under_tst009(frames: Sequence[int] = FRAMES, **settings: Any) -> tuple[Level, tuple[str, ...]]:
    """Return the word on TST 009."""
    asked = method("latency", **settings)
    loads = GIVEN if settings else LOADS
    result = asked.run(FluidBench(5_000_000, latencies_ns=frames, loads=loads))
    return word_on(Standard.TST009, asked, result)


def test_the_delay_of_all_frames_is_held_against_tst_009() -> None:
    """Where the throughput comes from and which frames count weakens the word, no more."""
    deviations = (
        "the throughput was looked for by a multiple loss ratio search, not by one of its own",
        "frames of the first 1m do not count for it",
    )
    assert under_tst009() == (Level.CONDITIONAL, deviations)


def test_all_frames_at_a_throughput_that_was_given_are_told_so() -> None:
    deviations = ("the throughput was given, not measured here",)
    assert under_tst009(throughput="5Mfps", tag_after="0s") == (Level.CONDITIONAL, deviations)


def test_short_trials_at_a_share_of_the_throughput_do_not_comply_with_tst_009() -> None:
    deviations = (
        "trial duration 2s instead of 60s",
        "the throughput was given, not measured here",
        "at 50% of the throughput, not at all of it",
        "frames of the first 1s do not count for it",
    )
    found = under_tst009(throughput="5Mfps", duration="2s", tag_after="1s", load="50%")
    assert found == (Level.NOT, deviations)


def test_without_a_distribution_there_is_no_delay_to_comply_with() -> None:
    level, deviations = under_tst009(FRAMES[:499], throughput="5Mfps")

    missing = ("worst case latency", "delay variation", "mean latency")
    assert level is Level.NOT
    assert deviations[:3] == tuple(f"there is no {name}" for name in missing)


def test_tagged_frames_of_both_directions_are_averaged() -> None:
    bench = FluidBench(5_000_000, loads=GIVEN, latencies_ns=FRAMES)
    bench.shown = lambda trial: with_way_back(trial, first_latency_ns=3 * FRAMES[0])

    found = figures(method("latency", throughput="5Mfps").run(bench))

    assert found["tagged_latency"] == 2 * FRAMES[0]


def losing(lossy: int) -> Callable[[Trial], Trial]:
    """Lose a frame in the first ones of the trials that are made at the throughput."""
    later = count(1)

    def shown(trial: Trial) -> Trial:
        if trial.purpose is not Purpose.LATENCY or next(later) > lossy:
            return trial
        return counted(trial, received_frames=trial.directions[0].received_frames - 1)

    return shown


TAKEN_FOR_GRANTED = {"throughput_duration": "60s", "throughput_sum": "60s", "duration": "60s"}
WEIGHED = {"throughput_duration": "1s", "throughput_sum": "5s", "duration": "4s"}


@pytest.mark.parametrize("kind", ["latency", "broadcast"])
@pytest.mark.parametrize(
    ("asked", "lossy", "flag"),
    [
        (TAKEN_FOR_GRANTED, 0, None),
        (TAKEN_FOR_GRANTED, 1, Flag.REFUTED),
        (WEIGHED, 1, Flag.UNSTABLE),
        (WEIGHED, 4, Flag.REFUTED),
    ],
)
def test_trials_at_a_throughput_may_take_it_back_by_the_rule_that_found_it(
    kind: str, asked: dict[str, str], lossy: int, flag: Flag | None
) -> None:
    tagged = {"tag_after": "2s"} if kind == "latency" else {}
    wanted = method(kind, **asked, **tagged, repeats=5)
    bench = FluidBench(5_000_000, latencies_ns=FRAMES, shown=losing(lossy))

    (goal,) = (result := wanted.run(bench)).goals

    assert [one for one in goal.flags if one in (Flag.REFUTED, Flag.UNSTABLE)] == (
        [] if flag is None else [flag]
    )
    assert figures(result).get("trials_with_loss") == (lossy or None)
    told = f"later {lossy} of 5 trials at "
    assert (told in goal.reason) is bool(lossy)
    outcome, _ = outcome_of(result, ())
    assert outcome is (Outcome.INVALID if flag is Flag.REFUTED else Outcome.PASS)


# What a silence costs the first frame after it, on a switch that goes to sleep.

AWAKE_NS = 4_000
GIVEN_SILENCE = {"throughput_duration": "1s", "throughput_sum": "1s"}


@dataclass
class SleepyBench(FluidBench):
    """The switch falls asleep when nothing comes, and takes a while to wake up."""

    asleep_after_ns: int = 50_000_000
    wakes_ns: int = 1_000_000
    lost_asleep: int = 0
    asked_for: list[TrialOptions] = field(default_factory=list)

    def _stepped(self, options: TrialOptions) -> Trial:
        self.asked_for.append(options)
        before, silence, after = options.steps
        asleep = silence.duration_ns >= self.asleep_after_ns
        sent = before.frames + silence.frames + after.frames
        first = before.frames + silence.frames
        latency = dict.fromkeys((first - 2, first), AWAKE_NS)
        latency[first] += self.wakes_ns if asleep else 0
        way = Direction(
            name="phy0 to phy1",
            intended_frames=sent,
            sent_frames=sent,
            received_frames=sent - (self.lost_asleep if asleep else 0),
            range_histograms=tuple(
                encode([ns for number, ns in latency.items() if low <= number <= high])
                for low, high in options.latency_ranges
            ),
        )
        length_ns = before.duration_ns + silence.duration_ns + after.duration_ns
        return self._kept(way, before.load_fps, length_ns, options, None)


@settings(max_examples=30, deadline=None)
@given(wakes_ns=st.integers(0, 10_000_000), silence=st.sampled_from(["1ms", "10ms", "100ms", "1s"]))
def test_the_first_frame_tells_how_long_the_switch_takes_to_wake(
    wakes_ns: int, silence: str
) -> None:
    bench = SleepyBench(1_000_000, wakes_ns=wakes_ns)
    result = method("wake_up", **GIVEN_SILENCE, silence=silence).run(bench)
    found = figures(result)
    slept = silence in {"100ms", "1s"}
    assert found["wake_up_latency"] == pytest.approx(AWAKE_NS + slept * wakes_ns, rel=0.01)
    assert found["awake_latency"] == pytest.approx(AWAKE_NS, rel=0.01)
    assert found["lost"] == 0


@pytest.mark.parametrize("silence", ["1ms", "8ms", "40ms", "125ms", "250ms", "500ms", "1s"])
def test_nothing_but_one_frame_comes_in_the_silence(silence: str) -> None:
    bench = SleepyBench(1_000_000)
    wanted = method("wake_up", **GIVEN_SILENCE, silence=silence, load="25%", frames=500, repeats=3)
    result = wanted.run(bench)
    (goal,) = result.goals
    assert goal.lower_fps is not None
    assert len(bench.asked_for) == 3
    for options in bench.asked_for:
        before, silent, after = options.steps
        assert (before.frames, silent.frames, after.frames) == (500, 1, 500)
        assert before.load_fps == after.load_fps == round(goal.lower_fps / 4)
        assert options.latency_ranges == ((450, 499), (501, 501))
        assert options.purpose is Purpose.LATENCY


def test_frames_that_a_sleeping_switch_loses_are_counted() -> None:
    result = method("wake_up", **GIVEN_SILENCE, frames=1000).run(
        SleepyBench(1_000_000, lost_asleep=37)
    )
    (lost,) = [figure for figure in result.figures if figure.name == "lost"]
    assert lost.value == 37
    assert lost.reason == "of 2,001 frames in the worst trial, worse direction"


def test_no_loss_in_all_trials_says_what_that_makes_unlikely() -> None:
    result = method("wake_up", **GIVEN_SILENCE, frames=1000, repeats=5).run(SleepyBench(1_000_000))
    (lost,) = [figure for figure in result.figures if figure.name == "lost"]
    assert lost.value == 0
    assert lost.reason.startswith(
        "none of 10,005 frames sent each way was lost: a loss ratio above"
    )
    assert "3.0e-04" in lost.reason


def test_a_first_frame_that_did_not_come_back_leaves_no_latency() -> None:
    @dataclass
    class Deaf(SleepyBench):
        def _stepped(self, options: TrialOptions) -> Trial:
            trial = super()._stepped(options)
            (way,) = trial.directions
            mute = way.model_copy(update={"range_histograms": (way.range_histograms[0], None)})
            self.made[-1] = trial.model_copy(update={"directions": (mute,)})
            return self.made[-1]

    result = method("wake_up", **GIVEN_SILENCE, repeats=4).run(Deaf(1_000_000))
    woken = next(figure for figure in result.figures if figure.name == "wake_up_latency")
    assert woken.value is None
    assert woken.reason.endswith("in 4 of 4 trials none of them came back")


def test_a_switch_that_passes_no_load_has_no_answer() -> None:
    result = method("wake_up", **GIVEN_SILENCE).run(SleepyBench(1))
    assert figures(result) == {"wake_up_latency": None}


def test_a_trial_is_made_as_often_as_time_allows() -> None:
    bench = SleepyBench(LOADS.maximum, loads=LOADS, budget=Budget(limit_ns=60_000_000_000))
    result = method("wake_up", **GIVEN_SILENCE, silence="1s", repeats=100).run(bench)
    assert not result.complete


@pytest.mark.parametrize("silence", ["0s", "100us", "300ms", "2s", "7ms"])
def test_a_silence_is_a_part_of_a_second(silence: str) -> None:
    with pytest.raises(ValidationError, match="silence: a part of a second from 1ms on"):
        method("wake_up", **GIVEN_SILENCE, silence=silence)


def test_both_ways_fall_silent_together() -> None:
    uneven = {"frame_size": "64B", "reverse_load": "50%"}
    case = case_of("mlr", traffic=uneven, search=method("wake_up", **GIVEN_SILENCE))
    with pytest.raises(SpecError, match="the way back has 50% of the load"):
        loads_of(case)


def test_a_plain_trial_is_not_disturbed() -> None:
    bench = SleepyBench(1_000_000)
    assert bench.trial(1000, 1_000_000_000, PLAIN).directions[0].lost_frames == 0


# Loads gone through downwards: RFC 2544 section 26.3 and RFC 2889 section 5.


def test_the_loss_curve_ends_with_two_loads_without_loss() -> None:
    bench = FluidBench(LINE_RATE * 3 // 4)

    result = method("loss", step="10%").run(bench)

    assert [round(load.load_fps / LINE_RATE, 3) for load in result.loads] == [1, 0.9, 0.8, 0.7, 0.6]
    lost = [float(Fraction(load.worst_loss_ratio)) for load in result.loads]
    assert [round(share, 4) for share in lost] == [0.25, 0.1667, 0.0625, 0, 0]
    assert figures(result)["lossless_load"] == round(LINE_RATE * 0.7)
    assert figures(result)["loss_at_top"] == pytest.approx(0.25, abs=1e-6)
    assert result.figures[0].upper == round(LINE_RATE * 0.8)
    assert result.figures[0].limit is Limit.DUT
    assert result.figures[0].reason == (
        "it and the next lower load lost nothing; at it, none of 10,416,666 frames sent each way "
        "was lost: a loss ratio above 2.9e-07 is unlikely (3/n, at 95 %)"
    )


@given(capacity=st.integers(LOADS.minimum, LOADS.maximum), step=st.sampled_from([1, 5, 10, 20]))
def test_a_loss_curve_is_that_of_the_switch_whatever_it_can_do(capacity: int, step: int) -> None:
    result = method("loss", step=f"{step}%").run(FluidBench(capacity))

    for number, load in enumerate(result.loads):
        assert load.load_fps == pytest.approx(LINE_RATE * (1 - number * step / 100), abs=1)
        lost = max(0, 1 - capacity / load.load_fps)
        assert float(Fraction(load.worst_loss_ratio)) == pytest.approx(lost, abs=1e-6)
    passed = [load.load_fps for load in result.loads if load.load_fps <= capacity]
    assert figures(result)["lossless_load"] == (passed[0] if len(passed) > 1 else None)


def test_one_load_without_loss_between_lossy_ones_does_not_end_the_curve() -> None:
    """Two in a row are asked for: 90 % passes here, 80 % does not."""
    bench = FluidBench(LINE_RATE)
    bench.lossy_loads = {LINE_RATE, round(LINE_RATE * 0.8)}

    result = method("loss", step="10%").run(bench)

    assert len(result.loads) == 5
    assert figures(result)["lossless_load"] == round(LINE_RATE * 0.7)


def test_without_two_loads_that_pass_there_is_no_lossless_load() -> None:
    result = method("loss", step="50%").run(FluidBench(1000))

    lossless = result.figures[0]
    assert lossless.value is None
    assert lossless.reason == "no two loads in a row passed without loss"
    assert lossless.limit is Limit.DUT


def test_a_generator_that_is_the_top_is_named() -> None:
    loads = replace(LOADS, maximum=5_000_000, generator_cap=5_000_000, virtual=True)

    result = method("loss").run(FluidBench(9_000_000, loads=loads))

    assert result.figures[0].limit is Limit.GENERATOR
    assert result.figures[1].at == "the cap of the generator"  # after "measured at"


def test_a_curve_is_cut_short_by_the_time() -> None:
    bench = FluidBench(1000, budget=Budget(3 * NANOSECONDS))

    result = method("loss").run(bench)

    assert len(result.loads) == 3
    assert not result.complete


SLOW = FluidBench(LINE_RATE // 2)


def test_steps_above_a_tenth_do_not_comply() -> None:
    asked = method("loss", step="20%", duration="60s")

    level, deviations = word_on(Standard.RFC2544, asked, asked.run(SLOW))

    assert level is Level.NOT
    assert "steps of 20% instead of at most 10% (section 26.3)" in deviations


@pytest.mark.parametrize(
    ("virtual", "reason"),
    [(False, "the line rate passed"), (True, "the nominal rate of the link passed")],
)
def test_a_virtual_link_has_no_line_rate_that_could_pass(virtual: bool, reason: str) -> None:
    result = method("loss").run(FluidBench(LINE_RATE, loads=replace(LOADS, virtual=virtual)))
    assert (result.loads[0].limit, result.loads[0].reason) == (Limit.LINK, reason)


SWEEPS = pytest.mark.parametrize(
    ("kind", "duration", "standard"),
    [("loss", "60s", Standard.RFC2544), ("forwarding", "30s", Standard.RFC2889)],
)
"""What goes through loads downwards, with trials as long as its standard says."""


@SWEEPS
def test_a_sweep_in_full_over_all_frame_sizes_complies(
    kind: str, duration: str, standard: Standard
) -> None:
    asked = method(kind, duration=duration)

    found = word_on(standard, asked, asked.run(SLOW), sizes=ALL_SIZES)

    assert found == (Level.UNCONDITIONAL, ())


@SWEEPS
def test_a_sweep_that_begins_at_the_cap_of_the_generator_does_not_begin_at_the_line_rate(
    kind: str, duration: str, standard: Standard
) -> None:
    """Whoever loses frames there: nobody saw what became of more."""
    asked = method(kind, duration=duration)
    bench = FluidBench(3_000_000, loads=replace(LOADS, maximum=5_000_000, generator_cap=5_000_000))
    result = asked.run(bench)
    assert result.loads[0].limit is Limit.DUT

    found = word_on(standard, asked, result, sizes=ALL_SIZES)

    assert found == (Level.NOT, ("the generator could not offer the highest load",))


@pytest.mark.parametrize(
    ("limit", "whose"),
    [
        (Limit.HOST, "the host lost frames, not the switch"),
        (Limit.UNCOUNTED, "nobody counted where missing frames were lost"),
    ],
)
@SWEEPS
def test_loss_that_is_not_the_switchs_is_no_loss_rate_of_it(
    kind: str, duration: str, standard: Standard, limit: Limit, whose: str
) -> None:
    asked = method(kind, duration=duration)
    result = asked.run(SLOW)
    loads = tuple(one.model_copy(update={"limit": limit}) for one in result.loads)
    result = result.model_copy(update={"loads": loads})

    assert word_on(standard, asked, result, sizes=ALL_SIZES) == (Level.NOT, (whose,))


def test_the_maximum_forwarding_rate_may_lie_below_the_highest_load() -> None:
    """A switch that forwards less when it is overloaded more."""
    bench = FluidBench(10_000_000)
    bench.collapse = 0.5

    result = method("forwarding", step="10%").run(bench)

    found = figures(result)
    mfr, frmol = found["mfr"], found["frmol"]
    assert mfr is not None and frmol is not None
    assert mfr > frmol
    assert result.figures[0].at == "offered 10.42 Mfps"


@given(capacity=st.integers(LOADS.minimum, LOADS.maximum))
def test_all_that_a_switch_can_do_is_its_maximum_forwarding_rate(capacity: int) -> None:
    found = figures(method("forwarding", step="10%", duration="1s").run(FluidBench(capacity)))

    assert found["mfr"] == pytest.approx(capacity, abs=1)
    assert found["frmol"] == pytest.approx(capacity, abs=1)


def test_forwarding_ends_where_lower_loads_cannot_let_more_pass() -> None:
    result = method("forwarding", step="10%").run(FluidBench(10_000_000))

    assert len(result.loads) == 5
    assert figures(result)["mfr"] == 10_000_000


@pytest.mark.parametrize(
    ("asked", "budget", "deviation"),
    [
        ({"max_load": "50%"}, Budget(), "it begins at 50%, not at the line rate"),
        ({}, Budget(60 * NANOSECONDS), "the time ended before the sweep did"),
    ],
)
def test_forwarding_rates_of_half_a_sweep_do_not_comply(
    asked: dict[str, str], budget: Budget, deviation: str
) -> None:
    forwarding = method("forwarding", **asked)
    result = forwarding.run(FluidBench(1_000_000, budget=budget))

    level, deviations = word_on(Standard.RFC2889, forwarding, result)

    assert level is Level.NOT
    assert deviation in deviations


def test_the_most_that_passed_is_told_of_the_loads_that_were_tried() -> None:
    """Where the time ended there are others, and they may well let more pass."""
    result = method("forwarding").run(FluidBench(1_000_000, budget=Budget(60 * NANOSECONDS)))

    most = next(one for one in result.figures if one.name == "mfr")
    assert most.reason == "no other load that was tried let more pass"


def test_the_rate_that_comes_through_is_of_the_whole_load_in_both_directions() -> None:
    found = figures(method("forwarding").run(UnevenBench(5_000_000)))

    assert found["mfr"] == pytest.approx(5_000_000, rel=1e-3)
