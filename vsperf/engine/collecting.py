"""What is collected around the trials of a case. It never changes what a trial says.

A collector that cannot start, or is lost, is a warning, and its series end there: the case goes on
without it, whatever went wrong. Only an interruption of the run passes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime

from vsperf.config.case import Case, CaseSpec
from vsperf.drivers.collectors.base import (
    Collector,
    Hearing,
    Parts,
    RunningCollector,
    Seat,
    own_trials_ns,
)
from vsperf.drivers.generators.base import TrialRequest
from vsperf.engine.measurer import Measurer
from vsperf.errors import RecordingError, VsperfError
from vsperf.host.workspace import Workspace
from vsperf.methods.base import TrialOptions
from vsperf.records.files.series import SeriesFile
from vsperf.records.files.writer import RunWriter
from vsperf.records.result import SearchResult
from vsperf.records.run import Placement
from vsperf.records.series import Note, OwnTrial, SeriesHeader
from vsperf.records.trial import Purpose, Trial

NO_TRIAL = 0
"""Of a note on what was before all trials, or after them: they count from 1."""


@dataclass(frozen=True, slots=True)
class Taken:
    """A collector with its place."""

    driver: Collector
    seat: Seat

    @property
    def name(self) -> str:
        return self.seat.name

    @property
    def heavy(self) -> bool:
        """Whether it has trials of its own."""
        return self.driver.heavy(self.seat.case.collect[self.name])

    @property
    def own_ns(self) -> tuple[int, ...]:
        """Lengths of the trials that it has for itself, if it is heavy."""
        return own_trials_ns(self.seat.case.collect[self.name])


@dataclass
class Collecting:
    """The collectors of a case: light ones at work, heavy ones until it is their turn."""

    running: dict[str, tuple[Seat, RunningCollector]] = field(default_factory=dict)
    apart: tuple[Taken, ...] = ()
    warnings: tuple[str, ...] = ()
    """On collectors that were lost."""
    _trial: int | None = None

    def begin(self, trial: int, purpose: Purpose) -> None:
        """Have them look before a trial; nobody cares for the few frames of a path check."""
        if purpose is not Purpose.PATH_CHECK:
            self._trial = trial
            for name, (_, collector) in tuple(self.running.items()):
                self._guarded(name, collector.begin, trial)

    def end(self) -> None:
        trial, self._trial = self._trial, None
        if trial is not None:
            for name, (_, collector) in tuple(self.running.items()):
                self._guarded(name, collector.end, trial)

    def _guarded(self, name: str, look: Callable[[int], None], trial: int) -> None:
        try:
            look(trial)
        except Exception as error:  # whatever it is: it may be a plugin's
            self._lose(name, trial, why_of(error))

    def _lose(self, name: str, trial: int, why: str) -> None:
        seat, _ = self.running.pop(name)
        text = f"the collector {name} was lost at trial {trial}: {why}"
        self.warnings += (f"{text}; its series end there",)
        _note(seat.file, trial, text)

    def miss(self, name: str, file: SeriesFile | None, error: Exception) -> None:
        """Go on without one that did not start; it has no file where that cannot be made."""
        text = f"the collector {name} did not start: {why_of(error)}; it collected nothing"
        self.warnings += (text,)
        if file is not None:
            _note(file, NO_TRIAL, text)

    def time_ns(self, overhead_ns: int) -> int:
        """Return what the trials of heavy ones take: the method is to leave them so much."""
        lengths = [ns for taken in self.apart for ns in taken.own_ns]
        return sum(lengths) + len(lengths) * overhead_ns

    def own_trials(self, measurer: Measurer, result: SearchResult) -> tuple[str, ...]:
        """Give each heavy collector its trials at the load that was found; return what failed."""
        load_fps = load_of(result)
        return self.warnings + tuple(
            warning
            for taken in self.apart
            if (warning := _own_trials(taken, measurer, load_fps)) is not None
        )

    def without_frames(self) -> tuple[str, ...]:
        """Return what failed in a case whose trials send no frames: heavy ones have none of those.

        That nothing was collected is not to be found out from a file that is empty.
        """
        why = "it looks at trials of frames, and the method has none"
        return (
            *self.warnings,
            *(f"nothing was collected by {taken.name}: {why}" for taken in self.apart),
        )


def why_of(error: Exception) -> str:
    """Say what went wrong with a collector, whoever raised it."""
    if isinstance(error, VsperfError):
        return error.with_why
    if isinstance(error, OSError) and error.strerror:
        return error.strerror if error.filename is None else f"{error.filename}: {error.strerror}"
    return f"{type(error).__name__}: {error}"


def _note(file: SeriesFile, trial: int, text: str) -> None:
    with suppress(RecordingError):  # the warning says it
        file.append(Note(trial=trial, text=text))


def load_of(result: SearchResult) -> int | None:
    """Return the load that a case came to: of its first goal, or the highest that passed."""
    found = [one.lower_fps for one in result.goals if one.lower_fps is not None]
    passed = [one.load_fps for one in result.loads if one.passed]
    return found[0] if found else max(passed, default=None)


def apart_ns(collectors: Mapping[str, Collector], case: CaseSpec) -> tuple[int, ...]:
    """Return how long each trial is that heavy collectors of a case will have for themselves."""
    asked = [(one, case.collect[name]) for name, one in collectors.items()]
    return tuple(
        ns for one, settings in asked if one.heavy(settings) for ns in own_trials_ns(settings)
    )


def _own_trials(taken: Taken, measurer: Measurer, load_fps: int | None) -> str | None:
    """Make the trials of one collector; return a warning where not all of them could be made."""
    if load_fps is None:
        why = "there is no load that passed, at which it could have a trial"
        return f"nothing was collected by {taken.name}: {why}"
    own = replace(
        measurer,
        trials=[],
        begin=lambda purpose, load_fps, duration_ns: None,
    )
    for made, duration_ns in enumerate(taken.own_ns):
        so_far = f"{made} of {len(taken.own_ns)} trials for {taken.name} were made"
        without = so_far if made else f"nothing was collected by {taken.name}"
        left_ns = measurer.budget.left_ns
        if left_ns is not None and duration_ns + measurer.policy.overhead_ns > left_ns:
            return f"{without}: the time was over"
        warning = _own_trial(taken, own, TrialRequest(load_fps, duration_ns), without)
        if warning is not None:
            return warning
    return None


def _own_trial(taken: Taken, measurer: Measurer, request: TrialRequest, without: str) -> str | None:
    """Make one trial for one collector; return a warning where that was not possible."""
    seat = taken.seat
    try:
        with taken.driver.start(seat.case.collect[taken.name], seat) as running:
            measurer.around = collecting = Collecting({taken.name: (seat, running)})

            def record(trial: Trial) -> None:
                seat.file.append(OwnTrial(trial=trial))
                if isinstance(running, Hearing) and trial.valid and not collecting.warnings:
                    running.hear(trial)

            measurer.record = record
            measurer.attempt(request, TrialOptions(Purpose.WARM_UP, f"for {taken.name}"))
    except RecordingError as error:
        return f"{without}: {error.with_why}"
    except Exception as error:
        return f"the trial for {taken.name} failed: {why_of(error)}"
    return collecting.warnings[0] if collecting.warnings else None


@contextmanager
def collected(
    case: Case,
    drivers: Mapping[str, Collector],
    parts: Parts,
    placement: Placement,
    workspace: Workspace,
    where: tuple[RunWriter, int],
) -> Iterator[Collecting]:
    """Start the light collectors of a case; leaving the context ends them.

    `where` is the run that is written, and which attempt at the case this is.
    """
    spec = case.seeded_spec
    found = Collecting()
    with ExitStack() as stack:
        for name, driver in drivers.items():
            file = None
            try:
                file = SeriesFile.begin(where[0].folder, _header(case, name, driver, where))
                taken = Taken(driver, Seat(name, spec, placement, workspace, parts, file))
                if taken.heavy:
                    found.apart += (taken,)
                else:
                    found.running[name] = (taken.seat, _started(taken, stack))
            except Exception as error:
                found.miss(name, file, error)
        yield found


def _started(taken: Taken, stack: ExitStack) -> RunningCollector:
    """Start a light collector; leaving the stack ends it, and goes on where that fails."""
    own = ExitStack()
    settings = taken.seat.case.collect[taken.name]
    stack.callback(_end, taken.seat, own)
    return own.enter_context(taken.driver.start(settings, taken.seat))


def _end(seat: Seat, own: ExitStack) -> None:
    try:
        own.close()
    except Exception as error:  # what it has collected is there already
        text = f"the collector {seat.name} did not end well: {why_of(error)}"
        _note(seat.file, NO_TRIAL, text)


def _header(case: Case, name: str, driver: Collector, where: tuple[RunWriter, int]) -> SeriesHeader:
    settings = case.spec.collect[name]
    return SeriesHeader(
        run=where[0].run,
        case=case.key,
        attempt=where[1],
        collector=name,
        kind=settings.kind,
        heavy=driver.heavy(settings),
        disturbs=driver.disturbs(settings),
        started_at=datetime.now(UTC).isoformat(timespec="milliseconds"),
        quantities=driver.quantities(settings),
        facts={"settings": settings.model_dump(mode="json"), **driver.facts(settings)},
    )
