"""Reads stored runs again, from their trials alone, and says where a printed answer differs.

What reads shares no code with what searches: what a load is to a goal is written here once more,
from the standards, and of a trial only what was counted is read. The ratio is that of answers that
differ.
"""

from __future__ import annotations

import argparse
import enum
import itertools
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

from common import Option, Ratio, carry_out, options, say, wanted
from coverage import LOADS, METHODS, RANGE, SEARCHES, Bench
from coverage_models import MODELS, Model
from coverage_world import World
from reread_figures import (
    READERS,
    alike,
    curves_differ,
    figures_differ,
    own_curves,
    own_figures,
    sweep_differs,
)
from reread_rounds import answers_of_rounds
from reread_trials import (
    Measured,
    away_ns,
    believed,
    by_distance,
    drawn_on,
    like_the_first,
    looking,
    since_check,
    through,
)

from vsperf.errors import ComponentError, InvalidTrialError
from vsperf.quantities.units import Duration, FrameSize, LinkSpeed, Rate
from vsperf.quantities.units import Ratio as Share
from vsperf.records.files.view import views
from vsperf.records.flags import Flag
from vsperf.records.result import (
    Draw,
    Draws,
    GoalResult,
    Limit,
    LoadResult,
    PartialResult,
    SearchResult,
    View,
)
from vsperf.records.trial import Direction, Purpose, Second, Trial
from vsperf.search.base import Budget

EXAMPLE = "tools/bench/reread.py results/2026-*"
SLOT_NEIGHBOUR = 1
LATE_NS = 100_000
BURST = 64
"""What may be counted on the wrong side of an edge of clean time: a burst, or what is due in the
time for which a generator may be late unseen."""
KEPT = Fraction(11, 10)
"""A silence counts as that of threads that were kept from running where it is no longer."""
SECOND = 10**9
THROUGHPUT = "throughput"
"""The goal of methods that refer to one."""
AT_THROUGHPUT = ("broadcast", "latency")
"""Methods whose answer is that of trials at it: what these lose speaks against it."""


Printed = GoalResult | PartialResult | Draw
"""An answer with bounds."""


class Is(enum.Enum):
    """What a load is to a goal."""

    UPPER = "upper"
    LOWER = "lower"
    OPEN = "open"


@dataclass(frozen=True, slots=True)
class Seen:
    """A trial as far as a goal asks for it, as it is or in clean time."""

    load: int
    asked_ns: int
    counts_ns: int
    """Of it the time that counts."""
    lost: Fraction
    """Share of the frames that were due, in the worse direction."""
    short: bool
    """Whether the load was not really offered."""
    own: Fraction
    """Share that the switch lost of what it was offered, in the worse direction."""
    missing: int
    """Frames that were due and did not arrive, of all directions."""
    own_missing: int
    """Frames that were offered and did not arrive, of all directions."""

    def fails(self, allowed: Fraction, *, own: bool) -> bool:
        """Whether it lost more than allowed; by its own fault, if so asked."""
        return self.own > allowed if own else self.lost > allowed or self.short


@dataclass(frozen=True, slots=True)
class Weighed:
    """A goal that weighs the time of trials (RFC 9971; with no exceed ratio, RFC 2544)."""

    allowed: Fraction
    exceed: Fraction
    final_ns: int
    sum_ns: int

    def judge(self, trials: Sequence[Seen], *, own: bool = False) -> Is:
        """Say what the load of these trials is."""
        bad = good = short_bad = short_good = 0
        for one in trials:
            fails = one.fails(self.allowed, own=own)
            if one.asked_ns >= self.final_ns:
                bad, good = bad + fails * one.counts_ns, good + (not fails) * one.counts_ns
            else:
                short_bad += fails * one.counts_ns
                short_good += (not fails) * one.counts_ns
        balanced = short_good * self.exceed / (1 - self.exceed)
        high = bad + max(Fraction(0), short_bad - balanced)
        whole = max(high + good, Fraction(self.sum_ns))
        if high / whole > self.exceed:
            return Is.UPPER
        return Is.LOWER if (whole - good) / whole <= self.exceed else Is.OPEN

    def leniently(self, trials: Sequence[Seen]) -> Weighed:
        """Return the goal that any time decides, which is all there is where the time ended."""
        shortest = min((one.asked_ns for one in trials), default=self.final_ns)
        return Weighed(self.allowed, self.exceed, min(self.final_ns, shortest), 1)


@dataclass(frozen=True, slots=True)
class Verified:
    """A goal whose losses are verified (TST 009): great ones count at once, small ones by repeats.

    A trial of which not even half counts says nothing.
    """

    allowed: Fraction
    repeats: int
    threshold: int

    def judge(self, trials: Sequence[Seen], *, own: bool = False) -> Is:
        """Say what the load of these trials is."""
        known = [one for one in trials if 2 * one.counts_ns >= one.asked_ns]
        bad = [one for one in known if one.fails(self.allowed, own=own)]
        if any((one.own_missing if own else one.missing) > self.threshold for one in bad):
            return Is.UPPER
        if len(known) > len(bad):
            return Is.LOWER
        return Is.UPPER if len(known) > self.repeats else Is.OPEN

    def leniently(self, trials: Sequence[Seen]) -> Verified:
        """Return the goal itself: it has no time to be lenient with."""
        del trials
        return self


Goal = Weighed | Verified


def goals_of(search: Mapping[str, Any]) -> dict[str, Goal]:
    """Return the goals of the settings of a method; none for one that is not read again."""
    match search["kind"]:
        case "mlr":
            return {name: _weighed(search, one) for name, one in search["goals"].items()}
        case "rfc2544":
            ns = Duration.parse(search["duration"]).ns
            return {
                name: Weighed(_share(one["loss_ratio"]), Fraction(0), ns, ns)
                for name, one in search["goals"].items()
            }
        case "tst009":
            told = int(search["max_repeats"]), int(search["loss_threshold"])
            return {
                name: Verified(_share(one["loss_ratio"]), *told)
                for name, one in search["goals"].items()
            }
    if looks_for_throughput(search):
        return {THROUGHPUT: _throughput(search)}
    return {}


def looks_for_throughput(search: Mapping[str, Any]) -> bool:
    """Whether a method that refers to a throughput has to look for it first."""
    return "throughput_duration" in search and search.get("throughput") is None


def _throughput(search: Mapping[str, Any]) -> Weighed:
    """Return what a throughput is that others refer to: half may fail where several count."""
    ns, sum_ns = (Duration.parse(search[f"throughput_{name}"]).ns for name in ("duration", "sum"))
    return Weighed(Fraction(0), Fraction(int(sum_ns > ns), 2), ns, sum_ns)


def _weighed(search: Mapping[str, Any], goal: Mapping[str, Any]) -> Weighed:
    def given(name: str) -> Any:
        return search[name] if goal.get(name) is None else goal[name]

    return Weighed(
        _share(goal["loss_ratio"]),
        _share(given("exceed_ratio")),
        Duration.parse(given("final_duration")).ns,
        Duration.parse(given("duration_sum")).ns,
    )


def _share(text: object) -> Fraction:
    return Share.parse(text).value


def counted(trials: Sequence[Trial]) -> list[Trial]:
    """Return the trials that say something of a load: of a search or below its answer, and valid.

    One in the middle of which something was done to the switch is none of them.
    """
    return [one for one in believed(trials) if one.event is None]


def as_it_is(trial: Trial) -> Seen:
    """Return a trial with all of its time."""
    ways = [(way.intended_frames, way.sent_frames, _good(way)) for way in trial.directions]
    offered = [sent + (way.refused_frames or 0) for (_, sent, _), way in _both(ways, trial)]
    return _seen(trial, trial.duration_ns, ways, offered)


def _both(
    ways: Sequence[tuple[int, int, int]], trial: Trial
) -> Iterator[tuple[tuple[int, int, int], Direction]]:
    return zip(ways, trial.directions, strict=True)


def _good(way: Direction) -> int:
    return way.received_frames - (way.duplicate_frames or 0) - (way.corrupted_frames or 0)


def _seen(
    trial: Trial, counts_ns: int, ways: Sequence[tuple[int, int, int]], offered: Sequence[int]
) -> Seen:
    """Return a trial of which these frames were due, sent and intact, and offered, by direction."""
    return Seen(
        trial.load_fps,
        trial.duration_ns,
        counts_ns,
        max(_lost(due, good) for due, _, good in ways),
        Flag.SHORT_OFFER in trial.flags,
        max(
            _lost(sent, good) if sent > 0 else Fraction(0)
            for sent, (_, _, good) in zip(offered, ways, strict=True)
        ),
        sum(due - good for due, _, good in ways),
        sum(sent - good for sent, (_, _, good) in zip(offered, ways, strict=True)),
    )


def _lost(due: int, good: int) -> Fraction:
    return Fraction(due - good, due) if due > 0 else Fraction(1)


def in_clean_time(trial: Trial, *, silent: bool) -> Seen | None:
    """Return a trial without slots in which somebody stood still; None where nobody knows."""
    slots, ways = trial.slots, trial.directions
    due = (2 * trial.load_fps * trial.duration_ns + SECOND) // (2 * SECOND)
    if (
        slots is None
        or slots.cut
        or max(way.intended_frames for way in ways) != due
        or slots.sent_frames != tuple(way.sent_frames for way in ways)
        or slots.received_frames != tuple(map(_good, ways))
    ):
        return None
    told = slots.columns
    still = {
        place
        for place, away, quiet in zip(told.index, told.away_ns, told.silent_ns, strict=True)
        if away or (silent and quiet)
    }
    rows = [
        row
        for row, place in enumerate(told.index)
        if place < slots.count and still & set(range(place - 1, place + SLOT_NEIGHBOUR + 1))
    ]
    sending_ns = trial.sending_ns or 0
    gone = {told.index[row] for row in rows}
    lengths = {
        row: min(slots.width_ns, max(0, sending_ns - told.index[row] * slots.width_ns))
        for row in rows
    }
    ran_ns = sum(max(0, lengths[row] - told.away_ns[row]) for row in rows)
    edges = sum((place - 1 not in gone) + (place + 1 not in gone) for place in gone)
    unsure = edges * min(BURST, trial.load_fps * LATE_NS // SECOND + 1)
    left, offered = [], []
    for number, way in enumerate(ways):
        out_sent, out_good, out_refused = (
            sum(column[number][row] for row in rows)
            for column in (told.sent_frames, told.received_frames, told.refused_frames)
        )
        sent, good = way.sent_frames - out_sent, _good(way) - out_good
        unsent = way.intended_frames - way.sent_frames
        too_slow = max(0, unsent - (way.refused_frames or 0))
        missed = way.intended_frames * ran_ns // max(1, trial.duration_ns) + unsure - out_sent
        still_refused = slots.refused_frames[number] - out_refused
        unsent = max(0, min(unsent, still_refused + too_slow, unsent - missed))
        left.append((sent + unsent, sent, good))
        refused = None if way.refused_frames is None else max(0, unsent - too_slow)
        offered.append(sent + (refused or 0))
    counts_ns = min(trial.duration_ns, sending_ns - sum(lengths.values()))
    return _seen(trial, counts_ns, left, offered)


def silent_too(trials: Sequence[Trial]) -> bool:
    """Whether the kernel says of the silences of a path that threads were kept from running."""
    silence = sum(sum(one.slots.columns.silent_ns) for one in trials if one.slots is not None)
    kept = sum(
        thread.kept_ns for one in trials for thread in one.threads if thread.part != "generator"
    )
    return 0 < silence <= KEPT * kept


@dataclass(frozen=True, slots=True)
class Found:
    """The bounds that trials come to."""

    lower: int | None
    upper: int | None


def bounds(goal: Goal, trials: Sequence[Seen]) -> Found:
    """Return the lowest load that is an upper bound, and the highest lower bound below it."""
    groups = _by_load(trials)
    uppers = [load for load, group in groups.items() if goal.judge(group) is Is.UPPER]
    upper = min(uppers, default=None)
    lowers = [
        load
        for load, group in groups.items()
        if goal.judge(group) is Is.LOWER and (upper is None or load < upper)
    ]
    return Found(max(lowers, default=None), upper)


def _by_load(trials: Sequence[Seen]) -> dict[int, list[Seen]]:
    groups: dict[int, list[Seen]] = {}
    for one in trials:
        groups.setdefault(one.load, []).append(one)
    return groups


def differs(goal: Goal, printed: Printed, trials: Sequence[Seen]) -> tuple[str, ...]:
    """Say where the printed bounds of a goal are not those of its trials."""
    flags = () if isinstance(printed, Draw) else printed.flags
    ended = printed.limit is Limit.BUDGET or Flag.OUT_OF_BUDGET in flags
    rules = [goal, goal.leniently(trials)] if ended else [goal]
    if any(_same(one, printed, bounds(one, trials), trials) for one in rules):
        return ()
    return tuple(_against(goal, printed, bounds(goal, trials), trials))


def _same(goal: Goal, printed: Printed, found: Found, trials: Sequence[Seen]) -> bool:
    return (printed.lower_fps, printed.upper_fps) == (found.lower, _of_switch(goal, found, trials))


def _of_switch(goal: Goal, found: Found, trials: Sequence[Seen]) -> int | None:
    """Return the upper bound, unless the generator was short of it: then it is none of a switch."""
    if found.upper is None or goal.judge(_by_load(trials)[found.upper], own=True) is not Is.UPPER:
        return None
    return found.upper


def _as_printed(goal: Goal, trials: Sequence[Seen]) -> tuple[int | None, int | None]:
    found = bounds(goal, trials)
    return found.lower, _of_switch(goal, found, trials)


def _against(goal: Goal, printed: Printed, found: Found, trials: Sequence[Seen]) -> Iterator[str]:
    groups = _by_load(trials)
    for name, load, own in (
        ("lower", printed.lower_fps, found.lower),
        ("upper", printed.upper_fps, found.upper),
    ):
        if load == own:
            continue
        group = groups.get(load, []) if load is not None else []
        passed = sum(not one.fails(goal.allowed, own=False) for one in group)
        what = "none" if load is None else f"{load:,} ({passed} of {len(group)} passed)"
        yield f"{name} bound printed {what}, by all trials {own and f'{own:,}'}"


def answers(
    search: Mapping[str, Any],
    trials: Sequence[Trial],
    result: SearchResult,
    seconds: Iterable[Second] = (),
) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield each answer that is printed, and where it differs from the trials."""
    goals, every = goals_of(search), counted(trials)
    known = looking(search, every) if looks_for_throughput(search) else every
    silent = silent_too(known)
    raw = [as_it_is(one) for one in known]
    left = (in_clean_time(one, silent=silent) for one in known)
    clean = [one for one in left if one is not None]
    parted = by_distance(known)
    for one in result.goals:
        if (goal := goals.get(one.goal)) is None:
            continue
        yield one.goal, differs(goal, one, raw)
        if search["kind"] in AT_THROUGHPUT:
            yield f"{one.goal} again", tuple(_taken_back(goal, one, every))
        if one.clean is not None and one.clean.limit is not None:
            yield f"{one.goal} in clean time", differs(goal, one.clean, clean)
        for there in one.regimes:
            if there.limit is not None:
                made = parted.get(there.regime.value, [])
                seen = [as_it_is(each) for each in made]
                if there.clean is not None:
                    rest = (in_clean_time(each, silent=silent) for each in made)
                    seen = [each for each in rest if each is not None]
                yield f"{one.goal} {there.regime}", differs(goal, there, seen)
        yield from _by_deployment(goal, one, known, trials)
    for load in result.loads:
        yield f"{load.load_fps:,}", tuple(_load_differs(search, load, trials))
    yield from _others(search, trials, result, seconds)


def _by_deployment(
    goal: Goal, printed: GoalResult, first: Sequence[Trial], trials: Sequence[Trial]
) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield the answers on further deployments, each from the trials there."""
    draws = printed.draws
    if draws is None:
        return
    silent = silent_too(first)
    for draw in draws.made[1:]:
        if draw.limit is not None:
            drawn = drawn_on(trials, draw.deployment)
            seen = _as_viewed(draws.view, first, drawn, silent=silent)
            yield f"{printed.goal} on deployment {draw.deployment}", differs(goal, draw, seen)
    yield f"{printed.goal} over deployments", tuple(_over(printed, draws))


def _as_viewed(
    view: View, first: Sequence[Trial], drawn: Sequence[Trial], *, silent: bool
) -> list[Seen]:
    """Return trials on another deployment, as those on the first one were looked at."""
    apart = view in (View.NEAR, View.FAR)
    kept = like_the_first(first, drawn, view.value if apart else None)
    slots = any(in_clean_time(one, silent=silent) is not None for one in first)
    if view is View.ALL or (apart and not slots):
        return [as_it_is(one) for one in kept]
    left = (in_clean_time(one, silent=silent) for one in kept)
    return [one for one in left if one is not None]


def _over(printed: GoalResult, draws: Draws) -> Iterator[str]:
    """Say where what is printed over all deployments is not what each of them came to.

    The first one's is the answer of the search, from the same part of the time.
    """
    views = {
        View.ALL: printed,
        View.CLEAN: printed.clean,
        **{View(one.regime.value): one for one in printed.regimes},
    }
    found, first = views.get(draws.view), draws.made[0]
    if found is None or (found.lower_fps, found.upper_fps) != (first.lower_fps, first.upper_fps):
        yield "the first deployment has another answer than the search"
    answered = [
        one
        for one in draws.made
        if one.lower_fps is not None
        and one.limit not in (None, Limit.HOST, Limit.BUDGET, Limit.UNKNOWN)
    ]
    lower = upper = None
    if len(answered) > 1:
        lower = sorted(one.lower_fps or 0 for one in answered)[0]
        open_ended = any(one.upper_fps is None for one in answered)
        upper = None if open_ended else sorted(one.upper_fps or 0 for one in answered)[-1]
    told = (draws.lower_fps, draws.upper_fps)
    if told != (lower, upper):
        yield f"printed {told}, by all deployments {(lower, upper)}"


def _taken_back(goal: Goal, printed: GoalResult, trials: Sequence[Trial]) -> Iterator[str]:
    """Say where a throughput stands that was offered again, and is none by the same rule."""
    groups = _by_load([as_it_is(one) for one in trials])
    for load, group in groups.items():
        below = printed.lower_fps is not None and load <= printed.lower_fps
        if below and goal.judge(group) is Is.UPPER and Flag.REFUTED not in printed.flags:
            passed = sum(not one.fails(goal.allowed, own=False) for one in group)
            yield f"stands, though {passed} of {len(group)} passed at {load:,}"


def _others(
    search: Mapping[str, Any],
    trials: Sequence[Trial],
    result: SearchResult,
    seconds: Iterable[Second],
) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield the figures and curves of a method likewise."""
    if search["kind"] == "churn":
        yield from _beside_changes(search, believed(trials), result)
    if not reads_figures(search):
        return
    there = believed(trials)
    fps = None
    if looks_for_throughput(search):
        there = there[len(looking(search, there)) :]
        fps = next((one.lower_fps for one in result.goals if one.goal == THROUGHPUT), None)
    elif search.get("throughput") is not None:
        fps = int(Rate.parse(search["throughput"]).number)
    case = Measured(search, there, since_check(trials), tuple(seconds), fps, result.whole)
    if search["kind"] in {"loss", "forwarding"}:
        yield "loads", tuple(sweep_differs(search, there, whole=result.whole))
    yield from figures_differ(result.figures, own_figures(case))
    yield from curves_differ(result.curves, own_curves(case))


def reads_figures(search: Mapping[str, Any]) -> bool:
    """Whether the figures of a method are read; a throughput that is given has to be in frames."""
    given = search.get("throughput")
    return search["kind"] in READERS and (given is None or Rate.parse(given).unit == "fps")


def _beside_changes(
    search: Mapping[str, Any], trials: Sequence[Trial], result: SearchResult
) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield what is left of the throughput beside each number of changes of rules."""
    quiet = next((one.lower_fps for one in result.goals), None)
    rows: dict[float, list[float | None]] = {}
    for asked in search["rules_per_second"]:
        there = [one for one in trials if one.reference == f"beside {asked} rules/s"]
        changes = sum(one.rules_changed or 0 for one in there)
        took_ns = sum(one.elapsed_ns for one in there)
        lower, upper = _as_printed(_throughput(search), [as_it_is(one) for one in there])
        share = lower / quiet if lower and quiet else None
        rows[asked] = [changes * SECOND / took_ns if took_ns else None, lower, upper, share]
    for curve in result.curves:
        shown = {row[0]: row[1:] for row in curve.points if row[0]}
        yield (
            curve.name,
            tuple(
                f"beside {asked}: printed {row}, by all trials {rows.get(asked or 0)}"
                for asked, row in shown.items()
                if not alike(row, rows.get(asked or 0, ()))
            ),
        )
    for one in result.figures:
        left = rows[search["rules_per_second"][-1]][-1]
        against = f"printed {one.value}, by all trials {left}"
        believed_in = one.value is None or alike([one.value], [left])
        yield one.name, () if believed_in else (against,)


def _load_differs(
    search: Mapping[str, Any], printed: LoadResult, trials: Sequence[Trial]
) -> Iterator[str]:
    """Say where what is printed of a given load is not what its trials come to."""
    there = [
        one
        for one in believed(trials)
        if one.load_fps == printed.load_fps and one.purpose is Purpose.SEARCH
    ]
    seen = [as_it_is(one) for one in there]
    allowed = _share(search.get("loss_ratio") or "0")
    passed = sum(not one.fails(allowed, own=False) for one in seen)
    if (printed.trials, printed.passed) != (len(seen), passed):
        told = f"{printed.passed} of {printed.trials} passed"
        yield f"printed {told}, by all trials {passed} of {len(seen)}"
    worst = max((one.lost for one in seen), default=Fraction(0))
    if Fraction(printed.worst_loss_ratio) != worst:
        yield f"worst loss printed {printed.worst_loss_ratio}, by all trials {worst}"
    if there and printed.throughput_fps != (least := min(int(through(one)) for one in there)):
        yield f"through printed {printed.throughput_fps:,}, by all trials {least:,}"
    if printed.outages_ns != (away := tuple(away_ns(one) for one in there if one.event)):
        yield f"away printed {printed.outages_ns}, by all trials {away}"


def unread(search: Mapping[str, Any], result: SearchResult) -> int:
    """Return how many answers of a result nothing here can read again."""
    goals, figures = goals_of(search), [*result.figures, *result.curves]
    known = reads_figures(search) or search["kind"] == "churn"
    return sum(one.goal not in goals for one in result.goals) + (0 if known else len(figures))


def asked_of(spec: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """Return what a method is asked by a specification, a throughput that is given in frames.

    A share of the line rate, or bits, are so many of the slowest link that is used.
    """
    search: Mapping[str, Any] | None = spec.get("search")
    if search is None or search.get("throughput") is None:
        return search
    given = Rate.parse(search["throughput"])
    if given.unit == "fps":
        return search
    hops = {hop for path in spec["topology"]["paths"] for hop in path}
    links = {name: one for name, one in spec["testbed"]["links"].items() if name in hops}
    slowest = min(LinkSpeed.parse(one["speed"]) for one in links.values())
    size = FrameSize.parse(spec["traffic"]["frame_size"])
    return {**search, "throughput": f"{int(given.frames_per_second(size, slowest))}fps"}


def of_models(seeds: Sequence[int]) -> Iterator[tuple[str, str, tuple[str, ...]]]:
    """Let each search find each model, and yield its answers likewise."""
    for seed, search, model in itertools.product(seeds, SEARCHES, MODELS):
        if (found := searched(search, model, seed)) is None:
            continue
        for name, against in answers(found[0], found[2], found[1]):
            yield f"{model.name}, {search}, seed {seed}", name, against


def searched(
    search: str, model: Model, seed: int, budget: Budget | None = None
) -> tuple[dict[str, Any], SearchResult, list[Trial]] | None:
    """Return the settings of a search, what it says of a model, and its trials; None if nothing."""
    spec = METHODS[SEARCHES[search]["kind"]].model_validate({**RANGE, **SEARCHES[search]})
    measurer, probe = Bench(model, World(seed)).probe(budget)
    try:
        result = spec.confirmed(LOADS[spec.kind]).run(probe)
    except (InvalidTrialError, ComponentError):
        return None
    return spec.model_dump(mode="json"), result, measurer.trials


def of_runs(
    folders: Iterable[Path], left: Counter[str] | None = None
) -> Iterator[tuple[str, str, tuple[str, ...]]]:
    """Yield the answers of stored runs: of which case, to which goal, and where it differs.

    Those that are not read are counted in `left`, by method.
    """
    for folder in folders:
        for case in views(folder):
            search = asked_of(case.planned.spec)
            if case.record is None or case.record.result is None or search is None:
                continue
            if search["kind"] == "paired":
                for name, against in answers_of_rounds(search, case.rounds, case.record.result):
                    yield f"{folder.name} {case.planned.label}", name, against
                continue
            if left is not None:
                left[str(search["kind"])] += unread(search, case.record.result)
            found = answers(search, case.trials, case.record.result, case.seconds)
            for name, against in found:
                yield f"{folder.name} {case.planned.label}", name, against


def main() -> None:
    """Print each answer that differs."""
    parser = options(
        __doc__,
        EXAMPLE,
        seeds=Option(100, 1, "worlds of each model"),
        first=Option(0, 0, "the first of them, to go on where one was ended"),
    )
    about = "folder of a run; without any, each search finds the models of `coverage`"
    parser.add_argument("runs", nargs="*", type=Path, metavar="RUN", help=about)
    found = wanted(parser)
    carry_out(lambda: measure(found))


def measure(found: argparse.Namespace) -> Ratio:
    """Read all runs again, or all models."""
    wrong: list[float] = []
    left: Counter[str] = Counter()
    read = of_runs(found.runs, left) if found.runs else of_models(range(found.first, found.seeds))
    for case, name, against in read:
        wrong.append(float(bool(against)))
        for text in against:
            say(f"{case}, {name}: {text}")
    for kind, count in sorted(left.items()):
        if count:
            say(f"not read: {count} answers of {kind}")
    if not wrong:
        raise ComponentError("no run has an answer that can be read again")
    say(f"{sum(wrong):.0f} of {len(wrong)} answers differ from their trials")
    return Ratio("differing answers to all", sum(wrong) / len(wrong), min(wrong), max(wrong), 1)


if __name__ == "__main__":
    main()
