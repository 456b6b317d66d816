"""A run begins on a quiet machine, waits for one, or is told to go on anyway."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import pytest

from vsperf.engine.quiet import MOST_PPM, Patience, require_quiet
from vsperf.engine.run import Planned
from vsperf.errors import NotReadyError
from vsperf.host.activity import Share
from vsperf.record.plan import Placement, Plan
from vsperf.units import NANOSECONDS


class Case:
    """As much of a planned case as is asked for."""

    def __init__(self, cpus: Sequence[int], *, simulated: bool = False) -> None:
        plan = Plan(
            steps=(),
            endpoints=(),
            directions=(),
            placement=Placement(cpus={"generator": tuple(cpus)}),
        )
        self.plan = cast(Any, type("CasePlan", (), {"plan": plan}))
        testbed = type("Testbed", (), {"simulated": simulated})
        self.case = type("Case", (), {"spec": type("Spec", (), {"testbed": testbed})})


def planned(cpus: Sequence[int] = (0, 1), *, simulated: bool = False) -> list[Planned]:
    return cast(list[Planned], [Case(cpus, simulated=simulated)])


def used(*ppm: int) -> Any:
    """Return looks at what others use, one after the other; the last one for ever."""
    left = list(ppm)

    def look() -> tuple[Share, ...]:
        now = left.pop(0) if len(left) > 1 else left[0]
        return (Share(77, "qemu-system-x86", now),)

    return look


@pytest.fixture(name="said", autouse=True)
def fixture_said(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    monkeypatch.setattr("vsperf.engine.quiet.sleep", lambda seconds: None)
    monkeypatch.setattr("vsperf.engine.quiet.os.cpu_count", lambda: 2)
    return []


def test_a_machine_that_others_use_more_of_than_the_run_leaves_is_refused(said: list[str]) -> None:
    with pytest.raises(NotReadyError) as refused:
        require_quiet(planned(), Patience(), said.append, used(1_640_000))
    text = refused.value.with_why
    assert "others use 164 % of a CPU (qemu-system-x86 (77) 164 %)" in text
    assert "--wait 30m" in (refused.value.problems[0].fix or "")
    assert "--anyway" in (refused.value.problems[0].fix or "")


def test_what_others_use_of_cpus_that_the_run_leaves_free_does_no_harm(said: list[str]) -> None:
    require_quiet(planned((0,)), Patience(), said.append, used(1_000_000 + MOST_PPM))
    with pytest.raises(NotReadyError):
        require_quiet(planned((0,)), Patience(), said.append, used(1_000_001 + MOST_PPM))


def test_who_says_anyway_is_not_asked(said: list[str]) -> None:
    require_quiet(planned(), Patience(anyway=True), said.append, used(2_000_000))


def test_a_model_needs_no_quiet_machine(said: list[str]) -> None:
    require_quiet(planned(simulated=True), Patience(), said.append, used(2_000_000))


def test_who_waits_is_told_once_and_begins_when_the_machine_is_quiet(said: list[str]) -> None:
    patience = Patience(wait_ns=3600 * NANOSECONDS)
    require_quiet(planned(), patience, said.append, used(2_000_000, 1_900_000, 10_000))
    assert said == [
        "waiting for a quiet machine: others use 200 % of a CPU (qemu-system-x86 (77) 200 %)"
    ]


def test_waiting_has_an_end(said: list[str]) -> None:
    with pytest.raises(NotReadyError, match="too busy to measure on still"):
        require_quiet(planned(), Patience(wait_ns=1), said.append, used(2_000_000))
