"""Options and arguments that several commands share, and what they select."""

from __future__ import annotations

import functools
import os
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields as dataclass_fields
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

import click
from click.shell_completion import CompletionItem

from vsperf.config import loader
from vsperf.config.case import Case
from vsperf.config.document import ALTERNATIVES, settable_paths
from vsperf.config.loader import Loaded, Request, Shorthand
from vsperf.config.lookup import ALLOW, Library
from vsperf.config.noise import NOISE, QUIET
from vsperf.config.suggest import quoted
from vsperf.config.topology import Topology
from vsperf.errors import UsageError
from vsperf.plugins import Plugins
from vsperf.quantities.quantity import Quantity, UnitError
from vsperf.quantities.units import Duration
from vsperf.trust import trusted

F = TypeVar("F", bound=Callable[..., Any])
KIND = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.+-]*")
EXAMPLES = {
    "vswitch": "ovs-dpdk,sim",
    "generator": "tgen,sim",
    "vnf": "qemu,process",
    "program": "iperf3",
    "noise": "none,level_1",
}
"""How to choose drivers of a section, for messages."""
MODE = "trafficgen"
OPTION = f"--mode {MODE}"
"""Cases as a generator sees them whose device under test others deployed."""
FULL = "full"
"""The mode in which everything is deployed."""
Q = TypeVar("Q", bound=Quantity)


class QuantityType(click.ParamType[Q]):
    """A quantity of `vsperf.quantities.units`, such as 64B, 1Mpps or 10s."""

    def __init__(self, kind: type[Q]) -> None:
        self.kind = kind
        self.name = kind.__name__.lower()

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Q:
        try:
            return self.kind.parse(value)
        except UnitError as error:
            self.fail(str(error), param, ctx)


budget_option = click.option(
    "--budget",
    type=QuantityType(Duration),
    metavar="TIME",
    help="Time for all trials, such as 30m.",
)


def library(*, foreign: bool = False) -> Library:
    """Return the folders in which specifications are looked up, for this process.

    Root uses files that others can change only if it says so, by `foreign`.
    """
    anybody = foreign or os.geteuid() != 0
    return Library.find(os.environ, Path.cwd(), None if anybody else trusted.callers(os.environ))


def refuse_foreign(records: Path, *, foreign: bool) -> None:
    """Refuse to let root do what records of another user say, unless it says so."""
    if foreign or os.geteuid() != 0:
        return
    if reason := trusted.why_not(records, trusted.callers(os.environ)):
        raise UsageError(
            f"another user can decide what {records} says, and so what root does",
            why=reason,
            fix=f"begin a run of your own, or add {ALLOW}",
        )


def hidden_text(hidden: Iterable[str]) -> str | None:
    """Return a line that says which built-in files are not used; None if there are none."""
    found = "; ".join(hidden)
    return f"! hides what is built in: {found}" if found else None


def hidden_by(loaded: Loaded) -> tuple[str, ...]:
    """Return which built-in files the cases would have used, were they not hidden by others."""
    places = library()
    specs = [case.spec for case in loaded.cases]
    return (
        *places.hidden("testcases", dict.fromkeys(spec.name for spec in specs)),
        *places.hidden("testbeds", (loaded.testbed,)),
        *places.hidden("presets", loaded.preset.split(", ")),
        *places.hidden("topologies", dict.fromkeys(spec.topology.name for spec in specs)),
    )


def load(request: Request, plugins: Plugins) -> Loaded:
    """Load the cases that the command line asks for."""
    loaded = loader.load(request, library(foreign=request.foreign), plugins.specs())
    if any(one.written == OPTION for one in request.shorthands):
        return seen_from_outside(loaded)
    return loaded


def complete_testcase(
    ctx: click.Context, param: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    """Complete names of testcases, with their titles."""
    return [
        CompletionItem(name, help=entry.title)
        for name, entry in library().testcases().items()
        if name.startswith(incomplete)
    ]


def complete_testbed(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
    """Complete names of testbeds."""
    return [name for name in library().testbeds() if name.startswith(incomplete)]


def complete_preset(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
    """Complete names of presets."""
    return [name for name in library().presets() if name.startswith(incomplete)]


def complete_driver(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
    """Complete the kinds of the section that the option is called by; of several, the last one."""
    before, comma, last = incomplete.rpartition(",")
    section = str(param.name)
    known = set(Plugins.load().drivers(section))
    if section == NOISE:
        known |= {QUIET, *library().files(NOISE)}
    kinds = known - set(before.split(","))
    return [f"{before}{comma}{kind}" for kind in sorted(kinds) if kind.startswith(last)]


def complete_setting(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
    """Complete the paths that `--set` takes."""
    paths = settable_paths(Plugins.load().specs())
    return [f"{path}=" for path in paths if path.startswith(incomplete)]


def selects_cases(command: F) -> F:
    """Add the arguments and options that choose cases; the command gets them as a `request`."""
    return _with_request(command, (*_selectors(), *_overrides()))


def overrides_cases(command: F) -> F:
    """Add only the options that change how cases resolve; the `request` names none."""
    return _with_request(command, _overrides())


def _with_request(command: F, options: tuple[Callable[[F], F], ...]) -> F:
    @functools.wraps(command)
    def collecting(**values: Any) -> Any:
        fields = {f.name: values.pop(f.name) for f in dataclass_fields(Request) if f.name in values}
        drivers = {section: values.pop(section, ()) for section in ALTERNATIVES}
        shorthands = _shorthands(drivers, values.pop("mode", FULL))
        request = Request(**{"names": (), **fields, "shorthands": shorthands})
        return command(request=request, **values)

    for option in reversed(options):
        collecting = option(collecting)
    return collecting  # type: ignore[return-value]


def _shorthands(drivers: Mapping[str, tuple[str, ...]], mode: str) -> tuple[Shorthand, ...]:
    """Return the settings that options of their own stand for."""
    if drivers["vswitch"] and mode != FULL:
        raise UsageError(
            f"--vswitch and {OPTION} exclude each other",
            why="from outside, no switch is deployed: others have deployed the device under test",
            fix="leave one of them out",
        )
    found = [_several(section, given) for section, given in drivers.items() if given]
    if mode != FULL:
        found.append(Shorthand(OPTION, "vswitch.kind=external"))
    return tuple(found)


def _several(section: str, given: tuple[str, ...]) -> Shorthand:
    """Return the choice of a driver, or of several that are measured in turns."""
    kinds = [kind.strip() for text in given for kind in text.split(",")]
    written = " ".join(f"--{section} {text}" for text in given)
    unfit = [kind for kind in kinds if not KIND.fullmatch(kind)]
    if unfit:
        raise UsageError(
            f"`{written}` names no kind of {section}: {quoted(unfit[0])}",
            fix=f"write it like `--{section} {EXAMPLES[section]}`; see `vsperf plugins`",
        )
    one = f"{section}.kind={kinds[0]}"
    return Shorthand(
        written, one if len(kinds) == 1 else f"{section}=[{', '.join(kinds)}]", keeps=True
    )


def _selectors() -> tuple[Callable[[F], F], ...]:
    return (
        click.argument("names", nargs=-1, metavar="NAME...", shell_complete=complete_testcase),
        click.option(
            "--tag",
            "tags",
            multiple=True,
            help="Only testcases with this tag; without NAME, all of them; repeatable.",
        ),
        click.option(
            "--repeat",
            type=click.IntRange(1, 1000),
            default=1,
            help="Run the selection this many times.",
        ),
        click.option(
            "--mode",
            type=click.Choice([FULL, MODE]),
            default=FULL,
            show_default=True,
            help="trafficgen: the generator alone, for a device that others deployed.",
        ),
    )


def _driver(section: str, says: str) -> Callable[[F], F]:
    return click.option(
        f"--{section}",
        multiple=True,
        metavar="KIND,...",
        shell_complete=complete_driver,
        help=says,
    )


def _overrides() -> tuple[Callable[[F], F], ...]:
    return (
        click.option(
            "--testbed", metavar="NAME", shell_complete=complete_testbed, help="Where to run."
        ),
        click.option(
            "--preset",
            metavar="NAME",
            shell_complete=complete_preset,
            help="How thoroughly: quick, standard, rfc2544-strict, tst009, or one of your own.",
        ),
        _driver("vswitch", "Which switch, or several in turns."),
        _driver("generator", "Which generator, or several in turns."),
        _driver("vnf", "VNFs by qemu, process, or in turns."),
        _driver("program", "What exchanges data between places."),
        _driver("noise", "What runs beside: none, levels, kinds."),
        click.option(
            "--conf",
            multiple=True,
            metavar="FILE",
            type=click.Path(path_type=Path),
            help="YAML over the testcase; repeatable.",
        ),
        click.option(
            ALLOW,
            "foreign",
            is_flag=True,
            help="As root, use files that other users own or can change.",
        ),
        click.option(
            "--set",
            "sets",
            multiple=True,
            metavar="PATH=VALUE",
            shell_complete=complete_setting,
            help="One setting, such as traffic.frame_size=64B; overrides all else; repeatable.",
        ),
    )


def seen_from_outside(loaded: Loaded) -> Loaded:
    """Return the cases with topologies of links alone: what lies between is not vsperf's."""
    return replace(loaded, cases=tuple(_case(case) for case in loaded.cases))


def _case(case: Case) -> Case:
    topology = case.spec.topology
    if not topology.vnfs:
        return case
    spec = case.spec.model_copy(update={"topology": _between_links(topology)})
    kept = {path: origin for path, origin in case.origins.items() if not _is_moved(path)}
    return replace(case, spec=spec, origins={**kept, "topology": OPTION})


def _is_moved(path: str) -> bool:
    return path.startswith("topology.") or path == "topology"


def _between_links(topology: Topology) -> Topology:
    """Return the same ends without the VNFs; parallel paths become one."""
    ends = dict.fromkeys((path[0], path[-1]) for path in topology.paths)
    vnfs = [end for pair in ends for end in pair if end in topology.vnfs]
    if vnfs:
        raise UsageError(
            f"topology {topology.name} cannot be measured from outside",
            why=f"its frames begin or end in {vnfs[0]}, and {OPTION} deploys no VNF",
            fix="choose a testcase whose topology begins and ends at links, such as pvp_tput",
        )
    found = [pair for pair in ends if pair[::-1] not in ends or pair <= pair[::-1]]
    name = "p2p" if found == [("phy0", "phy1")] else topology.name
    return Topology(name=name, paths=tuple(found))
