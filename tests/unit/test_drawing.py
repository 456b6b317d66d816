"""Drawings show where frames go, and which NIC of a VNF they go through."""

from __future__ import annotations

import pytest

from vsperf.cli.drawing import draw
from vsperf.config.topology import Topology


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
