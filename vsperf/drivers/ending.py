"""How what a driver brought up knows that it is over, whoever still asks it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol, TypeVar


class Ends(Protocol):
    """A running switch, or a session with a generator."""

    ended: bool


E = TypeVar("E", bound=Ends)


@contextmanager
def until_left(running: E) -> Iterator[E]:
    """Yield it; it has ended once the context is left."""
    try:
        yield running
    finally:
        running.ended = True
