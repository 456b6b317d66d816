"""`vsperf plugins`: which drivers there are, and why one of them is missing."""

from __future__ import annotations

import json

import click

from vsperf.plugins import GROUPS, Plugins
from vsperf.printable import printable


@click.command(epilog="Examples:\n\n\b\n  vsperf plugins\n  vsperf plugins --json\n")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(as_json: bool) -> None:
    """List all drivers that installed packages offer.

    A package adds drivers through the entry point groups vsperf.vswitches, vsperf.trafficgens
    and vsperf.vnfs. One that cannot be loaded is listed with the reason; the others work on.
    """
    plugins = Plugins.load()
    if as_json:
        rows = [
            {
                "section": plugin.section,
                "kind": plugin.kind,
                "package": plugin.package,
                "summary": plugin.driver.summary if plugin.driver else None,
                "failure": plugin.failure,
            }
            for plugin in plugins.all
        ]
        click.echo(json.dumps(rows, indent=2))
        return
    for section in GROUPS:
        click.echo(click.style(section, bold=True))
        mine = [plugin for plugin in plugins.all if plugin.section == section]
        for plugin in mine:
            mark = click.style("✗", fg="red") if plugin.failure else click.style("✓", fg="green")
            text = plugin.failure or (plugin.driver.summary if plugin.driver else "")
            words = f"{plugin.kind:<12} {text}  ({plugin.package})"
            click.echo(f"  {mark} {printable(words)}")
        if not mine:
            click.echo("  none installed")
