"""Where the frames of a trial went: sent = arrived + dropped by a named counter + unexplained."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from vsperf.human import human_count, human_fps, human_share
from vsperf.record.result import SearchResult
from vsperf.record.trial import Trial
from vsperf.report.page import Account, Branch, Stage, Table
from vsperf.report.telling import telling
from vsperf.report.trials import MOST_TRIALS

NOBODY = "not counted"
NOTHING = "–"


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
            yield f"not sent, {way.name}", way.short_frames, "the generator was too slow"


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
            else "they are missing, and no counter of switch or machines has them"
        )
        yield "unexplained", trial.unexplained_frames, why


def _dropped(trial: Trial) -> Iterator[tuple[str, int, str]]:
    if trial.switch is not None:
        for port in trial.switch.ports:
            for reason, count in port.drops.items():
                if count:
                    where = port.link or port.machine or port.name
                    yield f"{where}: {reason}", count, f"counted by the switch at port {port.name}"
        for reason, count in trial.switch.drops.items():
            if count:
                yield reason, count, "counted by the switch"
    for machine in trial.machines:
        if machine.lost_frames:
            yield f"in {machine.name}", machine.lost_frames, "came into the machine and not out"


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
        return "The switch, or a machine, has no counters that could be held against these numbers."
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
                NOTHING if busy is None else f"{float(busy):.0%}",
            )
        )
    sent = ("due", "sent", "refused", "not sent")
    names = ("trial", "load", *sent, "arrived", "dropped", "unexplained", "switch busy")
    if rows and all(row[-1] == NOTHING for row in rows):
        return Table(names[:-1], tuple(row[:-1] for row in rows), of)
    return Table(names, tuple(rows), of) if rows else None
