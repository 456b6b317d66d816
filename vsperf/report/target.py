"""Where a report goes: a file that is there whole or not at all."""

from __future__ import annotations

import io
from collections.abc import Sequence
from pathlib import Path
from typing import BinaryIO

from vsperf.errors import RecordingError
from vsperf.named_files import written
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
    found: list[Overview] = []

    def write(file: BinaryIO) -> None:
        out = io.TextIOWrapper(file, encoding="utf-8", errors="backslashreplace")
        if form is Form.MARKDOWN:
            found.append(write_markdown(folders, out, progress, costs))
        else:
            found.append(write_html(folders, out, progress, library, costs))
        out.detach()

    try:
        with written(target) as file:
            if form is Form.PDF:
                print_pdf(write, file)
            else:
                write(file)
    except OSError as error:
        raise RecordingError(
            f"the report cannot be written to {target}",
            why=error.strerror or str(error),
            fix="choose another place with -o FILE",
        ) from error
    return found[0] if found else None
