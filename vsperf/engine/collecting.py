"""What is collected around the trials of a case. It never changes what a trial says.

A collector that is lost is a warning, and its series end there: the case goes on without it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime

from vsperf.collectors.base import Collector, Parts, RunningCollector, Seat
from vsperf.deploy.deployment import Deployment
from vsperf.engine.measurer import Measurer
from vsperf.errors import RecordingError, VsperfError
from vsperf.host.workspace import Workspace
from vsperf.methods.base import Manner
from vsperf.record.plan import Placement
from vsperf.record.result import SearchResult
from vsperf.record.series import Note, OwnTrial, SeriesHeader
from vsperf.record.trial import Purpose
from vsperf.spec.case import Case
from vsperf.store.series import SeriesFile
from vsperf.store.writer import RunWriter
from vsperf.trafficgens.base import TrialRequest

OWN_NS = 5_000_000_000
"""Length of the trial of a heavy collector that does not say it."""
LEAST_NS = 1_000_000_000


@dataclass(frozen=True, slots=True)
class Taken:
    """A collector with its place."""

    driver: Collector
    seat: Seat

    @property
    def name(self) -> str:
        """What it is called in the case."""
        return self.seat.name

    @property
    def heavy(self) -> bool:
        """Whether it has trials of its own."""
        return self.driver.heavy(self.seat.case.collect[self.name])


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
        """Have them look after it."""
        trial, self._trial = self._trial, None
        if trial is not None:
            for name, (_, collector) in tuple(self.running.items()):
                self._guarded(name, collector.end, trial)

    def _guarded(self, name: str, look: Callable[[int], None], trial: int) -> None:
        try:
            look(trial)
        except (VsperfError, OSError) as error:
            why = error.with_why if isinstance(error, VsperfError) else str(error.strerror)
            self._lose(name, trial, why)

    def _lose(self, name: str, trial: int, why: str) -> None:
        seat, _ = self.running.pop(name)
        text = f"the collector {name} was lost at trial {trial}: {why}"
        self.warnings += (f"{text}; its series end there",)
        try:
            seat.file.append(Note(trial=trial, text=text))
        except RecordingError:
            return  # the warning says it

    def own_trials(self, measurer: Measurer, result: SearchResult) -> tuple[str, ...]:
        """Give each heavy collector a trial at the load that was found; return what failed."""
        load_fps = load_of(result)
        return self.warnings + tuple(
            warning
            for taken in self.apart
            if (warning := _own_trial(taken, measurer, load_fps)) is not None
        )


def load_of(result: SearchResult) -> int | None:
    """Return the load that a case came to: of its first goal, or the highest that passed."""
    found = [one.lower_fps for one in result.goals if one.lower_fps is not None]
    passed = [one.load_fps for one in result.loads if one.passed]
    return found[0] if found else max(passed, default=None)


def _own_trial(taken: Taken, measurer: Measurer, load_fps: int | None) -> str | None:
    """Make a trial for one collector; return a warning where that was not possible."""
    seat = taken.seat
    settings = seat.case.collect[taken.name]
    without = f"nothing was collected by {taken.name}"
    if load_fps is None:
        return f"{without}: there is no load that passed, at which it could have a trial"
    wanted = getattr(settings, "duration", None)
    duration_ns = max(LEAST_NS, wanted.ns if wanted is not None else OWN_NS)
    left_ns = measurer.budget.left_ns
    if left_ns is not None and duration_ns + measurer.policy.overhead_ns > left_ns:
        return f"{without}: the time was over"
    try:
        with taken.driver.start(settings, seat) as running:
            collecting = Collecting({taken.name: (seat, running)})
            own = replace(
                measurer,
                around=collecting,
                trials=[],
                begin=lambda purpose, load_fps, duration_ns: None,
                record=lambda trial: seat.file.append(OwnTrial(trial=trial)),
            )
            manner = Manner(Purpose.WARM_UP, f"for {taken.name}")
            own.attempt(TrialRequest(load_fps, duration_ns), manner)
    except RecordingError as error:
        return f"{without}: {error.with_why}"
    except VsperfError as error:
        return f"the trial for {taken.name} failed: {error.with_why}"
    return collecting.warnings[0] if collecting.warnings else None


@contextmanager
def collected(
    case: Case,
    drivers: Mapping[str, Collector],
    deployment: Deployment,
    placement: Placement,
    workspace: Workspace,
    where: tuple[RunWriter, int],
) -> Iterator[Collecting]:
    """Start the light collectors of a case; leaving the context ends them.

    `where` is the run that is written, and which attempt at the case this is.
    """
    spec = case.seeded_spec
    parts = Parts(deployment.switch, deployment.machines, deployment.generator)
    with ExitStack() as stack:
        found, apart = Collecting(), []
        for name, driver in drivers.items():
            file = SeriesFile.begin(where[0].folder, _header(case, name, driver, where))
            taken = Taken(driver, Seat(name, spec, placement, workspace, parts, file))
            if taken.heavy:
                apart.append(taken)
                continue
            running = stack.enter_context(driver.start(spec.collect[name], taken.seat))
            found.running[name] = (taken.seat, running)
        found.apart = tuple(apart)
        yield found


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
