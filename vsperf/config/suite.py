"""A suite: one file for several testcases, and at its top what they share.

Each entry under `testcases:` is a testcase of that name, as if it stood in a file of its own that
begins with what the suite says at its top.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from vsperf.config.document import TESTCASES
from vsperf.config.suggest import described, did_you_mean, listed, nearest, quoted
from vsperf.config.tree import Listing, Node, Scalar, Section, merge_sections, plain
from vsperf.errors import Problem, SpecError

SUFFIX = ".suite"
"""Stands before the `.yaml` of the file."""
NAME, TAGS = "name", "tags"
OWN = (NAME, "title", "description", TAGS)
"""What a testcase says of itself; whoever extends it is another one, and says its own."""


def is_suite(path: Path) -> bool:
    """Whether a file holds several testcases, by its name."""
    return Path(path.stem).suffix == SUFFIX


@dataclass(frozen=True)
class Suite:
    """What a suite's file says."""

    shared: Section
    """What lies below each of its testcases, but for the heading."""
    heading: Section
    """Title, description and tags of testcases that do not say their own; tags are added."""
    testcases: Section

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self.testcases.entries)

    def testcase(self, name: str) -> Section:
        """Return what lies above the shared part for a testcase; raise `SpecError`."""
        entry = self.testcases.entries.get(name)
        if entry is None:
            what = f"there is no testcase {quoted(name)} in this suite"
            fix = did_you_mean(name, self.names, f"its testcases: {listed(self.names)}")
            raise SpecError([Problem(what, self.testcases.mark.location, None, fix)])
        if not isinstance(entry.node, Section):
            what = f"a testcase of a suite is a mapping, and {name} is {_said(entry.node)}"
            fix = "write what differs from the top of the file, or `{}` where nothing does"
            raise SpecError([Problem(what, entry.node.mark.location, None, fix)])
        _refuse_name(entry.node, "a testcase of a suite is called by its key")
        own = merge_sections(self.heading, entry.node)
        common, more = self.heading.get(TAGS), entry.node.get(TAGS)
        if isinstance(common, Listing) and isinstance(more, Listing):
            own = own.having(TAGS, _joined(common, more))
        return own.having(NAME, Scalar(name, entry.key))


def suite_of(root: Section) -> Suite:
    """Return the suite that a file holds; raise `SpecError` if it is none."""
    _refuse_name(root, "the testcases of a suite are called by their keys")
    testcases = root.get(TESTCASES)
    if testcases is None:
        typed = next((key for key in root.entries if nearest(key, [TESTCASES])), None)
        place = root.entries[typed].key if typed else root.mark
        what = f"a suite holds `{TESTCASES}:`, its testcases by name"
        fix = f"did you mean `{TESTCASES}`?" if typed else "add it, or rename the file"
        raise SpecError([Problem(what, place.location, None, fix)])
    if not isinstance(testcases, Section) or not testcases.entries:
        said = "empty" if isinstance(testcases, Section) else _said(testcases)
        what = f"`{TESTCASES}` holds the testcases of the suite by name, and is {said}"
        fix = "write `NAME: {title: …}` for each of them"
        raise SpecError([Problem(what, testcases.mark.location, None, fix)])
    return Suite(root.without(TESTCASES, *OWN), root.only(*OWN), testcases)


def _said(node: Node) -> str:
    return described(plain(node))


def _refuse_name(section: Section, why: str) -> None:
    entry = section.entries.get(NAME)
    if entry is not None:
        what = f"`{NAME}` cannot stand here"
        raise SpecError([Problem(what, entry.key.location, why, "take it out")])


def _joined(lower: Listing, upper: Listing) -> Listing:
    """Return one list of what stands in either, each value once."""
    items = {repr(plain(item)): item for item in (*lower.items, *upper.items)}
    return Listing(tuple(items.values()), upper.mark)
