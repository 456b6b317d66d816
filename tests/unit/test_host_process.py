"""Programs of a deployment: there when ready, gone when left, and their end explained."""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from vsperf.errors import ComponentError, DiedError, NotReadyError
from vsperf.host.process import ASK_S, TERMINATE_S, log_of, managed
from vsperf.host.procfs import left_in_session, mapped_files, marked, start_ticks
from vsperf.host.threads import Polling
from vsperf.host.undo import KillProcess
from vsperf.host.workspace import PATIENCE_S, Workspace, workspace

STUBBORN = """
import signal, sys, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
print("deaf", flush=True)
time.sleep(100)
"""


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Workspace]:
    with workspace("a test", tmp_path / "run") as made:
        yield made


def python(text: str) -> list[str]:
    return [sys.executable, "-c", text]


def test_a_program_runs_inside_its_context_and_not_after_it(place: Workspace) -> None:
    with managed(["sleep", "100"], name="sleeper", workspace=place) as program:
        assert program.poll() is None
        pid = program.pid
    assert start_ticks(pid) is None


def test_the_threads_that_poll_are_found_while_their_program_runs(place: Workspace) -> None:
    with (
        managed(["sleep", "100"], name="idle", workspace=place),
        managed(["sleep", "100"], name="busy", workspace=place, polling=Polling("vm1", "sle")),
        managed(["sleep", "100"], name="other", workspace=place, polling=Polling("vm2", "CPU")),
    ):
        (thread,) = place.polling_threads()
        assert (thread.part, thread.name) == ("vm1", "sleep")
    assert place.polling == {}


def test_the_files_that_a_program_has_mapped_are_known_by_name(place: Workspace) -> None:
    assert Path(sys.executable).resolve().name in mapped_files(os.getpid())
    with managed(["sleep", "100"], name="ended", workspace=place) as program:
        pass
    assert mapped_files(program.pid) == frozenset()


def test_it_is_given_once_it_is_ready(place: Workspace, tmp_path: Path) -> None:
    flag = tmp_path / "flag"
    text = f"import time; time.sleep(0.1); open({str(flag)!r}, 'w').close(); time.sleep(100)"
    with managed(python(text), name="slow", workspace=place, ready=flag.exists):
        assert flag.exists()


def test_a_program_that_ends_while_it_starts_is_quoted(place: Workspace) -> None:
    argv = python("print('no such port'); raise SystemExit(7)")
    with (
        pytest.raises(ComponentError) as caught,
        managed(argv, name="broken", workspace=place, ready=lambda: False),
    ):
        pass
    assert caught.value.problems[0].why == "ended with exit code 7; its last words: no such port"


def test_a_program_that_does_not_become_ready_is_quoted_and_ended(place: Workspace) -> None:
    argv = python("print('still looking', flush=True); import time; time.sleep(100)")

    def ready() -> bool:
        while b"still looking" not in log_of("slow", place).read_bytes():
            time.sleep(0.01)
        return False

    with (
        pytest.raises(ComponentError, match=r"slow was not ready within 0\.5 s") as caught,
        managed(argv, name="slow", workspace=place, ready=ready, timeout_s=0.5),
    ):
        pass
    assert caught.value.problems[0].why == "its last words: still looking"
    assert marked(f"{place.name}/slow") == ()


@pytest.mark.parametrize(
    ("number", "said"),
    [
        (signal.SIGKILL, "first was killed by SIGKILL"),
        (signal.SIGSTOP, "first is stopped: somebody sent it SIGSTOP, or debugs it"),
    ],
)
def test_a_program_is_not_waited_for_when_another_one_was_lost(
    place: Workspace, number: signal.Signals, said: str
) -> None:
    with managed(["sleep", "100"], name="first", workspace=place) as first:

        def ready() -> bool:
            os.kill(first.pid, number)
            return False

        with (
            pytest.raises(DiedError, match="first was lost while second started") as caught,
            managed(["sleep", "100"], name="second", workspace=place, ready=ready),
        ):
            pass
        assert caught.value.problems[0].why == said
    place.attend("after both were ended in order")


def test_a_program_that_took_the_place_of_another_counts_in_its_stead(place: Workspace) -> None:
    with managed(["sleep", "100"], name="daemon", workspace=place) as old:
        old.process.kill()
        old.await_end(1.0)
        with managed(["sleep", "100"], name="daemon", workspace=place):
            place.attend("while others started")


def test_an_errand_is_done_while_others_are_waited_for_and_not_after(place: Workspace) -> None:
    done = []
    with place.errand(lambda: done.append("called")):
        with managed(["sleep", "100"], name="one", workspace=place, ready=lambda: len(done) == 2):
            pass
        place.attend("while another was waited for")
    place.attend("after the errand")
    assert done == ["called"] * 3


def test_a_program_that_is_not_there_is_named(place: Workspace) -> None:
    with (
        pytest.raises(NotReadyError, match="/nowhere/to/be/found cannot be started") as caught,
        managed(["/nowhere/to/be/found"], name="ghost", workspace=place),
    ):
        pass
    assert caught.value.problems[0].why == "No such file or directory"


def test_the_obituary_names_the_signal(place: Workspace) -> None:
    with managed(["sleep", "100"], name="sleeper", workspace=place) as program:
        os.kill(program.pid, signal.SIGKILL)
        assert program.obituary() == "was killed by SIGKILL"


def test_what_a_program_started_ends_with_it(place: Workspace) -> None:
    text = (
        "import subprocess, time; subprocess.Popen(['sleep', '100'], start_new_session=True);"
        "time.sleep(100)"
    )
    mark = f"{place.name}/parent"
    with managed(
        python(text), name="parent", workspace=place, ready=lambda: len(marked(mark)) == 2
    ):
        pass
    assert marked(mark) == ()


UNMARKED = """
import os, subprocess, sys, time
child = subprocess.Popen(["sleep", "100"], env={})
print(child.pid, flush=True)
time.sleep(100)
"""
"""Starts what does not carry its mark, as programs do that name their processes anew."""


def child_of(log: Path) -> int | None:
    found = log.read_text().split() if log.exists() else []
    return int(found[0]) if found else None


def test_what_a_program_left_that_somebody_killed_ends_too(place: Workspace) -> None:
    log = log_of("parent", place)
    with managed(
        python(UNMARKED), name="parent", workspace=place, ready=lambda: child_of(log) is not None
    ) as program:
        child = child_of(log)
        assert child is not None and start_ticks(child) is not None
        os.kill(program.pid, signal.SIGKILL)
        assert program.await_end(10)
        assert start_ticks(child) is not None, "nobody told it"
    assert start_ticks(child) is None


def test_the_journal_ends_what_is_left_and_nothing_of_a_session_that_lives(
    place: Workspace,
) -> None:
    log = log_of("parent", place)
    with managed(
        python(UNMARKED), name="parent", workspace=place, ready=lambda: child_of(log) is not None
    ) as program:
        child, started = child_of(log), start_ticks(program.pid)
        assert child is not None and started is not None
        assert left_in_session(program.pid, started) == ()
        os.kill(program.pid, signal.SIGKILL)
        assert program.await_end(10)
        assert left_in_session(program.pid, started) == (child,)
        later = start_ticks(child)
        assert later is not None
        assert left_in_session(program.pid, later + 1) == (), "older than what is meant"
        KillProcess(pid=program.pid, started=started).carry_out()
        assert start_ticks(child) is None


def test_it_is_asked_before_it_is_told(place: Workspace, tmp_path: Path) -> None:
    wish = tmp_path / "wish"
    text = (
        "import os, time\n"
        f"while not os.path.exists({str(wish)!r}): time.sleep(0.01)\n"
        "raise SystemExit(3)"
    )

    def ask(patience_s: float) -> None:
        wish.touch()

    with managed(python(text), name="polite", workspace=place, stop=ask) as program:
        pass
    assert program.poll() == 3


def test_a_wish_that_fails_does_not_keep_the_program(place: Workspace) -> None:
    def ask(patience_s: float) -> None:
        raise RuntimeError("the wire is cut")

    with managed(["sleep", "100"], name="sleeper", workspace=place, stop=ask) as program:
        pass
    assert program.poll() == -signal.SIGTERM


def test_programs_that_hear_nothing_share_the_patience_that_there_is_with_all_of_them(
    place: Workspace,
) -> None:
    """Each alone would be waited for that long, so it is used up and no more than that."""
    assert PATIENCE_S < ASK_S + 3 * TERMINATE_S
    with (
        managed(python(STUBBORN), name="one", workspace=place) as one,
        managed(python(STUBBORN), name="two", workspace=place) as two,
        managed(python(STUBBORN), name="three", workspace=place, stop=time.sleep) as three,
    ):
        while any(program.last_words() != "deaf" for program in (one, two, three)):
            time.sleep(0.01)
    with place.patience(60) as left_s:
        assert left_s == 0
    assert {program.poll() for program in (one, two, three)} == {-signal.SIGKILL}


def test_a_second_signal_does_not_stop_the_stopping(place: Workspace) -> None:
    def interrupted(patience_s: float) -> None:
        signal.raise_signal(signal.SIGINT)

    with (
        pytest.raises(KeyboardInterrupt),
        managed(["sleep", "100"], name="sleeper", workspace=place, stop=interrupted) as program,
    ):
        pass
    assert program.poll() == -signal.SIGTERM


def test_a_kept_program_outlives_its_context_until_it_is_undone(tmp_path: Path) -> None:
    with (
        workspace("a test", tmp_path / "run") as place,
        managed(["sleep", "100"], name="sleeper", workspace=place) as program,
    ):
        place.keep()
    try:
        assert start_ticks(program.pid) is not None
        assert place.folder.exists()
    finally:
        os.kill(program.pid, signal.SIGKILL)
        os.waitpid(program.pid, 0)
