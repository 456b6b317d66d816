"""`vsperf show`: a testcase with the origin of every value, a stored run, or one of its cases."""

from __future__ import annotations

import csv
import json
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import click
from click.shell_completion import CompletionItem
from rich.console import Console
from rich.text import Text

from vsperf.analysis.answers import reasons
from vsperf.analysis.noise import noise_lines
from vsperf.analysis.summary import LOSSY, CaseRow, Latency, too_busy, too_busy_case
from vsperf.cli.connections_view import connections_data, print_connections
from vsperf.cli.exchange_view import exchanges_data, print_exchanges
from vsperf.cli.paired_view import compared_data, print_compared, rounds_data
from vsperf.cli.progress import marked, round_line, trial_line
from vsperf.cli.selection import complete_testcase, library, load, overrides_cases
from vsperf.cli.stored import in_results, json_option, results_option, say_json, took_text
from vsperf.cli.tables import console, print_label, print_summary, print_table, print_titled
from vsperf.cli.terminal import fitting
from vsperf.cli.why_view import show_why
from vsperf.config.case import MADE
from vsperf.config.document import COMPARABLE
from vsperf.config.loader import Request
from vsperf.config.noise import NOISE
from vsperf.config.suggest import nearest
from vsperf.config.topology import Topology
from vsperf.errors import ExitCode, Location, StoreError, UsageError, VsperfError
from vsperf.output.collected_tables import sights
from vsperf.output.table import Cell, Table, columns
from vsperf.output.trial_tables import (
    CHAIN_MEANING,
    STAGES_MEANING,
    THREADS_MEANING,
    account_table,
    chain_tables,
    stages_table,
    threads_table,
    whole_account,
)
from vsperf.plugins import Plugins
from vsperf.quantities.human import counted, human_count, human_fps, human_ns
from vsperf.records.files.folders import LATEST, RECORDS, resolve, run_folders
from vsperf.records.files.reader import RunState, header_of
from vsperf.records.files.view import CaseView, RunView, open_run
from vsperf.records.run import labels_text
from vsperf.records.switch import cycles_of
from vsperf.records.trial import DirectionSample, Second, Trial
from vsperf.trust.printable import vsperf_command

FEW_TRIALS = 10
"""Of a case, a line of each of which nobody has to ask for."""
MOST_TRIALS = 1_000
"""Of a case that are shown one by one; somebody's record may hold any number."""
MOST_CHOICES = 50
"""Cases that are named where one is to be chosen."""


def complete_case(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
    """Complete the cases of a stored run."""
    results = Path(ctx.params.get("results") or "results")
    try:
        header = header_of(resolve(results, ctx.params["subject"]))
    except VsperfError:
        return []
    labels = [case.label for case in header.cases]
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
    "  vsperf show phy2phy_tput --testbed sim   # each value, and where it is from\n"
    "  vsperf show latest                       # the last run\n"
    "  vsperf show latest 64B                   # one of its cases\n"
    "  vsperf show latest 64B --all             # with all that each trial counted\n"
    "  vsperf show k7f3 --json\n"
    "  vsperf show latest 64B --why             # what was full\n"
    "  vsperf show latest 64B --seconds > soak.csv   # of a soak, killed or not\n"
)
@click.argument("subject", shell_complete=complete_subject)
@click.argument("case", required=False, shell_complete=complete_case)
@overrides_cases
@results_option
@json_option
@click.option("--all", "every", is_flag=True, help="Show of CASE all that each trial counted.")
@click.option("--seconds", is_flag=True, help="Print each second of a long trial of CASE as CSV.")
@click.option("--why", is_flag=True, help="Say of CASE which resource was full, with the figures.")
def command(
    subject: str,
    case: str | None,
    request: Request,
    results: Path,
    as_json: bool,
    every: bool,
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
    if every:
        _show_case(*_only(results, subject, case), as_json=as_json, every=True)
        return ExitCode.OK
    if _is_testcase(subject):
        _show_testcase(replace(request, names=(subject,)), case, as_json)
        return ExitCode.OK
    run = open_run(_run_or_testcase(results, subject))
    if case is not None:
        _show_case(run, _pick(run, case), as_json=as_json, every=False)
    elif as_json:
        say_json(run_as_json(run))
    else:
        print_run(run)
    return ExitCode.OK


def _is_part(text: str | None, label: str, point: Mapping[str, str]) -> bool:
    """Whether a word tells a case from its sisters, such as 64B or ovs-dpdk."""
    return text in label.split("-") or text in point.values()


def _only(results: Path, subject: str, wanted: str | None) -> tuple[RunView, CaseView]:
    """Return a run with the case that is meant; without its name with the only one."""
    run = open_run(resolve(results, subject))
    if wanted is not None:
        return run, _pick(run, wanted)
    cases = run.header.cases
    if len(cases) > 1:
        fix = f"choose one of: {_some(one.label for one in cases)}"
        raise UsageError(f"{run.run} has several cases, and one is to be shown", fix=fix)
    return run, run.case(cases[0])


def _some(names: Iterable[str]) -> str:
    """Name what can be chosen; a record of others may hold any number."""
    every = list(names)
    more = f" and {len(every) - MOST_CHOICES:,} more" if len(every) > MOST_CHOICES else ""
    return f"{', '.join(every[:MOST_CHOICES])}{more}"


def _print_seconds(results: Path, subject: str, wanted: str | None) -> None:
    """Print the seconds of a case."""
    _, case = _only(results, subject, wanted)
    if not case.seconds:
        raise UsageError(
            f"no second of {case.label} is recorded",
            why="they are recorded of long trials only",
            fix="measure by a method that looks at each second, as testcases of a soak do",
        )
    write_seconds(case.standing_seconds)


def _is_testcase(subject: str) -> bool:
    if subject.endswith((".yaml", ".yml")):
        return True
    return subject in library().files("testcases")


def _run_or_testcase(results: Path, subject: str) -> Path:
    """Return the folder of a run; what is neither that nor a testcase may be a mistyped one."""
    try:
        return resolve(results, subject)
    except UsageError as error:
        meant = nearest(subject, [LATEST, *library().files("testcases")])
        if meant in {None, LATEST}:
            raise
        what = f"there is neither a testcase nor a run {subject!r}"
        raise UsageError(what, fix=f"did you mean `{meant}`?") from error


def _show_testcase(request: Request, wanted: str | None, as_json: bool) -> None:
    plugins = Plugins.load()
    loaded = load(request, plugins)
    meant = [case for case in loaded.cases if wanted in (None, case.key, case.id, case.label)]
    meant = meant or [c for c in loaded.cases if _is_part(wanted, c.label, c.point)]
    if not meant:
        labels = ", ".join(case.label for case in loaded.cases)
        raise UsageError(f"there is no case {wanted!r}", fix=f"choose one of: {labels}")
    first = meant[0]
    if as_json:
        rows = [
            {
                "case": case.key,
                "label": case.label,
                "spec": case.spec.model_dump(mode="json"),
                "origins": case.origins,
            }
            for case in meant
        ]
        say_json(rows)
        return
    out = console()
    print_label(out, simulated=loaded.simulated)
    titles = filter(None, (first.spec.name, first.spec.title))
    out.print(Text(": ".join(titles), style="bold"))
    if first.spec.description:
        out.print(fitting(Text(first.spec.description.strip()), out, ""))
    labels = ", ".join(case.label for case in loaded.cases)
    out.print(f"testbed {loaded.testbed}, preset {loaded.preset}; cases: {labels}")
    settings = tuple(
        (path, value, Cell(_origin(first.origins, path), "aside"))
        for path, value in _leaves(first.spec.model_dump(mode="json", exclude_none=True))
        if path.partition(".")[0] not in ("name", "title", "description")
        if path not in MADE or value not in ("", "[]")
    )
    heads = (*columns("setting", breaks=False), *columns("value", "from"))
    print_table(out, Table("settings", heads, settings), blocks=True)
    if len(meant) > 1:
        out.print(
            f"values of {first.label}, the first of {len(meant)} cases; "
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


def _row(case: CaseView) -> CaseRow:
    row = CaseRow.of(case)
    with _understanding(case):  # touches all that the record must hold to be shown
        row.as_json()
        row.virtual  # noqa: B018
    return row


@contextmanager
def _understanding(case: CaseView) -> Iterator[None]:
    """Blame the recorded specification, which is any JSON, for what cannot be made of it."""
    try:
        yield
    except (AttributeError, KeyError, TypeError, ValueError, ZeroDivisionError) as error:
        raise StoreError(
            f"the records of {case.run} cannot be understood",
            where=Location(str(case.folder / RECORDS), 1),
            why=f"a specification in its header is damaged: {error}",
            fix="restore the file from a copy; vsperf itself never changes a written line",
        ) from error


def run_as_json(run: RunView) -> dict[str, Any]:
    """Return a stored run as plain data."""
    rows, cases = list[CaseRow](), list[dict[str, Any]]()
    for case in run.cases():
        rows.append(_row(case))
        cases.append({**rows[-1].as_json(), **compared_data(case)})
    header = run.header.model_dump(mode="json", exclude={"cases", "type"})
    return {
        **header,
        "state": run.state,
        "folder": str(run.folder),
        "exit_code": run.end.exit_code if run.end else None,
        "took_s": run.took_s,
        "verdict": too_busy(row.record for row in rows if row.record),
        "cases": cases,
        "noise_costs": cost_data(run),
    }


def print_run(run: RunView) -> None:
    """Print a stored run: its table, and what to do when it is not finished."""
    out, where = console(), in_results(run.folder.parent)
    header = run.header
    rows, left = list[CaseRow](), 0
    for case in run.cases():
        rows.append(_row(case))
        left += not case.over
    ended = run.end is not None or any(row.record is not None for row in rows)
    took = took_text(run.took_s, told=ended)
    out.print(
        f"{run.run}: testbed {header.testbed}, preset {header.preset}, {run.state}, "
        f"started {header.started_at}" + (f", took {took}" if took else ""),
    )
    if header.labels:
        out.print(f"labels: {labels_text(header.labels)}")
    if (busy := too_busy(row.record for row in rows if row.record)) is not None:
        out.print(busy, style="bold red")
    print_label(out, simulated=header.simulated)
    print_compared(out, run)
    print_summary(out, rows, header.simulated)
    print_cost(out, run)
    for section in COMPARABLE:
        if len({case.point.get(section) for case in header.cases}) > 1:
            line = vsperf_command("compare", run.run, "--by", section, *where)
            out.print(f"to compare: {line}", style="dim")
    if run.state is RunState.INTERRUPTED or (left and run.state is RunState.FINISHED):
        out.print(
            f"{left} of {len(header.cases)} cases not finished; go on with:\n"
            f"  {vsperf_command('run', '--resume', run.run, *where)}",
            style="yellow",
        )
    if run.torn:
        out.print("the last record was cut off; it is not counted", style="yellow")
    here, records = Path.cwd(), run.folder.resolve() / RECORDS
    shown = records.relative_to(here) if records.is_relative_to(here) else records
    out.print(f"records: {shown}", style="dim")


def _pick(run: RunView, text: str) -> CaseView:
    cases = run.header.cases
    exact = [c for c in cases if text == c.key]  # the first repeat has but the id
    exact = exact or [c for c in cases if text in (c.id, c.label)]
    meant = exact or [c for c in cases if _is_part(text, c.label, c.point)]
    meant = meant or [c for c in cases if text in c.key]
    if len(meant) == 1:
        return run.case(meant[0])
    keys = _some(case.key for case in (meant or cases))
    what = f"{text!r} fits {len(meant)} cases" if meant else f"there is no case {text!r}"
    raise UsageError(f"{what} of {run.run}", fix=f"choose one of: {keys}")


def _case_as_json(row: CaseRow) -> dict[str, Any]:
    """Return a stored case as plain data."""
    case = row.view
    trials = [trial.model_dump(mode="json") for trial in case.trials]
    planned = case.planned.model_dump(mode="json")
    document = {**row.as_json(), **compared_data(case)}
    document |= {"planned": planned, "died": case.died, "all_trials": trials}
    return document | rounds_data(case) | exchanges_data(case) | connections_data(case)


def _show_case(run: RunView, case: CaseView, *, as_json: bool, every: bool) -> None:
    row = _row(case)
    if as_json:
        say_json(_case_as_json(row))
    else:
        _print_case(run, row, every=every)


def _print_case(run: RunView, row: CaseRow, *, every: bool) -> None:
    """Print the answer with its reasons, what became of all frames, and each trial if asked."""
    out, case = console(), row.view
    _print_answer(out, run, row)
    print_exchanges(out, case, every=every)
    print_connections(out, case, every=every)
    if every or len(case.trials) <= FEW_TRIALS:
        _print_lines(out, case)
    for line in noise_lines(case.record, case.standing_exchanges or case.standing_trials):
        out.print(line)
    standing = case.trials[case.died :]
    if (whole := whole_account(standing)) is not None:
        print_titled(out, whole)
    if every:
        _print_every(out, case, standing[:MOST_TRIALS])
    elif not case.rounds:
        out.print("each of them, with all that was counted: the same with --all", style="dim")
    if case.abandoned:
        left = counted(case.abandoned, "trial")
        out.print(f"kept in the records: {left} of interrupted attempts", style="dim")


def _print_answer(out: Console, run: RunView, row: CaseRow) -> None:
    if (busy := too_busy_case(row.record)) is not None:
        out.print(busy, style="bold red")
    print_label(out, simulated=run.simulated)
    print_summary(out, [row], run.simulated, whole=True)
    for reason in reasons(row):
        out.print(reason)
    for fixed in row.loads:
        out.print(f"{human_fps(fixed.load_fps)}: {fixed.reason}")
    for latency in row.latency:
        out.print(_latency_text(latency))


def _print_lines(out: Console, case: CaseView) -> None:
    """Print a line for each trial, or round."""
    made = case.trials[:MOST_TRIALS]
    said = f": {len(made):,} of {len(case.trials):,} shown" if len(made) < len(case.trials) else ""
    if not (case.exchanges or case.connections):
        out.print("rounds" if case.rounds else f"trials{said}", style="bold")
    for line in _lines_of(case, made, case.died):
        out.print(line)
    if said:
        out.print("--json has all of them, and so has `vsperf export`", style="dim")


def _print_every(out: Console, case: CaseView, trials: Sequence[Trial]) -> None:
    """Print what was counted in each trial, by whomever."""
    _print_work(out, trials)
    with _understanding(case):
        topology = Topology.model_validate(case.planned.spec["topology"])
    _print_chain(out, trials, topology)
    _print_collected(out, case)


def _lines_of(case: CaseView, trials: Sequence[Trial], died: int) -> Iterator[str]:
    """Yield a line for each trial, or round; the first ones may not count."""
    for place, trial in enumerate(trials):
        yield marked(trial_line(trial), gone=place < died)
    for place, one in enumerate(case.rounds):
        yield marked(round_line(one), gone=place < died)


def _latency_text(one: Latency) -> str:
    """Say how long frames took at a load, and if some did not arrive at all."""
    values = ", ".join(f"p{p:g} {human_ns(ns)}" for p, ns in one.shown_ns.items())
    lost = f"; {human_count(one.lost_frames)} frames were lost: {LOSSY}" if one.lost_frames else ""
    return f"latency at {one.at}: {values}{lost}"


def _uncounted(trials: Sequence[Trial]) -> str:
    """Say which trials the switch counted nothing in, if any: they have no row."""
    left = [f"#{one.index}" for one in trials if one.switch is None]
    if not left:
        return ""
    more = f" and {len(left) - MOST_CHOICES:,} more" if len(left) > MOST_CHOICES else ""
    return f"no row for {', '.join(left[:MOST_CHOICES])}{more}: the switch's counters tell nothing"


def _print_work(out: Console, trials: Sequence[Trial]) -> None:
    """Print what the switch and the threads that poll did in trials, as far as it is known."""
    for table, meaning in (
        (account_table(trials), _uncounted(trials)),
        (stages_table(trials), STAGES_MEANING),
        (threads_table(trials), THREADS_MEANING),
    ):
        if table is not None:
            print_titled(out, table, meaning)


def _print_chain(out: Console, trials: Sequence[Trial], topology: Topology) -> None:
    """Print where in a chain of VNFs frames ended, if there is one."""
    tables = chain_tables(trials, topology)
    if tables is None:
        return
    if not tables:
        out.print("in the chain of VNFs no frame was lost")
        return
    out.print("where in the chain they ended", style="bold")
    for table in tables:
        print_table(out, table)
    out.print(CHAIN_MEANING, style="dim")


def _print_collected(out: Console, case: CaseView) -> None:
    """Print what each collector saw, and what it has to say."""
    standing = case.standing_trials
    for one in sights(case.folder, case.key, case.attempt, standing, case.died + 1):
        out.print(Text(one.table.title, style="bold"))
        if one.table.rows:
            print_table(out, one.table.without("", one.table.names), blocks=True)
        for note in one.notes:
            out.print(note)


# What noise cost the cases of a run.


def cost_data(run: RunView) -> list[dict[str, Any]]:
    """Return what each level of noise cost as plain data; nothing of a run without levels."""
    if not _has_levels(run):
        return []
    from vsperf.output.quiet import costs_of

    return [asdict(row) for found in costs_of([run.folder]) for row in found.rows]


def _has_levels(run: RunView) -> bool:
    return len({case.point.get(NOISE) for case in run.header.cases}) > 1


def print_cost(out: Console, run: RunView) -> None:
    """Say of a run with levels of noise what each cost, and whether that is more than chance."""
    if not _has_levels(run):
        return
    from vsperf.output.quiet import against_quiet

    if lines := against_quiet(run.folder):
        out.print("what the noise cost, against the quiet case", style="bold")
        for line in lines:
            out.print(line)


# The seconds of a long trial as CSV: units in the headers, empty where unknown.


COMMON = ("elapsed_s", "switch_frames", "switch_busy_cycles", "kept_from_running_ns")
EACH_WAY = ("sent", "received", "refused", "lost", "latency_p50_ns", "latency_p99_ns")


def write_seconds(seconds: Iterable[Second]) -> int:
    """Write a table of seconds to stdout as they come; return how many there were.

    Frames count since the trial began, all else since the second before.
    """
    from vsperf.output.export.csv_tables import defused

    out, count = csv.writer(sys.stdout, lineterminator="\n"), 0
    for count, second in enumerate(seconds, start=1):
        if count == 1:
            names = [way.name.replace(" ", "_") for way in second.sample.directions]
            columns = [f"{name}_{column}" for name in names for column in EACH_WAY]
            out.writerow([*COMMON, *map(defused, columns)])
        out.writerow(list(_second(second)))
    return count


def _second(second: Second) -> Iterator[object]:
    yield f"{second.sample.elapsed_ns / 1e9:.3f}"
    pmds = second.switch.pmds if second.switch is not None else ()
    yield sum(pmd.frames for pmd in pmds) if pmds else None
    yield cycles_of(pmds)[0] if pmds else None
    yield sum(thread.kept_ns for thread in second.threads) if second.threads else None
    for way in second.sample.directions:
        yield from _counted(way)


def _counted(way: DirectionSample) -> Iterator[object]:
    yield way.sent_frames
    yield way.received_frames
    yield way.refused_frames
    yield way.lost_frames
    yield way.latency.p50_ns if way.latency is not None else None
    yield way.latency.p99_ns if way.latency is not None else None
