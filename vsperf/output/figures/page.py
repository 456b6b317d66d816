"""SVG for pages: names that are unique on a page, its colours, and words for readers aloud."""

from __future__ import annotations

import re
from xml.etree import ElementTree

from vsperf.output.figures import theme
from vsperf.output.figures.drawing import Drawing
from vsperf.output.figures.text import plain

SVG = "http://www.w3.org/2000/svg"
XLINK = "http://www.w3.org/1999/xlink"
FONTS = "'DejaVu Sans', Verdana, 'Noto Sans', Arial, sans-serif"


def element(text: str, drawing: Drawing, name: str, *, plainly: bool = False) -> str:
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


def document(text: str) -> str:
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
