"""Who used the CPUs while programs exchanged data, as tables for a terminal and a report."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

from vsperf.config.noise import NOISE
from vsperf.output.table import NOTHING, Column, Table
from vsperf.quantities.human import human_count, human_ns, rounded_share
from vsperf.records.cpu_time import OWN, PROBE, CpuTime, CpuUse, ProgramTime, added
from vsperf.records.exchange import CLIENTS, SERVERS, Exchange, is_stream
from vsperf.records.threads import SWITCH

ROLES = (CLIENTS, SERVERS, PROBE, SWITCH, OWN, NOISE)
COSTING = (CLIENTS, SERVERS, SWITCH)
KERNEL = "the kernel, in interrupts"
CPU_MEANING = (
    "as the kernel counts it, in ticks of 10 ms; what the kernel does for frames is with whoever "
    "ran then, which may be the sender or the switch; others: programs of others, and what the "
    "kernel did for nobody; not counted: mostly interrupts that came while a CPU was idle"
)


@dataclass(frozen=True, slots=True)
class _Row:
    """What a program used, or all of a role."""

    one: Exchange
    use: CpuUse
    role: str
    name: str
    programs: tuple[ProgramTime, ...]
    whole: bool
    """Whether it is all of its role, so that it has a cost."""

    @property
    def kernel(self) -> bool:
        """Whether it is a kernel that forwards, which is no program."""
        return not self.programs

    @property
    def cpus(self) -> str:
        found = {cpu for one in self.programs for cpu in one.cpus}
        found |= set(self.use.forwarding_cpus) if self.kernel else set()
        return ", ".join(map(str, sorted(found)))

    @property
    def time_ns(self) -> int | None:
        """CPU time in all; of threads that never sleep all of theirs."""
        if self.kernel:
            return self.use.forwarding_ns
        return added(one.time_ns for one in self.programs)

    def sum_of(self, name: str) -> int | None:
        return None if self.kernel else added(getattr(one, name) for one in self.programs)


def roles_table(one: Exchange) -> Table | None:
    """Return one row for each program, and one for a role of several; None where nobody looked."""
    if one.cpu is None:
        return None
    use, each = one.cpu, "bit" if is_stream(one.traffic) else "request"

    def time(name: str, field: str) -> Column[_Row]:
        return Column(name, of=lambda row: _time(row.sum_of(field)), align="right")

    def count(name: str, field: str) -> Column[_Row]:
        return Column(name, of=lambda row: _count(row.sum_of(field)), align="right")

    heads = (
        Column[_Row]("role", of=lambda row: row.role),
        Column[_Row]("used by", of=lambda row: row.name),
        Column[_Row]("CPU", of=lambda row: row.cpus or NOTHING),
        Column[_Row]("CPU time", of=lambda row: _time(row.time_ns), align="right"),
        Column[_Row]("of a CPU", of=lambda row: _share(row.time_ns, use.length_ns), align="right"),
        time("user", "user_ns"),
        time("system", "system_ns"),
        Column[_Row](f"for a {each}", of=_cost, align="right"),
        count("gave way", "voluntary"),
        count("was stopped", "involuntary"),
    )
    title = f"CPU time by role in exchange #{one.index}, over {human_ns(use.length_ns)}"
    return Table.made(title, heads, tuple(_rows(one, use)))


def cpus_table(one: Exchange) -> Table | None:
    """Return one row for each CPU: what share of the time it did what; None where nobody looked."""
    if one.cpu is None or not one.cpu.cpus:
        return None
    use = one.cpu

    def share(name: str, field: str) -> Column[CpuTime]:
        return Column(
            name, of=lambda cpu: _share(getattr(cpu, field), use.length_ns), align="right"
        )

    heads = (
        Column[CpuTime]("CPU", of=lambda cpu: str(cpu.cpu)),
        Column[CpuTime]("used by", of=lambda cpu: _placed(cpu, use)),
        share("user", "user_ns"),
        share("system", "system_ns"),
        share("interrupts", "interrupts_ns"),
        share("soft interrupts", "soft_ns"),
        share("idle", "idle_ns"),
        share("steal", "stolen_ns"),
        Column[CpuTime](
            "not counted", of=lambda cpu: _share(use.untold_ns(cpu), use.length_ns), align="right"
        ),
        Column[CpuTime](
            "others", of=lambda cpu: _share(use.others_ns(cpu), use.length_ns), align="right"
        ),
    )
    return Table.made(f"CPUs in exchange #{one.index}", heads, use.cpus)


def _rows(one: Exchange, use: CpuUse) -> Iterator[_Row]:
    for role in ROLES:
        programs = use.of(role)
        if role == SWITCH and use.forwarding_cpus:
            yield _Row(one, use, role, KERNEL, (), whole=True)
        for program in programs:
            yield _Row(one, use, role, program.name, (program,), whole=len(programs) == 1)
        if len(programs) > 1:
            yield _Row(one, use, role, "all of them", programs, whole=True)


def _placed(cpu: CpuTime, use: CpuUse) -> str:
    roles = dict.fromkeys(one.role for one in use.placed_on(cpu.cpu))
    if cpu.cpu in use.forwarding_cpus:
        roles[SWITCH] = None
    return ", ".join(roles) or NOTHING


def _cost(row: _Row) -> str:
    cost = row.one.cpu_cost_ns(row.role) if row.whole and row.role in COSTING else None
    return NOTHING if cost is None else human_ns(float(cost))


def _time(value: int | None) -> str:
    return NOTHING if value is None else human_ns(value)


def _count(value: int | None) -> str:
    return NOTHING if value is None else human_count(value)


def _share(value: int | None, whole: int) -> str:
    return NOTHING if value is None or not whole else rounded_share(Fraction(value, whole), 1)


def cpu_tables(made: Sequence[Exchange]) -> tuple[Table, ...]:
    """Return both of the last exchange that can be believed."""
    last = next((one for one in reversed(made) if one.valid and one.cpu is not None), None)
    if last is None:
        return ()
    return tuple(table for table in (roles_table(last), cpus_table(last)) if table is not None)
