"""What a plan leaves open until a deployment has a folder and a name.

In a plan's texts a placeholder stands between marks that no path, argument or setting can hold, as
the kernel ends them there. So nothing that a user writes is ever taken for one. People and records
are shown its word.
"""

from __future__ import annotations

import enum
import re
from collections.abc import Mapping
from typing import Annotated

from pydantic import BeforeValidator, PlainSerializer

MARK = "\0"


class Placeholder(enum.Enum):
    """What is filled in when a deployment is made; f-strings take it as it is."""

    RUN = "RUN"
    """The deployment's folder."""
    NAME = "NAME"
    """Its name, as DPDK's file prefix."""
    TAP = "TAP"
    """A short name, as network devices of the kernel have room for no other."""

    def __str__(self) -> str:
        return f"{MARK}{self.value}{MARK}"


MARKED = re.compile(f"{MARK}({'|'.join(one.value for one in Placeholder)}){MARK}")


def fill_in(text: str, known: Mapping[Placeholder, str]) -> str:
    """Return a text of a plan with its placeholders filled in."""
    return MARKED.sub(lambda found: known[Placeholder(found[1])], text)


def shown(text: str) -> str:
    """Return a text of a plan for people, with the words of its placeholders."""
    return MARKED.sub(lambda found: found[1], text)


Shown = Annotated[str, BeforeValidator(lambda text: shown(text) if type(text) is str else text)]
"""A text that is there to be read, and never filled in."""
Open = Annotated[str, PlainSerializer(shown, return_type=str)]
"""A text that is filled in when it is used, and written down with words."""
