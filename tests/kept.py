"""What several tests share: it is started once, and proved to be clean before it is handed on."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import Generic, TypeVar

import pytest

T = TypeVar("T")
State = Mapping[str, object]
"""What has to be as it was, under names for people."""


@dataclass
class Kept(Generic[T]):
    """Something that stands from one test to the next, for as long as each leaves it as it was."""

    make: Callable[[str], AbstractContextManager[T]]
    """Makes it as it is called: one kind at a time."""
    look: Callable[[T], State]
    """Says how it is, so that what a test has left can be held against how it was at first."""
    _stack: ExitStack = field(default_factory=ExitStack)
    _standing: list[T] = field(default_factory=list)
    _first: State = field(default_factory=dict)
    _last: str = ""
    _kind: str = ""

    def lent(self, test: str, kind: str = "") -> T:
        """Return what stands, or is made now; fail if the last test has not left it as it was."""
        if kind != self._kind:
            self.take_down()
        if not self._standing:
            self._kind = kind
            self._standing.append(self._stack.enter_context(self.make(kind)))
            self._first = self.look(self._standing[0])
        elif changed := self._changed():
            self.take_down()
            pytest.fail(f"{self._last} left what it shares changed:\n  " + "\n  ".join(changed))
        self._last = test
        return self._standing[0]

    def take_down(self) -> None:
        """Make room for a test that needs one of its own, or none."""
        self._standing.clear()
        self._stack.close()

    def _changed(self) -> list[str]:
        try:
            now = self.look(self._standing[0])
        except Exception as error:
            return [f"it cannot be looked at any more: {error!r}"]
        return [
            f"{name}: {now.get(name)!r}, and first {was!r}"
            for name, was in self._first.items()
            if now.get(name) != was
        ]


@contextmanager
def keeping(
    make: Callable[[str], AbstractContextManager[T]], look: Callable[[T], State]
) -> Iterator[Kept[T]]:
    """Keep something for a module or a class, and take it down at its end."""
    kept = Kept(make, look)
    try:
        yield kept
    finally:
        kept.take_down()
