"""Drivers and methods, by entry points; one that cannot be loaded is kept with its reason."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from importlib.metadata import EntryPoint, entry_points
from typing import Any

from vsperf.errors import UsageError
from vsperf.spec.base import DriverSpec

GROUPS = {
    "vswitch": "vsperf.vswitches",
    "generator": "vsperf.trafficgens",
    "vnf": "vsperf.vnfs",
    "search": "vsperf.methods",
    "collect": "vsperf.collectors",
    "noise": "vsperf.loadgens",
}
"""Section of a specification → entry point group of the drivers that it can name."""


@dataclass(frozen=True, slots=True)
class Plugin:
    """A driver that an installed package offers."""

    section: str
    kind: str
    package: str
    driver: Any | None
    """The driver, or None if it could not be loaded."""
    failure: str | None
    """Why it could not be loaded."""


class Plugins:
    """All drivers of this installation."""

    def __init__(self, plugins: tuple[Plugin, ...]) -> None:
        self.all = plugins

    @classmethod
    def load(cls) -> Plugins:
        """Load every driver that installed packages offer."""
        found, every = [], entry_points()  # looks through all packages, so only once
        for section, group in GROUPS.items():
            for entry in sorted(every.select(group=group), key=lambda entry: entry.name):
                found.append(_load(section, entry))
        return cls(tuple(found))

    def drivers(self, section: str) -> Mapping[str, Any]:
        """Return the drivers of a section by kind."""
        return {p.kind: p.driver for p in self.all if p.section == section and p.driver}

    def specs(self) -> Mapping[str, Mapping[str, type[DriverSpec]]]:
        """Return the settings model of every driver, by section and kind."""
        return {
            section: {kind: _settings(driver) for kind, driver in self.drivers(section).items()}
            for section in GROUPS
        }

    def driver(self, section: str, kind: str) -> Any:
        """Return one driver; a missing one is a usage error that names the reason."""
        for plugin in self.all:
            if plugin.section == section and plugin.kind == kind:
                if plugin.driver is not None:
                    return plugin.driver
                raise UsageError(
                    f"the {section} driver {kind!r} cannot be loaded",
                    why=plugin.failure,
                    fix="`vsperf plugins` shows all drivers and what is wrong with them",
                )
        known = ", ".join(self.drivers(section)) or "none"
        raise UsageError(f"there is no {section} driver {kind!r}", fix=f"known drivers: {known}")


def _settings(driver: Any) -> type[DriverSpec]:
    """Return the settings of a driver; a method is settings itself, which know what to do."""
    found: type[DriverSpec] = driver if isinstance(driver, type) else driver.Spec
    return found


def _load(section: str, entry: EntryPoint) -> Plugin:
    package = entry.dist.name if entry.dist else "?"
    try:
        found = entry.load()
        driver = found if issubclass(found, DriverSpec) else found()
    except Exception as error:  # a broken plug-in must not break the others
        reason = f"{type(error).__name__}: {error}"
        return Plugin(section, entry.name, package, None, reason)
    return Plugin(section, entry.name, package, driver, None)
