"""Text of drawings: made harmless, measured, broken into lines and shortened."""

from __future__ import annotations

import functools
import unicodedata
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

CONTROLS = ("Cc", "Cf", "Cs", "Co", "Zl", "Zp")
NO_LETTERS = "\ufffe\uffff"


def plain(text: str) -> str:
    """Return text without what would move a cursor, or change a direction of writing.

    What no XML can hold is left out as well.
    """
    return "".join(
        " " if unicodedata.category(letter) in CONTROLS or letter in NO_LETTERS else letter
        for letter in text
    )


@contextmanager
def any_letters() -> Iterator[None]:
    """Let names hold letters that the font has not; a page has other fonts for them."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph .* missing", category=UserWarning)
        yield


def shortened(text: str, most: int) -> str:
    """Return text of at most so many letters: its middle gives way, as ends tell names apart."""
    if len(text) <= most:
        return text
    head = (most - 1) // 2
    return f"{text[:head]}…{text[len(text) - (most - 1 - head) :]}"


def width(text: str, size: float, *, bold: bool = False) -> float:
    """Return how wide text will be [pt]; other fonts of a page are narrower."""
    return sum(_advance(character, bold) for character in text) * size


@functools.lru_cache(maxsize=4096)
def _advance(character: str, bold: bool) -> float:
    """Return how far the next character stands from the beginning of this one, at a size of 1.

    One that the font has not is as wide as the sign that stands for it.
    """
    font = _font(bold)
    glyph = font.load_glyph(font.get_char_index(ord(character)), flags=_flags())
    return float(glyph.linearHoriAdvance) / 65536 / MEASURED_AT


MEASURED_AT = 100.0


@functools.cache
def _font(bold: bool) -> Any:
    from matplotlib.font_manager import FontProperties, findfont
    from matplotlib.ft2font import FT2Font

    path = findfont(FontProperties(family="DejaVu Sans", weight="bold" if bold else "normal"))
    font = FT2Font(path)  # of our own: matplotlib changes the size of those that it shares
    font.set_size(MEASURED_AT, 72)
    return font


def _flags() -> Any:
    from matplotlib.ft2font import LoadFlags

    return LoadFlags.NO_HINTING


def wrapped(text: str, size: float, room: float, *, bold: bool = False) -> list[str]:
    """Break text into lines that fit; a word that is too long is broken, too."""
    lines = [""]
    for word in text.split():
        joined = f"{lines[-1]} {word}" if lines[-1] else word
        if width(joined, size, bold=bold) <= room:
            lines[-1] = joined
            continue
        if lines[-1]:
            lines.append("")
        for letter in word:
            if width(lines[-1] + letter, size, bold=bold) > room:
                lines.append("")
            lines[-1] += letter
    return lines
