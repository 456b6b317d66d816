"""What a report can be, by its name or as asked; light, for commands that only may write one."""

from __future__ import annotations

import enum
from pathlib import Path

from vsperf.errors import UsageError


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
    named = ENDINGS.get(target.suffix.lower()) if target is not None else None
    if asked is not None:
        return Form(asked)
    if target is not None and named is None:
        raise UsageError(
            f"the name {target.name} does not say what the report is to be",
            fix=f"end it with one of {', '.join(ENDINGS)}, or add --format",
        )
    return named or Form.HTML
