"""Machines are not waited for when a part without which they never forward was lost."""

from __future__ import annotations

import socket
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from qemu_cases import machines, qemu_case
from simulated_cases import simulated_case
from wires import wires_of

from vsperf.errors import DiedError
from vsperf.guests.machine import RunningMachine
from vsperf.host.process import Managed, managed
from vsperf.host.workspace import Workspace, workspace
from vsperf.record.plan import Placement
from vsperf.vnfs.process.command import machines_of
from vsperf.vnfs.process.machine import RunningMachine as RunningProcess
from vsperf.vnfs.process.spec import ProcessSpec

LOST = "tgen was lost while vm1 was waited for"


@pytest.fixture(name="place")
def fixture_place() -> Iterator[Workspace]:
    """Give a workspace in which the generator was killed."""
    with (
        tempfile.TemporaryDirectory() as folder,  # short, as sockets need
        workspace("a test", Path(folder)) as place,
        managed(["sleep", "100"], name="tgen", workspace=place) as tgen,
    ):
        tgen.process.kill()
        tgen.await_end(1.0)
        yield place


@pytest.fixture(name="program")
def fixture_program(place: Workspace) -> Iterator[Managed]:
    """Give the program of a machine that waits for the others."""
    with (
        workspace("a machine", place.folder) as apart,  # started while all others lived
        managed(["sleep", "100"], name="vm1", workspace=apart) as program,
    ):
        yield program


def test_a_guest_that_nobody_can_plug_in_any_more(place: Workspace, program: Managed) -> None:
    (machine,) = machines(qemu_case())
    running = RunningMachine(machine, program, place)
    with socket.socket(socket.AF_UNIX) as silent:
        silent.bind(place.fill(machine.qmp))
        silent.listen()
        with pytest.raises(DiedError, match=LOST) as caught:
            running.plug_in(time.monotonic() + 60)
    assert "SIGKILL" in str(caught.value.problems[0].why)


def test_a_process_whose_links_cannot_come_up_any_more(place: Workspace, program: Managed) -> None:
    topology = {"name": "pvp", "paths": [["phy0", "vm1", "phy1"]]}
    spec = ProcessSpec.model_validate({"kind": "process"})
    case = simulated_case(topology=topology, vnf=spec)
    (machine,) = machines_of(case, spec, wires_of(case), Placement(cpus={"vm1": (0,)}))
    running = RunningProcess(
        machine,
        program,
        place.folder / "telemetry",
        lambda: place.attend("while vm1 was waited for"),
    )
    with pytest.raises(DiedError, match=LOST):
        running.await_forwarding(time.monotonic() + 60)
