"""What Ctrl-C and SIGTERM do to the command line."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

INTERRUPTED = """
from vsperf.cli import main

def imports(*arguments, **settings):
    exec("import signal; signal.raise_signal(signal.{name})")

main.cli.main = imports
main.main()
"""


@pytest.mark.parametrize(("name", "code"), [("SIGINT", 130), ("SIGTERM", 143)])
def test_a_signal_amid_an_import_becomes_the_documented_exit_code(
    name: str, code: int, tmp_path: Path
) -> None:
    """Imports execute texts, and Python remembers an interrupt of one until its own end."""
    (tmp_path / "interrupted.py").write_text(INTERRUPTED.format(name=name))
    environ = {**os.environ, "PYTHONPATH": f"{tmp_path}:{Path.cwd()}"}
    command = [sys.executable, "-m", "interrupted"]
    ended = subprocess.run(command, env=environ, capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stderr) == (code, "")
