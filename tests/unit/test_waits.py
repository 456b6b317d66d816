"""Waits of vsperf: each ends when somebody asks it to stop, whichever thread hears of it."""

import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from stopping import fixture_watch, struck_elsewhere

from vsperf.host.interrupts import signals_held
from vsperf.host.procfs import is_running, start_ticks
from vsperf.stop import SignalWatch, Terminated, raise_if_stopped
from vsperf.waits import Aside, aside, ended, lines, received, run, sent, sleep, wait_for

__all__ = ["fixture_watch"]

FOR_EVER_S = 3600.0
SLEEPER = ("sleep", "3600")


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
    lambda stack: run((sys.executable, "-c", "import os; os.close(1); os.close(2); input()"), 3600),
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
