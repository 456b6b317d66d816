"""Nobody waits for a VNF that cannot come up any more."""

from __future__ import annotations

import socket
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from qemu_cases import qemu_case, vnfs
from simulated_cases import simulated_case
from wires import wires_of

from vsperf.drivers.vnfs.process.driver import ProcessSpec, vnfs_of
from vsperf.drivers.vnfs.process.driver import RunningVnf as RunningProcess
from vsperf.errors import DiedError
from vsperf.host.process import Managed, managed
from vsperf.host.workspace import Workspace, workspace
from vsperf.qemu.vm import RunningVm
from vsperf.records.run import Placement

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
        assert tgen.await_end(60.0)
        yield place


@pytest.fixture(name="program")
def fixture_program(place: Workspace) -> Iterator[Managed]:
    """Give the program of a VNF that waits for the others."""
    with (
        workspace("a VNF", place.folder) as apart,  # started while all others lived
        managed(["sleep", "100"], name="vm1", workspace=apart) as program,
    ):
        yield program


def test_a_guest_that_nobody_can_plug_in_any_more(place: Workspace, program: Managed) -> None:
    (vnf,) = vnfs(qemu_case())
    running = RunningVm(vnf, program, place)
    with socket.socket(socket.AF_UNIX) as silent:
        silent.bind(place.fill(vnf.qmp))
        silent.listen()
        with pytest.raises(DiedError, match=LOST) as caught:
            running.plug_in(time.monotonic() + 60)
    assert "SIGKILL" in str(caught.value.problems[0].why)


def test_a_process_whose_links_cannot_come_up_any_more(place: Workspace, program: Managed) -> None:
    topology = {"name": "pvp", "paths": [["phy0", "vm1", "phy1"]]}
    spec = ProcessSpec.model_validate({"kind": "process"})
    case = simulated_case(topology=topology, vnf=spec)
    (vnf,) = vnfs_of(case, spec, wires_of(case), Placement(cpus={"vm1": (0,)}))
    running = RunningProcess(
        vnf,
        program,
        place.folder / "telemetry",
        lambda: place.attend("while vm1 was waited for"),
    )
    with pytest.raises(DiedError, match=LOST):
        running.await_forwarding(time.monotonic() + 60)
