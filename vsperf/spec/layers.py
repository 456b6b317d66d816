"""The layers of a testcase, in the order of their precedence, and the choice of two of them.

defaults < preset (and what it extends) < testbed < testcase < each `--conf` < each `--set`
"""

from __future__ import annotations

import functools
from dataclasses import dataclass, field
from pathlib import Path

from vsperf.errors import Location, Problem, SpecError
from vsperf.spec.document import PRESET_HEADER, SELECTION, Selection
from vsperf.spec.lookup import Found, Library
from vsperf.spec.options import set_layer
from vsperf.spec.preset import PresetHeader
from vsperf.spec.select import is_path, named_file
from vsperf.spec.suggest import did_you_mean, listed, quoted
from vsperf.spec.tree import Entry, Mark, Scalar, Section, Source, find, merge_sections
from vsperf.spec.validation import Context, validate

Layers = list[Section | None]
"""Lowest first; None where a layer cannot be read and its problems are known."""


@dataclass
class LayerReader:
    """Reads each file once and collects what is wrong with any of them."""

    library: Library
    problems: list[Problem] = field(default_factory=list)
    _files: dict[Path, Section | None] = field(default_factory=dict)

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
                layers.append(set_layer(text, written))
            except SpecError as error:
                self.problems += error.problems
                layers.append(None)
        return layers

    def testbed(self, name: str, asked: Location) -> Layers:
        """Return the layer of a testbed."""
        found = self._named("testbeds", name, asked)
        if found is None:
            return [None]
        layer = self.file(found.path, f"testbed {found.name}")
        if layer:
            self.check_name(layer, "testbed.name", found.path)
        return [layer]

    def presets(self, name: str, asked: Location) -> Layers:
        """Return the layers of a preset and of all it extends, lowest first."""
        layers: Layers = []
        chain: list[str] = []
        wanted: str | None = name
        while wanted is not None:
            if wanted in chain:
                cycle = " → ".join((*chain[chain.index(wanted) :], wanted))
                fix = "let one of them extend another preset, or none"
                self.problems.append(Problem("presets extend each other", asked, cycle, fix))
                return [None]
            chain.append(wanted)
            found = self._named("presets", wanted, asked)
            layer = self.file(found.path, f"preset {found.name}") if found else None
            layers.insert(0, layer)
            if found is None or layer is None:
                break
            self.check_name(layer, f"{PRESET_HEADER}.name", found.path)
            header = self._header(layer)
            if header is None:
                layers.insert(0, None)  # what it extends cannot be known
            wanted = header.extends if header else None
            extends = find(layer, f"{PRESET_HEADER}.extends")
            asked = extends.mark.location if extends else asked
        return layers

    def _header(self, layer: Section) -> PresetHeader | None:
        tree = layer.get(PRESET_HEADER)
        if not isinstance(tree, Section):
            what = f"a preset begins with `{PRESET_HEADER}:`, its name and title"
            self.problems.append(Problem(what, (tree or layer).mark.location))
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

    def _named(self, kind: str, name: str, asked: Location) -> Found | None:
        if is_path(name):
            return named_file(name, self.library)
        files = self.library.files(kind)
        found = files.get(name)
        if found is None:
            fix = did_you_mean(name, files, f"found: {listed(files)}")
            what = f"there is no {kind.removesuffix('s')} {quoted(name)}"
            self.problems.append(Problem(what, asked, None, fix))
        elif found.clashing:
            why = ", ".join(map(self.library.shown, (found.path, *found.clashing)))
            what = f"the {kind.removesuffix('s')} {name} exists twice in one folder"
            self.problems.append(Problem(what, asked, why, "rename one of the files"))
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
            self.problems.append(Problem(what, where))
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


def _uses(layers: Layers) -> list[Entry]:
    return [layer.entries[SELECTION] for layer in layers if layer and SELECTION in layer.entries]


def names(layers: Layers) -> tuple[str, ...]:
    """Return how messages name the files; an option is never meant to say everything."""
    roots = [layer.mark.source for layer in layers if layer]
    return tuple(dict.fromkeys(source.brief for source in roots if source.numbered))


def merged(layers: Layers) -> Section:
    """Return the document that the layers make together, without what is about layers."""
    trees = [layer.without(SELECTION, PRESET_HEADER) for layer in layers if layer]
    return functools.reduce(merge_sections, trees)
