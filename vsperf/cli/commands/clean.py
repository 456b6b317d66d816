"""`vsperf clean`: remove what a killed run left behind; measurements are never removed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path

import click

from vsperf.cli.output import say
from vsperf.cli.stored import json_option, results_option, say_json
from vsperf.errors import ExitCode, UsageError
from vsperf.host.dead import dead_deployments, dead_elsewhere
from vsperf.host.hugepages import remainders
from vsperf.host.lock import remove_stale, stale_locks
from vsperf.host.places import trusted_folders
from vsperf.records.files.leftovers import leftovers
from vsperf.trust.trusted import DistrustedError


@dataclass(frozen=True, slots=True)
class Row:
    """One thing that was left behind, and what became of it."""

    path: str
    what: str
    removed: bool
    reason: str | None
    """Why it could not be removed."""
    steps: tuple[str, ...] = ()
    """What removing it means, in order."""
    forgotten: tuple[str, ...] = ()
    """What stays as it is on other machines, since nobody undoes it any more."""


@dataclass(frozen=True, slots=True)
class Removal:
    """One thing that can be removed."""

    path: Path
    what: str
    steps: tuple[str, ...]
    remove: Callable[[], tuple[str, ...]]
    """Removes it, and returns what failed."""
    forgotten: list[str] = field(default_factory=list)
    """Filled while it is removed."""

    def carry_out(self) -> Row:
        """Remove it and say what came of it."""
        try:
            failures = self.remove()
        except OSError as error:
            failures = (error.strerror or str(error),)
        reason = "; ".join(failures) or None
        gone = tuple(self.forgotten)
        return Row(str(self.path), self.what, not failures, reason, self.steps, gone)

    def imagine(self) -> Row:
        """Say what it is, and leave it."""
        return Row(str(self.path), self.what, removed=False, reason=None, steps=self.steps)


@click.command(
    epilog="Examples:\n\n\b\n  vsperf clean --dry-run     # say what would be removed\n"
    "  vsperf clean\n"
    "  vsperf clean --forget vsperf-4711-a0b1c2   # its chassis is gone for good\n"
)
@click.option("--dry-run", is_flag=True, help="Only say what would be removed.")
@click.option(
    "--forget",
    metavar="NAME",
    multiple=True,
    help="Give up what the killed deployment NAME has reserved on another machine that does not "
    "answer; it is said what stays reserved there; repeatable.",
)
@results_option
@json_option
def command(dry_run: bool, forget: tuple[str, ...], results: Path, as_json: bool) -> int:
    """Remove what a killed run left behind, and take down what --keep left up.

    Programs that still run are ended, what was changed on the machine is changed back, and files
    are removed. Runs that are going on are left alone. Stored measurements stay, those of
    interrupted runs too: `vsperf run --resume` goes on with them. Exits with 6 if something stays.
    """
    rows = []
    for removal in _removals(results, _known(forget)):
        row = removal.imagine() if dry_run else removal.carry_out()
        rows.append(row)
        if not as_json:
            _print(row, dry_run)
    if as_json:
        say_json([asdict(row) for row in rows])
    elif not rows:
        click.echo("nothing is left behind")
    for one in dead_elsewhere(trusted_folders()):
        say(f"{one.text}, then: vsperf clean", err=True)
    return ExitCode.LEFT_BEHIND if any(row.reason for row in rows) else ExitCode.OK


def _known(forget: tuple[str, ...]) -> frozenset[str]:
    """Return the names of deployments that may be forgotten; refuse any other."""
    dead = {one.folder.name for one in dead_deployments(trusted_folders())} if forget else set()
    for name in forget:
        if name not in dead:
            raise UsageError(
                f"no deployment {name} was left behind",
                why="what was left behind: " + (", ".join(sorted(dead)) or "nothing"),
                fix="take the name of a folder that vsperf clean --dry-run shows",
            )
    return frozenset(forget)


def _removals(results: Path, forget: frozenset[str]) -> Iterator[Removal]:
    """Yield what is left on the machine, then what is left among the results."""
    roots = trusted_folders()
    for dead in dead_deployments(roots):
        gone: list[str] = []
        forgetting = gone.append if dead.folder.name in forget else None
        take_down = partial(dead.take_down, forgetting=forgetting)
        yield Removal(dead.folder, dead.text, dead.steps(), take_down, gone)
    for rest in remainders():
        yield Removal(rest.ledger, rest.text, (), _nothing_failed(rest.take_back))
    for root in roots:
        for path in stale_locks(root):
            remove = _nothing_failed(partial(remove_stale, path))
            yield Removal(path, "lock of a run that was killed", (), remove)
    try:
        found = leftovers(results)
    except DistrustedError as error:
        say(f"{results} is not looked into: {error}", err=True)
        return
    for leftover in found:
        yield Removal(leftover.path, leftover.what, (), _nothing_failed(leftover.remove))


def _nothing_failed(remove: Callable[[], None]) -> Callable[[], tuple[str, ...]]:
    def removing() -> tuple[str, ...]:
        remove()
        return ()

    return removing


def _print(row: Row, dry_run: bool) -> None:
    verb = "removed" if row.removed else "would remove" if dry_run else "cannot remove"
    why = f": {row.reason}" if row.reason else ""
    say(f"{verb} {row.path} ({row.what}){why}")
    for line in row.steps if dry_run else row.forgotten:
        say(f"  {line}")
