"""Switches that are held against each other within one case: a list that makes no cases.

Where a method compares, the first switch of a list is the case's `vswitch`, and the others are its
rivals: all are deployed at the same time, under the names that their cases would have had.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from vsperf.config.alternatives import KIND, Named, named_items, same_names
from vsperf.config.base import DriverSpec
from vsperf.config.case import CALLED, RIVALS, VSWITCH
from vsperf.config.tree import Entry, Listing, Node, Scalar, Section, find
from vsperf.errors import Problem

MOST = 8
"""Switches in one comparison: each takes its memory, and its part of the time."""
AGAINST = " against "


def comparing(document: Section, methods: Mapping[str, type[DriverSpec]]) -> bool:
    """Whether the method of a document holds switches against each other."""
    return _compares(find(document, "search"), methods)


def in_a_list(document: Section, methods: Mapping[str, type[DriverSpec]]) -> list[Problem]:
    """Return that a method that compares is one of several: a list of switches is one case to it.

    To the others it is one for each of them.
    """
    node = document.get("search")
    return [
        Problem(
            "a method that holds switches against each other stands alone, and not in a list",
            item.mark.location,
            "a list of switches is one case to it, and several to all others",
            "write it as a testcase of its own",
        )
        for item in (node.items if isinstance(node, Listing) else ())
        if _compares(item, methods)
    ]


def _compares(method: Node | None, methods: Mapping[str, type[DriverSpec]]) -> bool:
    kind = find(method, KIND)
    found = methods.get(str(kind.value)) if isinstance(kind, Scalar) else None
    return bool(getattr(found, "COMPARES", False))


def with_rivals(document: Section) -> tuple[Section, dict[str, str], list[Problem]]:
    """Return the document with rivals in place of a list of switches.

    Also the names of all of them for the point of the case, and what is wrong with the list.
    """
    node = document.get(VSWITCH)
    if not isinstance(node, Listing) or not node.items:
        return document, {}, []
    if len(node.items) > MOST:
        what = f"`vswitch` holds {len(node.items)} switches, and at most {MOST} can be compared"
        why = "all of them are deployed at the same time, and take turns"
        fix = "leave some out, or compare them in several runs"
        return document, {}, [Problem(what, node.mark.location, why, fix)]
    named = named_items(node)
    if problems := same_names(VSWITCH, [one for one in named if one.given]):
        return document, {}, problems
    items = _told_apart(named)
    first, *others = items
    document = document.having(VSWITCH, first.section)
    document = document.having(CALLED, Scalar(first.name, first.section.mark))
    if others:
        rivals = tuple(_rival(one) for one in others)
        document = document.having(RIVALS, Listing(rivals, node.mark), node.mark)
    return document, {VSWITCH: AGAINST.join(one.name for one in items)}, []


def _rival(item: Named) -> Section:
    mark = item.section.mark
    entries = {
        "name": Entry(mark, Scalar(item.name, mark)),
        VSWITCH: Entry(mark, item.section),
    }
    return Section(entries, item.section.marks)


def _told_apart(items: Sequence[Named]) -> list[Named]:
    """Number what is called alike: the same switch may be held against itself."""
    found: list[Named] = []
    for item in items:
        taken, name, number = {one.name for one in found}, item.name, 1
        while name in taken:
            number += 1
            name = f"{item.name}-{number}"
        found.append(replace(item, name=name))
    return found
