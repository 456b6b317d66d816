"""Criteria of a testcase: what must be true for it to pass."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, ClassVar, Self

from pydantic import Field, model_validator

from vsperf.config.base import Spec
from vsperf.quantities.quantity import Quantity, UnitError, shown
from vsperf.quantities.unit import Factor, Unit
from vsperf.quantities.units import Count, FrameSize, LinkSpeed, MeasuredTime, Rate, Ratio

ONE_OF = ("min", "max", "max_loss", "baseline")
"""A criterion has one of these."""


@dataclass(frozen=True, slots=True)
class Bound(Quantity):
    """What a figure is held against, in the unit of that figure, such as 5Mfps, 20us or 10k."""

    EXAMPLES: ClassVar[tuple[str, ...]] = ("5Mfps", "100%", "20us", "10k")
    TEXT: ClassVar[str] = "|".join(sorted({unit.quantity.TEXT for unit in Unit}))
    OTHERS: ClassVar[Mapping[str, Any]] = {"type": ["number"], "minimum": 0}

    text: str

    @classmethod
    def _parse(cls, value: object) -> Self:
        for unit in Unit:
            with suppress(UnitError):
                unit.quantity.parse(value)
                return cls(str(value).strip())
        raise UnitError(
            f"{shown(value)} is no bound; one is written like {', '.join(cls.EXAMPLES)}"
        )

    def read(self, unit: Unit) -> Rate | LinkSpeed | MeasuredTime | Ratio | Factor | Count:
        """Return the quantity that it is of a figure in that unit."""
        return unit.quantity.parse(self.text)

    def __str__(self) -> str:
        return self.text


class Expectation(Spec):
    """One criterion on one metric; judged on the side of the interval that is certain."""

    metric: str = Field(pattern=r"^[a-z][a-z0-9_.]{0,31}$")
    """A goal of the search (`ndr`), a figure of the method (`burst`), the loss of its loads (`loss`
    of fixed ones), or a latency percentile (`p50`, `p99`, `p99.9`)."""
    min: Bound | None = None
    """For a goal: the lower bound must reach this rate; for a figure: at least this."""
    max: Bound | None = None
    """For a latency percentile or a figure: at most this."""
    load: Ratio | None = None
    """For a latency percentile: at this share of the goal; at every share when not given."""
    max_loss: Ratio | None = None
    """For the loss of loads: at most this in every trial."""
    baseline: str | None = Field(default=None, pattern=r"^[A-Za-z][A-Za-z0-9_.-]{0,62}$")
    """Held against the number of this baseline, with `drop` or `rise`; `vsperf baseline set` names
    one."""
    drop: Ratio | None = None
    """By how much less than the baseline a goal or a figure may be, such as 3%."""
    rise: Ratio | None = None
    """By how much more than the baseline a latency percentile or a figure may be."""
    held_to: Bound | None = None
    """What the baseline's number makes of it; filled in by vsperf when a run is planned."""
    held_by: dict[str, Bound] = Field({})
    """The same for its number in a regime (`ndr near`) and over deployments (`ndr over draws`), as
    far as the baseline has them; filled in likewise."""
    spans_ns: dict[str, tuple[int, int]] = Field({})
    """Shortest and longest round trip of a cache line in the baseline, `near` and `far`; or `alone`
    of one that met one regime, whose bound for it is that of `ndr alone`. Filled in likewise."""
    apart: Ratio | None = None
    """By how much less is asked, or more is allowed, since deployments lie so far apart by chance,
    by the baseline's own; filled in likewise."""
    frame_size: FrameSize | None = None
    """Only for cases of this size; for all of them when not given."""
    search: str | None = Field(default=None, pattern=r"^[A-Za-z0-9][A-Za-z0-9._+-]{0,63}$")
    """Only for what is asked by this name, where `search` is a list; for all of it when not given.
    """

    @model_validator(mode="after")
    def _one_bound(self) -> Self:
        given = [name for name in ONE_OF if getattr(self, name) is not None]
        if len(given) != 1:
            raise ValueError(
                "a criterion has exactly one of `min`, `max`, `max_loss` and `baseline`"
            )
        if self.baseline is None:
            self._no_baseline()
        else:
            self._one_change()
            return self
        if self.percentile is not None and self.max is None:
            raise ValueError(f"a criterion on {self.metric} takes `max`, not `{given[0]}`")
        if self.load is not None and self.percentile is None:
            raise ValueError("`load` says where latency is measured, and fits no other metric")
        if self.percentile is not None:
            self.bound.read(Unit.NANOSECONDS)
        return self

    def _no_baseline(self) -> None:
        """Refuse what only a baseline gives a meaning."""
        for name in ("drop", "rise", "held_to", "held_by", "spans_ns", "apart"):
            if getattr(self, name):
                raise ValueError(f"`{name}` refers to a `baseline`, and none is given")

    def _one_change(self) -> None:
        """Refuse a baseline with more or less than one change that it allows."""
        if (self.drop is None) == (self.rise is None):
            raise ValueError("a criterion on a baseline has either `drop` or `rise`")
        if self.percentile is not None and self.rise is None:
            raise ValueError(f"a criterion on {self.metric} takes `rise`, not `drop`")
        if self.drop is not None and self.drop.value >= 1:
            raise ValueError("a `drop` of 100% or more leaves nothing to ask for")
        if self.load is not None and self.percentile is None:
            raise ValueError("`load` says where latency is measured, and fits no other metric")

    def require_losses(self, losses: Collection[str]) -> None:
        """Refuse `max_loss` for what is not the loss of each load, and all else for what is."""
        given = next(name for name in ONE_OF if getattr(self, name) is not None)
        if (self.metric in losses) == (given == "max_loss"):
            return
        wanted = "`max_loss`" if self.metric in losses else "`min` or `max`"
        raise ValueError(f"a criterion on {self.metric} takes {wanted}, not `{given}`")

    @property
    def at_most(self) -> bool:
        """Whether the metric must not be more than its bound; else it must not be less."""
        return self.max is not None or self.rise is not None

    @property
    def known(self) -> bool:
        """Whether it is known what the metric is held against; a baseline has to be looked up."""
        return self.baseline is None or self.held_to is not None

    @property
    def bound(self) -> Bound:
        """What the metric is held against, where it is not a loss."""
        bound = self.min or self.max or self.held_to
        assert bound is not None  # by the model, once a baseline is looked up
        return bound

    @property
    def asked(self) -> str:
        """The bound as it was asked for, for people."""
        if self.baseline is None:
            return str(self.bound)
        sign = "and" if self.at_most else "less"
        chance = f", {sign} {self.apart} by which deployments lie apart" if self.apart else ""
        return f"{self.bound}, {self.baseline} {self.change}{chance}"

    @property
    def change(self) -> str:
        """By how much the number of a baseline may be missed, for people."""
        return f"− {self.drop}" if self.rise is None else f"+ {self.rise}"

    @property
    def percentile(self) -> float | None:
        """The percentile that the metric names, if it names one."""
        digits = self.metric.removeprefix("p")
        if digits == self.metric or not digits.replace(".", "", 1).isdigit():
            return None
        value = float(digits)
        return value if 0 < value <= 100 else None
