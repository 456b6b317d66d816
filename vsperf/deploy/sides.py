"""The plan of a comparison: all its switches at the same time, on the same CPUs. Pure.

Each switch is planned as if it was alone, and so has the CPUs that it would have had; only one of
them runs at a time. What they cannot share, such as memory and folders, each has for itself.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from vsperf.config.case import CaseSpec, Side
from vsperf.config.demands import ONE_AT_A_TIME
from vsperf.drivers.vnfs.base import Vnf
from vsperf.drivers.vswitches.base import SwitchPlan, VSwitch
from vsperf.errors import Problem, SpecError
from vsperf.records.run import OF_THE_KERNEL, Endpoint, Placeholder, Placement, Step, Wire
from vsperf.records.turns import Terms

NOBODY_KNOWS = (
    "all but one are held still, and nobody knows how that is done with this one, or what it makes "
    "of it"
)


@dataclass(frozen=True, slots=True)
class SidePlan:
    """A switch of a comparison with its VNFs, and what drivers need to carry its plan out."""

    side: Side
    driver: VSwitch
    switch: SwitchPlan
    placement: Placement
    ends: tuple[Endpoint, ...]
    """Where the generator is plugged in: into the switch, or into VNFs at the ends of paths."""
    vnf: Vnf | None = None
    """None where no VNF takes part."""
    wires: tuple[Wire, ...] = ()
    """What each NIC of a VNF is plugged into."""

    @property
    def steps(self) -> Iterator[Step]:
        """What is done for it, under its letter."""
        alone = self.side.spec
        vnfs = () if self.vnf is None else self.vnf.plan(alone, self.wires, self.placement)
        for step in (*vnfs, *self.switch.steps):
            yield step.model_copy(
                update={"action": f"{self.side.letter} ({self.side.name}): {step.action}"}
            )

    @property
    def endpoints(self) -> tuple[Endpoint, ...]:
        """Where the generator finds its ports, for people: each switch has a folder of its own."""
        folder = f"RUN-{self.side.letter}"
        return tuple(
            one.model_copy(
                update={
                    "link": f"{one.link} of {self.side.letter}",
                    "address": one.address.replace(str(Placeholder.RUN), folder),
                }
            )
            for one in self.ends
        )


def require_comparable(spec: CaseSpec) -> None:
    """Refuse, all reasons at once, what cannot be compared in turns."""
    problems = [*_of_kinds(spec), *_of_vnfs(spec), *_of_links(spec), *_beside(spec)]
    if problems:
        raise SpecError(problems)


def _of_kinds(spec: CaseSpec) -> Iterator[Problem]:
    kinds = dict.fromkeys(side.spec.vswitch.kind for side in spec.sides)
    by_kind = {side.spec.vswitch.kind: side.spec.vswitch for side in spec.sides}
    for kind in kinds:
        if not getattr(by_kind[kind], "HELD_STILL", False):
            yield Problem(
                f"a switch of the kind {kind} cannot take turns with others, so far",
                why=getattr(by_kind[kind], "NOT_HELD", NOBODY_KNOWS),
                fix=ONE_AT_A_TIME,
            )


def _of_vnfs(spec: CaseSpec) -> Iterator[Problem]:
    if spec.topology.vnfs and getattr(spec.search, "full_rings", False):
        yield Problem(
            "rings cannot be filled for switches with VNFs, so far",
            why="frames would come back one behind the other, and what is seen is the chain",
            fix="--set search.full_rings=false, or --set topology=p2p",
        )
    if spec.topology.vnfs and not getattr(spec.vnf, "HELD_STILL", False):
        kind = "" if spec.vnf is None else f" of the kind {spec.vnf.kind}"
        yield Problem(
            f"VNFs{kind} cannot take turns with their switches, so far",
            why=NOBODY_KNOWS,
            fix="a topology without VNFs, such as --set topology=p2p",
        )


def _of_links(spec: CaseSpec) -> Iterator[Problem]:
    named = [name for name in spec.topology.links if spec.testbed.links[name].switch is not None]
    if named:
        yield Problem(
            f"link {', '.join(named)} has a device, and several switches cannot share it",
            why="in a comparison all of them are deployed at the same time",
            fix="a testbed without devices for the switch, such as --testbed local",
        )


def _beside(spec: CaseSpec) -> Iterator[Problem]:
    if spec.collect:
        yield Problem(
            f"`collect` asks for {', '.join(spec.collect)}, and a comparison has no trials",
            why="collectors look before each trial and after it, and turns take milliseconds",
            fix="--set collect=none",
        )
    if spec.noise is not None:
        yield Problem(
            f"noise of the kind {spec.noise.kind} cannot run beside a comparison, so far",
            why="it is looked at around trials, and a comparison has none",
            fix="--set noise=none",
        )


def together_notes(spec: CaseSpec) -> Iterator[str]:
    """Yield what is to be known of a comparison beforehand."""
    yield "each switch has a folder of its own, and is held still but for its turns"
    if getattr(spec.search, "full_rings", False):
        yield (
            "rings are filled while their switch stands, and emptied by it; one with devices of "
            "the kernel is offered an overload, for which a load is looked for"
        )
    if not spec.rivals:
        yield "a single switch is held against itself, deployed twice; name rivals by --vswitch A,B"
    patience = getattr(spec.search, "patience", None)
    if patience is not None and patience.value:
        yield (
            "rounds in which the generator was too slow are made anew at the end, and may take "
            f"{patience} of the time in addition on a restless machine"
        )
    *looks, last = Terms.of(spec.search.model_dump()).looks or (0,)
    if looks:
        numbers = ", ".join(map(str, looks))
        yield (
            f"it ends after {numbers} or {last} rounds, as soon as all is decided; the time that "
            f"is expected is that of {last}"
        )


def placement_of(plans: Sequence[SidePlan]) -> Placement:
    """Return which CPUs all roles have together, those of the first switch before all others."""
    cpus: dict[str, tuple[int, ...]] = {}
    nodes: dict[str, tuple[int, ...]] = {}
    notes: dict[str, None] = {}
    for plan in plans:
        cpus = {**plan.placement.cpus, **cpus}
        nodes = {**plan.placement.nodes, **nodes}
        notes |= dict.fromkeys(plan.placement.notes)
    return Placement(cpus=cpus, nodes=nodes, notes=tuple(notes))


def require_one_network(plans: Sequence[SidePlan]) -> None:
    """Refuse devices of several networks, of which the generator would have to be in each."""
    apart = [
        f"{plan.side.letter} ({plan.side.name})"
        for plan in plans
        if any(one.kind in OF_THE_KERNEL and one.located[0] for one in plan.ends)
    ]
    if len(apart) > 1:
        raise SpecError(
            [
                Problem(
                    f"{' and '.join(apart)} each have devices in a network of their own, and the "
                    "generator cannot be in several",
                    why="a device of the kernel is opened where it is, and a process is in one "
                    "network",
                    fix="name one such switch behind others, whose ports are sockets; the first is "
                    "deployed twice, unless --set search.control=false",
                )
            ]
        )


def require_one_generator(plans: Sequence[SidePlan]) -> None:
    """Refuse switches that would have the one generator on different CPUs."""
    first = plans[0].placement.of("generator")
    for plan in plans:
        if plan.placement.of("generator") != first:
            raise SpecError(
                [
                    Problem(
                        f"{plan.side.name} and {plans[0].side.name} leave different CPUs to the "
                        "generator",
                        why="one generator sends to both, and they take so many CPUs as each asks "
                        "for",
                        fix="--set generator.cpus=…, and as many CPUs for each switch",
                    )
                ]
            )
