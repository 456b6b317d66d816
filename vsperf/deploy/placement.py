"""Which CPUs do what: from what the parts ask for and what the machine has. Pure.

A part that never sleeps gets a CPU for itself as long as there are any: isolated ones first, then
those near the NICs and on cores that nobody uses yet, the machine's first core last, because the
system lives there. Parts that mostly sleep go to what is left. When there are too few, parts share,
and say so; the generator is the last that has to, since what it does late, it does not do at all.
A load that is to disturb a part comes last, so that all others are where they are without it.

It is as near to that part as was asked for. What this machine does not have is refused: no sibling
thread, no other socket. Where there is such a CPU and other parts that never sleep have it, the
load shares it if the user wants that: by `same-cpu`, by naming it, or by `share`. The placement
says so, as it does of all that share one.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

from vsperf.errors import Problem, SpecError
from vsperf.host.cpus import Beside, Cpu, CpuNeed, CpuTopology
from vsperf.records.run import Placement

GENERATOR = "generator"
WORDS = {
    "same-cpu": "the very CPU",
    "sibling": "another thread of the core",
    "same-cache": "another core of the last-level cache",
    "other-socket": "another socket than that",
}
Placed = Mapping[str, tuple[int, ...]]


def beside(
    need: CpuNeed, topology: CpuTopology, found: Placed, busy: Sequence[int]
) -> tuple[int, ...]:
    """Return the CPUs of a load; raise `SpecError` for what there is not."""
    if need.pinned is not None:
        return need.pinned
    assert need.beside is not None
    anchor = _anchor(need.beside, found, topology)
    fitting = [cpu for cpu in topology.cpus if _fits(cpu, anchor, need.beside.near)]
    if not fitting:
        raise _refused(need.beside, anchor, topology)
    slept_on = {number for numbers in found.values() for number in numbers}
    free = [cpu for cpu in fitting if cpu.number not in busy]
    used_cores = {topology[number].core for number in busy}

    def cost(cpu: Cpu) -> tuple[object, ...]:
        near = need.beside is not None and need.beside.near == "sibling"
        return (cpu.number in slept_on, not near and cpu.core in used_cores, cpu.number)

    if not free and not need.beside.share and need.beside.near != "same-cpu":
        raise _taken(need.beside, fitting, found)
    chosen = sorted(free, key=cost) or sorted(fitting, key=lambda cpu: cpu.number)[:1]
    return tuple(cpu.number for cpu in chosen[: need.count])


def beside_notes(need: CpuNeed, found: Placed, topology: CpuTopology) -> list[str]:
    """Say where a load is, seen from the part that it disturbs."""
    if need.beside is None:
        return []
    cpus, anchors = found[need.role], found.get(need.beside.role, ())
    where = ", ".join(str(number) for number in cpus)
    notes = []
    if need.pinned is None and anchors:
        words = WORDS[need.beside.near]
        notes.append(f"{need.role} on CPU {where}: {words} of {need.beside.role} ({anchors[0]})")
        if need.beside.near == "same-cache" and topology[anchors[0]].cache is None:
            notes.append("which CPUs share a cache this machine does not say: one socket is taken")
    cores = {topology[cpu].core: cpu for cpu in cpus}
    for role, numbers in found.items():
        for number in set(numbers) - set(cpus):
            core = topology[number].core
            if core in cores and role not in (need.role, need.beside.role):
                where_else = f"a thread of the core of {role} ({number})"
                notes.append(f"{need.role} on CPU {cores[core]}: {where_else}")
    if len(cpus) < need.count:
        notes.append(f"{need.count} instances of {need.role} take turns on CPU {where}")
    return notes


def _anchor(asked: Beside, found: Placed, topology: CpuTopology) -> Cpu:
    cpus = found.get(asked.role, ())
    if cpus:
        return topology[cpus[0]]
    known = ", ".join(found) or "none"
    raise SpecError(
        [
            Problem(
                f"noise is to run near {asked.role}, which has no CPU of its own in this case",
                why=f"parts that have one: {known}",
                fix="--set noise.to=generator, or name CPUs: --set noise.cpus=3",
            )
        ]
    )


def _fits(cpu: Cpu, anchor: Cpu, near: str) -> bool:
    match near:
        case "same-cpu":
            return cpu.number == anchor.number
        case "sibling":
            return cpu.core == anchor.core and cpu.number != anchor.number
        case "same-cache":
            same = cpu.cache == anchor.cache and cpu.socket == anchor.socket
            return same and cpu.core != anchor.core
        case _:
            return cpu.socket != anchor.socket


def _refused(asked: Beside, anchor: Cpu, topology: CpuTopology) -> SpecError:
    numbers = ", ".join(str(number) for number in topology.numbers)
    return SpecError(
        [
            Problem(
                f"there is no CPU for noise on {WORDS[asked.near]} of {asked.role}, which runs on "
                f"CPU {anchor.number}",
                why=f"this process may use the CPUs {numbers}, and none of them is that",
                fix="--set noise.near=same-cpu, which every machine has, or another machine",
            )
        ]
    )


def _taken(asked: Beside, fitting: Sequence[Cpu], found: Placed) -> SpecError:
    users = {
        cpu.number: [role for role, cpus in found.items() if cpu.number in cpus] for cpu in fitting
    }
    return SpecError(
        [
            Problem(
                f"no CPU is left for noise on {WORDS[asked.near]} of {asked.role}",
                why="noise on the CPU of a part that never sleeps takes its time away, and says "
                "nothing of caches or memory: "
                + ", ".join(f"CPU {cpu} has {' and '.join(roles)}" for cpu, roles in users.items()),
                fix="a machine with more CPUs; --set noise.share=true measures all the same, "
                "functional only",
            )
        ]
    )


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
            found[need.role] = _for_idle(need, topology, busy, found)
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
    need: CpuNeed, topology: CpuTopology, busy: Sequence[int], found: dict[str, tuple[int, ...]]
) -> tuple[int, ...]:
    """Take CPUs where nothing polls; where all do, disturb the generator and not the switch."""
    theirs = found.get(need.apart_from, ())
    others = [cpu for cpu in topology.cpus if cpu.number not in theirs]
    free = [cpu.number for cpu in others if cpu.number not in busy and not cpu.isolated]
    if free:
        return tuple(free[: need.count])
    quiet = (*found.get(GENERATOR, ()), *busy, *topology.numbers)
    chosen = tuple(number for number in quiet if number not in theirs)[:1]
    if not chosen:
        raise _alone(need, topology)
    return chosen


def _alone(need: CpuNeed, topology: CpuTopology) -> SpecError:
    numbers = ", ".join(str(number) for number in topology.numbers)
    return SpecError(
        [
            Problem(
                f"there is no CPU for {need.role} beside that of {need.apart_from}",
                why=f"this process may use CPU {numbers} alone",
                fix="--set search.pinning=same, or take a machine with more CPUs",
            )
        ]
    )


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
