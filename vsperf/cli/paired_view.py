"""How switches stand to each other that took turns, for people and as data."""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from itertools import combinations
from typing import Any

from rich.console import Console

from vsperf.cli.tables import print_table
from vsperf.output.table import NOTHING, Cell, Row, Table, columns
from vsperf.quantities.human import (
    End,
    human_change,
    human_fps,
    human_interval,
    human_ns,
    human_share,
)
from vsperf.records.files.view import CaseView, RunView
from vsperf.records.flags import Flag
from vsperf.records.run import CaseRecord
from vsperf.records.turn_guard import guard_of
from vsperf.records.turn_misses import misses_of
from vsperf.records.turn_ratios import Compared, compared, lost_share, metrics_of, values_of
from vsperf.records.turns import (
    CONTROL,
    FIRST,
    Metric,
    Named,
    Round,
    Terms,
    answering,
    carried,
)

VALUES = {
    Metric.RATE: "forwards",
    Metric.LATENCY: "median",
    Metric.P99: "p99",
    Metric.LOSS: "lost",
}
"""What the column is called that says what each side came to by itself."""
HEADINGS = ("to A", "95 %", "so it is", "draw", "one round", "rounds")
NUMBERS = (2, 3, 4, 6, 7, 8)
MEANING = (
    "to A: what it comes to beside the first switch, by turns that follow each other; 95 %: where "
    "it lies, over rounds, all looks together; draw: how far deployments lie apart, all made anew "
    "for each round; one round: to how much it alone is known, which is not in the draw"
)
FULL_RINGS = (
    "full rings: what a switch forwards is how fast it empties them, while nobody fills them; that "
    "is more than under an overload, which those with devices of the kernel were offered"
)
OF_A_LOSS = "to A of what is lost: which share of the frames came through beside the first switch"
WORDS = {
    Metric.RATE: ("slower", "faster"),
    Metric.LATENCY: ("less latency", "more latency"),
    Metric.P99: ("less latency", "more latency"),
    Metric.LOSS: ("loses more", "loses less"),
}
"""What is said of a side whose ratio lies below 1 for sure, and above it."""
NOT_BELIEVED = "not to be believed: A′ is A once more, and differs"
UNCHECKED = "not to be believed: A′ is A once more, and has no answer"


def print_compared(out: Console, run: RunView) -> None:
    """Print a table for each case in which switches took turns."""
    for case in run.cases():
        if rounds := tuple(case.rounds):
            out.print()
            out.print(f"{case.planned.label}: switches in turns", style="bold")
            terms = Terms.of(case.asked.section("search"))
            told = metrics_of(rounds, terms)
            for metric in told:
                print_table(out, compared_table(rounds, case.record, terms, metric))
                if (table := rivals_table(rounds, case.record, terms, metric)) is not None:
                    print_table(out, table)
            out.print(MEANING, style="dim")
            if Metric.LOSS in told:
                out.print(OF_A_LOSS, style="dim")
            if terms.full_rings:
                out.print(FULL_RINGS)
            if (guard := guard_of(rounds, terms)) is not None:
                out.print(guard.text)


def compared_table(
    rounds: Sequence[Round],
    record: CaseRecord | None,
    terms: Terms,
    metric: Metric = Metric.RATE,
) -> Table:
    """Return how the sides of a case stand to each other by a metric, one in a row."""
    doubted = _doubted(rounds, record, terms, metric)
    rows: list[Row] = []
    for side in rounds[0].sides:
        found = _found(rounds, side, terms, metric)
        word = _word(side, found, doubted=doubted)
        *cells, last = _cells(found, word)
        value = _value(rounds, side, terms, metric)
        rows.append((side.letter, side.name, value, *cells, Cell(last, _mark(found, word))))
    headings = ("", "switch", VALUES[metric], *HEADINGS)
    title = f"switches in turns by {metric}" if metric is not Metric.RATE else "switches in turns"
    return Table(title, columns(*headings, right=NUMBERS), tuple(rows), keys=2)


def rivals_table(
    rounds: Sequence[Round],
    record: CaseRecord | None,
    terms: Terms,
    metric: Metric = Metric.RATE,
) -> Table | None:
    """Return how rivals stand to each other, a pair in a row; None where there is one at most."""
    doubted = _doubted(rounds, record, terms, metric)
    rows: list[Row] = []
    for base, side in _pairs(rounds):
        found = compared(rounds, side.letter, base=base.letter, terms=terms, metric=metric)
        word = _word(side, found, doubted=doubted)
        change, interval, *_ = _cells(found, word)
        last = Cell(word, _mark(found, word))
        rows.append((side.letter, side.name, base.named, change, interval, last))
    if not rows:
        return None
    headings = ("", "switch", "beside", "to it", "95 %", "so it is")
    return Table("rivals in turns", columns(*headings, right=(3, 4)), tuple(rows), keys=2)


def _pairs(rounds: Sequence[Round]) -> Iterator[tuple[Named, Named]]:
    """Yield each two rivals."""
    rivals = (side for side in rounds[0].sides if side.letter not in (FIRST, CONTROL))
    return combinations(rivals, 2)


def _doubted(
    rounds: Sequence[Round], record: CaseRecord | None, terms: Terms, metric: Metric
) -> str:
    """Say why nothing is believed, if the first switch is not seen to be as itself."""
    if all(side.letter != CONTROL for side in rounds[0].sides):
        return ""
    control = compared(rounds, CONTROL, terms=terms, metric=metric)  # each has one of its own
    if control is None or not control.decided:
        return UNCHECKED
    differs = control.different
    if metric is terms.metric:
        differs = record is not None and Flag.CONTROL_DIFFERS in record.flags
    return NOT_BELIEVED if differs else ""


def _mark(found: Compared | None, word: str) -> str:
    """Say what a word means, where it is sure."""
    if found is None or not found.different or word not in WORDS[found.metric]:
        return ""
    return "worse" if found.worse else "better"


def _found(rounds: Sequence[Round], side: Named, terms: Terms, metric: Metric) -> Compared | None:
    if side.letter == FIRST:
        return None
    return compared(rounds, side.letter, terms=terms, metric=metric)


def _value(rounds: Sequence[Round], side: Named, terms: Terms, metric: Metric) -> str:
    """Write what a side came to by itself."""
    found = values_of(rounds, side.letter, metric)
    if not found:
        return NOTHING
    middle = statistics.median(found)
    if metric is Metric.LOSS:
        lost = lost_share(rounds, side.letter)
        return NOTHING if lost is None else human_share(lost)
    if metric is not Metric.RATE:
        return human_ns(middle)
    more = terms.overload and any(carried(one, side.letter) for one in answering(rounds))
    return human_interval(middle, None, human_fps) if more else human_fps(middle)


def _cells(found: Compared | None, word: str) -> tuple[str, ...]:
    if found is None:
        return (NOTHING, NOTHING, word, NOTHING, NOTHING, NOTHING)
    end = End.LOWER if found.carried else End.UPPER if found.base_carried else None
    open_end = "≥ " if found.carried else "≤ " if found.base_carried else ""
    return (
        NOTHING if found.of_the_load else f"{open_end}{human_change(found.ratio - 1, 2, end)}",
        _interval(found),
        word,
        NOTHING if found.draw is None or found.of_the_load else human_share(round(found.draw, 4)),
        NOTHING if found.one_round is None else f"± {human_share(round(found.one_round, 4))}",
        str(len(found.rounds)),
    )


def _interval(found: Compared) -> str:
    """Write where a ratio lies, as far as that is known."""
    lower, upper = found.ends
    if not found.decided or lower is None:
        return NOTHING
    low = None if found.base_carried else lower - 1
    high = None if upper is None else upper - 1
    return human_interval(low, high, lambda share, end: human_change(share, 2, end))


def _word(side: Named, found: Compared | None, *, doubted: str) -> str:
    """Say what is known of a side."""
    if side.letter == FIRST:
        return "the first"
    if found is None or not found.decided:
        return "unknown"
    if side.letter == CONTROL:
        return _word_of_control(found)
    if doubted:
        return doubted
    if found.different:
        return WORDS[found.metric][found.more]
    return "not to be told apart"


def _word_of_control(found: Compared) -> str:
    """Say whether the first came out as itself; who may be faster may be another."""
    if found.different:
        return "not the same"
    open_ended = found.carried or found.base_carried
    return "unknown" if open_ended else "the same, as it has to be"


def compared_data(case: CaseView) -> dict[str, Any]:
    """Return the same as plain data; nothing of a case without rounds."""
    if not (rounds := tuple(case.rounds)):
        return {}
    terms = Terms.of(case.asked.section("search"))
    guard = guard_of(rounds, terms)
    told = None if guard is None else {"suffices": guard.suffices, "text": guard.text}
    begins = {} if guard is None else {one.side.letter: one.slots for one in guard.begins}
    sides = [
        _as_data(rounds, side, terms)
        | {"begin": [asdict(slot) for slot in begins.get(side.letter, ())]}
        for side in rounds[0].sides
    ]
    pairs = [
        {"side": side.letter, "beside": base.letter}
        | _ratio(compared(rounds, side.letter, base.letter, terms, terms.metric), terms)
        for base, side in _pairs(rounds)
    ]
    full = {"full_rings": True} if terms.full_rings else {}
    doubted = {
        metric.value: why
        for metric in metrics_of(rounds, terms)
        if (why := _doubted(rounds, case.record, terms, metric))
    }
    return {"compared": sides, "rivals": pairs, "guard": told, "doubted": doubted, **full}


def rounds_data(case: CaseView) -> dict[str, Any]:
    """Return the rounds themselves; nothing of a case without any."""
    found = [one.model_dump(mode="json") | one.said for one in case.rounds]
    return {"all_rounds": found} if found else {}


def _as_data(rounds: Sequence[Round], side: Named, terms: Terms) -> dict[str, Any]:
    data: dict[str, Any] = {
        "side": side.letter,
        "switch": side.name,
        "rates_fps": list(values_of(rounds, side.letter)),
        "generator": asdict(misses_of(rounds, side.letter)),
    }
    return (
        data
        | _ratio(_found(rounds, side, terms, Metric.RATE), terms)
        | {
            metric.value: {
                "by_itself": list(values_of(rounds, side.letter, metric)),
                **_ratio(_found(rounds, side, terms, metric), terms),
            }
            for metric in metrics_of(rounds, terms)
            if metric is not Metric.RATE
        }
    )


def _ratio(found: Compared | None, terms: Terms) -> dict[str, Any]:
    """Return how a side stands to the first; nothing of the first, or where no round tells."""
    if found is None:
        return {}
    lower, upper = found.ends
    return {
        "ratio": None if found.of_the_load else found.ratio,
        "lower": lower,
        "upper": upper,
        "level": 1 - terms.level,
        "different": found.different,
        "brought_all": found.carried,
        "first_brought_all": found.base_carried,
        "draw": found.draw,
        "within_a_round": found.one_round,
        "by_round": [
            {
                "round": one.index,
                "ratio": one.ratio,
                "lower": one.lower,
                "upper": one.upper,
                "pairs": one.pairs,
                "left_out": one.left_out,
            }
            for one in found.rounds
        ],
    }
