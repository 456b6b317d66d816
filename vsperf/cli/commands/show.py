"""`vsperf show`: a testcase with the origin of every value, a stored run, or one of its cases."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import click
from click.shell_completion import CompletionItem
from rich.console import Console
from rich.table import Table
from rich.text import Text

from vsperf.cli.account import account_table
from vsperf.cli.chain_view import MEANING, chain_tables
from vsperf.cli.collected_view import print_collected
from vsperf.cli.noise_view import cost_data, print_cost
from vsperf.cli.progress import trial_line
from vsperf.cli.seconds_view import write_seconds
from vsperf.cli.selection import complete_testcase, library, load, overrides_cases
from vsperf.cli.stages_view import MEANING as STAGES_MEANING
from vsperf.cli.stages_view import stages_table
from vsperf.cli.stored import json_option, results_option
from vsperf.cli.tables import console, print_summary, simulated_banner
from vsperf.cli.threads_view import MEANING as THREADS_MEANING
from vsperf.cli.threads_view import threads_table
from vsperf.cli.why_view import show_why
from vsperf.errors import ExitCode, Location, StoreError, UsageError, VsperfError
from vsperf.human import human_fps, human_ns
from vsperf.plugins import Plugins
from vsperf.record.labels import labels_text
from vsperf.record.trial import Trial
from vsperf.spec.document import COMPARABLE
from vsperf.spec.loader import Request
from vsperf.spec.topology import Topology
from vsperf.stats.answers import reasons
from vsperf.stats.busy import too_busy
from vsperf.stats.noise import noise_lines
from vsperf.stats.summary import CaseRow
from vsperf.store.folders import RECORDS, resolve, run_folders
from vsperf.store.reader import RunState, StoredCase, StoredRun, read_run
from vsperf.store.seconds import seconds_of

WIDEST_VALUE = 60
"""So that a long list does not push the origins of all other values out of sight."""


def complete_case(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
    """Complete the cases of a stored run."""
    results = Path(ctx.params.get("results") or "results")
    try:
        stored = read_run(resolve(results, ctx.params["subject"]))
    except VsperfError:
        return []
    labels = [case.planned.label for case in stored.cases]
    return [label for label in labels if label.startswith(incomplete)]


def complete_subject(
    ctx: click.Context, param: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    """Complete testcases and runs."""
    results = Path(ctx.params.get("results") or "results")
    runs = ["latest", *(folder.name for folder in run_folders(results))]
    found = [CompletionItem(name, help="run") for name in runs if name.startswith(incomplete)]
    return complete_testcase(ctx, param, incomplete) + found


@click.command(
    epilog="Examples:\n\n\b\n"
    "  vsperf show phy2phy_tput --testbed sim     # resolved, with the origin of each value\n"
    "  vsperf show latest                         # the last run\n"
    "  vsperf show latest 64B                     # every trial of one of its cases\n"
    "  vsperf show k7f3 --json\n"
    "  vsperf show latest 64B --why               # what was full, as far as anybody counted\n"
    "  vsperf show latest 64B --seconds > soak.csv   # of a soak, also of one that was killed\n"
)
@click.argument("subject", shell_complete=complete_subject)
@click.argument("case", required=False, shell_complete=complete_case)
@overrides_cases
@results_option
@json_option
@click.option("--seconds", is_flag=True, help="Print each second of a long trial of CASE as CSV.")
@click.option("--why", is_flag=True, help="Say of CASE which resource was full, with the figures.")
def command(
    subject: str,
    case: str | None,
    request: Request,
    results: Path,
    as_json: bool,
    seconds: bool,
    why: bool,
) -> int:
    """Show SUBJECT: a testcase (resolved), or a run, or with CASE one case of a run."""
    if seconds:
        _print_seconds(results, subject, case)
        return ExitCode.OK
    if why:
        show_why(*_only(results, subject, case), as_json=as_json)
        return ExitCode.OK
    if _is_testcase(subject):
        _show_testcase(replace(request, names=(subject,)), case, as_json)
        return ExitCode.OK
    stored = read_run(resolve(results, subject))
    if case is not None:
        _show_case(stored, _pick(stored, case), as_json)
    elif as_json:
        click.echo(json.dumps(run_as_json(stored), indent=2))
    else:
        print_run(stored)
    return ExitCode.OK


def _is_part(text: str | None, label: str, point: Mapping[str, str]) -> bool:
    """Whether a word tells a case from its sisters, such as 64B or ovs-dpdk."""
    return text in label.split("-") or text in point.values()


def _only(results: Path, subject: str, wanted: str | None) -> tuple[StoredRun, StoredCase]:
    """Return a run with the case that is meant; without its name with the only one."""
    stored = read_run(resolve(results, subject))
    if wanted is not None:
        return stored, _pick(stored, wanted)
    if len(stored.cases) > 1:
        fix = f"choose one of: {', '.join(one.planned.label for one in stored.cases)}"
        raise UsageError(f"{stored.run} has several cases, and one is to be shown", fix=fix)
    return stored, stored.cases[0]


def _print_seconds(results: Path, subject: str, wanted: str | None) -> None:
    """Print the seconds of a case."""
    stored, case = _only(results, subject, wanted)
    if not case.attempts or not case.attempts[-1].seconds:
        raise UsageError(
            f"no second of {case.planned.label} is recorded",
            why="they are recorded of long trials only",
            fix="measure by a method that looks at each second, as testcases of a soak do",
        )
    write_seconds(seconds_of(stored.folder, case.planned.key))


def _is_testcase(subject: str) -> bool:
    if subject.endswith((".yaml", ".yml")):
        return True
    return subject in library().files("testcases")


def _show_testcase(request: Request, wanted: str | None, as_json: bool) -> None:
    plugins = Plugins.load()
    loaded = load(request, plugins)
    fitting = [case for case in loaded.cases if wanted in (None, case.key, case.id, case.label)]
    fitting = fitting or [c for c in loaded.cases if _is_part(wanted, c.label, c.point)]
    if not fitting:
        labels = ", ".join(case.label for case in loaded.cases)
        raise UsageError(f"there is no case {wanted!r}", fix=f"choose one of: {labels}")
    first = fitting[0]
    if as_json:
        rows = [
            {
                "case": case.key,
                "label": case.label,
                "spec": case.spec.model_dump(mode="json"),
                "origins": case.origins,
            }
            for case in fitting
        ]
        click.echo(json.dumps(rows, indent=2))
        return
    out = console()
    if loaded.simulated:
        out.print(simulated_banner())
    out.print(Text(f"{first.spec.name}: {first.spec.title}", style="bold"))
    if first.spec.description:
        out.print(first.spec.description.strip())
    labels = ", ".join(case.label for case in loaded.cases)
    out.print(f"testbed {loaded.testbed}, preset {loaded.preset}; cases: {labels}")
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="bold")
    for column in ("setting", "value", "from"):
        table.add_column(column, overflow="fold", max_width=WIDEST_VALUE)
    for path, value in _leaves(first.spec.model_dump(mode="json", exclude_none=True)):
        origin = _origin(first.origins, path)
        if path.partition(".")[0] in ("name", "title", "description"):
            continue
        table.add_row(Text(path), Text(value), Text(origin, style="dim"))
    out.print(table)
    if len(fitting) > 1:
        out.print(
            f"values of {first.label}, the first of {len(fitting)} cases; "
            f"for another one: vsperf show {request.names[0]} CASE",
            style="dim",
        )


def _origin(origins: dict[str, str], path: str) -> str:
    """Return where a value came from; a list is written as a whole, so its parent may know."""
    while path:
        if path in origins:
            return origins[path]
        path = path.rpartition(".")[0]
    return ""


def _leaves(value: Any, path: str = "") -> list[tuple[str, str]]:
    if isinstance(value, dict) and value:
        return [
            leaf
            for key, item in value.items()
            for leaf in _leaves(item, f"{path}.{key}" if path else key)
        ]
    return [(path, value if isinstance(value, str) else json.dumps(value, ensure_ascii=False))]


def rows_of(stored: StoredRun) -> list[CaseRow]:
    """Return the summary rows of a stored run."""
    return [_row(stored, case) for case in stored.cases]


def _row(stored: StoredRun, case: StoredCase) -> CaseRow:
    row = CaseRow.of(case.planned, case.record, case.trials, begun=bool(case.attempts))
    with _understanding(stored):  # touches all that the record must hold to be shown
        row.as_json()
        row.virtual  # noqa: B018
    return row


@contextmanager
def _understanding(stored: StoredRun) -> Iterator[None]:
    """Blame the recorded specification, which is any JSON, for what cannot be made of it."""
    try:
        yield
    except (AttributeError, KeyError, TypeError, ValueError, ZeroDivisionError) as error:
        raise StoreError(
            f"the records of {stored.run} cannot be understood",
            where=Location(str(stored.folder / RECORDS), 1),
            why=f"a specification in its header is damaged: {error}",
            fix="restore the file from a copy; vsperf itself never changes a written line",
        ) from error


def run_as_json(stored: StoredRun) -> dict[str, Any]:
    """Return a stored run as plain data."""
    header = stored.header.model_dump(mode="json", exclude={"cases", "type"})
    return {
        **header,
        "state": stored.state,
        "folder": str(stored.folder),
        "exit_code": stored.end.exit_code if stored.end else None,
        "verdict": too_busy(case.record for case in stored.cases if case.record),
        "cases": [row.as_json() for row in rows_of(stored)],
        "noise_costs": cost_data(stored),
    }


def print_run(stored: StoredRun) -> None:
    """Print a stored run: its table, and what to do when it is not finished."""
    out = console()
    header = stored.header
    out.print(
        f"{stored.run}: testbed {header.testbed}, preset {header.preset}, {stored.state}, "
        f"started {header.started_at}",
        soft_wrap=True,
    )
    if header.labels:
        out.print(f"labels: {labels_text(header.labels)}", soft_wrap=True)
    if (busy := too_busy(case.record for case in stored.cases if case.record)) is not None:
        out.print(busy, style="bold red", soft_wrap=True)
    print_summary(out, rows_of(stored), header.simulated)
    print_cost(out, stored)
    for section in COMPARABLE:
        if len({case.planned.point.get(section) for case in stored.cases}) > 1:
            line = f"to compare: vsperf compare {stored.run} --by {section}"
            out.print(line, style="dim", soft_wrap=True)
    if stored.state is RunState.INTERRUPTED:
        left = len(stored.unfinished())
        out.print(
            f"{left} of {len(stored.cases)} cases not finished; "
            f"go on with: vsperf run --resume {stored.run}",
            style="yellow",
        )
    if stored.torn:
        out.print("the last record was cut off; it is not counted", style="yellow")
    here, records = Path.cwd(), stored.folder.resolve() / RECORDS
    shown = records.relative_to(here) if records.is_relative_to(here) else records
    out.print(f"records: {shown}", style="dim", soft_wrap=True)


def _pick(stored: StoredRun, text: str) -> StoredCase:
    exact = [c for c in stored.cases if text == c.planned.key]  # the first repeat has but the id
    exact = exact or [c for c in stored.cases if text in (c.planned.id, c.planned.label)]
    fitting = exact or [c for c in stored.cases if _is_part(text, c.planned.label, c.planned.point)]
    fitting = fitting or [c for c in stored.cases if text in c.planned.key]
    if len(fitting) == 1:
        return fitting[0]
    keys = ", ".join(case.planned.key for case in (fitting or stored.cases))
    what = f"{text!r} fits {len(fitting)} cases" if fitting else f"there is no case {text!r}"
    raise UsageError(f"{what} of {stored.run}", fix=f"choose one of: {keys}")


def _show_case(stored: StoredRun, case: StoredCase, as_json: bool) -> None:
    row = _row(stored, case)
    if as_json:
        trials = [trial.model_dump(mode="json") for trial in case.trials]
        planned = case.planned.model_dump(mode="json")
        document = {**row.as_json(), "planned": planned, "all_trials": trials}
        click.echo(json.dumps(document, indent=2))
        return
    out = console()
    print_summary(out, [row], stored.header.simulated)
    for reason in reasons(row):
        out.print(reason, soft_wrap=True)
    for fixed in row.loads:
        out.print(f"{human_fps(fixed.load_fps)}: {fixed.reason}", soft_wrap=True)
    for latency in row.latency:
        values = ", ".join(f"p{p:g} {human_ns(ns)}" for p, ns in latency.percentiles_ns.items())
        out.print(f"latency at {latency.reference}: {values}")
    out.print("trials", style="bold")
    for trial in case.trials:
        out.print(trial_line(trial), soft_wrap=True)
    for line in noise_lines(case.record, case.trials):
        out.print(line, soft_wrap=True)
    _print_work(out, case.trials)
    with _understanding(stored):
        topology = Topology.model_validate(case.planned.spec["topology"])
    _print_chain(out, case, topology)
    print_collected(out, stored, case)
    if case.abandoned:
        count = sum(len(attempt.trials) for attempt in case.abandoned)
        out.print(f"{count} trials of interrupted attempts are kept in the records", style="dim")


def _print_work(out: Console, trials: Sequence[Trial]) -> None:
    """Print what the switch and the threads that poll did in trials, as far as it is known."""
    if (table := account_table(trials)) is not None:
        out.print("where the frames went, and what they cost the switch", style="bold")
        out.print(table)
    if (table := stages_table(trials)) is not None:
        out.print("what its stages took", style="bold")
        out.print(table)
        out.print(STAGES_MEANING, style="dim", soft_wrap=True)
    if (table := threads_table(trials)) is not None:
        out.print("what kept polling threads from running", style="bold")
        out.print(table)
        out.print(THREADS_MEANING, style="dim", soft_wrap=True)


def _print_chain(out: Console, case: StoredCase, topology: Topology) -> None:
    """Print where in a chain of machines frames ended, if there is one."""
    tables = chain_tables(case.trials, topology)
    if tables is None:
        return
    if not tables:
        out.print("in the chain of machines no frame was lost")
        return
    out.print("where in the chain they ended", style="bold")
    for table in tables:
        out.print(table)
    out.print(MEANING, style="dim", soft_wrap=True)
