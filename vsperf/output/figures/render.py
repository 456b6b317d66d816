"""The one renderer: a drawing as SVG for pages, or as a file (SVG, PNG, PDF).

Text stays text in SVG and PDF. What is drawn of the same numbers is the same to the byte: no date,
no random name. Room for text is measured before anything is drawn, so that none overlaps.
"""

from __future__ import annotations

import hashlib
import io
from pathlib import Path
from typing import Any

from vsperf.errors import RecordingError, UsageError
from vsperf.output.figures import library, page, theme
from vsperf.output.figures.drawing import Drawing
from vsperf.output.figures.layout import compose
from vsperf.output.figures.text import any_letters
from vsperf.trust.named_files import written

FORMATS = ("svg", "png", "pdf")
RESOLUTION = 150
"""Dots per inch of PNG."""


def svg(drawing: Drawing) -> str:
    """Return a drawing as an SVG element, to stand in a page: no prolog, names of its own.

    Its colours are CSS variables (`--figure-1` …) with a default, and its text has the colour of
    the text around it.
    """
    return page.element(_painted(drawing, "svg", "none").decode(), drawing, _salt(drawing))


def save(drawing: Drawing, path: Path) -> None:
    """Write a drawing to a file, in the format that its name ends with."""
    drawn = content(drawing, format_of(path))
    try:
        with written(path) as file:
            file.write(drawn)
    except OSError as error:
        raise RecordingError(
            f"{path} cannot be written",
            why=error.strerror or str(error),
            fix="choose another file with -o",
        ) from error


def content(drawing: Drawing, form: str) -> bytes:
    """Return a drawing as the bytes of a file."""
    if form == "svg":
        # Many programs that show pictures know no variables, so a file has plain colours.
        text = _painted(drawing, "svg", "white").decode()
        return page.document(page.element(text, drawing, _salt(drawing), plainly=True)).encode()
    return _painted(drawing, form)


def format_of(path: Path) -> str:
    """Return the format that a file's name asks for."""
    form = path.suffix.lower().removeprefix(".")
    if form not in FORMATS:
        raise UsageError(
            f"{path.name} names no format that a drawing can have",
            fix=f"end the name with one of {', '.join(f'.{one}' for one in FORMATS)}",
        )
    return form


def _salt(drawing: Drawing) -> str:
    return "f" + hashlib.sha256(repr(drawing).encode()).hexdigest()[:10]


def _painted(drawing: Drawing, form: str, facecolor: str = "white") -> bytes:
    mpl = library.matplotlib()
    style: dict[Any, Any] = {**theme.STYLE, "svg.hashsalt": _salt(drawing)}
    out = io.BytesIO()
    with mpl.rc_context(style), any_letters():
        figure = compose(drawing)
        figure.set_facecolor(facecolor)
        if form == "svg":
            from vsperf.output.figures.svg import painted

            return painted(figure).encode()
        _canvas(figure, form)
        metadata = {"Software": "vsperf"} if form == "png" else {"CreationDate": None}
        figure.savefig(out, format=form, dpi=RESOLUTION, facecolor="auto", metadata=metadata)
    return out.getvalue()


def _canvas(figure: Any, form: str) -> None:
    """Give a figure the canvas that its format needs; no windows, no state of pyplot."""
    if form == "pdf":
        from matplotlib.backends.backend_pdf import FigureCanvasPdf as Canvas
    else:
        from matplotlib.backends.backend_agg import FigureCanvasAgg as Canvas  # type: ignore[assignment]
    Canvas(figure)
