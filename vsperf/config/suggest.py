"""Words for errors: how a value is quoted, what a mistyped name is near to, who brings a kind."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from functools import cache
from importlib.resources import files
from typing import Any

LONGEST_SHOWN = 48
MOST_MEANT = 5


def quoted(value: object) -> str:
    """Quote a value in an error: shortened, and never with control characters."""
    if value is None:
        return "an empty value"
    if isinstance(value, bool):
        return str(value).lower()
    text = repr(value) if isinstance(value, str) else str(value)
    return text if len(text) <= LONGEST_SHOWN else text[: LONGEST_SHOWN - 3] + "..."


def described(value: Any) -> str:
    """Say what a value is, with its type: people mistake types more often than values."""
    match value:
        case None:
            return "empty"
        case bool():
            return f"{quoted(value)}, a truth value"
        case int() | float():
            return f"the number {quoted(value)}"
        case str():
            return f"the text {quoted(value)}"
        case dict():
            return "a mapping"
        case _:
            return "a list"


def nearest(word: str, known: Iterable[str]) -> str | None:
    """Return the known name that `word` was probably meant to be."""
    if len(word) > 64:
        return None
    names = list(known)
    folded = {name.lower().replace("-", "_"): name for name in names}
    key = word.lower().replace("-", "_")
    if key in folded:
        return folded[key]
    found = difflib.get_close_matches(key, folded, n=1, cutoff=0.6)
    return folded[found[0]] if found else None


def did_you_mean(word: str, known: Iterable[str], otherwise: str | None = None) -> str | None:
    """Return the suggestion as a sentence, or `otherwise` when no known name is near."""
    found = nearest(word, known)
    return f"did you mean `{found}`?" if found else otherwise


def no_such_kind(
    section: str, kind: str, known: Iterable[str], otherwise: str
) -> tuple[str | None, str | None]:
    """Return why there is no driver of a kind, if that is known, and what mends it.

    A package outside that brings it is told; else what was probably meant, or `otherwise`.
    """
    for package, told in packages_outside().items():
        if kind in told.get(section, ()):
            return f"it comes with the package {package}, which is not installed", told["install"]
    return None, did_you_mean(kind, known, otherwise)


@cache
def packages_outside() -> dict[str, dict[str, Any]]:
    """Return the packages outside that are known: the kinds of each by section, and `install`."""
    import yaml

    text = files("vsperf.config").joinpath("outside.yaml").read_text("utf-8")
    found: dict[str, dict[str, Any]] = yaml.safe_load(text)
    return found


def testcase_meant(word: str, known: Iterable[str], otherwise: str | None = None) -> str | None:
    """Return the suggestion for a testcase's name, of which people often type one part alone."""
    names = list(known)
    with_it = [name for name in names if f"_{word}_" in f"_{name}_"]
    if not with_it and nearest(word, names) is None:
        tail = nearest(word, [_tail(name) for name in names])
        with_it = [name for name in names if _tail(name) == tail]
    if len(with_it) < 2:
        return did_you_mean(with_it[0] if with_it else word, names, otherwise)
    with_it.sort(key=lambda name: _tail(name) != word)
    return f"did you mean one of {listed(with_it, MOST_MEANT)}?"


def _tail(name: str) -> str:
    """Return what a testcase measures, without the way that its frames take."""
    return name.partition("_")[2]


def listed(names: Iterable[str], limit: int = 12) -> str:
    """Join names for an error; long lists are cut."""
    every = list(names)
    shown = ", ".join(every[:limit])
    return f"{shown}, … ({len(every)} in all)" if len(every) > limit else shown or "none"
