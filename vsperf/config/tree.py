"""What files say, as a tree in which every value knows where it was written; and how trees merge.

Merging is the whole of the precedence rule: mappings merge key by key, and everything else of the
higher layer replaces what lies below.
"""

from __future__ import annotations

from collections.abc import Container, Iterator
from dataclasses import dataclass, replace
from typing import Any

from vsperf.errors import Location

BUILT_IN = "built-in default"
LONGEST_LINE_SHOWN = 300


@dataclass(frozen=True, slots=True, eq=False)
class Source:
    """A file or an option that settings come from."""

    name: str
    """How an error names it: a path that can be opened, or the option as it was typed."""
    brief: str
    """How a record names it: without folders that exist on one machine only."""
    role: str = ""
    """What the file is, such as `preset quick`; empty where the brief name says it."""
    lines: tuple[str, ...] = ()
    numbered: bool = True
    """False for an option, which has no line numbers."""


@dataclass(frozen=True, slots=True)
class Mark:
    """A place in a source; line and column count from 1."""

    source: Source
    line: int = 1
    column: int = 1

    @property
    def location(self) -> Location:
        known = self.line <= len(self.source.lines)
        text = self.source.lines[self.line - 1] if known else None
        if text is not None and len(text) > LONGEST_LINE_SHOWN:
            text = None
        return Location(
            self.source.name, self.line if self.source.numbered else None, self.column, text
        )

    @property
    def words(self) -> str:
        """The place within its source, for a message that already says which source."""
        column = f"column {self.column}"
        return f"line {self.line}, {column}" if self.source.numbered else column

    @property
    def origin(self) -> str:
        """The place as a record names it, such as `preset quick (quick.yaml:7)`."""
        source = self.source
        place = f"{source.brief}:{self.line}" if source.numbered else source.brief
        return f"{source.role} ({place})" if source.role else place


@dataclass(frozen=True, slots=True, eq=False)
class Scalar:
    """A single value."""

    value: str | int | float | bool | None
    mark: Mark
    removed: bool = False
    """True for a null that was written as such: it takes out an entry of a lower layer."""


@dataclass(frozen=True, slots=True, eq=False)
class Listing:
    """A list."""

    items: tuple[Node, ...]
    mark: Mark


@dataclass(frozen=True, slots=True, eq=False)
class Entry:
    """A key of a mapping, and what it holds."""

    key: Mark
    node: Node


@dataclass(frozen=True, slots=True, eq=False)
class Section:
    """A mapping, of one file or merged from several."""

    entries: dict[str, Entry]
    marks: tuple[Mark, ...]
    """Where it was written: highest layer first."""
    replaced: Mark | None = None
    """Where a lower layer gives the same mapping another `kind`, which dropped out."""

    @property
    def mark(self) -> Mark:
        """Where its highest layer was written."""
        return self.marks[0]

    def get(self, key: str) -> Node | None:
        """Return what `key` holds, or None."""
        entry = self.entries.get(key)
        return entry.node if entry else None

    def having(self, key: str, node: Node, mark: Mark | None = None) -> Section:
        old = self.entries.get(key)
        place = mark or (old.key if old else node.mark)
        return replace(self, entries={**self.entries, key: Entry(place, node)})

    def without(self, *keys: str) -> Section:
        """Return the section without `keys`."""
        return replace(self, entries={k: e for k, e in self.entries.items() if k not in keys})

    def without_items(self, key: str, numbers: Container[int]) -> Section:
        """Return the section without some items of the list under `key`."""
        found = self.entries.get(key)
        if found is None or not isinstance(found.node, Listing):
            return self
        kept = tuple(one for at, one in enumerate(found.node.items) if at not in numbers)
        return self.having(key, replace(found.node, items=kept), found.key)

    def only(self, *keys: str) -> Section:
        """Return the section with nothing but `keys`, as far as it has them."""
        return self.without(*(key for key in self.entries if key not in keys))


Node = Scalar | Listing | Section


def plain(node: Node) -> Any:
    """Return the value of a tree without its places."""
    match node:
        case Scalar():
            return node.value
        case Listing():
            return [plain(item) for item in node.items]
        case Section():
            return {key: plain(entry.node) for key, entry in node.entries.items()}


def merge(lower: Node | None, upper: Node) -> Node:
    """Lay `upper` over `lower`."""
    if isinstance(lower, Section) and isinstance(upper, Section):
        return merge_sections(lower, upper)
    return upper


def merge_sections(lower: Section, upper: Section) -> Section:
    """Lay a mapping over another.

    One whose `kind` differs takes the place of the lower one whole: the settings of one search or
    driver mean nothing to another.
    """
    below, above = lower.get("kind"), upper.get("kind")
    if isinstance(below, Scalar) and isinstance(above, Scalar) and below.value != above.value:
        return replace(upper, replaced=lower.mark)
    entries = dict(lower.entries)
    for key, entry in upper.entries.items():
        covered = entries.get(key)
        entries[key] = Entry(entry.key, merge(covered.node if covered else None, entry.node))
    marks = (*upper.marks, *lower.marks)
    return Section(entries, marks, upper.replaced or lower.replaced)


def find(node: Node | None, path: str) -> Node | None:
    """Return what lies at a dotted path, or None."""
    for key in path.split("."):
        if not isinstance(node, Section):
            return None
        node = node.get(key)
    return node


def put(section: Section, path: str, node: Node) -> Section:
    """Return `section` with `node` at a dotted path; the mappings on the way must exist."""
    first, _, rest = path.partition(".")
    if rest:
        inner = section.get(first)
        assert isinstance(inner, Section)
        node = put(inner, rest, node)
    return section.having(first, node)


def leaves(value: Any) -> Iterator[tuple[str, Any]]:
    """Yield dotted path and value of every leaf of plain data.

    A list is a leaf unless it holds mappings; these count from 0 (`expect.0.metric`).
    """
    yield from ((".".join(path), leaf) for path, leaf in _leaves(value, ()))


def _leaves(value: Any, path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Any]]:
    if isinstance(value, dict) and value:
        pairs = value.items()
    elif isinstance(value, list) and any(isinstance(item, dict) for item in value):
        pairs = dict(enumerate(value)).items()
    else:
        yield path, value
        return
    for key, inner in pairs:
        yield from _leaves(inner, (*path, str(key)))


def origins(document: Any, tree: Node) -> dict[str, str]:
    """Say for each leaf of a resolved document where its value was written."""
    return {".".join(path): _origin(tree, path) for path, _ in _leaves(document, ())}


def _origin(node: Node, path: tuple[str, ...]) -> str:
    for key in path:
        if isinstance(node, Section):
            inner = node.get(key)
            if inner is None:
                return BUILT_IN
            node = inner
        elif isinstance(node, Listing) and key.isdigit() and int(key) < len(node.items):
            node = node.items[int(key)]
        else:
            break
    return node.mark.origin
