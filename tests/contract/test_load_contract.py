"""What every driver of a load beside a case does, however it makes its load."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from conftest import Require
from ovs_traffic import wait_until
from places import known_too_early, marked, short_room
from simulated_cases import simulated_case

from vsperf.errors import NotReadyError
from vsperf.host.workspace import Workspace, workspace
from vsperf.loadgens.base import LoadGenerator, RunningLoad
from vsperf.plugins import Plugins
from vsperf.record.plan import Placement
from vsperf.spec.case import CaseSpec
from vsperf.spec.noise import NOISE

pytestmark = pytest.mark.machine

PATIENCE_S = 60.0
CPU = max(os.sched_getaffinity(0))
PLACED = Placement(cpus={NOISE: (CPU,)})
LITTLE = {
    "buffer": "1MiB", "read_size": "64KiB", "write_size": "64KiB", "read_rate": "20MB/s",
    "write_rate": "10MB/s", "sleep": True,
}  # fmt: skip
KINDS: dict[str, tuple[tuple[str, ...], dict[str, Any]]] = {
    "memory": (("memory-load",), LITTLE),
    "memory-vm": (("memory-load", "guests"), LITTLE),
    "stress": (("stress-ng",), {"load": "cpu", "cpu_share": 20}),
    "stress-vm": (("stress-ng", "guests"), {"load": "cpu", "cpu_share": 20, "memory": "16MiB"}),
    "command": ((), {"argv": ["sh", "-c", "while :; do sleep 0.01; done"]}),
}
"""By kind: what it needs of the machine, and settings that disturb nobody."""
PROCESSES_EVERY_DAY = [
    pytest.param(kind, marks=pytest.mark.everyday) if kind in {"memory", "stress"} else kind
    for kind in KINDS
]
"""The others take a guest, or are more of the same."""


@pytest.fixture(name="place")
def fixture_place() -> Iterator[Workspace]:
    with short_room("the contract of loads") as made:
        yield made


def load_of(kind: str, instances: int = 1) -> tuple[LoadGenerator, CaseSpec]:
    driver = Plugins.load().driver("noise", kind)
    spec = driver.Spec.model_validate({"kind": kind, "instances": instances, **KINDS[kind][1]})
    return driver, simulated_case().model_copy(update={"noise": spec})


def heard(running: RunningLoad) -> bool:
    return all(one.elapsed_ns is not None for one in running.counts())


@pytest.mark.everyday
def test_every_kind_that_is_installed_is_held_to_this() -> None:
    assert set(KINDS) == set(Plugins.load().drivers("noise"))


@pytest.mark.everyday
@pytest.mark.parametrize("kind", KINDS)
def test_a_plan_names_every_instance_and_its_cpu_and_touches_nothing(
    kind: str, tmp_path: Path
) -> None:
    driver, case = load_of(kind, instances=2)
    (need,) = driver.needs(case).cpus
    assert (need.role, need.count) == (NOISE, 2)
    before = sorted(tmp_path.iterdir())
    first, second = driver.plan(case, PLACED), driver.plan(case, PLACED)
    assert first == second
    assert {step.component for step in first} == {NOISE}
    for name in ("noise 1", "noise 2"):
        assert any(name in step.action and f"CPU {CPU}" in step.action for step in first)
    assert sorted(tmp_path.iterdir()) == before
    assert known_too_early(first) == []


@pytest.mark.parametrize("kind", PROCESSES_EVERY_DAY)
def test_it_runs_says_what_it_did_and_leaves_nothing(
    kind: str, place: Workspace, require: Require
) -> None:
    for part in KINDS[kind][0]:
        require(part)
    driver, case = load_of(kind)
    driver.require(case)
    with driver.start(case, PLACED, place) as running:
        wait_until(lambda: heard(running), PATIENCE_S)
        assert [one.instance for one in running.counts()] == ["noise 1"]
        assert running.failure() is None
        assert running.facts()
        before = running.counts()[0]
        wait_until(lambda: _did_more(running, before.cpu_ns), PATIENCE_S)
        assert marked(place)
    assert marked(place) == []


@pytest.mark.parametrize("kind", PROCESSES_EVERY_DAY)
def test_who_hangs_or_is_killed_is_told_by_name_and_its_end_is_no_obstacle(
    kind: str, place: Workspace, require: Require
) -> None:
    for part in KINDS[kind][0]:
        require(part)
    driver, case = load_of(kind)
    with driver.start(case, PLACED, place) as running:
        wait_until(lambda: heard(running), PATIENCE_S)
        for sent, said in (
            (signal.SIGSTOP, "noise 1 is stopped"),
            (signal.SIGKILL, "noise 1 was killed by SIGKILL"),
        ):
            for pid in marked(place):
                os.kill(pid, sent)
            wait_until(partial(_fails, running, said), PATIENCE_S)
    assert marked(place) == []


def _fails(running: RunningLoad, words: str) -> bool:
    return (running.failure() or "").startswith(words)


def _did_more(running: RunningLoad, before: int | None) -> bool:
    (one,) = running.counts()
    return one.cpu_ns is not None and one.cpu_ns > (before or 0)


def test_a_guest_in_a_folder_with_too_long_a_path_is_refused_with_the_reason(
    tmp_path: Path, require: Require
) -> None:
    for part in ("stress-ng", "guests"):
        require(part)
    driver, case = load_of("stress-vm")
    with (
        workspace("a long way down", tmp_path / ("deep" * 20)) as place,
        pytest.raises(NotReadyError, match="the path of a socket is too long") as refused,
        driver.start(case, PLACED, place),
    ):
        pass
    assert "VSPERF_RUNTIME" in str(refused.value.problems[0].fix)
