"""From the short name of a topology, such as `pvvp3` or `star8`, to its paths."""

from __future__ import annotations

import re
from collections.abc import Mapping

from vsperf.config.lookup import Library
from vsperf.config.suggest import described, did_you_mean, listed, quoted
from vsperf.config.topology import TopologyFamily
from vsperf.config.tree import Entry, Listing, Mark, Node, Scalar, Section, Source, plain
from vsperf.config.validation import Context, validate
from vsperf.errors import Problem

MOST = 64
"""VNFs, or links beside the first."""
KEPT = ("nics", "dispatch")
"""Settings of a topology that no family decides."""
KEYS = ("name", "vms", *KEPT)


class TopologyError(Exception):
    """A topology that cannot be resolved."""

    def __init__(self, problems: list[Problem]) -> None:
        super().__init__(problems[0].what)
        self.problems = problems


def resolve_topology(node: Node, library: Library) -> Node:
    """Return the topology spelled out; every part of it keeps the place of the short name.

    Raises `SpecError` for a family file that cannot be read, `TopologyError` for the rest.
    """
    if isinstance(node, Section):
        if "paths" in node.entries:
            return node
        return _from_mapping(node, library)
    if not isinstance(node, Scalar) or not isinstance(node.value, str):
        raise _refused(
            f"`topology` is {described(plain(node))}",
            node.mark,
            f"name a family, such as one of: {listed(library.files('topologies'))}",
        )
    family, count = _split(node.value, library, node.mark)
    return _spelled_out(family, count, node.mark)


def _refused(what: str, mark: Mark, fix: str | None = None) -> TopologyError:
    return TopologyError([Problem(what, mark.location, None, fix)])


def _from_mapping(node: Section, library: Library) -> Node:
    name, vms = node.get("name"), node.get("vms")
    extra = [entry.key for key, entry in node.entries.items() if key not in KEYS]
    if extra:
        key = next(key for key in node.entries if key not in KEYS)
        known = (*KEYS, "paths")
        fix = did_you_mean(key, known, f"known here: {', '.join(known)}")
        raise _refused(f"{quoted(key)} is not known in `topology`", extra[0], fix)
    if not isinstance(name, Scalar) or not isinstance(name.value, str):
        fix = f"one of: {listed(library.files('topologies'))}"
        raise _refused("`topology` needs a `name`, or `paths`", (name or node).mark, fix)
    family, usual = _split(name.value, library, name.mark)
    kept = {key: entry for key, entry in node.entries.items() if key in KEPT}
    if vms is None:
        return _spelled_out(family, usual, name.mark, kept)
    count = vms.value if isinstance(vms, Scalar) else None
    if not isinstance(count, int) or isinstance(count, bool):
        raise _refused(
            f"`topology.vms`: must be a whole number, not {described(plain(vms))}", vms.mark
        )
    if family.counts_links:
        fix = f"its number is one of links: write `name: {family.name}{count}`, without `vms`"
        raise _refused(f"`topology.vms` is {count}, and {family.name} has no VNF", vms.mark, fix)
    return _spelled_out(family, count, vms.mark, kept)


def _split(text: str, library: Library, mark: Mark) -> tuple[TopologyFamily, int]:
    """Read `pvvp3` as the family pvvp with 3 VNFs, but `p2p` as a name with a digit in it."""
    families = library.files("topologies")
    counted = re.fullmatch(r"(.*?[^0-9])([0-9]{1,4})", text)
    if text not in families and counted and counted[1] in families:
        return _family(counted[1], library, mark), int(counted[2])
    family = _family(text, library, mark)
    return family, family.usual


def _family(name: str, library: Library, mark: Mark) -> TopologyFamily:
    found = library.files("topologies").get(name)
    if found is None:
        known = library.files("topologies")
        fix = did_you_mean(name, known, f"known: {listed(known)}")
        raise _refused(f"there is no topology {quoted(name)}", mark, fix)
    tree = library.section(found.path, Source(library.shown(found.path), found.path.name))
    family, problems = validate(tree, TopologyFamily, Context())
    if family is None:
        raise TopologyError(problems)
    return family


def _spelled_out(
    family: TopologyFamily, count: int, mark: Mark, kept: Mapping[str, Entry] | None = None
) -> Section:
    one, several = ("link", "links") if family.counts_links else ("VNF", "VNFs")
    if not 0 <= count <= MOST:
        raise _refused(f"a topology has 0 to {MOST} {several}, not {count}", mark)
    if count != family.usual and not family.scales:
        fix = f"write `{family.name}`"
        raise _refused(f"{family.name} always has {family.usual} {several}", mark, fix)
    if count == 0 and family.scales:
        raise _refused(f"{family.name} needs at least one {one}", mark)
    concrete = family.with_number(count)
    paths = tuple(
        Listing(tuple(Scalar(hop, mark) for hop in path), mark) for path in concrete["paths"]
    )
    entries = {
        "name": Entry(mark, Scalar(concrete["name"], mark)),
        "paths": Entry(mark, Listing(paths, mark)),
        **(kept or {}),
    }
    return Section(entries, (mark,))
