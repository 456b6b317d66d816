"""What a report can be, by its name or as asked; light, for commands that only may write one."""

from __future__ import annotations

import enum
from collections.abc import Mapping
from pathlib import Path
from typing import TypeVar

from vsperf.errors import UsageError

F = TypeVar("F")


class Form(enum.StrEnum):
    """What a report can be."""

    HTML = "html"
    MARKDOWN = "md"
    PDF = "pdf"


ENDINGS = {
    ".html": Form.HTML,
    ".htm": Form.HTML,
    ".md": Form.MARKDOWN,
    ".markdown": Form.MARKDOWN,
    ".pdf": Form.PDF,
}


def form_of(target: Path | None, asked: str | None) -> Form:
    """Return the format that was asked for, or that the name of the file says."""
    if asked is not None:
        return Form(asked)
    return Form.HTML if target is None else by_ending(target, ENDINGS, "report")


def by_ending(target: Path, endings: Mapping[str, F], what: str, formats: str = "") -> F:
    """Return what a file is to be, as its name ends; `formats` are named to whoever has to ask."""
    try:
        return endings[target.suffix.lower()]
    except KeyError:
        raise UsageError(
            f"the name {target.name} does not say what the {what} is to be",
            fix=f"end it with one of {', '.join(endings)}, or add --format{formats}",
        ) from None
