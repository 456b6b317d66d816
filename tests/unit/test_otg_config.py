"""What the OTG server takes of a configuration, and of changes in place."""

from __future__ import annotations

import copy
import re
import socket
import struct
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from otg_documents import config, flow, increment, packet, value

from vsperf.otg.answers import refuse_unknown
from vsperf.otg.config import Config, Place, merged, read_config
from vsperf.otg.document import Document, RefusedError
from vsperf.otg.flows import OLD_MARK, PCAP_HEAD, Flow, checksum, write_frames
from vsperf.otg.generator import fell_short

# What the OTG server takes of a configuration, and with which words it refuses the rest.

PLACES = {"p1": Place(0, None), "p2": Place(1, 10_000_000_000)}


def taken(content: dict[str, Any], tmp_path: Path) -> Config:
    config = read_config(content, PLACES)
    return replace(config, flows=write_frames(config.flows, tmp_path))


def refused(content: object, tmp_path: Path) -> str:
    with pytest.raises(RefusedError) as error:
        read_config(content, PLACES)
    return "; ".join(error.value.messages)


def test_a_flow_becomes_a_stream_with_an_exact_number_of_frames(tmp_path: Path) -> None:
    (one,) = taken(config(flow()), tmp_path).flows
    assert (one.frames, one.seconds, one.size) == (100, None, 128)
    assert one.rate_fps == 1000
    assert one.stream == {
        "transmit_port": 0,
        "receive_port": 1,
        "size": 128,
        "layer3": "ipv4",
        "layer4": "udp",
        "ttl": 64,
        "dscp": 0,
        "dont_fragment": False,
        "destination_mac": "02:01:00:00:00:01",
        "source_mac": "02:00:00:00:00:01",
        "source_ip": "198.18.0.1",
        "destination_ip": "198.19.0.1",
        "source_port": 49184,
        "destination_port": 7,
    }


def test_one_field_that_rises_is_left_to_tgen(tmp_path: Path) -> None:
    headers = packet(ip={"src": increment("10.0.0.1", 4096, "0.0.1.0")}, vlans=[{"id": value(7)}])
    (one,) = taken(config(flow(packet=headers)), tmp_path).flows
    assert one.stream["flows"] == {"vary": [{"field": "source_ip", "count": 4096, "step": 256}]}
    assert one.stream["vlans"] == [{"id": 7, "priority": 0}]
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("rate", "fps"),
    [
        ({"choice": "pps", "pps": 7}, 7),
        ({"pps": "7"}, 7),
        ({"choice": "bps", "bps": 1_184_000}, 1000),
        ({"choice": "mbps", "mbps": 1}, Fraction("844.594")),
        ({"choice": "gbps", "gbps": 1}, Fraction("844594.594")),
    ],
)
def test_bits_are_those_on_the_wire(rate: dict[str, Any], fps: Fraction, tmp_path: Path) -> None:
    (one,) = taken(config(flow(rate=rate)), tmp_path).flows
    assert one.rate_fps == fps  # 128 bytes and 20 between them


def test_a_percentage_is_that_of_the_line(tmp_path: Path) -> None:
    back = {"choice": "port", "port": {"tx_name": "b", "rx_names": ["a"]}}
    half = flow(tx_rx=back, rate={"choice": "percentage", "percentage": 50})
    (one,) = taken(config(half), tmp_path).flows
    assert one.rate_fps == Fraction(4222972972, 1000)
    layer1 = [{"name": "l", "port_names": ["a"], "speed": "speed_1_gbps", "promiscuous": True}]
    forth = flow(rate={"choice": "percentage", "percentage": 50})
    found = taken(config(forth, layer1=layer1), tmp_path)
    assert found.flows[0].rate_fps == Fraction(422297297, 1000)
    assert "layer1[0].speed" in found.warnings[0]


def test_seconds_and_no_end_become_frames_as_well(tmp_path: Path) -> None:
    timed = flow("t", duration={"choice": "fixed_seconds", "fixed_seconds": {"seconds": 0.5}})
    endless = flow("e", duration={"choice": "continuous", "continuous": {"gap": 12}})
    first, second = taken(config(timed, endless), tmp_path).flows
    assert (first.frames, first.seconds) == (500, 0.5)
    assert second.frames == 1000 * 29 * 24 * 3600
    assert second.seconds is None


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"tx_rx": {"choice": "device", "device": {}}}, "flows[0].tx_rx.choice: 'device'"),
        (
            {"tx_rx": {"choice": "port", "port": {"tx_name": "a", "rx_names": ["c"]}}},
            "flows[0].tx_rx.port.rx_names: there is no port 'c'",
        ),
        ({"size": {"choice": "random", "random": {"min": 64}}}, "flows[0].size.choice: 'random'"),
        ({"size": {"fixed": 63}}, "flows[0].size.fixed: must be a whole number from 64 to 9216"),
        ({"size": {"fixed": 64.0}}, "flows[0].size.fixed: must be a whole number"),
        ({"rate": {"pps": 0}}, "flows[0].rate.pps: must be a whole number from 1"),
        ({"rate": {"percentage": 3}}, "flows[0].rate.percentage: nobody knows the speed"),
        ({"duration": {"choice": "burst", "burst": {}}}, "flows[0].duration.choice: 'burst'"),
        (
            {"duration": {"fixed_packets": {"packets": 9, "gap": 13}}},
            "flows[0].duration.fixed_packets.gap: 13 is not supported, only 12",
        ),
        (
            {"duration": {"fixed_packets": {"packets": 9, "delay": {"nanoseconds": 5}}}},
            "flows[0].duration.fixed_packets.delay.nanoseconds: 5 is not supported",
        ),
        ({"metrics": {"enable": True, "timestamps": True}}, "flows[0].metrics.timestamps"),
        ({"payload": {"choice": "fixed", "fixed": "aa"}}, "flows[0].payload: not supported"),
        ({"wings": 2}, "flows[0].wings: not supported"),
        ({"packet": []}, "flows[0].packet: nothing is not supported"),
        ({"packet": packet()[:1]}, "flows[0].packet: ethernet is not supported"),
        (
            {"packet": [*packet()[:1], {"choice": "arp", "arp": {"hardware_type": value(1)}}]},
            "flows[0].packet: ethernet, arp is not supported",
        ),
        (
            {"packet": packet(ip={"src": {"choice": "random", "random": {"seed": 1}}})},
            "flows[0].packet[1].ipv4.src.choice: 'random'",
        ),
        (
            {"packet": packet(ip={"src": {"value": "1.2.3"}})},
            "flows[0].packet[1].ipv4.src.value: '1.2.3' is no value of this field",
        ),
        (
            {"packet": packet(ip={"options": [{"choice": "router_alert"}]})},
            "flows[0].packet[1].ipv4.options: not supported",
        ),
        (
            {"packet": packet(ip={"src": {**value("1.2.3.4"), "metric_tags": [{"name": "t"}]}})},
            "flows[0].packet[1].ipv4.src.metric_tags: not supported",
        ),
        (
            {"packet": packet(udp={"checksum": {"choice": "custom", "custom": 0}})},
            "flows[0].packet[2].udp.checksum.choice: 'custom'",
        ),
        (
            {"packet": packet(udp={"length": value(3)})},
            "flows[0].packet[2].udp.length: is filled in; 3 cannot be had",
        ),
        (
            {"packet": packet(udp={"src_port": increment(65000, 1000)})},
            "flows[0].packet[2].udp.src_port.increment: the values would begin again",
        ),
        (
            {
                "packet": packet(
                    udp={"src_port": increment(1, 503), "dst_port": increment(1, 509)}
                ),
                "size": {"fixed": 512},
            },
            "flows[0].packet: 256027 different frames are too many",
        ),
        (
            {"packet": packet(vlans=[{"id": value(1)}]), "size": {"fixed": 64}},
            "flows[0].size: 64 bytes with FCS are too few for these headers and the mark, 68",
        ),
    ],
)
def test_what_cannot_be_had_is_refused_with_its_path(
    change: dict[str, Any], words: str, tmp_path: Path
) -> None:
    assert words in refused(config(flow(**change)), tmp_path)


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"devices": [{"name": "d"}]}, "devices: not supported"),
        ({"lags": [{"name": "l"}]}, "lags: not supported"),
        ({"options": {"protocol_options": {"auto_start_all": True}}}, "options.protocol_options"),
        ({"layer1": [{"name": "l", "port_names": ["z"]}]}, "layer1[0].port_names: there is no"),
        ({"ports": [{"name": "a", "location": "eth9"}]}, "ports[0].location: 'eth9' is no port"),
        ({"ports": [{"name": "a", "location": "p1"}] * 2}, "ports: there are several called 'a'"),
    ],
)
def test_what_the_rest_of_a_configuration_asks_for_is_refused_too(
    more: dict[str, Any], words: str, tmp_path: Path
) -> None:
    assert words in refused({**config(flow()), **more}, tmp_path)


def test_what_is_refused_leaves_no_file(tmp_path: Path) -> None:
    down = {"choice": "decrement", "decrement": {"start": 9, "step": 2, "count": 3}}
    needs_file = flow("a", packet=packet(udp={"src_port": down}))
    assert "wings" in refused(config(needs_file, flow("b", wings=2)), tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_one_flow_too_many_is_all_that_is_said(tmp_path: Path) -> None:
    said = refused(config(*(flow(f"f{n}") for n in range(33))), tmp_path)
    assert said == "flows: 33 are too many, there can be 32"


def test_what_is_too_much_is_refused_before_it_is_looked_at(tmp_path: Path) -> None:
    class Untouched(dict[str, Any]):
        """An object that says so when somebody looks into it."""

        def get(self, key: str, default: Any = None) -> Any:
            raise AssertionError(f"somebody asked for {key}")

    many = [Untouched()] * 60_000
    assert "flows: 60000 are too many" in refused({"flows": many}, tmp_path)
    assert "ports: 60000 are too many" in refused({"ports": many}, tmp_path)
    listed = packet(udp={"src_port": {"values": [*range(1 << 16), 1]}})
    assert "values: 65537 are too many" in refused(config(flow(packet=listed)), tmp_path)


def test_a_refusal_does_not_repeat_a_long_value(tmp_path: Path) -> None:
    long = "x" * 1_000_000
    said = refused(config(flow(tx_rx={"port": {"tx_name": long}}, rate={"pps": long})), tmp_path)
    assert len(said) < 5000


def test_numbers_may_be_texts_of_sensible_length(tmp_path: Path) -> None:
    assert taken(config(flow(rate={"pps": "1000"})), tmp_path).flows[0].rate_fps == 1000
    assert "rate.pps: must be" in refused(config(flow(rate={"pps": "1" * 5000})), tmp_path)


def test_a_rate_that_no_generator_takes_is_refused_where_it_is_set(tmp_path: Path) -> None:
    assert "rate.pps: must be" in refused(config(flow(rate={"pps": 10**12})), tmp_path)
    fast = {"choice": "gbps", "gbps": 10**9}
    assert "flows[0].rate: is more than" in refused(config(flow(rate=fast)), tmp_path)
    endless = {"choice": "continuous", "continuous": {}}
    (one,) = taken(config(flow(rate={"pps": 10**10}, duration=endless)), tmp_path).flows
    assert one.frames < 1 << 48


def test_a_frame_is_refused_where_a_port_on_its_way_does_not_take_it(tmp_path: Path) -> None:
    places = {"p1": Place(0, None, 9216), "p2": Place(1, None, 1518, 4)}

    def said(size: int, *vlans: dict[str, Any]) -> str:
        content = config(flow(size={"fixed": size}, packet=packet(vlans=vlans)))
        try:
            read_config(content, places)
        except RefusedError as error:
            return "; ".join(error.messages)
        return ""

    assert said(1518) == ""
    assert said(1519) == "flows[0].size: 1519 bytes with FCS are too many for port 'b': 1518"
    assert said(1522, {"id": value(5)}) == ""
    assert "port 'b': 1522" in said(1523, {"id": value(5)})
    assert "port 'b': 1518" in said(1522, {"id": value(5)}, {"id": value(6)})


def test_values_that_would_fall_below_zero_are_refused(tmp_path: Path) -> None:
    for key, start in (("src", "00:00:00:00:00:01"), ("dst", "00:00:00:00:00:00")):
        down = {"choice": "decrement", "decrement": {"start": start, "count": 3}}
        headers = packet(udp={"src_port": {"values": [3, 1, 2]}})
        headers[0]["ethernet"][key] = down
        said = refused(config(flow(packet=headers)), tmp_path)
        assert f"ethernet.{key}.decrement: the values would begin again" in said


class TestDefaults:
    """What nobody says is as the model has it: zero, in every field that is not filled in."""

    def stream(self, tmp_path: Path, **headers: Any) -> dict[str, Any]:
        stack = [{"choice": name, name: fields} for name, fields in headers.items()]
        (one,) = taken(config(flow(packet=stack)), tmp_path).flows
        return dict(one.stream)

    def test_of_tcp(self, tmp_path: Path) -> None:
        bare = self.stream(tmp_path, ethernet={}, ipv4={}, tcp={})
        zero = {"sequence": 0, "acknowledgement": 0, "flags": 0, "window": 0}
        assert bare["tcp"] == zero
        said = self.stream(
            tmp_path, ethernet={}, ipv4={}, tcp={"ctl_syn": value(1), "window": value(9)}
        )
        assert said["tcp"] == {**zero, "flags": 2, "window": 9}

    def test_of_ipv4(self, tmp_path: Path) -> None:
        assert self.stream(tmp_path, ethernet={}, ipv4={}, udp={})["dont_fragment"] is False
        said = self.stream(tmp_path, ethernet={}, ipv4={"dont_fragment": value(1)}, udp={})
        assert said["dont_fragment"] is True

    def test_of_ipv6_there_is_no_such_bit(self, tmp_path: Path) -> None:
        assert "dont_fragment" not in self.stream(tmp_path, ethernet={}, ipv6={}, udp={})


def test_all_that_is_wrong_is_said_at_once(tmp_path: Path) -> None:
    said = refused(config(flow(wings=2), flow(rate={"pps": 0})), tmp_path)
    for words in ("flows[0].wings", "flows[1].rate.pps", "flows: there are several called 'f'"):
        assert words in said


@pytest.mark.parametrize("content", [None, [], "x", 3, {"ports": 3}, {"flows": [3]}])
def test_what_is_no_configuration_is_refused(content: object, tmp_path: Path) -> None:
    assert "must be" in refused(content, tmp_path)


def test_what_is_empty_asks_for_nothing(tmp_path: Path) -> None:
    content = config(flow(egress_packet=[], payload={}), devices=[], lags=None)
    assert taken(copy.deepcopy(content), tmp_path).content == content


class TestFrames:
    """Where tgen's own headers cannot say it, the server writes the frames into a file."""

    def frames(self, headers: list[dict[str, Any]], tmp_path: Path, size: int) -> list[bytes]:
        (one,) = taken(config(flow(packet=headers, size={"fixed": size})), tmp_path).flows
        assert set(one.stream) == {"transmit_port", "receive_port", "replay"}
        content = Path(one.stream["replay"]).read_bytes()
        assert content.startswith(PCAP_HEAD)
        found, at = [], len(PCAP_HEAD)
        while at < len(content):
            _, _, captured, original = struct.unpack_from("<IIII", content, at)
            assert captured == original == size - 4
            found.append(content[at + 16 : at + 16 + captured])
            at += 16 + captured
        return found

    def test_fields_that_change_together_make_as_many_frames_as_come_until_all_is_repeated(
        self, tmp_path: Path
    ) -> None:
        headers = packet(
            ip={"src": increment("1.1.1.1", 10, "0.1.2.3")},
            udp={"dst_port": {"choice": "values", "values": [4000, 4044, 4060, 4074]}},
        )
        found = self.frames(headers, tmp_path, 128)
        assert len(found) == 20
        ports = [struct.unpack_from(">H", one, 36)[0] for one in found]
        assert ports == [4000, 4044, 4060, 4074] * 5
        assert {socket.inet_ntoa(one[26:30]) for one in found[10:]} == {
            f"1.{1 + n}.{1 + 2 * n}.{1 + 3 * n}" for n in range(10)
        }

    def test_checksums_are_right(self, tmp_path: Path) -> None:
        down = {"choice": "decrement", "decrement": {"start": 9, "step": 2, "count": 3}}
        for one in self.frames(packet(udp={"src_port": down}), tmp_path, 129):
            assert checksum(one[14:34]) == 0
            pseudo = one[26:34] + struct.pack(">HH", 17, len(one) - 34)
            assert checksum(pseudo + one[34:]) == 0

    def test_the_first_bytes_of_a_payload_can_be_said(self, tmp_path: Path) -> None:
        headers = [*packet(), {"choice": "custom", "custom": {"bytes": "2e2e51"}}]
        (one,) = self.frames(headers, tmp_path, 96)
        assert one[42:46] == b"..Q\0"

    def test_what_ether_type_says_stands_in_front_of_the_first_tag(self, tmp_path: Path) -> None:
        headers = packet(vlans=[{"id": value(100)}, {"id": value(7)}])
        headers[0]["ethernet"]["ether_type"] = value(0x8100)
        (one,) = self.frames(headers, tmp_path, 128)
        assert one[12:22] == bytes.fromhex("8100 0064 8100 0007 0800")
        headers[1]["vlan"]["tpid"] = value(0x88A8)
        said = refused(config(flow(packet=headers)), tmp_path)
        assert "vlan.tpid: is 0x88a8, and ether_type in front of it 0x8100" in said

    def test_a_tag_of_no_known_type_is_refused(self, tmp_path: Path) -> None:
        headers = packet(vlans=[{"id": value(1), "tpid": value(0x0800)}])
        assert "tpid: 0x0800 is not supported" in refused(config(flow(packet=headers)), tmp_path)

    def test_a_mark_has_its_place_at_the_end_of_each(self, tmp_path: Path) -> None:
        ports = packet(udp={"dst_port": {"values": [4789, 7, 2152]}})
        for one in self.frames(ports, tmp_path, 131):
            assert one.endswith(OLD_MARK)

    def test_tags_and_priorities_stand_where_they_belong(self, tmp_path: Path) -> None:
        tag = {"id": value(100), "priority": value(3), "cfi": value(1), "tpid": value(0x88A8)}
        headers = packet(
            vlans=[tag, {"id": value(7)}],
            ip={"priority": {"choice": "dscp", "dscp": {"phb": value(46), "ecn": value(1)}}},
        )
        (one,) = self.frames(headers, tmp_path, 128)
        assert one[12:22] == bytes.fromhex("88a8 7064 8100 0007 0800")
        assert one[23] == 46 << 2 | 1


@pytest.mark.parametrize("digits", [21, 4000, 6000])
def test_a_whole_number_of_very_many_digits_is_refused(digits: int, tmp_path: Path) -> None:
    said = refused(config(flow(rate={"choice": "pps", "pps": "9" * digits})), tmp_path)
    assert "rate.pps: must be a whole number" in said


# Changes of a configuration in place, and what of one is told to change nothing.


@pytest.mark.parametrize(
    ("content", "sum_of_it"),
    [
        ("0001f203f4f5f6f7", 0x220D),
        ("0000", 0xFFFF),
        ("ffff", 0),
        ("ffff0001", 0xFFFE),
        ("01", 0xFEFF),
    ],
)
def test_a_checksum_is_that_of_the_internet(content: str, sum_of_it: int) -> None:
    assert checksum(bytes.fromhex(content)) == sum_of_it


class TestChanges:
    """`PATCH /config`: rates and sizes of flows that are named."""

    def changed(self, **said: Any) -> Config:
        before = read_config(config(flow("f"), flow("g")), PLACES)
        document = Document({"choice": "flows", "flows": said})
        return read_config(merged(before, document), PLACES)

    def test_what_is_named_is_changed_and_nothing_else(self) -> None:
        change = flow("g", size={"fixed": 512}, rate={"pps": 7})
        found = self.changed(property_names=["size"], flows=[change]).flows
        assert [one.size for one in found] == [128, 512]
        assert found[0].rate_fps == found[1].rate_fps != 7

    @pytest.mark.parametrize(
        ("said", "why"),
        [
            ({"flows": [flow("f", rate={"pps": 7})]}, "flows.property_names: is needed"),
            (
                {"property_names": ["rate"], "flows": [{"name": "f"}]},
                "flows.flows[0].rate: is needed, as property_names has it",
            ),
            ({"property_names": ["wings"], "flows": []}, "'wings' is not supported"),
            ({"property_names": ["size"], "flows": [flow("x")]}, "there is no flow 'x'"),
        ],
    )
    def test_one_that_would_change_nothing_is_refused(self, said: dict[str, Any], why: str) -> None:
        with pytest.raises(RefusedError, match=re.escape(why)):
            self.changed(**said)


def test_what_no_port_changes_is_told() -> None:
    layer = {"name": "l", "port_names": ["a"], "mtu": 9000}
    (told,) = read_config({**config(flow()), "layer1": [layer]}, PLACES).warnings
    assert told == "layer1[0].mtu: no port changes its own, and takes what it can"
    assert not read_config({**config(flow()), "layer1": [layer | {"mtu": 1500}]}, PLACES).warnings


# Which flows are named for a rate that was not reached, and how.

PLACES_RATES = {"p1": Place(0, None), "p2": Place(1, None)}
SECOND = 1_000_000_000


def one(**changes: Any) -> Flow:
    """Return a flow of a million frames a second."""
    content = config(flow(rate={"pps": 1_000_000}, **changes))
    (found,) = read_config(content, PLACES_RATES).flows
    return found


def said(
    sender: Flow, sent: int, elapsed_ns: int, sending_ns: int = 0, paused_ns: int = 0
) -> tuple[str, ...]:
    streams = [{"sent": sent, "sending_ns": sending_ns}]
    workers = [{"paused_ns": paused_ns}]
    return fell_short((sender,), {"elapsed_ns": elapsed_ns, "streams": streams, "workers": workers})


ENDLESS = one(duration={"choice": "continuous", "continuous": {}})
TIMED = one(duration={"choice": "fixed_seconds", "fixed_seconds": {"seconds": 0.5}})
COUNTED = one(duration={"choice": "fixed_packets", "fixed_packets": {"packets": 1_000_000}})


def test_one_that_kept_its_rate_is_not_named() -> None:
    assert said(ENDLESS, 999_990, SECOND) == ()
    assert said(TIMED, 500_000, SECOND, SECOND // 2) == ()
    assert said(COUNTED, 1_000_000, 5 * SECOND, SECOND) == ()
    assert said(COUNTED, 400_000, SECOND * 4 // 10) == ()  # stopped early


def test_what_was_due_is_said_beside_what_has_left() -> None:
    (note,) = said(ENDLESS, 335_064, SECOND * 682 // 1000)
    assert note.startswith("flow 'f': 335064 of the 682000 frames that were due have left (49.1 %)")
    (note,) = said(TIMED, 400_000, 9 * SECOND)  # others went on
    assert "400000 of the 500000 frames" in note


def test_all_of_them_left_too_late() -> None:
    (note,) = said(COUNTED, 1_000_000, 2 * SECOND, 2 * SECOND)
    assert "its 1000000 frames left within 2.000 s, and not within 1.000 s" in note


def test_a_machine_that_was_away_is_named() -> None:
    (note,) = said(ENDLESS, 500_000, SECOND, paused_ns=SECOND // 2)
    assert note.endswith("; the machine kept tgen from running for 0.500 s")


def test_names_of_others_stay_in_the_line_of_a_refusal() -> None:
    document = Document({"port_names": ["a"]})
    asked = document.root
    refuse_unknown(asked, "port_names", asked.texts("port_names"), ["\n", "b"])
    with pytest.raises(RefusedError) as refused:
        document.finish()
    assert refused.value.messages == ("port_names: there is no 'a', only '\\n', b",)
