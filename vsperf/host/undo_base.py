"""What every undo has in common, and what a deployment can have changed at all.

An undo is written down before the change is made, and may be carried out twice, late, or by another
process. So each of them does nothing where there is nothing to take back. It is carried out only if
it names what a deployment can have changed: whatever else stands in a journal is refused.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar

from vsperf.host.claims import Pool
from vsperf.host.files import Roots
from vsperf.host.places import usual_folders
from vsperf.records.base import Record


@dataclass(frozen=True, slots=True)
class Reach:
    """What a deployment can have changed: the rest of the machine is none of its business."""

    workspace: Path
    """Its folder, by whose name it calls what is outside of it."""
    roots: Roots = field(default_factory=Roots)
    since: int | None = None
    """When its owner started, in clock ticks since boot; None when that is not known."""

    def has_pool(self, pool: Pool) -> bool:
        """Whether the kernel shows a pool of hugepages there."""
        name = f"hugepages-{pool.page_bytes // 1024}kB"
        shown = [self.roots.nodes / f"node{pool.node}" / "hugepages" / name]
        if pool.node == 0:
            shown.append(self.roots.sys / "kernel" / "mm" / "hugepages" / name)
        return pool.folder in shown

    def has_ledger(self, ledger: Path, pool: Pool) -> bool:
        """Whether runs write down there what they do to a pool."""
        here = self.roots == Roots()
        folders = usual_folders() if here else (self.roots.root / "run",)
        return ledger in [folder / pool.ledger_name for folder in folders]


class Undo(Record):
    """Takes one change back."""

    outlives_boot: ClassVar[bool] = False
    """Whether the change is still there after the machine was started anew."""

    @property
    @abstractmethod
    def text(self) -> str:
        """What carrying it out does, for people."""

    @abstractmethod
    def is_within(self, reach: Reach) -> bool:
        """Whether all that it names can have been changed by the deployment."""

    @abstractmethod
    def carry_out(self) -> None:
        """Take the change back; raises OSError where that cannot be done."""

    @property
    def if_forgotten(self) -> str | None:
        """What stays as it is elsewhere if nobody ever carries it out, for people.

        None for what is on this machine: that can be undone, and so it is not forgotten.
        """
        return None

    def take_back(self, reach: Reach) -> None:
        """Carry it out, unless no deployment can have promised it; raises OSError then."""
        if not self.is_within(reach):
            raise OSError(f"{reach.workspace.name} cannot have changed that, and it is left alone")
        self.carry_out()
