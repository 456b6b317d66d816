"""Further deployments of a case: all parts are made anew, and asked what the first came to.

They are there to say how far deployments lie apart. So one that fails takes nothing back of what
was found: it is a warning, and no further ones follow.
"""

from __future__ import annotations

from collections.abc import Sequence

from vsperf.config.case import CaseSpec
from vsperf.deploy.deployment import deploy, prepare
from vsperf.drivers.generators.base import HostJitter
from vsperf.engine.assignment import CaseRun
from vsperf.engine.checks import check_path
from vsperf.engine.closing import as_failure
from vsperf.engine.instruments import disturbed, instruments
from vsperf.engine.measurer import MeasuredBench, warm_up
from vsperf.errors import RecordingError, VsperfError
from vsperf.host.workspace import LeftBehindError
from vsperf.methods.base import method_of
from vsperf.progress import DeploymentKept
from vsperf.records.host import Calibration
from vsperf.records.result import SearchResult
from vsperf.records.trial import Trial
from vsperf.search.base import Loads

BESIDE = "nothing is measured beside one that was not taken down in order"
SEED_STEP = 1_000
"""Between the seeds of a model's deployments, so that those of repetitions are others."""


def drawn_anew(spec: CaseSpec, deployment: int) -> CaseSpec:
    """Return the case as another deployment has it: of a model, with another seed."""
    seed = getattr(spec.generator, "seed", None)
    if seed is None:
        return spec
    moved = spec.generator.model_copy(update={"seed": seed + SEED_STEP * (deployment - 1)})
    return spec.model_copy(update={"generator": moved})


def asked_again(spec: CaseSpec, result: SearchResult) -> bool:
    """Whether further deployments follow; the last one is the one that may stay up."""
    method = method_of(spec)
    return method.deployments > 1 and method.asks_again(result)


def ask_again(
    run: CaseRun,
    result: SearchResult,
    first: Sequence[Trial],
    loads: Loads,
    known: tuple[Calibration | None, HostJitter],
) -> tuple[SearchResult, tuple[str, ...]]:
    """Return the result with what further deployments say of it, and what kept them from it."""
    wanted = method_of(run.case.seeded_spec).deployments
    if wanted == 1:
        return result, ()
    if not asked_again(run.case.seeded_spec, result):
        return result, (
            "no further deployment was asked: what ended the search on the first one is not its",
        )
    for number in range(2, wanted + 1):
        if run.undone:
            return result, (_ended(run, number, BESIDE),)
        refused = run.budget.refused
        try:
            result = _on_another(run, result, first, loads, known, number)
        except RecordingError:
            raise
        except (VsperfError, OSError) as error:
            if isinstance(error, LeftBehindError):
                run.undone.append(error)
            return result, (_ended(run, number, as_failure(error).with_why),)
        # Of an answer that is in doubt, or of none, its limit does not say that the time ended.
        if run.budget.refused > refused and number < wanted:
            return result, (_ended(run, number + 1, "the time would not suffice"),)
    return result, ()


def _ended(run: CaseRun, number: int, why: str) -> str:
    """Say why no further ones were asked; only the last one that is wanted may stay up."""
    wanted = method_of(run.case.seeded_spec).deployments
    left = "; none of them stays up" if run.keep() else ""
    return f"{number - 1} of {wanted} deployments were asked: {why}{left}"


def _on_another(
    run: CaseRun,
    result: SearchResult,
    first: Sequence[Trial],
    loads: Loads,
    known: tuple[Calibration | None, HostJitter],
    number: int,
) -> SearchResult:
    spec, plan = drawn_anew(run.case.seeded_spec, number), run.plan
    wanted = method_of(spec).deployments
    with run.deploying() as (place, stack):
        groups = prepare(spec, plan, place, stack)
        run.enter(f"deploy anew, {number} of {wanted}")
        deployment = deploy(spec, plan, run.drivers, place, stack)
        looking = instruments(run, deployment, place, known, groups, number)
        around = stack.enter_context(looking)
        check_path(around.measurer, spec)
        stack.enter_context(disturbed(run, around, place))
        warm_up(run, around.measurer, loads)
        run.enter(f"search on deployment {number} of {wanted}")
        bench = MeasuredBench(around.measurer, loads)
        result = method_of(spec).drawn(result, bench, first, number)
        if number == wanted and run.keep():
            place.keep()
            run.emit(DeploymentKept(run.case, str(place.folder), deployment.access))
    return result
