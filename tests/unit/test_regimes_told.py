"""Answers by regime, from the machine that has them to whoever reads them."""

from __future__ import annotations

import csv
import io
from fractions import Fraction
from pathlib import Path

import pytest
from compared_runs import of, run
from export_samples import exported, one_case
from record_samples import case_record, goal_result, header, planned, view_of
from search_models import METHODS, NDR_PDR, RANGE, case_of
from simulated_cases import CAPACITY_FPS, SECOND, behaving, session, simulated_case
from test_cli_output import as_written
from test_criteria import AT_LEAST_5M, ndr, spec

from vsperf.analysis.answers import reasons
from vsperf.analysis.summary import CaseRow
from vsperf.cli.tables import print_summary
from vsperf.cli.terminal import PlainConsole
from vsperf.drivers.generators.base import TrialRequest
from vsperf.engine.criteria import check_all
from vsperf.engine.measurer import MeasuredBench, Measurer
from vsperf.engine.watch import Watch
from vsperf.methods.base import loads_of, method_of
from vsperf.output.compare_text import reservations
from vsperf.output.report.numbers import numbers_of
from vsperf.records.regime import Regime
from vsperf.records.result import GoalResult, Limit, RegimeResult, SearchResult, Standard
from vsperf.search.base import Budget

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


def found(near: int | None, far: int | None, why: str = "lost") -> SearchResult:
    return SearchResult(goals=(goal(near, far, why),))


def shown(result: SearchResult, width: int = 120) -> str:
    case = header().cases[0].model_copy(update={"spec": as_written()})
    record = case_record(case.key, result=result, checks=(), flags=())
    out = PlainConsole(stderr=False, width=width)
    out.file = io.StringIO()
    print_summary(out, [CaseRow(view_of(case, record))], simulated=False)
    return out.file.getvalue()


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


class TestWhatReadersAreTold:
    @pytest.mark.parametrize("width", [80, 120, 200])
    def test_each_has_a_line_below_the_answer_of_all_trials(self, width: int) -> None:
        text = shown(found(9_000_000, 7_000_000), width)
        lines = [line for line in text.splitlines() if "Mfps" in line]
        assert [line for line in lines if "near 9.000 … 9.090 Mfps" in line and "dut" in line]
        assert [line for line in lines if "far 7.000 … 7.070 Mfps" in line and "dut" in line]
        assert max(map(len, lines)) <= width
        flat = " ".join(text.split())
        assert "70 to 125 ns apart there and back (30% of the time)" in flat
        assert "380 to 500 ns apart there and back (70% of the time)" in flat

    def test_where_there_is_none_a_line_says_why(self) -> None:
        text = shown(found(None, 7_000_000, "so seldom"))
        assert "near" not in next(line for line in text.splitlines() if "8.000 …" in line)
        flat = " ".join(text.split())
        assert "! no ndr while the CPUs were near each other, 30% of the time: so seldom" in flat

    def test_each_has_a_reason(self) -> None:
        record = case_record("mine", result=found(9_000_000, 7_000_000))
        assert reasons(CaseRow(view_of(planned(), record)))[1:] == [
            "ndr near, in 30.0% of the time: lost",
            "ndr far, in 70.0% of the time: lost",
        ]

    def test_a_report_says_both(self) -> None:
        record = case_record("mine", result=found(9_000_000, None))
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

        told = row(found(9_000_000, None), "both")
        assert told["ndr_near_share"] == "0.3"
        assert told["ndr_near_lower_fps"] == "9000000"
        assert (told["ndr_far_share"], told["ndr_far_lower_fps"]) == ("0.7", "")
        assert not [
            name for name in row(SearchResult(goals=(goal_result(),)), "one") if "near" in name
        ]


class TestComparisons:
    def test_a_regime_is_held_against_the_same_one(self, tmp_path: Path) -> None:
        """All trials together came to the same; the second switch is slower in each regime."""
        run(tmp_path, "aaaa", {1: [found(9_000_000, 7_000_000)]})
        run(tmp_path, "bbbb", {1: [found(8_100_000, 6_300_000)]})
        rows = {row.name: row for row in of(tmp_path, "aaaa", "bbbb").rows}
        for name in ("ndr near", "ndr far"):
            (one,) = rows[name].differences
            assert one is not None
            assert one.share == pytest.approx(-0.1)
        assert rows["ndr"].differences == (None,), "near or far decides what that is"

    def test_where_a_side_has_no_such_regime_it_is_said(self, tmp_path: Path) -> None:
        run(tmp_path, "aaaa", {1: [found(9_000_000, 7_000_000)]})
        run(tmp_path, "bbbb", {1: [found(8_100_000, None)]})
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
    assert "5.200 Mfps while they were near, 4.000 Mfps while they were far" in check.found


def test_a_search_that_went_by_regime_is_no_binary_search_of_tst_009() -> None:
    case = case_of("tst009")
    alone = SearchResult(goals=(goal_result(),))
    for result, told in ((found(8_200_000, 6_000_000), True), (alone, False)):
        (tst009,) = (
            one
            for one in method_of(case).compliance(case, (64,), result)
            if one.standard is Standard.TST009
        )
        assert ("not by a binary search" in " ".join(tst009.deviations)) is told
