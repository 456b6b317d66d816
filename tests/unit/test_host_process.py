"""Programs of a deployment: how they are started, called, explained, and ended."""

from __future__ import annotations

import itertools
import math
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from assertions import known
from machine_tree import script

from vsperf import waits
from vsperf.errors import ComponentError, DiedError, NotReadyError
from vsperf.host import process, procfs
from vsperf.host.process import (
    ASK_S,
    MOST_READ,
    TAIL_BYTES,
    TERMINATE_S,
    log_of,
    managed,
    written,
    written_since,
)
from vsperf.host.procfs import left_in_session, mapped_files, marked, start_ticks
from vsperf.host.threads import Polling
from vsperf.host.undo import KillProcess
from vsperf.host.workspace import PATIENCE_S, Workspace, workspace
from vsperf.waits import run

# Programs of a deployment: there when ready, gone when left, and their end explained.

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


LEAVES = """
import ctypes, os, platform, threading, time
threading.Thread(target=lambda: (time.sleep(0.3), os._exit(7))).start()
ctypes.CDLL(None).syscall({"x86_64": 60, "aarch64": 93}[platform.machine()], 0)
"""
"""Its first thread ends, and another one a moment later, as those of a program that is killed."""


def test_one_on_its_way_out_is_waited_for(place: Workspace) -> None:
    """Who was connected to it may have seen that already, and is not to be blamed for it."""
    with managed(python(LEAVES), name="leaver", workspace=place) as program:
        while not procfs.is_ending(program.pid):
            waits.sleep(0.01)
        assert program.poll() == 7


@pytest.mark.parametrize(
    ("flags", "waiting", "ends"), [(0, 0, False), (4, 0, True), (0, 256, True)]
)
def test_one_that_was_killed_and_has_no_cpu_yet_is_on_its_way_out(
    flags: int, waiting: int, ends: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    told = (7, 7, 7, 0, -1, flags, *[0] * 21, waiting, *[0] * 20)
    monkeypatch.setattr(procfs, "_status", lambda _pid: ["R", *map(str, told)])
    assert procfs.is_ending(7) is ends


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


def test_who_ended_first_is_named_and_not_who_could_not_start_without_it(place: Workspace) -> None:
    with managed(["sleep", "100"], name="daemon", workspace=place) as daemon:
        daemon.process.kill()

        def ready() -> bool:
            while marked(f"{place.name}/client"):
                time.sleep(0.01)
            return False

        with (
            pytest.raises(DiedError, match="daemon was lost while client started"),
            managed(["false"], name="client", workspace=place, ready=ready),
        ):
            pass


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


def test_time_in_which_a_program_got_no_cpu_is_none_of_its_own(
    place: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(process, "waited_for_cpu_ns", lambda pid, roots: 300_000_000)
    began = time.monotonic()
    with (
        pytest.raises(ComponentError, match=r"not ready within 0\.2 s, beside 0\.3 s without"),
        managed(["sleep", "9"], name="kept", workspace=place, ready=lambda: False, timeout_s=0.2),
    ):
        pass
    assert time.monotonic() - began > 0.5


def test_a_program_that_never_gets_a_cpu_is_not_waited_for_without_end(
    place: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    began = time.monotonic()
    monkeypatch.setattr(
        process, "waited_for_cpu_ns", lambda pid, roots: (time.monotonic() - began) * 1e9
    )
    with (
        pytest.raises(ComponentError, match=r"not ready within 0\.05 s, beside 0\.[45] s without"),
        managed(["sleep", "9"], name="kept", workspace=place, ready=lambda: False, timeout_s=0.05),
    ):
        pass


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


def test_who_is_held_by_a_debugger_stands_still_and_who_is_watched_by_strace_does_not(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Both are in the same state when they are looked at: what is watched goes on between looks."""
    traced = "import ctypes, os, signal; ctypes.CDLL(None).ptrace(0); os.kill(os.getpid(), 19)"
    with subprocess.Popen([sys.executable, "-c", traced]) as child:
        try:
            os.waitid(os.P_PID, child.pid, os.WSTOPPED | os.WNOWAIT)
            monkeypatch.setattr(procfs, "HELD_S", 0.05)
            assert procfs.is_stopped(child.pid)
            monkeypatch.setattr(procfs, "HELD_S", math.inf)
            calls = itertools.count()
            monkeypatch.setattr(procfs, "_switches", lambda pid: next(calls))
            assert not procfs.is_stopped(child.pid)
        finally:
            child.kill()


def test_a_program_that_took_the_place_of_another_counts_in_its_stead(place: Workspace) -> None:
    with managed(["sleep", "100"], name="daemon", workspace=place) as old:
        old.process.kill()
        assert old.await_end(60.0)
        with managed(["sleep", "100"], name="daemon", workspace=place):
            place.attend("while others started")


def test_who_was_asked_for_its_exit_code_is_not_looked_for_by_its_number_any_more(
    place: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """From then on the kernel may give its number to another, who stands still."""
    with managed(["false"], name="brief", workspace=place) as program:
        assert program.await_end(60.0)
        monkeypatch.setattr(process, "is_stopped", lambda pid: True)
        assert program.ending() == "ended with exit code 1"


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


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("odd --colour\nUsage: ./odd [options]\n -c COLOUR\n", "odd --colour"),
        (
            "usage: odd [options]\nodd: error: --colour",
            "usage: odd [options] | odd: error: --colour",
        ),
        ("a\nUsage: 12 MB\nb", "a | Usage: 12 MB | b"),
        ("a\nUsage: even [options]\nb", "a | Usage: even [options] | b"),
    ],
)
def test_what_stood_before_a_list_of_options_are_the_last_words(
    place: Workspace, text: str, said: str
) -> None:
    """DPDK's programs say what was wrong with one, and list all there are when they end."""
    program = script(place.folder / "odd", f"cat <<'E'\n{text}\nE\nexec sleep 100")
    with managed([str(program)], name="odd", workspace=place) as running:
        while text.strip() not in written("odd", place):
            time.sleep(0.01)
        assert running.last_words() == said


def test_what_a_program_started_ends_with_it(place: Workspace) -> None:
    text = (
        "import subprocess, time; subprocess.Popen(['sleep', '100'], start_new_session=True);"
        "print('both', flush=True); time.sleep(100)"
    )
    mark = f"{place.name}/parent"

    def ready() -> bool:
        """Say that the child is a program of its own: on the way there it shows no mark."""
        return "both" in written("parent", place) and len(marked(mark)) == 2

    with managed(python(text), name="parent", workspace=place, ready=ready):
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
        later = known(start_ticks(child))
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
        program.process.wait()  # however late the machine lets it end

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


# A program may write without end: no more than the last part is read, and then it has failed.


def test_of_a_log_that_is_too_long_the_last_part_is_read(place: Workspace) -> None:
    log = log_of("wordy", place)
    assert written("wordy", place) == ""
    log.write_text("begin\n" + "again\n" * 1000 + "end\n")
    assert written("wordy", place).startswith("begin\nagain\n")
    assert written_since(log, most=8) == (6002, b"ain\nend\n")
    assert written_since(log, place=6006, most=8) == (6006, b"end\n")
    assert written_since(log, place=6010) == (6010, b"")
    os.truncate(log, 1 << 40)
    assert len(written("wordy", place)) == MOST_READ


def test_a_program_whose_log_has_no_end_has_failed(
    place: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(process, "MOST_WRITTEN", 1 << 20)
    with managed(["sleep", "100"], name="wordy", workspace=place) as program:
        with program.log.open("wb") as log:
            log.truncate(1 << 20)
            assert program.failure() is None
            log.seek(0, os.SEEK_END)
            log.write(b"\n" * TAIL_BYTES + b"no route\n")
        words = "has written more than 1 MB, and goes on; its last words: no route"
        assert program.failure() == words
        with pytest.raises(DiedError, match="wordy was lost while nothing happened"):
            place.attend("while nothing happened")


# A program that is only asked is neither heard out without end nor waited for in vain.


def test_a_program_that_speaks_without_end_is_not_heard_out(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(waits, "MOST_SAID", 1 << 20)
    with pytest.raises(OSError, match="it says more than 1 MB"):
        run(("head", "-c", "8M", "/dev/zero"), 30.0)


def test_a_program_is_not_waited_for_once_whom_it_asks_is_gone() -> None:
    looks: list[float] = []

    def look() -> None:
        looks.append(time.monotonic())
        if len(looks) == 3:
            raise ComponentError("the server ended")

    with pytest.raises(ComponentError, match="the server ended"):
        run(("sleep", "100"), 100.0, look=look)
    assert run(("echo", "done"), 30.0, look=lambda: None).stdout == "done\n"
    with pytest.raises(subprocess.TimeoutExpired):
        run(("sleep", "100"), 0.3, look=lambda: None)
