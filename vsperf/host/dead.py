"""Deployments whose owner has ended: killed ones, and those that were kept up on purpose."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from vsperf.errors import NotReadyError
from vsperf.host.journal import NAME, Journal, pending
from vsperf.host.owner import Owner
from vsperf.host.procfs import is_running, marked_below, start_ticks
from vsperf.host.undo import KillProcess
from vsperf.host.workspace import (
    NAMESPACE,
    remove_folder,
    runtime_folders,
    undo_all,
)
from vsperf.store.locks import lock

LOCK_S = 10.0


@dataclass(frozen=True, slots=True)
class DeadDeployment:
    """A workspace that nobody will leave any more."""

    folder: Path
    owner: Owner | None
    """None when it was killed before it could say who it is."""
    processes: tuple[int, ...]
    """Programs of it that still run."""

    @property
    def text(self) -> str:
        """What it is, for people."""
        if self.owner is None:
            return "deployment that was killed while it began"
        end = "kept up" if self.owner.kept else f"left by process {self.owner.pid}, which has ended"
        running = f"; {len(self.processes)} of its programs run" if self.processes else ""
        return f"deployment of {self.owner.purpose}, {end}{running}"

    def steps(self) -> tuple[str, ...]:
        """Return what taking it down does, in order."""
        return tuple(
            entry.undo.text if entry.undo else f"nothing known for {entry.line}"
            for entry in pending(self.folder / NAME)
        )

    def take_down(self) -> tuple[str, ...]:
        """Undo all that it promised to undo, and remove it; return what failed, and why."""
        try:
            descriptor = os.open(self.folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        except FileNotFoundError:
            return ()
        try:
            if not lock(descriptor, exclusive=True, wait_s=LOCK_S):
                return (f"somebody else has been taking down {self.folder} for {LOCK_S:g} s",)
            return self._undo() if self.folder.exists() else ()
        finally:
            os.close(descriptor)

    def _undo(self) -> tuple[str, ...]:
        journal = Journal(self.folder / NAME)
        try:
            same_boot = self.owner is None or self.owner.same_boot
            failures = undo_all(self.folder, journal, same_boot=same_boot)
        finally:
            journal.close()
        return failures or remove_folder(self.folder)


def dead_deployments(roots: tuple[Path, ...] | None = None) -> tuple[DeadDeployment, ...]:
    """Return the deployments of this user that nobody will leave any more."""
    folders = (f for root in roots or runtime_folders() for f in _workspaces(root))
    return tuple(found for folder in folders if (found := _if_dead(folder)) is not None)


def refuse_beside_dead(roots: tuple[Path, ...] | None = None) -> None:
    """Refuse to measure while programs of a dead deployment run: one may use up the same CPU."""
    for dead in dead_deployments(roots):
        if not dead.processes:
            continue
        kept = dead.owner is not None and dead.owner.kept
        raise NotReadyError(
            "a deployment that was kept is still up"
            if kept
            else "programs of a run that was killed still run",
            why=f"{dead.folder}: {dead.text}, and would take CPU time from what is measured",
            fix="vsperf clean",
        )


def _workspaces(root: Path) -> Iterator[Path]:
    try:
        yield from sorted(path for path in root.glob(f"{NAMESPACE}-*-*") if path.is_dir())
    except OSError:
        return


def _if_dead(folder: Path) -> DeadDeployment | None:
    owner = Owner.of(folder)
    if owner.alive if owner else _maker_alive(folder):
        return None
    running = list(marked_below(f"{folder.name}/"))
    if owner is None or owner.same_boot:
        promised = (entry.undo for entry in pending(folder / NAME))
        running += [
            undo.pid
            for undo in promised
            if isinstance(undo, KillProcess) and is_running(undo.pid, undo.started)
        ]
    return DeadDeployment(folder, owner, tuple(sorted(set(running))))


def _maker_alive(folder: Path) -> bool:
    """Whether the process in the folder's name runs; it may be about to say who it is."""
    with suppress(ValueError, IndexError):
        return start_ticks(int(folder.name.split("-")[1])) is not None
    return False
