"""How things are done to a switch or to VNFs in the midst of a trial: each one a class.

Another one is one more class like these, in any package, and an entry point `vsperf.events`.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from importlib.metadata import entry_points
from typing import Protocol

from vsperf.drivers.vnfs.base import ModelledVnfs, RunningVnfs
from vsperf.drivers.vswitches.base import ModelledSwitch, RunningSwitch
from vsperf.methods.events import GROUP


@dataclass(frozen=True, slots=True)
class Parts:
    """To what something can be done."""

    switch: RunningSwitch | None
    """None when frames go round without one."""
    vnfs: RunningVnfs | None = None


class EventAction(Protocol):
    """One thing that can be done."""

    def act(self, parts: Parts) -> None:
        """Do it, and return when what was restarted is up again; else raise `ComponentError`."""

    def away_ns(self, parts: Parts) -> int | None:
        """Return for how long a model forwards nothing after it; None where it is no model's."""


class RestartSwitch:
    """The switch ends in good order, and starts again."""

    kill = False

    def act(self, parts: Parts) -> None:
        if parts.switch is not None:
            parts.switch.restart(kill=self.kill)

    def away_ns(self, parts: Parts) -> int | None:
        if isinstance(parts.switch, ModelledSwitch):
            return parts.switch.away_ns(kill=self.kill)
        return None


class KillSwitch(RestartSwitch):
    """The switch is killed, and starts again."""

    kill = True


class RebootVnfs:
    """All VNFs start anew, and the switch stays."""

    def act(self, parts: Parts) -> None:
        assert parts.vnfs is not None  # a topology without any is refused (`misfits`)
        parts.vnfs.reboot()

    def away_ns(self, parts: Parts) -> int | None:
        vnfs = parts.vnfs
        return vnfs.away_ns() if isinstance(vnfs, ModelledVnfs) else None


@cache
def action_of(event: str) -> EventAction:
    """Return what does a thing; specifications name none that there is not."""
    entry = next(iter(entry_points(group=GROUP, name=event)))
    found: EventAction = entry.load()()
    return found
