"""`vsperf clean`: remove what a killed run left behind; measurements are never removed."""

from __future__ import annotations

import json
from pathlib import Path

import click

from vsperf.cli.selection import json_option, results_option
from vsperf.errors import ExitCode
from vsperf.store.leftovers import leftovers


@click.command(
    epilog="Examples:\n\n\b\n  vsperf clean --dry-run     # say what would be removed\n"
    "  vsperf clean\n"
)
@click.option("--dry-run", is_flag=True, help="Only say what would be removed.")
@results_option
@json_option
def command(dry_run: bool, results: Path, as_json: bool) -> int:
    """Remove what a killed run left behind.

    Stored measurements stay, those of interrupted runs too: `vsperf run --resume` goes on with
    them. The simulated testbed leaves nothing on the machine itself; in the results folder a kill
    can leave a run without a measurement or a half-made link.
    """
    failed = []
    found = leftovers(results)
    rows = []
    for leftover in found:
        removed, reason = False, None
        if not dry_run:
            try:
                leftover.remove()
                removed = True
            except OSError as error:
                reason = error.strerror or str(error)
                failed.append(leftover)
        rows.append(
            {
                "path": str(leftover.path),
                "what": leftover.what,
                "removed": removed,
                "reason": reason,
            }
        )
    if as_json:
        click.echo(json.dumps(rows, indent=2))
    for row in [] if as_json else rows:
        verb = "removed" if row["removed"] else "would remove" if dry_run else "cannot remove"
        why = f": {row['reason']}" if row["reason"] else ""
        click.echo(f"{verb} {row['path']} ({row['what']}){why}")
    if not found and not as_json:
        click.echo("nothing is left behind")
    return ExitCode.LEFT_BEHIND if failed else ExitCode.OK
