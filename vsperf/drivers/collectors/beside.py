"""What collectors have in common that look from a small process of their own, beside the trial.

It is told by a line when a trial begins and ends, and answers when it has looked, so that the first
look and the last one fall outside of the time in which frames are sent. vsperf itself does nothing
meanwhile.
"""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, ClassVar

from pydantic import AfterValidator

from vsperf.config.base import DriverSpec
from vsperf.config.case import CaseSpec
from vsperf.drivers.collectors.base import COMPONENT, Collector, RunningCollector, Seat
from vsperf.errors import ComponentError
from vsperf.host.process import Managed, managed
from vsperf.quantities.quantity import UnitError
from vsperf.quantities.units import Duration
from vsperf.records.run import Placeholder, Placement, Step
from vsperf.trust import own_python
from vsperf.waits import received, sent

SAMPLER = Path(__file__).with_name("sampler.py")
SECOND = Duration(1_000_000_000)
SHORTEST = Duration(100_000_000)
START_S = 10.0
ANSWER_S = 5.0
"""Patience with a look, which takes some milliseconds."""


def _every(value: Duration) -> Duration:
    if value.ns < SHORTEST.ns:
        raise UnitError(f"to look more often than every {SHORTEST} would disturb what is measured")
    return value


Every = Annotated[Duration, AfterValidator(_every)]


class SamplerSpec(DriverSpec):
    """Settings of a collector that looks again and again."""

    every: Every = SECOND
    """Time between two looks while frames are sent; there is one before and one after as well."""


def command_line(socket_path: str, source: str, every: Duration) -> tuple[str, ...]:
    """Return how the sampler is started."""
    return own_python.script(SAMPLER, socket_path, source, f"{every.seconds:g}")


@dataclass
class Sampling:
    """A sampler that runs."""

    seat: Seat
    program: Managed
    connection: socket.socket

    def begin(self, trial: int) -> None:
        """Have it look, and go on looking; who is looked at is found anew for each trial."""
        self._tell({"trial": trial, "roles": self._roles(), "cpus": self._cpus()})

    def end(self, trial: int) -> None:
        """Have it look a last time, and rest."""
        self._tell({})

    def _roles(self) -> dict[str, list[tuple[int, str]]]:
        found: dict[str, list[tuple[int, str]]] = {}
        for pid, polling in self.seat.workspace.polling.items():
            found.setdefault(polling.part, []).append((pid, polling.names))
        return found

    def _cpus(self) -> list[int]:
        return sorted({cpu for cpus in self.seat.placement.cpus.values() for cpu in cpus})

    def _tell(self, message: dict[str, object]) -> None:
        try:
            sent(self.connection, json.dumps(message).encode() + b"\n")
            if received(self.connection, 1) == b"\n":
                return
        except TimeoutError:
            why = f"it did not look within {ANSWER_S:g} s"
            raise ComponentError(f"{self.program.name} hangs", why=why) from None
        except OSError:
            pass
        raise ComponentError(f"{self.program.name} {self.program.obituary()}")


@contextmanager
def sampling(seat: Seat, source: str, every: Duration) -> Iterator[Sampling]:
    """Start a sampler, pinned where vsperf is; leaving the context ends it."""
    path = seat.workspace.folder / f"{seat.name}.collect"
    argv = command_line(str(path), source, every)
    with _program(seat, argv, path) as program:
        connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        with connection:
            connection.settimeout(ANSWER_S)
            connection.connect(str(path))
            with seat.file.opened() as descriptor:
                socket.send_fds(connection, [b"\n"], [descriptor])
            yield Sampling(seat, program, connection)


@contextmanager
def _program(seat: Seat, argv: tuple[str, ...], path: Path) -> Iterator[Managed]:
    name = f"collect-{seat.name}"
    with managed(
        argv, name=name, workspace=seat.workspace, ready=path.exists, timeout_s=START_S
    ) as program:
        # The case goes on without it: no part waits for it, and nobody is to blame it on a part.
        seat.workspace.parts.pop(name, None)
        yield program


class Sampled(Collector):
    """What the collectors have in common whose looks a sampler makes."""

    source: ClassVar[str]

    def disturbs(self, settings: DriverSpec) -> str:
        return (
            "light: a process on vsperf's own CPU reads files of the kernel, some milliseconds "
            f"every {getattr(settings, 'every', SECOND)}; nobody is asked for anything"
        )

    def plan(self, settings: DriverSpec, name: str, placement: Placement) -> tuple[Step, ...]:
        every, cpus = getattr(settings, "every", SECOND), placement.of("vsperf")
        where = f" on CPU {', '.join(map(str, cpus))}" if cpus else ""
        action = f"{name}: look every {every} while frames are sent, from a process{where}"
        argv = command_line(f"{Placeholder.RUN}/{name}.collect", self.source, every)
        return (Step(component=COMPONENT, action=action, argv=argv),)

    def require(self, case: CaseSpec, settings: DriverSpec) -> None:
        """Need nothing: the kernel has all of it."""

    def facts(self, settings: DriverSpec) -> dict[str, Any]:
        return {"every_ns": getattr(settings, "every", SECOND).ns}

    @contextmanager
    def start(self, settings: DriverSpec, seat: Seat) -> Iterator[RunningCollector]:
        with sampling(seat, self.source, getattr(settings, "every", SECOND)) as running:
            yield running
