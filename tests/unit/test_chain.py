"""Where in a chain of switch and VNFs frames ended, from counters made by hand."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from assertions import known

from vsperf.analysis.frame_paths import frame_paths
from vsperf.config.topology import Topology
from vsperf.output.trial_tables import chain_tables
from vsperf.records.chain import gauges_of, joints_of, stages_of
from vsperf.records.switch import NicCounters, PortCounters, SwitchCounters, VnfCounters
from vsperf.records.trial import Direction, Purpose, Trial


def topology(*paths: str, nics: int = 2) -> Topology:
    return Topology.model_validate({"paths": [path.split() for path in paths], "nics": nics})


def port(name: str, received: int, sent: int, full: int = 0) -> PortCounters:
    """A port that took `received` frames, gave `sent`, and had no room for `full` more."""
    vnf = name.partition("_")[0] if name.startswith("vm") else None
    return PortCounters(
        name=name,
        link=None if vnf else name,
        vnf=vnf,
        received_frames=received,
        sent_frames=sent,
        drops={"tx dropped": full},
    )


def vnf(name: str, *nics: tuple[int, int]) -> VnfCounters:
    """A VNF whose NICs received and sent so many frames."""
    return VnfCounters(
        name=name,
        nics=tuple(NicCounters(received_frames=got, sent_frames=gave) for got, gave in nics),
    )


def way(name: str, sent: int, received: int) -> Direction:
    return Direction(name=name, intended_frames=sent, sent_frames=sent, received_frames=received)


def trial(
    ways: Sequence[Direction], ports: Sequence[PortCounters], vnfs: Sequence[VnfCounters] = ()
) -> Trial:
    return Trial(
        directions=tuple(ways),
        sending_ns=1_000_000_000,
        elapsed_ns=1_000_000_000,
        settled=True,
        index=1,
        purpose=Purpose.SEARCH,
        load_fps=100,
        duration_ns=1_000_000_000,
        started_at="2026-11-21T05:00:00Z",
        switch=SwitchCounters(ports=tuple(ports)),
        vnfs=tuple(vnfs),
    )


def stages(graph: Topology, made: Trial) -> list[dict[str, int | None]]:
    """Return what ended where: for each way that is counted apart, in the order of the way."""
    ways = frame_paths(graph)
    gauges = known(gauges_of(made, ways))
    return [
        {stage.name: stage.frames for stage in stages_of(group, gauges)}
        for group in joints_of(ways)
    ]


PVP_PORTS = (
    port("phy0", received=999, sent=480, full=15),
    port("phy1", received=500, sent=950, full=2),
    port("vm1_0", received=498, sent=985, full=10),
    port("vm1_1", received=955, sent=500),
)
PVP_WAYS = (way("phy0 to phy1", 1000, 949), way("phy1 to phy0", 500, 480))


def test_one_vnf_has_four_places_where_frames_can_end_each_way() -> None:
    found = stages(
        topology("phy0 vm1 phy1"), trial(PVP_WAYS, PVP_PORTS, [vnf("vm1", (984, 498), (500, 955))])
    )
    there, back = found
    assert there == {
        "into phy0": 1,
        "phy0 → vm1": 4,
        "ring of vm1": 11,
        "in vm1": 29,
        "vm1 → phy1": 3,
        "ring of phy1": 2,
        "out of phy1": 1,
    }
    assert back == {
        "into phy1": 0,
        "phy1 → vm1": 0,
        "ring of vm1": 0,
        "in vm1": 2,
        "vm1 → phy0": 3,
        "ring of phy0": 15,
        "out of phy0": 0,
    }


def test_all_places_together_hold_what_was_sent_and_did_not_arrive() -> None:
    made = trial(PVP_WAYS, PVP_PORTS, [vnf("vm1", (984, 498), (500, 955))])
    found = stages(topology("phy0 vm1 phy1"), made)
    ended = sum(count or 0 for group in found for count in group.values())
    assert ended == sum(one.sent_frames - one.good_frames for one in made.directions)


def test_a_vnf_that_does_not_count_leaves_its_frames_in_the_place_before() -> None:
    there, back = stages(topology("phy0 vm1 phy1"), trial(PVP_WAYS, PVP_PORTS))
    assert there["in vm1"] is None
    assert there["ring of vm1"] == 11 + 29
    assert there["vm1 → phy1"] == 3
    assert back["ring of vm1"] == 2


def test_vnfs_in_a_row_are_told_apart() -> None:
    made = trial(
        [way("phy0 to phy1", 100, 60)],
        [
            port("phy0", 100, 0),
            port("vm1_0", 0, 90, full=10),
            port("vm1_1", 85, 0),
            port("vm2_0", 0, 80, full=4),
            port("vm2_1", 60, 0),
            port("phy1", 0, 60),
        ],
        [vnf("vm1", (90, 0), (0, 85)), vnf("vm2", (80, 0), (0, 60))],
    )
    there, back = stages(topology("phy0 vm1 vm2 phy1"), made)
    assert {name: count for name, count in there.items() if count} == {
        "ring of vm1": 10,
        "in vm1": 5,
        "vm1 → vm2": 1,
        "ring of vm2": 4,
        "in vm2": 20,
    }
    assert list(there) == [
        "into phy0", "phy0 → vm1", "ring of vm1", "in vm1", "vm1 → vm2", "ring of vm2", "in vm2",
        "vm2 → phy1", "ring of phy1", "out of phy1",
    ]  # fmt: skip
    assert not any(back.values())


def test_vnfs_side_by_side_share_what_the_switch_loses_and_no_more() -> None:
    made = trial(
        [way("phy0 to phy1", 200, 150)],
        [
            port("phy0", 200, 0),
            port("vm1_0", 0, 70, full=25),
            port("vm2_0", 0, 100),
            port("vm1_1", 60, 0),
            port("vm2_1", 100, 0),
            port("phy1", 0, 150),
        ],
        [vnf("vm1", (70, 0), (0, 60)), vnf("vm2", (100, 0), (0, 100))],
    )
    there, _ = stages(topology("phy0 vm1 phy1", "phy0 vm2 phy1"), made)
    assert there == {
        "into phy0": 0,
        "phy0 → vm1, vm2": 5,
        "ring of vm1": 25,
        "ring of vm2": 0,
        "in vm1": 10,
        "in vm2": 0,
        "vm1, vm2 → phy1": 10,
        "ring of phy1": 0,
        "out of phy1": 0,
    }


def test_a_vnf_with_one_nic_shows_both_directions_as_their_sum() -> None:
    made = trial(
        [way("phy0 to phy1", 100, 90), way("phy1 to phy0", 100, 80)],
        [
            port("phy0", 100, 80, full=3),
            port("phy1", 100, 90),
            port("vm1_0", received=175, sent=190, full=8),
        ],
        [vnf("vm1", (190, 175))],
    )
    (both,) = stages(topology("phy0 vm1 phy1", nics=1), made)
    assert {name: count for name, count in both.items() if count} == {
        "phy0, phy1 → vm1": 2,
        "ring of vm1": 8,
        "in vm1": 15,
        "vm1 → phy1, phy0": 2,
        "ring of phy0": 3,
    }


@pytest.mark.parametrize(
    ("vnfs", "ended"),
    [
        ([vnf("vm1", (97, 0), (0, 95)), vnf("vm2", (80, 0), (0, 72))], (3, 2, 6, 9, 8, 2)),
        ([], (5, None, 6, 19, None, None)),
    ],
    ids=["plugged into the outer NICs", "in VNFs that do not count"],
)
def test_between_vnfs_the_generator_is_at_the_ends(
    vnfs: list[VnfCounters], ended: tuple[int | None, ...]
) -> None:
    ports = [port("vm1_1", 95, 0), port("vm2_0", 0, 80, full=9)]
    there, _ = stages(topology("vm1 vm2"), trial([way("vm1 to vm2", 100, 70)], ports, vnfs))
    places = ("ring of vm1", "in vm1", "vm1 → vm2", "ring of vm2", "in vm2", "out of vm2")
    assert there == dict(zip(places, ended, strict=True))


def test_without_vnfs_or_without_counters_there_is_no_table() -> None:
    made = trial(PVP_WAYS, PVP_PORTS)
    assert chain_tables([made], topology("phy0 phy1")) is None
    silent = made.model_copy(update={"switch": None})
    assert chain_tables([silent], topology("phy0 vm1 phy1")) is None


def test_trials_without_loss_take_no_line() -> None:
    whole = trial(
        [way("phy0 to phy1", 10, 10)],
        [port("phy0", 10, 0), port("phy1", 0, 10), port("vm1_0", 0, 10), port("vm1_1", 10, 0)],
        [vnf("vm1", (10, 0), (0, 10))],
    )
    assert chain_tables([whole], topology("phy0 vm1 phy1")) == ()
    lossy = trial(PVP_WAYS, PVP_PORTS)
    tables = known(chain_tables([whole, lossy, whole], topology("phy0 vm1 phy1")))
    assert [len(table.rows) for table in tables] == [1, 1]


def test_the_ends_are_shown_where_frames_were_lost_at_them() -> None:
    tables = known(chain_tables([trial(PVP_WAYS, PVP_PORTS)], topology("phy0 vm1 phy1")))
    there, back = tables
    assert list(there.names) == [
        "trial", "into phy0", "phy0 → vm1", "ring of vm1", "in vm1", "vm1 → phy1", "ring of phy1",
        "out of phy1",
    ]  # fmt: skip
    assert back.names[1] == "phy1 → vm1"
    assert [row[4] for row in there.texts] == ["?"]


@pytest.mark.parametrize("nics", [1, 2])
@pytest.mark.parametrize(
    "paths",
    [
        ("phy0 vm1 phy1",),
        ("phy0 vm1 vm2 vm3 phy1",),
        ("phy0 vm1 phy1", "phy0 vm2 phy1"),
        ("vm1 vm2",),
    ],
)
def test_every_crossing_belongs_to_exactly_one_place(paths: tuple[str, ...], nics: int) -> None:
    ways = frame_paths(topology(*paths, nics=nics))
    joints = [joint for group in joints_of(ways) for joint in group]
    for one in ways:
        for (enter, leave), inside in zip(one.crossings, one.inside, strict=True):
            holding = [
                joint
                for joint in joints
                if joint.vnf == inside and enter in joint.enters and leave in joint.leaves
            ]
            assert len(holding) == 1
