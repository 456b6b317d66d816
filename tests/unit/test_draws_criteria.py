"""Criteria on a goal that was asked on several deployments, or is held against one that was."""

from __future__ import annotations

import itertools
import json
import math
import random
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from assertions import known
from click.testing import Result
from record_samples import case_record, header, planned, view_of
from record_samples import goal as answered
from search_models import case_of, lossy
from slot_samples import in_slots
from test_draws import draw
from test_paired_runs import vsperf

from vsperf.analysis.answers import findings_of, over_draws
from vsperf.analysis.deployments import Apart
from vsperf.analysis.difference import scatter_of
from vsperf.analysis.summary import CaseRow
from vsperf.config.expect import Bound, Expectation
from vsperf.engine import baselines
from vsperf.engine.criteria import check_all
from vsperf.engine.doubts import believed_draws
from vsperf.errors import ExitCode
from vsperf.output.case_tables import legend
from vsperf.quantities.units import NANOSECONDS, Ratio
from vsperf.records.files.folders import resolve
from vsperf.records.files.view import open_run
from vsperf.records.flags import Flag
from vsperf.records.regime import Regime
from vsperf.records.result import Draws, GoalResult, Limit, RegimeResult, SearchResult, View
from vsperf.records.run import Check
from vsperf.records.trial import Purpose
from vsperf.search.draws import first_of

CASE = """
name: held
title: held
topology: p2p
traffic: {frame_size: 64B}
vswitch: {kind: sim, capacity: 5Mpps, behaviour: {kind: ideal}, draw: 4%}
"""


def goal(*ends: tuple[int, int], view: View = View.ALL, **more: Any) -> GoalResult:
    made = tuple(draw(n, low, high) for n, (low, high) in enumerate(ends, start=1))
    draws = Draws(asked=max(2, len(made)), view=view, made=made) if len(made) > 1 else None
    return answered(*ends[0], draws=draws, **more)


def checked(found: GoalResult, **asked: Any) -> Check:
    expected = Expectation.model_validate({"metric": "ndr", **asked})
    case = case_of("mlr").model_copy(update={"expect": (expected,)})
    (check,) = check_all(case, SearchResult(goals=(found,)), ())
    return check


LOW, HIGH = (4_800_000, 4_850_000), (5_200_000, 5_250_000)
OTHERS = itertools.count(1)


@pytest.mark.parametrize(("least", "met"), [("4.7Mfps", True), ("5Mfps", None), ("5.3Mfps", False)])
def test_a_bound_is_met_where_all_deployments_reach_it(least: str, met: bool | None) -> None:
    assert checked(goal(LOW, HIGH), min=least).met is met


@pytest.mark.parametrize(("far", "met"), [(5_100_000, True), (4_500_000, None)])
def test_deployments_near_each_other_do_not_answer_for_those_far_away(
    far: int, met: bool | None
) -> None:
    regimes = (in_regime(Regime.NEAR, "3/4", HIGH[0]), in_regime(Regime.FAR, "1/4", far))
    found = goal(HIGH, HIGH, view=View.NEAR, regimes=regimes)
    assert checked(found, min="5Mfps").met is met


def test_a_deployment_that_failed_there_before_its_time_ended_does_not_reach_it() -> None:
    found = goal(HIGH, HIGH, (3_900_000, 4_000_000))
    draws = known(found.draws)
    ended = draws.made[2].model_copy(update={"limit": Limit.BUDGET})
    cut = draws.model_copy(update={"made": (*draws.made[:2], ended)})
    found = found.model_copy(update={"draws": cut})
    said = checked(found, min="5Mfps")
    assert (said.met, "2 of 3 deployments reach it" in said.found) == (None, True)
    assert checked(found, min="3.9Mfps").met is True


@pytest.mark.parametrize("vnfs", [1, 2])
def test_a_deployment_that_may_do_more_than_its_vnf_leaves_open_what_none_reached(
    vnfs: int,
) -> None:
    found = goal(LOW, LOW)
    draws = known(found.draws)
    made = tuple(
        one.model_copy(update={"limit": Limit.VNF}) if one.deployment > 2 - vnfs else one
        for one in draws.made
    )
    found = found.model_copy(update={"draws": draws.model_copy(update={"made": made})})
    said = checked(found, min="5.3Mfps")
    assert said.met is None
    assert "limited by vnf: what the switch can do nobody can tell" in said.found
    held = against(found, "4.9Mfps", **{"ndr over draws": "5Mfps"})
    assert (held.met, "limited by vnf" in held.found) == (None, True)


def test_an_open_one_says_how_many_do() -> None:
    found = checked(goal(LOW, HIGH, HIGH), min="5Mfps").found
    assert found == "4.800 … 5.250 Mfps over 3: 2 of 3 deployments reach it"


def test_a_deployment_on_which_frames_were_counted_in_the_wrong_trial_has_no_answer() -> None:
    """As on the first one: the surplus of one trial was missed by another."""
    over = lossy(5_000_000, 1).model_copy(
        update={"purpose": Purpose.DRAW, "deployment": 2, "flags": (Flag.RX_EXCEEDS_TX,)}
    )
    (found,) = believed_draws(SearchResult(goals=(goal(LOW, HIGH, HIGH),)), [over]).goals
    assert found.draws is not None
    assert [one.deployment for one in found.draws.told] == [1, 3]
    assert "more frames arrived than were sent" in found.draws.made[1].reason


def test_what_lies_over_deployments_is_not_used_where_the_first_of_them_is_refuted() -> None:
    """But where it is from clean time, of which nothing was said."""
    flags = {"flags": (Flag.REFUTED,)}
    assert over_draws(goal(LOW, HIGH))
    for view, used in ((View.ALL, False), (View.CLEAN, True)):
        refuted = goal(LOW, HIGH, view=view, **flags)
        assert bool(over_draws(refuted)) is used
        assert bool(list(findings_of(SearchResult(goals=(refuted,))))) is used


def test_one_deployment_alone_is_judged_as_before() -> None:
    assert checked(goal(HIGH), min="5Mfps").met is True


def against(found: GoalResult, plain: str, **by: str) -> Check:
    asked = {"baseline": "main", "drop": "3%", "held_to": Bound(plain)}
    return checked(found, **asked, held_by={name: Bound(text) for name, text in by.items()})


def test_a_baseline_over_deployments_is_held_against_their_middle() -> None:
    ends = ((4_000_000, 4_050_000), HIGH, HIGH)
    assert against(goal(*ends), "4.9Mfps", **{"ndr over draws": "5Mfps"}).met is True
    assert against(goal(*ends), "1Mfps", **{"ndr over draws": "5.3Mfps"}).met is False


def test_draws_from_clean_time_are_not_held_against_those_from_all_time() -> None:
    found = goal(LOW, LOW, view=View.CLEAN)
    assert against(found, "4.5Mfps", **{"ndr over draws": "5Mfps"}).met is True


def in_regime(regime: Regime, share: str, fps: int) -> RegimeResult:
    return RegimeResult(
        regime=regime,
        share=share,
        lower_fps=fps,
        upper_fps=fps + 50_000,
        limit=Limit.DUT,
        reason="",
        least_ns=1,
        most_ns=2,
        clean=None,
    )


def test_a_regime_is_held_against_the_same_of_the_baseline() -> None:
    """The machine was far for most of the time; all trials together are lower for that alone.

    Whether it was does not decide: where one is met and the other missed, nobody can tell.
    """
    there = (in_regime(Regime.NEAR, "1/10", 5_000_000), in_regime(Regime.FAR, "9/10", 4_000_000))
    found = goal((3_900_000, 3_950_000), regimes=there)
    held = against(found, "4.8Mfps", **{"ndr near": "4.9Mfps", "ndr far": "3.9Mfps"})
    assert held.met is True
    assert held.criterion == "ndr near ≥ 4.900 Mfps, main; ndr far ≥ 3.900 Mfps, main"
    for near, far in (("4.9Mfps", "4.1Mfps"), ("5.1Mfps", "3.9Mfps")):
        assert against(found, "1Mfps", **{"ndr near": near, "ndr far": far}).met is None
    assert against(found, "1Mfps", **{"ndr near": "5.1Mfps", "ndr far": "4.1Mfps"}).met is False
    assert against(found, "1Mfps", **{"ndr far": "4.1Mfps"}).met is False


@pytest.mark.parametrize(("asked", "met"), [("5Mfps", None), ("6.5Mfps", False), ("4Mfps", True)])
def test_of_fewer_deployments_than_what_is_asked_allows_for_less_is_missed(
    asked: str, met: bool | None
) -> None:
    """It allows for five, and two may come to less by chance: by a fifth they do not."""
    found = goal(LOW, LOW)
    draws = known(found.draws).model_copy(update={"asked": 5})
    found = found.model_copy(update={"draws": draws})
    said = against(found, "1Mfps", **{"ndr over draws": asked})
    assert said.met is met
    assert ("2 of 5 deployments have an answer" in said.found) is (met is None)


def bounds_of(*results: SearchResult, busy: int = 0) -> dict[str, Any]:
    """Return what a criterion asks for by repeats of a baseline, the first of them too busy."""
    flags = [(Flag.TOO_BUSY,) if number < busy else () for number in range(len(results))]
    views = [
        view_of(planned(), case_record("mine", result=one, flags=told))
        for one, told in zip(results, flags, strict=True)
    ]
    side = cast("Any", SimpleNamespace(name="main"))
    case = cast("Any", SimpleNamespace(spec=case_of("mlr"), label="mine"))
    asked = Expectation.model_validate({"metric": "ndr", "baseline": "main", "drop": "3%"})
    return baselines._bounds(asked, case, side, views)


def test_a_repeat_of_a_baseline_that_came_to_no_answer_asks_for_no_less() -> None:
    """As in a comparison: a lower bound by the machine, and a machine that was too busy."""
    five = SearchResult(goals=(answered(5_000_000, 5_050_000),))
    low = SearchResult(goals=(answered(3_000_000, None, limit=Limit.HOST),))
    slow = SearchResult(goals=(answered(3_000_000, 3_050_000),))
    wanted = Bound("4850000fps")
    assert bounds_of(five)["held_to"] == wanted
    assert bounds_of(low, five)["held_to"] == wanted
    assert bounds_of(slow, five, busy=1)["held_to"] == wanted
    assert bounds_of(slow, five)["held_to"] != wanted


def test_of_a_baseline_that_was_left_to_regimes_these_are_asked_for() -> None:
    there = (in_regime(Regime.NEAR, "1/2", 5_000_000), in_regime(Regime.FAR, "1/2", 4_000_000))
    flags = (Flag.LEFT_TO_REGIMES,)
    found = bounds_of(SearchResult(goals=(goal(LOW, regimes=there, flags=flags),)))
    assert found["held_to"] == Bound("3880000fps")
    assert found["held_by"] == {"ndr near": Bound("4850000fps"), "ndr far": Bound("3880000fps")}


def test_where_the_machine_moved_and_no_regime_has_an_answer_none_is_a_deployments() -> None:
    """Of another one that is near alone nobody could tell what is its own."""
    told = in_regime(Regime.NEAR, "1/2", 5_000_000)
    untold = told.model_copy(update={"limit": None, "lower_fps": None, "upper_fps": None})
    assert first_of(goal(LOW, regimes=(untold,))) is None
    assert known(first_of(goal(LOW, regimes=(told,))))[0] is View.NEAR
    assert known(first_of(goal(LOW)))[0] is View.ALL


@pytest.mark.parametrize(("near", "met"), [(5_000_000, None), (4_700_000, False)])
def test_a_load_that_failed_as_the_time_ended_and_passed_in_a_regime_is_not_missed(
    near: int, met: bool | None
) -> None:
    lost = in_slots(LOW[1], NANOSECONDS, LOW[0], 0, 0, own_loss=50)
    case = case_of("mlr")
    asked = Expectation.model_validate({"metric": "ndr", "min": "5Mfps"})
    case = case.model_copy(update={"expect": (asked,)})
    flags = (Flag.OUT_OF_BUDGET,)
    regimes = (in_regime(Regime.NEAR, "1/2", near),)
    found = answered(*LOW, limit=Limit.BUDGET, flags=flags, regimes=regimes)
    (check,) = check_all(case, SearchResult(goals=(found,)), [lost])
    assert check.met is met
    assert ("near each other, 5.000 Mfps passed" in check.found) is (met is None)


def test_where_the_baseline_is_of_one_deployment_the_scatter_is_that_of_the_case() -> None:
    assert against(goal(LOW), "5Mfps").met is False
    assert against(goal(LOW, HIGH, LOW), "5Mfps").met is True


MAIN = {"baseline": "main", "drop": "3%"}


@pytest.mark.parametrize(
    ("tells", "asked"),
    [
        (1, {"min": "5Mfps"}),
        (2, {**MAIN, "held_to": Bound("5Mfps"), "apart": Ratio.parse("1%")}),
    ],
)
def test_where_deployments_do_not_decide_it_is_asked_whose_loss_ended_the_time_of_the_first(
    tells: int, asked: dict[str, Any]
) -> None:
    """Fewer than two of them tell, or the baseline has nothing that they could be held against."""
    lost = in_slots(LOW[1], NANOSECONDS, LOW[0], 90, 0, own_loss=0)
    other = draw(2, *LOW, limit=Limit.DUT if tells > 1 else None)
    draws = Draws(asked=2, view=View.CLEAN, made=(draw(1, *LOW), other))
    expected = Expectation.model_validate({"metric": "ndr", **asked})
    case = case_of("mlr").model_copy(update={"expect": (expected,)})
    found = answered(*LOW, draws=draws, limit=Limit.BUDGET, flags=(Flag.OUT_OF_BUDGET,))
    result = SearchResult(goals=(found,))
    (check,) = check_all(case, result, [lost])
    assert check.met is None
    assert "of the time was clean" in check.found


def run(folder: Path, *more: str, held: bool = False) -> Result:
    file = folder / "held.yaml"
    expect = "expect: [{metric: ndr, baseline: main, drop: 1%}]\n" if held else ""
    file.write_text(CASE + expect, encoding="utf-8")
    where = ("--testbed", "sim", "--results", str(folder / "results"), "--progress", "plain")
    return vsperf("run", str(file), *where, *more)


DRAWS = ("--set", "search.draws=5")


def test_the_same_switch_deployed_anew_meets_its_baseline(tmp_path: Path) -> None:
    assert run(tmp_path, *DRAWS).exit_code == ExitCode.OK
    vsperf("baseline", "set", "main", "latest", "--results", str(tmp_path / "results"))
    for seed in ("50", "60", "70"):
        done = run(tmp_path, *DRAWS, "--set", f"generator.seed={seed}", held=True)
        assert done.exit_code == ExitCode.OK, done.output
        assert "ndr over draws ≥" in done.output


def test_a_slower_one_misses_it(tmp_path: Path) -> None:
    run(tmp_path, *DRAWS)
    vsperf("baseline", "set", "main", "latest", "--results", str(tmp_path / "results"))
    slower = ("--set", "vswitch.capacity=4Mpps", "--set", "generator.seed=50")
    assert run(tmp_path, *DRAWS, *slower, held=True).exit_code == ExitCode.CRITERION_MISSED


def test_the_record_says_by_how_much_less_is_asked(tmp_path: Path) -> None:
    run(tmp_path, *DRAWS)
    results = str(tmp_path / "results")
    vsperf("baseline", "set", "main", "latest", "--results", results)
    run(tmp_path, held=True)
    document = json.loads(
        vsperf("show", "latest", "held-64B", "--json", "--results", results).output
    )
    (asked,) = document["planned"]["spec"]["expect"]
    assert set(asked["held_by"]) == {"ndr over draws"}
    assert asked["apart"].endswith("%")


def test_a_deployment_of_the_baseline_counts_once(tmp_path: Path) -> None:
    """Three of them in each of two repeats are six: the first of each is what `ndr` says, too."""
    run(tmp_path, "--set", "search.draws=3", "--repeat", "2")
    results = tmp_path / "results"
    views = tuple(open_run(resolve(results, "latest")).cases())
    found = [one for view in views if view.result for one in findings_of(view.result)]
    told = [one.value for one in found if one.name == "ndr over draws"]
    scatter = scatter_of([told])
    assert scatter is not None
    assert (len(told), scatter.freedom) == (6, 5)
    less = 1 - math.exp(-scatter.margin(2, 1))  # of two first ones, and the scatter of six
    vsperf("baseline", "set", "main", "latest", "--results", str(results))
    run(tmp_path, held=True)
    show = ("show", "latest", "held-64B", "--json", "--results", str(results))
    (asked,) = json.loads(vsperf(*show).output)["planned"]["spec"]["expect"]
    assert Ratio.parse(asked["apart"]) == Ratio.parse(f"{100 * less:.2g}%")


def drawn(*ends: tuple[int, int], case: str = "", **more: Any) -> CaseRow:
    """Return the row of a case of its own, unless it is a repeat of another."""
    result = SearchResult(goals=(goal(*ends, **more),))
    return row_of(case or f"{next(OTHERS)}B", result)


def row_of(case: str, result: SearchResult) -> CaseRow:
    """Return the row of a case by its id."""
    plan = planned().model_copy(update={"id": case})
    return CaseRow(view_of(plan, case_record("mine", result=result)))


def anew(*rows: CaseRow, said: str = "deployed anew") -> list[str]:
    return [line for line in legend(rows, rows, simulated=False) if line.startswith(said)]


def one_more(*rows: CaseRow) -> list[str]:
    return anew(*rows, said="one more deployment")


def test_of_several_cases_it_is_said_how_far_deployments_lie_apart() -> None:
    """As far as intervals tell: 4.85 and 5.2 at least, and 4.8 and 5.25 at most."""
    (said,) = anew(drawn(LOW, LOW), drawn(LOW, HIGH), drawn(LOW))
    assert said == (
        "deployed anew, a switch was another one by 7.2% at least and 9.4% at most, by 2 cases of "
        "3 whose limit is the switch"
    )


def test_intervals_of_one_capacity_tell_of_no_difference() -> None:
    (said,) = anew(drawn(LOW, LOW), drawn(LOW, (4_820_000, 4_870_000)))
    assert "was another one by 1.5% at most, by 2 cases" in said


def test_of_few_cases_nobody_says_where_one_more_lies() -> None:
    assert not one_more(*(drawn(LOW, HIGH) for _ in range(2)))
    (said,) = one_more(*(drawn(LOW, HIGH) for _ in range(4)))
    assert said.startswith(
        "one more deployment has its ndr, in 95% of cases, at 64B 4.145 … 6.081 Mfps, "
    )


def test_of_many_deployments_it_is_said_as_well() -> None:
    """The product of as many rates is no number that a machine has."""
    (said,) = one_more(*(drawn(*[LOW, HIGH] * 30) for _ in range(2)))
    assert "64B" in said


def test_where_a_vnf_is_the_limit_it_is_not_called_the_switch() -> None:
    rows = [
        repeated(case, ends, limit=Limit.VNF) for case in ("64B", "128B") for ends in (LOW, HIGH)
    ]
    (said,) = anew(*rows)
    assert "2 cases of 2 whose limit is the switch or a VNF" in said


def test_a_case_on_one_deployment_is_told_by_the_scatter_of_the_others() -> None:
    """One more lies farther from one than from the middle of two."""
    (said,) = one_more(*(drawn(LOW, HIGH) for _ in range(4)), drawn(LOW))
    assert said.endswith(", 64B 3.867 … 6.020 Mfps")


@pytest.mark.parametrize("scatter", [0.01, 0.03])
@pytest.mark.parametrize(("cases", "deployments"), [(7, 2), (3, 2), (3, 5)])
def test_one_more_deployment_lies_there_in_as_many_cases_as_is_said(
    scatter: float, cases: int, deployments: int
) -> None:
    """Of switches that scatter so, seen by intervals of 2 % that begin anywhere."""
    luck = random.Random(34)

    def ends() -> tuple[int, int]:
        lower = 5_000_000 * math.exp(luck.gauss(0, scatter)) * (1 - luck.random() * 0.02)
        return round(lower), round(lower * 1.02)

    held = 0
    for _ in range(sessions := 1000):
        made = [tuple(ends() for _ in range(deployments)) for _ in range(cases)]
        low, high = known(known(Apart.of(made)).one_more(made[0]))
        held += low <= sum(ends()) / 2 <= high
    assert 0.93 <= held / sessions <= 0.97


def repeated(case: str, ends: tuple[int, int], **more: Any) -> CaseRow:
    """Return the row of a case that was asked on one deployment, and its id."""
    one = goal(ends, **more).model_copy(update={"draws": None})
    return row_of(case, SearchResult(goals=(one,), round_trips_ns=more.get("met")))


def test_repeats_of_a_case_are_deployments_as_well() -> None:
    rows = [repeated(case, ends) for case in ("64B", "128B") for ends in (LOW, HIGH)]
    (said,) = anew(*rows)
    assert "by 7.2% at least and 9.4% at most, by 2 cases of 2 whose limit is the switch" in said
    assert not anew(*(repeated(case, LOW) for case in ("64B", "128B"))), "nothing was repeated"


def test_repeats_on_several_deployments_each_are_one_case_on_all_of_them() -> None:
    rows = [drawn(LOW, HIGH, case=case) for case in ("64B", "128B") for _ in range(2)]
    (said,) = anew(*rows)
    assert "by 2 cases of 2 whose limit is the switch" in said
    (said,) = one_more(*rows)
    assert said.count("Mfps") == 2


def test_a_repeat_that_came_to_nothing_takes_nothing_from_the_others() -> None:
    rows = [drawn(LOW, HIGH, case=case) for case in ("64B", "128B") for _ in range(2)]
    assert one_more(*rows, row_of("64B", SearchResult())) == one_more(*rows)


def test_where_searches_end_at_the_same_loads_one_more_lies_between_these() -> None:
    (said,) = one_more(*(drawn(LOW, LOW) for _ in range(3)))
    assert said.endswith(", 64B 4.800 … 4.850 Mfps")


def test_it_is_said_of_each_goal_that_comes_first() -> None:
    other = goal(LOW, HIGH).model_copy(update={"goal": "throughput"})
    cases = [drawn(LOW, HIGH) for _ in range(3)]
    said = one_more(*cases, row_of("64B", SearchResult(goals=(other,))))
    assert [line.count("Mfps") for line in said] == [3, 1]
    assert "has its throughput" in said[1]


def test_of_several_runs_it_is_not_said() -> None:
    rows = [drawn(LOW, HIGH) for _ in range(3)]
    (line,) = anew(*rows)
    again = CaseRow(replace(rows[0].view, header=header(run="2026-11-21-phy2phy_tput-else")))
    assert one_more(*rows)
    assert not one_more(*rows, again)
    assert anew(*rows, again)
    assert line


def test_what_another_goal_came_to_is_not_told_of_the_first() -> None:
    """A machine can leave a search without loss at no bound, and allow an answer with some."""
    cases = [drawn(LOW, HIGH) for _ in range(3)]
    untold = goal(LOW, limit=Limit.HOST)
    pdr = goal(HIGH, HIGH).model_copy(update={"goal": "pdr"})
    (said,) = one_more(*cases, row_of("64B", SearchResult(goals=(untold, pdr))))
    assert said.count("Mfps") == 3


def test_where_the_generator_is_the_end_it_tells_nothing_of_a_switch() -> None:
    found = goal(LOW, HIGH)
    draws = known(found.draws)
    made = (draws.made[0], draws.made[1].model_copy(update={"limit": Limit.GENERATOR}))
    found = found.model_copy(update={"draws": draws.model_copy(update={"made": made})})
    foreign = CaseRow(view_of(planned(), case_record("mine", result=SearchResult(goals=(found,)))))
    assert not anew(foreign, drawn(LOW, HIGH))
