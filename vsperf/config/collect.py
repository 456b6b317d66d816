"""The word `collect:` of a case: what is collected around its trials, by whom.

`proc+ovs` names collectors, `none` is nobody, and a mapping gives them settings, each under its
kind or under a name of its own with a `kind:`. A list is alternatives, and makes a case of each.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import replace

from vsperf.config.base import DriverSpec
from vsperf.config.suggest import described, did_you_mean, listed, quoted
from vsperf.config.tree import Entry, Listing, Node, Scalar, Section, plain
from vsperf.errors import Problem

COLLECT = "collect"
NONE = "none"
CALLED = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,31}")
"""What a collector may be called: it becomes the name of a file."""


def collect_label(collectors: Mapping[str, DriverSpec]) -> str:
    """Return what a case is called by: its collectors, as they may be written."""
    return "+".join(collectors) or NONE


def lifted(document: Section, known: Collection[str]) -> tuple[Section, list[Problem]]:
    """Return the document with collectors as a mapping from their names to their settings.

    The second are the problems of those that are named as nobody is.
    """
    node = document.get(COLLECT)
    if node is None:
        return document, []
    problems: list[Problem] = []
    if isinstance(node, Listing):
        items = tuple(_one(item, known, problems) for item in node.items)
        return document.having(COLLECT, replace(node, items=items)), problems
    return document.having(COLLECT, _one(node, known, problems)), problems


def _one(node: Node, known: Collection[str], problems: list[Problem]) -> Node:
    if isinstance(node, Scalar) and (node.value is None or isinstance(node.value, str)):
        return _named(node, known, problems)
    if not isinstance(node, Section):
        what = f"`{COLLECT}` names collectors, and is {described(plain(node))}"
        fix = f"write it like `{COLLECT}: proc+ovs`, or `{COLLECT}: [{NONE}, proc]` for two cases"
        problems.append(Problem(what, node.mark.location, None, fix))
        return node
    entries = {}
    for name, entry in node.entries.items():
        if not (isinstance(entry.node, Scalar) and entry.node.removed):
            entries[name] = _settings(name, entry, known, problems)
    return replace(node, entries=entries)


def _named(node: Scalar, known: Collection[str], problems: list[Problem]) -> Section:
    """Return what a word such as `proc+ovs` stands for."""
    words = [word.strip() for word in str(node.value or NONE).split("+")]
    names = [] if words == [NONE] else words
    entries = {}
    for name in names:
        entries[name] = _settings(
            name, Entry(node.mark, Section({}, (node.mark,))), known, problems
        )
    return Section(entries, (node.mark,))


def _settings(name: str, entry: Entry, known: Collection[str], problems: list[Problem]) -> Entry:
    place = entry.key.location
    if not CALLED.fullmatch(name):
        what = f"`{COLLECT}` has a collector called {quoted(name)}"
        fix = "name it by letters, digits, _ and -, beginning with a letter"
        problems.append(Problem(what, place, None, fix))
        return entry
    settings = entry.node
    if isinstance(settings, Scalar) and settings.value is True:
        settings = Section({}, (settings.mark,))
    if not isinstance(settings, Section):
        what = f"`{COLLECT}.{name}` holds settings, and is {described(plain(settings))}"
        problems.append(Problem(what, settings.mark.location, None, f"write `{name}: {{}}`"))
        return entry
    kind = settings.get("kind") or Scalar(name, entry.key)
    settings, value = settings.having("kind", kind), plain(kind)
    if not isinstance(value, str) or value not in known:
        fix = f"known collectors: {listed(known)}; or give it a `kind:`"
        what = f"there is no collector {quoted(str(value))}"
        where = kind.mark.location
        problems.append(Problem(what, where, None, did_you_mean(str(value), known, fix)))
    return replace(entry, node=settings)
