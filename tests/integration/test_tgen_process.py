"""tgen as a process: sockets, options, exit codes, and what is said when things go wrong."""

from __future__ import annotations

import json
import os
import signal
import socket
import stat
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import psutil
import pytest
from dpdk_files import dpdk_files
from loopbacks import OPTIONS
from shared_tgen import fixture_kept_tgen, fixture_ring

from vsperf.drivers.generators.tgen import command
from vsperf.drivers.generators.tgen.byhand import (
    Sending,
    Stream,
    at_hand,
    directions_between,
    trial,
)
from vsperf.drivers.generators.tgen.command import Options
from vsperf.drivers.generators.tgen.process import TGEN, Tgen
from vsperf.errors import ComponentError, DiedError, NotReadyError
from vsperf.host.dead import dead_deployments
from vsperf.host.process import managed
from vsperf.host.workspace import workspace

pytestmark = [pytest.mark.machine, pytest.mark.needs("tgen")]
__all__ = ["fixture_kept_tgen", "fixture_ring"]


# tgen as a process: its socket, its options, its exit codes.

PREFIX = f"vsperf-process-{os.getpid()}-0"
EAL = ("--no-huge", "--no-pci", "-m", "256", "--lcores=0@0,1@0", f"--file-prefix={PREFIX}")
PATIENCE_S = 20.0


@contextmanager
def started(path: Path, *more: str) -> Iterator[subprocess.Popen[str]]:
    argv = [str(TGEN.find()), *EAL, "--vdev=net_ring0", "--", "--control", str(path), *more]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as tgen:
        try:
            yield tgen
        finally:
            tgen.terminate()
            tgen.wait(PATIENCE_S)


def connected(path: Path) -> socket.socket:
    deadline = time.monotonic() + PATIENCE_S
    while True:
        connection = socket.socket(socket.AF_UNIX)
        connection.settimeout(PATIENCE_S)
        try:
            connection.connect(str(path))
        except OSError:
            connection.close()
            assert time.monotonic() < deadline
            time.sleep(0.01)
        else:
            return connection


def ask(connection: socket.socket, **request: object) -> dict[str, object]:
    connection.sendall(json.dumps({"id": 1, **request}).encode() + b"\n")
    with connection.makefile() as lines:
        answer: dict[str, object] = json.loads(lines.readline())
    return answer


def test_its_socket_is_private_and_goes_with_it(tmp_path: Path) -> None:
    path = tmp_path / "s"
    with started(path) as tgen, connected(path) as connection:
        assert ask(connection, verb="hello")["ok"]
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        assert ask(connection, verb="quit")["ok"]
        assert tgen.wait(PATIENCE_S) == 0
    assert not path.exists()


def test_a_socket_that_a_dead_tgen_left_is_replaced(tmp_path: Path) -> None:
    path = tmp_path / "s"
    with socket.socket(socket.AF_UNIX) as dead:
        dead.bind(str(path))
    with started(path) as tgen, connected(path) as connection:
        assert ask(connection, verb="hello")["ok"]
        connection.close()
        assert tgen.wait(PATIENCE_S) == 0


def test_a_file_that_is_no_socket_stays_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "s"
    path.write_text("important")
    with started(path) as tgen:
        _, said = tgen.communicate(timeout=PATIENCE_S)
        assert tgen.returncode == 3
    assert "is no socket" in said
    assert path.read_text() == "important"


def test_a_socket_that_somebody_listens_to_stays_theirs(tmp_path: Path) -> None:
    path = tmp_path / "s"
    with socket.socket(socket.AF_UNIX) as living:
        living.bind(str(path))
        living.listen()
        with started(path) as tgen:
            _, said = tgen.communicate(timeout=PATIENCE_S)
            assert tgen.returncode == 3
        assert "another tgen listens" in said
        assert path.exists()
        path.unlink()


def test_a_socket_whose_owner_takes_no_more_callers_is_waited_for_by_nobody(tmp_path: Path) -> None:
    path = tmp_path / "s"
    with socket.socket(socket.AF_UNIX) as busy, ExitStack() as callers:
        busy.bind(str(path))
        busy.listen(0)
        for _ in range(4):
            caller = callers.enter_context(socket.socket(socket.AF_UNIX))
            caller.setblocking(False)
            caller.connect_ex(str(path))
        with started(path) as tgen:
            _, said = tgen.communicate(timeout=PATIENCE_S)
            assert tgen.returncode == 3
        assert "another tgen listens" in said
        path.unlink()


def test_who_only_looks_whether_somebody_listens_ends_nobody(tmp_path: Path) -> None:
    path = tmp_path / "s"
    with started(path) as tgen:
        connected(path).close()
        with started(path) as other:
            other.communicate(timeout=PATIENCE_S)
            assert other.returncode == 3
        with connected(path) as connection:
            assert ask(connection, verb="hello")["ok"]
            assert ask(connection, verb="quit")["ok"]
        assert tgen.wait(PATIENCE_S) == 0


@contextmanager
def hang_up(action: signal.Handlers) -> Iterator[None]:
    """What is started meanwhile does so when its terminal is gone: it inherits that."""
    before = signal.signal(signal.SIGHUP, action)
    try:
        yield
    finally:
        signal.signal(signal.SIGHUP, before)


@pytest.mark.parametrize("number", [signal.SIGHUP, signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_it_in_order(tmp_path: Path, number: signal.Signals) -> None:
    path = tmp_path / "s"
    with hang_up(signal.SIG_DFL), started(path) as tgen, connected(path) as connection:
        assert ask(connection, verb="hello")["ok"]
        tgen.send_signal(number)
        assert tgen.wait(PATIENCE_S) == 128 + number
    assert not path.exists()
    assert not dpdk_files(PREFIX).exists()


def test_who_is_to_outlive_its_terminal_does(tmp_path: Path) -> None:
    path = tmp_path / "s"
    with hang_up(signal.SIG_IGN), started(path) as tgen, connected(path) as connection:
        assert ask(connection, verb="hello")["ok"]
        tgen.send_signal(signal.SIGHUP)
        assert ask(connection, verb="quit")["ok"]
        assert tgen.wait(PATIENCE_S) == 0


def test_a_signal_ends_the_wait_for_a_switch(tmp_path: Path) -> None:
    port, path = tmp_path / "port", tmp_path / "s"
    waiting = f"--vdev=net_virtio_user0,path={port},server=1"
    with subprocess.Popen(
        [str(TGEN.find()), *EAL, waiting, "--", "--control", str(path)],
        stderr=subprocess.PIPE,
        text=True,
    ) as tgen:
        assert tgen.stderr is not None
        assert any("waiting for client connection" in line for line in tgen.stderr)
        tgen.terminate()
        assert tgen.wait(PATIENCE_S) == 128 + signal.SIGTERM
    assert list(tmp_path.iterdir()) == []


def test_a_controller_that_leaves_a_trial_is_told_by_the_exit_code(tmp_path: Path) -> None:
    path = tmp_path / "s"
    with started(path) as tgen, connected(path) as connection:
        assert ask(connection, verb="configure", streams=[{"size": 64}])["ok"]
        trial = {"rate_fps": 1, "duration_ns": 60_000_000_000, "wait": False}
        assert ask(connection, verb="trial", **trial)["ok"]
        connection.close()
        assert tgen.wait(PATIENCE_S) == 4


@pytest.mark.parametrize(
    "options",
    [
        ["--colour"],
        ["--control"],
        ["--ring", "0"],
        ["--ring", "x"],
        ["--max-frame", "9217"],
        ["--stdin", "--control", "s"],
    ],
    ids=" ".join,
)
def test_options_that_make_no_sense_are_refused_with_the_usage(options: list[str]) -> None:
    done = subprocess.run(
        [str(TGEN.find()), "--", *options], capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert "usage: tgen" in done.stderr


def test_help_needs_no_dpdk() -> None:
    done = subprocess.run([str(TGEN.find()), "--help"], capture_output=True, text=True, check=False)
    assert done.returncode == 0
    assert done.stdout.startswith("usage: tgen")


# When things go wrong with tgen: nothing hangs, nothing stays, and the error says why.

RINGS = ("net_ring0",)
WAYS = directions_between(1, "both")
LONG_S = 60
LONG = Sending(rate_fps="1000", duration_ns=LONG_S * 1_000_000_000)
CONTROLLER = """
from vsperf.drivers.generators.tgen.byhand import *
from vsperf.drivers.generators.tgen.command import Options
with at_hand(["net_ring0"], Options(hugepages=False)) as tgen:
    print(tgen.process.pid, tgen.control, flush=True)
    sending = Sending("1000", 60_000_000_000)
    ring = directions_between(1, "both")
    trial(tgen, ring, Stream(), sending, lambda e: print("stats", flush=True))
"""


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


def test_a_tgen_that_stands_still_is_let_go_on_and_ends_in_order_and_soon() -> None:
    """It hears the signal first, or that nobody is there any more."""
    with at_hand(RINGS, OPTIONS) as tgen:
        tgen.process.send_signal(signal.SIGSTOP)
        began = time.monotonic()
    assert time.monotonic() - began < 15
    assert tgen.process.returncode in (0, 128 + signal.SIGTERM)


@pytest.mark.everyday
def test_a_port_that_cannot_be_made_is_told_in_dpdks_words() -> None:
    with (
        pytest.raises(ComponentError, match="while it started") as failed,
        at_hand(["net_no_such_driver0"], OPTIONS),
    ):
        pytest.fail("a tgen was given")
    assert "net_no_such_driver0" in str(failed.value.problems[0].why)


@pytest.mark.everyday
def test_who_ended_before_is_named_and_not_the_tgen_that_cannot_start_without_it(
    tmp_path: Path,
) -> None:
    with (
        workspace("a test", tmp_path / "run") as place,
        managed(["sleep", "100"], name="mirror", workspace=place) as mirror,
    ):
        mirror.process.kill()
        with (
            pytest.raises(DiedError, match="mirror was lost while tgen started"),
            at_hand(["net_no_such_driver0"], OPTIONS, place),
        ):
            pytest.fail("a tgen was given")


def test_a_lack_of_hugepages_is_told_with_the_way_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(command, "MEMORY_BYTES", 1 << 50)
    with pytest.raises(NotReadyError, match="hugepages") as failed, at_hand(RINGS, Options()):
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
