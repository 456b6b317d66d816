"""Where a report goes: a file that is there whole or not at all."""

from __future__ import annotations

import os
import secrets
from collections.abc import Sequence
from pathlib import Path

from vsperf.errors import RecordingError
from vsperf.report.form import Form
from vsperf.report.interactive import Library
from vsperf.report.page import Costs, Overview
from vsperf.report.pdf import browser, print_pdf
from vsperf.report.write import Progress, write_html, write_markdown


def write_report(
    folders: Sequence[Path],
    target: Path,
    form: Form,
    progress: Progress,
    library: Library | None = None,
    costs: Sequence[Costs] = (),
) -> Overview | None:
    """Write a report of these runs to a file; nothing is there before it is whole."""
    if form is Form.PDF:
        browser()  # says at once that there is none
    scratch = target.with_name(f".{target.name}.{secrets.token_hex(4)}")
    found: list[Overview] = []

    def write(path: Path) -> None:
        with path.open("x", encoding="utf-8", errors="backslashreplace") as out:
            if form is Form.MARKDOWN:
                found.append(write_markdown(folders, out, progress, costs))
            else:
                found.append(write_html(folders, out, progress, library, costs))

    try:
        if form is Form.PDF:
            print_pdf(write, scratch)
        else:
            write(scratch)
        os.replace(scratch, target)  # noqa: PTH105 - the pair of paths is clearer
    except OSError as error:
        raise RecordingError(
            f"the report cannot be written to {target}",
            why=error.strerror,
            fix="choose another place with -o FILE",
        ) from error
    finally:
        scratch.unlink(missing_ok=True)
    return found[0] if found else None
