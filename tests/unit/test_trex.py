"""The TRex driver against a server of our own making: trials, other people's ports, and liars."""

from __future__ import annotations

import base64
import ipaddress
from collections.abc import Iterator
from contextlib import AbstractContextManager
from fractions import Fraction
from itertools import islice
from pathlib import Path
from typing import Any

import pytest
import trex_server as server_module
from all_methods import method_of
from places import PLACEMENT, refused
from search_models import METHODS, NDR_PDR, RANGE
from trex_cases import Clock, trex_case
from trex_conversation import TRAFFIC, listening, recorded, talk
from trex_server import FAULTS, TrexServer, trex_server

from vsperf.config.case import CaseSpec
from vsperf.config.flows import Flow, flows_between
from vsperf.config.traffic import LatencyTrials
from vsperf.drivers.generators.base import TrialRequest
from vsperf.drivers.generators.tgen.look import read
from vsperf.drivers.generators.trex import server as conversation
from vsperf.drivers.generators.trex import session as trial
from vsperf.drivers.generators.trex.driver import TrexGenerator, TrexSpec, connected
from vsperf.drivers.generators.trex.session import TrexSession
from vsperf.drivers.generators.trex.streams import (
    TrafficDirection,
    bursts_of,
    stream_of,
    traffic_directions,
)
from vsperf.engine.judge import Asked, judge
from vsperf.errors import ComponentError, NotReadyError, UsageError
from vsperf.host.doctor.finding import Answer, Host, Status, ok
from vsperf.records.flags import Flag
from vsperf.records.histogram import summary
from vsperf.records.run import Endpoint
from vsperf.records.trial import Headers, RateStep, TrialCounts

ENDPOINTS = tuple(
    Endpoint(link=f"phy{number}", kind="chassis", address=str(number)) for number in range(2)
)
WAYS = (("phy0", "phy1"), ("phy1", "phy0"))
SHORT = TrialRequest(load_fps=2_000, duration_ns=50_000_000)
SAMPLED = TrialRequest(load_fps=2_000, duration_ns=50_000_000, latency=True)


@pytest.fixture(autouse=True)
def _hurry(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock()
    monkeypatch.setattr(trial, "time", clock)
    monkeypatch.setattr(trial, "sleep", clock.sleep)
    monkeypatch.setattr(server_module, "time", clock)
    monkeypatch.setattr(trial, "AHEAD_S", 0.01)
    monkeypatch.setattr(trial, "PER_PORT_S", 0.005)
    monkeypatch.setattr(trial, "EVENT_NS", 20_000_000)
    monkeypatch.setattr(trial, "LOOK_S", 0.002)
    monkeypatch.setattr(trial, "REST_S", 0.02)
    monkeypatch.setattr(trial, "SETTLE_S", 0.1)


@pytest.fixture(name="trex")
def fixture_trex() -> Iterator[TrexServer]:
    with trex_server() as server:
        yield server


def case_of(
    server: TrexServer,
    traffic: dict[str, Any] | None = None,
    *,
    learning: bool = False,
    **more: Any,
) -> CaseSpec:
    """Return a case whose generator is a server that runs."""
    settings = {"server": "127.0.0.1", "rpc_port": max(1, server.port), **more}
    case = trex_case(settings, traffic=traffic)
    hurried = {"drain": "5ms", "pause": "0s", "stretch_tolerance": "1%"}
    asked = case.trial.model_dump() | hurried | {"learning": learning}
    policy = case.trial.model_validate(asked)
    return case.model_copy(update={"trial": policy})


def joined(case: CaseSpec) -> AbstractContextManager[TrexSession]:
    """Take both ports, without the promises that a deployment makes."""
    return connected(case, {"phy0": 0, "phy1": 1}, WAYS, "vsperf-1")


def judged(counts: TrialCounts, case: CaseSpec) -> tuple[Flag, ...]:
    """Return what is to be said against a trial."""
    return judge(counts, Asked(SHORT.load_fps, SHORT.duration_ns, 2), case.trial)


def test_a_trial_sends_exactly_what_it_was_asked_to_and_is_counted_from_zero(
    trex: TrexServer,
) -> None:
    case = case_of(trex)
    with joined(case) as session:
        for _ in range(2):
            counts = session.run(SHORT)
            assert [way.name for way in counts.directions] == ["phy0 to phy1", "phy1 to phy0"]
            for way in counts.directions:
                assert way.intended_frames == way.sent_frames == way.received_frames == 100
                assert (way.foreign_frames, way.duplicate_frames) == (0, None)
                assert (way.latency_histogram, way.corrupted_frames) == (None, None)
            assert judged(counts, case) == (Flag.UNTIMED,)
        assert session.facts()["version"] == "v3.08"
    assert [port.owner for port in trex.ports] == ["", ""]


def test_where_every_frame_is_back_only_copies_are_waited_for(trex: TrexServer) -> None:
    case = case_of(trex)
    for_ever = case.trial.model_dump() | {"drain": "1h", "linger": "5ms"}
    policy = case.trial.model_validate(for_ever)
    with joined(case.model_copy(update={"trial": policy})) as session:
        assert [way.received_frames for way in session.run(SHORT).directions] == [100, 100]


def test_frames_that_are_sampled_are_part_of_the_load(trex: TrexServer) -> None:
    with joined(case_of(trex)) as session:
        for way in session.run(SAMPLED).directions:
            assert way.intended_frames == way.sent_frames == way.received_frames == 100
            found = summary(way.latency_histogram)
            assert found is not None
            assert (found.count, round(found.minimum_ns / 1000)) == (10, 25)


def test_learning_frames_say_who_is_there_and_are_not_counted(trex: TrexServer) -> None:
    with joined(case_of(trex, TRAFFIC, learning=True)) as session:
        for way in session.run(SHORT).directions:
            assert (way.received_frames, way.foreign_frames) == (100, 0)
    streams = [given["stream"] for method, given in trex.questions if method == "add_stream"]
    first = [base64.b64decode(stream["packet"]["binary"]) for stream in streams[:2]]
    assert [len(frame) for frame in first] == [60, 60]
    ends = ("02:01:00:00:00:01", "198.19.0.1"), ("02:00:00:00:00:01", "198.18.0.1")
    for frame, (mac, address) in zip(sorted(first, reverse=True), ends, strict=True):
        assert frame[:6] == b"\xff" * 6
        assert frame[6:12] == frame[26:32] == bytes.fromhex(mac.replace(":", ""))
        assert frame[12:18] == bytes.fromhex("810000050806")  # one tag, then ARP
        assert frame[32:36] == frame[42:46] == ipaddress.IPv4Address(address).packed


def test_what_is_lost_is_lost(trex: TrexServer) -> None:
    trex.fault = "lossy"
    with joined(case_of(trex)) as session:
        counts = session.run(SHORT)
    assert [way.lost_frames for way in counts.directions] == [10, 10]
    assert counts.generator is not None  # it had no room for them itself, and counts that
    assert counts.generator.missed_frames == 20
    assert counts.generator.busy_ppm is None


LIES: dict[str, Flag | str] = {
    "over-count": Flag.RX_EXCEEDS_TX,
    "one-percent-more": Flag.OVERSENT,
    "never-rests": Flag.COUNTERS_MOVING,
    "rushed": Flag.RUSHED,
    "slow": Flag.SHORT_OFFER,
    "reset": "fell in the middle",
    "hang": "does not answer",
    "babble": "no JSON",
    "other-answer": "another question",
    "stolen": "mallory",
    "restarted": "API verification failed",
    "no-counter": "ipackets",
    "contradicts": "contradict each other",
    "forgets": "counts nothing of stream",
}
LIES_OF_LATENCY = {
    "coarse": "no fine histogram",
    "too-many-latencies": "20 latencies of 10 frames",
    "endless-latency": "a latency of 9",
}
REFUSED = {"another-version": "another version", "another-mode": "mode ASTF"}


def test_every_fault_of_the_server_is_tried() -> None:
    assert {*LIES, *LIES_OF_LATENCY, *REFUSED, "lossy"} == set(FAULTS)


@pytest.mark.parametrize("fault", LIES)
def test_a_liar_gives_a_flag_or_an_error_and_never_a_number(
    trex: TrexServer, fault: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    case, expected = case_of(trex), LIES[fault]
    with joined(case) as session:
        session.run(SHORT)
        trex.fault = fault
        if fault == "hang":
            monkeypatch.setattr(conversation, "ANSWER_S", 0.3)
        if isinstance(expected, Flag):
            assert expected in judged(session.run(SHORT), case)
        else:
            with pytest.raises(ComponentError) as error:
                session.run(SHORT)
            assert expected in error.value.with_why
        trex.fault = ""


@pytest.mark.parametrize("fault", LIES_OF_LATENCY)
def test_latencies_that_cannot_be_are_an_error(trex: TrexServer, fault: str) -> None:
    with joined(case_of(trex)) as session:
        trex.fault = fault
        with pytest.raises(ComponentError, match=LIES_OF_LATENCY[fault]):
            session.run(SAMPLED)
        assert session.run(SHORT).directions  # what it counts it counts


@pytest.mark.parametrize("fault", REFUSED)
def test_a_server_that_speaks_otherwise_is_refused(trex: TrexServer, fault: str) -> None:
    trex.fault = fault
    refused(NotReadyError, joined(case_of(trex)), REFUSED[fault])


def test_a_port_of_somebody_else_is_left_to_them_unless_it_is_to_be_taken() -> None:
    with trex_server(owners=("", "mallory")) as server:
        error = refused(NotReadyError, joined(case_of(server)), "port 1 of TRex belongs to mallory")
        assert "generator.force=true" in str(error.problems[0].fix)
        assert [port.owner for port in server.ports] == ["", "mallory"]
        case = case_of(server, force=True)
        with joined(case) as session:
            assert session.run(SHORT).directions


def test_what_a_dead_deployment_has_is_released_and_nothing_else() -> None:
    with trex_server(owners=("vsperf-1", "mallory")) as server:
        TrexGenerator().release(f"127.0.0.1:{server.port}", "vsperf-1", ("0", "1"), None)
        assert [port.owner for port in server.ports] == ["", "mallory"]


def test_sizes_of_a_mix_follow_each_other_and_add_up(trex: TrexServer) -> None:
    case = case_of(trex, {"imix": "7a4d1g", "frame_size": None})
    step = RateStep(load_fps=1_000, duration_ns=1_000_000_000)
    bursts = bursts_of(case, step, None)
    assert [burst.size for burst in bursts] == [64] * 7 + [512] * 4 + [1518]
    assert sum(burst.frames for burst in bursts) == 1_000
    assert sum(burst.fps for burst in bursts) == 1_000
    assert [burst.starts_ns for burst in bursts] == [1_000_000 * place for place in range(12)]


@pytest.mark.parametrize("flows", [1, 4096, 1_000_000])
def test_flows_are_counted_up_in_the_fields_that_they_differ_by(flows: int) -> None:
    case = case_of(TrexServer(port=1), {"flows": flows})
    (burst,) = bursts_of(case, RateStep(1_000, 1_000_000_000), None)
    way = traffic_directions(case, WAYS[:1], {"phy0": 0, "phy1": 1})[0]
    steps = stream_of(case, way, burst, 7)["vm"]["instructions"]
    values = [one["max_value"] - one["min_value"] + 1 for one in steps if one["type"] == "flow_var"]
    product = 1
    for count in values:
        product *= count
    assert product == flows
    assert [one["type"] for one in steps[len(values) * 2 :]] == ["fix_checksum_ipv4"] * bool(values)


def test_latencies_of_a_mix_are_refused_in_the_plan(trex: TrexServer) -> None:
    case = case_of(trex, {"imix": "7a4d1g", "frame_size": None})
    latency = {"goal": "ndr", "loads": ["50%"], "duration": "1s"}
    search = method_of({"goals": NDR_PDR, **RANGE, **METHODS["rfc2544"]})
    asked = {"latency": LatencyTrials.model_validate(latency), "search": search}
    with pytest.raises(UsageError, match="no latency of imix-7a4d1g frames"):
        TrexGenerator().plan(case.model_copy(update=asked), ENDPOINTS, PLACEMENT)


def test_it_asks_and_is_answered_as_in_a_conversation_with_a_real_server(trex: TrexServer) -> None:
    """Each question is one that TRex itself took, and no answer is of another form than its own."""
    kept = recorded()
    with listening() as conversation, joined(case_of(trex, TRAFFIC)) as session:
        talk(session)
    assert conversation.questions == kept.questions
    known = kept.forms()
    for method, found in conversation.forms().items():
        assert found <= known[method], method


def test_a_server_is_not_started_without_a_place() -> None:
    case = trex_case({"server": "start"})
    device = tuple(
        Endpoint(link=f"phy{number}", kind="vdev", address=f"net_af_packet{number}")
        for number in range(2)
    )
    with pytest.raises(UsageError, match="nobody says where TRex is installed"):
        TrexGenerator().plan(case, device, PLACEMENT)


@pytest.mark.parametrize(
    ("kind", "address"),
    [
        ("vhost-user-client", "RUN/phy0.sock"),
        ("vdev", "net_ring0"),
        ("vdev", "net_memif0,role=client"),
        ("tap", "net/tap0"),
    ],
)
def test_a_port_of_a_kind_that_it_does_not_take_is_refused_in_the_plan(
    kind: str, address: str
) -> None:
    case = trex_case({"server": "start", "install": "/usr/local/trex"})
    wrong = (Endpoint(link="phy0", kind=kind, address=address),)
    with pytest.raises(UsageError, match="cannot send to phy0"):
        TrexGenerator().plan(case, wrong, PLACEMENT)


# Frames of TRex's streams, as its server would count their fields up.

FORTH = TrafficDirection("phy0", "phy1", 0, 1, Fraction(1))
IPV6 = {"layer3": "ipv6", "frame_size": "84B"}
SERVER = {"server": "192.0.2.7"}


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


def asked_of(**settings: object) -> Answer:
    (check,) = TrexGenerator.checks
    return check.ask(Host(chosen=(TrexSpec.model_validate({"kind": "trex", **settings}),)))


def test_whether_it_is_there_is_asked_of_the_folder_that_is_named(tmp_path: Path) -> None:
    """A program of that name elsewhere is not what a run would start."""
    assert asked_of().status is asked_of(rpc_port=14501).status is Status.ABSENT
    absent = asked_of(install=str(tmp_path))
    assert absent.status is Status.FAILURE and str(tmp_path) in absent.evidence
    (tmp_path / "_t-rex-64").touch()
    assert asked_of(install=str(tmp_path)).status is Status.OK


def test_a_server_that_runs_needs_none_here() -> None:
    assert asked_of(server="192.0.2.7") == ok("a server that runs, to be asked at 192.0.2.7:4501")
