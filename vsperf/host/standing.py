"""Deployments that are up on this machine: those of runs that go on, and those that were kept."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from vsperf.host.owner import Owner
from vsperf.host.places import workspaces


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
