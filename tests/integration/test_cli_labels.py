"""Labels on the command line: given to a run, shown, looked for, and refused where they are bad."""

from __future__ import annotations

import pytest
from cli_shell import SMOKE, Shell, fixture_vsperf

from vsperf.errors import ExitCode
from vsperf.store.folders import run_folders

pytestmark = pytest.mark.everyday

__all__ = ["fixture_vsperf"]  # a fixture is found by its name in the module


def test_a_run_keeps_its_labels_and_is_found_by_them(vsperf: Shell) -> None:
    assert vsperf(*SMOKE, "--label", "revision=4f2c1ab", "--label", "job=7").code == ExitCode.OK
    assert vsperf(*SMOKE).code == ExitCode.OK
    labelled = vsperf("results", "--label", "revision=4f2c1ab", "--json").data
    assert [run["labels"] for run in labelled] == [{"job": "7", "revision": "4f2c1ab"}]
    run = labelled[0]["run"]
    assert vsperf("show", run, "--json").data["labels"] == {"job": "7", "revision": "4f2c1ab"}
    assert "labels: job=7, revision=4f2c1ab" in vsperf("show", run).out
    assert "job=7, revision=4f2c1ab" in vsperf("results").out
    assert "nothing stored" in vsperf("results", "--label", "revision=other").out


@pytest.mark.parametrize("label", ["revision", "a b=1", "a=", "a=\n"])
def test_a_bad_label_is_refused_before_anything_is_begun(vsperf: Shell, label: str) -> None:
    ended = vsperf(*SMOKE, "--label", label)
    assert ended.code == ExitCode.BAD_INPUT
    assert "--label revision=4f2c1ab" in ended.err or "leave --label" in ended.err
    assert run_folders(vsperf.folder / "results") == ()
    assert vsperf("results", "--label", label).code == ExitCode.BAD_INPUT


def test_a_run_that_goes_on_keeps_the_labels_that_it_has(vsperf: Shell) -> None:
    vsperf(*SMOKE, "--label", "job=7")
    ended = vsperf("run", "--resume", "latest", "--label", "job=8")
    assert ended.code == ExitCode.BAD_INPUT
    assert "no other selection or label" in ended.err
