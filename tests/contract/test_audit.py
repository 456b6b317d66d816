"""The audit of the contracts sees what it is there to see."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from audit import audited


def test_it_sees_a_file_being_written_and_a_program_being_started(tmp_path: Path) -> None:
    with audited() as seen:
        (tmp_path / "a").write_text("x")
        (tmp_path / "b").mkdir()
        subprocess.run([sys.executable, "-c", ""], check=True)
    assert f"opened {tmp_path / 'a'} for writing" in seen
    assert {"os.mkdir", "subprocess.Popen"} <= set(seen)


def test_it_lets_a_file_be_read_and_falls_silent_afterwards(tmp_path: Path) -> None:
    with audited() as seen:
        Path(__file__).read_text()
    (tmp_path / "a").write_text("x")
    assert seen == []
