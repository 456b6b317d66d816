"""A document of the model, read key by key: what nobody read is refused, with its path.

So nothing of a configuration is ignored in silence, also nothing that a later version of the model
adds. All that is wrong is collected, and said at once.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from vsperf.errors import VsperfError

MOST_PROBLEMS = 20
MOST_LETTERS = 500
"""Of each."""
MOST_DIGITS = 20


class RefusedError(VsperfError):
    """A request is not carried out; each message names the path in the model."""

    def __init__(self, messages: Sequence[str], code: int = 400) -> None:
        shown = [_short(message) for message in messages[:MOST_PROBLEMS]]
        if len(messages) > MOST_PROBLEMS:
            shown.append(f"and {len(messages) - MOST_PROBLEMS} more")
        super().__init__("; ".join(shown))
        self.messages = tuple(shown)
        self.code = code


class Document:
    """The whole: knows of every object that was read, and what is wrong in it."""

    def __init__(self, content: object, path: str = "") -> None:
        self.problems: list[str] = []
        self._nodes: list[Node] = []
        self.root = self.node(content, path)

    def node(self, content: object, path: str) -> Node:
        """Return an object of it; what is none is a problem, and then an empty one."""
        if not isinstance(content, dict):
            self.problems.append(f"{path or 'the body'}: must be an object")
            content = {}
        found = Node(self, content, path)
        self._nodes.append(found)
        return found

    def finish(self) -> None:
        """Refuse what is wrong, and what nobody asked for."""
        unread = [text for node in self._nodes for text in node.unread()]
        if messages := [*self.problems, *unread]:
            raise RefusedError(messages)


class Node:
    """One object of a document."""

    def __init__(self, document: Document, content: dict[str, Any], path: str) -> None:
        self.document = document
        self.path = path
        self._content = content
        self._read: set[str] = set()

    def at(self, key: str) -> str:
        """Return the path of a key."""
        return f"{self.path}.{key}" if self.path else key

    def refuse(self, text: str, key: str | None = None) -> None:
        """Note that something in it cannot be had."""
        path = self.path if key is None else self.at(key)
        self.document.problems.append(f"{path}: {text}" if path else text)

    def unread(self) -> list[str]:
        """Return what is to be said of keys that nobody asked for."""
        keys = sorted(set(self._content) - self._read)
        return [
            f"{self.at(shown(key))}: not supported"
            for key in keys
            if not _nothing(self._content[key])
        ]

    def has(self, key: str) -> bool:
        return not _nothing(self._content.get(key))

    def get(self, key: str) -> Any:
        self._read.add(key)
        found = self._content.get(key)
        return None if _nothing(found) else found

    def text(self, key: str, default: str | None = None) -> str:
        """Return a text, which is needed unless there is a default."""
        found = self.get(key)
        if found is None:
            if default is None:
                self.refuse("is needed", key)
            return default or ""
        if not isinstance(found, str):
            self.refuse(f"must be a text, not {found!r}", key)
            return default or ""
        if not found and default is None:
            self.refuse("must not be empty", key)
        return str(found)

    def texts(self, key: str, most: int | None = None) -> list[str]:
        """Return a list of texts, empty where nothing is said; refuse a longer one at once."""
        if most is not None:
            self.at_most(key, most)
        found = self._list(key)
        if not all(isinstance(one, str) for one in found):
            self.refuse("must be a list of texts", key)
            return []
        return found

    def whole(self, key: str, default: int | None, least: int, most: int) -> int:
        """Return a whole number; as in JSON of protobuf, it may be written as a text."""
        found = self.get(key)
        if found is None:
            found = default
        if isinstance(found, str) and found.isascii() and found.isdigit():
            found = int(found) if len(found) <= MOST_DIGITS else found
        if type(found) is not int or not least <= found <= most:
            self.refuse(f"must be a whole number from {least} to {most}, not {found!r}", key)
            return least
        return found

    def number(self, key: str, default: float, least: float, most: float) -> float:
        found = self.get(key)
        if found is None:
            found = default
        if type(found) not in (int, float) or not least <= found <= most:
            self.refuse(f"must be a number from {least:g} to {most:g}, not {found!r}", key)
            return least
        return float(found)

    def flag(self, key: str, *, default: bool) -> bool:
        found = self.get(key)
        if found is None:
            return default
        if not isinstance(found, bool):
            self.refuse(f"must be true or false, not {found!r}", key)
            return default
        return found

    def only(self, key: str, *allowed: object, why: str = "") -> None:
        """Accept a key if it says what is done anyway."""
        found = self.get(key)
        if found is not None and found not in allowed:
            known = " or ".join(repr(one) for one in allowed)
            self.refuse(f"{found!r} is not supported, only {known}{why and '; ' + why}", key)

    def one_of(self, key: str, known: Sequence[str], default: str | None = None) -> str:
        found = self.text(key, default)
        if found not in known:
            if found:
                self.refuse(f"{found!r} is not supported, only {', '.join(known)}", key)
            return default or known[0]
        return found

    def choice(self, known: Sequence[str], default: str) -> str:
        """Return which of several things this object says; the others must not stand in it."""
        named = self.text("choice", _implied(self._content, known) or default)
        if named not in known:
            self.refuse(f"{named!r} is not supported, only {', '.join(known)}", "choice")
            self._read.update(self._content)
            return default
        return named

    def node(self, key: str) -> Node:
        """Return an object in it, an empty one where nothing is said."""
        found = self.get(key)
        return self.document.node({} if found is None else found, self.at(key))

    def at_most(self, key: str, most: int) -> None:
        """Refuse a longer list at once: nothing else of the document is looked at then."""
        found = self._content.get(key)
        if isinstance(found, list) and len(found) > most:
            raise RefusedError([f"{self.at(key)}: {len(found)} are too many, there can be {most}"])

    def nodes(self, key: str) -> list[Node]:
        """Return the objects of a list, none where nothing is said."""
        found = self._list(key)
        return [self.document.node(one, f"{self.at(key)}[{n}]") for n, one in enumerate(found)]

    def _list(self, key: str) -> list[Any]:
        found = self.get(key)
        if found is None:
            return []
        if not isinstance(found, list):
            self.refuse("must be a list", key)
            return []
        return found


def json_of(content: Mapping[str, Any]) -> bytes:
    """Return an object as it goes out."""
    return json.dumps(content, separators=(",", ":")).encode()


def shown(word: str) -> str:
    """Return a word of a client's as it can stand in a sentence."""
    return word if word.isidentifier() else repr(word)


def _implied(content: dict[str, Any], known: Sequence[str]) -> str | None:
    """Return the one thing that an object without the word `choice` says."""
    said = [one for one in known if not _nothing(content.get(one))]
    return said[0] if len(said) == 1 else None


def _nothing(value: object) -> bool:
    """Whether a value says as much as none: clients write lists and objects that are empty."""
    return value is None or (isinstance(value, list | dict) and not value)


def _short(message: str) -> str:
    """Return a message that does not repeat all of what is wrong with a long value."""
    return message if len(message) <= MOST_LETTERS else f"{message[:MOST_LETTERS]}…"
