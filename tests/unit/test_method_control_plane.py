"""The control plane beside the data plane: changes of rules, and flows that are new."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import takewhile
from typing import Any

import pytest
from bench_models import LOADS, FluidBench, UnevenBench, figures, method
from search_models import case_of

from vsperf.errors import SpecError
from vsperf.methods.base import PLAIN, TrialOptions, loads_of
from vsperf.methods.range import Rates
from vsperf.quantities.units import NANOSECONDS, Ratio
from vsperf.records.result import Limit
from vsperf.records.switch import PmdCounters, SwitchCounters
from vsperf.records.trial import Trial
from vsperf.search.base import Budget


@dataclass
class ChurningBench(FluidBench):
    """Each change of a rule costs the switch a thousand frames."""

    most_changes: int = 10**9
    """What the switch takes in a second, whatever is wanted."""

    def trial(self, load_fps: int, duration_ns: int, options: TrialOptions = PLAIN) -> Trial:
        changed = min(options.rules_per_second, self.most_changes)
        quiet, self.capacity_fps = self.capacity_fps, self.capacity_fps - 1000 * changed
        trial = super().trial(load_fps, duration_ns, options)
        self.capacity_fps = quiet
        if not options.rules_per_second:
            return trial
        return trial.model_copy(update={"rules_changed": changed * duration_ns // NANOSECONDS})


def test_the_curve_shows_what_changes_of_rules_cost() -> None:
    result = method(
        "churn", rules_per_second=[1000, 4000], throughput_duration="1s", throughput_sum="1s"
    ).run(ChurningBench(8_000_000))

    (curve,) = result.curves
    assert [point[0] for point in curve.points] == [0, 1000, 4000]
    passed = [point[2] or 0 for point in curve.points]
    assert passed == pytest.approx([8_000_000, 7_000_000, 4_000_000], rel=0.01)
    assert figures(result)["kept"] == pytest.approx(0.5, rel=0.02)
    assert result.complete


def test_what_the_switch_really_took_stands_beside_what_was_wanted() -> None:
    result = method(
        "churn", rules_per_second=[5000], throughput_duration="1s", throughput_sum="1s"
    ).run(ChurningBench(8_000_000, most_changes=200))

    assert result.curves[0].points[1][:2] == (5000, 200)
    assert result.figures[0].at == "beside 200 changes of rules in a second, of 5000 wanted"


def test_changes_that_the_time_did_not_suffice_for_are_left_out() -> None:
    bench = ChurningBench(8_000_000)
    asked = method(
        "churn", rules_per_second=[1000, 4000], throughput_duration="1s", throughput_sum="1s"
    )
    asked.run(bench)
    trials = len(bench.made)

    result = asked.run(ChurningBench(8_000_000, budget=Budget((trials // 2) * NANOSECONDS)))

    assert not result.complete
    assert len(result.curves[0].points) == 2


@dataclass
class UpcallBench(FluidBench):
    """A switch that looks each new flow up in its rules, or none of them."""

    looked_up: Fraction = Fraction(1)
    not_kept: int = 0
    """Flows that it looked up and had no room for."""

    def trial(self, load_fps: int, duration_ns: int, options: TrialOptions = PLAIN) -> Trial:
        assert options.cold
        trial = super().trial(load_fps, duration_ns, options)
        upcalls = int(trial.sent_frames * self.looked_up)
        hits = {"upcall": upcalls - self.not_kept, "lost": self.not_kept}
        frames = trial.sent_frames
        pmd = PmdCounters(cpu=1, frames=frames, busy_cycles=1, idle_cycles=1, hits=hits)
        counters = SwitchCounters(pmds=(pmd,), drops={"upcall lost": trial.lost_frames})
        return trial.model_copy(update={"switch": counters})


NEW = replace(LOADS, flows=16_384)


def test_the_rate_of_new_flows_is_found_within_the_width() -> None:
    result = method("flow_setup", width="2%").run(UpcallBench(80_000, loads=NEW))

    rate = figures(result)["flow_setup_rate"]
    assert rate is not None and 78_000 <= rate <= 80_000
    figure = result.figures[0]
    assert figure.limit is Limit.DUT
    assert figure.at == "16,384 new flows each way in a trial, one frame each"
    assert figure.spread is not None and figure.spread.runs == 3


def test_each_trial_has_as_many_frames_as_there_are_flows() -> None:
    bench = UpcallBench(80_000, loads=NEW)

    method("flow_setup").run(bench)

    assert {trial.directions[0].intended_frames for trial in bench.made[:-1]} == {16_384}


def test_the_first_frame_of_a_flow_is_held_against_the_tenth() -> None:
    bench = UpcallBench(80_000, loads=NEW)

    found = figures(method("flow_setup").run(bench))

    last = bench.made[-1]
    assert last.directions[0].intended_frames == 10 * 16_384
    assert last.reference == "half of the flow set-up rate"
    assert (found["first_frame_latency"], found["later_frame_latency"]) == (10, 20)


class TiringBench(UpcallBench):
    """Sets up half as many flows in a second once so many trials were made."""

    def trial(self, load_fps: int, duration_ns: int, options: TrialOptions = PLAIN) -> Trial:
        self.capacity_fps = 80_000 if len(self.made) < 12 else 40_000
        return super().trial(load_fps, duration_ns, options)


def test_where_searches_differ_latency_is_said_to_be_at_half_of_the_lowest_rate() -> None:
    bench = TiringBench(80_000, loads=NEW)

    rate, first, _ = method("flow_setup").run(bench).figures

    assert rate.spread is not None and rate.spread.minimum < rate.spread.maximum
    assert bench.made[-1].load_fps == int(rate.spread.minimum) // 2
    assert first.at.endswith(", half of the lowest flow set-up rate of a search")


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"looked_up": Fraction(1, 100)}, "its rules do not tell them apart"),
        ({"not_kept": 8_000}, "has no room for the others"),
    ],
)
def test_a_switch_that_knew_the_flows_or_had_no_room_for_them_says_nothing_on_new_ones(
    change: dict[str, Any], reason: str
) -> None:
    (figure,) = method("flow_setup").run(UpcallBench(80_000, loads=NEW, **change)).figures

    assert (figure.value, figure.limit) == (None, Limit.UNKNOWN)
    assert reason in figure.reason


def test_few_flows_are_refused() -> None:
    case = case_of("mlr", search=method("flow_setup"))

    with pytest.raises(SpecError, match="1 flows are too few"):
        loads_of(case)


def test_a_direction_that_is_offered_less_sets_up_fewer_flows() -> None:
    figure, *_ = method("flow_setup").run(UnevenBench(80_000, loads=NEW)).figures

    assert figure.value == pytest.approx(1.5 * 79_000, rel=0.02)


def test_the_highest_rate_is_tried_and_is_the_limit() -> None:
    bench = FluidBench(10**9, loads=NEW)

    figure, *_ = method("flow_setup", repeats=1).run(bench).figures

    assert figure.value == NEW.maximum
    assert (figure.limit, figure.reason) == (Limit.LINK, "the line rate passed")


def test_changes_count_for_all_the_time_in_which_rules_were_changed() -> None:
    slow = ChurningBench(8_000_000, overhead_ns=NANOSECONDS)

    result = method(
        "churn", rules_per_second=[1000], throughput_duration="1s", throughput_sum="1s"
    ).run(slow)

    assert result.curves[0].points[1][1] == 500


def test_a_throughput_beside_changes_that_the_time_cut_short_is_said_to_be() -> None:
    asked = method("churn", rules_per_second=[1000], throughput_duration="1s", throughput_sum="1s")
    bench = ChurningBench(8_000_000)
    asked.run(bench)
    quiet = takewhile(lambda one: not (one.reference or "").startswith("beside"), bench.made)
    quiet_ns = sum(trial.elapsed_ns for trial in quiet)

    result = asked.run(ChurningBench(8_000_000, budget=Budget(quiet_ns + NANOSECONDS)))

    assert not result.complete
    assert result.figures[0].value is None
    assert result.figures[0].limit is Limit.BUDGET


@pytest.mark.parametrize("width", ["0.1%", "2%", "99%"])
def test_the_lowest_and_the_highest_rate_are_among_those_to_choose_from(width: str) -> None:
    for loads in (LOADS, replace(LOADS, minimum=9_000_000, maximum=9_000_001)):
        rates = Rates(loads, Ratio.parse(width))
        chosen = [rates.of(number) for number in range(1, rates.top + 1)]
        assert (chosen[0], chosen[-1]) == (loads.minimum, loads.maximum)
        assert chosen == sorted(set(chosen))


def test_a_switch_that_takes_the_lowest_rate_only_has_that_one() -> None:
    loads = replace(NEW, minimum=1000)

    result = method("flow_setup", max_repeats=0).run(UpcallBench(1005, loads=loads))

    assert figures(result)["flow_setup_rate"] == 1000


def test_where_even_the_lowest_rate_fails_there_is_no_rate() -> None:
    bench = UpcallBench(900, loads=replace(NEW, minimum=1000))

    (figure,) = method("flow_setup", max_repeats=0).run(bench).figures

    assert {trial.load_fps for trial in bench.made} >= {1000}
    assert (figure.value, figure.limit) == (None, Limit.DUT)
    assert figure.reason.startswith("even at 1.000 kfps, the lowest rate allowed, ")
