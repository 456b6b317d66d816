"""The formats of this installation, by entry points, and the files that they are written to."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from types import MappingProxyType
from typing import BinaryIO

from vsperf.errors import RecordingError, UsageError
from vsperf.output.export.base import Format
from vsperf.trust.named_files import written_together

GROUP = "vsperf.exports"
LIKE = "-like-"
"""What joins the name of a format with that of another program whose columns it has."""
MEND = "mend the package that brings it, or uninstall it"


def targets(
    tables: Mapping[str, str], wanted: str | None, output: Path | None
) -> dict[str, Path | None]:
    """Return the tables that are to be written and their files; None is the standard output.

    A format of several files goes into a folder, unless one of its tables is chosen.
    """
    if wanted is not None and wanted not in tables:
        raise UsageError(
            f"there is no table {wanted!r} in this format",
            fix=f"choose one of: {', '.join(tables)}",
        )
    chosen = [wanted] if wanted is not None else list(tables)
    if len(chosen) == 1:
        name = chosen[0]
        into = output is not None and output.is_dir()
        return {name: output / tables[name] if output is not None and into else output}
    if output is None or output.is_file() or output.suffix in _suffixes(tables):
        problem = "has no place" if output is None else f"does not fit into {output}"
        raise UsageError(
            f"what is exported {problem}",
            why=f"this format makes {' and '.join(tables.values())}",
            fix=f"name a folder: `-o DIR`; or one of them: `--table {chosen[0]}`",
        )
    return {name: output / tables[name] for name in chosen}


def _suffixes(tables: Mapping[str, str]) -> set[str]:
    return {Path(name).suffix for name in tables.values()}


@contextmanager
def opened(
    wanted: Mapping[str, Path | None], standard_output: BinaryIO
) -> Iterator[dict[str, BinaryIO]]:
    """Open each table's file; all take their place at the end, and none if that is not reached."""
    paths = {name: path for name, path in wanted.items() if path is not None}
    try:
        with written_together([*paths.values()]) as files:
            named = dict(zip(paths, files, strict=True))
            yield {name: named.get(name, standard_output) for name in wanted}
    except BrokenPipeError:
        raise
    except OSError as error:
        raise _cannot_write([*paths.values()], error) from error


def _cannot_write(paths: Sequence[Path], error: OSError) -> RecordingError:
    return RecordingError(
        f"{' and '.join(str(path) for path in paths) or 'the output'} cannot be written",
        why=error.strerror or str(error),
        fix="choose a place that can be written to: `-o`",
    )


def format_names() -> Mapping[str, EntryPoint]:
    """Return where each format is found, by name; nothing is loaded for it."""
    found = sorted(entry_points(group=GROUP), key=lambda entry: entry.name)
    return MappingProxyType({entry.name: entry for entry in found})


def load_format(name: str) -> Format:
    """Return a format by its name; a missing or broken one is an error that says what there is."""
    known = format_names()
    if name not in known:
        close = difflib.get_close_matches(name, known, n=1)
        hint = f"did you mean {close[0]}? " if close else ""
        raise UsageError(
            f"there is no format {name!r}", fix=f"{hint}there are: {', '.join(map(shown, known))}"
        )
    try:
        found = known[name].load()
        made = found()
    except Exception as error:  # a broken plug-in is its user's to mend
        raise UsageError(
            f"the format {name!r} cannot be loaded",
            why=f"{type(error).__name__}: {error}",
            fix=MEND,
        ) from error
    if not isinstance(made, Format):
        raise UsageError(
            f"the format {name!r} cannot be loaded",
            why=f"{known[name].value} is no Format",
            fix=MEND,
        )
    return made


def shown(name: str) -> str:
    """Return a format's name as it is typed."""
    return name.replace(LIKE, " --like ")
