"""Attacks as a soak carries them out: each has a name, and rounds that follow from a seed."""

from __future__ import annotations

import json
import random
import select
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from machine_lock import machine_to_oneself
from real_runs import hugepages

from attacks.announced import found
from attacks.arena import Arena
from attacks.full_disk import FullDisk
from attacks.kills import (
    IN_TURNS,
    OTG,
    P2P,
    PROCESSES,
    PVP,
    SIMULATED,
    TWO_SWITCHES,
    Pace,
    Round,
    Scenario,
)
from attacks.sandbox import sandbox
from attacks.stop import Stop
from attacks.tally import Tally
from attacks.worker import FUZZERS

PATIENCE_S = 600.0
"""For one input, with what has to be made before the first one."""


class Campaign(Protocol):
    """A kind of attack that is carried out again and again."""

    @property
    def name(self) -> str:
        """What it is called on the command line."""

    @property
    def group(self) -> str:
        """The kind of attacks that it belongs to: kills or fuzz."""

    @property
    def slice_s(self) -> float:
        """For how long it is carried out before another one has its turn."""

    def round(self, number: int) -> list[str]:
        """Attack once; return what should not have happened."""

    def end(self) -> None:
        """End what runs between rounds."""


@dataclass
class Kills:
    """Rounds of kills of one kind of run."""

    scenario: Scenario
    seed: int
    tally: Tally
    base: Path
    """Where rounds have their folders, deployments and calibrations."""
    evidence: Path
    """Where the files of a round go that found something."""
    stop: Stop = field(default_factory=Stop)
    full_disk: bool = False
    slice_s: float = 20.0
    group: str = "kills"
    pace: Pace = field(default_factory=Pace)

    @property
    def name(self) -> str:
        return f"{self.scenario.name}-full-disk" if self.full_disk else self.scenario.name

    def round(self, number: int) -> list[str]:
        with ExitStack() as stack:
            if self.scenario.real:
                with self.stop.waiting():
                    stack.enter_context(machine_to_oneself())
            if not self.pace.run_s:
                found = self._carry_out(f"{self.name} undisturbed", disturbed=False)
                if found:
                    return found
            return self._carry_out(f"{self.name} {number}", disturbed=True)

    def end(self) -> None:
        """Nothing runs between rounds."""

    def _carry_out(self, name: str, *, disturbed: bool) -> list[str]:
        chance = random.Random(f"{self.seed} {name}")
        with self._arena() as arena:
            kind = FullDisk if self.full_disk and disturbed else Round
            attack = kind(self.scenario, arena, chance, self.pace, self.tally, self.stop)
            problems = attack.carry_out(disturbed=disturbed)
            stored = arena.stored()
            if not disturbed and not self.scenario.real and stored is not None:
                self.pace.found = found(stored)
            if problems:
                self._keep(arena, name)
        return problems

    @contextmanager
    def _arena(self) -> Iterator[Arena]:
        with tempfile.TemporaryDirectory(prefix="round-", dir=self.base) as folder:
            arena = Arena(Path(folder), self.base / "run", self.base / "cache")
            if self.scenario.real:
                arena.pages_before = hugepages()
            yield arena

    def _keep(self, arena: Arena, name: str) -> None:
        kept = self.evidence / f"{name.replace(' ', '-')}-seed-{self.seed}"
        shutil.rmtree(kept, ignore_errors=True)
        shutil.copytree(arena.folder, kept, symlinks=True)


@dataclass
class Fuzz:
    """Hostile input of one kind, given in a sandbox."""

    name: str
    seed: int
    base: Path
    stop: Stop = field(default_factory=Stop)
    slice_s: float = 30.0
    group: str = "fuzz"
    taken: int = 0
    """Inputs that nobody refused, of the worker that runs."""
    _stack: ExitStack = field(default_factory=ExitStack)
    _worker: subprocess.Popen[str] | None = None

    def round(self, number: int) -> list[str]:
        if self._worker is None or self._worker.poll() is not None:
            self.end()  # of one that broke
            self._worker = self._stack.enter_context(self._started())
        with self.stop.waiting():
            found, self.taken = ask(self._worker, number)
        return found

    def end(self) -> None:
        self._stack.close()
        self._worker = None

    @contextmanager
    def _started(self) -> Iterator[subprocess.Popen[str]]:
        with tempfile.TemporaryDirectory(prefix="fuzz-", dir=self.base) as folder:
            argv = [sys.executable, "-m", "attacks.worker", self.name, str(self.seed), folder]
            with sandbox(argv, Path(folder)) as worker:
                yield worker


def ask(worker: subprocess.Popen[str], number: int) -> tuple[list[str], int]:
    """Let a worker attack once; return what should not have happened, and what it counts."""
    assert worker.stdin is not None
    assert worker.stdout is not None
    worker.stdin.write(f"{number}\n")
    worker.stdin.flush()
    answered, _, _ = select.select([worker.stdout], [], [], PATIENCE_S)
    answer = worker.stdout.readline() if answered else ""
    if not answer:
        worker.kill()
        worker.wait()
        return [f"the attack itself {'broke' if answered else f'hung for {PATIENCE_S:g} s'}"], 0
    said = json.loads(answer)
    return said["found"], said["taken"]


def campaigns(seed: int, tally: Tally, base: Path, evidence: Path, stop: Stop) -> list[Campaign]:
    """Return all campaigns, in the order in which they take turns."""
    kinds = (
        *((SIMULATED, False), (P2P, False), (SIMULATED, True)),
        *((PROCESSES, False), (PVP, False), (P2P, True)),
        *((TWO_SWITCHES, False), (IN_TURNS, False), (OTG, False)),
    )
    found: list[Campaign] = [
        Kills(scenario, seed, tally, base, evidence, stop, full_disk)
        for scenario, full_disk in kinds
    ]
    return found + [Fuzz(name, seed, base, stop) for name in FUZZERS]
