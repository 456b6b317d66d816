"""The values that a field of a header takes, frame after frame."""

from __future__ import annotations

import ipaddress
from collections.abc import Callable
from dataclasses import dataclass

from vsperf.otg.document import Node

MOST_VALUES = 1 << 24
MOST_LISTED = 1 << 16
CHOICES = ("value", "values", "increment", "decrement")


@dataclass(frozen=True, slots=True)
class Values:
    """One after the other, and from the first one again."""

    listed: tuple[int, ...] = ()
    """All of them, where they are not evenly spaced."""
    first: int = 0
    step: int = 1
    count: int = 1

    @classmethod
    def of(cls, listed: tuple[int, ...]) -> Values:
        """Return them as evenly spaced ones if they are, whichever way."""
        if not listed:
            return cls()
        step = listed[1] - listed[0] if len(listed) > 1 else 1
        even = all(one == listed[0] + n * step for n, one in enumerate(listed))
        if even and (step or len(listed) == 1):
            return cls((), listed[0], step, len(listed))
        return cls(listed, listed[0], 1, len(listed))

    @property
    def rising(self) -> bool:
        """Whether each is greater than the one before by the same number."""
        return not self.listed and (self.count == 1 or self.step > 0)

    def at(self, number: int) -> int:
        """Return the value of a frame, counted from 0."""
        turn = number % self.count
        return self.listed[turn] if self.listed else self.first + turn * self.step


@dataclass(frozen=True, slots=True)
class Notation:
    """How values of a field are written, and how many bits they have."""

    bits: int
    read: Callable[[object], int]

    @property
    def most(self) -> int:
        """The greatest value."""
        return (1 << self.bits) - 1


def _mac(text: object) -> int:
    parts = str(text).split(":")
    if len(parts) != 6 or not all(0 < len(part) <= 2 for part in parts):
        raise ValueError
    return int.from_bytes(bytes(int(part, 16) for part in parts))


def _whole(value: object) -> int:
    if type(value) is not int:
        raise ValueError
    return value


def _ipv6(text: object) -> int:
    address = ipaddress.IPv6Address(str(text))
    if address.scope_id is not None:
        raise ValueError
    return int(address)


MAC = Notation(48, _mac)
IPV4 = Notation(32, lambda text: int(ipaddress.IPv4Address(str(text))))
IPV6 = Notation(128, _ipv6)


def integer(bits: int) -> Notation:
    """Return the notation of a number of so many bits."""
    return Notation(bits, _whole)


def read(header: Node, key: str, notation: Notation, default: int) -> Values:
    """Return the values of a field; those of a field that nobody set are its default."""
    if not header.has(key):
        return Values(first=default)
    field = header.node(key)
    match field.choice(CHOICES, "value"):
        case "values":
            listed = field.get("values") or []
            if not isinstance(listed, list):
                field.refuse("must be a list", "values")
                listed = []
            if len(listed) > MOST_LISTED:
                field.refuse(f"{len(listed)} are too many, there can be {MOST_LISTED}", "values")
                listed = []
            return Values.of(
                tuple(_one(field, f"values[{n}]", one, notation) for n, one in enumerate(listed))
            )
        case ("increment" | "decrement") as way:
            return _counted(field, way, notation)
    return Values(first=_one(field, "value", field.get("value"), notation, default))


def fixed(header: Node, key: str, notation: Notation, default: int, least: int = 0) -> int:
    """Return the value of a field that is the same in all frames."""
    values = read(header, key, notation, default)
    if values.count > 1:
        header.refuse("must be the same in all frames", key)
    if values.first < least:
        header.refuse(f"must be {least} at least", key)
    return values.first


def computed(header: Node, key: str, *right: int) -> int | None:
    """Accept a field that is filled in: `auto`, or a value that it can get; return that value."""
    if not header.has(key):
        return None
    field = header.node(key)
    if field.choice(("auto", "value"), "auto") == "auto":
        field.get("auto")
        return None
    said = field.get("value")
    if type(said) is int and said in right:
        return said
    header.refuse(f"is filled in; {said!r} cannot be had", key)
    return None


def checksum(header: Node, key: str) -> None:
    """Accept a checksum that is right."""
    if header.has(key):
        field = header.node(key)
        field.only("choice", "generated", why="all checksums are right")
        field.only("generated", "good", why="all checksums are right")


def _counted(field: Node, way: str, notation: Notation) -> Values:
    counter = field.node(way)
    first = _one(counter, "start", counter.get("start"), notation, 0)
    step = _one(counter, "step", counter.get("step"), notation, 1)
    count = counter.whole("count", 1, 1, MOST_VALUES)
    step = -step if way == "decrement" else step
    last = first + (count - 1) * step
    if not 0 <= last <= notation.most:
        counter.refuse("the values would begin again at the other end of the range")
        return Values(first=first)
    return Values(first=first, step=step, count=count)


def _one(
    field: Node, key: str, said: object, notation: Notation, default: int | None = None
) -> int:
    if said is None and default is not None:
        return default
    try:
        found = notation.read(said)
    except ValueError:
        found = -1
    if not 0 <= found <= notation.most:
        field.refuse(f"{said!r} is no value of this field", key)
        return 0
    return found
