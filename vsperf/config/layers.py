"""The layers of a testcase, in the order of their precedence, and the choice of two of them.

defaults < preset (and what it extends) < testbed < testcase (and what it extends) < each `--conf`
< each `--set`

The sections `methods:`, `vswitches:` and `generators:` are what a kind is told wherever it is used.
That lies below all that the section of the case itself says. A preset that names no method of its
own choice can say so how thoroughly each one measures, and a testbed where each switch is
installed.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path

from vsperf.config.alternatives import merge_documents
from vsperf.config.document import (
    BY_KIND,
    COMPARABLE,
    EXTENDS,
    PRESET_HEADER,
    SELECTION,
    TESTCASES,
    Drivers,
    PresetHeader,
    Selection,
)
from vsperf.config.lookup import Library, NamedFile
from vsperf.config.select import is_path, may_hold, named_file
from vsperf.config.suggest import described, did_you_mean, listed, no_such_kind, quoted
from vsperf.config.suite import OWN, Suite, is_suite, suite_of
from vsperf.config.tree import (
    Entry,
    Listing,
    Mark,
    Node,
    Scalar,
    Section,
    Source,
    find,
    leaves,
    merge_sections,
    plain,
)
from vsperf.config.validation import Context, validate
from vsperf.config.yaml import is_plain_text, parse
from vsperf.errors import Location, Problem, SpecError

Layers = list[Section | None]
"""Lowest first; None where a layer cannot be read and its problems are known."""
Said = tuple[Layers, Node | None]
"""The layers that a file makes alone, and where it names what it extends."""
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
        why, fix = no_such_kind(section, kind, known, f"known {name}: {listed(known)}")
        return [Problem(f"there is no {noun} {quoted(kind)}", entry.key.location, why, fix)]
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


@dataclass
class LayerReader:
    """Reads each file once and collects what is wrong with any of them."""

    library: Library
    problems: list[Problem] = field(default_factory=list)
    _files: dict[Path, Section | None] = field(default_factory=dict)
    _suites: dict[Path, Suite] = field(default_factory=dict)

    def file(self, path: Path, role: str = "", brief: str = "") -> Section | None:
        """Return what a file says, or None after noting why not."""
        if path not in self._files:
            source = Source(self.library.shown(path), brief or path.name, role)
            try:
                self._files[path] = self.library.section(path, source)
            except SpecError as error:
                self.problems += error.problems
                self._files[path] = None
        return self._files[path]

    def defaults(self) -> Layers:
        """Return the layer of `conf/defaults.yaml`, if there is such a file."""
        path = self.library.defaults()
        return [self.file(path)] if path else []

    def conf_files(self, paths: tuple[Path, ...]) -> Layers:
        """Return a layer for each `--conf`; records name the file as the user did."""
        return [self.file(self.library.cwd / path, brief=str(path)) for path in paths]

    def options(self, texts: tuple[str, ...], written: str | None = None) -> Layers:
        """Return a layer for each `--set`, or for the option that was written in place of it."""
        layers: Layers = []
        for text in texts:
            try:
                layers.append(refuse_by_kind(set_layer(text, written)))
            except SpecError as error:
                self.problems += error.problems
                layers.append(None)
        return layers

    def testbed(self, name: str, asked: Location) -> Layers:
        found = self._named("testbeds", name, asked)
        if found is None:
            return [None]
        layer = self.file(found.path, f"testbed {found.name}")
        if layer:
            self.check_name(layer, "testbed.name", found.path)
        return [layer]

    def presets(self, name: str, asked: Location) -> Layers:
        """Return the layers of a preset and of all it extends, lowest first."""
        found = self._named("presets", name, asked)
        if found is None:
            return [None]
        own, extends = self._preset(found)
        return [*self._bases("presets", found, extends, self._preset), *own]

    def _preset(self, found: NamedFile) -> Said:
        layer = self.file(found.path, f"preset {found.name}")
        if layer is None:
            return [None], None
        self.check_name(layer, f"{PRESET_HEADER}.name", found.path)
        header = self._header(layer)
        if header is None:
            return [None, layer], None  # what it extends cannot be known
        extends = find(layer, f"{PRESET_HEADER}.{EXTENDS}")
        return [layer], extends if header.extends is not None else None

    def testcase(self, found: NamedFile) -> Layers:
        """Return the layers of a testcase and of all it extends, lowest first.

        What two testcases of a suite share lies below both, where one of them extends the other.
        """
        own, extends = self._testcase(found)
        bases = self._bases(TESTCASES, found, extends, self._base_testcase)
        return list(dict.fromkeys([*bases, *own]))

    def _testcase(self, found: NamedFile) -> Said:
        root = self.file(found.path)
        if root is None:
            return [None], None
        if not is_suite(found.path):
            self.check_name(root, "name", found.path)
            return [root], _kept(root.get(EXTENDS))
        try:
            suite = self._suites.get(found.path) or suite_of(root)
            own = suite.testcase(found.name)
        except SpecError as error:
            self.problems += error.problems
            return [None], None
        self._suites[found.path] = suite
        return [suite.shared, own], _kept(merge_sections(suite.shared, own).get(EXTENDS))

    def _base_testcase(self, found: NamedFile) -> Said:
        """Return what a testcase says, without what is true of itself alone."""
        layers, extends = self._testcase(found)
        *shared, own = layers
        return [*shared, own.without(*OWN) if own else None], extends

    def _bases(
        self, kind: str, found: NamedFile, extends: Node | None, read: Callable[[NamedFile], Said]
    ) -> Layers:
        """Return the layers of all that a file extends, lowest first."""
        layers: Layers = []
        chain = [found]
        while extends is not None:
            base = self._base(kind, extends, chain)
            if base is None:
                return [None, *layers]
            chain.append(base)
            own, extends = read(base)
            layers = [*own, *layers]
        return layers

    def _base(self, kind: str, extends: Node, chain: list[NamedFile]) -> NamedFile | None:
        """Return what the last of a chain extends; None after noting why it cannot."""
        name, place, one = plain(extends), extends.mark.location, kind.removesuffix("s")
        if not isinstance(name, str):
            what = f"`{EXTENDS}` names a {one}, and is {described(name)}"
            self.problems.append(Problem(what, place, None, f"write `{EXTENDS}: NAME`"))
            return None
        base = self._beside(name, chain[-1]) or self._named(kind, name, place)
        keys = [found.key for found in chain]
        if base is None or base.key not in keys:
            return base
        circle = " → ".join(found.name for found in (*chain[keys.index(base.key) :], base))
        fix = f"let one of them extend another {one}, or none"
        self.problems.append(Problem(f"{kind} extend each other", place, circle, fix))
        return None

    def _beside(self, name: str, found: NamedFile) -> NamedFile | None:
        """Return the testcase of a name in the suite that holds another one."""
        suite = self._suites.get(found.path)
        return NamedFile(name, found.path, found.folder) if suite and name in suite.names else None

    def _header(self, layer: Section) -> PresetHeader | None:
        tree = layer.get(PRESET_HEADER)
        if not isinstance(tree, Section):
            what = f"a preset begins with `{PRESET_HEADER}:`, its name and title"
            fix = f"write `{PRESET_HEADER}: {{name: NAME, title: TITLE}}` at its top"
            self.problems.append(Problem(what, (tree or layer).mark.location, None, fix))
            return None
        header, problems = validate(tree, PresetHeader, Context(), PRESET_HEADER)
        self.problems += problems
        return header

    def check_name(self, layer: Section, path: str, file: Path) -> None:
        """Note a problem where a file calls itself by another name than its own."""
        node = find(layer, path)
        if isinstance(node, Scalar) and isinstance(node.value, str) and node.value != file.stem:
            what = f"`{path}` is {quoted(node.value)}, but the file is called {file.name}"
            fix = f"write `name: {file.stem}`, or rename the file"
            self.problems.append(Problem(what, node.mark.location, None, fix))

    def _named(self, kind: str, name: str, asked: Location) -> NamedFile | None:
        if is_path(name):
            return named_file(name, self.library)
        files = self.library.files(kind)
        found = files.get(name)
        if found is None:
            fix = did_you_mean(name, files, f"found: {listed(files)}")
            what = f"there is no {kind.removesuffix('s')} {quoted(name)}"
            why = may_hold(self.library) if kind == TESTCASES else None
            self.problems.append(Problem(what, asked, why, fix))
        elif found.clashing:
            why = ", ".join(map(self.library.shown, (found.path, *found.clashing)))
            what = f"the {kind.removesuffix('s')} {name} exists twice in one folder"
            self.problems.append(Problem(what, asked, why, "rename one of them"))
        return found

    def selection(self, layers: Layers) -> tuple[Selection | None, dict[str, Mark]]:
        """Return what the `use:` sections choose together, None if wrong, and where they do."""
        parts = [Section({SELECTION: e}, (e.key,)) for e in _uses(layers)]
        if not parts:
            return Selection(), {}
        tree = functools.reduce(merge_sections, parts).get(SELECTION)
        if not isinstance(tree, Section):
            where = tree.mark.location if tree else None
            what = f"`{SELECTION}:` holds `preset:` and `testbed:`"
            fix = f"write `{SELECTION}: {{testbed: NAME}}`"
            self.problems.append(Problem(what, where, None, fix))
            return None, {}
        chosen, problems = validate(tree, Selection, Context(), SELECTION)
        self.problems += problems
        return chosen, {key: entry.node.mark for key, entry in tree.entries.items()}

    def check_no_selection(self, layers: Layers, what: str) -> None:
        """Note a problem where a layer that was itself chosen chooses again."""
        for entry in _uses(layers):
            fix = "say it in the testcase, in a --conf file, or on the command line"
            message = f"`{SELECTION}:` cannot stand in a {what}"
            self.problems.append(Problem(message, entry.key.location, None, fix))


def _kept(node: Node | None) -> Node | None:
    """Return a value unless it is a null that was written to remove another."""
    return None if isinstance(node, Scalar) and node.removed else node


def _uses(layers: Layers) -> list[Entry]:
    return [layer.entries[SELECTION] for layer in layers if layer and SELECTION in layer.entries]


def names(layers: Layers) -> tuple[str, ...]:
    """Return how messages name the files; an option is never meant to say everything."""
    roots = [layer.mark.source for layer in layers if layer]
    return tuple(dict.fromkeys(source.brief for source in roots if source.numbered))


def together(layers: Layers) -> Section | None:
    """Return what a testcase says with all that it extends, as if one file said it.

    So what it asks of a method whose kind its base leaves open is kept when it names the kind.
    """
    trees = [layer for layer in layers if layer]
    return merge_documents(trees).without(EXTENDS) if trees else None


def merged(layers: Layers) -> Section:
    """Return the document that the layers make together, without what is about layers."""
    trees = [layer.without(SELECTION, PRESET_HEADER) for layer in layers if layer]
    return merge_documents(trees)


LONGEST_OPTION = 4096
DEEPEST_PATH = 20
HOW = "write it like `--set traffic.frame_size=128B`"


def set_layer(text: str, written: str | None = None) -> Section:
    """Return the layer that one `--set` stands for, or raise `SpecError`.

    `written` is the option as it was typed, if another one than `--set` stands for the setting.
    """
    if len(text) > LONGEST_OPTION or "\n" in text or not is_plain_text(text):
        shown = Location(f"--set {text[:20].encode('ascii', 'replace').decode()!r}…")
        what = f"a setting is one line of at most {LONGEST_OPTION} printable characters"
        raise SpecError([Problem(what, shown, None, HOW)])
    shown_text = text if len(text) <= 80 else text[:79] + "…"
    name = written or f"--set {shown_text}"
    source = Source(name, name, lines=(text,), numbered=False)
    path, equals, value = text.partition("=")
    if not equals:
        raise _wrong(source, 1, "there is no `=` between path and value", HOW)
    keys = path.split(".")
    if len(keys) > DEEPEST_PATH:
        raise _wrong(source, 1, f"the path has more than {DEEPEST_PATH} parts")
    marks = _key_marks(keys, source)
    for key, mark in zip(keys, marks, strict=True):
        if not key or key != key.strip():
            what = "a part of the path is empty" if not key.strip() else "the path holds a blank"
            raise _wrong(source, mark.column, what, HOW)
    node: Node
    if value.strip():
        node = parse(value, source, column=len(path) + 1)
    else:
        node = Scalar(None, Mark(source, 1, len(path) + 2))
    for key, mark in zip(reversed(keys), reversed(marks), strict=True):
        node = Section({key: Entry(mark, node)}, (mark,))
    assert isinstance(node, Section)
    return node


def _wrong(source: Source, column: int, what: str, fix: str | None = None) -> SpecError:
    return SpecError([Problem(what, Mark(source, 1, column).location, None, fix)])


def _key_marks(keys: list[str], source: Source) -> list[Mark]:
    columns = [1]
    for key in keys[:-1]:
        columns.append(columns[-1] + len(key) + 1)
    return [Mark(source, 1, column) for column in columns]
