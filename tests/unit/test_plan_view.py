"""What `vsperf plan` says of several testcases: what differs, and which of them cannot be."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from vsperf.cli.drawing import draw
from vsperf.cli.main import run_cli
from vsperf.config.topology import Topology
from vsperf.errors import ExitCode

LOCAL = ("--testbed", "local", "--vswitch", "testpmd")
REFUSED = ("--testbed", "sim", "phy2phy_cps")
"""A model opens no connections."""


def test_a_case_like_another_one_is_planned_by_the_steps_that_differ(
    capfd: pytest.CaptureFixture[str],
) -> None:
    assert run_cli(["plan", "phy2phy_tput", *LOCAL, "--set", "traffic.frame_size=[64,512]"]) == 0
    first, _, second = capfd.readouterr().out.partition("as phy2phy_tput-64B, but\n")
    assert "vswitch: " in first
    assert "64B frames, 1 flow per direction" in first
    step, case, *_ = second.splitlines()
    assert "512B frames" in step
    assert case.startswith("phy2phy_tput-512B: ")


def test_of_several_testcases_the_one_that_cannot_be_is_named(
    capfd: pytest.CaptureFixture[str],
) -> None:
    assert run_cli(["plan", "phy2phy_smoke", *REFUSED]) == 2
    assert "   at: phy2phy_cps-1518B\n" in capfd.readouterr().err


def test_the_only_testcase_is_not_named_again(capfd: pytest.CaptureFixture[str]) -> None:
    assert run_cli(["plan", *REFUSED]) == 2
    assert "   at: " not in capfd.readouterr().err


# Drawings show where frames go, and which NIC of a VNF they go through.


@pytest.mark.parametrize(
    ("paths", "nics", "drawn"),
    [
        (["phy0 phy1"], 2, ["phy0 ──┤ ovs ├── phy1"]),
        (["phy0 vm1 phy1"], 2, ["phy0 ──┤ ovs ├── 0[vm1]1 ──┤ ovs ├── phy1"]),
        (["phy0 vm1 phy1"], 1, ["phy0 ──┤ ovs ├── 0[vm1] ──┤ ovs ├── phy1"]),
        (
            ["phy0 vm1 vm2 phy1"],
            2,
            ["phy0 ──┤ ovs ├── 0[vm1]1 ──┤ ovs ├── 0[vm2]1 ──┤ ovs ├── phy1"],
        ),
        (
            ["phy0 vm1 phy1", "phy0 vm2 phy1"],
            2,
            [
                "phy0 ──┤ ovs ├── 0[vm1]1 ──┤ ovs ├── phy1",
                "phy0 ──┤ ovs ├── 0[vm2]1 ──┤ ovs ├── phy1",
            ],
        ),
        (["vm1 vm2"], 2, ["generator ── 0[vm1]1 ──┤ ovs ├── 0[vm2]1 ── generator"]),
    ],
)
def test_each_path_is_a_line(paths: list[str], nics: int, drawn: list[str]) -> None:
    topology = Topology.model_validate(
        {"name": "x", "paths": [path.split() for path in paths], "nics": nics}
    )
    first, *rest = draw(topology, "ovs").splitlines()
    assert [first.removeprefix("x    "), *(line.strip() for line in rest)] == drawn


# What is missing on this machine stands on top of a plan, with what mends it, and is no error.

NOWHERE = ("phy2phy_smoke", "--vswitch", "vpp", "--set", "vswitch.install=/nowhere")
LAB = """\
testbed:
  name: lab
  links:
    phy0: {speed: 25G, generator: 'fffe:ff:1f.6', switch: 'fffe:ff:1f.7'}
    phy1: {speed: 25G, generator: 'fffe:ff:1e.6', switch: 'fffe:ff:1e.7'}
vswitch: {kind: ovs-dpdk}
generator: {kind: tgen}
"""


@pytest.mark.parametrize("command", [["plan"], ["run", "--dry-run"]])
def test_a_switch_that_is_not_installed_is_told_before_the_plan(
    command: list[str], capfd: pytest.CaptureFixture[str]
) -> None:
    assert run_cli([*command, *NOWHERE]) == ExitCode.OK
    said = capfd.readouterr().out
    head, _, plan = said.partition("a run of this is refused here until then")
    assert head.startswith("! missing here: ")
    assert "/nowhere" in head.splitlines()[0]
    assert any(line.startswith("    fix: ") for line in head.splitlines())
    assert "phy0 ──┤ vpp ├── phy1" in plan


def test_nics_that_are_absent_are_told_before_the_plan(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "conf" / "testbeds").mkdir(parents=True)
    (tmp_path / "conf" / "testbeds" / "lab.yaml").write_text(LAB)
    monkeypatch.chdir(tmp_path)
    assert run_cli(["plan", "phy2phy_smoke", "--testbed", "lab"]) == ExitCode.OK
    head, _, plan = capfd.readouterr().out.partition("a run of this is refused here until then")
    for address in ("fffe:ff:1f.6", "fffe:ff:1f.7", "fffe:ff:1e.6", "fffe:ff:1e.7"):
        assert f"there is no NIC at {address}" in head
    assert "ovs-dpdk" in plan


def test_a_program_that_is_missing_is_told_once_for_all_cases(
    capfd: pytest.CaptureFixture[str],
) -> None:
    argv = ["plan", "places_tcp_stream", "places_udp_stream", "--set", "program.path=/nowhere"]
    assert run_cli(argv) == ExitCode.OK
    assert capfd.readouterr().out.count("the program /nowhere cannot be run") == 1


def test_data_say_of_each_case_what_is_missing(capfd: pytest.CaptureFixture[str]) -> None:
    assert run_cli(["plan", *NOWHERE, "--json"]) == ExitCode.OK
    (case,) = json.loads(capfd.readouterr().out)
    assert any("/nowhere" in one["what"] and one["fix"] for one in case["missing"])
    assert run_cli(["plan", "phy2phy_smoke", "--testbed", "sim", "--json"]) == ExitCode.OK
    (case,) = json.loads(capfd.readouterr().out)
    assert case["missing"] == []
