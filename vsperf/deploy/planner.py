"""From a case to its plan: a pure value that says all that will be done. Touches no host."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from vsperf.deploy.placement import place, shares_cpu
from vsperf.errors import Problem, SpecError, UsageError
from vsperf.host.binding import pci_addresses
from vsperf.host.cpus import CpuNeed, CpuTopology, Needs
from vsperf.plugins import Plugins
from vsperf.record.placeholder import Placeholder
from vsperf.record.plan import Endpoint, Placement, Plan, Step, Wire
from vsperf.spec.case import CaseSpec
from vsperf.spec.wiring import directions_of, outer_nics
from vsperf.trafficgens.base import TrafficGenerator
from vsperf.vnfs.base import Vnf
from vsperf.vswitches.base import SwitchPlan, VSwitch, wire_of

OWN_ROLE = "vsperf"
"""The role of this program itself."""


@dataclass(frozen=True, slots=True)
class Drivers:
    """The drivers that a case names."""

    vswitch: VSwitch
    generator: TrafficGenerator
    vnf: Vnf | None = None
    """None where no machine takes part."""

    @classmethod
    def of(cls, spec: CaseSpec, plugins: Plugins) -> Drivers:
        """Return the drivers for the kinds that `spec` names."""
        return cls(
            plugins.driver("vswitch", spec.vswitch.kind),
            plugins.driver("generator", spec.generator.kind),
            plugins.driver("vnf", spec.vnf.kind) if spec.vnf and spec.topology.machines else None,
        )

    @property
    def all(self) -> tuple[VSwitch | TrafficGenerator | Vnf, ...]:
        """Every driver of the case."""
        machines = () if self.vnf is None else (self.vnf,)
        return (self.vswitch, self.generator, *machines)


@dataclass(frozen=True, slots=True)
class CasePlan:
    """What is recorded of a plan, and what the switch driver needs to carry it out."""

    plan: Plan
    switch: SwitchPlan
    shared_cpu: bool = False
    """Whether parts that never sleep have to share a CPU."""

    @property
    def busy_cpus(self) -> tuple[int, int] | None:
        """The CPUs of generator and switch between which frames go; None if there are no two."""
        generator, switch = (self.plan.placement.of(role) for role in ("generator", "pmd"))
        if not generator or not switch or generator[0] == switch[0]:
            return None
        return generator[0], switch[0]


def make_plan(spec: CaseSpec, drivers: Drivers, topology: CpuTopology) -> CasePlan:
    """Return everything that deploying `spec` will do on a machine with these CPUs, in order."""
    if spec.topology.machines and drivers.vnf is None:
        machines = ", ".join(spec.topology.machines)
        raise SpecError(
            [
                Problem(
                    f"topology {spec.topology.name} has {machines}, but no `vnf` is given",
                    why="the frames have to pass through virtual machines that nobody starts",
                    fix="--set vnf.kind=qemu, or a topology without machines, such as p2p",
                )
            ]
        )
    _require_models_on_simulated_testbeds_only(spec, drivers)
    parts = [driver.needs(spec) for driver in drivers.all]
    needs = [need for part in parts for need in part.cpus]
    if needs:
        needs.append(CpuNeed(OWN_ROLE, 1, busy=False))
    devices = pci_addresses(spec.testbed.devices)
    placement = place(needs, _allowed(spec, topology), devices) if needs else Placement()
    switch = drivers.vswitch.plan(spec, placement)
    outer = _outer_wires(spec)
    wires = (*switch.wires, *outer)
    endpoints = (*switch.endpoints, *(_other_end(wire) for wire in outer))
    guests: tuple[Step, ...] = ()
    notes: tuple[str, ...] = ()
    if drivers.vnf is not None:
        guests = drivers.vnf.plan(spec, wires, placement)
        notes = drivers.vnf.notes(spec)
    steps = (*guests, *switch.steps, *drivers.generator.plan(spec, endpoints, placement))
    simulated = ("SIMULATED: every number comes from a model",) if spec.testbed.simulated else ()
    plan = Plan(
        steps=steps,
        endpoints=endpoints,
        wires=wires,
        directions=directions_of(spec.topology, spec.traffic.direction),
        placement=placement,
        hugepage_bytes=_hugepages(parts, placement),
        notes=(*simulated, *notes, *placement.notes),
    )
    return CasePlan(plan, switch, shares_cpu(placement, needs))


def _require_models_on_simulated_testbeds_only(spec: CaseSpec, drivers: Drivers) -> None:
    """Refuse numbers of a model that nobody would call so, and real parts that no frame reaches.

    The switch needs no look: the ports of a model are for no other generator.
    """
    testbed, simulated = spec.testbed.name, spec.testbed.simulated
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


def _outer_wires(spec: CaseSpec) -> tuple[Wire, ...]:
    """Return the cards at the ends of paths: the machine listens, and the generator calls."""
    return tuple(
        wire_of(nic, "vhost-user-client", f"{Placeholder.RUN}/{nic.port}.sock")
        for nic in outer_nics(spec.topology)
    )


def _other_end(wire: Wire) -> Endpoint:
    """Return where the generator is plugged into a machine."""
    return Endpoint(link=wire.machine, kind="vhost-user-backend", address=wire.address)


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
    machine = spec.testbed.machines.get("local")
    if machine is None or machine.cpus is None:
        return topology
    chosen = tuple(cpu for cpu in topology.cpus if cpu.number in machine.cpus.cpus)
    if len(chosen) < len(machine.cpus.cpus):
        present = ", ".join(str(number) for number in topology.numbers)
        raise SpecError(
            [
                Problem(
                    f"testbed {spec.testbed.name} names the CPUs {machine.cpus}, and not all of "
                    "them can be used here",
                    why=f"this process may use the CPUs {present}",
                    fix=f"--set testbed.machines.local.cpus={present.replace(' ', '')}",
                )
            ]
        )
    return replace(topology, cpus=chosen)
