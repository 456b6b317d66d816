"""The sampler looks when a trial begins, now and then, and when it ends; at real processes here."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import pytest
from machine_tree import MachineTree
from record_samples import trial as trial_of_threads

from vsperf.drivers.collectors.beside import SAMPLER
from vsperf.drivers.collectors.sampler import Kernel, devices, processes
from vsperf.host.files import Roots
from vsperf.host.threads import LCORES, Look, Polling, Thread, threads_of, waited_for_cpu_ns
from vsperf.host.workspace import Nowhere
from vsperf.output.trial_tables import threads_table
from vsperf.records.series import SERIES_LINE, Sample
from vsperf.records.threads import ThreadActivity

ME = {"trial": 1, "roles": {"switch": [[os.getpid(), "nobody"]]}, "cpus": [0]}
"""All threads are told as one: those that other tests have left may end at any time."""
SOFTIRQS = Path("/proc/softirqs")


@contextmanager
def sampler(
    folder: Path, source: str = "processes", every_s: str = "60"
) -> Iterator[tuple[subprocess.Popen[bytes], socket.socket]]:
    path, file = folder / "s", folder / "series.jsonl"
    file.touch()
    argv = [sys.executable, "-I", "-S", str(SAMPLER), str(path), source, every_s]
    with subprocess.Popen(argv, stderr=subprocess.DEVNULL) as program:
        deadline = time.monotonic() + 20
        while not path.exists() and time.monotonic() < deadline:
            time.sleep(0.01)
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
            connection.settimeout(20)
            connection.connect(str(path))
            with file.open("ab") as series:
                socket.send_fds(connection, [b"\n"], [series.fileno()])
            try:
                yield program, connection
            finally:
                connection.close()
                with suppress(subprocess.TimeoutExpired):
                    program.wait(20)
                program.kill()


def tell(connection: socket.socket, message: dict[str, object]) -> None:
    connection.sendall(json.dumps(message).encode() + b"\n")
    assert connection.recv(1) == b"\n"


def samples(folder: Path) -> list[Sample]:
    *lines, _ = (folder / "series.jsonl").read_bytes().split(b"\n")  # the last may be under way
    found = [SERIES_LINE.validate_json(line) for line in lines]
    return [one for one in found if isinstance(one, Sample)]


def test_it_has_looked_when_it_answers(tmp_path: Path) -> None:
    with sampler(tmp_path) as (_, connection):
        tell(connection, {**ME, "trial": 4})
        begun = samples(tmp_path)
        tell(connection, {})
        ended = samples(tmp_path)
    assert begun and len(ended) == 2 * len(begun)
    assert {one.trial for one in ended} == {4}


def test_it_looks_again_and_again_while_a_trial_lasts_and_rests_between_two(tmp_path: Path) -> None:
    with sampler(tmp_path, every_s="0.02") as (_, connection):
        tell(connection, ME)
        before = len(samples(tmp_path))
        deadline = time.monotonic() + 20
        while len(samples(tmp_path)) < 3 * before and time.monotonic() < deadline:
            time.sleep(0.01)
        tell(connection, {})
        rested = len(samples(tmp_path))
        assert rested >= 3 * before
        time.sleep(0.1)
        assert len(samples(tmp_path)) == rested


def test_it_ends_when_nobody_listens_any_more(tmp_path: Path) -> None:
    with sampler(tmp_path) as (program, connection):
        tell(connection, ME)
        connection.close()
        assert program.wait(20) == 0


def test_a_process_that_has_ended_is_missing_and_no_mistake(tmp_path: Path) -> None:
    gone = subprocess.Popen(["/bin/true"])
    gone.wait()
    with sampler(tmp_path) as (_, connection):
        tell(connection, {**ME, "roles": {"switch": [[gone.pid, "x"]]}})
        tell(connection, {})
    assert {one.of for one in samples(tmp_path)} == {"cpu 0"}


def test_threads_that_poll_have_names_and_others_are_one() -> None:
    stop = threading.Event()
    other = threading.Thread(target=stop.wait)
    other.start()
    names = Path(f"/proc/self/task/{os.getpid()}/comm").read_text().strip()
    try:
        asked = {"roles": {"switch": [[os.getpid(), f"(?={names})(?!)|nobody"]]}, "cpus": []}
        found = dict(processes(Kernel(), asked))
    finally:
        stop.set()
        other.join()
    assert set(found) == {"switch", "switch: other threads"}
    assert found["switch"]["resident_bytes"] > 1 << 20
    assert found["switch: other threads"]["voluntary"] > 0


def test_programs_that_sleep_are_told_as_one_with_their_children() -> None:
    """Two of them, of which nobody tells which of their threads is which."""
    script = "import subprocess as s; p = s.Popen(['sleep', '60']); print(flush=True); p.wait()"
    argv = [sys.executable, "-c", script]
    with ExitStack() as stack:
        running = [
            stack.enter_context(
                subprocess.Popen(argv, stdout=subprocess.PIPE, start_new_session=True)
            )
            for _ in range(2)
        ]
        for one in running:
            stack.callback(os.killpg, one.pid, signal.SIGKILL)
            assert one.stdout is not None
            one.stdout.readline()
        asked = {"roles": {"clients": [[one.pid, ""] for one in running]}, "cpus": []}
        found = list(processes(Kernel(), asked))
        alone = list(
            processes(Kernel(), {"roles": {"clients": [[running[0].pid, ""]]}, "cpus": []})
        )
    assert [of for of, _ in found] == ["clients"]
    assert {"user_ns", "system_ns", "voluntary", "resident_bytes"} <= set(found[0][1])
    assert found[0][1]["resident_bytes"] > alone[0][1]["resident_bytes"]


def test_each_cpu_in_use_is_looked_at() -> None:
    found = dict(processes(Kernel(), {"roles": {}, "cpus": [0]}))
    assert list(found) == ["cpu 0"]
    assert {"interrupts", "steal_ns"} <= set(found["cpu 0"])
    kinds = [line.split(":")[0].strip().lower() for line in SOFTIRQS.read_text().splitlines()[1:]]
    assert kinds
    assert {f"softirqs_{kind}" for kind in kinds} <= set(found["cpu 0"])


def test_devices_of_the_own_network_are_the_hosts() -> None:
    found = dict(devices(Kernel(), {"roles": {"switch": [[os.getpid(), "x"]]}}))
    assert all(of.startswith("host: ") for of in found)
    assert "host: lo" not in found


# What kept polling threads from running, read from files of the kernel that a test writes.

PMDS = Polling("switch", "pmd-c")
TICK_NS = 10**9 // os.sysconf("SC_CLK_TCK")
SWITCH = 4711


@pytest.fixture(name="tree")
def fixture_tree(tmp_path: Path) -> MachineTree:
    """Return a machine on which two of the switch's three threads poll."""
    tree = MachineTree(tmp_path)
    stolen(tree, 0, 0)
    thread(tree, SWITCH, "ovs-vswitchd-dp", cpu=0)
    thread(tree, SWITCH + 2, "pmd-c01/id:8", cpu=1)
    thread(tree, SWITCH + 9, "pmd-c00/id:9", cpu=0)
    return tree


def stolen(tree: MachineTree, *ticks: int) -> None:
    lines = (f"cpu{n} 5 0 5 5 0 0 0 {stolen} 0 0\n" for n, stolen in enumerate(ticks))
    tree.proc("stat", f"cpu  10 0 10 10 0 0 0 {sum(ticks)} 0 0\n{''.join(lines)}ctxt 1\n")


def thread(
    tree: MachineTree,
    number: int,
    name: str,
    *,
    cpu: int = 1,
    delay_ns: int = 0,
    involuntary: int = 0,
    started: int = 77,
) -> None:
    """Write what the kernel says of a thread."""
    columns = ["R", *["0"] * 18, str(started), *["0"] * 16, str(cpu), "0"]
    for file, text in {
        "comm": f"{name}\n",
        "stat": f"{number} ({name}) {' '.join(columns)}\n",
        "status": f"Name:\t{name}\nvoluntary_ctxt_switches:\t9\n"
        f"nonvoluntary_ctxt_switches:\t{involuntary}\n",
        "schedstat": f"123456 {delay_ns} 12\n",
    }.items():
        tree.proc(f"{SWITCH}/task/{number}/{file}", text)


def look(tree: MachineTree) -> Look:
    return Look.at(threads_of(PMDS, SWITCH, tree.roots), tree.roots)


def test_of_a_program_that_sleeps_all_threads_are_meant_and_those_of_its_children() -> None:
    child = "import time; print(flush=True); time.sleep(60)"
    argv = [
        sys.executable,
        "-c",
        f"import subprocess, sys; subprocess.run([sys.executable, '-c', {child!r}])",
    ]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, start_new_session=True) as program:
        try:
            assert program.stdout is not None
            program.stdout.readline()  # the child runs
            found = threads_of(Polling("clients", ""), program.pid, Roots())
            assert {one.part for one in found} == {"clients"}
            pids = {one.folder.parent.parent.name for one in found}
            assert str(program.pid) in pids
            assert len(pids) == 2
        finally:
            os.killpg(program.pid, signal.SIGKILL)


def test_polling_threads_are_told_by_their_names(tree: MachineTree) -> None:
    found = threads_of(PMDS, SWITCH, tree.roots)
    assert [(one.part, one.name) for one in found] == [
        ("switch", "pmd-c01/id:8"),
        ("switch", "pmd-c00/id:9"),
    ]
    assert threads_of(PMDS, SWITCH + 1, tree.roots) == (), "no such process"


def test_a_process_waited_for_a_cpu_as_long_as_that_thread_did_which_waited_longest(
    tree: MachineTree,
) -> None:
    thread(tree, SWITCH + 2, "pmd-c01/id:8", delay_ns=1_000)
    thread(tree, SWITCH + 9, "pmd-c00/id:9", delay_ns=5_000)
    assert waited_for_cpu_ns(SWITCH, tree.roots) == 5_000
    assert waited_for_cpu_ns(SWITCH + 1, tree.roots) == 0, "no such process"


@pytest.mark.parametrize("name", ["lcore-worker-1", "rte-worker-12", "dpdk-worker3"])
def test_threads_of_dpdk_have_had_three_names(name: str) -> None:
    assert re.match(LCORES, name)
    assert not re.match(LCORES, "rte_mp_handle")
    assert not re.match(LCORES, "dpdk-intr")


def test_each_thread_is_told_by_what_it_waited_lost_and_was_stolen(tree: MachineTree) -> None:
    stolen(tree, 5, 7)
    thread(tree, SWITCH + 2, "pmd-c01/id:8", cpu=1, delay_ns=1_000, involuntary=4)
    before = look(tree)
    stolen(tree, 5, 9)
    thread(tree, SWITCH + 2, "pmd-c01/id:8", cpu=1, delay_ns=5_001_000, involuntary=10)
    first, second = look(tree).since(before)
    assert first == ThreadActivity(
        part="switch",
        name="pmd-c01/id:8",
        cpu=1,
        delay_ns=5_000_000,
        involuntary=6,
        steal_ns=2 * TICK_NS,
    )
    assert first.kept_ns == 5_000_000 + 2 * TICK_NS
    assert (second.delay_ns, second.involuntary, second.steal_ns) == (0, 0, 0)


def test_what_the_kernel_does_not_say_is_missing_and_never_0(tree: MachineTree) -> None:
    tree.proc("stat", "cpu0 5 0 5 5\n")
    folder = tree.roots.proc / str(SWITCH) / "task" / str(SWITCH + 2)
    (folder / "schedstat").unlink()
    (folder / "status").write_text("Name:\tpmd-c01/id:8\n")
    other = tree.roots.proc / str(SWITCH) / "task" / str(SWITCH + 9)
    (other / "schedstat").write_text("0 0 0\n")  # of a kernel that was built without counting
    first, second = look(tree).since(look(tree))
    assert (first.cpu, first.delay_ns, first.involuntary, first.steal_ns) == (1, None, None, None)
    assert first.kept_ns == 0
    assert (second.delay_ns, second.involuntary, second.steal_ns) == (None, 0, None)


def test_a_thread_that_ended_is_named_and_nothing_else_is_said(tree: MachineTree) -> None:
    before = look(tree)
    folder = tree.roots.proc / str(SWITCH) / "task" / str(SWITCH + 2)
    for file in folder.iterdir():
        file.unlink()
    thread(tree, SWITCH + 9, "pmd-c00/id:9", cpu=0, started=78)  # another one of that number
    after = Look.at(before.threads, tree.roots)
    assert after.since(before) == (
        ThreadActivity(part="switch", name="pmd-c01/id:8"),
        ThreadActivity(part="switch", name="pmd-c00/id:9"),
    )


def test_what_is_stolen_from_two_cpus_is_not_mixed(tree: MachineTree) -> None:
    stolen(tree, 100, 7)
    before = look(tree)
    thread(tree, SWITCH + 2, "pmd-c01/id:8", cpu=0, delay_ns=3)
    first, _ = look(tree).since(before)
    assert (first.cpu, first.delay_ns, first.steal_ns) == (None, 3, None)


def test_without_threads_nothing_is_read(tmp_path: Path) -> None:
    nowhere = Look.at((), Roots(tmp_path / "not there"))
    assert nowhere.since(nowhere) == ()


def test_a_model_has_no_threads() -> None:
    assert Nowhere().polling_threads() == ()


def test_the_table_has_a_row_per_trial_and_says_only_what_is_known() -> None:
    pmd = ThreadActivity(
        part="switch", name="pmd-c01/id:8", cpu=1, delay_ns=1_500_000, involuntary=4, steal_ns=0
    )
    gone = ThreadActivity(part="vm1", name="CPU 0/KVM")
    trials = [
        trial_of_threads(1),
        trial_of_threads(2, threads=(pmd,)),
        trial_of_threads(3, threads=(pmd, gone)),
    ]
    table = threads_table(trials)
    assert table is not None
    cells = {name: list(cells) for name, *cells in zip(table.names, *table.texts, strict=True)}
    known = "waited 1.500 ms, 4×, stolen 0 ns"
    assert cells == {
        "trial": ["#2", "#3"],
        "switch: pmd-c01/id:8": [known, known],
        "vm1: CPU 0/KVM": ["–", "–"],
    }
    assert threads_table(trials[:1]) is None, "nobody watched, as in a model"


def test_the_kernel_of_this_machine_is_understood() -> None:
    me = threading.get_native_id()
    folder = Path(f"/proc/{os.getpid()}/task/{me}")
    before = Look.at((Thread("me", "me", folder),), Roots())
    (activity,) = Look.at(before.threads, Roots()).since(before)
    assert activity.involuntary is not None
    assert activity.involuntary >= 0
