"""The control plane beside the data plane: throughput while rules are added and taken out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal

from pydantic import Field

from vsperf.config.case import CaseSpec
from vsperf.config.counted import Counted
from vsperf.config.method import GIVEN_OTHER_RULES
from vsperf.methods.base import Bench, TrialOptions, probe_on, refused
from vsperf.methods.prerequisite import TIME_OVER, WithThroughput, unanswered, why_not
from vsperf.quantities.unit import Unit
from vsperf.quantities.units import NANOSECONDS
from vsperf.records.flags import Severity, worst
from vsperf.records.result import Axis, Curve, Figure, GoalResult, SearchResult
from vsperf.records.trial import Trial
from vsperf.search.base import Loads

MOST_RULES_A_SECOND = 100_000
RulesPerSecond = Annotated[int, Field(ge=1, le=MOST_RULES_A_SECOND), Counted]


@dataclass(frozen=True, slots=True)
class _Beside:
    """The throughput beside so many changes of rules in a second."""

    wanted: int
    changed: float
    """What the switch really took."""
    goal: GoalResult

    @property
    def believed(self) -> bool:
        return worst(self.goal.flags) is not Severity.INVALID

    def share_of(self, quiet_fps: int) -> float | None:
        """Which share of another throughput it is; None where no load was seen to pass."""
        lower = self.goal.lower_fps
        return None if lower is None or not self.believed else lower / quiet_fps


class RuleChurn(WithThroughput):
    """Throughput without changes of rules, and beside each number of changes in a second."""

    summary: ClassVar[str] = "throughput while rules are added and taken out"

    kind: Literal["churn"]
    rules_per_second: Annotated[tuple[RulesPerSecond, ...], Field(min_length=1)]
    """Rules that are added or taken out in a second; none of them matches a frame."""

    @property
    def done_to_switch(self) -> str | None:
        return GIVEN_OTHER_RULES

    def metrics(self) -> Mapping[str, Unit]:
        return {**super().metrics(), "kept": Unit.RATIO}

    def offers(self, case: CaseSpec, generator_cap: int | None) -> Loads:
        if case.testbed.simulated:
            raise refused(
                "a simulated switch has no rules that could be changed",
                "its numbers would say that changes cost nothing",
                "choose a testbed with a real switch, such as --testbed local",
            )
        return super().offers(case, generator_cap)

    def run(self, bench: Bench) -> SearchResult:
        """Look for the throughput again and again, beside more and more changes."""
        quiet = self.reference(bench)
        if (none := why_not(quiet)) is not None:
            return unanswered(quiet, "kept", Unit.RATIO, none)
        found: list[_Beside] = []
        for wanted in self.rules_per_second:
            options = TrialOptions(rules_per_second=wanted, reference=f"beside {wanted} rules/s")
            probe = probe_on(bench, options)
            goal = self.looked_for(bench.loads, probe)
            if not probe.trials:
                break
            found.append(_Beside(wanted, _changes_a_second(probe.trials), goal))
        if not found:
            return unanswered(quiet, "kept", Unit.RATIO, TIME_OVER)
        return SearchResult(
            goals=quiet.goals,
            figures=tuple(_kept(one, quiet.fps) for one in found[-1:]),
            curves=(_drawn(found, quiet.fps),),
            complete=len(found) == len(self.rules_per_second)
            and not any(one.goal.cut_short for one in found),
        )


def _changes_a_second(trials: Sequence[Trial]) -> float:
    changed = sum(trial.rules_changed or 0 for trial in trials)
    return changed * NANOSECONDS / sum(trial.elapsed_ns for trial in trials)


def _kept(one: _Beside, quiet_fps: int) -> Figure:
    share = one.share_of(quiet_fps)
    return Figure(
        name="kept",
        unit=Unit.RATIO,
        value=share,
        limit=one.goal.limit,
        reason=one.goal.reason if share is None else "share of the throughput without changes",
        at=f"beside {one.changed:.0f} changes of rules in a second, of {one.wanted} wanted",
        flags=one.goal.flags,
    )


def _drawn(found: Sequence[_Beside], quiet_fps: int) -> Curve:
    quiet: tuple[float | None, ...] = (0, 0, quiet_fps, None, 1)
    rows = [
        (
            one.wanted,
            one.changed,
            one.goal.lower_fps,
            one.goal.upper_fps,
            one.share_of(quiet_fps),
        )
        for one in found
        if one.believed
    ]
    return Curve(
        name="throughput_beside_changes",
        x=Axis(name="wanted", unit=Unit.PER_SECOND),
        columns=(
            Axis(name="changed", unit=Unit.PER_SECOND),
            Axis(name="passed", unit=Unit.FPS),
            Axis(name="failed", unit=Unit.FPS),
            Axis(name="share", unit=Unit.RATIO),
        ),
        points=(quiet, *rows),
    )
