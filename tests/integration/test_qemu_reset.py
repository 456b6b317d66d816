"""QEMU is reset without a guest: its firmware boots, finds no disk, and waits."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from vsperf.guests.qmp import Monitor
from vsperf.guests.surroundings import PROGRAM
from vsperf.host.process import Managed, managed
from vsperf.host.workspace import workspace

LONG_S = 30.0
RESETS = 3


@pytest.fixture(name="qemu")
def fixture_qemu(require: Callable[[str], None]) -> Iterator[tuple[Managed, Monitor]]:
    require("guests")
    with (
        tempfile.TemporaryDirectory() as folder,  # short, as sockets need
        workspace("a test of resets", Path(folder)) as place,
    ):
        path = place.folder / "qmp"
        socket = f"socket,id=qmp,path={path},server=on,wait=off"
        argv = [PROGRAM, "-nodefaults", "-no-user-config", "-no-reboot", "-display", "none"]
        argv += ["-machine", "q35", "-accel", "tcg", "-m", "64M"]
        argv += ["-chardev", socket, "-mon", "chardev=qmp,mode=control"]
        with managed(argv, name="vm1", workspace=place, ready=path.is_socket) as program:
            monitor = Monitor.connect("vm1", path, LONG_S)
            try:
                yield program, monitor
            finally:
                monitor.close()


def test_a_machine_is_reset_again_and_again_and_ends_at_a_reset_of_its_own_later(
    qemu: tuple[Managed, Monitor],
) -> None:
    """Its firmware makes a second reset after some: QEMU must not end at that one."""
    program, monitor = qemu
    for _ in range(RESETS):
        monitor.reset(LONG_S)
        assert not program.await_end(0.5)
    monitor.end_at_reset(LONG_S)
    monitor.execute("system_reset", LONG_S)
    assert program.await_end(LONG_S)
    assert program.poll() == 0
