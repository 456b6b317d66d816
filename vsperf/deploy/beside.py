"""Where a load runs that is to disturb a part: as near to it as was asked for. Pure.

What this machine does not have is refused: no sibling thread, no other socket. Where there is such
a CPU and other parts that never sleep have it, the load shares it if the user wants that: by
`same-cpu`, by naming it, or by `share`. The placement says so, as it does of all that share one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from vsperf.errors import Problem, SpecError
from vsperf.host.cpus import Beside, Cpu, CpuNeed, CpuTopology

WORDS = {
    "same-cpu": "the very CPU",
    "sibling": "another thread of the core",
    "same-cache": "another core of the last-level cache",
    "other-socket": "another socket than that",
}
Found = Mapping[str, tuple[int, ...]]


def beside(
    need: CpuNeed, topology: CpuTopology, found: Found, busy: Sequence[int]
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


def beside_notes(need: CpuNeed, found: Found, topology: CpuTopology) -> list[str]:
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


def _anchor(asked: Beside, found: Found, topology: CpuTopology) -> Cpu:
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


def _taken(asked: Beside, fitting: Sequence[Cpu], found: Found) -> SpecError:
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
