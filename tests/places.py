"""Where drivers run in tests: a placement for two CPUs, and a workspace for each start."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TypeVar

import pytest

from vsperf.config.case import CaseSpec
from vsperf.drivers.vswitches.base import SwitchPlan
from vsperf.host.hugepages import reserve
from vsperf.host.workspace import Workspace, given_or_own, workspace
from vsperf.records.run import Endpoint, Placement, Step

E = TypeVar("E", bound=BaseException)

PLACEMENT = Placement(cpus={"pmd": (1,), "switch main": (0,), "generator": (0,)})


def room(purpose: str) -> AbstractContextManager[Workspace]:
    """Make a workspace, and see that nothing of it is left."""
    return given_or_own(None, purpose)


@contextmanager
def short_room(purpose: str) -> Iterator[Workspace]:
    """The same where paths are as short as sockets need, whatever test runs in it."""
    with TemporaryDirectory(prefix="rt-") as runtime:
        with workspace(purpose, Path(runtime) / "run") as made:
            yield made
        assert made.left == ()


def marked(place: Workspace) -> list[int]:
    """Return the processes that carry the mark of a workspace."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if place.name.encode() in (folder / "environ").read_bytes():
                found.append(int(folder.name))
        except OSError:
            continue  # it has ended meanwhile
    return found


def known_too_early(steps: Iterable[Step]) -> list[str]:
    """Return the words of a plan that are in a folder of one run: none is known when it is made.

    The checkout itself may lie below such a folder.
    """
    words = [word for step in steps for word in step.argv or ()]
    ours = f"{Path(__file__).parents[1]}/"
    return [word for word in words if re.match(r"/(run|tmp)/", word) and not word.startswith(ours)]


@contextmanager
def hugepages(megabytes: int = 1024) -> Iterator[None]:
    """Have hugepages for parts that are started one by one; a deployment sees to its own."""
    with room("hugepages of a test") as place, reserve({0: megabytes << 20}, place):
        yield


@contextmanager
def started_switch(driver: Any, case: CaseSpec, plan: SwitchPlan | None = None) -> Iterator[Any]:
    """Bring a switch up in a workspace of its own, with the hugepages that it asks for."""
    plan = driver.plan(case, PLACEMENT) if plan is None else plan
    memory = {0: driver.needs(case).hugepage_bytes}
    with (
        room("a test") as place,
        reserve(memory, place),
        driver.start(case, plan, PLACEMENT, place) as running,
    ):
        yield running


@contextmanager
def started_generator(
    driver: Any,
    case: CaseSpec,
    endpoints: tuple[Endpoint, ...],
    directions: tuple[tuple[str, str], ...],
    placement: Placement = PLACEMENT,
) -> Iterator[Any]:
    """Connect a generator in a workspace of its own."""
    with (
        room("a test") as place,
        driver.start(case, endpoints, directions, placement, place) as session,
    ):
        yield session


def refused(kind: type[E], session: AbstractContextManager[Any], words: str | None = None) -> E:
    """Return the error in place of a session; `words` are looked for in it."""
    with pytest.raises(kind, match=words) as error, session:
        pytest.fail("a session was given")
    return error.value
