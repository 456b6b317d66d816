"""Reports: what the first screen says, what each case says, and runs that went wrong."""

from __future__ import annotations

import os
import re
from io import BytesIO
from pathlib import Path

import pytest
from all_wrong import hold_each, none_wrong, relative
from exchanges import exchange
from record_samples import (
    case_lines,
    case_record,
    case_start,
    goal_result,
    header,
    run_end,
    run_lines,
    trial,
    trial_line,
)
from report_pages import html_of, markdown_of, overview_of, read, whole_case
from stored_runs import RUN, finished, store

from vsperf.errors import NotReadyError, RecordingError, UsageError
from vsperf.output.report import target
from vsperf.output.report.environment import Differences
from vsperf.output.report.form import Form, form_of
from vsperf.output.report.page import Fact, Told
from vsperf.output.report.pictures import Pictures
from vsperf.output.report.target import write_report
from vsperf.output.report.templates import unparted
from vsperf.output.report.write import MANY
from vsperf.output.table import Cell, markdown_table
from vsperf.quantities.unit import Unit
from vsperf.records.files.view import open_run
from vsperf.records.flags import Flag
from vsperf.records.host import Conditions
from vsperf.records.meaning import how_far
from vsperf.records.result import (
    Axis,
    Compliance,
    Curve,
    Level,
    Limit,
    SearchResult,
    Standard,
)
from vsperf.records.run import Check, ExchangeLine, Line, Outcome, RunHeader, TrialLine

GOLDEN = Path(__file__).parent.parent / "golden" / "records"


def whole(cases: int = 2, **changes: object) -> RunHeader:
    """The header of a run whose specifications are whole."""
    planned = tuple(whole_case(number) for number in range(1, cases + 1))
    return header().model_copy(update={"cases": planned, **changes})


def ended(head: RunHeader, **changes: object) -> list[Line]:
    """A run of one case that ended in a certain way."""
    key = head.cases[0].key
    return [head, case_start(key), trial_line(key), case_record(key, **changes), run_end()]


def test_the_first_screen_says_what_was_measured_and_how_it_came_out(tmp_path: Path) -> None:
    page = overview_of([store(tmp_path, RUN, finished(whole()))])
    assert page.title == "Throughput from port to port"
    assert page.verdict.word == "PASS"
    assert [(one.name, one.value) for one in page.answers] == [
        ("64B: NDR", "8.000 … 8.040 Mfps"),
        ("128B: NDR", "8.000 … 8.040 Mfps"),
    ]
    facts = {fact.name: fact.value for fact in page.facts}
    assert facts["frames"] == "64B, 128B"
    assert facts["testbed"] == "sim; preset quick"
    assert [row[0] for row in page.results.texts] == ["64B", "128B"]


@pytest.mark.parametrize(
    ("changes", "word", "said"),
    [
        ({"checks": ()}, "MEASURED", "no target was set"),
        ({"flags": (Flag.SPORADIC_LOSS,)}, "PASS", "1 met"),
        ({"flags": (Flag.UNSTABLE,)}, "PASS, WITH DOUBTS", "Doubts: each case"),
        (
            {"flags": (Flag.EMULATED,), "checks": ()},
            "MEASURED, WITH DOUBTS",
            "FUNCTIONAL ONLY: it shows that frames pass, and says nothing of how fast.",
        ),
    ],
)
def test_what_is_suspect_is_in_the_verdict(
    tmp_path: Path, changes: dict[str, object], word: str, said: str
) -> None:
    page = overview_of([store(tmp_path, RUN, ended(whole(cases=1), **changes))])
    assert page.verdict.word == word
    assert said in page.verdict.text


@pytest.mark.parametrize(
    ("losses", "said"),
    [
        ((0, 0), ("highest load without loss, per direction", "")),
        (
            (0, 5_000, 0, 20_000),
            (
                "highest load that half of the trials passed (2 of 4) without loss, per direction",
                "Of the trials at the lower bound, 2 of 4 lost none, the worst lost 2%.",
            ),
        ),
        (
            (0, 5_000, 0),
            (
                "highest load that mostly passed (2 of 3 trials) without loss, per direction",
                "Of the trials at the lower bound, 2 of 3 lost none, the worst lost 0.5%.",
            ),
        ),
        (
            (0, 5_000, 5_000),
            (
                "highest load that 1 of 3 trials passed without loss, per direction",
                "Of the trials at the lower bound, 1 of 3 lost none, the worst lost 0.5%.",
            ),
        ),
    ],
)
def test_a_load_that_passed_most_of_the_time_is_not_called_lossless(
    tmp_path: Path, losses: tuple[int, ...], said: tuple[str, str]
) -> None:
    head = whole(cases=1)
    key = head.cases[0].key
    made = [
        TrialLine(case=key, trial=trial(number, lost, load_fps=8_000_000))
        for number, lost in enumerate(losses, start=1)
    ]
    page = overview_of(
        [store(tmp_path, RUN, [head, case_start(key), *made, case_record(key), run_end()])]
    )
    assert (page.answers[0].meaning, page.answers[0].remark) == said


@pytest.mark.parametrize(("losses", "of_which"), [((0, 0), ""), ((0, 9), " of phy2phy_tput-64B")])
def test_that_no_frame_was_lost_is_said_of_those_cases_only_of_which_it_is_true(
    tmp_path: Path, losses: tuple[int, int], of_which: str
) -> None:
    head = whole(cases=2)
    lines: list[Line] = [head]
    for planned, lost in zip(head.cases, losses, strict=True):
        key = planned.key
        made = TrialLine(case=key, trial=trial(1, lost, load_fps=8_000_000))
        lines += [case_start(key), made, case_record(key)]
    page = overview_of([store(tmp_path, RUN, [*lines, run_end()])])
    (said,) = [line for line in page.legend if line.startswith("no frame lost")]
    assert said.startswith(f"no frame lost at a lower bound{of_which}: of ")


@pytest.mark.parametrize(
    ("lost", "of_which"),
    [
        (((0, 0), (0, 0)), ""),
        (((0, 9), (0, 9)), " of NDR"),
        (((9, 0), (9, 0)), " of PDR"),
        (((0, 9), (9, 9)), " of phy2phy_tput-64B (NDR)"),
        (((0, 0), (0, 9)), " of phy2phy_tput-64B, phy2phy_tput-128B (NDR)"),
    ],
)
def test_it_is_said_of_those_goals_only_of_which_it_is_true(
    tmp_path: Path, lost: tuple[tuple[int, int], ...], of_which: str
) -> None:
    head = whole(cases=2)
    ndr = goal_result()
    pdr = ndr.model_copy(update={"goal": "pdr", "loss_ratio": "1/200", "lower_fps": 9_000_000})
    lines: list[Line] = [head]
    for planned, each in zip(head.cases, lost, strict=True):
        key = planned.key
        lines.append(case_start(key))
        for number, (goal, some) in enumerate(zip((ndr, pdr), each, strict=True), start=1):
            assert goal.lower_fps is not None
            made = trial(number, some, load_fps=goal.lower_fps)
            lines.append(TrialLine(case=key, trial=made))
        lines.append(case_record(key, result=SearchResult(goals=(ndr, pdr))))
    page = overview_of([store(tmp_path, RUN, [*lines, run_end()])])
    (said,) = [line for line in page.legend if line.startswith("no frame lost")]
    assert said.startswith(f"no frame lost at a lower bound{of_which}: of ")


def test_of_repeats_it_is_said_how_many_they_are(tmp_path: Path) -> None:
    """They are called the same, so a name would be that of one which lost frames, too."""
    (first,) = whole(cases=1).cases
    cases = tuple(
        first.model_copy(update={"repeat": number, "key": f"{first.key}.{number}"})
        for number in (1, 2, 3)
    )
    head = whole(cases=1).model_copy(update={"cases": cases})
    lines: list[Line] = [head]
    for planned, lost in zip(cases, (0, 9, 0), strict=True):
        made = TrialLine(case=planned.key, trial=trial(1, lost, load_fps=8_000_000))
        lines += [case_start(planned.key), made, case_record(planned.key)]
    page = overview_of([store(tmp_path, RUN, [*lines, run_end()])])
    (said,) = [line for line in page.legend if line.startswith("no frame lost")]
    assert said.startswith("no frame lost at a lower bound of NDR in 2 of 3 cases: of ")


def test_every_link_leads_to_a_place_on_the_page(tmp_path: Path) -> None:
    page = read(store(tmp_path, RUN, finished(whole(7))))
    assert page.links
    assert all(link.startswith("#") and link[1:] in page.ids for link in page.links)
    assert len(page.ids) == len(set(page.ids))


def test_nothing_on_the_page_runs_or_is_fetched(tmp_path: Path) -> None:
    text = html_of(store(tmp_path, RUN, finished(whole())))
    page = read(tmp_path / RUN)
    assert page.tags.isdisjoint({"script", "iframe", "object", "embed", "img", "form", "base"})
    assert page.handlers == []
    assert "url(http" not in text
    assert "default-src 'none'" in text


def test_a_simulated_run_says_so_on_the_page_each_case_and_each_figure(tmp_path: Path) -> None:
    folder = store(tmp_path, RUN, finished(whole(3)))
    page = overview_of([folder])
    assert page.simulated
    assert page.pictures
    assert all("SIMULATED" in picture.svg for picture in page.pictures)
    cases = html_of(folder).split('<section class="case"')[1:]
    assert len(cases) == 3
    assert all("SIMULATED" in case for case in cases)
    assert "SIMULATED" in markdown_of(folder)


def test_a_real_run_does_not_say_simulated(tmp_path: Path) -> None:
    folder = store(tmp_path, RUN, finished(whole(simulated=False)))
    assert "SIMULATED" not in html_of(folder)
    assert "SIMULATED" not in markdown_of(folder)


@pytest.mark.parametrize(
    ("outcome", "word"),
    [
        (Outcome.FAIL, "FAIL"),
        (Outcome.INVALID, "INVALID"),
        (Outcome.ERROR, "ERROR"),
        (Outcome.ABORTED, "INCOMPLETE"),
        (Outcome.SKIP, "SKIPPED"),
    ],
)
def test_a_case_that_went_wrong_is_the_verdict(tmp_path: Path, outcome: Outcome, word: str) -> None:
    lines = ended(whole(1), outcome=outcome, reason="of a certain kind", result=None, limit=None)
    folder = store(tmp_path, RUN, lines)
    page = overview_of([folder])
    assert page.verdict.word == word
    assert page.concerns[1].doubt.word == outcome.value
    assert "of a certain kind" in read(folder).words


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("or --repeat.", 'or <span class="name-of">--repeat.</span>'),
        ("<code>short-offer</code>", '<code><span class="name-of">short-offer</span></code>'),
        ("5 Gbit/s", '5 <span class="name-of">Gbit/s</span>'),
        (
            "testbeds/our/of_the_laboratory/dut-1.yaml",
            '<span class="name-of">testbeds/</span><wbr>'
            '<span class="name-of">our/</span><wbr><span class="name-of">of_</span><wbr>'
            '<span class="name-of">the_</span><wbr><span class="name-of">laboratory/</span><wbr>'
            '<span class="name-of">dut-1.yaml</span>',
        ),
        ("a plain word, a dash - and -", "a plain word, a dash - and -"),
        ('<p title="two-fold">x</p>', '<p title="two-fold">x</p>'),
        ("<style>a-b</style><svg><text>c-d</text></svg>",) * 2,
        ("z" * 20 + "-" + "y" * 20,) * 2,
    ],
)
def test_a_name_is_not_parted_within_a_line_of_a_telephone(text: str, shown: str) -> None:
    assert unparted(text) == shown


def test_names_on_a_page_are_not_parted(tmp_path: Path) -> None:
    page = html_of(store(tmp_path, RUN, ended(whole(1), flags=(Flag.SHORT_OFFER,))))
    assert '<code>vsperf explain <span class="name-of">short-offer</span></code>' in page


def test_a_table_that_is_wider_than_the_page_says_so_as_a_figure_does(tmp_path: Path) -> None:
    page = html_of(store(tmp_path, RUN, ended(whole(1))))
    assert '<div class="wide" role="region" aria-labelledby="results"' in page
    (style,) = re.findall(r"<style>.*?</style>", page, re.DOTALL)
    hint = re.findall(r"(\S+)::before{content:\"the (\w+) goes on to the right", style)
    assert hint == [("scroll-state(scrollable:x){div.wide", "table"), *hint[1:]]
    assert [noun for _, noun in hint] == ["table", "figure"]


def test_a_missed_criterion_stands_before_the_numbers(tmp_path: Path) -> None:
    check = Check(criterion="ndr >= 9Mpps", met=False, found="8.000 Mfps")
    lines = ended(whole(1), outcome=Outcome.FAIL, reason="a criterion was missed", checks=(check,))
    words = read(store(tmp_path, RUN, lines)).words
    assert "1 criterion: 1 missed" in words
    assert "MISSED 64B: ndr >= 9Mpps, found 8.000 Mfps" in words


def test_a_setting_in_a_deviation_is_code_and_no_text_between_backticks(tmp_path: Path) -> None:
    deviation = f"{Flag.SHORT_OFFER.value}: {Flag.SHORT_OFFER.gist}"
    word = Compliance(standard=Standard.RFC2544, level=Level.NOT, deviations=(deviation,))
    page = html_of(store(tmp_path, RUN, ended(whole(1), compliance=(word,))))
    (told,) = re.findall(r"<summary>1 deviation</summary>.*?</details>", page, re.DOTALL)
    assert "<code>trial.offered_tolerance</code>" in told
    assert "`" not in told


def test_why_it_is_missed_on_a_machine_too_busy_to_tell_stands_with_the_case(
    tmp_path: Path,
) -> None:
    check = Check(criterion="ndr ≥ 9Mfps (9.000 Mfps)", met=False, found="8.000 Mfps")
    missed = {"outcome": Outcome.FAIL, "checks": (check,), "flags": (Flag.TOO_BUSY,)}
    words = read(store(tmp_path, RUN, ended(whole(1), **missed))).words
    assert "FAIL and not INVALID, busy as the host was: ndr: " in words


def test_that_its_machine_was_too_busy_stands_behind_the_outcome_of_a_case(tmp_path: Path) -> None:
    folder = store(tmp_path, RUN, ended(whole(1), flags=(Flag.TOO_BUSY,)))
    assert [row[-1] for row in overview_of([folder]).results.texts] == ["PASS, host too busy"]
    page = html_of(folder)
    assert '<span class="outcome doubt">PASS, host too busy</span>' in page
    assert 'doubt">PASS, host too busy</td>' in page
    assert "64B: PASS, host too busy" in markdown_of(folder)


def test_a_command_in_a_reason_is_code_and_no_text_between_backticks(tmp_path: Path) -> None:
    why = "nothing came through: `vsperf plan` shows the path"
    lines = ended(whole(1), outcome=Outcome.ERROR, reason=why, result=None, limit=None)
    folder = store(tmp_path, RUN, lines)
    assert '<p class="reason">nothing came through: <code>vsperf plan</code>' in html_of(folder)
    assert "nothing came through: `vsperf plan` shows the path" in markdown_of(folder)


def test_an_interrupted_run_says_how_to_go_on(tmp_path: Path) -> None:
    head = whole(3)
    second = head.cases[1].key
    lines = [head, *case_lines(head.cases[0].key), case_start(second), trial_line(second)]
    folder = store(tmp_path, RUN, lines, tail=b'{"type":"trial"')
    page = overview_of([folder])
    assert page.verdict.word == "INCOMPLETE"
    assert [row[-1] for row in page.results.texts] == ["PASS", "interrupted", "not run"]
    words = read(folder).words
    assert f"vsperf run --resume {RUN}" in words
    assert "cut short after 1 trial:" in words
    assert "was cut off" in words


def test_a_case_of_exchanges_that_was_cut_short_says_how_many_it_made(tmp_path: Path) -> None:
    head = whole(1)
    key = head.cases[0].key
    made = (ExchangeLine(case=key, exchange=exchange(index=number)) for number in (1, 2))
    words = read(store(tmp_path, RUN, [head, case_start(key), *made])).words
    assert "cut short after 2 exchanges:" in words
    assert "Exchanges (all 2)" in words


def test_a_curve_of_one_point_has_one_row(tmp_path: Path) -> None:
    axis = Axis(name="until", unit=Unit.NANOSECONDS)
    curve = Curve(name="losses", x=axis, columns=(axis,), points=((1.0, 2.0),))
    folder = store(tmp_path, RUN, ended(whole(1), result=SearchResult(curves=(curve,))))
    assert "<summary>losses: 1 row</summary>" in html_of(folder)


def test_repeats_are_told_in_markdown_as_on_the_page(tmp_path: Path) -> None:
    (first,) = whole(cases=1).cases
    again = first.model_copy(update={"repeat": 2, "key": f"{first.key}.2"})
    head = whole(cases=1).model_copy(update={"cases": (first, again)})
    folder = store(tmp_path, RUN, finished(head))
    repeats = overview_of([folder]).repeats
    assert repeats is not None
    told = markdown_of(folder).partition("### Repeats")[2].partition("###")[0]
    assert markdown_table(repeats) in told


def test_a_run_without_any_result_has_a_report(tmp_path: Path) -> None:
    page = overview_of([store(tmp_path, RUN, [whole()])])
    assert page.verdict.word == "INCOMPLETE"
    assert page.answers == ()


def test_flags_are_told_in_the_words_of_explain(tmp_path: Path) -> None:
    flags = (Flag.SPORADIC_LOSS, Flag.CHANGED_SINCE)
    lines = ended(whole(1), flags=flags, warnings=("the rings are small. Make them larger",))
    words = read(store(tmp_path, RUN, lines)).words
    assert Flag.CHANGED_SINCE.gist in words
    assert Flag.CHANGED_SINCE.meaning.removeprefix(f"{Flag.CHANGED_SINCE.gist}. ") in words
    assert "vsperf explain changed-since" in words
    assert f"What to do first: {Flag.CHANGED_SINCE.remedy.replace('`', '')}" in words
    assert words.index("changed-since") < words.index("the rings are small Make")
    assert words.index("Make them larger") < words.index("vsperf explain sporadic-loss")


def test_a_limit_that_is_not_the_switch_is_a_worry(tmp_path: Path) -> None:
    page = overview_of([store(tmp_path, RUN, ended(whole(1), limit=Limit.GENERATOR))])
    assert [one.doubt.term for one in page.concerns[1:]] == ["generator"]


def test_what_was_not_measured_is_empty_and_never_0(tmp_path: Path) -> None:
    lines = ended(whole(1), result=SearchResult(), limit=None)
    row = overview_of([store(tmp_path, RUN, lines)]).results.texts[0]
    assert "0" not in row[1:-3]


def test_a_computation_names_the_trials_that_a_bound_rests_on(tmp_path: Path) -> None:
    head = whole(1)
    key = head.cases[0].key
    made = (trial(1, load_fps=8_000_000), trial(2, lost=7, load_fps=8_040_000))
    lines = [TrialLine(case=key, trial=one) for one in made]
    text: list[Line] = [head, case_start(key), *lines, case_record(key), run_end()]
    words = read(store(tmp_path, RUN, text)).words
    assert "Lower bound 8,000,000 fps: one trial" in words
    assert "#2 (lost 7" in words
    assert "8,000,000 fps × 84 bytes" in words
    assert "14,880,952 fps, all that 10Gbit/s carries" in words


def test_a_plan_that_was_told_before_is_told_by_what_differs(tmp_path: Path) -> None:
    text = html_of(store(tmp_path, RUN, finished(whole(3))))
    assert text.count("It was set up as") == 2


def of_cases(head: RunHeader, around: Conditions) -> list[Line]:
    """A run all of whose cases found the same around them."""
    lines: list[Line] = [head]
    for case in head.cases:
        lines += [case_start(case.key), case_record(case.key, conditions=around)]
    return [*lines, run_end()]


def test_settings_that_were_told_before_are_told_by_what_differs(tmp_path: Path) -> None:
    around = Conditions(switch={"version": "3.1.0", "ports": 2})
    text = html_of(store(tmp_path, RUN, of_cases(whole(3), around)))
    assert text.count("What was found on switch, VNFs and generator: as for") == 2
    assert text.count("but for:") == 2, "cases of other frames were asked the rest alike"


def test_what_another_lacks_is_said_and_what_is_quite_different_is_told_as_a_whole() -> None:
    first, other = (tuple(Fact(name, value) for name in "abcde") for value in ("1", "2"))
    told = Differences()
    assert told.tell(first, "one", "One") == Told(first)
    assert told.tell(first, "two", "Two") == Told((), "one", "One")
    assert told.tell(first[1:], "three", "Three") == Told((Fact("a", "–"),), "one", "One")
    assert told.tell(other, "four", "Four") == Told(other)
    assert told.tell((*other[:4], first[4]), "five", "Five") == Told(first[4:], "four", "Four")


def test_pages_that_are_printed_are_numbered(tmp_path: Path) -> None:
    style = html_of(store(tmp_path, RUN, finished(whole()))).partition("</style>")[0]
    assert re.search(r"@page\{[^{]*@bottom-right\{content:counter\(page\)", style)


def test_records_of_every_version_have_a_report() -> None:
    def check(folder: Path) -> None:
        page = read(folder)
        assert folder.name in page.words
        assert markdown_of(folder)

    hold_each(sorted(GOLDEN.glob("2026-*")), check, relative)


def test_many_cases_are_told_in_brief(tmp_path: Path) -> None:
    head = whole(1)
    many = tuple(
        head.cases[0].model_copy(update={"key": f"k{place}", "label": f"phy2phy_tput-{place}"})
        for place in range(MANY + 1)
    )
    head = head.model_copy(update={"cases": many})
    folder = store(tmp_path, RUN, [head, *run_lines(head, trials=1)])
    page = overview_of([folder])
    assert page.compact
    assert len(page.results.rows) == MANY + 1
    cases = html_of(folder).split('<section class="case"')[1:]
    assert not any("<svg" in case or "Trials (all 1)" in case for case in cases)
    assert "vsperf show" in cases[0]


def test_each_outcome_has_a_colour_of_its_own_kind(tmp_path: Path) -> None:
    style = html_of(store(tmp_path, RUN, finished(whole()))).partition("</style>")[0]
    ways = [how_far(begun=begun, refuted=why) for begun in (True, False) for why in ("x", None)]
    words = [one.value.lower() for one in Outcome] + [one.replace(" ", "-") for one in ways]
    none_wrong(f"{word} has none" for word in words if f".outcome.{word}" not in style)


def test_two_runs_make_one_report(tmp_path: Path) -> None:
    other = "2026-11-21-phy2phy_tput-zzzz"
    one = store(tmp_path, RUN, finished(whole()))
    two = store(tmp_path, other, finished(whole().model_copy(update={"run": other})))
    page = overview_of([one, two])
    assert len(page.results.rows) == 4
    assert len({cell.link for cell, *_ in page.results.rows if isinstance(cell, Cell)}) == 4
    assert [run.name for run in page.runs] == [RUN, other]
    place = page.results.names.index("run")
    assert [row[place] for row in page.results.texts] == ["k7f3", "k7f3", "zzzz", "zzzz"]
    assert [number.name.partition(":")[0] for number in page.answers] == [
        "64B of k7f3",
        "64B of zzzz",
    ]
    when = next(fact.value for fact in page.facts if fact.name == "when")
    assert "(k7f3" in when and "(zzzz" in when
    assert page.repeats is None, "another run is no repeat of this one"
    assert "64B of zzzz" in html_of(one, two)


def test_of_many_runs_the_first_screen_says_how_many_more_have_an_answer(tmp_path: Path) -> None:
    names = [f"2026-11-20-phy2phy_tput-{letters}" for letters in ("aaaa", "cccc", "dddd", "ffff")]
    folders = [store(tmp_path, one, finished(whole(1, run=one))) for one in (RUN, *names)]
    assert overview_of(folders[:4]).more == ""
    assert overview_of(folders).more == "1 more run"
    assert "Answers of 1 more run: in the table" in read(*folders).words


def test_of_runs_of_several_versions_on_several_hosts_each_is_named(tmp_path: Path) -> None:
    def run(name: str, version: str, cpus: int) -> Path:
        host = {"cpus": cpus, "smt": "off", "governor": "performance"}
        changes = {"run": name, "simulated": False, "environment": {"host": host}}
        head = whole(1, **changes)
        return store(tmp_path, name, of_cases(head, Conditions(switch={"version": version})))

    folders = run(RUN, "3.1.0", 2), run("2026-11-21-phy2phy_tput-zzzz", "3.5.0", 8)
    page = overview_of(folders)
    facts = {fact.name: fact.value for fact in page.facts}
    assert facts["switch"] == "sim (3.1.0 of k7f3; 3.5.0 of zzzz)"
    assert facts["host"] == "2 CPUs; 8 CPUs"
    assert "on a machine with 2 CPUs and on a machine with 8 CPUs" in page.brief[0].answer
    (_, other) = page.runs
    ((_, differs),) = other.environment
    assert differs == Told((Fact("cpus", "8"),), "run-1", RUN)


def test_of_several_runs_each_figure_of_a_case_says_which_it_is_of() -> None:
    golden = Path(__file__).parents[1] / "golden" / "records"
    run = open_run(golden / "2026-11-20-phy2phy_tput-gxq9")
    case = next(iter(run.cases()))
    titles = {one.title for one in Pictures(runs={run.run: "gxq9"}).of_case(case)}
    assert titles
    assert titles == {f"{one.title} of gxq9" for one in Pictures().of_case(case)}


@pytest.mark.parametrize(
    ("name", "form"), [("a.html", "html"), ("a.MD", "md"), ("a.pdf", "pdf"), (None, "html")]
)
def test_the_name_of_the_file_says_the_format(name: str | None, form: str) -> None:
    assert form_of(None if name is None else Path(name), None) is Form(form)


def test_a_name_that_says_no_format_is_refused() -> None:
    with pytest.raises(UsageError, match="does not say"):
        form_of(Path("report.txt"), None)
    assert form_of(Path("report.txt"), "md") is Form.MARKDOWN


def test_a_report_that_cannot_be_written_says_why_and_leaves_nothing(tmp_path: Path) -> None:
    folder = store(tmp_path, RUN, finished(whole()))
    (tmp_path / "file").touch()
    with pytest.raises(RecordingError, match="cannot be written"):
        write_report([folder], tmp_path / "file" / "report.html", Form.HTML, lambda *_: None)
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted((RUN, "file"))


def test_a_pdf_is_printed_where_users_can_make_no_sandbox(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As on Ubuntu, and in many containers; only then, as its second word on it shows."""
    browser = tmp_path / "chromium"
    browser.write_text(SANDBOXED)
    browser.chmod(0o700)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    printed = BytesIO()
    target.print_pdf(lambda page: None, printed)
    assert printed.getvalue() == b"printed\n"
    assert (tmp_path / "asked").read_text() == "guarded\nunguarded\n"


@pytest.mark.needs("root")
def test_who_prints_a_pdf_is_told_of_no_home_of_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    browser, home = tmp_path / "chromium", tmp_path / "home"
    browser.write_text(SETTLED)
    browser.chmod(0o700)
    home.mkdir()
    home.chmod(0o777)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    monkeypatch.setenv("HOME", str(home))
    printed = BytesIO()
    target.print_pdf(lambda page: None, printed)
    assert printed.getvalue().strip() not in (b"", str(home).encode())


SETTLED = """#!/bin/sh
for word; do case "$word" in --print-to-pdf=*) echo "$HOME" >"${word#*=}" ;; esac; done
"""
"""A browser that prints where it keeps its settings."""
SANDBOXED = """#!/bin/sh
case "$*" in
    *--no-sandbox*) echo unguarded >>"${0%/*}/asked" ;;
    *) echo guarded >>"${0%/*}/asked"; echo 'No usable sandbox! Install one.' >&2; exit 1 ;;
esac
for word; do case "$word" in --print-to-pdf=*) echo printed >"${word#*=}" ;; esac; done
"""
"""A browser that finds no sandbox."""


def test_a_pdf_without_a_browser_is_refused_with_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = store(tmp_path, RUN, finished(whole()))
    monkeypatch.setattr(target, "BROWSERS", ("no-such-browser",))
    with pytest.raises(NotReadyError, match="no browser") as caught:
        write_report([folder], tmp_path / "report.pdf", Form.PDF, lambda *_: None)
    assert "chromium" in str(caught.value.problems[0].fix)
