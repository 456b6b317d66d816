"""A run in most of whose time the machine stood still is no PASS without a word."""

from __future__ import annotations

from pathlib import Path

import pytest
from export_samples import case as planned_case
from export_samples import exported, run_of
from record_samples import SECOND_NS, case_record, case_start
from report_pages import markdown_of, overview_of
from slot_samples import in_slots

from vsperf.cli.commands.show import print_run
from vsperf.engine.run import code_of_machine
from vsperf.engine.surroundings import flags_around
from vsperf.errors import ExitCode
from vsperf.record.flags import Flag
from vsperf.record.host import Surroundings
from vsperf.record.run import CaseRecord
from vsperf.record.trial import Trial
from vsperf.stats.busy import TOO_BUSY, too_busy
from vsperf.store.view import open_run

BUSY = case_record("a", flags=(Flag.TOO_BUSY,))
QUIET = case_record("b")


def made(gaps: int) -> Trial:
    """Return a trial of 100 slots, in so many of which the generator was away."""
    return in_slots(100_000, SECOND_NS, 10**7, gaps, 0, 0)


def stored(tmp_path: Path, *records: CaseRecord) -> Path:
    cases = [planned_case(one.case, label=one.case) for one in records]
    lines = [line for one in records for line in (case_start(one.case), one)]
    return run_of(tmp_path, cases, *lines).folder


@pytest.mark.parametrize(("gaps", "busy"), [(0, False), (10, False), (30, True)])
def test_a_case_is_marked_where_less_than_half_of_its_time_was_clean(gaps: int, busy: bool) -> None:
    flags = flags_around([made(gaps)], Surroundings(), shared_cpu=False)
    assert (Flag.TOO_BUSY in flags) is busy


def test_where_nobody_knows_what_time_was_clean_nothing_is_said() -> None:
    unknown = made(30).model_copy(update={"slots": None})
    assert Flag.TOO_BUSY not in flags_around([unknown], Surroundings(), shared_cpu=False)


def test_the_run_goes_by_the_time_of_its_cases() -> None:
    assert too_busy([]) is None
    assert too_busy([QUIET]) is None
    assert too_busy([BUSY, QUIET]) is None, "half is not most"
    long = BUSY.model_copy(update={"measured_ns": 9 * SECOND_NS})
    assert (too_busy([long, QUIET]) or "").startswith(f"{TOO_BUSY}: in 1 of 2 cases")


def test_the_exit_code_says_so_unless_it_was_to_go_on_anyway() -> None:
    assert code_of_machine([BUSY], anyway=False) is ExitCode.INVALID_RESULT
    assert code_of_machine([BUSY], anyway=True) is ExitCode.OK
    assert code_of_machine([QUIET], anyway=False) is ExitCode.OK


def test_it_stands_above_the_table(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    print_run(open_run(stored(tmp_path, BUSY)))
    lines = capsys.readouterr().out.splitlines()
    (place,) = (number for number, line in enumerate(lines) if line.startswith(TOO_BUSY))
    assert place < next(number for number, line in enumerate(lines) if "PASS" in line)


def test_it_is_the_first_line_of_a_report(tmp_path: Path) -> None:
    folder = stored(tmp_path, BUSY)
    assert overview_of([folder]).verdict.word == TOO_BUSY
    assert markdown_of(folder).splitlines()[0].startswith(f"## {TOO_BUSY}: ")


def test_junit_has_a_test_of_the_machine_that_did_not_succeed(tmp_path: Path) -> None:
    folder = stored(tmp_path, BUSY)
    from vsperf.store.view import open_run

    text = exported("junit", open_run(folder))["report"].decode()
    assert 'type="TOO-BUSY"' in text
    assert TOO_BUSY in text
