"""What parts of the last-level cache held and moved, as a table: in show, and in reports."""

from __future__ import annotations

from pathlib import Path

import pytest
from record_samples import case_record, case_start, header, run_end, trial
from report_pages import html_of, markdown_of, whole_case
from stored_runs import store

from vsperf.cli.main import run_cli
from vsperf.errors import ExitCode
from vsperf.record.cache import CacheActivity
from vsperf.record.run import TrialLine
from vsperf.record.trial import Purpose, Trial
from vsperf.stats.cached import HELD, LOCAL, MOVED, TITLE, cached

MIB = 1 << 20
SECOND = {"elapsed_ns": 1_000_000_000}


def part(role: str = "switch", **counts: int) -> CacheActivity:
    return CacheActivity.model_validate({"role": role, **counts})


def rows(*trials: Trial) -> dict[tuple[str, str], tuple[str, ...]]:
    found = cached(trials)
    assert found is not None
    return {(row[0], row[1]): row[2:] for row in found.rows}


def test_each_part_says_what_it_held_and_how_fast_it_moved() -> None:
    found = rows(
        trial(1, cache=(part(occupancy_bytes=3 * MIB, total_bytes=20_000_000),), **SECOND),
        trial(2, cache=(part(occupancy_bytes=5 * MIB, total_bytes=60_000_000),), **SECOND),
    )
    assert found["switch", HELD] == ("4.000 MiB", "3.000 MiB", "5.000 MiB", "")
    assert found["switch", MOVED] == ("40.00 MB/s", "20.00 MB/s", "60.00 MB/s", "20 bytes")
    assert ("switch", LOCAL) not in found


def test_what_stays_on_its_own_node_is_told_where_it_is_counted() -> None:
    counts = part("noise", total_bytes=4_000_000, local_bytes=3_000_000)
    found = rows(trial(1, cache=(counts,), **SECOND))
    assert found["noise", MOVED][0] == "4.000 MB/s"
    assert found["noise", LOCAL][0] == "3.000 MB/s"


def test_a_path_check_and_a_trial_that_took_no_time_have_no_rate() -> None:
    checked = trial(1, purpose=Purpose.PATH_CHECK, cache=(part(total_bytes=9 * MIB),))
    failed = trial(2, elapsed_ns=0, cache=(part(total_bytes=9 * MIB),))
    made = trial(3, cache=(part(total_bytes=2_000_000),), **SECOND)
    assert cached((checked,)) is None
    assert rows(checked, failed, made)["switch", MOVED] == ("2.000 MB/s", "", "", "1 bytes")


def test_a_processor_that_monitors_nothing_is_said_and_never_told_as_0() -> None:
    found = cached((trial(1, cache=(part(), part("noise"))),))
    assert found is not None
    assert found.rows == ()
    (note,) = found.notes
    assert note.startswith(f"not counted here: what they {HELD} and what they {MOVED}")


def test_a_case_that_shares_out_no_cache_has_none() -> None:
    assert cached((trial(1), trial(2))) is None


def stored(results: Path, *cache: CacheActivity) -> Path:
    case = whole_case()
    head, key = header().model_copy(update={"cases": (case,)}), case.key
    line = TrialLine(case=key, trial=trial(1, cache=cache, **SECOND))
    return store(results, head.run, [head, case_start(key), line, case_record(key), run_end()])


def told(folder: Path, capsys: pytest.CaptureFixture[str]) -> list[str]:
    """Return what show, a page and a report in Markdown say of the run."""
    code = run_cli(["show", folder.name, "64B", f"--results={folder.parent}"])
    assert code == ExitCode.OK
    return [capsys.readouterr().out, html_of(folder), markdown_of(folder)]


def test_show_and_both_reports_have_the_table(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = stored(tmp_path, part(occupancy_bytes=3 * MIB))
    for text in told(folder, capsys):
        assert TITLE[1:] in text
        assert HELD in text and "3.000 MiB" in text
        assert f"not counted here: what they {MOVED}" in text


def test_none_of_them_says_a_word_where_no_cache_is_shared_out(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for text in told(stored(tmp_path), capsys):
        assert TITLE[1:] not in text
