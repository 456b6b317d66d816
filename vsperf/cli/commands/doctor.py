"""`vsperf doctor`: is this machine ready, and what mends it if not."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, replace
from functools import partial
from itertools import groupby
from pathlib import Path

import click
from rich.console import Console
from rich.text import Text

from vsperf.cli.selection import library, load, overrides_cases
from vsperf.cli.stored import json_option, results_option, say_json
from vsperf.cli.tables import console
from vsperf.cli.terminal import fitting
from vsperf.config.base import DriverSpec
from vsperf.config.case import Case
from vsperf.config.loader import Request
from vsperf.config.noise import NOISE
from vsperf.deploy.planner import Drivers
from vsperf.engine.usable import SPOILS, mends, parts_of, plannable
from vsperf.errors import ExitCode, NotReadyError, VsperfError
from vsperf.host.binding import pci_addresses, require_bindable
from vsperf.host.cpus import read_topology
from vsperf.host.doctor.examine import GENERAL, checks, examine
from vsperf.host.doctor.finding import (
    AS_ROOT,
    Answer,
    Check,
    Finding,
    Group,
    Host,
    Status,
    failure,
    ok,
    warning,
)
from vsperf.host.doctor.usable import TESTCASE, Judged, Part, judge_drivers, judge_testcase
from vsperf.host.network import Network
from vsperf.plugins import Plugins
from vsperf.quantities.human import human_digests

LABEL = 7
"""Places that `ready:` and `not:` take."""
ANY_TESTCASE = "pvp_tput"
"""By it the options are read: it has a switch and a VNF."""
BESIDE_NOISE = "phy2phy_smoke"
"""By it is asked whether noise of some kind has a CPU."""
LINKS = "nics of the links"
"""The check of those that the testbed names."""
MARKS = {
    Status.OK: ("✓", "green"),
    Status.ABSENT: ("–", None),
    Status.UNKNOWN: ("?", "cyan"),
    Status.WARNING: ("!", "yellow"),
    Status.FAILURE: ("✗", "red"),
}
ENDINGS = {
    Status.OK: "well",
    Status.ABSENT: "not there and not needed by every testcase",
    Status.UNKNOWN: "cannot be told",
    Status.WARNING: "may spoil numbers",
    Status.FAILURE: "in the way of runs",
}


@click.command(
    epilog=f"Examples:\n\n\b\n  vsperf doctor\n  {AS_ROOT}  # as a run sees it\n"
    "  vsperf doctor --json\n"
    "  vsperf doctor --vswitch vpp --set vswitch.install=/usr/local\n"
)
@overrides_cases
@results_option
@json_option
def command(request: Request, results: Path, as_json: bool) -> int:
    """Check this machine and this installation; changes nothing.

    Each check gives its evidence, and where something can be mended, the command for it. The last
    lines say which testcases and which drivers can be used. Exits with 3 if something would keep
    a run from working. Parts that are elsewhere (`vswitch.install`,
    `vswitch.root`, `vnf.root`) are looked for where a run with the same options would find them.
    """
    plugins = Plugins.load()
    here = Host(
        results=results,
        plugins=plugins,
        environment=os.environ,
        chosen=_chosen(request, plugins),
    )
    own = (Check("specifications", Group.INSTALLATION, _specifications), *_links(request, plugins))
    findings = list(examine(here, (*own, *checks(here.plugins))))
    if as_json:
        say_json([asdict(finding) for finding in findings])
    else:
        out = console()
        _show(out, findings)
        drivers = usable_drivers(request, plugins, findings)
        mend = _in_every_way(findings)
        testcases = list(_testcases(request, plugins, drivers, mend))
        for line in ending([*testcases, *drivers.values()], out.width):
            _line(out, Text(line), LABEL)
    failed = any(finding.status is Status.FAILURE for finding in findings)
    return ExitCode.NOT_READY if failed else ExitCode.OK


def _chosen(request: Request, plugins: Plugins) -> tuple[DriverSpec, ...]:
    """Return the settings of the drivers that a run with these options would have."""
    if request == Request(names=()):
        return ()
    loaded = load(replace(request, names=(ANY_TESTCASE,)), plugins)
    parts = [one for case in loaded.cases for one in (case.spec.vswitch, case.spec.vnf) if one]
    return tuple(one for place, one in enumerate(parts) if one not in parts[:place])


def _links(request: Request, plugins: Plugins) -> Iterator[Check]:
    """Yield the check of the NICs that the testbed's links name; of ports in memory there is none.

    A run asks the same before it touches one of them.
    """
    try:
        cases = load(replace(request, names=(ANY_TESTCASE,)), plugins).cases
    except VsperfError:
        return  # what is wrong with it, `specifications` says
    addresses = pci_addresses(device for case in cases for device in case.spec.testbed.devices)
    if addresses:
        yield Check(LINKS, Group.DEVICES, partial(_bindable, addresses))


def _bindable(addresses: tuple[str, ...], here: Host) -> Answer:
    network = Network.read(here.roots, here.environment)
    try:
        nics = require_bindable(addresses, here.roots, network=network)
    except NotReadyError as error:
        fixes = dict.fromkeys(one.fix for one in error.problems if one.fix)
        why = [f"{one.what}, {one.why}" if one.why else one.what for one in error.problems]
        return failure("; ".join(why), "; ".join(fixes) or None)
    return ok("; ".join(nic.text for nic in nics))


def _in_every_way(findings: Iterable[Finding]) -> tuple[str, ...]:
    """Return what mends what no run can do without: NICs of links, and what no driver asks for."""
    names = {LINKS, *(check.name for check in GENERAL if not check.wants)}
    failed = (one for one in findings if one.name in names and one.status is Status.FAILURE)
    return tuple(one.fix or one.evidence for one in failed)


def usable_drivers(
    request: Request, plugins: Plugins, findings: Iterable[Finding]
) -> dict[Part, Judged]:
    """Return of each driver that was looked for whether it can be used.

    Noise has to have a CPU besides its program: whether there is one says the plan of a case.
    """
    judged, topology = judge_drivers(plugins, findings), read_topology()
    mend: dict[str, tuple[str, ...]] = {}
    for kind in plugins.drivers(NOISE):
        sets = (*request.sets, f"{NOISE}.kind={kind}")
        with suppress(VsperfError):  # what is wrong with the options, `specifications` says
            (case, *_) = load(replace(request, names=(BESIDE_NOISE,), sets=sets), plugins).cases
            mend[kind] = plannable(case, Drivers.of(case.spec, plugins), topology).mend
    # Where it runs is asked alike for all kinds: one that wants settings is told by another one.
    others = next(iter(mend.values()), ())
    for kind in plugins.drivers(NOISE):
        known = judged.get((NOISE, kind), Judged(NOISE, kind))
        if lacking := mend.get(kind, others):
            judged[NOISE, kind] = replace(known, mend=(*known.mend, *lacking))
    return judged


def _testcases(
    request: Request, plugins: Plugins, drivers: Mapping[Part, Judged], mend: tuple[str, ...]
) -> Iterator[Judged]:
    """Yield of each testcase whether what carries it out with these options can be used."""
    whose = {id(one.driver): (one.section, one.kind) for one in plugins.all if one.driver}
    topology = read_topology()
    for name, cases in _loaded(request, plugins):
        if isinstance(cases, VsperfError):
            yield Judged(TESTCASE, name, mend or mends(cases))
            continue
        parts, wanted, spoilt = dict[Part, None](), dict[str, None](), False
        for case in cases:
            found = Drivers.of(case.spec, plugins)
            used = (whose.get(id(one)) for one in parts_of(case.spec, found, plugins))
            parts |= dict.fromkeys(one for one in used if one is not None)
            planned = plannable(case, found, topology)
            wanted |= dict.fromkeys(planned.mend)
            spoilt = spoilt or planned.spoilt
        # What is in the way of each run comes first: nobody needs to know what follows it.
        yield (
            Judged(TESTCASE, name, mend)
            if mend
            else judge_testcase(name, parts, drivers, wanted, SPOILS if spoilt else None)
        )


def _loaded(
    request: Request, plugins: Plugins
) -> Iterator[tuple[str, Sequence[Case] | VsperfError]]:
    """Yield each testcase with its cases, or with what is wrong with it with these options."""
    names = tuple(library(foreign=request.foreign).testcases())
    try:
        every = load(replace(request, names=names), plugins).cases
    except VsperfError:
        for name in names:
            try:
                yield name, load(replace(request, names=(name,)), plugins).cases
            except VsperfError as error:
                yield name, error
        return
    for name, cases in groupby(every, key=lambda case: case.spec.name):
        yield name, tuple(cases)


def ending(judged: Iterable[Judged], width: int) -> list[str]:
    """Return what can be used, by kind, and what cannot with what mends it: each remedy once.

    Where a line is too long the remedy, a command mostly, has one of its own, to be copied whole.
    """
    every = list(judged)
    ready: dict[str, dict[str | None, list[str]]] = {}
    mended: dict[str, list[Judged]] = {}
    for one in every:
        if one.ready:
            ready.setdefault(one.section, {}).setdefault(one.proviso, []).append(one.name)
        else:
            mended.setdefault("; ".join(one.mend), []).append(one)
    kinds = Counter(_kind(one.name) for one in every if one.section == TESTCASE)
    parts = []
    for section, by_proviso in ready.items():
        for proviso, names in by_proviso.items():
            told = _by_kind(names, kinds) if section == TESTCASE else names
            head = "" if section == TESTCASE else f"{section} "
            parts.append(f"{head}{', '.join(told)}" + (f" ({proviso})" if proviso else ""))
    lines = [f"{'ready:':<{LABEL}}{'; '.join(parts) or 'nothing'}"]
    for mend, those in mended.items():
        testcases = [one.name for one in those if one.section == TESTCASE]
        names = _by_kind(testcases, kinds, named=True)
        names += [f"{one.section} {one.name}" for one in those if one.section != TESTCASE]
        head = f"{'not:':<{LABEL}}{', '.join(names)}:"
        fits = len(f"{head} {mend}") <= width
        lines.append(f"{head} {mend}" if fits else f"{head}\n{'':<{LABEL}}{mend}")
    return lines


def _kind(name: str) -> str:
    """Return how the names of testcases begin that ask of the same, such as `phy2phy_*`."""
    return f"{name.partition('_')[0]}_*"


def _by_kind(names: Iterable[str], kinds: Mapping[str, int], *, named: bool = False) -> list[str]:
    """Return testcases by kind, with how many of them it is.

    `named` is of those that are to be looked for: a smaller part is told name by name.
    """
    grouped: dict[str, list[str]] = {}
    for name in names:
        grouped.setdefault(_kind(name), []).append(name)
    told = []
    for kind, some in grouped.items():
        if len(some) == kinds[kind]:
            told += [kind] if len(some) > 1 else some
        elif named and 2 * len(some) <= kinds[kind]:
            told += some
        else:
            told.append(f"{kind} ({len(some)} of {kinds[kind]})")
    return told


def _show(out: Console, findings: Iterable[Finding]) -> None:
    found = list(findings)
    width = max(len(finding.name) for finding in found)
    for group in dict.fromkeys(finding.group for finding in found):
        out.print(Text(str(group), "bold"))
        for finding in (finding for finding in found if finding.group is group):
            sign, colour = MARKS[finding.status]
            text = Text("  ").append(sign, colour or "")
            text.append(f" {finding.name:<{width}}  {human_digests(finding.evidence)}")
            _line(out, text, width + 6)
            if finding.fix and finding.status is not Status.OK:
                fix = f"fix: {finding.fix}"
                fits = width + 6 + len(fix) <= out.width  # else it begins further to the left
                left = width + 6 if fits else 4
                _line(out, Text(f"{'':<{left}}{fix}"), left + 5)
    counts = Counter(finding.status for finding in found)
    parts = [f"{counts[status]} {ENDINGS[status]}" for status in MARKS if counts[status]]
    _line(out, Text(f"{len(found)} checks: {', '.join(parts)}"), 2)


def _line(out: Console, text: Text, indent: int) -> None:
    """Print a line, where it has to fit in several if it is too long, the later ones indented."""
    out.print(fitting(text, out, " " * indent))


def _specifications(here: Host) -> Answer:
    """Check that every testcase can be read."""
    places = library()
    entries = [
        *places.testcases().values(),
        *places.testbeds().values(),
        *places.presets().values(),
    ]
    broken = [entry.name for entry in entries if entry.problems]
    folders = ", ".join(f"{folder.path} ({folder.role})" for folder in places.folders)
    evidence = f"{len(entries)} files in {folders or 'no folder'}"
    if broken:
        return warning(f"{evidence}; broken: {', '.join(broken)}", "vsperf list")
    return ok(evidence)
