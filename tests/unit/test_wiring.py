"""The NICs of VNFs and the passes through the switch follow from a topology's paths."""

from __future__ import annotations

import pytest

from vsperf.config.topology import Topology
from vsperf.config.wiring import nics, outer_nics, passes


def topology(*paths: str, nic_count: int = 2) -> Topology:
    return Topology.model_validate({"paths": [path.split() for path in paths], "nics": nic_count})


def test_a_vnf_on_a_path_has_a_card_on_each_side() -> None:
    own = nics(topology("phy0 vm1 phy1"))
    assert [(nic.port, nic.faces) for nic in own] == [("vm1_0", "phy0"), ("vm1_1", "phy1")]


def test_cards_know_where_their_frames_go() -> None:
    own = {nic.port: nic.peer_mac for nic in nics(topology("phy0 vm1 vm2 phy1"))}
    assert own == {
        "vm1_0": "02:00:00:00:00:01",
        "vm1_1": "52:54:00:00:02:00",
        "vm2_0": "52:54:00:00:01:01",
        "vm2_1": "02:01:00:00:00:01",
    }


def test_no_two_cards_have_one_address() -> None:
    many = topology(*(f"phy0 vm{number} phy1" for number in range(1, 65)))
    assert len({nic.mac for nic in nics(many)}) == 128


@pytest.mark.parametrize(
    ("paths", "message"),
    [
        (("phy0 vm1 phy1", "phy2 vm1 phy3"), "vm1 lies on several paths"),
        (("vm1 vm2", "vm1 vm3"), "vm1 lies on several paths"),
        (("phy0 vm1",), "has a link at one end and a VNF at the other"),
    ],
)
def test_what_no_part_could_plug_together_is_refused(paths: tuple[str, ...], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        topology(*paths)


def test_with_one_nic_frames_go_back_out_of_it() -> None:
    found = passes(topology("phy0 vm1 phy1", nic_count=1))
    assert [(way.enters, way.leaves) for way in found] == [
        ("phy0", "vm1_0"),
        ("vm1_0", "phy0"),
        ("vm1_0", "phy1"),
        ("phy1", "vm1_0"),
    ]


def test_at_the_end_of_a_path_the_generator_is_plugged_into_the_vnf() -> None:
    between = topology("vm1 vm2")
    assert [nic.port for nic in outer_nics(between)] == ["vm1_0", "vm2_1"]
    assert [(way.enters, way.leaves) for way in passes(between)] == [
        ("vm1_1", "vm2_0"),
        ("vm2_0", "vm1_1"),
    ]


def test_parallel_paths_have_lanes() -> None:
    for second in ("phy0 vm2 phy1", "phy1 vm2 phy0"):
        side_by_side = topology("phy0 vm1 phy1", second)
        assert side_by_side.lanes("phy1", "phy0") == 2
        assert [way.lane for way in passes(side_by_side) if way.leaves.startswith("vm2")] == [1, 1]


@pytest.mark.parametrize("second", ["phy0 vm1 phy1", "phy1 vm1 phy0"])
def test_a_path_is_there_once(second: str) -> None:
    with pytest.raises(ValueError, match="is there twice"):
        topology("phy0 vm1 phy1", second)
