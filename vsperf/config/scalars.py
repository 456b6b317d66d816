"""What an unquoted word in a specification means: the few plain rules of YAML 1.2.

Only true, false, null, decimal integers and decimal fractions are anything but text. So a PCI
address, a MAC address, `12:30`, `010`, a date and `on` stay the text that was written.
"""

from __future__ import annotations

import math
import re

_INTEGER = re.compile(r"[-+]?(?:0|[1-9][0-9]{0,17})", re.ASCII)
_FLOAT = re.compile(
    r"[-+]?(?:(?:0|[1-9][0-9]*)(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][-+]?[0-9]+)?", re.ASCII
)
_WORDS: dict[str, bool | None] = {
    "": None, "~": None, "null": None, "true": True, "false": False,
}  # fmt: skip
LONGEST_NUMBER = 40


def resolve(text: str) -> str | int | float | bool | None:
    """Return what the unquoted `text` means."""
    if text in _WORDS:
        return _WORDS[text]
    if len(text) > LONGEST_NUMBER:
        return text
    if _INTEGER.fullmatch(text):
        return int(text)
    if _FLOAT.fullmatch(text) and not text.lstrip("+-").isdigit():
        number = float(text)
        return number if math.isfinite(number) else text
    return text


def is_plain_text(text: str) -> bool:
    """Whether `text` is free of control characters and of halves of characters.

    An escape puts them into a file, and an error would put them on a terminal.
    """
    return not any(
        (code < 32 and code not in (9, 10)) or 127 <= code < 160 or 0xD800 <= code < 0xE000
        for code in map(ord, text)
    )
