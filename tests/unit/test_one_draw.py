"""A gate on single deployments, each of which is one draw: a small change may be no more."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import pytest
from assertions import known
from compared_runs import of, run
from search_models import case_of
from simulated_cases import simulated_case
from test_draws import draw
from test_draws_criteria import goal
from test_figures import BACK2BACK
from test_regime_alone import answered, regimes
from test_regimes import trials

from vsperf.analysis import answers
from vsperf.analysis.answers import ALONE, findings_of, spans_met
from vsperf.analysis.difference import scatter_of
from vsperf.cli.main import run_cli
from vsperf.config.case import CaseSpec
from vsperf.config.expect import Bound, Expectation
from vsperf.engine.criteria import check_all
from vsperf.errors import ExitCode
from vsperf.output.compare_text import headline
from vsperf.quantities.unit import Unit
from vsperf.quantities.units import Ratio
from vsperf.records.regime import Boundary
from vsperf.records.result import Draws, Figure, Limit, SearchResult, View
from vsperf.records.run import Check

NEAR, FAR = (70, 125), (380, 500)
BEFORE, LESS, HALF = (5_000_000, 5_050_000), (4_600_000, 4_650_000), (2_500_000, 2_550_000)


# `vsperf compare --fail-above`


@pytest.mark.parametrize(
    ("after", "simulated", "code"),
    [
        ([4_600_000], False, ExitCode.INVALID_RESULT),
        ([4_600_000], True, ExitCode.CRITERION_MISSED),
        ([2_500_000], False, ExitCode.CRITERION_MISSED),
        ([4_600_000, 4_610_000, 4_590_000], False, ExitCode.CRITERION_MISSED),
        ([4_990_000], False, ExitCode.OK),
    ],
    ids=["8 % less", "of a model", "half", "three deployments", "the same"],
)
def test_what_one_deployment_forwards_less_than_another_is_no_regression_for_sure(
    after: list[int], simulated: bool, code: ExitCode, tmp_path: Path
) -> None:
    """By half no two deployments of one switch differ, and repeats say by how much they do."""
    before = [5_000_000, 5_010_000, 4_990_000][: len(after)]
    run(tmp_path, "aaaa", {1: before}, simulated=simulated)
    run(tmp_path, "bbbb", {1: after}, simulated=simulated)
    gate = ("--fail-above", "3%", "--results", str(tmp_path))
    assert run_cli(["compare", "aaaa", "bbbb", *gate]) == code


def test_it_says_so_and_what_tells(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name, rate in (("aaaa", 5_000_000), ("bbbb", 4_600_000)):
        run(tmp_path, name, {1: [rate]}, simulated=False)
    run_cli(["compare", "aaaa", "bbbb", "--fail-above", "3%", "--results", str(tmp_path)])
    said = " ".join("".join(capsys.readouterr()).split())
    assert (
        "as nobody knows how far single deployments lie apart, nobody can tell whether it is worse "
        "by more than 3%: phy2phy_tput-64B ndr; `--repeat 4`, or search.draws=4 of a throughput, "
        "on both sides tells"
    ) in said
    told = headline(of(tmp_path, "aaaa", "bbbb"))
    assert (told.word, told.tone) == ("PERHAPS WORSE", "open")
    assert "may be no more than these drew" in told.text
    assert headline(of(tmp_path, "bbbb", "aaaa")).word == "PERHAPS BETTER"


def test_what_is_sure_comes_before_what_may_be_a_draw(tmp_path: Path) -> None:
    run(tmp_path, "aaaa", {1: [5_000_000], 2: [5_000_000]}, simulated=False)
    run(tmp_path, "bbbb", {1: [4_600_000], 2: [8_000_000]}, simulated=False)
    told = headline(of(tmp_path, "aaaa", "bbbb"))
    assert told.word == "BETTER"
    assert "1 more may be no more than what single deployments drew" in told.text


# A criterion on a baseline


def asking(expected: dict[str, Any], case: CaseSpec, *, simulated: bool = False) -> CaseSpec:
    testbed = case.testbed.model_copy(update={"simulated": simulated})
    asked = Expectation.model_validate({"baseline": "main", **expected})
    return case.model_copy(update={"expect": (asked,), "testbed": testbed})


def held(ends: tuple[int, int], *, simulated: bool = False, **more: Any) -> Check:
    asked = {"metric": "ndr", "drop": "3%", "held_to": Bound("4.85Mfps"), **more}
    case = asking(asked, case_of("mlr"), simulated=simulated)
    (check,) = check_all(case, SearchResult(goals=(goal(ends),)), ())
    return check


@pytest.mark.parametrize(("ends", "met"), [(BEFORE, True), (LESS, None), (HALF, False)])
def test_a_baseline_of_one_deployment_is_missed_by_more_than_two_of_them_can_differ(
    ends: tuple[int, int], met: bool | None
) -> None:
    check = held(ends)
    assert check.met is met
    assert ("one deployment each" in check.found) is (met is None)


def test_a_change_that_is_allowed_is_in_what_two_deployments_differ_by() -> None:
    """Of 5 Mfps 20 % in all, and not 20 % of what is left of it: 4 Mfps."""
    assert held((4_000_000, 4_010_000)).met is None
    assert held((3_980_000, 3_990_000)).met is False


def with_draws(ends: tuple[int, int], *told: tuple[int, int] | None, **more: Any) -> Check:
    made = [draw(1, *ends)]
    for number, one in enumerate(told, start=2):
        none = {"lower_fps": None, "upper_fps": None, "limit": None}
        made.append(draw(number, *(one or ends)).model_copy(update={} if one else none))
    draws = Draws(asked=len(made), view=View.NEAR, made=tuple(made))
    asked = {"metric": "ndr", "drop": "3%", "held_to": Bound("4.85Mfps"), **more}
    found = goal(ends).model_copy(update={"draws": draws})
    result = SearchResult(goals=(found,), round_trips_ns=NEAR)
    (check,) = check_all(asking(asked, case_of("mlr")), result, ())
    return check


def test_deployments_of_which_one_alone_has_an_answer_are_one() -> None:
    assert with_draws(LESS, None).met is None


def test_where_the_baseline_is_of_one_regime_deployments_of_the_case_tell_as_well() -> None:
    near = {"held_by": {"ndr near": Bound("4.85Mfps")}, "spans_ns": {"near": NEAR, "far": FAR}}
    assert with_draws(LESS, (5_000_000, 5_050_000), (4_400_000, 4_450_000), **near).met is True
    assert with_draws(LESS, (4_610_000, 4_650_000), (4_605_000, 4_650_000), **near).met is False


@pytest.mark.parametrize(("after", "met"), [(20_000, None), (10_000, False)])
def test_what_is_no_rate_is_blamed_where_it_is_less_than_half(after: int, met: bool | None) -> None:
    asked = {"metric": "burst", "drop": "3%", "held_to": Bound("25900")}
    (check,) = check_all(asking(asked, simulated_case(search=BACK2BACK)), burst(after), ())
    assert check.met is met


@pytest.mark.parametrize(("after", "met"), [(40_000, None), (60_000, False)])
def test_or_where_it_is_double_of_what_is_not_to_get_more(after: int, met: bool | None) -> None:
    asked = {"metric": "burst", "rise": "3%", "held_to": Bound("27500")}
    (check,) = check_all(asking(asked, simulated_case(search=BACK2BACK)), burst(after), ())
    assert check.met is met


def test_what_two_repeats_say_of_scatter_allows_no_more_than_deployments_differ_by() -> None:
    """A margin of theirs may be anything: Student's quantile is 12.7. Allowed are 3 % already."""
    scatter = known(scatter_of([[5_000_000, 5_500_000]]))
    assert scatter.by_chance(2, 1, Unit.FPS, 0.03, more=False) == pytest.approx(0.80 / 0.97)
    assert scatter.by_chance(2, 1, Unit.NANOSECONDS, 0.10, more=True) == pytest.approx(2 / 1.1)
    assert scatter.by_chance(2, 1, Unit.FPS, 0.30, more=False) == 1.0


def test_nor_do_two_repeats_leave_open_what_one_would_fail(tmp_path: Path) -> None:
    run(tmp_path, "aaaa", {1: [5_000_000, 4_600_000]}, simulated=False)
    run(tmp_path, "bbbb", {1: [2_400_000]}, simulated=False)
    run(tmp_path, "cccc", {1: [4_200_000]}, simulated=False)
    gate = ("--fail-above", "3%", "--results", str(tmp_path))
    assert run_cli(["compare", "aaaa", "bbbb", *gate]) == ExitCode.CRITERION_MISSED
    assert run_cli(["compare", "aaaa", "cccc", *gate]) == ExitCode.INVALID_RESULT


def test_repeats_that_lie_farther_apart_than_that_leave_it_open(tmp_path: Path) -> None:
    """Two of one side are among those of the other."""
    run(tmp_path, "aaaa", {1: [5_000_000, 3_000_000]}, simulated=False)
    run(tmp_path, "bbbb", {1: [3_400_000, 2_600_000]}, simulated=False)
    gate = ("--fail-above", "3%", "--results", str(tmp_path))
    assert run_cli(["compare", "aaaa", "bbbb", *gate]) == ExitCode.INVALID_RESULT


def test_a_search_that_ended_early_does_not_meet_a_baseline_in_its_regime() -> None:
    """Its lower bound may rest on a single trial."""
    near = {"held_by": {"ndr near": Bound("4.85Mfps")}, "spans_ns": {"near": NEAR, "far": FAR}}
    asked = {"metric": "ndr", "drop": "3%", "held_to": Bound("4Mfps"), **near}
    for limit, met in ((Limit.DUT, True), (Limit.BUDGET, None)):
        result = SearchResult(goals=(goal(BEFORE, limit=limit),), round_trips_ns=NEAR)
        (check,) = check_all(asking(asked, case_of("mlr")), result, ())
        assert check.met is met
        assert ("the time ended too early" in check.found) is (met is None)


def test_one_whose_repeats_say_how_far_they_lie_apart_is_missed_by_less() -> None:
    assert held(LESS, apart=Ratio.parse("1%")).met is False


def test_so_is_that_of_a_model() -> None:
    assert held(LESS, simulated=True).met is False


# What is no rate that was searched for: of one regime, too


def burst(frames: int, met: tuple[int, int] | None = None) -> SearchResult:
    figure = Figure(name="burst", unit=Unit.FRAMES, value=frames, lower=frames, upper=frames + 100)
    return SearchResult(figures=(figure,), round_trips_ns=met)


@pytest.mark.parametrize(
    ("met", "told"), [(NEAR, {"burst": "down"}), (FAR, {"burst": None, "burst far": None})]
)
def test_a_figure_of_another_regime_is_held_against_nothing(
    met: tuple[int, int], told: dict[str, str | None], tmp_path: Path
) -> None:
    run(tmp_path, "aaaa", {1: [burst(26_700, NEAR)]})
    run(tmp_path, "bbbb", {1: [burst(20_000, met)]})
    rows = {
        row.name: None if (one := row.differences[0]) is None else one.change.value
        for row in of(tmp_path, "aaaa", "bbbb").rows
        if row.samples[1] is not None
    }
    assert rows == told


def test_a_gate_passes_nothing_that_was_held_against_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, frames, met in (("aaaa", 26_700, NEAR), ("bbbb", 2_000, FAR)):
        run(tmp_path, name, {1: [burst(frames, met)]})
    gate = ("--fail-above", "3%", "--results", str(tmp_path))
    assert run_cli(["compare", "aaaa", "bbbb", *gate]) == ExitCode.INVALID_RESULT
    said = " ".join("".join(capsys.readouterr()).split())
    assert (
        "with CPUs near each other on one side, and far, or both, on the other, nobody can tell"
        in said
    )


def test_what_is_near_alone_is_held_against_nothing_that_met_both(tmp_path: Path) -> None:
    """How much of its time that one was near decides what it came to."""
    both = answered(4_500_000, None, regimes=regimes(5_000_000, 4_000_000))
    (figure,) = burst(20_000).figures
    run(tmp_path, "aaaa", {1: [burst(26_700, NEAR)]})
    run(tmp_path, "bbbb", {1: [both.model_copy(update={"figures": (figure,)})]})
    rows = {row.name: row for row in of(tmp_path, "aaaa", "bbbb").rows}
    assert rows["burst"].elsewhere(1)
    assert rows["burst"].differences == (None,)


@pytest.mark.parametrize(("met", "apart"), [(NEAR, True), (None, False)])
def test_so_is_one_of_two_methods_without_goals(
    met: tuple[int, int] | None,
    apart: bool,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Where both met both, they are alike."""
    made = trials((70, 90), (80, 125), (415, 430), (420, 444))
    there = partial(spans_met, trials=lambda: made)
    monkeypatch.setattr(answers, "spans_met", lambda result, trials: there(result))
    run(tmp_path, "aaaa", {1: [burst(26_700, met)]})
    run(tmp_path, "bbbb", {1: [burst(20_000)]})
    (row,) = of(tmp_path, "aaaa", "bbbb").rows
    assert row.elsewhere(1) is apart


def test_of_a_method_without_goals_trials_tell_that_it_met_both() -> None:
    made = trials((70, 90), (80, 125), (415, 430), (420, 444))
    assert spans_met(burst(20_000), lambda: made) == {"near": (125, 125), "far": (415, 415)}
    assert spans_met(burst(20_000, NEAR), lambda: made) == {ALONE: NEAR}
    assert spans_met(burst(20_000), lambda: trials((70, 90), (80, 125))) == {}


def test_what_shows_whether_others_can_be_believed_is_no_number_of_a_regime() -> None:
    control = Figure(name="overload_share", unit=Unit.RATIO, value=1.1)
    result = burst(5, NEAR).model_copy(update={"figures": (control,)})
    found = findings_of(result, boundary=Boundary(NEAR[1], FAR[0]))
    assert [one.name for one in found] == ["overload_share"]


@pytest.mark.parametrize(("met", "found"), [(NEAR, False), (FAR, None), (None, False)])
def test_nor_does_it_miss_a_baseline(met: tuple[int, int] | None, found: bool | None) -> None:
    asked = {"metric": "burst", "drop": "3%", "held_to": Bound("25900"), "spans_ns": {ALONE: NEAR}}
    case = asking({**asked, "apart": Ratio.parse("1%")}, simulated_case(search=BACK2BACK))
    (check,) = check_all(case, burst(20_000, met), ())
    assert check.met is found
    assert ("380 to 500 ns apart" in check.found) is (found is None)
