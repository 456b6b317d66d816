"""Sides put next to each other: what differs around them, and what changed in each case."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from vsperf.analysis.answers import (
    CONTROLS,
    Finding,
    at_load,
    findings_of,
    latencies_of,
    more_is_better,
    of_all_trials,
    parted,
    regime_in,
)
from vsperf.analysis.comparable import Key, Met, in_another, told_closer
from vsperf.analysis.difference import (
    DOUBLE,
    HALF,
    SEEN,
    Change,
    Difference,
    Means,
    Sample,
    Scatter,
    answers_in,
    difference_of,
    most_drawn,
    samples_of,
    scatters_of,
)
from vsperf.analysis.environment import (
    OWN_FACTS,
    Contrast,
    case_facts,
    contrasts,
    obstacle,
    run_facts,
    settings,
    together,
    told_apart,
)
from vsperf.analysis.generators import GENERATOR, GeneratorRow, generator_rows
from vsperf.analysis.sides import Side, why_empty
from vsperf.analysis.summary import beside_noise, too_busy_to_tell
from vsperf.errors import UsageError
from vsperf.quantities.unit import Unit
from vsperf.records.files.view import CaseView
from vsperf.records.regime import Boundary
from vsperf.records.turns import is_own_name, of_turns

SHOWN = 5
"""Reasons of a refusal."""


@dataclass(frozen=True, slots=True)
class Row:
    """One number of one case on all sides, the base first."""

    label: str
    name: str
    unit: Unit
    samples: tuple[Sample | None, ...]
    differences: tuple[Difference | None, ...]
    """Of each side but the first; None where one of the two has no number."""
    simulated: bool = False
    """Whether it is a model's, of which each deployment is as the one before."""
    over_rounds: bool = False
    """Whether it is one of rounds, for each of which all was deployed anew."""
    apart: tuple[bool, ...] = ()
    """Of each side but the first, whether nothing of it is held against anything of the base, since
    one was measured near and the other one far."""

    @property
    def changed(self) -> bool:
        return any(one is not None and one.significant for one in self.differences)

    @property
    def effect(self) -> tuple[bool, float]:
        """What rows are sorted by: whether there is a change, and how large it is."""
        sizes = [_size(one) for one in self.differences if one is not None]
        return self.changed, max(sizes, default=0.0)

    def worse(self, number: int) -> bool:
        """Whether the number of a side, counted from 1, is worse than that of the base."""
        found = self.differences[number - 1]
        if found is None or not found.significant:
            return False
        return (found.change is Change.DOWN) == more_is_better(self.name, self.unit)

    def worse_by(self, number: int, share: float) -> bool | None:
        """Whether the number of a side is worse by more than a share of the base, for sure.

        The whole interval decides, as it does of criteria: None where the share lies in it. Where
        there is none, a change is one of any size, such as a loss where there was none before.
        A change from one deployment to one other may be what these two drew, unless it is larger
        than draws are: None as well.
        """
        if self.elsewhere(number):
            return None
        worse = self._lies_worse(number, share)
        return None if worse and not self.surely(number, share) else worse

    def surely(self, number: int, share: float = 0.0) -> bool:
        """Whether a change of more than a share is one of switches, and no draw of deployments."""
        found = self.differences[number - 1]
        if found is None or not found.significant or not self.drawn_once(number):
            return found is not None and found.significant
        up = found.change is Change.UP
        least = found.least if up else _less(found.most)
        return least is not None and least >= max(share, most_drawn(self.unit, more=up))

    def elsewhere(self, number: int) -> bool:
        """Whether a side has its number from one regime, and the base from the other one."""
        return bool(self.apart) and self.apart[number - 1]

    def drawn_once(self, number: int) -> bool:
        """Whether nobody knows how far deployments of a side and of the base lie apart."""
        found = self.differences[number - 1]
        unknown = found is not None and found.means in (Means.INTERVALS, Means.NOTHING)
        return unknown and not (self.simulated or self.over_rounds)

    def _lies_worse(self, number: int, share: float) -> bool | None:
        found = self.differences[number - 1]
        if found is None:
            return False
        if found.least is None and found.most is None:
            if self._says_nothing(number):
                return None
            return self.worse(number) and _size(found) > share
        if more_is_better(self.name, self.unit):
            at_least, at_most = _less(found.most), _less(found.least)
        else:
            at_least, at_most = found.least, found.most
        if at_most is not None and at_most <= share:
            return False
        surely = at_least is not None and at_least >= share
        return True if surely and self.worse(number) else None

    def bounded_below(self, number: int) -> bool:
        """Whether of a side and of the base no more is known than what each is at least."""
        base, other = self.samples[0], self.samples[number]
        return bool(base and other and base.open_ended and other.open_ended)

    def too_busy(self, number: int) -> bool:
        """Whether the machine of a side, or of the base, was too busy to tell."""
        return any(one is not None and one.busy for one in (self.samples[0], self.samples[number]))

    def dependent(self, number: int) -> bool:
        """Whether repeats depend on each other so much that nothing is concluded from them."""
        found = self.differences[number - 1]
        return found is not None and found.together is None

    def _says_nothing(self, number: int) -> bool:
        return self.bounded_below(number) or self.too_busy(number) or self.dependent(number)

    def untold(self, number: int, asked: float | None = None) -> bool:
        """Whether neither a change is seen nor can be ruled out, though bounds are known.

        For that the whole interval has to lie within the share that is asked for. Where nobody asks
        for one, repeats that are enough for ranks show a change or none, as long as it cannot be
        half or double; of others it is what people ask to see. Single numbers without bounds are
        told apart from that.
        """
        found = self.differences[number - 1]
        if found is None or found.significant:
            return self.elsewhere(number)
        if self._says_nothing(number):
            return True
        ends = (found.least, found.most)
        known = [abs(end) for end in ends if end is not None]
        if len(known) == 1:  # on the other side it may be anything
            return True
        if asked is None and found.means is Means.RANKS:
            # No test over repeats may leave these open, and still be said to have found no change.
            return (found.least or 0) <= -HALF or (found.most or 0) >= DOUBLE
        share = SEEN if asked is None else asked
        return max(known, default=0.0) > share

    def judged(self, share: float) -> bool | None:
        """Whether any side is worse by more; None where that may be."""
        found = [self.worse_by(number, share) for number in range(1, len(self.differences) + 1)]
        return True if True in found else None if None in found else False


@dataclass(frozen=True, slots=True)
class Gap:
    """A case that a side has no number for, or not one that the base has."""

    label: str
    side: int
    why: str
    name: str = ""
    """Of that number; empty where there is none at all."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """All that can be said of two or more sides."""

    sides: tuple[Side, ...]
    """The base first."""
    simulated: bool
    contrasts: tuple[Contrast, ...]
    obstacles: tuple[str, ...]
    """What makes the numbers incomparable; empty unless somebody wants them anyway."""
    rows: tuple[Row, ...]
    """The greatest change first."""
    gaps: tuple[Gap, ...]
    scatters: dict[str, Scatter]
    """Of repeats, by the name of the number."""
    generators: tuple[GeneratorRow, ...] = ()
    """What each of them did, where the sides are generators."""
    asked: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    """By label, the names of loads that each generator offered as far as it could."""

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(side.name for side in self.sides)

    def worsened(self, more_than: float) -> tuple[Row, ...]:
        """Return the rows that got worse by more than a share for sure, on any side."""
        return tuple(row for row in self.rows if row.judged(more_than) is True)

    def undecided(self, more_than: float) -> tuple[Row, ...]:
        """Return the rows that may have got worse by more than a share, or may not."""
        return tuple(row for row in self.rows if row.judged(more_than) is None)


def compare(sides: Sequence[Side], *, anyway: bool = False, latency: bool = False) -> Comparison:
    """Compare sides with the first of them; refuse what has nothing to do with each other.

    Latency percentiles lie in trials, so they cost reading those, as do generators.
    """
    simulated = _kind(sides)
    by = next((side.by for side in sides if side.by), "")
    sides = [replace(side, by=by) for side in sides]
    groups = [_by_label(side) for side in sides]
    if by:
        _refuse_mixed(sides, groups, by)
    labels = _shared(sides, groups)
    differing = together([*_around_runs(sides), *_around_cases(groups, labels, by)])
    refused = [(obstacle(one, simulated=simulated), one) for one in differing]
    reasons = [f"{what}: {_told(sides, one)}" for what, one in refused if what is not None]
    if reasons and not anyway:
        raise UsageError(
            f"{' and '.join(side.name for side in sides)} cannot be compared: they differ in "
            + ", ".join(dict.fromkeys(what for what, _ in refused if what is not None)),
            why="; ".join([*reasons[:SHOWN], *(["…"] if len(reasons) > SHOWN else [])]),
            fix="compare runs of the same frames and topologies on one host, or add --anyway",
        )
    measured = [{label: group.get(label, []) for label in labels} for group in groups]
    asked = {label: _asked([group[label] for group in measured]) for label in labels}
    named = asked if by == GENERATOR else {}
    every = [case.result for group in groups for cases in group.values() for case in cases]
    boundary = parted(one for one in every if one is not None)
    found = [
        {label: _samples(group[label], latency, named.get(label, {}), boundary) for label in labels}
        for group in measured
    ]
    found = [{label: _answers(one) for label, one in side.items()} for side in found]
    scatters = scatters_of(samples for side in found for samples in side.values())
    rounds = {
        label: any(case.rounds for group in measured for case in group[label]) for label in labels
    }
    rows = [
        replace(row, simulated=simulated, over_rounds=rounds[label])
        for label in labels
        for row in _rows(
            label,
            [one[label] for one in found],
            [Met(group[label]) for group in measured],
            scatters,
        )
    ]
    return Comparison(
        sides=tuple(sides),
        simulated=simulated,
        contrasts=differing,
        obstacles=tuple(reasons),
        rows=tuple(sorted(rows, key=lambda row: row.effect, reverse=True)),
        gaps=tuple(_gaps(groups, found)),
        scatters=scatters,
        generators=generator_rows(sides) if by == GENERATOR else (),
        asked={label: names for label, names in named.items() if names},
    )


def _kind(sides: Sequence[Side]) -> bool:
    """Return whether all of it is a model's; a model and reality are never put side by side."""
    kinds = {run.simulated: run.run for side in sides for run in side.runs}
    if len(kinds) > 1:
        raise UsageError(
            "simulated and real results cannot be compared",
            why=f"{kinds[True]} comes from a model, {kinds[False]} from a real switch",
            fix="compare runs of one kind; --anyway does not help here",
        )
    return next(iter(kinds))


def _refuse_mixed(
    sides: Sequence[Side], groups: Sequence[dict[str, list[CaseView]]], by: str
) -> None:
    """Refuse a side in which one case stands for several drivers: they are no repeats."""
    for side, group in zip(sides, groups, strict=True):
        for label, cases in group.items():
            found = dict.fromkeys(str(case.planned.driver(by)) for case in cases)
            if len(found) > 1:
                raise UsageError(
                    f"{side.name} is compared as one {by}, and measured several",
                    why=f"{label} was measured with {', '.join(found)}",
                    fix=f"name one of them, such as {by}:{next(iter(found))}@{side.name}",
                )


def _shared(sides: Sequence[Side], groups: Sequence[dict[str, list[CaseView]]]) -> list[str]:
    """Return the labels that the base has and any other side, in the order of the base."""
    common = [label for label in groups[0] if any(label in other for other in groups[1:])]
    if not common:
        shown = [", ".join(list(labels)[:3]) or "no case" for labels in groups]
        raise UsageError(
            f"{' and '.join(side.name for side in sides)} have no case in common",
            why="; ".join(f"{s.name} has {text}" for s, text in zip(sides, shown, strict=True)),
            fix="`vsperf results RUN` lists the cases of a run",
        )
    return common


def _by_label(side: Side) -> dict[str, list[CaseView]]:
    found: dict[str, list[CaseView]] = {}
    for case in side.cases:
        found.setdefault(side.label(case), []).append(case)
    return found


def _around_runs(sides: Sequence[Side]) -> Iterator[Contrast]:
    return contrasts([[run_facts(run.header) for run in side.runs] for side in sides])


def _around_cases(
    groups: Sequence[dict[str, list[CaseView]]], labels: Iterable[str], by: str
) -> Iterator[Contrast]:
    """Yield what differs in each case; settings are looked at where the ids say that any do.

    Where drivers are what is compared, what one of them has and another kind does not know is no
    difference between them; what two of one kind differ in is.
    """
    for label in labels:
        # Of a side that has not measured it nothing differs.
        members = [group.get(label, groups[0][label]) for group in groups]
        every = [case for cases in members for case in cases]
        kinds = [_kinds(cases, by) for cases in members]
        own = (by, *OWN_FACTS.get(by, ())) if len({*itertools.chain(*kinds)}) > 1 else ()
        named = [" ".join(sorted(found)) for found in kinds]
        told = [[c for c in cases if _surrounded(c)] for cases in members]
        if all(told) or not any(told):  # what nobody wrote down is no difference
            around = [
                [case_facts(c.start, c.record) for c in found or cases]
                for found, cases in zip(told, members, strict=True)
            ]
            yield from contrasts(told_apart(around, named, own), label)
        if len({case.planned.id for case in every}) > 1:
            asked = [[settings(c.planned) for c in cases] for cases in members]
            yield from contrasts(told_apart(asked, named, own), label)


def _surrounded(case: CaseView) -> bool:
    """Whether a case came so far that what was around it is known."""
    return case.record is not None and case.record.conditions is not None


def _kinds(cases: Sequence[CaseView], section: str) -> set[str]:
    return {str(case.asked.kind(section)) for case in cases if case.asked.section(section)}


def _told(sides: Sequence[Side], one: Contrast) -> str:
    values = " against ".join(one.text(number) for number in range(len(sides)))
    where = f" in {one.cases[0]}" if one.cases else ""
    more = f" and {len(one.cases) - 1} more" if len(one.cases) > 1 else ""
    return f"{one.name} is {values}{where}{more}"


def _asked(sides: Sequence[Sequence[CaseView]]) -> dict[str, str]:
    """Return what loads were asked for, by what was offered; none where all offered the same.

    Each generator is given no more than it can do, so what is one load of the testcase is another
    one of each of them.
    """
    every = [
        (texts, [load.load_fps for load in case.result.loads])
        for cases in sides
        for case in cases
        if case.result is not None and (texts := case.asked.loads)
    ]
    if len({tuple(loads) for _, loads in every}) < 2:
        return {}
    found: dict[str, str] = {}
    for texts, loads in every:
        if len(texts) != len(loads):
            return {}
        for text, load in zip(texts, loads, strict=True):
            if found.setdefault(at_load(load), f"at {text}") != f"at {text}":
                return {}
    return found


def _samples(
    cases: Sequence[CaseView],
    latency: bool,
    asked: Mapping[str, str],
    boundary: Boundary | None,
) -> dict[Key, Sample]:
    found = (findings_in(case, latency=latency, curve=True, boundary=boundary) for case in cases)
    every = itertools.chain.from_iterable(found)
    return samples_of(_renamed(one, asked) for one in every)


def _answers(samples: Mapping[Key, Sample]) -> dict[Key, Sample]:
    return {key: answers_in(sample) for key, sample in samples.items()}


def _renamed(finding: Finding, asked: Mapping[str, str]) -> Finding:
    """Name a finding by the load that was asked for."""
    plain = of_all_trials(finding.name)
    of, at, load = plain.partition("at ")
    name = asked.get(at + load)
    return (
        finding
        if name is None
        else replace(finding, name=of + name + finding.name.removeprefix(plain))
    )


def findings_in(
    case: CaseView,
    *,
    latency: bool = False,
    curve: bool = False,
    boundary: Boundary | None = None,
) -> Iterator[Finding]:
    """Yield the numbers of a case; latency percentiles, too, if its trials may be read.

    Of turns the ratios alone: what a switch came to by itself is another number the next moment.
    """
    if case.result is not None:
        noise = beside_noise(case.record)
        turns = of_turns([one.name for one in case.result.figures])
        found = itertools.chain(
            (
                one
                for one in findings_of(case.result, curve=curve, boundary=boundary, noise=noise)
                if one.name not in CONTROLS and not (turns and is_own_name(one.name))
            ),
            latencies_of(case.standing_trials, case.result, boundary) if latency else (),
        )
        busy = too_busy_to_tell(case.record)
        yield from (replace(one, run=case.run, busy=busy) for one in found)


def _rows(
    label: str,
    sides: Sequence[dict[Key, Sample]],
    met: Sequence[Met],
    scatters: dict[str, Scatter],
) -> Iterator[Row]:
    for key in dict.fromkeys(key for side in sides for key in side):
        samples = tuple(side.get(key) for side in sides)
        base = samples[0]
        apart = tuple(
            base is not None
            and other is not None
            and in_another(key, (sides[0], met[0]), (sides[number], met[number]))
            for number, other in enumerate(samples[1:], 1)
        )
        differences = tuple(
            None
            if base is None or other is None or elsewhere or told_closer(key, sides[0], side)
            else difference_of(base, other, scatters.get(key[0]))
            for side, other, elsewhere in zip(sides[1:], samples[1:], apart, strict=True)
        )
        yield Row(label, *key, samples, differences, apart=apart)


def _gaps(
    groups: Sequence[dict[str, list[CaseView]]], found: Sequence[dict[str, dict[Key, Sample]]]
) -> Iterator[Gap]:
    every = dict.fromkeys(label for group in groups for label in group)
    for label in every:
        for number, group in enumerate(groups):
            if label not in group:
                yield Gap(label, number, "not planned")
            elif label in found[number] and not found[number][label]:
                yield Gap(label, number, why_empty(group[label][-1]))
            elif label in found[number]:
                for name, why in _unanswered(found[0][label], found[number][label], group[label]):
                    yield Gap(label, number, why, name)


def _unanswered(
    base: Mapping[Key, Sample], other: Mapping[Key, Sample], cases: Sequence[CaseView]
) -> Iterator[tuple[str, str]]:
    """Yield what the base has a number for and these cases were asked, too, and why they lack it.

    Nothing that comes by chance is missed, such as a regime or the load of a trial. A load that was
    given does not. Nor is what both have closer, by regime or over deployments.
    """
    given = any(case.asked.loads for case in cases)
    told = {name for name, _ in other}
    missing = (key for key in base if key[0] not in told and not told_closer(key, base, other))
    for name in dict.fromkeys(name for name, _ in missing):
        results = [case.result for case in cases if case.result is not None]
        goals = [goal.reason for one in results for goal in one.goals if goal.goal == name]
        figures = [one.reason for each in results for one in each.figures if one.name == name]
        offered = {at_load(one.load_fps): one.reason for each in results for one in each.loads}
        at = name.partition(" ")[2]
        of_load = given and at.startswith("at ") and regime_in(name) is None
        loads = [offered.get(at, "not offered")] if of_load else []
        if reasons := goals + figures + loads:
            yield name, reasons[-1]


def _less(change: float | None) -> float | None:
    return None if change is None else -change


def _size(one: Difference) -> float:
    """Return how large a change is; where it is no number, how large it is at least."""
    if one.share is not None:
        return abs(one.share)
    if not one.significant:
        return 0.0
    sides = [abs(end) for end in (one.least, one.most) if end is not None]
    return min(sides, default=math.inf)
