"""Ctrl-C, SIGTERM and SIGHUP, and waits that end by them."""

from __future__ import annotations

import fcntl
import gc
import importlib
import os
import re
import signal
import socket
import subprocess
import sys
import termios
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Annotated

import pytest
import yaml
from conftest import Require
from pydantic import BaseModel, ConfigDict, Field, field_validator
from rich.console import Console

from vsperf.host.eventfds import ring
from vsperf.host.procfs import is_running, start_ticks
from vsperf.stop import SignalWatch, Terminated, forget_stop, raise_if_stopped, signals_held
from vsperf.waits import (
    Aside,
    KilledError,
    aside,
    ended,
    lines,
    received,
    run,
    sent,
    sleep,
    wait_for,
)


@pytest.fixture(name="watch")
def fixture_watch() -> Iterator[SignalWatch]:
    watch = SignalWatch.install()
    yield watch
    watch.close()


@contextmanager
def struck_elsewhere(number: signal.Signals = signal.SIGINT) -> Iterator[None]:
    """Have another thread receive a signal, before or amid what is done meanwhile.

    No system call of the main thread is interrupted by that, as none is by a signal which arrives
    a moment before the call.
    """
    begun = threading.Event()

    def strike() -> None:
        begun.wait()
        signal.pthread_kill(threading.get_ident(), number)

    thread = threading.Thread(target=strike)
    thread.start()
    begun.set()
    try:
        yield
    finally:
        thread.join()


# Ctrl-C, SIGTERM and SIGHUP: noted where they arrive, raised at places of vsperf's own only.

CALLED_BACK = """
import signal
from vsperf.cli import main
signal.signal(signal.SIGHUP, signal.SIG_DFL)  # ignored where nohup runs the tests

def called_back(*arguments, **settings):
    {how}

main.cli.main = called_back
main.main()
"""
AMID_A_TEXT = 'exec("import signal; signal.raise_signal(signal.{name})")'
BY_ITSELF = "signal.raise_signal(signal.{name})"
TWICE = "signal.raise_signal(signal.{name}); signal.raise_signal(signal.SIGINT)"


def strike() -> None:
    signal.raise_signal(signal.SIGINT)


def in_a_validator(folder: Path) -> None:
    class Checked(BaseModel):
        value: int

        @field_validator("value")
        @classmethod
        def check(cls, value: int) -> int:
            strike()
            return value

    assert Checked(value=3).value == 3


def while_a_pattern_is_compiled(folder: Path) -> None:
    """The core of pydantic compiles patterns of Python, and asks them for their text."""
    compiled = re.compile

    def compile_struck(*arguments: object, **more: object) -> object:
        strike()
        return compiled(*arguments, **more)  # type: ignore[call-overload]

    re.compile = compile_struck  # type: ignore[assignment]
    try:

        class Named(BaseModel):
            model_config = ConfigDict(regex_engine="python-re")
            name: Annotated[str, Field(pattern="^[A-Za-z]+$")]

        assert Named(name="abc").name == "abc"
    finally:
        re.compile = compiled


def while_a_value_says_its_text(folder: Path) -> None:
    class Odd:
        def __repr__(self) -> str:
            strike()
            return "odd"

    class Number(BaseModel):
        value: int

    with pytest.raises(ValueError, match="value"):
        Number(value=Odd())
    assert repr(Odd()) == "odd"


def in_a_finalizer(folder: Path) -> None:
    class Gone:
        def __del__(self) -> None:
            strike()

    Gone()
    gc.collect()


def in_a_callback_of_a_weak_reference(folder: Path) -> None:
    class Referred:
        pass

    referred = Referred()
    reference = weakref.ref(referred, lambda _: strike())
    del referred
    gc.collect()
    assert reference() is None


def amid_an_import(folder: Path) -> None:
    (folder / "struck_module.py").write_text(
        "import signal\nsignal.raise_signal(signal.SIGINT)\nwhole = True\n"
    )
    sys.path.insert(0, str(folder))
    try:
        assert importlib.import_module("struck_module").whole
    finally:
        sys.path.remove(str(folder))
        sys.modules.pop("struck_module", None)


def in_a_constructor_of_yaml(folder: Path) -> None:
    class Loader(yaml.SafeLoader):
        pass

    def construct(loader: yaml.SafeLoader, node: yaml.ScalarNode) -> str:
        strike()
        return str(loader.construct_scalar(node))

    Loader.add_constructor("!struck", construct)
    assert yaml.load("a: !struck b", Loader) == {"a": "b"}


def while_rich_renders(folder: Path) -> None:
    class Shown:
        def __rich__(self) -> str:
            strike()
            return "shown"

    with (folder / "said").open("w") as file:
        Console(file=file).print(Shown())
    assert (folder / "said").read_text() == "shown\n"


def while_a_list_is_sorted(folder: Path) -> None:
    def key(value: int) -> int:
        strike()
        return value

    assert sorted([2, 1], key=key) == [1, 2]


@pytest.mark.parametrize(
    "foreign",
    [
        in_a_validator,
        while_a_pattern_is_compiled,
        while_a_value_says_its_text,
        in_a_finalizer,
        in_a_callback_of_a_weak_reference,
        amid_an_import,
        in_a_constructor_of_yaml,
        while_rich_renders,
        while_a_list_is_sorted,
    ],
)
def test_foreign_code_comes_to_its_end_and_the_next_step_of_ours_stops(
    foreign: Callable[[Path], None],
    tmp_path: Path,
    watch: SignalWatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    foreign(tmp_path)
    assert watch.pending is KeyboardInterrupt, "it was not struck"
    with pytest.raises(KeyboardInterrupt):
        raise_if_stopped()
    assert capfd.readouterr() == ("", "")


def test_a_wish_to_stop_is_raised_once(watch: SignalWatch) -> None:
    strike()
    with pytest.raises(KeyboardInterrupt):
        raise_if_stopped()
    raise_if_stopped()


def test_the_first_of_several_signals_decides(watch: SignalWatch) -> None:
    signal.raise_signal(signal.SIGTERM)
    strike()
    with pytest.raises(Terminated):
        raise_if_stopped()
    raise_if_stopped()


def test_a_thread_is_told_nothing_and_the_main_one_is(watch: SignalWatch) -> None:
    strike()
    thread = threading.Thread(target=raise_if_stopped)
    thread.start()
    thread.join()
    with pytest.raises(KeyboardInterrupt):
        raise_if_stopped()


def test_signals_that_are_held_are_raised_after_what_must_not_be_stopped(
    watch: SignalWatch,
) -> None:
    with signals_held():
        strike()
        strike()
        raise_if_stopped()
    with pytest.raises(KeyboardInterrupt):
        raise_if_stopped()
    raise_if_stopped()


def test_what_ended_for_a_wish_to_stop_is_not_stopped_for_another(watch: SignalWatch) -> None:
    strike()
    forget_stop()
    raise_if_stopped()


def test_an_ignored_signal_stays_ignored() -> None:
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        watch = SignalWatch.install()
        strike()
        raise_if_stopped()
        assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
        watch.close()
    finally:
        signal.signal(signal.SIGINT, before)


def test_there_is_a_way_out_of_what_hangs() -> None:
    """The kernel ends a program at SIGQUIT, which a terminal sends for a Ctrl and a backslash.

    Unless whoever started it had that ignored, as a shell does in the background.
    """
    before = signal.getsignal(signal.SIGQUIT)
    watch = SignalWatch.install()
    try:
        assert signal.getsignal(signal.SIGQUIT) is before
    finally:
        watch.close()


def test_no_program_that_is_started_has_the_descriptors(watch: SignalWatch) -> None:
    assert not os.get_inheritable(watch.waker)
    written = signal.set_wakeup_fd(-1)
    signal.set_wakeup_fd(written)
    assert not os.get_inheritable(written)


@pytest.mark.parametrize("how", [BY_ITSELF, AMID_A_TEXT, TWICE])
@pytest.mark.parametrize(("name", "code"), [("SIGINT", 130), ("SIGTERM", 143), ("SIGHUP", 143)])
def test_a_command_that_is_told_to_stop_ends_with_the_documented_exit_code(
    name: str, code: int, how: str, tmp_path: Path
) -> None:
    (tmp_path / "interrupted.py").write_text(CALLED_BACK.format(how=how.format(name=name)))
    environ = {**os.environ, "PYTHONPATH": f"{tmp_path}:{Path.cwd()}"}
    command = [sys.executable, "-m", "interrupted"]
    ended = subprocess.run(command, env=environ, capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stderr) == (code, "")


@pytest.mark.parametrize(("name", "code"), [("SIGINT", 130), ("SIGTERM", 143)])
def test_a_signal_amid_the_import_of_all_commands_is_no_traceback(
    name: str, code: int, tmp_path: Path
) -> None:
    """vsperf listens before it imports what takes long."""
    program = (
        "import signal, sys\n"
        "class Struck:\n"
        "    def find_spec(self, name, *more):\n"
        "        if name == 'click.core':\n"
        f"            signal.raise_signal(signal.{name})\n"
        "sys.meta_path.insert(0, Struck())\n"
        "from vsperf.__main__ import main\n"
        "sys.argv[1:] = ['list']\n"
        "main()\n"
    )
    ended = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )
    assert (ended.returncode, ended.stdout, ended.stderr.strip()) == (code, "", "")


@pytest.mark.parametrize(
    ("words", "stream"),
    [
        (("schema", "testcase"), "stdout"),
        (("run", "phy2phy_tput", "--testbed", "sim", "--progress", "json"), "stderr"),
    ],
)
@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_reader_who_does_not_read_keeps_nobody_from_stopping(
    words: tuple[str, ...], stream: str, number: signal.Signals, code: int, tmp_path: Path
) -> None:
    reader, writer = os.pipe()
    room = fcntl.fcntl(writer, fcntl.F_SETPIPE_SZ, 8192)
    other = tmp_path / "other"
    with other.open("wb") as file:
        process = subprocess.Popen(
            [sys.executable, "-m", "vsperf", *words],
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": str(Path.cwd())},
            stdout=writer if stream == "stdout" else file,
            stderr=writer if stream == "stderr" else file,
        )
    os.close(writer)
    try:
        while waiting_in(reader) < room // 2:
            assert process.poll() is None
            time.sleep(0.005)
        process.send_signal(number)
        assert process.wait(60) == code
    finally:
        process.kill()
        process.wait()
        os.close(reader)
    assert "Traceback" not in other.read_text()


def waiting_in(pipe: int) -> int:
    """Return how many bytes of a pipe nobody has read."""
    answer = fcntl.ioctl(pipe, termios.FIONREAD, bytes(4))
    return int.from_bytes(answer, sys.byteorder)


# Waits of vsperf: each ends when somebody asks it to stop, whichever thread hears of it.

FOR_EVER_S = 3600.0
SLEEPER = ("sleep", "3600")
SILENT = ("sh", "-c", "exec sleep 3600 >&- 2>&-")
"""Nothing more is to be read of it, and only its end is waited for."""


@pytest.fixture(name="sleeper")
def fixture_sleeper() -> Iterator[subprocess.Popen[bytes]]:
    with subprocess.Popen(SLEEPER) as program:
        yield program
        program.kill()


def pair(stack: ExitStack) -> tuple[socket.socket, socket.socket]:
    one, other = socket.socketpair()
    return stack.enter_context(one), stack.enter_context(other)


def hear(stack: ExitStack) -> None:
    received(pair(stack)[0], 1)


def say_much(stack: ExitStack) -> None:
    sent(pair(stack)[0], bytes(1 << 24))


def read_lines(stack: ExitStack) -> None:
    reader, writer = os.pipe()
    stack.callback(os.close, writer)
    list(lines(stack.enter_context(os.fdopen(reader, "rb"))))


def call_foreign_code(stack: ExitStack) -> None:
    over = threading.Event()
    stack.callback(over.set)
    aside(over.wait)


WAITS: list[Callable[[ExitStack], object]] = [
    lambda stack: sleep(FOR_EVER_S),
    lambda stack: wait_for((), None),
    lambda stack: wait_for((pair(stack)[0].fileno(),), FOR_EVER_S),
    lambda stack: run(SLEEPER, FOR_EVER_S),
    lambda stack: run(SILENT, FOR_EVER_S),
    hear,
    say_much,
    read_lines,
    call_foreign_code,
]


@pytest.mark.parametrize("wait", WAITS)
@pytest.mark.parametrize(
    ("number", "error"), [(signal.SIGINT, KeyboardInterrupt), (signal.SIGTERM, Terminated)]
)
def test_a_wait_ends_when_somebody_asks_to_stop(
    wait: Callable[[ExitStack], object],
    number: signal.Signals,
    error: type[KeyboardInterrupt],
    watch: SignalWatch,
) -> None:
    with ExitStack() as stack, pytest.raises(error), struck_elsewhere(number):
        wait(stack)


def test_the_wait_for_the_end_of_a_program_ends_as_well(
    watch: SignalWatch, sleeper: subprocess.Popen[bytes]
) -> None:
    with pytest.raises(KeyboardInterrupt), struck_elsewhere():
        ended(sleeper.pid, FOR_EVER_S)
    assert sleeper.poll() is None


@pytest.mark.parametrize("wait", WAITS)
def test_a_signal_before_a_wait_is_not_slept_through(
    wait: Callable[[ExitStack], object], watch: SignalWatch
) -> None:
    signal.raise_signal(signal.SIGINT)
    with ExitStack() as stack, pytest.raises(KeyboardInterrupt):
        wait(stack)


def test_a_signal_that_nobody_has_looked_at_ends_a_wait_that_goes_on(watch: SignalWatch) -> None:
    """As one that arrives between the look and the wait: the interpreter has written, no handler
    has run."""
    written = signal.set_wakeup_fd(-1)
    signal.set_wakeup_fd(written, warn_on_full_buffer=False)
    os.write(written, bytes([signal.SIGINT]))
    thread = threading.Timer(0.0, lambda: watch(signal.SIGINT, None))
    thread.start()
    with pytest.raises(KeyboardInterrupt):
        while True:
            wait_for((), 0.001)
    thread.join()


def test_a_program_that_is_waited_for_is_ended_when_vsperf_is_to_stop(
    watch: SignalWatch, tmp_path: Path
) -> None:
    note, started = tmp_path / "pid", []

    def strike_when_it_runs() -> None:
        while not note.exists():
            time.sleep(0.005)
        pid = int(note.read_text())
        started.append((pid, start_ticks(pid)))
        signal.pthread_kill(threading.get_ident(), signal.SIGINT)

    thread = threading.Thread(target=strike_when_it_runs, daemon=True)
    thread.start()
    script = f"echo $$ >{note}.new; mv {note}.new {note}; exec sleep 3600"
    with pytest.raises(KeyboardInterrupt):
        run(("sh", "-c", script), FOR_EVER_S)
    thread.join()
    ((pid, ticks),) = started
    assert ticks is not None
    assert not is_running(pid, ticks)


def test_another_signal_ends_no_wait(watch: SignalWatch) -> None:
    heard: list[int] = []
    before = signal.signal(signal.SIGUSR1, lambda number, frame: heard.append(number))
    try:
        began = time.monotonic()
        with struck_elsewhere(signal.SIGUSR1):
            sleep(0.2)
        assert time.monotonic() - began >= 0.2
        assert heard == [signal.SIGUSR1]
    finally:
        signal.signal(signal.SIGUSR1, before)


def test_a_pause_is_never_shorter_than_asked_for(watch: SignalWatch) -> None:
    for seconds in (0.0, 0.0005, 0.0021, 0.013):
        began = time.monotonic()
        sleep(seconds)
        assert time.monotonic() - began >= seconds


def test_a_thread_waits_to_the_end(watch: SignalWatch) -> None:
    signal.raise_signal(signal.SIGINT)
    slept: list[bool] = []

    def pause() -> None:
        sleep(0.05)
        slept.append(True)

    thread = threading.Thread(target=pause)
    thread.start()
    thread.join()
    assert slept == [True]
    with pytest.raises(KeyboardInterrupt):
        raise_if_stopped()


def test_an_undo_waits_to_the_end_and_what_arrived_is_raised_by_the_next_wait(
    watch: SignalWatch,
) -> None:
    with signals_held(), struck_elsewhere():
        sleep(0.05)
        assert run(("echo", "undone"), FOR_EVER_S).stdout == "undone\n"
    with pytest.raises(KeyboardInterrupt):
        sleep(FOR_EVER_S)


def test_a_program_is_run_to_its_end() -> None:
    done = run(("sh", "-c", "cat; echo no >&2; exit 3"), FOR_EVER_S, given="yes\n")
    assert (done.returncode, done.stdout, done.stderr) == (3, "yes\n", "no\n")
    much = run((sys.executable, "-c", "print('x' * 1_000_000)"), FOR_EVER_S)
    assert len(much.stdout) == 1_000_001
    assert run(("env",), FOR_EVER_S, environment={"A": "b"}).stdout == "A=b\n"


def test_a_program_that_takes_too_long_is_killed() -> None:
    with pytest.raises(subprocess.TimeoutExpired):
        run(SLEEPER, 0.01)


def test_what_a_program_said_that_was_killed_is_no_answer() -> None:
    with pytest.raises(KilledError, match="it was killed by SIGTERM") as killed:
        run(("sh", "-c", "echo half; kill -TERM $$"), FOR_EVER_S)
    assert killed.value.done.stdout == "half\n"


def test_a_program_that_does_not_read_is_no_failure() -> None:
    assert run(("true",), FOR_EVER_S, given="unread").returncode == 0


def test_what_fails_in_a_thread_fails_where_it_was_called(watch: SignalWatch) -> None:
    def fail() -> None:
        raise ValueError("so")

    with pytest.raises(ValueError, match="so"):
        aside(fail)
    assert aside(lambda: 3) == 3


def test_what_goes_on_aside_is_looked_at_without_waiting() -> None:
    over = threading.Event()
    beside = Aside(over.wait)
    assert not beside.over(0.0)
    over.set()
    assert beside.returned() is True
    assert beside.over(0.0)


def test_lines_come_whole_and_the_last_one_too() -> None:
    reader, writer = os.pipe()
    os.write(writer, b"one\ntw")
    os.write(writer, b"o\nthree")
    os.close(writer)
    with os.fdopen(reader, "rb") as stream:
        assert list(lines(stream)) == ["one", "two", "three"]


def test_a_socket_that_nobody_speaks_into_is_given_up_in_its_own_time() -> None:
    with ExitStack() as stack:
        connection, _ = pair(stack)
        connection.settimeout(0.01)
        with pytest.raises(TimeoutError):
            received(connection, 1)
        with pytest.raises(TimeoutError):
            sent(connection, bytes(1 << 24))


def test_a_socket_that_was_closed_is_an_error_of_the_system() -> None:
    with ExitStack() as stack:
        connection, _ = pair(stack)
        connection.close()
        with pytest.raises(OSError, match="Bad file descriptor"):
            received(connection, 1)
        with pytest.raises(OSError, match="Bad file descriptor"):
            sent(connection, b"x")


# Event descriptors of another process are signalled, and nothing else of it is touched.

WAITS_EVENTFDS = "import os; os.write(1, b'%d' % os.eventfd_read(int(os.sys.argv[1])))"


def test_who_waits_at_an_event_descriptor_is_woken(require: Require) -> None:
    require("root")  # others may not look into every process
    bell = os.eventfd(0)
    with subprocess.Popen(
        [sys.executable, "-c", WAITS_EVENTFDS, str(bell)], pass_fds=(bell,), stdout=subprocess.PIPE
    ) as waiting:
        os.close(bell)
        assert ring(waiting.pid) == 1
        said, _ = waiting.communicate(timeout=60)
    assert said == b"1"


def test_a_process_without_any_is_left_alone(tmp_path: Path) -> None:
    folder = tmp_path / "7/fd"
    folder.mkdir(parents=True)
    (folder / "0").symlink_to("/dev/null")
    assert ring(7, proc=tmp_path) == 0
