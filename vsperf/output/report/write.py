"""Writes a report as a stream: one case at a time, then what the first screen says of them all."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TextIO

from jinja2 import Environment

from vsperf.analysis.summary import CaseRow
from vsperf.output.report import templates
from vsperf.output.report.case_part import Teller, anchor_of, names_of
from vsperf.output.report.interactive import Library
from vsperf.output.report.overview import Gathered, overview_of
from vsperf.output.report.page import Compared, Overview
from vsperf.output.report.pictures import NoPictures, Pictures
from vsperf.records.asked import Asked
from vsperf.records.files.view import RunView, open_run
from vsperf.stop import raise_if_stopped

MANY = 50
"""Beyond so many cases each is told in brief, and figures are drawn of all of them only, from what
their records say without trials."""

FEW = 3
"""Beyond so many cases each is a line that opens."""

Progress = Callable[[int, int], None]


def write_html(
    folders: Sequence[Path],
    out: TextIO,
    progress: Progress,
    library: Library | None = None,
    compared: Compared | None = None,
) -> Overview:
    """Write a report of these runs as one page of HTML; return what its first screen says.

    With a library, its figures can be pointed at and zoomed. What was found by comparing is
    told here.
    """
    runs = [open_run(folder) for folder in folders]
    single = sum(len(run.header.cases) for run in runs) == 1
    environment = templates.html()
    environment.globals["library"] = library
    teller = _teller(Pictures(single, library is not None, names_of(runs)), runs, compared)
    return _write(environment, "html", teller, runs, out, progress)


def write_markdown(
    folders: Sequence[Path],
    out: TextIO,
    progress: Progress,
    compared: Compared | None = None,
) -> Overview:
    """Write a report of these runs as Markdown, which has no figures."""
    runs = [open_run(folder) for folder in folders]
    teller = _teller(NoPictures(), runs, compared)
    return _write(templates.markdown(), "md", teller, runs, out, progress)


def _teller(
    pictures: Pictures | NoPictures, runs: Sequence[RunView], compared: Compared | None
) -> Teller:
    """Return who tells the cases of these runs, in as many words as there is room for."""
    total = sum(len(run.header.cases) for run in runs)
    names = {Asked(case).name for run in runs for case in run.header.cases}
    common = f"{next(iter(names))}-" if len(names) == 1 else ""
    return Teller(
        pictures, total > MANY, total > FEW, common, compared or Compared(), names_of(runs)
    )


def _write(
    environment: Environment,
    form: str,
    teller: Teller,
    runs: Sequence[RunView],
    out: TextIO,
    progress: Progress,
) -> Overview:
    total = sum(len(run.header.cases) for run in runs)
    gathered, done = Gathered(), 0
    telling = environment.get_template(f"case.{form}")
    laid_out = templates.unparted if form == "html" else str
    with tempfile.TemporaryFile("w+", encoding="utf-8", errors="backslashreplace") as spool:
        for number, run in enumerate(runs, start=1):
            for place, case in enumerate(run.cases(), start=1):
                raise_if_stopped()
                row = CaseRow.of(case)
                part = teller.tell(run, row, anchor_of(number, place, case))
                gathered.add(row, part)
                teller.pictures.gather(replace(case, trials=()) if teller.compact else case)
                spool.write(laid_out(telling.render(case=part, compact=teller.compact)))
                done += 1
                progress(done, total)
        page = overview_of(runs, gathered, teller)
        out.write(laid_out(environment.get_template(f"overview.{form}").render(page=page)))
        spool.seek(0)
        shutil.copyfileobj(spool, out)
    out.write(laid_out(environment.get_template(f"end.{form}").render(page=page)))
    return page
