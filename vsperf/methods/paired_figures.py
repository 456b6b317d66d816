"""The figures of a comparison in turns: how each switch stands to the first, and why."""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from vsperf.methods.base import spread_of
from vsperf.quantities.human import End, human_change, human_fps, human_share, human_span
from vsperf.quantities.unit import Unit
from vsperf.records.flags import Flag
from vsperf.records.result import Figure, Limit
from vsperf.records.turn_guard import guard_of
from vsperf.records.turn_misses import flags_of, misses_of, words_of
from vsperf.records.turn_ratios import (
    LEAST_LATENCIES,
    Compared,
    compared,
    dropped_much,
    lost_share,
    metrics_of,
    usable_passes,
    values_of,
)
from vsperf.records.turns import (
    CONTROL,
    FIRST,
    Metric,
    Named,
    Round,
    Terms,
    carried,
    letters_of,
    was_away,
)

NOBODY_KNOWS = (
    "both brought all of the load through, so they show the load and not themselves: the generator "
    "could not offer more"
)
FASTER_THAN_RECEIVED = (
    "both emptied rings faster than the generator could receive, so they show it and not themselves"
)


def stand(
    rounds: Sequence[Round], terms: Terms, metric: Metric = Metric.RATE
) -> dict[str, Compared | None]:
    """Return how each side stands to the first."""
    letters = (letter for letter in letters_of(rounds) if letter != FIRST)
    return {letter: compared(rounds, letter, terms=terms, metric=metric) for letter in letters}


def figures_of(rounds: Sequence[Round], terms: Terms) -> tuple[Figure, ...]:
    """Return all figures of the rounds that an answer is made of, ratios before all others.

    What was asked for comes first, and it alone decides whether there is an answer.
    """
    sides = rounds[0].sides
    others = sorted(sides[1:], key=lambda side: side.letter == CONTROL)
    doubts = _doubts_of(rounds, terms)
    ratios: list[Figure] = []
    draws: list[Figure] = []
    told = metrics_of(rounds, terms)
    for metric in told:
        found = stand(rounds, terms, metric)
        made = [_ratio(rounds, side, found, terms, doubts, metric) for side in others]
        ratios += made if metric is terms.metric else map(_beside, made)
        if metric is not Metric.LOSS:
            draws += (_draw(side, one) for side in sides if (one := found.get(side.letter)))
    values = [
        figure
        for side in sides
        if side.letter != CONTROL
        for metric in told
        for figure in _of_side(rounds, side, terms, doubts, metric)
    ]
    return (*ratios, *values, *draws)


def _beside(figure: Figure) -> Figure:
    """Return a ratio that was not asked for: without one, a case has its answer all the same."""
    if Flag.CONTROL_DIFFERS not in figure.flags:
        return figure.model_copy(update={"limit": None})
    flags = tuple(flag for flag in figure.flags if flag is not Flag.CONTROL_DIFFERS)
    none = dict.fromkeys(("value", "lower", "upper", "spread", "limit"))
    return figure.model_copy(update={**none, "flags": flags})


def _load(rounds: Sequence[Round], terms: Terms, *letters: str) -> str:
    """Say what these sides were offered; full rings are no overload of who is not held."""
    told = dict.fromkeys(_offered(rounds, terms, filled=_filled(rounds, one)) for one in letters)
    return " and ".join(told)


def _filled(rounds: Sequence[Round], letter: str) -> bool:
    """Whether the rings of a side were filled while it stood."""
    place = rounds[-1].place_of(letter)
    return any(turn.fillings for turn in rounds[-1].turns.rows() if turn.side == place)


def _offered(rounds: Sequence[Round], terms: Terms, *, filled: bool) -> str:
    if filled:
        return "rings that were full"
    load = human_span((one.load_fps for one in rounds), human_fps)
    if terms.derived:
        return f"{load}, {terms.derived}"
    return f"an overload of {load}" if terms.overload else load


def _ratio(
    rounds: Sequence[Round],
    side: Named,
    found: Mapping[str, Compared | None],
    terms: Terms,
    doubts: _Doubts,
    metric: Metric,
) -> Figure:
    """Return how a side stands to the first."""
    first, one = rounds[0].sides[0], found[side.letter]
    against = doubts.of(side.letter, first.letter)
    figure = Figure(
        name=metric.ratio_name(side.letter),
        unit=Unit.FACTOR,
        value=None,
        at=f"{side.name} to {first.name}, {_load(rounds, terms, side.letter, first.letter)}",
        limit=Limit.UNKNOWN,
        reason=FASTER_THAN_RECEIVED if _filled(rounds, side.letter) else NOBODY_KNOWS,
    )
    if one is None or not one.bounded:
        needed = f"{terms.least} are needed to know how sure it is{_left_out(rounds, metric)}"
        why = f"{0 if one is None else len(one.rounds)} rounds say something, and {needed}"
        return figure.model_copy(update={"reason": why})
    weak = (Flag.NOT_OVERLOADED,) if one.carried or one.base_carried else ()
    if not one.decided:
        return figure.model_copy(update={"flags": (*weak, *against)})
    told = f"{side.name} {_words(one, first.name)}, as far as {len(one.rounds)} rounds tell"
    filled = _filled(rounds, side.letter)
    waited = _waited(one, side.name, first.name, filled=filled)
    if filled is not _filled(rounds, first.letter):
        waited += "; rings were filled for one of them only, which may make it look faster"
    if not one.different and not weak:
        assert one.lower is not None  # it is bounded
        assert one.upper is not None
        most = human_share(max(1 - one.lower, one.upper - 1), End.UPPER)
        told += f": {most} at most lie between them"
    if terms.overload and side.letter != CONTROL:
        waited += _dropped(rounds, side, first)
    doubt = _doubt(rounds[0].sides, found.get(CONTROL))
    lower, upper = one.ends
    told_of_it = {
        "value": one.ratio,
        "lower": lower,
        "upper": upper,
        "spread": spread_of([each.ratio for each in one.rounds]),
        "limit": None,
        "flags": (*weak, *against, *((Flag.CONTROL_DIFFERS,) if doubt else ())),
        "reason": doubts.told((doubt or told) + waited, side.letter, first.letter),
    }
    return figure.model_copy(update=told_of_it)


def _dropped(rounds: Sequence[Round], *sides: Named) -> str:
    """Say which sides lost much of what they had worked on: then these rates are no throughputs."""
    told = [
        f"{one.name} dropped {human_share(share)} of what it took"
        for one in sides
        if (share := dropped_much(rounds, one.letter)) is not None
    ]
    return f"; {', '.join(told)}, so throughputs may stand otherwise" if told else ""


def _waited(one: Compared, name: str, first: str, *, filled: bool) -> str:
    """Say what is left out as the generator did not offer an overload, or who may be faster."""
    waiting = one.waiting
    if waiting is None or not waiting.own + waiting.base + waiting.both:
        return ""
    who = f"{name} alone in {waiting.own}, {first} alone in {waiting.base}, both in {waiting.both}"
    told = f"of {waiting.passes} passes they waited for the generator: {who}"
    if filled:
        told = f"of {waiting.passes} passes the generator could not receive as fast: {who}"
    if waiting.own_more or waiting.base_more:
        more = name if waiting.own_more else first
        return f"; {told}, so {more} may be faster"
    return f"; {told}, which are left out"


WHY = {
    Metric.RATE: "the middle of its turns, over all rounds",
    Metric.LATENCY: "the median of each turn, in the middle of its turns, over all rounds",
    Metric.P99: "what 99 of 100 frames of a turn do not exceed, in the middle of its turns, over "
    "all rounds",
    Metric.LOSS: "of all that was due in its turns, what was refused included",
}


def _of_side(
    rounds: Sequence[Round], side: Named, terms: Terms, doubts: _Doubts, metric: Metric
) -> Iterator[Figure]:
    """Yield what a side came to by itself."""
    found = values_of(rounds, side.letter, metric)
    if not found:
        return
    value: float | None = statistics.median(found)
    if metric is Metric.LOSS:  # of rounds that lose little, the middle one may have lost nothing
        value = lost_share(rounds, side.letter)
    weak = terms.overload and any(carried(one, side.letter) for one in rounds)
    why = WHY[metric]
    if weak and _filled(rounds, side.letter):
        why = "the generator could not receive as fast, so it may do more"
    elif weak:
        why = "it forwarded all that was offered, so it may do more"
    if terms.overload and (share := dropped_much(rounds, side.letter)) is not None:
        why += (
            f"; {human_share(share)} of what it took never came, so its throughput may be another"
        )
    yield Figure(
        name=metric.own_name(side.letter),
        unit=metric.unit,
        value=value,
        lower=value if weak else None,
        spread=spread_of(found),
        at=f"{side.name}, {_load(rounds, terms, side.letter)}",
        limit=Limit.GENERATOR if weak else None,
        flags=(*((Flag.NOT_OVERLOADED,) if weak else ()), *doubts.of(side.letter)),
        reason=doubts.told(why, side.letter),
    )


@dataclass(frozen=True, slots=True)
class _Doubts:
    """What is to be said against the turns of each side."""

    flags: Mapping[str, tuple[Flag, ...]]
    words: Mapping[str, tuple[str, ...]]

    def of(self, *letters: str) -> tuple[Flag, ...]:
        """Return the flags of a number that these sides make."""
        return tuple(dict.fromkeys(flag for letter in letters for flag in self.flags[letter]))

    def told(self, reason: str, *letters: str) -> str:
        """Return a reason with what is said against the turns behind it."""
        return "; ".join((reason, *(text for letter in letters for text in self.words[letter])))


def _doubts_of(rounds: Sequence[Round], terms: Terms) -> _Doubts:
    """Return what the generator missed itself, and who was still cold behind the guard."""
    flags: dict[str, tuple[Flag, ...]] = {}
    words: dict[str, tuple[str, ...]] = {}
    guard = guard_of(rounds, terms)
    cold = {one.side.letter: one.text for one in guard.begins if one.slow} if guard else {}
    for letter in letters_of(rounds):
        missed, is_cold = misses_of(rounds, letter), letter in cold
        told = flags_of(missed, overload=terms.overload)
        flags[letter] = (*told, *((Flag.COLD_TURNS,) if is_cold else ()))
        texts = (words_of(missed, letter, overload=terms.overload), cold.get(letter, ""))
        words[letter] = tuple(filter(None, texts))
    return _Doubts(flags, words)


def _doubt(sides: Sequence[Named], control: Compared | None) -> str:
    """Say why nothing is believed, if the first side differs from itself."""
    if control is None or not control.different:
        return ""
    return (
        f"{sides[0].name} held against itself came out as {interval_text(control)}, so what is "
        "found of others may be no more than that; more rounds tell"
    )


def interval_text(one: Compared) -> str:
    """Write a comparison for people, as a change: −7.5% [−9.5, −6.5], or as far as it is known."""
    if one.lower is None or one.upper is None:
        return f"{one.ratio - 1:+.1%}"
    low = human_change(one.lower - 1, 1, End.LOWER)
    high = human_change(one.upper - 1, 1, End.UPPER)
    if one.carried or one.base_carried:
        return f"≥ {low}" if one.carried else f"≤ {high}"
    return f"{one.ratio - 1:+.1%} [{low}, {high}]"


def _words(one: Compared, first: str) -> str:
    """Say how a side stands to the first, in words that are those of the metric."""
    open_ended = one.carried or one.base_carried
    more, end = (" or more", End.LOWER) if open_ended else ("", None)
    by = human_share(abs(one.ratio - 1), end)
    if not one.different:
        of_it = "" if one.metric is Metric.RATE else f" by its {one.metric}"
        return f"is not to be told from {first}{of_it}"
    word = "less" if one.less else "more"
    match one.metric:
        case Metric.RATE:
            return f"is {by}{more} {'slower' if one.less else 'faster'} than {first}"
        case Metric.LATENCY:
            return f"has {by} {word} latency than {first}, by the median"
        case Metric.P99:
            return f"has {by} {word} latency than {first}, by the 99th percentile"
        case Metric.LOSS:
            return f"brings {by} {word} of the frames through than {first}"


def _left_out(rounds: Sequence[Round], metric: Metric) -> str:
    """Say why rounds say nothing, if passes were left out."""
    passes = [group for one in rounds for group in one.passes]
    if metric.percent is not None:
        used = sum(len(usable_passes(one, metric)) for one in rounds)
        return (
            f"; of {len(passes)} passes {used} have {LEAST_LATENCIES[metric.percent]} frames or "
            "more in each turn without a gap of the generator that its slowest frames would show"
        )
    away = sum(any(was_away(one, turn) for turn in group) for one in rounds for group in one.passes)
    stray = sum(any(turn.elsewhere_frames for turn in group) for group in passes)
    short = sum(any(turn.was_short for turn in group) for group in passes)
    if not away and not stray and not short:
        return ""
    less = f", and in {short} less than a quarter of what rings held came back" if short else ""
    return (
        f"; of {len(passes)} passes the generator was away in {away}, and in {stray} frames came "
        f"in on ports of a switch that stood{less}"
    )


def _draw(side: Named, one: Compared) -> Figure:
    """Return how far deployments lie apart; of rates that are the load's nobody knows."""
    within = (
        ""
        if one.one_round is None
        else f"; one round alone is known to {human_share(one.one_round)}, and that is not in it"
    )
    why = f"standard deviation between deployments{within}"
    if one.draw is None:
        why = "a single round says nothing of others"
    return Figure(
        name=one.metric.draw_name(side.letter),
        unit=Unit.RATIO,
        value=None if one.of_the_load else one.draw,
        at=side.name,
        reason=NOBODY_KNOWS if one.of_the_load else why,
    )
