"""Owns what the benchmarks of tgen run: a private OVS-DPDK, testpmd, and tgen itself."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from types import TracebackType
from typing import Any, Self

CHECKOUT = Path(__file__).resolve().parents[2]
OVS_DAEMON = Path("/usr/lib/openvswitch-switch-dpdk/ovs-vswitchd-dpdk")
SCHEMA = Path("/usr/share/openvswitch/vswitch.ovsschema")
HUGEPAGES = Path("/dev/hugepages")
RUN_FOLDERS = Path("/var/run/dpdk")
SOCKET_DEADLINE_S = 20


def find_tgen(given: str | None) -> Path:
    """Return the program to measure: as given, in the environment, or where set-up builds it."""
    found = given or os.environ.get("VSPERF_TGEN") or CHECKOUT / "build" / "tgen" / "tgen"
    return Path(found)


def wait_for(path: Path) -> None:
    """Wait until a file is there."""
    deadline = time.monotonic() + SOCKET_DEADLINE_S
    while not path.exists():
        if time.monotonic() > deadline:
            raise SystemExit(f"{path} does not appear")
        time.sleep(0.05)


def eal(prefix: str, vdevs: Sequence[str], cpus: Sequence[int] = (0, 0)) -> list[str]:
    """Return EAL arguments: lcore 0 is the main one, the others work."""
    lcores = ",".join(f"{lcore}@{cpu}" for lcore, cpu in enumerate(cpus))
    return [
        "--no-pci",
        f"--lcores={lcores}",
        f"--file-prefix={prefix}",
        "--single-file-segments",
        "-m",
        "512",
        "--log-level=4",
        *(f"--vdev={vdev}" for vdev in vdevs),
    ]


class Tgen:
    """A running tgen, asked through its standard input."""

    def __init__(
        self, program: Path, arguments: Sequence[str], options: Sequence[str] = ()
    ) -> None:
        self._number = 0
        self.process = subprocess.Popen(  # noqa: S603
            [program, *arguments, "--", "--stdin", *options],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )

    def begin(self, verb: str, **values: object) -> None:
        """Send a request."""
        assert self.process.stdin is not None
        self._number += 1
        request = {"id": self._number, "verb": verb, **values}
        self.process.stdin.write(json.dumps(request) + "\n")
        self.process.stdin.flush()

    def finish(self) -> dict[str, Any]:
        """Return the answer to the request sent last."""
        assert self.process.stdout is not None
        for line in self.process.stdout:
            answer = json.loads(line)
            if "event" in answer or answer.get("id") != self._number:
                continue
            if not answer["ok"]:
                raise SystemExit(f"tgen refuses: {answer['error']}")
            result: dict[str, Any] = answer["result"]
            return result
        raise SystemExit(f"tgen is gone: {self.process.wait()}")

    def ask(self, verb: str, **values: object) -> dict[str, Any]:
        """Send a request and return its result."""
        self.begin(verb, **values)
        return self.finish()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        with suppress(BrokenPipeError):
            if kind is None:
                self.ask("quit")
        if self.process.stdin is not None:
            self.process.stdin.close()
        self.process.wait(SOCKET_DEADLINE_S)


@contextmanager
def testpmd(arguments: Sequence[str], options: Sequence[str]) -> Iterator[subprocess.Popen[str]]:
    """Run testpmd; it forwards from the beginning and stops when its input ends."""
    process = subprocess.Popen(  # noqa: S603
        ["dpdk-testpmd", *arguments, "--", "--auto-start", *options],  # noqa: S607
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    try:
        yield process
    finally:
        if not process.stdin.closed:  # type: ignore[union-attr]
            process.communicate(timeout=SOCKET_DEADLINE_S)
        for argument in arguments:
            if argument.startswith("--file-prefix="):
                shutil.rmtree(RUN_FOLDERS / argument.partition("=")[2], ignore_errors=True)


class Ovs:
    """A private OVS-DPDK with two vhost-user ports and nothing but rules by port."""

    def __init__(self, folder: Path, server: bool) -> None:
        self.folder = folder
        self._database = f"unix:{folder}/db.sock"
        self._processes: list[subprocess.Popen[bytes]] = []
        self._server = server
        self._prefix = f"tgen-bench-ovs-{os.getpid()}"
        self._environment = {
            **os.environ,
            **dict.fromkeys(("OVS_RUNDIR", "OVS_LOGDIR", "OVS_DBDIR"), str(folder)),
        }

    def vdev(self, port: int, options: str) -> str:
        """Return the argument for the other end of a port."""
        mode = "" if self._server else ",server=1"
        path = self.folder / f"port{port}"
        return f"net_virtio_user{port},path={path},queue_size=1024{mode}{options}"

    def run(self, *argv: str | Path) -> str:
        """Run a tool of OVS and return what it says."""
        done = subprocess.run(  # noqa: S603
            argv, env=self._environment, check=True, capture_output=True, text=True
        )
        return done.stdout

    def _start(self, *argv: str | Path) -> None:
        log = (self.folder / "log").open("ab")
        self._processes.append(
            subprocess.Popen(argv, env=self._environment, stdout=log, stderr=log)  # noqa: S603
        )

    def _vsctl(self, *arguments: str) -> None:
        self.run("ovs-vsctl", f"--db={self._database}", *arguments)

    def start(self) -> None:
        """Start database, daemon, bridge and ports."""
        self.run("ovsdb-tool", "create", self.folder / "conf.db", SCHEMA)
        self._start("ovsdb-server", self.folder / "conf.db", f"--remote=p{self._database}")
        wait_for(self.folder / "db.sock")
        self._vsctl("--no-wait", "init")
        self._vsctl(
            "--no-wait",
            *("set", "Open_vSwitch", ".", "other_config:dpdk-init=true"),
            *("other_config:pmd-cpu-mask=0x2", "other_config:dpdk-lcore-mask=0x1"),
            "other_config:dpdk-socket-mem=512",
            f'other_config:dpdk-extra="--no-pci --file-prefix={self._prefix}"',
        )
        self._start(OVS_DAEMON, self._database, f"--unixctl={self.folder}/control")
        self._vsctl("add-br", "br0", "--", "set", "bridge", "br0", "datapath_type=netdev")
        for port in (0, 1):
            kind = ["type=dpdkvhostuser"]
            if not self._server:
                path = self.folder / f"port{port}"
                kind = ["type=dpdkvhostuserclient", f"options:vhost-server-path={path}"]
            name = f"port{port}"
            wanted = f"ofport_request={port + 1}"
            self._vsctl("add-port", "br0", name, "--", "set", "interface", name, *kind, wanted)
        management = f"unix:{self.folder}/br0.mgmt"
        self.run("ovs-ofctl", "del-flows", management)
        for here, there in ((1, 2), (2, 1)):
            self.run("ovs-ofctl", "add-flow", management, f"in_port={here},actions={there}")

    def forwarded(self) -> int:
        """Return how many frames have left the switch so far."""
        text = self.run("ovs-ofctl", "dump-ports", f"unix:{self.folder}/br0.mgmt")
        return sum(int(number) for number in re.findall(r"tx pkts=(\d+)", text))

    def forget_load(self) -> None:
        """Begin to count the cycles of the switch anew."""
        self.run("ovs-appctl", "-t", self.folder / "control", "dpif-netdev/pmd-stats-clear")

    def load(self) -> str:
        """Return the cycles per packet of the switch, and its idle share."""
        text = self.run("ovs-appctl", "-t", self.folder / "control", "dpif-netdev/pmd-stats-show")
        found = {
            name: re.search(pattern, text)
            for name, pattern in (
                ("cycles/frame", r"processing cycles per packet: (\d+)"),
                ("% idle", r"idle cycles: \d+ \((\d+\.\d+)%\)"),
                ("frames/batch", r"packets per output batch: (\d+\.\d+)"),
            )
        }
        return ", ".join(f"{match[1]} {name}" for name, match in found.items() if match)

    def stop(self) -> None:
        """Stop in the order that lets OVS leave nothing behind."""
        for process in reversed(self._processes):
            process.terminate()
            process.wait(SOCKET_DEADLINE_S)
        for leftover in HUGEPAGES.glob(f"{self._prefix}map_*"):
            leftover.unlink()
        shutil.rmtree(RUN_FOLDERS / self._prefix, ignore_errors=True)


@contextmanager
def private_ovs(server: bool) -> Iterator[Ovs]:
    """Run a private OVS in a folder of its own."""
    with tempfile.TemporaryDirectory(prefix="tgen-bench-") as folder:
        ovs = Ovs(Path(folder), server)
        try:
            ovs.start()
            yield ovs
        finally:
            ovs.stop()
