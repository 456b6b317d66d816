"""Closing a case: from what was measured, or from what went wrong, to its final record."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime

from vsperf.config.case import Case
from vsperf.deploy.planner import CasePlan
from vsperf.engine.assignment import Made
from vsperf.engine.conditions import clean_of, distances, flags_around, sorted_flags
from vsperf.engine.criteria import check_all, flags_of, outcome_of
from vsperf.engine.doubts import believed, believed_draws, contradicted
from vsperf.errors import ComponentError, ExitCode, VsperfError
from vsperf.methods.base import method_of
from vsperf.methods.compliance import qualified
from vsperf.records.host import Conditions
from vsperf.records.regime import boundary_of, span_of
from vsperf.records.result import COUNTED, SearchResult
from vsperf.records.run import CaseRecord, Outcome
from vsperf.records.trial import Trial
from vsperf.records.turns import Role, Round


def close_case(
    case: Case,
    plan: CasePlan,
    result: SearchResult,
    trials: Sequence[Trial],
    conditions: Conditions,
    warnings: tuple[str, ...],
) -> CaseRecord:
    """Return the record of a case whose search came to an answer.

    What speaks for it and against it is what was seen on its first deployment.
    """
    totals = _totals(trials)
    result = believed_draws(result, trials)
    trials = [one for one in trials if one.deployment == 1]
    result = contradicted(case.spec, believed(result, trials), trials)
    method = method_of(case.spec)
    if method.of_time:  # connections that are held have no regime
        result = result.model_copy(update={"round_trips_ns": _round_trips(trials)})
    calibrated = conditions.calibration
    cap_fps = None if calibrated is None else calibrated.cap_fps
    checks = check_all(case.spec, result, trials, cap_fps)
    outcome, reason = outcome_of(result, checks)
    flags = sorted_flags(
        {
            *flags_of(result, trials),
            *flags_around(trials, conditions, shared_cpu=plan.shared_cpu),
        }
    )
    stands = method.compliance(case.spec, case.sister_sizes, result)
    clean = clean_of(trials)
    return CaseRecord(
        case=case.key,
        outcome=outcome,
        reason=reason,
        result=result,
        limit=next(iter(result.limits), None),
        flags=flags,
        checks=checks,
        compliance=() if outcome is Outcome.INVALID else qualified(stands, flags),
        warnings=(*warnings, *distances(trials, result), *_spoiled(result)),
        conditions=conditions,
        clean_share=None if clean is None else str(clean),
        **totals,
    )


def _round_trips(trials: Sequence[Trial]) -> tuple[int, int] | None:
    """Return how far CPUs were from each other, where that was one regime all the while."""
    counted = [one for one in trials if one.valid and one.purpose in COUNTED]
    return None if boundary_of(counted) is not None else span_of(counted)


def _spoiled(result: SearchResult) -> Iterator[str]:
    """Yield which trial ended the repeats of a method, if one did."""
    if result.spoiled:
        yield f"fewer repeats than asked: {result.spoiled}"


def close_failed(
    case: Case,
    error: VsperfError,
    trials: Sequence[Made],
    warnings: tuple[str, ...] = (),
) -> CaseRecord:
    """Return the record of a case that ended with an error, and what went wrong before that."""
    invalid = error.exit_code is ExitCode.INVALID_RESULT
    last = next((one for one in reversed(trials) if not _looked_after(one)), None)
    flags = last.flags if last is not None and not last.valid else ()
    told = invalid and flags and isinstance(last, Trial)  # flags say what they mean
    return CaseRecord(
        case=case.key,
        outcome=Outcome.INVALID if invalid else Outcome.ERROR,
        reason=told_of(error, str(error) if told else None),
        result=None,
        limit=None,
        flags=flags,
        checks=(),
        compliance=(),
        warnings=warnings,
        **_totals(trials),
    )


def told_of(error: VsperfError, reason: str | None = None) -> str:
    """Return what went wrong and how it is mended, in a line; in other words where some fit."""
    said, fix = reason or error.with_why, error.problems[0].fix
    return said if fix is None else f"{said}; to mend it: {fix}"


def as_failure(error: VsperfError | OSError) -> VsperfError:
    """Return an error as one of vsperf's own, as which what the system refused is one of a part."""
    if isinstance(error, VsperfError):
        return error
    name = f" {error.filename}" if error.filename else ""
    return ComponentError(f"the system refused{name}: {error.strerror or error}")


def _looked_after(one: Made) -> bool:
    """Whether it is a look at paths, as there is one behind a round of turns that is in doubt."""
    return isinstance(one, Round) and one.role is Role.CHECK


def close_interrupted(case: Case, trials: Sequence[Made]) -> CaseRecord:
    """Return the record of a case that was interrupted; a resumed run begins it anew."""
    return CaseRecord(
        case=case.key,
        outcome=Outcome.ABORTED,
        reason="interrupted",
        result=None,
        limit=None,
        flags=(),
        checks=(),
        compliance=(),
        warnings=(),
        **_totals(trials),
    )


def _totals(trials: Sequence[Made]) -> dict[str, object]:
    return {
        "trials": len(trials),
        "measured_ns": sum(trial.elapsed_ns for trial in trials),
        "finished_at": datetime.now(UTC).isoformat(timespec="milliseconds"),
    }
