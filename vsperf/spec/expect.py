"""Criteria of a testcase: what must be true for it to pass."""

from __future__ import annotations

from typing import Self

from pydantic import Field, model_validator

from vsperf.spec.base import Spec
from vsperf.units import Duration, FrameSize, Rate, Ratio


class Expectation(Spec):
    """One criterion on one metric; judged on the side of the interval that is certain."""

    metric: str = Field(pattern=r"^[a-z][a-z0-9_.]{0,31}$")
    """A goal of the search (`ndr`), `loss`, or a latency percentile (`p50`, `p99`, `p99.9`)."""
    min: Rate | None = None
    """For a goal: the lower bound must reach this rate."""
    max: Duration | None = None
    """For a latency percentile: at most this."""
    load: Ratio | None = None
    """For a latency percentile: at this share of the goal; at every share when not given."""
    max_loss: Ratio | None = None
    """For `loss`: at most this in every trial of a fixed load."""
    frame_size: FrameSize | None = None
    """Only for cases of this size; for all of them when not given."""

    @model_validator(mode="after")
    def _one_bound(self) -> Self:
        given = [name for name in ("min", "max", "max_loss") if getattr(self, name) is not None]
        if len(given) != 1:
            raise ValueError("a criterion has exactly one of `min`, `max` and `max_loss`")
        kind = "max_loss" if self.metric == "loss" else "max" if self.percentile else "min"
        if given[0] != kind:
            raise ValueError(f"a criterion on {self.metric} takes `{kind}`, not `{given[0]}`")
        if self.load is not None and self.percentile is None:
            raise ValueError("`load` says where latency is measured, and fits no other metric")
        return self

    @property
    def percentile(self) -> float | None:
        """The percentile that the metric names, if it names one."""
        digits = self.metric.removeprefix("p")
        if digits == self.metric or not digits.replace(".", "", 1).isdigit():
            return None
        value = float(digits)
        return value if 0 < value <= 100 else None
