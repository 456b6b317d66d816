"""tgen's frames against scapy's, byte by byte: headers, lengths, checksums, flows, payloads."""

from __future__ import annotations

import itertools
import random
from dataclasses import replace
from pathlib import Path

import pytest
import tgen_programs
from conftest import Require
from frame_templates import FIELDS, PAYLOAD_BYTES, TEMPLATES, Template, payload

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
