"""`vsperf doctor`: is this machine ready, and what mends it if not."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

import click

from vsperf.cli.selection import json_option, library, results_option
from vsperf.errors import ExitCode
from vsperf.host.doctor import Finding, Status, examine
from vsperf.plugins import Plugins

MARKS = {
    Status.OK: click.style("✓", fg="green"),
    Status.WARNING: click.style("!", fg="yellow"),
    Status.FAILURE: click.style("✗", fg="red"),
}


@click.command(epilog="Examples:\n\n\b\n  vsperf doctor\n  vsperf doctor --json\n")
@results_option
@json_option
def command(results: Path, as_json: bool) -> int:
    """Check this machine and this installation; changes nothing.

    Exits with 3 if something would keep a run from working.
    """
    findings = [*examine(results, Plugins.load()), _specifications()]
    if as_json:
        click.echo(json.dumps([asdict(finding) for finding in findings], indent=2))
    for finding in [] if as_json else findings:
        click.echo(f"{MARKS[finding.status]} {finding.name:<15} {finding.evidence}")
        if finding.fix and finding.status is not Status.OK:
            click.echo(f"  {'':<15} fix: {finding.fix}")
    failed = any(finding.status is Status.FAILURE for finding in findings)
    return ExitCode.NOT_READY if failed else ExitCode.OK


def _specifications() -> Finding:
    """Check that every testcase can be read."""
    places = library()
    entries = [
        *places.testcases().values(),
        *places.testbeds().values(),
        *places.presets().values(),
    ]
    broken = [entry.name for entry in entries if entry.problems]
    folders = ", ".join(f"{folder.path} ({folder.role})" for folder in places.folders)
    evidence = f"{len(entries)} files in {folders or 'no folder'}"
    if broken:
        evidence = f"{evidence}; broken: {', '.join(broken)}"
        return Finding("specifications", Status.WARNING, evidence, "see `vsperf list`")
    return Finding("specifications", Status.OK, evidence)
