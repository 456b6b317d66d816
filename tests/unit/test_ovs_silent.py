"""A daemon of OVS that says nothing: stopped by somebody, or busy with something else."""

from __future__ import annotations

import os
import signal
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from vsperf.host.process import Managed, managed
from vsperf.host.workspace import Workspace, workspace
from vsperf.vswitches.ovs.programs import planned_programs
from vsperf.vswitches.ovs.running import RunningOvs

DAEMON = "ovs-vswitchd"
PATIENCE_S = 0.2


@contextmanager
def silent(place: Workspace) -> Iterator[tuple[RunningOvs, Managed]]:
    """Give a switch whose daemon has a control socket, and answers nobody there."""
    control = place.folder / "silent.ctl"
    with (
        socket.socket(socket.AF_UNIX) as listening,
        managed(["sleep", "100"], name=DAEMON, workspace=place) as daemon,
    ):
        listening.bind(str(control))
        listening.listen()
        yield (
            RunningOvs(
                folder=place.folder,
                programs=planned_programs(None),
                ports=(),
                daemons={DAEMON: daemon},
                controls={DAEMON: control},
                read_interfaces=tuple,
                read_custom=str,
                start_again=lambda kill: None,
                patience_s=PATIENCE_S,
            ),
            daemon,
        )


@pytest.fixture(name="place")
def fixture_place(tmp_path: Path) -> Iterator[Workspace]:
    with workspace("a test", tmp_path / "run") as place:
        yield place


def test_one_that_runs_but_does_not_answer_is_not_waited_for(place: Workspace) -> None:
    with silent(place) as (running, _):
        assert running.failure() == (
            f"{DAEMON} does not answer: silent.ctl did not answer version within {PATIENCE_S:g} s"
        )


def test_one_that_somebody_stopped_is_called_that(place: Workspace) -> None:
    with silent(place) as (running, daemon):
        os.kill(daemon.pid, signal.SIGSTOP)
        assert running.failure() == f"{DAEMON} is stopped: somebody sent it SIGSTOP, or debugs it"
        os.kill(daemon.pid, signal.SIGCONT)
