"""Frames of TRex's streams, as its server would count their fields up."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from fractions import Fraction
from itertools import islice
from typing import Any

import pytest
from places import PLACEMENT
from trex_cases import trex_case

from vsperf.config.case import CaseSpec
from vsperf.config.flows import Flow, flows_between
from vsperf.drivers.generators.tgen.look import read
from vsperf.drivers.generators.trex.driver import TrexGenerator
from vsperf.drivers.generators.trex.streams import TrafficDirection, bursts_of, stream_of
from vsperf.errors import UsageError
from vsperf.records.run import Endpoint
from vsperf.records.trial import Headers, RateStep

FORTH = TrafficDirection("phy0", "phy1", 0, 1, Fraction(1))
IPV6 = {"layer3": "ipv6", "frame_size": "84B"}
SERVER = {"server": "192.0.2.7"}
ENDPOINTS = tuple(
    Endpoint(link=f"phy{number}", kind="chassis", address=str(number)) for number in range(2)
)


def frames_of(case: CaseSpec, *, latency: bool = False) -> Iterator[bytes]:
    """Yield the frames of a stream one after the other, as long as somebody wants them."""
    step = RateStep(load_fps=10_000, duration_ns=1_000_000_000)
    burst = bursts_of(case, step, 1000 if latency else None)[-1]
    stream = stream_of(case, FORTH, burst, 7)
    packet = base64.b64decode(stream["packet"]["binary"])
    steps = stream["vm"]["instructions"]
    variables = {step["name"]: step for step in steps if step["type"] == "flow_var"}
    values = {name: step["init_value"] for name, step in variables.items()}
    while True:
        frame = bytearray(packet)
        for one in steps:
            if one["type"] == "write_flow_var":
                at, size = one["pkt_offset"], variables[one["name"]]["size"]
                frame[at : at + size] = values[one["name"]].to_bytes(size)
        yield bytes(frame)
        followers = {step.get("next_var") for step in variables.values()}
        for name in variables:
            if name not in followers:
                _advance(name, variables, values)


def _advance(name: str, variables: dict[str, Any], values: dict[str, int]) -> None:
    one = variables[name]
    last, first = ("max_value", "min_value")[:: 1 if one["op"] == "inc" else -1]
    if values[name] != one[last]:
        values[name] += 1 if one["op"] == "inc" else -1
        return
    values[name] = one[first]
    if "next_var" in one:
        _advance(one["next_var"], variables, values)


def sum_of(frame: bytes) -> int:
    """Return the sum over the UDP datagram of a frame of IPv6 and what goes with it."""
    length = len(frame) - 54
    words = frame[22:54] + length.to_bytes(4) + (17).to_bytes(4) + frame[54:]
    total = sum(int.from_bytes(words[at : at + 2]) for at in range(0, len(words), 2))
    while total > 0xFFFF:
        total = (total & 0xFFFF) + (total >> 16)
    return total


def flow_of(headers: Headers) -> Flow:
    """Return which flow a frame is of."""
    assert headers.source_ip is not None and headers.destination_ip is not None
    assert headers.source_port is not None and headers.destination_port is not None
    return Flow(
        headers.source_mac,
        headers.source_ip,
        headers.destination_ip,
        headers.source_port,
        headers.destination_port,
    )


@pytest.mark.parametrize("layer3", ["ipv4", "ipv6"])
@pytest.mark.parametrize("vary", ["ip", "port", "mac"])
@pytest.mark.parametrize("flows", [1, 5, 300])
def test_frames_are_those_of_the_flows_that_a_switch_has_rules_for(
    layer3: str, vary: str, flows: int
) -> None:
    case = trex_case(SERVER, traffic={**IPV6, "layer3": layer3, "vary": vary, "flows": flows})
    seen = [read(frame) for frame in islice(frames_of(case), flows + 1)]
    headers = [one.headers for one in seen if one is not None]
    assert {one.layer3 for one in headers} == {layer3}
    found = [flow_of(one) for one in headers]
    assert found[:-1] == list(flows_between(case.traffic, 0, 1))
    assert found[-1] == found[0]


@pytest.mark.parametrize(
    ("vary", "flows"),
    [("ip", 1), ("ip", 60_000), ("port", 300), ("port", 16_352 * 3), ("mac", 300)],
)
def test_the_checksum_that_ipv6_wants_is_right_in_each_frame(vary: str, flows: int) -> None:
    case = trex_case(SERVER, traffic={**IPV6, "vary": vary, "flows": flows})
    for frame in islice(frames_of(case), 0, flows + 1, max(1, flows // 50)):
        assert len(frame) == 80
        assert frame[60:62] != bytes(2)
        assert sum_of(frame) == 0xFFFF


def test_frames_that_are_stamped_on_their_way_have_no_checksum() -> None:
    (frame,) = islice(frames_of(trex_case(SERVER, traffic=IPV6), latency=True), 1)
    assert frame[60:62] == bytes(2)


def test_tags_stand_before_ipv6() -> None:
    case = trex_case(SERVER, traffic={**IPV6, "frame_size": "92B", "vlans": [5, 6]})
    (frame,) = islice(frames_of(case), 1)
    seen = read(frame)
    assert seen is not None
    assert (seen.headers.vlans, seen.headers.layer3) == ((5, 6), "ipv6")
    assert sum_of(frame[:12] + frame[20:]) == 0xFFFF


def test_flows_that_it_cannot_count_up_are_refused_in_the_plan() -> None:
    case = trex_case(SERVER, traffic={"vary": "mac", "flows": 100_000})
    with pytest.raises(UsageError, match="100k flows that differ by mac"):
        TrexGenerator().plan(case, ENDPOINTS, PLACEMENT)
