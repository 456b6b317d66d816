"""CPU time of programs with all that they start, and of CPUs: from files of the kernel on."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from exchanges import SECOND, cpu, exchange, instance, program, use
from ovs_cases import plain_case

from vsperf.analysis.answers import more_is_better
from vsperf.deploy.cpu_looks import Looks, SwitchCpus
from vsperf.drivers.vswitches.ovs.plain.driver import OvsSpec, PlainDesign
from vsperf.host.cpu_time import Look, Watched
from vsperf.host.files import Roots
from vsperf.host.threads import Polling
from vsperf.methods.base import Repeats
from vsperf.methods.stream import Stream
from vsperf.methods.transactions import Transactions
from vsperf.output.cpu_tables import cpus_table, roles_table
from vsperf.output.table import Table
from vsperf.quantities.unit import Unit
from vsperf.records.cpu_time import ProgramTime
from vsperf.records.exchange import CLIENTS, SERVERS, Exchange
from vsperf.records.run import Placement
from vsperf.records.switch import PmdCounters, SwitchCounters
from vsperf.records.threads import SWITCH

TICK_NS = 10_000_000
STAT = (
    "{pid} ({name}) S 1 {pid} {session} 0 -1 4194560 1 0 0 0 {user} {system} {dead_user} "
    "{dead_system} 20 0 1 0 100 1 1 18446744073709551615 1 1 0 0 0 0 0 0 0 0 0 0 17 0 0 0 0 0 0\n"
)
STATUS = (
    "Name:\t{name}\nCpus_allowed:\t1\nCpus_allowed_list:\t{cpus}\n"
    "voluntary_ctxt_switches:\t{voluntary}\nnonvoluntary_ctxt_switches:\t{involuntary}\n"
)


class Machine:
    """A /proc of a few processes, and of two CPUs."""

    def __init__(self, folder: Path) -> None:
        self.roots = Roots(folder)
        self.cpus("0 0 0 0 0 0 0 0 0 0", "0 0 0 0 0 0 0 0 0 0")

    def cpus(self, *rows: str) -> None:
        self.roots.proc.mkdir(exist_ok=True)
        lines = [f"cpu{number} {row}" for number, row in enumerate(rows)]
        self.roots.proc.joinpath("stat").write_text("\n".join(["cpu  0 0", *lines, "intr 1"]))

    def process(
        self,
        pid: int,
        user: int,
        system: int,
        *,
        session: int | None = None,
        dead: tuple[int, int] = (0, 0),
        threads: dict[int, tuple[str, str, int, int]] | None = None,
    ) -> None:
        """Write what the kernel says of one; of each thread name, CPUs, user and system ticks."""
        folder = self.roots.proc / str(pid)
        folder.mkdir(exist_ok=True)
        known = {"session": session or pid, "dead_user": dead[0], "dead_system": dead[1]}
        text = STAT.format(pid=pid, name="a (b) c", user=user, system=system, **known)
        (folder / "stat").write_text(text)
        for tid, (name, cpus, own, in_kernel) in (
            threads or {pid: ("a (b) c", "0", user, system)}
        ).items():
            task = folder / "task" / str(tid)
            task.mkdir(parents=True, exist_ok=True)
            times = {"user": own, "system": in_kernel, "session": 1}
            known = {"dead_user": 0, "dead_system": 0}
            (task / "stat").write_text(STAT.format(pid=tid, name=name, **times, **known))
            (task / "comm").write_text(f"{name}\n")
            switches = {"voluntary": 10 * own, "involuntary": in_kernel}
            (task / "status").write_text(STATUS.format(name=name, cpus=cpus, **switches))

    def gone(self, pid: int) -> None:
        for path in sorted((self.roots.proc / str(pid)).rglob("*"), reverse=True):
            path.rmdir() if path.is_dir() else path.unlink()
        (self.roots.proc / str(pid)).rmdir()

    def look(self, *watched: Watched) -> Look:
        return Look.at(watched, self.roots)


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


SERVER = Watched(SERVERS, "server of instance 1", 20, (0,))


def grown(before: Look, after: Look) -> tuple[ProgramTime, ...]:
    return after.since(before, before.at_ns, (0, 1), ()).programs


def test_a_program_has_the_time_of_its_session_and_nobody_elses(machine: Machine) -> None:
    """A server that forks for each client works in its children."""
    machine.process(20, 1, 2)
    machine.process(21, 10, 20, session=20)
    machine.process(30, 100, 200)
    before = machine.look(SERVER)
    machine.process(20, 2, 4)
    machine.process(21, 40, 70, session=20)
    machine.process(30, 900, 900)
    (found,) = grown(before, machine.look(SERVER))
    assert (found.role, found.name, found.cpus) == (SERVERS, "server of instance 1", (0,))
    assert (found.user_ns, found.system_ns) == (31 * TICK_NS, 52 * TICK_NS)
    assert found.time_ns == 83 * TICK_NS
    assert (found.voluntary, found.involuntary) == (310, 52)


def test_the_cpus_of_a_program_are_those_that_it_may_run_on_whatever_it_was_told(
    machine: Machine,
) -> None:
    for cpus, seen in (("0", (0,)), ("1", (1,)), ("0-1", (0, 1)), ("nonsense", (0,))):
        threads = {20: ("netserver", cpus, 1, 1)}
        machine.process(20, 1, 1, threads=threads)
        machine.process(21, 1, 1, session=20, threads={21: ("netserver", cpus, 1, 1)})
        before = machine.look(SERVER)
        (found,) = grown(before, machine.look(SERVER))
        assert (found.cpus, found.placed) == (seen, (0,))
        assert found.mispinned is (seen != (0,))


def test_what_a_child_used_that_has_ended_is_told_by_its_parent(machine: Machine) -> None:
    machine.process(20, 1, 2)
    machine.process(21, 10, 20, session=20)
    before = machine.look(SERVER)
    machine.gone(21)
    machine.process(20, 1, 2, dead=(15, 26))
    (found,) = grown(before, machine.look(SERVER))
    assert (found.user_ns, found.system_ns) == (5 * TICK_NS, 6 * TICK_NS)


def test_a_count_that_shrank_is_unknown_and_never_below_zero(machine: Machine) -> None:
    """A child that nobody asked for took its time with it."""
    machine.process(20, 1, 2)
    machine.process(21, 10, 20, session=20)
    before = machine.look(SERVER)
    machine.gone(21)
    (found,) = grown(before, machine.look(SERVER))
    assert (found.user_ns, found.system_ns, found.voluntary) == (None, None, None)


def test_a_program_that_has_ended_is_in_no_record(machine: Machine) -> None:
    machine.process(20, 1, 2)
    before = machine.look(SERVER)
    machine.gone(20)
    assert grown(before, machine.look(SERVER)) == ()


def test_threads_of_a_switch_are_told_one_by_one_with_their_cpus(machine: Machine) -> None:
    switch = Watched(SWITCH, "switch", 40, threads="pmd-c")
    threads = {40: ("ovs-vswitchd", "0", 5, 5), 41: ("pmd-c01/id:8", "1", 10, 0)}
    threads |= {42: ("revalidator1", "0", 1, 0)}
    machine.process(40, 16, 5, threads=threads)
    before = machine.look(switch)
    threads |= {41: ("pmd-c01/id:8", "1", 110, 0), 42: ("revalidator1", "0", 4, 3)}
    machine.process(40, 119, 8, threads=threads)
    others, polling = sorted(
        grown(before, machine.look(switch)), key=lambda one: one.name, reverse=True
    )
    assert not polling.mispinned, "vsperf puts no thread of a switch anywhere"
    assert (polling.name, polling.cpus, polling.time_ns) == ("pmd-c01/id:8", (1,), 100 * TICK_NS)
    assert (others.name, others.cpus) == ("switch, other threads", (0,))
    assert (others.user_ns, others.system_ns) == (3 * TICK_NS, 3 * TICK_NS)


def test_vsperf_itself_counts_without_those_who_share_its_session(machine: Machine) -> None:
    machine.process(50, 0, 0)
    machine.process(51, 0, 0, session=50)
    ours = Watched("vsperf", "vsperf", 50, session=False)
    before = machine.look(ours)
    machine.process(50, 1, 0)
    machine.process(51, 99, 0, session=50)
    (found,) = grown(before, machine.look(ours))
    assert found.time_ns == TICK_NS


def test_a_cpu_says_what_it_did_and_a_kernel_without_steal_says_none_of_it(
    machine: Machine,
) -> None:
    machine.cpus("1 1 1 1 1 1 1 1 0 0", "1 1 1 1 1 1 1")
    before = machine.look()
    machine.cpus("11 3 4 51 2 6 8 11 0 0", "2 2 2 2 2 2 2")
    use = machine.look().since(before, before.at_ns, (0, 1, 7), (1,))
    first, second = use.cpus
    assert (first.user_ns, first.system_ns) == (12 * TICK_NS, 3 * TICK_NS)
    assert (first.interrupts_ns, first.soft_ns) == (5 * TICK_NS, 7 * TICK_NS)
    assert (first.idle_ns, first.stolen_ns) == (51 * TICK_NS, 10 * TICK_NS)
    assert second.stolen_ns is None
    assert use.forwarding_cpus == (1,)


# What follows of it.


def test_time_of_a_cpu_that_is_counted_nowhere_is_that_of_interrupts_while_it_was_idle() -> None:
    one = cpu(2, busy=0.1, soft=0.3, idle=0.2)
    found = use(one, switch=None)
    assert found.share(found.untold_ns(one)) == pytest.approx(0.4)
    assert found.forwarding_ns == found.interrupted_ns(one)
    assert found.share(found.interrupted_ns(one)) == pytest.approx(0.7)
    assert found.share(found.others_ns(one) or 0) == pytest.approx(0.1)


def test_what_others_used_is_unknown_where_a_program_may_also_have_run_elsewhere() -> None:
    one = cpu(0, busy=0.5)
    assert use(one, programs=(program(CLIENTS, 0.2, 0, 1),)).others_ns(one) is None
    assert use(one, programs=(program(CLIENTS, 0.2, 0),)).others_ns(one) is not None


def requests(**changed: object) -> Exchange:
    """Ten thousand requests a second."""
    rows = tuple(
        one.model_copy(update={"amount": 10_000}) for one in instance(transactions=1).intervals
    )
    known = {"cpu": use(clients=0.5, servers=0.25, switch=0.125), "traffic": "tcp-rr", **changed}
    return exchange(instance(transactions=50_000, intervals=rows), **known)


def test_a_request_costs_the_cpu_time_between_both_looks_by_what_was_answered_meanwhile() -> None:
    one = requests()
    costs = [one.cpu_cost_ns(role) for role in (CLIENTS, SERVERS, SWITCH, None)]
    assert costs == [50_000, 25_000, 12_500, 87_500]


def test_polling_threads_cost_what_they_were_busy_with_and_not_all_their_time() -> None:
    """They had work for a third of all six seconds, which is two of the five of sending."""
    pmd = PmdCounters(cpu=2, frames=1, busy_cycles=100, idle_cycles=200)
    one = requests(cpu=use(switch=1), switch=SwitchCounters(pmds=(pmd,)))
    assert one.cpu_cost_ns(SWITCH) == pytest.approx(40_000)
    longer = one.model_copy(update={"asked_ns": 2_500_000_000})
    assert longer.cpu_ns(SWITCH) == one.cpu_ns(SWITCH), "it sent for whole seconds all the same"
    silent = PmdCounters(cpu=2, frames=1, busy_cycles=None, idle_cycles=None)
    assert requests(switch=SwitchCounters(pmds=(silent,))).cpu_cost_ns(SWITCH) is None


def test_what_one_role_does_not_tell_leaves_no_sum() -> None:
    lost = use(programs=(program(CLIENTS, 0.5, 0), program(SERVERS, 0.5, 0, user_ns=None)))
    one = requests(cpu=lost)
    assert one.cpu_cost_ns(CLIENTS) is not None
    assert [one.cpu_cost_ns(role) for role in (SERVERS, SWITCH, None)] == [None] * 3
    assert requests(cpu=None).cpu_cost_ns(CLIENTS) is None


def test_costs_are_figures_beside_the_answer_which_has_the_limit() -> None:
    method = Transactions(kind="rr")
    found = {one.name: one for one in method.answered(Repeats((requests(),), True, "")).figures}
    assert {*found, "total"} == set(method.metrics())
    assert found["cpu_per_request_clients"].value == 50_000
    assert found["cpu_per_request"].value == 87_500
    assert "its threads" in found["cpu_per_request_switch"].reason
    assert found["rate"].limit is None
    assert "what limited it cannot be told" in found["rate"].reason
    assert found["cpu_per_request"].limit is None
    assert found["context_switches_clients"].value == pytest.approx(0.3), "12 for 40,000 requests"
    assert not more_is_better("context_switches_clients", Unit.COUNT)
    kernel = method.answered(Repeats((requests(cpu=use(switch=None)),), True, "")).figures
    (switched,) = (one for one in kernel if one.name == "context_switches_switch")
    assert switched.value is None
    assert "in interrupts" in switched.reason
    untold = method.answered(Repeats((requests(cpu=None),), True, "")).figures
    costs = [one for one in untold if one.name.startswith("cpu_per")]
    assert len(costs) == 4
    assert all(one.value is None and one.reason for one in costs)


def test_a_bit_of_a_stream_costs_parts_of_a_nanosecond_and_is_written_so() -> None:
    one = exchange(cpu=use(clients=0.5, servers=0.25, switch=0.125))
    method = Stream(kind="stream")
    found = {one.name: one for one in method.answered(Repeats((one,), True, "")).figures}
    assert found["cpu_per_bit_clients"].text == "0.5 ns"
    assert {*found, "total"} == set(method.metrics())


# What is shown.


def rows(table: Table | None) -> list[dict[str, str]]:
    assert table is not None
    return [dict(zip(table.names, texts, strict=True)) for texts in table.texts]


def test_each_program_has_a_row_and_a_role_of_several_their_sum_with_the_cost() -> None:
    programs = (
        program(CLIENTS, 0.5, 0, name="client of instance 1"),
        program(CLIENTS, 0.25, 0, name="client of instance 2"),
        program(SERVERS, 0.25, 1, voluntary=None),
    )
    found = rows(roles_table(requests(cpu=use(cpu(0), programs=programs))))
    assert [row["used by"] for row in found] == [
        *("client of instance 1", "client of instance 2", "all of them", "servers 1")
    ]
    assert [row["of a CPU"] for row in found] == ["50.0%", "25.0%", "75.0%", "25.0%"]
    assert [row["for a request"] for row in found] == ["–", "–", "75.00 µs", "25.00 µs"]
    assert [row["gave way"] for row in found] == ["10", "10", "20", "–"]


def test_a_kernel_that_forwards_is_a_row_of_the_switch() -> None:
    one = requests(cpu=use(cpu(2, soft=0.5), switch=None))
    (found,) = (row for row in rows(roles_table(one)) if row["role"] == SWITCH)
    assert (found["used by"], found["CPU"]) == ("the kernel, in interrupts", "2")
    assert (found["of a CPU"], found["user"]) == ("50.0%", "–")
    (of_cpu,) = rows(cpus_table(one))
    assert (of_cpu["used by"], of_cpu["soft interrupts"], of_cpu["steal"]) == (
        SWITCH,
        "50.0%",
        "0.0%",
    )


def test_where_nobody_looked_there_is_no_table() -> None:
    assert roles_table(exchange()) is None
    assert cpus_table(exchange()) is None


# When looks are made, and at whom.


def test_a_daemon_that_has_the_kernel_forward_is_not_taken_for_who_forwards() -> None:
    """It sleeps meanwhile: that it used no CPU time would say that forwarding takes none."""
    place: Any = SimpleNamespace(
        name="vsperf-1-abcdef",
        polling={5: Polling(SWITCH, "ovs-vswitchd", forwards=False), 6: Polling(SWITCH, "pmd-c")},
    )
    found = SwitchCpus.of(Placement(), place)
    assert [one.pid for one in found.threads] == [6]
    for datapath in ("kernel", "userspace"):
        case = plain_case({"datapath": datapath})
        assert isinstance(case.vswitch, OvsSpec)
        design = PlainDesign(case, case.vswitch, Placement())
        assert design.polling.forwards is (datapath == "userspace")


def test_there_are_two_looks_or_nothing_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("time.monotonic_ns", lambda: 5 * SECOND)
    looks = Looks((), [4 * SECOND, 6 * SECOND])
    assert looks.left_s(3 * SECOND) == 1
    looks.attend()
    looks.attend()
    assert len(looks.made) == 1
    assert looks.left_s(5 * SECOND) == 1
    looks.end()
    assert len(looks.made) == len(looks.seen) == 2
    early = Looks((), [6 * SECOND, 8 * SECOND])
    early.end()
    assert early.made == []
