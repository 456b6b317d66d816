"""Hugepages and claims on them: added, shared by runs, and given back whatever happens."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from claims_world import PAGE, World, add_pool, fixture_world, tree

from vsperf.errors import ExitCode, NotReadyError
from vsperf.host.claims import Ledger, release
from vsperf.host.dead import dead_deployments
from vsperf.host.files import Roots
from vsperf.host.hugepages import HostMemory, read_pools, remainders, require_memory, reserve
from vsperf.host.undo import ReturnHugepages
from vsperf.host.workspace import LeftBehindError, Workspace, workspace
from vsperf.trust import own_python

__all__ = ["fixture_world"]


# Hugepages: what is missing is added, what was added is taken back, and no more than that.

MEGABYTE = 1 << 20


@pytest.fixture
def place() -> Iterator[Workspace]:
    folder = Path(tempfile.mkdtemp(prefix="hugepages-"))
    folder.chmod(0o755)
    try:
        with workspace("a test", folder / "run", Roots(folder)) as made:
            yield made
    finally:
        shutil.rmtree(folder)


@pytest.fixture
def host(place: Workspace) -> HostMemory:
    return tree(place.folder.parent.parent)


def use_all(number: Path) -> None:
    """Let somebody use all pages of a pool."""
    free = number.parent / "free_hugepages"
    free.unlink()
    free.write_text("0\n")


def test_pools_are_told_by_node_and_size(host: HostMemory) -> None:
    for node, page_kb, pages in ((1, 2048, 3), (0, 1048576, 2), (0, 2048, 1)):
        add_pool(host, node, page_kb, pages)
    found = [(pool.node, pool.page_bytes // MEGABYTE, pool.total) for pool in read_pools(host)]
    assert found == [(0, 2, 1), (0, 1024, 2), (1, 2, 3)]


def test_a_kernel_without_nodes_has_its_pools_elsewhere(host: HostMemory) -> None:
    pool = host.sysfs / "kernel/mm/hugepages/hugepages-2048kB"
    pool.mkdir(parents=True)
    (pool / "nr_hugepages").write_text("5\n")
    assert [(pool.node, pool.total) for pool in read_pools(host)] == [(0, 5)]


def test_a_run_that_is_frozen_amid_a_change_is_not_waited_for_for_ever(
    host: HostMemory, monkeypatch: pytest.MonkeyPatch
) -> None:
    add_pool(host, 0, 2048, 600)
    (pool,) = read_pools(host)
    monkeypatch.setattr("vsperf.host.claims.LOCK_S", 0.0)
    with (
        pool.locked(),
        pytest.raises(OSError, match="another run has been changing the number of hugepages"),
        pool.locked(),
    ):
        pytest.fail("two runs change it")
    with pool.locked():
        pass


@pytest.mark.parametrize(("there", "added"), [(600, 0), (100, 412)])
def test_what_is_there_is_taken_and_what_is_missing_is_added_and_taken_back(
    place: Workspace, host: HostMemory, there: int, added: int
) -> None:
    number = add_pool(host, 0, 2048, there)
    with reserve({0: 1024 * MEGABYTE}, place, host) as (reservation,):
        assert (reservation.pages, reservation.added) == (512, added)
        assert int(number.read_text()) == there + added
    assert int(number.read_text()) == there


def test_each_node_gets_its_own(place: Workspace, host: HostMemory) -> None:
    first, second = (add_pool(host, node, 2048, 0) for node in (0, 1))
    with reserve({0: 20 * MEGABYTE, 1: 40 * MEGABYTE}, place, host):
        assert (int(first.read_text()), int(second.read_text())) == (10, 20)
    assert (int(first.read_text()), int(second.read_text())) == (0, 0)


def test_large_pages_do_where_there_are_enough_of_them(place: Workspace, host: HostMemory) -> None:
    small, large = add_pool(host, 0, 2048, 0), add_pool(host, 0, 1048576, 4)
    with reserve({0: 1500 * MEGABYTE}, place, host) as (reservation,):
        assert (reservation.page_bytes, reservation.pages) == (1024 * MEGABYTE, 2)
    assert (int(small.read_text()), int(large.read_text())) == (0, 4)


def test_pages_that_are_in_use_are_never_taken_back(place: Workspace, host: HostMemory) -> None:
    number = add_pool(host, 0, 2048, 0)
    with reserve({0: 20 * MEGABYTE}, place, host):
        use_all(number)
    assert int(number.read_text()) == 10


def test_short_memory_is_refused_with_numbers(place: Workspace, host: HostMemory) -> None:
    number = add_pool(host, 0, 2048, 50)
    with pytest.raises(NotReadyError) as caught, reserve({0: 9000 * MEGABYTE}, place, host):
        pass
    problem = caught.value.problems[0]
    assert problem.what == "9000 MB of hugepages are needed on node 0, and 100 MB are free"
    assert problem.why is not None
    assert "8900 MB more would have to come from 8192 MB of memory" in problem.why
    assert int(number.read_text()) == 50


def test_fewer_pages_than_asked_for_are_refused(place: Workspace, host: HostMemory) -> None:
    number = add_pool(host, 0, 2048, 0)
    use_all(number)  # whatever is added has gone to somebody else at once
    with pytest.raises(NotReadyError) as caught, reserve({0: 20 * MEGABYTE}, place, host):
        pass
    assert caught.value.problems[0].what == (
        "20 MB of hugepages are needed on node 0, and 0 MB are free"
    )


@pytest.mark.needs("root")
def test_without_root_the_command_that_mends_it_is_told(place: Workspace, host: HostMemory) -> None:
    number = add_pool(host, 0, 2048, 4)
    os.seteuid(65534)
    try:
        with pytest.raises(NotReadyError) as caught, reserve({0: 20 * MEGABYTE}, place, host):
            pass
    finally:
        os.seteuid(0)
    problem = caught.value.problems[0]
    assert problem.why == "only root can reserve more"
    assert problem.fix == f"run vsperf as root, or: echo 10 | sudo tee {number}"


def test_a_node_without_hugepages_is_named(place: Workspace, host: HostMemory) -> None:
    add_pool(host, 0, 2048, 4)
    with (
        pytest.raises(NotReadyError, match="node 3 of this machine has no hugepages"),
        reserve({3: MEGABYTE}, place, host),
    ):
        pass


# Claims on hugepages: runs that take place at once can count on theirs, and nothing stays.


@pytest.mark.parametrize("ends_first", ["a", "b"])
@pytest.mark.parametrize("used", [False, True])
def test_whichever_of_two_runs_ends_first_all_is_as_before(
    world: World, ends_first: str, used: bool
) -> None:
    pages = {"a": 10, "b": 30}
    world.begin("a", pages["a"])
    world.use(10 if used else 0)
    world.begin("b", pages["b"])
    assert world.total == 40
    world.use(40 if used else 0)
    stays = "b" if ends_first == "a" else "a"
    world.use(pages[stays] if used else 0)
    world.end(ends_first)
    assert world.total == pages[stays]
    world.use(0)
    world.end(stays)
    assert world.total == 7
    assert not world.ledger.parent.exists()


def test_a_run_does_not_count_on_free_pages_that_another_counts_on(world: World) -> None:
    world.set_total(20)
    world.begin("a", 15)
    world.begin("b", 15)
    assert world.total == 30
    world.end("a")
    assert world.total == 20  # as many as there were, and more than b needs


def test_what_the_first_run_added_stays_for_the_second_and_goes_with_it(world: World) -> None:
    world.begin("a", 100)
    world.end("a")
    world.begin("a", 100)
    world.begin("b", 20)
    world.end("a")
    assert world.total == 20
    world.end("b")
    assert world.total == 7


def test_pages_of_other_programs_are_not_counted_on(world: World) -> None:
    world.use(5)
    world.begin("a", 10)
    assert world.total == 15
    world.use(15)
    world.begin("b", 10)
    assert world.total == 25
    world.use(5)
    world.end("a")
    assert world.total == 15
    world.end("b")
    assert world.total == 7


def test_a_program_that_came_after_the_first_run_is_seen_by_the_second(world: World) -> None:
    world.begin("a", 10)
    world.use(6 + 10)  # of which 6 are not of a
    world.set_total(16)
    world.begin("b", 10)
    assert world.total == 26


def test_runs_that_begin_at_the_same_moment_have_pages_each(world: World) -> None:
    world.set_total(10)
    everybody_is_there, errors = threading.Barrier(4), []
    together = threading.Barrier(4)
    totals = []

    def run(name: str) -> None:
        try:
            with workspace(name, world.folder / "runs", Roots(world.folder)) as place:
                everybody_is_there.wait()
                with reserve({0: 10 * PAGE}, place, world.host):
                    together.wait()
                    totals.append(world.total)
                    together.wait()
        except Exception as error:
            errors.append(error)
            for barrier in (everybody_is_there, together):  # nobody waits for who has failed
                barrier.abort()

    threads = [threading.Thread(target=run, args=(f"run {number}",)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
    assert totals == [40] * 4
    assert world.total == 10
    assert not world.ledger.exists()


def test_memory_that_another_run_counts_on_is_refused_before_anything_starts(world: World) -> None:
    world.set_total(4000)  # and 4096 more could be had
    world.begin("a", 3000)
    require_memory({0: 4900 * PAGE}, world.host)
    with pytest.raises(NotReadyError) as caught:
        require_memory({0: 5000 * PAGE}, world.host)
    assert caught.value.problems[0].what == (
        "10000 MB of hugepages are needed on node 0, and 2000 MB are free "
        "that no other run counts on, of 8000 MB"
    )


@pytest.mark.parametrize("change", [5, -4], ids=["a user added", "another program took back"])
def test_pages_that_others_changed_meanwhile_stay_so(world: World, change: int) -> None:
    world.begin("a", 10)
    world.set_total(world.total + change)
    world.end("a")
    assert world.total == 7 + change


def test_pages_that_somebody_uses_at_the_end_are_taken_back_by_the_next_run(world: World) -> None:
    world.begin("a", 20)
    world.use(12)
    world.end("a")
    assert world.total == 12
    world.use(0)
    world.begin("b", 5)
    assert world.total == 12
    world.end("b")
    assert world.total == 7
    assert not world.ledger.exists()


def test_pages_that_somebody_used_at_the_end_can_be_cleaned_up_later(world: World) -> None:
    world.begin("a", 20)
    assert remainders(world.host) == ()
    world.use(15)
    world.end("a")
    assert remainders(world.host) == ()  # there is nothing to take yet
    world.use(9)
    (rest,) = remainders(world.host)
    assert rest.pages == 6
    rest.take_back()
    assert world.total == 9
    world.use(0)
    (rest,) = remainders(world.host)
    rest.take_back()
    assert world.total == 7
    assert remainders(world.host) == ()


def test_a_number_that_a_user_set_after_the_last_run_is_kept(world: World) -> None:
    world.begin("a", 20)
    world.use(12)
    world.end("a")
    world.set_total(50)
    world.use(0)
    world.begin("b", 60)
    world.end("b")
    assert world.total == 50


# Claims of runs that were killed, or whose ledger is gone or damaged, are made good.

KILLED = """
import os, signal, sys
from pathlib import Path
from vsperf.trust import trusted
from vsperf.host.files import Roots
from vsperf.host.hugepages import HostMemory, reserve
from vsperf.host.claims import Pool
from vsperf.host.workspace import workspace

folder, deadly, steps = Path(sys.argv[1]), 0, 0

def step():
    global steps
    steps += 1
    if steps == deadly:
        os.kill(os.getpid(), signal.SIGKILL)

def around(function):
    def doing(*values, **options):
        step()
        function(*values, **options)
        step()
    return doing

def run():
    with workspace("a run", folder / "killed", Roots(folder)) as place:
        trusted.replace = around(trusted.replace)
        with reserve({0: 20 << 20}, place, HostMemory(folder / "sys", folder / "proc")):
            step()

Pool.resize = around(Pool.resize)
for line in sys.stdin:
    deadly = int(line)
    child = os.fork()
    if not child:
        run()
        os._exit(steps)
    _, status = os.waitpid(child, 0)
    print(os.waitstatus_to_exitcode(status), flush=True)
"""
"""Runs as often as it is asked to, each time in a process that is killed at the step it is told."""


@dataclass
class Runs:
    """Runs that are killed at a step, or get through at step 0."""

    process: subprocess.Popen[str]

    def at(self, step: int) -> int:
        """Return the steps of a run that got through, or the signal that ended it, below 0."""
        asked, told = self.process.stdin, self.process.stdout
        assert asked is not None and told is not None
        print(step, file=asked, flush=True)
        return int(told.readline())


@pytest.fixture(name="runs")
def fixture_runs(world: World) -> Iterator[Runs]:
    argv = [sys.executable, "-c", KILLED, str(world.folder)]
    pipe = subprocess.PIPE
    with subprocess.Popen(argv, stdin=pipe, stdout=pipe, text=True) as process:
        yield Runs(process)


@pytest.mark.parametrize("beside", [False, True])
def test_at_whatever_step_a_run_is_killed_clean_makes_it_good(
    world: World, runs: Runs, beside: bool
) -> None:
    if beside:
        world.begin("a", 10)
    before = world.total
    steps = runs.at(0)
    assert steps > 8
    for step in range(1, steps + 1):
        assert runs.at(step) == -signal.SIGKILL
        (dead,) = dead_deployments((world.folder / "killed",))
        assert (step, dead.take_down(Roots(world.folder)), world.total) == (step, (), before)
        assert dead.take_down(Roots(world.folder)) == ()
    if beside:
        world.end("a")
    assert world.total == 7
    assert not world.ledger.exists()


def test_a_dead_run_claims_nothing_and_the_next_one_takes_its_pages_back(
    world: World, runs: Runs
) -> None:
    assert runs.at(7) == -signal.SIGKILL
    assert world.total == 10
    world.begin("b", 10)
    assert world.total == 10
    world.end("b")
    assert world.total == 7
    (dead,) = dead_deployments((world.folder / "killed",))
    assert (dead.take_down(Roots(world.folder)), world.total) == ((), 7)


def test_a_deployment_that_was_kept_keeps_its_claim(world: World) -> None:
    world.begin("a", 20)
    world.places["a"].keep()
    world.end("a")
    world.begin("b", 20)
    assert world.total == 40
    world.end("b")
    assert world.total == 20


def test_what_was_added_is_taken_back_even_if_the_ledger_is_gone(world: World) -> None:
    world.begin("a", 20)
    world.ledger.unlink()
    world.use(10)
    world.end("a")
    assert world.total == 10  # no page that somebody uses
    assert world.places["a"].left == ()
    world.use(0)
    (rest,) = remainders(world.host)
    rest.take_back()
    assert (world.total, world.ledger.exists()) == (7, False)


def test_clean_takes_back_what_a_killed_run_added_even_if_the_ledger_is_gone(
    world: World, runs: Runs
) -> None:
    assert runs.at(7) == -signal.SIGKILL
    assert world.total == 10
    world.ledger.unlink()
    (dead,) = dead_deployments((world.folder / "killed",))
    assert "return the hugepages that were added, and that no other run counts on" in dead.steps()
    assert (dead.take_down(Roots(world.folder)), world.total) == ((), 7)


def test_without_a_ledger_no_more_is_taken_back_than_was_added(world: World) -> None:
    undo = ReturnHugepages(
        ledger=world.ledger, pool=world.pool, claim=world.folder / "claim", grown=(7, 20)
    )
    for there, left in ((7, 7), (10, 7), (100, 87), (5, 5)):
        world.set_total(there)
        undo.carry_out()
        assert world.total == left


@pytest.mark.parametrize("text", ["", "{}", '{"boot": 7', "[]", "[" * 100_000])
def test_a_damaged_ledger_is_told_and_nothing_is_changed_before_somebody_looked(
    world: World, text: str
) -> None:
    world.begin("a", 20)
    world.ledger.write_text(text)
    with pytest.raises(LeftBehindError, match="which hugepages other runs count on") as caught:
        world.begin("b", 30)
    assert caught.value.exit_code == ExitCode.LEFT_BEHIND
    world.end("a")
    assert world.total == 20
    (failure,) = world.places["a"].left
    assert f"{world.ledger}, which says what was added, cannot be read (it is damaged)" in failure
    (rest,) = remainders(world.host)
    with pytest.raises(OSError, match="cannot be read"):
        rest.take_back()
    world.ledger.unlink()
    world.places["a"].leave()  # as `vsperf clean` does
    assert (world.total, world.ledger.exists()) == (7, False)


def test_a_folder_of_others_in_the_place_of_the_ledgers_is_refused_by_name(world: World) -> None:
    world.ledger.parent.mkdir()
    world.ledger.parent.chmod(0o777)
    with pytest.raises(NotReadyError, match=f"{world.ledger.parent} cannot be trusted"):
        world.begin("a", 20)
    assert (world.total, world.ledger.exists()) == (7, False)


def test_a_ledger_of_an_earlier_boot_says_nothing(world: World) -> None:
    world.ledger.parent.mkdir()
    Ledger(boot="another", added=5).write(world.ledger, world.pool)
    release(world.pool, world.ledger)
    assert world.total == 7
    assert not world.ledger.exists()


# `vsperf clean` takes no CPU from a run that goes on, and has its share where none does.

URGENCY = """
import atexit, os
from vsperf.__main__ import main
atexit.register(lambda: print("urgency", os.getpriority(os.PRIO_PROCESS, 0)))
main()
"""


def urgency(folder: Path, *words: str) -> int:
    """Return what a command has at its end: the more, the less urgent."""
    (folder / "urgency.py").write_text(URGENCY)
    done = subprocess.run(
        own_python.module("urgency", *words, "--results", str(folder), folder=folder),
        env={**os.environ, "VSPERF_RUNTIME": str(folder / "run")},
        capture_output=True,
        text=True,
        check=True,
    )
    return int(done.stdout.rpartition("urgency ")[2])


def test_clean_gives_way_to_a_run_that_goes_on_and_to_nothing_else(tmp_path: Path) -> None:
    own = os.getpriority(os.PRIO_PROCESS, 0)
    with workspace("a run", tmp_path / "run"):
        assert urgency(tmp_path, "clean") == 19
        assert urgency(tmp_path, "results") == own
    assert urgency(tmp_path, "clean") == own


def test_what_a_killed_run_left_is_not_waited_for(tmp_path: Path) -> None:
    with subprocess.Popen(["true"]) as ended:
        pass
    (tmp_path / "run" / f"vsperf-{ended.pid}-abcdef").mkdir(mode=0o700, parents=True)
    (tmp_path / "run").chmod(0o700)
    assert urgency(tmp_path, "clean") == os.getpriority(os.PRIO_PROCESS, 0)
