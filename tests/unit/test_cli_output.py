"""What commands print: tables, notes, and words of others that never steer the terminal."""

from __future__ import annotations

import io
import itertools
import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from export_samples import SPEC, one_case
from hypothesis import given
from hypothesis import strategies as st
from printed_text import printed
from record_samples import case_record, goal_result, header, planned, view_of
from rich.table import Table
from rich.text import Text
from search_models import case_of

from vsperf.analysis.answers import reasons
from vsperf.analysis.kept import Kept
from vsperf.analysis.summary import CaseRow
from vsperf.cli.main import run_cli
from vsperf.cli.output import say
from vsperf.cli.tables import notes, print_summary
from vsperf.cli.terminal import PlainConsole, between_words
from vsperf.cli.vnf_shell import HARMLESS, PLAIN, Words
from vsperf.errors import ExitCode
from vsperf.output.case_tables import MOST_WARNINGS
from vsperf.records.flags import Flag, Severity
from vsperf.records.result import CleanResult, Compliance, Level, Limit, SearchResult, Standard
from vsperf.records.run import Check, Outcome
from vsperf.trust.printable import printable

# Words of others are shown, and never steer the terminal.

RENAMED = "\x1b]0;mine\x07 \x9b31m \u202e \r hidden \x7f"
SIMULATED = ("phy2phy_smoke", "--testbed", "sim")
SHOWN = r"\x1b]0;mine\x07 \x9b31m \u202e \r hidden \x7f"


def test_what_would_steer_is_written_out() -> None:
    assert printable(RENAMED) == SHOWN


def test_ordinary_words_lines_and_tabs_stay_what_they_are() -> None:
    text = "µs … 交换机 → é\n\tp99 ≥ 1 ✓"
    assert printable(text) == text


@given(text=st.text())
def test_nothing_is_left_that_a_terminal_obeys_whatever_the_text(text: str) -> None:
    safe = printable(text)
    assert all(one.isprintable() or one in "\n\t" for one in safe)
    assert printable(safe) == safe


@pytest.mark.parametrize("terminal", [False, True])
def test_a_console_writes_out_what_would_steer_wherever_it_stands(terminal: bool) -> None:
    table = Table("column")
    table.add_row(RENAMED)
    table.add_row(Text(RENAMED, style="bold"))
    out = PlainConsole(stderr=False, width=200)
    out.file, out._force_terminal = io.StringIO(), terminal
    for one in (RENAMED, Text(RENAMED), table):
        out.print(one)
    said = out.file.getvalue()
    assert "]0;mine" in said
    assert not {"\x1b]", "\x07", "\x9b", "\u202e", "\r", "\x7f"} & {
        said[at : at + length] for at in range(len(said)) for length in (1, 2)
    }


@pytest.mark.parametrize(
    "words",
    [
        ["tgen", "calibrate", RENAMED, "1"],
        ["run", f"--{RENAMED}"],
        ["run", "--repeat", RENAMED],
        ["run", "--budget", RENAMED],
        [RENAMED],
    ],
)
def test_a_command_line_that_is_refused_is_quoted_without_what_would_steer(
    words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_cli(words) == ExitCode.BAD_INPUT
    said = capsys.readouterr().err
    assert "mine" in said
    assert printable(said) == said


def test_words_in_brackets_and_between_colons_are_no_markup() -> None:
    table = Table("[bold]column", box=None)
    table.add_row("[/nothing] :smile:")
    assert "[/nothing] :smile:" in printed(PlainConsole.print, table)


def test_a_line_for_people_is_written_out_too(capsys: pytest.CaptureFixture[str]) -> None:
    say(RENAMED)
    assert SHOWN in capsys.readouterr().out


# What is said around the tables of a run, where a record of others holds more than one reads.


def test_a_line_for_people_is_broken_between_words_on_a_terminal_and_else_not(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path = f"/run/vsperf/{'a' * 30}"
    line = f"would remove {path} (deployment of a run that was killed): it is in use by others"
    for terminal in (True, False):
        with monkeypatch.context() as here:
            for name, value in {"FORCE_COLOR": "1", "COLUMNS": "40", "TERM": "xterm"}.items():
                if terminal:
                    here.setenv(name, value)
            say(line)
        printed = capsys.readouterr().out.splitlines()
        assert " ".join(" ".join(printed).split()) == line
        assert (len(printed) == 1) is not terminal
        assert all(len(one) <= 40 or not terminal or one.strip() == path for one in printed)


@pytest.mark.parametrize("words", [[], ["baseline"], ["tgen"], ["otg"]])
def test_who_names_no_command_is_told_what_there_is(
    words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_cli(words) == ExitCode.OK
    asked = capsys.readouterr()
    assert asked.err == ""
    assert run_cli([*words, "--help"]) == ExitCode.OK
    assert capsys.readouterr().out == asked.out


@pytest.mark.parametrize(
    "words", [["list"], ["explain"], ["plan", *SIMULATED], ["show", *SIMULATED]]
)
def test_in_a_pipe_lines_fit_where_columns_is_set_and_else_are_not_broken(
    words: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def longest() -> int:
        assert run_cli(words) == ExitCode.OK
        return max(len(line.rstrip()) for line in capsys.readouterr().out.splitlines())

    for unset in ("", "0", "many", "9" * 30):
        monkeypatch.setenv("COLUMNS", unset)
        assert longest() > 80, unset
    monkeypatch.setenv("COLUMNS", "80")
    assert longest() <= 80


def test_json_is_the_same_whatever_columns_says(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    found = set()
    for columns in ("20", "80", ""):
        monkeypatch.setenv("COLUMNS", columns)
        assert run_cli(["list", "--json"]) == ExitCode.OK
        found.add(capsys.readouterr().out)
    assert len(found) == 1


def test_of_many_warnings_the_first_are_shown_and_the_others_counted(tmp_path: Path) -> None:
    run = one_case(tmp_path, warnings=tuple(f"warning {n}" for n in range(50_000)))
    rows = [CaseRow(case) for case in run.cases()]
    shown = [line.plain for line in notes(rows, simulated=False) if line.plain.startswith("! ")]
    assert shown[0] == "! warning 0"
    assert len(shown) == MOST_WARNINGS + 1
    assert shown[-1].startswith(f"! and {50_000 - MOST_WARNINGS:,} more")


class TestOfSeveralCases:
    """One line for each doubt, the gravest first, with the cases that it is for."""

    def lines(self, *records: dict[str, Any], whole: bool = False) -> list[str]:
        rows = []
        for number, changes in enumerate(records, start=1):
            one = planned(number, label=f"phy2phy_tput-{64 * number}B", spec=SPEC)
            rows.append(CaseRow(view_of(one, case_record(one.key, **{"checks": (), **changes}))))
        return [line.plain for line in notes(rows, simulated=False, whole=whole)]

    def doubts(self, *records: dict[str, Any]) -> list[str]:
        return [line for line in self.lines(*records) if line.startswith("! ")]

    def test_the_same_with_other_numbers_is_said_once(self) -> None:
        said = self.doubts(*({"warnings": (f"{n} of {9 * n} trials went wrong",)} for n in (1, 2)))
        assert said == ["! 1 of 9 trials went wrong (64B; likewise 128B)"]

    def test_two_of_one_case_are_two(self) -> None:
        said = self.doubts({"warnings": ("part 1 is slow", "part 2 is slow")}, {})
        assert said == ["! part 1 is slow (64B)", "! part 2 is slow (64B)"]

    def test_what_is_so_in_all_cases_names_none(self) -> None:
        assert self.doubts(*({"warnings": ("all is slow",)},) * 2) == ["! all is slow"]

    def test_a_reservation_stands_above_a_note(self) -> None:
        said = self.doubts({"flags": (Flag.SPORADIC_LOSS,)}, {"flags": (Flag.UNSTABLE,)})
        assert [one.split(":")[0] for one in said] == ["! unstable", "! sporadic-loss"]

    def test_that_it_says_nothing_of_speed_stands_above_all_that_is_suspect(self) -> None:
        said = self.doubts({"flags": (Flag.UNSTABLE,)}, {"flags": (Flag.EMULATED,)})
        assert [one.split(":")[0] for one in said] == ["! emulated-guest", "! unstable"]

    def test_what_to_do_first_is_about_the_gravest_doubt_and_stands_below_all(self) -> None:
        lines = self.lines({"flags": (Flag.UNSTABLE,)}, {"flags": (Flag.EMULATED,)})
        told = f"what to do first: {Flag.EMULATED.remedy}"
        last = max(place for place, line in enumerate(lines) if line.startswith("! "))
        assert lines.index(told) == last + 1
        assert sum(line.startswith("what to do first") for line in lines) == 1

    def test_on_a_machine_too_busy_to_tell_that_is_to_be_ended_first(self) -> None:
        flags = (Flag.SHORT_OFFER, Flag.TOO_BUSY, Flag.EMULATED)
        lines = self.lines({"flags": flags, "trials": 3, "measured_ns": 10**9})
        assert f"what to do first: {Flag.TOO_BUSY.remedy}" in lines

    def test_that_a_criterion_is_missed_on_a_machine_too_busy_to_tell_has_its_reason(self) -> None:
        check = Check(criterion="ndr ≥ 9Mfps (9.000 Mfps)", met=False, found="8.000 Mfps")
        missed = {"outcome": Outcome.FAIL, "reason": check.found, "checks": (check,)}
        told = f"FAIL and not INVALID, busy as the host was: ndr: {goal_result().reason}"
        for flags, count in (((Flag.TOO_BUSY,), 1), ((Flag.UNSTABLE,), 0)):
            lines = self.lines({**missed, "flags": flags})
            assert sum(told in line for line in lines) == count

    def test_where_the_time_ended_it_is_said_that_what_failed_was_the_switchs_own(self) -> None:
        check = Check(criterion="ndr ≥ 9Mfps (9.000 Mfps)", met=False, found="8.000 Mfps")
        missed = {"outcome": Outcome.FAIL, "checks": (check,), "flags": (Flag.TOO_BUSY,)}
        for limit, count in ((Limit.BUDGET, 1), (Limit.DUT, 0)):
            found = goal_result().model_copy(update={"limit": limit})
            lines = self.lines({**missed, "result": SearchResult(goals=(found,))})
            own = f"{found.reason}; what was lost at 8.040 Mfps was the switch's own"
            assert sum(own in line for line in lines) == count

    def test_where_numbers_stand_nothing_is_to_be_done(self) -> None:
        notes_alone = tuple(flag for flag in Flag if flag.severity is Severity.NOTE)
        lines = self.lines({"flags": notes_alone})
        assert not any(line.startswith("what to do first") for line in lines)

    def test_a_standard_has_one_line_with_what_first_deviates_in_all(self) -> None:
        doubt = f"{Flag.UNSTABLE.value}: {Flag.UNSTABLE.gist}"
        ways = [("trials of 1s",), ("trials of 1s", "no wait"), ("trials of 1s", doubt)]
        records = [
            {
                "compliance": (
                    Compliance(standard=Standard.RFC2544, level=Level.NOT, deviations=way),
                )
            }
            for way in ways
        ]
        (line,) = (one for one in self.lines(*records) if one.startswith("RFC 2544"))
        assert line == "RFC 2544: not compliant: trials of 1s; 1 more"

    def test_of_a_case_that_is_shown_as_a_whole_all_that_deviates_is_said(self) -> None:
        """Doubts, which are told above, by their names."""
        doubt = f"{Flag.UNSTABLE.value}: {Flag.UNSTABLE.gist}"
        way = Compliance(
            standard=Standard.RFC2544, level=Level.NOT, deviations=("trials of 1s", doubt)
        )
        for whole, said in ((True, f"doubts: {Flag.UNSTABLE.value}"), (False, "1 more")):
            lines = self.lines({"compliance": (way,)}, whole=whole)
            (line,) = (one for one in lines if one.startswith("RFC 2544"))
            assert line == f"RFC 2544: not compliant: trials of 1s; {said}"


class TestOfRepeats:
    """All have one label, so what is said of one alone has the number that its row has."""

    def lines(self, *told: tuple[dict[str, Kept], tuple[str, ...]]) -> list[str]:
        rows = []
        for repeat, (partly, warnings) in enumerate(told, start=1):
            one = planned(1, key=f"case-{repeat}", repeat=repeat, spec=SPEC)
            record = case_record(one.key, warnings=warnings)
            rows.append(CaseRow(view_of(one, record), partly=partly))
        return [line.plain for line in notes(rows, simulated=False)]

    def partly(self, *told: dict[str, Kept]) -> list[str]:
        lines = self.lines(*((one, ()) for one in told))
        return [line for line in lines if "of the trials at its lower bound" in line]

    def test_that_a_trial_failed_is_said_of_the_repeat_that_made_it(self) -> None:
        kept = Kept(4, 5, Fraction(0), Fraction(1, 100))
        (line,) = self.partly({"ndr": kept}, {}, {})
        assert line.startswith("64B #1 ndr: of the trials at its lower bound 4 of 5 lost none")

    def test_each_repeat_of_which_the_same_is_said_has_a_line(self) -> None:
        kept = Kept(4, 5, Fraction(0), Fraction(1, 100))
        lines = self.partly({"ndr": kept, "pdr": kept}, {}, {"ndr": kept})
        assert [line.split(":")[0] for line in lines] == ["64B #1 ndr, pdr", "64B #3 ndr"]

    def test_a_doubt_names_the_repeats_that_it_is_for_unless_it_is_for_all(self) -> None:
        said = self.lines(({}, ("all is slow", "it was slow")), ({}, ("all is slow",)))
        assert [line for line in said if line.startswith("! ")] == [
            "! all is slow",
            "! it was slow (64B #1)",
        ]


# The table of a run answers the question: how fast, what limited it, and how much time counted.

CLEAN = CleanResult(
    share="47/50", lower_fps=8_200_000, upper_fps=8_280_000, limit=Limit.DUT, reason="lost"
)


def summary_of(result: SearchResult, width: int = 120, *flags: Flag) -> str:
    """Return what is printed at the end of a run of a case with this result."""
    spec = json.loads(case_of("mlr").model_dump_json())
    planned = header().cases[0].model_copy(update={"spec": spec})
    record = case_record(planned.key, result=result, checks=(), flags=flags)
    rows = [CaseRow(view_of(planned, record))]
    return printed(print_summary, rows, simulated=False, width=width)


def shown(clean: CleanResult | None, width: int = 120, *flags: Flag) -> str:
    """Return what is printed of a case whose NDR is 8.000 … 8.040 Mfps, limited by the host."""
    goal = goal_result().model_copy(update={"clean": clean, "limit": Limit.HOST})
    return summary_of(SearchResult(goals=(goal,)), width, *flags)


def row_of(text: str, words: str) -> str:
    return next(line for line in text.splitlines() if words in line)


@pytest.mark.parametrize("width", [80, 120, 200])
def test_the_answer_from_clean_time_stands_below_the_one_from_all_time(width: int) -> None:
    text = shown(CLEAN, width)
    assert "host" in row_of(text, "8.000 … 8.040 Mfps")
    assert "dut" in row_of(text, "clean 8.200 … 8.280 Mfps")
    assert "94.0%" in text
    assert "clean: only the time in which nothing kept generator or switch from running" in text
    assert max(len(line) for line in text.splitlines() if "Mfps" in line) <= width


def test_an_answer_that_is_the_same_is_not_said_twice() -> None:
    bounds = {"lower_fps": 8_000_000, "upper_fps": 8_040_000}
    same = CLEAN.model_copy(update={**bounds, "limit": Limit.HOST})
    text = shown(same)
    assert text.count("8.000 … 8.040 Mfps") == 1
    assert "94.0%" in text


def test_the_same_interval_that_something_else_limits_is_said() -> None:
    other = CLEAN.model_copy(update={"lower_fps": 8_000_000, "upper_fps": 8_040_000})
    assert "dut" in row_of(shown(other), "clean 8.000 … 8.040 Mfps")


def test_that_no_load_passed_in_clean_time_is_said() -> None:
    none = CLEAN.model_copy(update={"lower_fps": None, "flags": (Flag.AT_MINIMUM,)})
    assert "clean < 8.280 Mfps" in shown(none)


def test_without_an_answer_from_clean_time_a_line_says_why() -> None:
    text = shown(CleanResult(share=str(Fraction(3, 10)), reason="only 30% of the time was clean"))
    assert "! no ndr from clean time: only 30% of the time was clean" in text
    assert "30.0%" in text


def test_where_nobody_knows_of_slots_there_is_no_word_of_clean_time() -> None:
    assert "clean" not in shown(None)


def test_a_doubt_is_one_line_and_says_where_there_is_more() -> None:
    text = shown(None, 120, Flag.SPORADIC_LOSS, Flag.UNSTABLE)
    doubts = [line for line in text.splitlines() if line.startswith("! ")]
    assert [line.split(":")[0] for line in doubts] == ["! unstable", "! sporadic-loss"]
    assert doubts[0] == "! unstable: Equal trials at one load disagreed: some passed, some failed"
    assert "on a word: vsperf explain WORD" in text


def test_no_figure_is_cut_on_80_columns() -> None:
    wide, narrow = shown(CLEAN, 220), shown(CLEAN, 80)
    assert "…" not in narrow.replace(" … ", "")
    for text in ("RFC 2544", "8.000 … 8.040 Mfps", "94.0%"):
        assert text in wide
        assert text in narrow


def test_a_terminal_breaks_lines_between_words_and_no_path() -> None:
    path = "/srv/" + "x" * 100
    broken = between_words(Text(f"{'word ' * 30}at {path} it ends"), 80).plain.splitlines()
    assert "".join(broken).replace("  ", " ").split() == f"{'word ' * 30}at {path} it ends".split()
    assert path in (line.strip() for line in broken)
    assert all(len(line) <= 80 for line in broken if path not in line)
    assert [line.startswith("  ") for line in broken] == [False] + [True] * (len(broken) - 1)


def test_what_goes_on_is_indented_alike_wherever_a_line_is_broken() -> None:
    line = Text("#1  lost 0  [switch-kept-from-running, generator-paused]")
    assert between_words(line, 34).plain.splitlines() == [
        "#1  lost 0",
        "  [switch-kept-from-running,",
        "  generator-paused]",
    ]


def test_both_answers_have_a_reason() -> None:
    goal = goal_result().model_copy(update={"clean": CLEAN})
    planned = header().cases[0]
    record = case_record(planned.key, result=SearchResult(goals=(goal,)))
    assert reasons(CaseRow(view_of(planned, record))) == [
        "ndr: loss grew with load",
        "ndr in 94.0% clean time: lost",
    ]


# What a VNF says on its way to a terminal, a file or a pipe.

ATTACKS = (
    b"\x1b]0;title\x07",  # the window's title, which a terminal can be asked to type
    b"\x1b[21t",
    b"\x1b[c",
    b"\x1b[5n",
    b"\x1bP$qm\x1b\\",  # and types back
    b"\x1b]52;c;Y3VybA==\x07",  # the clipboard
    b"\x1b[?1049h",
    b"\x1bc",
    "\x9b5n".encode(),
    b"\x9b5n",
    b"\x1b[" + b"1;" * 100 + b"m",
    b"\x0e\x05",
)
EDITING = b"\x1b[31mred\x1b[0m\r\x1b[K\x1b[3D\x1b[JC\b\a\r\n\t\xc3\xa9"


def shown_of_words(*said: bytes, terminal: bool = True, editing: bool = False) -> bytes:
    output = io.BytesIO()
    words = Words(output, terminal, editing)
    for piece in said:
        words.write(piece)
    words.end()
    return output.getvalue()


def obeyed(text: bytes) -> set[str]:
    return {one for one in text.decode() if not one.isprintable()} - {"\n", "\t"}


def test_a_terminal_gets_nothing_that_it_obeys_of_a_commands_output() -> None:
    for attack in (*ATTACKS, EDITING):
        assert obeyed(shown_of_words(b"a", attack, b"b")) == set(), attack


def test_at_a_terminal_only_editing_and_colours_pass() -> None:
    for attack in ATTACKS:
        text = shown_of_words(attack, editing=True).removesuffix(PLAIN.encode())
        assert obeyed(HARMLESS.sub("", text.decode()).encode()) == set(), attack
        assert b"\x1b" not in text, attack


@pytest.mark.parametrize("size", [1, 2, 3, 100])
def test_editing_and_colours_pass_however_they_are_cut(size: int) -> None:
    pieces = [EDITING[at : at + size] for at in range(0, len(EDITING), size)]
    assert shown_of_words(*pieces, editing=True) == EDITING + PLAIN.encode()


@pytest.mark.parametrize("size", [1, 2, 3])
def test_no_attack_gets_through_in_pieces(size: int) -> None:
    for attack in ATTACKS:
        pieces = [attack[at : at + size] for at in range(0, len(attack), size)]
        assert b"\x1b" not in shown_of_words(*pieces, editing=True).removesuffix(PLAIN.encode()), (
            attack
        )


def test_a_question_for_the_cursor_is_not_asked() -> None:
    assert shown_of_words(b"~ # \x1b[6", b"n", editing=True) == b"~ # " + PLAIN.encode()


def test_a_file_or_a_pipe_gets_the_bytes_as_they_are() -> None:
    everything = bytes(itertools.chain(range(256), range(256)))
    assert shown_of_words(everything, terminal=False) == everything


# What is mistyped is answered with what was meant.

MISTYPED = {
    "rnu": "Did you mean 'run'?",
    "reslts": "Did you mean 'results'?",
    "run --testbd sim": "'--testbed'",
    "run phy2phy_tput --repeats 3": "'--repeat'",
    "run phy2phy_tput --frame-size 64": "Did you mean '--set traffic.frame_size=…'?",
    "explain vlan": "did you mean traffic.vlans?",
    "tgen trail": "Did you mean 'trial'?",
    "plan phy2phy_tputt": "did you mean `phy2phy_tput`?",
    "show phy2phy_tputt": "did you mean `phy2phy_tput`?",
    "explain tcp_stream": "did you mean stream",
}


@pytest.mark.parametrize("typed", MISTYPED)
def test_what_is_mistyped_is_answered_with_what_was_meant(
    typed: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_cli(typed.split()) == ExitCode.BAD_INPUT
    assert MISTYPED[typed] in capsys.readouterr().err


def test_a_file_without_a_name_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_cli(["tgen", "capture", "--vdev", "net_ring0", ""]) == ExitCode.BAD_INPUT
    assert "names no file" in capsys.readouterr().err
