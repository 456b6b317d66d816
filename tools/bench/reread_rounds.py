"""What rounds of turns come to, from what a paired comparison is said to be.

It shares no code with the method: passes, rates, the middle of ratios and its interval are made
here once more, from the columns of turns, and held against what is printed.
"""

from __future__ import annotations

import itertools
import math
import statistics
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from reread_figures import NEAR, curves_differ, same, spread_differs

from vsperf.records.result import SearchResult
from vsperf.records.run import Check
from vsperf.records.turns import Round

AWAY, AWAY_BRIDGED = 0.05, 0.2
LEAST_PASSES = 10
SLOWEST = {"latency": (20, AWAY), "p99": (500, 0.005)}
"""Of a percentile how many frames a turn needs for it, and for how much of one the generator may be
away."""
PREFIXES = {"rate": "", "latency": "latency_", "p99": "p99_", "loss": "delivery_"}
"""How names of figures begin, by what is held against each other."""
THROUGH = 0.98
SOME, SOME_FILLED = 0.05, 0.1
LEVEL = 0.05
EXACT = 60
DEAD_FOR, SEEN_AT_ALL = 3, 32
"""Turns without a frame in one direction, of which there are so many or more in the mean."""
DEVIATIONS = 1.959963984540054
"""Of a normal distribution, on either side of 95 % of it."""
FIRST = "A"
Ends = tuple[float | None, float | None, float | None]
"""What is printed of a figure: the number, and its bounds."""


@dataclass(frozen=True, slots=True)
class Half:
    """A turn, as far as it counts."""

    fps: float
    """Per direction."""
    through: bool
    """Whether all that was offered came through while the switch ran."""
    left: int
    came: int
    taken: int
    refused: int
    """Of what was measured; of what was left and came, the whole turn."""
    gone: float = 0.0
    """The share of the turn for which the generator was away."""
    frames: int = 0
    """Whose latency was measured."""
    slow_ns: Mapping[str, int] = field(default_factory=dict)
    """Percentiles of these."""
    waited: bool = False
    """Whether it brought all through, and that was less than the load: the generator was slow."""


@dataclass(frozen=True, slots=True)
class Interval:
    """The middle of some ratios, and where it lies."""

    ratio: float
    lower: float | None
    upper: float | None
    deviation: float | None
    ratios: tuple[float, ...]


def answers_of_rounds(
    search: Mapping[str, Any], rounds: Iterable[Round], result: SearchResult
) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield each figure that is printed, and where it differs from the rounds."""
    every = list(rounds)
    last = _last_of_each(every)
    if not last:
        yield "figures", ("printed without a round",) if result.figures else ()
        return
    ended = _ended(search, len(last), whole=result.whole)
    yield "rounds", (*ended, *_loaded(search, every, last))
    yield "turns", tuple(text for one in every for text in turns_differ(one))
    own = {name: (ends, runs) for name, ends, runs in _figures(search, last)}
    own |= dict.fromkeys(_not_believed(search, own), ((None, None, None), ()))
    yield "control", tuple(_control_differs(search, own, result))
    for figure in result.figures:
        shown = (figure.value, figure.lower, figure.upper)
        is_so, runs = own.pop(figure.name, (None, ()))
        agrees = is_so is not None and all(map(same, shown, is_so))
        against = () if agrees else (f"printed {shown}, by all turns {is_so}",)
        repeats = () if figure.spread is None else tuple(spread_differs(figure.spread, runs))
        yield figure.name, against + repeats
    for name, (is_so, _) in own.items():
        yield name, () if is_so == (None, None, None) else (f"not printed, by all turns {is_so}",)
    yield from curves_differ(result.curves, {})


def _not_believed(
    search: Mapping[str, Any], own: Mapping[str, tuple[Ends, Sequence[float]]]
) -> Iterator[str]:
    """Yield the names of ratios that were not asked for, and whose own control is not itself."""
    for metric, prefix in PREFIXES.items():
        _, lower, upper = own.get(f"{prefix}control", ((None, None, None), ()))[0]
        if metric == search.get("metric", "rate") or lower is None or upper is None:
            continue
        if lower > 1 or upper < 1:
            yield from (one for one in own if one.startswith(f"{prefix}ratio_"))
            yield f"{prefix}control"


def _control_differs(
    search: Mapping[str, Any],
    own: Mapping[str, tuple[Ends, Sequence[float]]],
    result: SearchResult,
) -> Iterator[str]:
    """Say where a ratio that was asked for is doubted for its control, or is not, and should be."""
    prefix = PREFIXES[str(search.get("metric", "rate"))]
    _, lower, upper = own.get(f"{prefix}control", ((None, None, None), ()))[0]
    differs = (lower is not None and lower > 1) or (upper is not None and upper < 1)
    for figure in result.figures:
        if figure.value is None or not figure.name.startswith(
            (f"{prefix}ratio_", f"{prefix}control")
        ):
            continue
        doubted = any(str(flag) == "control-differs" for flag in figure.flags)
        if doubted is not differs:
            told = f"by all turns the control lies within {lower} … {upper}"
            yield f"{figure.name} is {'' if doubted else 'not '}doubted for its control: {told}"


def criteria_differ(
    spec: Mapping[str, Any], checks: Sequence[Check], result: SearchResult
) -> Iterator[str]:
    """Say where a ratio is judged to lie on a side of what is asked for on which it does not."""
    ends = {one.name: (one.lower, one.upper) for one in result.figures}
    for asked, check in zip(spec.get("expect", ()), checks, strict=True):
        text = asked.get("min") or asked.get("max") or asked.get("held_to")
        if "ratio_" not in asked["metric"] or asked["metric"] not in ends or text is None:
            continue
        lower, upper = ends[asked["metric"]]
        bound = float(text.rstrip("%")) / (100 if "%" in text else 1)
        above, below = (lower or 0) >= bound, upper is not None and upper <= bound
        is_met, is_missed = (
            (below, above) if asked.get("max") or asked.get("rise") else (above, below)
        )
        if (check.met is True and not is_met) or (check.met is False and not is_missed):
            yield f"{check.criterion}: met {check.met}, and the ratio lies in {lower} … {upper}"


def turns_differ(one: Round) -> Iterator[str]:
    """Say where turns of a round do not come to what it says: their order, parts, and sums."""
    told, sides, name = one.turns, len(one.sides), f"round {one.index}"
    for begin in range(0, len(told.side), sides):
        order = told.side[begin : begin + sides]
        if sorted(order) != list(range(len(order))) and len(order) == sides:
            yield f"{name}: turns from {begin} on are of {order}, and not of each side once"
    for what, whole, parts in (
        ("sent", told.turn_sent_frames, told.sent_by_direction),
        ("received", told.turn_received_frames, told.received_by_direction),
    ):
        for turn, (count, each) in enumerate(zip(whole, parts or (), strict=bool(parts))):
            if count != sum(each):
                yield f"{name}, turn {turn}: {count:,} {what}, directions come to {sum(each):,}"
    for turn, (measured, every) in enumerate(
        zip(told.received_frames, told.turn_received_frames, strict=True)
    ):
        if measured > every:
            yield f"{name}, turn {turn}: {measured:,} measured of {every:,} that came"
    for side, counts in enumerate(one.counts):
        left = sum(f for f, of in zip(told.turn_sent_frames, told.side, strict=True) if of == side)
        if left > counts.sent_frames:
            letter = one.sides[side].letter
            yield f"{name}, {letter}: {left:,} sent in turns, of {counts.sent_frames:,}"


def _last_of_each(rounds: Iterable[Round]) -> list[Round]:
    """Return the last answer on each deployment, of those since everything began anew.

    Where a direction of it was dead, that deployment has none.
    """
    every = list(rounds)
    begins = max((n for n, one in enumerate(every) if one.index == 1), default=0)
    last = {o.deployment: o for o in every[begins:] if str(o.role) == "answer"}
    return [one for one in last.values() if not _has_a_dead_direction(one)]


def _has_a_dead_direction(one: Round) -> bool:
    """Whether some switch brought something in three turns on end, and nothing in one direction."""
    begin = one.warm_passes * len(one.sides)
    whose, came = one.turns.side[begin:], (one.turns.received_by_direction or ())[begin:]
    for way in range(one.directions if came else 0):
        if sum(each[way] for each in came) < SEEN_AT_ALL * len(came):
            continue
        lasted = Counter[int]()
        for side, each in zip(whose, came, strict=True):
            lasted[side] = lasted[side] + 1 if each[way] == 0 < sum(each) else 0
            if lasted[side] == DEAD_FOR:
                return True
    return False


def _looks(search: Mapping[str, Any]) -> list[int]:
    most = int(search["rounds"])
    if search.get("until") != "decided":
        return [most]
    apart = max(8, math.ceil(most / 4))
    return sorted({most, *range(apart, most, apart)})


def _ended(search: Mapping[str, Any], made: int, *, whole: bool) -> Iterator[str]:
    most = int(search["rounds"])
    more = math.floor(most * float(str(search.get("patience", "0%")).rstrip("%")) / 100)
    if whole and made not in _looks(search) and not most < made <= most + more:
        yield f"ended after {made} rounds, and not at one of {_looks(search)}, nor {more} behind"


def _loaded(
    search: Mapping[str, Any], every: Sequence[Round], last: Sequence[Round]
) -> Iterator[str]:
    """Yield where the load is not the share that was asked of what the slowest had forwarded."""
    percent, _, rest = str(search.get("load")).partition("% of ")
    if rest != "slowest":
        return
    behind = max(n for n, one in enumerate(every) if one is last[0])
    looks = [one for one in every[:behind] if str(one.role) == "load"]
    sought = [one for one in looks if not _has_a_dead_direction(one)]
    told = sought[-1].turns
    halves = [(told.side[n], _half(sought[-1], n).fps) for n in range(len(told.side))]
    by_side = {side for side, _ in halves}
    slowest = min(statistics.median(f for s, f in halves if s == side) for side in by_side)
    is_so = slowest * float(percent) / 100
    for one in last:
        if abs(one.load_fps - is_so) > 1 + is_so * NEAR:
            yield f"round {one.index} at {one.load_fps} fps, {percent} % of the slowest are {is_so}"


def _halves(one: Round) -> list[dict[str, Half]]:
    """Return the passes that count: each side's turn by its letter, once all are warm."""
    told, letters = one.turns, [side.letter for side in one.sides]
    found: list[dict[str, Half]] = []
    cold = one.warm_passes * len(letters)
    for begin in range(cold, len(told.side) - len(letters) + 1, len(letters)):
        turns = range(begin, begin + len(letters))
        if any(told.elsewhere_frames[n] or _short(one, n) for n in turns):
            continue
        if any(_away(one, n) for n in turns):
            continue
        found.append({letters[told.side[n]]: _half(one, n) for n in turns})
    return found


def _short(one: Round, n: int) -> bool:
    """Whether too little came back of what rings held, in more than a tenth of all times."""
    filled, short = one.turns.fillings, one.turns.fillings_short
    return bool(filled and short and short[n] > SOME_FILLED * filled[n])


def _away(one: Round, n: int) -> bool:
    """Whether the generator was away in a turn, but for gaps in each of which a ring lasts."""
    share = one.turns.gaps_ns[n] / max(1, one.turns.measured_ns[n])
    if _filled(one, n)[0]:
        return share > AWAY_BRIDGED
    ring_ns = (one.ring_frames or 0) / one.load_fps * 10**9
    return share > (AWAY_BRIDGED if one.turns.longest_gap_ns[n] <= ring_ns else AWAY)


def _filled(one: Round, n: int) -> tuple[int, int]:
    """Return how often rings were filled in a turn, and of these too fast for the generator."""
    filled, behind = one.turns.fillings, one.turns.fillings_behind
    return (filled[n], behind[n]) if filled and behind else (0, 0)


def _half(one: Round, n: int) -> Half:
    told = one.turns
    filled, behind = _filled(one, n)
    if filled:
        return Half(
            max(told.received_frames[n], 0.5) * 10**9 / told.measured_ns[n] / one.directions,
            behind / filled > SOME_FILLED,
            told.turn_sent_frames[n],
            told.turn_received_frames[n],
            told.sent_frames[n],
            0,
            waited=behind / filled > SOME_FILLED,
        )
    frames, gaps_ns = told.received_frames[n], told.gaps_ns[n]
    refused = told.refused_frames[n] if told.refused_frames is not None else 0
    counted = max(frames, 0.5 if not frames else 0) / told.measured_ns[n]
    waiting = None if one.ring_frames is None else one.ring_frames * one.directions
    if waiting is not None and frames > waiting:
        ran = told.measured_ns[n] - told.longest_gap_ns[n]
        counted = max(counted, (frames - waiting) / ran)
    running = frames * 10**9 / max(1, told.measured_ns[n] - gaps_ns - told.silence_ns[n])
    offered = told.sent_frames[n] + refused
    if told.intended_frames is None:
        offered_fps = offered * 10**9 / told.measured_ns[n]
    else:
        share = min(1, offered / max(1, told.intended_frames[n]))
        offered_fps = one.load_fps * one.directions * share
    return Half(
        counted * 10**9 / one.directions,
        running >= THROUGH * offered_fps,
        told.turn_sent_frames[n],
        told.turn_received_frames[n],
        told.sent_frames[n],
        refused,
        gaps_ns / told.measured_ns[n],
        (told.latencies or (0,) * (n + 1))[n],
        {name: ns for name, ns in _percentiles(one, n) if ns},
        running >= THROUGH * offered_fps and offered_fps < THROUGH * one.load_fps * one.directions,
    )


def _percentiles(one: Round, n: int) -> Iterator[tuple[str, int | None]]:
    told = one.turns
    yield "latency", None if told.latency_p50_ns is None else told.latency_p50_ns[n]
    yield "p99", None if told.latency_p99_ns is None else told.latency_p99_ns[n]


def _figures(
    search: Mapping[str, Any], rounds: Sequence[Round]
) -> Iterator[tuple[str, Ends, Sequence[float]]]:
    """Yield each figure with its bounds, and what rounds came to of which it is the middle."""
    passes = [_halves(one) for one in rounds]
    letters = [side.letter for side in rounds[0].sides]
    overload = search.get("load") is None
    through = {letter: overload and _through_in_any(passes, letter) for letter in letters}
    level = LEVEL / len(_looks(search))
    for letter in letters:
        name = letter.lower()
        told = [[one[letter] for one in group] for group in passes if len(group) >= LEAST_PASSES]
        if letter != "A′":
            rates = [statistics.median(half.fps for half in group) for group in told]
            rate = statistics.median(rates) if rates else None
            yield f"rate_{name}", (rate, rate if through[letter] else None, None), rates
        if letter == FIRST:
            continue
        fed = _fed(passes, letter, level) if overload else passes
        found = _interval(fed, letter, level)
        shown = "control" if letter == "A′" else f"ratio_{name}"
        ratios = found.ratios if found is not None else ()
        ends = [overload and _through_in_any(fed, side) for side in (letter, FIRST)]
        yield shown, _printed(found, *ends), ratios
        if found is not None:  # of rates that are the load's, how far they lie apart is no draw
            draw = None if all(ends) else found.deviation
            yield f"draw_{'a' if letter == 'A′' else name}", (draw, None, None), ()
    if not overload:
        yield from _of_delays(passes, letters, level)
        yield from _of_loss(passes, letters, level)


def _of_delays(
    passes: Sequence[Sequence[Mapping[str, Half]]], letters: Sequence[str], level: float
) -> Iterator[tuple[str, Ends, Sequence[float]]]:
    """Yield figures of latency: pairs of percentiles of turns that were not disturbed."""
    if not any(half.slow_ns for group in passes for one in group for half in one.values()):
        return
    for word, (least, away) in SLOWEST.items():
        calm = [
            [
                {letter: half.slow_ns[word] for letter, half in one.items()}
                for one in group
                if all(
                    h.gone <= away and h.frames >= least and word in h.slow_ns for h in one.values()
                )
            ]
            for group in passes
        ]
        told = [group for group in calm if len(group) >= LEAST_PASSES]
        for letter in letters:
            name = letter.lower()
            if letter != "A′":
                runs = [statistics.median(one[letter] for one in group) for group in told]
                yield (
                    f"{word}_{name}",
                    (statistics.median(runs) if runs else None, None, None),
                    runs,
                )
            if letter == FIRST:
                continue
            pairs = [[math.log(one[letter] / one[FIRST]) for one in group] for group in told]
            found = _over(pairs, list(map(_middle, pairs)), level)
            shown = f"{word}_control" if letter == "A′" else f"{word}_ratio_{name}"
            yield shown, _printed(found, False, False), found.ratios if found else ()
            if found is not None:
                drawn = f"{word}_draw_{'a' if letter == 'A′' else name}"
                yield drawn, (found.deviation, None, None), ()


def _of_loss(
    passes: Sequence[Sequence[Mapping[str, Half]]], letters: Sequence[str], level: float
) -> Iterator[tuple[str, Ends, Sequence[float]]]:
    """Yield figures of loss: each round has one of all its turns together."""
    told = [group for group in passes if len(group) >= LEAST_PASSES]
    for letter in letters:
        name = letter.lower()
        by_round = [_lost([one[letter] for one in group]) for group in told]
        runs = [one for one in by_round if one is not None]
        lost = _lost([one[letter] for group in passes for one in group])
        if letter != "A′" and runs:
            yield f"lost_{name}", (lost, None, None), runs
        if letter == FIRST:
            continue
        firsts = (_lost([one[FIRST] for one in group]) for group in told)
        both = [
            math.log(_through(group, letter, own) / _through(group, FIRST, first))
            for group, own, first in zip(told, by_round, firsts, strict=True)
            if own is not None and first is not None
        ]
        found = _over([], both, level)
        shown = "delivery_control" if letter == "A′" else f"delivery_ratio_{name}"
        yield shown, _printed(found, False, False), found.ratios if found else ()


def _through(group: Sequence[Mapping[str, Half]], letter: str, lost: float) -> float:
    """Return the share that came; of nothing half a frame stands for it."""
    return max(1 - lost, 0.5 / max(1, sum(one[letter].left for one in group)))


def _lost(halves: Sequence[Half]) -> float | None:
    left, came = sum(one.left for one in halves), sum(one.came for one in halves)
    taken, refused = sum(one.taken for one in halves), sum(one.refused for one in halves)
    if left == 0:
        return 1.0 if refused else None
    of_what_was_taken = came / left
    of_what_was_due = taken / (taken + refused) if refused else 1.0
    return max(0.0, 1 - of_what_was_taken * of_what_was_due)


def _printed(found: Interval | None, through: bool, first_through: bool) -> Ends:
    """Return what may be said where a side brought all through, and may be faster."""
    if found is None or found.lower is None or (through and first_through):
        return None, None, None
    return found.ratio, 0.0 if first_through else found.lower, None if through else found.upper


def _through_in_any(passes: Sequence[Sequence[Mapping[str, Half]]], letter: str) -> bool:
    """Whether a side brought an overload through in some turns of a round."""
    counts = ((sum(one[letter].through for one in group), len(group)) for group in passes)
    return any(through > SOME * every for through, every in counts)


def _fed(
    passes: Sequence[Sequence[Mapping[str, Half]]], letter: str, level: float
) -> Sequence[Sequence[Mapping[str, Half]]]:
    """Return passes without those in which the first or another side waited for the generator.

    Of whom waited beyond chance more often, these stay. Of too few rounds that are left, none is.
    """
    every = [one for group in passes for one in group]
    alone = sum(one[letter].waited > one[FIRST].waited for one in every)
    first_alone = sum(one[letter].waited < one[FIRST].waited for one in every)
    by_chance = DEVIATIONS * math.sqrt(alone + first_alone)
    out = [letter, FIRST]
    if alone > SOME * len(every) and alone - first_alone > by_chance:
        out = [FIRST]
    if first_alone > SOME * len(every) and first_alone - alone > by_chance:
        out = [letter]
    left = [[one for one in group if not any(one[who].waited for who in out)] for group in passes]
    long_enough = [group for group in left if len(group) >= LEAST_PASSES]
    return passes if _cut(len(long_enough), level) is None else long_enough


def _interval(
    passes: Sequence[Sequence[Mapping[str, Half]]], letter: str, level: float
) -> Interval | None:
    """Return the middle over rounds, each the middle of its pairs."""
    pairs = [
        [math.log(one[letter].fps / one[FIRST].fps) for one in group]
        for group in passes
        if len(group) >= LEAST_PASSES
    ]
    return _over(pairs, list(map(_middle, pairs)), level)


def _over(
    pairs: Sequence[Sequence[float]], middles: Sequence[float], level: float
) -> Interval | None:
    """Return the middle of what rounds say."""
    if not middles:
        return None
    means = _means(middles)
    cut = _cut(len(middles), level)
    return Interval(
        math.exp(_middle(middles)),
        None if cut is None else math.exp(means[cut]),
        None if cut is None else math.exp(means[len(means) - 1 - cut]),
        _apart(middles, pairs) if len(middles) > 1 else None,
        tuple(map(math.exp, middles)),
    )


def _apart(middles: Sequence[float], pairs: Sequence[Sequence[float]]) -> float:
    """Return by how much rounds lie apart beyond what the pairs of each leave open."""
    mean = sum(middles) / len(middles)
    left = sum((one - mean) ** 2 for one in middles) / (len(middles) - 1)
    for group in pairs:
        means, cut = _means(group), _cut(len(group), LEVEL)
        if cut is not None:
            deviation = (means[len(means) - 1 - cut] - means[cut]) / (2 * DEVIATIONS)
            left -= deviation * deviation / len(pairs)
    return math.sqrt(left) if left > 0 else 0.0


def _means(values: Sequence[float]) -> list[float]:
    pairs = itertools.combinations_with_replacement(values, 2)
    return sorted(0.5 * (one + other) for one, other in pairs)


def _middle(values: Sequence[float]) -> float:
    return statistics.median(_means(values))


@cache
def _cut(count: int, level: float) -> int | None:
    """Return how many means an interval leaves out at each end, by all ways in which ranks sum."""
    if count > EXACT:
        deviation = math.sqrt(count * (count + 1) * (2 * count + 1) / 24)
        z = statistics.NormalDist().inv_cdf(1 - level / 2)
        return max(0, math.floor(count * (count + 1) / 4 - z * deviation - 0.5))
    ways: Counter[int] = Counter({0: 1})
    for rank in range(1, count + 1):
        ways = Counter({s: ways[s] + ways[s - rank] for s in range(max(ways) + rank + 1)})
    likely = itertools.accumulate(ways[total] for total in range(max(ways) + 1))
    few = [total for total, so_far in enumerate(likely) if 2 * so_far <= level * 2**count]
    return few[-1] if few else None
