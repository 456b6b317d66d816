"""Deployments that are up: those of runs that go on, of killed ones, and those that were kept."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from vsperf.errors import NotReadyError
from vsperf.host.files import Roots
from vsperf.host.journal import NAME, Journal, pending
from vsperf.host.netns import FOLDER as NETWORKS
from vsperf.host.owner import Owner
from vsperf.host.places import VARIABLE, WORKSPACE, workspaces
from vsperf.host.procfs import PROC, is_running, marked_below, own_marks, start_ticks
from vsperf.host.undo import KillProcess
from vsperf.host.undo_base import Reach
from vsperf.host.workspace import end_the_rest, forget_all, remove_folder, undo_all
from vsperf.records.files.folders import lock
from vsperf.trust import trusted

LOCK_S = 10.0


@dataclass(frozen=True, slots=True)
class StandingDeployment:
    """A workspace whose parts may run."""

    folder: Path
    owner: Owner

    @property
    def name(self) -> str:
        """Its name, such as vsperf-4711-a1b2c3."""
        return self.folder.name


def standing_deployments(
    roots: tuple[Path, ...] | None = None,
) -> tuple[StandingDeployment, ...]:
    """Return the deployments of this user that somebody uses, or has kept up."""
    found = []
    for folder in workspaces(roots):
        owner = Owner.of(folder)
        if owner is not None and owner.same_boot and (owner.alive or owner.kept):
            found.append(StandingDeployment(folder, owner))
    return tuple(found)


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


@dataclass(frozen=True, slots=True)
class Elsewhere:
    """What is left of a deployment of this user whose folder is none of those that it looks into.

    Who killed it had chosen another folder for it, which its journal is in.
    """

    name: str
    root: Path | None
    """The folder that was chosen, as far as its programs tell by where they run."""
    processes: tuple[int, ...]
    networks: tuple[str, ...]

    @property
    def text(self) -> str:
        """What it is and how to go on, for people."""
        running = f"process {', '.join(map(str, self.processes))}" if self.processes else ""
        network = f"network {', '.join(self.networks)}" if self.networks else ""
        left = " and ".join(filter(None, (running, network)))
        where = "FOLDER" if self.root is None else self.root
        return f"of {self.name}, whose folder is elsewhere, there is {left}: set {VARIABLE}={where}"


def dead_elsewhere(
    roots: tuple[Path, ...] | None = None, networks: Path = NETWORKS
) -> tuple[Elsewhere, ...]:
    """Return what is seen of dead deployments that `dead_deployments` does not find.

    Seen are programs that carry their name, and networks that are called so; what else they have
    changed, such as devices of the host's network, only their journals tell.
    """
    known = {folder.name for folder in workspaces(roots)}
    running: dict[str, list[int]] = {}
    for pid, mark in own_marks():
        running.setdefault(mark.partition("/")[0], []).append(pid)
    named: dict[str, list[str]] = {}
    for name in _names_in(networks):
        named.setdefault("-".join(name.split("-")[:3]), []).append(name)
    names = [one for one in sorted({*running, *named} - known) if WORKSPACE.fullmatch(one)]
    return tuple(
        Elsewhere(
            name,
            next((root for pid in running.get(name, ()) if (root := _root_of(pid, name))), None),
            tuple(sorted(running.get(name, ()))),
            tuple(sorted(named.get(name, ()))),
        )
        for name in names
        if not _maker_alive(Path(name))
    )


def _names_in(folder: Path) -> list[str]:
    try:
        return [path.name for path in folder.iterdir() if path.lstat().st_uid == os.geteuid()]
    except OSError:
        return []


def _root_of(pid: int, name: str) -> Path | None:
    """Return where the folder of a deployment is in which one of its programs runs."""
    try:
        place = (PROC / str(pid) / "cwd").readlink()
    except OSError:
        return None
    return next((one.parent for one in (place, *place.parents) if one.name == name), None)


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
