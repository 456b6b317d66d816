"""One run per testbed: a second one is refused, and told by whom."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from vsperf.errors import NotReadyError
from vsperf.host.lock import stale_locks
from vsperf.host.lock import testbed_lock as hold


def test_a_second_run_is_refused_and_told_who_holds_the_testbed(tmp_path: Path) -> None:
    root = tmp_path / "run"
    with (
        hold("local", "20260101-first", root),
        pytest.raises(NotReadyError, match="testbed local is in use") as caught,
        hold("local", "20260101-second", root),
    ):
        pass
    why = caught.value.problems[0].why
    assert why is not None
    assert why.startswith(f"run 20260101-first (process {os.getpid()}) measures on it")


def test_another_testbed_is_free(tmp_path: Path) -> None:
    with hold("local", "first", tmp_path / "run"), hold("lab/7", "second", tmp_path / "run"):
        pass
    assert list(tmp_path.iterdir()) == []


def test_a_testbed_is_free_after_its_run(tmp_path: Path) -> None:
    for run in ("first", "second"):
        with hold("local", run, tmp_path / "run"):
            pass
    assert list(tmp_path.iterdir()) == []


def test_a_testbed_is_free_after_its_run_was_killed(tmp_path: Path) -> None:
    root = tmp_path / "run"
    text = (
        "import os, pathlib, signal\n"
        "from vsperf.host.lock import testbed_lock\n"
        f"with testbed_lock('local', 'first', pathlib.Path({str(root)!r})):\n"
        "    os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    ended = subprocess.run([sys.executable, "-c", text], check=False)
    assert ended.returncode == -signal.SIGKILL
    assert [path.name for path in stale_locks(root)] == ["local.lock"]
    with hold("local", "second", root):
        assert stale_locks(root) == ()
    assert list(tmp_path.iterdir()) == []
