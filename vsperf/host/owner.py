"""The owner of a workspace: the process that made it, and whether that one still runs."""

from __future__ import annotations

import os
from pathlib import Path
from typing import ClassVar, Self

from pydantic import ValidationError

from vsperf.host.procfs import boot_id, is_running, start_ticks
from vsperf.records.base import Record
from vsperf.trust import trusted


class Owner(Record):
    """Who made a workspace, and what for."""

    NAME: ClassVar[str] = "owner.json"

    pid: int
    started: int | None
    """Clock ticks since boot; None when it is not known."""
    boot: str | None
    """The kernel's name of the boot in which it was made."""
    purpose: str
    kept: bool = False
    """Whether the deployment was left up on purpose."""

    @classmethod
    def this_process(cls, purpose: str) -> Self:
        pid = os.getpid()
        return cls(pid=pid, started=start_ticks(pid), boot=boot_id(), purpose=purpose)

    @classmethod
    def of(cls, folder: Path) -> Self | None:
        """Return the owner of a workspace; None when none was written down, or by somebody else."""
        try:
            return cls.model_validate_json(trusted.read(folder / cls.NAME))
        except (OSError, ValidationError):
            return None

    @property
    def same_boot(self) -> bool:
        """Whether the machine was not started anew since."""
        return self.boot == boot_id()

    @property
    def alive(self) -> bool:
        if not self.same_boot:
            return False
        if self.started is None:
            return start_ticks(self.pid) is not None
        return is_running(self.pid, self.started)

    def write(self, folder: Path) -> None:
        """Write it down, at once and whole."""
        trusted.replace(folder / self.NAME, self.model_dump_json().encode() + b"\n", alone=True)
