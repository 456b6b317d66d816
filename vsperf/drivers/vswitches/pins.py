"""CPUs that settings pin threads to."""

from __future__ import annotations

from vsperf.config.base import DriverSpec


def require_as_many(spec: DriverSpec, threads: str, cpus: str) -> None:
    """Refuse a number of threads that was given beside their CPUs, and is not how many these are.

    Both are settings, by their names; raises ValueError.
    """
    pinned, wanted = getattr(spec, cpus), getattr(spec, threads)
    if pinned is not None and threads in spec.model_fields_set and wanted != len(pinned):
        raise ValueError(f"{threads} is {wanted}, but {cpus} names {len(pinned)} CPUs")
