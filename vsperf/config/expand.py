"""From a document with lists to concrete points: the cross product, in the order written.

Levels of noise are looked up here: `noise: level_1` names a file of `conf/noise`, which says what
that is. A level stands where the kind of a driver would, alone or in a list; settings that are
written beside it lie above those of its file. `none` is no noise at all.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace

from vsperf.config.alternatives import KIND, NAME, named_items, same_names
from vsperf.config.case import Case, CaseSpec
from vsperf.config.collect import COLLECT, collect_label
from vsperf.config.document import COMPARABLE, LISTED, SWEEPABLE
from vsperf.config.expected import SEARCH, asked_by, expected_of
from vsperf.config.guest import NETWORK
from vsperf.config.imix import Imix
from vsperf.config.lookup import Library
from vsperf.config.noise import NOISE, QUIET
from vsperf.config.suggest import described, did_you_mean, listed, quoted
from vsperf.config.tree import (
    Entry,
    Listing,
    Node,
    Scalar,
    Section,
    Source,
    find,
    merge_sections,
    plain,
    put,
)
from vsperf.errors import Problem, SpecError
from vsperf.quantities.quantity import UnitError

MOST_CASES = 2000
PLACES = "places"
SIZES, REPLAY, IMIX = "traffic.frame_size", "traffic.replay", "traffic.imix"
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


@dataclass(frozen=True, slots=True)
class Axis:
    """A list that makes several cases."""

    listing: Listing
    """As it was written, for messages."""
    nodes: tuple[Node, ...]
    """What takes the place of the list in each case."""
    names: tuple[str, ...] | None = None
    """What cases are called by; None where the value itself says it."""


@dataclass(frozen=True, slots=True)
class Chosen:
    """One document without lists."""

    document: Section
    named: dict[str, str]
    """Of the lists whose items have names, by their paths: which one was chosen."""


Axes = dict[str, Axis]


def axes(document: Section) -> tuple[Axes, list[Problem]]:
    """Return the lists that make several cases, in the order of `SWEEPABLE`."""
    found: Axes = {}
    problems = []
    others = [path for path in SWEEPABLE if path not in COMPARABLE]
    for path in (*others, *_kinds_of_places(document), *COMPARABLE):
        node = find(document, path)
        if isinstance(node, Listing):
            found[path] = Axis(node, node.items)
            if path in LISTED:
                items = named_items(node)
                found[path] = Axis(
                    node, tuple(one.section for one in items), tuple(one.name for one in items)
                )
                problems += same_names(path, items)
            if not node.items:
                fix = "write at least one value"
                problems.append(
                    Problem(f"`{path}` is an empty list", node.mark.location, None, fix)
                )
    problems += _one_file_for_all_sizes(document, found)
    problems += _one_mix_for_all_sizes(document, found)
    number = math.prod(len(axis.nodes) for axis in found.values())
    if number > MOST_CASES:
        largest = max(found.values(), key=lambda axis: len(axis.nodes))
        what = f"the lists make {number} cases, more than {MOST_CASES}"
        problems.append(Problem(what, largest.listing.mark.location, None, "split the testcase"))
    return found, problems


def _kinds_of_places(document: Section) -> list[str]:
    """Return where it is said what the end of a link is."""
    places = document.get(PLACES)
    return (
        [f"{PLACES}.{link}.{KIND}" for link in places.entries]
        if isinstance(places, Section)
        else []
    )


def _one_file_for_all_sizes(document: Section, found: Axes) -> list[Problem]:
    """Refuse a list of sizes for frames that have their own."""
    sizes = found.get(SIZES)
    if sizes is None or len(sizes.nodes) < 2 or not isinstance(find(document, REPLAY), Section):
        return []
    what = f"`{SIZES}` is a list, but a file is replayed, whose frames have their own sizes"
    why = f"each of the {len(sizes.nodes)} cases would send the same"
    fix = "give one size: the mean of the file's, by which shares of a line rate are reckoned"
    return [Problem(what, sizes.listing.mark.location, why, fix)]


def _one_mix_for_all_sizes(document: Section, found: Axes) -> list[Problem]:
    """Refuse a list of sizes for frames that are of several anyway."""
    sizes, mix = found.get(SIZES), find(document, IMIX)
    if sizes is None or len(sizes.nodes) < 2 or mix is None or plain(mix) is None:
        return []
    what = f"`{SIZES}` is a list, but `{IMIX}` has frames of several sizes in each case"
    why = f"it is written at {mix.mark.words}"
    try:
        mean = Imix.parse(plain(mix)).mean
    except UnitError:
        return []  # the field itself says it
    fix = f"leave the sizes out, or give their mean: `--set {SIZES}={mean}`"
    return [Problem(what, sizes.listing.mark.location, why, fix)]


def points(document: Section, found: Axes) -> list[Chosen]:
    """Return one document for each combination."""
    documents = []
    for places in itertools.product(*(range(len(axis.nodes)) for axis in found.values())):
        single, named = document, {}
        for (path, axis), place in zip(found.items(), places, strict=True):
            single = _chosen(single, path, axis.nodes[place])
            if axis.names is not None:
                named[path] = axis.names[place]
        asked = named.get(SEARCH) or next(iter(asked_by(single)), "")
        documents.append(Chosen(expected_of(single, asked), named))
    return documents


def _chosen(document: Section, path: str, node: Node) -> Section:
    """Return the document with one item of a list in its place."""
    if path == NOISE and is_quiet(node):
        return document.without(NOISE)
    return put(document, path, node)


def point_of(spec: CaseSpec, found: Axes, named: dict[str, str]) -> dict[str, str]:
    """Return the swept values of a case in their canonical form; a driver has its name."""
    return {_called(path): named.get(path) or str(_value(spec, path)) for path in found}


def _called(path: str) -> str:
    """Return how a list is called in the point of a case: that of a place like its link."""
    section, _, key = path.partition(".")
    return key.partition(".")[0] if section == PLACES else path.rpartition(".")[2]


def _value(spec: CaseSpec, path: str) -> object:
    if path == COLLECT:
        return collect_label(spec.collect)
    if path.startswith(f"{PLACES}."):
        place = spec.places.get(_called(path))
        return NETWORK if place is None else place.kind
    return functools.reduce(getattr, path.split("."), spec)


def in_turns(cases: Sequence[Case], repeat: int) -> Iterator[Case]:
    """Yield the cases of a repetition, counted from 1: each other one has its drivers turned round.

    Whoever came first would be the one that is measured a little earlier, in every repetition; so a
    machine that slows down steadily would favour it.
    """
    for _, group in itertools.groupby(cases, _without_drivers):
        members = list(group)
        yield from members if repeat % 2 else reversed(members)


def _without_drivers(case: Case) -> dict[str, str]:
    return {name: value for name, value in case.point.items() if name not in COMPARABLE}


def repeated_values(specs: list[CaseSpec], found: Axes) -> list[Problem]:
    """Note values that stand twice in a list, however they are written.

    Drivers are told apart by their names: who gives two to the same settings wants to see how far
    apart two measurements of one thing lie.
    """
    problems = []
    stride = len(specs)
    for path, axis in found.items():
        # Specs come in the order of the cross product: one value of this axis each `stride`.
        stride //= len(axis.nodes)
        first: dict[str, Node] = {}
        if axis.names is not None:
            continue
        for index, item in enumerate(axis.nodes):
            value = str(_value(specs[index * stride], path))
            if value in first:
                before = first[value].mark
                problems.append(
                    Problem(
                        f"`{path}` holds {quoted(value)} twice",
                        item.mark.location,
                        f"the first is at {before.words}",
                        "keep one of the two",
                    )
                )
            first.setdefault(value, item)
    return problems
