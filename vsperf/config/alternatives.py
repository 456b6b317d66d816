"""Drivers that a case is measured with one after the other: `vswitch: [ovs-dpdk, {kind: vpp}]`.

Such a list is laid over others item by item, so that what a testbed or a testcase says of a kind
holds for the item of that kind, wherever the list is written.
"""

from __future__ import annotations

import functools
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from vsperf.config.document import LISTED
from vsperf.config.suggest import described, quoted
from vsperf.config.tree import (
    Entry,
    Listing,
    Node,
    Scalar,
    Section,
    leaves,
    merge,
    merge_sections,
    plain,
)
from vsperf.errors import Problem

KIND, NAME = "kind", "name"
TOPOLOGY = "topology"
CALLED = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+-]{0,63}")
"""What an item may be called: it becomes a part of labels."""
UNFIT = re.compile(r"[^A-Za-z0-9._+]+")


@dataclass(frozen=True, slots=True)
class Named:
    """One item of a list, and what its cases are called by."""

    name: str
    section: Section
    given: bool
    """Whether somebody gave it this name."""


def merge_documents(documents: Iterable[Section]) -> Section:
    """Lay documents over each other, lowest first; lists of drivers are merged item by item."""
    return functools.reduce(_merged, map(_lifted_all, documents))


def _merged(lower: Section, upper: Section) -> Section:
    merged = merge_sections(lower, upper)
    merged = _with_family(merged, lower.get(TOPOLOGY), upper.get(TOPOLOGY))
    for path in LISTED:
        below, above = lower.get(path), upper.get(path)
        if below is not None and above is not None:
            merged = merged.having(path, _laid_over(below, above))
    return merged


def _with_family(merged: Section, below: Node | None, above: Node | None) -> Section:
    """Keep a topology that is only named below settings of it, as in `topology.dispatch=ip`."""
    if not isinstance(below, Scalar) or not isinstance(above, Section):
        return merged
    if {NAME, "paths"} & above.entries.keys():
        return merged
    family = Section({NAME: Entry(below.mark, below)}, (below.mark,))
    return merged.having(TOPOLOGY, merge(family, above))


def _lifted_all(document: Section) -> Section:
    """Return the document with a section in place of each driver that is only named."""
    for path in LISTED:
        node = document.get(path)
        if isinstance(node, Listing):
            items = tuple(_lifted(item) for item in node.items)
            document = document.having(path, replace(node, items=items))
        elif node is not None:
            document = document.having(path, _lifted(node))
    return document


def _lifted(node: Node) -> Node:
    if isinstance(node, Scalar) and isinstance(node.value, str):
        return Section({KIND: Entry(node.mark, node)}, (node.mark,))
    return node


def _laid_over(below: Node, above: Node) -> Node:
    if not isinstance(below, Listing) and not isinstance(above, Listing):
        return merge(below, above)
    known = [item for item in _items(below) if isinstance(item, Section)]
    if not isinstance(above, Listing):
        return _chosen(known, above)
    items = [
        one
        for place, item in enumerate(above.items)
        for one in _of_its_kind(_partners(known, above.items, place), item)
    ]
    return replace(above, items=tuple(items))


def _partners(known: Sequence[Section], above: Sequence[Node], place: int) -> Sequence[Section]:
    """Return what an item may be laid over: one of its kind each, where there are as many of both.

    A kind may stand several times in a list, and the same list may be laid over itself: an option
    lies below the testcase, and above it.
    """
    item = above[place]
    if not isinstance(item, Section) or KIND not in item.entries or NAME in item.entries:
        return known
    kind = _said(item, KIND)
    same = [
        n for n, one in enumerate(above) if isinstance(one, Section) and _said(one, KIND) == kind
    ]
    below = [one for one in known if _said(one, KIND) == kind]
    return [below[same.index(place)]] if 1 < len(below) == len(same) else known


def _items(node: Node) -> tuple[Node, ...]:
    return node.items if isinstance(node, Listing) else (node,)


def _chosen(known: Sequence[Section], above: Node) -> Node:
    """Lay settings over a list: over all items, or over those of the kind that they name."""
    if not isinstance(above, Section):
        return above
    merged = tuple(merge_sections(item, above) for item in known if _fits(item, above))
    if KIND not in above.entries:
        return Listing(merged, above.mark)
    if not merged:
        return above
    return Listing(merged, above.mark) if len(merged) > 1 else merged[0].without(NAME)


def _of_its_kind(known: Sequence[Section], item: Node) -> list[Node]:
    """Return what an item becomes: laid over all that lies below of its kind, else as it is."""
    if not isinstance(item, Section):
        return [item]
    fitting = [one for one in known if _fits(one, item)]
    if NAME in item.entries:
        same = [one for one in fitting if NAME in one.entries]
        fitting = same or (fitting if len(fitting) == 1 else [])
    return [merge_sections(one, item) for one in fitting] or [item]


def _fits(below: Section, above: Section) -> bool:
    """Whether both can be about one driver: of the same kind and name, as far as they say."""
    return all(
        _said(below, key) == _said(above, key)
        for key in (KIND, NAME)
        if key in below.entries and key in above.entries
    )


def _said(section: Section, key: str) -> object:
    node = section.get(key)
    return node.value if isinstance(node, Scalar) else node


def item_problems(path: str, listing: Listing) -> list[Problem]:
    """Return what is wrong with a list before anybody looks at the settings in it."""
    problems = []
    for item in listing.items:
        place = item.mark.location
        if not isinstance(item, Section):
            what = f"an item of `{path}` is a kind or its settings, and is {described(plain(item))}"
            fix = f"write it like `{path}: [sim, {{kind: sim, seed: 2}}]`"
            problems.append(Problem(what, place, None, fix))
            continue
        if KIND not in item.entries:
            what = f"an item of `{path}` does not say of what kind it is"
            problems.append(Problem(what, place, None, f"add `{KIND}:` to it"))
        name = _said(item, NAME)
        if NAME in item.entries and not (isinstance(name, str) and CALLED.fullmatch(name)):
            what = f"`{path}` has an item that is called {quoted(str(name))}"
            fix = "name it by letters, digits and . _ + -, beginning with one of the first two"
            problems.append(Problem(what, item.entries[NAME].node.mark.location, None, fix))
    return problems


def named_items(listing: Listing) -> tuple[Named, ...]:
    """Call each item by the name it was given, else by its kind, and by what tells it from others.

    The items are sections that have a kind, as `item_problems` says.
    """
    items = [item for item in listing.items if isinstance(item, Section)]
    kinds = Counter(_said(item, KIND) for item in items)
    found = []
    for item in items:
        own = item.without(NAME)
        given, kind = _said(item, NAME), str(_said(item, KIND))
        sisters = [one.without(NAME) for one in items if _said(one, KIND) == kind]
        name = "-".join((kind, *_apart(own, sisters))) if kinds[kind] > 1 else kind
        found.append(Named(str(given), own, True) if given else Named(name, own, False))
    return tuple(found)


def _apart(own: Section, sisters: Sequence[Section]) -> list[str]:
    """Say in what an item differs from the others of its kind: a path by its last part."""
    every = [dict(leaves(plain(sister))) for sister in sisters]
    words = []
    for path, value in leaves(plain(own)):
        if all(path in one and one[path] == value for one in every):
            continue
        text = str(value).lower() if isinstance(value, bool) else str(value)
        folder = text.rstrip("/").rpartition("/")
        word = folder[2] if folder[1] else f"{path.rpartition('.')[2]}-{text}"
        words.append(UNFIT.sub("-", word).strip("-"))
    return words


def same_names(path: str, items: Sequence[Named]) -> list[Problem]:
    """Return a problem for each item that is called like one before it."""
    first: dict[str, Named] = {}
    problems = []
    for item in items:
        before = first.setdefault(item.name, item)
        if before is item:
            continue
        same = plain(before.section) == plain(item.section) and not item.given
        twice = f"`{path}` holds {quoted(item.name)} twice"
        what = twice if same else f"two items of `{path}` would be called {quoted(item.name)}"
        fix = "keep one of the two" if same else f"give one of them a `{NAME}:` of its own"
        why = f"the first is at {before.section.mark.words}"
        problems.append(Problem(what, item.section.mark.location, why, fix))
    return problems
