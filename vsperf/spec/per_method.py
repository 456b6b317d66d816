"""The section `methods:`: what a method is asked wherever it is used and `search:` says no more.

A preset that names no method of its own choice can say so how thoroughly each one measures.
"""

from __future__ import annotations

from vsperf.errors import Problem, SpecError
from vsperf.spec.document import METHODS, Drivers
from vsperf.spec.suggest import described, did_you_mean, listed, quoted
from vsperf.spec.tree import Entry, Node, Scalar, Section, find, leaves, merge_sections, plain
from vsperf.spec.validation import Context, validate

SEARCH = "search"


def refuse_methods(option: Section) -> Section:
    """Return the layer of an option; raise `SpecError` if it says what options cannot.

    It would lie below every `search:` of a file, and so change nothing where it is expected to.
    """
    entry = option.entries.get(METHODS)
    if entry is None:
        return option
    path = next(leaves(plain(entry.node)))[0].partition(".")[2]
    what = f"`{METHODS}` stands in files only, below all that `{SEARCH}` says"
    fix = f"give `--set {SEARCH}.{path or 'NAME'}=…`"
    raise SpecError([Problem(what, entry.key.location, None, fix)])


def with_methods(document: Section, drivers: Drivers) -> tuple[Section, list[Problem]]:
    """Lay what `methods:` says of the case's method below its `search:`; check the rest, too."""
    section = document.get(METHODS)
    document = document.without(METHODS)
    if section is None or (isinstance(section, Scalar) and section.removed):
        return document, []
    if not isinstance(section, Section):
        what = f"`{METHODS}` holds settings by the kind of a method, and is {_said(section)}"
        return document, [Problem(what, section.mark.location)]
    problems: list[Problem] = []
    for kind, entry in section.entries.items():
        problems += _problems(kind, entry, drivers)
    search, chosen = document.get(SEARCH), find(document, f"{SEARCH}.kind")
    below = section.get(str(chosen.value)) if isinstance(chosen, Scalar) else None
    if not problems and isinstance(search, Section) and isinstance(below, Section):
        document = document.having(SEARCH, merge_sections(below, search))
    return document, problems


def _problems(kind: str, entry: Entry, drivers: Drivers) -> list[Problem]:
    """Return what is wrong with the settings of a method, whether it is used or not."""
    node, known, path = entry.node, drivers.get(SEARCH, {}), f"{METHODS}.{kind}"
    if kind not in known:
        fix = did_you_mean(kind, known, f"known methods: {listed(known)}")
        return [Problem(f"there is no method {quoted(kind)}", entry.key.location, None, fix)]
    if isinstance(node, Scalar) and node.removed:
        return []
    if not isinstance(node, Section):
        what = f"`{path}` holds settings of the method, and is {_said(node)}"
        return [Problem(what, node.mark.location)]
    settings = node if "kind" in node.entries else node.having("kind", Scalar(kind, entry.key))
    # What is missing may stand in `search:`, and whether all of it fits together is seen there.
    return validate(settings, known[kind], Context(incomplete=True), path)[1]


def _said(node: Node) -> str:
    return described(plain(node))
