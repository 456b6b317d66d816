"""`vsperf clean` takes no CPU from a run that goes on, and has its share where none does."""

import os
import subprocess
from pathlib import Path

from vsperf import own_python
from vsperf.host.workspace import workspace

URGENCY = """
import atexit, os
from vsperf.__main__ import main
atexit.register(lambda: print("urgency", os.getpriority(os.PRIO_PROCESS, 0)))
main()
"""


def urgency(folder: Path, *words: str) -> int:
    """Return what a command has at its end: the more, the less urgent."""
    (folder / "urgency.py").write_text(URGENCY)
    done = subprocess.run(
        own_python.module("urgency", *words, "--results", str(folder), folder=folder),
        env={**os.environ, "VSPERF_RUNTIME": str(folder / "run")},
        capture_output=True,
        text=True,
        check=True,
    )
    return int(done.stdout.rpartition("urgency ")[2])


def test_clean_gives_way_to_a_run_that_goes_on_and_to_nothing_else(tmp_path: Path) -> None:
    own = os.getpriority(os.PRIO_PROCESS, 0)
    with workspace("a run", tmp_path / "run"):
        assert urgency(tmp_path, "clean") == 19
        assert urgency(tmp_path, "results") == own
    assert urgency(tmp_path, "clean") == own


def test_what_a_killed_run_left_is_not_waited_for(tmp_path: Path) -> None:
    with subprocess.Popen(["true"]) as ended:
        pass
    (tmp_path / "run" / f"vsperf-{ended.pid}-abcdef").mkdir(mode=0o700, parents=True)
    (tmp_path / "run").chmod(0o700)
    assert urgency(tmp_path, "clean") == os.getpriority(os.PRIO_PROCESS, 0)
