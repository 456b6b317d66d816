"""`vsperf plugins`: what packages offer, what of it can be used here, and why not the rest."""

from __future__ import annotations

import os

import click
from rich.text import Text

from vsperf.cli.commands.doctor import usable_drivers
from vsperf.cli.stored import say_json
from vsperf.cli.tables import console
from vsperf.cli.terminal import fitting
from vsperf.config.loader import Request
from vsperf.drivers.programs.base import KnownFault
from vsperf.host.doctor.examine import examine_parts
from vsperf.host.doctor.finding import Host
from vsperf.plugins import GROUPS, OF_READERS, OWN, Plugin, Plugins

KINDS = 18
"""Places that names of drivers take."""


def _faults(plugin: Plugin) -> tuple[KnownFault, ...]:
    """Return what is known of a program; nothing of other drivers, and of one that says none."""
    return tuple(getattr(plugin.driver, "FAULTS", ()))


@click.command(epilog="Examples:\n\n\b\n  vsperf plugins\n  vsperf plugins --json\n")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(as_json: bool) -> None:
    """List all that installed packages offer: drivers, methods, formats, figures and events.

    A package adds some through entry points, such as those of the group vsperf.vswitches; what
    another than vsperf has brought says which. What can be used on this machine has ✓. What lacks
    its program, or anything else that `vsperf doctor` looks for, has – and below it what mends
    that; what is elsewhere, such as a chassis, is not looked for. What cannot be loaded has ✗ and
    the reason; the others work on. Below a program stands what has to be known of its versions, a
    line each.
    `vsperf explain KIND` says how one is called.
    """
    plugins = Plugins.load()
    every = (*plugins.all, *Plugins.beside())
    drivers = [one.driver for one in plugins.all]
    findings = examine_parts(drivers, Host(plugins=plugins, environment=os.environ))
    judged = usable_drivers(Request(names=()), plugins, findings)

    def mends(plugin: Plugin) -> tuple[str, ...]:
        found = judged.get((plugin.section, plugin.kind))
        return found.mend if found is not None and plugin.failure is None else ()

    if as_json:
        rows = [
            {
                "section": plugin.section,
                "kind": plugin.kind,
                "package": plugin.package,
                "summary": plugin.summary,
                "failure": plugin.failure,
                "ready": plugin.failure is None and not mends(plugin),
                "fix": "; ".join(mends(plugin)) or None,
                "faults": [{"versions": one.versions, "what": one.what} for one in _faults(plugin)],
            }
            for plugin in every
        ]
        say_json(rows)
        return
    out = console()
    for section in (*GROUPS, *OF_READERS):
        out.print(Text(section, "bold"))
        mine = [plugin for plugin in every if plugin.section == section]
        for plugin in mine:
            sign = (
                ("✗", "red") if plugin.failure else ("–", "") if mends(plugin) else ("✓", "green")
            )
            line = Text("  ").append(*sign)
            text = plugin.failure or plugin.summary
            whose = "" if plugin.package == OWN else f" ({plugin.package})"
            line.append(f" {plugin.kind:<{KINDS}}  {text}{whose}")
            out.print(fitting(line, out, " " * (KINDS + 6)))
            for mend in mends(plugin):
                told = Text(f"{' ' * (KINDS + 6)}cannot be used here; fix: {mend}")
                out.print(fitting(told, out, " " * (KINDS + 8)))
            for fault in _faults(plugin):
                told = Text(f"{' ' * (KINDS + 6)}{fault.versions}: {fault.what}", "dim")
                out.print(fitting(told, out, " " * (KINDS + 8)))
        if not mine:
            out.print("  none installed")
