"""What counts as a repeat of an answer, and when it can be said that nothing changed."""

from __future__ import annotations

import json
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest
from compared_runs import bound, found, of, run
from record_samples import given_load, goal, lossy_load
from search_models import LINE_RATE, LOADS, lossy, trial, way
from slot_samples import in_slots
from test_regime_alone import regimes

from vsperf.analysis.answers import Finding, findings_of
from vsperf.analysis.difference import Means, Sample, answers_in
from vsperf.cli.main import run_cli
from vsperf.errors import ExitCode
from vsperf.output.compare_data import comparison_data
from vsperf.output.compare_page import NO_PICTURE, html_page, markdown
from vsperf.output.compare_text import UNCOMPARED, headline, meanings, notes, value_text
from vsperf.quantities.unit import Unit
from vsperf.quantities.units import NANOSECONDS
from vsperf.records.flags import Flag
from vsperf.records.host import Conditions
from vsperf.records.regime import Regime
from vsperf.records.result import (
    Draw,
    Draws,
    Figure,
    GoalResult,
    Limit,
    LoadResult,
    RegimeResult,
    SearchResult,
    View,
)
from vsperf.records.switch import PortCounters, SwitchCounters
from vsperf.records.trial import Trial
from vsperf.search.classify import DurationRule
from vsperf.search.verdict import Question, answer

SHORT = (Limit.GENERATOR, Limit.HOST, Limit.BUDGET)


def lost(limit: Limit = Limit.DUT) -> LoadResult:
    return lossy_load("1/10", load_fps=1000, throughput_fps=900, limit=limit)


UNKNOWN = lost(Limit.UNKNOWN).model_copy(update={"load_fps": 2000, "reason": "stalls"})


def two_a_side(results: Path, limit: Limit = Limit.GENERATOR) -> None:
    """Store a bound and an answer on one side, a run of a busy machine and an answer on another."""
    run(results, "aaaa", {1: [bound(1_484_000, limit)]}, labels={"s": "port"})
    run(results, "bbbb", {1: [found(3_228_000, 5_578_000)]}, labels={"s": "port"})
    labels, busy = {"s": "network"}, [Flag.TOO_BUSY]
    run(results, "cccc", {1: [found(10_800, 10_900)]}, flags=busy, labels=labels)
    run(results, "dddd", {1: [found(5_251_000, 5_305_000)]}, labels=labels)


@pytest.mark.parametrize("limit", SHORT)
def test_bounds_and_busy_machines_are_no_repeats_and_are_named(
    limit: Limit, tmp_path: Path
) -> None:
    two_a_side(tmp_path, limit)
    compared = of(tmp_path, "s=port", "s=network")
    (row,) = compared.rows
    assert [value_text(one) for one in row.samples] == [
        "3.228 … 5.578 Mfps",
        "5.251 … 5.305 Mfps",
    ], "numbers that a run found"
    assert [one and one.count for one in row.samples] == [1, 1]
    told = list(notes(compared))
    assert f"A: left out, as no repeat of an answer: aaaa (ndr: lower bound, limit {limit})" in told
    assert "B: left out, as no repeat of an answer: cccc (ndr: too busy to tell)" in told
    assert not any("nothing was repeated" in line for line in told)
    assert any(line.startswith("ndr: no answer was repeated") for line in told)
    (data,) = comparison_data(compared)["rows"]
    assert data["sides"][1]["left_out"] == [
        {"run": "2026-11-20-phy2phy_tput-cccc", "value": 10_800, "why": "too busy to tell"}
    ]


def test_an_interval_that_rules_nothing_out_is_no_verdict(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    two_a_side(tmp_path)
    gate = ("--fail-above", "3%", "--results", str(tmp_path))
    assert run_cli(["compare", "s=port", "s=network", *gate]) == ExitCode.INVALID_RESULT
    said = " ".join("".join(capsys.readouterr()).split())
    assert (
        "CANNOT BE TOLD: Of the one number it cannot be said whether it changed: a change by "
        "3.00 % or more can be neither seen nor ruled out." in said
    )
    assert "NO CHANGE" not in said


def test_loss_where_there_was_none_is_told_in_all_forms_and_fails_the_gate(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """It is worse by more than any share, so by a number that there is not."""
    none, some = SearchResult(loads=(given_load(1000),)), SearchResult(loads=(lost(),))
    run(tmp_path, "aaaa", {1: [none] * 4})
    run(tmp_path, "bbbb", {1: [some] * 4})
    compared = of(tmp_path, "aaaa", "bbbb")
    row = next(row for row in compared.rows if row.name == "loss at 1000 fps")
    assert row.worse(1)
    assert "loss at 1000 fps" in html_page(compared) and "loss at" in markdown(compared)
    json.dumps(comparison_data(compared), allow_nan=False)
    gate = ("--fail-above", "3%", "--results", str(tmp_path))
    assert run_cli(["compare", "aaaa", "bbbb", *gate]) == ExitCode.CRITERION_MISSED
    assert "phy2phy_tput-64B loss at 1000 fps" in " ".join(capsys.readouterr().out.split())


def test_what_the_machine_lost_does_not_fail_a_gate_as_it_fails_no_criterion(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run(tmp_path, "aaaa", {1: [SearchResult(loads=(given_load(1000),))] * 4})
    run(tmp_path, "bbbb", {1: [SearchResult(loads=(lost(Limit.HOST),))] * 4})
    gate = ("--fail-above", "3%", "--results", str(tmp_path))
    assert run_cli(["compare", "aaaa", "bbbb", *gate]) == ExitCode.INVALID_RESULT
    assert "≥ 900.0 fps" in capsys.readouterr().out
    noise = findings_of(SearchResult(loads=(lost(Limit.HOST),)), noise=True)
    assert [one.open_ended for one in noise] == [False, False], "that is what was to be found"


@pytest.mark.parametrize(
    ("loads", "why"),
    [
        ((), "not offered"),
        ((UNKNOWN,), "stalls"),
    ],
)
def test_a_load_that_was_given_and_has_no_answer_is_missed(
    loads: tuple[LoadResult, ...], why: str, tmp_path: Path
) -> None:
    both = {"search": {"kind": "fixed", "loads": ["1kfps", "2kfps"]}}
    first, second = given_load(1000), given_load(2000)
    run(tmp_path, "aaaa", {1: [SearchResult(loads=(first, second))]}, spec=both)
    run(tmp_path, "bbbb", {1: [SearchResult(loads=(first, *loads))]}, spec=both)
    gaps = of(tmp_path, "aaaa", "bbbb").gaps
    assert [(gap.side, gap.name, gap.why) for gap in gaps] == [
        (1, "through at 2000 fps", why),
        (1, "loss at 2000 fps", why),
    ]
    gate = ("--fail-above", "3%", "--results", str(tmp_path))
    assert run_cli(["compare", "aaaa", "bbbb", *gate]) == ExitCode.INVALID_RESULT


def test_a_side_that_lacks_a_case_hides_no_regression_of_another(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run(tmp_path, "aaaa", {1: [5_000_000], 2: [5_000_000]})
    run(tmp_path, "bbbb", {1: [5_000_000], 2: [2_500_000]})
    run(tmp_path, "cccc", {1: [5_000_000]})
    gate = ("--fail-above", "3%", "--results", str(tmp_path))
    assert run_cli(["compare", "aaaa", "bbbb", "cccc", *gate]) == ExitCode.CRITERION_MISSED
    assert "worse by more than 3%" in capsys.readouterr().out
    (row,) = (one for one in of(tmp_path, "aaaa", "bbbb", "cccc").rows if one.worse(1))
    assert row.samples[2] is None


def test_a_case_that_the_base_does_not_have_is_missed_by_no_gate(tmp_path: Path) -> None:
    run(tmp_path, "aaaa", {1: [5_000_000] * 4})
    run(tmp_path, "bbbb", {1: [5_000_000] * 4})
    run(tmp_path, "cccc", {1: [5_000_000] * 4, 2: [5_000_000] * 4})
    gate = ("--fail-above", "3%", "--results", str(tmp_path))
    assert run_cli(["compare", "aaaa", "bbbb", "cccc", *gate]) == ExitCode.OK
    assert run_cli(["compare", "cccc", "bbbb", "aaaa", *gate]) == ExitCode.INVALID_RESULT


def test_what_both_sides_have_by_regime_is_not_missed_of_all_trials(tmp_path: Path) -> None:
    """It would have been held against nothing."""
    there = regimes(5_000_000, 4_000_000)
    both = goal(3_900_000, 3_950_000, regimes=there)
    left = both.model_copy(update={"flags": (Flag.LEFT_TO_REGIMES,)})
    run(tmp_path, "aaaa", {1: [SearchResult(goals=(both,))] * 4})
    run(tmp_path, "bbbb", {1: [SearchResult(goals=(left,))] * 4})
    assert not of(tmp_path, "aaaa", "bbbb").gaps
    gate = ("--fail-above", "3%", "--results", str(tmp_path))
    assert run_cli(["compare", "aaaa", "bbbb", *gate]) == ExitCode.OK


def test_repeats_that_depend_on_each_other_pass_no_gate(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each is a bit faster than the one before, and the other side is half as fast."""
    run(tmp_path, "aaaa", {1: [5_000_000 + 10_000 * n for n in range(6)]})
    run(tmp_path, "bbbb", {1: [2_500_000] * 6})
    gate = ("--fail-above", "3%", "--results", str(tmp_path))
    assert run_cli(["compare", "aaaa", "bbbb", *gate]) == ExitCode.INVALID_RESULT
    said = " ".join(capsys.readouterr().out.split())
    assert "as repeats depend on each other, nobody can tell whether it is worse" in said
    assert "NO CHANGE" not in said


def test_a_base_that_may_be_less_passes_no_gate(tmp_path: Path) -> None:
    """A ratio of 90 % at most, as the first switch waited for the generator; and one of 52 %."""
    for name, lower, upper in (("aaaa", 0.0, 0.9), ("bbbb", 0.5, 0.54)):
        figure = Figure(name="ratio_b", unit=Unit.FACTOR, value=upper, lower=lower, upper=upper)
        run(tmp_path, name, {1: [SearchResult(figures=(figure,))]})
    gate = ("--fail-above", "3%", "--results", str(tmp_path))
    assert run_cli(["compare", "aaaa", "bbbb", *gate]) == ExitCode.INVALID_RESULT


def test_what_is_asked_decides_whether_nothing_changed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Bounds of 1,000 and 1,050 kfps on both sides: 5 % either way."""
    for name in ("aaaa", "bbbb"):
        run(tmp_path, name, {1: [found(1_000_000, 1_050_000)]})
    argv = ["compare", "aaaa", "bbbb", "--results", str(tmp_path)]
    assert run_cli(argv) == 0
    assert "CANNOT BE TOLD" in capsys.readouterr().out
    assert run_cli([*argv, "--fail-above", "6%"]) == 0
    assert "NO CHANGE" in capsys.readouterr().out


def test_of_what_cannot_be_told_it_is_said_how_much_that_is(tmp_path: Path) -> None:
    """One number did not change, and one has wide bounds; of a busy machine nobody can tell."""
    alike, wide = found(1_000_000, 1_010_000), found(1_000_000, 1_050_000)
    for name in ("aaaa", "bbbb"):
        run(tmp_path, name, {1: [alike], 2: [wide]})
    assert headline(of(tmp_path, "aaaa", "bbbb")).text == (
        "1 of 2 numbers did not change, of the others it cannot be said: a change by 3.00 % or "
        "more can be neither seen nor ruled out."
    )
    run(tmp_path, "cccc", {1: [alike], 2: [wide]}, flags=[Flag.TOO_BUSY])
    assert headline(of(tmp_path, "aaaa", "cccc")).text == (
        "Of none of 2 numbers can it be said whether it changed."
    )


def test_a_change_that_is_not_looked_for_is_explained(tmp_path: Path) -> None:
    run(tmp_path, "aaaa", {1: [found(1_000_000, 1_010_000)]})
    run(tmp_path, "bbbb", {1: [found(1_000_000, 1_010_000)]})
    known = of(tmp_path, "aaaa", "bbbb")
    assert UNCOMPARED not in meanings(known)
    (row,) = known.rows
    assert UNCOMPARED in meanings(replace(known, rows=(replace(row, differences=(None,)),)))


def test_a_picture_is_promised_where_there_is_one_and_else_the_page_says_why_not(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run(tmp_path, "aaaa", {1: [1_000_000]})
    run(tmp_path, "bbbb", {1: [1_000_000]})
    run(tmp_path, "cccc", {1: [1_000_000]}, flags=[Flag.TOO_BUSY])
    for other, pictured in (("bbbb", True), ("cccc", False)):
        argv = ["compare", "aaaa", other, "--results", str(tmp_path)]
        assert run_cli(argv) == 0
        assert ("with a picture of it" in capsys.readouterr().out) is pictured
        page = html_page(of(tmp_path, "aaaa", other))
        assert ("<svg" in page, NO_PICTURE in page) == (pictured, not pictured)


def test_what_is_asked_counts_of_repeats_and_on_pages_as_well(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("aaaa", "bbbb"):
        run(tmp_path, name, {1: [1_000_000, 1_040_000, 960_000, 1_010_000]})
    argv = ["compare", "aaaa", "bbbb", "--results", str(tmp_path), "--fail-above", "3%"]
    for how in ([], ["--format", "md"], ["--format", "html"]):
        assert run_cli([*argv, *how]) == ExitCode.INVALID_RESULT
        assert "CANNOT BE TOLD" in capsys.readouterr().out


def test_repeats_that_leave_half_and_double_open_show_nothing(tmp_path: Path) -> None:
    for name in ("aaaa", "bbbb"):
        run(tmp_path, name, {1: [1_000_000, 3_000_000, 1_500_000, 2_500_000]})
    assert headline(of(tmp_path, "aaaa", "bbbb")).word == "CANNOT BE TOLD"


def test_enough_repeats_that_show_none_are_no_change(tmp_path: Path) -> None:
    for name in ("aaaa", "bbbb"):
        run(tmp_path, name, {1: [1_000_000, 1_040_000, 960_000, 1_010_000]})
    assert headline(of(tmp_path, "aaaa", "bbbb")).word == "NO CHANGE"


def test_what_nobody_knows_the_end_of_may_be_double_or_more(tmp_path: Path) -> None:
    """Nothing was lost of a load, and in one of four repeats something: that is no ratio."""
    load = {"load_fps": 1_000_000, "throughput_fps": 1_000_000}
    none, some = given_load(**load), lossy_load("1/1000", **load)
    for name, lossy_ones in (("aaaa", 0), ("bbbb", 1)):
        loads = [none] * (4 - lossy_ones) + [some] * lossy_ones
        run(tmp_path, name, {1: [SearchResult(loads=(one,)) for one in loads]})
    compared = of(tmp_path, "aaaa", "bbbb")
    (loss,) = (row for row in compared.rows if row.unit is Unit.RATIO)
    (difference,) = loss.differences
    assert difference is not None
    assert (difference.means, difference.least, difference.most) == (Means.RANKS, 0.0, None)
    assert headline(compared).word == "CANNOT BE TOLD"


@pytest.mark.parametrize("sides", [("aaaa", "bbbb"), ("bbbb", "aaaa")])
def test_a_lower_bound_beside_an_answer_above_it_says_nothing(
    sides: tuple[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """However many such bounds a side has."""
    run(tmp_path, "aaaa", {1: [bound(1_484_000), bound(1_600_000)]})
    run(tmp_path, "bbbb", {1: [5_251_000]})
    compared = of(tmp_path, *sides)
    (difference,) = compared.rows[0].differences
    assert difference is not None and difference.means is Means.NOTHING
    assert headline(compared).word == "CANNOT BE TOLD"
    assert not any("a number that is 0" in line for line in notes(compared))
    gate = ("--fail-above", "3%", "--results", str(tmp_path))
    assert run_cli(["compare", *sides, *gate]) == ExitCode.INVALID_RESULT
    said = " ".join("".join(capsys.readouterr()).split())
    assert "with a lower bound alone on one side nobody can tell" in said


def test_what_lies_below_a_lower_bound_is_worse_all_the_same(tmp_path: Path) -> None:
    run(tmp_path, "aaaa", {1: [bound(5_000_000)]})
    run(tmp_path, "bbbb", {1: [1_000_000]})
    assert headline(of(tmp_path, "aaaa", "bbbb")).word == "WORSE"


def test_a_machine_that_was_too_busy_tells_no_change(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run(tmp_path, "aaaa", {1: [1_000_000]}, flags=[Flag.TOO_BUSY])
    run(tmp_path, "bbbb", {1: [5_000_000]})
    gate = ("--fail-above", "3%", "--results", str(tmp_path))
    assert run_cli(["compare", "aaaa", "bbbb", *gate]) == ExitCode.INVALID_RESULT
    said = " ".join("".join(capsys.readouterr()).split())
    assert "CANNOT BE TOLD" in said
    assert "too busy to tell whether it is worse by more than 3%: phy2phy_tput-64B ndr" in said


def test_a_bound_above_an_answer_stays_or_the_lesser_ones_would_be_chosen() -> None:
    ends = [(8.0, 9.0), (10.0, float("inf")), (7.0, float("inf"))]
    every = Sample(
        tuple(Finding("ndr", Unit.FPS, low, low, high, Limit.GENERATOR) for low, high in ends)
    )
    kept = answers_in(every)
    assert (kept.lows, [one.low for one in kept.left_out]) == ((8.0, 10.0), [7.0])
    assert kept.middle[0] == 8.0, "between an answer and a bound lies no number"


def test_that_the_link_is_full_is_an_answer() -> None:
    full = Finding("ndr", Unit.FPS, 7.0, 7.0, float("inf"), Limit.LINK)
    answer = Finding("ndr", Unit.FPS, 8.0, 8.0, 9.0, Limit.DUT)
    assert answers_in(Sample((full, answer))).count == 2


# A load that failed, and not by the switch, bounds nothing: answers as searches give them.


def _dropped(counted: int) -> Trial:
    """Lose 50 of a million frames, of which the switch counted so many."""
    port = PortCounters(
        name="phy1", link="phy1", received_frames=0, sent_frames=0, drops={"tx dropped": counted}
    )
    found = trial(FAILED, NANOSECONDS, [way(FAILED, 50)])
    return found.model_copy(update={"switch": SwitchCounters(ports=(port,))})


FAILED = 1_000_000
AT_FAILED = {
    Limit.HOST: in_slots(FAILED, NANOSECONDS, LINE_RATE, gaps=10, lost_in_gaps=7, own_loss=0),
    Limit.UNKNOWN: in_slots(FAILED, NANOSECONDS, LINE_RATE, gaps=30, lost_in_gaps=32, own_loss=5),
    Limit.UNCOUNTED: _dropped(20),
    Limit.GENERATOR: _dropped(50),
}


def answered(limit: Limit) -> GoalResult:
    """Return what a search finds where a load failed by this limit; the generator's is its cap."""
    cap = 1_040_000 if limit is Limit.GENERATOR else None
    loads = replace(LOADS, generator_cap=cap)
    rule = DurationRule(Fraction(0), Fraction(0), NANOSECONDS, NANOSECONDS)
    question = Question("ndr", rule, loads, lambda lower, upper: upper - lower <= 1000)
    found = answer(question, [lossy(999_000, 1), AT_FAILED[limit]])
    assert (found.limit, found.lower_fps, found.upper_fps) == (limit, 999_000, FAILED)
    return found


@pytest.mark.parametrize("limit", AT_FAILED)
def test_a_load_that_did_not_fail_by_the_switch_makes_no_number_worse(
    limit: Limit, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The criterion of a run leaves it open, and so do a comparison and a trend."""
    run(tmp_path, "aaaa", {1: [5_000_000]})
    run(tmp_path, "bbbb", {1: [SearchResult(goals=(answered(limit),))]})
    compared = of(tmp_path, "aaaa", "bbbb")
    assert value_text(compared.rows[0].samples[1]) == "≥ 999.0 kfps"
    assert headline(compared).word == "CANNOT BE TOLD"
    gate = ("--fail-above", "3%", "--results", str(tmp_path))
    assert run_cli(["compare", "aaaa", "bbbb", *gate]) == ExitCode.INVALID_RESULT
    said = " ".join("".join(capsys.readouterr()).split())
    assert "with a lower bound alone on one side nobody can tell" in said
    (number,) = findings_of(SearchResult(goals=(answered(limit),)))
    assert number.no_answer == f"lower bound, limit {limit}"


def test_a_load_that_failed_when_the_time_ended_is_an_upper_bound(tmp_path: Path) -> None:
    cut_short = goal(3_000_000, 4_000_000, limit=Limit.BUDGET)
    run(tmp_path, "aaaa", {1: [5_000_000]})
    run(tmp_path, "bbbb", {1: [SearchResult(goals=(cut_short,))]})
    assert headline(of(tmp_path, "aaaa", "bbbb")).word == "WORSE"


def test_so_it_is_of_deployments_and_of_regimes() -> None:
    drawn = (
        Draw(deployment=1, lower_fps=4, upper_fps=5, limit=Limit.DUT, reason=""),
        Draw(deployment=2, lower_fps=3, upper_fps=4, limit=Limit.UNCOUNTED, reason=""),
    )
    near = RegimeResult(
        regime=Regime.NEAR,
        share="1/2",
        lower_fps=6,
        upper_fps=7,
        limit=Limit.HOST,
        reason="",
        least_ns=1,
        most_ns=2,
        clean=None,
    )
    draws = Draws(asked=2, view=View.ALL, made=drawn)
    found = findings_of(SearchResult(goals=(goal(4, 5, draws=draws, regimes=(near,)),)))
    assert [(one.name, one.low, one.open_ended) for one in found] == [
        ("ndr", 4, False),
        ("ndr near", 6, True),
        ("ndr over draws", 4, False),
        ("ndr over draws", 3, True),
    ]


def test_a_rate_that_was_searched_is_open_and_one_of_programs_is_what_came_through() -> None:
    searched = Figure(
        name="connection_rate",
        unit=Unit.PER_SECOND,
        value=30_000,
        lower=30_000,
        upper=40_000,
        limit=Limit.GENERATOR,
    )
    exchanged = Figure(name="rate", unit=Unit.BPS, value=5e9, limit=Limit.GENERATOR)
    found = findings_of(SearchResult(figures=(searched, exchanged)))
    assert [one.open_ended for one in found] == [True, False]


# Beside noise that was asked for, what the machine did is part of the question.


def test_beside_noise_a_case_is_compared_and_nobody_says_that_its_machine_was_too_busy(
    tmp_path: Path,
) -> None:
    beside = Conditions(noise={"settled": {}, "least": 0.8})
    loud = goal(3_000_000, 3_100_000, limit=Limit.HOST)
    run(tmp_path, "aaaa", {1: [5_000_000]})
    run(
        tmp_path,
        "bbbb",
        {1: [SearchResult(goals=(loud,))]},
        spec={"noise": {"kind": "memory"}},
        around=beside,
        flags=[Flag.TOO_BUSY],
    )
    compared = of(tmp_path, "aaaa", "bbbb")
    assert headline(compared).word == "WORSE"
    assert not any("too busy" in line for line in notes(compared))
