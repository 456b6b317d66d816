"""A comparison in words: tables of text and the sentences below them."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from vsperf.analysis.answers import DRAWN, regime_in
from vsperf.analysis.comparison import Comparison, Row
from vsperf.analysis.difference import LEVEL, SEEN, Change, Difference, Means, Sample, least_repeats
from vsperf.output.generators_text import MEANING as OF_GENERATORS
from vsperf.output.generators_text import generators_data, generators_notes
from vsperf.output.grid import Grid, common_prefix, value_text
from vsperf.quantities.unit import Unit
from vsperf.records.result import heading
from vsperf.records.run import RunHeader

LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
MOST_SIDES = len(LETTERS)
SHOWN_CASES = 3
NO_CHANGE = "~"
UNKNOWN = "?"
MEANING = (
    "~ no change that is more than chance; ? nothing to judge by. In brackets what the change can "
    "be. ranks: Mann-Whitney over repeats, 5 %, and the middle of all pairs; scatter: "
    "intervals widened by how far repeats lie apart; intervals: bounds of the searches alone. "
    "Ranks and scatter presume that no repeat depends on another."
)


def sides_grid(found: Comparison) -> Grid:
    """Return which letter is which side."""
    rows = []
    for letter, side in zip(LETTERS, found.sides, strict=False):
        ids = [run.run for run in side.runs]
        runs = ", ".join(ids) if len(ids) <= SHOWN_CASES else f"{len(ids)} runs from {ids[0]} on"
        name = side.name if [side.name] != ids else ""
        rows.append(
            (letter, " ".join(part for part in (name, f"({runs})" if name else runs) if part))
        )
    return Grid("sides", ("", "the first is what the others are held against"), tuple(rows))


@dataclass(frozen=True, slots=True)
class Headline:
    """How a comparison came out, in a word, and by how much; its tone is good, bad or open."""

    word: str
    tone: str
    text: str


def headline(found: Comparison) -> Headline:
    """Return what came out of a comparison, with the size of the greatest change."""
    sides = range(1, len(found.sides))
    marked = [(row, n, mark_of(row, n)) for row in found.rows for n in sides]
    worst = next((one for one in marked if one[2] == "worse"), None)
    best = next((one for one in marked if one[2] == "better"), None)
    most = worst or best
    if most is None:
        judged = {one.means for row in found.rows for one in row.differences if one is not None}
        if judged <= {Means.NOTHING}:
            return Headline("CANNOT BE TOLD", "open", summary(found))
        ends = [
            end
            for row in found.rows
            for one in row.differences
            if one is not None and one.least is not None and one.most is not None
            for end in (one.least, one.most)
        ]
        most_text = ""
        if ends:
            size = percent_text(max(ends, key=abs))
            most_text = f" Where both ends are known, none changed by more than {size}."
        return Headline("NO CHANGE", "good", f"{summary(found)}{most_text}")
    row, number, _ = most
    one = row.differences[number - 1]
    prefix = common_prefix([row.label for row in found.rows])
    name = f"{row.label.removeprefix(prefix) or row.label} {heading(row.name)}"
    of = f" ({LETTERS[number]})" if len(found.sides) > 2 else ""
    which = "The worst" if worst and best else "The most"
    text = f"{which}: {name}{of} {change_text(one, row.unit)}. {summary(found)}"
    word = "WORSE AND BETTER" if worst and best else "WORSE" if worst else "BETTER"
    return Headline(word, "bad" if worst else "good", text)


def summary(found: Comparison) -> str:
    """Say in a sentence what came out of it."""
    counts = {"worse": 0, "better": 0}
    for row in found.rows:
        for mark in {mark_of(row, number) for number in range(1, len(found.sides))} - {""}:
            counts[mark] += 1
    changed = sum(row.changed for row in found.rows)
    of = f"{changed} of {len(found.rows)} numbers changed"
    told = ", ".join(f"{count} {mark}" for mark, count in counts.items() if count)
    return f"{of}: {told}." if told else f"{of}."


def environment_grid(found: Comparison) -> Grid:
    """Return what differs around the sides, what matters most first."""
    columns = ("what differs", *LETTERS[: len(found.sides)], "where")
    rows = []
    for one in found.contrasts:
        values = [one.text(number) for number in range(len(found.sides))]
        rows.append((one.name, *values, _where(one.cases)))
    return Grid("environment", columns, tuple(rows))


def change_grids(found: Comparison, *, only_changed: bool) -> Iterator[Grid]:
    """Yield what changed from the base to each other side, the greatest change first."""
    prefix = common_prefix([row.label for row in found.rows])
    for number in range(1, len(found.sides)):
        letter = LETTERS[number]
        rows, marks = [], []
        for row in found.rows:
            one = row.differences[number - 1]
            if only_changed and not (one is not None and one.significant):
                continue
            base, other = row.samples[0], row.samples[number]
            rows.append(
                (
                    row.label.removeprefix(prefix) or row.label,
                    heading(row.name),
                    value_text(base),
                    value_text(other),
                    change_text(one, row.unit),
                    _means(one),
                    f"{base.count if base else 0}:{other.count if other else 0}",
                    mark_of(row, number),
                )
            )
            marks.append(mark_of(row, number))
        columns = ("case", "number", "A", letter, f"A → {letter}", "by", "repeats", "")
        title = f"A → {letter}" + (f", cases of {prefix.rstrip('-')}" if prefix else "")
        yield Grid(title, columns, tuple(rows), frozenset((2, 3)), tuple(marks))


def change_text(one: Difference | None, unit: Unit) -> str:
    """Write a change, or that there is none, and the interval in which it lies."""
    if one is None:
        return "–"
    if one.means is Means.NOTHING:
        return UNKNOWN if one.share is None else f"{UNKNOWN} {percent_text(one.share)}"
    between = between_text(one.least, one.most)
    if not one.significant:
        return f"{NO_CHANGE} {between}".rstrip()
    if one.share is None:
        return f"{one.change.value} {between}".rstrip()
    return f"{percent_text(one.share)} {between}".rstrip()


def mark_of(row: Row, number: int) -> str:
    """Say whether the number of a side is better or worse than that of the base."""
    one = row.differences[number - 1]
    if one is None or one.change is Change.NONE:
        return ""
    return "worse" if row.worse(number) else "better"


def meanings(found: Comparison) -> tuple[str, ...]:
    """Return how the tables are to be read."""
    return (MEANING, OF_GENERATORS) if found.generators else (MEANING,)


def notes(found: Comparison) -> Iterator[str]:
    """Yield what a reader has to know to believe the tables, and where they have no number."""
    yield from reservations(found)
    for gap in found.gaps:
        yield f"{LETTERS[gap.side]} has no number for {gap.label}: {gap.why}"
    yield from generators_notes(found.generators)


def reservations(found: Comparison) -> Iterator[str]:
    """Yield with what the numbers of a comparison have to be read."""
    if found.obstacles:
        yield "not comparable, and compared anyway: " + "; ".join(found.obstacles)
    if found.asked:
        yield (
            f"loads of {_where(list(found.asked))} are named as the testcase asks for them: each "
            "generator offered as much of that as it can, so losses are those of different loads"
        )
    told = [one for row in found.rows for one in row.differences if one is not None]
    used = [one.means for one in told if one.together is not None]
    ranks = used.count(Means.RANKS)
    if ranks > 1:
        yield (
            f"of {ranks} comparisons by ranks, about {ranks * LEVEL:.1f} show a change by chance "
            "alone"
        )
    normal = sum(not one.exact for one in told)
    if normal:
        yield (
            f"of {ranks} comparisons by ranks, {normal} went by the normal distribution and not by "
            "counting, since repeats are equal and there are many"
        )
    yield from _unknown_scatter(found)
    yield from _dependent(found)
    yield from _needed(found)
    yield from _by_regime(found)
    if any(" at " in row.name and row.unit is Unit.NANOSECONDS for row in found.rows):
        yield "latency is that at shares of what each side reached, so loads may differ, too"


def _by_regime(found: Comparison) -> Iterator[str]:
    """Yield what numbers of a regime are held against, and where a side has none of it."""
    rows = [row for row in found.rows if regime_in(row.name) is not None]
    if rows:
        yield (
            "near and far are held against the same on the other side; a number without one is of "
            "all trials, wherever the machine had the CPUs of generator and switch, and is held "
            "against nothing where one of them tells"
        )
    for row in rows:
        sides = zip(LETTERS, row.samples, strict=False)
        if without := [letter for letter, sample in sides if sample is None]:
            yield (
                f"{heading(row.name)} of {row.label}: {' and '.join(without)} "
                f"{'has' if len(without) == 1 else 'have'} no answer in that regime"
            )


def _dependent(found: Comparison) -> Iterator[str]:
    """Yield which repeats depend on each other, and what was made of it."""
    for row in found.rows:
        for letter, one in zip(LETTERS[1:], row.differences, strict=False):
            if one is None or one.together == 1:
                continue
            made = (
                "nothing is concluded from them"
                if one.together is None
                else f"{one.together} of them count as one"
            )
            yield (
                f"{heading(row.name)} of {row.label}, A or {letter}: repeats next to each other "
                f"are more alike than chance makes them, so they depend on each other, and {made}"
            )


def _unknown_scatter(found: Comparison) -> Iterator[str]:
    """Yield where nobody knows how far repeats lie apart, and why."""
    rows = [
        row
        for row in found.rows
        if any(
            one and one.together is not None and one.means in (Means.INTERVALS, Means.NOTHING)
            for one in row.differences
        )
    ]
    least = least_repeats()
    tells = (
        f"`vsperf run … --repeat {least}`, or search.draws={least} of a search, on each side is "
        "the least that tells"
    )
    repeated = [row for row in rows if any(one and one.count > 1 for one in row.samples)]
    if len(repeated) < len(rows):
        restless = _restless([run.header for side in found.sides for run in side.runs])
        unknown = f"nobody knows how far runs lie apart here{restless}"
        yield (
            f"nothing was repeated, so {unknown}, and each side is one deployment, one draw: how "
            f"much of a change is the deployment's nobody can say: {tells}"
        )
    if repeated:
        names = ", ".join(dict.fromkeys(heading(row.name) for row in repeated))
        yield f"{names}: how far repeats lie apart is no share of a number that is 0: {tells}"


def _needed(found: Comparison) -> Iterator[str]:
    """Yield how many repeats would show a small change, where there are fewer."""
    for name, scatter in found.scatters.items():
        counts = [
            sample.count
            for row in found.rows
            if row.name == name and any(row.differences)
            for sample in row.samples
            if sample
        ]
        what = "deployments" if name.endswith(DRAWN) else "repeats"
        needed, least = scatter.repeats_to_see(), min(counts, default=0)
        if counts and least < needed:
            yield (
                f"{heading(name)}: {what} scatter by {scatter.share:.2%}; to see a change of "
                f"{SEEN:.0%} takes {needed} {what} on each side"
                + (", if they scatter normally" if scatter.presumes_normal else "")
                + f", and here are {least}"
            )


def _restless(headers: Sequence[RunHeader]) -> str:
    """Say why a machine is restless, if one is."""
    for header in headers:
        machine = header.environment.get("machine")
        if header.simulated or not isinstance(machine, dict):
            continue
        if machine.get("hypervisor"):
            return ", and a virtual machine is restless"
        if not machine.get("cpus_isolated"):
            return ", and this machine keeps no CPUs apart"
    return ""


def _where(cases: Sequence[str]) -> str:
    shown = ", ".join(cases[:SHOWN_CASES])
    return f"{shown} and {len(cases) - SHOWN_CASES} more" if len(cases) > SHOWN_CASES else shown


def _means(one: Difference | None) -> str:
    if one is None:
        return ""
    return one.means.value if one.p is None else f"{one.means.value}, p = {one.p:.2g}"


def percent_text(share: float) -> str:
    """Write a change as a share."""
    return f"{100 * share:+.2f} %"


def between_text(least: float | None, most: float | None) -> str:
    """Write an interval; one that is open on a side says only how far it goes on the other."""
    if least is None:
        return "" if most is None else f"[≤ {percent_text(most)}]"
    if most is None:
        return f"[≥ {percent_text(least)}]"
    return f"[{100 * least:+.2f} … {percent_text(most)}]"


# A comparison as plain data, for programs.


def comparison_data(found: Comparison, *, only_changed: bool = False) -> dict[str, Any]:
    """Return all of it; what is not known is null, and shares are of one."""
    return {
        "simulated": found.simulated,
        "sides": [
            {"name": side.name, "runs": [run.run for run in side.runs]} for side in found.sides
        ],
        "obstacles": list(found.obstacles),
        "environment": [
            {"name": one.name, "values": [list(v) for v in one.values], "cases": list(one.cases)}
            for one in found.contrasts
        ],
        "rows": [_row(row) for row in found.rows if row.changed or not only_changed],
        "gaps": [{"case": gap.label, "side": gap.side, "why": gap.why} for gap in found.gaps],
        "scatter": {
            name: {"share": one.share, "repeats_to_see_3_percent": one.repeats_to_see()}
            for name, one in found.scatters.items()
        },
        **({"generators": generators_data(found.generators)} if found.generators else {}),
        "notes": list(notes(found)),
    }


def _row(row: Row) -> dict[str, Any]:
    return {
        "case": row.label,
        "number": row.name,
        "unit": row.unit.value,
        "sides": [_sample(sample) for sample in row.samples],
        "changes": [_difference(row, place) for place in range(len(row.differences))],
    }


def _sample(sample: Sample | None) -> dict[str, Any] | None:
    if sample is None:
        return None
    low, high = sample.middle
    return {
        "repeats": sample.count,
        "median": sample.median,
        "low": low,
        "high": None if math.isinf(high) else high,
        "values": list(sample.values),
    }


def _difference(row: Row, place: int) -> dict[str, Any] | None:
    one: Difference | None = row.differences[place]
    if one is None:
        return None
    return {
        "change": one.change.value,
        "worse": row.worse(place + 1),
        "by": one.means.value,
        "share": one.share,
        "least": one.least,
        "most": one.most,
        "p": one.p,
        "p_is_exact": None if one.p is None else one.exact,
        "repeats_as_one": one.together,
    }
