"""The start of a machine's QEMU, and its end: with its taps and its seed, and nothing left."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from vsperf.host.process import managed
from vsperf.host.sockets import all_listened_at
from vsperf.host.taps import tap
from vsperf.host.threads import Polling
from vsperf.host.workspace import Workspace, require_fitting
from vsperf.qemu.command import AnyMachine, command_line
from vsperf.qemu.machine import RunningMachine

START_S = 30.0
"""Until QEMU listens on its sockets: its memory is cleared before."""
PROCESSORS = r"CPU \d+/"
"""How QEMU names the threads of vCPUs, with `debug-threads=on`."""


@contextmanager
def started(
    machine: AnyMachine,
    program: str,
    workspace: Workspace,
    polling: Polling | None = None,
    *,
    polls: bool = True,
) -> Iterator[RunningMachine]:
    """Start QEMU, and return once it listens; leaving the context ends it.

    All vCPUs poll for the machine, unless `polling` says otherwise; with `polls` off, none does.
    """
    _write_seed(machine, workspace)
    argv = [workspace.fill(word) for word in command_line(program, machine)]
    require_fitting(machine.sockets, workspace)
    sockets = [Path(workspace.fill(path)) for path in machine.sockets]
    guests: list[RunningMachine] = []

    def stop(patience_s: float) -> None:
        for guest in guests:
            guest.stop(patience_s)

    try:
        with (
            _plugged(machine, workspace),
            managed(
                argv,
                name=machine.name,
                workspace=workspace,
                ready=lambda: all_listened_at(sockets),
                timeout_s=START_S,
                stop=stop,
                polling=(polling or Polling(machine.name, PROCESSORS)) if polls else None,
            ) as process,
        ):
            guests.append(RunningMachine(machine, process, workspace))
            guests[0].follow_console()
            yield guests[0]
    finally:
        for guest in guests:
            guest.close()


@contextmanager
def _plugged(machine: AnyMachine, workspace: Workspace) -> Iterator[None]:
    """Give the taps of its NICs, for longer than QEMU holds them."""
    several = machine.spec.queues > 1
    with ExitStack() as stack:
        for wire in machine.taps:
            name = workspace.fill(wire.address)
            stack.enter_context(tap(name, workspace, mtu=machine.mtu, several_queues=several))
        yield


def _write_seed(machine: AnyMachine, workspace: Workspace) -> None:
    """Write what cloud-init reads: the user's data, and the name of the machine."""
    if machine.spec.cloud_init is None:
        return
    folder = Path(workspace.fill(machine.seed))
    folder.mkdir()
    shutil.copyfile(machine.spec.cloud_init, folder / "user-data")
    (folder / "meta-data").write_text(
        f"instance-id: {workspace.name}-{machine.name}\nlocal-hostname: {machine.name}\n"
    )
