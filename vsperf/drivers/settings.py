"""The settings of a case that are a driver's own; those of another one are refused."""

from __future__ import annotations

from typing import TypeVar

from vsperf.config.base import DriverSpec
from vsperf.errors import UsageError

S = TypeVar("S", bound=DriverSpec)


def own_settings(given: DriverSpec | None, wanted: type[S], who: str, chosen_by: str) -> S:
    """Return what was given to a driver, if it is of its kind.

    `who` is the driver for people, and `chosen_by` the setting that chooses it.
    """
    if isinstance(given, wanted):
        return given
    kind = None if given is None else given.kind
    raise UsageError(f"settings of kind {kind!r} are not those of {who}", fix=f"--set {chosen_by}")
