"""From what the user asked for to frozen cases, or to every problem on the way."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path

from vsperf.config.alternatives import KIND
from vsperf.config.case import RIVALS, VSWITCH, Case, CaseSpec, Rival
from vsperf.config.collect import COLLECT, lifted
from vsperf.config.document import Drivers, document_model, paths_of
from vsperf.config.expand import (
    MOST_CASES,
    Axes,
    axes,
    in_turns,
    point_of,
    points,
    repeated_values,
    with_levels,
)
from vsperf.config.expected import (
    beside_metrics,
    expectations_for,
    metric_problems,
    of_no_method,
    of_no_size,
)
from vsperf.config.layers import LayerReader, Layers, merged, names, together, with_settings_by_kind
from vsperf.config.lookup import Library, NamedFile
from vsperf.config.noise import NOISE
from vsperf.config.rivals import comparing, in_a_list, with_rivals
from vsperf.config.rules import case_problems, driver_problems, misplaced_sections
from vsperf.config.select import select
from vsperf.config.suggest import listed
from vsperf.config.topologies import TopologyError, resolve_topology
from vsperf.config.tree import Entry, Listing, Mark, Node, Scalar, Section, find, origins
from vsperf.config.validation import Context, drop_removed, validate
from vsperf.errors import Location, Problem, SpecError, in_order
from vsperf.stop import raise_if_stopped

MOST_REPEATS = 1000


@dataclass(frozen=True)
class Shorthand:
    """An option that stands for a setting of its own, above the files and below `--set`."""

    written: str
    """As it was typed, such as `--vnf process`."""
    setting: str
    """What it stands for, such as `vnf.kind=process`."""
    keeps: bool = False
    """Whether it only takes the place of the testbed's choice, so that what a testcase sets for
    whichever driver stays; a driver that the testcase itself names is replaced all the same."""


@dataclass(frozen=True)
class Request:
    """What a command line asks for."""

    names: tuple[str, ...] = ()
    """Testcases: names, patterns, `tag:…`, or files."""
    tags: tuple[str, ...] = ()
    """Narrow the names down to testcases that carry all of these."""
    testbed: str | None = None
    preset: str | None = None
    conf: tuple[Path, ...] = ()
    sets: tuple[str, ...] = ()
    repeat: int = 1
    shorthands: tuple[Shorthand, ...] = ()
    foreign: bool = False
    """Whether root may use files that other users own or can change."""


@dataclass(frozen=True)
class Loaded:
    """The cases of a request, in the order in which they run."""

    cases: tuple[Case, ...]
    preset: str
    """The preset that was used; joined by commas when testcases choose different ones."""
    testbed: str
    simulated: bool
    """Whether the testbed is a model."""


def load_cases(request: Request, library: Library, drivers: Drivers) -> tuple[Case, ...]:
    """Return the cases of a request; raise `SpecError` with all problems."""
    return load(request, library, drivers).cases


def load(request: Request, library: Library, drivers: Drivers) -> Loaded:
    """Return the cases of a request and what was chosen for them; raise `SpecError`."""
    reader = LayerReader(library)
    chosen: tuple[NamedFile, ...] = ()
    try:
        chosen = select(request.names, library, request.tags)
    except SpecError as error:
        reader.problems += error.problems
    if not 1 <= request.repeat <= MOST_REPEATS:
        what = f"a case can be repeated 1 to {MOST_REPEATS} times"
        place = Location(f"--repeat {request.repeat}")
        reader.problems.append(Problem(what, place, None, "give so many, or leave --repeat out"))
    loader = _Loader(request, reader, drivers)
    resolved = [loader.testcase(found) for found in chosen]
    if not chosen:
        loader.chosen_layers(None, None, {})
    problems = [*reader.problems, *loader.problems, *_same_names(chosen, library)]
    testbeds = sorted({testcase.testbed for testcase in resolved if testcase.testbed})
    if len(testbeds) > 1:
        why = f"the testcases choose {listed(testbeds)}"
        problems.append(Problem("a run has one testbed", None, why, "choose one by `--testbed`"))
    if problems:
        raise SpecError(in_order(dict.fromkeys(problems)))
    cases = tuple(
        replace(case, repeat=repeat)
        for repeat in range(1, request.repeat + 1)
        for testcase in resolved
        for case in in_turns(testcase.cases, repeat)
    )
    presets = dict.fromkeys(testcase.preset for testcase in resolved if testcase.preset)
    return Loaded(cases, ", ".join(presets), cases[0].spec.testbed.name, _simulated(cases))


def _simulated(cases: tuple[Case, ...]) -> bool:
    return any(case.spec.testbed.simulated for case in cases)


def _same_names(chosen: tuple[NamedFile, ...], library: Library) -> list[Problem]:
    seen: dict[str, Path] = {}
    problems = []
    for found in chosen:
        if found.name in seen:
            why = f"{library.shown(seen[found.name])} and {library.shown(found.path)}"
            what = f"two testcases of one run are called {found.name}"
            problems.append(Problem(what, None, why, "run them one after the other"))
        seen[found.name] = found.path
    return problems


def _options(reader: LayerReader, shorthands: Iterable[Shorthand]) -> Layers:
    return [layer for one in shorthands for layer in reader.options((one.setting,), one.written)]


@dataclass(frozen=True)
class _Resolved:
    """What became of one testcase."""

    cases: tuple[Case, ...] = ()
    preset: str | None = None
    testbed: str | None = None


class _Loader:
    """Holds what all testcases of a request have in common."""

    def __init__(self, request: Request, reader: LayerReader, drivers: Drivers) -> None:
        self.request = request
        self.reader = reader
        self.drivers = drivers
        self.problems: list[Problem] = []
        self._below = reader.defaults()
        self._beside = _options(reader, [one for one in request.shorthands if one.keeps])
        self._above = [
            *reader.conf_files(request.conf),
            *_options(reader, request.shorthands),
            *reader.options(request.sets),
        ]

    def testcase(self, found: NamedFile) -> _Resolved:
        """Return the cases of one testcase, none after noting a problem."""
        raise_if_stopped()
        own = self.reader.testcase(found)
        selection, marks = self.reader.selection([*self._below, *own, *self._above])
        preset, testbed = self.request.preset, self.request.testbed
        if preset is None and selection:
            preset = selection.preset
        if testbed is None and selection:
            testbed = selection.testbed
        if testbed is None and selection:
            self.problems.append(self._no_testbed())
        presets, testbeds = self.chosen_layers(preset, testbed, marks)
        unknown: Layers = [] if selection else [None]
        below = [*self._below, *unknown, *presets, *testbeds, *self._beside]
        layers = [*below, *own, *self._above]
        if not any(layers):
            return _Resolved()
        document = merged([*below, together(own), *self._above])
        return _Resolved(self._cases(document, layers), preset, testbed)

    def chosen_layers(
        self, preset: str | None, testbed: str | None, marks: dict[str, Mark]
    ) -> tuple[Layers, Layers]:
        """Return the layers of a preset and of a testbed; the command line's choice wins."""
        presets: Layers = []
        testbeds: Layers = [None]
        if self.request.preset is not None:
            asked = Location(f"--preset {self.request.preset}")
            presets = self.reader.presets(self.request.preset, asked)
        elif preset is not None:
            presets = self.reader.presets(preset, marks["preset"].location)
        if self.request.testbed is not None:
            asked = Location(f"--testbed {self.request.testbed}")
            testbeds = self.reader.testbed(self.request.testbed, asked)
        elif testbed is not None:
            testbeds = self.reader.testbed(testbed, marks["testbed"].location)
        self.reader.check_no_selection(presets, "preset")
        self.reader.check_no_selection(testbeds, "testbed")
        return presets, testbeds

    def _no_testbed(self) -> Problem:
        known = self.reader.library.files("testbeds")
        return Problem(
            "no testbed was chosen",
            why="a result belongs to a testbed, and a simulated one is never the silent default",
            fix="give `--testbed NAME`, such as `--testbed sim`, or `use: {testbed: NAME}` in a "
            f"--conf file; found: {listed(known)}",
        )

    def _cases(self, document: Section, layers: Layers) -> tuple[Case, ...]:
        misplaced = misplaced_sections(document)
        self.problems += misplaced.values()
        document = document.without(*misplaced)
        incomplete = None in layers
        try:
            topology = document.get("topology")
            if topology is not None:
                resolved = resolve_topology(topology, self.reader.library)
                document = document.having("topology", resolved)
        except (TopologyError, SpecError) as error:
            self.problems += error.problems
            document, incomplete = document.without("topology"), True
        document, wrong_levels = with_levels(
            document, self.reader.library, self.drivers.get(NOISE, {})
        )
        self.problems += wrong_levels
        incomplete = incomplete or bool(wrong_levels)
        wrong_drivers = driver_problems(document, self.drivers)
        self.problems += [problem for found in wrong_drivers.values() for problem in found]
        document = document.without(*wrong_drivers)
        document, wrong_settings = with_settings_by_kind(document, self.drivers)
        self.problems += wrong_settings
        document, wrong_collectors = lifted(document, self.drivers.get(COLLECT, {}))
        self.problems += wrong_collectors
        document = document.without(COLLECT) if wrong_collectors else document
        wrong_metrics = metric_problems(document, self.drivers)
        self.problems += [*wrong_metrics.values(), *beside_metrics(document, wrong_metrics)]
        document = document.without_items("expect", wrong_metrics)
        wrong = (wrong_drivers, wrong_settings, wrong_collectors, wrong_metrics)
        incomplete = incomplete or any(map(bool, wrong))
        context = Context((), names(layers), incomplete)
        against: dict[str, str] = {}
        if comparing(document, self.drivers.get("search", {})):
            document, against, wrong_rivals = with_rivals(document)
            if wrong_rivals:
                self.problems += wrong_rivals
                return ()
        found, problems = axes(document)
        problems += in_a_list(document, self.drivers.get("search", {}))
        if problems:
            self.problems += problems
            return ()
        return self._points(document, found, context, layers, against)

    def _points(
        self,
        document: Section,
        found: Axes,
        context: Context,
        layers: Layers,
        against: dict[str, str],
    ) -> tuple[Case, ...]:
        """Return the case of each point; `against` names what each of them compares."""
        chosen, specs, problems = points(document, found), [], []
        for one in chosen:
            spec, wrong = self._validated(one.document, context)
            if spec is not None:
                specs.append(spec)
                problems += case_problems(spec, one.document)
            problems += wrong
            if len(problems) > MOST_CASES:
                break
        if not problems and not context.incomplete:
            problems += repeated_values(list(specs), found)
            if _highest(layers, "traffic.frame_size") <= _highest(layers, "expect"):
                documents = (one.document for one in chosen)
                problems += of_no_size(list(zip(specs, documents, strict=True)))
            if _highest(layers, "search") <= _highest(layers, "expect"):
                problems += of_no_method(document)
        if problems or context.incomplete:
            self.problems += problems
            return ()
        sizes = tuple(dict.fromkeys(spec.traffic.frame_size.bytes for spec in specs))
        return tuple(
            _case(spec, one.document, point_of(spec, found, one.named) | against, sizes)
            for spec, one in zip(specs, chosen, strict=True)
        )

    def _validated(
        self, document: Section, context: Context
    ) -> tuple[CaseSpec | None, list[Problem]]:
        """Hold a document against the drivers that it names; only mistakes need all of them."""
        named = document_model(named_drivers(self.drivers, document))
        spec, _ = validate(document, named, context)
        if spec is not None:
            return spec, []
        model = document_model(self.drivers)
        return validate(document, model, replace(context, paths=paths_of(model)))


def _highest(layers: Layers, path: str) -> int:
    """Return the rank of the highest layer that says something."""
    return max((rank for rank, layer in enumerate(layers) if find(layer, path)), default=-1)


def _case(spec: CaseSpec, tree: Section, point: dict[str, str], sizes: tuple[int, ...]) -> Case:
    kept = expectations_for(spec)
    values = {name: getattr(spec, name) for name in CaseSpec.model_fields}
    values["expect"] = tuple(spec.expect[index] for index in kept)
    values[RIVALS] = tuple(
        Rival.model_construct(name=one.name, vswitch=one.vswitch) for one in spec.rivals
    )
    values["program"] = spec.program if spec.has_places else None
    values["probe"] = spec.probe if spec.search.PROBED else None
    # Rebuilt as the plain model, so that cases compare equal whichever drivers are installed.
    concrete = CaseSpec.model_construct(spec.model_fields_set, **values)
    expect = tree.entries.get("expect")
    if expect and isinstance(expect.node, Listing):
        items: tuple[Node, ...] = tuple(expect.node.items[index] for index in kept)
        node = replace(expect.node, items=items)
        tree = replace(tree, entries={**tree.entries, "expect": Entry(expect.key, node)})
    where = origins(concrete.model_dump(mode="json"), drop_removed(tree, CaseSpec))
    for word, settings in concrete.vswitch.WORDS.items():
        if said := find(tree, f"vswitch.{word}"):
            where |= {f"vswitch.{one}": f"{word} by {said.mark.origin}" for one in settings}
    return Case(concrete, point, where, 1, sizes)


def named_drivers(drivers: Drivers, document: Section) -> Drivers:
    """Return the drivers that the document of one case names."""
    return {
        section: {kind: known[kind] for kind in _kinds(document, section) if kind in known}
        for section, known in drivers.items()
    }


def _kinds(document: Section, section: str) -> list[str]:
    node = document.get(section)
    if not isinstance(node, Section):
        return []
    each = [one.node for one in node.entries.values()] if section == COLLECT else [node]
    if section == VSWITCH and isinstance(rivals := document.get(RIVALS), Listing):
        each += [one for item in rivals.items if (one := find(item, VSWITCH)) is not None]
    kinds = [one.get(KIND) for one in each if isinstance(one, Section)]
    return list(dict.fromkeys(str(kind.value) for kind in kinds if isinstance(kind, Scalar)))
