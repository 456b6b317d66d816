"""The commands of the pipelines in docs/ci, taken from their files and run as services would."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import textwrap
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

import pytest
import yaml
from junitparser import JUnitXml

from vsperf.errors import ExitCode
from vsperf.records.files.view import open_run

PIPELINES = Path(__file__).parents[2] / "docs" / "ci"
GIVEN = {"GITHUB_RUN_ID": "7", "GITHUB_RUN_ATTEMPT": "1", "CI_JOB_ID": "7", "BUILD_TAG": "7"}
"""What the services set."""
RUN = re.compile(
    r"""^(?P<indent>[ ]*)(?P<item>-[ ])?vsperf\ run(?:.*\n)*?
    .*--label\ job="(?P<job>\$\w+)"(?P<code>\ \|\|\ code=\$\?)?$""",
    re.MULTILINE | re.VERBOSE,
)
"""What measures."""
EXPRESSION = re.compile(r"\$\{\{ github\.(\w+) \}\}")
WHOLE = "Open vSwitch 3.5.0 DPDK 24.11.1"
"""What a build says of itself that can be measured."""
REVISION = "0123456789012345678901234567890123456789"


@dataclass(frozen=True)
class Pipeline:
    """What a pipeline runs and keeps."""

    build: str
    measure: str
    afterwards: str
    """What is run also where measuring failed."""
    kept: tuple[str, ...]
    shell: tuple[str, ...]
    environ: Mapping[str, str] = field(default_factory=dict)
    metrics: str = ""
    """What of it is for a page of numbers, where the service has one."""


def github() -> Pipeline:
    job = yaml.safe_load((PIPELINES / "github-actions.yml").read_text())["jobs"]["vsperf"]
    steps = {step["name"]: step for step in job["steps"] if "name" in step}
    upload = next(step for step in job["steps"] if "upload-artifact" in step.get("uses", ""))
    assert steps["Report"]["if"] == upload["if"] == "always()"
    return Pipeline(
        steps["Build"]["run"],
        steps["Measure"]["run"],
        steps["Report"]["run"],
        (*upload["with"]["path"].split(), "report/junit.xml"),
        ("bash", "--noprofile", "--norc", "-eo", "pipefail", "-c"),
        job["env"],
    )


def gitlab() -> Pipeline:
    job = yaml.safe_load((PIPELINES / "gitlab-ci.yml").read_text())["benchmark"]
    assert job["artifacts"]["when"] == "always"
    assert job["allow_failure"]["exit_codes"] == [ExitCode.INVALID_RESULT]
    reports = job["artifacts"]["reports"]
    return Pipeline(
        "\n".join(job["before_script"]),
        "\n".join(job["script"]),
        "\n".join(job["after_script"]),
        (*job["artifacts"]["paths"], reports["junit"], reports["metrics"]),
        ("bash", "-eo", "pipefail", "-c"),
        job["variables"],
        reports["metrics"],
    )


def jenkins() -> Pipeline:
    text = (PIPELINES / "Jenkinsfile").read_text()
    scripts = re.findall(r"'''(.*?)'''", text, re.DOTALL)
    build, measure, after = (textwrap.dedent(script) for script in scripts)
    afterwards = after.replace("\\\\", "\\")  # as Groovy reads it
    reports = re.findall(r"junit '(.+?)'", text)
    kept = re.findall(r"artifacts: '(.+?)'", text)[0].replace("/**", "").split(", ")
    environ = dict(re.findall(r"^ +([A-Z_]+) = '(.*?)'", text, re.MULTILINE))
    shell = ("sh", "-xe", "-c")
    return Pipeline(build, measure, afterwards, (*kept, *reports), shell, environ)


def carried_out(
    pipeline: Pipeline, script: str, folder: Path, given: Mapping[str, str] = GIVEN
) -> subprocess.CompletedProcess[str]:
    """Run a step as its service does, with the vsperf of this environment on the PATH.

    The folder is the workspace, which each checkout cleans, and `home` in it the runner's own. What
    it has in `bin` comes first: a git that knows one revision is always there.
    """
    programs, home = folder / "bin", folder / "home"
    home.mkdir(exist_ok=True)
    if not (programs / "git").exists():
        program(folder, "git", f"echo {REVISION}")
    return subprocess.run(
        [*pipeline.shell, script],
        cwd=folder,
        env={
            **{name: text for name, text in os.environ.items() if not name.startswith("VSPERF")},
            **given,
            **{
                name: EXPRESSION.sub(lambda found: given[f"GITHUB_{found[1].upper()}"], text)
                for name, text in pipeline.environ.items()
            },
            "GITHUB_STEP_SUMMARY": str(folder / "summary.md"),
            "HOME": str(home),
            "PATH": os.pathsep.join(
                (str(programs), str(Path(sys.executable).parent), os.environ["PATH"])
            ),
        },
        capture_output=True,
        text=True,
        check=False,
    )


def program(folder: Path, name: str, *lines: str, place: str = "bin") -> None:
    """Put a program of shell into a folder."""
    path = folder / place / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(("#!/bin/sh", *lines, "")))
    path.chmod(0o755)


@pytest.mark.parametrize("read", [github, gitlab, jenkins], ids=lambda read: read.__name__)
def test_a_pipeline_measures_the_switch_that_it_built_of_the_revision_that_it_names(
    tmp_path: Path, read: Callable[[], Pipeline]
) -> None:
    pipeline = read()
    real = replace(pipeline, environ={**pipeline.environ, "TESTBED": "local"})
    program(tmp_path, "boot.sh", "touch booted", place=".")
    program(tmp_path, "configure", 'echo "$@" > configured', place=".")
    program(tmp_path, "make", 'echo "$@" > made')
    program(tmp_path, "vsperf", 'echo "$@" > measured')
    for script in (real.build, real.measure):
        done = carried_out(real, script, tmp_path)
        assert done.returncode == 0, done.stderr
    assert (tmp_path / "booted").exists()
    assert f"--prefix={tmp_path}/switch" in (tmp_path / "configured").read_text()
    assert "install" in (tmp_path / "made").read_text()
    measured = (tmp_path / "measured").read_text()
    assert f"--set vswitch.install={tmp_path}/switch" in measured
    assert f"--label revision={REVISION}" in measured


@pytest.mark.parametrize("read", [github, gitlab, jenkins], ids=lambda read: read.__name__)
@pytest.mark.parametrize("code", [ExitCode.CRITERION_MISSED, ExitCode.INVALID_RESULT])
def test_a_number_that_cannot_be_trusted_is_a_warning_in_all_of_them_and_a_miss_is_none(
    tmp_path: Path, read: Callable[[], Pipeline], code: ExitCode
) -> None:
    pipeline = read()
    program(tmp_path, "vsperf", f"exit {int(code)}")
    ended = carried_out(pipeline, pipeline.measure, tmp_path)
    warned = code is ExitCode.INVALID_RESULT
    if read is github:
        assert (ended.returncode, "::warning::" in ended.stdout) == (0 if warned else 1, warned)
    else:  # the service looks at the code: `gitlab` has held its list, and Jenkins that
        assert ended.returncode == code
    judged = r"if \(code == 5\) \{\s+unstable\(.*?\} else if \(code != 0\)"
    assert re.search(judged, (PIPELINES / "Jenkinsfile").read_text(), re.DOTALL)


@pytest.mark.parametrize("read", [github, gitlab, jenkins], ids=lambda read: read.__name__)
def test_the_commands_of_a_pipeline_measure_and_keep_what_it_shows(
    tmp_path: Path, read: Callable[[], Pipeline]
) -> None:
    pipeline = read()
    assert pipeline.environ["TESTBED"] == "sim"
    built = carried_out(pipeline, pipeline.build, tmp_path)
    assert built.returncode == 0, "a model has no switch to build"
    measured = carried_out(pipeline, pipeline.measure, tmp_path)
    assert measured.returncode == ExitCode.OK, measured.stderr
    ended = carried_out(pipeline, pipeline.afterwards, tmp_path)
    assert ended.returncode == ExitCode.OK, ended.stderr
    for kept in pipeline.kept:
        assert (tmp_path / kept).exists()
    run = open_run(tmp_path / "home" / "vsperf-results" / "latest")
    assert {path.name for path in tmp_path.iterdir()} <= {"bin", "home", "report", "summary.md"}
    assert (tmp_path / "report" / run.run / "records.jsonl").is_file()
    job = "7-1" if read is github else "7"
    assert run.labels == {"job": job, "revision": REVISION}
    report = JUnitXml.fromstring((tmp_path / "report" / "junit.xml").read_bytes())
    assert (report.tests, report.failures, report.errors) == (len(run.header.cases), 0, 0)
    assert (tmp_path / "report" / "cases.csv").read_text().count("\n") == 1 + report.tests
    assert "SIMULATED" in (tmp_path / "report" / "report.html").read_text()
    if read is github:
        assert "SIMULATED" in (tmp_path / "summary.md").read_text()


def test_gitlab_finds_each_number_of_a_job_under_the_name_that_it_had_in_another(
    tmp_path: Path,
) -> None:
    pipeline = gitlab()
    quick = pipeline.measure.replace("phy2phy_tput", "phy2phy_smoke")
    told = []
    for job in ("7", "8"):
        for script in (quick, pipeline.afterwards):
            done = carried_out(pipeline, script, tmp_path, {**GIVEN, "CI_JOB_ID": job})
            assert done.returncode == ExitCode.OK, done.stderr
        lines = (tmp_path / pipeline.metrics).read_text().splitlines()
        samples = (line for line in lines if not line.startswith(("#", "vsperf_case_info")))
        told.append({line.rpartition(" ")[0] for line in samples})
    assert told[0] == told[1]
    assert any(name.startswith("vsperf_case_ndr_lower_frames_per_second{") for name in told[0])


def test_a_missed_criterion_fails_the_job_and_is_shown_as_a_failure(tmp_path: Path) -> None:
    pipeline = gitlab()
    missed = "phy2phy_smoke --set 'expect=[{metric: ndr, min: 14Mfps}]'"
    script = pipeline.measure.replace("phy2phy_tput", missed)
    measured = carried_out(pipeline, script, tmp_path)
    assert measured.returncode == ExitCode.CRITERION_MISSED, measured.stderr
    ended = carried_out(pipeline, pipeline.afterwards, tmp_path)
    assert ended.returncode == ExitCode.OK, ended.stderr
    report = JUnitXml.fromstring((tmp_path / "report" / "junit.xml").read_bytes())
    assert report.failures == report.tests == 1


@pytest.mark.parametrize("read", [github, gitlab, jenkins], ids=lambda read: read.__name__)
def test_a_job_that_was_refused_shows_nothing_of_the_job_before(
    tmp_path: Path, read: Callable[[], Pipeline]
) -> None:
    pipeline = read()
    quick = pipeline.measure.replace("phy2phy_tput", "phy2phy_smoke")
    assert carried_out(pipeline, quick, tmp_path).returncode == ExitCode.OK
    next_job = {name: value.replace("7", "8") for name, value in GIVEN.items()}
    broken = quick.replace("phy2phy_smoke", "phy2phy_smoke --set vswitch.behaviour.kind=nonsense")
    measured = carried_out(pipeline, broken, tmp_path, next_job)
    assert measured.returncode == ExitCode.BAD_INPUT, measured.stderr
    ended = carried_out(pipeline, pipeline.afterwards, tmp_path, next_job)
    assert ended.returncode == ExitCode.BAD_INPUT
    assert "no stored run fits 'job=8" in ended.stderr
    assert not list((tmp_path / "report").glob("*"))


def test_the_commands_that_hold_a_change_against_a_baseline_work_on_what_a_pipeline_keeps(
    tmp_path: Path,
) -> None:
    pipeline = gitlab()
    quick = pipeline.measure.replace("phy2phy_tput", "phy2phy_smoke")
    page = (PIPELINES / "README.md").read_text()
    commands = re.findall(r"^\$ (vsperf .*)$", page, re.MULTILINE)
    assert len(commands) == 2
    commands[1] = commands[1].replace(" 3%", " 10%")  # a smoke test is known to ± 5 %
    ended = carried_out(pipeline, "\n".join([quick, *commands]), tmp_path)
    assert ended.returncode == ExitCode.OK, ended.stderr


@pytest.mark.parametrize("read", [github, gitlab, jenkins], ids=lambda read: read.__name__)
@pytest.mark.parametrize("code", [ExitCode.OK, ExitCode.CRITERION_MISSED, ExitCode.INVALID_RESULT])
def test_builds_in_turns_take_the_place_of_the_run_of_each_pipeline(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    read: Callable[[], Pipeline],
    code: ExitCode,
) -> None:
    page = (PIPELINES / "README.md").read_text()
    snippet = next(one for one in re.findall(r"```sh\n(.*?)```", page, re.DOTALL) if "$JOB" in one)
    pages = tmp_path / "pages"
    pages.mkdir()
    for path in PIPELINES.iterdir():
        pasted, times = RUN.subn(partial(in_place_of, snippet), path.read_text())
        assert times == 1
        (pages / path.name).write_text(pasted)
    monkeypatch.setattr(sys.modules[__name__], "PIPELINES", pages)
    pipeline = read()
    program(tmp_path, "vsperf", 'echo "$@" > measured', f"exit {int(code)}")
    ended = carried_out(pipeline, pipeline.measure, tmp_path)
    warned = read is github and code is ExitCode.INVALID_RESULT
    assert ended.returncode == (ExitCode.OK if warned else code), ended.stderr
    measured = (tmp_path / "measured").read_text()
    assert f"name: new, install: {tmp_path}/switch}}" in measured
    assert f"--label revision={REVISION} --label job=7" in measured


def in_place_of(snippet: str, run: re.Match[str]) -> str:
    """Return what the page has somebody paste instead of the run of a pipeline."""
    named = snippet.rstrip().replace("$JOB", run["job"]) + (run["code"] or "")
    indent = run["indent"]
    if run["item"]:
        return f"{indent}- |\n" + textwrap.indent(named, indent + 4 * " ")
    return textwrap.indent(named, indent)


@pytest.mark.parametrize(
    ("built", "code", "told"),
    [(WHOLE, 0, 0), (WHOLE, 1, 1), (WHOLE, 4, 125), (WHOLE, 5, 125)]
    + [(WHOLE, code, 255) for code in (2, 3, 6, 130)]
    + [("", 0, 125), ("Open vSwitch 3.5.0", 0, 125)],
)
def test_a_bisection_takes_no_fault_of_the_machine_for_one_of_a_commit(
    built: str, code: int, told: int, tmp_path: Path
) -> None:
    page = PIPELINES.parent / "how-to" / "did-my-commit-slow-ovs-down.md"
    program(tmp_path, "sudo", 'exec "$@"')
    program(tmp_path, "make", "exit 0" if built else "exit 2")
    program(tmp_path, "vsperf", f"exit {code}")
    program(tmp_path, "ovs-vswitchd", f"echo {built}", place="ovs-new/sbin")
    script = page.read_text().partition("<<'END'\n")[2].partition("\nEND\n")[0]
    script = script.replace("/usr/local/", f"{tmp_path}/")
    path = os.pathsep.join((str(tmp_path / "bin"), os.environ["PATH"]))
    done = subprocess.run(["sh", "-c", script], env={**os.environ, "PATH": path}, check=False)
    assert done.returncode == told
