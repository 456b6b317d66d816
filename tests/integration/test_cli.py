"""The command line as its users meet it: what it prints where, and how it ends."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from cli_shell import SMOKE, Shell, fixture_vsperf

from vsperf.errors import ExitCode
from vsperf.records.files.folders import RECORDS, run_folders

pytestmark = pytest.mark.everyday

__all__ = ["fixture_vsperf"]  # a fixture is found by its name in the module


def test_a_run_says_how_long_it_takes_then_what_it_does_and_ends_with_a_table(
    vsperf: Shell,
) -> None:
    ended = vsperf(*SMOKE)
    assert ended.code == ExitCode.OK
    progress = ended.err.splitlines()
    assert re.search(
        r"SIMULATED run \S+: 1 case, about \d\S* s of simulated time, some seconds here, in",
        progress[0],
    )
    assert any("path-check" in line for line in progress)
    assert any("search" in line and "lost" in line for line in progress)
    for wanted in ("SIMULATED", "NDR", "… ", "% line", "Gbit/s L1", "p99.9", "limit", "PASS"):
        assert wanted in ended.out
    assert "RFC 2544: not compliant: trial duration 200ms instead of 60s" in ended.out


def test_what_was_run_can_be_shown_again_word_for_word(vsperf: Shell) -> None:
    ended = vsperf(*SMOKE)
    assert vsperf("show", "latest").out == ended.out


def test_every_output_of_a_simulated_run_says_so(vsperf: Shell) -> None:
    vsperf(*SMOKE)
    for command in (
        ("plan", *SMOKE[1:]),
        ("show", "phy2phy_smoke", "--testbed", "sim"),
        ("show", "latest"),
        ("show", "latest", "phy2phy_smoke"),
        ("results",),
        ("results", "latest"),
    ):
        assert "SIMULATED" in vsperf(*command).out, command


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (("--set", "vswitch.capacity=1Mpps", "--set", "expect=[{metric: ndr, min: 2Mpps}]"),
         ExitCode.CRITERION_MISSED, "ndr ≥ 2Mpps (2.000 Mfps)"),
        (("--set", "expect=[{metric: ndr, min: 2Mpps}]"), ExitCode.OK, "✓"),
        (("--set", "generator.fault=raises"), ExitCode.COMPONENT_FAILED, "generator"),
        (("--set", "generator.fault=dead"), ExitCode.COMPONENT_FAILED, "path"),
        (("--set", "generator.fault=early-counters"), ExitCode.INVALID_RESULT, "counters-moving"),
        (("--set", "generator.fault=stretches"), ExitCode.INVALID_RESULT, "stretched"),
        (("--set", "vswitch.behaviour.kind=dies"), ExitCode.INVALID_RESULT, "nothing-received"),
    ],
)  # fmt: skip
def test_the_exit_code_says_how_a_run_ended(
    vsperf: Shell, arguments: tuple[str, ...], code: ExitCode, said: str
) -> None:
    ended = vsperf(*SMOKE, *arguments)
    assert ended.code == code, ended.out + ended.err
    assert said in ended.out
    stored = vsperf("show", "latest", "--json").data
    assert stored["exit_code"] == code


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("run", "phy2phy_smok", "--testbed", "sim"), "phy2phy_smoke"),
        (("run", "phy2phy_smoke", "--testbed", "simm"), "sim"),
        (("run",), "vsperf list"),
        ((*SMOKE, "--set", "traffic.frame_sice=64"), "frame_size"),
        ((*SMOKE, "--set", "traffic.frame_size=63"), "63"),
        ((*SMOKE, "--budget", "10"), "10s"),
        ((*SMOKE, "--keep"), "simulated"),
        (("run", "--resume", "nothing"), "no run"),
        (("run", "phy2phy_smoke", "--resume", "latest"), "--resume"),
        (("show", "nothing-like-this"), "no run"),
        (("explain", "exitcodes"), "exit-codes"),
        (("lisst",), "list"),
        (("list", "testcase"), "testcases"),
    ],
)
def test_a_mistake_ends_with_2_says_what_would_be_right_and_stores_nothing(
    vsperf: Shell, arguments: tuple[str, ...], said: str
) -> None:
    ended = vsperf(*arguments)
    assert ended.code == ExitCode.BAD_INPUT
    assert said in ended.err
    assert ended.out == ""
    assert not (vsperf.folder / "results").exists()


def test_a_broken_file_is_shown_with_line_and_caret(vsperf: Shell) -> None:
    (vsperf.folder / "mine.yaml").write_text("name: mine\ntraffic:\n  frame_sizes: [64]\n")
    ended = vsperf("run", "./mine.yaml", "--testbed", "sim")
    assert ended.code == ExitCode.BAD_INPUT
    assert "mine.yaml:3:3" in ended.err
    assert "    3 |   frame_sizes: [64]\n      |   ^" in ended.err
    assert "did you mean `frame_size`" in ended.err


def test_a_suite_is_listed_shown_run_and_stored_like_testcases_in_files(vsperf: Shell) -> None:
    suite = vsperf.folder / "testcases" / "sizes.suite.yaml"
    suite.parent.mkdir()
    suite.write_text(
        "extends: phy2phy_smoke\ntags: [sizes]\ntestcases:\n"
        "  sizes_small: {title: Small}\n"
        "  sizes_large: {title: Large, traffic: {frame_size: 1518}}\n"
    )
    suite.with_name("bad.suite.yaml").write_text("testcases: 1\n")
    listed = vsperf("list", "--tag", "sizes", "--json").data["testcases"]
    assert [(row["name"], row["title"]) for row in listed] == [
        ("sizes_large", "Large"), ("sizes_small", "Small"),
    ]  # fmt: skip
    everything = vsperf("list")
    assert everything.code == ExitCode.OK
    assert "bad.suite.yaml:1:12" in everything.out + everything.err
    shown = vsperf("show", str(suite), "sizes_large", "--testbed", "sim", "--json").data
    assert {row["spec"]["name"] for row in shown} == {"sizes_large"}
    ran = vsperf("run", str(suite), "--testbed", "sim", "--progress", "quiet")
    assert ran.code == ExitCode.OK, ran.out + ran.err
    records = vsperf.folder / "results" / "latest" / "records.jsonl"
    header = json.loads(records.read_text().splitlines()[0])
    origins = {case["spec"]["name"]: case["origins"] for case in header["cases"]}
    assert origins["sizes_large"]["traffic.frame_size"] == "sizes.suite.yaml:5"
    assert origins["sizes_small"]["traffic.frame_size"].startswith("phy2phy_smoke.yaml:")


READING = (
    ("plan", *SMOKE[1:], "--json"),
    ("list", "--json"),
    ("list", "testbeds", "--json"),
    ("list", "presets", "--json"),
    ("list", "topologies", "--json"),
    ("show", "phy2phy_smoke", "--testbed", "sim", "--json"),
    ("show", "latest", "--json"),
    ("show", "latest", "phy2phy_smoke", "--json"),
    ("results", "--json"),
    ("results", "latest", "--json"),
    ("results", "--cases", "--testcase", "phy2phy_*", "--json"),
    ("clean", "--dry-run", "--json"),
    ("plugins", "--json"),
    ("explain", "--json"),
    ("schema", "testcase"),
    ("schema", "record"),
    (*SMOKE, "--json"),
    (*SMOKE, "--dry-run", "--json"),
)


def test_every_reading_verb_speaks_json(vsperf: Shell) -> None:
    vsperf(*SMOKE, "--progress", "quiet")
    for command in READING:
        ended = vsperf(*command)
        assert ended.code == ExitCode.OK, (command, ended.err)
        assert isinstance(ended.data, dict | list), command


def test_the_doctor_speaks_json_on_a_machine_that_is_not_ready_too(vsperf: Shell) -> None:
    ended = vsperf("doctor", "--json")
    failed = [finding for finding in ended.data if finding["status"] == "failure"]
    assert ended.code == (ExitCode.NOT_READY if failed else ExitCode.OK)
    assert {"name", "group", "status", "evidence", "fix", "proviso"} == set(ended.data[0])


def test_missing_numbers_are_null_in_json_and_never_zero(vsperf: Shell) -> None:
    ended = vsperf(*SMOKE, "--set", "vswitch.behaviour.kind=always-lossy", "--json")
    (case,) = ended.data["cases"]
    assert case["goals"][0]["lower_fps"] is None
    assert case["line_rate_share"] is None
    assert case["l1_bps"] is None
    assert case["latency"] == []


def test_progress_goes_to_stderr_and_can_be_plain_json_or_silent(vsperf: Shell) -> None:
    assert vsperf(*SMOKE, "--progress", "quiet").err == ""
    lines = vsperf(*SMOKE, "--progress", "json").err.splitlines()
    events = [json.loads(line)["event"] for line in lines]
    assert events[0] == "RunStarted"
    assert events[-1] == "CaseFinished"


def test_a_dry_run_is_a_plan_and_stores_nothing(vsperf: Shell) -> None:
    assert vsperf(*SMOKE, "--dry-run").out == vsperf("plan", *SMOKE[1:]).out
    assert not (vsperf.folder / "results").exists()


def test_a_plan_names_what_is_not_known_yet_by_words(vsperf: Shell) -> None:
    """The folder of a deployment, also where a VNF's NICs are plugged in."""
    plan = vsperf("plan", "pvp_smoke", "--testbed", "local").out
    assert "on RUN/vm1_0.sock; what leaves by it goes to" in plan
    assert "\\x00" not in plan and "\0" not in plan


def test_repetitions_are_one_case_measured_anew_each_time(vsperf: Shell) -> None:
    noisy = ("--set", "vswitch.behaviour.kind=noisy")
    cases = vsperf(*SMOKE, *noisy, "--repeat", "3", "--json").data["cases"]
    assert len({case["case"] for case in cases}) == 3
    assert len({case["label"] for case in cases}) == 1
    assert len({json.dumps(case["latency"]) + str(case["goals"]) for case in cases}) > 1
    for case in cases:  # each by the name that a list of them offers
        assert vsperf("show", "latest", case["case"], "--json").data["case"] == case["case"]


def test_the_same_seed_gives_the_same_answer(vsperf: Shell) -> None:
    noisy = ("--set", "vswitch.behaviour.kind=noisy", "--json")
    first, second = (vsperf(*SMOKE, *noisy).data["cases"] for _ in range(2))
    assert first == second


@pytest.mark.parametrize(
    "seconds",
    [pytest.param(5, marks=pytest.mark.thorough), 8, pytest.param(10, marks=pytest.mark.thorough)],
)
def test_a_budget_ends_the_search_early_and_leaves_the_interval_found_so_far(
    vsperf: Shell, seconds: int
) -> None:
    ended = vsperf("run", "phy2phy_tput", "--testbed", "sim", "--set", "traffic.frame_size=64",
                   "--budget", f"{seconds}s", "--json")  # fmt: skip
    (case,) = ended.data["cases"]
    assert case["measured_ns"] <= seconds * 1_000_000_000
    assert "out-of-budget" in case["flags"]
    assert f"the budget of {seconds}s is less than the estimate" in ended.err
    ndr = case["goals"][0]
    assert ndr["limit"] == "budget"
    assert (ndr["lower_fps"] or 0) <= 5_900_000 <= ndr["upper_fps"]


def test_a_budget_is_shared_by_what_each_case_needs(vsperf: Shell) -> None:
    ended = vsperf("run", "phy2phy_tput", "--testbed", "sim", "--budget", "2m", "--json")
    cases = ended.data["cases"]
    assert sum(case["measured_ns"] for case in cases) <= 120_000_000_000
    assert {case["outcome"] for case in cases} == {"PASS"}


def test_a_criterion_at_the_line_rate_can_be_met_and_one_above_it_is_refused(
    vsperf: Shell,
) -> None:
    fast = (*SMOKE, "--set", "vswitch.behaviour.kind=never-lossy", "--set")
    assert vsperf(*fast, "expect=[{metric: ndr, min: 100%}]").code == ExitCode.OK
    refused = vsperf(*fast, "expect=[{metric: ndr, min: 14.89Mpps}]")
    assert refused.code == ExitCode.BAD_INPUT
    assert "no result can reach 14.89Mpps" in refused.err


def test_a_latency_criterion_names_the_load_that_it_was_found_at(vsperf: Shell) -> None:
    strict = "expect=[{metric: p99, max: 1us, load: 50%}]"
    ended = vsperf(*SMOKE, "--set", strict)
    assert ended.code == ExitCode.CRITERION_MISSED
    assert re.search(r"p99 at 50% ≤ 1us, found \S+ µs at 50% of ndr", ended.out)
    assert "p99" in vsperf(*SMOKE, "--set", "expect=[{metric: p99, max: 1us, load: 51%}]").err


def test_a_case_that_cannot_be_believed_shows_no_number(vsperf: Shell) -> None:
    ended = vsperf(*SMOKE, "--set", "generator.fault=late-counters")
    assert ended.code == ExitCode.INVALID_RESULT
    row = next(line for line in ended.out.splitlines() if "INVALID" in line)
    assert re.fullmatch(r" *64B +invalid +unknown +\d+ +[\d.]+ s +INVALID *", row)
    assert "no frame lost" not in ended.out


def test_a_terminal_without_unicode_gets_question_marks_and_no_error(vsperf: Shell) -> None:
    vsperf(*SMOKE)
    shown = subprocess.run(
        [sys.executable, "-m", "vsperf", "show", "latest"],
        env=vsperf.environ(PYTHONIOENCODING="ascii"),
        capture_output=True,
        text=True,
        check=False,
    )
    assert shown.returncode == ExitCode.OK
    assert "SIMULATED" in shown.stdout


def test_clean_removes_a_stillborn_run_and_never_a_measurement(vsperf: Shell) -> None:
    vsperf(*SMOKE)
    (kept,) = run_folders(vsperf.folder / "results")
    stillborn = vsperf.folder / "results" / "2026-01-01-phy2phy_smoke-abcd"
    stillborn.mkdir()
    (stillborn / RECORDS).write_text('{"type": "run", "cut')
    assert vsperf("clean").code == ExitCode.OK
    assert stillborn.exists()  # it may be starting right now
    os.utime(stillborn, (0, 0))
    assert "would remove" in vsperf("clean", "--dry-run").out
    assert stillborn.exists()
    assert vsperf("clean").code == ExitCode.OK
    assert run_folders(vsperf.folder / "results") == (kept,)


def test_a_reader_that_leaves_early_is_no_error(vsperf: Shell) -> None:
    process = vsperf.start("schema", "testcase")
    assert process.stdout is not None and process.stderr is not None
    process.stdout.close()
    assert process.stderr.read() == ""
    process.stderr.close()
    assert process.wait() == ExitCode.OK


def completions(vsperf: Shell, line: str) -> list[str]:
    words = line.split(" ")
    asked = subprocess.run(
        [sys.executable, "-c", "from vsperf.cli.main import cli; cli(prog_name='vsperf')"],
        cwd=vsperf.folder,
        env=vsperf.environ(
            _VSPERF_COMPLETE="bash_complete", COMP_WORDS=line, COMP_CWORD=str(len(words) - 1)
        ),
        capture_output=True,
        text=True,
        check=True,
    )
    return [answer.partition(",")[2] for answer in asked.stdout.splitlines()]


def test_the_shell_completes_names_and_settings(vsperf: Shell) -> None:
    assert "phy2phy_smoke" in completions(vsperf, "vsperf run phy2phy_s")
    assert completions(vsperf, "vsperf run x --testbed s") == ["sim"]
    assert "standard" in completions(vsperf, "vsperf run x --preset s")
    assert "traffic.frame_size=" in completions(vsperf, "vsperf run x --set traffic.f")
    assert "rx-exceeds-tx" in completions(vsperf, "vsperf explain rx")
    vsperf(*SMOKE)
    (folder,) = run_folders(vsperf.folder / "results")
    assert folder.name in completions(vsperf, "vsperf run --resume 20")
    for shell in ("bash", "zsh", "fish"):
        assert "_VSPERF_COMPLETE" in vsperf("completion", shell).out


@pytest.mark.parametrize(
    "command", ["run", "plan", "list", "show", "results", "doctor", "clean", "schema", "plugins",
                "explain", "completion"]
)  # fmt: skip
def test_every_help_ends_with_examples(vsperf: Shell, command: str) -> None:
    ended = vsperf(command, "--help")
    assert ended.code == ExitCode.OK
    examples = ended.out[ended.out.index("Examples:") :]
    assert examples.count(f"vsperf {command}") >= 1
    assert len(ended.out.splitlines()) <= 60


def test_a_bug_ends_with_70_and_a_traceback_in_a_file(vsperf: Shell, tmp_path: Path) -> None:
    broken = "import vsperf.cli.commands.plugins as p; p.Plugins = None"
    program = f"{broken}; import sys; from vsperf.cli.main import run_cli; "
    ended = subprocess.run(
        [sys.executable, "-c", program + "sys.exit(run_cli(['plugins']))"],
        env=vsperf.environ(TMPDIR=str(tmp_path)),
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == ExitCode.BUG
    assert "Traceback" not in ended.stderr
    (report,) = tmp_path.glob("vsperf-bug-*.txt")
    assert str(report) in ended.stderr
    assert "Traceback" in report.read_text()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (
            ("phy2phy_smoke", "--testbed=local", "--vswitch=sim"),
            "a model, and testbed local is real",
        ),
        (("pvp_smoke", "--testbed=sim", "--vnf=process"), "is simulated, and vnf.kind is process"),
        (
            ("pvp_smoke", "--testbed=local", "--vnf=sim"),
            "vnf.kind is sim, a model, and testbed local",
        ),
    ],
)
def test_models_and_real_parts_are_never_on_one_testbed(
    vsperf: Shell, arguments: tuple[str, ...], said: str
) -> None:
    models = ("--set=generator.kind=sim",) if "--vswitch=sim" in arguments else ()
    refused = vsperf("plan", *arguments, *models)
    assert refused.code == 2
    assert said in refused.err
