"""What `vsperf plan` says of several testcases: what differs, and which of them cannot be."""

from __future__ import annotations

import pytest

from vsperf.cli.drawing import draw
from vsperf.cli.main import run_cli
from vsperf.config.topology import Topology

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
