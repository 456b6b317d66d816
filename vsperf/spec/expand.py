"""From a document with lists to concrete points: the cross product, in the order written."""

from __future__ import annotations

import itertools
import math

from vsperf.errors import Problem
from vsperf.quantity import UnitError
from vsperf.spec.case import CaseSpec
from vsperf.spec.document import SWEEPABLE
from vsperf.spec.imix import Imix
from vsperf.spec.suggest import quoted
from vsperf.spec.tree import Listing, Node, Section, find, plain, put

MOST_CASES = 2000
SIZES, REPLAY, IMIX = "traffic.frame_size", "traffic.replay", "traffic.imix"


def axes(document: Section) -> tuple[dict[str, Listing], list[Problem]]:
    """Return the lists that make several cases, in the order of `SWEEPABLE`."""
    found, problems = {}, []
    for path in SWEEPABLE:
        node = find(document, path)
        if isinstance(node, Listing):
            found[path] = node
            if not node.items:
                fix = "write at least one value"
                problems.append(
                    Problem(f"`{path}` is an empty list", node.mark.location, None, fix)
                )
    problems += _one_file_for_all_sizes(document, found)
    problems += _one_mix_for_all_sizes(document, found)
    number = math.prod(len(axis.items) for axis in found.values())
    if number > MOST_CASES:
        largest = max(found.values(), key=lambda axis: len(axis.items))
        what = f"the lists make {number} cases, more than {MOST_CASES}"
        problems.append(Problem(what, largest.mark.location, None, "split the testcase"))
    return found, problems


def _one_file_for_all_sizes(document: Section, found: dict[str, Listing]) -> list[Problem]:
    """Refuse a list of sizes for frames that have their own."""
    sizes = found.get(SIZES)
    if sizes is None or len(sizes.items) < 2 or not isinstance(find(document, REPLAY), Section):
        return []
    what = f"`{SIZES}` is a list, but a file is replayed, whose frames have their own sizes"
    why = f"each of the {len(sizes.items)} cases would send the same"
    fix = "give one size: the mean of the file's, by which shares of a line rate are reckoned"
    return [Problem(what, sizes.mark.location, why, fix)]


def _one_mix_for_all_sizes(document: Section, found: dict[str, Listing]) -> list[Problem]:
    """Refuse a list of sizes for frames that are of several anyway."""
    sizes, mix = found.get(SIZES), find(document, IMIX)
    if sizes is None or len(sizes.items) < 2 or mix is None or plain(mix) is None:
        return []
    what = f"`{SIZES}` is a list, but `{IMIX}` has frames of several sizes in each case"
    why = f"it is written at {mix.mark.words}"
    try:
        mean = Imix.parse(plain(mix)).mean
    except UnitError:
        return []  # the field itself says it
    fix = f"leave the sizes out, or give their mean: `--set {SIZES}={mean}`"
    return [Problem(what, sizes.mark.location, why, fix)]


def points(document: Section, found: dict[str, Listing]) -> list[Section]:
    """Return one document for each combination."""
    documents = []
    for choice in itertools.product(*(axis.items for axis in found.values())):
        single = document
        for path, node in zip(found, choice, strict=True):
            single = put(single, path, node)
        documents.append(single)
    return documents


def point_of(spec: CaseSpec, found: dict[str, Listing]) -> dict[str, str]:
    """Return the swept values of a case in their canonical form."""
    return {path.split(".")[1]: str(_value(spec, path)) for path in found}


def _value(spec: CaseSpec, path: str) -> object:
    section, key = path.split(".")
    return getattr(getattr(spec, section), key)


def repeated_values(specs: list[CaseSpec], found: dict[str, Listing]) -> list[Problem]:
    """Note values that stand twice in a list, however they are written."""
    problems = []
    stride = len(specs)
    for path, axis in found.items():
        # Specs come in the order of the cross product: one value of this axis each `stride`.
        stride //= len(axis.items)
        first: dict[str, Node] = {}
        for index, item in enumerate(axis.items):
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
