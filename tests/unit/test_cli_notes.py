"""What is said around the tables of a run, where a record of others holds more than one reads."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from export_samples import SPEC, one_case
from record_samples import case_record, planned

from vsperf.cli.notes import MOST_WARNINGS, notes
from vsperf.record.flags import Flag
from vsperf.record.result import Compliance, Level, Standard
from vsperf.stats.summary import CaseRow


def test_of_many_warnings_the_first_are_shown_and_the_others_counted(tmp_path: Path) -> None:
    run = one_case(tmp_path, warnings=tuple(f"warning {n}" for n in range(50_000)))
    rows = [CaseRow(case.planned, case.record, latency=()) for case in run.cases()]
    shown = [line.plain for line in notes(rows, simulated=False) if line.plain.startswith("! ")]
    assert shown[0] == "! warning 0"
    assert len(shown) == MOST_WARNINGS + 1
    assert shown[-1].startswith(f"! and {50_000 - MOST_WARNINGS:,} more")


class TestOfSeveralCases:
    """One line for each doubt, the gravest first, with the cases that it is for."""

    def lines(self, *records: dict[str, Any]) -> list[str]:
        rows = []
        for number, changes in enumerate(records, start=1):
            one = planned(number, label=f"phy2phy_tput-{64 * number}B", spec=SPEC)
            rows.append(CaseRow(one, case_record(one.key, checks=(), **changes), ()))
        return [line.plain for line in notes(rows, simulated=False)]

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

    def test_a_standard_has_one_line_with_what_deviates_in_all(self) -> None:
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
        assert line == (
            "RFC 2544: not compliant: trials of 1s; what else deviates: vsperf show RUN CASE"
        )

    def test_of_one_case_all_that_deviates_is_said(self) -> None:
        doubt = f"{Flag.UNSTABLE.value}: {Flag.UNSTABLE.gist}"
        way = Compliance(
            standard=Standard.RFC2544, level=Level.NOT, deviations=("trials of 1s", doubt)
        )
        (line,) = (one for one in self.lines({"compliance": (way,)}) if one.startswith("RFC 2544"))
        assert line == f"RFC 2544: not compliant: trials of 1s; {doubt}"
