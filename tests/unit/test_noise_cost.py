"""What noise cost: each level against the quiet case of its run, with how sure that is."""

from __future__ import annotations

import json
from pathlib import Path

from noisy_runs import RUN, levels

from vsperf.cli.noise_view import cost_data
from vsperf.results.quiet import MOST_LINES, against_quiet
from vsperf.store.view import open_run


def test_each_level_is_held_against_the_quiet_case_whatever_came_first(tmp_path: Path) -> None:
    folder = levels(tmp_path, {"level_1": 700_000, "none": 1_000_000, "level_0": 1_000_000})
    one, zero = against_quiet(folder)
    assert "phy2phy_tput-64B" in one
    assert "beside level_1: " in one
    assert "-30.00 %" in one.replace("−", "-")
    assert "by ranks over repeats, p 0.0" in one
    assert "beside level_0: " in zero
    assert zero.endswith("p 1.000"), "that is chance"


def test_of_a_single_run_of_each_level_it_is_said_that_this_tells_little(tmp_path: Path) -> None:
    (line,) = against_quiet(levels(tmp_path, {"none": 1_000_000, "level_1": 700_000}, repeats=1))
    assert "by the intervals of the searches alone" in line


def test_a_level_that_came_to_no_number_is_said_with_the_reason(tmp_path: Path) -> None:
    (line,) = against_quiet(levels(tmp_path, {"none": 1_000_000, "level_1": None}, repeats=1))
    assert "beside level_1: no number" in line
    assert "too loud" in line


def test_programs_are_told_the_same(tmp_path: Path) -> None:
    folder = levels(tmp_path, {"none": 1_000_000, "level_1": 700_000})
    said = cost_data(open_run(folder))
    (row,) = said
    assert row["level"] == "level_1"
    assert "30" in row["change"]
    assert json.loads(json.dumps(said)) == said


def test_without_a_quiet_case_nothing_is_said_of_what_noise_cost(tmp_path: Path) -> None:
    assert against_quiet(levels(tmp_path, {"level_0": 1_000_000, "level_1": 700_000})) == ()


def test_a_long_list_is_cut_and_says_where_the_rest_is(tmp_path: Path) -> None:
    sizes = tuple(f"{size}B" for size in range(64, 64 + MOST_LINES + 3))
    rates = {"none": 1_000_000, "level_1": 700_000}
    lines = against_quiet(levels(tmp_path, dict(rates), repeats=1, sizes=sizes))
    assert len(lines) == MOST_LINES + 1
    assert lines[-1] == f"and 3 more: vsperf compare {RUN} --by noise"
