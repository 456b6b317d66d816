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
TESTCASE = "testcase"
"""What stands in the place of a section, for a testcase."""


@dataclass(frozen=True, slots=True)
class Judged:
    """A driver or a testcase: whether it can be used, and what mends it if not."""

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


def judge_testcase(
    name: str,
    parts: Iterable[Part],
    drivers: Mapping[Part, Judged],
    mend: Iterable[str] = (),
    proviso: str | None = None,
) -> Judged:
    """Return whether all that it takes for a testcase can be used.

    `mend` is what it wants beside its drivers: the NICs of its links, and CPUs for all of it;
    `proviso` in which way only there are enough.
    """
    needed = [drivers[part] for part in parts if part in drivers]
    wanted = dict.fromkeys([*mend, *(text for one in needed for text in one.mend)])
    known = (proviso, *(one.proviso for one in needed))
    provisos = dict.fromkeys(one for one in known if one)
    return Judged(TESTCASE, name, tuple(wanted), ", ".join(provisos) or None)


def lacking(driver: object, findings: Iterable[Finding]) -> list[Finding]:
    """Return what keeps a driver from being used: of its own checks, and of what it wants."""
    found = {finding.name: finding for finding in findings}
    wanted = frozenset(getattr(driver, "wants", ()))
    spoken = [one for one in _own(driver, found) if one.proviso is None]
    missing = [one for one in spoken if one.status in (Status.ABSENT, Status.FAILURE)]
    host = (found[one.name] for one in GENERAL if one.wants & wanted and one.name in found)
    return [*missing, *(one for one in host if one.status is Status.FAILURE)]


def _own(driver: object, found: Mapping[str, Finding]) -> list[Finding]:
    """Return the answers to the checks that a driver brings."""
    names = (check.name for check in getattr(driver, "checks", ()))
    return [found[name] for name in names if name in found]


def _judged(plugin: Plugin, found: Mapping[str, Finding]) -> Judged | None:
    if plugin.failure is not None:
        return Judged(plugin.section, plugin.kind, (f"it cannot be loaded: {plugin.failure}",))
    driver = plugin.driver
    if not getattr(driver, "checks", ()) and not getattr(driver, "wants", ()):
        return None
    return Judged(
        plugin.section,
        plugin.kind,
        tuple(dict.fromkeys(one.fix or one.evidence for one in lacking(driver, found.values()))),
        ", ".join(one.proviso for one in _own(driver, found) if one.proviso) or None,
    )
