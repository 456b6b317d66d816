"""Runs all benchmarks, one after the other, and writes one table as Markdown and as JSON.

The table begins with what this machine is, as ratios of one machine are not those of another. All
parts that are missing are told before the first benchmark, and each that lacks some is a row that
says so; one that fails makes this exit with 4.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NoReturn

from common import Ratio, ending_orderly, options, say
from needs import tell_lacking

from vsperf.errors import ExitCode
from vsperf.host.facts import environment
from vsperf.trust import own_python
from vsperf.waits import lines

HERE = Path(__file__).resolve().parent
FOLDER = HERE.parents[1] / "build" / "bench"
PROGRAMS = (
    *("tgen_rate", "tgen_cycles", "tgen_pacing", "tgen_veth", "tgen_truth"),
    *("real_run", "estimate", "index_rebuild", "report_page", "coverage", "paired", "reread"),
    *("runs_agree", "paired_sessions", "paired_table"),
)
EXAMPLE = "tools/bench/run_all.py --short tgen_rate tgen_cycles"
PACKAGES = {"DPDK": ("dpdk", "libdpdk-dev"), "OVS": ("openvswitch-switch-dpdk", "openvswitch")}


@dataclass(frozen=True, slots=True)
class Row:
    """How one benchmark ended."""

    program: str
    ratio: Ratio | None
    said: str
    """Why there is no ratio."""
    code: int
    seconds: float


def main() -> NoReturn:
    """Run those that are wanted, or all."""
    parser = options(__doc__, EXAMPLE)
    parser.add_argument("programs", nargs="*", metavar="PROGRAM", help=", ".join(PROGRAMS))
    parser.add_argument("--folder", type=Path, default=FOLDER, help="where the table is written")
    found = parser.parse_args()
    if unknown := sorted({*found.programs} - {*PROGRAMS}):
        parser.error(f"there is no benchmark {', '.join(unknown)}; known: {', '.join(PROGRAMS)}")
    with ending_orderly():
        wanted = found.programs or PROGRAMS
        if without := tell_lacking(wanted):
            say(f"not measured without that: {', '.join(without)}")
        rows = [run(program, found) for program in wanted]
        facts = host()
        table = markdown(facts, rows)
        write(found.folder, table, {"host": facts, "benchmarks": [asdict(row) for row in rows]})
        say(f"\n{table}\nwritten to {found.folder}/bench.md and bench.json")
    failed = any(row.code not in (ExitCode.OK, ExitCode.NOT_READY) for row in rows)
    sys.exit(ExitCode.COMPONENT_FAILED if failed else ExitCode.OK)


def run(program: str, found: argparse.Namespace) -> Row:
    """Run a benchmark to its end, and pass on what it says."""
    say(f"\n== {program}")
    argv = own_python.module(program, *(["--short"] if found.short else []), folder=HERE)
    began, said = time.monotonic(), [""]
    with subprocess.Popen(  # noqa: S603 - an argument vector of our own
        argv, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    ) as process:
        assert process.stdout is not None
        try:
            for line in lines(process.stdout):
                say(line.rstrip())
                said.append(line.strip())
        except KeyboardInterrupt:
            process.terminate()  # the other half of a Ctrl-C is harmless: it holds signals then
            process.communicate()
            raise
    ratio = Ratio.read(said[-1])
    why = "" if ratio else next((line for line in said if line.startswith("error")), said[-1])
    return Row(program, ratio, why, process.returncode, time.monotonic() - began)


def host() -> dict[str, Any]:
    """Return what decides the ratios, as far as it is known."""
    found = environment()
    packages: dict[str, str] = found["packages"]
    return {
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "CPU": found["host"]["cpu_model"],
        "CPUs": found["host"]["cpus"],
        "hypervisor": found["host"]["hypervisor"],
        "OS": found["system"]["os"],
        "kernel": found["system"]["kernel"],
        **{
            name: next((packages[one] for one in names if one in packages), None)
            for name, names in PACKAGES.items()
        },
    }


def markdown(facts: dict[str, Any], rows: Sequence[Row]) -> str:
    """Return the table for people."""
    known = [f"- {name}: {value}" for name, value in facts.items() if value is not None]
    head = ["| benchmark | ratio of | median | from | to | rounds | took |", "|" + "---|" * 7]
    return "\n".join([*known, "", *head, *(_line(row) for row in rows), ""])


def _line(row: Row) -> str:
    if (found := row.ratio) is None:
        cells = [row.program, f"not measured: {row.said}".replace("|", "\\|"), *[""] * 4]
    else:
        figures = (f"{value:.3g}" for value in (found.median, found.least, found.most))
        cells = [row.program, found.name, *figures, str(found.rounds)]
    return "| " + " | ".join([*cells, f"{row.seconds:.0f} s"]) + " |"


def write(folder: Path, table: str, content: dict[str, Any]) -> None:
    """Put both forms where the next ones replace them."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "bench.md").write_text(table)
    (folder / "bench.json").write_text(json.dumps(content, indent=2) + "\n")


if __name__ == "__main__":
    main()
