"""What a load is to a goal by all trials at it, written once more from the standards.

It shares no code with what searches: of a trial only what was counted is read, as it is or in clean
time, and the bounds are what the loads come to.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from reread_trials import SECOND, believed, intact, kept_ns, through

from vsperf.quantities.units import Duration
from vsperf.quantities.units import Ratio as Share
from vsperf.records.flags import Flag
from vsperf.records.result import Draw, GoalResult, Limit, PartialResult
from vsperf.records.trial import Trial

SLOT_NEIGHBOUR = 1
LATE_NS = 100_000
BURST = 64
"""What may be counted on the wrong side of an edge of clean time: a burst, or what is due in the
time for which a generator may be late unseen."""
KEPT = Fraction(11, 10)
"""A silence counts as that of threads that were kept from running where it is no longer."""
THROUGHPUT = "throughput"
"""The goal of methods that refer to one."""


def on_less(printed: GoalResult | PartialResult | Draw) -> bool:
    """Whether an answer may rest on less than was asked for: the time ended, or regimes answer."""
    flags = () if isinstance(printed, Draw) else printed.flags
    if isinstance(printed, GoalResult) and Flag.LEFT_TO_REGIMES in flags:
        return any(one.limit is not None for one in printed.regimes)
    return printed.limit is Limit.BUDGET or Flag.OUT_OF_BUDGET in flags


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
        """Return the goal that any time decides, which is all there is where no more was asked."""
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
                name: Weighed(share_of(one["loss_ratio"]), Fraction(0), ns, ns)
                for name, one in search["goals"].items()
            }
        case "tst009":
            told = int(search["max_repeats"]), int(search["loss_threshold"])
            return {
                name: Verified(share_of(one["loss_ratio"]), *told)
                for name, one in search["goals"].items()
            }
    if looks_for_throughput(search):
        return {THROUGHPUT: throughput_goal(search)}
    return {}


def looks_for_throughput(search: Mapping[str, Any]) -> bool:
    """Whether a method that refers to a throughput has to look for it first."""
    return "throughput_duration" in search and search.get("throughput") is None


def throughput_goal(search: Mapping[str, Any]) -> Weighed:
    """Return what a throughput is that others refer to: half may fail where several count."""
    ns, sum_ns = (Duration.parse(search[f"throughput_{name}"]).ns for name in ("duration", "sum"))
    return Weighed(Fraction(0), Fraction(int(sum_ns > ns), 2), ns, sum_ns)


def _weighed(search: Mapping[str, Any], goal: Mapping[str, Any]) -> Weighed:
    def given(name: str) -> Any:
        return search[name] if goal.get(name) is None else goal[name]

    return Weighed(
        share_of(goal["loss_ratio"]),
        share_of(given("exceed_ratio")),
        Duration.parse(given("final_duration")).ns,
        Duration.parse(given("duration_sum")).ns,
    )


def share_of(text: object) -> Fraction:
    """Read a ratio as it is written in a specification."""
    return Share.parse(text).value


def counted(trials: Sequence[Trial]) -> list[Trial]:
    """Return the trials that say something of a load: of a search or below its answer, and valid.

    One in the middle of which something was done to the switch is none of them.
    """
    return [one for one in believed(trials) if one.event is None]


def as_it_is(trial: Trial) -> Seen:
    """Return a trial with all of its time."""
    ways = [(way.intended_frames, way.sent_frames, intact(way)) for way in trial.directions]
    offered = [way.sent_frames + (way.refused_frames or 0) for way in trial.directions]
    return _seen(trial, trial.duration_ns, ways, offered)


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
    lengths, slots, ways = left_out(trial, silent=silent), trial.slots, trial.directions
    if lengths is None or slots is None:
        return None
    told, rows = slots.columns, list(lengths)
    sending_ns = trial.sending_ns or 0
    gone = {told.index[row] for row in rows}
    ran_ns = sum(max(0, lengths[row] - told.away_ns[row]) for row in rows)
    edges = sum((place - 1 not in gone) + (place + 1 not in gone) for place in gone)
    unsure = edges * min(BURST, trial.load_fps * LATE_NS // SECOND + 1)
    left, offered = [], []
    for number, way in enumerate(ways):
        out_sent, out_good, out_refused = (
            sum(column[number][row] for row in rows)
            for column in (told.sent_frames, told.received_frames, told.refused_frames)
        )
        sent, good = way.sent_frames - out_sent, intact(way) - out_good
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


def left_out(trial: Trial, *, silent: bool) -> dict[int, int] | None:
    """Return the time of each row of slots that does not count; None where nobody knows."""
    slots, ways = trial.slots, trial.directions
    due = (2 * trial.load_fps * trial.duration_ns + SECOND) // (2 * SECOND)
    if (
        slots is None
        or slots.cut
        or max(way.intended_frames for way in ways) != due
        or slots.sent_frames != tuple(way.sent_frames for way in ways)
        or slots.received_frames != tuple(map(intact, ways))
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
    return {
        row: min(slots.width_ns, max(0, sending_ns - told.index[row] * slots.width_ns))
        for row in rows
    }


def clean_share(trials: Sequence[Trial], *, silent: bool) -> Fraction | None:
    """Return which share of the time of sending counts; None where nobody knows of any."""
    found = ((one.sending_ns or 0, left_out(one, silent=silent)) for one in trials)
    known = [(sending_ns, sum(out.values())) for sending_ns, out in found if out is not None]
    whole_ns = sum(sending_ns for sending_ns, _ in known)
    return 1 - Fraction(sum(out_ns for _, out_ns in known), whole_ns) if whole_ns else None


def silent_too(trials: Sequence[Trial]) -> bool:
    """Whether the kernel says of the silences of a path that threads were kept from running."""
    silence = sum(sum(one.slots.columns.silent_ns) for one in trials if one.slots is not None)
    kept = sum(
        kept_ns(thread) for one in trials for thread in one.threads if thread.part != "generator"
    )
    return 0 < silence <= KEPT * kept


@dataclass(frozen=True, slots=True)
class Bounds:
    """The bounds that trials come to."""

    lower: int | None
    upper: int | None


def bounds(goal: Goal, trials: Sequence[Seen]) -> Bounds:
    """Return the lowest load that is an upper bound, and the highest lower bound below it."""
    groups = by_load(trials)
    uppers = [load for load, group in groups.items() if goal.judge(group) is Is.UPPER]
    upper = min(uppers, default=None)
    lowers = [
        load
        for load, group in groups.items()
        if goal.judge(group) is Is.LOWER and (upper is None or load < upper)
    ]
    return Bounds(max(lowers, default=None), upper)


def from_decided(goal: Goal, trials: Sequence[Seen]) -> list[Seen]:
    """Return the trials from a lower bound on that is decided: where the time ended, it stands."""
    lowest = bounds(goal, trials).lower or 0
    return [one for one in trials if one.load >= lowest]


def through_at(goal: Goal, load: int, trials: Sequence[Trial]) -> int:
    """Return what came through at a lower bound: of TST 009 the least of a trial that passed.

    Where time is weighed it is the load less the loss that as much of it stays within as has to
    pass; time that is missing to the sum is lost altogether.
    """
    there = [one for one in trials if one.load_fps == load]
    if isinstance(goal, Verified):
        passed = (one for one in there if not as_it_is(one).fails(goal.allowed, own=False))
        return int(min(map(through, passed)))
    full = [one for one in map(as_it_is, there) if one.asked_ns >= goal.final_ns]
    needed = max(sum(one.counts_ns for one in full), goal.sum_ns) * (1 - goal.exceed)
    for one in sorted(full, key=lambda one: one.lost):
        needed -= one.counts_ns
        if needed <= 0:
            return int(load * (1 - one.lost))
    return 0


def by_load(trials: Sequence[Seen]) -> dict[int, list[Seen]]:
    """Return the trials at each load."""
    groups: dict[int, list[Seen]] = {}
    for one in trials:
        groups.setdefault(one.load, []).append(one)
    return groups
