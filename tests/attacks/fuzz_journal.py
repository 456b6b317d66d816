"""Undo journals: whatever is in them, `vsperf clean` harms nothing and says what it could not do.

To be carried out in a sandbox alone: until it is shown that it does no harm, it may.
"""

from __future__ import annotations

import hashlib
import json
import os
import random
import shutil
import subprocess
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from attacks.apart import apart, vsperf
from attacks.damage import damaged_bytes, damaged_lines
from attacks.worker import Fuzzer
from vsperf.errors import ExitCode
from vsperf.host.journal import NAME, Journal
from vsperf.host.owner import Owner
from vsperf.host.procfs import MARK, marked_below, start_ticks
from vsperf.host.undo import AnyUndo, EndMarked, KillProcess, SweepDpdk

DAMAGED = "vsperf-4194001-aaaaaa"
NEIGHBOUR = "vsperf-4194002-bbbbbb"
SLEEP = ("sleep", "1000")


@dataclass
class Deployment:
    """What a killed run left: a folder, a journal, and a program that still runs."""

    folder: Path
    programs: list[subprocess.Popen[bytes]] = field(default_factory=list)

    def make(self) -> None:
        self.folder.mkdir(parents=True, mode=0o700)
        (self.folder / "parts").mkdir()
        (self.folder / "parts" / "socket").touch()
        (self.folder / "switch.log").touch()
        mark = f"{self.folder.name}/switch"
        program = subprocess.Popen(SLEEP, env={**os.environ, MARK: mark}, start_new_session=True)
        self.programs.append(program)
        undos: list[AnyUndo] = [
            SweepDpdk(prefix=self.folder.name),
            EndMarked(mark=mark),
            KillProcess(pid=program.pid, started=start_ticks(program.pid) or 0),
            EndMarked(mark=f"{self.folder.name}/generator"),
        ]
        owner = Owner.this_process("run of a soak")
        owner.model_copy(update={"pid": 4194001, "started": 1}).write(self.folder)
        journal = Journal(self.folder / NAME)
        numbers = [journal.planned(undo) for undo in undos]
        journal.undone(numbers[3])
        journal.close()

    @property
    def runs(self) -> bool:
        return bool(marked_below(f"{self.folder.name}/"))


@dataclass
class World(Fuzzer):
    """A damaged deployment, one beside it, and things that are nobody's business."""

    folder: Path

    def __call__(self, chance: random.Random) -> list[str]:
        runtime, precious = self.folder / "run", self.folder / "precious"
        for path in (runtime, precious):
            shutil.rmtree(path, ignore_errors=True)
        (precious / "inner").mkdir(parents=True)
        (precious / "file").write_text("precious")
        (precious / "inner" / "file").write_text("precious")
        damaged, neighbour = Deployment(runtime / DAMAGED), Deployment(runtime / NEIGHBOUR)
        bystander = subprocess.Popen(SLEEP, start_new_session=True)
        try:
            damaged.make()
            neighbour.make()
            how = self._damage(damaged.folder, bystander.pid, chance)
            found = self._clean(damaged, neighbour, bystander)
        finally:
            for program in (*damaged.programs, *neighbour.programs, bystander):
                with suppress(ProcessLookupError):
                    program.kill()
                program.wait()
        return [f"{problem}, after {how}" for problem in found]

    def _damage(self, folder: Path, bystander: int, chance: random.Random) -> str:
        """Damage what the deployment wrote down; return how."""
        path = folder / chance.choice([NAME] * 5 + [Owner.NAME])
        content = path.read_bytes()
        match chance.randrange(8):
            case 0:
                path.write_bytes(content[: chance.randrange(len(content))])
                return f"cutting {path.name}"
            case 1:
                path.write_bytes(damaged_bytes(content, chance))
                return f"damaging {path.name}"
            case 2 | 3:
                path.write_bytes(damaged_lines(content, chance))
                return f"damaging lines of {path.name}"
            case 4:
                path.unlink()
                return f"{_replace(path, self.folder / 'precious', chance)} at {path.name}"
            case 5:
                lines = content.splitlines(keepends=True)
                at = chance.randrange(len(lines))
                lines[at] = lines[at][: len(lines[at]) // 2] + b"\n"
                path.write_bytes(b"".join(lines))
                return f"cutting line {at + 1} of {len(lines)} of {path.name}"
            case _:
                undo = self._hostile(bystander, chance)
                line = json.dumps({"number": chance.choice([1, 99, -1]), "undo": undo}) + "\n"
                (folder / NAME).write_bytes((folder / NAME).read_bytes() + line.encode())
                return f"adding {undo}"

    def _hostile(self, bystander: int, chance: random.Random) -> dict[str, object]:
        """Return an undo of what no deployment can have done."""
        path = str(self.folder / "precious" / chance.choice(["file", "inner", "inner/file", ""]))
        path = chance.choice([path, f"{self.folder}/run/{DAMAGED}/../../precious/file"])
        match chance.randrange(6):
            case 0:
                return {"kind": "remove-file", "path": path}
            case 1:
                return {"kind": "remove-tree", "path": path}
            case 2:
                return {"kind": "write-file", "path": path, "value": "spoilt"}
            case 3:
                return {"kind": "kill-process", "pid": bystander, "started": 1}
            case 4:
                return {"kind": "end-marked", "mark": chance.choice(["", "vsperf", "/"])}
            case _:
                return {"kind": "unmount", "path": str(self.folder)}

    def _clean(
        self, damaged: Deployment, neighbour: Deployment, bystander: subprocess.Popen[bytes]
    ) -> list[str]:
        before = _state(self.folder / "precious")
        ended = vsperf("clean", folder=self.folder)
        found = ended.problems({int(ExitCode.OK), int(ExitCode.LEFT_BEHIND)})
        if _state(self.folder / "precious") != before:
            found.append("it harmed files of others")
        if bystander.poll() is not None:
            found.append("it ended a program of others")
        if neighbour.folder.exists() or neighbour.runs:
            found.append("it did not clean up the other deployment")
        if ended.code == ExitCode.OK and (damaged.folder.exists() or damaged.runs):
            found.append("it said that nothing is left, and left something")
        if ended.code != ExitCode.OK and damaged.runs and not damaged.folder.exists():
            found.append("a program runs that nobody will find any more")
        return found


def _replace(path: Path, precious: Path, chance: random.Random) -> str:
    """Put something else where a file was."""
    ways: dict[str, Callable[[], object]] = {
        "a folder": path.mkdir,
        "a pipe": lambda: os.mkfifo(path),
        "a link": lambda: path.symlink_to(precious / "file"),
        "a link to a folder": lambda: path.symlink_to(precious),
        "nothing": lambda: None,
    }
    name = chance.choice([*ways])
    ways[name]()
    return name


def _state(folder: Path) -> str:
    """Return a digest of all that is in a folder."""
    digest = hashlib.sha256()
    for path in sorted(folder.rglob("*")):
        digest.update(f"{path} {path.stat().st_mode} ".encode())
        digest.update(path.read_bytes() if path.is_file() else b"")
    return digest.hexdigest()


def fuzzer(folder: Path) -> Fuzzer:
    """Return the fuzzer of this module."""
    assert apart(lambda: os.access("/", os.W_OK)).code == 0, "this is no sandbox"
    return World(folder)
