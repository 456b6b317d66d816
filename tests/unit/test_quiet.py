"""A run begins on a quiet machine, waits for one, or is told to go on anyway."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any, cast

import pytest
from full_disk import longest_file

from vsperf.cli.commands.run import command
from vsperf.engine import session
from vsperf.engine.readiness import (
    MOST_PPM,
    Patience,
    Taken,
    held_once_free,
    look_around,
    once_free,
    require_quiet,
)
from vsperf.engine.run import Planned
from vsperf.errors import NotReadyError
from vsperf.host import lock
from vsperf.host.activity import Activity, Process, Share, starters
from vsperf.host.files import Roots
from vsperf.host.lock import TestbedInUse
from vsperf.quantities.units import NANOSECONDS
from vsperf.records.files.folders import lock as take
from vsperf.records.run import Placement, Plan


class Case:
    """As much of a planned case as is asked for."""

    def __init__(self, cpus: Sequence[int], *, simulated: bool = False) -> None:
        plan = Plan(
            steps=(),
            endpoints=(),
            directions=(),
            placement=Placement(cpus={"generator": tuple(cpus)}),
        )
        self.plan = cast(Any, type("CasePlan", (), {"plan": plan}))
        testbed = type("Testbed", (), {"simulated": simulated})
        self.case = type("Case", (), {"spec": type("Spec", (), {"testbed": testbed})})


def planned(cpus: Sequence[int] = (0, 1), *, simulated: bool = False) -> list[Planned]:
    return cast(list[Planned], [Case(cpus, simulated=simulated)])


def used(*ppm: int) -> Any:
    """Return looks at what others use, one after the other; the last one for ever."""
    left = list(ppm)

    def look() -> Taken:
        now = left.pop(0) if len(left) > 1 else left[0]
        return Taken(now, 0, (Share(77, "qemu-system-x86", now),))

    return look


@pytest.fixture(name="said", autouse=True)
def fixture_said(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    monkeypatch.setattr("vsperf.engine.readiness.sleep", lambda seconds: None)
    monkeypatch.setattr("vsperf.engine.readiness.os.sched_getaffinity", lambda pid: {0, 1})
    return []


def test_a_machine_that_others_use_more_of_than_the_run_leaves_is_refused(said: list[str]) -> None:
    with pytest.raises(NotReadyError) as refused:
        require_quiet(planned(), Patience(), said.append, used(1_640_000))
    text = refused.value.with_why
    assert "others use 164 % of a CPU (qemu-system-x86 (77) 164 %)" in text
    assert "--wait 30m" in (refused.value.problems[0].fix or "")
    assert "--anyway" in (refused.value.problems[0].fix or "")


def test_what_others_use_of_cpus_that_the_run_leaves_free_does_no_harm(said: list[str]) -> None:
    require_quiet(planned((0,)), Patience(), said.append, used(1_000_000 + MOST_PPM))
    with pytest.raises(NotReadyError):
        require_quiet(planned((0,)), Patience(), said.append, used(1_000_001 + MOST_PPM))


def test_who_says_anyway_is_not_asked(said: list[str]) -> None:
    require_quiet(planned(), Patience(anyway=True), said.append, used(2_000_000))


def test_a_model_needs_no_quiet_machine(said: list[str]) -> None:
    require_quiet(planned(simulated=True), Patience(), said.append, used(2_000_000))


def test_who_waits_is_told_once_and_begins_when_the_machine_is_quiet(said: list[str]) -> None:
    patience = Patience(wait_ns=3600 * NANOSECONDS)
    require_quiet(planned(), patience, said.append, used(2_000_000, 1_900_000, 10_000))
    assert said == [
        "waiting for a quiet machine: others use 200 % of a CPU (qemu-system-x86 (77) 200 %)"
    ]


def test_waiting_has_an_end(said: list[str]) -> None:
    with pytest.raises(NotReadyError, match="too busy to measure on still"):
        require_quiet(planned(), Patience(wait_ns=1), said.append, used(2_000_000))


def test_who_waits_and_measures_anyway_waits_for_the_testbed_and_not_for_quiet(
    said: list[str],
) -> None:
    both = Patience(anyway=True, wait_ns=3600 * NANOSECONDS)
    require_quiet(planned(), both, said.append, used(2_000_000))
    assert said == []
    assert once_free(in_use(1), both, said.append) == "taken"
    options = {one.name: getattr(one, "help", "") for one in command.params}
    assert "a quiet machine and a free testbed" in options["wait"]
    assert "then --wait is for the testbed alone" in options["anyway"]


def in_use(times: int) -> Callable[[], str]:
    """Return what takes a testbed that is in use so many times."""
    left = [TestbedInUse("testbed lab is in use", why="run r (process 7) measures on it")] * times

    def act() -> str:
        if left:
            raise left.pop()
        return "taken"

    return act


def test_a_testbed_in_use_is_waited_for_and_that_is_said_once(said: list[str]) -> None:
    patience = Patience(wait_ns=3600 * NANOSECONDS)
    assert once_free(in_use(3), patience, said.append) == "taken"
    assert said == ["waiting: testbed lab is in use: run r (process 7) measures on it"]


def test_who_does_not_wait_is_refused_at_once(said: list[str]) -> None:
    with pytest.raises(TestbedInUse, match="lab is in use"):
        once_free(in_use(1), Patience(), said.append)
    assert said == []


@pytest.fixture(name="lab")
def fixture_lab(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Have testbeds and what was left of runs on a machine of the test's own."""
    monkeypatch.setattr(
        "vsperf.engine.readiness.testbed_lock", partial(lock.testbed_lock, root=tmp_path)
    )
    monkeypatch.setattr("vsperf.engine.readiness.refuse_beside_dead", lambda: None)


@pytest.mark.usefixtures("lab")
def test_a_testbed_that_another_run_took_meanwhile_is_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, said: list[str]
) -> None:
    patience = Patience(wait_ns=3600 * NANOSECONDS)
    with ExitStack() as other:
        other.enter_context(lock.testbed_lock("lab", "first", tmp_path))
        monkeypatch.setattr("vsperf.engine.readiness.sleep", lambda seconds: other.close())
        with (
            held_once_free("lab", "second", patience, said.append),
            pytest.raises(TestbedInUse, match="lab is in use"),
            lock.testbed_lock("lab", "third", tmp_path),
        ):
            pass
    assert len(said) == 1 and "run first" in said[0]


@pytest.mark.usefixtures("lab")
def test_beside_what_is_left_of_the_run_that_was_waited_for_none_begins(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, said: list[str]
) -> None:
    """A lock is free as soon as its holder was killed, and his switch still polls."""

    def refuse() -> None:
        raise NotReadyError("programs of a run that was killed still run")

    patience = Patience(wait_ns=3600 * NANOSECONDS)
    with ExitStack() as other:
        other.enter_context(lock.testbed_lock("lab", "first", tmp_path))

        def killed(seconds: float) -> None:
            other.close()
            monkeypatch.setattr("vsperf.engine.readiness.refuse_beside_dead", refuse)

        monkeypatch.setattr("vsperf.engine.readiness.sleep", killed)
        with (
            pytest.raises(NotReadyError, match="programs of a run that was killed still run"),
            held_once_free("lab", "second", patience, said.append),
        ):
            pytest.fail("it has begun")
    with lock.testbed_lock("lab", "third", tmp_path):
        pass


# A testbed is held by a lock, and each run removes its own.


def test_a_lock_that_a_run_took_meanwhile_is_not_taken_for_the_stale_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between the look at a stale lock and its removal one run may end and another one begin."""
    root = tmp_path / "run"
    root.mkdir(mode=0o700)
    path = root / "local.lock"
    path.touch(mode=0o600)

    def slowly(descriptor: int, *, exclusive: bool, wait_s: float) -> bool:
        path.rename(tmp_path / "removed by the run that ended")
        path.touch(mode=0o600)
        return take(descriptor, exclusive=exclusive, wait_s=wait_s)

    monkeypatch.setattr(lock, "lock", slowly)
    lock.remove_stale(path)
    assert path.exists(), "that of the run which has begun"


def test_a_run_that_ends_leaves_the_lock_of_another_alone(tmp_path: Path) -> None:
    root = tmp_path / "run"
    with lock.testbed_lock("local", "first", root):
        (root / "local.lock").unlink()  # by hand
        second = lock.testbed_lock("local", "second", root)
        second.__enter__()
    assert [path.name for path in root.iterdir()] == ["local.lock"]
    second.__exit__(None, None, None)
    assert list(tmp_path.iterdir()) == []


def test_a_testbed_is_held_where_there_is_no_room_to_say_by_whom(tmp_path: Path) -> None:
    root = tmp_path / "run"
    with (
        longest_file(0),
        lock.testbed_lock("local", "first", root),
        pytest.raises(NotReadyError, match="testbed local is in use") as caught,
        lock.testbed_lock("local", "second", root),
    ):
        pass
    assert (caught.value.problems[0].why or "").startswith("another run (another process)")


Ticks = Mapping[str, int]
"""What a CPU did, by the names of proc(5)."""
NAMES = ("user", "nice", "system", "idle", "iowait", "irq", "softirq", "steal", "guest", "gnice")


def told(proc: Path, cpus: Sequence[Ticks], programs: Mapping[int, tuple[str, int, int]]) -> None:
    """Have a kernel tell of these CPUs and programs: their names, parents and ticks."""
    lines = ["cpu 0"]
    for number, ticks in enumerate(cpus):
        lines.append(f"cpu{number} " + " ".join(str(ticks.get(name, 0)) for name in NAMES))
    (proc / "stat").write_text("\n".join([*lines, "intr 0"]))
    for pid, (name, parent, used) in programs.items():
        (proc / str(pid)).mkdir(exist_ok=True)
        columns = ["S", str(parent), *["0"] * 9, str(used), "0"]
        (proc / str(pid) / "stat").write_text(f"{pid} ({name}) {' '.join(columns)}")


IDLE = {"idle": 100}


@pytest.fixture(name="taken")
def fixture_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Look around while CPUs do this in a hundred ticks; programs use some of them."""

    def look(cpus: Sequence[Ticks], programs: Mapping[int, tuple[str, int, int]]) -> Taken:
        proc = tmp_path / "proc"
        proc.mkdir()
        told(proc, [{}] * len(cpus), {pid: (*one[:2], 0) for pid, one in programs.items()})
        monkeypatch.setattr("vsperf.engine.readiness.sleep", lambda _: told(proc, cpus, programs))
        return look_around(Roots(tmp_path))

    return look


def test_on_an_idle_machine_nothing_is_taken(taken: Any) -> None:
    assert taken([IDLE, {"idle": 60, "iowait": 40}], {}).ppm == 0


def test_what_no_program_that_is_seen_used_is_told_by_what_the_cpus_did(taken: Any) -> None:
    compilers = taken([{"user": 70, "system": 20, "idle": 10}, {"user": 95, "softirq": 5}], {})
    assert compilers.ppm == 1_900_000
    assert str(compilers) == (
        "others use 190 % of a CPU (the kernel, or programs that are not seen from here, 190 %)"
    )


def test_programs_that_begin_and_end_are_told_by_who_started_them() -> None:
    """A compiler lives for less than a look: make does not, and has its time when it ends."""

    def at(second: int, *programs: Process) -> Activity:
        return Activity(second * NANOSECONDS, {}, {one.pid: one for one in programs})

    before = at(
        0,
        Process(1, 0, "init", 5, 1000),
        Process(10, 1, "make", 5, 200),
        Process(11, 10, "cc", 40),
        Process(12, 1, "vsperf", 0),
    )
    after = at(
        1,
        Process(1, 0, "init", 5, 1000),
        Process(10, 1, "make", 7, 200 + 40 + 50),  # cc ended after 50 more
        Process(13, 10, "sh", 1, 9),
        Process(14, 13, "ld", 12),
        Process(12, 1, "vsperf", 0, 33),
    )
    (make,) = starters(before, after, own=12, ticks_per_s=100)
    assert str(make) == "make (10) 72 %"


def test_all_that_others_use_is_told_with_whom_to_end() -> None:
    busy = [Share(pid, "python", 30_000) for pid in range(1, 6)]
    taken = Taken(1_020_000, 10_000, busy, (Share(312, "make", 820_000), Share(7, "cron", 20_000)))
    assert str(taken) == (
        "others use 102 % of a CPU (the hypervisor 1 %, python (1) 3 %, python (2) 3 %, "
        "python (3) 3 %, 2 further programs 6 %, programs that begin and end, started by "
        "make (312), cron (7), 84 %, the kernel, or programs that are not seen from here, 2 %)"
    )
    with pytest.raises(NotReadyError) as refused:
        require_quiet(planned(), Patience(), lambda text: None, lambda: taken)
    assert (refused.value.problems[0].fix or "").startswith("end make (312), wait until ")
    with pytest.raises(NotReadyError) as refused:
        require_quiet(planned(), Patience(), lambda text: None, lambda: Taken(1_900_000))
    assert (refused.value.problems[0].fix or "").startswith("wait until "), "nobody can be named"


def test_all_that_disturb_are_to_be_ended_and_not_the_busiest_alone() -> None:
    busy = [Share(1, "dperf", 900_000), Share(2, "dperf", 400_000), Share(3, "sshd", 20_000)]
    assert Taken(1_320_000, 0, busy).whom == "end dperf (1) and dperf (2), "


def test_what_a_hypervisor_gives_to_others_is_taken_as_well(taken: Any) -> None:
    stolen = taken([{"steal": 80, "idle": 20}, {"steal": 60, "idle": 40}], {})
    assert (stolen.ppm, stolen.stolen_ppm) == (1_400_000, 1_400_000)
    assert "the hypervisor 140 %" in str(stolen)
    with pytest.raises(NotReadyError):
        require_quiet(planned(), Patience(), lambda text: None, lambda: stolen)


def test_what_vsperf_and_its_children_use_is_not_that_of_others(taken: Any) -> None:
    own = os.getpid()
    programs = {own: ("vsperf", 1, 20), own + 1: ("child", own, 10), own + 2: ("other", 1, 50)}
    found = taken([{"user": 80, "idle": 20}, IDLE], programs)
    assert found.ppm == 500_000
    assert [one.name for one in found.programs] == ["other"]


def test_cpus_that_vsperf_may_not_use_count_neither_as_taken_nor_as_free(taken: Any) -> None:
    busy: Ticks = {"user": 100}
    assert taken([IDLE, IDLE, busy, busy], {}).ppm == 0
    with pytest.raises(NotReadyError):  # two of four are left, and both are the run's
        require_quiet(planned((0, 1)), Patience(), lambda text: None, used(600_000))


def test_a_run_is_admitted_by_the_cpus_that_its_cases_have_in_the_end(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    class Stopped(Exception):
        pass

    def admit(asked: Sequence[Planned]) -> None:
        assert [one.plan.plan.placement.cpus["generator"] for one in asked] == [(0, 1)]
        raise Stopped

    (anew,) = planned((0, 1))
    (before,) = planned((0,))
    cast(Any, before).planned_anew = lambda topology: anew
    monkeypatch.setattr(session, "require_ready", lambda *_: ())
    with pytest.raises(Stopped):
        session.begin(cast(Any, None), (before,), tmp_path, (), cast(Any, None), admit=admit)
