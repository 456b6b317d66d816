"""`vsperf plan`: everything a run would do, as a value that is only printed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import click
from rich.text import Text

from vsperf.cli.drawing import draw
from vsperf.cli.selection import budget_option, hidden_by, hidden_text, load, selects_cases
from vsperf.cli.stored import json_option, results_option, say_json
from vsperf.cli.tables import console, print_label
from vsperf.cli.terminal import PlainConsole, breaks_lines, command_lines, fitting, folded
from vsperf.config.loader import Request
from vsperf.engine.baselines import with_baselines
from vsperf.engine.expectation import may_hold
from vsperf.engine.run import Planned, plan_cases, within
from vsperf.engine.usable import SPOILS, missing_here
from vsperf.errors import ExitCode, Problem
from vsperf.methods.base import loads_of, method_of
from vsperf.methods.estimate import Estimate, together
from vsperf.plugins import Plugins
from vsperf.quantities.human import (
    counted,
    human_count,
    human_expected,
    human_fps,
    human_seconds,
    percent,
)
from vsperf.quantities.units import Duration
from vsperf.records.run import Step, shown
from vsperf.search.regimes import HELD

PARTS = {
    *("vswitch", "rivals", "generator", "vnf", "program", "probe", "noise", "collect"),
    *("testbed", "topology", "places"),
}
"""What of a case says which parts take part in it."""
FEW = 4
"""A plan that differs in so many parts at most from one that was told is told by these."""


@click.command(
    epilog="Examples:\n\n\b\n  vsperf plan phy2phy_tput\n"
    "  vsperf plan phy2phy_tput phy2phy_loss --preset rfc2544-strict\n"
    "  vsperf plan phy2phy_tput --set vswitch.pmd_cpus=2,3 --json\n"
    "  vsperf plan phy2phy_tput --budget 1m\n"
    "  vsperf plan pvp_tput --vswitch testpmd --vnf process\n"
)
@selects_cases
@budget_option
@results_option
@json_option
def command(request: Request, budget: Duration | None, results: Path, as_json: bool) -> int:
    """Print what the selected testcases would start, each step, and the time that they take.

    What this machine lacks for them stands on top, with what mends it. That is no error: the plan
    is the same, and may be for another machine. `vsperf run` refuses them then, with 3.
    """
    plugins = Plugins.load()
    loaded = load(request, plugins)
    cases = with_baselines(loaded.cases, results)
    print_plans(plan_cases(cases, plugins), plugins, as_json, budget)
    if not as_json and (line := hidden_text(hidden_by(loaded))) is not None:
        console().print(line, style="yellow")
    return ExitCode.OK


def print_plans(
    planned: Sequence[Planned], plugins: Plugins, as_json: bool, budget: Duration | None = None
) -> None:
    """Print in short what would be done, then the plans, each with what differs from others."""
    estimates = within(planned, budget.ns if budget else None)
    missing = _missing(planned, plugins)
    if as_json:
        each = zip(planned, estimates, strict=True)
        say_json([_as_json(item, one, missing[item.case.key]) for item, one in each])
        return
    out, expected = console(), together(estimates)
    if not planned:
        out.print("0 cases left: all are measured")
        return
    takes = f"about {expected.trials} trials, {_time(expected)}"
    _print_missing(out, dict.fromkeys(one for found in missing.values() for one in found))
    print_label(out, simulated=any(item.case.spec.testbed.simulated for item in planned))
    for line in _summary(planned, takes):
        line.print(out)
    if (short := budget_text(planned, budget)) is not None:
        out.print(short, style="yellow")
    out.print()
    by_case = {item.case.key: one for item, one in zip(planned, estimates, strict=True)}
    groups: dict[str, list[Planned]] = {}
    for item in planned:
        groups.setdefault(item.plan.plan.model_dump_json(), []).append(item)
    told: dict[str, list[_Part]] = {}
    for group in groups.values():
        _print_steps(out, group[0], told)
        for item in group:
            one = by_case[item.case.key]
            out.print(
                f"{item.case.label}: {item.case.spec.search.kind}{_range(item)}, about "
                f"{one.trials} trials, {_time(one)}",
            )
    out.print(f"{counted(len(planned), 'case')}, {takes}", style="bold")
    if any(may_hold(item.case.spec, item.plan) for item in planned):
        out.print(
            "where the machine moves the CPUs of generator and switch, a search is answered for "
            f"each distance, and holds trials back for up to {percent(HELD)} of its time",
        )
    if (most := max(method_of(item.case.spec).deployments for item in planned)) > 1:
        out.print(
            "what is found on the first deployment of a case is asked again on further ones, up to "
            f"{most} in all",
        )


def budget_text(planned: Sequence[Planned], budget: Duration | None) -> str | None:
    """Say so where a budget ends searches before their time."""
    estimate = together([item.estimate for item in planned])
    if budget is None or estimate.measuring_s <= budget.seconds:
        return None
    simulated = " of simulated time" if estimate.here_s is not None else ""
    beside = human_seconds(estimate.beside_s)
    deploying = f"; deploying takes {beside} beside it" if estimate.beside_s else ""
    return (
        f"the budget of {budget} is less than the estimate of "
        f"{human_seconds(estimate.measuring_s)}{simulated} for all trials: some searches may end "
        f"with wider intervals{deploying}"
    )


def _summary(planned: Sequence[Planned], takes: str) -> Iterator[_Line]:
    """Yield what is started and where, for how many cases, and how long that takes."""
    names = list(dict.fromkeys(item.case.spec.name for item in planned))
    of = ", ".join(names) if len(names) <= FEW else f"{len(names)} testcases"
    testbed = planned[0].case.spec.testbed.name
    yield _Line(f"{counted(len(planned), 'case')} of {of} on testbed {testbed}, {takes}", "bold")
    for parts in dict.fromkeys(", ".join(_started(item)) for item in planned):
        if parts:
            yield _Line(f"  starts {parts}")
    placed = {tuple(item.plan.plan.placement.cpus.items()) for item in planned}
    roles: dict[int, list[str]] = {}
    for role, cpus in placed.pop():
        for cpu in cpus:
            roles.setdefault(cpu, []).append(role)
    if placed:
        yield _Line("  which CPUs they have differs by case, and stands with each")
    else:
        for cpu, those in sorted(roles.items()):
            yield _Line(f"  on CPU {cpu}: {', '.join(those)}")
    notes = dict.fromkeys(note for item in planned for note in item.plan.plan.notes)
    yield from (_Line(f"  ! {note}", "yellow") for note in notes if SPOILS in note)


def _started(item: Planned) -> Iterator[str]:
    """Yield the parts that a case starts, by the order of its steps."""
    spec = item.case.spec
    switches = [f"{side.letter} ({side.name})" for side in spec.sides] or [spec.vswitch.kind]
    known = {
        "vswitch": f"switch {', '.join(switches)}" if spec.made_anew else "",
        "generator": f"generator {spec.generator.kind}",
        "vnf": f"{', '.join(spec.topology.vnfs)} by {spec.vnf.kind}" if spec.vnf else "",
        "program": f"programs by {spec.program.kind}" if spec.program else "",
        "noise": f"noise by {spec.noise.kind}" if spec.noise else "",
    }
    steps = dict.fromkeys(step.component for step in item.plan.plan.steps)
    yield from filter(None, (known.get(component, "") for component in steps))


def _missing(planned: Sequence[Planned], plugins: Plugins) -> dict[str, tuple[Problem, ...]]:
    """Return what this machine lacks for each case; of those with the same parts one is asked."""
    asked: dict[str, tuple[Problem, ...]] = {}
    found = {}
    for item in planned:
        parts = item.case.spec.model_dump_json(include=PARTS)
        if parts not in asked:
            asked[parts] = missing_here(item, plugins)
        found[item.case.key] = asked[parts]
    return found


def _print_missing(out: PlainConsole, problems: Iterable[Problem]) -> None:
    """Print what would keep a run from beginning, before all that it would do; each remedy once."""
    told: dict[str | None, list[Problem]] = {}
    for one in problems:
        told.setdefault(one.fix, []).append(one)
    for fix, lacking in told.items():
        for one in lacking:
            what = f"{one.what}: {one.why}" if one.why else one.what
            _Line(f"! missing here: {what}", "yellow").print(out)
        if fix:
            _Line(f"    fix: {fix}").print(out)
    if told:
        out.print(
            "a run of this is refused here until then; the plan is what it would do", style="bold"
        )


def _range(item: Planned) -> str:
    """Say which loads may be offered; programs find their own."""
    if item.case.spec.has_places:
        return ""
    loads = loads_of(item.case.spec)
    if item.case.spec.has_connections:
        return f" from {human_count(loads.minimum)} to {human_count(loads.maximum)}"
    return f" from {human_fps(loads.minimum)} to {human_fps(loads.maximum)} per direction"


def _time(expected: Estimate) -> str:
    return human_expected(expected.seconds, expected.spread_s, expected.here_s)


@dataclass(frozen=True, slots=True)
class _Line:
    """A line of a plan; what goes on below it on a narrow terminal is indented further."""

    text: str
    style: str = ""

    def print(self, out: PlainConsole) -> None:
        indent = len(self.text) - len(self.text.lstrip(" 0123456789.!"))
        out.print(fitting(Text(self.text, self.style), out, " " * (indent + 2)))


@dataclass(frozen=True, slots=True)
class _Written(_Line):
    """A line of what is written for a program; a word of it may be longer than a terminal."""

    def print(self, out: PlainConsole) -> None:
        text, indent = self.text, len(self.text) - len(self.text.lstrip()) + 2
        if breaks_lines(out):
            room = out.width - indent
            words = (
                word if len(word) <= room else folded(word, out.width, indent, quote=str)
                for word in text.split(" ")
            )
            text = " ".join(words)
        out.print(fitting(Text(text, self.style), out, " " * indent))


@dataclass(frozen=True, slots=True)
class _Command:
    """A command that a plan runs, to be copied as it stands."""

    argv: tuple[str, ...]

    def print(self, out: PlainConsole) -> None:
        out.print_whole(Text(command_lines(self.argv, out, "     "), "cyan"))


_Part = tuple[_Line | _Command, ...]
"""What belongs together: what stands above the steps, a step, or all notes."""


def _print_steps(out: PlainConsole, item: Planned, told: dict[str, list[_Part]]) -> None:
    """Print the plan of a case, by what is different where one like it was told before."""
    parts = _parts(item)
    for label, others in told.items():
        if len(others) != len(parts):
            continue
        changed = [one for one, other in zip(parts, others, strict=True) if one != other]
        if len(changed) <= FEW and len(changed) < len(parts) and all(changed):
            out.print(f"as {label}, but")
            shown_parts = changed
            break
    else:
        told[item.case.label] = shown_parts = parts
    for part in shown_parts:
        for line in part:
            line.print(out)


def _parts(item: Planned) -> list[_Part]:
    plan = item.plan.plan
    head = [_Line(draw(item.case.spec.topology, item.case.spec.vswitch.kind))]
    head += [
        _Line(f"  CPU {', '.join(str(cpu) for cpu in cpus):<6} {role}")
        for role, cpus in plan.placement.cpus.items()
    ]
    head += [
        _Line(f"  {size >> 20} MB of hugepages on memory node {node}")
        for node, size in plan.hugepage_bytes.items()
    ]
    head += [
        _Line(
            f"  NIC {wire.vnf}_{wire.nic} {wire.mac} on {shown(wire.address)}; "
            f"what leaves by it goes to {wire.peer_mac}"
        )
        for wire in plan.wires
    ]
    steps = [_step(number, step) for number, step in enumerate(plan.steps, start=1)]
    return [tuple(head), *steps, tuple(_Line(f"   ! {note}", "yellow") for note in plan.notes)]


def _step(number: int, step: Step) -> _Part:
    command = () if step.argv is None else (_Command(step.argv),)
    lines = (_Written(f"       {line}", "cyan") for line in step.lines)
    return (_Line(f"{number:3d}. {step.component}: {step.action}"), *command, *lines)


def _as_json(item: Planned, expected: Estimate, missing: Iterable[Problem]) -> dict[str, object]:
    return {
        "case": item.case.key,
        "label": item.case.label,
        "missing": [{"what": one.what, "why": one.why, "fix": one.fix} for one in missing],
        "estimate": asdict(expected),
        "plan": item.plan.plan.model_dump(mode="json"),
        "spec": item.case.spec.model_dump(mode="json"),
    }
