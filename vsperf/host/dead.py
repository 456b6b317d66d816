"""Deployments whose owner has ended: killed ones, and those that were kept up on purpose."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from vsperf.errors import NotReadyError
from vsperf.host.files import Roots
from vsperf.host.journal import NAME, Journal, pending
from vsperf.host.owner import Owner
from vsperf.host.places import WORKSPACE, workspaces
from vsperf.host.procfs import is_running, marked_below, start_ticks
from vsperf.host.undo import KillProcess
from vsperf.host.undo_base import Reach
from vsperf.host.workspace import end_the_rest, forget_all, remove_folder, undo_all
from vsperf.records.files.folders import lock
from vsperf.trust import trusted

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
        return tuple(entry.text for entry in pending(self.folder / NAME))

    def take_down(
        self, roots: Roots | None = None, forgetting: Callable[[str], None] | None = None
    ) -> tuple[str, ...]:
        """Undo all that it promised to undo, and remove it; return what failed, and why.

        `roots` replaces the machine that it changed. With `forgetting`, what cannot be undone on
        other machines is given up, and that is told what stays there.
        """
        try:
            with trusted.opened(self.folder) as folder:
                if not lock(folder.descriptor, exclusive=True, wait_s=LOCK_S):
                    return (f"somebody else has been taking down {self.folder} for {LOCK_S:g} s",)
                return self._undo(roots or Roots(), forgetting) if self.folder.exists() else ()
        except FileNotFoundError:
            return ()
        except OSError as error:
            return (error.strerror or str(error),)

    def _undo(self, roots: Roots, forgetting: Callable[[str], None] | None) -> tuple[str, ...]:
        reach = Reach(self.folder, roots, self.owner.started if self.owner else None)
        failures = (*self._carry_out(reach, forgetting), *end_the_rest(self.folder))
        return failures or remove_folder(self.folder)

    def _carry_out(self, reach: Reach, forgetting: Callable[[str], None] | None) -> tuple[str, ...]:
        try:
            journal = Journal(self.folder / NAME)
        except OSError as error:
            return (f"the journal cannot be read: {error.strerror or error}",)
        try:
            same_boot = self.owner is None or self.owner.same_boot
            if forgetting is not None:
                for stays in forget_all(reach, journal):
                    forgetting(stays)
            return undo_all(reach, journal, same_boot=same_boot)
        finally:
            journal.close()


def dead_deployments(roots: tuple[Path, ...] | None = None) -> tuple[DeadDeployment, ...]:
    """Return the deployments of this user that nobody will leave any more."""
    found = (_if_dead(folder) for folder in workspaces(roots))
    return tuple(dead for dead in found if dead is not None)


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
    named = WORKSPACE.fullmatch(folder.name)
    return named is not None and start_ticks(int(named[1])) is not None
