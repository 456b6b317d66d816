"""How switches stand to each other that took turns, for people and as data."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from rich.console import Console

from vsperf.cli.tables import print_table
from vsperf.output.table import NOTHING, Cell, Row, Table, columns
from vsperf.quantities.human import human_fps, human_share
from vsperf.records.files.view import CaseView, RunView
from vsperf.records.flags import Flag
from vsperf.records.run import CaseRecord
from vsperf.records.turn_guard import guard_of
from vsperf.records.turn_misses import misses_of
from vsperf.records.turns import (
    CONTROL,
    FIRST,
    Compared,
    Named,
    Round,
    Terms,
    answering,
    carried,
    compared,
    rates_of,
)

HEADINGS = ("", "switch", "forwards", "to A", "95 %", "so it is", "draw", "one round", "rounds")
NUMBERS = (2, 3, 4, 6, 7, 8)
MEANING = (
    "to A: the rate beside that of the first switch, by turns that follow each other; 95 %: where "
    "it lies, over rounds, all looks together; draw: how far deployments lie apart, all made anew "
    "for each round; one round: to how much it alone is known, which is not in the draw"
)
NOT_BELIEVED = "not to be believed: A′ is A once more, and differs"


def print_compared(out: Console, run: RunView) -> None:
    """Print a table for each case in which switches took turns."""
    for case in run.cases():
        if rounds := tuple(case.rounds):
            out.print()
            out.print(f"{case.planned.label}: switches in turns", style="bold")
            terms = Terms.of(case.asked.section("search"))
            print_table(out, compared_table(rounds, case.record, terms))
            out.print(MEANING, style="dim")
            if (guard := guard_of(rounds, terms)) is not None:
                out.print(guard.text)


def compared_table(rounds: Sequence[Round], record: CaseRecord | None, terms: Terms) -> Table:
    """Return how the sides of a case stand to each other, one in a row."""
    doubted = record is not None and Flag.CONTROL_DIFFERS in record.flags
    rows: list[Row] = []
    for side in rounds[0].sides:
        found = None if side.letter == FIRST else compared(rounds, side.letter, terms=terms)
        word = _word(side, found, doubted=doubted)
        *cells, last = _cells(found, word)
        mark = {"slower": "worse", "faster": "better"}.get(word, "")
        rows.append((side.letter, side.name, _rate(rounds, side, terms), *cells, Cell(last, mark)))
    return Table("switches in turns", columns(*HEADINGS, right=NUMBERS), tuple(rows), keys=2)


def _rate(rounds: Sequence[Round], side: Named, terms: Terms) -> str:
    rates = rates_of(rounds, side.letter)
    if not rates:
        return NOTHING
    more = terms.overload and any(carried(one, side.letter) for one in answering(rounds))
    return f"{'≥ ' if more else ''}{human_fps(statistics.median(rates))}"


def _cells(found: Compared | None, word: str) -> tuple[str, ...]:
    if found is None:
        return (NOTHING, NOTHING, word, NOTHING, NOTHING, NOTHING)
    open_end = "≥ " if found.carried else "≤ " if found.base_carried else ""
    return (
        NOTHING if found.of_the_load else f"{open_end}{found.ratio - 1:+.2%}",
        _interval(found),
        word,
        NOTHING if found.draw is None else human_share(round(found.draw, 4)),
        NOTHING if found.one_round is None else f"± {human_share(round(found.one_round, 4))}",
        str(len(found.rounds)),
    )


def _interval(found: Compared) -> str:
    """Write where a ratio lies, as far as that is known."""
    lower, upper = found.ends
    if not found.decided or lower is None:
        return NOTHING
    if upper is None:
        return f"≥ {lower - 1:+.2%}"
    return f"{'≤' if found.base_carried else f'{lower - 1:+.2%} …'} {upper - 1:+.2%}"


def _word(side: Named, found: Compared | None, *, doubted: bool) -> str:
    """Say what is known of a side."""
    if side.letter == FIRST:
        return "the first"
    if found is None or not found.decided:
        return "unknown"
    if side.letter == CONTROL:
        return "not the same" if found.different else "the same, as it has to be"
    if doubted:
        return NOT_BELIEVED
    if found.slower or found.faster:
        return "slower" if found.slower else "faster"
    return "not to be told apart"


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
    return {"compared": sides, "guard": told}


def rounds_data(case: CaseView) -> dict[str, Any]:
    """Return the rounds themselves; nothing of a case without any."""
    found = [one.model_dump(mode="json") | one.said for one in case.rounds]
    return {"all_rounds": found} if found else {}


def _as_data(rounds: Sequence[Round], side: Named, terms: Terms) -> dict[str, Any]:
    found = None if side.letter == FIRST else compared(rounds, side.letter, terms=terms)
    data: dict[str, Any] = {
        "side": side.letter,
        "switch": side.name,
        "rates_fps": list(rates_of(rounds, side.letter)),
        "generator": asdict(misses_of(rounds, side.letter)),
    }
    if found is None:
        return data
    lower, upper = found.ends
    return data | {
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
