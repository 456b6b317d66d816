"""Real loop-backs for a real generator: testpmd and the reference DUT, each between two ports.

They run on the last CPU and tgen on the first, with ordinary memory, so that any machine will do.
Neither loses a frame by itself: testpmd at a light load, the reference DUT at any.
"""

from __future__ import annotations

import json
import os
import secrets
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from dpdk_files import dpdk_files
from simulated_cases import PATIENCE, patiently, simulated_case

from vsperf.config.case import CaseSpec
from vsperf.drivers.generators.tgen.command import Options
from vsperf.drivers.generators.tgen.process import TGEN
from vsperf.drivers.generators.tgen.spec import TgenSpec
from vsperf.records.run import Endpoint

OPTIONS = Options(hugepages=False)
PATIENCE_S = 20.0
PATIENTLY = {"quiet_ns": 1_000_000_000, "linger_ns": 100_000_000, "drain_ns": 20_000_000_000}
"""How a trial waits for what another program holds, which may not run for a while."""


@dataclass
class Loopback:
    """A forwarder that runs between two vhost-user sockets."""

    process: subprocess.Popen[bytes]
    sockets: tuple[Path, Path]
    report_file: Path | None = None
    report: dict[str, Any] = field(default_factory=dict)
    """What the reference DUT did; there once it has been stopped."""

    @property
    def devices(self) -> tuple[str, str]:
        """The devices by which tgen reaches it."""
        first, second = (
            f"net_virtio_user{number},path={path},queue_size=1024"
            for number, path in enumerate(self.sockets)
        )
        return first, second

    @property
    def endpoints(self) -> tuple[Endpoint, ...]:
        """The same, as a switch would offer them."""
        return tuple(
            Endpoint(link=f"phy{number}", kind="vhost-user", address=str(path))
            for number, path in enumerate(self.sockets)
        )

    def stop(self) -> None:
        """End it, and read what it wrote down."""
        self.process.send_signal(signal.SIGINT)
        try:
            self.process.wait(PATIENCE_S)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            raise
        if self.report_file is not None and not self.report:
            self.report = json.loads(self.report_file.read_text())


@contextmanager
def through_testpmd(
    folder: Path, mode: str = "io", queues: int = 1, calls: bool = False
) -> Iterator[Loopback]:
    """Let DPDK's testpmd forward between two ports; it listens, or `calls` whoever does."""
    arguments = ("--auto-start", f"--forward-mode={mode}", "--stats-period=600", "--no-mlockall")
    argv = ("--", *arguments, "--total-num-mbufs=16384", f"--rxq={queues}", f"--txq={queues}")
    port = f",queues={queues}" + (",client=1" if calls else "")
    with _forwarder("dpdk-testpmd", argv, folder, port) as running:
        yield running


@contextmanager
def reference_dut(
    folder: Path,
    rules: Sequence[str] = (),
    period: int = 1,
    delay_ns: Sequence[int] = (0,),
    work: int = 0,
) -> Iterator[Loopback]:
    """Let the reference DUT forward, and do what the rules say to known frames."""
    report = folder / f"report-{secrets.token_hex(3)}.json"
    argv = ["--", f"--report={report}", f"--period={period}"]
    argv += [f"--rule={rule}" for rule in rules]
    argv.append("--delay=" + ",".join(str(ns) for ns in delay_ns))
    argv.append(f"--work={work}")
    with _forwarder(str(tgen_dut()), argv, folder) as running:
        running.report_file = report
        yield running


def socket_folder() -> Path:
    """Return a folder whose name is short, as sockets need."""
    return Path("/run") if os.access("/run", os.W_OK) else Path(tempfile.gettempdir())


def tgen_dut() -> Path:
    """Return where the reference DUT is: it is built beside tgen."""
    return TGEN.find().parent / "dut" / "tgen-dut"


def tgen_case(**settings: Any) -> CaseSpec:
    """Return a case for tgen on a machine that other tests use at the same time.

    Their stalls would cost frames at the end of a short trial, so sending may take longer, and
    frames on their way are waited for though whoever holds them sleeps meanwhile: those of the
    trial, and those by which switches learn (`settle`).
    """
    case = simulated_case(traffic=settings.pop("traffic", None))
    policy = {
        "learning": settings.pop("learning", False),
        "settle": "1s",
        "drain": "500ms",
        "linger": "100ms",
        "offered_tolerance": "1%",
    }
    generator = {"kind": "tgen", "hugepages": False, "grace": PATIENCE, **settings}
    spec = TgenSpec.model_validate(generator)
    return patiently(case, **policy).model_copy(update={"generator": spec})


@contextmanager
def _forwarder(
    program: str, arguments: Sequence[str], folder: Path, port: str = ""
) -> Iterator[Loopback]:
    name = f"vsperf-dut-{os.getpid()}-{secrets.token_hex(3)}"
    sockets = (socket_folder() / f"{name}-0", socket_folder() / f"{name}-1")
    last = max(os.sched_getaffinity(0))
    argv = [program, "--no-pci", "--no-huge", "--no-shconf", "-m", "512"]
    argv += [f"--file-prefix={name}", f"--lcores=0@{last},1@{last}"]
    argv += [f"--vdev=net_vhost{n},iface={path}{port}" for n, path in enumerate(sockets)]
    with (folder / f"{name}.log").open("wb") as log:
        process = subprocess.Popen(
            [*argv, *arguments], stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT
        )
        running = Loopback(process, sockets)
        try:
            if "client=1" not in port:
                _wait_for(sockets, process, folder / f"{name}.log")
            yield running
        finally:
            if process.poll() is None:
                running.stop()
            for path in sockets:
                path.unlink(missing_ok=True)
            shutil.rmtree(dpdk_files(name), ignore_errors=True)


def _wait_for(sockets: Sequence[Path], process: subprocess.Popen[bytes], log: Path) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not all(path.is_socket() for path in sockets):
        if process.poll() is not None or time.monotonic() > deadline:
            raise RuntimeError(f"the loop-back did not start: {log.read_text()[-500:]}")
        time.sleep(0.02)
