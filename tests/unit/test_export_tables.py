"""Tables of cases and trials: one row each, units in the headers, nothing made up, no formula."""

from __future__ import annotations

import csv
import io
import json
import re
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from exchanges import exchange
from export_samples import GOLDEN, HOSTILE, KEY, every_outcome, exported, hostile, one_case, run_of
from hypothesis import given
from hypothesis import strategies as st
from record_samples import case_record, case_start, given_load, goal_result, planned, trial
from round_models import dead_round

from vsperf.output.export.csv_tables import FORMULA, defused, field
from vsperf.quantities.unit import Unit
from vsperf.records.files.view import RunView, open_run
from vsperf.records.flags import Flag
from vsperf.records.result import (
    CleanResult,
    Draw,
    Draws,
    Figure,
    Limit,
    SearchResult,
    Spread,
    View,
)
from vsperf.records.run import ExchangeLine, Outcome, RoundLine, TrialLine
from vsperf.records.switch import PmdCounters, SwitchCounters
from vsperf.records.trial import Purpose

UNITS = ("_fps", "_ns", "_bytes", "_bps", "_percent", "_ratio", "_frames", "_ppm", "_share")
COUNTS = {"repeat", "attempt", "flows", "directions", "criteria_met", "criteria_missed", "trials"}
NUMBERS = {"trial", "deployment", "retry_of", "rules_changed"}


def rows(content: bytes) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(content.decode(), newline="")))


def parquet_rows(content: bytes) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = pq.read_table(io.BytesIO(content)).to_pylist()
    return found


@pytest.fixture(name="runs", scope="module")
def fixture_runs() -> list[RunView]:
    return [open_run(folder) for folder in GOLDEN]


def test_every_case_and_every_trial_is_a_row(runs: list[RunView]) -> None:
    tables = exported("csv", *runs)
    cases = [case for run in runs for case in run.cases()]
    assert [row["case"] for row in rows(tables["cases"])] == [case.key for case in cases]
    trials = [(case.run, case.key, str(one.index)) for case in cases for one in case.trials]
    found = rows(tables["trials"])
    assert [(row["run"], row["case"], row["trial"]) for row in found] == trials


def test_what_is_counted_reads_back_as_it_was_recorded(runs: list[RunView]) -> None:
    tables = exported("csv", *runs)
    trials = iter(rows(tables["trials"]))
    for run in runs:
        for case in run.cases():
            for one in case.trials:
                row = next(trials)
                assert int(row["load_fps"]) == one.load_fps
                assert int(row["sent_frames"]) == one.sent_frames
                assert int(row["lost_frames"]) == one.lost_frames
                assert float(row["loss_ratio"]) == float(one.loss_ratio)
                assert row["valid"] == str(one.valid).lower()
                assert row["sending_ns"] == ("" if one.sending_ns is None else str(one.sending_ns))
    for row, case in zip(
        rows(tables["cases"]), (case for run in runs for case in run.cases()), strict=True
    ):
        goals = {goal.goal: goal for goal in (case.result.goals if case.result else ())}
        for name in ("ndr", "pdr"):
            lower = goals[name].lower_fps if name in goals else None
            assert row[f"{name}_lower_fps"] == ("" if lower is None else str(lower))


def test_csv_and_parquet_say_the_same(runs: list[RunView]) -> None:
    written, typed = exported("csv", *runs), exported("parquet", *runs)
    for table in ("cases", "trials"):
        ours = rows(written[table])
        theirs = parquet_rows(typed[table])
        assert len(ours) == len(theirs)
        for row, other in zip(ours, theirs, strict=True):
            assert row | times(row) == {name: written_of(value) for name, value in other.items()}


def times(row: dict[str, str]) -> dict[str, str]:
    """Return the moments of a row as typed tables have them: in UTC, to the microsecond."""
    moments = {name: text for name, text in row.items() if name.endswith("_at") and text}
    return {name: written_of(datetime.fromisoformat(text)) for name, text in moments.items()}


def written_of(value: Any) -> str:
    return value.astimezone(UTC).isoformat() if isinstance(value, datetime) else field(value)


def test_times_of_parquet_are_times(runs: list[RunView], tmp_path: Path) -> None:
    for content in exported("parquet", *runs).values():
        schema = pq.read_table(io.BytesIO(content)).schema
        moments = {one.name: str(one.type) for one in schema if one.name.endswith("_at")}
        assert moments and set(moments.values()) == {"timestamp[us, tz=UTC]"}


def test_a_moment_that_is_none_has_no_time_and_is_written_as_it_is(tmp_path: Path) -> None:
    run = one_case(tmp_path, finished_at="a long time ago")
    assert rows(exported("csv", run)["cases"])[0]["finished_at"] == "a long time ago"
    assert parquet_rows(exported("parquet", run)["cases"])[0]["finished_at"] is None


def test_every_number_has_its_unit_in_its_name(runs: list[RunView]) -> None:
    for content in exported("parquet", *runs).values():
        for column in pq.read_table(io.BytesIO(content)).schema:
            if str(column.type) in ("int64", "double") and column.name not in COUNTS | NUMBERS:
                counted = column.name.endswith(
                    ("_trials", "_passed", "_count", "_per_second", "_per_frame")
                )
                assert counted or column.name.endswith(UNITS), column.name


def test_what_was_not_measured_is_empty_and_never_zero(tmp_path: Path) -> None:
    run = every_outcome(tmp_path)
    found = {row["label"]: row for row in rows(exported("csv", run)["cases"])}
    assert set(found) == {*(f"case-{one.value}" for one in Outcome), "cut", "never"}
    never = found["never"]
    told = ("run", "testbed", "case", "frame_size_bytes")
    assert all(never[name] for name in told)
    unknown = ("attempt", "outcome", "trials", "measured_ns", "rate_fps", "ndr_lower_fps")
    assert [never[name] for name in unknown] == [""] * len(unknown)
    assert (found["cut"]["outcome"], found["cut"]["attempt"]) == ("", "1")
    assert found["case-FAIL"]["reason"] == "because of FAIL"
    assert "0" not in {never[name] for name in never if name.endswith(UNITS)}


def test_a_counter_that_one_direction_lacks_has_no_sum(tmp_path: Path) -> None:
    one, other = trial().directions
    ways = (one.model_copy(update={"duplicate_frames": 3}), other)
    line = TrialLine(case=KEY, trial=trial(directions=ways))
    run = one_case(tmp_path)
    run = run_of(tmp_path, list(run.header.cases), case_start(KEY), line)
    (row,) = rows(exported("csv", run)["trials"])
    assert (row["duplicate_frames"], row["sent_frames"]) == ("", "2000000")


def test_what_a_frame_cost_the_switch_is_that_of_the_load_that_a_case_came_to(
    tmp_path: Path,
) -> None:
    def at(number: int, load_fps: int, cycles: int) -> TrialLine:
        pmd = PmdCounters(cpu=1, frames=1000, busy_cycles=1000 * cycles, idle_cycles=5)
        counted = SwitchCounters(pmds=(pmd,))
        return TrialLine(case=KEY, trial=trial(number, load_fps=load_fps, switch=counted))

    run = one_case(tmp_path)
    (end,) = (case.record for case in run.cases())
    assert end is not None and end.result is not None
    found = end.result.goals[0].lower_fps or 0
    trials = (at(1, found, 300), at(2, found, 320), at(3, 2 * found, 290))
    run = run_of(tmp_path, list(run.header.cases), case_start(KEY), *trials, end)
    tables = exported("csv", run)
    assert [row["switch_cycles_per_frame"] for row in rows(tables["trials"])] == [
        "300.0",
        "320.0",
        "290.0",
    ]
    assert [row["switch_cycles_per_frame"] for row in rows(tables["cases"])] == ["310.0"]


def test_a_trial_in_which_nothing_came_about_is_a_row_all_the_same(tmp_path: Path) -> None:
    failed = trial(directions=(), sending_ns=None, error="the generator died")
    run = one_case(tmp_path)
    run = run_of(
        tmp_path, list(run.header.cases), case_start(KEY), TrialLine(case=KEY, trial=failed)
    )
    (row,) = rows(exported("csv", run)["trials"])
    assert (row["error"], row["sent_frames"], row["loss_ratio"]) == ("the generator died", "", "")


def test_a_trial_that_was_made_before_a_part_died_is_a_row_that_says_so(tmp_path: Path) -> None:
    looks = [trial(index, purpose=Purpose.PATH_CHECK) for index in (1, 3)]
    lines = [TrialLine(case=KEY, trial=one) for one in (looks[0], trial(2), looks[1], trial(4))]
    run = run_of(tmp_path, [planned(key=KEY)], case_start(KEY), *lines, case_record(KEY))
    stands = [row["stands"].lower() for row in rows(exported("csv", run)["trials"])]
    assert stands == ["false", "false", "true", "true"]
    (told,) = json.loads(exported("json", run)["runs"])["runs"][0]["cases"]
    assert (told["died"], len(told["trials"])) == (2, 4)


def test_labels_have_columns_of_their_own(tmp_path: Path) -> None:
    (row,) = rows(exported("csv", hostile(tmp_path))["cases"])
    assert (row["label_a_b"], row["label_a_b_2"]) == ("1", "2")
    assert row["label_revision"].startswith("'=")


def test_no_field_is_a_formula_or_an_order_to_a_terminal(tmp_path: Path) -> None:
    for name in ("csv", "csv-like-vsperf"):
        for content in exported(name, hostile(tmp_path)).values():
            text = content.decode()
            assert "\x1b" not in text
            assert "\u202e" not in text
            (row,) = rows(content)
            for value in row.values():
                assert not value.startswith(FORMULA) or re.fullmatch(r"-\d+(\.\d+)?", value)
                if "HYPERLINK" in value:
                    assert value.startswith("'=")


@given(st.text())
def test_a_text_is_defused_or_stays_as_it_is(text: str) -> None:
    found = defused(text)
    assert not found.startswith(FORMULA)
    if text.isprintable():
        assert found == (f"'{text}" if text.startswith(FORMULA) else text)


@pytest.mark.parametrize(
    ("value", "expected"),
    [(None, ""), (True, "true"), (-5, "-5"), (-0.25, "-0.25"), ("-5", "'-5"), ("@x", "'@x")],
)
def test_numbers_stay_numbers(value: Any, expected: str) -> None:
    assert field(value) == expected


def test_json_has_all_that_is_recorded(runs: list[RunView]) -> None:
    document = json.loads(exported("json", *runs)["runs"])
    assert [run["run"] for run in document["runs"]] == [run.run for run in runs]
    for told, run in zip(document["runs"], runs, strict=True):
        assert told["state"] == run.state.value
        for row, case in zip(told["cases"], run.cases(), strict=True):
            assert row["planned"] == case.planned.model_dump(mode="json")
            assert len(row["trials"]) == len(case.trials)
            recorded = [one.model_dump(mode="json") for one in case.trials]
            assert [one["record"] for one in row["trials"]] == recorded
            assert row["values"]["case"] == case.key


def test_json_has_connections_exchanges_and_rounds_under_their_own_names(tmp_path: Path) -> None:
    made = (exchange(), exchange(index=2))
    lines = [ExchangeLine(case=KEY, exchange=one) for one in made]
    run = run_of(tmp_path, [planned(key=KEY)], case_start(KEY), *lines)
    document = json.loads(exported("json", run)["runs"])
    (row,) = document["runs"][0]["cases"]
    assert row["trials"] == []
    assert row["exchanges"] == [one.model_dump(mode="json") for one in made]
    assert not {"connections", "rounds"} & row.keys()


def test_json_says_against_rounds_what_people_are_told(tmp_path: Path) -> None:
    one = dead_round(retry_of=3)
    run = run_of(tmp_path, [planned(key=KEY)], case_start(KEY), RoundLine(case=KEY, round=one))
    (row,) = json.loads(exported("json", run)["runs"])["runs"][0]["cases"]
    (told,) = row["rounds"]
    assert told["flags"] == ["nothing-received"]
    assert told["reasons"] == list(one.reasons) != []


def test_json_of_hostile_texts_holds_them_as_they_are(tmp_path: Path) -> None:
    text = exported("json", hostile(tmp_path))["runs"]
    assert all(one.isprintable() or one == "\n" for one in text.decode())
    document = json.loads(text)
    assert document["runs"][0]["cases"][0]["values"]["testcase"] == HOSTILE


def test_a_number_that_is_not_used_is_in_no_table(tmp_path: Path) -> None:
    """Its flags say why, and JSON has it."""
    flags = (Flag.RX_EXCEEDS_TX,)
    spread = Spread(runs=2, minimum=77_000, maximum=78_000, deviation=707.0)
    burst = Figure(name="burst", unit=Unit.FRAMES, value=77_777, spread=spread, flags=flags)
    goal = goal_result().model_copy(update={"flags": flags})
    result = SearchResult(goals=(goal,), figures=(burst,))
    run = one_case(tmp_path, outcome=Outcome.INVALID, limit=Limit.UNKNOWN, result=result)
    (row,) = rows(exported("csv", run)["cases"])
    told = (
        *("ndr_lower_fps", "ndr_upper_fps", "ndr_throughput_fps", "rate_fps"),
        *("burst_frames", "burst_deviation_frames"),
    )
    assert [row[name] for name in told] == [""] * len(told)
    assert row["ndr_flags"] == "rx-exceeds-tx"
    (old,) = rows(exported("csv-like-vsperf", run)["cases"])
    assert old["b2b_frames"] == ""
    clean = CleanResult(share="1/2", lower_fps=7_000_000, limit=Limit.DUT, reason="")
    both = goal.model_copy(update={"clean": clean})
    run = one_case(tmp_path / "clean", result=SearchResult(goals=(both,), figures=(burst,)))
    (row,) = rows(exported("csv", run)["cases"])
    assert (row["ndr_lower_fps"], row["ndr_clean_lower_fps"]) == ("", "7000000")
    assert "ndr_lower_fps" not in exported("prometheus", run)["metrics"].decode()
    assert "77777" in exported("json", run)["runs"].decode()


RATES = ("rate_fps", "rate_l1_bps", "ndr_lower_fps", "ndr_upper_fps", "ndr_throughput_fps")


def test_of_a_machine_that_was_too_busy_no_format_has_a_rate(tmp_path: Path) -> None:
    """Whatever the outcome: nobody can tell what the switch does."""
    lower = re.compile(rf"\b{goal_result().lower_fps}(i|\b)")
    quiet, busy = one_case(tmp_path / "quiet"), one_case(tmp_path / "busy", flags=(Flag.TOO_BUSY,))
    for name, table in {
        "csv": "cases",
        "prometheus": "metrics",
        "openmetrics": "metrics",
        "influx": "lines",
    }.items():
        told = [
            [one for one in exported(name, run)[table].decode().splitlines() if "_trial" not in one]
            for run in (quiet, busy)
        ]
        found = [any(lower.search(one) for one in lines) for lines in told]
        assert found == [True, False], name
    (row,) = rows(exported("csv", busy)["cases"])
    assert [row[name] for name in RATES] == [""] * len(RATES)
    assert row["ndr_limit"] == "dut"


DRAWS = Draws(
    asked=2,
    view=View.ALL,
    made=tuple(
        Draw(deployment=n, lower_fps=n * 10**6, upper_fps=4 * 10**6, limit=Limit.DUT, reason="")
        for n in (1, 2)
    ),
)
CLEAN = CleanResult(share="1/2", lower_fps=7_000_000, limit=Limit.DUT, reason="")
SPREAD = Spread(runs=2, minimum=1, maximum=3, deviation=1.4)
FIGURES = tuple(
    Figure(name=name, unit=unit, value=2, lower=2, upper=3, spread=SPREAD)
    for name, unit in {
        "mfr": Unit.FPS,
        "tcp_rate": Unit.BPS,
        "learning_rate": Unit.PER_SECOND,
        "lost": Unit.RATIO,
        "burst": Unit.FRAMES,
        "time": Unit.NANOSECONDS,
    }.items()
)


@pytest.mark.parametrize("view", View)
def test_of_a_machine_that_was_too_busy_what_came_through_is_no_rate_of_the_switch(
    tmp_path: Path, view: View
) -> None:
    """That of given loads, of figures and over deployments neither; clean time is another thing."""
    draws = DRAWS.model_copy(update={"view": view})
    goal = goal_result().model_copy(update={"clean": CLEAN, "draws": draws})
    result = SearchResult(goals=(goal,), loads=(given_load(5_000_000),), figures=FIGURES)
    quiet, busy = (
        one_case(tmp_path / name, result=result, flags=flags)
        for name, flags in {"quiet": (), "busy": (Flag.TOO_BUSY,)}.items()
    )
    (whole,), (told,) = (rows(exported("csv", run)["cases"]) for run in (quiet, busy))
    rates = {
        *("ndr_lower_fps", "ndr_upper_fps", "ndr_throughput_fps"),
        *("load_1_throughput_fps", "load_1_loss_ratio"),
        *(f"mfr{part}_fps" for part in ("", "_lower", "_upper", "_deviation")),
        *("tcp_rate_bps", "learning_rate_per_second", "lost_ratio"),
    }
    of_draws = {f"ndr_draws_{part}" for part in ("count", "view", "lower_fps", "upper_fps")}
    gone = rates | of_draws if view is View.ALL else rates
    assert not [name for name in gone if not whole[name]]
    assert not [name for name in gone if told[name]]
    kept = {
        *("ndr_clean_lower_fps", "burst_frames", "burst_deviation_frames", "time_ns"),
        *("load_1_fps", "load_1_limit", *(of_draws - gone)),
    }
    assert {name: told[name] for name in kept} == {name: whole[name] for name in kept}
    (old,) = rows(exported("csv-like-vsperf", busy)["cases"])
    figures = ("forwarding_rate_fps", "optimal_learning_rate_fps", "b2b_frames")
    assert [old[name] for name in figures] == ["", "", "2.0"]


def test_a_case_that_is_invalid_has_no_rate_that_stands_for_it(tmp_path: Path) -> None:
    """Its bounds are there, beside what limited them: they may leave open only a criterion."""
    (row,) = rows(exported("csv", one_case(tmp_path, outcome=Outcome.INVALID))["cases"])
    assert (row["rate_fps"], row["rate_l1_bps"]) == ("", "")
    assert row["ndr_lower_fps"] == str(goal_result().lower_fps)


def test_columns_of_vsperf_are_there_in_its_words_and_unknown_ones_empty(
    runs: list[RunView],
) -> None:
    found = rows(exported("csv-like-vsperf", runs[0])["cases"])
    (case, *_) = runs[0].cases()
    (row, *_) = found
    assert case.result is not None
    at_lower = [one for one in case.trials if one.load_fps == case.result.goals[0].lower_fps]
    last = [one for one in at_lower if one.purpose.value == "search" and one.valid][-1]
    seconds = last.duration_ns / 1e9
    assert float(row["throughput_rx_fps"]) == pytest.approx(last.received_frames / seconds)
    assert float(row["tx_rate_fps"]) == pytest.approx(last.sent_frames / seconds)
    assert float(row["frame_loss_percent"]) == pytest.approx(
        100 * last.lost_frames / last.intended_frames
    )
    assert row["packet_size"] == str(case.asked.frame_bytes)
    assert (row["status"], row["simulated"]) == ("OK", "true")
    assert (row["capture_tx"], row["match_type"], row["b2b_frames"]) == ("", "", "")
    assert int(row["min_latency_ns"]) < float(row["avg_latency_ns"]) < int(row["max_latency_ns"])
