"""What the index can be asked for, and what it answers."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from dataclasses import asdict, dataclass, fields
from datetime import datetime
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter

from vsperf.errors import UsageError
from vsperf.records.files.folders import RECORDS, is_locked
from vsperf.records.files.lines import escaped
from vsperf.records.files.reader import RunState
from vsperf.records.flags import Flag
from vsperf.records.result import GoalResult, Limit, LoadResult
from vsperf.records.run import CaseRecord, Outcome


@dataclass(frozen=True, slots=True)
class Filter:
    """Which runs or cases are wanted; what is not given does not matter.

    A run fits if one of its cases does.
    """

    run: str | None = None
    """A whole run id; `Index.resolve` makes one from a few letters."""
    testcase: str | None = None
    """Glob on the testcase's name or the case's label, such as phy2phy_*."""
    outcome: Outcome | None = None
    flag: Flag | None = None
    testbed: str | None = None
    preset: str | None = None
    tag: str | None = None
    labels: tuple[tuple[str, str], ...] = ()
    """Names and values that a run has to have, each of them."""
    simulated: bool | None = None
    since: str | None = None
    """Runs begun on this day or later (UTC), such as 2026-11-01; a time may follow."""
    limit: int | None = None

    def conditions(self) -> tuple[str, list[Any]]:
        """Return an SQL condition on `runs` joined with `cases`, and its values."""
        parts, values = ["r.problem IS NULL"], list[Any]()
        equal = {
            "r.run": self.run,
            "CASE WHEN c.refuted IS NULL THEN c.outcome END": self.outcome.value
            if self.outcome
            else None,
            "r.testbed": self.testbed,
            "r.preset": self.preset,
            "r.simulated": self.simulated,
        }
        for column, value in equal.items():
            if value is not None:
                parts.append(f"{column} = ?")
                values.append(value)
        if self.testcase is not None:
            glob = self.testcase.replace("[!", "[^")
            parts.append("(c.testcase GLOB ? OR c.label GLOB ? OR c.key GLOB ?)")
            values += [glob, glob, glob]
        if self.tag is not None:
            parts.append("EXISTS (SELECT 1 FROM json_each(c.tags) WHERE value = ?)")
            values.append(self.tag)
        if self.flag is not None:
            parts.append(
                "c.refuted IS NULL AND "
                "EXISTS (SELECT 1 FROM json_each(c.record, '$.flags') WHERE value = ?)"
            )
            values.append(self.flag.value)
        for label in self.labels:
            parts.append("EXISTS (SELECT 1 FROM json_each(r.labels) WHERE key = ? AND value = ?)")
            values += label
        if self.since is not None:
            parts.append("r.started_at >= ?")
            values.append(_date(self.since))
        # What is no text on the command line stands escaped in records, and so it is looked for.
        return " AND ".join(parts), escaped(values)


@dataclass(frozen=True, slots=True)
class RunEntry:
    """A run, in one row."""

    run: str
    folder: Path
    state: RunState
    started_at: str
    testbed: str
    preset: str
    simulated: bool
    vsperf_version: str
    cases: int
    outcomes: dict[str, int]
    """How many cases ended how, in the order of `Outcome`; cases without an end are left out."""
    exit_code: int | None
    """None while the run has not come to its end."""
    labels: dict[str, str]
    """What the user called it."""
    took_s: float | None
    """As `Took` has it; None where its lines do not say."""

    def as_json(self) -> dict[str, Any]:
        return {**asdict(self), "folder": str(self.folder), "state": self.state.value}


@dataclass(frozen=True, slots=True)
class CaseEntry:
    """A case, in one row."""

    run: str
    started_at: str
    """When its run was begun."""
    testbed: str
    preset: str
    simulated: bool
    key: str
    id: str
    label: str
    testcase: str
    tags: tuple[str, ...]
    frame_size: int | None
    """Bytes, FCS included."""
    flows: int | None
    repeat: int
    attempt: int
    """How often it was begun."""
    record: CaseRecord | None
    """None if it has not come to an end."""
    labels: dict[str, str]
    """What the user called its run."""
    refuted: str | None
    """Why its answer does not stand, and it has no record here, although it came to an end."""

    @property
    def outcome(self) -> Outcome | None:
        return self.record.outcome if self.record else None

    @property
    def goals(self) -> tuple[GoalResult, ...]:
        """The intervals found, in the order of the specification."""
        return self.record.result.goals if self.record and self.record.result else ()

    @property
    def loads(self) -> tuple[LoadResult, ...]:
        """The answers of fixed loads."""
        return self.record.result.loads if self.record and self.record.result else ()

    @property
    def lower_fps(self) -> int | None:
        """Lower bound of the first goal, per direction."""
        return self.goals[0].lower_fps if self.goals else None

    @property
    def upper_fps(self) -> int | None:
        """Upper bound of the first goal, per direction."""
        return self.goals[0].upper_fps if self.goals else None

    @property
    def limit(self) -> Limit | None:
        return self.record.limit if self.record else None

    def as_json(self) -> dict[str, Any]:
        """Return the entry as plain data; what is not known is null."""
        fields = ("run", "started_at", "testbed", "preset", "simulated", "key", "id", "label")
        more = ("testcase", "tags", "frame_size", "flows", "repeat", "attempt", "labels")
        record = (
            self.record.model_dump(mode="json", exclude={"type", "case"}) if self.record else {}
        )
        missing = dict.fromkeys(name for name in CaseRecord.model_fields if name not in record)
        del missing["type"], missing["case"]
        missing["reason"] = self.refuted
        return {**{name: getattr(self, name) for name in (*fields, *more)}, **missing, **record}


RUN_ENTRY, CASE_ENTRY = TypeAdapter(RunEntry), TypeAdapter(CaseEntry)
"""Rows are looked at before they are believed: the index may be damaged."""


def find_runs(database: sqlite3.Connection, results: Path, wanted: Filter) -> Iterator[RunEntry]:
    """Yield the runs that fit, newest first."""
    where, values = wanted.conditions()
    rows = database.execute(
        "SELECT r.run, r.started_at, r.testbed, r.preset, r.simulated, r.vsperf_version, "  # noqa: S608
        "r.cases, r.exit_code, r.labels, "
        "r.took_s, "
        "(SELECT json_group_array(outcome) FROM cases "
        "WHERE run = r.run AND outcome IS NOT NULL AND refuted IS NULL) AS outcomes "
        f"FROM runs r LEFT JOIN cases c USING (run) WHERE {where} "
        "GROUP BY r.run ORDER BY r.started_at DESC, r.run DESC LIMIT ?",
        (*values, _limit(wanted)),
    )
    names = [column[0] for column in rows.description]
    for row in rows:
        found = dict(zip(names, row, strict=True))
        ended = json.loads(found["outcomes"])
        found["outcomes"] = {o.value: ended.count(o) for o in Outcome if o.value in ended}
        found["labels"] = json.loads(found["labels"])
        found["folder"] = results / found["run"]
        found["state"] = _state(found["folder"], found["exit_code"])
        yield RUN_ENTRY.validate_python(found)


def find_cases(database: sqlite3.Connection, wanted: Filter) -> Iterator[CaseEntry]:
    """Yield the cases that fit: newest run first, in planned order within a run."""
    where, values = wanted.conditions()
    rows = database.execute(
        "SELECT r.run, r.started_at, r.testbed, r.preset, r.simulated, c.key, c.id, c.label, "  # noqa: S608
        "c.testcase, c.tags, c.frame_size, c.flows, c.repeat, c.attempt, "
        "CASE WHEN c.refuted IS NULL THEN c.record END, r.labels, "
        "c.refuted "
        f"FROM runs r JOIN cases c USING (run) WHERE {where} "
        "ORDER BY r.started_at DESC, r.run DESC, c.position LIMIT ?",
        (*values, _limit(wanted)),
    )
    names = [field.name for field in fields(CaseEntry)]
    for row in rows:
        found = dict(zip(names, row, strict=True))
        found["tags"] = json.loads(found["tags"])
        found["labels"] = json.loads(found["labels"])
        if found["record"] is not None:
            found["record"] = CaseRecord.model_validate_json(found["record"])
        yield CASE_ENTRY.validate_python(found)


def _state(folder: Path, exit_code: int | None) -> RunState:
    if exit_code is not None:
        return RunState.FINISHED
    return RunState.RUNNING if is_locked(folder / RECORDS) else RunState.INTERRUPTED


def _limit(wanted: Filter) -> int:
    return -1 if wanted.limit is None else wanted.limit


def _date(text: str) -> str:
    """Return a day or time in the form of the records, so that the two compare as text."""
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise UsageError(
            f"{text!r} is not a day", fix="write it like 2026-11-01 or 2026-11-01T15:00"
        ) from None
    return moment.replace(tzinfo=None).isoformat()
