"""RFC 9004: bursts, and the buffer that they tell of."""

from __future__ import annotations

import math
import re
from dataclasses import replace
from fractions import Fraction
from itertools import count
from random import Random

import pytest
from assertions import known
from bench_models import ALL_SIZES, LOADS, FluidBench, counted, figures, method, word_on
from search_models import LINE_RATE, case_of
from simulated_cases import CAPACITY_FPS, behaving, session, simulated_case

from vsperf.analysis.answers import more_is_better
from vsperf.drivers.generators.base import TrialRequest
from vsperf.errors import SpecError
from vsperf.methods.back2back import BufferTime
from vsperf.methods.base import PLAIN, Method, TrialOptions, loads_of
from vsperf.quantities.unit import Unit
from vsperf.quantities.units import NANOSECONDS, Ratio
from vsperf.records.result import Level, Limit, SearchResult, Standard
from vsperf.records.trial import Trial
from vsperf.search.base import Budget
from vsperf.search.highest import HighestPassing


def test_the_table_of_2017_is_reproduced() -> None:
    """64 B frames on 10 Gbit/s, as published with the standard's own measurements."""
    buffer = BufferTime(26_700, 11_696_726, 14_880_952)

    assert round(buffer.frames) == 5713
    assert buffer.corrected_ns / NANOSECONDS == pytest.approx(0.000384, abs=5e-7)
    assert buffer.implied_ns / NANOSECONDS == pytest.approx(0.001794, abs=5e-7)


def test_the_average_of_22_runs_of_2016_is_reproduced() -> None:
    buffer = BufferTime(25_796, 0, 14_880_952)

    assert buffer.implied_ns / NANOSECONDS == pytest.approx(0.001733, abs=1e-6)


def test_more_of_a_buffer_is_better_in_frames_and_as_a_time() -> None:
    derived = method("back2back").metrics()
    assert all(
        more_is_better(name, derived[name])
        for one in ("buffered", "buffer_time", "implied_buffer_time")
        for name in (one, f"{one}_slow_bursts")
    )
    assert not more_is_better("worst_case_latency", Unit.NANOSECONDS)


@pytest.mark.parametrize("seed", range(20))
def test_corrected_time_at_the_maximum_rate_is_the_buffer_of_the_model(seed: int) -> None:
    chance = Random(seed)
    capacity, size = chance.randint(1_000_000, 14_000_000), chance.randint(500, 100_000)
    bench = FluidBench(capacity, size)
    asked = method("back2back", throughput=f"{capacity}fps", step=1, repeats=1, max_burst="30s")
    bench.loads = replace(LOADS, reference=capacity)

    found = figures(asked.run(bench))

    burst, buffered = found["burst"], found["buffered"]
    assert burst is not None and buffered is not None
    exact = size / (1 - capacity / LINE_RATE)
    assert burst <= exact + 1 and burst >= exact - 2
    assert buffered == pytest.approx(size, abs=2)


class SimulatedBench(FluidBench):
    """The simulated switch with a buffer, behind the simulated generator."""

    def trial(self, load_fps: int, duration_ns: int, options: TrialOptions = PLAIN) -> Trial:
        behaviour = behaving("buffered", frames=self.buffer_frames)
        with session(simulated_case(behaviour)) as running:
            counts = running.run(TrialRequest(load_fps, duration_ns))
        assert options.event is None
        return self._kept(counts.directions[0], load_fps, duration_ns, options, None)


@pytest.mark.parametrize("size", [1, 100, 2048, 50_000])
def test_the_corrected_burst_is_the_buffer_of_the_simulated_switch_exactly(size: int) -> None:
    loads = replace(LOADS, reference=CAPACITY_FPS)
    bench = SimulatedBench(CAPACITY_FPS, size, loads=loads)
    fine = {"step": 1, "repeats": 2, "max_burst": "100ms"}
    asked = method("back2back", throughput=f"{CAPACITY_FPS}fps", **fine)

    found = figures(asked.run(bench))

    assert found["burst"] == int(size / (1 - Fraction(CAPACITY_FPS, LINE_RATE)))
    buffered = known(found["buffered"])
    assert math.ceil(buffered) == size


def test_the_throughput_is_looked_for_first_and_stands_in_the_result() -> None:
    bench = FluidBench(9_000_000, 4000)

    result = method("back2back", repeats=3).run(bench)

    (throughput,) = result.goals
    assert throughput.goal == "throughput"
    assert throughput.lower_fps is not None and throughput.lower_fps <= 9_004_000
    burst = result.figures[0]
    assert (burst.name, burst.limit) == ("burst", Limit.DUT)
    assert burst.spread is not None and burst.spread.runs == 3
    assert burst.at == "bursts at 14.88 Mfps, the line rate"
    assert result.complete


def test_a_size_that_is_forwarded_at_the_maximum_rate_has_no_burst_length() -> None:
    result = method("back2back").run(FluidBench(LINE_RATE))

    (burst,) = result.figures
    assert burst.value is None
    assert burst.reason == "not meaningful: the line rate, 14.88 Mfps, is forwarded without loss"


SOFT_CAP = replace(LOADS, maximum=5_000_000, generator_cap=5_000_000, virtual=True)
"""On a virtual link, a generator that sends no more than 5 Mfps."""


def test_a_rate_that_the_generator_never_reached_is_not_said_to_be_forwarded() -> None:
    def at_most_3m(trial: Trial) -> Trial:
        """It sends no more than that, whatever its cap was."""
        (way,) = trial.directions
        sent = min(way.intended_frames, 3_000_000 * trial.duration_ns // NANOSECONDS)
        return counted(trial, sent_frames=sent, received_frames=min(sent, way.received_frames))

    bench = FluidBench(9_000_000, 4000, loads=SOFT_CAP, shown=at_most_3m)

    result = method("back2back").run(bench)

    (burst,) = result.figures
    assert result.goals[0].upper_fps is None
    assert (burst.value, burst.limit) == (None, Limit.GENERATOR)
    assert "without loss" not in burst.reason
    assert re.search(r"the generator offered no more than (2\.9\d\d|3\.000) Mfps", burst.reason)


def test_a_throughput_that_was_given_is_named_where_it_is_all_that_is_known() -> None:
    bench = FluidBench(9_000_000, 4000, loads=replace(LOADS, reference=LINE_RATE))

    (burst,) = method("back2back", throughput=f"{LINE_RATE}fps").run(bench).figures

    assert not bench.made
    assert burst.reason == (
        "not meaningful: by the throughput given, the line rate, 14.88 Mfps, is forwarded "
        "without loss"
    )


def test_where_the_generator_is_the_limit_nothing_is_said_of_the_switch() -> None:
    result = method("back2back").run(FluidBench(9_000_000, 4000, loads=SOFT_CAP))

    (burst,) = result.figures
    assert burst.value is None
    assert "the cap of the generator, 5.000 Mfps" in burst.reason


def test_on_a_virtual_link_the_rate_of_the_bursts_is_the_maximum() -> None:
    bench = FluidBench(4_000_000, 1000, loads=SOFT_CAP)

    result = method("back2back", step=1, repeats=1).run(bench)

    found = figures(result)
    assert found["buffered"] == pytest.approx(1000, rel=0.1)
    assert result.figures[0].at == "bursts at 5.000 Mfps, the cap of the generator"


NINE = replace(LOADS, reference=9_000_000)
SLOWER = replace(LOADS, maximum=10_000_000, generator_cap=10_000_000, reference=7_000_000)


def test_on_a_cable_slower_bursts_fill_a_buffer_by_their_own_rate() -> None:
    bench = FluidBench(7_000_000, 5296, loads=SLOWER)

    found = figures(method("back2back", throughput="7Mfps", step=1, repeats=1).run(bench))

    time = 5296 / 10_000_000 * NANOSECONDS
    assert found["buffered_slow_bursts"] == pytest.approx(5296, abs=2)
    assert found["buffer_time_slow_bursts"] == pytest.approx(time, rel=1e-3)


def test_numbers_of_slower_bursts_are_not_held_against_those_of_the_standard() -> None:
    """By section 5.4 they would be others, and comparisons go by names."""
    asked = method("back2back", throughput="7Mfps")
    slower = figures(asked.run(FluidBench(7_000_000, 5296, loads=SLOWER)))
    full = figures(
        asked.run(FluidBench(7_000_000, 5296, loads=replace(LOADS, reference=7_000_000)))
    )

    assert set(slower) & set(full) == {"burst"}
    assert set(slower) | set(full) <= set(asked.metrics())


def test_slower_bursts_on_a_cable_deviate_from_the_standard() -> None:
    asked = method("back2back", throughput="7Mfps")
    result = asked.run(FluidBench(7_000_000, 5296, loads=SLOWER))

    level, deviations = word_on(Standard.RFC9004, asked, result)

    assert level is Level.NOT
    assert any("slower than the line rate" in one and "10.00 Mfps" in one for one in deviations)


def test_where_there_is_no_cable_bursts_are_as_fast_as_they_can_be() -> None:
    asked = method("back2back", throughput="7Mfps")
    result = asked.run(FluidBench(7_000_000, 5296, loads=replace(SLOWER, virtual=True)))

    assert "buffer_time" in figures(result)
    assert not any("line rate" in one for one in word_on(Standard.RFC9004, asked, result)[1])


def test_a_cap_is_not_said_to_pass_without_loss_where_a_trial_at_it_lost_frames() -> None:
    at_the_cap = count()

    def lossy_once(trial: Trial) -> Trial:
        """The first trial at the highest load loses nearly half of its frames."""
        if trial.load_fps != SOFT_CAP.maximum or next(at_the_cap):
            return trial
        return counted(trial, received_frames=trial.directions[0].sent_frames * 54 // 100)

    bench = FluidBench(9_000_000, 4000, loads=SOFT_CAP, shown=lossy_once)
    asked = method("back2back", throughput_duration="1s", throughput_sum="5s")

    (burst,) = asked.run(bench).figures

    assert burst.value is None
    assert "without loss" not in burst.reason
    said = known(re.search(r"nothing was lost in (\d+) of (\d+) trials", burst.reason))
    at_top = [trial for trial in bench.made if trial.load_fps == 5_000_000]
    assert int(said[2]) == int(said[1]) + 1 == len(at_top)
    assert "up to 46" in burst.reason


def test_bursts_that_pass_at_the_longest_make_the_result_invalid() -> None:
    bench = FluidBench(9_000_000, 10_000_000)
    asked = method("back2back", throughput_duration="30s", throughput_sum="30s", max_burst="10ms")

    burst = asked.run(bench).figures[0]

    assert burst.value is None and burst.limit is Limit.UNKNOWN
    assert "raise search.max_burst, up to 30s" in burst.reason


def test_a_search_that_the_time_cuts_short_gives_the_repeats_that_it_has() -> None:
    bench = FluidBench(9_000_000, 4000, loads=NINE)
    bench.budget = Budget(60 * NANOSECONDS)
    asked = method("back2back", throughput="9Mfps", repeats=1000, max_burst="30s")

    result = asked.run(bench)

    assert not result.complete
    spread = result.figures[0].spread
    assert spread is not None and 0 < spread.runs < 1000


def test_a_burst_longer_than_the_standard_allows_is_refused() -> None:
    with pytest.raises(ValueError, match="at most 30s"):
        method("back2back", max_burst="31s")


def test_a_mix_of_sizes_is_refused() -> None:
    case = case_of("mlr", search=method("back2back"), traffic={"imix": "7a4d1g"})

    with pytest.raises(SpecError, match="a burst has frames of one size, not imix"):
        loads_of(case)


def test_where_one_step_already_loses_there_is_an_upper_bound_and_no_buffer() -> None:
    """0 frames and 0 ns would be numbers that nobody measured."""
    asked = method("back2back", throughput="9Mfps")
    result = asked.run(FluidBench(9_000_000, 5, loads=NINE))

    (burst,) = result.figures
    assert (burst.value, burst.upper, burst.text) == (None, 100, "< 100 frames")
    assert burst.limit is Limit.DUT
    assert burst.reason.startswith("even 100 frames lose some")
    assert "a smaller search.step" in burst.reason
    assert "there is no burst length" in word_on(Standard.RFC9004, asked, result)[1]


def ended_early(trial: Trial) -> Trial:
    """A generator that falls short of long bursts: what is lost of them it did not send."""
    return counted(trial, sent_frames=trial.directions[0].received_frames)


def test_where_the_generator_ends_the_shortest_burst_there_is_no_bound_at_all() -> None:
    bench = FluidBench(9_000_000, 5, loads=NINE, shown=ended_early)

    (burst,) = method("back2back", throughput="9Mfps").run(bench).figures

    assert (burst.value, burst.upper, burst.text) == (None, None, "no answer")
    assert burst.limit is Limit.GENERATOR


def test_a_burst_that_the_generator_ended_is_a_lower_bound() -> None:
    bench = FluidBench(9_000_000, 4000, loads=NINE, shown=ended_early)

    result = method("back2back", throughput="9Mfps").run(bench)

    found = {figure.name: figure for figure in result.figures}
    assert found["burst"].limit is Limit.GENERATOR
    assert {name: figure.text[0] for name, figure in found.items()} == dict.fromkeys(found, "≥")


@pytest.mark.parametrize(("repeats", "found"), [(0, 400), (1, 900)])
def test_loss_that_does_not_return_is_an_accident_where_it_is_verified(
    repeats: int, found: int
) -> None:
    """A burst of 500 loses a frame once; all above 900 lose them always."""
    accidents = {500: 1}

    def lost(frames: int) -> int:
        if frames > 900:
            return frames - 900
        missing = accidents.get(frames, 0)
        accidents[frames] = 0
        return missing

    passed, failed = HighestPassing(100, 1000, repeats, loss_threshold=10).run(lost)

    assert passed == found
    assert failed == found + 100


def test_much_loss_is_not_tried_again() -> None:
    tried: list[int] = []

    def lost(frames: int) -> int:
        tried.append(frames)
        return 11

    assert HighestPassing(1, 1, max_repeats=5, loss_threshold=10).run(lost) == (0, 1)
    assert tried == [1]


def strict() -> tuple[Method, SearchResult]:
    """Return a search with trials as long as the standard says, and what it finds."""
    asked = method("back2back", throughput_duration="60s", throughput_sum="60s")
    return asked, asked.run(FluidBench(9_000_000, 4000))


def test_compliance_names_what_is_missing() -> None:
    asked = method("back2back")

    level, deviations = word_on(Standard.RFC9004, asked, asked.run(FluidBench(9_000_000, 4000)))

    assert level is Level.NOT
    assert "trial duration 1s instead of 60s" in deviations


def test_a_strict_search_is_compliant() -> None:
    found = word_on(Standard.RFC9004, *strict(), sizes=ALL_SIZES)
    assert found == (Level.UNCONDITIONAL, ())


def test_a_burst_of_which_nobody_counted_where_frames_were_lost_is_not_the_switchs() -> None:
    asked, result = strict()
    burst = result.figures[0].model_copy(update={"limit": Limit.UNCOUNTED})
    result = result.model_copy(update={"figures": (burst, *result.figures[1:])})

    found = word_on(Standard.RFC9004, asked, result, sizes=ALL_SIZES)

    assert found == (Level.NOT, ("nobody counted where the missing frames were lost",))


def test_the_rate_of_the_burst_stands_beside_every_number() -> None:
    result = method("back2back").run(FluidBench(9_000_000, 4000))

    (said,) = {figure.at for figure in result.figures}
    assert said


def test_a_burst_that_is_tried_again_needs_a_loss_up_to_which_it_is() -> None:
    with pytest.raises(ValueError, match="max_repeats needs a loss_threshold above 0"):
        method("back2back", max_repeats=3)
    method("back2back", max_repeats=3, loss_threshold=5000)


def test_directions_with_unequal_loads_are_refused() -> None:
    """A burst has one rate, and a buffer one implied time."""
    uneven = case_of("mlr").traffic.model_copy(update={"reverse_load": Ratio.parse("50%")})
    with pytest.raises(SpecError, match="in reverse"):
        loads_of(case_of("mlr", traffic=uneven, search=method("back2back")))
