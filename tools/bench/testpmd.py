"""DPDK's testpmd as the one to compare with: it makes frames as fast as it can, and checks none."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from common import until

from vsperf.dpdk.command import lcores
from vsperf.errors import ComponentError
from vsperf.host.process import Managed, managed, written
from vsperf.host.workspace import Workspace

NAME = "testpmd"
RATE = re.compile(r"Tx-pps:\s+(\d+)")
START_S = 30.0


@contextmanager
def flowgen(place: Workspace, devices: Sequence[str], cpu: int, *more: str) -> Iterator[Managed]:
    """Let it send on these devices, one thread on one CPU, until the context is left."""
    name = f"{NAME}{len(list(place.folder.glob(f'{NAME}*.log')))}"
    argv = ["dpdk-testpmd", "--no-pci", "--in-memory", "--single-file-segments", "-m", "256"]
    argv += [f"--lcores={lcores((cpu,))}", f"--file-prefix={place.name}-{name}"]
    argv += [f"--vdev={device}" for device in devices]
    argv += ["--", "--auto-start", "--forward-mode=flowgen", "--stats-period=1", "--no-mlockall"]
    argv += ["--total-num-mbufs=16384", *more]
    with managed(
        argv,
        name=name,
        workspace=place,
        ready=lambda: bool(_rates(written(name, place))),  # it says them as soon as it sends
        timeout_s=START_S,
    ) as program:
        yield program


def next_rates(program: Managed, number: int) -> list[int]:
    """Return what it will have sent per second, as it says for each port once a second."""
    heard = len(_rates(_said(program)))

    def enough() -> bool:
        if program.poll() is not None:
            raise ComponentError("testpmd ended by itself", why=program.obituary())
        return len(_rates(_said(program))) >= heard + number

    until(enough, START_S + number, "testpmd says nothing of what it sends")
    return _rates(_said(program))[heard:]


def _said(program: Managed) -> str:
    return program.log.read_text(errors="replace")


def _rates(said: str) -> list[int]:
    return [int(rate) for rate in RATE.findall(said)]
