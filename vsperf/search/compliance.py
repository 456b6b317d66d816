"""How a case stands to the standards: one of three words each, with every deviation named.

House rule for RFC 2544. What changes the meaning of "throughput" makes a result not compliant:
loss above zero, final trials under 60 s, loss that may be disregarded, and a search that did not
come to the switch's own limit. What leaves the meaning and weakens the evidence (frame sizes,
waits, learning frames, a single direction) leaves it conditionally compliant.

A case is judged by its strictest goal. TST 009 is known here at second hand, and RFC 9971 from
its last draft; their levels are to be read with that in mind.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction

from vsperf.record.flags import Flag, Severity, worst
from vsperf.record.result import Compliance, GoalResult, Level, Limit, SearchResult, Standard
from vsperf.search.build import goals_of, mlr_goals
from vsperf.spec.case import CaseSpec
from vsperf.spec.search import FixedLoad, MlrSearch, Rfc2544Search, Tst009Search
from vsperf.units import NANOSECONDS, Duration

ETHERNET_SIZES = (64, 128, 256, 512, 1024, 1280, 1518)
"""RFC 2544 section 9.1 [B]."""
FULL_NS = 60 * NANOSECONDS
"""RFC 2544 section 24: least duration of the trials that decide."""


@dataclass
class Findings:
    """Deviations as they are found, by their weight."""

    breaking: list[str] = field(default_factory=list)
    """They change what the result means."""
    weakening: list[str] = field(default_factory=list)
    """They leave its meaning."""

    def verdict(self, standard: Standard) -> Compliance:
        """Return the level that the deviations leave."""
        level = Level.UNCONDITIONAL
        if self.weakening:
            level = Level.CONDITIONAL
        if self.breaking:
            level = Level.NOT
        deviations = (*self.breaking, *self.weakening)
        return Compliance(standard=standard, level=level, deviations=deviations)


def compliance_of(
    case: CaseSpec, sister_sizes: Sequence[int], result: SearchResult
) -> tuple[Compliance, ...]:
    """Return the standing of a case, for each standard.

    `sister_sizes` are the frame sizes [B] of all cases of the testcase in this run.
    """
    return (
        _rfc2544(case, sister_sizes, result).verdict(Standard.RFC2544),
        _rfc9971(case, result).verdict(Standard.RFC9971),
        _tst009(case, result).verdict(Standard.TST009),
    )


def _rfc2544(case: CaseSpec, sister_sizes: Sequence[int], result: SearchResult) -> Findings:
    found = Findings()
    spec, name = case.search, strictest(case)
    match spec:
        case FixedLoad():
            found.breaking.append("loads are given and no throughput is searched")
        case MlrSearch():
            rule = mlr_goals(spec)[name].rule
            _too_short(found, rule.final_ns)
            if rule.exceed_ratio:
                share = spec.resolved_goals()[name].exceed_ratio
                found.breaking.append(f"up to {share} of the time at a load may be lossy")
        case Rfc2544Search():
            _too_short(found, spec.duration.ns)
        case Tst009Search():
            _too_short(found, spec.duration.ns)
            if spec.max_repeats:
                found.breaking.append("a lossy trial is repeated and may be disregarded")
    if name:
        _loss_allowed(found, case, name)
        _undetermined(found, _result_of(result, name))
    _evidence(found, case, sister_sizes)
    return found


def _rfc9971(case: CaseSpec, result: SearchResult) -> Findings:
    found = Findings()
    spec = case.search
    if not isinstance(spec, MlrSearch):
        found.breaking.append(f"the method is {spec.kind}, not a multiple loss ratio search")
        return found
    if not result.complete:
        found.breaking.append("the time ended before every goal was reached")
    for name, goal in mlr_goals(spec).items():
        if goal.width < goal.rule.loss_ratio:
            found.weakening.append(f"goal {name}: the width is smaller than the loss ratio")
    if not case.trial.warm_up.ns:
        found.weakening.append("no warm-up trial before the search")
    return found


def _tst009(case: CaseSpec, result: SearchResult) -> Findings:
    """Judge the method; a multiple loss ratio goal can be equivalent to it."""
    found = Findings()
    spec, name = case.search, strictest(case)
    match spec:
        case Tst009Search():
            _too_short(found, spec.duration.ns)
            if not spec.max_repeats or not spec.loss_threshold:
                found.weakening.append("max(r) or z is 0: a plain binary search, no loss verified")
        case MlrSearch():
            goal = mlr_goals(spec)[name]
            asked = (goal.rule.final_ns, goal.rule.sum_ns, goal.rule.exceed_ratio)
            if asked != (FULL_NS, 2 * FULL_NS, Fraction(1, 2)):
                found.breaking.append(
                    "only 60 s trials, a duration sum of 120 s and an exceed ratio of 50% make a "
                    f"goal equivalent, not {Duration(goal.rule.final_ns)}, "
                    f"{Duration(goal.rule.sum_ns)} and {spec.resolved_goals()[name].exceed_ratio}"
                )
        case _:
            found.breaking.append(f"the method is {spec.kind}, which verifies no loss")
    if name:
        _loss_allowed(found, case, name)
        _undetermined(found, _result_of(result, name))
    return found


def strictest(case: CaseSpec) -> str:
    """Return the goal that allows the least loss; empty for a fixed load."""
    goals = goals_of(case.search)
    return min(goals, key=lambda name: goals[name].loss_ratio.value, default="")


def _result_of(result: SearchResult, name: str) -> GoalResult | None:
    return next((goal for goal in result.goals if goal.goal == name), None)


def _too_short(found: Findings, duration_ns: int) -> None:
    if duration_ns < FULL_NS:
        found.breaking.append(f"trial duration {Duration(duration_ns)} instead of 60s")


def _loss_allowed(found: Findings, case: CaseSpec, name: str) -> None:
    allowed = goals_of(case.search)[name].loss_ratio
    if allowed.value:
        found.breaking.append(f"the strictest goal, {name}, allows a loss of {allowed}")


def _undetermined(found: Findings, goal: GoalResult | None) -> None:
    """Add why a result is not the throughput of the switch, if it is not."""
    if goal is None:
        found.breaking.append("there is no result")
        return
    reasons = {
        Limit.GENERATOR: "the generator limited the result, not the switch",
        Limit.HOST: "the host limited the result, not the switch",
        Limit.UNCOUNTED: "nobody counted where the missing frames were lost",
        Limit.SETTING: "the highest load allowed lies below the line rate, and it passed",
        Limit.BUDGET: "the time ended before the search did",
        Limit.UNKNOWN: "the trials contradict each other",
    }
    if goal.limit in reasons:
        found.breaking.append(reasons[goal.limit])
    elif goal.lower_fps is None:
        found.breaking.append("no load passed, so there is no throughput")
    elif worst(goal.flags) is Severity.INVALID:
        found.breaking.append("the result is invalid")
    elif Flag.OUT_OF_BUDGET in goal.flags:
        found.weakening.append("the time ended before the upper bound was tried again")


def _evidence(found: Findings, case: CaseSpec, sister_sizes: Sequence[int]) -> None:
    """Add what RFC 2544 asks for around the trials and between the cases."""
    sizes = {*sister_sizes, case.traffic.frame_size.bytes}
    missing = [size for size in ETHERNET_SIZES if size not in sizes]
    if missing:
        listed = ", ".join(map(str, missing))
        found.weakening.append(f"frame sizes not measured (section 9.1): {listed}")
    if len(sizes) < 5:
        found.weakening.append(f"{len(sizes)} of at least 5 frame sizes (section 9)")
    if case.traffic.replay is not None:
        found.weakening.append("frames of a capture file, not the test frames (section 8)")
    if case.traffic.direction != "both":
        found.weakening.append("traffic in one direction only (section 14)")
    if case.latency is not None and case.latency.loads:
        found.weakening.append("latency from one trial at a load instead of 20 (section 26.2)")
    policy = case.trial
    if not policy.learning:
        found.weakening.append("no learning frames before a trial (section 23)")
    waits = (
        ("before the test stream", policy.settle, 2),
        ("for late frames", policy.drain, 2),
        ("after a trial", policy.pause, 5),
    )
    for what, wait, seconds in waits:
        if wait.ns < seconds * NANOSECONDS:
            found.weakening.append(f"wait {what} {wait} instead of {seconds}s (section 23)")
