"""What all benchmarks share: their options, what they say, the ratio they end with, and undoing.

A benchmark holds two things side by side that the same machine does within the same minute: their
ratio means something where either figure alone depends on the machine and on its neighbours.
"""

# ruff: noqa: T201
from __future__ import annotations

import argparse
import json
import re
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from vsperf.cli.problems import print_problems
from vsperf.errors import ComponentError, ExitCode, VsperfError
from vsperf.host.cpus import read_topology
from vsperf.host.hugepages import reserve
from vsperf.host.workspace import Workspace, workspace
from vsperf.stop import SignalWatch, Terminated
from vsperf.trust import own_python
from vsperf.waits import ended, lines, sleep

LOOK_S = 0.05
LAST_WORDS = 5
MEASURED = (ExitCode.OK, ExitCode.CRITERION_MISSED, ExitCode.INVALID_RESULT)
LINE = re.compile(r"ratio (.+) median (\S+) from (\S+) to (\S+) rounds (\d+)")


@dataclass(frozen=True, slots=True)
class Ratio:
    """What a benchmark found: how much the first of two things is of the second."""

    name: str
    median: float
    least: float
    most: float
    rounds: int

    @classmethod
    def of(cls, name: str, values: Sequence[float]) -> Self:
        """Return the ratio that was measured several times."""
        if not values:
            raise ComponentError(f"nothing was measured for the ratio {name!r}")
        return cls(name, statistics.median(values), min(values), max(values), len(values))

    @classmethod
    def read(cls, line: str) -> Self | None:
        """Return what a line says that `text` wrote; None for another line."""
        if (found := LINE.fullmatch(line.strip())) is None:
            return None
        name, median, least, most, rounds = found.groups()
        return cls(name, float(median), float(least), float(most), int(rounds))

    @property
    def text(self) -> str:
        """The last line that a benchmark prints."""
        return (
            f"ratio {self.name} median {self.median:.4g} from {self.least:.4g} "
            f"to {self.most:.4g} rounds {self.rounds}"
        )


@dataclass(frozen=True, slots=True)
class Option:
    """Something that can be chosen about a benchmark; its type is that of its values."""

    usual: int | float | str
    short: int | float | str
    """What `--short` takes: enough to see that it works, and roughly what comes out."""
    help: str


def options(about: str | None, example: str, **chosen: Option) -> argparse.ArgumentParser:
    """Return a parser for the options of a benchmark, and `--short`, described by its docstring."""
    title, _, rest = (about or "").partition("\n")
    parser = argparse.ArgumentParser(
        description=title,
        epilog=f"{rest.strip()}\n\nexample:\n  .venv/bin/python {example}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--short", action="store_true", help="take less time, and say less")
    for name, option in chosen.items():
        text = f"{option.help} (usually {option.usual}, with --short {option.short})"
        parser.add_argument(f"--{name}", type=type(option.usual), help=text.replace("%", "%%"))
    parser.set_defaults(chosen=chosen)
    return parser


def say(text: str) -> None:
    """Say at once what is done or was found."""
    print(text, flush=True)


def carry_out(
    parser: argparse.ArgumentParser, measure: Callable[[argparse.Namespace], Ratio]
) -> None:
    """Measure what was asked for, as usual or short where nothing was, and print the ratio."""
    found = parser.parse_args()
    for name, option in found.chosen.items():
        if getattr(found, name) is None:
            setattr(found, name, option.short if found.short else option.usual)
    with ending_orderly():
        say(measure(found).text)


@contextmanager
def ending_orderly() -> Iterator[None]:
    """Exit as vsperf does after an error or a signal; contexts inside have undone their part."""
    SignalWatch.install()
    try:
        yield
    except VsperfError as error:
        print_problems(error.problems)
        sys.exit(error.exit_code)
    except KeyboardInterrupt as error:
        print("interrupted; everything is as it was before", file=sys.stderr)
        stop = ExitCode.TERMINATED if isinstance(error, Terminated) else ExitCode.INTERRUPTED
        sys.exit(stop)


@contextmanager
def vsperf_run(
    results: Path, *more: str, packages: Path = own_python.BESIDE_US
) -> Iterator[tuple[int, Iterator[dict[str, Any]]]]:
    """Run testcases; gives the number of the process and its events as they come.

    A result that cannot be trusted, as on a busy machine, is one all the same. `packages` is a
    folder with drivers that count as installed.
    """
    ours = ("--results", str(results), "--progress", "json", "--anyway")
    argv = own_python.module("vsperf", "run", *more, *ours, folder=packages)
    say(f"vsperf run {' '.join(more)}")
    with subprocess.Popen(  # noqa: S603 - an argument vector of our own
        argv, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
    ) as process:
        words: list[str] = []
        try:
            yield process.pid, _events(process, words)
        finally:
            if process.poll() is None:
                process.terminate()
                process.communicate()
    if process.returncode not in MEASURED:
        raise ComponentError(
            f"vsperf run ended with exit code {process.returncode}",
            why=" | ".join(words[-LAST_WORDS:]) or None,
        )


def _events(process: subprocess.Popen[bytes], words: list[str]) -> Iterator[dict[str, Any]]:
    assert process.stderr is not None
    for line in lines(process.stderr):
        if line.startswith("{"):
            yield json.loads(line)
        elif line.strip():
            words.append(line.strip())
    ended(process.pid, None)
    process.wait()


def until(condition: Callable[[], bool], patience_s: float, otherwise: str) -> None:
    """Wait for a condition; raise `ComponentError` when it does not come true."""
    deadline = time.monotonic() + patience_s
    while not condition():
        if time.monotonic() > deadline:
            raise ComponentError(f"{otherwise} within {patience_s:g} s")
        sleep(LOOK_S)  # between two looks at a condition, never instead of one


@contextmanager
def hugepages(megabytes: int) -> Iterator[Workspace]:
    """Make a workspace and see to hugepages on the nodes of this program's CPUs, as a run does."""
    nodes = {cpu.node for cpu in read_topology().cpus}
    say(f"reserving {megabytes} MB of hugepages")
    claimed = dict.fromkeys(nodes, megabytes << 20)
    with workspace("a benchmark") as place, reserve(claimed, place):
        yield place
    place.require_nothing_left()


def two_cpus() -> tuple[int, int]:
    """Return a CPU for what mostly sleeps, and one for what polls; the same if there is one."""
    cpus = [cpu.number for cpu in read_topology().cpus]
    return cpus[0], cpus[-1]
