"""`vsperf doctor`: is this machine ready, and what mends it if not."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Iterable
from dataclasses import asdict, replace
from pathlib import Path

import click

from vsperf.cli.selection import library, load, overrides_cases
from vsperf.cli.stored import json_option, results_option
from vsperf.config.base import DriverSpec
from vsperf.config.loader import Request
from vsperf.errors import ExitCode
from vsperf.host.doctor.examine import checks, examine
from vsperf.host.doctor.finding import (
    Answer,
    Check,
    Finding,
    Group,
    Host,
    Status,
    ok,
    warning,
)
from vsperf.plugins import Plugins
from vsperf.trust.printable import printable

ANY_TESTCASE = "pvp_tput"
"""By it the options are read: it has a switch and a machine."""
MARKS = {
    Status.OK: ("✓", "green"),
    Status.ABSENT: ("–", None),
    Status.UNKNOWN: ("?", "cyan"),
    Status.WARNING: ("!", "yellow"),
    Status.FAILURE: ("✗", "red"),
}
ENDINGS = {
    Status.OK: "well",
    Status.ABSENT: "not there and not needed by every testcase",
    Status.UNKNOWN: "cannot be told",
    Status.WARNING: "may spoil numbers",
    Status.FAILURE: "keep runs from working",
}


@click.command(
    epilog="Examples:\n\n\b\n  vsperf doctor\n  sudo vsperf doctor            # as a run sees it\n"
    "  vsperf doctor --json\n"
    "  vsperf doctor --vswitch vpp --set vswitch.install=/usr/local\n"
)
@overrides_cases
@results_option
@json_option
def command(request: Request, results: Path, as_json: bool) -> int:
    """Check this machine and this installation; changes nothing.

    Each check gives its evidence, and where something can be mended, the command for it. Exits
    with 3 if something would keep a run from working. Parts that are elsewhere (`vswitch.install`,
    `vswitch.root`, `vnf.root`) are looked for where a run with the same options would find them.
    """
    plugins = Plugins.load()
    here = Host(
        results=results,
        plugins=plugins,
        environment=os.environ,
        chosen=_chosen(request, plugins),
    )
    own = Check("specifications", Group.INSTALLATION, _specifications)
    findings = list(examine(here, (own, *checks(here.plugins))))
    if as_json:
        click.echo(json.dumps([asdict(finding) for finding in findings], indent=2))
    else:
        _show(findings)
    failed = any(finding.status is Status.FAILURE for finding in findings)
    return ExitCode.NOT_READY if failed else ExitCode.OK


def _chosen(request: Request, plugins: Plugins) -> tuple[DriverSpec, ...]:
    """Return the settings of the drivers that a run with these options would have."""
    if request == Request(names=()):
        return ()
    loaded = load(replace(request, names=(ANY_TESTCASE,)), plugins)
    parts = [one for case in loaded.cases for one in (case.spec.vswitch, case.spec.vnf) if one]
    return tuple(one for place, one in enumerate(parts) if one not in parts[:place])


def _show(findings: Iterable[Finding]) -> None:
    found = list(findings)
    width = max(len(finding.name) for finding in found)
    for group in dict.fromkeys(finding.group for finding in found):
        click.secho(str(group), bold=True)
        for finding in (finding for finding in found if finding.group is group):
            sign, colour = MARKS[finding.status]
            mark = click.style(sign, fg=colour) if colour else sign
            click.echo(f"  {mark} {finding.name:<{width}}  {printable(finding.evidence)}")
            if finding.fix and finding.status is not Status.OK:
                click.echo(f"    {'':<{width}}  fix: {printable(finding.fix)}")
    counts = Counter(finding.status for finding in found)
    parts = [f"{counts[status]} {ENDINGS[status]}" for status in MARKS if counts[status]]
    click.echo(f"{len(found)} checks: {', '.join(parts)}")


def _specifications(here: Host) -> Answer:
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
        return warning(f"{evidence}; broken: {', '.join(broken)}", "vsperf list")
    return ok(evidence)
