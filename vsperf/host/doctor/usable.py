"""What can be used of a machine, by what its drivers declare and what the checks of them found.

A driver brings checks, and wants things of the machine that other checks are about. One that does
neither needs nothing that could be looked for, or is elsewhere: nothing is said of it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from vsperf.host.doctor.examine import GENERAL
from vsperf.host.doctor.finding import Finding, Status
from vsperf.plugins import Plugin, Plugins

Part = tuple[str, str]
"""A driver, by its section and its kind."""
WAY = "topology"
"""What stands in the place of a section, for a way of frames."""


@dataclass(frozen=True, slots=True)
class Judged:
    """A driver or a way of frames: whether it can be used, and what mends it if not."""

    section: str
    name: str
    mend: tuple[str, ...] = ()
    """What makes it usable: commands, or sentences. None where it is."""
    proviso: str | None = None
    """In which way only it can be used."""

    @property
    def ready(self) -> bool:
        return not self.mend


def judge_drivers(plugins: Plugins, findings: Iterable[Finding]) -> dict[Part, Judged]:
    """Return of each driver that was looked for whether it can be used."""
    found = {finding.name: finding for finding in findings}
    judged = {(one.section, one.kind): _judged(one, found) for one in plugins.all}
    return {part: one for part, one in judged.items() if one is not None}


def judge_way(
    name: str, parts: Iterable[Part], drivers: Mapping[Part, Judged], mend: Iterable[str] = ()
) -> Judged:
    """Return whether all that it takes for a way of frames can be used.

    `mend` is what its links want, beside what its drivers do.
    """
    needed = [drivers[part] for part in parts if part in drivers]
    wanted = dict.fromkeys([*mend, *(text for one in needed for text in one.mend)])
    provisos = dict.fromkeys(one.proviso for one in needed if one.proviso)
    return Judged(WAY, name, tuple(wanted), ", ".join(provisos) or None)


def _judged(plugin: Plugin, found: Mapping[str, Finding]) -> Judged | None:
    if plugin.failure is not None:
        return Judged(plugin.section, plugin.kind, (f"it cannot be loaded: {plugin.failure}",))
    own = [check.name for check in getattr(plugin.driver, "checks", ())]
    wanted = frozenset(getattr(plugin.driver, "wants", ()))
    if not own and not wanted:
        return None
    answers = [found[name] for name in own if name in found]
    host = [found[one.name] for one in GENERAL if one.wants & wanted and one.name in found]
    spoken = [one for one in answers if one.proviso is None]
    missing = [one for one in spoken if one.status in (Status.ABSENT, Status.FAILURE)]
    missing += [one for one in host if one.status is Status.FAILURE]
    return Judged(
        plugin.section,
        plugin.kind,
        tuple(dict.fromkeys(one.fix or one.evidence for one in missing)),
        ", ".join(one.proviso for one in answers if one.proviso) or None,
    )
