"""What VPP counts on memifs is what a generator of another make has counted: DPDK's testpmd."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import IO

import pytest
from ovs_traffic import wait_until
from places import PLACEMENT, hugepages
from vpp_cases import deployed, vpp_case

from vsperf.dpdk.command import PROGRAM
from vsperf.dpdk.running import Telemetry
from vsperf.drivers.vswitches.vpp.driver import Vpp
from vsperf.host.workspace import Workspace

pytestmark = [pytest.mark.machine, pytest.mark.thorough]

ENOUGH = 100_000
"""Frames each way."""
RESTS_S = 1.0
"""Nothing is on its way when nothing was counted for so long, though a thread may not run."""
PREFIX = "other"


@dataclass
class Other:
    """A testpmd that is told what to do, and asked what it counted."""

    words: IO[str]
    telemetry: Telemetry

    def do(self, forward: str) -> None:
        """Begin with something else."""
        self.words.write(f"stop\nset fwd {forward}\nstart\n")
        self.words.flush()

    def counted(self, port: int) -> tuple[int, int]:
        """Return the frames that it sent and received by a port."""
        found = self.telemetry.ask(f"/ethdev/stats,{port}")
        return found["opackets"], found["ipackets"]

    def at_rest(self) -> tuple[tuple[int, int], ...]:
        """Return the counts of both ports when they no longer change."""
        found, since = self._both(), time.monotonic()
        while time.monotonic() < since + RESTS_S:
            if (now := self._both()) != found:
                found, since = now, time.monotonic()
            time.sleep(0.01)
        return found

    def _both(self) -> tuple[tuple[int, int], ...]:
        return tuple(self.counted(port) for port in range(2))


@contextmanager
def interactive(devices: list[str], place: Workspace) -> Iterator[Other]:
    argv = [
        *(PROGRAM, "--no-pci", "--in-memory", "-m", "256", f"--file-prefix={PREFIX}"),
        *("--lcores=0@0,1@0", *(f"--vdev={device}" for device in devices)),
        *("--", "-i", "--nb-cores=1", "--forward-mode=rxonly", "--disable-link-check"),
        "--no-mlockall",
    ]
    log = place.folder / "testpmd.log"
    with (
        log.open("w") as output,
        subprocess.Popen(
            argv,
            stdin=subprocess.PIPE,
            stdout=output,
            stderr=output,
            text=True,
            env={**os.environ, "RUNTIME_DIRECTORY": str(place.folder)},
        ) as process,
    ):
        assert process.stdin is not None
        socket = place.folder / "dpdk" / PREFIX / "dpdk_telemetry.v2"
        try:
            wait_until(socket.is_socket)
            with Telemetry(socket) as telemetry:
                yield Other(process.stdin, telemetry)
        finally:
            process.kill()


@pytest.fixture(autouse=True)
def _needs(require: Callable[[str], None]) -> Iterator[None]:
    for part in ("vpp", "hugepages", "dpdk-testpmd"):
        require(part)
    with hugepages():
        yield


@pytest.mark.parametrize("forwarding", ["xconnect", "bridge"])
def test_both_have_counted_the_same_frames(forwarding: str) -> None:
    case = vpp_case({"ports": "memif", "forwarding": forwarding, "ring": 256})
    ends = Vpp().plan(case, PLACEMENT).endpoints
    with deployed(case) as (running, place):
        devices = [place.fill(end.address) for end in ends]
        with interactive(devices, place) as other:
            running.await_ports(case.topology.links, 20)
            before = running.counters()
            other.do("flowgen")
            wait_until(lambda: min(other.counted(port)[0] for port in range(2)) > ENOUGH)
            other.do("rxonly")
            counted = other.at_rest()
            growth = running.counters().since(before)
    assert [(port.received_frames, port.sent_frames) for port in growth.ports] == list(counted)
    assert growth.dropped_frames == sum(sent - arrived for sent, arrived in counted)
    assert min(arrived for _, arrived in counted) > 0
