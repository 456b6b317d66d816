"""What must never pass: numbers that the run's own records speak against, and lost exit codes."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from functools import reduce
from operator import getitem
from pathlib import Path

import pytest
from cli_shell import SMOKE, Shell, fixture_vsperf

from vsperf.errors import ExitCode
from vsperf.records.files.folders import RECORDS, run_folders

pytestmark = pytest.mark.everyday

__all__ = ["fixture_vsperf"]  # a fixture is found by its name in the module

ONE_SIZE = ("run", "phy2phy_tput", "--testbed", "sim", "--set", "traffic.frame_size=64")
INTERVAL = r"([\d.]+) … ([\d.]+) Mfps"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        # a switch that dies between search and latency
        (("--set", "vswitch.behaviour.kind=dies", "--set", "vswitch.behaviour.in_trial=13"),
         "nothing-received"),
        # plain bisection on a switch that wobbles: the latency trial takes it back, or the repeat
        (("--preset", "rfc2544-strict", "--set", "vswitch.behaviour.kind=noisy",
          "--set", "generator.seed=8", "--set", "latency.loads=[100%]"), "upper-not-reproduced"),
        (("--preset", "rfc2544-strict", "--set", "vswitch.behaviour.kind=noisy",
          "--set", "generator.seed=3"), "upper-not-reproduced"),
        # an exceed ratio so small that one lossy trial decides
        (("--preset", "standard", "--set", "search.exceed_ratio=4%",
          "--set", "vswitch.behaviour.kind=random-loss", "--set", "generator.seed=2"),
         "upper-not-reproduced"),
        (("--budget", "300ms"), ""),
    ],
)  # fmt: skip
def test_a_result_that_its_own_trials_refute_is_invalid(
    vsperf: Shell, arguments: tuple[str, ...], said: str
) -> None:
    ended = vsperf(*ONE_SIZE, *arguments)
    assert ended.code == ExitCode.INVALID_RESULT, ended.out
    assert said in ended.out


def test_a_switch_that_was_cold_at_first_is_measured_once_later_trials_outweigh_the_first(
    vsperf: Shell,
) -> None:
    behaviour = "vswitch.behaviour.kind=warm-up", "vswitch.behaviour.lasts"
    bounds = []
    for lasts in ("0s", "9s"):
        ended = vsperf(*ONE_SIZE, "--set", behaviour[0], "--set", f"{behaviour[1]}={lasts}")
        assert ended.code == ExitCode.OK
        bounds += re.findall(rf"64B +{INTERVAL} +{INTERVAL}", ended.out)
    warm, cold = (tuple(map(float, found)) for found in bounds)
    for low, high in ((0, 1), (2, 3)):  # of NDR, and of PDR
        assert max(warm[low], cold[low]) < min(warm[high], cold[high])


def test_a_fixed_load_that_was_not_tried_meets_no_criterion(vsperf: Shell) -> None:
    loads = ("--set", "search.loads=[10%, 100%]", "--set", "traffic.frame_size=64")
    lossless = ("--set", "expect=[{metric: loss, max_loss: 0}]", "--budget", "15s")
    ended = vsperf("run", "phy2phy_cont", "--testbed", "sim", *loads, *lossless)
    assert ended.code == ExitCode.INVALID_RESULT
    assert "out-of-budget" in ended.out
    assert "the time ended before every load was tried" in ended.out


def test_an_interval_below_the_criterion_is_a_miss_even_when_the_time_ended(vsperf: Shell) -> None:
    ended = vsperf(*ONE_SIZE, "--budget", "10s", "--set", "expect=[{metric: ndr, min: 10Mpps}]")
    assert ended.code == ExitCode.CRITERION_MISSED


@pytest.mark.parametrize("fault", ["none", "dead", "oversends"])
def test_the_exit_code_survives_a_reader_that_leaves(vsperf: Shell, fault: str) -> None:
    arguments = (*SMOKE, "--set", f"generator.fault={fault}")
    expected = vsperf(*arguments).code
    process = vsperf.start(*arguments)
    assert process.stdout is not None and process.stderr is not None
    process.stdout.close()
    process.stderr.close()
    assert process.wait() == expected
    assert all(vsperf("show", f.name).code == 0 for f in run_folders(vsperf.folder / "results"))


def test_a_full_output_device_is_no_bug_and_costs_no_measurement(vsperf: Shell) -> None:
    with Path("/dev/full").open("w") as full:
        ended = subprocess.run(
            [sys.executable, "-m", "vsperf", *SMOKE], stdout=full, stderr=full, check=False
        )
    assert ended.returncode in (ExitCode.OK, ExitCode.COMPONENT_FAILED)
    assert vsperf("show", "latest", "--json").data["state"] == "finished"


def test_one_damaged_run_does_not_hide_the_others(vsperf: Shell) -> None:
    vsperf(*SMOKE)
    (good,) = run_folders(vsperf.folder / "results")
    vsperf(*SMOKE)
    bad = next(f for f in run_folders(vsperf.folder / "results") if f != good)
    records = bad / RECORDS
    records.write_text(
        records.read_text().replace('"exit_code":0', '"exit_code":99999999999999999999')
    )
    assert good.name in vsperf("results").out
    records.write_text(records.read_text().replace('"10Gbit/s"', '"fast"'))
    assert vsperf("show", bad.name).code == ExitCode.BAD_INPUT


def test_a_plan_of_a_search_without_end_does_not_take_long_itself(vsperf: Shell) -> None:
    ended = vsperf("plan", *ONE_SIZE[1:], "--set", "search.duration_sum=1000h")
    assert ended.code == ExitCode.OK


@pytest.mark.parametrize(
    "setting",
    [
        "search.exceed_ratio=0.14285714285714285",
        "search.exceed_ratio=99.99999999999999999999999999%",
        "search.goals.pdr.loss_ratio=99.99999999999999999999999999%",
        "search.width=1e-30%",
        "search.duration_sum=1ns",
        "trial.retries=-1",
    ],
)
def test_odd_settings_are_run_or_refused_and_never_a_bug(vsperf: Shell, setting: str) -> None:
    assert vsperf("plan", *ONE_SIZE[1:], "--set", setting).code in (0, 2)


@pytest.mark.parametrize(
    "place",
    [
        "testbed.links.phy0",
        "testbed.links",
        "testbed",
        "topology",
        "topology.name",
        "topology.paths",
        "traffic",
        "traffic.frame_size",
        "name",
        "tags",
    ],
)
@pytest.mark.parametrize(
    "value",
    [
        pytest.param(None, marks=pytest.mark.thorough),
        pytest.param("x", marks=pytest.mark.thorough),
        [0],
    ],
    ids=repr,
)
def test_a_specification_that_is_damaged_in_a_record_is_no_bug(
    vsperf: Shell, place: str, value: object
) -> None:
    vsperf(*SMOKE)
    damage(vsperf, ("cases", 0, "spec", *place.split(".")), value)
    for arguments in (("show", "latest"), ("show", "latest", "64B"), ("results", "latest")):
        for more in ((), ("--json",)):
            ended = vsperf(*arguments, *more)
            assert ended.code in (ExitCode.OK, ExitCode.BAD_INPUT), ended.err
            assert ended.code == ExitCode.OK or RECORDS in ended.err


def test_a_plan_that_is_damaged_in_a_record_is_no_bug(vsperf: Shell) -> None:
    vsperf(*SMOKE)
    damage(vsperf, ("plan",), None, line=1)
    ended = vsperf("show", "latest")
    assert ended.code == ExitCode.BAD_INPUT
    assert f"{RECORDS}:2" in ended.err


def test_a_ratio_that_is_none_is_found_when_the_record_is_read(vsperf: Shell) -> None:
    vsperf(*SMOKE)
    (folder,) = run_folders(vsperf.folder / "results")
    records = folder / RECORDS
    records.write_text(records.read_text().replace('"loss_ratio":"0"', '"loss_ratio":"1/0"'))
    for command in ("show", "results"):
        ended = vsperf(command, "latest")
        assert f"{RECORDS}:" in ended.err
    assert vsperf("show", "latest").code == ExitCode.BAD_INPUT


def damage(vsperf: Shell, place: tuple[str | int, ...], value: object, line: int = 0) -> None:
    """Change one value in the records of the only run."""
    (folder,) = run_folders(vsperf.folder / "results")
    records = folder / RECORDS
    lines = [json.loads(text) for text in records.read_text().splitlines()]
    *outer, last = place
    reduce(getitem, outer, lines[line])[last] = value
    records.write_text("".join(json.dumps(one) + "\n" for one in lines))


def test_what_a_record_holds_does_not_steer_the_terminal(vsperf: Shell) -> None:
    vsperf(*SMOKE)
    hostile = "\x1b]0;mine\x07\x1b[2J"
    trial, last = 2, -2
    for place, line in (
        (("run",), 0),
        (("testbed",), 0),
        (("preset",), 0),
        (("started_at",), 0),
        (("cases", 0, "label"), 0),
        (("trial", "directions", 0, "name"), trial),
        (("reason",), last),
        (("warnings",), last),
        (("result", "goals", 0, "reason"), last),
    ):
        damage(vsperf, place, [hostile] if place == ("warnings",) else hostile, line)
    case = json.loads(vsperf("results", "latest", "--json").out)[0]["key"]
    for arguments in (("show", "latest"), ("show", "latest", case), ("results",)):
        ended = vsperf(*arguments)
        assert ended.code == ExitCode.OK, ended.err
        assert not {"\x1b", "\x07"} & set(ended.out + ended.err)
        assert r"\x1b]0;mine" in ended.out
    damage(vsperf, ("cases", 0, "spec", "traffic", "frame_size"), hostile)
    ended = vsperf("show", "latest")
    assert ended.code == ExitCode.BAD_INPUT
    assert "\x1b" not in ended.err
