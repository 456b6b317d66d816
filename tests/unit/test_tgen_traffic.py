"""vsperf's traffic becomes tgen's streams, and tgen's counters become a direction."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from vsperf.errors import ComponentError, UsageError
from vsperf.spec.flows import HOSTS
from vsperf.spec.topology import Dispatch
from vsperf.spec.traffic import Replay, TrafficProfile
from vsperf.trafficgens.tgen.replay import Replayed
from vsperf.trafficgens.tgen.traffic import Way, direction, flows_of, streams

WAYS = (Way("phy0 to phy1", 0, 1), Way("phy1 to phy0", 1, 0))
STREAM: dict[str, Any] = {
    "sent": 1000,
    "received": 990,
    "duplicates": 5,
    "beyond_window": 1,
    "corrupted": 3,
    "reordered": 2,
    "misrouted": 10,
    "wrong_size": 0,
}


def profile(**settings: object) -> TrafficProfile:
    return TrafficProfile.model_validate({"frame_size": "64B", **settings})


def test_each_way_is_a_stream() -> None:
    found = streams(profile(), WAYS)
    assert [(s["transmit_port"], s["receive_port"]) for s in found] == [(0, 1), (1, 0)]
    assert [s["size"] for s in found] == [64, 64]
    assert all("flows" not in s for s in found)


@pytest.mark.parametrize(
    ("encapsulation", "stream"),
    [
        ({"kind": "vxlan", "id": 42}, {"vxlan": {"vni": 42, "layer3": "ipv4"}}),
        (
            {"kind": "geneve", "id": 7, "underlay": "ipv6", "vlans": [5, 6]},
            {"geneve": {"vni": 7, "layer3": "ipv6", "vlans": [5, 6]}},
        ),
        ({"kind": "gre"}, {"gre": {"layer3": "ipv4"}}),
        ({"kind": "gre", "id": 2**32 - 1}, {"gre": {"key": 2**32 - 1, "layer3": "ipv4"}}),
        ({"kind": "gtpu", "id": 0}, {"gtpu": {"teid": 0, "layer3": "ipv4"}}),
    ],
)
def test_frames_are_carried_as_the_profile_says(
    encapsulation: dict[str, Any], stream: dict[str, Any]
) -> None:
    for found in streams(profile(frame_size="256B", encapsulation=encapsulation), WAYS):
        assert stream.items() <= found.items()
        assert found["size"] == 256


def test_each_way_sends_the_file_that_is_replayed() -> None:
    found = streams(profile(replay={"file": "/tmp/x.pcap"}), WAYS)
    assert found == [
        {"transmit_port": 0, "receive_port": 1, "replay": "/tmp/x.pcap"},
        {"transmit_port": 1, "receive_port": 0, "replay": "/tmp/x.pcap"},
    ]


@pytest.mark.parametrize(
    "settings",
    [{"flows": 2}, {"encapsulation": {"kind": "gre"}, "frame_size": "256B"}],
    ids=["flows", "tunnel"],
)
def test_a_file_has_its_own_flows_and_tunnels(settings: dict[str, Any]) -> None:
    with pytest.raises(ValidationError, match="set neither"):
        profile(replay={"file": "/tmp/x.pcap"}, **settings)


def test_a_file_is_named_from_the_root() -> None:
    with pytest.raises(ValidationError, match="must be absolute"):
        profile(replay={"file": "x.pcap"})


def test_a_file_takes_no_parallel_paths() -> None:
    with pytest.raises(UsageError, match="2 parallel paths"):
        streams(profile(replay={"file": "/tmp/x.pcap"}), (Way("phy0 to phy1", 0, 1, lanes=2),))


def test_frames_without_a_mark_are_counted_where_they_arrive() -> None:
    stream = STREAM | {"sent": 1100, "unmarked": 100, "unmarked_received": 97, "intended": 1200}
    del stream["reordered"]
    found = direction(WAYS[0], None, stream, None)
    assert (found.intended_frames, found.sent_frames) == (1200, 1100)
    assert found.received_frames == 990 - 10 + 97
    assert found.unmarked_frames == 100
    assert found.reordered_frames is None
    assert found.foreign_frames is None


def test_a_file_whose_frames_all_have_marks_is_like_any_other_traffic() -> None:
    found = direction(WAYS[0], 1000, STREAM | {"unmarked": 0, "unmarked_received": 0}, 3)
    assert found == direction(WAYS[0], 1000, STREAM, 3)
    assert found.unmarked_frames is None


@pytest.mark.parametrize(
    ("load_fps", "speed"),
    [
        (300, {"rhythm": "file"}),
        (301, {"rhythm": "file"}),
        (302, {"rhythm": "file", "rate_fps": 302}),
        (3, {"rhythm": "file", "rate_fps": 3}),
    ],
)
def test_a_load_that_is_the_files_own_rate_means_its_own_times(
    load_fps: int, speed: dict[str, Any]
) -> None:
    """Twelve frames in some 40 ms are 300.6 a second."""
    replay = Replay(file="/tmp/x.pcap", rhythm="file")
    replayed = Replayed(replay, {"frames": 12, "period_ns": 39_926_181}, "")
    assert replayed.speed(load_fps) == speed


def test_frames_that_all_have_one_time_have_no_rate_of_their_own() -> None:
    replayed = Replayed(Replay(file="/tmp/x.pcap", rhythm="file"), {"frames": 12}, "")
    assert replayed.own_fps is None
    assert replayed.speed(7) == {"rhythm": "file", "rate_fps": 7}


@pytest.mark.parametrize(
    ("encapsulation", "smallest"),
    [
        ({"kind": "vxlan", "id": 1}, 114),
        ({"kind": "vxlan", "id": 1, "underlay": "ipv6", "vlans": [1, 2]}, 142),
        ({"kind": "gre"}, 102),
        ({"kind": "gre", "id": 1}, 106),
        ({"kind": "gtpu", "id": 1}, 100),
    ],
)
def test_a_frame_has_room_for_its_tunnel(encapsulation: dict[str, Any], smallest: int) -> None:
    """The same sizes as on tgen's page, where they hold for real."""
    profile(frame_size=smallest, encapsulation=encapsulation)
    with pytest.raises(ValidationError, match=f"at least {smallest}B"):
        profile(frame_size=smallest - 1, encapsulation=encapsulation)


@pytest.mark.parametrize(
    ("encapsulation", "words"),
    [
        ({"kind": "vxlan"}, "needs an id of up to 24 bits"),
        ({"kind": "geneve", "id": 1 << 24}, "does not fit in the 24 bits"),
        ({"kind": "gtpu", "id": 1 << 32}, "does not fit in the 32 bits"),
        ({"kind": "gre", "vlans": [1, 2, 3]}, "at most 2"),
        ({"kind": "ipip"}, "kind"),
    ],
)
def test_a_tunnel_that_cannot_be_is_refused(encapsulation: dict[str, Any], words: str) -> None:
    with pytest.raises(ValidationError, match=words):
        profile(frame_size="512B", encapsulation=encapsulation)


def test_parallel_paths_are_not_told_apart_inside_of_a_tunnel() -> None:
    carried = profile(frame_size="256B", encapsulation={"kind": "gre"})
    with pytest.raises(UsageError, match="parallel paths"):
        streams(carried, (Way("phy0 to phy1", 0, 1, lanes=2),))


@pytest.mark.parametrize("count", [2, 4096, 65_534, 65_536, 10**6, 16_800_000 - 800_000, 1 << 24])
def test_flows_are_exactly_as_many_as_asked_for(count: int) -> None:
    assert math.prod(field["count"] for field in flows_of(count)) == count


@given(st.integers(1, 1 << 24))
def test_any_number_of_flows_is_made_exactly_or_refused_with_one_that_can_be(count: int) -> None:
    try:
        fields = flows_of(count)
    except UsageError as error:
        fix = str(error.problems[0].fix)
        assert flows_of(int(fix.partition("=")[2]))
        return
    assert math.prod(field["count"] for field in fields) == count
    assert all(1 < field["count"] <= HOSTS for field in fields)


@pytest.mark.parametrize(
    ("dispatch", "field"),
    [("mac", "destination_mac"), ("ip", "destination_ip"), ("udp", "destination_port")],
)
def test_each_of_several_parallel_paths_gets_all_flows(dispatch: Dispatch, field: str) -> None:
    way = Way("phy0 to phy1", 0, 1, lanes=3)
    (stream,) = streams(profile(flows=4), (way,), dispatch)
    assert stream["flows"]["vary"] == [
        {"field": field, "count": 3},
        {"field": "source_ip", "count": 4},
    ]


def test_more_flows_than_hosts_leave_no_destination_to_dispatch_by() -> None:
    with pytest.raises(UsageError, match="too many"):
        streams(profile(flows=1 << 20), (Way("phy0 to phy1", 0, 1, lanes=2),), "ip")


def test_more_flows_than_tgen_can_tell_apart_are_refused() -> None:
    with pytest.raises(UsageError, match="16777216"):
        flows_of((1 << 24) + 1)


def test_what_came_to_the_wrong_port_did_not_arrive() -> None:
    found = direction(WAYS[0], 1001, STREAM, 7)
    assert found.received_frames == 980
    assert found.duplicate_frames == 6
    assert found.good_frames == 971
    assert found.unsent_frames == 1
    assert found.foreign_frames == 7
    assert found.latency_histogram is None


def test_a_latency_histogram_is_handed_on() -> None:
    found = direction(WAYS[0], 1001, STREAM | {"latency": {"hdr": "text"}}, None)
    assert found.latency_histogram == "text"
    assert found.foreign_frames is None


def test_a_result_that_lacks_a_counter_is_no_result() -> None:
    with pytest.raises(ComponentError, match="sent"):
        direction(WAYS[0], 1, {k: v for k, v in STREAM.items() if k != "sent"}, 0)


@pytest.mark.parametrize(
    ("settings", "keys"),
    [
        ({"frame_size": 128, "vlans": [100]}, {"size": 128, "vlans": [100]}),
        ({"frame_size": 128, "vlans": [5, 6], "mpls": [16]}, {"vlans": [5, 6], "mpls": [16]}),
        ({"frame_size": 84, "layer3": "ipv6"}, {"size": 84, "layer3": "ipv6"}),
        ({"frame_size": None, "imix": "2a1g"}, {"sizes": [64, 64, 1518]}),
        (
            {"frame_size": 256, "layer3": "ipv6", "encapsulation": {"kind": "gre"}},
            {"layer3": "ipv6", "gre": {"layer3": "ipv4"}},
        ),
        (
            {"flows": 5, "vary": "mac"},
            {"flows": {"vary": [{"field": "source_mac", "count": 5}]}},
        ),
        (
            {"flows": 1 << 20, "vary": "port"},
            {"flows": {"vary": [{"field": "source_port", "count": 16384 // 2},
                                {"field": "destination_port", "count": 128}]}},
        ),
        (
            {"flows": 16_777_216, "frame_size": 128, "layer3": "ipv6", "flow_order": "shuffled"},
            {"flows": {"vary": [{"field": "source_ip", "count": 1 << 24}], "order": "shuffled"}},
        ),
        ({"destination": "broadcast"}, {"destination_mac": "ff:ff:ff:ff:ff:ff"}),
        ({"broadcasts": "1%"}, {"broadcast_every": 100}),
    ],
)  # fmt: skip
def test_headers_and_flows_are_what_tgen_calls_them(
    settings: dict[str, Any], keys: dict[str, Any]
) -> None:
    found = streams(profile(**settings), WAYS)[0]
    assert keys.items() <= found.items()
    assert ("size" in found) != ("sizes" in found)


def test_a_group_is_one_of_the_link_that_frames_go_to() -> None:
    found = streams(profile(destination="multicast"), WAYS)
    assert [s["destination_mac"] for s in found] == ["03:01:00:00:00:01", "03:00:00:00:00:01"]


@pytest.mark.parametrize(
    ("settings", "lanes", "words"),
    [
        ({"flows": (1 << 24) + 1, "vary": "mac"}, 1, "exactly 16777217 flows that differ by mac"),
        ({"flows": 1_000_003, "vary": "port"}, 1, "exactly 1000003 flows that differ by port"),
        ({"destination": "broadcast"}, 2, "broadcast frames cannot take 2 parallel paths"),
    ],
)
def test_what_tgen_cannot_send_is_refused(settings: dict[str, Any], lanes: int, words: str) -> None:
    with pytest.raises(UsageError, match=words) as refused:
        streams(profile(**settings), (Way("phy0 to phy1", 0, 1, lanes),))
    assert refused.value.problems[0].fix


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"vlans": [1, 2, 3]}, "at most 2"),
        ({"vlans": [4096]}, "4095"),
        ({"mpls": [1 << 20]}, "1048575"),
        ({"vlans": [1]}, "at least 68B"),
        ({"vlans": [1, 2], "mpls": [3]}, "at least 76B"),
        ({"layer3": "ipv6"}, "at least 84B"),
        ({"frame_size": 256, "vlans": [1], "encapsulation": {"kind": "gre"}}, "vlans: nobody sees"),
        ({"frame_size": 256, "mpls": [1], "encapsulation": {"kind": "gre"}}, "mpls: nobody sees"),
        ({"frame_size": 256, "vary": "mac", "encapsulation": {"kind": "gre"}}, "vary: MAC"),
        ({"frame_size": 256, "vlans": [1], "replay": {"file": "/x.pcap"}}, "frames of its own"),
        ({"vary": "port", "replay": {"file": "/x.pcap"}}, "frames of its own"),
    ],
)
def test_frames_that_cannot_be_are_refused(settings: dict[str, Any], words: str) -> None:
    with pytest.raises(ValidationError, match=words):
        profile(**settings)
