"""The columns of a table of trials: one row each, also those that no search was built on.

Counters are sums over directions, unless a direction is named; a sum of which a part is not known
is empty.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from operator import attrgetter

from vsperf.output.export.columns import TrialData, joined, latency_columns, share
from vsperf.output.table import Column, Kind, Moment, Value
from vsperf.records.files.view import CaseView, RunView
from vsperf.records.trial import Direction, Trial

TrialColumn = Column[TrialData]
SUMS = (
    *("intended_frames", "sent_frames", "received_frames", "lost_frames", "duplicate_frames"),
    *("corrupted_frames", "reordered_frames", "foreign_frames", "refused_frames"),
    "unmarked_frames",
)
OF_A_DIRECTION = ("intended_frames", "sent_frames", "received_frames", "lost_frames")


def trial_columns(runs: Sequence[RunView]) -> tuple[TrialColumn, ...]:
    """Return the columns that the trials of `runs` need; looks at plans only."""
    ways = max((_directions(case) for run in runs for case in run.cases()), default=0)
    return (
        *_about_the_trial(),
        *(_sum(name) for name in SUMS),
        *_about_the_frames(),
        *_about_the_parts(),
        *latency_columns(lambda data: data.latency),
        *(column for number in range(ways) for column in _direction(number)),
    )


def _directions(case: CaseView) -> int:
    return len(case.start.plan.directions) if case.start else 0


def _seen(name: str, kind: Kind, of: Callable[[CaseView], Value]) -> TrialColumn:
    return Column(name, kind, lambda data: of(data.case.view))


def _counted(name: str, kind: Kind, of: Callable[[Trial], Value]) -> TrialColumn:
    return Column(name, kind, lambda data: of(data.trial))


def _about_the_trial() -> Iterator[TrialColumn]:
    yield _seen("run", str, lambda case: case.run)
    yield _seen("simulated", bool, lambda case: case.simulated)
    yield _seen("case", str, lambda case: case.key)
    yield _seen("testcase", str, lambda case: case.testcase)
    yield _seen("frame_size_bytes", int, lambda case: case.asked.frame_bytes)
    yield _counted("trial", int, lambda trial: trial.index)
    yield _counted("deployment", int, lambda trial: trial.deployment)
    yield _counted("purpose", str, lambda trial: trial.purpose.value)
    yield _counted("started_at", Moment, lambda trial: trial.started_at)
    yield _counted("load_fps", int, lambda trial: trial.load_fps)
    yield _counted("reference", str, lambda trial: trial.reference)
    yield _counted("duration_ns", int, lambda trial: trial.duration_ns)
    yield _counted("valid", bool, lambda trial: trial.valid)
    yield Column("stands", bool, lambda data: data.stands)
    yield _counted("flags", str, lambda trial: joined(flag.value for flag in trial.flags))
    yield _counted("retry_of", int, lambda trial: trial.retry_of)
    yield _counted("error", str, lambda trial: trial.error)
    yield _counted("sending_ns", int, lambda trial: trial.sending_ns)
    yield _counted("elapsed_ns", int, lambda trial: trial.elapsed_ns)
    yield _counted("settled", bool, lambda trial: trial.settled)


def _sum(name: str) -> TrialColumn:
    def total(trial: Trial) -> Value:
        parts = [getattr(way, name) for way in trial.directions]
        return None if not parts or None in parts else sum(parts)

    return _counted(name, int, total)


def _about_the_frames() -> Iterator[TrialColumn]:
    """Yield what a search goes by: the worse direction, per direction."""

    def column(name: str, kind: Kind, of: Callable[[Trial], Value]) -> TrialColumn:
        return _counted(name, kind, lambda trial: of(trial) if trial.directions else None)

    yield column("loss_ratio", float, lambda trial: share(trial.loss_ratio))
    yield column("switch_loss_ratio", float, lambda trial: share(trial.switch_loss_ratio))
    yield column("forwarding_fps", float, _forwarding)
    yield column("explained_frames", int, lambda trial: trial.explained_frames)
    yield column("unexplained_frames", int, lambda trial: trial.unexplained_frames)
    yield column("outage_ns", int, lambda trial: trial.outage_ns)


def _forwarding(trial: Trial) -> Value:
    return share(trial.forwarding_fps) if trial.duration_ns else None


def _about_the_parts() -> Iterator[TrialColumn]:
    yield _counted("switch_dropped_frames", int, _switch_dropped)
    yield _counted("switch_busy_ratio", float, lambda trial: share(trial.switch_busy))
    yield _counted("switch_cycles_per_frame", float, _cycles_per_frame)
    yield _counted("vnf_lost_frames", int, _vnf_lost)
    yield _counted("kept_from_running_ns", int, lambda t: t.kept_ns if t.threads else None)
    yield _generator("generator_busy_ppm", "busy_ppm")
    yield _generator("generator_longest_gap_ns", "longest_gap_ns")
    yield _generator("generator_paused_ns", "paused_ns")
    yield _generator("generator_behind_ns", "behind_ns")
    yield _counted("event", str, lambda trial: trial.event.name if trial.event else None)
    yield _counted("rules_changed", int, lambda trial: trial.rules_changed)


def _generator(name: str, field: str) -> TrialColumn:
    return _counted(name, int, lambda t: getattr(t.generator, field) if t.generator else None)


def _switch_dropped(trial: Trial) -> Value:
    return trial.switch.dropped_frames if trial.switch else None


def _cycles_per_frame(trial: Trial) -> Value:
    return trial.switch.cycles_per_frame if trial.switch else None


def _vnf_lost(trial: Trial) -> Value:
    lost = [vnf.lost_frames for vnf in trial.vnfs]
    known = [count for count in lost if count is not None]
    return sum(known) if known and len(known) == len(lost) else None


def _direction(number: int) -> Iterator[TrialColumn]:
    def column(suffix: str, kind: Kind, of: Callable[[Direction], Value]) -> TrialColumn:
        def found(trial: Trial) -> Value:
            ways = trial.directions
            return of(ways[number]) if number < len(ways) else None

        return _counted(f"direction_{number + 1}_{suffix}", kind, found)

    yield column("name", str, lambda way: way.name)
    for field in OF_A_DIRECTION:
        yield column(field, int, attrgetter(field))
