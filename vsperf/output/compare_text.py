"""A comparison in words: tables of text and the sentences below them."""

from __future__ import annotations

import math
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from vsperf.analysis.answers import DRAWN, regime_in
from vsperf.analysis.comparison import Comparison, Row
from vsperf.analysis.difference import LEVEL, SEEN, Change, Difference, Means, Sample, least_repeats
from vsperf.analysis.generators import JUDGED_BY, GeneratorRow
from vsperf.analysis.generators import Column as Heading
from vsperf.analysis.summary import too_busy
from vsperf.output.figures.published import ratio_notes
from vsperf.output.table import NOTHING, Cell, Column, Table, columns
from vsperf.quantities.human import End, human_change, human_fps, human_interval, human_ns
from vsperf.quantities.unit import Unit
from vsperf.records.result import amount, heading
from vsperf.records.run import RunHeader

LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
MOST_SIDES = len(LETTERS)
SHOWN_CASES = 3
RANKS = {"by": 2, "repeats": 1}
"""Columns of changes that are left out where there is little room, the highest first."""
NO_CHANGE = "~"
UNTOLD = "CANNOT BE TOLD"
UNKNOWN = "?"
MEANING = (
    "~ no change that is more than chance; ? nothing to judge by. In brackets what the change can "
    "be."
)
UNCOMPARED = (
    "– no number on one side, or compared by regime or deployment instead, or near on one side and "
    "far, or both, on the other."
)
JUDGED = {
    Means.RANKS: "Mann-Whitney over repeats, 5 %, and the middle of all pairs",
    Means.SCATTER: "intervals widened by how far repeats lie apart",
    Means.INTERVALS: "bounds of the searches alone",
}
"""By what a change is told from chance, in the words of the column `by`."""
REPEATED = {Means.RANKS, Means.SCATTER}
"""What goes by how far repeats lie apart."""


def sides_table(found: Comparison) -> Table:
    """Return which letter is which side."""
    rows = []
    for letter, side in zip(LETTERS, found.sides, strict=False):
        ids = [run.run for run in side.runs]
        runs = ", ".join(ids) if len(ids) <= SHOWN_CASES else f"{len(ids)} runs from {ids[0]} on"
        name = side.name if [side.name] != ids else ""
        rows.append(
            (letter, " ".join(part for part in (name, f"({runs})" if name else runs) if part))
        )
    return Table(
        "sides", _columns("", "the first is what the others are held against"), tuple(rows)
    )


@dataclass(frozen=True, slots=True)
class Headline:
    """How a comparison came out, in a word, and by how much; its tone is good, bad or open."""

    word: str
    tone: str
    text: str


def headline(found: Comparison, asked: float | None = None) -> Headline:
    """Return what came out of a comparison, with the size of the greatest change.

    That there is none is only said where no change of the share that is asked for is left open.
    """
    sides = range(1, len(found.sides))
    marked = [(row, n, mark) for row in found.rows for n in sides if (mark := mark_of(row, n))]
    sure = [(row, n, mark) for row, n, mark in marked if row.surely(n)]
    worst = next((one for one in sure or marked if one[2] == "worse"), None)
    best = next((one for one in sure or marked if one[2] == "better"), None)
    most = worst or best
    if most is None:
        none_judged = not any(_judged(one) for row in found.rows for one in row.differences)
        if none_judged or any(row.untold(n, asked) for row in found.rows for n in sides):
            return Headline(UNTOLD, "open", _untold(found, asked))
        ends = [
            abs(end)
            for row in found.rows
            for one in row.differences
            if one is not None and one.least is not None and one.most is not None
            for end in (one.least, one.most)
        ]
        most_text = ""
        if ends:
            size = percent_text(max(ends), End.UPPER).removeprefix("+")
            most_text = f" Where both ends are known, none changed by more than {size} either way."
        return Headline("NO CHANGE", "good", f"{summary(found)}{most_text}{_unjudged(found)}")
    row, number, _ = most
    one = row.differences[number - 1]
    prefix = common_prefix([row.label for row in found.rows])
    name = f"{row.label.removeprefix(prefix) or row.label} {heading(row.name)}"
    of = f" ({LETTERS[number]})" if len(found.sides) > 2 else ""
    which = "The worst" if worst and best else "The most"
    text = f"{which}: {name}{of} {change_text(one)}. {summary(found)}"
    word = "WORSE AND BETTER" if worst and best else "WORSE" if worst else "BETTER"
    if not sure:
        text += " Of one deployment on a side, one draw: the change may be no more than these drew."
        return Headline(f"PERHAPS {word}", "open", text)
    if len(sure) < len(marked):
        text += f" {len(marked) - len(sure)} more may be no more than what single deployments drew."
    return Headline(word, "bad" if worst else "good", text)


def _untold(found: Comparison, asked: float | None) -> str:
    """Say of how many numbers nobody can tell whether they changed, and how many did not for sure.

    Where bounds are known, it is said of what size a change is that they leave open.
    """
    count, sides = len(found.rows), range(1, len(found.sides))
    open_rows = [row for row in found.rows if any(row.untold(n, asked) for n in sides)]
    alike = sum(row not in open_rows and all(map(_judged, row.differences)) for row in found.rows)
    if alike:
        said = f"{alike} of {count} numbers did not change, of the others it cannot be said"
    elif count == 1:
        said = "Of the one number it cannot be said whether it changed"
    else:
        said = f"Of none of {count} numbers can it be said whether it changed"
    bounded = sum(any(map(_bounded, row.differences)) for row in open_rows)
    if not bounded:
        return f"{said}." if count else "There is no number to compare."
    of = f" of {bounded} of them" if bounded < count - alike else ""
    size = percent_text(SEEN if asked is None else asked).removeprefix("+")
    return f"{said}: a change{of} by {size} or more can be neither seen nor ruled out."


def _bounded(one: Difference | None) -> bool:
    """Whether it is known how far a change goes one way at least."""
    return one is not None and (one.least, one.most) != (None, None)


def _judged(one: Difference | None) -> bool:
    return one is not None and one.means is not Means.NOTHING


def _unjudged(found: Comparison) -> str:
    """Say how many numbers may have changed, as nothing tells; nothing where all were judged."""
    count = sum(not any(map(_judged, row.differences)) for row in found.rows)
    if not count:
        return ""
    return f" Of {count} of them nobody can tell: there is nothing to judge by."


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


def environment_table(found: Comparison) -> Table:
    """Return what differs around the sides, what matters most first."""
    rows = []
    for one in found.contrasts:
        values = [one.text(number) for number in range(len(found.sides))]
        rows.append((one.name, *values, first_of(one.cases)))
    head = ("what differs", *LETTERS[: len(found.sides)], "where")
    return Table("environment", _columns(*head), tuple(rows), "differs")


def change_tables(found: Comparison, *, only_changed: bool) -> Iterator[Table]:
    """Yield what changed from the base to each other side, the greatest change first."""
    prefix = common_prefix([row.label for row in found.rows])
    for number in range(1, len(found.sides)):
        letter = LETTERS[number]
        rows = []
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
                    Cell(change_text(one, mark := mark_of(row, number)), mark),
                    _means(one),
                    f"{base.count if base else 0}:{other.count if other else 0}",
                )
            )
        head = ("case", "number", "A", letter, f"A → {letter}", "by", "repeats")
        named = _columns(*head, right=(2, 3))
        heads = tuple(replace(one, rank=RANKS.get(one.name, 0)) for one in named)
        title = f"A → {letter}" + (f", cases of {prefix.rstrip('-')}" if prefix else "")
        yield Table(title, heads, tuple(rows), "changes", keys=2)


def change_text(one: Difference | None, mark: str = "") -> str:
    """Write a change, or that there is none, and the interval in which it lies.

    The mark, `worse` or `better`, goes before the interval: where a line is short, it breaks there.
    """
    if one is None:
        return "–"
    between = between_text(one.least, one.most)
    if one.means is Means.NOTHING:
        told = percent_text(one.share) if one.share is not None else between
        return f"{UNKNOWN} {told}".rstrip()
    if not one.significant:
        return f"{NO_CHANGE} {between}".rstrip()
    size = one.change.value if one.share is None else percent_text(one.share)
    return " ".join(part for part in (size, mark, between) if part)


def mark_of(row: Row, number: int) -> str:
    """Say whether the number of a side is better or worse than that of the base."""
    one = row.differences[number - 1]
    if one is None or one.change is Change.NONE:
        return ""
    return "worse" if row.worse(number) else "better"


def meanings(found: Comparison) -> tuple[str, ...]:
    """Return how the tables are to be read."""
    every = [one for row in found.rows for one in row.differences]
    meaning = meaning_of(one for one in every if one is not None)
    uncompared = (UNCOMPARED,) if None in every else ()
    return (meaning, *uncompared, *((OF_GENERATORS,) if found.generators else ()))


def meaning_of(judged: Iterable[Difference]) -> str:
    """Say how changes are written, and by what they were judged: a terminal may not show that."""
    used = {one.means for one in judged}
    by = [f"{means.value}: {text}" for means, text in JUDGED.items() if means in used]
    told = [f"By {'; '.join(by)}."] if by else []
    told += ["No repeat is taken to depend on another."] if used & REPEATED else []
    return " ".join((MEANING, *told))


def notes(found: Comparison) -> Iterator[str]:
    """Yield what a reader has to know to believe the tables, and where they have no number."""
    yield from reservations(found)
    if {side.by for side in found.sides} == {"vswitch"}:
        testcases = dict.fromkeys(case.testcase for side in found.sides for case in side.cases)
        yield from ratio_notes(tuple(testcases))
    yield from _gaps(found)
    yield from generators_notes(found.generators)


def _gaps(found: Comparison) -> Iterator[str]:
    """Yield where a side has no number, once for each reason: there may be hundreds of cases."""
    alike: dict[tuple[int, str], list[str]] = {}
    for gap in found.gaps:
        of = f"{heading(gap.name)} of " if gap.name else ""
        alike.setdefault((gap.side, gap.why), []).append(of + gap.label)
    for (side, why), labels in alike.items():
        count = f"{len(labels)} cases: " if len(labels) > 1 else ""
        yield f"{LETTERS[side]} has no number for {count}{first_of(labels)}: {why}"


def reservations(found: Comparison) -> Iterator[str]:
    """Yield with what the numbers of a comparison have to be read."""
    for letter, side in zip(LETTERS, found.sides, strict=False):
        busy = too_busy(case.record for case in side.cases if case.record is not None)
        if busy is not None:
            yield f"{letter}: {busy}"
    yield from _left_out(found)
    if found.obstacles:
        yield "not comparable, and compared anyway: " + "; ".join(found.obstacles)
    if found.asked:
        yield (
            f"loads of {first_of(list(found.asked))} are named as the testcase asks for them: each "
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


def _left_out(found: Comparison) -> Iterator[str]:
    """Yield which runs of a side are no repeats of its answer, and why."""
    for number, letter in enumerate(LETTERS[: len(found.sides)]):
        names: dict[tuple[str, str], dict[str, None]] = {}
        for row in found.rows:
            sample = row.samples[number]
            for one in () if sample is None else sample.left_out:
                told = names.setdefault((one.run.rpartition("-")[2], one.no_answer), {})
                told[heading(row.name)] = None
        texts = [f"{run} ({', '.join(of)}: {why})" for (run, why), of in names.items()]
        if texts:
            yield f"{letter}: left out, as no repeat of an answer: {'; '.join(texts)}"


def _by_regime(found: Comparison) -> Iterator[str]:
    """Yield what numbers of a regime are held against, and where a side has none of it."""
    rows = [row for row in found.rows if regime_in(row.name) is not None]
    if rows:
        yield (
            "near and far are held against the same on the other side; a number without one is of "
            "all trials, wherever the machine had the CPUs of generator and switch, and is held "
            "against nothing where one of them tells"
        )
    missing: dict[tuple[str, str], list[str]] = {}
    for row in rows:
        sides = zip(LETTERS, row.samples, strict=False)
        if without := " and ".join(letter for letter, sample in sides if sample is None):
            missing.setdefault((row.label, without), []).append(heading(row.name))
    for (label, without), names in missing.items():
        yield (
            f"{first_of(names)} of {label}: {without} {'have' if ' ' in without else 'has'} no "
            "answer in that regime"
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
        if not row.over_rounds
        and any(
            one and one.together is not None and one.means in (Means.INTERVALS, Means.NOTHING)
            for one in row.differences
        )
    ]
    least = least_repeats()
    tells = (
        f"`vsperf run … --repeat {least}`, or search.draws={least} of a search, on each side "
        "tells by ranks"
    )
    repeated = [row for row in rows if any(one and one.count > 1 for one in row.samples)]
    zeros = [row for row in repeated if any(one and min(one.values) <= 0 for one in row.samples)]
    if len(repeated) < len(rows):
        several = any(
            one and (one.count > 1 or one.left_out) for row in found.rows for one in row.samples
        )
        bare = dict.fromkeys(heading(row.name) for row in rows if row not in repeated)
        what = f"{', '.join(bare)}: no answer" if several else "nothing"
        restless = _restless([run.header for side in found.sides for run in side.runs])
        unknown = f"nobody knows how far runs lie apart here{restless}"
        yield (
            f"{what} was repeated, so {unknown}, and each side is one deployment, one draw: how "
            f"much of a change is the deployment's nobody can say: {tells}"
        )
    if zeros:
        names = ", ".join(dict.fromkeys(heading(row.name) for row in zeros))
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
        host = header.environment.get("host")
        if header.simulated or not isinstance(host, dict):
            continue
        if host.get("hypervisor"):
            return ", and a virtual machine is restless"
        if not host.get("cpus_isolated"):
            return ", and this machine keeps no CPUs apart"
    return ""


def first_of(cases: Sequence[str]) -> str:
    """Name the first cases, and say how many more there are."""
    shown = ", ".join(cases[:SHOWN_CASES])
    return f"{shown} and {len(cases) - SHOWN_CASES} more" if len(cases) > SHOWN_CASES else shown


def _means(one: Difference | None) -> str:
    if one is None:
        return ""
    return one.means.value if one.p is None else f"{one.means.value}, p = {one.p:.2g}"


def percent_text(share: float, end: End | None = None) -> str:
    """Write a change as a share."""
    return f"{human_change(share, 2, end).removesuffix('%')} %"


def between_text(least: float | None, most: float | None) -> str:
    """Write an interval; one that is open on a side says only how far it goes on the other."""
    if least is None:
        return "" if most is None else f"[≤ {percent_text(most, End.UPPER)}]"
    if most is None:
        return f"[≥ {percent_text(least, End.LOWER)}]"
    first = percent_text(least, End.LOWER).removesuffix(" %")
    return f"[{first} … {percent_text(most, End.UPPER)}]"


# What cells of several tables have in common.


def _columns(*names: str, right: Container[int] = ()) -> tuple[Column[Any], ...]:
    return columns(*names, right=right, others="left")


def value_text(sample: Sample | None) -> str:
    """Write what the repeats of one side found: the interval in the middle."""
    if sample is None:
        return NOTHING
    low, high = sample.resolved
    if low == high:
        return amount(low, sample.unit)
    nothing = sample.unit is Unit.FACTOR and not low
    return human_interval(
        None if nothing else low,
        None if math.isinf(high) else high,
        lambda value, end: amount(value, sample.unit, end),
    )


def common_prefix(labels: Sequence[str]) -> str:
    """Return the name of the testcase that all labels begin with, with its dash; else nothing."""
    names = {label.partition("-")[0] for label in labels}
    return f"{names.pop()}-" if len(names) == 1 else ""


# Generators side by side, and what is to be said of the cells.

HEADINGS: dict[Heading, str] = {
    "checked": "checked",
    "loss_free": "loss-free",
    "scatter": "scatter",
    "floor": "floor",
    "pacing": "pacing",
    "beside": "beside",
    "per_cpu": "per CPU",
}
OF_GENERATORS = (
    "checked: the most that came through any trial, each frame looked at; loss-free: bounds of the "
    "search; scatter: how far repeats lie apart; floor: median latency at the lightest load; "
    "pacing: by how much the mean rate was off, and half of the gaps … all but 1 % of them, as a "
    "pacing monitor saw it; "
    "beside: what a trial takes beside its traffic; per CPU: the cap without a switch by the "
    "generator's CPUs. Rates are per direction."
)


def generators_table(rows: Sequence[GeneratorRow]) -> Table:
    """Return a row for each case and generator; what is not known is told below the table."""
    prefix = common_prefix([row.label for row in rows])
    head = ("case", "generator", "repeats", "limit", *HEADINGS.values())
    return Table(
        "generators side by side" + (f", cases of {prefix.rstrip('-')}" if prefix else ""),
        _columns(*head, right=(2, *range(4, len(head)))),
        tuple(
            (
                row.label.removeprefix(prefix) or row.label,
                row.generator,
                str(row.repeats),
                ", ".join(row.limits) or NOTHING,
                _known(row.checked_fps, human_fps),
                NOTHING if row.loss_free is None else value_text(row.loss_free),
                _known(row.scatter, "{:.2%}".format),
                _known(row.floor_ns, human_ns),
                NOTHING if row.pace is None else _pace_text(row.pace),
                _known(row.beside_ns, human_ns),
                _known(row.per_cpu_fps, human_fps),
            )
            for row in rows
        ),
        keys=2,
    )


def generators_notes(rows: Sequence[GeneratorRow]) -> Iterator[str]:
    """Yield why cells are empty, and with which reservation a generator's numbers stand."""
    why: dict[tuple[str, str], dict[Heading, None]] = {}
    reserved: dict[tuple[str, str], None] = {}
    for row in rows:
        for column, reason in row.missing.items():
            why.setdefault((row.generator, reason), {})[column] = None
        for flag in row.reservations:
            reserved[row.generator, f"{flag}: {flag.gist[0].lower()}{flag.gist[1:]}"] = None
    for (generator, reason), empty in why.items():
        yield f"{generator} has no {', '.join(HEADINGS[one] for one in empty)}: {reason}"
    for generator, text in reserved:
        yield f"{generator}, {text}"


def _pace_text(pace: Mapping[str, float]) -> str:
    """Return what a monitor saw; not each of them sees all of it, nor has a record of others."""
    gaps = [human_ns(pace[name]) for name in ("gap_off_p50_ns", JUDGED_BY) if name in pace]
    rate = [f"{pace['rate_off_ppm'] / 1e6:+.2%}"] if "rate_off_ppm" in pace else []
    return ", ".join([*rate, " … ".join(gaps)])


def _known(value: float | None, text: Callable[[float], str]) -> str:
    return NOTHING if value is None else text(value)
