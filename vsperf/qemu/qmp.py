"""The conversation with QEMU itself, over QMP: synchronous, each question with a deadline.

The library for it is asynchronous, so it gets an event loop of its own, in a thread. There no
signal can interrupt it half-way, and the end of QEMU is noticed also while nobody asks.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Coroutine
from concurrent.futures import Future, wait
from concurrent.futures import TimeoutError as FutureTimeoutError
from contextlib import suppress
from pathlib import Path
from typing import Any, Self, TypeVar

from qemu.qmp import QMPClient, QMPError, Runstate

from vsperf.errors import ComponentError
from vsperf.stop import raise_if_stopped

CLOSE_S = 0.5
HEARTBEAT_S = 5.0
"""QEMU that leaves a question open for longer does not work any more."""
LOOK_S = 0.1
"""Between two looks at something else while an answer is waited for."""
RUNNING = frozenset({"running", "prelaunch", "inmigrate"})
"""States in which a VM works, or is about to."""

Result = TypeVar("Result")


class Monitor:
    """A connection to one QEMU process; made by `connect`."""

    def __init__(self, name: str) -> None:
        self.name = name
        """Of the VM, for errors."""
        self._client = QMPClient(name)
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._run, name=f"QMP of {name}", daemon=True)
        self._heartbeat: tuple[float, Future[Any]] | None = None
        self._thread.start()

    @classmethod
    def connect(
        cls, name: str, path: Path, timeout_s: float, look: Callable[[], None] = lambda: None
    ) -> Self:
        """Connect to QEMU's socket; it answers once its devices are there.

        A device on vhost-user is there when the switch has answered. `look` is called meanwhile,
        and raises when it never will.
        """
        monitor = cls(name)
        try:
            monitor._call(monitor._client.connect(str(path)), timeout_s, "its greeting", look)
        except BaseException:
            monitor.close()
            raise
        return monitor

    def execute(self, command: str, timeout_s: float, **arguments: object) -> Any:
        """Return QEMU's answer to a command."""
        asked = self._client.execute(command, arguments or None)
        return self._call(asked, timeout_s, f"`{command}`")

    def reset(self, timeout_s: float) -> None:
        """Start the VM anew, as when its guest reboots, and return once the old guest is gone.

        From then on each reset starts it anew: firmware that finds itself in memory makes another.
        """

        async def reset() -> None:
            await self._client.execute("set-action", {"reboot": "reset"})
            with self._client.listener("RESET") as resets:
                await self._client.execute("system_reset")
                await resets.get()

        self._call(reset(), timeout_s, "a reset")

    def end_at_reset(self, timeout_s: float) -> None:
        """Let QEMU end at a reset, as from its start: a guest that panics would go on forever."""
        self.execute("set-action", timeout_s, reboot="shutdown")

    def threads(self, timeout_s: float) -> tuple[int, ...]:
        """Return the threads of the vCPUs, by the number of the vCPU."""
        answer = self.execute("query-cpus-fast", timeout_s)
        ordered = sorted(answer, key=lambda cpu: int(cpu["cpu-index"]))
        return tuple(int(cpu["thread-id"]) for cpu in ordered)

    def version(self) -> str | None:
        """Return QEMU's version, such as 7.2.22; None when it has not greeted."""
        greeting = self._client.greeting
        if greeting is None:
            return None
        found = greeting.QMP.version.get("qemu")
        if not isinstance(found, dict):
            return None
        return ".".join(str(found.get(part)) for part in ("major", "minor", "micro"))

    def failure(self) -> str | None:
        """Return why the VM does not run, as far as QEMU says without being waited for."""
        if self._client.runstate is not Runstate.RUNNING:
            return "QEMU has closed its QMP socket"
        if self._heartbeat is None:
            self._heartbeat = (time.monotonic(), self._submit(self._client.execute("query-status")))
            return None
        asked_at, asked = self._heartbeat
        if not asked.done():
            silent_s = time.monotonic() - asked_at
            return None if silent_s < HEARTBEAT_S else f"QEMU has not answered for {silent_s:.0f} s"
        self._heartbeat = None
        try:
            status = str(asked.result()["status"])
        except (QMPError, OSError, EOFError, KeyError, TypeError) as error:
            return f"QEMU does not answer: {_text(error)}"
        return None if status in RUNNING else f"the VM is {status}"

    def close(self) -> None:
        """Hang up, and end the thread; never raises."""
        if self._loop.is_closed():
            return
        with suppress(Exception):
            self._submit(self._client.disconnect()).result(CLOSE_S)
        if self._heartbeat is not None:
            with suppress(Exception):
                self._heartbeat[1].result(0)
        with suppress(Exception):
            self._submit(_cancel_rest()).result(CLOSE_S)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(CLOSE_S)

    def _run(self) -> None:
        """Run the loop until it is stopped, and close it, however late that is."""
        try:
            self._loop.run_forever()
        finally:
            self._loop.close()

    def _submit(self, work: Coroutine[Any, Any, Result]) -> Future[Result]:
        return asyncio.run_coroutine_threadsafe(work, self._loop)

    def _call(
        self,
        work: Coroutine[Any, Any, Result],
        timeout_s: float,
        what: str,
        look: Callable[[], None] = lambda: None,
    ) -> Result:
        future, deadline = self._submit(work), time.monotonic() + timeout_s
        try:
            while not wait((future,), min(LOOK_S, deadline - time.monotonic())).done:
                raise_if_stopped()
                look()
                if time.monotonic() > deadline:
                    break
            return future.result(0)
        except FutureTimeoutError as error:
            future.cancel()
            raise ComponentError(
                f"{self.name}: QEMU did not give {what} within {timeout_s:g} s"
            ) from error
        except (QMPError, OSError, EOFError) as error:
            raise ComponentError(f"{self.name}: QEMU refused {what}", why=_text(error)) from error
        except BaseException:
            future.cancel()
            raise


async def _cancel_rest() -> None:
    """End what the library leaves open after a connection that was never made."""
    rest = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
    for task in rest:
        task.cancel()
    await asyncio.gather(*rest, return_exceptions=True)


def _text(error: BaseException) -> str:
    return str(error) or type(error).__name__
