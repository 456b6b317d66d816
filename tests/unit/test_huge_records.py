"""Records of others that are huge: what it takes grows as they do, and no further than a bound."""

from __future__ import annotations

import base64
import io
import struct
import sys
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from exchanges import exchange
from export_samples import KEY, case, exported, run_of
from record_samples import case_record, case_start, goal_result, run_end, trial, trial_line
from round_models import round_of

from vsperf.analysis.comparison import findings_in
from vsperf.cli.commands.show import MOST_TRIALS as SHOWN
from vsperf.cli.commands.show import command as show
from vsperf.cli.commands.show import print_run
from vsperf.errors import StoreError
from vsperf.output.case_tables import MOST_WARNINGS
from vsperf.output.export import case_columns
from vsperf.output.figures import trials
from vsperf.output.report.account import MOST_TRIALS, trials_table
from vsperf.output.report.write import write_markdown
from vsperf.records.files import view
from vsperf.records.files.reader import check_run, parse_lines
from vsperf.records.files.view import RunView, open_run
from vsperf.records.histogram import summary
from vsperf.records.result import SearchResult
from vsperf.records.run import ExchangeLine, Line, RoundLine
from vsperf.records.turns import Round

FEW, TIMES = 20, 4
"""So many of something are in the small record, and how many times more in the large one."""
SLACK = 1.25
"""What is quadratic grows by four times as much where the record grows by twice as much."""


def steps_of(action: Callable[[], object]) -> int:
    """How many lines of Python are run: what work is, where the clock would tell of the machine."""
    count = 0

    def look(_frame: Any, _event: str, _arg: Any) -> Any:
        nonlocal count
        count += 1
        return look

    before = sys.gettrace()
    sys.settrace(look)
    try:
        action()
    finally:
        sys.settrace(before)
    return count


def grows_as_the_record(act: Callable[[RunView], object], make: Callable[[int], RunView]) -> None:
    """Hold what it takes more of 4n than of 2n against what it takes more of 2n than of n."""
    runs = [make(FEW), make(2 * FEW), make(4 * FEW)]
    act(runs[0])  # what is loaded once is loaded
    small, twice, large = (steps_of(lambda run=run: act(run)) for run in runs)  # type: ignore[misc]
    more, much_more = twice - small, large - twice
    assert much_more <= 2 * SLACK * more + FEW, f"{small}, {twice} and {large} steps"


def of_attempts(folder: Path, count: int) -> RunView:
    """A case that was begun so often, with a trial each time."""
    lines: list[Line] = []
    for number in range(1, count + 1):
        lines += [case_start(KEY, number), trial_line(KEY, number)]
    return run_of(folder / str(count), [case()], *lines, case_record(KEY), run_end())


def of_trials(folder: Path, count: int) -> RunView:
    lines = [trial_line(KEY, number, lost=number % 2) for number in range(1, count + 1)]
    ends = case_record(KEY), run_end()
    return run_of(folder / str(count), [case()], case_start(KEY), *lines, *ends)


def of_cases(folder: Path, count: int) -> RunView:
    keys = [f"{KEY}-{number}" for number in range(count)]
    lines = [line for key in keys for line in (case_start(key), case_record(key))]
    return run_of(folder / str(count), [case(key) for key in keys], *lines, run_end())


def of_goals(folder: Path, count: int) -> RunView:
    one = goal_result()
    goals = tuple(one.model_copy(update={"goal": f"g{number}"}) for number in range(count))
    record = case_record(KEY, result=SearchResult(goals=goals))
    return run_of(folder / str(count), [case()], case_start(KEY), record, run_end())


def of_labels(folder: Path, count: int) -> RunView:
    """Labels whose names differ in signs only, which are the same in the names of columns."""
    signs = sorted(f"{number:08b}".replace("0", ".").replace("1", "-") for number in range(count))
    labels = {f"a{sign}b": "1" for sign in signs}
    lines = case_start(KEY), case_record(KEY), run_end()
    return run_of(folder / str(count), [case()], *lines, labels=labels)


MAKERS = (of_attempts, of_trials, of_cases, of_goals, of_labels)


def told(run: RunView) -> None:
    write_markdown([run.folder], io.StringIO(), lambda done, of: None)


@pytest.mark.parametrize("make", MAKERS)
@pytest.mark.parametrize(
    "act",
    [
        lambda run: open_run(run.folder),
        lambda run: check_run(run.folder),
        lambda run: print_run(open_run(run.folder)),
        told,
        lambda run: exported("csv", open_run(run.folder)),
        lambda run: exported("openmetrics", open_run(run.folder)),
    ],
    ids=["open", "check", "show", "report", "csv", "openmetrics"],
)
def test_what_it_takes_grows_as_the_record(
    act: Callable[[RunView], object], make: Callable[[Path, int], RunView], tmp_path: Path
) -> None:
    grows_as_the_record(act, lambda count: make(tmp_path, count))


def test_attempts_that_were_replaced_are_not_parsed_to_show_a_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    parsed: list[int] = []
    whole = parse_lines

    def counted(*arguments: Any) -> Any:
        for line in whole(*arguments):
            parsed.append(1)
            yield line

    monkeypatch.setattr(view, "parse_lines", counted)
    numbers = []
    for count in (FEW, FEW * TIMES):
        folder = of_attempts(tmp_path, count).folder
        parsed.clear()
        print_run(open_run(folder))
        numbers.append(len(parsed))
    assert numbers[0] == numbers[1] > 0


def test_trials_that_were_replaced_are_counted(tmp_path: Path) -> None:
    (seen,) = of_attempts(tmp_path, FEW).cases()
    assert (seen.attempt, len(seen.trials), seen.abandoned) == (FEW, 1, FEW - 1)


def test_lines_of_cases_that_alternate_are_read_once_for_their_case_only(tmp_path: Path) -> None:
    keys = [f"{KEY}-{number}" for number in range(FEW)]
    lines: list[Line] = [case_start(key) for key in keys]
    lines += [trial_line(key, index) for index in range(1, 4) for key in keys]
    run = run_of(tmp_path, [case(key) for key in keys], *lines)
    assert run.file is not None
    covered = [place.end - place.begin for span in run.file.spans.values() for place in span.inside]
    assert sum(covered) < (run.folder / "records.jsonl").stat().st_size


def test_more_trials_than_memory_should_hold_are_refused_with_the_reason(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = of_trials(tmp_path, FEW)
    monkeypatch.setattr(view, "MOST_TRIAL_BYTES", 1000)
    (seen,) = run.cases()
    assert len(seen.trials) == FEW
    with pytest.raises(StoreError, match="too many to be looked at"):
        list(seen.trials)


@pytest.mark.parametrize("kind", ["exchange", "round"])
def test_so_are_more_exchanges_or_rounds(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    line: Line = RoundLine(case=KEY, round=round_of())
    if kind == "exchange":
        line = ExchangeLine(case=KEY, exchange=exchange())
    run = run_of(tmp_path, [case()], case_start(KEY), *[line] * FEW, case_record(KEY), run_end())
    monkeypatch.setattr(view, "MOST_TRIAL_BYTES", 1000)
    (seen,) = run.cases()
    assert (len(seen.exchanges), len(seen.rounds)) == (FEW, 0)[:: 1 if kind == "exchange" else -1]
    with pytest.raises(StoreError, match="too many to be looked at"):
        _ = [*seen.exchanges, *seen.rounds]
    assert list(seen.trials[:]) == list(seen.trials[1:]) == [], "it has none, and none is read"
    assert list(findings_in(seen, latency=True)), "a comparison needs no trials"


@pytest.mark.parametrize(
    ("what", "count"), [("turns", 3_000), ("sides", 100), ("deployment", 1_000_000)]
)
def test_a_round_of_more_than_anybody_makes_is_refused(what: str, count: int) -> None:
    """What rounds say takes time that is quadratic in their numbers."""
    made = round_of().model_dump()
    side = {"letter": "A", "name": "ovs"}
    parts = ("_by_direction", "_by_slot", "slots_ns")
    plain = (name for name in made["turns"] if not name.endswith(parts))
    turns = {name: [True if name == "drained" else 1] * count for name in plain}
    changed = {"turns": turns, "sides": [side] * count, "deployment": count}
    Round.model_validate(made)
    with pytest.raises(ValueError, match="more than anybody makes"):
        Round.model_validate({**made, what: changed[what]})


def test_a_case_is_shown_with_its_first_trials_and_how_many_there_are(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = of_trials(tmp_path, SHOWN + 5).folder
    show.main([str(folder), KEY, "--all"], standalone_mode=False)
    lines = capsys.readouterr().out.splitlines()
    assert f"trials: {SHOWN:,} of {SHOWN + 5:,} shown" in lines
    assert sum(line.startswith("#") for line in lines) == SHOWN


def test_a_report_lists_a_bounded_number_of_trials_and_says_of_how_many() -> None:
    made = [trial(number) for number in range(1, MOST_TRIALS + 2)]
    table = trials_table(made)
    assert table is not None
    assert (len(table.rows), table.count_text) == (MOST_TRIALS, "1,000 of 1,001")
    assert (trials_table(made[1:]) or table).count_text == "all 1,000"


def test_a_figure_draws_a_bounded_number_of_trials_of_how_many_it_knows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(trials, "MOST_POINTS", FEW)
    (seen,) = of_trials(tmp_path, 2 * FEW + 1).cases()
    (search,) = trials.gather(seen)
    assert len(search.trials) <= FEW
    assert search.made == 2 * FEW + 1


def test_a_report_tells_the_first_warnings_and_of_how_many(tmp_path: Path) -> None:
    warnings = tuple(f"warning {number}" for number in range(50_000))
    record = case_record(KEY, warnings=warnings)
    run = run_of(tmp_path, [case()], case_start(KEY), record, run_end())
    page = io.StringIO()
    write_markdown([run.folder], page, lambda done, of: None)
    said = page.getvalue()
    assert all(f"warning {number}" in said for number in (0, MOST_WARNINGS - 1))
    assert f"warning {MOST_WARNINGS}" not in said
    assert f"{50_000 - MOST_WARNINGS:,} more warnings" in said


def test_a_table_with_more_cells_than_anybody_reads_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = of_cases(tmp_path, FEW)
    monkeypatch.setattr(case_columns, "MOST_CELLS", 100)
    with pytest.raises(StoreError, match="is too large"):
        exported("csv", run)


def test_a_histogram_that_unpacks_to_more_than_there_is_room_for_is_refused() -> None:
    packed = zlib.compress(bytes(8 << 20), 9)
    bomb = base64.b64encode(struct.pack(">ii", 0x1C849304, len(packed)) + packed).decode()
    with pytest.raises(StoreError, match="cannot be read") as caught:
        summary(bomb)
    assert "unpacks to more than" in str(caught.value.problems[0].why)
