"""The console that all tables and lines are printed on: what goes to it cannot steer it."""

from __future__ import annotations

import os
import re
import shlex
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment
from rich.text import Text

from vsperf.trust.printable import printable

UNIT = r"(?: (?:%|[nµm]?s|min|h|[kMG]?(?:fps|bit/s|B/s|B|Hz)|[KMG]iB|frames?)(?![\w/])\S*)?"
FIGURE = rf"(?:[≥≤<>±~] )?\S*\d\S*{UNIT}"
WORD = re.compile(rf"\s*(?:{FIGURE}(?: … {FIGURE})?|\S+)\s?")
"""What lines are broken between: a figure stays with its unit, a bound with the other one."""
PART = re.compile(rf"\s*(?:{FIGURE}|\S+)\s?")
"""The same on a line that is too short for both bounds."""
FOLD = re.compile(r"[^, ]*[, ]|[^, ]+")
"""What a word that is longer than a line is broken after."""
INDENT = "  "
COLUMNS = 80
"""Of what nobody says how wide it is, such as a file."""
MOST = 10_000
"""Columns that anybody can mean: a table is drawn in memory."""


class PlainConsole(Console):
    """A console on which text is text: no markup, no emoji names, and nothing that steers."""

    def __init__(self, *, stderr: bool, width: int | None = None) -> None:
        super().__init__(stderr=stderr, width=width, highlight=False, markup=False, emoji=False)

    def print(self, *objects: Any, **options: Any) -> None:
        """Print as `Console` does; lines are broken between words where they have to fit."""
        if objects and all(isinstance(one, str | Text) for one in objects):
            options["soft_wrap"] = True
            if breaks_lines(self):
                texts = (one if isinstance(one, Text) else Text(one) for one in objects)
                objects = tuple(between_words(text, self.width) for text in texts)
        super().print(*objects, **options)

    def print_whole(self, text: Text) -> None:
        """Print lines that are not to be broken, such as those of a command."""
        super().print(text, soft_wrap=True)

    def render(
        self, renderable: RenderableType, options: ConsoleOptions | None = None
    ) -> Iterable[Segment]:
        for segment in super().render(renderable, options):
            if segment.control or segment.text.isprintable():
                yield segment
            else:
                yield segment._replace(text=printable(segment.text))


def words_of(line: str) -> list[str]:
    """Return what stays whole where a line is broken."""
    return [word.strip() for word in WORD.findall(line)]


def columns_asked() -> int | None:
    """Return the width that $COLUMNS asks for; None where it says none.

    Shells keep it to themselves: where it is in the environment, somebody put it there.
    """
    text = os.environ.get("COLUMNS", "")
    return int(text) if text.isascii() and text.isdecimal() and 0 < int(text) <= MOST else None


def breaks_lines(out: Console) -> bool:
    """Whether lines have to fit: on a terminal, and in a pipe or file if $COLUMNS says so."""
    return out.is_terminal or columns_asked() is not None


def fitting(text: Text, out: Console, indent: str) -> Text:
    """Return a line, where it has to fit in several if it is too long, the later ones indented."""
    return between_words(text, out.width, indent) if breaks_lines(out) else text


def command_lines(argv: Sequence[str], out: Console, indent: str) -> str:
    """Write a command as a shell takes it, on a line or on several that end with a backslash.

    They are broken between arguments, and an option stays with its value. What is longer than a
    line, such as a device of QEMU with all its properties, is folded.
    """
    width = out.width if breaks_lines(out) else COLUMNS
    room = width - len(indent + INDENT) - len(" \\")
    lines: list[str] = []
    for words in _options(argv):
        quoted = [shlex.quote(word) for word in words]
        together = " ".join(quoted)
        if max(map(len, quoted)) > room:
            lines.append(_folded_option(words, width, len(indent + INDENT)))
            continue
        for part in quoted if len(together) > room else [together]:
            if lines and "\n" not in lines[-1] and len(lines[-1]) + len(f" {part}") <= room:
                lines[-1] += f" {part}"
            else:
                lines.append(part)
    return indent + f" \\\n{indent}{INDENT}".join(lines)


def folded(
    word: str, width: int, used: int, quote: Callable[[str], str] = shlex.quote, after: int = 1
) -> str:
    """Write a word that is longer than a line on several, broken after commas and spaces.

    A backslash ends each, and the next one begins at the edge: what a shell takes such lines for is
    one word, whereas an indent would begin another one. `used` is what stands before the word, and
    `after` the room that the end of a line takes.
    """
    lines = [""]
    for part in FOLD.findall(word):
        before = used if len(lines) == 1 else 0
        if lines[-1] and before + len(quote(lines[-1] + part)) + after > width:
            lines.append("")
        lines[-1] += part
    return "\\\n".join(map(quote, lines))


def _folded_option(words: Sequence[str], width: int, used: int) -> str:
    """Write an option and its value, of which one is too long for a line."""
    beside = "".join(f"{shlex.quote(word)} " for word in words[:-1])
    return beside + folded(words[-1], width, used + len(beside), after=len(" \\"))


def _options(argv: Sequence[str]) -> Iterator[list[str]]:
    """Yield the words of a command, each option with what may be its value."""
    words = deque(argv)
    while words:
        found = [words.popleft()]
        if found[0].startswith("-") and words and not words[0].startswith("-"):
            found.append(words.popleft())
        yield found


def between_words(text: Text, width: int, indent: str = INDENT) -> Text:
    """Break long lines between words, and indent what goes on.

    A word that is longer than a line, such as a path, stays whole, so that it can be copied.
    """
    found = Text()
    for number, line in enumerate(text.split(allow_blank=True)):
        breaks, used = [], 0
        longest = max(map(cell_len, words_of(line.plain)), default=0)
        pattern = WORD if longest + len(indent) <= width else PART
        for word in pattern.finditer(line.plain):
            part = word[0]
            if used + cell_len(part.rstrip()) > width and used > len(indent):
                part = part.lstrip()  # what stood between columns is no indent
                breaks.append(word.end() - len(part))
                used = len(indent)
            used += cell_len(part)
        parts = line.divide(breaks)
        for one in parts[:-1]:
            one.rstrip()
        found.append_text(Text("\n" if number else ""))
        found.append_text(Text("\n" + indent).join(parts))
    return found
