"""A run from its header to its last line: begun anew, or taken up where it was interrupted."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from types import MappingProxyType
from typing import Any

from pydantic import ValidationError

from vsperf import __version__
from vsperf.analysis.environment import contrasts, flat
from vsperf.config.base import RECORDED
from vsperf.config.case import Case, CaseSpec
from vsperf.config.document import Drivers, document_model
from vsperf.config.loader import Loaded
from vsperf.engine.readiness import require_ready
from vsperf.engine.run import Before, Planned, RunOptions, cap_of, plan_cases, run_cases, within
from vsperf.errors import ExitCode, StoreError, UsageError, VsperfError
from vsperf.host.cpus import read_topology
from vsperf.host.facts import PASSING_PARTS, environment
from vsperf.host.lock import testbed_lock
from vsperf.methods.estimate import together
from vsperf.plugins import Plugins
from vsperf.progress import Emit, Resumed, RunStarted
from vsperf.records.asked import Asked
from vsperf.records.files.validation import validate_file
from vsperf.records.files.view import RunView
from vsperf.records.files.writer import RunWriter
from vsperf.records.run import PlannedCase, RunEnd, RunHeader, RunResume

MOST_CHANGES = 3
"""Facts that are told where a run cannot go on."""
Admit = Callable[[Sequence[Planned]], None]
"""Asked once the machine is ready: raises while it is no time to measure on it."""


Hold = Callable[[str, str], AbstractContextManager[None]]
"""Takes a testbed, by its name, for a run; and lets go of it."""


def everybody(planned: Sequence[Planned]) -> None:
    """Admit any run at any time."""


@dataclass(frozen=True, slots=True)
class Session:
    """A run whose record file is open."""

    writer: RunWriter
    planned: tuple[Planned, ...]
    """The cases that are still to be run."""
    simulated: bool
    before: Before | None = None
    """What is there of it already; None for a new one."""
    hold: Hold = testbed_lock
    """Takes the testbed for the run."""

    def carry_out(self, emit: Emit, options: RunOptions) -> ExitCode:
        """Run the cases, close the file, and hold what was written against the schema."""
        with self._testbed(), self.writer as writer:
            expected = together(within(self.planned, options.budget_ns))
            emit(
                RunStarted(
                    run=writer.run,
                    folder=str(writer.folder),
                    cases=tuple(item.case for item in self.planned),
                    estimated_s=expected.seconds,
                    spread_s=expected.spread_s,
                    here_s=expected.here_s,
                    simulated=self.simulated,
                    resumed=_resumed(self.before),
                )
            )
            code = run_cases(self.planned, writer, emit, options, self.before)
            writer.append(RunEnd(finished_at=_now(), exit_code=int(code)))
        validate_file(self.writer.path)
        return code

    def _testbed(self) -> AbstractContextManager[None]:
        """Have the testbed for this run alone; a model can serve any number of them."""
        if self.simulated or not self.planned:
            return nullcontext()
        return self.hold(self.planned[0].case.spec.testbed.name, self.writer.run)


def begin(  # noqa: PLR0913, PLR0917 - what is run, where it is kept, and who admits it
    loaded: Loaded,
    planned: tuple[Planned, ...],
    results: Path,
    argv: Sequence[str],
    plugins: Plugins,
    labels: Mapping[str, str] = MappingProxyType({}),
    admit: Admit = everybody,
) -> Session:
    """See that the machine is ready, make the folder of a new run, and write its header."""
    checks = require_ready(planned, plugins, results)
    planned = _admitted(planned, admit)

    def header(run: str) -> RunHeader:
        return RunHeader(
            run=run,
            started_at=_now(),
            simulated=loaded.simulated,
            testbed=loaded.testbed,
            preset=loaded.preset,
            labels=dict(labels),
            argv=tuple(argv),
            vsperf_version=__version__,
            environment={**environment(), "checks": checks},
            cases=tuple(announced(case) for case in loaded.cases),
        )

    names = [case.spec.name for case in loaded.cases]
    return Session(RunWriter.create(results, names, header), planned, loaded.simulated)


def take_up(
    folder: Path, plugins: Plugins, argv: Sequence[str], admit: Admit = everybody
) -> Session:
    """Open an interrupted run; cases that are finished are not run again."""
    writer = RunWriter.resume(folder)
    try:
        before = writer.before
        assert before is not None  # a resumed writer has read what was there
        planned = left_of(before, plugins)
        require_ready(planned, plugins, folder.parent)
        planned, held = _admitted(planned, admit), _held(before, plugins)
        writer.append(RunResume(resumed_at=_now(), argv=tuple(argv)))
    except BaseException:
        writer.close()
        raise
    return Session(writer, planned, before.header.simulated, held)


def left_of(before: RunView, plugins: Plugins) -> tuple[Planned, ...]:
    """Plan what an interrupted run has still to do."""
    unfinished = before.unfinished()
    if not unfinished and before.end is not None:
        raise UsageError(
            f"{before.run} is finished; there is nothing to resume",
            fix=f"`vsperf show {before.run}` shows what it found",
        )
    _require_same_ground(before.header)
    return plan_cases(restore_cases(unfinished, before.header.cases, plugins.specs()), plugins)


def _require_same_ground(header: RunHeader) -> None:
    """Refuse to go on by another vsperf, or where machine, kernel or packages are others by now.

    All cases of a run share its header: whoever compares them takes it to be true of each. Another
    boot alone is no reason, as no case outlives one.
    """
    now, changed = environment(), list[str]()
    if header.vsperf_version != __version__:
        changed.append(f"vsperf is {__version__}, and was {header.vsperf_version}")
    known = header.environment.get("id")
    if not header.simulated and known is not None and known != now["id"]:
        changed += _differing(header.environment, now)
    if changed:
        more = f"; and {len(changed) - MOST_CHANGES} more" if len(changed) > MOST_CHANGES else ""
        raise StoreError(
            f"{header.run} cannot be resumed: it was begun under other conditions",
            why=f"{'; '.join(changed[:MOST_CHANGES])}{more}",
            fix="start a new run with `vsperf run`; `vsperf compare` sets it beside what is there",
        )


def _differing(before: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    """Return the facts that decide numbers and are others than they were.

    What one of both does not say, such as packages on a machine that was too busy to be asked, is
    no difference that anybody knows.
    """
    found = contrasts([[flat(before)], [flat(now)]])
    passing = tuple(f"host.{name}" for name in PASSING_PARTS)
    return [
        f"{one.name} is {one.text(1)}, and was {one.text(0)}"
        for one in found
        if one.name.startswith(("host.", "system.", "packages."))
        and one.name not in passing
        and not one.name.endswith(".driver")  # of a NIC: it says what the NIC is used for
        and not any(None in values for values in one.values)
    ]


def _held(before: RunView, plugins: Plugins) -> Before:
    """Return what a run holds, with plans of what may have to be measured again.

    Those are of cases that went by a cap of the generator. One that no longer fits this vsperf
    stays as it is; readers say so where its cap has fallen.
    """
    finished = [case for case in before.cases() if case.over]
    planned: list[Planned] = []
    for one in finished:
        if cap_of(one.record) is not None:
            with suppress(VsperfError):
                cases = restore_cases([one.planned], before.header.cases, plugins.specs())
                planned += plan_cases(cases, plugins)
    return Before(
        attempts={case.key: case.attempt for case in before.cases()},
        records=[case.record for case in finished if case.record],
        planned=planned,
        dropped=sum(
            len(made)
            for case in before.cases()
            if not case.over
            for made in (case.trials, case.rounds, case.exchanges, case.connections)
        ),
    )


def _resumed(before: Before | None) -> Resumed | None:
    if before is None:
        return None
    made = sum(record.trials for record in before.records)
    return Resumed(len(before.records), made, before.dropped)


def _admitted(planned: Sequence[Planned], admit: Admit) -> tuple[Planned, ...]:
    """Return the cases as the machine lets them be run by now; raise if this is no time for it."""
    topology = read_topology()
    anew = tuple(item.planned_anew(topology) for item in planned)
    admit(anew)
    return anew


def announced(case: Case) -> PlannedCase:
    """Return a case as the header of its run announces it."""
    return PlannedCase(
        key=case.key,
        id=case.id,
        label=case.label,
        point=case.point,
        repeat=case.repeat,
        spec=case.spec.model_dump(mode="json"),
        origins=case.origins,
    )


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")


def restore_cases(
    wanted: Sequence[PlannedCase], planned: Sequence[PlannedCase], drivers: Drivers
) -> tuple[Case, ...]:
    """Return the `wanted` ones of all `planned` cases as they were when the run began."""
    model = document_model(drivers)
    sizes: dict[str, set[int]] = {}
    for asked in map(Asked, planned):
        if asked.frame_bytes is not None:
            sizes.setdefault(asked.name, set()).add(asked.frame_bytes)
    return tuple(_restore(case, sizes.get(Asked(case).name, set()), model) for case in wanted)


def _restore(wanted: PlannedCase, sisters: set[int], model: type[CaseSpec]) -> Case:
    fix = "start a new run with `vsperf run`"
    try:
        spec = model.model_validate(wanted.spec, context=RECORDED)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        place = ".".join(str(part) for part in first["loc"])
        why = f"its recorded specification does not fit this vsperf: {place}: {first['msg']}"
        raise StoreError(f"{wanted.label} cannot be resumed", why=why, fix=fix) from error
    case = Case(
        spec=spec,
        point=wanted.point,
        origins=wanted.origins,
        repeat=wanted.repeat,
        sister_sizes=tuple(sorted(sisters)),
    )
    if case.key != wanted.key:
        why = f"this vsperf would measure something else under that name: {case.key}"
        raise StoreError(f"{wanted.key} cannot be resumed", why=why, fix=fix)
    return case
