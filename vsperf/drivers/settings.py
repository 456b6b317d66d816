"""The settings of a case that are a driver's own, and that agree; those of another are refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, TypeVar

from pydantic import AfterValidator, ValidationInfo

from vsperf.config.base import DriverSpec, is_written
from vsperf.config.case import CaseSpec
from vsperf.errors import UsageError
from vsperf.quantities.human import counted
from vsperf.quantities.units import NANOSECONDS, Duration

S = TypeVar("S", bound=DriverSpec)


def _whole_seconds(value: Duration) -> Duration:
    if value.ns < NANOSECONDS or value.ns % NANOSECONDS:
        raise ValueError("it is counted in whole seconds, from 1s on")
    return value


WholeSeconds = Annotated[Duration, AfterValidator(_whole_seconds)]
"""A time after which a device forgets something, as kernels and routers take it."""


def own_settings(given: DriverSpec | None, wanted: type[S], who: str, chosen_by: str) -> S:
    """Return what was given to a driver, if it is of its kind.

    `who` is the driver for people, and `chosen_by` the setting that chooses it.
    """
    if isinstance(given, wanted):
        return given
    kind = None if given is None else given.kind
    raise UsageError(f"settings of kind {kind!r} are not those of {who}", fix=f"--set {chosen_by}")


def reading(chosen_by: str, wanted: type[S], who: str) -> Callable[[CaseSpec], S]:
    """Return what returns a driver's own settings of a case, and refuses those of another."""
    section = chosen_by.partition(".")[0]

    def spec_of(case: CaseSpec) -> S:
        return own_settings(getattr(case, section), wanted, who, chosen_by)

    return spec_of


def require_as_many(spec: DriverSpec, threads: str, cpus: str, info: ValidationInfo) -> None:
    """Refuse a number of threads that was given beside their CPUs, and is not how many these are.

    Both are settings, by their names; raises ValueError.
    """
    pinned, wanted = getattr(spec, cpus), getattr(spec, threads)
    if pinned is not None and is_written(spec, threads, info) and wanted != len(pinned):
        raise ValueError(f"{threads} is {wanted}, but {cpus} names {counted(len(pinned), 'CPU')}")
