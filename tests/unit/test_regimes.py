"""A machine that moves its CPUs: each goal is answered in each regime, from its trials alone."""

from __future__ import annotations

import csv
import io
import re
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path

import pytest
from compared_runs import of, run
from export_samples import exported, one_case
from hypothesis import given
from hypothesis import strategies as st
from record_samples import case_record, goal_result, planned, view_of
from reread_trials import by_distance
from search_models import LOADS, METHODS, NDR_PDR, RANGE, case_of, spec_of, switch
from search_models import trial as trial_of
from simulated_cases import CAPACITY_FPS, SECOND, behaving, session, simulated_case
from slot_samples import in_slots
from test_cli_output import summary_of as shown
from test_criteria import AT_LEAST_5M, ndr, spec

from vsperf.analysis.answers import findings_of, reasons
from vsperf.analysis.summary import CaseRow
from vsperf.drivers.generators.base import TrialRequest
from vsperf.engine.criteria import check_all
from vsperf.engine.measurer import MeasuredBench, Measurer
from vsperf.engine.watch import Watch
from vsperf.methods.base import loads_of, method_of
from vsperf.output.compare_text import reservations
from vsperf.output.report.numbers import numbers_of
from vsperf.quantities.units import NANOSECONDS
from vsperf.records.flags import Flag
from vsperf.records.regime import Boundary, Regime, boundary_of, regime_of, shares_of
from vsperf.records.result import GoalResult, Limit, RegimeResult, SearchResult, Standard
from vsperf.records.trial import Held, Trial
from vsperf.search.base import Budget, BudgetExhausted, Probe
from vsperf.search.confirm import Confirmed
from vsperf.search.regimes import HELD

NDR = {"ndr": {"loss_ratio": "0"}}
NEAR_FPS, FAR_FPS = 4_000_000, 3_000_000
NEAR_NS, FAR_NS = 100, 420
SHORT = {"mlr": {"duration_sum": "5s"}, "rfc2544": {"duration": "1s"}, "tst009": {"duration": "1s"}}
"""Trials of a second: a machine that moves its CPUs leaves most of them alone."""


def trial(*round_trips_ns: int, held: Held | None = None) -> Trial:
    made = trial_of(1000, NANOSECONDS, [])
    return made.model_copy(
        update={"round_trips_ns": round_trips_ns, "held": held, "elapsed_ns": NANOSECONDS}
    )


def trials(*pairs: tuple[int, ...]) -> list[Trial]:
    return [trial(*pair) for pair in pairs]


@dataclass
class Host:
    """A switch on a machine that is near and far by turns, each for so long, and its bench."""

    near_ns: int
    far_ns: int
    near_for: int | None = None
    """From then on it is far for good."""
    now_ns: int = 0
    last_ns: int = NEAR_NS
    held: Held | None = None
    waits: list[int] = field(default_factory=list)

    def regime(self, at_ns: int) -> Regime:
        if self.near_for is not None:
            return Regime.NEAR if at_ns < self.near_for else Regime.FAR
        return Regime.NEAR if at_ns % (self.near_ns + self.far_ns) < self.near_ns else Regime.FAR

    def look(self) -> int:
        self.last_ns = NEAR_NS if self.regime(self.now_ns) is Regime.NEAR else FAR_NS
        return self.last_ns

    def measure(self, load_fps: int, duration_ns: int) -> Trial:
        """Make a trial; one that is moved meanwhile loses what was too much while it was far."""
        before, there = self.look(), self.regime(self.now_ns)
        self.now_ns += duration_ns
        far = Regime.FAR in (there, self.regime(self.now_ns))
        made = switch(FAR_FPS if far else NEAR_FPS)(load_fps, duration_ns)
        held, self.held = self.held, None
        news = {"round_trips_ns": (before, self.look()), "held": held, "elapsed_ns": duration_ns}
        return made.model_copy(update=news)

    def round_trip_ns(self) -> int | None:
        return self.last_ns

    def hold(self, ns: int) -> None:
        before = self.last_ns
        self.now_ns += ns
        self.waits.append(ns)
        self.held = Held(ns=ns + (self.held.ns if self.held else 0), round_trip_ns=before)
        self.look()


def found(
    name: str, host: Host, budget_s: int | None = None
) -> tuple[GoalResult, dict[Regime, RegimeResult], Probe]:
    limit = None if budget_s is None else budget_s * NANOSECONDS
    probe = Probe(host.measure, Budget(limit), whereabouts=host)
    goal = spec_of(name, goals=NDR, **SHORT[name]).confirmed(LOADS).run(probe).goals[0]
    return goal, {one.regime: one for one in goal.regimes}, probe


class StalledHost(Host):
    """The same, and each trial loses a batch while its generator stands still."""

    def measure(self, load_fps: int, duration_ns: int) -> Trial:
        made = super().measure(load_fps, duration_ns)
        far = FAR_NS in made.round_trips_ns
        told = in_slots(load_fps, duration_ns, FAR_FPS if far else NEAR_FPS, 1, 32, 0)
        kept = {"round_trips_ns", "held", "elapsed_ns"}
        return told.model_copy(update={name: getattr(made, name) for name in kept})


def test_the_boundary_is_the_widest_gap_of_twice_the_time_or_more() -> None:
    made = trials((70, 125), (90, 80), (380, 500), (410, 390), (100, 400))
    boundary = boundary_of(made)
    assert boundary == Boundary(125, 380)
    assert [regime_of(one, boundary) for one in made] == [
        Regime.NEAR,
        Regime.NEAR,
        Regime.FAR,
        Regime.FAR,
        None,
    ]


@pytest.mark.parametrize(
    "pairs",
    [
        ((70, 125), (90, 80), (130, 170), (175, 160)),
        ((70, 80), (80, 900), (900, 75), (75, 90)),
        ((70, 80), (90, 80), (80, 75), (900, 950)),
        ((70,), (90,), (400,), (410,)),
        (),
    ],
    ids=["no gap", "one look was disturbed", "one trial alone", "nobody knows both ends", "none"],
)
def test_else_there_is_one_regime(pairs: tuple[tuple[int, ...], ...]) -> None:
    assert boundary_of(trials(*pairs)) is None


@given(st.lists(st.tuples(st.integers(1, 2000), st.integers(1, 2000)), max_size=40))
def test_a_program_that_shares_no_code_parts_any_trials_alike(pairs: list[tuple[int, int]]) -> None:
    made = trials(*pairs)
    boundary, parted = boundary_of(made), by_distance(made)
    if boundary is None:
        assert parted == {}
        return
    for regime in Regime:
        assert [one for one in made if regime_of(one, boundary) is regime] == parted[regime]


@given(
    st.lists(st.tuples(st.integers(1, 200), st.integers(1, 200)), min_size=2),
    st.lists(st.tuples(st.integers(400, 900), st.integers(400, 900)), min_size=2),
    st.randoms(use_true_random=False),
)
def test_in_whatever_order_trials_come_they_are_parted_alike(
    near: list[tuple[int, int]], far: list[tuple[int, int]], chance: object
) -> None:
    made = trials(*near, *far)
    mixed = list(made)
    chance.shuffle(mixed)  # type: ignore[attr-defined]
    assert boundary_of(made) == boundary_of(mixed) is not None
    assert sum(shares_of(made, Boundary(200, 400)).values()) == 1


def test_time_counts_for_where_the_cpus_were_waits_included() -> None:
    """A second near, one far, one in which they were moved, and two for which a trial waited."""
    wait = Held(ns=2 * NANOSECONDS, round_trip_ns=FAR_NS)
    made = [trial(NEAR_NS, NEAR_NS), trial(FAR_NS, FAR_NS), trial(NEAR_NS, FAR_NS)]
    made[0] = trial(NEAR_NS, NEAR_NS, held=wait)
    shares = shares_of(made, Boundary(NEAR_NS, FAR_NS))
    assert shares == {Regime.NEAR: Fraction(3, 10), Regime.FAR: Fraction(7, 10)}


@pytest.mark.parametrize("name", SHORT)
def test_each_regime_has_an_answer_of_its_own(name: str) -> None:
    goal, there, _ = found(name, Host(6 * NANOSECONDS, 8 * NANOSECONDS))
    for regime, capacity in ((Regime.NEAR, NEAR_FPS), (Regime.FAR, FAR_FPS)):
        told = there[regime]
        assert told.limit is Limit.DUT, told.reason
        assert told.lower_fps is not None
        assert told.upper_fps is not None
        assert told.lower_fps <= capacity < told.upper_fps
        assert Fraction(1, 4) < Fraction(told.share) < Fraction(3, 4)
    assert (there[Regime.NEAR].least_ns, there[Regime.FAR].most_ns) == (NEAR_NS, FAR_NS)
    assert goal.lower_fps is not None, "all trials together have one, too"


class Endless:
    """A search whose trials contradict each other, so that it never comes to its end."""

    def run(self, probe: Probe) -> SearchResult:
        try:
            while True:
                probe(NEAR_FPS, NANOSECONDS)
        except BudgetExhausted:
            return SearchResult(complete=False)


def test_a_method_does_not_go_its_own_way_once_trials_are_of_two_regimes() -> None:
    host = Host(6 * NANOSECONDS, 8 * NANOSECONDS)
    asked = spec_of("mlr", goals=NDR, **SHORT["mlr"]).search(LOADS).questions
    probe = Probe(host.measure, Budget(300 * NANOSECONDS), whereabouts=host)
    result = Confirmed(Endless(), asked, NANOSECONDS).run(probe)
    assert result.complete
    assert [one.limit for one in result.goals[0].regimes] == [Limit.DUT, Limit.DUT]


@pytest.mark.parametrize("name", SHORT)
def test_stalls_are_left_out_of_it(name: str) -> None:
    """As measured not even the lowest load passes."""
    goal, there, _ = found(name, StalledHost(6 * NANOSECONDS, 8 * NANOSECONDS))
    assert goal.lower_fps is None
    for regime, capacity in ((Regime.NEAR, NEAR_FPS), (Regime.FAR, FAR_FPS)):
        told = there[regime]
        assert told.limit is Limit.DUT, told.reason
        assert told.clean is not None
        assert Fraction(1, 2) < Fraction(told.clean) < 1
        assert (told.lower_fps or 0) <= capacity < (told.upper_fps or 0)


@pytest.mark.parametrize("moved_s", [15, 18, 21, 24, 27, 30])
def test_what_was_asked_in_one_regime_is_not_asked_on_in_another(moved_s: int) -> None:
    """Two trials tell that there is another, whatever is settled or tried again by then."""
    host = StalledHost(0, 0, near_for=moved_s * NANOSECONDS)
    _, there, probe = found("mlr", host)
    far = [one for one in probe.trials if one.round_trips_ns == (FAR_NS, FAR_NS)]
    assert min(one.load_fps for one in far[:3]) < FAR_FPS < min(one.load_fps for one in far[:2])
    assert there[Regime.FAR].limit is Limit.DUT


@pytest.mark.parametrize("budget_s", [None, 26, 28, 30, 32, 34, 36, 38, 40])
@pytest.mark.parametrize("moved_s", [21, 24, 27])
def test_that_there_is_another_is_no_reason_why_there_is_no_answer(
    moved_s: int, budget_s: int | None
) -> None:
    host = StalledHost(0, 0, near_for=moved_s * NANOSECONDS)
    goal, there, _ = found("mlr", host, budget_s)
    said = [goal.reason, *(one.reason for one in (goal.clean, *there.values()) if one is not None)]
    assert not [one for one in said if "there are two regimes" in one]


@pytest.mark.parametrize("name", SHORT)
def test_what_all_trials_say_together_is_not_asked_on_once_regimes_have_answers(name: str) -> None:
    """They lose a batch each, so together they would be asked down to the lowest load."""
    goal, there, probe = found(name, StalledHost(6 * NANOSECONDS, 8 * NANOSECONDS))
    assert Flag.LEFT_TO_REGIMES in goal.flags
    assert goal.limit is Limit.HOST
    assert goal.upper_fps is not None
    assert goal.upper_fps > 10 * LOADS.minimum
    assert all(one.limit is Limit.DUT for one in there.values())
    assert Flag.AT_MINIMUM not in goal.flags
    assert len(probe.trials) < 50


def test_others_that_refer_to_all_trials_have_them_asked_on() -> None:
    host = StalledHost(6 * NANOSECONDS, 8 * NANOSECONDS)
    probe = Probe(host.measure, Budget(), whereabouts=host)
    search = spec_of("mlr", goals=NDR, **SHORT["mlr"]).search(LOADS)
    asked = Confirmed(search, search.questions, NANOSECONDS, by_regime=False)
    goal = asked.run(probe).goals[0]
    assert Flag.LEFT_TO_REGIMES not in goal.flags
    assert goal.upper_fps == LOADS.minimum, "as each trial loses a batch"


@pytest.mark.parametrize(("flags", "met"), [((), True), ((Flag.LEFT_TO_REGIMES,), None)])
def test_bounds_that_rest_on_less_meet_no_criterion(
    flags: tuple[Flag, ...], met: bool | None
) -> None:
    """A single trial may have passed at the lower one."""
    (check,) = check_all(spec(AT_LEAST_5M), ndr(5_500_000, 9_000_000, Limit.HOST, *flags), ())
    assert check.met is met


def test_an_answer_that_was_left_to_regimes_is_none_that_others_are_held_against() -> None:
    left = goal(9_000_000, 7_000_000).model_copy(update={"flags": (Flag.LEFT_TO_REGIMES,)})
    names = [one.name for one in findings_of(SearchResult(goals=(left,)))]
    assert names == ["ndr near", "ndr far"]


def test_nor_does_it_comply_with_rfc_9971() -> None:
    method = spec_of("mlr", goals=NDR)
    for flags, breaking in (((), False), ((Flag.LEFT_TO_REGIMES,), True)):
        left = goal(9_000_000, 7_000_000).model_copy(update={"flags": flags})
        found = method.rfc9971(case_of("mlr", search=method), SearchResult(goals=(left,)))
        assert bool(found.breaking) is breaking


@pytest.mark.parametrize("name", ["mlr", "rfc2544"])
def test_the_bounds_of_the_regime_that_it_is_in_at_the_end_are_tried_again(name: str) -> None:
    """After a rest, as those of all trials are; it is near then."""
    host = StalledHost(6 * NANOSECONDS, 8 * NANOSECONDS)
    rested: list[int] = []

    def rest(load_fps: int, duration_ns: int) -> Trial:
        rested.append(len(probe.trials))
        return host.measure(load_fps, duration_ns)

    probe = Probe(host.measure, Budget(), whereabouts=host, rest=rest)
    goal = spec_of(name, goals=NDR, **SHORT[name]).confirmed(LOADS).run(probe).goals[0]
    again = probe.trials[rested[-1] :]
    near, _ = goal.regimes
    assert {near.lower_fps, near.upper_fps} <= {one.load_fps for one in again}


@pytest.mark.parametrize(
    ("near_s", "far_s", "budget_s", "ended", "complete"),
    [(9, 11, 28, 1, True), (6, 8, 30, 1, True), (5, 9, 22, 2, False)],
)
def test_time_that_was_held_back_for_all_trials_is_not_left_over(
    near_s: int, far_s: int, budget_s: int, ended: int, complete: bool
) -> None:
    """Regimes that lack it have the rest. Else it ended early, unless all trials are answered."""
    host = Host(near_s * NANOSECONDS, far_s * NANOSECONDS)
    probe = Probe(host.measure, Budget(budget_s * NANOSECONDS), whereabouts=host)
    result = spec_of("mlr", goals=NDR, **SHORT["mlr"]).confirmed(LOADS).run(probe)
    (goal,) = result.goals
    assert sum("the time ended" in one.reason for one in goal.regimes) == ended
    assert probe.budget.left_ns == 0
    assert result.complete is complete


@pytest.mark.parametrize("name", SHORT)
def test_a_load_that_failed_in_one_regime_alone_is_the_machines(name: str) -> None:
    goal, there, _ = found(name, Host(6 * NANOSECONDS, 8 * NANOSECONDS))
    assert goal.upper_fps is not None
    assert goal.upper_fps <= (there[Regime.NEAR].lower_fps or 0)
    assert goal.limit is Limit.HOST
    assert "near each other" in goal.reason


@pytest.mark.parametrize("name", SHORT)
def test_a_machine_that_stays_costs_nothing(name: str) -> None:
    host = Host(NANOSECONDS, 0)
    goal, there, probe = found(name, host)
    plain = Probe(switch(NEAR_FPS), Budget())
    alone = spec_of(name, goals=NDR, **SHORT[name]).confirmed(LOADS).run(plain).goals[0]
    assert goal == alone
    assert there == {}
    assert host.waits == []
    assert len(probe.trials) == len(plain.trials)


def test_trials_are_held_back_while_the_machine_is_where_nothing_is_left_to_ask() -> None:
    """It is far for most of the time, so that regime is answered first."""
    host = Host(4 * NANOSECONDS, 12 * NANOSECONDS)
    _, there, probe = found("mlr", host)
    assert there[Regime.FAR].limit is Limit.DUT
    held_ns = sum(one.held.ns for one in probe.trials if one.held is not None)
    assert held_ns > 0
    assert probe.budget.spent_ns == sum(one.elapsed_ns for one in probe.trials) + sum(host.waits)


def test_no_longer_than_was_announced() -> None:
    """It was near for a while, and never again."""
    host = Host(0, 0, near_for=6 * NANOSECONDS)
    _, there, probe = found("mlr", host)
    near = there[Regime.NEAR]
    assert host.waits
    assert sum(host.waits) <= HELD * probe.budget.spent_ns
    assert (near.lower_fps, near.limit) == (None, None)
    assert "not so again" in near.reason
    assert there[Regime.FAR].limit is Limit.DUT, "it went on there"


def test_a_regime_that_hardly_was_is_not_waited_for() -> None:
    host = Host(0, 0, near_for=3 * NANOSECONDS)
    spec = spec_of("mlr", goals=NDR)
    probe = Probe(host.measure, Budget(), whereabouts=host)
    goal = spec.confirmed(LOADS).run(probe).goals[0]
    near, far = goal.regimes
    assert host.waits == []
    assert "of the time" in near.reason
    assert far.limit is Limit.DUT


def test_where_the_machine_moves_in_most_trials_no_regime_is_told() -> None:
    """A trial that ends where it began may have been elsewhere meanwhile."""
    host = Host(4 * NANOSECONDS, 5 * NANOSECONDS)
    spec = spec_of("rfc2544", goals=NDR, duration="2s")
    goal = spec.confirmed(LOADS).run(Probe(host.measure, Budget(), whereabouts=host)).goals[0]
    assert [one.limit for one in goal.regimes] == [None, None]
    assert all("were moved in" in one.reason for one in goal.regimes)


def test_where_the_time_ends_before_the_answer_of_all_trials_is_kept() -> None:
    goal, there, probe = found("mlr", Host(9 * NANOSECONDS, 11 * NANOSECONDS), budget_s=25)
    assert probe.budget.spent_ns <= 25 * NANOSECONDS
    assert goal.lower_fps is not None
    assert [one for one in there.values() if one.limit is None], "there was no time for both"


def test_a_regime_whose_time_ended_says_what_had_passed_there() -> None:
    """It is no answer: where it fails is not known yet."""
    told = []
    for budget_s in range(16, 32):
        _, there, _ = found("mlr", Host(9 * NANOSECONDS, 11 * NANOSECONDS), budget_s)
        told += [one for one in there.values() if "the time ended" in one.reason]
    assert {one.limit for one in told} == {None}
    assert any(re.search(r"sufficed; .*most passed at \d\.\d+ Mfps", one.reason) for one in told)


# Answers by regime, from the machine that has them to whoever reads them.

FAR_SHARE = Fraction(3, 4)
MOVING = {"host": {"far": "75%", "near_lasts": "10s", "far_lasts": "10s"}, "seed": 3}


def regime(where: Regime, lower: int | None, share: str, why: str = "lost") -> RegimeResult:
    least, most = (70, 125) if where is Regime.NEAR else (380, 500)
    return RegimeResult(
        regime=where,
        share=share,
        least_ns=least,
        most_ns=most,
        clean=None,
        lower_fps=lower,
        upper_fps=None if lower is None else lower + lower // 100,
        limit=None if lower is None else Limit.DUT,
        reason=why,
    )


def goal(near: int | None, far: int | None, why: str = "lost") -> GoalResult:
    there = (regime(Regime.NEAR, near, "3/10", why), regime(Regime.FAR, far, "7/10"))
    return goal_result().model_copy(update={"regimes": there, "limit": Limit.HOST})


def found_near(near: int | None, far: int | None, why: str = "lost") -> SearchResult:
    return SearchResult(goals=(goal(near, far, why),))


class TestAMachineThatMovesItsCpus:
    """The simulated one, by what YAML sets of it, as a run measures on it."""

    def test_the_switch_forwards_less_while_they_are_far_and_the_round_trip_tells(self) -> None:
        with session(simulated_case(behaving("ideal"), MOVING)) as running:
            carried = {}
            for _ in range(60):
                before = running.round_trip_ns((0, 1))
                trial = running.run(TrialRequest(2 * CAPACITY_FPS, SECOND))
                after = running.round_trip_ns((0, 1))
                assert before is not None
                assert after is not None
                if (before < 200) is (after < 200):
                    carried[before < 200] = trial.directions[0].received_frames
        assert carried == {True: CAPACITY_FPS, False: CAPACITY_FPS * FAR_SHARE}

    def test_one_that_makes_no_difference_has_no_round_trip(self) -> None:
        case = simulated_case(behaving("ideal"), {"host": {"drift": "1%"}})
        with session(case) as running:
            assert running.round_trip_ns((0, 1)) is None

    def test_a_run_answers_by_regime_and_time_in_which_trials_are_held_back_passes_in_it(
        self,
    ) -> None:
        search = {**METHODS["mlr"], **RANGE, "goals": NDR_PDR}
        case = simulated_case(behaving("ideal"), MOVING, search=search)
        told: list[int] = []
        with session(case) as running:
            measurer = Measurer(running, Watch(None, running, cpus=(0, 1)), case.trial, Budget(), 2)
            measurer.holding = told.append
            bench = MeasuredBench(measurer, loads_of(case))
            result = method_of(case).run(bench)
        for one in result.goals:
            loss = 1 - Fraction(one.loss_ratio)
            for there in one.regimes:
                capacity = CAPACITY_FPS * (1 if there.regime is Regime.NEAR else FAR_SHARE)
                if there.limit is not None:
                    assert there.lower_fps is not None
                    assert there.upper_fps is not None
                    assert there.lower_fps <= capacity / loss + 1
                    assert capacity / loss < there.upper_fps + 1
        assert any(there.limit for one in result.goals for there in one.regimes)
        held = [one.held for one in measurer.trials if one.held is not None]
        assert len(told) == len(held) > 0
        spent_ns = sum(one.elapsed_ns for one in measurer.trials)
        assert measurer.budget.spent_ns == spent_ns + sum(one.ns for one in held)

    def test_a_look_that_saw_nothing_is_repeated_before_anybody_gives_up(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        looks = iter([None, NEAR_NS, FAR_NS])
        monkeypatch.setattr(Watch, "round_trip_ns", lambda _: next(looks))
        with session(simulated_case(behaving("ideal"), MOVING)) as running:
            watch = Watch(None, running, cpus=(0, 1))
            watch.look_again()
            assert watch.known_round_trip_ns() == NEAR_NS
            assert watch.known_round_trip_ns() == NEAR_NS, "what was seen is not looked at again"


class TestWhatReadersAreTold:
    @pytest.mark.parametrize("width", [80, 120, 200])
    def test_each_has_a_line_below_the_answer_of_all_trials(self, width: int) -> None:
        text = shown(found_near(9_000_000, 7_000_000), width)
        lines = [line for line in text.splitlines() if "Mfps" in line]
        assert [line for line in lines if "near 9.000 … 9.090 Mfps" in line and "dut" in line]
        assert [line for line in lines if "far 7.000 … 7.070 Mfps" in line and "dut" in line]
        assert max(map(len, lines)) <= width
        flat = " ".join(text.split())
        assert "70 to 125 ns apart there and back (30% of the time)" in flat
        assert "380 to 500 ns apart there and back (70% of the time)" in flat

    def test_where_there_is_none_a_line_says_why(self) -> None:
        text = shown(found_near(None, 7_000_000, "so seldom"))
        assert "near" not in next(line for line in text.splitlines() if "8.000 …" in line)
        flat = " ".join(text.split())
        assert "! no ndr while the CPUs were near each other, 30% of the time: so seldom" in flat

    def test_where_no_row_is_near_or_far_neither_is_explained(self) -> None:
        text = shown(found_near(None, None, "so seldom"))
        assert "! no ndr while the CPUs were near each other" in " ".join(text.split())
        assert "near, far:" not in text

    def test_each_has_a_reason(self) -> None:
        record = case_record("mine", result=found_near(9_000_000, 7_000_000))
        assert reasons(CaseRow(view_of(planned(), record)))[1:] == [
            "ndr near, in 30.0% of the time: lost",
            "ndr far, in 70.0% of the time: lost",
        ]

    def test_a_report_says_both(self) -> None:
        record = case_record("mine", result=found_near(9_000_000, None))
        (number,) = numbers_of(CaseRow(view_of(planned(), record)), [])
        facts = {fact.name: fact.value for fact in number.facts}
        assert facts["near (30% of the time)"] == "9.000 … 9.090 Mfps: lost"
        assert facts["far (70% of the time)"] == "no answer: lost"
        assert any(how.startswith("Near and far: ") for how in number.how)

    def test_tables_have_columns_of_them_where_there_are_some(self, tmp_path: Path) -> None:
        def row(result: SearchResult, name: str) -> dict[str, str]:
            (tmp_path / name).mkdir()
            tables = exported("csv", one_case(tmp_path / name, result=result))
            return next(csv.DictReader(io.StringIO(tables["cases"].decode(), newline="")))

        told = row(found_near(9_000_000, None), "both")
        assert told["ndr_near_share"] == "0.3"
        assert told["ndr_near_lower_fps"] == "9000000"
        assert (told["ndr_far_share"], told["ndr_far_lower_fps"]) == ("0.7", "")
        assert not [
            name for name in row(SearchResult(goals=(goal_result(),)), "one") if "near" in name
        ]


class TestComparisons:
    def test_a_regime_is_held_against_the_same_one(self, tmp_path: Path) -> None:
        """All trials together came to the same; the second switch is slower in each regime."""
        run(tmp_path, "aaaa", {1: [found_near(9_000_000, 7_000_000)]})
        run(tmp_path, "bbbb", {1: [found_near(8_100_000, 6_300_000)]})
        rows = {row.name: row for row in of(tmp_path, "aaaa", "bbbb").rows}
        for name in ("ndr near", "ndr far"):
            (one,) = rows[name].differences
            assert one is not None
            assert one.share == pytest.approx(-0.1)
        assert rows["ndr"].differences == (None,), "near or far decides what that is"

    def test_where_a_side_has_no_such_regime_it_is_said(self, tmp_path: Path) -> None:
        run(tmp_path, "aaaa", {1: [found_near(9_000_000, 7_000_000)]})
        run(tmp_path, "bbbb", {1: [found_near(8_100_000, None)]})
        compared = of(tmp_path, "aaaa", "bbbb")
        said = "\n".join(reservations(compared))
        assert "ndr far of phy2phy_tput-64B: B has no answer in that regime" in said

    def test_without_regimes_nothing_is_said_of_them(self, tmp_path: Path) -> None:
        run(tmp_path, "aaaa", {1: [9_000_000]})
        run(tmp_path, "bbbb", {1: [8_000_000]})
        compared = of(tmp_path, "aaaa", "bbbb")
        assert "regime" not in "\n".join(reservations(compared))
        assert compared.rows[0].differences[0] is not None


def test_a_criterion_that_the_machine_decided_says_what_passed_in_each_regime() -> None:
    (one,) = ndr(4_000_000, 4_040_000, Limit.HOST).goals
    there = (regime(Regime.NEAR, 5_200_000, "3/10"), regime(Regime.FAR, 4_000_000, "7/10"))
    result = SearchResult(goals=(one.model_copy(update={"regimes": there}),))
    (check,) = check_all(spec(AT_LEAST_5M), result, ())
    assert check.met is None
    assert check.found.endswith(
        "the machine moved its CPUs: 5.200 … 5.252 Mfps while they were near, 4.000 … 4.040 Mfps "
        "while they were far"
    )


@pytest.mark.parametrize(
    ("near", "far", "met"), [(5.2, 5.1, True), (4.9, 4.5, False), (5.2, 4.5, None)]
)
@pytest.mark.parametrize("left", [True, False])
def test_a_bound_is_met_or_missed_where_all_regimes_agree(
    near: float, far: float, met: bool | None, left: bool
) -> None:
    """Whether all trials together were asked no more, or ended where the machine decided."""
    (one,) = ndr(4_000_000, 5_250_000, Limit.HOST).goals
    there = tuple(
        regime(name, round(rate * 1e6), "1/2")
        for name, rate in zip(Regime, (near, far), strict=True)
    )
    flags = (Flag.LEFT_TO_REGIMES,) if left else ()
    result = SearchResult(goals=(one.model_copy(update={"regimes": there, "flags": flags}),))
    (check,) = check_all(spec(AT_LEAST_5M), result, ())
    assert check.met is met


def test_a_search_that_went_by_regime_is_no_binary_search_of_tst_009() -> None:
    case = case_of("tst009")
    alone = SearchResult(goals=(goal_result(),))
    for result, told in ((found_near(8_200_000, 6_000_000), True), (alone, False)):
        (tst009,) = (
            one
            for one in method_of(case).compliance(case, (64,), result)
            if one.standard is Standard.TST009
        )
        assert ("not by a binary search" in " ".join(tst009.deviations)) is told
