"""Claims of runs that were killed, or whose ledger is gone or damaged, are made good."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass

import pytest
from claims_world import World, fixture_world

from vsperf.errors import ExitCode, NotReadyError
from vsperf.host.claims import Ledger, release
from vsperf.host.dead import dead_deployments
from vsperf.host.files import Roots
from vsperf.host.hugepages import remainders
from vsperf.host.undo import ReturnHugepages
from vsperf.host.workspace import LeftBehindError

__all__ = ["fixture_world"]

KILLED = """
import os, signal, sys
from pathlib import Path
from vsperf import trusted
from vsperf.host.files import Roots
from vsperf.host.hugepages import Machine, reserve
from vsperf.host.pages import Pool
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
        with reserve({0: 20 << 20}, place, Machine(folder / "sys", folder / "proc")):
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
    (rest,) = remainders(world.machine)
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
    (rest,) = remainders(world.machine)
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
