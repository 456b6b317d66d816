"""The start of a VM's QEMU, and its end: with its taps and its seed, and nothing left."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from vsperf.host.process import managed
from vsperf.host.procfs import all_listened_at
from vsperf.host.taps import tap
from vsperf.host.threads import Polling
from vsperf.host.workspace import Workspace, require_fitting
from vsperf.qemu.command import AnyVm, command_line
from vsperf.qemu.vm import RunningVm

START_S = 30.0
"""Until QEMU listens on its sockets: its memory is cleared before."""
PROCESSORS = r"CPU \d+/"
"""How QEMU names the threads of vCPUs, with `debug-threads=on`."""


@contextmanager
def started(
    vm: AnyVm,
    program: str,
    workspace: Workspace,
    polling: Polling | None = None,
    *,
    polls: bool = True,
) -> Iterator[RunningVm]:
    """Start QEMU, and return once it listens; leaving the context ends it.

    All vCPUs poll for the VM, unless `polling` says otherwise; with `polls` off, none does.
    """
    _write_seed(vm, workspace)
    argv = [workspace.fill(word) for word in command_line(program, vm)]
    require_fitting(vm.sockets, workspace)
    sockets = [Path(workspace.fill(path)) for path in vm.sockets]
    guests: list[RunningVm] = []

    def stop(patience_s: float) -> None:
        for guest in guests:
            guest.stop(patience_s)

    try:
        with (
            _plugged(vm, workspace),
            managed(
                argv,
                name=vm.name,
                workspace=workspace,
                ready=lambda: all_listened_at(sockets),
                timeout_s=START_S,
                stop=stop,
                polling=(polling or Polling(vm.name, PROCESSORS)) if polls else None,
            ) as process,
        ):
            guests.append(RunningVm(vm, process, workspace))
            guests[0].follow_console()
            yield guests[0]
    finally:
        for guest in guests:
            guest.close()


@contextmanager
def _plugged(vm: AnyVm, workspace: Workspace) -> Iterator[None]:
    """Give the taps of its NICs, for longer than QEMU holds them."""
    several = vm.spec.queues > 1
    with ExitStack() as stack:
        for wire in vm.taps:
            name = workspace.fill(wire.address)
            stack.enter_context(tap(name, workspace, mtu=vm.mtu, several_queues=several))
        yield


def _write_seed(vm: AnyVm, workspace: Workspace) -> None:
    """Write what cloud-init reads: the user's data, and the name of the VM."""
    if vm.spec.cloud_init is None:
        return
    folder = Path(workspace.fill(vm.seed))
    folder.mkdir()
    shutil.copyfile(vm.spec.cloud_init, folder / "user-data")
    (folder / "meta-data").write_text(
        f"instance-id: {workspace.name}-{vm.name}\nlocal-hostname: {vm.name}\n"
    )
