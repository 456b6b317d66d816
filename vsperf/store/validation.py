"""Holds a written record file against the published schema, as it lies on disk.

Writing goes through the models, so this finds what the models cannot: a serialisation that lost
something, a damaged disk, an edited file.
"""

from __future__ import annotations

import json
from pathlib import Path

from vsperf.errors import Location, StoreError
from vsperf.record.schema import line_schemas
from vsperf.store import lines
from vsperf.store.reader import read_run


def validate_file(path: Path) -> int:
    """Check every line of a record file and their order; return how many lines it has.

    Takes about a third of a millisecond per trial.
    """
    from jsonschema import Draft202012Validator

    validators = {kind: Draft202012Validator(schema) for kind, schema in line_schemas().items()}
    found = lines.read(path)
    if found.torn:
        raise _invalid(path, len(found.whole) + 1, "the line was cut off")
    for number, content in enumerate(found.whole, start=1):
        try:
            line = json.loads(content)
        except (ValueError, RecursionError):
            raise _invalid(path, number, "the line is not JSON") from None
        kind = line.get("type") if isinstance(line, dict) else None
        if not isinstance(kind, str) or kind not in validators:
            raise _invalid(path, number, f"there is no record of type {kind!r}")
        if not validators[kind].is_valid(line):
            error = next(validators[kind].iter_errors(line))
            place = error.json_path.removeprefix("$").removeprefix(".")
            raise _invalid(path, number, f"{place}: {error.message}" if place else error.message)
    read_run(path.parent)
    return len(found.whole)


def _invalid(path: Path, number: int, why: str) -> StoreError:
    return StoreError(
        "the record file does not follow its own schema",
        where=Location(str(path), number),
        why=why,
        fix="the numbers of this run should not be used; if vsperf wrote it like this, report it",
    )
