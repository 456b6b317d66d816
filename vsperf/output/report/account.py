"""Where the frames of a trial went: sent = arrived + dropped by a named counter + unexplained."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import islice
from typing import TypeVar

from vsperf.analysis.answers import loss_text
from vsperf.analysis.why import why_not_sent
from vsperf.errors import VsperfError
from vsperf.output.datagram_tables import account_text
from vsperf.output.report.page import Account, Branch, Stage
from vsperf.output.table import NOTHING, Column, Table, columns
from vsperf.quantities.human import (
    human_count,
    human_fps,
    human_seconds,
    human_share,
    rounded_share,
)
from vsperf.quantities.units import NANOSECONDS
from vsperf.records.connections import ConnectionTrial
from vsperf.records.exchange import Exchange
from vsperf.records.files.view import CaseView
from vsperf.records.meaning import DIED
from vsperf.records.result import GoalResult, SearchResult, amount, died_before
from vsperf.records.trial import Purpose, Trial
from vsperf.records.turn_ratios import changes_in
from vsperf.records.turns import Role, Round

T = TypeVar("T")

# The trials of a case as a table, and the command that shows more of them.

COUNTED_IN = ("due", "sent", "arrived", "lost", "loss")
"""Lost is what was due and did not arrive, whether or not it was sent."""
NAMES = ("trial", "for", "load", "time", *COUNTED_IN, "said of it")
MOST_TRIALS = 1_000
"""That stand in a page one by one; searches make some hundreds, somebody's record may hold more."""


def trials_table(trials: Sequence[Trial]) -> Table | None:
    """Return one row for each of the first trials; None where there are none."""
    died = died_before(trials)
    rows = tuple(
        _row(trial, *_gone(place, died)) for place, trial in enumerate(trials[:MOST_TRIALS])
    )
    more = len(trials) if len(trials) > MOST_TRIALS else None
    return Table("trials", columns(*NAMES), rows, of=more) if rows else None


def _gone(place: int, died: int) -> list[str]:
    """Say of one of those at the begin that it does not count."""
    return [DIED] if place < died else []


def _row(trial: Trial, *gone: str) -> tuple[str, ...]:
    reference = f" {trial.reference}" if trial.reference else ""
    said = [*gone, *(flag.value for flag in trial.flags)]
    if trial.retry_of is not None:
        said.append(f"repeats #{trial.retry_of}")
    if trial.event is not None:
        said.append(trial.event.name)
    if trial.error:
        said.append(trial.error)
    counts = [NOTHING] * len(COUNTED_IN)
    if trial.directions:
        arrived = sum(way.good_frames for way in trial.directions)
        frames = (trial.intended_frames, trial.sent_frames, arrived, trial.lost_frames)
        counts = [*map(human_count, frames), loss_text(trial.loss_ratio)]
    return (
        f"#{trial.index}",
        f"{trial.purpose.value}{reference}",
        human_fps(trial.load_fps),
        human_seconds(trial.duration_ns / 1e9),
        *counts,
        ", ".join(said),
    )


# What a case has in place of trials of frames, as tables.


def made_table(case: CaseView) -> Table | None:
    """Return one row for each of the first trials of a case, or of its rounds or exchanges."""
    if case.connections:
        return _marked(_first("trials", OF_CONNECTIONS, case.connections), case.died)
    if case.exchanges:
        made = _first("exchanges", OF_EXCHANGES, case.exchanges).without(NOTHING, (DATAGRAMS,))
        return _marked(made, case.died)
    if case.rounds:
        return _marked(_first("rounds", OF_ROUNDS, case.rounds), case.died)
    return trials_table(case.trials)


def _first(title: str, heads: Sequence[Column[T]], made: Collection[T]) -> Table:
    """Return the rows of the first ones: those of a day are too many to be held together."""
    table = Table.made(title, heads, islice(made, MOST_TRIALS))
    return replace(table, of=len(made) if len(made) > MOST_TRIALS else None)


def _marked(table: Table, died: int) -> Table:
    """Say in the last column of the first rows that they do not count."""
    rows = (
        (*row[:-1], ", ".join(filter(None, (*_gone(place, died), str(row[-1])))))
        for place, row in enumerate(table.rows)
    )
    return replace(table, rows=tuple(rows))


def _seconds(time_ns: int) -> str:
    return human_seconds(time_ns / NANOSECONDS)


def _counted(count: int | None) -> str:
    return NOTHING if count is None else human_count(count)


def _again(one: ConnectionTrial | Exchange | Round) -> list[str]:
    return [] if one.retry_of is None else [f"repeats #{one.retry_of}"]


def _connections_said(one: ConnectionTrial) -> str:
    said = [flag.value for flag in one.flags] + _again(one)
    return ", ".join([*said, *([one.error] if one.error else [])])


def _failed(one: ConnectionTrial) -> str:
    causes = f": {one.causes_text}" if one.causes else ""
    return f"{_counted(one.failed)}{causes}"


OF_CONNECTIONS = (
    Column[ConnectionTrial]("trial", of=lambda one: f"#{one.index}"),
    Column[ConnectionTrial]("for", of=lambda one: one.purpose.value),
    Column[ConnectionTrial]("load", of=lambda one: f"{human_count(one.rate)}/s"),
    Column[ConnectionTrial]("time", of=lambda one: _seconds(one.duration_ns)),
    Column[ConnectionTrial]("due", of=lambda one: f"{human_count(one.due)} {one.noun}"),
    Column[ConnectionTrial]("not begun", of=lambda one: _counted(one.unsent)),
    Column[ConnectionTrial]("failed", of=_failed),
    Column[ConnectionTrial]("said of it", of=_connections_said),
)


def _arrived(one: Exchange) -> str:
    """Write what arrived in a second, a line for each direction."""
    rates = ((way, one.rate(way)) for way in one.directions)
    told = (f"{amount(rate, one.unit)}, {way}" for way, rate in rates if rate is not None)
    return "\n".join(told) or NOTHING


DATAGRAMS = "datagrams"
OF_EXCHANGES = (
    Column[Exchange]("exchange", of=lambda one: f"#{one.index}"),
    Column[Exchange]("of", of=lambda one: one.traffic),
    Column[Exchange]("instances", of=lambda one: str(len(one.instances))),
    Column[Exchange]("time", of=lambda one: _seconds(one.asked_ns)),
    Column[Exchange]("arrived", of=lambda one: _arrived(one) if one.valid else NOTHING),
    Column[Exchange](DATAGRAMS, of=lambda one: account_text(one) or NOTHING),
    Column[Exchange](
        "said of it",
        of=lambda one: ", ".join([*(flag.value for flag in one.flags), *one.reasons, *_again(one)]),
    ),
)


def _against_first(one: Round) -> str:
    """Write how each side stands to the first in a round; only those of the answer tell that."""
    if one.role is not Role.ANSWER or not one.valid:
        return NOTHING
    return ", ".join(changes_in(one, digits=2))


OF_ROUNDS = (
    Column[Round]("round", of=lambda one: f"#{one.index}"),
    Column[Round]("for", of=lambda one: one.role.value),
    Column[Round]("load", of=lambda one: one.offered),
    Column[Round]("time", of=lambda one: _seconds(one.elapsed_ns)),
    Column[Round]("to A", of=_against_first),
    Column[Round](
        "said of it",
        of=lambda one: ", ".join([*(flag.value for flag in one.flags), *one.reasons, *_again(one)]),
    ),
)


# Which trial of a case a report tells of: its sentence, its drawing and its account have one.


@dataclass(frozen=True, slots=True)
class Telling:
    """The trial that says most of a case."""

    trial: Trial
    why: str
    """Why this one and no other."""

    @property
    def name(self) -> str:
        """The trial and why it is told of, for a heading."""
        return f"trial #{self.trial.index}, {self.why}"


def telling(result: SearchResult, trials: Sequence[Trial]) -> Telling | None:
    """Choose the trial that ended the search; else one with loss; else the one at most load."""
    usable = [one for one in trials if one.valid and one.intended_frames > 0]
    made = [one for one in usable if one.purpose is Purpose.SEARCH]
    for goal in result.goals[:1]:
        if (ending := ending_of(goal, made)) is not None:
            at = human_fps(ending.load_fps)
            return Telling(ending, f"at {at}, where {goal.goal} ends")
    lossy = [one for one in made if one.lost_frames > 0]
    if lossy:
        least = min(lossy, key=lambda one: one.load_fps)
        at = human_fps(least.load_fps)
        return Telling(least, f"at {at}, the lowest load of the search that lost frames")
    if made or usable:
        most = max(made or usable, key=lambda one: one.load_fps)
        why = f"at {human_fps(most.load_fps)}, the highest load; no frame was lost"
        return Telling(most, why)
    return None


def ending_of(goal: GoalResult, trials: Sequence[Trial]) -> Trial | None:
    """Return the mildest trial that failed at the upper bound: the reason of a goal names it."""
    allowed = Fraction(goal.loss_ratio)
    failed = [
        one
        for one in trials
        if one.valid and one.purpose is Purpose.SEARCH and one.load_fps == goal.upper_fps
        if one.switch_loss_ratio > allowed
    ]
    return min(failed, key=lambda one: one.switch_loss_ratio, default=None)


NOBODY = "not counted"


def account_of(result: SearchResult, trials: Sequence[Trial]) -> Account | None:
    """Return the account of the trial that says most; None where no trial counted a frame."""
    found = telling(result, trials)
    if found is None:
        return None
    trial = found.trial
    due, sent = trial.intended_frames, trial.sent_frames
    arrived = sum(way.good_frames for way in trial.directions)
    unsent = list(_unsent(trial))
    lost = list(_missing(trial))
    stages = (
        _stage("due to be sent", due, due, unsent),
        _stage("sent", sent, due, lost),
        _stage("arrived", arrived, due, []),
    )
    remark = _remark(trial) if lost else ""
    return Account(trial.index, found.why, stages, _sums(sent, arrived, lost), remark)


def _stage(name: str, frames: int, due: int, lost: Sequence[tuple[str, int, str]]) -> Stage:
    return Stage(
        name,
        human_count(frames),
        _percent(frames, due),
        tuple(
            Branch(
                reason,
                human_count(count),
                human_share(count / frames) if frames > 0 else "–",
                why,
                _percent(count, frames),
            )
            for reason, count, why in lost
        ),
    )


def _percent(part: int, whole: int) -> float:
    return max(0.0, min(100.0, 100 * part / whole)) if whole > 0 else 0.0


def _unsent(trial: Trial) -> Iterator[tuple[str, int, str]]:
    """Yield frames that were not sent."""
    for way in trial.directions:
        if way.refused_frames:
            why = "the port was full to the end, so the switch did not take them"
            yield f"refused, {way.name}", way.refused_frames, why
        if way.short_frames:
            yield f"not sent, {way.name}", way.short_frames, why_not_sent(trial)


def _missing(trial: Trial) -> Iterator[tuple[str, int, str]]:
    """Yield frames that were sent and did not arrive, by who counted them."""
    missing = sum(way.sent_frames - way.good_frames for way in trial.directions)
    if trial.explained_frames is None:
        if missing:
            why = "nobody on the way counts, so it cannot be told where they went"
            yield NOBODY, missing, why
        return
    yield from _dropped(trial)
    if trial.unexplained_frames:
        few = trial.unexplained_frames < 0
        why = (
            "counters dropped more than is missing: some were not frames of the test"
            if few
            else "they are missing, and no counter of switch or VNFs has them"
        )
        yield "unexplained", trial.unexplained_frames, why


def _dropped(trial: Trial) -> Iterator[tuple[str, int, str]]:
    if trial.switch is not None:
        for port in trial.switch.ports:
            for reason, count in port.drops.items():
                if count:
                    where = port.link or port.vnf or port.name
                    yield f"{where}: {reason}", count, f"counted by the switch at port {port.name}"
        for reason, count in trial.switch.drops.items():
            if count:
                yield reason, count, "counted by the switch"
    for vnf in trial.vnfs:
        if vnf.lost_frames:
            yield f"in {vnf.name}", vnf.lost_frames, "came into the VNF and not out"


def _sums(sent: int, arrived: int, lost: Sequence[tuple[str, int, str]]) -> str:
    """Write the account as an equation."""
    if not lost:
        return (
            f"{human_count(sent)} sent = {human_count(arrived)} arrived; none of these is missing"
        )
    dropped = sum(count for name, count, _ in lost if name not in (NOBODY, "unexplained"))
    rest = sum(count for name, count, _ in lost if name in (NOBODY, "unexplained"))
    named = f" + {human_count(dropped)} dropped by a named counter"
    if any(name == NOBODY for name, *_ in lost):
        named, left = "", "that nobody counted"
    else:
        left = "unexplained"
    return (
        f"{human_count(sent)} sent = {human_count(arrived)} arrived{named} + "
        f"{human_count(rest)} {left}"
    )


def _remark(trial: Trial) -> str:
    if trial.counts_backwards:
        return "A counter fell during this trial, so where frames were lost cannot be told."
    if trial.explained_frames is None:
        return "The switch, or a VNF, has no counters that could be held against these numbers."
    return ""


def account_table(trials: Sequence[Trial]) -> Table | None:
    """Return the account of the first trials that were counted; None where nobody counted.

    How busy the switch was is left out of one that does not say it.
    """
    rows = []
    counted = [trial for trial in trials if trial.explained_frames is not None]
    of = len(counted) if len(counted) > MOST_TRIALS else None
    for trial in counted[:MOST_TRIALS]:
        lost = [f"{human_count(count)} {name}" for name, count, _ in _dropped(trial)]
        refused = [way.refused_frames for way in trial.directions if way.refused_frames is not None]
        busy = trial.switch_busy
        rows.append(
            (
                f"#{trial.index}",
                human_fps(trial.load_fps),
                human_count(sum(way.intended_frames for way in trial.directions)),
                human_count(trial.sent_frames),
                human_count(sum(refused)) if refused else NOTHING,
                human_count(sum(way.short_frames for way in trial.directions)),
                human_count(sum(way.good_frames for way in trial.directions)),
                ", ".join(lost) or "0",
                human_count(trial.unexplained_frames or 0),
                NOTHING if busy is None else rounded_share(busy),
            )
        )
    sent = ("due", "sent", "refused", "not sent")
    names = ("trial", "load", *sent, "arrived", "dropped", "unexplained", "switch busy")
    table = Table("account", columns(*names), tuple(rows), of=of)
    return table.without(NOTHING, ("switch busy",)) if rows else None


# What a damaged record, or one of another version, says as far as it can be made out.

DAMAGED = (AttributeError, KeyError, TypeError, ValueError, ZeroDivisionError, VsperfError)
"""What reading a specification of another version, or a damaged one, may come to."""


def told(question: Callable[[], T], otherwise: T) -> T:
    """Return what a record says, or `otherwise` where it cannot be made out."""
    try:
        return question()
    except DAMAGED:
        return otherwise
