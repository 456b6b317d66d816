"""Frames of a flow one by one, for what tgen's own headers cannot say: a file that it replays."""

from __future__ import annotations

import struct
from pathlib import Path

from vsperf.otg.headers import PROTOCOLS, TYPES, Headers

FCS = 4
MARK = 18
"""Bytes at the end of the payload that become tgen's."""
OLD_MARK = struct.pack("<H14xH", 0x7654, 0xFFFF - 0x7654)
"""One that adds up: tgen puts its own into the place of it, whatever the headers say."""
MOST_FRAMES = 1 << 16
MOST_BYTES = 64 << 20
"""Of one file; tgen takes 256 MiB of all of them."""
PCAP_HEAD = struct.pack("<IHHiIII", 0xA1B23C4D, 2, 4, 0, 0, 262144, 1)
RECORD = struct.Struct("<IIII")
FILL = bytes(range(256)) * 37
"""What stands between headers and mark, as long as the longest frame and a little more."""


def headers_bytes(headers: Headers) -> int:
    """Return how long all headers are together."""
    layer3 = 20 if headers.layer3 == "ipv4" else 40
    layer4 = 8 if headers.layer4 == "udp" else 20
    return 14 + 4 * len(headers.vlans) + layer3 + layer4


def smallest_bytes(headers: Headers) -> int:
    """Return the smallest frame with FCS that has room for headers, payload and mark."""
    return max(64, headers_bytes(headers) + len(headers.custom) + MARK + FCS)


def write(path: Path, headers: Headers, size: int, count: int) -> None:
    """Write so many frames of a size with FCS into a pcap file."""
    with path.open("wb") as file:
        file.write(PCAP_HEAD)
        for number in range(count):
            content = frame(headers, size, number)
            file.write(RECORD.pack(0, number * 1000, len(content), len(content)) + content)


def frame(headers: Headers, size: int, number: int) -> bytes:
    """Return a frame without its FCS."""
    value = {name: values.at(number) for name, values in headers.fields.items()}
    link = value["destination_mac"].to_bytes(6) + value["source_mac"].to_bytes(6)
    for place, (tag, tpid) in enumerate(zip(headers.vlans, headers.tpids, strict=True)):
        number_of = value["vlan"] if place == 0 else tag.id
        control = tag.priority << 13 | tag.drop_eligible << 12 | number_of
        link += struct.pack(">HH", tpid, control)
    link += struct.pack(">H", TYPES[headers.layer3])
    length = size - FCS - headers_bytes(headers)
    fill = FILL[: length - len(headers.custom) - MARK]
    return link + _network(headers, value, headers.custom + fill + OLD_MARK)


def _network(headers: Headers, value: dict[str, int], payload: bytes) -> bytes:
    """Return an IP datagram."""
    more, protocol = headers.more, PROTOCOLS[headers.layer4]
    traffic_class = headers.dscp << 2 | headers.ecn
    octets = 4 if headers.layer3 == "ipv4" else 16
    source, target = (value[f"{end}_ip"].to_bytes(octets) for end in ("source", "destination"))
    length = len(payload) + (8 if headers.layer4 == "udp" else 20)
    pseudo = source + target + struct.pack(">IHBB", length, 0, 0, protocol)
    behind = _transport(headers, value, payload, pseudo)
    if headers.layer3 == "ipv6":
        first = 6 << 28 | traffic_class << 20 | more["flow_label"]
        head = struct.pack(">IHBB", first, length, protocol, headers.ttl)
        return head + source + target + behind
    head = struct.pack(
        ">BBHHHBBH",
        0x45,
        traffic_class,
        20 + length,
        more["identification"],
        more["dont_fragment"] << 14,
        headers.ttl,
        protocol,
        0,
    )
    summed = checksum(head + source + target)
    return head[:10] + struct.pack(">H", summed) + source + target + behind


def _transport(headers: Headers, value: dict[str, int], payload: bytes, pseudo: bytes) -> bytes:
    """Return a datagram of UDP, or a segment of TCP, with its checksum."""
    ports = struct.pack(">HH", value["source_port"], value["destination_port"])
    if headers.layer4 == "udp":
        head = ports + struct.pack(">H", 8 + len(payload))
        summed = checksum(pseudo + head + b"\0\0" + payload) or 0xFFFF
        return head + struct.pack(">H", summed) + payload
    more = headers.more
    numbers = (more["seq_num"], more["ack_num"])
    head = ports + struct.pack(">IIBBH", *numbers, 5 << 4, more["flags"], more["window"])
    summed = checksum(pseudo + head + b"\0\0\0\0" + payload)
    return head + struct.pack(">HH", summed, 0) + payload


def checksum(content: bytes) -> int:
    """Return the checksum of the Internet."""
    if len(content) % 2:
        content += b"\0"
    # 65536 is 1 modulo 65535, so the whole is as much as the sum of its words; that is quick.
    number = int.from_bytes(content)
    return 0xFFFF - (number % 0xFFFF or 0xFFFF * (number > 0))
