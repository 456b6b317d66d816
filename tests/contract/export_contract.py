"""What every format of exports does with any records; it joins by one fixture.

class TestMyFormat(ExportContract):
    @pytest.fixture
    def driver(self) -> Format: ...
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from vsperf.output.export.base import Format
from vsperf.records.files.view import CaseView, RunView, open_run

GOLDEN = sorted((Path(__file__).parents[1] / "golden" / "records").glob("2026-*"))
HOSTILE = '=HYPERLINK("http://x"),\'"<b>&\n\x1b[31m\x07\x9b5n|\\ \u202e'
"""A formula, quotes, tags, a line's end, orders to a terminal, and text that runs backwards."""


class Kept(io.BytesIO):
    """A file that a format has to leave open."""

    closed_by_it = False

    def close(self) -> None:
        self.closed_by_it = True


class ExportContract:
    """Checks that hold for any format."""

    @pytest.fixture
    def driver(self) -> Format:
        raise NotImplementedError

    @pytest.fixture
    def runs(self) -> tuple[RunView, ...]:
        return tuple(open_run(folder) for folder in GOLDEN)

    def test_it_says_what_it_makes(self, driver: Format) -> None:
        assert len(driver.summary.splitlines()) == 1, "one line for lists"
        assert driver.tables, "it makes no file"
        names = list(driver.tables.values())
        assert len(set(names)) == len(names)
        assert all(Path(name).name == name for name in names)

    def test_the_same_runs_give_the_same_bytes(
        self, driver: Format, runs: tuple[RunView, ...]
    ) -> None:
        found = exported(driver, *runs)
        assert [table for table, content in found.items() if not content] == [], "empty"
        assert exported(driver, *runs) == found

    def test_each_table_can_be_asked_for_alone(
        self, driver: Format, runs: tuple[RunView, ...]
    ) -> None:
        whole = exported(driver, *runs)
        alone = {table: exported(driver, *runs, tables=(table,))[table] for table in driver.tables}
        assert alone == whole

    def test_it_holds_one_case_at_a_time_and_lets_others_watch(
        self, driver: Format, runs: tuple[RunView, ...]
    ) -> None:
        seen: list[str] = []

        def watch(cases: Iterator[CaseView]) -> Iterator[CaseView]:
            for case in cases:
                seen.append(case.key)
                yield case

        driver.write(runs, {table: Kept() for table in driver.tables}, watch)
        every = [planned.key for run in runs for planned in run.header.cases]
        assert sorted(set(seen)) == sorted(set(every))

    def test_it_leaves_open_what_it_was_given(
        self, driver: Format, runs: tuple[RunView, ...]
    ) -> None:
        outputs = {table: Kept() for table in driver.tables}
        driver.write(runs, outputs, iter)
        assert not [table for table, output in outputs.items() if output.closed_by_it]

    def test_a_model_is_called_one(self, driver: Format, runs: tuple[RunView, ...]) -> None:
        model = next(run for run in runs if run.simulated)
        claimed = replace(model, header=model.header.model_copy(update={"simulated": False}))
        assert exported(driver, model) != exported(driver, claimed), "nothing tells them apart"

    def test_no_text_of_a_record_steers_a_terminal(
        self, driver: Format, runs: tuple[RunView, ...]
    ) -> None:
        changed = {"labels": {"revision": HOSTILE}, "testbed": HOSTILE, "preset": HOSTILE}
        hostile = replace(runs[0], header=runs[0].header.model_copy(update=changed))
        for content in exported(driver, hostile).values():
            if not driver.binary:
                text = content.decode()
                assert [one for one in text if not one.isprintable() and one not in "\r\n\t"] == []

    def test_a_case_that_never_began_stops_nobody(
        self, driver: Format, runs: tuple[RunView, ...]
    ) -> None:
        never = replace(runs[0], file=None)
        found = exported(driver, never, *runs)
        assert [table for table, content in found.items() if not content] == [], "empty"


def exported(
    driver: Format, *runs: RunView, tables: tuple[str, ...] | None = None
) -> dict[str, bytes]:
    """What a format makes of runs, by table."""
    outputs = {table: Kept() for table in tables or driver.tables}
    driver.write(runs, outputs, iter)
    return {table: output.getvalue() for table, output in outputs.items()}
