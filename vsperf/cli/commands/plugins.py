"""`vsperf plugins`: what packages offer, and why some of it is missing."""

from __future__ import annotations

import click
from rich.text import Text

from vsperf.cli.stored import say_json
from vsperf.cli.tables import console
from vsperf.cli.terminal import fitting
from vsperf.drivers.programs.base import KnownFault
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
    another than vsperf has brought says which. What cannot be loaded is listed with the reason;
    the others work on. Below a program stands what has to be known of its versions, a line each.
    `vsperf explain KIND` says how one is called.
    """
    every = (*Plugins.load().all, *Plugins.beside())
    if as_json:
        rows = [
            {
                "section": plugin.section,
                "kind": plugin.kind,
                "package": plugin.package,
                "summary": plugin.summary,
                "failure": plugin.failure,
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
            line = Text("  ").append(*("✗", "red") if plugin.failure else ("✓", "green"))
            text = plugin.failure or plugin.summary
            whose = "" if plugin.package == OWN else f" ({plugin.package})"
            line.append(f" {plugin.kind:<{KINDS}}  {text}{whose}")
            out.print(fitting(line, out, " " * (KINDS + 6)))
            for fault in _faults(plugin):
                told = Text(f"{' ' * (KINDS + 6)}{fault.versions}: {fault.what}", "dim")
                out.print(fitting(told, out, " " * (KINDS + 8)))
        if not mine:
            out.print("  none installed")
