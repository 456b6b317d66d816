"""The one renderer: a drawing as SVG for pages, or as a file (SVG, PNG, PDF).

Text stays text in SVG and PDF. What is drawn of the same numbers is the same to the byte: no date,
no random name. Room for text is measured before anything is drawn, so that none overlaps. On a page
names are unique, and readers aloud have words.

While matplotlib is imported it reads the first file `matplotlibrc` that it finds: in the working
directory before all others, where a stranger's would decide, or a pipe of that name would be waited
for. So it is loaded elsewhere. Its list of fonts, and fonts themselves, it has from the home that
it is told of; where that is not this user's alone, it gets an empty one in its place.
"""

from __future__ import annotations

import hashlib
import importlib
import io
import os
import re
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any
from xml.etree import ElementTree

from vsperf.errors import RecordingError, UsageError
from vsperf.output.figures import theme
from vsperf.output.figures.drawing import Drawing
from vsperf.output.figures.layout import compose
from vsperf.output.figures.text import any_letters, plain
from vsperf.trust import trusted
from vsperf.trust.named_files import written

SVG = "http://www.w3.org/2000/svg"
XLINK = "http://www.w3.org/1999/xlink"
FONTS = "'DejaVu Sans', Verdana, 'Noto Sans', Arial, sans-serif"
NAME, FONT_MANAGER = "matplotlib", "matplotlib.font_manager"
"""The library, and that of it which looks for fonts as soon as it is imported."""
VARIABLE = "MATPLOTLIBRC"
FORMATS = ("svg", "png", "pdf")
RESOLUTION = 150
"""Dots per inch of PNG."""


def page_element(text: str, drawing: Drawing, name: str, *, plainly: bool = False) -> str:
    """Return the SVG of matplotlib as an element of a page, or with colours of its own."""
    ElementTree.register_namespace("", SVG)
    ElementTree.register_namespace("xlink", XLINK)
    root = ElementTree.fromstring(text)  # noqa: S314 - written by ourselves a moment ago
    for child in list(root):
        if child.tag in (f"{{{SVG}}}metadata",):
            root.remove(child)
    for one in root.iter():
        _rename(one, name)
        _recolor(one, plainly=plainly)
    width, height = (float(value) for value in root.attrib["viewBox"].split()[2:])
    root.attrib.pop("version", None)
    root.attrib |= {
        "width": f"{width * 4 / 3:.0f}",
        "height": f"{height * 4 / 3:.0f}",
        "class": "figure",
        "role": "img",
        "aria-labelledby": f"{name}-title {name}-desc",
        "style": "max-width:100%;height:auto",
    }
    simulated = "SIMULATED: " if drawing.simulated else ""
    for place, (tag, words) in enumerate(
        (("title", simulated + drawing.title), ("desc", drawing.caption))
    ):
        said = ElementTree.Element(f"{{{SVG}}}{tag}", {"id": f"{name}-{tag}"})
        said.text = plain(words)
        root.insert(place, said)
    return ElementTree.tostring(root, encoding="unicode")


def svg_document(text: str) -> str:
    """Return an SVG element as a file of its own."""
    return f'<?xml version="1.0" encoding="utf-8"?>\n{text}\n'


def _rename(one: ElementTree.Element, name: str) -> None:
    for key, value in one.attrib.items():
        if key == "id":
            one.attrib[key] = f"{name}-{value}"
        elif key in ("href", f"{{{XLINK}}}href") and value.startswith("#"):
            one.attrib[key] = f"#{name}-{value[1:]}"
        elif "url(#" in value:
            one.attrib[key] = value.replace("url(#", f"url(#{name}-")


COLOR = re.compile(r"#[0-9a-f]{6}")
FONT = re.compile(r"'DejaVu Sans'(, sans-serif)?")


def _recolor(one: ElementTree.Element, *, plainly: bool) -> None:
    """Name fonts that take the place of ours, and let colours be those of the page."""
    style = FONT.sub(FONTS, one.attrib.get("style", ""))
    if not plainly:
        style = COLOR.sub(lambda found: theme.VARIABLES.get(found[0], found[0]), style)
    if style:
        one.attrib["style"] = style
    for key in ("fill", "stroke") if not plainly else ():
        if key in one.attrib:
            one.attrib[key] = theme.VARIABLES.get(one.attrib[key], one.attrib[key])


def matplotlib() -> ModuleType:
    """Return the library, with its own defaults; to be called before any part of it is imported."""
    if NAME in sys.modules:
        return sys.modules[NAME]
    here = os.open(".", os.O_PATH | os.O_CLOEXEC)
    try:
        os.chdir("/")
        with trusted.own_home() as homes, _environment({VARIABLE: os.devnull, **homes}):
            library = importlib.import_module(NAME)
            importlib.import_module(FONT_MANAGER)
            return library
    finally:
        os.fchdir(here)
        os.close(here)


@contextmanager
def _environment(wanted: Mapping[str, str]) -> Iterator[None]:
    """Have variables of the environment be others for a while."""
    before = {name: os.environ.get(name) for name in wanted}
    os.environ |= wanted
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


def svg(drawing: Drawing) -> str:
    """Return a drawing as an SVG element, to stand in a page: no prolog, names of its own.

    Its colours are CSS variables (`--figure-1` …) with a default, and its text has the colour of
    the text around it.
    """
    return page_element(_painted(drawing, "svg", "none").decode(), drawing, _salt(drawing))


def save(drawing: Drawing, path: Path) -> None:
    """Write a drawing to a file, in the format that its name ends with."""
    drawn = content(drawing, format_of(path))
    with (
        RecordingError.if_refused(f"{path} cannot be written", fix="choose another file with -o"),
        written(path) as file,
    ):
        file.write(drawn)


def content(drawing: Drawing, form: str) -> bytes:
    """Return a drawing as the bytes of a file."""
    if form == "svg":
        # Many programs that show pictures know no variables, so a file has plain colours.
        text = _painted(drawing, "svg", "white").decode()
        return svg_document(page_element(text, drawing, _salt(drawing), plainly=True)).encode()
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
    mpl = matplotlib()
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
