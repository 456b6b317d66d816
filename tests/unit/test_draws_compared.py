"""Runs that asked several deployments, held against each other: their scatter is that of draws."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from test_draws_run import run
from test_paired_runs import vsperf

from vsperf.analysis.comparison import compare
from vsperf.analysis.sides import side
from vsperf.records.files.folders import run_folders


def measured(results: Path, *more: str, draws: int = 5, fps: str = "5Mpps", seed: int = 1) -> str:
    """Make a run and return its name."""
    switch = f"{{kind: sim, capacity: {fps}, behaviour: {{kind: ideal}}, draw: 4%}}"
    given = ("--set", f"vswitch={switch}", "--set", f"generator.seed={seed}")
    done = run(results, *given, *more, draws=draws)
    assert done.exit_code == 0, done.output
    return next(iter(sorted(run_folders(results), key=lambda one: -one.stat().st_mtime))).name


def compared(results: Path, *sides: str) -> tuple[dict[str, dict[str, Any]], str]:
    """Return the changes by number, and the notes."""
    done = vsperf("compare", *sides, "--results", str(results), "--json", "--anyway")
    document = json.loads(done.output)
    rows = {row["number"]: row["changes"][0] for row in document["rows"]}
    return rows, " ".join(document["notes"])


def test_a_difference_within_the_scatter_of_draws_is_none(tmp_path: Path) -> None:
    one, other = measured(tmp_path), measured(tmp_path, seed=50)
    rows, _ = compared(tmp_path, one, other)
    assert rows["ndr over draws"]["by"] == "ranks"
    assert rows["ndr over draws"]["change"] == "none"


def test_it_is_deployments_that_are_held_against_each_other_where_both_have_several(
    tmp_path: Path,
) -> None:
    rows, _ = compared(tmp_path, measured(tmp_path), measured(tmp_path, seed=50))
    assert rows["ndr"] is None


def test_a_difference_beyond_it_is_found(tmp_path: Path) -> None:
    rows, _ = compared(tmp_path, measured(tmp_path), measured(tmp_path, fps="4Mpps", seed=50))
    assert rows["ndr over draws"]["change"] == "down"
    assert rows["ndr over draws"]["worse"]


def test_draws_of_one_side_widen_what_the_other_found_once(tmp_path: Path) -> None:
    """Seeds 1 and 50: 7 % apart by the draw alone, and one percent of width each."""
    several, once = measured(tmp_path), measured(tmp_path, draws=1, seed=50, fps="4.6Mpps")
    rows, _ = compared(tmp_path, several, once)
    assert rows["ndr"]["by"] == "scatter"
    assert rows["ndr"]["change"] == "none"


def test_a_deployment_counts_once_where_a_case_is_repeated(tmp_path: Path) -> None:
    """Three of them in each of two repeats are six: the first of each is what `ndr` says, too."""
    several = measured(tmp_path, "--repeat", "2", draws=3)
    once = measured(tmp_path, draws=1, seed=50)
    found = compare([side(tmp_path, name) for name in (several, once)], anyway=True)
    assert (found.scatters["ndr over draws"].freedom, found.scatters["ndr"].freedom) == (5, 5)


def test_where_both_are_one_deployment_nothing_is_said_of_the_draw(tmp_path: Path) -> None:
    one, other = (measured(tmp_path, draws=1, seed=seed) for seed in (1, 50))
    rows, notes = compared(tmp_path, one, other)
    assert rows["ndr"]["by"] == "intervals"
    assert "each side is one deployment, one draw" in notes


def test_repeats_are_draws(tmp_path: Path) -> None:
    one = measured(tmp_path, "--repeat", "5", draws=1)
    other = measured(tmp_path, "--repeat", "5", draws=1, seed=50)
    rows, notes = compared(tmp_path, one, other)
    assert rows["ndr"]["by"] == "ranks"
    assert rows["ndr"]["change"] == "none"
    assert "one draw" not in notes


@pytest.mark.parametrize("goal", ["ndr", "pdr"])
def test_a_trend_has_them(tmp_path: Path, goal: str) -> None:
    measured(tmp_path)
    measured(tmp_path, seed=50)
    done = vsperf("trend", "phy2phy_tput", "--results", str(tmp_path), "--json")
    assert done.exit_code == 0, done.output
    assert f"{goal} over draws" in done.output
