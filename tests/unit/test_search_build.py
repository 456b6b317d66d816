"""From a specification to a search and an estimate; and fixed loads."""

from __future__ import annotations

import statistics
from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest
from pydantic import ValidationError
from search_models import (
    LINE_RATE,
    LOADS,
    METHODS,
    POLICY,
    RANGE,
    Measure,
    case_of,
    probe_of,
    spec_of,
    switch,
)
from simulated_cases import session, simulated_case

from vsperf.config.case import CaseSpec, Testbed
from vsperf.config.traffic import LatencyTrials
from vsperf.deploy.planner import CasePlan
from vsperf.drivers.vswitches.base import SwitchPlan
from vsperf.drivers.vswitches.sim import RunningModel
from vsperf.engine.expectation import (
    DEPLOYMENT_NS,
    MODELLED_TRIAL_S,
    expected,
    overheads,
    presumption,
)
from vsperf.engine.measurer import Measurer
from vsperf.engine.watch import Watch
from vsperf.errors import ExitCode, SpecError
from vsperf.host.cpus import Cpu, CpuTopology
from vsperf.methods.base import loads_of, method_of
from vsperf.methods.estimate import (
    RESTLESS,
    STEADY,
    Estimate,
    Overheads,
    Rehearsals,
    estimate,
    together,
)
from vsperf.methods.fixed import FixedLoad
from vsperf.methods.follow import LatencyAtShares
from vsperf.methods.paired import PairedTurns
from vsperf.quantities.units import NANOSECONDS
from vsperf.records.result import Limit, SearchResult
from vsperf.records.run import Placement, Plan
from vsperf.records.switch import PortCounters, SwitchCounters
from vsperf.records.trial import Event, Trial
from vsperf.search.base import Budget, Loads, Probe

# From a specification to loads in whole frames, to a search, and to an estimate of its time.


def _case(method: str = "mlr", **search: Any) -> CaseSpec:
    return case_of(method, search=spec_of(method, **search))


def _fixed(*loads: str) -> CaseSpec:
    search = FixedLoad.model_validate({"kind": "fixed", "loads": loads, "duration": "10s"})
    return case_of("mlr", search=search)


def test_loads_are_whole_frames_within_the_range_that_was_asked_for() -> None:
    loads = loads_of(_case(min_load="9000.1fps", max_load="50%"))
    assert (loads.minimum, loads.maximum, loads.line_rate) == (9001, 7_440_476, 14_880_952)


def test_the_slowest_link_that_the_topology_uses_decides() -> None:
    links = {"phy0": {"speed": "25G"}, "phy1": {"speed": "10G"}, "spare": {"speed": "1G"}}
    case = case_of("mlr", testbed={"name": "sim", "links": links})
    assert loads_of(case).line_rate == LINE_RATE


def test_the_frame_size_decides_the_line_rate() -> None:
    case = case_of("mlr", traffic={"frame_size": "1518B"})
    assert loads_of(case).line_rate == 812_743


def test_a_maximum_above_the_line_rate_means_the_line_rate() -> None:
    loads = loads_of(_case(max_load="20Mpps"))
    assert loads.maximum == loads.line_rate == LINE_RATE


def test_a_minimum_below_one_frame_per_second_means_one() -> None:
    assert loads_of(_case(min_load="0%")).minimum == 1


@pytest.mark.parametrize(
    ("low", "high"), [("2Mfps", "1Mfps"), ("1Mfps", "1Mfps"), ("20Mfps", "30Mfps")]
)
def test_an_empty_range_of_loads_is_refused_with_both_ends(low: str, high: str) -> None:
    with pytest.raises(SpecError) as caught:
        loads_of(_case(min_load=low, max_load=high))
    (problem,) = caught.value.problems
    assert low in problem.what
    assert problem.why is not None
    assert "64B" in problem.why
    assert problem.fix is not None
    assert caught.value.exit_code is ExitCode.BAD_INPUT


def test_the_step_of_an_array_is_whole_frames() -> None:
    assert loads_of(_case("tst009", step="0.1%")).step == 14_880
    with pytest.raises(SpecError, match="less than one frame per second"):
        loads_of(_case("tst009", step="0%"))


def test_the_step_of_an_array_is_a_share_of_what_can_be_offered() -> None:
    """Virtual links have a speed in name only: a share of it could be more than all that passes."""
    case = _case("tst009", step="0.5%")
    assert loads_of(case, generator_cap=2_000_000).step == 10_000
    assert loads_of(_case("tst009", step="0.5%", max_load="50%")).step == 37_202
    assert loads_of(_case("tst009", step="10kfps"), generator_cap=2_000_000).step == 10_000


def test_fixed_loads_keep_their_order_and_their_units() -> None:
    loads = loads_of(_fixed("50%", "1Mpps", "100%"))
    assert loads.fixed == (7_440_476, 10**6, LINE_RATE)
    assert (loads.minimum, loads.maximum) == (10**6, LINE_RATE)


@pytest.mark.parametrize("load", ["0%", "15Mpps", "0.5fps"])
def test_a_fixed_load_that_cannot_be_offered_is_refused(load: str) -> None:
    with pytest.raises(SpecError, match="cannot be offered"):
        loads_of(_fixed("1Mpps", load))


def test_goals_are_given_by_name_and_a_fixed_load_has_none() -> None:
    for method in METHODS:
        assert set(spec_of(method).asked()) == {"ndr", "pdr"}
    assert _fixed("1%").search.asked() == {}


@pytest.mark.parametrize(
    ("method", "change"),
    [
        ("rfc2544", {"duration": "0s"}),
        ("tst009", {"duration": "0s"}),
        ("mlr", {"final_duration": "30s"}),
    ],
)
def test_durations_that_no_search_could_use_are_refused_where_they_are_written(
    method: str, change: dict[str, str]
) -> None:
    with pytest.raises(ValidationError):
        spec_of(method, **change)


@pytest.mark.parametrize("capacity", ["2Mpps", "7Mpps", "12Mpps"])
@pytest.mark.parametrize("method", METHODS)
def test_the_estimate_is_close_to_what_a_steady_switch_needs(method: str, capacity: str) -> None:
    spec = spec_of(method)
    found = estimate(spec, POLICY, LOADS)
    case = simulated_case(switch={"capacity": capacity})
    budget = Budget()
    with session(case) as generator:
        measurer = Measurer(generator, Watch(RunningModel(), generator), POLICY, budget, 2)
        probe = Probe(measurer.measure, budget, POLICY.overhead_ns)
        spec.confirmed(LOADS).run(probe)
    needed = POLICY.warm_up.ns + POLICY.overhead_ns
    needed += sum(trial.duration_ns + POLICY.overhead_ns for trial in probe.trials)
    assert found.seconds == pytest.approx(needed / NANOSECONDS, rel=0.3)


def test_the_estimate_includes_latency_trials_with_their_overhead() -> None:
    latency = LatencyTrials.model_validate(
        {"goal": "ndr", "loads": ["10%", "50%", "90%"], "duration": "30s"}
    )
    lengths_ns = LatencyAtShares(latency).durations_ns
    without = estimate(spec_of("mlr"), POLICY, LOADS)
    found = estimate(spec_of("mlr"), POLICY, LOADS, lengths_ns)
    assert found.trials == without.trials + 3
    assert found.seconds == pytest.approx(without.seconds + 3 * (30 + 9))


def test_the_estimate_leaves_out_a_warm_up_that_is_not_made() -> None:
    cold = POLICY.model_copy(update={"warm_up": POLICY.drain.parse("0s")})
    warm, less = (estimate(spec_of("mlr"), p, LOADS) for p in (POLICY, cold))
    assert warm.trials == less.trials + 1


def test_the_estimate_of_fixed_loads_is_their_sum() -> None:
    case = _fixed("10%", "20%")
    found = estimate(method_of(case), POLICY, loads_of(case))
    assert (found.trials, found.seconds) == (3, 1 + 9 + 2 * (10 + 9))


def test_the_ranges_of_the_samples_are_those_of_a_ten_gigabit_link() -> None:
    found = loads_of(_case("tst009", **RANGE))
    assert found == LOADS


# What a case is expected to need, where trials agree and where they do not.

CAP = 7_862_305
QUICK = {"initial_duration": "500ms", "final_duration": "1s", "duration_sum": "5s", "width": "1%"}
NEEDED_TRIALS = (22, 34, 26, 42, 52, 44, 43, 41, 21, 45, 17, 40)
"""Of twelve recorded searches of OVS-DPDK with preset quick, on two CPUs of a shared machine."""
CLOSING_TRIALS = 18
"""What the bounds cost that are tried again at the end: a rehearsal with them less one without."""
CLEAN_TRIALS = 13
"""What the answer from clean time costs where a third of the time is not: likewise."""


def up_to(cap: int) -> Loads:
    return Loads(9001, cap, LINE_RATE, generator_cap=cap)


def test_a_restless_machine_is_expected_to_need_what_the_recorded_searches_needed() -> None:
    played = Rehearsals().of(spec_of("mlr", **QUICK), up_to(CAP), RESTLESS)
    expected = statistics.mean(one.trials for one in played)
    needed = statistics.mean(NEEDED_TRIALS) + CLOSING_TRIALS + CLEAN_TRIALS
    assert expected == pytest.approx(needed, rel=0.1)


@pytest.mark.parametrize("method", ["mlr", "mlr as tst009", "tst009"])
def test_searches_that_repeat_what_disagrees_need_longer_for_it(method: str) -> None:
    spec, restless = spec_of(method), replace(RESTLESS, disturbed=0.0)
    steady = replace(restless, unrest_of_knee=0.0, unrest_of_capacity=0.0)
    calm = estimate(spec, POLICY, LOADS, (), steady)
    found = estimate(spec, POLICY, LOADS, (), restless)
    assert found.seconds > calm.seconds
    assert calm.spread_s == 0


def test_an_estimate_is_the_same_each_time() -> None:
    first, second = (estimate(spec_of("mlr"), POLICY, LOADS, (), RESTLESS) for _ in range(2))
    assert first == second
    assert first.spread_s > 0


def test_cases_that_are_alike_share_their_rehearsals_and_others_do_not() -> None:
    rehearsals = Rehearsals()
    for cap in (CAP, CAP // 2, CAP // 3):
        rehearsals.of(spec_of("mlr"), up_to(cap), RESTLESS)
    assert len(rehearsals.known) == 1
    rehearsals.of(spec_of("mlr", width="2%"), up_to(CAP), RESTLESS)
    rehearsals.of(spec_of("mlr"), up_to(CAP), replace(RESTLESS, disturbed=0.2))
    rehearsals.of(spec_of("mlr"), Loads(1, CAP, LINE_RATE), RESTLESS)
    assert len(rehearsals.known) == 4


def test_fixed_loads_are_offered_as_often_however_restless_the_machine_is() -> None:
    fixed = FixedLoad.model_validate({"kind": "fixed", "loads": ["1kfps"], "duration": "1s"})
    loads = Loads(1000, 2000, LINE_RATE, fixed=(1000, 2000))
    assert estimate(fixed, POLICY, loads, (), RESTLESS) == estimate(
        fixed, POLICY, loads, (), STEADY
    )


def test_what_a_case_and_each_trial_cost_beside_traffic_is_added() -> None:
    bare = estimate(spec_of("mlr"), POLICY, LOADS)
    costs = Overheads(case_ns=3 * NANOSECONDS, trial_ns=NANOSECONDS // 2)
    found = estimate(spec_of("mlr"), POLICY, LOADS, (), overheads=costs)
    assert found.trials == bare.trials
    assert found.seconds == pytest.approx(bare.seconds + 3 + bare.trials / 2)


def test_a_budget_ends_trials_and_not_what_is_beside_them() -> None:
    whole = Estimate(90, 95.0, 20.0, here_s=9.0, beside_s=5.0)
    assert whole.within(30) == Estimate(30, 35.0, 0.0, here_s=3.0, beside_s=5.0)
    assert whole.within(100) == replace(whole, spread_s=10.0), "the budget ends bad luck, too"
    assert whole.within(None) == whole == whole.within(1000)


def test_the_luck_of_several_cases_evens_out() -> None:
    both = together([Estimate(10, 30.0, 3.0), Estimate(20, 50.0, 4.0)])
    assert both == Estimate(30, 80.0, 5.0)


def test_what_models_take_here_adds_up() -> None:
    assert together([Estimate(1, 60.0, here_s=0.5), Estimate(2, 60.0, here_s=1.0)]).here_s == 1.5


@pytest.mark.parametrize("capacity", [Fraction(1, 500), Fraction(1, 5), Fraction(1)])
def test_where_the_capacity_lies_matters_little(capacity: Fraction) -> None:
    near = estimate(spec_of("mlr"), POLICY, LOADS)
    found = estimate(spec_of("mlr"), POLICY, LOADS, (), replace(STEADY, capacity=capacity))
    assert found.seconds == pytest.approx(near.seconds, rel=0.5)


# Fixed loads: every one is offered as often as asked, and each gets its own verdict.

LOADS_OFFERED = Loads(500_000, LINE_RATE, LINE_RATE, fixed=(500_000, 2_000_000, LINE_RATE))


def _run(probe: Probe, **changes: Any) -> SearchResult:
    fields = {"kind": "fixed", "loads": ["1fps"], "duration": "10s", "repeats": 3}
    return FixedLoad.model_validate({**fields, **changes}).search(LOADS_OFFERED).run(probe)


def _limits(measure: Measure) -> list[Limit]:
    return [load.limit for load in _run(probe_of(measure)).loads]


def test_each_load_is_offered_as_often_as_asked_and_in_the_order_given() -> None:
    probe = probe_of(switch(10**6))
    result = _run(probe)
    assert [each.load_fps for each in probe.trials] == [
        load for load in LOADS_OFFERED.fixed for _ in range(3)
    ]
    assert {each.duration_ns for each in probe.trials} == {10 * NANOSECONDS}
    assert [load.load_fps for load in result.loads] == list(LOADS_OFFERED.fixed)
    assert result.goals == ()
    assert result.complete


def test_loss_and_throughput_are_those_of_the_worst_trial_and_direction() -> None:
    below, above, _ = _run(probe_of(switch(10**6, reverse_fps=10**6 // 2))).loads
    assert (below.passed, below.worst_loss_ratio, below.throughput_fps) == (3, "0", 500_000)
    assert (above.passed, above.worst_loss_ratio, above.throughput_fps) == (0, "3/4", 500_000)


def test_what_limits_a_load_is_named() -> None:
    assert _limits(switch(10**6)) == [Limit.SETTING, Limit.DUT, Limit.DUT]
    assert _limits(switch(LINE_RATE)) == [Limit.SETTING, Limit.SETTING, Limit.LINK]
    assert _limits(switch(LINE_RATE, sends_fps=10**6)) == [
        Limit.SETTING,
        Limit.GENERATOR,
        Limit.GENERATOR,
    ]


def test_what_the_generator_was_too_slow_for_is_told_from_what_the_switch_lost() -> None:
    """It sends two million; of these the switch takes one, so it would fail at less, too."""
    below, at, above = _run(probe_of(switch(10**6, sends_fps=2 * 10**6))).loads
    assert (below.short_ratio, at.short_ratio) == ("0", "0")
    assert (above.limit, above.short_ratio) == (Limit.DUT, str(1 - Fraction(2 * 10**6, LINE_RATE)))
    assert above.reason == (
        "the switch lost up to 50% of what it was offered; "
        "the generator was too slow for 86.56% of the load"
    )


def test_no_loss_is_said_with_what_it_proves() -> None:
    below, above, _ = _run(probe_of(switch(10**6))).loads
    assert "none of 15,000,000 frames sent each way was lost" in below.reason, "three trials"
    assert "above 2.0e-07 is unlikely" in below.reason
    assert "none of" not in above.reason


def test_allowed_loss_lets_a_load_pass() -> None:
    result = _run(probe_of(switch(10**6)), loss_ratio="50%")
    assert [load.passed for load in result.loads] == [3, 3, 0]


def test_when_the_budget_ends_only_what_was_measured_is_reported() -> None:
    probe = probe_of(switch(10**6), budget_s=4 * 19)
    result = _run(probe)
    assert not result.complete
    assert [load.trials for load in result.loads] == [3, 1]
    assert "the time ended after 1 of 3 trials" in result.loads[1].reason
    assert probe.budget.spent_ns <= 4 * 19 * NANOSECONDS


def test_a_load_that_passed_as_far_as_it_was_measured_is_limited_by_the_budget() -> None:
    (load,) = _run(probe_of(switch(10**6), budget_s=19)).loads
    assert (load.trials, load.passed, load.limit) == (1, 1, Limit.BUDGET)


def test_a_burst_lasts_as_long_as_its_frames_take_at_the_load() -> None:
    probe = probe_of(switch(LINE_RATE))
    _run(probe, frames="10k", repeats=1, duration=None)
    assert {way.intended_frames for each in probe.trials for way in each.directions} == {10_000}
    assert probe.trials[0].duration_ns == 10_000 * NANOSECONDS // 500_000


def test_a_fixed_load_that_a_vnf_could_not_take_is_no_fault_of_the_switch() -> None:
    plain = switch(10**6)

    def measure(load_fps: int, duration_ns: int) -> Trial:
        trial = plain(load_fps, duration_ns)
        lost = sum(way.lost_frames for way in trial.directions)
        port = PortCounters(
            name="vm1_0", vnf="vm1", received_frames=0, sent_frames=0, drops={"tx dropped": lost}
        )
        return trial.model_copy(update={"switch": SwitchCounters(ports=(port,))})

    assert _limits(measure)[1] is Limit.VNF
    assert _limits(plain)[1] is Limit.DUT


def test_an_outage_needs_frames_in_both_directions_afterwards() -> None:
    plain = away(NANOSECONDS)

    def measure(load_fps: int, duration_ns: int) -> Trial:
        trial = plain(load_fps, duration_ns)
        first, second = trial.directions
        dead = second.model_copy(update={"longest_silence_ns": 2_000_000})
        return trial.model_copy(update={"directions": (first, dead)})

    load, *_ = _run(probe_of(measure), event="restart-switch").loads
    assert load.outages_ns == (None,) * 3


@pytest.mark.parametrize(("receiving_ns", "back"), [(9 * NANOSECONDS, True), (10**9, False)])
def test_a_short_outage_in_a_long_event_is_one_where_frames_came_later(
    receiving_ns: int, back: bool
) -> None:
    """A program that is asked to end may forward for most of the event."""
    plain, short_ns = away(300_000_000), 300_000_000

    def measure(load_fps: int, duration_ns: int) -> Trial:
        trial = plain(load_fps, duration_ns)
        more = {"receiving_ns": receiving_ns}
        ways = tuple(way.model_copy(update=more) for way in trial.directions)
        return trial.model_copy(update={"directions": ways})

    load, *_ = _run(probe_of(measure), event="restart-switch").loads
    assert load.outages_ns == (short_ns if back else None,) * 3


def away(silence_ns: int | None) -> Measure:
    """Lose a tenth of the frames while the switch is restarted for one second."""
    plain = switch(10**6)

    def measure(load_fps: int, duration_ns: int) -> Trial:
        trial = plain(load_fps, duration_ns)
        ways = [
            way.model_copy(update={"longest_silence_ns": silence_ns}) for way in trial.directions
        ]
        event = Event(name="restart-switch", began_ns=2 * NANOSECONDS, ended_ns=3 * NANOSECONDS)
        return trial.model_copy(update={"directions": tuple(ways), "event": event})

    return measure


def test_after_an_event_the_longest_silence_is_the_result() -> None:
    load, *_ = _run(probe_of(away(NANOSECONDS)), event="restart-switch").loads
    assert load.outages_ns == (NANOSECONDS,) * 3
    assert load.reason == "frames stayed away for 1.000 s after restart-switch"
    assert load.limit is Limit.DUT


@pytest.mark.parametrize("silence_ns", [None, 1_000_000])
def test_frames_that_never_came_back_leave_no_result(silence_ns: int | None) -> None:
    """Where the silence lasts to the end of the trial, the longest one seen is of before."""
    load, *_ = _run(probe_of(away(silence_ns)), event="kill-switch").loads
    assert load.outages_ns == (None,) * 3
    assert load.limit is Limit.UNKNOWN


@pytest.mark.parametrize("changes", [{"duration": "2s"}, {"duration": None, "frames": 1000}])
def test_an_event_needs_time(changes: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="needs a duration of at least 4s"):
        _run(probe_of(switch(10**6)), event="restart-switch", **changes)


# What is expected of a case: whether its trials will agree, and what it costs beside traffic.

SHARED = CpuTopology((Cpu(0), Cpu(1, core=1)))
ISOLATED = CpuTopology(tuple(replace(cpu, isolated=True) for cpu in SHARED.cpus))


def real_case() -> CaseSpec:
    links = {"phy0": {"speed": "10G"}, "phy1": {"speed": "10G"}}
    testbed = Testbed.model_validate({"name": "real", "links": links})
    return case_of("mlr").model_copy(update={"testbed": testbed})


def fixed(duration: str) -> dict[str, object]:
    return {"kind": "fixed", "loads": ["100%"], "duration": duration}


def plan() -> CasePlan:
    placement = Placement(cpus={"generator": (0,), "pmd": (1,)})
    made = Plan(steps=(), endpoints=(), directions=(), placement=placement)
    return CasePlan(made, SwitchPlan((), ()))


def test_trials_agree_in_a_model_and_on_isolated_cpus_only() -> None:
    assert presumption(simulated_case(), plan(), SHARED) is STEADY
    assert presumption(real_case(), plan(), ISOLATED) is STEADY
    assert presumption(real_case(), plan(), SHARED) is RESTLESS


def test_a_model_costs_nothing_beside_its_traffic() -> None:
    assert overheads(simulated_case(), calibrated=False, first=True) == Overheads()


def test_a_model_takes_its_time_here_by_trial_however_long_trials_are_in_it() -> None:
    short, long = (
        expected(simulated_case(search=fixed(duration)), STEADY, None, Rehearsals(), first=True)
        for duration in ("1s", "60s")
    )
    assert long.seconds > 10 * short.seconds
    assert long.here_s == short.here_s == pytest.approx(short.trials * MODELLED_TRIAL_S)


def test_a_model_that_waits_as_a_real_testbed_would_takes_as_long_here() -> None:
    case = simulated_case(generator={"realtime": 1}, search=fixed("60s"))
    found = expected(case, STEADY, None, Rehearsals(), first=True)
    assert found.here_s == pytest.approx(found.seconds, rel=0.01)


def test_what_is_real_takes_as_long_as_is_stated() -> None:
    assert expected(real_case(), RESTLESS, None, Rehearsals(), first=True).here_s is None


def test_the_load_of_turns_is_looked_for_on_a_deployment_that_answers_as_well() -> None:
    """Two looks and eight rounds of a switch and its control: sixteen switches are started."""
    looked, given = (
        real_case().model_copy(
            update={"search": PairedTurns.model_validate({"kind": "paired", **load})}
        )
        for load in ({}, {"load": "1Mpps"})
    )
    costs = overheads(given, calibrated=False, first=True).case_ns + 15 * DEPLOYMENT_NS
    for case, rounds in ((looked, 10), (given, 8)):
        turns_ns = method_of(case).rounds_ns(case)
        found = expected(case, STEADY, None, Rehearsals(), first=True)
        assert found.trials == len(turns_ns) == rounds
        assert found.seconds == pytest.approx((sum(turns_ns) + costs) / NANOSECONDS)


def test_trials_that_collectors_have_for_themselves_take_their_time() -> None:
    without, found = (
        expected(real_case(), STEADY, None, Rehearsals(), first=True, apart_ns=apart)
        for apart in ((), (5 * NANOSECONDS,) * 3)
    )
    assert found.trials == without.trials + 3
    assert found.seconds > without.seconds + 15


@pytest.mark.parametrize(
    ("calibrated", "first"), [(False, True), (False, False), (True, True)], ids=str
)
def test_what_is_not_known_yet_takes_time_to_find_out(calibrated: bool, first: bool) -> None:
    known = overheads(real_case(), calibrated=True, first=False)
    found = overheads(real_case(), calibrated=calibrated, first=first)
    assert found.case_ns > known.case_ns > 0
    assert found.trial_ns == known.trial_ns > 0


def test_a_generator_that_begins_anew_for_each_trial_adds_that_to_each() -> None:
    plain = expected(real_case(), STEADY, None, Rehearsals(), first=True)
    anew = expected(real_case(), STEADY, None, Rehearsals(), first=True, trial_ns=26 * NANOSECONDS)
    path_check = 1
    assert anew.trials == plain.trials
    assert anew.seconds == pytest.approx(plain.seconds + 26 * (plain.trials + path_check), rel=0.02)
