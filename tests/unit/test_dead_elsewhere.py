"""Dead deployments whose folder is none that is looked into: what is seen of them all the same."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ovs_traffic import wait_until

from vsperf.host.dead import dead_elsewhere
from vsperf.host.procfs import MARK, marked_below

LEFT = "vsperf-4194304-abcdef"
"""Its maker has ended: no process of this machine has that number."""
GOING_ON = f"vsperf-{os.getpid()}-abcdef"


@contextmanager
def program_of(name: str, chosen: Path) -> Iterator[int]:
    """Have a program of a deployment run in its folder."""
    folder = chosen / name
    folder.mkdir(mode=0o700, parents=True)
    marked = {**os.environ, MARK: f"{name}/ovs-vswitchd"}
    with subprocess.Popen(["sleep", "60"], cwd=folder, env=marked) as program:
        try:
            wait_until(lambda: bool(marked_below(f"{name}/")))  # for a moment it shows no mark
            yield program.pid
        finally:
            program.kill()


def seen(networks: Path, *roots: Path) -> list[str]:
    """Return what is told of these two: others may test beside this one."""
    for root in roots:
        root.mkdir(mode=0o700, exist_ok=True)
    return [one.text for one in dead_elsewhere(roots, networks) if one.name in {LEFT, GOING_ON}]


def test_a_program_that_still_runs_is_named_with_the_folder_to_look_into(tmp_path: Path) -> None:
    """A run that was killed had VSPERF_RUNTIME in its environment, and who cleans up has not."""
    root, chosen = tmp_path / "run", tmp_path / "chosen"
    with program_of(LEFT, chosen) as pid:
        (told,) = seen(tmp_path, root)
        assert told == (
            f"of {LEFT}, whose folder is elsewhere, there is process {pid}: "
            f"set VSPERF_RUNTIME={chosen}"
        )
        assert seen(tmp_path, root, chosen) == []
    assert seen(tmp_path, root) == []


def test_a_run_that_goes_on_there_is_no_business_of_anybody(tmp_path: Path) -> None:
    with program_of(GOING_ON, tmp_path / "chosen"):
        assert seen(tmp_path, tmp_path / "run") == []


def test_a_network_that_is_left_is_named_too(tmp_path: Path) -> None:
    networks = tmp_path / "netns"
    networks.mkdir()
    for name in (f"{LEFT}-phy0", f"{GOING_ON}-phy0", "of-somebody-else", "vsperf-odd"):
        (networks / name).touch()
    (told,) = seen(networks, tmp_path / "run")
    assert told.endswith(f"there is network {LEFT}-phy0: set VSPERF_RUNTIME=FOLDER")


def test_where_there_are_no_networks_nothing_is_said(tmp_path: Path) -> None:
    assert seen(tmp_path / "nowhere", tmp_path / "run") == []
