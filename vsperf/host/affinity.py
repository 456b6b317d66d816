"""Where this program itself runs: beside what is measured, and not on its CPUs."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def running_on(cpus: tuple[int, ...]) -> Iterator[None]:
    """Keep this program, and whatever it starts, to some CPUs; none means where it is."""
    if not cpus:
        yield
        return
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, cpus)
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)
