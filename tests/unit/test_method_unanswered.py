"""A method that never measured what it is for has no answer, and is no pass."""

from __future__ import annotations

from typing import Any

import pytest
from bench_models import LOADS, FluidBench, method

from vsperf.engine.criteria import outcome_of
from vsperf.record.run import Outcome

TIMES = {"throughput_duration": "1s", "throughput_sum": "1s"}


@pytest.mark.parametrize(
    "kind", ["soak", "latency", "back2back", "recovery", "reset", "wake_up", "churn", "broadcast"]
)
def test_without_a_throughput_to_refer_to_nothing_was_measured(kind: str) -> None:
    asked: dict[str, dict[str, Any]] = {
        "soak": {"duration": "10s"},
        "latency": {"duration": "2s", "tag_after": "1s"},
    }
    if kind == "churn":
        asked["churn"] = {"rules_per_second": ("100",), **TIMES}
    result = method(kind, **asked.get(kind, {})).run(FluidBench(LOADS.minimum - 1))
    outcome, reason = outcome_of(result, ())

    assert outcome is Outcome.INVALID
    assert "no load passed" in reason
    assert all((one.value, one.text) == (None, "no answer") for one in result.figures)


def test_a_line_rate_without_loss_is_an_answer_on_its_buffer() -> None:
    result = method("back2back").run(FluidBench(LOADS.maximum))
    assert outcome_of(result, ())[0] is Outcome.PASS
    assert "not meaningful" in result.figures[0].reason
