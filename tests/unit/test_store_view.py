"""Readers see runs case by case: the same as the whole reader sees, and no more is held."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from all_wrong import hold_each, relative
from exchanges import exchange
from record_samples import (
    case_lines,
    case_record,
    case_start,
    header,
    planned,
    run_end,
    trial,
    trial_line,
    view_of,
)
from round_models import round_of
from stored_runs import finished, store

from vsperf.errors import Location, StoreError, UsageError
from vsperf.records.files import view
from vsperf.records.files.chosen import find_runs
from vsperf.records.files.folders import RECORDS
from vsperf.records.files.reader import RunState
from vsperf.records.files.view import CaseView, open_run, views
from vsperf.records.result import Compliance, Level, Standard
from vsperf.records.run import (
    LINE,
    CaseRecord,
    CaseStart,
    Line,
    Outcome,
    RunResume,
    SecondLine,
    TrialLine,
)
from vsperf.records.trial import Purpose, Sample, Second, Trial

GOLDEN = Path(__file__).parents[1] / "golden" / "records"
RUN = "2026-11-20-phy2phy_tput-k7f3"
FIRST, SECOND = (case.key for case in header().cases)
RESUME = RunResume(resumed_at="2026-11-20T11:00:00Z", argv=("vsperf", "run", "--resume", "k7f3"))


def lay_down(tmp_path: Path, *lines: Line, tail: bytes = b"") -> Path:
    return store(tmp_path, RUN, [header(RUN), *lines], tail)


def place(folder: Path, line: int) -> Location:
    return Location(str(folder / RECORDS), line)


def second_line(key: str, number: int) -> SecondLine:
    return SecondLine(
        case=key, second=Second(sample=Sample(elapsed_ns=number * 10**9, directions=()))
    )


def test_every_sample_holds_the_lines_of_the_last_attempt_at_each_case() -> None:
    def check(folder: Path) -> None:
        whole = (folder / RECORDS).read_bytes().rpartition(b"\n")[0].split(b"\n")
        last: dict[str, list[Line]] = {}
        for line in map(LINE.validate_json, whole):
            if isinstance(line, CaseStart):
                last[line.case] = []
            if isinstance(line, CaseStart | TrialLine | CaseRecord):
                last.setdefault(line.case, []).append(line)
        for case in open_run(folder).cases():
            trials = [TrialLine(case=case.key, trial=one) for one in case.trials]
            seen = [one for one in (case.start, *trials, case.record) if one is not None]
            assert seen == last.get(case.key, [])

    hold_each(sorted(GOLDEN.glob("2026-*")), check, relative)


def test_cases_come_in_planned_order_and_with_those_that_never_began(tmp_path: Path) -> None:
    first, second = views(lay_down(tmp_path, *case_lines(SECOND)))
    assert (first.key, first.attempt, first.start, first.record) == (FIRST, 0, None, None)
    assert (len(first.trials), first.outcome, first.result) == (0, None, None)
    assert (second.key, second.attempt, second.outcome) == (SECOND, 1, Outcome.PASS)
    assert [one.index for one in second.trials] == [1, 2, 3]


def test_only_the_last_attempt_at_a_case_is_seen(tmp_path: Path) -> None:
    folder = lay_down(
        tmp_path,
        *(case_start(FIRST), trial_line(FIRST, 1, lost=5)),
        *(RESUME, case_start(FIRST, 2), trial_line(FIRST, 1), case_record(FIRST), run_end()),
    )
    case = next(views(folder))
    assert (case.attempt, case.start) == (2, case_start(FIRST, 2))
    assert list(case.trials) == [trial(1)]
    assert open_run(folder).resumes == (RESUME,)


def test_what_was_made_before_a_part_died_is_told_from_what_stands(tmp_path: Path) -> None:
    """Each deployment begins with a look at the path, which is repeated where none came through."""
    look: dict[str, Any] = {"purpose": Purpose.PATH_CHECK}
    drawn: dict[str, Any] = {"deployment": 2}
    first, again = (trial(1, **look), trial(2)), (trial(3, **look), trial(4, **look), trial(5))
    further = (trial(6, **look, **drawn), trial(7, purpose=Purpose.DRAW, **drawn))

    def read(*made: Trial) -> CaseView:
        lines = (TrialLine(case=FIRST, trial=one) for one in made)
        folder = lay_down(tmp_path, case_start(FIRST), *lines, case_record(FIRST), run_end())
        found = next(views(folder))
        shutil.rmtree(folder)
        return replace(found, trials=tuple(made))

    assert read(*first, *again, *further).died == 2
    assert read(*first, *again, *further).standing_trials == (*again, *further)
    assert read(*first, *further).died == read(trial(1), trial(2)).died == read().died == 0


def test_so_it_is_of_exchanges_by_how_many_the_answer_is_from() -> None:
    made = tuple(exchange(index=number) for number in range(1, 6))
    found = replace(view_of(planned(), case_record(FIRST, trials=2)), exchanges=made)
    assert (found.died, found.standing_exchanges) == (3, made[3:])
    failed = replace(found, record=case_record(FIRST, result=None, trials=5))
    assert (failed.died, failed.standing_exchanges) == (0, made)
    assert replace(found, record=None).died == 0


def test_rounds_count_from_the_first_again_where_a_part_died() -> None:
    made = tuple(round_of(index=index) for index in (1, 2, 3, 1, 2))
    found = replace(view_of(planned()), rounds=made)
    assert (found.died, list(found.standing_trials)) == (3, [])
    assert replace(found, rounds=made[3:]).died == 0


def test_seconds_are_those_of_the_trial_that_was_made_last() -> None:
    ends = [1, 2, 3, 1, 2]
    found = replace(view_of(planned()), seconds=[second_line(FIRST, n).second for n in ends])
    assert [one.sample.elapsed_ns // 10**9 for one in found.standing_seconds] == [1, 2]


@pytest.mark.parametrize("outcome", [None, Outcome.ERROR, Outcome.INVALID, Outcome.PASS])
def test_a_case_says_which_sizes_beside_its_own_came_to_no_number(
    tmp_path: Path, outcome: Outcome | None
) -> None:
    """It was held against standards when it was over, by what was still to be measured."""
    stands = tuple(
        Compliance(standard=one, level=level, deviations=())
        for one, level in (
            (Standard.RFC2544, Level.UNCONDITIONAL),
            (Standard.RFC8219, Level.NOT),
            (Standard.TST009, Level.UNCONDITIONAL),
        )
    )
    lines: list[Line] = [case_start(FIRST), case_record(FIRST, compliance=stands)]
    if outcome is not None:
        lines += [case_start(SECOND), case_record(SECOND, outcome=outcome, compliance=())]
    first = next(views(lay_down(tmp_path, *lines)))
    assert first.record is not None
    if outcome is Outcome.PASS:
        assert first.record.compliance == stands
        return
    rfc2544, *others = first.record.compliance
    assert (rfc2544.level, others) == (Level.CONDITIONAL, list(stands[1:]))
    assert rfc2544.deviations == ("frame sizes without a number in this run: 128",)


def test_what_one_switch_came_to_is_no_number_of_another_one(tmp_path: Path) -> None:
    stands = (Compliance(standard=Standard.RFC2544, level=Level.UNCONDITIONAL, deviations=()),)
    cases = [
        planned(
            number, key=f"{switch}-{number}", point={**planned(number).point, "vswitch": switch}
        )
        for switch in ("ovs", "vpp")
        for number in (1, 2)
    ]
    lines: list[Line] = [header(RUN).model_copy(update={"cases": tuple(cases)})]
    for one in cases:
        told = Outcome.INVALID if one.key == "vpp-1" else Outcome.PASS
        kept = stands if told is Outcome.PASS else ()
        lines += [case_start(one.key), case_record(one.key, outcome=told, compliance=kept)]
    records = {one.key: one.record for one in views(store(tmp_path, RUN, lines))}
    ovs, vpp = records["ovs-2"], records["vpp-2"]
    assert ovs is not None
    assert vpp is not None
    assert ovs.compliance == stands
    assert vpp.compliance[0].deviations == ("frame sizes without a number in this run: 64",)


def test_a_skipped_case_is_over_without_having_begun(tmp_path: Path) -> None:
    skipped = case_record(FIRST, outcome=Outcome.SKIP, result=None)
    case = next(views(lay_down(tmp_path, skipped)))
    assert (case.start, case.record, case.attempt) == (None, skipped, 1)


def test_an_interrupted_case_has_its_trials_and_no_outcome(tmp_path: Path) -> None:
    folder = lay_down(tmp_path, case_start(FIRST), trial_line(FIRST), tail=b'{"type":"tri')
    run = open_run(folder)
    case = next(run.cases())
    assert (run.state, run.torn) == (RunState.INTERRUPTED, True)
    assert (len(case.trials), case.outcome) == (1, None)


def test_lines_of_cases_that_alternate_are_told_apart(tmp_path: Path) -> None:
    folder = lay_down(
        tmp_path,
        *(case_start(FIRST), case_start(SECOND), trial_line(FIRST, 1), trial_line(SECOND, 7)),
        trial_line(FIRST, 2),
    )
    seen = [[one.index for one in case.trials] for case in views(folder)]
    assert seen == [[1, 2], [7]]


def test_lines_that_were_written_in_another_manner_are_read_all_the_same(tmp_path: Path) -> None:
    folder = store(tmp_path, RUN, finished(header(RUN)))
    expected = [(case.record, tuple(case.trials)) for case in views(folder)]
    path = folder / RECORDS
    turned = [
        json.dumps(dict(reversed(json.loads(line).items())), indent=None)
        for line in path.read_text().splitlines()
    ]
    path.write_text("\n".join(turned) + "\n")
    assert [(case.record, tuple(case.trials)) for case in views(folder)] == expected


def test_trials_that_nobody_looks_at_are_not_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = store(tmp_path, RUN, finished(header(RUN)))
    run = open_run(folder)

    def refuse(*_: object) -> None:
        raise AssertionError("a trial was read")

    monkeypatch.setattr(view.RecordFile, "trials_of", refuse)
    assert [(case.outcome, len(case.trials)) for case in run.cases()] == [(Outcome.PASS, 3)] * 2


def test_trials_of_one_case_only_are_held(tmp_path: Path) -> None:
    first, second = views(store(tmp_path, RUN, finished(header(RUN))))
    once = first.trials[0]
    assert first.trials[0] is once
    assert second.trials[-1].index == 3
    assert first.trials[0] is not once
    assert first.trials[0] == once


def test_seconds_are_read_one_after_the_other_and_anew_each_time(tmp_path: Path) -> None:
    folder = lay_down(
        tmp_path,
        *(case_start(FIRST), second_line(FIRST, 1)),
        *(case_start(FIRST, 2), second_line(FIRST, 2), second_line(FIRST, 3), trial_line(FIRST)),
    )
    first, second = views(folder)
    seen = [one.sample.elapsed_ns // 10**9 for one in first.seconds]
    assert (seen, len(first.seconds), len(first.trials)) == ([2, 3], 2, 1)
    assert next(iter(first.seconds)) in first.seconds
    assert list(second.seconds) == []


def test_a_trial_that_is_looked_at_is_validated(tmp_path: Path) -> None:
    bad = trial_line(FIRST).model_copy(
        update={"trial": Trial.model_construct(**{**dict(trial()), "load_fps": "fast"})}
    )
    folder = lay_down(tmp_path, case_start(FIRST), trial_line(FIRST))
    with (folder / RECORDS).open("ab") as file:
        file.write(LINE.dump_json(bad, warnings=False) + b"\n" + LINE.dump_json(run_end()) + b"\n")
    case = next(views(folder))
    assert len(case.trials) == 2
    with pytest.raises(StoreError, match="cannot be read") as caught:
        list(case.trials)
    (problem,) = caught.value.problems
    assert (problem.where, "load_fps" in str(problem.why)) == (place(folder, 4), True)


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        ([trial_line(FIRST)], "which is not running"),
        ([case_start("other")], "which the header does not announce"),
        ([header(RUN)], "a second header"),
    ],
)
def test_an_order_that_no_run_can_have_written_is_refused(
    tmp_path: Path, lines: list[Line], expected: str
) -> None:
    with pytest.raises(StoreError, match="contradict") as caught:
        open_run(lay_down(tmp_path, *lines, run_end()))
    assert expected in str(caught.value.problems[0].why)


def test_junk_between_lines_is_refused_with_its_place(tmp_path: Path) -> None:
    folder = lay_down(tmp_path, case_start(FIRST), tail=b"junk\n" + LINE.dump_json(RESUME) + b"\n")
    with pytest.raises(StoreError, match="cannot be read") as caught:
        open_run(folder)
    assert caught.value.problems[0].where == place(folder, 3)


def test_a_run_that_was_killed_at_birth_is_refused(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="holds no measurement"):
        list(views(store(tmp_path, RUN, [])))


def test_runs_are_found_by_all_that_names_them_and_each_once(tmp_path: Path) -> None:
    one = store(tmp_path, RUN, finished(header(RUN)))
    other = store(tmp_path, "2026-11-21-pvp_tput-bbbb", finished(header()))
    assert find_runs(tmp_path, ["bbbb", RUN, "k7f3", str(one)]) == (other, one)
    with pytest.raises(UsageError, match="there is no run"):
        find_runs(tmp_path, ["nothing"])


def test_a_view_of_a_test_needs_no_file(tmp_path: Path) -> None:
    head = header(RUN)
    case = CaseView(tmp_path, head, head.cases[0], trials=(trial(),))
    assert (case.run, case.testcase, case.asked.frame_bytes, case.asked.flows) == (
        RUN,
        "phy2phy_tput",
        64,
        4096,
    )
    assert (case.asked.tags, case.simulated) == (("throughput", "smoke"), True)


@pytest.mark.parametrize("kind", [["trial"], {"a": 1}, None, 7])
def test_a_line_of_no_type_that_there_is_is_a_plain_error(tmp_path: Path, kind: object) -> None:
    folder = lay_down(tmp_path)
    with (folder / RECORDS).open("a") as file:
        file.write(json.dumps({"case": "x", "type": kind}) + "\n{}\n")
    with pytest.raises(StoreError):
        list(open_run(folder).cases())
