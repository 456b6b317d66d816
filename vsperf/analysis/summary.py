"""What a run found, as rows of plain values: computed once, shown in many ways."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, TypeVar

from vsperf.analysis.kept import Kept, kept_of, made_at
from vsperf.quantities.human import rounded_share
from vsperf.quantities.units import FrameSize, LinkSpeed
from vsperf.records.asked import Asked
from vsperf.records.files.view import CaseView
from vsperf.records.flags import Flag, Severity, worst
from vsperf.records.histogram import LatencySummary, merged_summary
from vsperf.records.result import (
    Assumption,
    Curve,
    Figure,
    GoalResult,
    Limit,
    LoadResult,
    SearchResult,
    answering,
    assumed,
    at_bounds,
    latency_trials,
    of_a_load,
)
from vsperf.records.run import CaseRecord, Outcome, PlannedCase
from vsperf.records.trial import Purpose, Trial

T = TypeVar("T")
PERCENTILES = (50.0, 99.0, 99.9)
"""That people are shown."""
EXPORTED = (50.0, 90.0, 99.0, 99.9, 99.99)
LOSSY = "latency is of those that arrived"
"""Where frames were lost at the load that latency was measured at: lost ones may have been late."""


@dataclass(frozen=True, slots=True)
class Latency:
    """What the frames of one trial took, all directions together."""

    reference: str | None
    load_fps: int
    lost_frames: int
    summary: LatencySummary
    percentiles_ns: Mapping[float, int]
    """By percentile, all of those that exports have."""

    @property
    def at(self) -> str:
        """What its load refers to, or else the load."""
        return self.reference or str(self.load_fps)

    @property
    def shown_ns(self) -> dict[float, int]:
        return {percentile: self.percentiles_ns[percentile] for percentile in PERCENTILES}


@dataclass(frozen=True, slots=True)
class Resting:
    """What an answer rests on: trials at its bounds, and what these take for granted."""

    sending_ns: int
    """Time of sending of these trials."""
    assumed: tuple[Assumption, ...]


@dataclass(frozen=True, slots=True)
class CaseRow:
    """Everything that the summary says of one case."""

    view: CaseView
    latency: tuple[Latency, ...] = ()
    """At each load that latency was measured at, the least one first."""
    lossless: Mapping[str, int] = field(default_factory=dict)
    """By goal, the frames that were sent at its lower bound where not one of them was lost."""
    resting: Mapping[str, Resting] = field(default_factory=dict)
    """By goal, what its answer rests on."""
    hits: Mapping[str, float] = field(default_factory=dict)
    """Shares of the lookups by the cache of the switch that answered them, as far as counted."""
    partly: Mapping[str, Kept] = field(default_factory=dict)
    """By goal, how the trials at its lower bound went, where not all of them passed."""

    @classmethod
    def of(cls, view: CaseView) -> CaseRow:
        """Return the row of a case; its trials are looked at here, and not held."""
        record, trials = view.record, answering(view.trials)
        return cls(
            view,
            latencies(trials, view.result),
            lossless_frames(record, trials),
            resting_on(record, trials),
            hit_shares(trials),
            partly_passed(record, trials),
        )

    @property
    def planned(self) -> PlannedCase:
        return self.view.planned

    @property
    def record(self) -> CaseRecord | None:
        """How it ended; None while it has no result."""
        return self.view.record

    @property
    def asked(self) -> Asked:
        return self.view.asked

    @property
    def testcase(self) -> str:
        return self.view.testcase

    @property
    def frame_size(self) -> FrameSize:
        return _told(self.asked.size, "frame size")

    @property
    def link(self) -> LinkSpeed:
        """The slowest link that the case uses."""
        return _told(self.asked.slowest, "speed of its links")

    @property
    def result(self) -> SearchResult:
        """What the method found; nothing while there is no result."""
        return self.view.result or SearchResult()

    @property
    def too_busy(self) -> bool:
        """Whether its machine kept it from telling what the switch does."""
        return too_busy_to_tell(self.record)

    @property
    def goals(self) -> tuple[GoalResult, ...]:
        """Answers of the search."""
        return self.result.goals

    @property
    def loads(self) -> tuple[LoadResult, ...]:
        """Answers of fixed loads."""
        return self.result.loads

    @property
    def figures(self) -> tuple[Figure, ...]:
        """Whatever else the method found, the one that matters most first."""
        return self.result.figures

    @property
    def curves(self) -> tuple[Curve, ...]:
        return self.result.curves

    @property
    def rates_fps(self) -> tuple[int, ...]:
        """The rates that shares and bit rates refer to: the first goal's, or one of each load.

        None of them where the answer is not to be believed: what its limit and flags say of it,
        and what is said of the whole case, by its outcome and of its machine.
        """
        if self.record is not None and (
            self.record.limit is Limit.UNKNOWN
            or self.record.outcome is Outcome.INVALID
            or self.too_busy
        ):
            return ()
        if self.loads:
            return tuple(load.throughput_fps for load in self.loads)
        doubted = bool(self.goals) and worst(self.goals[0].flags) is Severity.INVALID
        lower = self.goals[0].lower_fps if self.goals and not doubted else None
        return () if lower is None else (lower,)

    @property
    def middle_latency(self) -> Latency | None:
        """The latency that stands for the case, at the middle one of its loads."""
        if not self.latency or (self.goals and not self.rates_fps):
            return None
        return self.latency[len(self.latency) // 2]

    @property
    def virtual(self) -> bool:
        """Whether the case uses a link that is no cable, and so has no line rate."""
        return self.asked.virtual

    def line_share(self, fps: int) -> Fraction | None:
        """Return a rate as a share of the line rate, in whole frames; None where there is none."""
        if self.virtual:
            return None
        return Fraction(fps, max(1, int(self.link.frames_per_second(self.frame_size))))

    def bps(self, fps: int, layer: int) -> int:
        """Return a rate in bits per second: layer 1 with preamble and gap, layer 2 without."""
        size = self.frame_size.on_wire if layer == 1 else self.frame_size.mean
        return int(fps * 8 * size)

    def as_json(self) -> dict[str, Any]:
        """Return the row as plain data, units in the names, missing as None."""
        rate = self.rates_fps[0] if self.rates_fps else None
        share = None if rate is None else self.line_share(rate)
        return {
            "case": self.planned.key,
            "label": self.planned.label,
            "testcase": self.testcase,
            "frame_size_bytes": self.frame_size.bytes,
            "outcome": self.record.outcome if self.record else None,
            "reason": self.record.reason if self.record else self.view.refuted or None,
            "limit": self.record.limit if self.record else None,
            "goals": [goal.model_dump(mode="json") for goal in self.goals],
            "loads": [load.model_dump(mode="json") for load in self.loads],
            "figures": [figure.model_dump(mode="json") for figure in self.figures],
            "curves": [curve.model_dump(mode="json") for curve in self.curves],
            "rate_fps": rate,
            "line_rate_share": None if share is None else float(share),
            "l1_bps": None if rate is None else self.bps(rate, 1),
            "l2_bps": None if rate is None else self.bps(rate, 2),
            "latency": [
                {
                    "reference": row.at,
                    "load_fps": row.load_fps,
                    "lost_frames": row.lost_frames,
                    **{f"p{p:g}_ns".replace(".", "_"): v for p, v in row.shown_ns.items()},
                }
                for row in self.latency
            ],
            "trials": self.record.trials if self.record else None,
            "measured_ns": self.record.measured_ns if self.record else None,
            "lookup_shares": dict(self.hits),
            "flags": list(self.record.flags) if self.record else [],
            "checks": [c.model_dump(mode="json") for c in self.record.checks]
            if self.record
            else [],
            "compliance": [c.model_dump(mode="json") for c in self.record.compliance]
            if self.record
            else [],
        }


def _told(found: T | None, what: str) -> T:
    if found is None:
        raise ValueError(f"the specification says nothing of the {what}")
    return found


def latencies(trials: Sequence[Trial], result: SearchResult | None) -> tuple[Latency, ...]:
    """Return the latency at each load that refers to what was found, the least load first."""
    found = map(latency_of, latency_trials(trials, result))
    return tuple(sorted((one for one in found if one is not None), key=lambda one: one.load_fps))


def latency_of(trial: Trial) -> Latency | None:
    """Return the latency of a trial; None where it was not measured."""
    found = merged_summary((way.latency_histogram for way in trial.directions), EXPORTED)
    if found is None:
        return None
    return Latency(trial.reference, trial.load_fps, trial.lost_frames, *found)


def lossless_frames(record: CaseRecord | None, trials: Sequence[Trial]) -> dict[str, int]:
    """Return, by goal, how many frames were sent at its lower bound, where none was lost.

    In the direction that was sent fewest: a loss ratio is that of the worse direction. Trials count
    whoever made them at that load: what a search did not lose, a later one can have lost.
    """
    found = {}
    for goal in record.result.goals if record and record.result else ():
        if worst(goal.flags) is Severity.INVALID:
            continue
        made = [trial for trial in trials if trial.valid and trial.load_fps == goal.lower_fps]
        made = [trial for trial in made if of_a_load(trial)]
        if made and all(trial.lost_frames == 0 for trial in made):
            ways = zip(*(trial.directions for trial in made), strict=False)
            found[goal.goal] = min(sum(way.sent_frames for way in made) for made in ways)
    return found


def resting_on(record: CaseRecord | None, trials: Sequence[Trial]) -> dict[str, Resting]:
    """Return, by goal, what its answer rests on; nothing where no trial was made at a bound."""
    found = {}
    for goal in record.result.goals if record and record.result else ():
        if made := at_bounds(goal, trials):
            sending_ns = sum(one.duration_ns for one in made)
            found[goal.goal] = Resting(sending_ns, assumed(made, goal.draws))
    return found


def partly_passed(record: CaseRecord | None, trials: Sequence[Trial]) -> dict[str, Kept]:
    """Return, by goal, how many of the trials at its lower bound passed, where not all did."""
    found = {}
    for goal in record.result.goals if record and record.result else ():
        if goal.lower_fps is None or worst(goal.flags) is Severity.INVALID:
            continue
        kept = kept_of(made_at(goal.lower_fps, trials), Fraction(goal.loss_ratio))
        if kept is not None and not kept.whole:
            found[goal.goal] = kept
    return found


def hit_shares(trials: Sequence[Trial]) -> dict[str, float]:
    """Return which cache of the switch answered which share of the lookups of a search.

    A cache that was asked and never knew is there with 0; one that the switch does not have, or
    does not count, is not.
    """
    totals: dict[str, int] = {}
    for trial in trials:
        if trial.switch is not None and trial.valid and trial.purpose is Purpose.SEARCH:
            for pmd in trial.switch.pmds:
                for cache, hits in pmd.hits.items():
                    totals[cache] = totals.get(cache, 0) + hits
    lookups = sum(totals.values())
    return {cache: hits / lookups for cache, hits in totals.items()} if lookups else {}


def flows_differ(rows: Sequence[CaseRow]) -> bool:
    """Whether cases differ in their number of flows: there caches of a switch overflow."""
    return len({row.planned.point.get("flows") for row in rows}) > 1


# The verdict on a whole run that its machine kept from telling anything.

TOO_BUSY = "host: too busy to tell"
BUSY = ", host too busy"
"""The same behind an outcome, where there is room for no more."""
KEPT = "as the machine kept a part of the testbed from running"


def beside_noise(record: CaseRecord | None) -> bool:
    """Whether noise was asked for that may have kept parts of the testbed from running.

    Then a busy machine is part of the question. Beside programs, which are run in places, it is
    told apart from what others took.
    """
    around = None if record is None else record.conditions
    return around is not None and bool(around.noise) and "places" not in around.switch


def too_busy_to_tell(record: CaseRecord | None) -> bool:
    """Whether the machine kept a case from an answer; by noise that was asked for it does not."""
    return record is not None and Flag.TOO_BUSY in record.flags and not beside_noise(record)


def first_remedy(rows: Iterable[CaseRow], remedies: Iterable[str]) -> str:
    """Return what to do first, the gravest doubt's remedy coming first; empty where that depends.

    On a machine that was too busy other doubts may be its doing.
    """
    busy = too_busy(row.record for row in rows if row.record is not None)
    return Flag.TOO_BUSY.remedy if busy is not None else next(filter(None, remedies), "")


def too_busy(records: Iterable[CaseRecord]) -> str | None:
    """Say so if most of the time of a run was measured on a machine that was too busy.

    A case is marked by its own trials; here it is the time of cases that counts: that of marked
    ones, or what of all of them was not clean. Those beside noise say nothing of it.
    """
    measured = [record for record in records if record.trials and not beside_noise(record)]
    busy = [record for record in measured if too_busy_to_tell(record)]
    whole_ns = sum(record.measured_ns for record in measured)
    which = "each case" if len(busy) == len(measured) else f"{len(busy)} of {len(measured)} cases"
    where = f"in {which} less than half of the time was clean"
    if 2 * sum(record.measured_ns for record in busy) <= whole_ns:
        known = [one for one in measured if one.clean_share is not None]
        clean_ns = sum(Fraction(one.clean_share or 0) * one.measured_ns for one in known)
        known_ns = sum(one.measured_ns for one in known)
        if 2 * (known_ns - clean_ns) <= whole_ns:
            return None
        where = f"over all cases only {rounded_share(clean_ns / known_ns, 1)} of the time was clean"
    return f"{TOO_BUSY}: {where}, {KEPT}"


def too_busy_case(record: CaseRecord | None) -> str | None:
    """Say so if the machine was too busy for one case, whatever it was for its run."""
    if not too_busy_to_tell(record):
        return None
    return f"{TOO_BUSY}: less than half of the time was clean, {KEPT}"


def outcome_text(record: CaseRecord) -> str:
    """Return how a case ended, and that its machine was too busy to tell, if it was."""
    return record.outcome.value + BUSY * too_busy_to_tell(record)


def outcome_look(record: CaseRecord) -> str:
    """Return what a cell with that means: of a PASS on a machine that was too busy, a doubt."""
    doubted = record.outcome is Outcome.PASS and too_busy_to_tell(record)
    return "doubt" if doubted else record.outcome.value
