"""Latency by tagged frames: RFC 2544 section 26.2 and RFC 8219."""

from __future__ import annotations

from dataclasses import replace

import pytest
from bench_models import LOADS, FluidBench, figures, method
from search_models import case_of

from vsperf.engine.criteria import outcome_of
from vsperf.methods.base import PLAIN, Manner, Method
from vsperf.record.flags import Flag
from vsperf.record.result import Compliance, Level, SearchResult, Standard
from vsperf.record.run import Outcome
from vsperf.record.trial import Purpose, Trial

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
    case = case_of("mlr", search=asked)

    rfc2544, rfc8219, _ = asked.compliance(case, [64, 128, 256, 512, 1024, 1280, 1518], result)

    assert (rfc2544.level, rfc2544.deviations) == (Level.CONDITIONAL, (NO_NEW_NETWORK,))
    assert rfc8219.level is Level.UNCONDITIONAL


def test_a_single_frame_size_weakens_the_word_on_both_standards() -> None:
    asked = method("latency")
    result = asked.run(FluidBench(5_000_000, latencies_ns=FRAMES))

    for found in asked.compliance(case_of("mlr", search=asked), [64], result)[:2]:
        assert found.level is Level.CONDITIONAL
        assert "128, 256, 512, 1024, 1280, 1518" in "; ".join(found.deviations)


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


def under_tst009(result: SearchResult, asked: Method) -> Compliance:
    """Return the word on TST 009."""
    found = asked.compliance(case_of("mlr", search=asked), [64], result)
    return next(one for one in found if one.standard is Standard.TST009)


def test_the_delay_of_all_frames_is_held_against_tst_009() -> None:
    """Where the throughput comes from and which frames count weakens the word, no more."""
    asked = method("latency")

    found = under_tst009(asked.run(FluidBench(5_000_000, latencies_ns=FRAMES)), asked)

    assert found.level is Level.CONDITIONAL
    assert found.deviations == (
        "the throughput was looked for by a multiple loss ratio search, not by one of its own",
        "frames of the first 1m do not count for it",
    )


def test_all_frames_at_a_throughput_that_was_given_are_told_so() -> None:
    asked = method("latency", throughput="5Mfps", tag_after="0s")
    bench = FluidBench(5_000_000, latencies_ns=FRAMES, loads=GIVEN)

    found = under_tst009(asked.run(bench), asked)

    assert found.level is Level.CONDITIONAL
    assert found.deviations == ("the throughput was given, not measured here",)


def test_short_trials_at_a_share_of_the_throughput_do_not_comply_with_tst_009() -> None:
    asked = method("latency", throughput="5Mfps", duration="2s", tag_after="1s", load="50%")
    bench = FluidBench(5_000_000, latencies_ns=FRAMES, loads=GIVEN)

    found = under_tst009(asked.run(bench), asked)

    assert found.level is Level.NOT
    assert found.deviations == (
        "trial duration 2s instead of 60s",
        "the throughput was given, not measured here",
        "at 50% of the throughput, not at all of it",
        "frames of the first 1s do not count for it",
    )


def test_without_a_distribution_there_is_no_delay_to_comply_with() -> None:
    asked = method("latency", throughput="5Mfps")
    bench = FluidBench(5_000_000, latencies_ns=FRAMES[:499], loads=GIVEN)

    found = under_tst009(asked.run(bench), asked)

    assert found.level is Level.NOT
    missing = ("worst case latency", "delay variation", "mean latency")
    assert found.deviations[:3] == tuple(f"there is no {name}" for name in missing)


class TwoWays(FluidBench):
    """The way back takes three times as long."""

    def trial(self, load_fps: int, duration_ns: int, manner: Manner = PLAIN) -> Trial:
        (way,) = super().trial(load_fps, duration_ns, manner).directions
        back = way.model_copy(update={"name": "phy1 to phy0", "first_latency_ns": 3 * FRAMES[0]})
        self.made[-1] = self.made[-1].model_copy(update={"directions": (way, back)})
        return self.made[-1]


def test_tagged_frames_of_both_directions_are_averaged() -> None:
    bench = TwoWays(5_000_000, loads=GIVEN, latencies_ns=FRAMES)

    found = figures(method("latency", throughput="5Mfps").run(bench))

    assert found["tagged_latency"] == 2 * FRAMES[0]


class LosesLater(FluidBench):
    """Loses a frame in some of the trials that are made at the throughput, the first ones."""

    lossy: int = 1

    def trial(self, load_fps: int, duration_ns: int, manner: Manner = PLAIN) -> Trial:
        trial = super().trial(load_fps, duration_ns, manner)
        later = sum(one.purpose is Purpose.LATENCY for one in self.made)
        if 0 < later <= self.lossy:
            (way,) = trial.directions
            fewer = way.model_copy(update={"received_frames": way.received_frames - 1})
            self.made[-1] = trial.model_copy(update={"directions": (fewer,)})
        return self.made[-1]


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
    bench = LosesLater(5_000_000, latencies_ns=FRAMES)
    bench.lossy = lossy

    (goal,) = (result := wanted.run(bench)).goals

    assert [one for one in goal.flags if one in (Flag.REFUTED, Flag.UNSTABLE)] == (
        [] if flag is None else [flag]
    )
    assert figures(result).get("trials_with_loss") == (lossy or None)
    told = f"later {lossy} of 5 trials at "
    assert (told in goal.reason) is bool(lossy)
    outcome, _ = outcome_of(result, ())
    assert outcome is (Outcome.INVALID if flag is Flag.REFUTED else Outcome.PASS)
