"""What every driver of a load beside a case does, however it makes its load; it joins by fixtures.

class TestMyLoad(LoadContract):
    @pytest.fixture
    def driver(self) -> LoadGenerator: ...   # the driver
    @pytest.fixture
    def settings(self) -> dict[str, Any]: ...  # those that disturb nobody
"""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from ovs_traffic import wait_until
from places import known_too_early, marked, short_room
from simulated_cases import simulated_case

from vsperf.config.case import CaseSpec
from vsperf.config.noise import NOISE
from vsperf.drivers.loads.base import LoadGenerator, RunningLoad
from vsperf.host.workspace import Workspace
from vsperf.records.run import Placement

PATIENCE_S = 60.0
CPU = max(os.sched_getaffinity(0))
PLACED = Placement(cpus={NOISE: (CPU,)})


def case_of(driver: LoadGenerator, settings: dict[str, Any], instances: int = 1) -> CaseSpec:
    spec = driver.Spec.model_validate({"kind": driver.kind, "instances": instances, **settings})
    return simulated_case().model_copy(update={"noise": spec})


class Fixtures:
    """A load with settings, and a place for it."""

    @pytest.fixture
    def driver(self) -> LoadGenerator:
        raise NotImplementedError

    @pytest.fixture
    def settings(self) -> dict[str, Any]:
        raise NotImplementedError

    @pytest.fixture
    def place(self) -> Iterator[Workspace]:
        with short_room("the contract of loads") as made:
            yield made


class PlannedContract(Fixtures):
    """Checks that start nothing."""

    @pytest.mark.everyday
    def test_a_plan_names_every_instance_and_its_cpu_and_touches_nothing(
        self, driver: LoadGenerator, settings: dict[str, Any], tmp_path: Path
    ) -> None:
        case = case_of(driver, settings, instances=2)
        (need,) = driver.needs(case).cpus
        assert (need.role, need.count) == (NOISE, 2)
        before = sorted(tmp_path.iterdir())
        first, second = driver.plan(case, PLACED), driver.plan(case, PLACED)
        assert first == second
        assert {step.component for step in first} == {NOISE}
        for name in ("noise 1", "noise 2"):
            said = [step.action for step in first if name in step.action]
            assert any(f"CPU {CPU}" in action for action in said), f"{name}: {said}"
        assert sorted(tmp_path.iterdir()) == before
        assert known_too_early(first) == []


class RunningContract(Fixtures):
    """Checks that run it."""

    def test_it_runs_says_what_it_did_and_leaves_nothing(
        self, driver: LoadGenerator, settings: dict[str, Any], place: Workspace
    ) -> None:
        case = case_of(driver, settings)
        driver.require(case)
        with driver.start(case, PLACED, place) as running:
            wait_until(lambda: heard(running), PATIENCE_S)
            assert [one.instance for one in running.counts()] == ["noise 1"]
            assert running.failure() is None
            assert running.facts(), "it says what it is"
            before = running.counts()[0]
            wait_until(lambda: _did_more(running, before.cpu_ns), PATIENCE_S)
            assert marked(place), "it runs something"
        assert marked(place) == []

    def test_who_hangs_or_is_killed_is_told_by_name_and_its_end_is_no_obstacle(
        self, driver: LoadGenerator, settings: dict[str, Any], place: Workspace
    ) -> None:
        case = case_of(driver, settings)
        with driver.start(case, PLACED, place) as running:
            wait_until(lambda: heard(running), PATIENCE_S)
            for sent, said in (
                (signal.SIGSTOP, "noise 1 is stopped"),
                (signal.SIGKILL, "noise 1 was killed by SIGKILL"),
            ):
                wait_until(partial(_struck, place, sent, running, said), PATIENCE_S)
        assert marked(place) == []


class LoadContract(PlannedContract, RunningContract):
    """Checks that hold for any load."""


def heard(running: RunningLoad) -> bool:
    return all(one.elapsed_ns is not None for one in running.counts())


def _struck(place: Workspace, sent: signal.Signals, running: RunningLoad, words: str) -> bool:
    """Strike all that runs, and say whether that is told; a program may start others meanwhile."""
    for pid in marked(place):
        with suppress(ProcessLookupError):
            os.kill(pid, sent)
    return (running.failure() or "").startswith(words)


def _did_more(running: RunningLoad, before: int | None) -> bool:
    (one,) = running.counts()
    return one.cpu_ns is not None and one.cpu_ns > (before or 0)
