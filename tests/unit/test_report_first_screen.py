"""What somebody reads first: three questions, numbers of one trial, and lines that open."""

from __future__ import annotations

from pathlib import Path

import pytest
from record_samples import (
    case_record,
    case_start,
    goal_result,
    header,
    planned,
    run_end,
    trial,
    view_of,
)
from report_pages import html_of, markdown_of, overview_of, whole_case
from stored_runs import RUN, finished, store, store_finished

from vsperf.analysis.summary import CaseRow
from vsperf.cli.main import run_cli
from vsperf.errors import ExitCode
from vsperf.output.case_tables import gigabits
from vsperf.output.report.account import telling
from vsperf.output.report.write import FEW
from vsperf.records.flags import Flag
from vsperf.records.histogram import encode
from vsperf.records.result import (
    CleanResult,
    Compliance,
    Level,
    Limit,
    LoadResult,
    SearchResult,
    Standard,
)
from vsperf.records.run import Line, Outcome, RunHeader, TrialLine
from vsperf.records.trial import Purpose, Trial

UNBOUNDED = goal_result().model_copy(update={"upper_fps": None})
OUT_OF_BUDGET = f"{Flag.OUT_OF_BUDGET.gist[:1].lower()}{Flag.OUT_OF_BUDGET.gist[1:]}"


def whole(cases: int = 1, **changes: object) -> RunHeader:
    planned = tuple(whole_case(number) for number in range(1, cases + 1))
    return header().model_copy(update={"cases": planned, "simulated": False, **changes})


def brief_of(folder: Path) -> dict[str, str]:
    return {one.question: one.answer for one in overview_of([folder]).brief}


def ended(head: RunHeader, **changes: object) -> list[Line]:
    found: list[Line] = [head]
    for case in head.cases:
        made = TrialLine(case=case.key, trial=trial(1, load_fps=8_000_000))
        found += [case_start(case.key), made, case_record(case.key, **changes)]
    return [*found, run_end()]


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({}, "Yes: nothing speaks against them."),
        (
            {"flags": (Flag.SPORADIC_LOSS,)},
            "Yes: nothing speaks against them, and 1 note is below.",
        ),
        (
            {"warnings": ("the rings are small. Make them larger",)},
            "With reservations: there is a warning: the rings are small.",
        ),
        (
            {"warnings": ("the rings are small. Make them larger", "the link is slow")},
            "With reservations: there are 2 warnings, the first: the rings are small.",
        ),
        (
            {"flags": (Flag.UNSTABLE,)},
            "With reservations: in each case there is a doubt: equal trials at one load disagreed: "
            "some passed, some failed.",
        ),
        (
            {"limit": Limit.GENERATOR, "result": SearchResult(goals=(UNBOUNDED,))},
            "With reservations: in each case the number is a lower bound only, since it was not "
            "the switch that set it.",
        ),
        (
            {"limit": Limit.GENERATOR},
            "With reservations: in each case the upper end need not be the switch's, which may do "
            "more.",
        ),
        (
            {"limit": Limit.BUDGET, "flags": (Flag.OUT_OF_BUDGET,)},
            f"With reservations: in each case there is a doubt: {OUT_OF_BUDGET}.",
        ),
        (
            {"flags": (Flag.EMULATED,)},
            "No, not as a speed: it shows that frames pass, and nothing of how fast.",
        ),
    ],
)
def test_whether_numbers_can_be_trusted_is_said_in_a_line(
    tmp_path: Path, changes: dict[str, object], said: str
) -> None:
    folder = store(tmp_path, RUN, ended(whole(2), **changes))
    assert brief_of(folder)["Can it be trusted?"] == said


def test_numbers_of_a_model_are_not_to_be_trusted(tmp_path: Path) -> None:
    folder = store(tmp_path, RUN, ended(whole(simulated=True)))
    assert brief_of(folder)["Can it be trusted?"].startswith("No, not as numbers of a switch")


@pytest.mark.parametrize(
    ("cases", "outcome", "said"),
    [
        (1, Outcome.INVALID, "No case has a result."),
        (2, Outcome.ERROR, "No case has a result; 2 ERROR."),
        (1, Outcome.PASS, "The case has a result; no target was set"),
        (2, Outcome.PASS, "2 of 2 cases have a result; no target was set"),
    ],
)
def test_a_case_without_a_number_has_no_result(
    tmp_path: Path, cases: int, outcome: Outcome, said: str
) -> None:
    folder = store(tmp_path, RUN, ended(whole(cases), outcome=outcome, checks=()))
    assert overview_of([folder]).verdict.text.startswith(said)


def test_a_standard_is_met_as_far_as_by_the_case_that_meets_it_least(tmp_path: Path) -> None:
    head = whole(2)
    lines = ended(head)
    for place, level in ((3, Level.UNCONDITIONAL), (6, Level.NOT)):
        record = lines[place]
        met = Compliance(standard=Standard.RFC9971, level=Level.UNCONDITIONAL)
        mixed = Compliance(standard=Standard.RFC2544, level=level)
        lines[place] = record.model_copy(update={"compliance": (met, mixed)})
    said = brief_of(store(tmp_path, RUN, lines))["By which standard?"]
    assert said == "It complies with RFC 9971; does not comply with RFC 2544."


def test_a_standard_is_not_said_to_be_met_by_cases_that_were_not_held_against_it(
    tmp_path: Path,
) -> None:
    lines = ended(whole(2))
    met = Compliance(standard=Standard.RFC9971, level=Level.UNCONDITIONAL)
    for place, held in ((3, (met,)), (6, ())):
        lines[place] = lines[place].model_copy(update={"compliance": held})
    said = brief_of(store(tmp_path, RUN, lines))["By which standard?"]
    assert said == "It complies with RFC 9971. Only 1 of 2 cases was held against RFC 9971."


def test_frame_sizes_are_told_from_the_smallest_to_the_largest_in_whatever_order_they_came(
    tmp_path: Path,
) -> None:
    head = whole(4)
    head = head.model_copy(update={"cases": tuple(head.cases[n] for n in (3, 0, 2, 1))})
    overview = overview_of([store(tmp_path, RUN, ended(head))])
    assert "4 frame sizes from 64B to 512B" in overview.brief[0].answer
    (frames,) = (fact.value for fact in overview.facts if fact.name == "frames")
    assert frames == "64B, 128B, 256B, 512B"


def test_latency_is_told_at_the_middle_one_of_its_loads_in_whatever_order_they_came() -> None:
    def at(share: int) -> Trial:
        way = trial().directions[0].model_copy(update={"latency_histogram": encode([share * 100])})
        return trial(
            load_fps=share * 80_000,
            directions=(way,),
            purpose=Purpose.LATENCY,
            reference=f"{share}% of ndr",
        )

    record = case_record("mine", result=SearchResult(goals=(goal_result(),)))
    row = CaseRow.of(view_of(planned(), record, [at(90), at(10), at(50)]))
    assert [one.at for one in row.latency] == ["10% of ndr", "50% of ndr", "90% of ndr"]
    assert row.middle_latency is not None
    assert row.middle_latency.at == "50% of ndr"


def test_one_is_counted_as_people_count(tmp_path: Path) -> None:
    lines = ended(whole(2), trials=1)
    lines[6] = lines[6].model_copy(update={"outcome": Outcome.ERROR, "trials": 0})
    page = overview_of([store(tmp_path, RUN, lines)])
    assert page.verdict.text.startswith("1 of 2 cases has a result")
    assert "; 1 trial in " in {fact.name: fact.value for fact in page.facts}["when"]


@pytest.mark.parametrize(
    ("started_at", "shown"),
    [
        ("2026-11-20T23:59:59.750+00:00", "2026-11-20 23:59:59 UTC"),
        ("2026-11-20T20:00:00-05:00", "2026-11-21 01:00:00 UTC"),
        ("at noon", "at noon"),
    ],
)
def test_moments_are_told_in_utc(tmp_path: Path, started_at: str, shown: str) -> None:
    page = overview_of([store(tmp_path, RUN, ended(whole(started_at=started_at)))])
    assert {fact.name: fact.value for fact in page.facts}["when"].startswith(f"{shown}; ")


def test_the_sentence_the_account_and_the_drawing_tell_of_one_trial() -> None:
    made = [
        trial(1, load_fps=8_000_000),
        trial(2, lost=900_000, load_fps=8_040_000),
        trial(3, lost=7, load_fps=8_040_000),
        trial(4, lost=5_000, load_fps=8_040_000),
        trial(5, lost=1, load_fps=8_040_000, purpose=Purpose.LATENCY),
    ]
    found = telling(SearchResult(goals=(goal_result(),)), made)
    assert found is not None
    assert found.name == "trial #3, at 8.040 Mfps, where ndr ends"


def test_a_load_below_those_of_the_search_is_none_of_it() -> None:
    """Where latency was measured a lower one may have lost frames, too."""
    made = [
        trial(1, lost=9, load_fps=9_000_000),
        trial(2, lost=7, load_fps=8_000_000),
        trial(3, lost=5, load_fps=4_000_000, purpose=Purpose.LATENCY),
    ]
    found = telling(SearchResult(), made)
    assert found is not None
    assert found.name == "trial #2, at 8.000 Mfps, the lowest load of the search that lost frames"


def test_a_card_names_the_trial_that_its_sentence_is_of(tmp_path: Path) -> None:
    head = whole()
    key = head.cases[0].key
    made = (trial(1, load_fps=8_000_000), trial(2, lost=7, load_fps=8_040_000))
    lines: list[Line] = [head, case_start(key)]
    lines += [TrialLine(case=key, trial=one) for one in made]
    folder = store(tmp_path, RUN, [*lines, case_record(key), run_end()])
    assert overview_of([folder]).answers[0].plain.endswith("That is trial #2.")
    assert "trial #2, at 8.040 Mfps, where ndr ends" in html_of(folder)


def test_what_clean_time_says_stands_beside_the_number_and_below_it_in_the_table(
    tmp_path: Path,
) -> None:
    clean = CleanResult(
        share="3/4", lower_fps=8_200_000, upper_fps=8_280_000, limit=Limit.DUT, reason="lost"
    )
    goal = goal_result().model_copy(update={"limit": Limit.HOST, "clean": clean})
    folder = store(tmp_path, RUN, ended(whole(2), result=SearchResult(goals=(goal,))))
    page = overview_of([folder])
    row = dict(zip(page.results.names, page.results.texts[0], strict=True))
    assert row["NDR"].splitlines() == ["8.000 … 8.040 Mfps", "clean 8.200 … 8.280 Mfps"]
    assert row["limit"].splitlines() == ["host", "dut"]
    assert row["clean"] == "75.0%"
    assert page.answers[0].clean == "8.200 … 8.280 Mfps in clean time (75.0%)"
    assert html_of(folder).count(page.answers[0].clean) == 2, "in each answer of the first screen"
    assert page.answers[0].clean in markdown_of(folder)


def test_why_clean_time_says_nothing_stands_beside_the_number(tmp_path: Path) -> None:
    clean = CleanResult(share="1/4", reason="only 25% of the time was clean")
    result = SearchResult(goals=(goal_result().model_copy(update={"clean": clean}),))
    folder = store(tmp_path, RUN, ended(whole(2), result=result))
    page = overview_of([folder])
    assert page.answers[0].clean == ""
    assert not any("clean" in concern.doubt.title for concern in page.concerns)
    assert "no answer: only 25% of the time was clean" in html_of(folder)


@pytest.mark.parametrize(("cases", "folded"), [(1, False), (FEW, False), (FEW + 1, True)])
def test_many_cases_are_lines_that_open(tmp_path: Path, cases: int, folded: bool) -> None:
    text = html_of(store(tmp_path, RUN, finished(whole(cases))))
    assert text.count('<details class="whole">') == (cases if folded else 0)
    assert text.count("NDR 8.000 … 8.040 Mfps · limited by the switch") == cases


def test_words_of_the_table_are_explained(tmp_path: Path) -> None:
    page = overview_of([store(tmp_path, RUN, finished(whole(2)))])
    known = {word.name for word in page.words}
    assert {"NDR", "limit", "outcome", "load"} <= known


@pytest.mark.parametrize(("lost", "mark"), [(0, ""), (7, "*")])
def test_latency_at_a_load_that_lost_frames_is_marked(
    tmp_path: Path, lost: int, mark: str, capsys: pytest.CaptureFixture[str]
) -> None:
    head = whole()
    key = head.cases[0].key
    ways = trial(2, lost=lost).directions
    timed = [way.model_copy(update={"latency_histogram": encode([5_000] * 9)}) for way in ways]
    latency = trial(
        2, load_fps=4_000_000, directions=tuple(timed), purpose=Purpose.LATENCY,
        reference="50% of ndr",
    )  # fmt: skip
    lines: list[Line] = [head, case_start(key)]
    lines += [TrialLine(case=key, trial=one) for one in (trial(1, load_fps=8_000_000), latency)]
    folder = store(tmp_path, RUN, [*lines, case_record(key), run_end()])
    page = overview_of([folder])
    cells = dict(zip(page.results.names, page.results.texts[0], strict=True))
    assert cells["p50"].endswith("µs" + mark)
    assert ("* frames were lost at that load" in " ".join(page.legend)) is bool(lost)
    assert ("7: latency is of those that arrived" in html_of(folder)) is bool(lost)
    assert ("50% of ndr, 4.000 Mfps, frames lost" in html_of(folder)) is bool(lost)
    assert run_cli(["show", RUN, key, "--results", str(folder.parent)]) == ExitCode.OK
    shown = capsys.readouterr().out
    assert "latency at 50% of ndr: p50 " in shown
    assert ("; 7 frames were lost: latency is of those that arrived" in shown) is bool(lost)


@pytest.mark.parametrize(
    ("outages_ns", "value"),
    [((40_000_000, 120_000_000), "120.0 ms"), ((40_000_000, None), "frames did not come back")],
)
def test_where_something_was_done_to_the_switch_the_answer_is_how_long_frames_stayed_away(
    tmp_path: Path, outages_ns: tuple[int | None, ...], value: str
) -> None:
    load = LoadResult(
        load_fps=1_000_000, trials=2, passed=0, worst_loss_ratio="1/10", throughput_fps=900_000,
        limit=Limit.DUT, reason="frames stayed away", outages_ns=outages_ns,
    )  # fmt: skip
    lines = ended(whole(), result=SearchResult(loads=(load,)))
    (answer,) = overview_of([store(tmp_path, RUN, lines)]).answers
    assert answer.value == value
    assert ("came through, per direction", "900.0 kfps") in [
        (fact.name, fact.value) for fact in answer.facts
    ]


@pytest.mark.parametrize(
    ("bps", "text"), [(0, "0.000"), (999_999, "< 0.001"), (1_000_000, "0.001"), (10**10, "10.000")]
)
def test_a_rate_that_is_too_little_for_the_digits_is_not_called_0(bps: int, text: str) -> None:
    assert gigabits(bps) == text


# `vsperf report` and `vsperf run --report`, as they are typed.


def test_a_report_is_written_where_it_is_wanted_and_says_how_it_came_out(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    store_finished(tmp_path)
    target = tmp_path / "page.html"
    assert run_cli(["report", "k7f3", "--results", str(tmp_path), "-o", str(target)]) == ExitCode.OK
    assert RUN in target.read_text()
    assert f"report: {target} (PASS, SIMULATED; " in capsys.readouterr().err


def test_markdown_goes_to_a_pipe(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    store_finished(tmp_path)
    argv = ["report", "k7f3", "--results", str(tmp_path), "--format", "md", "-o", "-"]
    assert run_cli(argv) == ExitCode.OK
    assert capsys.readouterr().out.startswith("## PASS: ")


def test_a_run_whose_report_has_no_format_is_refused_before_it_begins(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    argv = ["run", "--report", "phy2phy_smoke", "--testbed", "sim", "--results", str(tmp_path)]
    assert run_cli(argv) == ExitCode.BAD_INPUT
    assert "does not say what the report is to be" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_a_run_writes_its_report_beside_its_records(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    argv = ["run", "phy2phy_smoke", "--testbed", "sim", "--results", str(tmp_path), "--report"]
    assert run_cli([*argv, "--progress", "quiet"]) == ExitCode.OK
    assert "SIMULATED" in (tmp_path / "latest" / "report.html").read_text()
