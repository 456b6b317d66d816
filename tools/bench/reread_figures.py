"""What the figures of each method are by its trials alone, from what standards and pages say.

It shares no code with methods: a number is made here once more, and held against what is printed.
"""

from __future__ import annotations

import itertools
import math
import statistics
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from hdrh.histogram import HdrHistogram
from reread_soak import soak_curves, soak_figures
from reread_trials import (
    SECOND,
    Measured,
    Own,
    away_ns,
    intact,
    missing_of,
    number_in,
    refers,
    share_lost,
    through,
    worst_of,
)

from vsperf.quantities.units import Ratio as Share
from vsperf.records.result import Curve, Figure
from vsperf.records.result import Spread as Repeats
from vsperf.records.trial import Direction, Purpose, Trial

SLOW = "_slow_bursts"
LEAST_FRAMES = 500
"""RFC 8219, section 7.2: of fewer frames nothing is said."""
CALM = Fraction(1, 10)
LOOKED_UP = Fraction(9, 10)
NEAR = 1e-9


def own_figures(case: Measured) -> Mapping[str, Own]:
    """Return the figures of a case by its trials alone."""
    return READERS[case.search["kind"]](case)


def own_curves(case: Measured) -> Mapping[str, list[tuple[float | None, ...]]]:
    """Return the curves of a case by its trials alone."""
    return soak_curves(case) if case.search["kind"] == "soak" else {}


def figures_differ(
    printed: Sequence[Figure], own: Mapping[str, Own]
) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield each figure that is printed or should be, and where it is not what its trials are."""
    for figure in printed:
        yield figure.name, tuple(_differs(figure, own.get(figure.name.removesuffix(SLOW))))
    found = {figure.name.removesuffix(SLOW) for figure in printed}
    for name, one in own.items():
        if name not in found and one.value is not None and one.needed:
            yield name, (f"nothing printed, by all trials {one.value:,}",)


def _differs(printed: Figure, own: Own | None) -> Iterator[str]:
    if own is None:
        yield f"printed {printed.value}, of which its trials say nothing"
        return
    yield from _apart("value", printed.value, own.value)
    lower = own.value if own.lower is None and not own.bounded else own.lower
    for what, shown, is_so in (
        ("lower bound", printed.lower, lower),
        ("upper bound", printed.upper, own.upper),
    ):
        if shown is not None or own.bounded:
            yield from _apart(what, shown, is_so)
    if printed.spread is not None:
        yield from spread_differs(printed.spread, own.runs)


def spread_differs(printed: Repeats, runs: Sequence[float]) -> Iterator[str]:
    """Say where what is printed of repeats is not what they came to."""
    yield from _apart("number of repeats", printed.runs, len(runs))
    yield from _apart("lowest", printed.minimum, min(runs, default=None))
    yield from _apart("highest", printed.maximum, max(runs, default=None))
    deviation = statistics.stdev(runs) if len(runs) > 1 else None
    yield from _apart("deviation", printed.deviation, deviation)


def _apart(what: str, shown: float | None, is_so: float | None) -> Iterator[str]:
    if not same(shown, is_so):
        yield f"{what} printed {shown}, by all trials {is_so}"


def curves_differ(
    printed: Sequence[Curve], own: Mapping[str, list[tuple[float | None, ...]]]
) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield each curve that is printed or should be, and the rows that differ."""
    drawn = {curve.name for curve in printed}
    for name, rows in own.items():
        if rows and name not in drawn:
            yield name, ("nothing printed, and its trials have this curve",)
    for curve in printed:
        if curve.name not in own:
            yield curve.name, ("printed, and its trials say nothing of it",)
            continue
        pairs = itertools.zip_longest(curve.points, own[curve.name])
        yield (
            curve.name,
            tuple(
                f"row {number} printed {shown}, by all trials {is_so}"
                for number, (shown, is_so) in enumerate(pairs, start=1)
                if shown is None or is_so is None or not alike(shown, is_so)
            ),
        )


def alike(one: Sequence[float | None], other: Sequence[float | None]) -> bool:
    """Whether two rows of numbers are the same."""
    return len(one) == len(other) and all(map(same, one, other))


def same(one: float | None, other: float | None) -> bool:
    """Whether two numbers are the same, or neither is known."""
    if one is None or other is None:
        return one is other
    return math.isclose(one, other, rel_tol=NEAR, abs_tol=NEAR)


# What is searched among numbers.


@dataclass(frozen=True, slots=True)
class Tried:
    """One trial of a number."""

    number: int
    lost: int
    trial: Trial


@dataclass(frozen=True, slots=True)
class Came:
    """What one search came to."""

    passed: Tried | None
    failed: Tried | None


def _searches(case: Measured, tried: Sequence[Tried], threshold: int) -> list[Came]:
    """Return what each search came to: all begin with the same number, and none comes back to it.

    A number that lost at most so many frames is tried again, as often as it is asked for.
    """
    decided: list[tuple[Tried, bool]] = []
    times = 0
    for n, one in enumerate(tried):
        again = n > 0 and times > 0 and tried[n - 1].number == one.number
        times = times + 1 if again else 1
        if one.lost <= 0 or one.lost > threshold or times > int(case.search["max_repeats"]):
            decided.append((one, one.lost <= 0))
            times = 0
    begins = [n for n, (one, _) in enumerate(decided) if one.number == decided[0][0].number]
    parts = [decided[a:b] for a, b in itertools.pairwise([*begins, len(decided)])]
    return [
        Came(
            max((one for one, well in part if well), key=_number, default=None),
            min((one for one, well in part if not well), key=_number, default=None),
        )
        for part in parts
    ]


def _number(tried: Tried) -> int:
    return tried.number


def _ended(found: Sequence[Came], case: Measured, far: Callable[[int, int], bool]) -> list[Came]:
    """Return the searches that came to their end: the last need not, where the time ended."""
    if case.whole or not found:
        return list(found)
    low, high = found[-1].passed, found[-1].failed
    open_ended = high is None or far(low.number if low else 0, high.number)
    return list(found[:-1]) if open_ended else list(found)


def _back2back(case: Measured) -> Mapping[str, Own]:
    """RFC 9004: the mean of the longest bursts without loss, and the buffer behind it."""
    bursts = [one for one in case.trials if one.purpose is Purpose.SEARCH]
    if not bursts or case.fps is None:
        return {"burst": Own(None)}
    rate = bursts[0].load_fps
    tried = [
        Tried(max(way.intended_frames for way in one.directions), worst_of(one), one)
        for one in bursts
    ]
    step = number_in(case.search["step"])
    found = _searches(case, tried, int(case.search["loss_threshold"]))
    found = _ended(found, case, lambda low, high: high - low > step)
    lengths = [float(one.passed.number) if one.passed else 0.0 for one in found]
    if not found:
        return {"burst": Own(None)}
    if any(one.failed is None for one in found):
        return {"burst": Own(None, tuple(lengths))}
    if not any(lengths):
        return {"burst": Own(None, upper=step)}
    burst = statistics.mean(lengths)
    kept = 1 - Fraction(case.fps, rate)
    implied = burst / rate * SECOND
    return {
        "burst": Own(burst, tuple(lengths)),
        "implied_buffer_time": Own(implied),
        "buffer_time": Own(implied * float(kept)),
        "buffered": Own(burst * float(kept)),
    }


def _flow_setup(case: Measured) -> Mapping[str, Own]:
    """The mean of the highest rates, over all directions, and the latency of first frames."""
    rates = [one for one in case.trials if one.purpose is Purpose.SEARCH]
    tried = [Tried(one.load_fps, worst_of(one), one) for one in rates]
    width = 1 + float(Share.parse(case.search["width"]).value)
    found = _ended(
        _searches(case, tried, max((one.number for one in tried), default=0)),
        case,
        lambda low, high: low == 0 or high > low * width**2,
    )
    none = {name: Own(None) for name in ("flow_setup_rate", "first_frame_latency")}
    passed = [one.passed for one in found if one.passed is not None]
    if not passed:
        return none
    due = [way.intended_frames for way in passed[0].trial.directions]
    ways = Fraction(sum(due), max(due))
    values = tuple(float(one.passed.number * ways) if one.passed else 0.0 for one in found)
    if any(_known_before(one.trial) for one in passed):
        return none | {"flow_setup_rate": Own(None, values)}
    told = {"flow_setup_rate": _as_found(found, values)}
    for one in case.trials:
        if one.purpose is Purpose.LATENCY:
            for name, number in (("first", 0), ("later", 1)):
                spread = latencies_of(way.range_histograms[number] for way in one.directions)
                told[f"{name}_frame_latency"] = Own(spread.at(50.0) if spread else None)
    return told


def _known_before(trial: Trial) -> bool:
    """Whether a cache knew flows that were to be new, as far as the switch counts them."""
    hits = [pmd.hits for pmd in (trial.switch.pmds if trial.switch else ()) if "upcall" in pmd.hits]
    new = sum(one["upcall"] for one in hits)
    asked = new + sum(one.get("lost", 0) for one in hits)
    return bool(hits) and not (
        asked >= LOOKED_UP * max(1, trial.sent_frames) and new >= LOOKED_UP * asked
    )


def _addresses(case: Measured, name: str, number: Callable[[Trial], int]) -> Mapping[str, Own]:
    """RFC 2889: how many came, or how fast, where the switch knew all of them afterwards."""
    tried = []
    for one in case.trials:
        counts = one.switch.addresses if one.switch is not None else None
        if counts is None or (name == "learning_rate" and counts.evicted):
            return {name: Own(None)}
        tried.append(Tried(number(one), one.intended_frames - counts.known, one))
    found = _searches(case, tried, max((one.number for one in tried), default=0) + SECOND)
    step = number_in(case.search.get("step", "1"))
    width = 1 + float(Share.parse(case.search.get("width", "2%")).value)
    found = _ended(
        found,
        case,
        lambda low, high: (
            high - low > step if name == "addresses" else low == 0 or high > low * width**2
        ),
    )
    values = tuple(float(one.passed.number) if one.passed else 0.0 for one in found)
    if not values or (name == "learning_rate" and not any(values)):
        return {name: Own(None)}
    return {name: _as_found(found, values)}


def _as_found(found: Sequence[Came], values: tuple[float, ...]) -> Own:
    """Return the mean of what searches found; it has no end where one of them found none."""
    mean = statistics.mean(values)
    lower = mean if any(one.failed is None for one in found) else None
    return Own(mean, values, lower=lower, bounded=True)


def _learning(case: Measured) -> Mapping[str, Own]:
    return _addresses(case, "learning_rate", lambda one: one.load_fps)


def _caching(case: Measured) -> Mapping[str, Own]:
    return _addresses(
        case, "addresses", lambda one: sum(way.intended_frames for way in one.directions)
    )


# What falls from load to load.


def _loss(case: Measured) -> Mapping[str, Own]:
    """RFC 2544, section 26.3: from the highest load down to two in a row that lose nothing."""
    if not case.trials:
        return {"lossless_load": Own(None), "loss_at_top": Own(None)}
    lost = [(one.load_fps, share_lost(one)) for one in case.trials]
    pairs = itertools.pairwise(lost)
    pair = next((load for (load, one), (_, other) in pairs if not one and not other), None)
    failed = [load for load, share in lost if share]
    top = float(lost[0][1])
    return {
        "lossless_load": Own(pair, upper=min(failed, default=None), lower=pair, bounded=True),
        "loss_at_top": Own(top),
    }


def _forwarding(case: Measured) -> Mapping[str, Own]:
    """RFC 2889: what comes through at the highest load, and the most at any."""
    passed = [int(through(one)) for one in case.trials]
    if not passed:
        return {"mfr": Own(None), "frmol": Own(None)}
    return {"mfr": Own(max(passed)), "frmol": Own(passed[0])}


def sweep_differs(search: Mapping[str, Any], trials: Sequence[Trial], *, whole: bool) -> list[str]:
    """Say where a sweep went on after it had what it asks for, or ended before."""
    loads = [one.load_fps for one in trials]
    against = [] if loads == sorted(set(loads), reverse=True) else ["loads do not fall"]
    enough = []
    for n in range(2, len(trials) + 1):
        if search["kind"] == "loss":
            enough.append(not any(map(share_lost, trials[n - 2 : n])))
        else:
            most = max(int(through(one)) for one in trials[:n])
            enough.append(trials[n - 1].load_fps <= most)
    if any(enough[:-1]):
        against.append("it went on after it had what it looks for")
    step = float(Share.parse(search["step"]).value) * loads[0] if loads else 0
    if whole and loads and not any(enough[-1:]) and loads[-1] > 2 * step:
        against.append("it ended before it had what it looks for")
    return against


# What is done again and again at the throughput.


class Spread:
    """Latencies of frames, by ranges of one part in a thousand."""

    def __init__(self, ranges: Mapping[int, tuple[int, int]]) -> None:
        self._ranges = sorted((least, most, count) for least, (most, count) in ranges.items())
        self.count = sum(count for *_, count in self._ranges)

    def at(self, percentile: float) -> int:
        """Return what this share of the frames, to the nearest frame, did not exceed."""
        wanted = max(1, math.floor(percentile * self.count / 100 + 0.5))
        below = itertools.accumulate(count for *_, count in self._ranges)
        return next(
            most
            for (_, most, _), so_far in zip(self._ranges, below, strict=True)
            if so_far >= wanted
        )

    @property
    def least(self) -> int:
        return self._ranges[0][0]

    @property
    def mean(self) -> float:
        """The mean, each latency in the middle of its range."""
        total = sum(
            count * (least + (most + 1 - least) // 2) for least, most, count in self._ranges
        )
        return total / self.count


def latencies_of(texts: Iterable[str | None]) -> Spread | None:
    """Return the latencies of several histograms together; None if there are none."""
    ranges: dict[int, tuple[int, int]] = {}
    for text in texts:
        if text is None:
            continue
        one = HdrHistogram.decode(text)
        for index, count in enumerate(one.counts[:]):
            if count:
                least = int(one.get_value_from_index(index))
                most = int(one.get_highest_equivalent_value(least))
                ranges[least] = (most, ranges.get(least, (most, 0))[1] + count)
    return Spread(ranges) if ranges else None


def _at_throughput(case: Measured) -> list[Trial]:
    return [one for one in case.trials if one.purpose is Purpose.LATENCY and refers(one)]


def _median(values: Sequence[float]) -> Own:
    return Own(statistics.median(values) if values else None, tuple(values))


def _latency(case: Measured) -> Mapping[str, Own]:
    """RFC 2544, section 26.2, and RFC 8219, section 7."""
    trials = _at_throughput(case)
    tagged = [[way.first_latency_ns for way in one.directions] for one in trials]
    known = [[time for time in ways if time is not None] for ways in tagged]
    whole = bool(trials) and all(map(lambda a, b: len(a) == len(b), known, tagged))
    means = [statistics.mean(ways) for ways in known] if whole else []
    every = [latencies_of(way.latency_histogram for way in one.directions) for one in trials]
    spreads = [one for one in every if one is not None and one.count >= LEAST_FRAMES]
    told = {
        "tagged_latency": Own(statistics.mean(means) if means else None, tuple(means)),
        "typical_latency": _median([one.at(50.0) for one in spreads]),
        "worst_case_latency": _median([one.at(99.9) for one in spreads]),
        "delay_variation": _median([one.at(99.9) - one.least for one in spreads]),
        "mean_latency": _median([one.mean for one in spreads]),
    }
    return told | _with_loss(trials)


def _with_loss(trials: Sequence[Trial]) -> dict[str, Own]:
    """How many trials at the throughput were above it."""
    lossy = sum(any(missing_of(way) > 0 for way in one.directions) for one in trials)
    return {"trials_with_loss": Own(lossy)} if lossy else {}


def _broadcast(case: Measured) -> Mapping[str, Own]:
    """RFC 2889, section 5.10."""
    trials = _at_throughput(case)
    every = [latencies_of(way.latency_histogram for way in one.directions) for one in trials]
    spreads = [one for one in every if one is not None]
    return {
        "typical_latency": _median([one.at(50.0) for one in spreads]),
        "worst_case_latency": _median([one.at(99.9) for one in spreads]),
        **_with_loss(trials),
    }


def _wake_up(case: Measured) -> Mapping[str, Own]:
    """The medians of the frames after a silence, and of those before it."""
    trials = _at_throughput(case)
    told = {}
    for name, which in (("wake_up_latency", 1), ("awake_latency", 0)):
        every = [
            latencies_of(
                way.range_histograms[which] for way in one.directions if way.range_histograms
            )
            for one in trials
        ]
        values = [float(one.at(50.0)) for one in every if one is not None]
        whole = len(values) == len(trials) and values
        told[name] = Own(statistics.median(values) if whole else None, tuple(values))
    lost = tuple(float(worst_of(one)) for one in trials)
    return {**told, "lost": Own(max(lost, default=None), lost)}


def _recovery(case: Measured) -> Mapping[str, Own]:
    """RFC 2544, section 26.5: from the change of load to the last frame that was lost."""
    trials = [one for one in case.trials if any(way.steps for way in one.directions)]
    values: list[float] = []
    for one in trials:
        offered = [way.sent_frames + (way.refused_frames or 0) for way in one.directions]
        ways = [_recovered(way, due) for way, due in zip(one.directions, offered, strict=True)]
        times = [time for time in ways if time is not None]
        overloaded = any(
            due > intact(way) for way, due in zip(one.directions, offered, strict=True)
        )
        latest = Fraction(one.duration_ns, 2) * (1 - CALM)
        if not overloaded or len(times) < len(ways) or max(times) > latest:
            return {"recovery_time": Own(None)} | _less(case, trials)
        values.append(float(max(times)))
    mean = statistics.mean(values) if values else None
    return {"recovery_time": Own(mean, tuple(values))} | _less(case, trials)


def _less(case: Measured, trials: Sequence[Trial]) -> dict[str, Own]:
    """Say how much of the overload was offered, where it was not all.

    It is not printed where the line has no more, which no trial knows.
    """
    if case.fps is None or not trials:
        return {}
    wanted = round(case.fps * (1 + Share.parse(case.search["overload"]).value))
    offered = trials[0].load_fps
    return {"overload_share": Own(offered / wanted, needed=False)} if offered < wanted else {}


def _recovered(way: Direction, offered: int) -> int | None:
    began_ns = way.steps[1].began_ns if len(way.steps) > 1 else None
    if began_ns is None:
        return None
    if way.last_loss_ns is None:
        return 0 if offered == intact(way) else None
    return max(0, way.last_loss_ns - began_ns)


def _reset(case: Measured) -> Mapping[str, Own]:
    """RFC 6201: by time stamps, by loss, and what lies between."""
    told: dict[str, Own] = {}
    for name in case.search["events"]:
        trials = [one for one in case.trials if one.event is not None and one.event.name == name]
        word = name.partition("-")[0]
        away = [away_ns(one) for one in trials]
        silent = [float(one) for one in away if one is not None]
        if not trials or len(silent) < len(away):
            told[f"{word}_time"] = Own(None)
            continue
        by_loss = [float(share_lost(one) * one.duration_ns) for one in trials]
        between = [one - other for one, other in zip(by_loss, silent, strict=True)]
        for what, values in (
            ("time", silent),
            ("lost_time", by_loss),
            ("difference", between),
            ("lost", [float(worst_of(one)) for one in trials]),
        ):
            told[f"{word}_{what}"] = Own(statistics.mean(values), tuple(values))
    return told


READERS: Mapping[str, Callable[[Measured], Mapping[str, Own]]] = {
    "back2back": _back2back,
    "broadcast": _broadcast,
    "caching": _caching,
    "flow_setup": _flow_setup,
    "forwarding": _forwarding,
    "latency": _latency,
    "learning": _learning,
    "loss": _loss,
    "recovery": _recovery,
    "reset": _reset,
    "soak": soak_figures,
    "wake_up": _wake_up,
}
"""By kind of method; what is not here is counted as not read."""
