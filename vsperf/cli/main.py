"""The entry point: commands are imported when they are called, errors become exit codes."""

from __future__ import annotations

import contextlib
import gc
import importlib
import io
import os
import sys
import tempfile
import traceback
from pathlib import Path
from typing import Any

import click

from vsperf import __version__
from vsperf.cli.output import patient, say, settle, silence_stdout
from vsperf.errors import ExitCode, VsperfError
from vsperf.host.open_files import allow_open_files
from vsperf.stop import SignalWatch, Terminated, asked_to_stop, disregard_stop, raise_if_stopped

COMPLETE = "_VSPERF_COMPLETE"
"""Environment variable by which a shell asks what to offer."""
NO_ARGUMENTS: tuple[type[click.UsageError], ...] = tuple(
    filter(None, [getattr(click.exceptions, "NoArgsIsHelpError", None)])
)
"""By which click from 8.2 on says on stderr what it says on stdout before, as its own mistake."""
COMMANDS = {
    "run": "Run testcases and store what was measured",
    "plan": "Print what a run would do, without doing it",
    "deploy": "Bring the parts of a testcase up, and wait",
    "shell": "Type commands in a VNF that is up",
    "list": "List testcases, testbeds, presets or topologies",
    "show": "Show a testcase, a run or one of its cases",
    "results": "List stored runs and results",
    "report": "Write a report of runs: HTML, Markdown or PDF",
    "plot": "Draw what runs found: SVG, PNG, PDF, or its data",
    "compare": "Say what changed between runs, and how surely",
    "trend": "Follow a testcase over all stored runs",
    "baseline": "Keep names for runs that others are held against",
    "export": "Write runs as CSV, Parquet, JSON, JUnit or metrics",
    "doctor": "Check this machine; changes nothing",
    "tgen": "Run the traffic generator by hand",
    "otg": "Let scripts of the OTG model drive the generator",
    "clean": "Remove what a killed run left behind",
    "schema": "Print the JSON Schema of testcases or records",
    "plugins": "List drivers, and which can be used here",
    "explain": "Explain a word of a table, a flag or a method",
    "completion": "Print the completion script for your shell",
}


class LazyGroup(click.Group):
    """A group that knows its commands by name and imports one only to run it."""

    def main(self, *args: Any, **options: Any) -> Any:
        if COMPLETE in os.environ:
            from vsperf.cli.completing import offer_fit_words

            offer_fit_words()
        try:
            return super().main(*args, **options)
        except NO_ARGUMENTS as asked:
            # Whoever names no command asks what there is, which is no mistake: of no group.
            click.echo(asked.format_message())
            return ExitCode.OK

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        module = importlib.import_module(f"vsperf.cli.commands.{cmd_name}")
        raise_if_stopped()  # not amid its import, which cannot be interrupted
        command: click.Command = module.command
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        try:
            return super().resolve_command(ctx, args)
        except click.UsageError as error:
            import difflib

            close = difflib.get_close_matches(args[0], COMMANDS, n=1)
            if not close or "Did you mean" in error.message:
                raise
            hint = f"{error.message} Did you mean '{close[0]}'?"
            raise click.UsageError(hint, ctx) from error

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


@click.command(
    cls=LazyGroup,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="Examples:\n\n\b\n"
    "  vsperf doctor                           # is this machine ready?\n"
    "  vsperf plan phy2phy_tput                # all that a run would do\n"
    "  vsperf run phy2phy_tput                 # measure OVS-DPDK on this machine\n"
    "  vsperf run phy2phy_tput --testbed sim   # a model instead, in a second\n"
    "  vsperf show latest\n\n"
    "Exit codes: `vsperf explain exit-codes`.\n",
)
@click.version_option(__version__, prog_name="vsperf")
def cli() -> None:
    """Benchmark virtual switches, with numbers that can be defended.

    Each number comes with the interval it lies in, the part that limited it, and the standard
    it complies with.
    """


def main() -> None:
    """Run the command line and exit with the documented code."""
    if SignalWatch.installed() is None:
        SignalWatch.install()
    allow_open_files()
    # Records are very many small objects, and none of them are in circles: to look for some all
    # the time is a fifth of what a report takes.
    gc.set_threshold(50_000, 20, 20)
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:  # closed by whoever started us
            setattr(sys, name, Path(os.devnull).open("w"))  # noqa: SIM115 - kept to the end
        if isinstance(stream := getattr(sys, name), io.TextIOWrapper):
            setattr(sys, name, patient(stream))
    code = run_cli(sys.argv[1:])
    settle()
    disregard_stop()
    sys.exit(code)


def run_cli(arguments: list[str]) -> int:
    """Run one command line and return its exit code; prints errors to stderr."""
    try:
        result: Any = cli.main(arguments, prog_name="vsperf", standalone_mode=False)
        code = _flushed(int(result) if isinstance(result, int) else ExitCode.OK)
        raise_if_stopped()
    except BaseException as error:
        return _exit_code(error)
    return code


def _flushed(code: int) -> int:
    """Write out what still waits to be; what was found stands, whether anybody could read it."""
    try:
        sys.stdout.flush()
    except OSError as error:
        silence_stdout()
        return code if code or isinstance(error, BrokenPipeError) else _exit_code(error)
    return code


def _exit_code(error: BaseException) -> int:
    """Say what went wrong, and return the exit code for it."""
    match error:
        case click.exceptions.Exit():
            return error.exit_code
        case click.ClickException():
            said = io.StringIO()
            _of_a_setting(error).show(said)
            say(said.getvalue().rstrip("\n"), err=True)  # it quotes what was typed
            return ExitCode.BAD_INPUT
        case KeyboardInterrupt() | click.Abort():
            _tell_notes(error)
            terminated = Terminated in (type(error), type(error.__cause__))
            return ExitCode.TERMINATED if terminated else ExitCode.INTERRUPTED
        case BrokenPipeError() | SystemExit(code=1):
            # The reader of our output has left, as in `vsperf list | head`; click says 1 for it.
            silence_stdout()
            stop = asked_to_stop()
            return ExitCode.OK if stop is None else _exit_code(stop())
        case Exception():
            return _report(error)
        case _:
            raise error


def _of_a_setting(error: click.ClickException) -> click.ClickException:
    """Say of an option that is none how the setting is given that was probably meant."""
    if not isinstance(error, click.NoSuchOption) or error.ctx is None:
        return error
    options = [name for known in error.ctx.command.params for name in known.opts]
    import difflib

    near = difflib.get_close_matches(error.option_name, options, n=1, cutoff=0.85)
    if near or "--set" not in options:
        return error
    from vsperf.cli.commands.explain import setting_meant

    if (setting := setting_meant(error.option_name.lstrip("-"))) is None:
        return error
    text = f"No such option '{error.option_name}'. Did you mean '--set {setting}=…'?"
    return click.UsageError(text, error.ctx)


def _report(error: Exception) -> int:
    """Say what failed: with why and how to fix it, or with a traceback in a file."""
    if isinstance(error, VsperfError):
        from vsperf.cli.problems import print_problems

        print_problems(error.problems)
        _tell_notes(error)
        return error.exit_code
    if isinstance(error, OSError):
        silence_stdout()
        name = f" {error.filename}" if error.filename else ""
        with contextlib.suppress(OSError):
            say(f"error: the system refused{name}: {error.strerror or error}", err=True)
        return ExitCode.COMPONENT_FAILED
    return _report_bug(error)


def _tell_notes(error: BaseException) -> None:
    """Say what else has to be known, such as what is left; click wraps an interruption."""
    for one in (error, error.__cause__):
        for note in getattr(one, "__notes__", ()):
            say(note, err=True)


def _culprit(error: Exception) -> str:
    """Return in whose code it was raised: vsperf's, or that of a driver of another package.

    Below either may lie code of libraries, which were called wrongly.
    """
    from vsperf.plugins import OWN, DriverError, whose

    if isinstance(error, DriverError):
        return whose(error.module) or OWN
    frames = [frame for frame, _ in traceback.walk_tb(error.__traceback__)]
    for frame in reversed(frames):
        module = str(frame.f_globals.get("__name__", ""))
        if module.partition(".")[0] == OWN:
            break
        if (found := whose(module)) is not None:
            return found
    return OWN


def _report_bug(error: Exception) -> int:
    from vsperf.plugins import DriverError

    text = "".join(traceback.format_exception(error))
    with tempfile.NamedTemporaryFile(
        "w", prefix="vsperf-bug-", suffix=".txt", delete=False, encoding="utf-8"
    ) as file:
        file.write(f"vsperf {__version__} {' '.join(sys.argv[1:])}\n{text}")
    last = str(error) if isinstance(error, DriverError) else text.strip().splitlines()[-1]
    say(f"bug in {_culprit(error)}: {last}", err=True)
    click.echo(f"  the traceback is in {Path(file.name)}; please report it", err=True)
    return ExitCode.BUG
