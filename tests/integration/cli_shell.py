"""A place to type commands in: most of them in this process, some as programs of their own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from vsperf.cli.main import run_cli

SMOKE = ("run", "phy2phy_smoke", "--testbed", "sim")


@dataclass(frozen=True)
class Ended:
    """A command that is over."""

    code: int
    out: str
    err: str

    @property
    def data(self) -> Any:
        return json.loads(self.out)


@dataclass(frozen=True)
class Shell:
    """A folder to type commands in."""

    folder: Path
    captured: pytest.CaptureFixture[str]

    def environ(self, **more: str) -> dict[str, str]:
        return {**os.environ, **more}

    def start(self, *arguments: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [sys.executable, "-m", "vsperf", *arguments],
            cwd=self.folder,
            env=self.environ(),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def __call__(self, *arguments: str) -> Ended:
        """Run a command in this process, which is quicker than to start one for each."""
        self.captured.readouterr()
        code = run_cli(list(arguments))
        out, err = self.captured.readouterr()
        assert "Traceback" not in err
        return Ended(code, out, err)


@pytest.fixture(name="vsperf")
def fixture_vsperf(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Iterator[Shell]:
    """Give a shell whose deployments are apart from those of tests that run beside it."""
    for name in [name for name in os.environ if name.startswith(("VSPERF", "_VSPERF"))]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    with tempfile.TemporaryDirectory(prefix="runtime-") as runtime:  # short, as sockets need
        monkeypatch.setenv("VSPERF_RUNTIME", f"{runtime}/run")
        yield Shell(tmp_path, capsys)
