"""Calls of VPP's binary API as data: planned, printed, and made in their order. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class InterfaceOf:
    """The interface of a port, by its place; it has a number when it was made."""

    place: str


@dataclass(frozen=True, slots=True)
class Call:
    """One call: a message with its fields. What is not given is zero."""

    message: str
    fields: Mapping[str, Any]
    makes: str | None = None
    """The place of the port whose interface the reply brings."""

    @property
    def line(self) -> str:
        """The call as people read it."""
        words = _words(self.fields)
        made = f" -> {self.makes}" if self.makes is not None else ""
        return f"{self.message} {words}{made}"

    def filled(self, fill: Callable[[str], str], interfaces: Mapping[str, int]) -> dict[str, Any]:
        return {name: _filled(value, fill, interfaces) for name, value in self.fields.items()}


def _filled(value: Any, fill: Callable[[str], str], interfaces: Mapping[str, int]) -> Any:
    match value:
        case InterfaceOf(place):
            return interfaces[place]
        case str():
            return fill(value)
        case Mapping():
            return {name: _filled(one, fill, interfaces) for name, one in value.items()}
        case list() | tuple():
            return [_filled(one, fill, interfaces) for one in value]
    return value


def _words(fields: Mapping[str, Any]) -> str:
    shown = ((name, value) for name, value in fields.items() if not _is_blank(value))
    return " ".join(f"{name}={_word(value)}" for name, value in shown)


def _is_blank(value: Any) -> bool:
    """Whether it is there only since the message has room for it."""
    return isinstance(value, (list, tuple)) and not any(value)


def _word(value: Any) -> str:
    match value:
        case InterfaceOf(place):
            return place
        case bool():
            return "true" if value else "false"
        case Mapping():
            return "{" + _words(value) + "}"
        case list() | tuple():
            return "[" + " ".join(_word(one) for one in value) + "]"
    return str(value)
