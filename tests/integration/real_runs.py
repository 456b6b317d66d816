"""Runs of the real OVS-DPDK from the command line: started, watched from outside, and disturbed.

A run tells of its phases and trials on stderr, one JSON object each; so a test knows when to do
what. Its programs are found by the mark that they carry and by the folder of deployments, which
each test has for itself.
"""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from vpp_cases import vpp_words

from vsperf.engine import calibration
from vsperf.errors import ExitCode
from vsperf.host.cache import read_found, write_found
from vsperf.host.hugepages import read_pools
from vsperf.host.procfs import MARK, marked_below, start_ticks
from vsperf.records.files.folders import LATEST
from vsperf.records.files.view import RunView, open_run
from vsperf.records.run import Outcome
from vsperf.records.trial import Purpose, Trial
from vsperf.trust import own_python

PATIENCE_S = 180.0
"""With what is over in seconds, but on a machine that is busy enough."""
POLL_S = 0.005
TIMES = 3
"""A busy machine may spoil a run; that says so, and is made anew."""
CONNECTED = "03"
"""The state of a socket, as the kernel lists those of this machine."""
FIXED = (
    "run",
    "phy2phy_smoke",
    "--set=trial.warm_up=0s",
    "--set=trial.drain=500ms",
    "--set=trial.linger=20ms",
    "--set=trial.stretch_tolerance=100%",
    "--set=trial.offered_tolerance=100%",
    "--set=search.kind=fixed",
    "--set=search.loads=[100kfps,200kfps]",
    "--set=search.duration=400ms",
    "--set=latency=null",
)
"""The shortest real run: a path check and two trials, which may be late on a busy machine."""
GIVEN_LOADS = re.compile(r"search.*kind[=:] ?fixed")
"""A word of runs whose loads are given: nothing in them depends on the cap of the generator."""
BRIEFLY = "--set=generator.stalls=100ms"
"""How long the CPUs are watched where no test looks at what was seen."""
NOT_BRIEFLY = ("--resume", "--testbed", "--set=generator.kind=", "--set=generator=")
"""Words of runs in which that is settled, or whose generator watches no CPUs."""

IDLY = (
    '--set=vswitch.other_config.pmd-maxsleep="500"',
    '--set=vswitch.other_config.pmd-sleep-max="500"',
)
"""A switch that has nothing to do leaves its CPU to other tests; releases have their own words."""
NOT_IDLY = re.compile(r"vswitch(\.kind|\.other_config|=)|^--(vswitch|resume|testbed)\b")
"""Words of runs whose switch is another, or has settings of its own."""

Event = dict[str, Any]


@dataclass(frozen=True)
class Ended:
    """A run that is over."""

    code: int
    out: str
    err: str
    took_s: float

    @property
    def events(self) -> list[Event]:
        lines = self.err.split("\n")[:-1]
        return [json.loads(line) for line in lines if line.startswith('{"event"')]

    def of(self, kind: str) -> list[Event]:
        return [event for event in self.events if event["event"] == kind]

    @property
    def phases(self) -> list[str]:
        return [event["phase"] for event in self.of("PhaseEntered")]

    @property
    def said(self) -> str:
        """What it said beside its events."""
        lines = self.err.splitlines()
        return "\n".join(line for line in lines if not line.startswith('{"event"'))


@dataclass
class Run:
    """A run that goes on."""

    process: subprocess.Popen[bytes]
    out: Path
    err: Path
    began: float = field(default_factory=time.monotonic)

    def events(self) -> list[Event]:
        """Return what it has told of so far."""
        lines = self.err.read_text().split("\n")[:-1]
        return [json.loads(line) for line in lines if line.startswith('{"event"')]

    def wait_for(self, kind: str, number: int = 1, **values: object) -> None:
        """Wait until it has told of so many events of a kind."""

        def told() -> bool:
            found = [event for event in self.events() if event["event"] == kind]
            return sum(values.items() <= event.items() for event in found) >= number

        self.wait_until(told)

    def wait_until(self, condition: Callable[[], object]) -> None:
        """Wait for a condition, for as long as the run goes on."""
        deadline = time.monotonic() + PATIENCE_S
        ended = self.process.poll()
        while not condition():
            assert ended is None, f"it ended with {ended} before that: {self.err.read_text()}"
            assert time.monotonic() < deadline, self.err.read_text()
            time.sleep(POLL_S)
            ended = self.process.poll()  # looked at first: it may tell of it and end in between

    def send(self, number: signal.Signals) -> None:
        self.process.send_signal(number)

    def end(self, patience_s: float = PATIENCE_S) -> Ended:
        """Wait for its end, which is none in a traceback; the time counts from the call."""
        ended = self.over(patience_s)
        assert "Traceback" not in ended.err
        return ended

    def over(self, patience_s: float) -> Ended:
        """Wait for its end, whatever that is."""
        began = time.monotonic()
        self.process.wait(patience_s)
        took_s = time.monotonic() - began
        return Ended(self.process.returncode, self.out.read_text(), self.err.read_text(), took_s)


@dataclass
class Place:
    """A folder to run vsperf in, with deployments and calibrations of its own."""

    folder: Path
    runtime: Path
    cache: Path
    pages: dict[Path, int] = field(default_factory=dict)
    """Hugepages that there were before, by pool."""
    runs: list[Run] = field(default_factory=list)

    @property
    def results(self) -> Path:
        return self.folder / "results"

    @property
    def called_in(self) -> Path:
        """The working directory of its commands."""
        return self.folder

    @property
    def environ(self) -> dict[str, str]:
        kept = {name: value for name, value in os.environ.items() if "VSPERF" not in name}
        own = {"HOME": self.folder, "XDG_CACHE_HOME": self.cache, "VSPERF_RUNTIME": self.runtime}
        return {**kept, "VSPERF_ANYWAY": "1", **{name: str(path) for name, path in own.items()}}

    def cache_for(self, arguments: Iterable[str]) -> Path:
        """Return the folder of calibrations for a command.

        Where a hypervisor moves the CPUs, every few runs would measure the cap anew. Those that do
        not depend on it have calibrations that do not say where the CPUs were, and so stay.
        """
        if not any(map(GIVEN_LOADS.search, arguments)):
            return self.cache
        folder = self.cache / "given"
        path = folder / "vsperf" / "calibration.json"
        if found := read_found(path, calibration.FORMAT):
            for one in found.values():
                one["calibration"]["round_trip_ns"] = None
            write_found(path, calibration.FORMAT, found)
        return folder

    @staticmethod
    def idly(arguments: Sequence[str]) -> tuple[str, ...]:
        """Return words for runs at given loads, in which it does not matter how fast OVS can be."""
        given = arguments[0] in {"run", "plan"} and any(map(GIVEN_LOADS.search, arguments))
        return IDLY if given and not any(map(NOT_IDLY.search, arguments)) else ()

    def start(self, *arguments: str, wrapped: tuple[str, ...] = (), **more: str) -> Run:
        """Start a command; events on stderr if it is a run."""
        ours = ["--progress=json"] if "run" in arguments else []
        if ours and not any(one.startswith(NOT_BRIEFLY) for one in arguments):
            ours.append(BRIEFLY)
        ours += self.idly(arguments)
        environ = {**self.environ, "XDG_CACHE_HOME": str(self.cache_for(arguments)), **more}
        number = len(self.runs)
        out, err = self.folder / f"out-{number}", self.folder / f"err-{number}"
        with out.open("wb") as out_file, err.open("wb") as err_file:
            process = subprocess.Popen(
                [*wrapped, *own_python.module("vsperf", *arguments, *ours)],
                cwd=self.called_in,
                env=environ,
                stdin=subprocess.DEVNULL,
                stdout=out_file,
                stderr=err_file,
            )
        run = Run(process, out, err)
        self.runs.append(run)
        return run

    def __call__(self, *arguments: str, wrapped: tuple[str, ...] = (), **more: str) -> Ended:
        """Run a command to its end."""
        return self.start(*arguments, wrapped=wrapped, **more).end()

    def until_decided(self, *arguments: str) -> Ended:
        """Run a command to its end, and anew while its answer is that the machine was too busy."""
        for _ in range(TIMES):
            ended = self(*arguments)
            if ended.code != ExitCode.INVALID_RESULT:
                break
        return ended

    def records(self) -> RunView:
        """Return the run last worked on, as stored."""
        return open_run((self.results / LATEST).resolve())

    def programs(self) -> dict[int, str]:
        """Return the programs of deployments in this place: their names by their numbers."""
        found = {}
        for pid in marked_below("vsperf-"):
            try:
                environ = Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
            except OSError:
                continue
            if f"VSPERF_RUNTIME={self.runtime}".encode() in environ:
                (mark,) = (item for item in environ if item.startswith(f"{MARK}=".encode()))
                found[pid] = mark.decode().rpartition("/")[2]
        return {pid: name for pid, name in found.items() if start_ticks(pid) is not None}

    def speaks_to_generator(self) -> bool:
        """Say whether vsperf and a generator of this place are connected."""
        rows = [row.split() for row in Path("/proc/net/unix").read_text().splitlines()]
        own = [row for row in rows if row[-1].startswith(f"{self.runtime}/")]
        return any(row[5] == CONNECTED and row[-1].endswith("/tgen.sock") for row in own)

    def signal(self, name: str, number: signal.Signals) -> None:
        """Send a signal to a program of the deployment."""
        pids = [pid for pid, known in self.programs().items() if known == name]
        assert pids, f"no {name} runs"
        for pid in pids:
            os.kill(pid, number)

    def traces(self) -> list[str]:
        """Return what is on the machine now and was not before."""
        found = [f"program {name} ({pid})" for pid, name in self.programs().items()]
        found += [str(path) for path in sorted(self.runtime.glob("*"))]
        for pool, pages in self.pages.items():
            if (now := hugepages()[pool]) != pages:
                found.append(f"{now} pages in {pool}, which had {pages}")
        return found

    def tidy(self) -> None:
        """End what a failed test left."""
        for run in self.runs:
            if run.process.poll() is None:
                run.process.kill()
            run.process.wait()
        if self.traces():
            self("clean")


def trials_at(place: Place, loads: str, *words: str) -> list[Trial]:
    """Run one case briefly at some loads, and return the trials of them that are believed.

    A trial that a busy machine spoiled is repeated.
    """
    ended = place(
        "run",
        *words,
        "--set=traffic.frame_size=64",
        "--set=trial.warm_up=0s",
        "--set=trial.drain=1s",
        "--set=trial.offered_tolerance=50%",
        f"--set=search={{kind: fixed, loads: [{loads}], duration: 500ms, loss_ratio: 100%}}",
        "--set=latency=null",
    )
    assert ended.code == 0, ended.err
    (case,) = place.records().cases()
    assert case.record is not None and case.record.outcome is Outcome.PASS
    return [one for one in case.trials if one.valid and one.purpose is Purpose.SEARCH]


def hugepages() -> dict[Path, int]:
    """Return how many hugepages there are, by pool."""
    return {pool.folder: pool.total for pool in read_pools()}


def wait_until(condition: Callable[[], object], patience_s: float) -> bool:
    """Wait for a condition; say whether it came."""
    deadline = time.monotonic() + patience_s
    while not (met := condition()) and time.monotonic() < deadline:
        time.sleep(POLL_S)
    return bool(met)


@pytest.fixture(name="calibrations", scope="session")
def fixture_calibrations(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder of calibrations for all tests: each frame size is measured once.

    Whoever runs tests beside this process uses it, too: one of them at a time has the machine.
    """
    own = tmp_path_factory.getbasetemp()
    folder = (own.parent if "PYTEST_XDIST_WORKER" in os.environ else own) / "calibrations"
    folder.mkdir(exist_ok=True)
    return folder


@pytest.fixture(name="switch", params=["ovs-dpdk", "vpp"])
def fixture_switch(
    request: pytest.FixtureRequest, require: Callable[[str], None]
) -> tuple[str, ...]:
    """Say in words of a command line which switch a testcase is to have."""
    if request.param == "ovs-dpdk":
        return ()
    require("vpp")
    return vpp_words()


@pytest.fixture(name="place")
def fixture_place(
    tmp_path: Path, calibrations: Path, require: Callable[[str], None]
) -> Iterator[Place]:
    """Give a place to run the real thing in, and see that nothing is left of it."""
    for part in ("ovs-dpdk", "tgen", "hugepages"):
        require(part)
    with tempfile.TemporaryDirectory(prefix="rt-") as runtime:  # short, as sockets need
        place = Place(tmp_path, Path(runtime) / "run", calibrations, hugepages())
        try:
            yield place
            left = place.traces()
        finally:
            place.tidy()
        assert left == [], left
