"""Waits, each of which ends at once when somebody asks vsperf to stop.

The interpreter begins a system call again when a handler did not raise, so a plain `time.sleep` or
`Popen.wait` takes no notice of Ctrl-C. These watch the descriptor that it is told by. In threads
other than the main one, and while signals are held back, they are plain waits.
"""

from __future__ import annotations

import errno
import io
import os
import select
import signal
import socket
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import IO, Any, Generic, TypeVar

from vsperf.stop import SignalWatch, raise_if_stopped
from vsperf.trust.programs import NOWHERE, program_path

CHUNK = 1 << 16
FINE_S = 0.002
"""The kernel polls in milliseconds; what is left of a pause below them is slept."""

MOST_SAID = 256 << 20
"""Bytes of a program that is run to its end: nothing that is asked for is as long."""
LOOK_S = 0.2
"""How often one looks meanwhile after that which a program asks."""
READER_S = 1.0
"""Patience with somebody who reads what vsperf says, once it is to stop."""

Result = TypeVar("Result")


def sleep(seconds: float) -> None:
    """Pause for so long, to the precision of `time.sleep`."""
    raise_if_stopped()
    until = time.monotonic() + seconds
    while (left := until - time.monotonic()) > FINE_S:
        wait_for((), left - FINE_S / 2)
    time.sleep(max(0.0, left))


def wait_for(
    readable: Sequence[int], seconds: float | None, *, writable: Sequence[int] = ()
) -> frozenset[int]:
    """Wait for the first of these descriptors, for ever or so long; return those that are ready.

    One that was closed on the other side is ready, too.
    """
    watch = SignalWatch.installed()
    poll = select.poll()
    for descriptor in readable:
        poll.register(descriptor, select.POLLIN)
    for descriptor in writable:
        poll.register(descriptor, select.POLLOUT)
    if watch is not None:
        poll.register(watch.waker, select.POLLIN)
    until = None if seconds is None else time.monotonic() + seconds
    while True:
        raise_if_stopped()
        left = None if until is None else max(0.0, until - time.monotonic())
        ready = frozenset(one for one, _ in poll.poll(None if left is None else left * 1000))
        if watch is not None and watch.waker in ready:
            watch.settle()
            raise_if_stopped()
            ready -= {watch.waker}
        if ready or left == 0.0:
            return ready


def ended(pid: int, seconds: float | None) -> bool:
    """Wait for the end of a process, child or not; say whether it came."""
    try:
        descriptor = os.pidfd_open(pid)
    except ProcessLookupError:
        return True
    try:
        return bool(wait_for((descriptor,), seconds))
    finally:
        os.close(descriptor)


def how_it_ended(code: int) -> str:
    """Return how a program ended that has this exit code, which is negative for a signal."""
    if code >= 0:
        return f"ended with exit code {code}"
    try:
        return f"was killed by {signal.Signals(-code).name}"
    except ValueError:
        return f"was killed by signal {-code}"


def received(connection: socket.socket, size: int) -> bytes:
    """Receive up to so many bytes; raises as `socket.recv` does, after the socket's own time."""
    closed = connection.fileno() < 0  # then the socket itself says so
    if not closed and not wait_for((connection.fileno(),), connection.gettimeout()):
        raise TimeoutError("timed out")
    return connection.recv(size)


def sent(connection: socket.socket, data: bytes) -> None:
    """Send all of it; raises as `socket.sendall` does, after the socket's own time."""
    patience_s = connection.gettimeout()
    until = None if patience_s is None else time.monotonic() + patience_s
    left = memoryview(data)
    while left:
        rest_s = None if until is None else max(0.0, until - time.monotonic())
        closed = connection.fileno() < 0
        if not closed and not wait_for((), rest_s, writable=(connection.fileno(),)):
            raise TimeoutError("timed out")
        with suppress(BlockingIOError):
            left = left[connection.send(left, socket.MSG_DONTWAIT) :]


def lines(stream: IO[Any]) -> Iterator[str]:
    """Yield the lines of a pipe, file or terminal of which nothing has been read, as they come."""
    rest = b""
    while wait_for((stream.fileno(),), None) and (chunk := os.read(stream.fileno(), CHUNK)):
        *whole, rest = (rest + chunk).split(b"\n")
        yield from (line.decode(errors="replace") for line in whole)
    if rest:
        yield rest.decode(errors="replace")


class Outlet(io.RawIOBase):
    """Where foreign code writes to; what writes into a pipe that nobody empties waits as well.

    Its middle is no place to raise a wish to stop at. So it is told what it knows: nobody reads.
    """

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._patience_s = READER_S

    def writable(self) -> bool:
        return True

    def fileno(self) -> int:
        return self._descriptor

    def isatty(self) -> bool:
        return os.isatty(self._descriptor)

    def write(self, data: Any) -> int:
        """Write no more at once than a pipe takes without waiting, once it has room for it."""
        if not self._has_room():
            self._patience_s = 0.0
            raise BrokenPipeError(errno.EPIPE, "nobody reads, and vsperf is to stop")
        return os.write(self._descriptor, memoryview(data)[: select.PIPE_BUF])

    def _has_room(self) -> bool:
        watch = SignalWatch.installed()
        if watch is None:
            return True
        poll = select.poll()
        poll.register(self._descriptor, select.POLLOUT)
        poll.register(watch.waker, select.POLLIN)
        while True:
            asked = watch.asked is not None
            ready = {one for one, _ in poll.poll(self._patience_s * 1000 if asked else None)}
            if self._descriptor in ready or (asked and not ready):
                return self._descriptor in ready
            watch.settle()


class Aside(Generic[Result]):
    """What waits by itself, called in a thread of its own, which ends with the program.

    So foreign code never sees the wish to stop, and whoever waits for it here does at once.
    """

    _done = -1

    def __init__(self, call: Callable[[], Result]) -> None:
        self._call = call
        self._result: list[Result] = []
        self._error: Exception | None = None
        self._done, self._finished = os.pipe2(os.O_CLOEXEC)
        self._thread = threading.Thread(target=self._carry_out, name="aside", daemon=True)
        self._thread.start()

    def over(self, seconds: float | None = None) -> bool:
        """Wait for its end, for ever or so long; say whether it came."""
        return bool(wait_for((self._done,), seconds))

    def returned(self, patience_s: float | None = None) -> Result:
        """Wait for its end, for ever or so long, and return or raise what it did.

        What has not ended in time goes on by itself, and nobody hears of it any more.
        """
        if not self.over(patience_s):
            raise TimeoutError(f"it took more than {patience_s:g} s")
        if self._error is not None:
            raise self._error
        return self._result[0]

    def _carry_out(self) -> None:
        try:
            self._result.append(self._call())
        except Exception as error:  # handed to whoever asks for the result
            self._error = error
        finally:
            os.close(self._finished)

    def __del__(self) -> None:
        if self._done >= 0:
            os.close(self._done)


def aside(call: Callable[[], Result], patience_s: float | None = None) -> Result:
    """Return what foreign code returns that waits by itself, such as a client of HTTP.

    With `patience_s` it raises `TimeoutError` after so long, however the other side keeps it busy.
    """
    if patience_s is None and SignalWatch.installed() is None:
        return call()
    return Aside(call).returned(patience_s)


class KilledError(OSError):
    """A program was killed: what it said by then is no answer, and says nothing of what it can."""

    def __init__(self, done: subprocess.CompletedProcess[str]) -> None:
        super().__init__(f"it {how_it_ended(done.returncode)}")
        self.done = done


def run(
    argv: Sequence[str],
    patience_s: float,
    *,
    environment: Mapping[str, str] | None = None,
    given: str = "",
    look: Callable[[], None] | None = None,
) -> subprocess.CompletedProcess[str]:
    """Run a program to its end, with little to read, and return what it wrote.

    `look` is called now and then meanwhile: what it raises ends the program, which may wait for
    the answer of one that is no more.

    Raises OSError where it cannot be started, was killed or speaks without end, and
    `subprocess.TimeoutExpired` where it did not end in time. It is killed then, as it is when
    vsperf is to stop. It has no working directory to look into, so paths among its words are whole
    ones.
    """
    until = time.monotonic() + patience_s
    with subprocess.Popen(  # noqa: S603 - an argument vector of our own
        argv,
        executable=program_path(argv[0], environment),
        cwd=NOWHERE,
        stdin=subprocess.PIPE if given else subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment,
        start_new_session=True,  # Ctrl-C is for vsperf, which then kills it
    ) as process:
        try:
            output, errors = _written(process, given, until, look)
            if not ended(process.pid, max(0.0, until - time.monotonic())):
                raise TimeoutError
        except TimeoutError as error:
            process.kill()
            raise subprocess.TimeoutExpired(argv, patience_s) from error
        except BaseException:
            process.kill()
            raise
    text, complaints = (said.decode(errors="replace") for said in (output, errors))
    done = subprocess.CompletedProcess(argv, process.returncode, text, complaints)
    if done.returncode < 0:
        raise KilledError(done)
    return done


def _written(
    process: subprocess.Popen[bytes], given: str, until: float, look: Callable[[], None] | None
) -> tuple[bytes, bytes]:
    """Give a program what it reads, and return what it wrote until it had no more to say."""
    if process.stdin is not None:
        with suppress(BrokenPipeError), process.stdin as stdin:  # less than a pipe holds
            stdin.write(given.encode())
    streams = [one for one in (process.stdout, process.stderr) if one is not None]
    said = {one.fileno(): bytearray() for one in streams}
    open_ones = [*said]
    while open_ones:
        left = max(0.0, until - time.monotonic())
        ready = wait_for(open_ones, left if look is None else min(left, LOOK_S))
        if not ready and time.monotonic() >= until:
            raise TimeoutError
        if look is not None:
            look()
        for one in ready:
            chunk = os.read(one, CHUNK)
            said[one] += chunk
            if len(said[one]) > MOST_SAID:
                raise OSError(errno.EFBIG, f"it says more than {MOST_SAID >> 20} MB")
            if not chunk:
                open_ones.remove(one)
    output, errors = said.values()
    return bytes(output), bytes(errors)
