"""Comparisons on the command line: exit codes, files, baselines, and criteria on them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from cli_shell import SMOKE, Shell, fixture_vsperf

from vsperf.errors import ExitCode

pytestmark = pytest.mark.everyday

__all__ = ["fixture_vsperf"]  # a fixture is found by its name in the module

SLOWER = ("--set", "vswitch.cost.cycles_per_packet=400")
HELD = """
name: held
extends: phy2phy_smoke
expect:
  - {metric: ndr, baseline: main, drop: 3%}
"""


def last_run(vsperf: Shell) -> str:
    run: str = vsperf("results", "--json", "--limit", "1").data[0]["run"]
    return run


@pytest.fixture(name="two")
def fixture_two(vsperf: Shell) -> Shell:
    """A folder with a run, called main, and a slower one."""
    assert vsperf(*SMOKE, "--label", "revision=old").code == ExitCode.OK
    assert vsperf("baseline", "set", "main", "latest").code == ExitCode.OK
    assert vsperf(*SMOKE, *SLOWER, "--label", "revision=new").code == ExitCode.OK
    return vsperf


def test_it_says_what_differs_and_what_changed(two: Shell) -> None:
    ended = two("compare", "revision=old", "revision=new")
    assert ended.code == ExitCode.OK
    assert "SIMULATED" in ended.out
    differs, changed = ended.out.split("A → B", 1)
    assert "vswitch.cost.cycles_per_packet" in differs
    assert "worse" in changed


def test_a_gate_fails_where_something_got_worse_by_more(two: Shell) -> None:
    against = ("compare", "--baseline", "main", "latest", "--fail-above")
    ended = two(*against, "3%")
    assert ended.code == ExitCode.CRITERION_MISSED
    assert "worse by more than 3%: phy2phy_smoke" in ended.out
    assert two(*against, "90%").code == ExitCode.OK
    assert two("compare", "main", "latest").code == ExitCode.BAD_INPUT  # no run has that name


def test_a_gate_that_cannot_tell_says_so(two: Shell) -> None:
    two(
        *SMOKE,
        "--set",
        "vswitch.behaviour.kind=always-lossy",
        "--set",
        "vswitch.behaviour.lost=90%",
    )
    ended = two("compare", "--baseline", "main", "latest", "--fail-above", "3%")
    assert ended.code == ExitCode.INVALID_RESULT
    assert "no number to judge: phy2phy_smoke" in ended.out


@pytest.mark.parametrize("form", ["html", "md", "json"])
def test_it_is_written_to_a_file(two: Shell, form: str) -> None:
    file = two.folder / f"change.{form}"
    ended = two("compare", "--baseline", "main", "latest", "--format", form, "-o", str(file))
    assert (ended.code, ended.out) == (ExitCode.OK, "")
    text = file.read_text(encoding="utf-8")
    assert "cycles" in text
    assert ("SIMULATED" in text) or json.loads(text)["simulated"]


def test_one_side_alone_is_refused(two: Shell) -> None:
    ended = two("compare", "latest")
    assert ended.code == ExitCode.BAD_INPUT
    assert "nothing to compare with" in ended.err


def test_a_long_table_says_what_it_leaves_out(vsperf: Shell) -> None:
    vsperf(*SMOKE, "--set", "traffic.frame_size=[64,128]")
    ended = vsperf("compare", "latest", "latest", "--limit", "1")
    assert "and 1 more, none with a greater change" in ended.out


def test_baselines_are_listed_and_removed(two: Shell) -> None:
    assert [one["name"] for one in two("baseline", "list", "--json").data] == ["main"]
    assert "main" in two("baseline", "list").out
    assert two("baseline", "remove", "main").code == ExitCode.OK
    assert two("baseline", "list", "--json").data == []
    assert two("baseline", "remove", "main").code == ExitCode.BAD_INPUT


class TestCriteria:
    """A testcase that is held against the baseline main."""

    @pytest.fixture(name="held")
    def fixture_held(self, vsperf: Shell) -> Path:
        return self.write(vsperf, HELD)

    def write(self, vsperf: Shell, text: str) -> Path:
        file = vsperf.folder / "held.yaml"
        file.write_text(text, encoding="utf-8")
        return file

    def run(self, vsperf: Shell, file: Path, *more: str) -> tuple[int, str]:
        ended = vsperf("run", str(file), "--testbed", "sim", *more)
        return ended.code, ended.out + ended.err

    def make_baseline(self, vsperf: Shell, file: Path) -> None:
        """Measure the same testcase without its criterion, and call that main."""
        free = self.write(vsperf, HELD.split("expect:", maxsplit=1)[0])
        assert self.run(vsperf, free)[0] == ExitCode.OK
        vsperf("baseline", "set", "main", "latest")
        self.write(vsperf, HELD)

    def test_the_same_switch_meets_it_and_a_slower_one_does_not(
        self, vsperf: Shell, held: Path
    ) -> None:
        self.make_baseline(vsperf, held)
        assert self.run(vsperf, held)[0] == ExitCode.OK
        code, said = self.run(vsperf, held, *SLOWER)
        assert code == ExitCode.CRITERION_MISSED
        assert "main − 3%" in said

    def test_the_record_says_what_it_was_held_to(self, vsperf: Shell, held: Path) -> None:
        self.make_baseline(vsperf, held)
        base = vsperf("results", "latest", "--json").data[0]["result"]["goals"][0]
        self.run(vsperf, held)
        plan = vsperf("plan", str(held), "--testbed", "sim", "--json").data[0]["spec"]["expect"][0]
        assert plan["held_to"] == f"{int(base['lower_fps'] * 0.97)}fps"

    def test_a_baseline_that_there_is_not_is_an_error_with_its_place(
        self, vsperf: Shell, held: Path
    ) -> None:
        for command in ("plan", "run"):
            ended = vsperf(command, str(held), "--testbed", "sim")
            assert ended.code == ExitCode.BAD_INPUT
            assert "there is no baseline 'main'" in ended.err
            assert "held.yaml:5" in ended.err

    def test_a_baseline_of_other_frames_is_refused_before_anything_starts(
        self, vsperf: Shell, held: Path
    ) -> None:
        self.make_baseline(vsperf, held)
        ended = vsperf("plan", str(held), "--testbed", "sim", "--set", "traffic.flows=77")
        assert ended.code == ExitCode.BAD_INPUT
        assert "other frames: traffic.flows was 1, and is 77" in ended.err

    def test_a_baseline_without_such_a_case_is_refused(self, vsperf: Shell, held: Path) -> None:
        vsperf(*SMOKE)
        vsperf("baseline", "set", "main", "latest")
        ended = vsperf("plan", str(held), "--testbed", "sim")
        assert ended.code == ExitCode.BAD_INPUT
        assert "the baseline main has no case held" in ended.err

    @pytest.mark.parametrize(
        ("criterion", "said"),
        [
            ("{metric: ndr, baseline: main}", "either `drop` or `rise`"),
            ("{metric: ndr, baseline: main, drop: 3%, rise: 3%}", "either `drop` or `rise`"),
            ("{metric: ndr, baseline: main, rise: 3%}", "takes `drop`, not `rise`"),
            ("{metric: p99, baseline: main, drop: 3%}", "takes `rise`, not `drop`"),
            ("{metric: ndr, min: 1Mfps, drop: 3%}", "`drop` refers to a `baseline`"),
            ("{metric: ndr, min: 1Mfps, baseline: main, drop: 3%}", "exactly one of"),
            ("{metric: ndr, baseline: ../x, drop: 3%}", "baseline"),
        ],
    )
    def test_a_criterion_that_contradicts_itself_is_refused(
        self, vsperf: Shell, criterion: str, said: str
    ) -> None:
        file = self.write(
            vsperf, HELD.replace("{metric: ndr, baseline: main, drop: 3%}", criterion)
        )
        ended = vsperf("plan", str(file), "--testbed", "sim")
        assert ended.code == ExitCode.BAD_INPUT
        assert said in ended.err
