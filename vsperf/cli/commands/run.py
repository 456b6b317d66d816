"""`vsperf run`: measure, store, and say what was found."""

from __future__ import annotations

import json
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import click

from vsperf import __version__
from vsperf.cli.commands.plan import print_plans
from vsperf.cli.commands.show import print_run, run_as_json
from vsperf.cli.progress import Progress, make_progress
from vsperf.cli.selection import json_option, load, results_option, selects_cases
from vsperf.cli.tables import console
from vsperf.engine.resume import restore_cases
from vsperf.engine.run import (
    EXIT_CODES,
    Planned,
    end_run,
    gravest,
    plan_cases,
    run_cases,
)
from vsperf.errors import ExitCode, UsageError
from vsperf.events import RunStarted
from vsperf.host.facts import environment
from vsperf.human import human_seconds
from vsperf.plugins import Plugins
from vsperf.quantity import UnitError
from vsperf.record.run import PlannedCase, RunHeader, RunResume
from vsperf.spec.loader import Loaded, Request
from vsperf.store.folders import resolve
from vsperf.store.reader import StoredRun, read_run
from vsperf.store.validation import validate_file
from vsperf.store.writer import RunWriter
from vsperf.units import Duration


class DurationType(click.ParamType[Duration]):
    """A duration with its unit, such as 30m."""

    name = "duration"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> Duration:
        try:
            return Duration.parse(value)
        except UnitError as error:
            self.fail(str(error), param, ctx)


def complete_run(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
    """Complete the ids of stored runs."""
    from vsperf.store.folders import run_folders

    names = [folder.name for folder in run_folders(Path(ctx.params.get("results") or "results"))]
    return [name for name in ("latest", *names) if name.startswith(incomplete)]


@click.command(
    epilog="Examples:\n\n\b\n"
    "  vsperf run phy2phy_tput --testbed sim\n"
    "  vsperf run 'phy2phy_*' --testbed sim --preset standard --budget 30m\n"
    "  vsperf run phy2phy_tput --testbed sim --set traffic.frame_size=64B --repeat 5\n"
    "  vsperf run --resume latest\n"
)
@selects_cases
@click.option(
    "--budget", type=DurationType(), metavar="TIME", help="Time for all trials, such as 30m."
)
@click.option("--keep", is_flag=True, help="Leave the deployment up after the last case.")
@click.option("--dry-run", is_flag=True, help="Print the plan and stop, as `vsperf plan` does.")
@click.option(
    "--resume", metavar="RUN", shell_complete=complete_run, help="Go on with an interrupted run."
)
@click.option(
    "--progress",
    type=click.Choice(["auto", "live", "plain", "json", "quiet"]),
    default="auto",
    show_default=True,
    help="How to show progress on stderr; auto is live on a terminal, else plain.",
)
@results_option
@json_option
def command(
    request: Request,
    budget: Duration | None,
    keep: bool,
    dry_run: bool,
    resume: str | None,
    progress: str,
    results: Path,
    as_json: bool,
) -> int:
    """Run the testcases that NAME... selects: names, globs, files, or tag:TAG.

    Prints an estimate first, shows progress on stderr, stores every trial as soon as it is made,
    and ends with a table. A run that was interrupted goes on with --resume RUN; cases that are
    finished are not repeated.
    """
    plugins = Plugins.load()
    with make_progress(progress, console(stderr=True)) as display:  # type: ignore[arg-type]
        if resume is not None:
            if request != Request(()):
                raise UsageError(
                    "--resume goes on with a run as it was planned, and takes no other selection",
                    fix="give --resume RUN alone, or start a new run",
                )
            folder, code = _resume(resolve(results, resume), plugins, display, budget)
        else:
            loaded = load(request, plugins)
            _refuse_keep(keep, loaded)
            planned = plan_cases(loaded.cases, plugins)
            if dry_run:
                print_plans(planned, as_json)
                return ExitCode.OK
            folder, code = _start(loaded, planned, results, display, budget)
    stored = read_run(folder)
    if as_json:
        click.echo(json.dumps(run_as_json(stored), indent=2))
    else:
        print_run(stored)
    return code


def _refuse_keep(keep: bool, loaded: Loaded) -> None:
    if keep and loaded.simulated:
        raise UsageError(
            "--keep has nothing to keep on a simulated testbed",
            why="a model runs inside vsperf itself and ends with it",
            fix="leave --keep out",
        )


def _start(
    loaded: Loaded,
    planned: tuple[Planned, ...],
    results: Path,
    display: Progress,
    budget: Duration | None,
) -> tuple[Path, ExitCode]:
    def header(run: str) -> RunHeader:
        return RunHeader(
            run=run,
            started_at=datetime.now(UTC).isoformat(timespec="milliseconds"),
            simulated=loaded.simulated,
            testbed=loaded.testbed,
            preset=loaded.preset,
            argv=tuple(sys.argv[1:]),
            vsperf_version=__version__,
            environment=environment(),
            cases=tuple(
                PlannedCase(
                    key=case.key,
                    id=case.id,
                    label=case.label,
                    point=case.point,
                    repeat=case.repeat,
                    spec=case.spec.model_dump(mode="json"),
                    origins=case.origins,
                )
                for case in loaded.cases
            ),
        )

    names = [case.spec.name for case in loaded.cases]
    with RunWriter.create(results, names, header) as writer:
        _announce(writer, planned, display, loaded.simulated, budget)
        code = run_cases(planned, writer, display, budget.ns if budget else None)
        end_run(writer, code)
    validate_file(writer.path)
    return writer.folder, code


def _resume(
    folder: Path, plugins: Plugins, display: Progress, budget: Duration | None
) -> tuple[Path, ExitCode]:
    with RunWriter.resume(folder) as writer:
        before = writer.before
        assert before is not None
        cases = restore_cases(before.unfinished(), before.header.cases, plugins.specs())
        if not cases and before.end is not None:
            raise UsageError(
                f"{before.run} is finished; there is nothing to resume",
                fix=f"`vsperf show {before.run}` shows what it found",
            )
        planned = plan_cases(cases, plugins)
        resumed_at = datetime.now(UTC).isoformat(timespec="milliseconds")
        writer.append(RunResume(resumed_at=resumed_at, argv=tuple(sys.argv[1:])))
        _announce(writer, planned, display, before.header.simulated, budget)
        attempts = {case.planned.key: len(case.attempts) for case in before.cases}
        code = run_cases(planned, writer, display, budget.ns if budget else None, attempts)
        code = gravest([code, *_codes_before(before)])
        end_run(writer, code)
    validate_file(writer.path)
    return writer.folder, code


def _codes_before(before: StoredRun) -> list[ExitCode]:
    return [EXIT_CODES[case.record.outcome] for case in before.cases if case.over and case.record]


def _announce(
    writer: RunWriter,
    planned: tuple[Planned, ...],
    display: Progress,
    simulated: bool,
    budget: Duration | None,
) -> None:
    seconds = sum(item.estimate.seconds for item in planned)
    cases = tuple(item.case for item in planned)
    display(RunStarted(writer.run, str(writer.folder), cases, seconds, simulated))
    if budget is not None and seconds > budget.seconds:
        text = (
            f"the budget of {budget} is less than the estimate of {human_seconds(seconds)}: "
            "some searches will end with wider intervals"
        )
        console(stderr=True).print(f"! {text}", style="yellow", markup=False)
