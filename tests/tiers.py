"""Two tiers: what every change runs (`make test`), and everything (`make test-all`).

Of the tests that touch no machine all are everyday; `make check` runs those of them that are quick.
Of the others only those that are marked so: a real switch, generator or guest takes seconds to
start, and a busy machine spoils what it does. `make test-all` runs in shards, each one of them
again and again until all has passed at a commit.
"""

from __future__ import annotations

import hashlib
import json
import subprocess
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pytest

HERE = Path(__file__).parent
REPOSITORY = HERE.parent
KEPT = REPOSITORY / "build" / "tests"
"""Where is kept what has passed, and how long it took."""
SECONDS = HERE / "seconds.tsv"
"""How long modules took when it was last looked at: by this, shards are made equally long."""
GIT = ("git", "-c", "safe.directory=*")
"""git, also in a checkout of another owner: a container often runs as root in a user's folder."""
TOUCHING = frozenset({"subprocess", "threading", "time", "signal", "multiprocessing"})
"""What is imported by a test that starts processes or looks at clocks."""
A_DAY_S = 24 * 3600
QUICK_S = 3
"""A module of unit tests that takes no longer is part of `make check`."""
STATES = 9
"""How many states of the checkout are remembered beside the present one."""


@dataclass(frozen=True, slots=True)
class Shard:
    """The first of eight, say."""

    number: int
    count: int

    @classmethod
    def parse(cls, text: str) -> Shard:
        """Read 3/8, or raise `pytest.UsageError`."""
        number, _, count = text.partition("/")
        if not (number.isdecimal() and count.isdecimal() and 1 <= int(number) <= int(count)):
            raise pytest.UsageError(f"a shard is given as 3/8, and not as {text}")
        return cls(int(number), int(count))

    def __str__(self) -> str:
        return f"{self.number}/{self.count}"


def is_everyday(item: pytest.Item) -> bool:
    """Whether `make test` runs a test."""
    if item.get_closest_marker("thorough"):
        return False
    if scaffolding := item.get_closest_marker("scaffolding"):
        return changed(scaffolding.args)
    return item.get_closest_marker("everyday") is not None or not is_real(item)


def is_quick(item: pytest.Item) -> bool:
    """Whether `make check` runs a test: it is a short one, or has been changed since the commit."""
    module = module_of(item.nodeid)
    short = seconds_of_modules().get(module, 0.0) <= QUICK_S
    return (short or module in changed_since_commit()) and is_everyday(item) and not is_real(item)


@cache
def changed_since_commit() -> frozenset[str]:
    """Return the files that differ from the latest commit; none where git cannot say."""
    try:
        return frozenset(_git(REPOSITORY, "ls-files", "-mo", "--exclude-standard").split("\n"))
    except (OSError, subprocess.CalledProcessError):
        return frozenset()


def is_real(item: pytest.Item) -> bool:
    """Whether a test runs programs that are measured, or the command line as a program."""
    in_integration = item.path.is_relative_to(HERE / "integration")
    return in_integration or item.get_closest_marker("machine") is not None


def touches_the_machine(item: pytest.Item) -> bool:
    """Whether a test depends on more than its own code: the machine, processes or clocks."""
    return is_real(item) or imports_touching(item.path)


@cache
def imports_touching(module: Path) -> bool:
    """Whether a module starts processes or looks at clocks, or a contract beside it that it joins.

    What such a module runs stands in the contract, and next to nothing in itself.
    """
    lines = module.read_text().splitlines()
    words = (line.split()[1] for line in lines if line.startswith(("import ", "from ")))
    named = {word.partition(".")[0] for word in words}
    joined = (module.with_name(f"{name}.py") for name in named if name.endswith("_contract"))
    return bool(named & TOUCHING) or any(imports_touching(one) for one in joined if one.is_file())


def changed(paths: Sequence[str], repository: Path = REPOSITORY) -> bool:
    """Whether files below these paths changed since the tests of them last passed here.

    A fresh clone remembers nothing: there, what the last day of work changed counts.
    """
    return _digest(repository, tuple(paths)) not in _passed_digests() and _touched(
        repository, tuple(paths)
    )


def digest_of(paths: Sequence[str]) -> str:
    """What lies at these paths, as it was when this process first looked at it."""
    return _digest(REPOSITORY, tuple(paths))


def remember_scaffolding(digest: str) -> None:
    """Keep that the tests of what was so have passed."""
    KEPT.mkdir(parents=True, exist_ok=True)
    with (KEPT / "scaffolding").open("a") as kept:
        kept.write(f"{digest}\n")


def _passed_digests() -> frozenset[str]:
    try:
        return frozenset((KEPT / "scaffolding").read_text().split())
    except OSError:
        return frozenset()


@cache
def _digest(repository: Path, paths: tuple[str, ...]) -> str:
    found = hashlib.sha256()
    for path in sorted(_files(repository, paths)):
        found.update(f"{path.relative_to(repository)}\0".encode() + path.read_bytes())
    return found.hexdigest()


def _files(repository: Path, paths: Iterable[str]) -> Iterable[Path]:
    for path in paths:
        root = repository / path
        below = root.rglob("*") if root.is_dir() else [root]
        yield from (file for file in below if file.is_file() and "__pycache__" not in file.parts)


@cache
def _touched(repository: Path, paths: tuple[str, ...]) -> bool:
    """Whether the last day of work touched a path, committed or not; True where nobody can say."""
    try:
        newest = int(_git(repository, "log", "-1", "--format=%ct"))
        since = f"--since=@{newest - A_DAY_S}"
        commits = _git(repository, "log", since, "--format=%h", "--", *paths)
        return bool(commits or _git(repository, "status", "--porcelain", "--", *paths))
    except (OSError, subprocess.CalledProcessError, ValueError):
        return True


def _git(repository: Path, *words: str) -> str:
    command = [*GIT, "-C", str(repository), *words]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


def state_of_the_checkout() -> str | None:
    """Return a name for the commit with all that was changed since; None outside of git."""
    try:
        commit = _git(REPOSITORY, "rev-parse", "HEAD")
        changes = _git(REPOSITORY, "status", "--porcelain", "--untracked-files=all")
        difference = _git(REPOSITORY, "diff", "HEAD")
    except (OSError, subprocess.CalledProcessError):
        return None
    if not changes:
        return commit[:16]
    found = hashlib.sha256(difference.encode())
    for line in changes.splitlines():
        if line.startswith("??"):
            with suppress(OSError):
                found.update((REPOSITORY / line[3:]).read_bytes())
    return f"{commit[:16]}-{found.hexdigest()[:8]}"


@dataclass(frozen=True, slots=True)
class Memory:
    """What has passed at this state of the checkout, and what tests counted; no kill loses it."""

    file: Path | None

    @classmethod
    def of_this_checkout(cls) -> Memory:
        state = state_of_the_checkout()
        return cls(KEPT / f"passed-{state}.jsonl" if state else None)

    def passed(self) -> dict[str, float]:
        """Return the seconds of each test that has passed."""
        return {said["test"]: said["seconds"] for said in self._lines() if "seconds" in said}

    def add(self, test: str, seconds: float) -> None:
        """Keep that a test has passed."""
        self._keep({"test": test, "seconds": round(seconds, 3)})

    def count(self, test: str, figures: Mapping[str, int]) -> None:
        """Keep what a test has counted, whether it passed or not."""
        self._keep({"test": test, "figures": dict(figures)})

    def counted(self) -> Counter[str]:
        """Return all that was counted, together: failures and repeats, too."""
        found: Counter[str] = Counter()
        for said in self._lines():
            found.update(said.get("figures", {}))
        return found

    def _keep(self, said: Mapping[str, object]) -> None:
        if self.file is None:
            return
        if not self.file.exists():
            self.file.parent.mkdir(parents=True, exist_ok=True)
            self._forget_old_states()
        with self.file.open("a") as file:
            file.write(json.dumps(said) + "\n")

    def _lines(self) -> Iterator[dict[str, Any]]:
        """Yield what was kept; a torn last line counts for nothing."""
        if self.file is None or not self.file.exists():
            return
        for line in self.file.read_text().splitlines():
            with suppress(ValueError):
                yield json.loads(line)

    def _forget_old_states(self) -> None:
        """Leave those of the latest states: nobody goes back further."""
        assert self.file is not None
        kept = self.file.parent.glob("passed-*.jsonl")
        for old in sorted(kept, key=lambda one: one.stat().st_mtime)[:-STATES]:
            old.unlink()


@cache
def seconds_of_modules() -> dict[str, float]:
    """Return how long each module took when it was last looked at."""
    lines = SECONDS.read_text().splitlines() if SECONDS.exists() else []
    return {module: float(seconds) for module, seconds in (line.split("\t") for line in lines)}


def unit_of(item: pytest.Item) -> str:
    """What shards are made of: modules, whose tests may share what runs, and `divided` tests."""
    return item.nodeid if item.get_closest_marker("divided") else module_of(item.nodeid)


def module_of(test: str) -> str:
    """Return the module that a test stands in."""
    return test.partition("::")[0]


def shards_of(units: Mapping[str, bool], count: int) -> dict[str, int]:
    """Divide modules and tests into shards equally long; the value says who needs the machine.

    The lanes run side by side, so each is divided for itself. What nobody has looked at is taken
    for one of the middle.
    """
    known = seconds_of_modules()
    divided = Counter(map(module_of, units))
    length = {
        unit: known[module] / divided[module] if (module := module_of(unit)) in known else 5.0
        for unit in units
    }
    found: dict[str, int] = {}
    for lane in (True, False):
        members = [unit for unit, machine in units.items() if machine is lane]
        filled = dict.fromkeys(range(1, count + 1), 0.0)
        for unit in sorted(members, key=lambda name: (-length[name], name)):
            shortest = min(filled, key=lambda shard: (filled[shard], shard))
            filled[shortest] += length[unit]
            found[unit] = shortest
    return found


def by_module(seconds: Mapping[str, float]) -> dict[str, float]:
    """Return the seconds of modules, from those of their tests; the longest first."""
    found: defaultdict[str, float] = defaultdict(float)
    for test, taken in seconds.items():
        found[module_of(test)] += taken
    return dict(sorted(found.items(), key=lambda item: -item[1]))


def note_seconds() -> int:
    """Write down how long modules took at this commit, for shards that are equally long."""
    found = by_module(Memory.of_this_checkout().passed())
    known = {**seconds_of_modules(), **found}
    there = {module: seconds for module, seconds in known.items() if (REPOSITORY / module).exists()}
    lines = [f"{module}\t{seconds:.0f}\n" for module, seconds in sorted(there.items())]
    SECONDS.write_text("".join(lines))
    return len(found)


if __name__ == "__main__":
    note_seconds()
