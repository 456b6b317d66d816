"""Options of commands that look at stored runs; such a command loads nothing that makes them."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click
from click.core import ParameterSource

from vsperf.cli.output import say
from vsperf.errors import VsperfError
from vsperf.quantities.human import human_seconds
from vsperf.records.files.baselines import baselines
from vsperf.records.files.folders import run_folders
from vsperf.records.run import RunHeader

F = TypeVar("F", bound=Callable[..., Any])


def complete_run(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
    """Complete the ids of stored runs."""
    names = [folder.name for folder in run_folders(Path(ctx.params.get("results") or "results"))]
    return [name for name in ("latest", *names) if name.startswith(incomplete)]


def complete_baseline(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
    """Complete the names of baselines."""
    results = Path(ctx.params.get("results") or "results")
    try:
        names = [one.name for one in baselines(results)]
    except VsperfError:
        return []
    return [name for name in names if name.startswith(incomplete)]


def results_option(command: F) -> F:
    """Add the option that says where runs are stored."""
    return click.option(
        "--results",
        type=click.Path(path_type=Path, file_okay=False),
        envvar="VSPERF_RESULTS",
        default=Path("results"),
        show_default=True,
        help="Folder of the runs; also $VSPERF_RESULTS.",
    )(command)


def in_results(folder: Path) -> tuple[str, ...]:
    """Return with which words a command to be copied looks into the folder that this one did."""
    context = click.get_current_context(silent=True)
    typed = context and context.get_parameter_source("results") is ParameterSource.COMMANDLINE
    return ("--results", str(folder)) if typed else ()


def json_option(command: F) -> F:
    """Add the option for machine-readable output."""
    return click.option("--json", "as_json", is_flag=True, help="Print JSON.")(command)


def took_text(took_s: float | None, *, told: bool) -> str | None:
    """Say how long a run took; nothing where it did not end, and no case of it did (`told`)."""
    return human_seconds(took_s) if told and took_s is not None else None


def say_json(found: Any) -> None:
    """Print what `--json` asks for."""
    click.echo(json.dumps(found, indent=2))


def say_of(*headers: RunHeader) -> None:
    """Say which runs something was made of, as `latest` and a label do not."""
    for header in headers:
        labels = "".join(f", {name}={value}" for name, value in header.labels.items())
        begun = header.started_at[:16].replace("T", " ")
        say(f"of {header.run}, begun {begun} UTC{labels}", err=True)
