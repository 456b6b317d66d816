"""Bytes that tgen makes, held against those of other programs: frames, headers, histograms."""

from __future__ import annotations

import itertools
import random
import struct
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import tgen_programs
from conftest import Require
from frame_templates import FIELDS, PAYLOAD_BYTES, TEMPLATES, Template, payload
from hdrh.histogram import HdrHistogram
from hypothesis import given
from hypothesis import strategies as st

from vsperf.drivers.generators.tgen.look import KEPT, Look, frames_in, read
from vsperf.drivers.generators.tgen.traffic import TrafficDirection
from vsperf.errors import ComponentError
from vsperf.records.histogram import percentiles_ns, summary
from vsperf.records.trial import Direction, Headers, TrialCounts

# tgen's frames against scapy's, byte by byte: headers, lengths, checksums, flows, payloads.

FLOWS_OF_A_FIELD = (((0, 1), (255, 16)), ((1, 1), (254, 7)))
"""Number and step, for every other template: scapy takes its time for each frame."""


@pytest.fixture(name="frame_dump", scope="module")
def fixture_frame_dump(require: Require) -> Path:
    require("tgen-programs")
    return tgen_programs.build("frame-dump")


def _check(program: Path, wanted: list[tuple[str, bytes]]) -> None:
    said = tgen_programs.answers(program, (line for line, _ in wanted))
    for (line, frame), answer in zip(wanted, said, strict=True):
        assert answer == frame.hex(), line


@pytest.mark.parametrize("every", [5, pytest.param(1, marks=pytest.mark.thorough)])
def test_every_template_at_every_kind_of_size(frame_dump: Path, every: int) -> None:
    """Smallest, odd and even ones after it, the usual large ones; each with its own payload.

    Every day two of ten sizes, others for each template: scapy takes its time.
    """
    drawn = random.Random(1)
    wanted = []
    for number, template in enumerate(TEMPLATES):
        near = range(template.smallest, template.smallest + 5)
        sizes = sorted({*near, 257, 1518, 1519, 9000, 9216})
        for size in sizes[number % every :: every]:
            said = [drawn.getrandbits(bits) for bits in (8, 8, 48, 48)]
            order = f"{template.line(size)} payload={':'.join(map(str, said))}"
            wanted.append((order, template.scapy(size, payload(*said))))
    assert len(wanted) == len(TEMPLATES) * 10 // every
    _check(frame_dump, wanted)


def test_before_the_payload_is_written_checksums_are_right_as_well(frame_dump: Path) -> None:
    wanted = [
        (template.line(size), template.scapy(size, bytes(PAYLOAD_BYTES)))
        for template in TEMPLATES
        for size in (template.smallest, 1517)
    ]
    _check(frame_dump, wanted)


def test_one_byte_less_than_the_smallest_is_refused(frame_dump: Path) -> None:
    lines = [template.line(template.smallest - 1) for template in TEMPLATES]
    for template, answer in zip(TEMPLATES, tgen_programs.answers(frame_dump, lines), strict=True):
        assert answer.startswith("error bad-size ")
        assert f" {template.smallest} " in answer


@pytest.mark.parametrize("field", FIELDS)
def test_flows_of_one_field(frame_dump: Path, field: str) -> None:
    wanted = []
    having = [template for template in TEMPLATES if template.has(field)]
    for template, flows in zip(having, itertools.cycle(FLOWS_OF_A_FIELD), strict=False):
        base = replace(template, destination_port=1000)
        if field == "vlan":
            base = replace(base, vlan=(0xA000, *template.vlan[1:]))
        size = template.smallest + 3
        for flow, step in flows:
            order = f"{base.line(size)} vary={FIELDS.index(field)}:256:{step} flow={flow}"
            moved = base.moved(field, flow * step)
            wanted.append((order, moved.scapy(size, bytes(PAYLOAD_BYTES))))
    assert len(wanted) >= 2 * 8
    _check(frame_dump, wanted)


def test_flows_of_several_fields_with_payloads(frame_dump: Path) -> None:
    drawn = random.Random(2)
    wanted = []
    for template, _ in itertools.product(TEMPLATES, range(4)):
        base = replace(template, destination_port=drawn.randrange(60000))
        fields = drawn.sample([f for f in FIELDS if template.has(f) and f != "vlan"], 4)
        counts = [drawn.randrange(1, 60) for _ in fields]
        steps = [drawn.randrange(1, 90) for _ in fields]
        flow = rest = drawn.randrange(counts[0] * counts[1] * counts[2] * counts[3])
        size = base.smallest + drawn.randrange(4)
        said = [drawn.getrandbits(bits) for bits in (8, 8, 48, 48)]
        order = f"{base.line(size)} flow={flow} payload={':'.join(map(str, said))}"
        for field, count, step in zip(fields, counts, steps, strict=True):
            order += f" vary={FIELDS.index(field)}:{count}:{step}"
            base = base.moved(field, rest % count * step)
            rest //= count
        wanted.append((order, base.scapy(size, payload(*said))))
    _check(frame_dump, wanted)


@pytest.mark.parametrize("ipv6", [False, True])
def test_the_checksum_that_would_be_zero(frame_dump: Path, ipv6: bool) -> None:
    """Over 65536 flows each sum occurs, so the zero rule of UDP does; scapy knows it, too."""
    template = Template(ipv6=ipv6, source_port=0)
    size = template.smallest
    lines = [f"{template.line(size)} vary=4:65536:1 flow={flow}" for flow in range(65536)]
    said = tgen_programs.answers(frame_dump, lines)
    at = 2 * (14 + (40 if ipv6 else 20) + 6)
    corner = [flow for flow, frame in enumerate(said) if frame[at : at + 4] in {"ffff", "0000"}]
    assert 1 <= len(corner) <= 2
    for flow in (*corner, corner[0] - 1, corner[0] + 1):
        moved = template.moved("source_port", flow)
        assert said[flow] == moved.scapy(size, bytes(PAYLOAD_BYTES)).hex()


# Captured frames become headers, and are told apart by the part of the stream that sent them.

TARGET, SOURCE = bytes.fromhex("020100000001"), bytes.fromhex("020000000001")
MACS = {"destination_mac": "02:01:00:00:00:01", "source_mac": "02:00:00:00:00:01"}
V4 = (bytes([198, 18, 0, 1]), bytes([198, 19, 0, 1]))
V6 = (
    bytes.fromhex("20010002000000000000000000000001"),
    bytes.fromhex("20010002000000010000000000000001"),
)
PORTS = struct.pack(">HHHH", 49184, 7, 26, 0)


def mark(part: int, magic: int = 0x7654) -> bytes:
    return struct.pack("<HBB14x", magic, 1, part)


def ipv4(payload: bytes, protocol: int = 17, tos: int = 0, ttl: int = 64) -> bytes:
    head = struct.pack(">BBHHHBBH", 0x45, tos, 20 + len(payload), 0, 0, ttl, protocol, 0)
    return head + V4[0] + V4[1] + payload


def ipv6(payload: bytes, protocol: int = 17, traffic_class: int = 0, hops: int = 64) -> bytes:
    first = 6 << 28 | traffic_class << 20
    return struct.pack(">IHBB", first, len(payload), protocol, hops) + V6[0] + V6[1] + payload


def frame(*layers: bytes) -> bytes:
    return (TARGET + SOURCE + b"".join(layers)).ljust(60, b"\0")


def known(**values: Any) -> dict[str, Any]:
    return Headers(**MACS, **values).model_dump(exclude_defaults=True)


UDP4 = {"layer3": "ipv4", "source_ip": "198.18.0.1", "destination_ip": "198.19.0.1",
        "source_port": 49184, "destination_port": 7}  # fmt: skip
UDP6 = {**UDP4, "layer3": "ipv6", "source_ip": "2001:2::1", "destination_ip": "2001:2:0:1::1"}
IP4, IP6, MPLS = b"\x08\x00", b"\x86\xdd", b"\x88\x47"


@pytest.mark.parametrize(
    ("layers", "values"),
    [
        ((IP4, ipv4(PORTS + mark(3))), {**UDP4, "dscp": 0, "ttl": 64}),
        ((IP4, ipv4(PORTS + mark(3), tos=46 << 2 | 3, ttl=17)), {**UDP4, "dscp": 46, "ttl": 17}),
        (
            (b"\x81\x00\xe0\x64", IP4, ipv4(PORTS + mark(3))),
            {**UDP4, "vlans": (100,), "dscp": 0, "ttl": 64},
        ),
        (
            (b"\x88\xa8\x00\x05\x81\x00\x0f\xfe", IP6, ipv6(PORTS + mark(3), traffic_class=40)),
            {**UDP6, "vlans": (5, 4094), "dscp": 10, "ttl": 64},
        ),
        (
            (MPLS, struct.pack(">II", 16 << 12 | 64, 17 << 12 | 0x100), ipv4(PORTS + mark(3))),
            {**UDP4, "mpls": (16, 17), "dscp": 0, "ttl": 64},
        ),
        (
            (MPLS, struct.pack(">I", 18 << 12 | 0x100), ipv6(PORTS + mark(3), hops=63)),
            {**UDP6, "mpls": (18,), "dscp": 0, "ttl": 63},
        ),
        (
            (IP4, ipv4(bytes(30) + mark(3), protocol=47)),
            {**UDP4, "dscp": 0, "ttl": 64, "source_port": None, "destination_port": None},
        ),
    ],
    ids=["plain", "class of service", "vlan", "qinq, ipv6", "mpls", "mpls, ipv6", "gre"],
)
def test_headers_are_read_as_they_stand(layers: tuple[bytes, ...], values: dict[str, Any]) -> None:
    seen = read(frame(*layers))
    assert seen is not None
    assert seen.part == 3
    assert seen.headers.model_dump(exclude_defaults=True) == known(
        **{name: value for name, value in values.items() if value is not None}
    )


def test_a_frame_without_ip_is_nobodys() -> None:
    seen = read(frame(b"\x08\x06", bytes(40)))
    assert seen is not None
    assert (seen.headers.layer3, seen.part) == (None, None)


def test_a_frame_without_the_mark_is_nobodys() -> None:
    seen = read(frame(IP4, ipv4(PORTS + mark(3, magic=0x7655))))
    assert seen is not None
    assert seen.part is None


@given(st.binary(max_size=120))
def test_no_frame_is_too_strange_to_read(content: bytes) -> None:
    read(content)
    read(TARGET + SOURCE + b"\x81\x00" + content)
    read(TARGET + SOURCE + MPLS + content)


def pcap(*frames: bytes) -> bytes:
    head = struct.pack("=IHHiIII", 0xA1B23C4D, 2, 4, 0, 0, 9216, 1)
    return head + b"".join(struct.pack("=IIII", 0, 0, len(one), len(one)) + one for one in frames)


def test_a_capture_is_read_frame_by_frame() -> None:
    frames = (frame(IP4, ipv4(PORTS + mark(0))), frame(IP4, bytes(100)))
    assert tuple(frames_in(pcap(*frames))) == frames
    assert tuple(frames_in(pcap())) == ()
    with pytest.raises(ComponentError, match="no pcap file"):
        tuple(frames_in(b"nothing"))


class Asked:
    """Stands for a tgen that writes down what a test gives it."""

    def __init__(self, captures: dict[int, bytes]) -> None:
        self.captures = captures

    def ask(self, verb: str, **values: Any) -> dict[str, Any]:
        assert verb == "capture"
        Path(values["path"]).write_bytes(self.captures[values["port"]])
        return {}


def test_what_a_port_sent_itself_did_not_arrive_there(tmp_path: Path) -> None:
    """Two directions by two workers each: parts 0 and 1 go to port 1, parts 2 and 3 to port 0."""
    ways = (TrafficDirection("phy0 to phy1", 0, 1), TrafficDirection("phy1 to phy0", 1, 0))
    there = [frame(IP4, ipv4(PORTS + mark(part), ttl=10 + part)) for part in (2, 0, 3, 1, 0, 1, 0)]
    back = [frame(IP4, ipv4(PORTS + mark(part), ttl=10 + part)) for part in (1, 0)]
    tgen: Any = Asked({1: pcap(*there), 0: pcap(*back)})
    look = Look(tgen, ways, 2, tmp_path)
    look.arm()
    counted = tuple(
        Direction(name=way.name, intended_frames=9, sent_frames=9, received_frames=9)
        for way in ways
    )
    counts = TrialCounts(directions=counted, sending_ns=1, elapsed_ns=1, settled=True)
    first, second = look.added_to(counts).directions
    assert [headers.ttl for headers in first.first_headers] == [10, 11, 10, 11]
    assert len(first.first_headers) == KEPT
    assert second.first_headers == ()
    assert list(tmp_path.iterdir()) == []


# tgen's histograms, read by the package that everybody reads such histograms with.

SHARES = (0.001, 0.01, 0.1, 0.5, 0.9, 0.99, 0.999, 0.9999)
HIGHEST_NS = 100_000_000_000


@pytest.fixture(name="hdr_dump", scope="module")
def fixture_hdr_dump(require: Require) -> Path:
    require("tgen-programs")
    return tgen_programs.build("hdr-dump")


class Encoded:
    """What the program says of a histogram of TSC cycles."""

    def __init__(self, program: Path, hertz: int, cycles: Counter[int]) -> None:
        lines = tgen_programs.answers(
            program,
            (f"{value} {count}" for value, count in cycles.items()),
            str(hertz),
            *(str(share) for share in SHARES),
        )
        self.text = lines[0]
        self.count, self.minimum_ns, self.mean_ns, self.maximum_ns = map(int, lines[1].split())
        self.quantiles_ns = dict(zip(SHARES, map(int, lines[2:]), strict=True))


def _true_quantile(cycles: Counter[int], share: float) -> int:
    rank = max(1, -int(-share * cycles.total() // 1))
    for value in sorted(cycles):
        rank -= cycles[value]
        if rank <= 0:
            return value
    raise AssertionError("a share above 1")


def _recorded(histogram: HdrHistogram) -> dict[int, int]:
    items = (item for item in histogram.get_recorded_iterator())
    return {
        item.value_iterated_to: item.count_added_in_this_iter_step
        for item in items
        if item.count_added_in_this_iter_step
    }


def _about(value: float, truth: float) -> bool:
    """Within 1 %, or within the nanosecond that a short time is rounded to."""
    return abs(value - truth) <= max(truth / 100, 1)


@pytest.mark.parametrize("hertz", [1_000_000_000, 2_599_998_765, 5_000_000_000])
@pytest.mark.parametrize("seed", range(4))
def test_counts_and_quantiles_survive(hdr_dump: Path, hertz: int, seed: int) -> None:
    drawn = random.Random(seed)
    centre = drawn.choice([6, 9, 12, 16])
    cycles = Counter(int(drawn.lognormvariate(centre, 1.5)) for _ in range(20_000))
    encoded = Encoded(hdr_dump, hertz, cycles)
    histogram = HdrHistogram.decode(encoded.text)

    assert histogram.get_total_count() == encoded.count == cycles.total()
    assert sum(_recorded(histogram).values()) == cycles.total()
    for share in SHARES:
        truth = _true_quantile(cycles, share) * 1e9 / hertz
        assert _about(histogram.get_value_at_percentile(share * 100), truth)
        assert _about(encoded.quantiles_ns[share], truth)


def test_minimum_maximum_and_mean_are_exact(hdr_dump: Path) -> None:
    encoded = Encoded(hdr_dump, 2_600_000_000, Counter({2600: 1, 26_026: 3, 2_600_000: 1}))
    assert (encoded.minimum_ns, encoded.maximum_ns) == (1000, 1_000_000)
    assert encoded.mean_ns == round((1000 + 3 * 10_010 + 1_000_000) / 5)


def test_an_empty_one_is_read_as_empty(hdr_dump: Path) -> None:
    encoded = Encoded(hdr_dump, 2_600_000_000, Counter())
    assert HdrHistogram.decode(encoded.text).get_total_count() == 0


def test_the_range_is_1_ns_to_100_s(hdr_dump: Path) -> None:
    encoded = Encoded(hdr_dump, 1_000_000_000, Counter({0: 1, 1: 1, 2: 1, 10**11: 1, 10**13: 1}))
    histogram = HdrHistogram.decode(encoded.text)
    assert histogram.lowest_trackable_value == 1
    assert histogram.highest_trackable_value == HIGHEST_NS
    assert histogram.significant_figures == 3
    assert list(_recorded(histogram).values()) == [2, 1, 2]
    assert histogram.get_min_value() == 1
    assert _about(histogram.get_max_value(), HIGHEST_NS)
    assert encoded.maximum_ns == 10**13


def test_counts_may_be_huge(hdr_dump: Path) -> None:
    counts = {1000: 1, 10_000: 127, 100_000: 2**32 + 5, 1_000_000: 2**55 + 3}
    histogram = HdrHistogram.decode(Encoded(hdr_dump, 10**9, Counter(counts)).text)
    assert list(_recorded(histogram).values()) == list(counts.values())


def test_vsperf_reads_it_as_its_own(hdr_dump: Path) -> None:
    encoded = Encoded(hdr_dump, 10**9, Counter({1000: 90, 50_000: 10}))
    assert summary(encoded.text).count == 100
    percentiles = percentiles_ns(encoded.text, [50, 99])
    assert _about(percentiles[50], 1000)
    assert _about(percentiles[99], 50_000)
