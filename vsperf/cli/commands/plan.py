"""`vsperf plan`: everything a run would do, as a value that is only printed."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import click
from rich.console import Console
from rich.text import Text

from vsperf.cli.drawing import draw
from vsperf.cli.selection import hidden_by, hidden_text, load, selects_cases
from vsperf.cli.stored import json_option, results_option, say_json
from vsperf.cli.tables import console, print_label
from vsperf.cli.terminal import fitting
from vsperf.config.loader import Request
from vsperf.engine.baselines import with_baselines
from vsperf.engine.expectation import may_hold
from vsperf.engine.run import Planned, plan_cases
from vsperf.engine.usable import missing_here
from vsperf.errors import ExitCode, Problem
from vsperf.methods.base import loads_of, method_of
from vsperf.methods.estimate import Estimate, together
from vsperf.plugins import Plugins
from vsperf.quantities.human import human_count, human_expected, human_fps, percent
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
    "  vsperf plan pvp_tput --vswitch testpmd --vnf process\n"
)
@selects_cases
@results_option
@json_option
def command(request: Request, results: Path, as_json: bool) -> int:
    """Print the topology, each step, and the time that the selected testcases would take.

    What this machine lacks for them stands on top, with what mends it. That is no error: the plan
    is the same, and may be for another machine. `vsperf run` refuses them then, with 3.
    """
    plugins = Plugins.load()
    loaded = load(request, plugins)
    cases = with_baselines(loaded.cases, results)
    print_plans(plan_cases(cases, plugins), plugins, as_json)
    if not as_json and (line := hidden_text(hidden_by(loaded))) is not None:
        console().print(line, style="yellow")
    return ExitCode.OK


def print_plans(planned: Sequence[Planned], plugins: Plugins, as_json: bool) -> None:
    """Print the plans; what is the same for several cases is printed once."""
    missing = _missing(planned, plugins)
    if as_json:
        say_json([_as_json(item, missing[item.case.key]) for item in planned])
        return
    out = console()
    _print_missing(out, dict.fromkeys(one for found in missing.values() for one in found))
    print_label(out, simulated=any(item.case.spec.testbed.simulated for item in planned))
    groups: dict[str, list[Planned]] = {}
    for item in planned:
        groups.setdefault(item.plan.plan.model_dump_json(), []).append(item)
    told: dict[str, list[_Part]] = {}
    for group in groups.values():
        _print_steps(out, group[0], told)
        for item in group:
            out.print(
                f"{item.case.label}: {item.case.spec.search.kind}{_range(item)}, about "
                f"{item.estimate.trials} trials, {_time(item.estimate)}",
            )
    expected = together([item.estimate for item in planned])
    out.print(
        f"{len(planned)} {'case' if len(planned) == 1 else 'cases'}, "
        f"about {expected.trials} trials, {_time(expected)}",
        style="bold",
    )
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


def _print_missing(out: Console, problems: Iterable[Problem]) -> None:
    """Print what would keep a run from beginning, before all that it would do."""
    told = list(problems)
    for one in told:
        what = f"{one.what}: {one.why}" if one.why else one.what
        _Line(f"! missing here: {what}", "yellow").print(out)
        if one.fix:
            _Line(f"    fix: {one.fix}").print(out)
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

    def print(self, out: Console) -> None:
        indent = len(self.text) - len(self.text.lstrip(" 0123456789.!"))
        out.print(fitting(Text(self.text, self.style), out, " " * (indent + 2)))


_Part = tuple[_Line, ...]
"""What belongs together: what stands above the steps, a step, or all notes."""


def _print_steps(out: Console, item: Planned, told: dict[str, list[_Part]]) -> None:
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
    command = () if step.argv is None else (_Line(f"     {shlex.join(step.argv)}", "cyan"),)
    lines = (_Line(f"       {line}", "cyan") for line in step.lines)
    return (_Line(f"{number:3d}. {step.component}: {step.action}"), *command, *lines)


def _as_json(item: Planned, missing: Iterable[Problem]) -> dict[str, object]:
    return {
        "case": item.case.key,
        "label": item.case.label,
        "missing": [{"what": one.what, "why": one.why, "fix": one.fix} for one in missing],
        "estimate": asdict(item.estimate),
        "plan": item.plan.plan.model_dump(mode="json"),
        "spec": item.case.spec.model_dump(mode="json"),
    }
