"""A switch that is held against that of its case, and where it stands in a resolved document."""

from __future__ import annotations

from pydantic import SerializeAsAny

from vsperf.config.base import DriverSpec, Spec

VSWITCH, RIVALS, CALLED = "vswitch", "rivals", "called"
MADE = {
    RIVALS: "write a list of switches under `vswitch`, and choose a method that compares them",
    CALLED: "an item of a list under `vswitch` has a `name:`",
}
"""What a case has by a list of switches, and nobody writes."""


def as_written(path: tuple[str, ...]) -> tuple[str, ...]:
    """Return where a value stands in what people write: a rival is an item below `vswitch`."""
    if path[:1] != (RIVALS,) or len(path) < 3:
        return path
    return (VSWITCH, str(int(path[1]) + 1), *path[3:])


class Rival(Spec):
    """A switch that is held against the case's own."""

    name: str
    """What it is called; this decides no number."""
    vswitch: SerializeAsAny[DriverSpec]
