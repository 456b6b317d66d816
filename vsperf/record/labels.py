"""Labels: what a user calls a run, such as the git revision of the switch that it measured."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Annotated, Final

from pydantic import Field

from vsperf.errors import UsageError

NAME: Final = r"^[A-Za-z][A-Za-z0-9_.-]{0,62}$"
MOST_CHARACTERS: Final = 200
"""Of a value."""
EXAMPLE: Final = "write it like --label revision=4f2c1ab"

LabelName = Annotated[str, Field(pattern=NAME)]


def parse_labels(texts: Iterable[str]) -> dict[str, str]:
    """Return labels written as `key=value`, by name; each name stands once."""
    found: dict[str, str] = {}
    for text in texts:
        name, value = parse_label(text)
        if name in found:
            raise UsageError(
                f"the label {name!r} is given twice",
                why=f"it cannot be both {found[name]!r} and {value!r}",
                fix="give each label once",
            )
        found[name] = value
    return dict(sorted(found.items()))


def parse_label(text: str) -> tuple[str, str]:
    """Return the name and the value of one label; what stands around them is no part of them."""
    name, equals, value = (part.strip() for part in text.partition("="))
    if not equals:
        raise UsageError(f"the label {text!r} has no value", fix=EXAMPLE)
    if not re.fullmatch(NAME, name):
        raise UsageError(
            f"{name!r} cannot be the name of a label",
            why="a name begins with a letter and has at most 63 letters, digits and . _ -",
            fix=EXAMPLE,
        )
    if not value:
        raise UsageError(
            f"the label {name!r} has no value",
            why="an empty one could not be told from none",
            fix=f"leave --label {name}= out, or say what it is",
        )
    if len(value) > MOST_CHARACTERS or not value.isprintable():
        raise UsageError(
            f"the label {name!r} has a value that cannot be kept",
            why=f"a value has at most {MOST_CHARACTERS} characters, all of them printable",
            fix=EXAMPLE,
        )
    return name, value


def labels_text(labels: Mapping[str, str]) -> str:
    """Return labels in one line for people."""
    return ", ".join(f"{name}={value}" for name, value in sorted(labels.items()))
