"""What stored trials say by themselves: which of them count, what they lost and what came through.

It shares no code with what judges trials in a run: of a trial only what was counted is read.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from vsperf.quantities.units import Count, Duration
from vsperf.records.flags import Flag, Severity
from vsperf.records.threads import ThreadActivity
from vsperf.records.trial import Direction, Purpose, Second, Trial

SECOND = 10**9


@dataclass(frozen=True, slots=True)
class Own:
    """A number as the trials have it."""

    value: float | None
    runs: tuple[float, ...] = ()
    """What each repeat came to, where there are some."""
    upper: float | None = None
    lower: float | None = None
    """None where there is no bound but the number itself."""
    bounded: bool = False
    """Whether both bounds have to be printed as they are; else one may be left out, as of whom it
    is follows from more than counts."""
    needed: bool = True
    """Whether it has to be printed; else it may be left out, as it only qualifies another one."""


@dataclass(frozen=True, slots=True)
class Measured:
    """A case as far as its figures ask for it."""

    search: Mapping[str, Any]
    trials: Sequence[Trial]
    """Those that are believed, in their order, without those that looked for a throughput."""
    given: Sequence[Trial]
    """All of them, for who takes a trial whatever is to be said against it."""
    seconds: Iterable[Second]
    fps: int | None
    """The throughput that is referred to."""
    whole: bool
    """Whether the time sufficed for all that was asked."""


def believed(trials: Sequence[Trial]) -> list[Trial]:
    """Return the trials that count: those of the deployment that came last, and valid."""
    return [
        one
        for one in since_check(trials)
        if one.directions and one.purpose in {Purpose.SEARCH, Purpose.LATENCY} and stands(one.flags)
    ]


def stands(flags: Iterable[Flag]) -> bool:
    """Whether none of these takes back what it is said of."""
    return not any(flag.severity is Severity.INVALID for flag in flags)


def since_check(trials: Sequence[Trial]) -> list[Trial]:
    """Return the trials that an answer is from: each deployment begins with a look at the path.

    They are on the last one that was tried, before it was asked again on further ones.
    """
    trials = [one for one in trials if one.deployment == 1]
    checks = [n for n, one in enumerate(trials) if one.purpose is Purpose.PATH_CHECK]
    return list(trials[(checks[-1] + 1 if checks else 0) :])


def drawn_on(trials: Sequence[Trial], deployment: int) -> list[Trial]:
    """Return the valid trials that ask what was found on the first deployment on another one."""
    return [
        one
        for one in trials
        if one.deployment == deployment
        and one.purpose is Purpose.DRAW
        and one.directions
        and stands(one.flags)
    ]


def like_the_first(
    first: Sequence[Trial], others: Sequence[Trial], kind: str | None
) -> list[Trial]:
    """Return those of other trials that were made where the first were: near, or far.

    `kind` says which is meant. Where the first are all of one kind it is not said; which one it is
    shows where others are of the other kind.
    """
    if kind is not None:
        return _of_kind(first, others, kind)
    if by_distance(first):
        return list(others)
    every = [*first, *others]
    parted = by_distance(every)
    if not parted:
        return list(others)
    near, far = (sum(one in parted[name] for one in first) for name in ("near", "far"))
    return _of_kind(every, others, "near" if near >= far else "far")


def _of_kind(known: Sequence[Trial], asked: Sequence[Trial], kind: str) -> list[Trial]:
    """Return the trials that are near, or far, by where others are known to be so.

    The border lies where it is as many times as far from the longest near as from the shortest far.
    """
    parted = by_distance(known)
    if not parted:
        return []
    longest = max(trip for one in parted["near"] for trip in one.round_trips_ns)
    shortest = min(trip for one in parted["far"] for trip in one.round_trips_ns)
    border = longest * shortest
    return [
        one
        for one in asked
        if len(one.round_trips_ns) == 2
        and all((trip * trip < border) == (kind == "near") for trip in one.round_trips_ns)
    ]


def by_distance(trials: Sequence[Trial]) -> dict[str, list[Trial]]:
    """Return the trials that were made near and far, if their round trips are of two kinds.

    They are where between two of them, one after the other in order, is a factor of two or more,
    and two trials or more are whole on each side; the greatest factor parts them. A trial with an
    end on each side, or with an end that nobody knows, is of neither.
    """
    gap = gap_of(trials)
    if gap is None:
        return {}
    known = [one for one in trials if len(one.round_trips_ns) == 2]
    return {
        "near": [one for one in known if max(one.round_trips_ns) <= gap[0]],
        "far": [one for one in known if min(one.round_trips_ns) >= gap[1]],
    }


def gap_of(trials: Sequence[Trial]) -> tuple[int, int] | None:
    """Return the longest round trip that is near and the shortest that is far; None of one kind."""
    known = [one for one in trials if len(one.round_trips_ns) == 2]
    ways = sorted({trip for one in known for trip in one.round_trips_ns})
    best, found = 1.0, None
    for below, above in itertools.pairwise(ways):
        near = sum(max(one.round_trips_ns) <= below for one in known)
        far = sum(min(one.round_trips_ns) >= above for one in known)
        factor = above / max(1, below)
        if factor >= 2 and factor > best and min(near, far) >= 2:
            best, found = factor, (below, above)
    return found


def share_there(trials: Sequence[Trial], kind: str) -> Fraction | None:
    """Return for which share of the time the machine was near, or far: of trials, and of waits.

    A trial counts half by each of its ends.
    """
    gap = gap_of(trials)
    if gap is None:
        return None
    spent = {True: Fraction(0), False: Fraction(0)}
    for one in trials:
        for trip in one.round_trips_ns if len(one.round_trips_ns) == 2 else ():
            spent[trip * trip < gap[0] * gap[1]] += Fraction(one.elapsed_ns, 2)
        if one.held is not None:
            spent[one.held.round_trip_ns**2 < gap[0] * gap[1]] += one.held.ns
    return spent[kind == "near"] / sum(spent.values()) if any(spent.values()) else None


def met_alone(trials: Sequence[Trial]) -> tuple[int, int] | None:
    """Return the shortest and longest round trip of trials of one kind; a look may be off."""
    known = [one.round_trips_ns for one in trials if len(one.round_trips_ns) == 2]
    if gap_of(trials) is not None:
        return None
    again = [one[1] == other[0] for one, other in itertools.pairwise(known)]  # one look of both
    told = zip(known, [False, *again], strict=False)
    looks = sorted(max(1, trip) for pair, seen in told for trip in pair[1 if seen else 0 :])
    ends = [(0, 1), (1, 1), (0, 2)]  # all of them, or without the shortest, or the longest
    pairs = [(looks[low], looks[-high]) for low, high in ends if low + high <= len(looks)]
    return next(((least, most) for least, most in pairs if least <= most < 2 * least), None)


def looking(search: Mapping[str, Any], trials: Sequence[Trial]) -> list[Trial]:
    """Return the trials that looked for a throughput: they come first, and refer to nothing.

    The first burst, half as long as the longest, may last as long as one of them to the nanosecond.
    """
    ns = Duration.parse(search["throughput_duration"]).ns
    found = list(itertools.takewhile(lambda one: _looks(one, ns), trials))
    if search["kind"] == "back2back" and found and len(found) < len(trials):
        rate, step = trials[-1].load_fps, number_in(search["step"])
        most = rate * Duration.parse(search["max_burst"]).ns // SECOND // step
        first = (most + 1) // 2 * step
        if -(-first * SECOND // rate) == ns:
            found.pop()
    return found


def _looks(trial: Trial, ns: int) -> bool:
    return (
        trial.purpose is Purpose.SEARCH
        and trial.duration_ns == ns
        and trial.reference is None
        and trial.event is None
        and not any(way.steps for way in trial.directions)
    )


def worst_of(trial: Trial) -> int:
    """Return how many frames are missing, in the worse direction."""
    return max(missing_of(way) for way in trial.directions)


def missing_of(way: Direction) -> int:
    """Return how many frames were due and did not arrive intact."""
    return way.intended_frames - intact(way)


def intact(way: Direction) -> int:
    """Return how many frames arrived as they were sent, each counted once."""
    return way.received_frames - (way.duplicate_frames or 0) - (way.corrupted_frames or 0)


def kept_ns(thread: ThreadActivity) -> int:
    """Return for how long a thread was kept from running: it waited, or its CPU was taken."""
    return (thread.delay_ns or 0) + (thread.steal_ns or 0)


def share_lost(trial: Trial) -> Fraction:
    """Return which share of the frames that were due is missing, in the worse direction."""
    return max(Fraction(missing_of(way), way.intended_frames) for way in trial.directions)


def through(trial: Trial) -> Fraction:
    """Return what came through in a second, worse direction, as if each had all of the load."""
    due = max(way.intended_frames for way in trial.directions)
    worst = min(Fraction(intact(way), max(1, way.intended_frames)) for way in trial.directions)
    return worst * due * SECOND / trial.duration_ns


def number_in(text: object) -> int:
    """Return the number that a setting is."""
    return Count.parse(text).value


def refers(trial: Trial) -> bool:
    """Whether a trial was made at the throughput."""
    return "the throughput" in (trial.reference or "")


def away_ns(trial: Trial) -> int | None:
    """Return the longest silence, where it is that of the event: frames came after it again."""
    silences = [way.longest_silence_ns for way in trial.directions]
    known = [one for one in silences if one is not None]
    event = trial.event
    if event is None or len(known) < len(silences):
        return None
    later = all((way.receiving_ns or 0) > event.ended_ns for way in trial.directions)
    return max(known) if later or 2 * min(known) >= event.ended_ns - event.began_ns else None
