"""Traffic as tgen is told of it, and its counters, slots, turns and clock as records."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import pytest
from assertions import known
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from vsperf.analysis.environment import case_facts
from vsperf.config.flows import HOSTS
from vsperf.config.topology import Dispatch
from vsperf.config.traffic import Replay, TrafficProfile
from vsperf.drivers.generators.base import TurnsRequest
from vsperf.drivers.generators.tgen.messages import (
    LONGEST_NS,
    MOST,
    WIDTH_NS,
    asked_ns,
    counts,
    slots_of,
)
from vsperf.drivers.generators.tgen.traffic import (
    Replayed,
    TrafficDirection,
    direction,
    flows_of,
    streams,
)
from vsperf.drivers.generators.tgen.tsc import Tsc
from vsperf.drivers.generators.tgen.turns_session import (
    StreamSide,
    StreamTurns,
    gap_ns,
    lasting,
    most_into_one,
    patience_s,
    turns_message,
    turns_of,
)
from vsperf.engine.instruments import looked_back
from vsperf.errors import ComponentError, UsageError
from vsperf.records.host import Conditions
from vsperf.records.trial import GeneratorActivity
from vsperf.records.turn_columns import TurnColumns

# vsperf's traffic becomes tgen's streams, and tgen's counters become a direction.

WAYS = (TrafficDirection("phy0 to phy1", 0, 1), TrafficDirection("phy1 to phy0", 1, 0))
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
        streams(
            profile(replay={"file": "/tmp/x.pcap"}),
            (TrafficDirection("phy0 to phy1", 0, 1, lanes=2),),
        )


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
        streams(carried, (TrafficDirection("phy0 to phy1", 0, 1, lanes=2),))


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
    way = TrafficDirection("phy0 to phy1", 0, 1, lanes=3)
    (stream,) = streams(profile(flows=4), (way,), dispatch)
    assert stream["flows"]["vary"] == [
        {"field": field, "count": 3},
        {"field": "source_ip", "count": 4},
    ]


def test_more_flows_than_hosts_leave_no_destination_to_dispatch_by() -> None:
    with pytest.raises(UsageError, match="too many"):
        streams(profile(flows=1 << 20), (TrafficDirection("phy0 to phy1", 0, 1, lanes=2),), "ip")


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
        streams(profile(**settings), (TrafficDirection("phy0 to phy1", 0, 1, lanes),))
    assert refused.value.problems[0].fix


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"vlans": [1, 2, 3]}, "at most 2"),
        ({"vlans": [4095]}, "4094"),
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


# How tgen itself fared in a trial, as the record has it.

WORKER = {"busy_ppm": 5, "longest_gap_ns": 6, "gaps_over_10us": 7, "paused_ns": 8}


def activity(*ports: dict[str, Any], missed: int = 0) -> GeneratorActivity:
    """Return it for a trial whose ports say this, and of which so many frames are known beside."""
    listed = [{"port": number, **port} for number, port in enumerate(ports)]
    result = {"streams": [], "settled": True, "workers": [WORKER], "ports": listed}
    found = known(counts(result, (), None, 0, missed=missed).generator)
    return found


@pytest.mark.parametrize(
    ("ports", "missed"),
    [(({"missed": 3}, {"missed": 4}), 7), (({"missed": 3}, {}), 3), (({}, {}), 0)],
)
def test_of_what_was_missed_as_much_counts_as_devices_told(
    ports: tuple[dict[str, Any], ...], missed: int
) -> None:
    assert activity(*ports).missed_frames == missed


def test_what_no_device_tells_of_counts_as_missed_beside_what_they_do() -> None:
    assert activity({"missed": 3}, {}, missed=40).missed_frames == 43


def test_the_port_that_was_behind_longest_says_for_how_long_tgen_was() -> None:
    assert activity({"receive_behind_ns": 9}, {"receive_behind_ns": 70}).behind_ns == 70


# Slots of time as tgen answers them become those of the record.


def slot(index: int, **changes: Any) -> dict[str, Any]:
    calm = {"slot": index, "sent": [100, 90], "received": [100, 90], "refused": [0, 0]}
    return calm | {"held_ns": [0, 0], "away_ns": 0, "silent_ns": 0} | changes


def answered(**changes: Any) -> dict[str, Any]:
    """Return a trial of 300 slots; in one of them tgen was away, in another 32 frames were lost."""
    noted = [slot(index) for index in (40, 41, 42, 98, 99, 100)]
    noted[1] |= {"away_ns": 5_000_000}
    noted[4] |= {"received": [100, 58], "refused": [0, 4], "held_ns": [0, 5]}
    totals = {"sent": [30_000, 27_000], "received": [30_000, 26_968], "refused": [0, 4]}
    found = {"slot_cycles": 1 << 25, "slot_ns": 12_935_879, "count": 300}
    return {"slots": found | {"totals": totals, "noted": noted} | changes}


def test_each_direction_keeps_its_place() -> None:
    found = known(slots_of(answered()))
    assert (found.width_ns, found.count, found.cut) == (12_935_879, 300, False)
    assert [slot.index for slot in found.noted] == [40, 41, 42, 98, 99, 100]
    assert found.noted[1].away
    assert found.noted[4].lost_frames == (0, 32)
    assert found.noted[4].refused_frames == found.refused_frames == (0, 4)
    assert [slot.index for slot in found.left_out(silent=False)] == [40, 41, 42]


def test_a_generator_that_counts_no_slots_has_none() -> None:
    assert slots_of({"streams": []}) is None


def test_slots_are_wider_in_longer_trials_and_none_in_the_longest() -> None:
    assert asked_ns(1_000_000_000) == WIDTH_NS
    assert asked_ns(60_000_000_000) == 60_000_000_000 // MOST > WIDTH_NS
    assert asked_ns(LONGEST_NS) == LONGEST_NS // MOST
    assert asked_ns(LONGEST_NS + 1) == 0


# Turns as tgen is asked for them and answers them are those of the record.

SIDES = (StreamSide((0, 1), (70,)), StreamSide((2, 3), in_flight=64, gap_ns=500_000))
ASKED = StreamTurns(SIDES, (0, 1, 1, 0), loads_fps=(1000, 1000, None, 2000), latency=True)
TIMES = (
    "measured_ns",
    "full_ns",
    "gaps_ns",
    "longest_gap_ns",
    "silence_ns",
    "continue_ns",
    "drain_ns",
)


@pytest.mark.parametrize(
    ("load_fps", "latency", "ring", "of_the_kernel", "gap"),
    [
        (8_000_000, False, 1024, False, 50_000),
        (8_000_000, False, 256, False, 32_000),  # a ring that does not last
        (14_880_952, False, 64, False, 10_000),
        (8_000_000, False, None, False, 10_000),  # or of which nobody knows how long it does
        (8_000_000, True, 1024, False, 10_000),  # at a load that is given, looks are short
        (8_000_000, False, 1024, True, 500_000),
    ],
)
def test_what_tgen_needs_between_two_looks_is_no_gap(
    load_fps: int, latency: bool, ring: int | None, of_the_kernel: bool, gap: int
) -> None:
    request = TurnsRequest((0, 1), load_fps, 10_000_000, 2_000_000, latency=latency)
    side = StreamSide((0,), ring_frames=ring, of_the_kernel=of_the_kernel)
    assert gap_ns(request, side) == gap


def test_of_a_ring_in_which_several_directions_end_each_has_a_part() -> None:
    """In a star two come back to one port. Nor do more wait in it than are under way at most."""
    assert most_into_one((("a", "b"), ("b", "a"))) == 1
    assert most_into_one((("a", "b"), ("b", "a"), ("a", "c"), ("c", "a"))) == 2
    assert [lasting(1024, bound) for bound in (0, 128, 4096)] == [1024, 128, 1024]


def answered_of_record(**changes: Any) -> dict[str, Any]:
    """Return two turns, of which the second saw no frame arrive."""
    turns: dict[str, Any] = {
        name: [1, 2] for name in (*TIMES, "hold_ns", "sent", "distinct", "elsewhere", "behind_ns")
    }
    turns |= {"side": [0, 1], "began_ns": [10, 20], "ended_ns": [19, 30], "first_ns": [4, None]}
    turns |= {"drained": [1, 0], "turn_sent": [8, 9], "turn_distinct": [7, 0], "count": 2}
    turns |= {"streams_sent": [[4, 4], [5, 4]], "streams_distinct": [[4, 3], [0, 0]]}
    turns |= {"slots_ns": [[1, 9], [2, 8]], "slots_distinct": [[0, 1], [2, 0]]}
    counted = ("sent", "received", "distinct", "lost", "corrupted", "misrouted", "reordered")
    side = {"streams": [0], "ports": [0, 1], **dict.fromkeys(counted, 5)}
    side |= {"duplicates": 3, "beyond_window": 4, "wrong_size": 0, "foreign": 1, "stale": 2}
    side |= {"unreadable": 0, "elsewhere": 6, "latency": {"count": 2, "hdr": "HISTFAAAA"}}
    result = {"number": 7, "end": "complete", "settled": True, "tsc_hz": 10**9}
    result |= {"started_unix_ns": 5, "elapsed_ns": 30, "turns": turns, "sides": [side], "ports": []}
    return result | changes


def test_a_request_says_whose_turn_it_is_and_who_is_held_still() -> None:
    message = turns_message(ASKED, burst=8)
    assert message["sides"] == [
        {"streams": [0, 1], "processes": [70], "in_flight": 0, "rings": False, "gap_ns": 10_000},
        {"streams": [2, 3], "processes": [], "in_flight": 64, "rings": False, "gap_ns": 500_000},
    ]
    filled = tuple(replace(side, rings=bool(side.processes)) for side in SIDES)
    asked = turns_message(replace(ASKED, sides=filled), burst=8)
    assert [side["rings"] for side in asked["sides"]] == [True, False]
    assert message["order"] == [0, 1, 1, 0]
    assert message["rate_fps"] == [1000, 1000, 0, 2000]
    assert (message["latency"], message["burst"]) == (True, 8)
    assert "rate_fps" not in turns_message(StreamTurns(SIDES, (0, 1)), burst=8)


def test_the_answer_may_take_as_long_as_a_machine_that_is_mostly_away_needs() -> None:
    many = StreamTurns(SIDES, (0, 1) * 500)
    assert patience_s(many) > 3 * 1000 * 0.012
    assert patience_s(ASKED) < patience_s(many)


def test_each_turn_keeps_its_numbers() -> None:
    found = turns_of(answered_of_record())
    first, second = found.turns
    assert (first.side, first.began_ns, first.ended_ns, first.first_ns) == (0, 10, 19, 4)
    assert (second.side, second.first_ns, second.drained) == (1, None, False)
    assert (first.sent_frames, second.received_frames, second.turn_sent_frames) == (1, 2, 9)
    assert first.intended_frames is first.latencies is None
    assert first.drained is True
    assert (first.sent_by_direction, second.received_by_direction) == ((4, 4), (0, 0))
    assert (first.slots_ns, second.received_by_slot) == ((1, 9), (2, 0))
    assert (second.behind_ns, first.missed_frames) == (2, None)


def test_what_was_due_and_latencies_are_there_where_tgen_knows_them() -> None:
    answer = answered_of_record()
    more = {"intended": [11, 12], "refused": [0, 1], "latencies": [2, 0], "latency_sum_ns": [9, 0]}
    rings = {"fillings": [20, 0], "fillings_behind": [3, 0], "fillings_short": [2, 0]}
    answer["turns"] |= more | rings | {"missed": [0, 3]}
    answer["turns"] |= {"latency_p50_ns": [4, None], "latency_p99_ns": [5, None]}
    (first, second) = turns_of(answer).turns
    assert (first.latency_p50_ns, first.latency_p99_ns) == (4, 5)
    assert (first.fillings, second.fillings) == (20, 0)
    assert (first.was_behind, first.was_short, second.was_behind) == (True, False, False)
    assert second.latency_p50_ns is second.latency_p99_ns is None
    assert second.missed_frames == 3
    assert (first.intended_frames, second.refused_frames) == (11, 1)
    assert (first.latencies, first.latency_sum_ns) == (2, 9)


def test_a_side_adds_up_what_tgen_tells_apart_of_copies() -> None:
    (side,) = turns_of(answered_of_record()).sides
    assert side.duplicate_frames == 7
    assert (side.elsewhere_frames, side.foreign_frames, side.stale_frames) == (6, 1, 2)
    assert side.latency_histogram == "HISTFAAAA"


def test_the_process_that_ended_them_is_told() -> None:
    found = turns_of(answered_of_record(end="process-ended", ended_side=1, ended_process=70))
    assert (found.end, found.ended_side, found.ended_process) == ("process-ended", 1, 70)


def test_an_answer_without_a_column_is_none() -> None:
    answer = answered_of_record()
    del answer["turns"]["distinct"]
    with pytest.raises(ComponentError, match="no 'distinct'"):
        turns_of(answer)


@pytest.mark.parametrize("column", ["streams_sent", "streams_distinct", "slots_distinct"])
def test_an_answer_whose_parts_do_not_add_up_is_none_either(column: str) -> None:
    answer = answered_of_record()
    answer["turns"][column] = [[9, 9], [9, 9]]
    with pytest.raises(ComponentError, match="cannot be read") as error:
        turns_of(answer)
    assert "do not add up" in str(error.value.problems[0].why)


def test_columns_have_one_length() -> None:
    columns = turns_of(answered_of_record()).columns.model_dump()
    with pytest.raises(ValidationError, match="different lengths"):
        TurnColumns.model_validate(columns | {"hold_ns": (1,)})


def test_turns_can_be_stored() -> None:
    found = turns_of(answered_of_record())
    assert type(found).model_validate_json(found.model_dump_json()) == found


# The speed of the TSC is in the record, and no trial is believed in which it was another.

HZ = 2_600_000_000
HELLO = {"tsc_hz": HZ, "tsc_hz_dpdk": 2_610_000_000}


def heard(*meanwhile_hz: int, elapsed_ns: int = 1_000_000_000) -> Tsc:
    """Return what is known after trials with these speeds."""
    tsc = Tsc.of(HELLO)
    for hz in meanwhile_hz:
        tsc.hear({"tsc_hz": HZ, "tsc_hz_meanwhile": hz, "elapsed_ns": elapsed_ns})
    return tsc


def test_both_speeds_are_known_from_the_beginning() -> None:
    assert Tsc.of(HELLO).facts() == {"hz": HZ, "hz_dpdk": 2_610_000_000}
    assert Tsc.of({}).facts() == {}


def test_the_greatest_deviation_of_all_trials_is_kept_either_way() -> None:
    assert heard(HZ + 26, HZ - 5200, HZ + 2600).facts()["most_off_ppm"] == 2.0
    assert heard(HZ).facts()["most_off_ppm"] == 0.0


@pytest.mark.parametrize("hz", [HZ * 998 // 1000, HZ * 1002 // 1000])
def test_a_trial_with_another_speed_is_refused_with_both(hz: int) -> None:
    with pytest.raises(ComponentError, match=r"no rate and no time .* holds.*2\.0 ms") as error:
        heard(hz)
    assert f"{HZ} Hz when tgen started, and {hz} Hz" in str(error.value.problems[0].why)


def test_where_another_clock_answers_for_it_the_speed_is_only_kept() -> None:
    tsc = Tsc.of(HELLO)
    result = {"tsc_hz": HZ, "tsc_hz_meanwhile": HZ // 2, "elapsed_ns": 10**9}
    tsc.hear(result, refuse=False)
    assert tsc.facts()["most_off_ppm"] == 500_000.0


def test_a_moment_says_nothing_of_a_clock() -> None:
    assert "most_off_ppm" not in heard(HZ // 2, elapsed_ns=99_999_999).facts()
    tsc = Tsc.of(HELLO)
    tsc.hear({"tsc_hz": HZ, "elapsed_ns": 10**9})
    assert "most_off_ppm" not in tsc.facts()


class Generator:
    """As much of a session as is asked for what its trials have shown."""

    def late_facts(self) -> dict[str, Any]:
        return {"tsc": heard(HZ + 26).facts()}


def test_the_record_has_what_the_trials_have_shown_beside_what_was_known_before() -> None:
    before = Conditions(generator={"tgen": "0.1.0", "tsc": {"hz": HZ}})
    generator: Any = Generator()
    assert looked_back(before, generator).generator == {
        "tgen": "0.1.0",
        "tsc": {"hz": HZ, "hz_dpdk": 2_610_000_000, "most_off_ppm": 0.01},
    }
    other: Any = object()
    assert looked_back(before, other) is before, "not every generator knows more later"


def test_two_runs_do_not_differ_by_the_last_digits_of_a_speed() -> None:
    record: Any = type("Record", (), {})()
    record.conditions = Conditions(generator={"tgen": "0.1.0", "tsc": {"hz": HZ}})
    assert case_facts(None, record) == {"generator.tgen": "0.1.0"}
