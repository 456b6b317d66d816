"""Carries out the attacks of one fuzzer, one for each number that it is told.

python -m attacks.worker NAME SEED FOLDER
"""

from __future__ import annotations

import json
import os
import random
import sys
from abc import ABC, abstractmethod
from contextlib import suppress
from importlib import import_module
from pathlib import Path

from attacks.apart import preload

FUZZERS = (
    *("loader", "cli", "records", "index", "journal", "control", "agent", "otg"),
    "programs",
)
"""Modules of this package: each has a function `fuzzer` that returns one for a folder."""


class Fuzzer(ABC):
    """Attacks with inputs of one kind."""

    taken = 0
    """Inputs that nobody refused, where that is counted: the others only tried the first check."""

    @abstractmethod
    def __call__(self, chance: random.Random) -> list[str]:
        """Attack once; return what should not have happened."""


def make(name: str, folder: Path) -> Fuzzer:
    """Return the fuzzer of that name."""
    fuzzer: Fuzzer = import_module(f"attacks.fuzz_{name}").fuzzer(folder)
    return fuzzer


def attack(fuzzer: Fuzzer, name: str, seed: int, number: int) -> list[str]:
    """Give it the input that follows from seed and number."""
    return fuzzer(random.Random(f"{seed} {name} {number}"))


def main() -> None:
    """Attack as often as a line comes in, and answer each with one line of JSON."""
    name, seed, folder = sys.argv[1:]
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # whatever else is printed is no answer
    preload()
    fuzzer = make(name, Path(folder))
    for line in sys.stdin:
        found = attack(fuzzer, name, int(seed), int(line))
        answers.write(json.dumps({"found": found, "taken": fuzzer.taken}) + "\n")
        answers.flush()
        with suppress(ChildProcessError):
            while os.waitpid(-1, os.WNOHANG)[0]:  # orphans are handed to the first process here
                pass


if __name__ == "__main__":
    main()
