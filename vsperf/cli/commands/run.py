"""`vsperf run`: measure, store, and say what was found."""

from __future__ import annotations

import sys
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import click

from vsperf.cli.commands.plan import budget_text, print_plans
from vsperf.cli.commands.show import print_run, run_as_json
from vsperf.cli.output import silence_stdout
from vsperf.cli.progress import Progress, make_progress
from vsperf.cli.reporting import BESIDE_THE_RECORDS, wanted_form, write_after
from vsperf.cli.selection import (
    QuantityType,
    budget_option,
    load,
    refuse_foreign,
    selects_cases,
)
from vsperf.cli.stored import complete_run, json_option, results_option, say_json
from vsperf.cli.tables import console
from vsperf.config.loader import Loaded, Request
from vsperf.engine.baselines import with_baselines
from vsperf.engine.criteria import not_slower
from vsperf.engine.readiness import Patience, held_once_free, once_free, require_quiet
from vsperf.engine.run import RunOptions, plan_cases
from vsperf.engine.session import begin, left_of, take_up
from vsperf.errors import ExitCode, UsageError, VsperfError
from vsperf.host.workspace import LeftBehindError
from vsperf.plugins import Plugins
from vsperf.progress import Event
from vsperf.quantities.units import Duration, Ratio
from vsperf.records.files.folders import RECORDS, note, resolve
from vsperf.records.files.view import open_run
from vsperf.records.run import parse_labels
from vsperf.stop import forget_stop, raise_if_stopped

BEGUN = "vsperf.run.begun"


class _Run(click.Command):
    """Notes what was to be run and never began, wherever it was refused: by click, too."""

    def make_context(
        self,
        info_name: str | None,
        args: list[str],
        parent: click.Context | None = None,
        **extra: Any,
    ) -> click.Context:
        written = list(args)
        try:
            return super().make_context(info_name, args, parent, **extra)
        except click.exceptions.Exit:  # it was asked for help
            raise
        except BaseException as error:
            # What can be understood of it says where its results would be.
            lenient = dict.fromkeys(
                ("resilient_parsing", "ignore_unknown_options", "allow_extra_args"), True
            )
            _note(super().make_context(info_name, written, parent, **lenient), error)
            raise

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except BaseException as error:
            if BEGUN not in ctx.meta:
                _note(ctx, error)
            raise


def _note(ctx: click.Context, error: BaseException) -> None:
    results = ctx.params.get("results")
    if results is None or ctx.params.get("dry_run") or ctx.params.get("resume"):
        return
    match error:
        case click.ClickException():
            why = error.format_message()
        case VsperfError():
            why = str(error)
        case _:
            why = type(error).__name__
    note(results, sys.argv[1:], why)


@click.command(
    cls=_Run,
    epilog="Examples:\n\n\b\n"
    "  vsperf run phy2phy_smoke\n"
    "  vsperf run phy2phy_tput --set 'traffic.frame_size=[64B, 1518B]' --repeat 5\n"
    "  vsperf run 'phy2phy_*' --preset standard --budget 2h\n"
    "  vsperf run phy2phy_tput --testbed sim\n"
    "  vsperf run phy2phy_tput --vswitch ovs-dpdk,vpp --repeat 5    # in turns\n"
    "  vsperf run phy2phy_paired --vswitch ovs-dpdk,testpmd --fail-above 3%\n"
    "  vsperf run phy2phy_tput --mode trafficgen    # a device that others deployed\n"
    "  vsperf run --resume latest\n"
    "  vsperf run phy2phy_tput --report tput.html   # and a page that can be sent\n",
)
@selects_cases
@budget_option
@click.option(
    "--label",
    "labels",
    multiple=True,
    metavar="KEY=VALUE",
    help="Stored with the run; repeatable.",
)
@click.option("--keep", is_flag=True, help="Leave the deployment up after the last case.")
@click.option("--recalibrate", is_flag=True, help="Measure the generator alone anew.")
@click.option(
    "--wait",
    type=QuantityType(Duration),
    metavar="TIME",
    help="Wait for a quiet machine and a free testbed.",
)
@click.option(
    "--anyway",
    is_flag=True,
    envvar="VSPERF_ANYWAY",
    help="On a busy machine, too; then --wait is for the testbed alone; $VSPERF_ANYWAY=1.",
)
@click.option(
    "--report",
    metavar="[FILE]",
    is_flag=False,
    flag_value=BESIDE_THE_RECORDS,
    help="Write a report: FILE.html, .md or .pdf; by itself, report.html beside the records.",
)
@click.option(
    "--fail-above",
    type=QuantityType(Ratio),
    metavar="SHARE",
    help="FAIL where a switch in turns is worse.",
)
@click.option("--dry-run", is_flag=True, help="Print the plan, of what is left, and stop.")
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
    labels: tuple[str, ...],
    keep: bool,
    recalibrate: bool,
    wait: Duration | None,
    anyway: bool,
    report: str | None,
    fail_above: Ratio | None,
    dry_run: bool,
    resume: str | None,
    progress: str,
    results: Path,
    as_json: bool,
) -> int:
    """Run the testcases that NAME... selects: names, globs, files, or tag:TAG.

    Prints an estimate, shows progress on stderr, stores each trial at once, and ends with a table;
    the gravest outcome is the exit code. --resume RUN goes on, and repeats no finished case.
    """
    plugins = Plugins.load()
    argv = sys.argv[1:]
    patience = Patience(anyway, wait.ns if wait else 0)
    admit = partial(require_quiet, patience=patience, say=_say)
    form = wanted_form(report)
    if resume is not None:
        _refuse_selection(request, labels, fail_above)
        folder = resolve(results, resume)
        refuse_foreign(folder / RECORDS, foreign=request.foreign)
        planned = left_of(open_run(folder), plugins) if dry_run else ()
        opened = partial(take_up, folder, plugins, argv, admit)
    else:
        named, loaded = parse_labels(labels), load(request, plugins)
        _refuse_keep(keep, loaded)
        cases = not_slower(with_baselines(loaded.cases, results), fail_above)
        loaded = replace(loaded, cases=cases)
        planned = plan_cases(loaded.cases, plugins)
        opened = partial(begin, loaded, planned, results, argv, plugins, named, admit)
    if dry_run:
        print_plans(planned, plugins, as_json, budget)
        return ExitCode.OK
    session = once_free(opened, patience, _say)
    session = replace(session, hold=partial(held_once_free, patience=patience, say=_say))
    click.get_current_context().meta[BEGUN] = True
    if (told := budget_text(session.planned, budget)) is not None:
        _say(told)
    interruption: KeyboardInterrupt | LeftBehindError | None = None
    code = ExitCode.OK
    with make_progress(progress, console(stderr=True)) as display:  # type: ignore[arg-type]
        try:
            options = RunOptions(budget.ns if budget else None, recalibrate, keep, anyway)
            code = session.carry_out(_Quietly(display), options)
        except KeyboardInterrupt as error:
            interruption = error
            forget_stop()  # who asked again meanwhile sees the table as well
        except LeftBehindError as error:
            interruption = error
    stored = open_run(session.writer.folder)
    try:
        if as_json:
            say_json(run_as_json(stored))
        else:
            print_run(stored)
    except (OSError, SystemExit):
        # Nobody can read the table any more; the exit code still says how the run ended.
        silence_stdout()
    if interruption is not None:
        raise interruption
    if report is None or form is None:
        return code
    written = write_after(session.writer.folder, report, form)
    return code or written


def _say(text: str) -> None:
    console(stderr=True).print(f"! {text}", style="yellow")


class _Quietly:
    """Passes events on until they cannot be shown any more: a measurement outlives its audience."""

    def __init__(self, display: Progress) -> None:
        self.display: Progress | None = display

    def __call__(self, event: Event) -> None:
        raise_if_stopped()
        if self.display is None:
            return
        try:
            self.display(event)
        except (OSError, SystemExit):  # rich ends the program when its reader has left
            self.display = None


def _refuse_selection(request: Request, labels: tuple[str, ...], fail_above: Ratio | None) -> None:
    if labels or fail_above is not None or replace(request, foreign=False) != Request(()):
        raise UsageError(
            "--resume goes on with a run as it was planned, and takes no other selection, label or "
            "criterion",
            fix="give --resume RUN alone, or start a new run",
        )


def _refuse_keep(keep: bool, loaded: Loaded) -> None:
    if keep and loaded.simulated:
        raise UsageError(
            "--keep has nothing to keep on a simulated testbed",
            why="a model runs inside vsperf itself and ends with it",
            fix="leave --keep out",
        )
