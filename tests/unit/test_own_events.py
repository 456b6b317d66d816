"""An event that comes with another package: one class, and one entry point."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from bench_models import LOADS, FluidBench, figures, method
from pydantic import ValidationError
from test_disturb import Restarting, counted

from vsperf.engine.disturb import run_trial
from vsperf.engine.happenings import Parts, happening_of
from vsperf.methods.base import Manner
from vsperf.methods.happening import known_events
from vsperf.record.trial import TrialCounts, to_machines
from vsperf.trafficgens.base import TrialRequest

SECOND = 1_000_000_000
CODE = """
class Freeze:
    def act(self, parts):
        parts.switch.restart(kill=False)

    def away_ns(self, parts):
        return None
"""


@pytest.fixture(name="installed")
def fixture_installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Install a package that brings an event."""
    (tmp_path / "frozen_by_us.py").write_text(CODE)
    info = tmp_path / "frozen-1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: frozen\nVersion: 1\n")
    points = "[vsperf.happenings]\nfreeze-switch = frozen_by_us:Freeze\n"
    (info / "entry_points.txt").write_text(points)
    monkeypatch.syspath_prepend(str(tmp_path))
    known_events.cache_clear()
    yield
    known_events.cache_clear()
    happening_of.cache_clear()
    sys.modules.pop("frozen_by_us", None)


@pytest.mark.usefixtures("installed")
def test_a_method_that_knows_events_by_name_knows_it() -> None:
    asked = method("reset", throughput="5Mfps", events=["freeze-switch"], repeats=1)
    bench = FluidBench(5_000_000, outages_ns={"freeze-switch": SECOND}, loads=LOADS)

    found = figures(asked.run(bench))

    assert found["freeze_time"] == SECOND
    assert "freeze_lost" in asked.metrics()


@pytest.mark.usefixtures("installed")
def test_it_happens_while_frames_are_sent() -> None:
    switch = Restarting()

    def send(_: TrialRequest) -> TrialCounts:
        while not switch.restarts:
            time.sleep(0.01)
        return counted(0)

    request = TrialRequest(1000, 2 * SECOND)
    _, happened = run_trial(send, request, Manner(event="freeze-switch"), Parts(switch), 0)

    assert happened.event is not None and happened.event.name == "freeze-switch"
    assert len(switch.restarts) == 1


def test_one_that_nobody_brings_is_refused_with_those_there_are() -> None:
    with pytest.raises(ValidationError, match="there is no event 'freeze-switch'; known: kill-sw"):
        method("reset", events=["freeze-switch"])


def test_a_name_says_to_whom_it_happens() -> None:
    assert [name for name in known_events() if to_machines(name)] == ["reboot-machines"]
