"""`vsperf plugins`: what packages offer, and why some of it is missing."""

from __future__ import annotations

import json

import click

from vsperf.plugins import GROUPS, OF_READERS, Plugins
from vsperf.trust.printable import printable


@click.command(epilog="Examples:\n\n\b\n  vsperf plugins\n  vsperf plugins --json\n")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(as_json: bool) -> None:
    """List all that installed packages offer: drivers, methods, formats, figures and events.

    A package adds some through entry points, such as those of the group vsperf.vswitches. What
    cannot be loaded is listed with the reason; the others work on.
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
            }
            for plugin in every
        ]
        click.echo(json.dumps(rows, indent=2))
        return
    for section in (*GROUPS, *OF_READERS):
        click.echo(click.style(section, bold=True))
        mine = [plugin for plugin in every if plugin.section == section]
        for plugin in mine:
            mark = click.style("✗", fg="red") if plugin.failure else click.style("✓", fg="green")
            text = plugin.failure or plugin.summary
            words = f"{plugin.kind:<12} {text}  ({plugin.package})"
            click.echo(f"  {mark} {printable(words)}")
        if not mine:
            click.echo("  none installed")
