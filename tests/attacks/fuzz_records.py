"""Records: whatever happened to a file, readers say what is wrong, and show what is not."""

from __future__ import annotations

import csv
import io
import json
import random
import shutil
import sys
from collections.abc import Callable
from importlib import import_module
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

from connection_models import Device
from exchanges import cpu, exchange, instance, use
from round_models import round_of

from attacks.announced import every_trial
from attacks.apart import REFUSED, SET_UP_S, TAKEN, apart, vsperf
from attacks.damage import damaged_bytes, damaged_lines
from attacks.worker import Fuzzer
from vsperf.errors import ExitCode, VsperfError
from vsperf.methods.connections import ConnectionsAsked
from vsperf.records.exchange import Beside
from vsperf.records.files.folders import RECORDS
from vsperf.records.files.reader import check_run
from vsperf.records.files.series import series_folder
from vsperf.records.files.validation import validate_file
from vsperf.records.files.view import open_run
from vsperf.records.files.writer import RunWriter
from vsperf.records.packets import Packets
from vsperf.records.run import LINE, ConnectionsLine, ExchangeLine, Line, RoundLine
from vsperf.records.turn_columns import TurnColumns

TESTS = Path(__file__).parents[1]
GOLDEN = TESTS / "golden" / "records"
SERIES = TESTS / "golden" / "series"
FORMULAS = {"=", "+", "@"}
"""What a cell begins with that a spreadsheet computes; a number may begin with `-`."""
DAMAGED = "2026-01-01-damaged-aaaa"
WHOLE = "2026-01-02-whole-bbbb"
PLOTS = tuple(sorted(one.name for one in entry_points(group="vsperf.figures")))
TURNS = 40
SELECTION = ("phy2phy_tput", "--testbed=sim", "--set=traffic.frame_size=64", "--preset=quick")
OUTPUTS = (
    *(("show", "{run}"), ("show", "{run}", "--json"), ("show", "{run}", "64B")),
    *(("show", "{run}", "{case}"), ("show", "{run}", "{case}", "--json")),
    *(("show", "{run}", "{case}", "--why"), ("results", "{run}"), ("results", "--cases")),
    *(("report", "{run}", "-o", "-"), ("report", "{run}", "--format", "md", "-o", "-")),
    ("report", "{run}", "{whole}", "--format", "html", "-o", "-"),
    *(("compare", "{whole}", "{run}"), ("compare", "{run}", "{whole}", "--json")),
    *(("trend", "phy2phy_tput"), ("trend", "*", "--json"), ("baseline", "list")),
    *(("show", "{run}", "{case}", "--seconds"), ("show", "{run}", "{case}", "--why", "--json")),
    *(("compare", "{run}", "{whole}", "--latency", "--format", form) for form in ("md", "html")),
    *(("compare", "{run}", "--by", by) for by in ("vswitch", "generator", "program", "noise")),
    *(
        ("export", kind, "{run}")
        for kind in ("influx", "junit", "json", "openmetrics", "prometheus")
    ),
    *(("export", "csv", "{run}", "--table", table) for table in ("cases", "trials")),
    *(("export", "parquet", "{run}", "-o", "tables"), ("export", "csv", "--like=vsperf", "{run}")),
    *(("plot", name, "{run}", "--data") for name in PLOTS),
    ("plot", "throughput", "{run}", "-o", "plot.svg"),
)
"""All ways in which people and programs see records."""


class Damage(Fuzzer):
    """A folder of results with a run that is damaged, and one that is not."""

    def __init__(self, folder: Path) -> None:
        import_module("vsperf.output.figures.svg")  # once, and not in each child
        self.folder = folder
        self.results = folder / "results"
        made = vsperf("run", *SELECTION, folder=folder, patience_s=SET_UP_S)
        assert made.code == ExitCode.OK, made.err
        (run,) = (path for path in self.results.glob("*-*") if path.is_dir())
        own = (run / RECORDS).read_bytes()
        old = [path.read_bytes() for path in sorted(GOLDEN.rglob("*.jsonl"))]
        others = _of_other_kinds(folder / "others")
        self.samples = [own, _with_others(own), *others] * len(old) + old
        (series,) = SERIES.rglob("*.jsonl")
        self.series = series.read_bytes()
        (self.results / "latest").unlink()
        run.rename(self.results / WHOLE)

    def __call__(self, chance: random.Random) -> list[str]:
        sample = chance.choice(self.samples)
        cut = chance.random() < 0.2
        damage = chance.choice([damaged_lines, damaged_lines, damaged_bytes])
        content = sample[: chance.randrange(len(sample))] if cut else damage(sample, chance)
        path = self.results / DAMAGED / RECORDS
        shutil.rmtree(path.parent, ignore_errors=True)
        path.parent.mkdir()
        path.write_bytes(content)
        if chance.random() < 0.5:
            self._collect(path.parent, sample, chance)
        return [*self._read(path, sample if cut else None), *self._shown(chance)]

    def _collect(self, run: Path, sample: bytes, chance: random.Random) -> None:
        """Lay a series beside the records that is damaged, too."""
        for case in json.loads(sample.partition(b"\n")[0])["cases"]:
            folder = series_folder(run, case["key"], 1)
            folder.mkdir(parents=True)
            (folder / "proc.jsonl").write_bytes(damaged_lines(self.series, chance))

    def _read(self, path: Path, sample: bytes | None) -> list[str]:
        """Read as programs do; of a file that was cut off, all that is whole has to be there."""

        def read() -> int:
            _calmly(lambda: validate_file(path))
            _calmly(lambda: RunWriter.resume(path.parent).close())
            whole = _calmly(lambda: check_run(path.parent))
            if sample is not None and b"\n" in path.read_bytes():
                left = path.read_bytes().rpartition(b"\n")[0].split(b"\n")
                trials = sum(json.loads(line)["type"] == "trial" for line in left)
                assert whole, "a file that was cut off cannot be read"
                read = len(every_trial(path.parent))
                assert read == trials, f"{read} of {trials} trials were read"
            return TAKEN if whole else REFUSED

        content = path.read_bytes()
        ended = apart(read)
        self.taken += ended.code == TAKEN
        path.write_bytes(content)  # resuming sets a torn line aside
        return ended.problems({TAKEN, REFUSED})

    def _names(self) -> dict[str, str]:
        """Return what outputs are asked for; a case only if the header still has it."""
        try:
            run = open_run(self.results / DAMAGED)
            case = next((case.key for case in run.header.cases if case.key.strip("-")), "64B")
        except VsperfError:
            case = "64B"
        return {"run": DAMAGED, "whole": WHOLE, "case": case.replace("\0", "0")}

    def _shown(self, chance: random.Random) -> list[str]:
        """Show it as people see it, and its neighbour with it."""
        arguments = tuple(word.format(**self._names()) for word in chance.choice(OUTPUTS))
        shown = vsperf(*arguments, folder=self.folder)
        allowed = {int(ExitCode.OK), int(ExitCode.BAD_INPUT)}
        problems = shown.problems(allowed) + _obeyed(arguments, shown.out)
        found = [f"{problem}, after {' '.join(arguments)}" for problem in problems]
        ended = vsperf("results", "--json", folder=self.folder)
        found += ended.problems({int(ExitCode.OK)})
        if not found and WHOLE not in {row["run"] for row in json.loads(ended.out)}:
            found.append("the run that is not damaged is not listed")
        return found


def _obeyed(arguments: tuple[str, ...], out: str) -> list[str]:
    """Return what a browser or a spreadsheet would carry out of what was shown."""
    found = []
    if "html" in arguments or (arguments[0] == "report" and "md" not in arguments):
        found += ["a page has a script of others"] if "<script>" in out else []
    if arguments[:2] == ("export", "csv"):
        cells = (cell for row in csv.reader(io.StringIO(out)) for cell in row)
        found += [f"a cell is a formula: {one[:80]!r}" for one in cells if one[:1] in FORMULAS]
    return found


def _of_other_kinds(folder: Path) -> list[bytes]:
    """Return runs of connections, of programs and of switches in turns, as models make them."""
    sys.path += [str(TESTS / "unit"), str(TESTS.parent / "tools" / "bench")]
    import_module("viewed_runs").store_what_has_no_frames(folder)
    return [path.read_bytes() for path in sorted(folder.rglob(RECORDS))]


def _with_others(content: bytes) -> bytes:
    """Return a run in which each case has what cases of other kinds are made of, too."""
    found = []
    for line in content.splitlines(keepends=True):
        found.append(line)
        told = json.loads(line)
        if told["type"] == "case-start":
            found += _others(told["case"])
    return b"".join(found)


def _others(case: str) -> list[bytes]:
    """Return lines of exchanges, of connections and of a round."""
    packets = Packets(
        interval_ns=10_000_000,
        late_ns=(*(0, 7, None) * 100, 0),
        took_ns=(*(100_000, None, None) * 100, 200_000),
        lost_there=0,
        lost_back=100,
        duplicates=0,
        out_of_order=0,
    )
    probe = Beside(
        traffic="udp-echo", program="irtt", version="0.9", instances=(instance(packets=packets),)
    )
    busy = use(cpu(0, busy=0.99), cpu(1, busy=0.5), clients=0.9, servers=0.4)
    device = Device(rate=900)
    device.connect(ConnectionsAsked(rate_cps=500, connections=500))
    columns: dict[str, Any] = dict.fromkeys(TurnColumns.model_fields, (1_000,) * TURNS)
    columns |= dict.fromkeys(("gaps_ns", "longest_gap_ns", "elsewhere_frames"), (0,) * TURNS)
    columns |= {
        "slots_ns": ((1_000_000, 9_000_000),) * TURNS,
        "received_by_slot": ((90, 910),) * TURNS,
        "sent_by_direction": ((600, 400),) * TURNS,
        "received_by_direction": ((600, 400),) * TURNS,
    }
    columns |= {"measured_ns": (10_000_000,) * TURNS, "side": (0, 1) * (TURNS // 2)}
    turns = TurnColumns.model_validate({**columns, "drained": (True,) * TURNS})
    one = round_of(turns, elapsed_ns=TURNS * 12_000_000)
    lines: tuple[Line, ...] = (
        ExchangeLine(case=case, exchange=exchange(cpu=busy, beside=probe)),
        *(ConnectionsLine(case=case, trial=trial) for trial in device.made),
        RoundLine(case=case, round=one),
    )
    return [LINE.dump_json(line) + b"\n" for line in lines]


def _calmly(action: Callable[[], object]) -> bool:
    """Whether it works; if not, an error of vsperf has to say why."""
    try:
        action()
    except VsperfError as error:
        assert error.problems
        return False
    return True


def fuzzer(folder: Path) -> Fuzzer:
    """Return the fuzzer of this module."""
    return Damage(folder)
