"""Text of others made fit to be shown: what would steer a terminal or a reader is written out."""

from __future__ import annotations

import re
import shlex

NOT_IN_LABELS = re.compile(r"[^A-Za-z0-9._+-]")
KEPT = "\n\t"


def printable(text: str) -> str:
    """Return `text` with what is no ordinary character written out, such as an escape."""
    if text.isprintable():
        return text
    return "".join(
        one
        if one.isprintable() or one in KEPT
        else one.encode("unicode_escape", "surrogatepass").decode()
        for one in text
    )


def vsperf_command(*words: str) -> str:
    """Return a command of vsperf that a reader may copy; a name of others is one word of it."""
    return shlex.join(("vsperf", *words))


def as_label(text: str) -> str:
    """Return `text` as labels of cases have it, which also are names of files."""
    return NOT_IN_LABELS.sub("_", text)
