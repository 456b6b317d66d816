"""Frames of a case, for generators that are told of a header and of fields to count up. Pure."""

from __future__ import annotations

import ipaddress
import struct
from dataclasses import dataclass

from vsperf.config.case import CaseSpec
from vsperf.config.flows import (
    DESTINATION_PORT,
    SOURCE_PORT,
    TTL,
    counts,
    group_mac,
    link_ip,
    link_mac,
)
from vsperf.config.traffic import TrafficProfile
from vsperf.errors import UsageError

FCS = 4
"""Bytes behind the data of a frame."""
ETHERNET = 14
"""Bytes of its header, without tags."""
TAG = 4
"""Bytes of a VLAN tag."""
IPV4 = 20
"""Bytes of its header."""
IPV6, UDP = 40, 8
UDP_NUMBER = 17
"""Of the protocol, in headers of IP."""
MOST_VALUES = 65_535
"""Of a field of 16 bits, which is what every such generator can vary."""


@dataclass(frozen=True, slots=True)
class Field:
    """Sixteen bits of the header in which flows differ: counted up, from frame to frame."""

    name: str
    """Such as `source ip`."""
    offset: int
    """From the beginning of the frame [B]."""
    first: int
    count: int
    """How many values follow each other, one higher each time; then it begins anew."""
    every: int
    """Frames in a row with the same value."""


def header_of(case: CaseSpec, way: tuple[str, str], size: int) -> bytes:
    """Return the headers of the first flow of a direction, in a frame of `size` bytes with FCS.

    What follows them is taken to be zeros.
    """
    traffic, links = case.traffic, case.topology.links
    source, target = (links.index(link) for link in way)
    macs = (group_mac(traffic.destination, target), link_mac(source))
    ethernet = b"".join(bytes.fromhex(mac.replace(":", "")) for mac in macs)
    outer = len(traffic.vlans)
    for number, vlan in enumerate(traffic.vlans):
        ethernet += struct.pack("!HH", 0x88A8 if outer == 2 and number == 0 else 0x8100, vlan)
    length = size - FCS - len(ethernet) - 2
    layer3 = traffic.layer3
    ends = [ipaddress.ip_address(link_ip(number, layer3)).packed for number in (source, target)]
    if layer3 == "ipv6":
        udp = _udp(length - IPV6)
        sum_of = b"".join(ends) + struct.pack("!LL", length - IPV6, UDP_NUMBER) + udp
        ip = struct.pack("!LHBB", 6 << 28, length - IPV6, UDP_NUMBER, TTL) + b"".join(ends)
        return ethernet + b"\x86\xdd" + ip + _udp(length - IPV6, _checksum(sum_of) or 0xFFFF)
    ip = struct.pack("!BBHHHBBH4s4s", 0x45, 0, length, 0, 0, TTL, UDP_NUMBER, 0, *ends)
    ip = ip[:10] + struct.pack("!H", _checksum(ip)) + ip[12:]
    return ethernet + b"\x08\x00" + ip + _udp(length - IPV4)


def _udp(length: int, checksum: int = 0) -> bytes:
    """Return a header; with IPv4 it may go without a checksum, with IPv6 it may not."""
    return struct.pack("!HHHH", SOURCE_PORT, DESTINATION_PORT, length, checksum)


def _checksum(header: bytes) -> int:
    total: int = sum(struct.unpack(f"!{len(header) // 2}H", header))
    while total > 0xFFFF:
        total = (total & 0xFFFF) + (total >> 16)
    return 0xFFFF - total


def fields_of(traffic: TrafficProfile, header: bytes) -> tuple[Field, ...]:
    """Return what flows differ by: the first field with each frame, the second one after a round.

    Each begins with what stands in the header.
    """
    found = counts(traffic)
    if found is None or max(found) > MOST_VALUES:
        raise UsageError(
            f"such a generator cannot send {traffic.flows} flows that differ by {traffic.vary}",
            why=f"it counts up fields of 16 bits, with up to {MOST_VALUES} values each",
            fix="--set traffic.flows=4096, or --set traffic.vary=ip",
        )
    ip = ETHERNET + TAG * len(traffic.vlans)
    first_ends, udp = (22, ip + IPV6) if traffic.layer3 == "ipv6" else (14, ip + IPV4)
    second_ends = first_ends + (16 if traffic.layer3 == "ipv6" else 4)
    offsets = {
        "ip": (("source ip", ip + first_ends), ("destination ip", ip + second_ends)),
        "port": (("source port", udp), ("destination port", udp + 2)),
        "mac": (("source mac", 10), ("destination mac", 4)),
    }[traffic.vary]
    first, _ = found
    fields = []
    for (name, offset), count, every in zip(offsets, found, (1, first), strict=True):
        (begin,) = struct.unpack_from("!H", header, offset)
        if count > 1 and begin + count - 1 > MOST_VALUES:
            raise UsageError(
                f"such a generator cannot count up the {name} {count} times from {begin}",
                why=f"it is a field of 16 bits, and ends with {MOST_VALUES}",
                fix="--set traffic.flows=4096",
            )
        fields.append(Field(name, offset, begin, count, every))
    return tuple(field for field in fields if field.count > 1)
