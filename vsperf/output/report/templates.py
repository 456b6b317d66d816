"""The templates of reports, and how words of others are made harmless in HTML and in Markdown."""

from __future__ import annotations

import re
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from vsperf.output.table import Table, escape_markdown, html_table, markdown_table
from vsperf.trust.printable import printable

CODE = re.compile(r"`([^`\n]+)`")
INTERVAL = re.compile(r"(\[[^][<>]*\])")
UNSAFE_IN_CODE = frozenset("<>&@|")
NAMES = re.compile(
    r"<(style|script|svg|title)\b.*?</\1>|<[^>]*>|(?P<name>[^\s<>&]*[-/][^\s<>&]+)", re.DOTALL
)
"""Names with a sign after which browsers begin a new line: options, flags, cases, units, paths."""
LONGEST_NAME = 28
"""Letters that fit into a line of a telephone, beside the name of a fact, too."""
PIECE = re.compile(r"[/_=]*[^/_=]+[/_=]?|[/_=]+")
"""A longer name is parted behind one of these."""


class Harmless(str):
    """Markdown that is ours, and not to be escaped again."""

    __slots__ = ()


def html() -> Environment:
    """Return the templates of HTML; all that they show is escaped."""
    made = _environment(autoescape=True)
    made.finalize = _shown
    made.filters["prose"] = _prose
    made.filters["whole"] = _whole
    made.filters["table"] = _table
    return made


def markdown() -> Environment:
    """Return the templates of Markdown; all that they show is escaped."""
    made = _environment(autoescape=False)
    made.finalize = _markdown
    made.filters["prose"] = _markdown_prose
    made.filters["code"] = _markdown_code
    made.filters["html"] = _inside_html
    made.filters["table"] = lambda table: Harmless(markdown_table(table))
    return made


def _environment(*, autoescape: bool) -> Environment:
    return Environment(
        loader=PackageLoader("vsperf.output.report"),
        undefined=StrictUndefined,
        autoescape=autoescape,  # noqa: S701 - Markdown is escaped by `finalize`
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )


def _shown(value: Any) -> Any:
    """Write out control characters; what is markup already stays as it is."""
    if isinstance(value, Markup) or not isinstance(value, str):
        return value
    return printable(value)


def _prose(text: str) -> Markup:
    """Return a sentence whose words between backticks are code."""
    return Markup(CODE.sub(r"<code>\1</code>", str(escape(printable(text)))))  # noqa: S704 - escaped


def _whole(markup: Markup) -> Markup:
    """Return a sentence no interval of which is parted at the end of a line."""
    return Markup(INTERVAL.sub(r'<span class="whole">\1</span>', str(markup)))  # noqa: S704 - escaped


def unparted(page: str) -> str:
    """Return a page no name of which is parted at the end of a line, such as `--` from `repeat`.

    The names themselves stay as they are, so that what is copied is what was written.
    """
    return NAMES.sub(_unparted, page)


def _unparted(found: re.Match[str]) -> str:
    name = found["name"]
    if not name:
        return found[0]
    pieces = [name] if len(name) <= LONGEST_NAME else PIECE.findall(name)
    return "<wbr>".join(
        f'<span class="name-of">{piece}</span>' if len(piece) <= LONGEST_NAME else piece
        for piece in pieces
    )


def _table(table: Table) -> Markup:
    return Markup(html_table(table))  # noqa: S704 - escaped


def _markdown(value: Any) -> str:
    return value if isinstance(value, Harmless) else escape_markdown(str(value))


def _markdown_prose(text: str) -> Harmless:
    """Return a sentence whose words between backticks are code."""
    parts = CODE.split(text)
    return Harmless(
        "".join(
            _markdown_code(part) if place % 2 else _kept_spaces(part)
            for place, part in enumerate(parts)
        )
    )


def _inside_html(text: str) -> Harmless:
    """Return a text for a line of HTML in Markdown, where Markdown itself means nothing."""
    return Harmless(escape(" ".join(printable(text).split())))


def _kept_spaces(text: str) -> str:
    """Escape a part of a sentence; spaces at its ends part it from what is beside it."""
    before = " " if text[:1].isspace() else ""
    after = " " if text[-1:].isspace() and text.strip() else ""
    return f"{before}{escape_markdown(text)}{after}"


def _markdown_code(text: str) -> Harmless:
    """Return a text as code within a line; a fence is longer than any inside.

    Not every reader of Markdown keeps its hands off what stands in code.
    """
    line = " ".join(printable(text).split())
    if not line or set(line) & UNSAFE_IN_CODE:
        return Harmless(escape_markdown(line))
    longest = max((len(run) for run in re.findall(r"`+", line)), default=0)
    fence = "`" * (longest + 1)
    space = " " if line.startswith("`") or line.endswith("`") else ""
    return Harmless(f"{fence}{space}{line}{space}{fence}")
