"""A disk that fills up while a run is written: nothing is lost, and the run goes on with room."""

from __future__ import annotations

import json
import shlex
import subprocess
import sys

import pytest
from cli_shell import SMOKE, Shell, fixture_vsperf
from conftest import Require

from vsperf.errors import ExitCode

__all__ = ["fixture_vsperf"]  # a fixture is found by its name in the module

SMALL_DISK = """
mount -t tmpfs -o size={bytes} small results || exit 99
{vsperf} {run} >/dev/null 2>first
echo $? >code
{vsperf} show latest --json >interrupted
mount -o remount,size=4m results || exit 99
exec {vsperf} run --resume latest --json --progress quiet >resumed
"""
"""Commands in a mount namespace of their own: the disk ends with them."""


@pytest.mark.parametrize("pages", [6, 9, 12, 14])
def test_a_run_on_a_disk_that_is_full_is_resumed_as_its_message_says(
    vsperf: Shell, require: Require, pages: int
) -> None:
    require("namespaces")
    (vsperf.folder / "results").mkdir()
    commands = SMALL_DISK.format(
        bytes=pages * 4096,
        vsperf=shlex.join([sys.executable, "-m", "vsperf"]),
        run=" ".join((*SMOKE, "--repeat", "3", "--progress", "quiet")),
    )
    ended = subprocess.run(
        ["unshare", "--mount", "sh", "-c", commands],
        cwd=vsperf.folder,
        env=vsperf.environ(),
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == ExitCode.OK, ended.stderr
    said = (vsperf.folder / "first").read_text()
    interrupted = json.loads((vsperf.folder / "interrupted").read_text())
    resumed = json.loads((vsperf.folder / "resumed").read_text())
    assert int((vsperf.folder / "code").read_text()) == ExitCode.COMPONENT_FAILED
    assert "No space left on device" in said
    assert f"vsperf run --resume {interrupted['run']}" in said
    assert interrupted["state"] == "interrupted"
    assert (resumed["run"], resumed["state"]) == (interrupted["run"], "finished")
    assert [case["outcome"] for case in resumed["cases"]] == ["PASS"] * 3
