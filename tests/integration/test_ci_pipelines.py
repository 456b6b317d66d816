"""The commands of the pipelines in docs/ci, taken from their files and run as services would."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import textwrap
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pytest
import yaml
from junitparser import JUnitXml

from vsperf.errors import ExitCode
from vsperf.records.files.view import open_run

PIPELINES = Path(__file__).parents[2] / "docs" / "ci"
GIVEN = {
    "GITHUB_SHA": "4f2c1ab",
    "GITHUB_RUN_ID": "7",
    "GITHUB_RUN_ATTEMPT": "1",
    "CI_COMMIT_SHA": "4f2c1ab",
    "CI_JOB_ID": "7",
    "GIT_COMMIT": "4f2c1ab",
    "BUILD_NUMBER": "7",
}
"""What the services set."""


@dataclass(frozen=True)
class Pipeline:
    """What a pipeline runs and keeps."""

    measure: str
    afterwards: str
    """What is run also where measuring failed."""
    kept: tuple[str, ...]
    shell: tuple[str, ...]
    environ: Mapping[str, str] = field(default_factory=dict)


def github() -> Pipeline:
    job = yaml.safe_load((PIPELINES / "github-actions.yml").read_text())["jobs"]["vsperf"]
    steps = {step["name"]: step for step in job["steps"] if "name" in step}
    upload = next(step for step in job["steps"] if "upload-artifact" in step.get("uses", ""))
    assert steps["Report"]["if"] == upload["if"] == "always()"
    return Pipeline(
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
    return Pipeline(
        "\n".join(job["script"]),
        "\n".join(job["after_script"]),
        (*job["artifacts"]["paths"], job["artifacts"]["reports"]["junit"]),
        ("bash", "-eo", "pipefail", "-c"),
        job["variables"],
    )


def jenkins() -> Pipeline:
    text = (PIPELINES / "Jenkinsfile").read_text()
    scripts = re.findall(r"sh '''(.*?)'''", text, re.DOTALL)
    measure, afterwards = (textwrap.dedent(script) for script in scripts)
    reports = re.findall(r"junit '(.+?)'", text)
    kept = re.findall(r"artifacts: '(.+?)'", text)[0].replace("/**", "").split(", ")
    environ = dict(re.findall(r"^ +([A-Z_]+) = '(.*?)'", text, re.MULTILINE))
    return Pipeline(measure, afterwards, (*kept, *reports), ("sh", "-xe", "-c"), environ)


def carried_out(
    pipeline: Pipeline, script: str, folder: Path, given: Mapping[str, str] = GIVEN
) -> subprocess.CompletedProcess[str]:
    """Run a step as its service does, with the vsperf of this environment on the PATH."""
    return subprocess.run(
        [*pipeline.shell, script],
        cwd=folder,
        env={
            **{name: text for name, text in os.environ.items() if not name.startswith("VSPERF")},
            **given,
            **pipeline.environ,
            "GITHUB_STEP_SUMMARY": str(folder / "summary.md"),
            "HOME": str(folder),
            "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        },
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize("read", [github, gitlab, jenkins], ids=lambda read: read.__name__)
def test_the_commands_of_a_pipeline_measure_and_keep_what_it_shows(
    tmp_path: Path, read: Callable[[], Pipeline]
) -> None:
    pipeline = read()
    assert pipeline.environ["TESTBED"] == "sim"
    measured = carried_out(pipeline, pipeline.measure, tmp_path)
    assert measured.returncode == ExitCode.OK, measured.stderr
    ended = carried_out(pipeline, pipeline.afterwards, tmp_path)
    assert ended.returncode == ExitCode.OK, ended.stderr
    for kept in pipeline.kept:
        assert (tmp_path / kept).exists()
    run = open_run(tmp_path / "results" / "latest")
    job = "7-1" if read is github else "7"
    assert run.labels == {"job": job, "revision": "4f2c1ab"}
    report = JUnitXml.fromstring((tmp_path / "report" / "junit.xml").read_bytes())
    assert (report.tests, report.failures, report.errors) == (len(run.header.cases), 0, 0)
    assert (tmp_path / "report" / "cases.csv").read_text().count("\n") == 1 + report.tests
    assert "SIMULATED" in (tmp_path / "report" / "report.html").read_text()
    if read is github:
        assert "SIMULATED" in (tmp_path / "summary.md").read_text()


def test_a_missed_criterion_fails_the_job_and_is_shown_as_a_failure(tmp_path: Path) -> None:
    pipeline = gitlab()
    quick = pipeline.measure.replace("phy2phy_tput", "phy2phy_smoke")
    script = f"{quick} --set 'expect=[{{metric: ndr, min: 14Mfps}}]'"
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
    broken = f"{quick.rstrip()} --set vswitch.behaviour.kind=nonsense"
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
    ended = carried_out(pipeline, "\n".join([quick, *commands]), tmp_path)
    assert ended.returncode == ExitCode.OK, ended.stderr
