"""All that a report says of one case, from what is stored of it."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping, Sequence, Sized
from dataclasses import dataclass, field
from typing import Any

from vsperf.analysis.answers import missed_on_a_busy_host
from vsperf.analysis.frame_paths import frame_paths
from vsperf.analysis.noise import reached, silent_trials
from vsperf.analysis.summary import CaseRow
from vsperf.output.case_tables import case_outcome, curve_table
from vsperf.output.collected_tables import sights
from vsperf.output.cpu_tables import CPU_MEANING, cpu_tables
from vsperf.output.figures.published import published_table
from vsperf.output.report.account import account_of, account_table, made_table, telling, told
from vsperf.output.report.doubts import Concerns, criteria_of, standing_of
from vsperf.output.report.environment import Differences, found_of
from vsperf.output.report.numbers import latency_table, numbers_of
from vsperf.output.report.page import (
    CasePart,
    Compared,
    CostPart,
    Costs,
    Doubt,
    Drawn,
    Fact,
    Lane,
    Number,
    Place,
    Planned,
    Step,
    Told,
)
from vsperf.output.report.pictures import NoPictures, Pictures
from vsperf.output.table import NOTHING, Table, columns
from vsperf.quantities.human import counted, human_fps
from vsperf.quantities.units import NANOSECONDS
from vsperf.records.asked import Asked
from vsperf.records.chain import FramePath
from vsperf.records.exchange import CLIENTS, SERVERS, Exchange
from vsperf.records.files.reader import RunState
from vsperf.records.files.view import CaseView, RunView
from vsperf.records.meaning import LIMITED_BY
from vsperf.records.result import SearchResult
from vsperf.records.run import CaseRecord, Outcome, Placement, Plan, shown
from vsperf.records.run import Step as PlanStep
from vsperf.records.trial import Direction, Trial
from vsperf.trust.printable import vsperf_command

# What a case was asked, in a few words each.


def asked_of(asked: Asked) -> tuple[Fact, ...]:
    """Return what a case was asked, in a few words each."""
    traffic = asked.section("traffic")
    frames = traffic.get("imix") or traffic.get("frame_size")
    found = {
        "frames": None if frames is None else str(frames),
        **(_exchanges(asked) or _connections(asked) or _flows(traffic)),
        "method": asked.kind("search"),
        "warm-up": asked.value("trial", "warm_up"),
        "switch": asked.kind("vswitch"),
        **dict([asked.sender]),
        "vnfs": asked.kind("vnf") if asked.passes_vnfs else None,
        "noise": _noise(asked),
        "links": _links(asked),
    }
    return tuple(Fact(name, str(value)) for name, value in found.items() if value)


def _flows(traffic: Mapping[str, Any]) -> dict[str, Any]:
    """Say which streams of frames there were."""
    flows = str(traffic.get("flows", ""))
    return {
        "flows": f"{flows} per direction" if flows else None,
        "direction": traffic.get("direction"),
    }


def _exchanges(asked: Asked) -> dict[str, Any]:
    """Say how many programs there were, and what their devices did; nothing where there is none."""
    if asked.sender[0] != "program":
        return {}
    search = asked.section("search")
    return {
        "instances": f"{search.get('instances', 1)} per direction",
        "direction": asked.value("traffic", "direction"),
        "offloads": search.get("offloads"),
    }


def _connections(asked: Asked) -> dict[str, Any]:
    """Say between how many addresses connections were opened; nothing where there were none."""
    clients, servers = (asked.value("search", name) for name in ("clients", "servers"))
    if clients is None or servers is None:
        return {}
    return {"clients": f"{clients} addresses", "servers": f"{servers} addresses"}


def _links(asked: Asked) -> str | None:
    """Say whether there were cables; who reads of ports thinks of network cards."""
    virtual = [link.virtual for link in asked.links.values()]
    if asked.value("testbed", "simulated") or not virtual or not all(virtual):
        return None
    return "virtual, without a network card"


def _noise(asked: Asked) -> str | None:
    """Say what ran beside the case, and next to what; the plan has the rest."""
    noise = asked.section("noise")
    if not noise:
        return None
    where = f", {noise['near']} of {noise['to']}" if noise.get("near") else ""
    return f"{noise.get('instances', 1)} × {noise.get('kind')}{where}"


# A topology as people draw it: the parts in the order of the frames, with CPUs and rates.

OWN = "vsperf"
GENERATOR = "generator"
PROGRAMS = {"sends": CLIENTS, "receives": SERVERS}
"""Whose CPUs are those of an end, where programs are in the generator's place."""


def drawn(
    asked: Asked, plan: Plan | None, result: SearchResult, trials: Sequence[Trial]
) -> Drawn | None:
    """Return the topology of a case; None where its specification says nothing of one."""
    return told(lambda: _drawn(asked, plan, result, trials), None)


def _drawn(
    asked: Asked, plan: Plan | None, result: SearchResult, trials: Sequence[Trial]
) -> Drawn | None:
    topology = asked.topology
    if topology is None:
        return None
    placement = plan.placement if plan is not None else Placement()
    sends, switch = asked.sender[1], asked.kind("vswitch")
    kinds = {part: kind for part, kind in (("vswitch", switch), (GENERATOR, sends)) if kind}
    vnf = asked.kind("vnf") or "vnf"
    parts = _Parts(placement, set(topology.vnfs), kinds, vnf)
    links = asked.section("testbed", "links")
    ways = frame_paths(topology)
    lanes = tuple(Lane(tuple(parts.along(way, links))) for way in ways[::2])
    found = telling(result, trials)
    rates = tuple(_rate(way, found.trial) for way in found.trial.directions) if found else ()
    name = found.name if found else ""
    return Drawn(topology.name, lanes, rates, name, tuple(parts.others()), tuple(placement.notes))


class _Parts:
    """The parts of a deployment and their CPUs."""

    def __init__(
        self, placement: Placement, vnfs: set[str], kinds: dict[str, str], vnf: str
    ) -> None:
        self._placement = placement
        self._vnfs = vnfs
        self._kinds = kinds
        self._vnf = vnf

    def along(self, way: FramePath, links: Mapping[str, Any]) -> Iterator[Place]:
        """Yield what frames pass from one end to the other."""
        yield self._generator("sends")
        if not way.inside[0]:
            yield _link(way.begin, links)
        for vnf in way.inside:
            if vnf is None:
                kind = self._kinds.get("vswitch", "switch")
                yield Place("switch", kind, self._cpus(None))
            else:
                yield Place("vnf", vnf, (self._vnf, *self._cpus(vnf)))
        if not way.inside[-1]:
            yield _link(way.end, links)
        yield self._generator("receives")

    def others(self) -> Iterator[Fact]:
        """Yield the CPUs of what frames do not pass."""
        for role, cpus in self._placement.cpus.items():
            if _first(role) == OWN:
                yield Fact(role, _cpu_text(cpus))

    def _generator(self, does: str) -> Place:
        kind = self._kinds.get(GENERATOR, GENERATOR)
        programs = self._placement.of(PROGRAMS[does])
        cpus = (_cpu_text(programs),) if programs else self._cpus(GENERATOR)
        return Place("program" if programs else GENERATOR, kind, (does, *cpus))

    def _cpus(self, part: str | None) -> tuple[str, ...]:
        """Return the CPUs of a part by role; None is the switch."""
        found = []
        for role, cpus in self._placement.cpus.items():
            first = _first(role)
            mine = first == part
            if part is None:
                mine = first not in {*self._vnfs, GENERATOR, OWN, *PROGRAMS.values()}
            if mine:
                inner = role.removeprefix(part or "").strip()
                found.append(f"{_cpu_text(cpus)} {inner}".strip())
        return tuple(found)


def _first(role: str) -> str:
    return role.partition(" ")[0]


def _cpu_text(cpus: Sequence[int]) -> str:
    return f"CPU {','.join(str(cpu) for cpu in cpus)}" if cpus else "no CPU of its own"


def _link(name: str, links: Mapping[str, Any]) -> Place:
    link = links.get(name, {})
    if link.get("virtual"):
        return Place("link", name, ("virtual",))
    return Place("link", name, (str(link["speed"]),) if "speed" in link else ())


def _rate(way: Direction, trial: Trial) -> str:
    sent = way.sent_frames * NANOSECONDS / trial.duration_ns
    arrived = way.good_frames * NANOSECONDS / trial.duration_ns
    return f"{way.name}: {human_fps(sent)} sent, {human_fps(arrived)} arrived"


# The plan of a case as it can be carried out by hand, each step told once in a report.

FEW = 4
"""A plan that differs in so many steps at most is told by these."""


@dataclass(slots=True)
class Plans:
    """The plans that a report has told so far; cases of one testcase share nearly all steps."""

    _told: list[tuple[str, str, tuple[PlanStep, ...]]] = field(default_factory=list)

    def tell(self, plan: Plan, anchor: str, label: str) -> Planned:
        """Return a plan, by what is different where one like it was told before."""
        memory = tuple(
            f"{size >> 20} MB of hugepages on memory node {node}"
            for node, size in plan.hugepage_bytes.items()
        )
        for other, name, steps in self._told:
            if len(steps) != len(plan.steps):
                continue
            pairs = zip(plan.steps, steps, strict=True)
            changed = [place for place, (one, two) in enumerate(pairs) if one != two]
            if len(changed) <= FEW and len(changed) < len(steps):
                found = tuple(_step(place + 1, plan.steps[place]) for place in changed)
                return Planned(found, other, name, memory)
        self._told.append((anchor, label, plan.steps))
        whole = tuple(_step(number, step) for number, step in enumerate(plan.steps, start=1))
        return Planned(whole, "", "", memory)


def _step(number: int, step: PlanStep) -> Step:
    command = "" if step.argv is None else shlex.join(shown(word) for word in step.argv)
    return Step(number, step.component, step.action, command, tuple(step.lines))


# What ran beside a case, and what that cost, as tables and sentences.

BESIDE = ("noise", "settled at", "in trials", "had a CPU", "heard of in", "died or slackened in")
COSTS = ("case", "number", "beside", "quiet", "beside noise", "change", "judged", "repeats")


def noise_table(
    record: CaseRecord | None, trials: Sequence[Trial] | Sequence[Exchange]
) -> Table | None:
    """Return a row for each instance of a load; None where nothing ran beside the case."""
    made = sum(bool(trial.noise) for trial in trials)
    lost = ", ".join(f"#{index}" for index in silent_trials(trials)) or "none"
    rows = tuple(
        (
            one.instance,
            one.settled or NOTHING,
            one.rates or NOTHING,
            one.shares or NOTHING,
            f"{one.trials} of {made} trials",
            lost,
        )
        for one in reached(record, trials)
    )
    return Table("noise", columns(*BESIDE), rows) if rows else None


def cost_part(found: Costs, common: str, *, single: bool) -> CostPart:
    """Return what noise cost in a run as a table; `common` is left out of the names of cases."""
    rows = tuple(
        (
            one.case.removeprefix(common),
            one.number,
            one.level,
            one.quiet,
            one.noisy,
            one.change,
            one.judged,
            one.repeats,
        )
        for one in found.rows
    )
    run = "" if single else found.run
    return CostPart(run, Table("costs", columns(*COSTS), rows) if rows else None, found.notes)


def cost_lines(found: Sequence[Costs], run: str, label: str) -> tuple[str, ...]:
    """Return what noise cost one case, a sentence for each of its numbers."""
    return tuple(
        f"{one.number}, {one.noisy} beside {one.level} and {one.quiet} without noise: "
        f"{one.change}, {one.judged} ({one.repeats} repeats)"
        for costs in found
        if costs.run == run
        for one in costs.rows
        if one.label == label
    )


HEADLINES = 2
"""Numbers that stand in the line of a case."""
SUSPECT = 3
"""Weight of the doubts from which on a number has a reservation."""
AGAIN = "`vsperf run --resume {}` measures it again"
UNSAFE = re.compile(r"[^A-Za-z0-9_.-]+")


def anchor_of(number: int, place: int, case: CaseView) -> str:
    """Return the name under which the case at a place of a run with this number is found."""
    name = UNSAFE.sub("-", case.key).strip("-")
    return f"case-{number}-{place}-{name}"


def names_of(runs: Sequence[RunView]) -> dict[str, str]:
    """Return what each of several runs is called: its last letters, if these tell them apart."""
    if len(runs) < 2:
        return {}
    letters = {run.run: run.run.rpartition("-")[2] for run in runs}
    return letters if len({*letters.values()}) == len(letters) else {one: one for one in letters}


def label_of(case: CaseView) -> str:
    """Name a case for people; repeats are told apart."""
    repeat = case.planned.repeat
    return f"{case.label} #{repeat}" if repeat > 1 else case.label


@dataclass(slots=True)
class Teller:
    """Tells cases one after the other, and what they have in common once."""

    pictures: Pictures | NoPictures
    compact: bool
    folded: bool = False
    """Whether cases are lines that open."""
    common: str = ""
    """What the labels of all cases begin with; left out where one case stands among others."""
    compared: Compared = field(default_factory=Compared)
    runs: Mapping[str, str] = field(default_factory=dict)
    """What runs are called, where there are several."""
    concerns: Concerns = field(default_factory=Concerns)
    plans: Plans = field(default_factory=Plans)
    asked: Differences = field(default_factory=Differences)
    found: Differences = field(default_factory=Differences)

    def short(self, case: CaseView) -> str:
        """Name a case among the others, those of other runs included."""
        return self._of_run(case, label_of(case).removeprefix(self.common))

    def _of_run(self, case: CaseView, label: str) -> str:
        return f"{label} of {self.runs[case.run]}" if case.run in self.runs else label

    def tell(self, run: RunView, row: CaseRow, anchor: str) -> CasePart:
        """Return what is said of a case; only this one is held."""
        case = row.view
        label, asked, record = self.short(case), case.asked, case.record
        trials = case.standing_trials
        result = row.result
        plan = case.start.plan if case.start is not None else None
        conditions = record.conditions if record is not None else None
        full = not self.compact
        numbers = numbers_of(row, trials)
        doubts = self.concerns.add(row, label)
        return CasePart(
            anchor=anchor,
            label=self._of_run(case, label_of(case)),
            short=label,
            folded=self.folded,
            line=_line(numbers, result, doubts),
            title=str(asked.value("title") or case.testcase),
            outcome=case_outcome(row),
            reason=record.reason if record is not None else "",
            simulated=case.simulated,
            state=_state(run, row),
            asked=self.asked.tell(asked_of(asked), anchor, label) if full else Told(()),
            numbers=numbers,
            criteria=criteria_of(record),
            published=published_table((row,)),
            latency=latency_table(row),
            curves=tuple(map(curve_table, row.curves)) if full else (),
            pictures=self.pictures.of_case(case) if full else (),
            drawn=drawn(asked, plan, result, trials) if full else None,
            account=account_of(result, trials) if full else None,
            accounts=account_table(trials) if full else None,
            cpu=cpu_tables(case.standing_exchanges) if full else (),
            cpu_meaning=CPU_MEANING,
            noise=noise_table(record, case.standing_exchanges or trials),
            costs=cost_lines(self.compared.costs, case.run, case.label),
            collected=sights(case.folder, case.key, case.attempt, trials, case.died + 1)
            if full
            else (),
            plan=self.plans.tell(plan, anchor, label) if plan is not None else None,
            found=self.found.tell(found_of(conditions), anchor, label) if full else Told(()),
            doubts=doubts,
            standings=tuple(standing_of(one) for one in record.compliance) if record else (),
            trials=made_table(case) if full else None,
            trials_hint=vsperf_command("show", case.run, case.key),
        )


def _line(numbers: Sequence[Number], result: SearchResult, doubts: Sequence[Doubt]) -> str:
    """Say in a line what a case came to."""
    said = [f"{number.name} {number.value}" for number in numbers[:HEADLINES]]
    said += [f"limited by {LIMITED_BY[limit]}" for limit in result.limits[:1]]
    grave = sum(doubt.weight <= SUSPECT for doubt in doubts)
    if grave:
        said.append(f"{grave} {'doubt' if grave == 1 else 'doubts'}")
    return " · ".join(said)


def _made(case: CaseView) -> str:
    """Say how many trials were made, or what a case has in their place."""
    kinds: tuple[tuple[str, Sized], ...] = (
        ("round", case.rounds),
        ("exchange", case.exchanges),
        ("trial", case.connections),
        ("trial", case.trials),
    )
    noun, made = next((one for one in kinds if len(one[1])), kinds[-1])
    return counted(len(made), noun)


def _state(run: RunView, row: CaseRow) -> tuple[str, ...]:
    """Say what a case did not come to."""
    said, case = [], row.view
    if missed := missed_on_a_busy_host(row):
        said.append(f"{missed}.")
    if case.refuted:
        said.append(f"There is no result: {case.refuted}. {AGAIN.format(case.run)}.")
    elif case.record is None:
        if case.start is None:
            said.append("This case was planned and never began.")
        elif run.state is RunState.RUNNING:
            said.append(f"This case is being measured: {_made(case)} so far.")
        else:
            again = AGAIN.format(case.run)
            said.append(
                f"This case was cut short after {_made(case)}: there is no result. {again}."
            )
    elif case.record.outcome is Outcome.ABORTED:
        said.append(f"It was interrupted; {AGAIN.format(case.run)}.")
    if case.result is not None and not case.result.whole:
        why = case.result.spoiled or f"{case.result.ended} first"
        said.append(f"It rests on less than was asked for: {why}.")
    if case.attempt > 1:
        said.append(f"This is attempt {case.attempt}; trials of earlier ones are in the records.")
    return tuple(said)
