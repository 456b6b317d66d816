"""Which CPUs do what: from what the parts ask for and what the machine has. Pure.

A part that never sleeps gets a CPU for itself as long as there are any: isolated ones first, then
those near the NICs and on cores that nobody uses yet, the machine's first core last, because the
system lives there. Parts that mostly sleep go to what is left. When there are too few, parts share,
and say so; the generator is the last that has to, since what it does late, it does not do at all.
A load that is to disturb a part comes last, so that all others are where they are without it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

from vsperf.deploy.beside import beside, beside_notes
from vsperf.errors import Problem, SpecError
from vsperf.host.cpus import Cpu, CpuNeed, CpuTopology
from vsperf.records.run import Placement

GENERATOR = "generator"


def place(
    needs: Sequence[CpuNeed], topology: CpuTopology, devices: Collection[str] = ()
) -> Placement:
    """Return the CPUs of every role; raise `SpecError` for what this machine does not have.

    Parts may share a CPU. The threads of one part may not: a switch polls with one on each. CPUs
    near the first of the devices are preferred.
    """
    device_nodes = {name: topology.devices[name] for name in devices if name in topology.devices}
    near = next(iter(device_nodes.values()), None)
    _check_pins(needs, topology)
    _check_counts(needs, topology)
    found: dict[str, tuple[int, ...]] = {}
    busy: list[int] = []
    for need in sorted(needs, key=_order):
        if need.beside is not None:
            found[need.role] = beside(need, topology, found, busy)
        elif need.pinned is not None:
            found[need.role] = need.pinned
        elif need.busy:
            spared = found.get(GENERATOR, ())
            found[need.role] = _for_busy(need.count, topology, busy, spared, near)
        else:
            found[need.role] = _for_idle(need.count, topology, busy, found)
        if need.busy:
            busy += found[need.role]
    roles = {need.role: need for need in needs}
    cpus = {need.role: found[need.role] for need in needs}
    nodes = {
        role: tuple(sorted({topology[number].node for number in numbers}))
        for role, numbers in cpus.items()
    }
    loads = [line for need in needs for line in beside_notes(need, found, topology)]
    notes = (*_notes(cpus, roles, topology), *_far_devices(device_nodes, topology, busy), *loads)
    return Placement(cpus=cpus, nodes=nodes, notes=notes)


def _order(need: CpuNeed) -> tuple[bool, bool, bool]:
    """What is chosen comes first, what never sleeps before what does, and loads after all."""
    return need.beside is not None, need.pinned is None, not need.busy


def shares_cpu(placement: Placement, needs: Iterable[CpuNeed]) -> bool:
    """Whether two parts that never sleep have to take turns on one CPU."""
    taken = [cpu for need in needs if need.busy for cpu in placement.of(need.role)]
    return len(taken) != len(set(taken))


def sharing(placement: Placement, needs: Iterable[CpuNeed]) -> frozenset[str]:
    """Return the roles that never sleep and have a CPU together with another one."""
    users: dict[int, set[str]] = {}
    for need in needs:
        for cpu in placement.of(need.role) if need.busy else ():
            users.setdefault(cpu, set()).add(need.role)
    return frozenset(role for roles in users.values() if len(roles) > 1 for role in roles)


def _check_pins(needs: Sequence[CpuNeed], topology: CpuTopology) -> None:
    problems = []
    present = ", ".join(str(number) for number in topology.numbers)
    for need in needs:
        missing = [cpu for cpu in need.pinned or () if cpu not in topology.numbers]
        if missing:
            names = ", ".join(str(cpu) for cpu in missing)
            problems.append(
                Problem(
                    f"CPU {names} is wanted for {need.role}, and cannot be used here",
                    why=f"this process may use the CPUs {present}",
                    fix="choose among these, or leave the choice to vsperf",
                )
            )
    if problems:
        raise SpecError(problems)


def _check_counts(needs: Sequence[CpuNeed], topology: CpuTopology) -> None:
    present = len(topology.cpus)
    problems = [
        Problem(
            f"{need.count} CPUs are wanted for {need.role}, and there are {present}",
            why="each of its threads never sleeps, and has to have a CPU of its own",
            fix=f"ask for {present} or fewer, or take a machine with more CPUs",
        )
        for need in needs
        if need.pinned is None and need.beside is None and need.busy and need.count > present
    ]
    if problems:
        raise SpecError(problems)


def _for_busy(
    count: int,
    topology: CpuTopology,
    busy: Sequence[int],
    spared: Sequence[int],
    near: int | None,
) -> tuple[int, ...]:
    chosen: list[int] = []
    for _ in range(count):
        taken = [*busy, *chosen]
        chosen.append(
            min(topology.cpus, key=lambda cpu: _cost(cpu, taken, topology, spared, near)).number
        )
    return tuple(chosen)


def _cost(
    cpu: Cpu,
    taken: Sequence[int],
    topology: CpuTopology,
    spared: Sequence[int],
    near: int | None,
) -> tuple[object, ...]:
    cores = {topology[number].core for number in taken}
    nodes = [near] if near is not None else [topology[number].node for number in taken]
    return (
        cpu.number in taken,
        cpu.number in spared,
        taken.count(cpu.number),
        cpu.core in cores,
        not cpu.isolated,
        bool(nodes) and cpu.node != nodes[0],
        cpu.core == topology.cpus[0].core,
        cpu.number,
    )


def _for_idle(
    count: int, topology: CpuTopology, busy: Sequence[int], found: dict[str, tuple[int, ...]]
) -> tuple[int, ...]:
    """Take CPUs where nothing polls; where all do, disturb the generator and not the switch."""
    free = [cpu.number for cpu in topology.cpus if cpu.number not in busy and not cpu.isolated]
    if free:
        return tuple(free[:count])
    quiet = found.get(GENERATOR, ()) or tuple(busy) or topology.numbers
    return quiet[:1]


def _far_devices(
    device_nodes: Mapping[str, int], topology: CpuTopology, busy: Iterable[int]
) -> list[str]:
    used = sorted({topology[number].node for number in busy})
    return [
        f"{name} is on memory node {node}, where none of the polling CPUs is: its frames cross over"
        for name, node in device_nodes.items()
        if used and node not in used
    ]


def _notes(
    cpus: dict[str, tuple[int, ...]], roles: dict[str, CpuNeed], topology: CpuTopology
) -> list[str]:
    notes = []
    users: dict[int, list[str]] = {}
    for role, numbers in cpus.items():
        for number in numbers:
            users.setdefault(number, []).append(role)
    for number, names in sorted(users.items()):
        never_sleep = [name for name in names if roles[name].busy]
        if len(never_sleep) > 1:
            notes.append(
                f"CPU {number} is shared by {' and '.join(never_sleep)}, which never sleep: the "
                "result is functional only"
            )
        elif len(names) > 1 and never_sleep:
            rest = ", ".join(name for name in names if name not in never_sleep)
            notes.append(f"CPU {number} is shared by {never_sleep[0]} with {rest}, which sleeps")
    used = [
        topology[number] for number in sorted(users) if any(roles[r].busy for r in users[number])
    ]
    for one in used:
        for other in used:
            if one.number < other.number and one.core == other.core:
                notes.append(f"CPU {one.number} and CPU {other.number} are threads of one core")
    if len({cpu.node for cpu in used}) > 1:
        notes.append("the CPUs lie on different memory nodes")
    return notes
