"""Noise by stress-ng: each kind of it really works on its CPU, and nothing of it is left."""

from __future__ import annotations

import os
import re
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from real_runs import wait_until
from simulated_cases import simulated_case

from vsperf.config.case import CaseSpec
from vsperf.config.noise import NOISE
from vsperf.drivers.loads.stress import StressLoad, StressSpec
from vsperf.host.process import log_of
from vsperf.host.procfs import start_ticks
from vsperf.host.workspace import Workspace, workspace
from vsperf.records.run import Placement

pytestmark = [pytest.mark.machine, pytest.mark.needs("stress-ng")]

PATIENCE_S = 60.0
METRICS = "--metrics-brief"
"""Has stress-ng say at its end how often it did what it was told to."""
CPU = max(os.sched_getaffinity(0))
PLACED = Placement(cpus={NOISE: (CPU,)})


@pytest.fixture(name="place")
def fixture_place(tmp_path: Path) -> Iterator[Workspace]:
    with workspace("noise by stress-ng", tmp_path / "run") as made:
        yield made


def case(**settings: Any) -> CaseSpec:
    spec = StressSpec.model_validate({"kind": "stress", **settings})
    return simulated_case().model_copy(update={"noise": spec})


def workers(name: str) -> list[Path]:
    """Return the processes of stress-ng of this name that run, by their folders."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            known = (folder / "comm").read_text().strip() == name[:15]
        except OSError:
            continue  # it has ended meanwhile
        if known and start_ticks(int(folder.name)) is not None:
            found.append(folder)
    return found


@pytest.mark.parametrize(
    ("settings", "stressor", "enough_ms"),
    [
        ({"load": "cpu", "cpu_share": 20}, "cpu", 300),
        ({"load": "cache"}, "cache", 500),
        ({"load": "memory", "memory": "16MiB"}, "vm", 500),
        ({"load": "io"}, "io", 50),
        ({"load": "irq", "timer_frequency": 1000}, "timer", 50),
    ],
)
def test_each_kind_works_on_its_cpu_and_counts_what_it_did(
    place: Workspace, settings: dict[str, Any], stressor: str, enough_ms: int
) -> None:
    """Given CPU time that is enough for its first round: it counts whole ones only."""
    load, asked = StressLoad(), case(**settings, arguments=(METRICS,))
    load.require(asked)

    def used() -> int:
        (one,) = running.counts()
        return one.cpu_ns or 0

    with load.start(asked, PLACED, place) as running:
        assert wait_until(lambda: workers(f"stress-ng-{stressor}"), PATIENCE_S)
        for worker in workers(f"stress-ng-{stressor}"):
            assert re.search(rf"^Cpus_allowed_list:\t{CPU}$", (worker / "status").read_text(), re.M)
        before = used()
        enough = before + enough_ms * 1_000_000
        assert wait_until(lambda: used() > enough, PATIENCE_S), "it takes CPU time"
        assert running.failure() is None
    assert not workers(f"stress-ng-{stressor}")
    said = log_of("noise-1", place).read_text()
    counted = re.search(rf"\] {stressor} +(\d+) ", said)
    assert counted is not None and int(counted[1]) > 0, said


def test_words_of_the_user_hold(place: Workspace, tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    words = ("--hdd", "1", "--hdd-bytes", "1m", "--temp-path", str(disk))
    with StressLoad().start(case(load="io", arguments=words), PLACED, place) as running:
        assert wait_until(lambda: list(disk.iterdir()), PATIENCE_S), "it writes where it was told"
        assert running.failure() is None
    assert list(disk.iterdir()) == []


def test_words_that_it_does_not_know_end_it_with_its_last_words(place: Workspace) -> None:
    with StressLoad().start(case(arguments=("--make-coffee",)), PLACED, place) as running:
        assert wait_until(running.failure, PATIENCE_S)
        assert "make-coffee" in (running.failure() or "")


def test_who_kills_it_leaves_none_of_its_workers(place: Workspace) -> None:
    with StressLoad().start(case(load="memory", memory="16MiB"), PLACED, place) as running:
        assert wait_until(lambda: workers("stress-ng-vm"), PATIENCE_S)
        (main,) = (one for one in workers("stress-ng") if _is_of(one, place))
        os.kill(int(main.name), signal.SIGKILL)
        assert wait_until(running.failure, PATIENCE_S)
        assert (running.failure() or "").startswith("noise 1 was killed by SIGKILL")
    assert not workers("stress-ng-vm"), "they do not carry the mark of the deployment"


def _is_of(process: Path, place: Workspace) -> bool:
    return place.name.encode() in (process / "environ").read_bytes()
