"""The formats of this installation, by entry points: a new one is one new file."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from importlib.metadata import EntryPoint, entry_points
from types import MappingProxyType

from vsperf.errors import UsageError
from vsperf.output.export.base import Format

GROUP = "vsperf.exports"
LIKE = "-like-"
"""What joins the name of a format with that of another program whose columns it has."""
MEND = "mend the package that brings it, or uninstall it"


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
