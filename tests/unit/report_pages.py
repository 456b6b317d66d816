"""Reports of runs that tests lay down, and what a reader of the page finds in them."""

from __future__ import annotations

import io
import re
from collections.abc import Sequence
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

from record_samples import planned

from vsperf.output.report.page import Overview
from vsperf.output.report.write import write_html, write_markdown
from vsperf.records.run import PlannedCase

VOID = {"meta", "br", "hr", "img", "input", "link"}
UNPARTED = re.compile(r'<span class="name-of">([^<]*)</span>(?:<wbr>)?')
"""A name, or a piece of one, that is not parted at the end of a line: nothing that is read."""


class Reader(HTMLParser):
    """Reads a page as a browser does, and notes what is on it."""

    def __init__(self) -> None:
        super().__init__()
        self.text: list[str] = []
        self.ids: list[str] = []
        self.links: list[str] = []
        self.tags: set[str] = set()
        self.handlers: list[str] = []
        """Attributes that would run something."""
        self.open: list[str] = []

    def feed(self, data: str) -> None:
        super().feed(UNPARTED.sub(r"\1", data))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        if tag not in VOID:
            self.open.append(tag)
        for name, value in attrs:
            if name == "id" and value:
                self.ids.append(value)
            if name in ("href", "src", "xlink:href", "action") and value:
                self.links.append(value)
            if name.startswith("on"):
                self.handlers.append(name)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self.open.pop()

    def handle_endtag(self, tag: str) -> None:
        assert self.open and self.open[-1] == tag, f"</{tag}> closes {self.open[-3:]}"
        self.open.pop()

    def handle_data(self, data: str) -> None:
        if "style" not in self.open:
            self.text.append(data)

    @property
    def words(self) -> str:
        return " ".join(" ".join(self.text).split())


def quietly(done: int, total: int) -> None:
    """Say nothing on how far it is."""


def html_of(*folders: Path) -> str:
    out = io.StringIO()
    write_html(folders, out, quietly)
    return out.getvalue()


def read(*folders: Path) -> Reader:
    reader = Reader()
    reader.feed(html_of(*folders))
    assert reader.open == []
    return reader


def markdown_of(*folders: Path) -> str:
    out = io.StringIO()
    write_markdown(folders, out, quietly)
    return out.getvalue()


def overview_of(folders: Sequence[Path]) -> Overview:
    return write_html(folders, io.StringIO(), quietly)


def whole_case(number: int = 1, **spec: Any) -> PlannedCase:
    """A planned case whose specification has all parts that a report looks at."""
    found = planned(number)
    links = {"phy0": {"speed": "10Gbit/s"}, "phy1": {"speed": "10Gbit/s"}}
    content = {
        **found.spec,
        "title": "Throughput from port to port",
        "topology": {"name": "p2p", "paths": [["phy0", "phy1"]]},
        "testbed": {"name": "sim", "links": links},
        "vswitch": {"kind": "sim"},
        "generator": {"kind": "sim"},
        "search": {"kind": "mlr", "min_load": "1kfps", "max_load": "100%", "width": "1%"},
        **spec,
    }
    return found.model_copy(update={"spec": content})
