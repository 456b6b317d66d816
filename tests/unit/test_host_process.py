"""Programs of a deployment: how they are started, called, explained, and kept apart."""

from __future__ import annotations

import itertools
import json
import math
import os
import resource
import secrets
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from assertions import known
from machine_tree import script

from vsperf import waits
from vsperf.drivers.generators.dpdk_ports import device_port
from vsperf.drivers.generators.tgen.command import Options
from vsperf.errors import ComponentError, DiedError, NotReadyError
from vsperf.host import process, procfs
from vsperf.host.files import Roots
from vsperf.host.lock import stale_locks
from vsperf.host.lock import testbed_lock as hold
from vsperf.host.open_files import most_open_files
from vsperf.host.own_program import OwnProgram
from vsperf.host.places import VARIABLE, runtime_folder
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
from vsperf.host.procfs import all_listened_at, left_in_session, mapped_files, marked, start_ticks
from vsperf.host.threads import Polling
from vsperf.host.undo import KillProcess
from vsperf.host.workspace import PATIENCE_S, Workspace, workspace
from vsperf.otg.serve import Location
from vsperf.qemu.image import find_image, image_folder
from vsperf.records.run import Placeholder
from vsperf.trust import own_python
from vsperf.trust.programs import program_path, whole
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


# One run per testbed: a second one is refused, and told by whom.


def test_a_second_run_is_refused_and_told_who_holds_the_testbed(tmp_path: Path) -> None:
    root = tmp_path / "run"
    with (
        hold("local", "20260101-first", root),
        pytest.raises(NotReadyError, match="testbed local is in use") as caught,
        hold("local", "20260101-second", root),
    ):
        pass
    why = known(caught.value.problems[0].why)
    assert why.startswith(f"run 20260101-first (process {os.getpid()}) measures on it")


def test_another_testbed_is_free(tmp_path: Path) -> None:
    with hold("local", "first", tmp_path / "run"), hold("lab/7", "second", tmp_path / "run"):
        pass
    assert list(tmp_path.iterdir()) == []


def test_a_testbed_is_free_after_its_run(tmp_path: Path) -> None:
    for name in ("first", "second"):
        with hold("local", name, tmp_path / "run"):
            pass
    assert list(tmp_path.iterdir()) == []


def test_a_testbed_is_free_after_its_run_was_killed(tmp_path: Path) -> None:
    root = tmp_path / "run"
    text = (
        "import os, pathlib, signal\n"
        "from vsperf.host.lock import testbed_lock\n"
        f"with testbed_lock('local', 'first', pathlib.Path({str(root)!r})):\n"
        "    os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    ended = subprocess.run([sys.executable, "-c", text], check=False)
    assert ended.returncode == -signal.SIGKILL
    assert [path.name for path in stale_locks(root)] == ["local.lock"]
    with hold("local", "second", root):
        assert stale_locks(root) == ()
    assert list(tmp_path.iterdir()) == []


# A socket can be called once somebody listens at it, and not as soon as it is there.


def test_a_socket_is_ready_when_somebody_listens(tmp_path: Path) -> None:
    first, other = tmp_path / "first of two", tmp_path / "other"
    with socket.socket(socket.AF_UNIX) as one, socket.socket(socket.AF_UNIX) as two:
        one.bind(str(first))
        assert first.is_socket()
        assert not all_listened_at([first])
        one.listen()
        assert all_listened_at([first])
        assert not all_listened_at([first, other])
        two.bind(str(other))
        two.listen()
        assert all_listened_at([first, other])


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


def test_who_has_hung_up_is_not_there(tmp_path: Path) -> None:
    path = tmp_path / "socket"
    with socket.socket(socket.AF_UNIX) as one:
        one.bind(str(path))
        one.listen()
    assert path.is_socket()
    assert not all_listened_at([path])


def test_a_socket_whose_name_looks_like_lines_of_the_kernels_list_deceives_nobody(
    tmp_path: Path,
) -> None:
    """Any user of the machine can have one, without a file: the list shows its name as it is."""
    path, token = tmp_path / "socket", secrets.token_hex(8)
    other = Path("/") / token
    line = f"0: 00000002 00000000 00010000 0001 01 1 {other}"
    names = [f"\0{token}\nX: no flags of it at all here", f"\0\n{line}\n"]
    with ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket(socket.AF_UNIX)) for _ in (*names, path)]
        for one, name in zip(sockets, (*names, str(path)), strict=True):
            one.bind(name.encode())
        sockets[-1].listen()
        assert line in Path("/proc/net/unix").read_text(errors="replace").splitlines()
        assert all_listened_at([path])
        assert not all_listened_at([other])


def test_a_machine_that_does_not_tell_has_nobody_who_listens(tmp_path: Path) -> None:
    assert not all_listened_at([tmp_path / "socket"], Roots(tmp_path))


# Too few open files are raised where they may be, and named where they may not.


def test_a_program_may_have_as_many_files_open_as_it_may_raise_its_limit_to(tmp_path: Path) -> None:
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    assert hard != resource.RLIM_INFINITY
    allowed = tmp_path / "proc" / "sys" / "fs" / "nr_open"
    allowed.parent.mkdir(parents=True)
    status = tmp_path / "proc" / "self" / "status"
    status.parent.mkdir()

    def most(rights: str, nr_open: int) -> int:
        allowed.write_text(f"{nr_open}\n")
        status.write_text(f"Name:\tit\nCapEff:\t{rights}\n")
        return most_open_files(Roots(tmp_path))

    assert most("000001ffffffffff", 10 * hard) == 10 * hard
    assert most("000001fffeffffff", 10 * hard) == hard
    assert most("000001fffeffffff", 100) == 100


LIMITED = """
import json, os, resource
from vsperf.errors import NotReadyError
from vsperf.host.open_files import allow_open_files, require_open_files
soft, hard = map(int, os.environ["LIMITED"].split())
resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
allow_open_files()
why = None
try:
    require_open_files()
except NotReadyError as error:
    why = error.problems[0].why
print(json.dumps([resource.getrlimit(resource.RLIMIT_NOFILE), why]))
"""


def limited(tmp_path_factory: pytest.TempPathFactory, words: str) -> tuple[list[int], str | None]:
    folder = tmp_path_factory.mktemp("limited")
    (folder / "limited.py").write_text(LIMITED)
    done = subprocess.run(
        own_python.module("limited", folder=folder),
        env={**os.environ, "LIMITED": words},
        capture_output=True,
        text=True,
        check=True,
    )
    found, why = json.loads(done.stdout)
    return found, why


def test_few_are_raised_to_the_usual(tmp_path_factory: pytest.TempPathFactory) -> None:
    assert limited(tmp_path_factory, "32 4096") == ([1024, 4096], None)


def test_many_stay_as_they_are(tmp_path_factory: pytest.TempPathFactory) -> None:
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    few = min(most, 2048)
    assert limited(tmp_path_factory, f"{few} {few}")[0] == [few, few]


def test_too_few_that_nobody_may_raise_are_named(tmp_path_factory: pytest.TempPathFactory) -> None:
    found, why = limited(tmp_path_factory, "64 64")
    assert found == [64, 64]
    assert why is not None
    assert "no more than 64 files may be open at once" in why


# Programs do not run where vsperf was called, and find what users named from there.


@pytest.fixture(name="here")
def fixture_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Give the folder in which vsperf was called, with a program in it."""
    folder = script(tmp_path / "here" / "says-where", "pwd").parent
    monkeypatch.chdir(folder)
    return folder


def test_what_a_deployment_starts_runs_in_its_folder(here: Path, tmp_path: Path) -> None:
    with (
        workspace("a test", tmp_path / "run") as place,
        managed(["./says-where"], name="program", workspace=place) as program,
    ):
        assert program.await_end(30.0)
        assert program.log.read_text() == f"{place.folder}\n"


def test_words_of_the_users_own_are_taken_where_the_user_is(here: Path, tmp_path: Path) -> None:
    with (
        workspace("a test", tmp_path / "run") as place,
        managed(["./says-where"], name="own", workspace=place, folder=here) as program,
    ):
        assert program.await_end(30.0)
        assert program.log.read_text() == f"{here}\n"


@pytest.mark.parametrize("named", ["./says-where", "says-where"])
def test_a_question_is_asked_in_no_folder(
    here: Path, monkeypatch: pytest.MonkeyPatch, named: str
) -> None:
    monkeypatch.setenv("PATH", f".{os.pathsep}{os.environ['PATH']}")
    assert run([named], 30.0).stdout == "/\n"


def test_a_program_is_known_by_its_whole_path(here: Path) -> None:
    environment = {"PATH": ".", "VSPERF_X": "says-where"}
    assert program_path("says-where", environment) == str(here / "says-where")
    assert program_path("says-nothing", environment) is None
    assert OwnProgram("x", "a test").find(environment, here) == here / "says-where"
    assert OwnProgram("says-where", "a test").find(environment, here) == here / "says-where"


def test_what_is_missing_is_built_in_a_checkout_and_copied_where_vsperf_came_as_a_wheel(
    here: Path,
) -> None:
    def fixes() -> Iterator[str]:
        wanted = (lambda: OwnProgram("tgen", "x").find({}, here), lambda: find_image({}, here))
        for find in wanted:
            with pytest.raises(NotReadyError) as caught:
                find()
            yield caught.value.problems[0].fix or ""

    assert all("of a checkout that was set up" in fix for fix in fixes())
    for folder in ("tools/tgen", "vnfs"):
        (here / folder).mkdir(parents=True)
    assert all(fix.startswith("make setup builds it") for fix in fixes())


def test_what_users_name_is_named_wholly(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert whole("image") == str(here / "image")
    assert image_folder({"VSPERF_GUEST": "guest"}) == here / "guest"
    monkeypatch.setenv(VARIABLE, "run")
    assert runtime_folder() == here / "run"


def test_devices_of_dpdk_name_their_files_wholly(here: Path) -> None:
    assert device_port("net_pcap0,rx_pcap=in,tx_pcap=/out").device == (
        f"net_pcap0,rx_pcap={here}/in,tx_pcap=/out"
    )
    assert device_port("net_virtio_user0,path=p,queues=1").device == (
        f"net_virtio_user0,path={here}/p,queues=1"
    )
    in_the_deployment = f"net_virtio_user0,path={Placeholder.RUN}/p"
    for device in ("net_ring0", "net_af_packet0,iface=veth0", in_the_deployment):
        assert device_port(device).device == device
    assert f"path={here}/p0," in Location.of("p1=vhost-user:p0").port(0, Options()).device
