"""From trials to the answer of a goal: the interval, what limits it, and what speaks against it.

All searches end here, so a bound and a limit mean the same whichever method found them. The chain
of questions is the order of `_limit`: did the time suffice, and was it clean where it did not, was
the lowest load passed, is there an upper bound, did a repeat confirm it, was it the switch that
failed there. What trials say against an answer is asked by one function each, and all is pure.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from vsperf.quantities.human import End, human_fps, human_ns, percent
from vsperf.quantities.units import NANOSECONDS
from vsperf.records.clean import LEAST, CleanTrial, clean_share, in_clean_time, kept_silent
from vsperf.records.flags import Flag
from vsperf.records.result import COUNTED, GoalResult, Limit, RegimeResult
from vsperf.records.trial import Trial
from vsperf.search.base import Loads
from vsperf.search.classify import (
    Bound,
    Bounds,
    DurationRule,
    Rule,
    bounds_of,
    by_load,
    failed,
    failed_in_switch,
)

NEAR = Fraction(95, 100)
"""From this share of the generator's cap on a result is the generator's."""
FEW_FRAMES = 16
"""Loss of up to so many frames may be something that eats single frames."""
SPORADIC = Fraction(1, 100)
"""Overload at an upper bound is somewhere between none and the width of the interval. That it is
within this share of nothing is unlikely, in all trials there."""
LESS = Fraction(1, 1000)
"""From this share on a trial forwarded less than what had passed: more than counting is off by."""
FEW_TRIALS = 2
"""From so many trials of each length on their difference is no accident."""
BY_REGIME = "the machine moved its CPUs, so goals were asked by regime"
NOBODYS = "whose loss it was nobody can tell"
ALIKE_LOADS = 3
"""On so many loads a loss must be the same to be called constant, the highest being at least"""
ALIKE_SPAN = 2
"""so many times the lowest: loss in proportion to the load would differ."""


def lossy_trials(rule: Rule, trials: Sequence[Trial]) -> list[Trial]:
    """Return the trials that a goal rejects."""
    return [trial for trial in trials if failed(trial, rule.loss_ratio)]


def as_no_loss(rule: Rule, trials: Sequence[Trial], lower: int) -> bool:
    """Whether a goal allows some loss, and no trial at its bound was long enough to show it."""
    sent = [
        way.intended_frames for one in trials if one.load_fps == lower for way in one.directions
    ]
    return rule.loss_ratio > 0 and max(sent, default=0) * rule.loss_ratio < 1


def constant_loss(trials: Sequence[Trial]) -> bool:
    """Whether the same few frames are missing at low and at high load.

    Overload at the top hides a constant loss, so the loads are read from the lowest upwards as
    long as the loss stays what it is there.
    """
    alike: list[int] = []
    expected: int | None = None
    for load, group in by_load(trials).items():
        counts = {trial.worst_direction.lost_frames for trial in group}
        expected = min(counts) if expected is None else expected
        if counts != {expected}:
            break
        alike.append(load)
    few = expected is not None and 0 < expected <= FEW_FRAMES
    return few and len(alike) >= ALIKE_LOADS and alike[-1] >= ALIKE_SPAN * alike[0]


def disagree(rule: Rule, trials: Sequence[Trial]) -> bool:
    """Whether trials of one load and one duration came to both outcomes."""
    outcomes: dict[tuple[int, int], set[bool]] = {}
    for trial in trials:
        equal = outcomes.setdefault((trial.load_fps, trial.duration_ns), set())
        equal.add(failed(trial, rule.loss_ratio))
    return any(len(seen) > 1 for seen in outcomes.values())


def length_matters(rule: Rule, trials: Sequence[Trial]) -> bool:
    """Whether at a load all short trials passed and all long ones failed, two of each or more."""
    longest_ns = max((trial.duration_ns for trial in trials), default=0)
    for group in by_load(trials).values():
        short = [trial for trial in group if trial.duration_ns < longest_ns]
        full = [trial for trial in group if trial.duration_ns == longest_ns]
        if min(len(short), len(full)) >= FEW_TRIALS and (
            all(failed(trial, rule.loss_ratio) for trial in full)
            and not any(failed(trial, rule.loss_ratio) for trial in short)
        ):
            return True
    return False


def sporadic(rule: Rule, trials: Sequence[Trial], bounds: Bounds) -> bool:
    """Whether every trial at the upper bound lost far less than overload by an interval would."""
    lower, upper = bounds.lower, bounds.upper
    if rule.loss_ratio or lower is None or upper is None:
        return False
    lost = [
        Fraction(trial.worst_direction.lost_frames * NANOSECONDS, trial.duration_ns)
        for trial in lossy_trials(rule, by_load(trials)[upper])
    ]
    return max(lost) < (upper - lower) * SPORADIC


def buffered(rule: Rule, trials: Sequence[Trial], lower: int) -> bool:
    """Whether most of what passed at the lower bound had to wait somewhere."""
    passed = [trial for trial in by_load(trials)[lower] if not failed(trial, rule.loss_ratio)]
    return 2 * sum(Flag.BUFFERED in trial.flags for trial in passed) > len(passed)


def forwards_less(rule: Rule, trials: Sequence[Trial], bounds: Bounds) -> bool:
    """Whether trials at the upper bound would have failed at the lower one, too.

    What the switch forwards under overload is what it can carry at that time. A share of them that
    the goal lets fail says nothing: so many may fail at the lower bound.
    """
    lower, upper = bounds.lower, bounds.upper
    if lower is None or upper is None:
        return False
    there, least = by_load(trials)[upper], lower * (1 - rule.loss_ratio) * (1 - LESS)
    less = [one for one in there if upper * (1 - one.switch_loss_ratio) < least]
    return rule.outweigh(less, there)


@dataclass(frozen=True, slots=True)
class Question:
    """A goal as a search pursued it."""

    goal: str
    rule: Rule
    loads: Loads
    narrow: Callable[[int, int], bool]
    """(lower, upper) → whether the search may end there."""
    repeats_upper: int = 0
    """How often an upper bound that rests on a single trial is tried again."""
    verified: bool | None = None
    """Whether the upper bound stood when it was tried again; None when it was not tried again."""
    unverified: bool = False
    """Whether the time ended before the upper bound could be tried again."""
    complete: bool = True
    """False when the time ended during the search, whether or not this goal was reached."""
    left_to_regimes: bool = False
    """Whether more was not asked of all trials together, since regimes have answers."""
    provisional: bool = False
    """Whether the bounds rest on less time than the goal asks for."""

    def ended(
        self, verified: bool | None = None, unverified: bool = False, *, complete: bool
    ) -> Question:
        """Return the question with what its search came to."""
        return replace(self, verified=verified, unverified=unverified, complete=complete)


def answer(question: Question, trials: Sequence[Trial]) -> GoalResult:
    """Return the result of a goal from all trials of its search.

    When the time ended before both bounds were decided, the other is taken from what there is: a
    wider interval on less evidence, which its limit and flag say, is worth more than none. What is
    decided stands: one failed trial below a load that has passed long enough is no bound.
    """
    groups = by_load(trials)
    bounds = bounds_of(question.rule, trials)
    if _undecided(question, bounds) and isinstance(question.rule, DurationRule):
        question = replace(question, rule=question.rule.so_far(trials), provisional=True)
        from_decided = [one for one in trials if one.load_fps >= (bounds.lower or 0)]
        bounds = bounds_of(question.rule, from_decided)
    short = bounds.upper is not None and limited_by_generator(question.rule, groups[bounds.upper])
    limit, reason = _limit(question, groups, bounds, short=short)
    lower = bounds.lower
    return GoalResult(
        goal=question.goal,
        loss_ratio=str(question.rule.loss_ratio),
        lower_fps=lower,
        upper_fps=None if short else bounds.upper,
        throughput_fps=None if lower is None else question.rule.throughput_fps(groups[lower]),
        limit=limit,
        reason=reason,
        flags=_flags(question, trials, bounds, limit),
    )


def finished(question: Question, bounds: Bounds) -> bool:
    """Whether the bounds are final: narrow enough, or at an end of the loads."""
    if bounds.upper is None:
        return bounds.lower == question.loads.maximum
    if bounds.lower is None:
        return bounds.upper == question.loads.minimum
    return question.narrow(bounds.lower, bounds.upper)


def limited_by_generator(rule: Rule, trials: Sequence[Trial]) -> bool:
    """Whether an upper bound would be none if only the switch's own loss counted."""
    return rule.bound(trials, failed_in_switch) is not Bound.UPPER


Groups = dict[int, list[Trial]]


def _undecided(question: Question, bounds: Bounds) -> bool:
    open_ended = bounds.lower is None or bounds.upper is None
    left = question.left_to_regimes or not question.complete
    return left and open_ended and not finished(question, bounds)


def _limit(question: Question, groups: Groups, bounds: Bounds, *, short: bool) -> tuple[Limit, str]:
    """Return what limits the result, with one sentence on it."""
    rule, upper = question.rule, bounds.upper
    if _out_of_time(question, bounds):
        early = _ended_early(question, groups, bounds)
        # Time that was short and not clean either bounds nothing, whoever was late or lost in it.
        unclean = None if upper is None else _mostly_unclean(rule, groups, upper)
        return (Limit.UNKNOWN, f"{unclean}; {early}") if unclean else (Limit.BUDGET, early)
    if _left_open(question, bounds):
        return Limit.HOST, f"{BY_REGIME}; together, {known_of(question, groups, bounds)}"
    if upper is None:
        return _unbounded(question, groups, bounds)
    if short:
        return Limit.GENERATOR, _not_sent(rule, groups[upper], at_minimum=bounds.lower is None)
    doubt = _contradiction(question, groups, bounds, upper)
    if doubt is not None:
        return Limit.UNKNOWN, doubt
    return _lossy(question, groups, bounds, upper)


def _reached(question: Question, bounds: Bounds) -> bool:
    """Whether the interval is what the goal asks for."""
    return finished(question, bounds) and not question.provisional


def _out_of_time(question: Question, bounds: Bounds) -> bool:
    """Whether the time ended before the interval was that."""
    return not _reached(question, bounds) and not question.complete


def _left_open(question: Question, bounds: Bounds) -> bool:
    """Whether regimes were asked before the interval was that."""
    return not _reached(question, bounds) and question.left_to_regimes


def _mostly_unclean(rule: Rule, groups: Groups, upper: int) -> str | None:
    """Say so if less than half of the time was clean in the trials that make an upper bound."""
    silent = kept_silent([trial for group in groups.values() for trial in group])
    share = clean_share(in_clean_time(x, silent) for x in lossy_trials(rule, groups[upper]))
    if share is None or share >= LEAST:
        return None
    return f"{_little(share, human_fps(upper))}: {NOBODYS}"


def passed_in(goal: GoalResult) -> RegimeResult | None:
    """Return the answer of a regime in which as much passed as failed in all trials."""
    upper = goal.upper_fps
    if upper is None:
        return None
    return next((one for one in goal.regimes if (one.lower_fps or 0) >= upper), None)


def not_the_switchs(
    goal: GoalResult, trials: Sequence[Trial], cap_fps: int | None = None
) -> tuple[Limit, str] | None:
    """Return whose the loss at an upper bound may be, and why, if it is not surely the switch's.

    Where the time ended, that is the limit, and whose loss it was stands nowhere. The answer could
    still have been any load below the one that failed, so that one is held against the generator's
    cap.
    """
    loss_ratio, upper = Fraction(goal.loss_ratio), goal.upper_fps
    counted = [one for one in trials if one.valid and one.purpose in COUNTED]
    own = [x for x in counted if x.load_fps == upper and failed_in_switch(x, loss_ratio)]
    if upper is None or not own:
        return None
    if (there := passed_in(goal)) is not None:
        where = f"while the CPUs of generator and switch were {there.regime.words}"
        return Limit.HOST, f"{where}, {human_fps(there.lower_fps or 0)} passed"
    near = _near_the_generator(upper, cap_fps)
    if (others := _lost_by_others(own, loss_ratio, counted, near)) is not None:
        return others
    in_vnfs = lost_in_vnfs(own)
    return None if in_vnfs is None else (Limit.VNF, in_vnfs)


def _lossy(question: Question, groups: Groups, bounds: Bounds, upper: int) -> tuple[Limit, str]:
    """Return whose loss it was that made the upper bound."""
    rule = question.rule
    own = [trial for trial in groups[upper] if failed_in_switch(trial, rule.loss_ratio)]
    trials = [trial for group in groups.values() for trial in group]
    near = _near_the_generator(bounds.lower, question.loads.generator_cap)
    if (others := _lost_by_others(own, rule.loss_ratio, trials, near)) is not None:
        return others
    in_vnfs = lost_in_vnfs(own)
    limit, who = question.loads.blamed if in_vnfs is None else (Limit.VNF, "the VNFs")
    reason = _lost(rule, groups[upper], at_minimum=bounds.lower is None, who=who)
    if in_vnfs is not None:
        reason += f"; {in_vnfs}"
    if question.unverified:
        reason += "; the time ended before that load could be tried again"
    return limit, reason


def _lost_by_others(
    own: Sequence[Trial], loss_ratio: Fraction, trials: Sequence[Trial], near: str | None
) -> tuple[Limit, str] | None:
    """Return who but the switch and the VNFs may have lost what failed at one load, if anybody.

    `near` says that the generator's cap is too near to tell.
    """
    where = human_fps(own[0].load_fps)
    if (stalls := told_by_stalls(own, loss_ratio, trials, where)) is not None:
        return stalls
    if (behind := lost_by_the_generator(own, where)) is not None:
        return Limit.GENERATOR, behind
    if near is not None:
        return Limit.GENERATOR, near
    nobody = counted_by_nobody(own, where)
    return None if nobody is None else (Limit.UNCOUNTED, nobody)


def _contradiction(question: Question, groups: Groups, bounds: Bounds, upper: int) -> str | None:
    """Return why the loss at an upper bound is not the switch's overload, if it is not."""
    if question.verified is False:
        return f"the loss at {human_fps(upper)} was not seen again in a repeat"
    if bounds.lower is None and constant_loss([t for group in groups.values() for t in group]):
        frames = groups[upper][0].worst_direction.lost_frames
        return f"{frames} of the frames went missing at every load, low or high: no overload"
    if not finished(question, bounds):
        taken_back = "later trials took back a bound that earlier ones had given"
        return f"{taken_back}, and more trials came to no end; {known_of(question, groups, bounds)}"
    return None


def _unbounded(question: Question, groups: Groups, bounds: Bounds) -> tuple[Limit, str]:
    loads, lower = question.loads, bounds.lower
    if lower is None or lower != loads.maximum:
        return Limit.UNKNOWN, "no load was decided against"
    made = len(groups[lower])
    held = made - len(lossy_trials(question.rule, groups[lower]))
    passed = "passed" if held == made else f"passed in {held} of {made} trials"
    at = human_fps(lower)
    if lower >= loads.line_rate:
        return Limit.LINK, f"{loads.whole_line}, {at}, {passed}"
    if loads.generator_cap is not None and lower >= loads.generator_cap:
        return Limit.GENERATOR, f"all that the generator can do, {at}, {passed}"
    return Limit.SETTING, f"the highest load allowed, {at}, {passed}"


def lost_by_the_generator(own: Sequence[Trial], where: str) -> str | None:
    """Say so if full rings of the generator explain every trial that the switch failed."""
    if not own or any(trial.worst_direction.lost_frames > trial.behind_frames for trial in own):
        return None
    known = [trial.generator for trial in own if trial.generator]
    longest_ns = max(generator.behind_ns for generator in known)
    missed = max(generator.missed_frames for generator in known)
    how = (
        f"it was behind with receiving for up to {human_ns(longest_ns, End.UPPER)}"
        if longest_ns
        else f"its ports had no room for up to {missed} frames"
    )
    return f"at {where} every loss is one that the generator's own rings explain ({how})"


def counted_by_nobody(own: Sequence[Trial], where: str) -> str | None:
    """Say so if no counter tells where most of the missing frames of every failed trial went."""
    if not own or any(
        trial.unexplained_frames is None or 2 * trial.unexplained_frames <= _missing(trial)
        for trial in own
    ):
        return None
    mildest = min(own, key=lambda trial: trial.switch_loss_ratio)
    return (
        f"at {where} {mildest.unexplained_frames} of {_missing(mildest)} "
        "missing frames were counted as lost by nobody; who lost them cannot be told"
    )


def lost_in_vnfs(own: Sequence[Trial]) -> str | None:
    """Say so if most frames of every failed trial ended in the VNFs or for want of them."""
    if not own or any(2 * trial.vnf_frames <= _missing(trial) for trial in own):
        return None
    mildest = min(own, key=lambda trial: trial.switch_loss_ratio)
    refused = mildest.refused_by_vnfs
    return (
        f"in all, {refused} frames found the ring of a VNF full, and "
        f"{mildest.vnf_frames - refused} were lost inside"
    )


def _missing(trial: Trial) -> int:
    return sum(way.offered_frames - way.good_frames for way in trial.directions)


def _near_the_generator(load: int | None, cap: int | None) -> str | None:
    """Say so if a load is too close to what the generator does without a switch."""
    if cap is None or load is None or load < cap * NEAR:
        return None
    return (
        f"{human_fps(load)} is {percent(Fraction(load, cap), End.LOWER)} of what the "
        f"generator does without a switch ({human_fps(cap)}); above {percent(NEAR)} nobody can "
        "tell the two apart"
    )


def known_of(question: Question, groups: Groups, bounds: Bounds) -> str:
    """Say what trials tell of an interval that is not final: how many of them passed at its ends.

    Most of the time at a load may have passed, and few of its trials, where they differ in length.
    Where there is no lower bound, a load may have passed above one that failed: that is no bound,
    and not nothing.
    """

    def passed(load: int) -> tuple[int, int]:
        group = groups[load]
        return len(group) - len(lossy_trials(question.rule, group)), len(group)

    said = []
    if bounds.upper is not None:
        some, made = passed(bounds.upper)
        said.append(f"below {human_fps(bounds.upper, End.UPPER)}: {some} of {made} passed")
        whole = [load for load in groups if len(set(passed(load))) == 1]
        if bounds.lower is None and (highest := max(whole, default=0)) > bounds.upper:
            at = human_fps(highest, End.LOWER)
            said.append(f"above it {at} passed ({len(groups[highest])} of {len(groups[highest])})")
    if bounds.lower is not None:
        some, made = passed(bounds.lower)
        # What is called a bound is rounded like one, and reads like the interval beside it.
        load = f"most passed at {human_fps(bounds.lower)}"
        if 2 * some <= made:
            load = f"lower bound by time at {human_fps(bounds.lower, End.LOWER)}"
        said.append(f"{load} ({some} of {made})")
    return "; ".join(said) or "no load was decided"


def decided_of(question: Question, trials: Sequence[Trial]) -> str:
    """Say what is decided of a goal by trials that did not suffice; nothing if nothing is."""
    bounds = bounds_of(question.rule, trials)
    if bounds.lower is None and bounds.upper is None:
        return ""
    return known_of(question, by_load(trials), bounds)


def _ended_early(question: Question, groups: Groups, bounds: Bounds) -> str:
    if bounds.upper is None and bounds.lower is None:
        return "the time ended before any load was decided"
    if bounds.upper is None:
        what = "the time ended before any load had failed"
    elif bounds.lower is None:
        what = "the time ended before there was a lower bound"
    elif question.provisional:
        what = "the time ended before the interval was decided"
    else:
        what = "the time ended before the interval was narrow enough"
    what += f"; {known_of(question, groups, bounds)}"
    return f"{what}; bounds rest on less time than asked" if question.provisional else what


def _not_sent(rule: Rule, trials: Sequence[Trial], *, at_minimum: bool) -> str:
    """Name the trial of the smallest shortfall."""
    trial = min(lossy_trials(rule, trials), key=_loss)
    short = max(trial.directions, key=lambda direction: direction.unsent_frames)
    share = percent(Fraction(short.sent_frames, short.intended_frames))
    at = human_fps(trial.load_fps)
    where = f"{'even at the lowest load, ' if at_minimum else 'at '}{at}"
    return f"{where}{',' if at_minimum else ''} the generator sent only {share} of the frames"


def _lost(rule: Rule, trials: Sequence[Trial], *, at_minimum: bool, who: str) -> str:
    """Name the mildest trial in which too much was lost: all others are worse."""
    own = [trial for trial in trials if failed_in_switch(trial, rule.loss_ratio)]
    trial = min(own, key=lambda trial: trial.switch_loss_ratio)
    worse = max(trial.directions, key=lambda direction: direction.switch_loss_ratio)
    lost = worse.offered_frames - worse.good_frames
    refused = _refused(worse.refused_frames, lost)
    allowed = percent(rule.loss_ratio) if rule.loss_ratio else "none"
    where = "even at the lowest load," if at_minimum else "at"
    return (
        f"{where} {human_fps(trial.load_fps)}{',' if at_minimum else ''} {who} lost "
        f"{lost:,} of {worse.offered_frames:,} frames from {worse.name}{refused} "
        f"({percent(worse.switch_loss_ratio)}; allowed: {allowed})"
    )


def _refused(refused: int | None, lost: int) -> str:
    """Say how many of the lost frames the switch did not even take."""
    if not refused:
        return ""
    return f", {'all' if refused == lost else f'{refused:,}'} of them by not taking them"


def _flags(
    question: Question, trials: Sequence[Trial], bounds: Bounds, limit: Limit
) -> tuple[Flag, ...]:
    rule, lowest = question.rule, question.loads.minimum
    ceiling = bounds.upper if bounds.upper is not None else question.loads.maximum
    in_question = [trial for trial in trials if trial.load_fps <= ceiling]
    ended = _out_of_time(question, bounds)
    left = _left_open(question, bounds)
    at_minimum = bounds.lower is None and bounds.upper == lowest and not (ended or left)
    said = {
        Flag.UPPER_NOT_REPRODUCED: question.verified is False,
        Flag.LOSS_INVERSION: bounds.inverted,
        Flag.CONSTANT_LOSS: bounds.lower is None and constant_loss(trials),
        Flag.UNSTABLE: disagree(rule, in_question),
        Flag.LENGTH_MATTERS: length_matters(rule, in_question),
        Flag.SPORADIC_LOSS: limit is Limit.DUT and sporadic(rule, trials, bounds),
        Flag.FORWARDS_LESS: limit is Limit.DUT and forwards_less(rule, trials, bounds),
        Flag.BUFFERED: bounds.lower is not None and buffered(rule, trials, bounds.lower),
        Flag.OUT_OF_BUDGET: ended or question.unverified,
        Flag.LEFT_TO_REGIMES: left and not ended,
        Flag.AT_MINIMUM: at_minimum,
        Flag.AS_NO_LOSS: bounds.lower is not None and as_no_loss(rule, trials, bounds.lower),
    }
    return tuple(flag for flag, applies in said.items() if applies)


def _loss(trial: Trial) -> Fraction:
    return trial.loss_ratio


def _little(share: Fraction, where: str) -> str:
    return f"at {where} only {percent(share)} of the time was clean"


def told_by_stalls(
    own: Sequence[Trial], loss_ratio: Fraction, trials: Sequence[Trial], where: str
) -> tuple[Limit, str] | None:
    """Say what stalls have to do with trials at one load that the switch failed.

    Where none would have failed in clean time the loss is the machine's. Where less than half of
    their time was clean nobody can tell whose it was, and least of all that it was the switch's.
    None where clean time says that it was, or where nobody knows what time was clean. `trials` are
    all there are: together they say whether silence was the switch's own.
    """
    silent = kept_silent(trials)
    seen = [in_clean_time(trial, silent) for trial in own]
    left = [one for one in seen if isinstance(one, CleanTrial)]
    share = clean_share(left)
    if share is None:
        return None
    fail = [failed_in_switch(one, loss_ratio) for one in left]
    if share < LEAST:
        little = _little(share, where)
        if any(fail) or len(left) < len(own):
            return Limit.UNKNOWN, f"{little}: {NOBODYS}"
        return Limit.HOST, f"{little}, and no trial would have failed in that"
    told = [not fails for one, fails in zip(left, fail, strict=True) if one.enough]
    if len(left) < len(own) or not told or not all(told):
        return None
    return Limit.HOST, (
        f"at {where} no trial would have failed without loss in time in which "
        f"generator or switch were kept from running ({percent(1 - share)} of it)"
    )
