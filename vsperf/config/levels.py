"""Levels of noise: `noise: level_1` names a file of `conf/noise`, which says what that is.

A level stands where the kind of a driver would, alone or in a list; settings that are written
beside it lie above those of its file. `none` is no noise at all.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from vsperf.config.alternatives import KIND, NAME
from vsperf.config.lookup import Library
from vsperf.config.noise import NOISE, QUIET
from vsperf.config.suggest import described, did_you_mean, listed, quoted
from vsperf.config.tree import Entry, Listing, Node, Scalar, Section, Source, merge_sections, plain
from vsperf.errors import Problem, SpecError

LEVEL_KEYS = ("title", NOISE)


def with_levels(
    document: Section, library: Library, kinds: Collection[str]
) -> tuple[Section, list[Problem]]:
    """Return the document with what its levels stand for; `kinds` are those of the drivers."""
    node = document.get(NOISE)
    if node is None:
        return document, []
    try:
        if isinstance(node, Listing):
            items = tuple(_resolved(item, library, kinds) for item in node.items)
            return document.having(NOISE, replace(node, items=items)), []
        if _kind(node) == QUIET or (isinstance(node, Scalar) and node.value is None):
            return document.without(NOISE), []
        found = _resolved(node, library, kinds)
    except SpecError as error:
        return document.without(NOISE), list(error.problems)
    return document.having(NOISE, found.without(NAME) if isinstance(found, Section) else found), []


def is_quiet(node: Node) -> bool:
    """Whether an item of a list is the case without noise."""
    return _kind(node) == QUIET


def _resolved(node: Node, library: Library, kinds: Collection[str]) -> Node:
    kind = _kind(node)
    if not isinstance(node, Section) or not isinstance(kind, str):
        return node
    if kind == QUIET or kind in kinds:
        return node
    levels = library.files(NOISE)
    if kind not in levels:
        known = (QUIET, *levels, *kinds)
        fix = did_you_mean(kind, known, f"levels: {listed(levels)}; kinds: {listed(kinds)}")
        what = f"there is no level or kind of noise {quoted(kind)}"
        raise SpecError([Problem(what, node.entries[KIND].node.mark.location, None, fix)])
    path = levels[kind].path
    told = library.section(path, Source(library.shown(path), path.name, role=f"noise {kind}"))
    level = told.get(NOISE)
    strange = [key for key in told.entries if key not in LEVEL_KEYS]
    if strange or not isinstance(level, Section):
        what = f"a level of noise holds `title` and `{NOISE}`"
        why = f"found: {listed(strange)}" if strange else f"`{NOISE}` is {_said(level)}"
        fix = f"write all of its settings below `{NOISE}:`"
        raise SpecError([Problem(what, told.mark.location, why, fix)])
    merged = merge_sections(level, node.without(KIND))
    if NAME in merged.entries:
        return merged
    return replace(
        merged, entries={**merged.entries, NAME: Entry(node.mark, Scalar(kind, node.mark))}
    )


def _kind(node: Node) -> object:
    kind = node.get(KIND) if isinstance(node, Section) else None
    return kind.value if isinstance(kind, Scalar) else None


def _said(node: Node | None) -> str:
    return "missing" if node is None else described(plain(node))
