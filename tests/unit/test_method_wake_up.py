"""What a silence costs the first frame after it, on a switch that goes to sleep."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest
from bench_models import LOADS, FluidBench, figures, method
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError
from search_models import case_of

from vsperf.errors import SpecError
from vsperf.methods.base import PLAIN, Manner, loads_of
from vsperf.record.histogram import encode
from vsperf.record.trial import Direction, Purpose, Trial
from vsperf.search.base import Budget

AWAKE_NS = 4_000
GIVEN = {"throughput_duration": "1s", "throughput_sum": "1s"}


@dataclass
class SleepyBench(FluidBench):
    """The switch falls asleep when nothing comes, and takes a while to wake up."""

    asleep_after_ns: int = 50_000_000
    wakes_ns: int = 1_000_000
    lost_asleep: int = 0
    seen: list[Manner] = field(default_factory=list)

    def _stepped(self, manner: Manner) -> Trial:
        self.seen.append(manner)
        before, silence, after = manner.steps
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
                for low, high in manner.latency_ranges
            ),
        )
        length_ns = before.duration_ns + silence.duration_ns + after.duration_ns
        return self._kept(way, before.load_fps, length_ns, manner, None)


@settings(max_examples=30, deadline=None)
@given(wakes_ns=st.integers(0, 10_000_000), silence=st.sampled_from(["1ms", "10ms", "100ms", "1s"]))
def test_the_first_frame_tells_how_long_the_switch_takes_to_wake(
    wakes_ns: int, silence: str
) -> None:
    bench = SleepyBench(1_000_000, wakes_ns=wakes_ns)
    result = method("wake_up", **GIVEN, silence=silence).run(bench)
    found = figures(result)
    slept = silence in {"100ms", "1s"}
    assert found["wake_up_latency"] == pytest.approx(AWAKE_NS + slept * wakes_ns, rel=0.01)
    assert found["awake_latency"] == pytest.approx(AWAKE_NS, rel=0.01)
    assert found["lost"] == 0


@pytest.mark.parametrize("silence", ["1ms", "8ms", "40ms", "125ms", "250ms", "500ms", "1s"])
def test_nothing_but_one_frame_comes_in_the_silence(silence: str) -> None:
    bench = SleepyBench(1_000_000)
    wanted = method("wake_up", **GIVEN, silence=silence, load="25%", frames=500, repeats=3)
    result = wanted.run(bench)
    (goal,) = result.goals
    assert goal.lower_fps is not None
    assert len(bench.seen) == 3
    for manner in bench.seen:
        before, silent, after = manner.steps
        assert (before.frames, silent.frames, after.frames) == (500, 1, 500)
        assert before.load_fps == after.load_fps == round(goal.lower_fps / 4)
        assert manner.latency_ranges == ((450, 499), (501, 501))
        assert manner.purpose is Purpose.LATENCY


def test_frames_that_a_sleeping_switch_loses_are_counted() -> None:
    result = method("wake_up", **GIVEN, frames=1000).run(SleepyBench(1_000_000, lost_asleep=37))
    (lost,) = [figure for figure in result.figures if figure.name == "lost"]
    assert lost.value == 37
    assert lost.reason == "of 2,001 frames in the worst trial, worse direction"


def test_no_loss_in_all_trials_says_what_that_makes_unlikely() -> None:
    result = method("wake_up", **GIVEN, frames=1000, repeats=5).run(SleepyBench(1_000_000))
    (lost,) = [figure for figure in result.figures if figure.name == "lost"]
    assert lost.value == 0
    assert lost.reason.startswith(
        "none of 10,005 frames sent each way was lost: a loss ratio above"
    )
    assert "3.0e-04" in lost.reason


def test_a_first_frame_that_did_not_come_back_leaves_no_latency() -> None:
    @dataclass
    class Deaf(SleepyBench):
        def _stepped(self, manner: Manner) -> Trial:
            trial = super()._stepped(manner)
            (way,) = trial.directions
            mute = way.model_copy(update={"range_histograms": (way.range_histograms[0], None)})
            self.made[-1] = trial.model_copy(update={"directions": (mute,)})
            return self.made[-1]

    result = method("wake_up", **GIVEN, repeats=4).run(Deaf(1_000_000))
    woken = next(figure for figure in result.figures if figure.name == "wake_up_latency")
    assert woken.value is None
    assert woken.reason.endswith("in 4 of 4 trials none of them came back")


def test_a_switch_that_passes_no_load_has_no_answer() -> None:
    result = method("wake_up", **GIVEN).run(SleepyBench(1))
    assert figures(result) == {"wake_up_latency": None}


def test_a_trial_is_made_as_often_as_time_allows() -> None:
    bench = SleepyBench(LOADS.maximum, loads=LOADS, budget=Budget(limit_ns=60_000_000_000))
    result = method("wake_up", **GIVEN, silence="1s", repeats=100).run(bench)
    assert not result.complete


@pytest.mark.parametrize("silence", ["0s", "100us", "300ms", "2s", "7ms"])
def test_a_silence_is_a_part_of_a_second(silence: str) -> None:
    with pytest.raises(ValidationError, match="silence: a part of a second from 1ms on"):
        method("wake_up", **GIVEN, silence=silence)


def test_both_ways_fall_silent_together() -> None:
    uneven = {"frame_size": "64B", "reverse_load": "50%"}
    case = case_of("mlr", traffic=uneven, search=method("wake_up", **GIVEN))
    with pytest.raises(SpecError, match="the way back has 50% of the load"):
        loads_of(case)


def test_a_plain_trial_is_not_disturbed() -> None:
    bench = SleepyBench(1_000_000)
    assert bench.trial(1000, 1_000_000_000, PLAIN).directions[0].lost_frames == 0
