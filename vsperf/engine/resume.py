"""Cases of an interrupted run, made from its record: files may have changed in the meantime."""

from __future__ import annotations

from collections.abc import Sequence

from pydantic import ValidationError

from vsperf.config.case import Case, CaseSpec
from vsperf.config.document import Drivers, document_model
from vsperf.errors import StoreError
from vsperf.quantities.units import FrameSize
from vsperf.records.run import PlannedCase


def restore_cases(
    wanted: Sequence[PlannedCase], planned: Sequence[PlannedCase], drivers: Drivers
) -> tuple[Case, ...]:
    """Return the `wanted` ones of all `planned` cases as they were when the run began."""
    model = document_model(drivers)
    sizes: dict[object, set[int]] = {}
    for case in planned:
        size = FrameSize.parse(case.spec["traffic"]["frame_size"]).bytes
        sizes.setdefault(case.spec.get("name"), set()).add(size)
    return tuple(_restore(case, sizes[case.spec.get("name")], model) for case in wanted)


def _restore(wanted: PlannedCase, sisters: set[int], model: type[CaseSpec]) -> Case:
    fix = "start a new run with `vsperf run`"
    try:
        spec = model.model_validate(wanted.spec)
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
