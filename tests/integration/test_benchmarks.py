"""The programs in tools/bench: each runs by itself, says what is missing, and undoes all it did."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from all_wrong import hold_each
from conftest import REPOSITORY, Require

from vsperf.errors import ExitCode

pytestmark = pytest.mark.scaffolding("tools/bench", "tests/integration/test_benchmarks.py")

FOLDER = REPOSITORY / "tools" / "bench"
NONE = ("0.0", "–")
SHARED = (
    "common",
    "coverage_models",
    "coverage_world",
    "made_runs",
    "needs",
    "paired_kept",
    "paired_models",
    "reread_connections",
    "reread_cpu",
    "reread_figures",
    "reread_goals",
    "reread_names",
    "reread_packets",
    "reread_rounds",
    "reread_shown",
    "reread_soak",
    "reread_trials",
    "reread_verdicts",
    "testpmd",
)
PROGRAMS = sorted({path.stem for path in FOLDER.glob("*.py")} - {*SHARED})
LAST_LINE = re.compile(r"ratio \S.* median [\d.e-]+ from [\d.e-]+ to [\d.e-]+ rounds \d+")
PRLIMIT = shutil.which("prlimit") or "prlimit"
MOST_CPU_S = 180
"""What a benchmark computes at most, which a busy machine makes no longer."""
PATIENCE_S = 1800
"""Whatever the machine does meanwhile: ends one that hangs and computes nothing."""
LATE_PAGE = """<!DOCTYPE html><meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>Late</title><style>
@keyframes late { from { visibility: hidden } to { visibility: visible } }
p { visibility: hidden; animation: late 0s 2s forwards }
</style><p>Some words</p>"""
"""As strict as a report; the animation shows its words after two seconds."""


def argv(program: str, *arguments: str) -> list[str]:
    bounded = [PRLIMIT, f"--cpu={MOST_CPU_S}"]
    return [*bounded, sys.executable, str(FOLDER / f"{program}.py"), *arguments]


def bench(program: str, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        argv(program, *arguments),
        env={**os.environ, **environment},
        text=True,
        capture_output=True,
        timeout=PATIENCE_S,
        check=False,
    )


def test_each_has_a_short_form_and_help_with_an_example() -> None:
    def check(program: str) -> None:
        helped = bench(program, "--help")
        assert helped.returncode == 0
        assert "--short" in helped.stdout
        assert f"tools/bench/{program}.py" in helped.stdout.partition("example:")[2]

    hold_each(PROGRAMS, check)


def test_all_of_them_are_run_by_the_one_that_writes_the_table() -> None:
    listed = " ".join(bench("run_all", "--help").stdout.split())
    assert [name for name in PROGRAMS if name != "run_all" and name not in listed] == []


def test_no_search_is_wrong_in_silence_nor_prints_what_its_trials_do_not_come_to(
    tmp_path: Path,
) -> None:
    """The same worlds each time, one of each model: the benchmark itself has a hundred."""
    done = bench("coverage", "--seeds=1", f"--folder={tmp_path}")
    assert done.returncode == 0, done.stdout + done.stderr
    shares = r" +([\d.–]+)" * len(("holds", "said", "assumed", "silent"))
    rows = re.findall(
        rf"^(\S.+?) {{2,}}([a-z]\S+){shares * 3} +\d+ +\d+ +(?:\d+%|–) +\d+ +(\d+) +1$",
        done.stdout,
        re.M,
    )
    assert len({model for model, *_ in rows}) >= 28
    assert f"\n{len(rows)} searches: " in done.stdout, "each of them is a row"
    silent = {(row[0], row[1]) for row in rows for found in row[5::4] if found not in NONE}
    assert silent == set()
    assert {row[-1] for row in rows} == {"0"}
    plain = [row[2] for row in rows if row[0] in ("ideal", "refusing")]
    assert set(plain) == {"100.0"}
    # Where stalls made the loss the switch is found in clean time, whatever was found in all of it.
    stalled = [row[6] for row in rows if row[0] in ("stalls that lose", "the switch is stalled")]
    assert set(stalled) == {"100.0"}


def test_the_table_says_what_was_found_on_which_machine(tmp_path: Path) -> None:
    done = bench("run_all", "--short", f"--folder={tmp_path}", "index_rebuild")
    assert done.returncode == 0, done.stdout + done.stderr
    table = (tmp_path / "bench.md").read_text()
    assert re.search(r"^- kernel: \S", table, re.MULTILINE)
    assert re.search(r"^\| index_rebuild \| \S.* \| 3 \| \d+ s \|$", table, re.MULTILINE)
    content = json.loads((tmp_path / "bench.json").read_text())
    assert {"date", "CPU", "CPUs", "kernel", "DPDK", "OVS"} <= set(content["host"])
    (row,) = content["benchmarks"]
    assert row["ratio"]["rounds"] == 3
    assert row["ratio"]["least"] <= row["ratio"]["median"] <= row["ratio"]["most"]


MODELS = ("--rounds=6", "--pairs=20", "--", "--testbed=sim", "--set=search.control=false")


def test_sessions_that_are_kept_are_not_had_once_more(tmp_path: Path) -> None:
    words = ("paired_sessions", f"--folder={tmp_path}", "--switch=kind: sim")
    slower = "--rival=cost: {cycles_per_packet: 240}"
    first = bench(*words, slower, "--sessions=1", *MODELS)
    assert first.returncode == 0, first.stdout + first.stderr
    both = bench(*words, slower, "--sessions=2", *MODELS)
    assert both.returncode == 0, both.stdout + both.stderr
    assert [one.count("vsperf run ") for one in (first.stdout, both.stdout)] == [1, 1]
    (line,) = (one for one in both.stdout.splitlines() if one.startswith("all  "))
    assert line.split()[1:7] == ["2", "2", "0", "0", "2", "0"], "in both orders it is slower"
    assert LAST_LINE.fullmatch(both.stdout.splitlines()[-1])
    other = bench(*words, "--sessions=2", *MODELS)
    assert other.returncode == ExitCode.BAD_INPUT
    assert "has a comparison that was asked otherwise" in other.stderr


def test_a_table_says_how_each_switch_stands_to_each(tmp_path: Path) -> None:
    slow, fast = (f"kind: sim, cost: {{cycles_per_packet: {count}}}" for count in (400, 200))
    switches = [
        f"--switch=name: x, {fast}",
        f"--switch=name: y, {slow}",
        f"--switch=name: z, {fast}",
    ]
    words = (f"--folder={tmp_path}", "--sizes=64", "--flows=1", "--times=2")
    done = bench("paired_table", *switches, *words, *MODELS)
    assert done.returncode == 0, done.stdout + done.stderr
    rows = [line.split() for line in done.stdout.splitlines() if line[1:5] == " to "]
    assert [" ".join(row[:3]) for row in rows] == ["y to x", "z to x", "z to y"] * 2
    assert [row[3][0] for row in rows] == ["-", "±", "+"] * 2
    assert "times 1 and 2: 3 verdicts are the same, 0 differ" in done.stdout


def test_runs_agree_unless_the_switch_is_another_one(tmp_path: Path) -> None:
    words = ("runs_agree", "--short", f"--folder={tmp_path}")
    same = bench(*words, "--runs=2")
    assert same.returncode == 0, same.stdout + same.stderr
    assert LAST_LINE.fullmatch(same.stdout.splitlines()[-1])
    assert agreeing(same.stdout) == 5 * [("1", "1")]
    slower = ("--", "--set=vswitch.capacity=3Mpps")
    refused = bench(*words, "--runs=3", *slower)
    assert refused.returncode == ExitCode.BAD_INPUT
    assert "has a run that was asked otherwise" in refused.stderr
    other = tmp_path / "other"
    made = bench("runs_agree", "--short", f"--folder={other}", "--runs=3", *slower)
    assert made.returncode == 0, made.stdout + made.stderr
    shutil.copytree(other / "run-3", tmp_path / "run-3")
    (tmp_path / "run-3" / "made.json").write_text(
        (tmp_path / "run-1" / "made.json").read_text().replace("seed=1", "seed=3")
    )
    mixed = bench(*words, "--runs=3")
    assert mixed.stdout.count("vsperf run ") == 0, "all are there"
    assert agreeing(mixed.stdout) == 5 * [("3", "1")]


def agreeing(said: str) -> list[tuple[str, str]]:
    """Return the pairs of runs, and those of them that agree, by case."""
    return re.findall(r"^\d+B +(\d+) +(\d+) ", said, re.MULTILINE)


def test_a_missing_part_is_named_with_its_mend_and_is_a_row_of_the_table(tmp_path: Path) -> None:
    nothing = str(tmp_path / "nothing")
    alone = bench("tgen_truth", "--short", VSPERF_TGEN=nothing)
    assert alone.returncode == ExitCode.NOT_READY
    assert f"$VSPERF_TGEN names {nothing}" in alone.stderr
    assert "fix: " in alone.stderr
    among = bench("run_all", "--short", f"--folder={tmp_path}", "tgen_truth", VSPERF_TGEN=nothing)
    assert among.returncode == 0, among.stderr
    assert (
        f"not measured: error: $VSPERF_TGEN names {nothing}" in (tmp_path / "bench.md").read_text()
    )


def test_all_that_is_missing_is_told_before_the_first_benchmark(tmp_path: Path) -> None:
    """… also that of the last one, and each only once."""
    programs, nothing = tmp_path / "programs", str(tmp_path / "nothing")
    programs.mkdir()
    done = bench(
        *("run_all", "--short", f"--folder={tmp_path}", "index_rebuild", "tgen_truth", "tgen_veth"),
        PATH=str(programs),
        VSPERF_TGEN=nothing,
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr.count(f"$VSPERF_TGEN names {nothing}") == 1
    assert "not installed: unshare, ip, tcpdump, tcpreplay, taskset" in done.stderr
    assert "fix: tools/bootstrap --bench" in done.stderr
    told, _, _ = done.stdout.partition("== index_rebuild")
    assert "not measured without that: tgen_truth, tgen_veth\n" in told


@pytest.mark.needs("chromium")
def test_the_first_paint_of_a_page_that_forbids_scripts_is_waited_for(tmp_path: Path) -> None:
    page = tmp_path / "late.html"
    page.write_text(LATE_PAGE)
    program = (
        "import pathlib, sys, report_page as r; print(r.first_paint(pathlib.Path(sys.argv[1])))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, str(page)],
        cwd=FOLDER,
        text=True,
        capture_output=True,
        timeout=PATIENCE_S,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert float(done.stdout) > 1.9  # the page itself wants it so late


def test_a_benchmark_that_does_not_exist_is_refused() -> None:
    done = bench("run_all", "tgen_colour")
    assert done.returncode == ExitCode.BAD_INPUT
    assert "there is no benchmark tgen_colour" in done.stderr


@pytest.fixture(name="parts")
def fixture_parts(require: Require) -> None:
    for part in ("tgen", "dpdk-testpmd", "hugepages"):
        require(part)


@pytest.mark.machine
def test_tgen_and_testpmd_are_held_against_each_other(parts: None) -> None:
    done = bench("tgen_cycles", "--short", "--rounds=1")
    assert done.returncode == 0, done.stderr
    assert LAST_LINE.fullmatch(done.stdout.splitlines()[-1])


@pytest.mark.machine
@pytest.mark.needs("tgen-dut")
def test_the_reference_device_takes_turns_with_one_that_works_more(parts: None) -> None:
    words = ("--switch=kind: reference", "--rival=work: 4000", "--rounds=6", "--pairs=20")
    done = bench("paired_sessions", "--short", *words)
    # Where the machine leaves no pass that can be used, the session says so.
    assert "\n1 alone, rival second: " in done.stdout, done.stdout + done.stderr


@pytest.mark.machine
@pytest.mark.parametrize(
    ("number", "code"),
    [(signal.SIGINT, ExitCode.INTERRUPTED), (signal.SIGTERM, ExitCode.TERMINATED)],
)
def test_a_signal_in_the_middle_leaves_nothing(
    parts: None, number: signal.Signals, code: ExitCode
) -> None:
    with subprocess.Popen(
        argv("tgen_cycles", "--short", "--rounds=1000"),
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        assert process.stdout is not None
        while "round 1:" not in (line := process.stdout.readline()):
            assert line, process.communicate()
        process.send_signal(number)
        _, said = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == code
    assert said == "interrupted; everything is as it was before\n"
