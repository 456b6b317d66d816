"""tgen as a process: its socket, its options, its exit codes."""

from __future__ import annotations

import json
import os
import signal
import socket
import stat
import subprocess
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest
from conftest import Require
from dpdk_files import dpdk_files

from vsperf.trafficgens.tgen.binary import TGEN

pytestmark = pytest.mark.machine

PREFIX = f"vsperf-process-{os.getpid()}-0"
EAL = ("--no-huge", "--no-pci", "-m", "256", "--lcores=0@0,1@0", f"--file-prefix={PREFIX}")
PATIENCE_S = 20.0


@pytest.fixture(autouse=True)
def _parts(require: Require) -> None:
    require("tgen")


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


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_it_in_order(tmp_path: Path, number: signal.Signals) -> None:
    path = tmp_path / "s"
    with started(path) as tgen, connected(path) as connection:
        assert ask(connection, verb="hello")["ok"]
        tgen.send_signal(number)
        assert tgen.wait(PATIENCE_S) == 128 + number
    assert not path.exists()
    assert not dpdk_files(PREFIX).exists()


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
