"""Holds a written record file against the published schema, as it lies on disk.

Writing goes through the models, so this finds what the models cannot: a serialisation that lost
something, a damaged disk, an edited file.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from vsperf.errors import Location, StoreError
from vsperf.records.files import lines
from vsperf.records.files.reader import check_run
from vsperf.records.schema import line_schemas

if TYPE_CHECKING:
    from jsonschema import Draft202012Validator


def validate_file(path: Path) -> int:
    """Check every line of a record file and their order; return how many lines it has.

    Takes about a third of a millisecond per trial.
    """
    from jsonschema import Draft202012Validator

    validators = {kind: Draft202012Validator(schema) for kind, schema in line_schemas().items()}
    with lines.opened(path) as found:
        for number, content in enumerate(found, start=1):
            if reason := _why_invalid(content, validators):
                raise _invalid(path, number, reason)
    if found.torn:
        raise _invalid(path, found.count + 1, "the line was cut off")
    check_run(path.parent)
    return found.count


def _why_invalid(content: bytes, validators: Mapping[str, Draft202012Validator]) -> str | None:
    try:
        line = json.loads(content)
    except (ValueError, RecursionError):
        return "the line is not JSON"
    kind = line.get("type") if isinstance(line, dict) else None
    if not isinstance(kind, str) or kind not in validators:
        return f"there is no record of type {kind!r}"
    if validators[kind].is_valid(line):
        return None
    error = next(validators[kind].iter_errors(line))
    place = error.json_path.removeprefix("$").removeprefix(".")
    return f"{place}: {error.message}" if place else error.message


def _invalid(path: Path, number: int, why: str) -> StoreError:
    return StoreError(
        "the record file does not follow its own schema",
        where=Location(str(path), number),
        why=why,
        fix="the numbers of this run should not be used; if vsperf wrote it like this, report it",
    )
