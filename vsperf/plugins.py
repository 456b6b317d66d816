"""Drivers and methods, by entry points; one that cannot be loaded is kept with its reason.

Each is loaded when somebody asks for it: a run needs five of some fifty, and each brings modules.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from importlib.metadata import EntryPoint, entry_points
from traceback import walk_tb
from typing import Any, TypeVar, get_args

from vsperf.config.base import DriverSpec
from vsperf.config.suggest import no_such_kind
from vsperf.errors import UsageError

GROUPS = {
    "vswitch": "vsperf.vswitches",
    "generator": "vsperf.generators",
    "vnf": "vsperf.vnfs",
    "program": "vsperf.programs",
    "probe": "vsperf.probes",
    "search": "vsperf.methods",
    "collect": "vsperf.collectors",
    "noise": "vsperf.loads",
}
"""Section of a specification → entry point group of the drivers that it can name."""
OF_READERS = {
    "export": "vsperf.exports",
    "figure": "vsperf.figures",
    "event": "vsperf.events",
}
"""What packages offer beside drivers, which no section names → its entry point group."""
METHODS_OF = {
    "vswitch": ("needs", "plan", "require", "start"),
    "generator": ("capabilities", "needs", "plan", "calibrate", "jitter", "start"),
    "vnf": ("needs", "plan", "require", "notes", "start"),
    "program": ("find", "files", "server", "client", "told"),
    "probe": ("find", "files", "server", "client", "told"),
    "collect": ("heavy", "disturbs", "quantities", "plan", "require", "facts", "start"),
    "noise": ("needs", "plan", "require", "judged", "start"),
}
"""Section → what each of its drivers has to have, as its protocol says."""
OWN = __name__.partition(".")[0]

Value = TypeVar("Value")


class DriverError(TypeError):
    """What a driver answered is not what its protocol says: a bug of the package that has it."""

    def __init__(self, driver: object, what: str) -> None:
        self.module = type(driver).__module__
        super().__init__(f"{type(driver).__name__}: {what}")


@dataclass(frozen=True)
class Plugin:
    """A driver that an installed package offers."""

    section: str
    kind: str
    load: Callable[[], Any]
    package: str = "?"

    @cached_property
    def driver(self) -> Any | None:
        """The driver, or None if it cannot be loaded."""
        return self._loaded[0]

    @cached_property
    def failure(self) -> str | None:
        return self._loaded[1]

    @property
    def summary(self) -> str | None:
        """What it is, in a line; None if it cannot be loaded."""
        if self.driver is None:
            return None
        told = getattr(self.driver, "summary", None) or getattr(self.driver, "title", None)
        return str(told or (self.driver.__doc__ or "").partition("\n")[0])

    @cached_property
    def _loaded(self) -> tuple[Any | None, str | None]:
        try:
            return self.load(), None
        except Exception as error:  # a broken plug-in must not break the others
            where = "".join(f", {note}" for note in getattr(error, "__notes__", ()))
            return None, f"{type(error).__name__}: {error}{where}"


class _Lazily(Mapping[str, Value]):
    """What is asked of drivers by kind: only those that are asked for are loaded.

    One that cannot be loaded is not listed, and who names it is told why. So whoever looks through
    all of it loads them all.
    """

    def __init__(self, plugins: Mapping[str, Plugin], ask: Callable[[Any], Value]) -> None:
        self._plugins = plugins
        self._ask = ask

    def __getitem__(self, kind: str) -> Value:
        return self._ask(_required(self._plugins[kind]))

    def __contains__(self, kind: object) -> bool:
        return kind in self._plugins

    def __iter__(self) -> Iterator[str]:
        return (kind for kind, plugin in self._plugins.items() if plugin.driver is not None)

    def __len__(self) -> int:
        return sum(1 for _ in self)


class Plugins:
    """All drivers of this installation."""

    def __init__(self, plugins: tuple[Plugin, ...]) -> None:
        self.all = plugins

    @classmethod
    def load(cls) -> Plugins:
        """Find every driver that installed packages offer."""
        every = entry_points()  # looks through all packages, so only once
        found: list[Plugin] = []
        for section, group in GROUPS.items():
            offered: dict[str, list[EntryPoint]] = {}
            for entry in sorted(every.select(group=group), key=lambda entry: entry.name):
                offered.setdefault(entry.name, []).append(entry)
            found += (_plugin(section, entries) for entries in offered.values())
        return cls(tuple(found))

    @staticmethod
    def beside() -> tuple[Plugin, ...]:
        """Return what packages offer beside drivers: formats, figures and events."""
        every = entry_points()
        return tuple(
            Plugin(noun, entry.name, entry.load, _package(entry))
            for noun, group in OF_READERS.items()
            for entry in sorted(every.select(group=group), key=lambda entry: entry.name)
        )

    def drivers(self, section: str) -> Mapping[str, Any]:
        return _Lazily(self._of(section), lambda driver: driver)

    def specs(self) -> Mapping[str, Mapping[str, type[DriverSpec]]]:
        return {section: _Lazily(self._of(section), _settings) for section in GROUPS}

    def driver(self, section: str, kind: str) -> Any:
        """Return one driver; a missing one is a usage error that names the reason."""
        plugin = self._of(section).get(kind)
        if plugin is None:
            known = list(self.drivers(section))
            otherwise = f"known drivers: {', '.join(known) or 'none'}"
            why, fix = no_such_kind(section, kind, known, otherwise)
            raise UsageError(f"there is no {section} driver {kind!r}", why=why, fix=fix)
        return _required(plugin)

    def _of(self, section: str) -> dict[str, Plugin]:
        return {plugin.kind: plugin for plugin in self.all if plugin.section == section}


def _required(plugin: Plugin) -> Any:
    """Return the driver, or raise what is wrong with it."""
    if plugin.driver is None:
        raise UsageError(
            f"the {plugin.section} driver {plugin.kind!r} of {plugin.package} cannot be loaded",
            why=plugin.failure,
            fix="`vsperf plugins` shows all drivers and what is wrong with them",
        )
    return plugin.driver


def _settings(driver: Any) -> Any:
    """Return the settings of a driver; a method is settings itself, which know what to do."""
    return driver if isinstance(driver, type) else getattr(driver, "Spec", None)


def _plugin(section: str, entries: Sequence[EntryPoint]) -> Plugin:
    """Return a driver; one that several packages offer cannot be loaded, whichever is meant."""
    packages = sorted({_package(entry) for entry in entries})
    load = (
        partial(_load, section, entries[0]) if len(packages) == 1 else partial(_several, packages)
    )
    return Plugin(section, entries[0].name, load, ", ".join(packages))


def _several(packages: Sequence[str]) -> Any:
    raise UsageError(
        f"{' and '.join(packages)} both offer it: only one of them can be installed",
        fix="uninstall the one that is not meant",
    )


def _load(section: str, entry: EntryPoint) -> Any:
    """Load a driver, and see that it can be chosen: else each look at all drivers would stumble."""
    try:
        found = entry.load()
    except Exception as error:
        if (where := _where(error, entry.module)) is not None:
            error.add_note(where)
        raise
    if not isinstance(found, type):
        raise TypeError(f"its entry point names {entry.attr}, which is no class")
    driver = found if issubclass(found, DriverSpec) else found()
    settings = _settings(driver)
    if not (isinstance(settings, type) and issubclass(settings, DriverSpec)):
        raise TypeError("it has no `Spec`, the class of its settings")
    kinds = get_args(settings.model_fields["kind"].annotation)
    if entry.name not in kinds:
        told = " or ".join(map(repr, kinds)) or "no kind"
        raise TypeError(f"its entry point is called {entry.name!r}, and its settings say {told}")
    if driver is found:
        return driver
    if (kind := getattr(driver, "kind", None)) not in kinds:
        raise TypeError(f"its entry point is called {entry.name!r}, and its `kind` is {kind!r}")
    wanted = METHODS_OF.get(section, ())
    if lacking := [name for name in wanted if not callable(getattr(driver, name, None))]:
        raise TypeError(f"{found.__name__} has no {', '.join(f'`{name}`' for name in lacking)}")
    return driver


def _where(error: Exception, module: str) -> str | None:
    """Return the last line of a package that was on the way to an error; None if none was."""
    folder = module.partition(".")[0]
    for frame, line in reversed([*walk_tb(error.__traceback__)]):
        if str(frame.f_globals.get("__name__", "")).partition(".")[0] == folder:
            return f"in {frame.f_code.co_filename}, line {line}"
    return None


def whose(module: str) -> str | None:
    """Return which driver of which other package a module is part of, for people; None of ours.

    A module that several drivers of a package share is that package's.
    """
    folder, every = module.partition(".")[0], entry_points()
    if folder == OWN:
        return None
    groups = {**GROUPS, **OF_READERS}.items()
    found = [
        (noun, entry)
        for noun, group in groups
        for entry in every.select(group=group)
        if entry.module.partition(".")[0] == folder
    ]
    if not found:
        return None
    package = _package(found[0][1])
    named = [f"{noun} {entry.name}" for noun, entry in found if entry.module == module]
    return f"{package} ({', '.join(named)})" if named else package


def _package(entry: EntryPoint) -> str:
    return entry.dist.name if entry.dist else "?"
