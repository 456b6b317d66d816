"""A testcase over all stored runs: levels, changes, cuts, and what differed where."""

from __future__ import annotations

import json
import random
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from record_samples import case_record, case_start, header, planned, run_end, trial_line
from record_samples import goal as answered
from stored_runs import store

from vsperf.analysis.segments import segments_of
from vsperf.analysis.trend import Trend, trends
from vsperf.cli.commands.trend import _print_overview
from vsperf.cli.main import run_cli
from vsperf.cli.tables import console
from vsperf.errors import UsageError
from vsperf.output.table import Cell
from vsperf.output.trend_text import changes, trend_data, trend_table
from vsperf.records.files.query import Filter
from vsperf.records.flags import Flag
from vsperf.records.result import Limit, SearchResult
from vsperf.records.run import Line, Outcome

POSITIVE = st.lists(st.floats(1, 1e9), min_size=1, max_size=20)
HOST = {"host": {"cpu_model": "Xeon"}, "packages": {"openvswitch": "3.1"}}
CASE = Filter(testcase="phy2phy_tput")


class TestSegments:
    def test_a_level_that_drops_makes_two(self) -> None:
        chance = random.Random(1)
        values = [chance.gauss(mean, mean / 200) for mean in [1e6] * 12 + [0.94e6] * 8]
        found = segments_of(values, [0] * 20)
        assert [(one.begin, one.end) for one in found] == [(0, 12), (12, 20)]
        assert found[1].mean / found[0].mean == pytest.approx(0.94, abs=0.01)

    @pytest.mark.parametrize("seed", range(10))
    def test_noise_makes_one(self, seed: int) -> None:
        chance = random.Random(seed)
        assert len(segments_of([chance.gauss(1e6, 3e4) for _ in range(30)], [0] * 30)) == 1

    @pytest.mark.parametrize("grid", [0.005, 0.01, 0.02])
    @pytest.mark.parametrize("share", [0.002, 0.005, 0.01])
    def test_noise_that_a_search_rounds_makes_one(self, grid: float, share: float) -> None:
        """Searches find loads of a grid, so numbers repeat exactly."""
        wrong = 0
        for seed in range(10):
            chance = random.Random(seed)
            found = [1e6 * grid * round(chance.gauss(1, share) / grid) for _ in range(30)]
            wrong += len(segments_of(found, [0] * 30)) - 1
        assert not wrong

    @pytest.mark.parametrize("state", [0.95, 0.8, 0.5])
    @pytest.mark.parametrize("often", [0.5, 0.2])
    def test_states_that_come_and_go_are_no_changes(self, state: float, often: float) -> None:
        for seed in range(5):
            chance = random.Random(seed)
            values = [1e6 * (state if chance.random() < often else 1) for _ in range(30)]
            assert len(segments_of(values, [0] * 30)) == 1

    @pytest.mark.parametrize(
        ("before", "after", "drop"), [(12, 1, 0.2), (12, 3, 0.05), (6, 1, 0.5)]
    )
    def test_a_drop_among_numbers_that_repeat_is_seen(
        self, before: int, after: int, drop: float
    ) -> None:
        values = [1e6] * before + [1e6 * (1 - drop)] * after
        found = segments_of(values, [0] * len(values))
        assert [(one.begin, one.end) for one in found] == [(0, before), (before, before + after)]

    @pytest.mark.parametrize(
        ("levels", "ends"),
        [
            pytest.param([(10, 1), (1, 0.9), (10, 1), (1, 0.8)], [21, 22], id="today"),
            pytest.param([(20, 1), (2, 0.8)], [20, 22], id="the last two"),
            pytest.param([(2, 1), (2, 0.9), (2, 0.8)], [2, 4, 6], id="steps"),
            pytest.param([(2, 1), (2, 0.5), (1, 0.25)], [2, 4, 5], id="few"),
            pytest.param([(9, 1), (2, 0.5), (9, 1)], [9, 11, 20], id="fell and came back"),
        ],
    )
    @pytest.mark.parametrize("scatter", [0, 0.001])
    def test_a_level_that_was_nowhere_before_is_a_change_whatever_came_before(
        self, levels: list[tuple[int, float]], ends: list[int], scatter: float
    ) -> None:
        for seed in range(5):
            chance = random.Random(seed)
            values = [
                chance.gauss(1e6 * level, 1e6 * level * scatter) if scatter else 1e6 * level
                for count, level in levels
                for _ in range(count)
            ]
            assert [one.end for one in segments_of(values, [0] * len(values))] == ends

    def test_states_end_where_a_new_level_begins(self) -> None:
        states = [1e6, 0.9e6, 1e6, 1e6, 0.9e6, 0.9e6, 1e6, 0.9e6, 1e6, 1e6, 0.9e6, 1e6]
        found = segments_of([*states, 0.5e6, 0.5e6], [0] * 14)
        assert [one.end for one in found] == [12, 14]

    def test_another_ground_cuts_and_is_no_change(self) -> None:
        found = segments_of([5.0, 5.0, 9.0, 9.0], ["a", "a", "b", "b"])
        assert [(one.begin, one.cut) for one in found] == [(0, False), (2, True)]

    @pytest.mark.parametrize(
        ("answered", "cuts"),
        [
            pytest.param("yy-yy", [(0, 2, True, 5.0), (2, 5, True, 9.0)], id="the first of them"),
            pytest.param("yy---", [(0, 2, True, 5.0), (2, 5, False, 7.0)], id="all after it"),
            pytest.param("--yyy", [(0, 2, False, 5.0), (2, 5, True, 7.0)], id="all before it"),
        ],
    )
    def test_a_series_is_cut_where_its_ground_changes_whether_or_not_there_is_an_answer(
        self, answered: str, cuts: list[tuple[int, int, bool, float]]
    ) -> None:
        values = [5.0, 5.0, 3.0, 9.0, 9.0]
        told = [one == "y" for one in answered]
        found = segments_of(values, [*"aabbb"], levels=False, answered=told)
        assert [(one.begin, one.end, one.answered, one.mean) for one in found] == cuts
        assert [one.cut for one in found] == [False, True]

    @given(POSITIVE, st.integers(0, 20))
    def test_every_number_is_in_one_of_them(self, values: list[float], cut: int) -> None:
        found = segments_of(values, [place < cut for place in range(len(values))])
        places = [place for one in found for place in range(one.begin, one.end)]
        assert places == list(range(len(values)))

    @given(POSITIVE)
    def test_numbers_that_are_all_the_same_make_one(self, values: list[float]) -> None:
        assert len(segments_of([values[0]] * len(values), [0] * len(values))) == 1

    @pytest.mark.parametrize("values", [[], [0.0, 0.0], [-1.0, 4.0], [7.0]])
    def test_what_cannot_be_looked_at_is_left_whole(self, values: list[float]) -> None:
        assert len(segments_of(values, [0] * len(values))) == bool(values)


def stored(results: Path, day: int, rates: list[int], **head: Any) -> None:
    """Store a run of one case with some repeats."""
    spec, met = head.pop("spec", {}), head.pop("met", None)
    testcase, flags = head.pop("testcase", "phy2phy_tput"), head.pop("flags", ())
    limit = head.pop("limit", Limit.DUT)
    run = f"2026-11-{day:02}-{testcase}-k7f3"
    cases, lines = [], list[Line]()
    for repeat, rate in enumerate(rates, start=1):
        case = planned(1, repeat=repeat)
        ident = f"{testcase}-64B-00000001{''.join(spec)}"
        key = ident if repeat == 1 else f"{ident}.{repeat}"
        changed = {
            "key": key,
            "id": ident,
            "label": f"{testcase}-64B",
            "spec": {**case.spec, "name": testcase, **spec},
        }
        cases.append(case.model_copy(update=changed))
        ends = {} if limit is Limit.DUT else {"upper_fps": None, "limit": limit}
        goals = (answered(rate, rate + rate // 100).model_copy(update=ends),)
        result = SearchResult(goals=goals, round_trips_ns=met)
        record = case_record(key, result=result, flags=flags)
        lines += [case_start(key), trial_line(key), record]
    values = {"simulated": False, "environment": HOST, **head}
    began = f"2026-11-{day:02}T10:00:00Z"
    made = header(run, started_at=began, **values).model_copy(update={"cases": tuple(cases)})
    store(results, run, [made, *lines, run_end()])


def only(results: Path, wanted: Filter = CASE) -> Trend:
    (found,) = trends(results, wanted).found
    return found


def test_a_change_names_the_first_run_after_it_and_what_differed(tmp_path: Path) -> None:
    for day in range(1, 9):
        stored(tmp_path, day, [1000_000 + day], labels={"revision": "old"})
    packages = {**HOST, "packages": {"openvswitch": "3.2"}}
    for day in range(9, 15):
        stored(tmp_path, day, [900_000 + day], labels={"revision": "new"}, environment=packages)
    trend = only(tmp_path)
    (step,) = trend.steps
    assert trend.points[step.place].run == "2026-11-09-phy2phy_tput-k7f3"
    assert step.share == pytest.approx(-0.1, abs=0.001)
    assert trend.worse(step)
    assert [one.name for one in step.contrasts] == ["labels.revision", "packages.openvswitch"]
    (line,) = changes(trend)
    assert "packages.openvswitch 3.1 → 3.2" in line
    assert "worse" in line


def test_another_machine_cuts_the_series(tmp_path: Path) -> None:
    for day in range(1, 5):
        stored(tmp_path, day, [1000_000])
    for day in range(5, 9):
        stored(tmp_path, day, [2000_000], environment={"host": {"cpu_model": "EPYC"}})
    (step,) = only(tmp_path).steps
    assert (step.cut, step.share) == (True, None)
    assert "host.cpu_model" in [one.name for one in step.contrasts]


def test_other_settings_cut_the_series(tmp_path: Path) -> None:
    stored(tmp_path, 1, [1000_000])
    stored(tmp_path, 2, [2000_000], spec={"vswitch": {"emc": False}})
    assert [step.cut for step in only(tmp_path).steps] == [True]


def near_and_far(results: Path) -> dict[str, Trend]:
    """Store runs that met one regime each, and return their trends by number."""
    for day in range(1, 13):
        near = day <= 6
        rate, met = (1000_000, (70, 125)) if near else (800_000, (380, 500))
        stored(results, day, [rate + day], met=met)
    return {one.name: one for one in trends(results, CASE).found}


def test_a_machine_that_moved_its_cpus_is_no_change_of_a_switch(tmp_path: Path) -> None:
    found = near_and_far(tmp_path)
    assert found["ndr"].told_by == "near, and far"
    assert {name: (len(one.points), one.steps) for name, one in found.items()} == {
        "ndr": (12, ()),
        "ndr near": (6, ()),
        "ndr far": (6, ()),
    }


def test_so_it_is_beside_a_run_that_does_not_tell_its_regime(tmp_path: Path) -> None:
    stored(tmp_path, 20, [800_000])
    found = near_and_far(tmp_path)
    assert (len(found["ndr"].points), found["ndr"].steps) == (13, ())


def test_where_all_runs_tell_one_regime_all_trials_have_levels(tmp_path: Path) -> None:
    for day in range(1, 13):
        stored(tmp_path, day, [(1000_000 if day <= 6 else 800_000) + day], met=(70, 125))
    (found,) = trends(tmp_path, CASE).found
    assert (found.name, len(found.steps)) == ("ndr", 1)


def test_repeats_of_a_run_are_one_point(tmp_path: Path) -> None:
    stored(tmp_path, 1, [1000_000, 1010_000, 990_000])
    (point,) = only(tmp_path).points
    assert (point.sample.count, point.sample.median) == (3, 1000_000)


def test_a_model_is_left_out_where_there_is_a_switch(tmp_path: Path) -> None:
    stored(tmp_path, 1, [1000_000])
    stored(tmp_path, 2, [5000_000], simulated=True)
    found = trends(tmp_path, CASE)
    assert (len(found.found[0].points), found.left_out) == (1, 1)
    modelled = trends(tmp_path, Filter(testcase="phy2phy_tput", simulated=True))
    assert modelled.found[0].simulated
    assert [point.sample.median for point in modelled.found[0].points] == [5000_000]


def test_testbeds_have_series_of_their_own(tmp_path: Path) -> None:
    stored(tmp_path, 1, [1000_000], testbed="lab")
    stored(tmp_path, 2, [1000_000], testbed="local")
    assert {trend.testbed for trend in trends(tmp_path, CASE).found} == {"lab", "local"}


def test_a_run_that_came_to_nothing_is_no_point(tmp_path: Path) -> None:
    stored(tmp_path, 1, [1000_000])
    head = header("2026-11-02-phy2phy_tput-k7f3", cases=1, simulated=False, environment=HOST)
    store(tmp_path, head.run, [head, case_start(head.cases[0].key)])
    assert len(only(tmp_path).points) == 1


def without_a_number(results: Path, day: int, outcome: Outcome | None) -> str:
    """Store a run whose one case ended so, or not at all."""
    run = f"2026-11-{day:02}-phy2phy_tput-k7f3"
    head = header(run, cases=1, simulated=False, environment=HOST)
    (case,) = head.cases
    lines: list[Line] = [head, case_start(case.key)]
    if outcome is not None:
        lines.append(case_record(case.key, outcome=outcome, result=None, reason="it paused"))
    store(results, run, lines)
    return run


def test_runs_that_are_not_drawn_are_counted_and_named_with_the_reason(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    stored(tmp_path, 1, [1000_000])
    stored(tmp_path, 2, [1000_000])
    invalid = without_a_number(tmp_path, 3, Outcome.INVALID)
    cut = without_a_number(tmp_path, 4, None)
    argv = ["trend", "phy2phy_tput", "--results", str(tmp_path)]
    assert run_cli(argv) == 0
    told = capsys.readouterr().out
    assert "2 runs are not drawn where they came to no number: " in told
    assert f"{invalid} (1 INVALID), {cut} (1 interrupted)" in told
    assert run_cli([*argv, "--json"]) == 0
    (series,) = json.loads(capsys.readouterr().out)
    assert [(one["run"], one["outcome"], one["reason"]) for one in series["not_drawn"]] == [
        (invalid, "INVALID", "it paused"),
        (cut, None, ""),
    ]
    assert [one["run"] for one in series["runs"]] == [
        "2026-11-01-phy2phy_tput-k7f3",
        "2026-11-02-phy2phy_tput-k7f3",
    ]


def test_no_change_is_found_from_what_is_no_answer(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for day in range(1, 5):
        stored(tmp_path, day, [11_000], flags=(Flag.TOO_BUSY,))
        stored(tmp_path, day + 4, [1_484_000], limit=Limit.GENERATOR)
        stored(tmp_path, day + 8, [3_228_000 + day])
    trend = only(tmp_path)
    assert (trend.steps, len(trend.points), len(trend.answers)) == ((), 12, 4)
    argv = ["trend", "phy2phy_tput", "--results", str(tmp_path)]
    assert run_cli(argv) == 0
    told = " ".join(capsys.readouterr().out.split())
    assert "no change is found from 8 runs without an answer: k7f3 (too busy to tell); " in told
    assert "k7f3 (lower bound, limit generator)" in told
    assert "≥ 1.484 Mfps" in told, "it is drawn as what it is"
    assert trend_data(trend)["runs"][4]["no_answer"] == "lower bound, limit generator"


def test_a_change_is_held_against_the_last_answer(tmp_path: Path) -> None:
    for day in range(1, 7):
        stored(tmp_path, day, [1000_000 + day], labels={"revision": "old"})
    stored(tmp_path, 7, [11_000], flags=(Flag.TOO_BUSY,), labels={"revision": "odd"})
    for day in range(8, 14):
        stored(tmp_path, day, [800_000 + day], labels={"revision": "new"})
    (step,) = only(tmp_path).steps
    assert step.place == 7
    assert step.share == pytest.approx(-0.2, abs=0.001)
    assert [one.values for one in step.contrasts] == [(("old",), ("new",))]


def test_a_cut_stands_at_the_first_run_on_other_ground_though_that_is_no_answer(
    tmp_path: Path,
) -> None:
    other = {"environment": {"host": {"cpu_model": "EPYC"}}}
    for day in range(1, 4):
        stored(tmp_path, day, [1000_000])
    stored(tmp_path, 4, [1_484_000], limit=Limit.GENERATOR, **other)
    trend = only(tmp_path)
    (step,) = trend.steps
    assert (step.place, step.cut) == (3, True), "whatever comes after it"
    assert [one.name for one in step.contrasts if one.name.startswith("host")] == ["host.cpu_model"]
    *_, change = trend_table(trend, 9).rows[-1]
    assert str(change) == "cut: other settings or host; lower bound, limit generator"
    for day in range(5, 8):
        stored(tmp_path, day, [2000_000], **other)
    assert [(step.place, step.cut) for step in only(tmp_path).steps] == [(3, True)]


def test_of_one_answer_no_change_can_be_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    stored(tmp_path, 1, [1_484_000], limit=Limit.BUDGET)
    stored(tmp_path, 2, [3_228_000])
    assert run_cli(["trend", "phy2phy_tput", "--results", str(tmp_path)]) == 0
    told = capsys.readouterr().out
    assert "cannot be told: 1 answer" in told
    assert "no change\n" not in told


def test_where_each_run_has_a_number_none_is_missed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    near_and_far(tmp_path)
    assert run_cli(["trend", "phy2phy_tput", "--results", str(tmp_path)]) == 0
    assert "not drawn" not in capsys.readouterr().out


def test_beside_a_real_run_without_a_number_the_simulated_ones_are_named(tmp_path: Path) -> None:
    stored(tmp_path, 1, [1000_000], simulated=True)
    head = header("2026-11-02-phy2phy_tput-k7f3", cases=1, simulated=False, environment=HOST)
    store(tmp_path, head.run, [head, case_start(head.cases[0].key)])
    with pytest.raises(UsageError) as refused:
        trends(tmp_path, CASE)
    (problem,) = refused.value.problems
    assert problem.fix == ("1 simulated run is left out beside real ones: --simulated shows them")


@pytest.mark.parametrize(
    ("wanted", "metric", "said"),
    [(Filter(testcase="nothing"), None, "no stored run"), (CASE, "pdr", "no case .* 'pdr'")],
)
def test_what_there_is_not_is_refused(
    tmp_path: Path, wanted: Filter, metric: str | None, said: str
) -> None:
    stored(tmp_path, 1, [1000_000])
    with pytest.raises(UsageError, match=said):
        trends(tmp_path, wanted, metric)


def test_a_mistyped_testcase_is_answered_with_one_that_is_stored(tmp_path: Path) -> None:
    stored(tmp_path, 1, [1000_000])
    for typed in ("phy2phy_tpt", "tput"):
        with pytest.raises(UsageError) as refused:
            trends(tmp_path, Filter(testcase=typed))
        assert refused.value.problems[0].fix == "did you mean `phy2phy_tput`?"


def test_it_is_told_as_a_table_and_as_data(tmp_path: Path) -> None:
    for day in range(1, 13):
        stored(tmp_path, day, [1000_000 if day < 7 else 800_000])
    trend = only(tmp_path)
    table = trend_table(trend, 8)
    assert len(table.rows) == 8
    assert [cell.style for *_, cell in table.rows if isinstance(cell, Cell)] == ["worse"]
    data = trend_data(trend)
    assert json.loads(json.dumps(data, allow_nan=False)) == data
    assert data["changes"][0]["first_run"].startswith("2026-11-07")
    assert len(data["runs"]) == 12


def test_several_series_are_a_line_each_which_says_whether_when_and_by_how_much(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for day in range(1, 13):
        stored(tmp_path, day, [1000_000 if day < 7 else 800_000])
        stored(tmp_path, day, [2000_000], testcase="phy2phy_cont")
    stored(tmp_path, 13, [3000_000], testcase="phy2phy_loss")
    assert run_cli(["trend", "phy2phy_*", "--results", str(tmp_path)]) == 0
    printed = capsys.readouterr().out
    assert "1 of 2 numbers changed" in printed
    (changed,) = (line for line in printed.splitlines() if line.startswith("phy2phy_tput-64B"))
    assert "-20.00 %, worse, from 2026-11-07 k7f3" in changed
    (same,) = (line for line in printed.splitlines() if line.startswith("phy2phy_cont-64B"))
    assert "no change" in same
    assert "2026-11-07-phy2phy_tput-k7f3: 1 number changed; nothing that was recorded" in printed
    assert "run by run: vsperf trend phy2phy_tput-64B --metric ndr" in printed
    assert "nothing to compare yet: phy2phy_loss-64B ndr" in printed
    assert len(printed.splitlines()) < 12, "each run is told of one series only"


def test_what_is_asked_next_can_be_pasted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A number of deployments has words in its name."""
    for day in range(1, 3):
        stored(tmp_path, day, [1000_000])
    found = replace(only(tmp_path), name="ndr over draws")
    _print_overview(console(), [found, found])
    assert "--metric 'ndr over draws'" in capsys.readouterr().out


def test_of_a_single_run_it_says_so_and_what_to_do(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    stored(tmp_path, 1, [1000_000], argv=("run", "phy2phy_tput", "--preset", "quick"))
    assert run_cli(["trend", "phy2phy_tput", "--results", str(tmp_path)]) == 0
    first, shown, again = capsys.readouterr().out.splitlines()
    assert first == "of a single run, so there is nothing to compare yet: phy2phy_tput-64B ndr"
    assert shown == "what it found: vsperf show k7f3"
    assert again.endswith(": vsperf run phy2phy_tput --preset quick")
    stored(tmp_path, 1, [1000_000], argv=("run", "--resume", "k7f3"))
    assert run_cli(["trend", "phy2phy_tput", "--results", str(tmp_path)]) == 0
    assert ": vsperf run phy2phy_tput --testbed " in capsys.readouterr().out
