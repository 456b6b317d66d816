"""The sections `methods:`, `vswitches:` and `generators:`: what a kind is told wherever it is used.

It lies below all that the section of the case itself says. A preset that names no method of its own
choice can say so how thoroughly each one measures, and a testbed where each switch is installed.
"""

from __future__ import annotations

from dataclasses import replace

from vsperf.config.document import BY_KIND, COMPARABLE, Drivers
from vsperf.config.suggest import described, did_you_mean, listed, quoted
from vsperf.config.tree import (
    Entry,
    Listing,
    Node,
    Scalar,
    Section,
    find,
    leaves,
    merge_sections,
    plain,
)
from vsperf.config.validation import Context, validate
from vsperf.errors import Problem, SpecError

NOUNS = {"search": "method", "vswitch": "switch", "generator": "generator"}


def refuse_by_kind(option: Section) -> Section:
    """Return the layer of an option; raise `SpecError` if it says what options cannot.

    It would lie below what every file says of the case itself, and so change nothing where it is
    expected to.
    """
    for name, section in BY_KIND.items():
        entry = option.entries.get(name)
        if entry is not None:
            kind, _, path = next(leaves(plain(entry.node)))[0].partition(".")
            what = f"`{name}` stands in files only, below all that `{section}` says"
            fix = f"give `--set {section}.{path or 'NAME'}=…`"
            if section in COMPARABLE:
                fix += f", or of several `--set '{section}=[OTHER, {{kind: {kind}, {path}: …}}]'`"
            raise SpecError([Problem(what, entry.key.location, None, fix)])
    return option


def with_settings_by_kind(document: Section, drivers: Drivers) -> tuple[Section, list[Problem]]:
    """Lay what is said of the case's kinds below its own sections; check the rest, too."""
    problems: list[Problem] = []
    for name in BY_KIND:
        document, wrong = _with(name, document, drivers)
        problems += wrong
    return document, problems


def _with(name: str, document: Section, drivers: Drivers) -> tuple[Section, list[Problem]]:
    told, section = document.get(name), BY_KIND[name]
    document = document.without(name)
    if told is None or (isinstance(told, Scalar) and told.removed):
        return document, []
    if not isinstance(told, Section):
        what = f"`{name}` holds settings by the kind of a {NOUNS[section]}, and is {_said(told)}"
        fix = f"write `{name}: {{KIND: {{SETTING: VALUE}}}}`"
        return document, [Problem(what, told.mark.location, None, fix)]
    problems: list[Problem] = []
    for kind, entry in told.entries.items():
        problems += _problems(name, kind, entry, drivers)
    own = document.get(section)
    if not problems and own is not None:
        document = document.having(section, _laid_below(told, own))
    return document, problems


def _laid_below(told: Section, own: Node) -> Node:
    """Lay what is told of its kind below a section, or below each of a list."""
    if isinstance(own, Listing):
        return replace(own, items=tuple(_laid_below(told, item) for item in own.items))
    chosen = find(own, "kind")
    below = told.get(str(chosen.value)) if isinstance(chosen, Scalar) else None
    if not isinstance(own, Section) or not isinstance(below, Section):
        return own
    return merge_sections(below, own)


def _problems(name: str, kind: str, entry: Entry, drivers: Drivers) -> list[Problem]:
    """Return what is wrong with the settings of a kind, whether it is used or not."""
    section = BY_KIND[name]
    node, known, path = entry.node, drivers.get(section, {}), f"{name}.{kind}"
    noun = NOUNS[section]
    if kind not in known:
        fix = did_you_mean(kind, known, f"known {name}: {listed(known)}")
        return [Problem(f"there is no {noun} {quoted(kind)}", entry.key.location, None, fix)]
    if isinstance(node, Scalar) and node.removed:
        return []
    if not isinstance(node, Section):
        what = f"`{path}` holds settings of the {noun}, and is {_said(node)}"
        fix = f"write `{kind}: {{SETTING: VALUE}}`, or `{kind}: {{}}`"
        return [Problem(what, node.mark.location, None, fix)]
    settings = node if "kind" in node.entries else node.having("kind", Scalar(kind, entry.key))
    # What is missing may stand in the case's own section; whether all fits together is seen there.
    return validate(settings, known[kind], Context(incomplete=True), path)[1]


def _said(node: Node) -> str:
    return described(plain(node))
