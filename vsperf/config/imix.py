"""Mixes of frame sizes: a sequence that is sent over and over, named as RFC 6985 does."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, Self

from vsperf.quantities.quantity import Quantity, UnitError, shown
from vsperf.quantities.units import FrameSize

LETTERS = {
    "a": 64, "b": 128, "c": 256, "d": 512, "e": 1024, "f": 1280, "g": 1518, "h": 2112, "i": 9000,
    "z": 1518,
}  # fmt: skip
"""Sizes [B] by their letters in a genome; z is that of the MTU, here the usual one."""
MOST_FRAMES = 128
"""In a sequence: what a generator keeps ready."""
LONGEST = 1024
"""Characters of a text that is worth a look."""


@dataclass(frozen=True, slots=True)
class MeanSize(FrameSize):
    """The mean size of a mix: whole bytes to show, and exact where a rate follows from it."""

    exact: Fraction

    @property
    def mean(self) -> Fraction:
        return self.exact


@dataclass(frozen=True, slots=True)
class Imix(Quantity):
    """A mix of frame sizes that is sent over and over, as a genome of RFC 6985 or by sizes.

    A genome is a row of letters, each with the number of frames before it: a is 64B, b 128B, c
    256B, d 512B, e 1024B, f 1280B, g 1518B, h 2112B, i 9000B, and z the size of the MTU, 1518B.
    Other sizes are written out. A file may also have a list of `{size: 64, share: 7}`.
    """

    EXAMPLES: ClassVar[tuple[str, ...]] = ("7a4d1g", "aaaaaaaddddg", "7x64+4x570+1x1518")
    BY_SIZE: ClassVar[str] = "[0-9]{1,3}x[0-9]{1,5}B?"
    SIZES: ClassVar[str] = rf"{BY_SIZE}(?:[+,]\s*{BY_SIZE})*"
    TEXT: ClassVar[str] = rf"(?:[0-9]{{0,3}}[{''.join(LETTERS)}])+|{SIZES}"
    OTHERS: ClassVar[Mapping[str, Any]] = {
        "type": ["array"],
        "items": {
            "type": "object",
            "properties": {
                "size": FrameSize.json_schema(),
                "share": {
                    "type": "integer",
                    "minimum": 1,
                    "description": "Frames of it in a sequence.",
                },
            },
            "required": ["size", "share"],
            "additionalProperties": False,
        },
        "minItems": 2,
    }

    runs: tuple[tuple[int, int], ...]
    """How many frames of which size [B], in the order in which they are sent."""

    def __post_init__(self) -> None:
        for _, size in self.runs:
            FrameSize(size)
        if len({size for _, size in self.runs}) < 2:
            raise UnitError(
                "a mix has frames of at least two sizes; one size is `traffic.frame_size`"
            )
        if len(self.sizes) > MOST_FRAMES:
            raise UnitError(
                f"the mix is a sequence of {len(self.sizes)} frames; at most {MOST_FRAMES} can be "
                "sent over and over, so divide all shares by the same number"
            )

    @classmethod
    def _parse(cls, value: object) -> Self:
        if isinstance(value, list):
            return cls.of(_part(one) for one in value)
        text = value.strip() if isinstance(value, str) and len(value) <= LONGEST else ""
        if re.fullmatch(r"(?:[0-9]{0,3}[a-z])+", text):
            return cls.of(_gene(*found) for found in re.findall(r"(\d*)([a-z])", text))
        if re.fullmatch(cls.SIZES, text):
            found = re.findall(r"(\d+)x(\d+)", text)
            return cls.of((_number(count, text), int(size)) for count, size in found)
        wanted = f"a mix of frame sizes is written like {', '.join(cls.EXAMPLES)}"
        raise UnitError(f"{shown(value)} is not a mix of frame sizes; {wanted}")

    @classmethod
    def of(cls, runs: Iterable[tuple[int, int]]) -> Self:
        """Return the mix of these runs; neighbours of one size become one run."""
        groups = itertools.groupby(runs, key=lambda run: run[1])
        return cls(tuple((sum(count for count, _ in same), size) for size, same in groups))

    @property
    def sizes(self) -> tuple[int, ...]:
        """The whole sequence [B]."""
        return tuple(size for count, size in self.runs for _ in range(count))

    @property
    def shortest(self) -> FrameSize:
        return FrameSize(min(self.sizes))

    @property
    def longest(self) -> FrameSize:
        return FrameSize(max(self.sizes))

    @property
    def mean(self) -> MeanSize:
        """The mean size over the sequence, from which rates follow (RFC 6985)."""
        exact = Fraction(sum(self.sizes), len(self.sizes))
        return MeanSize(round(exact), exact)

    def __str__(self) -> str:
        letters = {size: letter for letter, size in reversed(LETTERS.items())}
        if all(size in letters for _, size in self.runs):
            return "".join(f"{count}{letters[size]}" for count, size in self.runs)
        return "+".join(f"{count}x{size}" for count, size in self.runs)


def _gene(count: str, letter: str) -> tuple[int, int]:
    if letter not in LETTERS:
        known = ", ".join(f"{letter} {size}" for letter, size in LETTERS.items())
        raise UnitError(f"there is no frame size {letter!r}; the letters of RFC 6985 are {known}")
    return _number(count or "1", f"{count}{letter}"), LETTERS[letter]


def _number(text: str, where: str) -> int:
    if not int(text):
        raise UnitError(f"{shown(where)} has a share of no frames; leave that size out")
    return int(text)


def _part(one: object) -> tuple[int, int]:
    """Read one entry of a list of sizes and shares."""
    if not isinstance(one, dict) or set(one) != {"size", "share"}:
        raise UnitError(f"{shown(one)} is no part of a mix; one is written {{size: 64, share: 7}}")
    share = one["share"]
    if not isinstance(share, int) or isinstance(share, bool) or share < 1:
        raise UnitError(
            f"a share is {shown(share)}; it is the number of frames of that size in a sequence, "
            "a whole number from 1"
        )
    return share, FrameSize.parse(one["size"]).bytes
