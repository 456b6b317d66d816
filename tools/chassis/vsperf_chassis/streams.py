"""The streams of a case, and their headers as a chassis is told of them. Pure."""

from __future__ import annotations

import ipaddress
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

from vsperf.config.case import CaseSpec
from vsperf.config.wiring import load_share
from vsperf.drivers.generators.streams import ETHERNET, IPV4, TAG, Field, fields_of, header_of


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
            source_mac=_mac_text(self.header[6:12]),
            destination_mac=_mac_text(self.header[:6]),
            tags=tuple((kind, number) for kind, number in tags),
            ttl=self.header[ip + 8],
            source_ip=_ipv4_text(self.header[ip + 12 : ip + 16]),
            destination_ip=_ipv4_text(self.header[ip + 16 : ip + 20]),
            source_port=source_port,
            destination_port=destination_port,
        )


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


def counted_up(one: Field, header: bytes) -> tuple[str, str]:
    """Return the first value of all that a field is a part of, and 1, both as people write.

    Its 16 bits are the last ones of an address, and all of a port.
    """
    if one.name.endswith("ip"):
        return _ipv4_text(header[one.offset - 2 : one.offset + 2]), "0.0.0.1"
    if one.name.endswith("mac"):
        return _mac_text(header[one.offset - 4 : one.offset + 2]), _mac_text(bytes(5) + b"\1")
    return str(one.first), "1"


def _mac_text(octets: bytes) -> str:
    return ":".join(f"{octet:02x}" for octet in octets)


def _ipv4_text(octets: bytes) -> str:
    return str(ipaddress.IPv4Address(octets))
