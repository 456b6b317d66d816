"""Cases that met one regime of their machine alone: which it was is said where others tell."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from assertions import known
from compared_runs import of
from compared_runs import run as stored_run
from record_samples import case_record, planned, view_of
from search_models import case_of
from test_cli_output import summary_of
from test_draws_criteria import goal, in_regime
from test_draws_run import run
from test_paired_runs import shown, stored, vsperf
from test_regimes import trials

from vsperf.analysis.answers import ALONE, findings_of, parted, spans_of
from vsperf.analysis.summary import CaseRow
from vsperf.config.expect import Bound, Expectation
from vsperf.engine.criteria import check_all
from vsperf.output.case_tables import regime_columns
from vsperf.records.files.folders import run_folders
from vsperf.records.flags import Flag
from vsperf.records.regime import Boundary, Regime, boundary_among, span_of
from vsperf.records.result import GoalResult, RegimeResult, SearchResult
from vsperf.records.run import Check

NEAR, FAR = (70, 125), (380, 500)


def machine(regime: str) -> tuple[str, ...]:
    """Return the settings of a machine that is near, or far, for good."""
    lasts = {"near": ("10h", "1ms"), "far": ("1ms", "10h")}[regime]
    found = {"far": "75%", "near_lasts": lasts[0], "far_lasts": lasts[1]}
    return tuple(
        part for key, text in found.items() for part in ("--set", f"generator.host.{key}={text}")
    )


def latest(results: Path) -> str:
    return max(run_folders(results), key=lambda one: one.stat().st_mtime_ns).name


def measured(results: Path, regime: str) -> str:
    done = run(results, *machine(regime), draws=1)
    assert done.exit_code == 0, done.output
    return latest(results)


def answered(fps: int, met: tuple[int, int] | None, **more: Any) -> SearchResult:
    return SearchResult(goals=(goal((fps, fps + 50_000), **more),), round_trips_ns=met)


def by_name(result: SearchResult, boundary: Boundary | None) -> dict[str, float]:
    return {one.name: one.value for one in findings_of(result, boundary=boundary)}


def test_the_record_says_how_far_cpus_were_where_that_is_one_regime(tmp_path: Path) -> None:
    measured(tmp_path, "near")
    record = stored(tmp_path).record
    assert record is not None
    assert record.result is not None
    least, most = record.result.round_trips_ns or (0, 0)
    assert NEAR[0] <= least <= most <= NEAR[1]
    text = " ".join(shown(tmp_path).split())
    assert "one regime" in text
    assert f": the CPUs of generator and switch were {least} to {most} ns apart" in text


def test_it_is_not_called_the_only_one_where_other_trials_were_made_elsewhere() -> None:
    result = answered(9_000_000, (299, 345))
    assert "one regime: the CPUs" in summary_of(result)
    said = summary_of(result, 120, Flag.CORES_MOVED)
    assert "one regime by the trials that count: the CPUs of generator and switch were 299" in said


@pytest.mark.parametrize(
    ("pairs", "span"),
    [
        ([(70, 90), (80, 125)], (70, 125)),
        ([(415, 430), (78, 420), (420, 444), (425, 440)], (415, 444)),
        ([(415, 430), (430, 101), (101, 420), (425, 440)], (415, 440)),  # between two trials
        ([(415, 101), (101, 101), (101, 420), (425, 440)], None),
        ([(78, 420), (415, 80), (420, 78), (80, 440)], None),
        ([(78, 80), (420, 440)], None),  # one trial in each regime, and so none alone
        ([], None),
    ],
)
def test_one_look_that_was_disturbed_is_left_out_of_a_span(
    pairs: list[tuple[int, int]], span: tuple[int, int] | None
) -> None:
    assert span_of(trials(*pairs)) == span


def test_cases_that_met_one_each_tell_which_it_was() -> None:
    assert boundary_among([NEAR, (80, 110), FAR]) == Boundary(125, 380)
    assert boundary_among([NEAR, (80, 110)]) is None
    results = [answered(5, NEAR), answered(4, FAR)]
    boundary = parted(results)
    assert by_name(results[0], boundary) == {"ndr": 5, "ndr near": 5}
    assert by_name(results[1], boundary) == {"ndr": 4, "ndr far": 4}


def test_one_that_met_both_tells_of_the_others() -> None:
    two = answered(4, None, regimes=regimes(5, 4))
    boundary = parted([two, answered(5, (60, 90))])
    assert by_name(answered(5, (60, 90)), boundary) == {"ndr": 5, "ndr near": 5}
    assert by_name(answered(5, (390, 400)), boundary) == {"ndr": 5, "ndr far": 5}


def regimes(near_fps: int, far_fps: int) -> tuple[RegimeResult, ...]:
    there = {Regime.NEAR: (near_fps, NEAR), Regime.FAR: (far_fps, FAR)}
    return tuple(
        in_regime(regime, "1/2", fps).model_copy(update={"least_ns": span[0], "most_ns": span[1]})
        for regime, (fps, span) in there.items()
    )


@pytest.mark.parametrize(
    ("met", "cells"),
    [
        ((NEAR, FAR, (80, 110)), ["near", "far", "near"]),
        ((NEAR, None), ["near", "both"]),
        ((NEAR, (80, 110)), None),
    ],
)
def test_rows_of_a_table_say_which_one_they_met_where_that_is_not_the_same(
    met: Sequence[tuple[int, int] | None], cells: list[str] | None
) -> None:
    results = [both() if one is None else answered(5, one) for one in met]
    rows = [CaseRow(view_of(planned(), case_record("mine", result=one))) for one in results]
    found = regime_columns(rows)
    assert [[str(one.cell(row)) for row in rows] for one in found] == ([cells] if cells else [])


def both() -> SearchResult:
    return answered(4, None, regimes=regimes(5, 4))


def test_where_nobody_met_another_there_is_no_name_for_it() -> None:
    assert by_name(answered(5, NEAR), parted([answered(5, NEAR)])) == {"ndr": 5}


@pytest.mark.parametrize(("first", "second"), [("near", "far"), ("far", "near")])
def test_near_alone_is_held_against_far_alone_in_nothing(
    tmp_path: Path, first: str, second: str
) -> None:
    one, other = measured(tmp_path, first), measured(tmp_path, second)
    done = vsperf("compare", one, other, "--results", str(tmp_path), "--json", "--anyway")
    document = json.loads(done.output)
    rows = {row["number"]: row["changes"][0] for row in document["rows"]}
    assert rows["ndr"] is None
    assert rows[f"ndr {first}"] is None
    assert rows[f"ndr {second}"] is None
    assert any("no answer in that regime" in note for note in document["notes"])


def test_a_regime_is_held_against_the_same_where_one_side_met_that_alone(tmp_path: Path) -> None:
    both = ("--set", "generator.host.near_lasts=10s", "--set", "generator.host.far_lasts=10s")
    run(tmp_path, "--set", "generator.host.far=75%", *both, draws=1)
    one, other = latest(tmp_path), measured(tmp_path, "far")
    done = vsperf("compare", one, other, "--results", str(tmp_path), "--json", "--anyway")
    rows = {row["number"]: row["changes"][0] for row in json.loads(done.output)["rows"]}
    assert rows["ndr"] is None
    assert rows["ndr far"]["change"] == "none"


def against(
    found: GoalResult, met: tuple[int, int] | None, spans: dict[str, tuple[int, int]], **by: str
) -> Check:
    expected = Expectation.model_validate(
        {
            "metric": "ndr",
            "baseline": "main",
            "drop": "3%",
            "held_to": Bound("4.9Mfps"),
            "held_by": {f"ndr {name}": Bound(text) for name, text in by.items()},
            "spans_ns": spans,
        }
    )
    case = case_of("mlr").model_copy(update={"expect": (expected,)})
    result = SearchResult(goals=(found,), round_trips_ns=met)
    (check,) = check_all(case, result, ())
    return check


def test_a_baseline_that_met_one_is_held_against_the_same_of_a_case_that_met_both() -> None:
    """Far, the switch forwards less; that all trials together do is the machine's."""
    found = goal((4_000_000, 4_050_000), regimes=regimes(5_000_000, 4_000_000))
    assert against(found, None, {ALONE: NEAR}, alone="4.9Mfps").met is True
    assert against(found, None, {ALONE: FAR}, alone="4.1Mfps").met is False


def test_a_case_that_met_one_is_held_against_the_same_of_a_baseline_that_met_both() -> None:
    spans = {"near": NEAR, "far": FAR}
    found = goal((4_000_000, 4_050_000))
    assert against(found, FAR, spans, near="4.9Mfps", far="3.9Mfps").met is True
    assert against(found, NEAR, spans, near="4.9Mfps", far="3.9Mfps").met is False


def test_near_alone_says_nothing_of_a_baseline_that_was_far_alone() -> None:
    check = against(goal((4_000_000, 4_050_000)), FAR, {ALONE: NEAR}, alone="4.9Mfps")
    assert check.met is None
    assert check.found.startswith("the CPUs of generator and switch were 380 to 500 ns apart")


def test_nor_does_one_that_met_both_and_has_no_answer_in_either() -> None:
    """And a case that met one alone is not held against a baseline that has none."""
    untold = tuple(
        one.model_copy(update={"limit": None, "lower_fps": None, "upper_fps": None})
        for one in regimes(5_000_000, 4_000_000)
    )
    found = goal((4_000_000, 4_050_000), regimes=untold)
    for spans in ({ALONE: NEAR}, {ALONE: FAR}):
        assert against(found, None, spans, alone="4.9Mfps").met is None
    both = {"near": NEAR, "far": FAR}
    assert against(goal((5_000_000, 5_050_000)), NEAR, both).met is None
    assert against(found, None, both).met is False, "all trials of one against those of the other"


def test_what_is_far_of_one_machine_is_not_far_of_another() -> None:
    """There may be three distances, of which each run met two."""
    found = goal((4_000_000, 4_050_000), regimes=regimes(5_000_000, 4_000_000))
    same, other = {"near": NEAR, "far": FAR}, {"near": (30, 40), "far": (80, 120)}
    assert against(found, None, same, far="4.1Mfps").met is False
    assert against(found, None, other, far="4.1Mfps").met is None


def test_nor_is_it_in_a_comparison(tmp_path: Path) -> None:
    there, here = regimes(5_000_000, 4_000_000), regimes(5_000_000, 3_000_000)
    closer = tuple(
        one.model_copy(update={"least_ns": least, "most_ns": most})
        for one, (least, most) in zip(here, ((30, 40), (80, 120)), strict=True)
    )
    stored_run(tmp_path, "aaaa", {1: [answered(4_000_000, None, regimes=there)]}, simulated=False)
    for name, told in (("bbbb", here), ("cccc", closer)):
        result = answered(3_000_000, None, regimes=told)
        stored_run(tmp_path, name, {1: [result]}, simulated=False)
    (same,) = (row for row in of(tmp_path, "aaaa", "bbbb").rows if row.name == "ndr far")
    (moved,) = (row for row in of(tmp_path, "aaaa", "cccc").rows if row.name == "ndr far")
    assert (same.apart, moved.apart) == ((False,), (True,))
    assert known(same.differences[0]).significant
    assert moved.differences == (None,)


def test_the_same_one_is_held_against_its_baseline_as_ever() -> None:
    check = against(goal((4_000_000, 4_050_000)), NEAR, {ALONE: (80, 110)}, alone="4.9Mfps")
    assert check.met is False


def test_repeats_that_met_one_each_met_both() -> None:
    assert spans_of([answered(5, NEAR), answered(5, (80, 130))]) == {ALONE: (70, 130)}
    assert spans_of([answered(5, NEAR), answered(4, FAR)]) == {"near": NEAR, "far": FAR}
