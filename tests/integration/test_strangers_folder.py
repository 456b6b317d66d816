"""Root calls vsperf in a folder of another user, which is full of traps, and none is opened.

What is a trap nobody says by hand: the kernel's own word on each file that any of the programs
opens or runs is taken, and whatever lies in that folder is one, be it there or only looked for.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest
from attacker import as_nobody, town
from cli_shell import SMOKE
from real_runs import Place, fixture_calibrations, fixture_place, wait_until
from traps import lay

from vsperf.cli.main import COMMANDS
from vsperf.errors import ExitCode
from vsperf.trust import own_python

__all__ = ["fixture_calibrations", "fixture_place"]

# What is left of hugepages is looked at, and a run beside takes and gives back its own.
pytestmark = pytest.mark.machine

TRACED = "open,openat,openat2,creat,execve,execveat,uselib"
CALL = re.compile(r"^\d+ +(\w+)\((?:(?:AT_FDCWD|\d+)<([^>]*)>, )?\"((?:[^\"\\]|\\.)*)\", ?(.*)")
"""A system call with the folder that its path is relative to, the path, and the rest."""
NO_CONTENT = re.compile(r"O_PATH|O_DIRECTORY")
CONF = ("conf/testbeds/sim.yaml", "conf/defaults.yaml", "testcases/phy2phy_smoke.yaml")
"""What would be used, were it root's: whoever finds these is refused."""
OURS = ("results", "out")
"""What root itself names there: the results of its runs, and files that begin so."""

MEASURED = (ExitCode.OK, ExitCode.CRITERION_MISSED, ExitCode.INVALID_RESULT)

SIMULATED = ("--testbed", "sim")
BY_HAND = ("--vdev", "net_ring0", "--no-hugepages")
EVERY: dict[str, tuple[tuple[str, ...], ...]] = {
    "run": (SMOKE,),
    "plan": (("plan", "phy2phy_smoke", *SIMULATED), ("plan", "pvp_smoke")),
    "list": (("list", "testcases"), ("list", "testbeds")),
    "show": (("show", "latest"), ("show", "phy2phy_smoke", *SIMULATED)),
    "results": (("results",),),
    "report": (("report", "latest", "-o", "out.html"), ("report", "latest", "-o", "out.md")),
    "plot": (("plot", "search", "latest", "-o", "out.svg"),),
    "compare": (("compare", "latest", "latest", "--format", "html", "-o", "out.html"),),
    "trend": (("trend", "phy2phy_smoke"),),
    "baseline": (("baseline", "set", "main", "latest"), ("baseline", "list")),
    "export": (("export", "json", "latest", "-o", "out.json"),),
    "doctor": (("doctor",),),
    "tgen": (("tgen", "ports", *BY_HAND), ("tgen", "capture", *BY_HAND, "out.pcap")),
    "shell": (("shell", "vm1", "true"),),
    "clean": (("clean",),),
    "schema": (("schema", "records"),),
    "plugins": (("plugins",),),
    "explain": (("explain", "exit-codes"),),
    "completion": (("completion", "bash"),),
}
REAL = {
    "switch and generator": ("phy2phy_smoke",),
    "guests": ("pvp_smoke",),
    "processes": ("pvp_smoke", "--vnf=process", "--set=vswitch.ports=vhost-user"),
    "a private server": (
        *("phy2phy_tput", "--set=vswitch.kind=linux-bridge", "--set=traffic.frame_size=64"),
        *("--set=generator.kind=otg", "--set=generator.server=start", "--set=latency=null"),
        "--set=search={kind: fixed, loads: [2kfps], duration: 500ms, loss_ratio: 100%}",
    ),
}


@dataclass(frozen=True)
class Folder:
    """The folder of another user in which root types commands."""

    path: Path
    place: Place
    trace: Path

    def argv(self, *words: str) -> tuple[str, ...]:
        watching = ("strace", "-f", "-y", "-qq", "--seccomp-bpf", f"--trace={TRACED}")
        return (*watching, "-o", str(self.trace), *own_python.module("vsperf", *words))

    def start(self, *words: str) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            self.argv(*words),
            cwd=self.path,
            env={**self.place.environ, "PYTHONDONTWRITEBYTECODE": "1"},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )

    def __call__(self, *words: str) -> int:
        """Run a command; return its exit code, and see that no trap was touched."""
        with self.start(*words) as process:
            try:
                said = process.communicate(timeout=600)[0].decode(errors="replace")
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)  # who waits at a pipe does so for ever
                raise
        assert "Traceback" not in said
        assert process.returncode not in (ExitCode.BUG, 99), said
        assert self.touched() == [], words
        return process.returncode

    def touched(self) -> list[str]:
        """Return what was opened or run of what lies in the folder, or would lie there."""
        return [*touched(self.path, self.trace.read_text(errors="replace").splitlines())]


def touched(folder: Path, lines: Sequence[str]) -> Iterator[str]:
    """Yield the calls that open or run something in a folder which root has not named there."""
    for line in lines:
        if not (call := CALL.match(line)):
            continue
        name, base, path, rest = call.groups()
        reached = Path(os.path.normpath(Path(base or folder) / path))
        if not reached.is_relative_to(folder) or reached == folder:
            continue
        named = reached.relative_to(folder).parts[0].lstrip(".")
        listed = name.startswith("open") and NO_CONTENT.search(rest)
        if not listed and not named.startswith(OURS):
            yield line


@pytest.fixture(name="folder")
def fixture_folder(
    place: Place, require: Callable[[str], None], tmp_path: Path
) -> Iterator[Folder]:
    """Give the folder, with its traps."""
    require("root")
    require("strace")

    with town() as made:
        theirs = made.tmp / "theirs"
        as_nobody(theirs.mkdir)
        as_nobody(lambda: lay(theirs))
        as_nobody(lambda: os.mkfifo(theirs / "matplotlibrc"))
        yield Folder(theirs, place, tmp_path / "trace")


def test_what_a_trap_would_look_like_is_found() -> None:
    folder = Path("/tmp/x")
    base = 'openat(AT_FDCWD</tmp/x>, "{}", O_RDONLY) = 3</tmp/x/{}>'
    for line in (
        f"1 {base.format('json.py', 'json.py')}",
        '12  openat(AT_FDCWD</tmp/x>, "bios-256k.bin", O_RDONLY) = -1 ENOENT (No such file)',
        '1 openat(5</tmp/x/vsperf>, "a.py", O_RDONLY|O_CLOEXEC) = 3</tmp/x/vsperf/a.py>',
        '1 openat(AT_FDCWD</>, "/tmp/x/conf/defaults.yaml", O_RDONLY) = 3',
        '1 execve("./tgen", ["tgen"], 0x7ffc /* 20 vars */) = 0',
        '1 openat(AT_FDCWD</tmp/x>, "results/../json.py", O_RDONLY <unfinished ...>',
    ):
        assert [*touched(folder, [line])] == [line]
    for line in (
        '1 openat(AT_FDCWD</tmp/x>, "results/a/records.jsonl", O_RDONLY) = 3',
        '1 openat(AT_FDCWD</tmp/x>, "conf/testbeds", O_RDONLY|O_DIRECTORY) = 3',
        '1 openat(AT_FDCWD</tmp/other>, "json.py", O_RDONLY) = 3',
        '1 openat(AT_FDCWD</tmp/x>, "/usr/lib/json.py", O_RDONLY) = 3',
    ):
        assert [*touched(folder, [line])] == []


def test_every_command_is_tried() -> None:
    needs_more = {"deploy", "otg"}  # which a test of its own ends
    assert {*EVERY} | needs_more == {*COMMANDS}


@pytest.mark.parametrize("command", EVERY)
def test_no_command_opens_a_trap(
    folder: Folder, require: Callable[[str], None], command: str
) -> None:
    if command == "tgen":
        require("tgen")
    if command not in ("run", "plan", "list", "schema", "plugins", "explain", "completion"):
        assert folder(*SMOKE) == ExitCode.OK
    for words in EVERY[command]:
        folder(*words)


def test_what_is_refused_for_its_owner_is_not_opened_before(folder: Folder) -> None:
    def lay_files() -> None:
        for name in CONF:
            (folder.path / name).parent.mkdir(parents=True, exist_ok=True)
            (folder.path / name).write_text("{}")

    as_nobody(lay_files)
    assert folder("plan", *SMOKE[1:]) == ExitCode.BAD_INPUT


@pytest.mark.needs("tgen")
def test_a_server_opens_no_trap(folder: Folder) -> None:
    argv = ("otg", "serve", "--port=p1=net_ring0", "--listen=127.0.0.1:0", "--no-hugepages")
    with folder.start(*argv) as process:
        assert process.stdout is not None
        said = process.stdout.readline()
        assert b"listening" in said, said
        _interrupt(process)
    assert folder.touched() == []


@pytest.mark.parametrize("kind", REAL)
def test_no_real_run_opens_a_trap(
    folder: Folder, require: Callable[[str], None], kind: str
) -> None:
    for part in ("tgen", "bridges" if "server" in kind else "ovs-dpdk"):
        require(part)
    if kind == "guests":
        require("guests")
    assert folder("run", *REAL[kind]) in MEASURED


@pytest.mark.needs("ovs-dpdk")
def test_no_deployment_opens_a_trap(folder: Folder) -> None:
    with folder.start("deploy", "pvp_smoke", "--vnf=process") as process:
        assert wait_until(lambda: "vm1" in folder.place.programs().values(), 300)
        _interrupt(process)
    assert folder.touched() == []


def _interrupt(process: subprocess.Popen[bytes]) -> None:
    """Send Ctrl-C to what is watched, as strace itself passes none on."""
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
    os.kill(int(children[0]), signal.SIGINT)
    process.communicate(timeout=120)
