"""From what the user wrote to a search that can run, and to the loads it may offer."""

from __future__ import annotations

import math
from collections.abc import Mapping
from fractions import Fraction

from vsperf.errors import Problem, SpecError
from vsperf.search import base
from vsperf.search.classify import DurationRule
from vsperf.search.clean import CleanTime
from vsperf.search.confirm import Confirmed
from vsperf.search.fixed import FixedLoads
from vsperf.search.mlr import MlrGoal, MultipleLossRatio
from vsperf.search.rfc2544 import Bisection
from vsperf.search.tst009 import VerificationRule, VerifiedBinarySearch
from vsperf.spec.case import CaseSpec
from vsperf.spec.search import FixedLoad, Goal, MlrSearch, Rfc2544Search, Search, Tst009Search
from vsperf.units import Duration, FrameSize, LinkSpeed, Rate, Ratio


def build(spec: Search, loads: base.Loads) -> base.Search:
    """Return the search that a specification asks for; if it has bounds, they are closed in on.

    That is, they are answered once more in clean time, and tried again at the end.
    """
    found = method(spec, loads)
    match found:
        case MultipleLossRatio():
            duration_ns = max(goal.rule.final_ns for goal in found.goals.values())
        case Bisection() | VerifiedBinarySearch():
            duration_ns = found.duration_ns
        case _:
            return found
    return Confirmed(found, CleanTime(found.questions, duration_ns))


def method(spec: Search, loads: base.Loads) -> base.Search:
    """Return the method alone, as others have it."""
    match spec:
        case MlrSearch():
            return MultipleLossRatio(mlr_goals(spec), loads, spec.verify_upper)
        case Rfc2544Search():
            ns = spec.duration.ns
            rules = {
                name: DurationRule(goal.loss_ratio.value, Fraction(0), ns, ns)
                for name, goal in spec.goals.items()
            }
            step = max(1, math.floor(spec.resolution.value * loads.maximum))
            return Bisection(rules, loads, ns, step, spec.verify_upper)
        case Tst009Search():
            verified = {
                name: VerificationRule(goal.loss_ratio.value, spec.max_repeats, spec.loss_threshold)
                for name, goal in spec.goals.items()
            }
            return VerifiedBinarySearch(verified, loads, array_of(loads), spec.duration.ns)
        case FixedLoad():
            durations = {load: spec.duration_ns(load) for load in loads.fixed}
            return FixedLoads(loads, durations, spec.repeats, spec.loss_ratio.value)


def goals_of(spec: Search) -> Mapping[str, Goal]:
    """Return the goals of a search by name; a fixed load has none."""
    match spec:
        case MlrSearch():
            return spec.resolved_goals()
        case FixedLoad():
            return {}
        case _:
            return spec.goals


def mlr_goals(spec: MlrSearch) -> dict[str, MlrGoal]:
    """Return the goals of an MLR search with every value filled in."""
    goals = {}
    for name, goal in spec.resolved_goals().items():
        final = _given(goal.final_duration).ns
        rule = DurationRule(
            goal.loss_ratio.value,
            _share(goal.exceed_ratio),
            final,
            _given(goal.duration_sum).ns,
        )
        goals[name] = MlrGoal(rule, _given(goal.initial_duration).ns, _share(goal.width))
    return goals


def _given(duration: Duration | None) -> Duration:
    assert duration is not None  # resolved goals have every value
    return duration


def _share(ratio: Ratio | None) -> Fraction:
    assert ratio is not None
    return ratio.value


def array_of(loads: base.Loads) -> range:
    """Return the array of loads of a TST 009 search: the highest load and all steps below it."""
    assert loads.step is not None
    steps = (loads.maximum - loads.minimum) // loads.step
    return range(loads.maximum - steps * loads.step, loads.maximum + 1, loads.step)


def loads_of(case: CaseSpec, generator_cap: int | None = None) -> base.Loads:
    """Return the loads that a case may offer, in whole frames per second and direction.

    All links carry the same load, so the slowest one decides. A highest load above the line rate
    means the line rate: the same limit then serves a list of frame sizes. Nothing is searched above
    what the generator was seen to do without a switch.
    """
    link, size = case.slowest_link, case.traffic.frame_size
    line_rate = math.floor(link.frames_per_second(size))
    spec = case.search
    if isinstance(spec, FixedLoad):
        cap = line_rate if generator_cap is None else min(line_rate, generator_cap)
        asked = (_fixed(rate, size, link, line_rate) for rate in spec.loads)
        fixed = tuple(dict.fromkeys(min(load, cap) for load in asked))
        return base.Loads(
            min(fixed), max(fixed), line_rate, fixed=fixed, generator_cap=generator_cap
        )
    lowest = max(1, math.ceil(spec.min_load.frames_per_second(size, link)))
    highest = min(line_rate, math.floor(spec.max_load.frames_per_second(size, link)))
    if generator_cap is not None:
        highest = max(lowest + 1, min(highest, generator_cap))
    if lowest >= highest:
        raise _refused(
            f"min_load {spec.min_load} leaves no range below max_load {spec.max_load}",
            f"at {size} on {link} they are {lowest} and {highest} frames per second",
            "lower search.min_load or raise search.max_load",
        )
    step = None
    if isinstance(spec, Tst009Search):
        step = math.floor(_step_fps(spec.step, size, link, highest))
        if step < 1:
            raise _refused(
                f"the step {spec.step} is less than one frame per second",
                f"at {size} on {link}",
                "give search.step a greater rate, such as 10kfps",
            )
    return base.Loads(lowest, highest, line_rate, step=step, generator_cap=generator_cap)


def _step_fps(step: Rate, size: FrameSize, link: LinkSpeed, highest: int) -> Fraction:
    """Return the distance of two loads; a share is one of the highest load that may be offered.

    That is the line rate of real links. A virtual one has a speed in name only, of which half a
    per cent can be more than a quarter of all that ever passes.
    """
    return step.number / 100 * highest if step.unit == "%" else step.frames_per_second(size, link)


def _fixed(rate: Rate, size: FrameSize, link: LinkSpeed, line_rate: int) -> int:
    load = math.floor(rate.frames_per_second(size, link))
    if not 1 <= load <= line_rate:
        raise _refused(
            f"the load {rate} cannot be offered",
            f"at {size} a load lies between 1 frame per second and the line rate of {link}, "
            f"{line_rate} frames per second",
            "change search.loads; 100% is the line rate",
        )
    return load


def _refused(what: str, why: str, fix: str) -> SpecError:
    return SpecError([Problem(what, None, why, fix)])
