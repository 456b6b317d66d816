"""From a case to its plan: a pure value that says all that will be done. Touches no host.

What a switch's driver answers is held against its protocol, so that a slip of it has its name: else
it came out where its answer is used, as a bug of vsperf.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from vsperf.config.abilities import EVERYTHING, Capabilities
from vsperf.config.case import CaseSpec
from vsperf.config.demands import refusals
from vsperf.config.places import place_ip, place_mtu, place_refusals
from vsperf.config.wiring import directions_of, outer_nics
from vsperf.deploy.cache import cache_cpus, cache_steps
from vsperf.deploy.cpu_looks import FORWARDS
from vsperf.deploy.exchanging import exchange_steps, program_needs, require_few_in_guests
from vsperf.deploy.guests import guest_needs, plan_guests
from vsperf.deploy.placement import GENERATOR, place, shares_cpu, sharing
from vsperf.deploy.sides import (
    SidePlan,
    placement_of,
    require_comparable,
    require_one_generator,
    require_one_network,
    together_notes,
)
from vsperf.drivers.collectors.base import AtPorts, Collector, refuse
from vsperf.drivers.generators.base import TakesTurns, TrafficGenerator, less_exact
from vsperf.drivers.loads.base import LoadGenerator
from vsperf.drivers.programs.base import Programs
from vsperf.drivers.vnfs.base import Vnf
from vsperf.drivers.vswitches.base import SwitchPlan, VSwitch, wire_of
from vsperf.errors import Problem, SpecError, UsageError
from vsperf.host.binding import pci_addresses
from vsperf.host.cpus import CpuNeed, CpuTopology, Needs
from vsperf.methods.exchanges import Exchanges
from vsperf.plugins import DriverError, Plugins
from vsperf.records.exchange import CLIENTS
from vsperf.records.run import Endpoint, Placeholder, Placement, Plan, Step, Wire
from vsperf.records.threads import SWITCH

OWN_ROLE = "vsperf"
"""The role of this program itself."""


@dataclass(frozen=True, slots=True)
class Drivers:
    """The drivers that a case names."""

    vswitch: VSwitch
    generator: TrafficGenerator
    vnf: Vnf | None = None
    """None where no VNF takes part."""
    collectors: Mapping[str, Collector] = field(default_factory=dict)
    """By their names in the case."""
    noise: LoadGenerator | None = None
    """None where nothing runs beside the case."""
    sides: tuple[VSwitch, ...] = ()
    """Of all switches that take turns, the first included."""
    programs: Programs | None = None
    """None where no places are: the generator takes part then."""

    @classmethod
    def of(cls, spec: CaseSpec, plugins: Plugins) -> Drivers:
        return cls(
            plugins.driver("vswitch", spec.vswitch.kind),
            plugins.driver("generator", spec.generator.kind),
            plugins.driver("vnf", spec.vnf.kind) if spec.vnf and spec.topology.vnfs else None,
            {name: plugins.driver("collect", one.kind) for name, one in spec.collect.items()},
            noise=plugins.driver("noise", spec.noise.kind) if spec.noise else None,
            sides=tuple(plugins.driver("vswitch", one.spec.vswitch.kind) for one in spec.sides),
            programs=_programs(spec, plugins),
        )

    @property
    def all(self) -> tuple[VSwitch | TrafficGenerator | Vnf | LoadGenerator, ...]:
        """Every driver of the case that has a part in its deployment."""
        if self.programs is not None:
            return (self.vswitch, *(() if self.noise is None else (self.noise,)))
        beside = (part for part in (self.vnf, self.noise) if part is not None)
        return (self.vswitch, self.generator, *beside)

    def of_side(self, driver: VSwitch) -> Drivers:
        """Return the drivers of one side, as if there was no other."""
        return replace(self, vswitch=driver, sides=())


@dataclass(frozen=True, slots=True)
class CasePlan:
    """What is recorded of a plan, and what the switch driver needs to carry it out."""

    plan: Plan
    switch: SwitchPlan
    shared_cpu: bool = False
    """Whether parts that never sleep have to share a CPU."""
    generator_can: Capabilities = EVERYTHING
    """What the generator can do and tell."""
    shared_roles: frozenset[str] = frozenset()
    """Parts that never sleep and have to share a CPU with another one of that kind."""
    sides: tuple[SidePlan, ...] = ()
    """Switches that take turns; none where one is measured alone."""

    @property
    def busy_cpus(self) -> tuple[int, int] | None:
        """The CPUs of generator and switch between which frames go; None if there are no two."""
        generator, switch = (self.plan.placement.of(role) for role in ("generator", "pmd"))
        if not generator or not switch or generator[0] == switch[0]:
            return None
        return generator[0], switch[0]


def _programs(spec: CaseSpec, plugins: Plugins) -> Programs | None:
    if spec.program is None or not spec.has_places:
        return None
    probe = plugins.driver("probe", spec.probe.kind) if spec.probe else None
    return Programs(plugins.driver("program", spec.program.kind), probe)


def make_plan(spec: CaseSpec, drivers: Drivers, topology: CpuTopology) -> CasePlan:
    """Return everything that deploying `spec` will do on a machine with these CPUs, in order."""
    if spec.topology.vnfs and drivers.vnf is None:
        vnfs = ", ".join(spec.topology.vnfs)
        raise SpecError(
            [
                Problem(
                    f"topology {spec.topology.name} has {vnfs}, but no `vnf` is given",
                    why="the frames have to pass through VNFs that nobody starts",
                    fix="--set vnf.kind=qemu, or a topology without VNFs, such as p2p",
                )
            ]
        )
    _require_models_on_simulated_testbeds_only(spec, drivers)
    if drivers.programs is not None:
        return _plan_of_places(spec, drivers, drivers.programs, topology)
    directions = directions_of(spec.topology, spec.traffic.direction)
    can = drivers.generator.capabilities(spec)
    if lacking := refusals(spec, can, len(directions)):
        raise SpecError(lacking)
    if spec.sides:
        return _plan_of_sides(spec, drivers, topology, can)
    return _plan_of_one(spec, drivers, topology, can)


def _plan_of_sides(
    spec: CaseSpec, drivers: Drivers, topology: CpuTopology, can: Capabilities
) -> CasePlan:
    """Return the plan of a comparison: every switch as if it was alone, and one generator."""
    require_comparable(spec)
    generator = drivers.generator
    assert isinstance(generator, TakesTurns)  # it claims to be able to
    alone = [
        _plan_of_one(side.spec, drivers.of_side(driver), topology, can)
        for side, driver in zip(spec.sides, drivers.sides, strict=True)
    ]
    sides = tuple(
        SidePlan(
            side,
            driver,
            plan.switch,
            plan.plan.placement,
            plan.plan.endpoints,
            drivers.vnf,
            plan.plan.wires,
        )
        for side, driver, plan in zip(spec.sides, drivers.sides, alone, strict=True)
    )
    require_one_generator(sides)
    require_one_network(sides)
    placement = placement_of(sides)
    memory: dict[int, int] = {}
    for side in sides:  # the generator has ports to each
        parts = [side.driver.needs(side.side.spec), drivers.generator.needs(spec)]
        parts += [] if drivers.vnf is None else [drivers.vnf.needs(spec)]
        for node, size in _hugepages(parts, side.placement).items():
            memory[node] = memory.get(node, 0) + size
    endpoints = tuple(side.endpoints for side in sides)
    notes = dict.fromkeys(note for one in alone for note in one.plan.notes)
    whole = Plan(
        steps=(
            *cache_steps(spec, cache_cpus(spec, placement)),
            *(step for side in sides for step in side.steps),
            *generator.plan_turns(spec, endpoints, placement),
        ),
        endpoints=tuple(one for each in endpoints for one in each),
        directions=alone[0].plan.directions,
        placement=placement,
        hugepage_bytes=memory,
        notes=(*notes, *together_notes(spec)),
    )
    return replace(
        alone[0],
        plan=whole,
        shared_cpu=any(one.shared_cpu for one in alone),
        shared_roles=frozenset(role for one in alone for role in one.shared_roles),
        sides=sides,
    )


def _plan_of_places(
    spec: CaseSpec, drivers: Drivers, programs: Programs, topology: CpuTopology
) -> CasePlan:
    if refused := place_refusals(spec):
        raise SpecError(refused)
    for collector in drivers.collectors.values():
        if isinstance(collector, AtPorts):
            why = f"the method {spec.search.kind} has programs send, and no generator has ports"
            raise refuse(collector.kind, why, "--set collect=none")
    method = spec.search
    assert isinstance(method, Exchanges)
    parts = _needs(spec, drivers)
    needs = [_beside_programs(need) for part in parts for need in part.cpus]
    own = Needs(cpus=program_needs(spec))
    cpus = [*needs, *own.cpus, CpuNeed(OWN_ROLE, 1, busy=False)]
    placement = place(cpus, _allowed(spec, topology))
    switch = switch_plan(drivers.vswitch, spec, placement)
    require_few_in_guests(spec, method.each, placement)
    guests = plan_guests(spec, switch.endpoints, placement)
    made = tuple(
        Step(
            component="place",
            action=f"make a place at the end of {one.link}, {_whose(spec, one.link)}: "
            f"{place_ip(spec, one.link)}, packets up to {place_mtu(spec)} bytes",
        )
        for one in switch.endpoints
        if one.link not in guests.links
    )
    steps = exchange_steps(spec, programs, method.each, placement, switch.endpoints)
    beside = _steps_beside(spec, drivers, placement)
    plan = Plan(
        steps=(*guests.steps, *made, *switch.steps, *beside, *steps),
        endpoints=switch.endpoints,
        directions=directions_of(spec.topology, spec.traffic.direction),
        placement=placement,
        hugepage_bytes=_hugepages((*parts, *guest_needs(spec, own)), placement),
        notes=(*guests.notes, *placement.notes),
    )
    shared = sharing(placement, cpus)
    return CasePlan(plan, switch, shares_cpu(placement, cpus), shared_roles=shared)


def _whose(spec: CaseSpec, link: str) -> str:
    """Return whose stack is at the end of a link that no guest is at."""
    if link in spec.user_space:
        return "for the stack of its server, which has the port to itself"
    return f"in {'the network of the host' if link in spec.hosts else 'a network of its own'}"


def _needs(spec: CaseSpec, drivers: Drivers) -> list[Needs]:
    """Return what each part asks of the machine, the switch first."""
    switch, *others = drivers.all
    assert switch is drivers.vswitch
    return [switch_needs(drivers.vswitch, spec), *(needs_of(driver, spec) for driver in others)]


def _beside_programs(need: CpuNeed) -> CpuNeed:
    """Return what a load needs that is to disturb the generator: clients are in its place."""
    if need.beside is None or need.beside.role != GENERATOR:
        return need
    return replace(need, beside=replace(need.beside, role=CLIENTS))


def _steps_beside(spec: CaseSpec, drivers: Drivers, placement: Placement) -> tuple[Step, ...]:
    """Return what starts what runs beside a case, and what looks at it."""
    noise = drivers.noise.plan(spec, placement) if drivers.noise is not None else ()
    return (
        *noise,
        *(
            step
            for name, collector in drivers.collectors.items()
            for step in collector.plan(spec.collect[name], name, placement)
        ),
    )


def _plan_of_one(
    spec: CaseSpec, drivers: Drivers, topology: CpuTopology, can: Capabilities
) -> CasePlan:
    directions = directions_of(spec.topology, spec.traffic.direction)
    parts = _needs(spec, drivers)
    needs = [need for part in parts for need in part.cpus]
    if needs:
        needs.append(CpuNeed(OWN_ROLE, 1, busy=False))
    devices = pci_addresses(spec.testbed.devices)
    placement = place(needs, _allowed(spec, topology), devices) if needs else Placement()
    switch = switch_plan(drivers.vswitch, spec, placement)
    outer = _outer_wires(spec)
    wires = (*switch.wires, *outer)
    endpoints = (*switch.endpoints, *(_other_end(wire) for wire in outer))
    guests: tuple[Step, ...] = ()
    notes: tuple[str, ...] = ()
    if drivers.vnf is not None:
        guests = drivers.vnf.plan(spec, wires, placement)
        notes = drivers.vnf.notes(spec)
    for collector in drivers.collectors.values():
        if isinstance(collector, AtPorts):
            collector.fits(spec, entries_of(endpoints, directions))
    steps = (
        *cache_steps(spec, cache_cpus(spec, placement)),
        *guests,
        *switch.steps,
        *drivers.generator.plan(spec, endpoints, placement),
        *_steps_beside(spec, drivers, placement),
    )
    simulated = ("SIMULATED: every number comes from a model",) if spec.testbed.simulated else ()
    plan = Plan(
        steps=steps,
        endpoints=endpoints,
        wires=wires,
        directions=directions,
        placement=placement,
        hugepage_bytes=_hugepages(parts, placement),
        notes=(*simulated, *less_exact(spec.generator.kind, can), *notes, *placement.notes),
    )
    shared = sharing(placement, needs)
    return CasePlan(plan, switch, shares_cpu(placement, needs), can, shared)


def _require_models_on_simulated_testbeds_only(spec: CaseSpec, drivers: Drivers) -> None:
    """Refuse numbers of a model that nobody would call so, and real parts that no frame reaches.

    The switch needs no look: the ports of a model are for no other generator.
    """
    testbed, simulated = spec.testbed.name, spec.testbed.simulated
    if simulated and spec.collect:
        raise UsageError(
            f"`collect` asks for {', '.join(spec.collect)}, and testbed {testbed} is simulated",
            why="a model runs nowhere, so there is nothing to look at",
            fix="--set collect=none, or a testbed that is real, such as --testbed local",
        )
    if simulated and spec.noise is not None:
        raise UsageError(
            f"testbed {testbed} is simulated, and noise of the kind {spec.noise.kind} is asked for",
            why="a model has no neighbours: it would go on as if there was none",
            fix="--set noise=none, or a testbed that is real, such as --testbed local",
        )
    if simulated and spec.cache:
        raise UsageError(
            f"testbed {testbed} is simulated, and `cache` shares out a real one",
            why="a model uses no cache",
            fix="--set cache=null, or a testbed that is real, such as --testbed local",
        )
    sections = {"generator": spec.generator} | ({"vnf": spec.vnf} if drivers.vnf else {})
    for section, settings in sections.items():
        if settings is None or settings.MODEL is simulated:
            continue
        chosen = f"{section}.kind is {settings.kind}"
        if simulated:
            raise UsageError(
                f"testbed {testbed} is simulated, and {chosen}",
                why="on a simulated testbed no frame is sent, so no real part would see one",
                fix=f"--set {section}.kind=sim, or a testbed that is real, such as --testbed local",
            )
        raise UsageError(
            f"{chosen}, a model, and testbed {testbed} is real",
            why="what a model says would look measured there",
            fix="--testbed sim, where every output says SIMULATED",
        )


def entries_of(
    endpoints: tuple[Endpoint, ...], directions: tuple[tuple[str, str], ...]
) -> tuple[Endpoint, ...]:
    """Return where the frames of each direction leave the generator."""
    by_link = {endpoint.link: endpoint for endpoint in endpoints}
    return tuple(by_link[enters] for enters, _ in directions)


def _outer_wires(spec: CaseSpec) -> tuple[Wire, ...]:
    """Return the NICs at the ends of paths: the VNF listens, and the generator calls."""
    return tuple(
        wire_of(nic, "vhost-user-client", f"{Placeholder.RUN}/{nic.port}.sock")
        for nic in outer_nics(spec.topology)
    )


def _other_end(wire: Wire) -> Endpoint:
    """Return where the generator is plugged into a VNF."""
    return Endpoint(link=wire.vnf, kind="vhost-user-backend", address=wire.address)


def _hugepages(parts: Iterable[Needs], placement: Placement) -> dict[int, int]:
    """Add up, by memory node, what each part takes on the nodes of its CPUs."""
    found: dict[int, int] = {}
    for part in parts:
        nodes = {node for need in part.cpus for node in placement.nodes.get(need.role, (0,))}
        for node in sorted(nodes):
            found[node] = found.get(node, 0) + part.hugepage_bytes
    return {node: size for node, size in found.items() if size}


def _allowed(spec: CaseSpec, topology: CpuTopology) -> CpuTopology:
    """Return the CPUs that the testbed lets us use."""
    host = spec.testbed.hosts.get("local")
    if host is None or host.cpus is None:
        return topology
    chosen = tuple(cpu for cpu in topology.cpus if cpu.number in host.cpus.cpus)
    if len(chosen) < len(host.cpus.cpus):
        present = ", ".join(str(number) for number in topology.numbers)
        raise SpecError(
            [
                Problem(
                    f"testbed {spec.testbed.name} names the CPUs {host.cpus}, and not all of "
                    "them can be used here",
                    why=f"this process may use the CPUs {present}",
                    fix=f"--set testbed.hosts.local.cpus={present.replace(' ', '')}",
                )
            ]
        )
    return replace(topology, cpus=chosen)


def needs_of(driver: Any, spec: CaseSpec) -> Needs:
    """Return what a part asks of the machine."""
    found = driver.needs(spec)
    if not isinstance(found, Needs):
        raise DriverError(driver, f"`needs` returned {_told(found)}, and not `Needs`")
    _hold_items(driver, "Needs.cpus", found.cpus, CpuNeed)
    return found


def switch_needs(driver: VSwitch, spec: CaseSpec) -> Needs:
    """Return what a switch asks of the machine, by roles that others know."""
    found = needs_of(driver, spec)
    for need in found.cpus:
        if need.role != FORWARDS and not need.role.startswith(SWITCH):
            why = f"`needs` asks for CPUs by the role {need.role!r}; a switch has {FORWARDS!r}, for"
            raise DriverError(driver, f"{why} threads that never sleep, and '{SWITCH} …'")
    return found


def switch_plan(driver: VSwitch, spec: CaseSpec, placement: Placement) -> SwitchPlan:
    """Return what a switch will do; each link has one endpoint."""
    found = driver.plan(spec, placement)
    if not isinstance(found, SwitchPlan):
        raise DriverError(driver, f"`plan` returned {_told(found)}, and not a `SwitchPlan`")
    _hold_items(driver, "SwitchPlan.steps", found.steps, Step)
    _hold_items(driver, "SwitchPlan.endpoints", found.endpoints, Endpoint)
    _hold_items(driver, "SwitchPlan.wires", found.wires, Wire)
    ends = Counter(one.link for one in found.endpoints)
    if ends != Counter(spec.topology.links):
        told = ", ".join(ends.elements()) or "none"
        wanted = ", ".join(spec.topology.links)
        what = f"`plan` has endpoints for {told}; the topology {spec.topology.name} has the links"
        raise DriverError(driver, f"{what} {wanted}, and each has one")
    return found


def _hold_items(driver: object, name: str, found: object, kind: type) -> None:
    if not isinstance(found, tuple):
        raise DriverError(driver, f"{name} is {_told(found)}, and not a tuple of `{kind.__name__}`")
    for one in found:
        if not isinstance(one, kind):
            raise DriverError(driver, f"{name} holds {_told(one)}, and not only `{kind.__name__}`")


def _told(found: object) -> str:
    return "None" if found is None else f"a `{type(found).__name__}`"
