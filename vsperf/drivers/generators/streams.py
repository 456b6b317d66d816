"""The streams of a case, for generators that build frames of a header and count up fields. Pure."""

from __future__ import annotations

import ipaddress
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

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
from vsperf.config.wiring import load_share
from vsperf.errors import UsageError

FCS = 4
ETHERNET, IPV4, IPV6, UDP = 14, 20, 40, 8
UDP_NUMBER = 17
"""Of the protocol, in headers of IP."""
TAG = 4
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

    def whole(self, header: bytes) -> tuple[str, str]:
        """Return the first value of all that the field is a part of, and 1, both as people write.

        The 16 bits are the last ones of an address, and all of a port.
        """
        if self.name.endswith("ip"):
            return ipv4_text(header[self.offset - 2 : self.offset + 2]), "0.0.0.1"
        if self.name.endswith("mac"):
            return mac_text(header[self.offset - 4 : self.offset + 2]), mac_text(bytes(5) + b"\1")
        return str(self.first), "1"


@dataclass(frozen=True, slots=True)
class Named:
    """A header taken apart, for a chassis that is told of fields and not of bytes."""

    source_mac: str
    destination_mac: str
    tags: tuple[tuple[int, int], ...]
    """Type and number of each VLAN tag, the outer one first."""
    ttl: int
    source_ip: str
    destination_ip: str
    source_port: int
    destination_port: int


@dataclass(frozen=True, slots=True)
class Stream:
    """Frames of one direction."""

    name: str
    """Such as `phy0 to phy1`."""
    sender: str
    """The port that sends, as the generator calls it."""
    receiver: str
    header: bytes
    """Ethernet, tags, IPv4 and UDP, with lengths and the checksum of IPv4."""
    tags: int
    size: int
    """With FCS."""
    fields: tuple[Field, ...]
    share: Fraction
    """Of the load."""

    @property
    def named(self) -> Named:
        """The header by its fields."""
        ip = ETHERNET + TAG * self.tags
        tags = [struct.unpack_from("!HH", self.header, 12 + TAG * one) for one in range(self.tags)]
        source_port, destination_port = struct.unpack_from("!HH", self.header, ip + IPV4)
        return Named(
            source_mac=mac_text(self.header[6:12]),
            destination_mac=mac_text(self.header[:6]),
            tags=tuple((kind, number) for kind, number in tags),
            ttl=self.header[ip + 8],
            source_ip=ipv4_text(self.header[ip + 12 : ip + 16]),
            destination_ip=ipv4_text(self.header[ip + 16 : ip + 20]),
            source_port=source_port,
            destination_port=destination_port,
        )


def mac_text(octets: bytes) -> str:
    """Return a MAC address as people write it."""
    return ":".join(f"{octet:02x}" for octet in octets)


def ipv4_text(octets: bytes) -> str:
    """Return an address as people write it."""
    return str(ipaddress.IPv4Address(octets))


def streams_of(
    case: CaseSpec, directions: tuple[tuple[str, str], ...], places: Mapping[str, str]
) -> tuple[Stream, ...]:
    """Return the streams of a case between ports; `places` says by link which port is there."""
    return tuple(_stream(case, way, places) for way in directions)


def _stream(case: CaseSpec, way: tuple[str, str], places: Mapping[str, str]) -> Stream:
    enters, leaves = way
    header = header_of(case, way, case.traffic.frame_size.bytes)
    return Stream(
        name=f"{enters} to {leaves}",
        sender=places[enters],
        receiver=places[leaves],
        header=header,
        tags=len(case.traffic.vlans),
        size=case.traffic.frame_size.bytes,
        fields=fields_of(case.traffic, header),
        share=load_share(case.topology, case.traffic, way),
    )


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
