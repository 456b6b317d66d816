"""When things go wrong with tgen: nothing hangs, nothing stays, and the error says why."""

from __future__ import annotations

import json
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest
from conftest import Require
from dpdk_files import dpdk_files
from loopbacks import OPTIONS
from shared_tgen import fixture_kept_tgen, fixture_ring

from vsperf.errors import ComponentError, NotReadyError
from vsperf.host.dead import dead_deployments
from vsperf.trafficgens.tgen import command
from vsperf.trafficgens.tgen.byhand import Sending, Stream, at_hand, trial, ways_between
from vsperf.trafficgens.tgen.command import Options
from vsperf.trafficgens.tgen.process import Tgen

pytestmark = pytest.mark.machine
__all__ = ["fixture_kept_tgen", "fixture_ring"]

RINGS = ("net_ring0",)
WAYS = ways_between(1, "both")
LONG_S = 60
LONG = Sending(rate_fps="1000", duration_ns=LONG_S * 1_000_000_000)
CONTROLLER = """
from vsperf.trafficgens.tgen.byhand import *
from vsperf.trafficgens.tgen.command import Options
with at_hand(["net_ring0"], Options(hugepages=False)) as tgen:
    print(tgen.process.pid, tgen.control, flush=True)
    sending = Sending("1000", 60_000_000_000)
    trial(tgen, ways_between(1, "both"), Stream(), sending, lambda e: print("stats", flush=True))
"""


@pytest.fixture(autouse=True)
def _parts(require: Require) -> None:
    require("tgen")


def struck_in_a_trial(tgen: Tgen, number: int) -> None:
    """Make a long trial, and send tgen a signal as soon as it tells how the trial goes."""
    trial(tgen, WAYS, Stream(), LONG, lambda event: tgen.process.send_signal(number))


@pytest.mark.everyday
def test_a_controller_that_is_killed_takes_tgen_along() -> None:
    with subprocess.Popen(
        [sys.executable, "-c", CONTROLLER], stdout=subprocess.PIPE, text=True
    ) as controller:
        assert controller.stdout is not None
        pid, control = controller.stdout.readline().split()
        folder = Path(control).parent
        tgen = psutil.Process(int(pid))
        assert controller.stdout.readline() == "stats\n"  # it is sending
        controller.kill()
    _, alive = psutil.wait_procs([tgen], timeout=20)
    assert alive == []
    assert not Path(control).exists()
    assert not dpdk_files(f"{folder.name}-tgen").exists()
    (dead,) = (one for one in dead_deployments() if one.folder == folder)
    assert dead.processes == ()
    assert dead.take_down() == ()


@pytest.mark.parametrize(
    "number", [pytest.param(signal.SIGKILL, marks=pytest.mark.everyday), signal.SIGSEGV]
)
def test_a_tgen_that_dies_in_a_trial_is_noticed_at_once(number: signal.Signals) -> None:
    with at_hand(RINGS, OPTIONS) as tgen:
        began = time.monotonic()
        with pytest.raises(ComponentError, match=f"killed by {number.name} during `trial`"):
            struck_in_a_trial(tgen, number)
        assert time.monotonic() - began < LONG_S, "it was noticed long before the trial's end"
    assert not tgen.control.exists()


def test_a_tgen_that_hears_nothing_is_ended_by_force_and_soon() -> None:
    with at_hand(RINGS, OPTIONS) as tgen:
        tgen.process.send_signal(signal.SIGSTOP)
        began = time.monotonic()
    assert time.monotonic() - began < 15
    assert tgen.process.returncode == -signal.SIGKILL


@pytest.mark.everyday
def test_a_port_that_cannot_be_made_is_told_in_dpdks_words() -> None:
    with (
        pytest.raises(ComponentError, match="while it started") as failed,
        at_hand(["net_no_such_driver0"], OPTIONS),
    ):
        pytest.fail("a tgen was given")
    assert "net_no_such_driver0" in str(failed.value.problems[0].why)


def test_a_lack_of_hugepages_is_told_with_the_way_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(command, "MEMORY_BYTES", 1 << 50)
    with (
        pytest.raises(NotReadyError, match="hugepages") as failed,
        at_hand(RINGS, Options()),
    ):
        pytest.fail("a tgen was given")
    (problem,) = failed.value.problems
    assert "hugepages are needed on node" in problem.what
    assert "--no-hugepages" in (problem.fix or "")


def test_a_second_controller_is_turned_away_and_the_first_not_disturbed(ring: Tgen) -> None:
    with socket.socket(socket.AF_UNIX) as second:
        second.settimeout(10)
        second.connect(str(ring.control))
        answer = json.loads(_line(second))
        assert answer["ok"] is False
        assert second.recv(1) == b""
        found = trial(ring, WAYS, Stream(), Sending("1000", frames=100), lambda event: None)
        assert found["streams"][0]["distinct"] == 100


def _line(connection: socket.socket) -> bytes:
    line = b""
    while not line.endswith(b"\n"):
        chunk = connection.recv(4096)
        assert chunk, "it hung up"
        line += chunk
    return line
