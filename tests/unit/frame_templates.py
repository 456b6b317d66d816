"""Frames as scapy makes them, from templates that tgen is told in its own words."""

from __future__ import annotations

import itertools
import struct
from dataclasses import dataclass, replace
from ipaddress import IPv4Address, IPv6Address, ip_address
from typing import Any

from scapy.contrib.geneve import GENEVE
from scapy.contrib.gtp import GTP_U_Header
from scapy.contrib.mpls import MPLS
from scapy.layers.inet import IP, TCP, UDP
from scapy.layers.inet6 import IPv6
from scapy.layers.l2 import GRE, Dot1AD, Dot1Q, Ether
from scapy.layers.vxlan import VXLAN
from scapy.packet import Packet, Raw

PAYLOAD_BYTES = 18
FIELDS = (
    "source_mac",
    "destination_mac",
    "source_ip",
    "destination_ip",
    "source_port",
    "destination_port",
    "vlan",
    "vni",
    "key",
    "teid",
)
"""In the order of enum field."""


@dataclass(frozen=True)
class Outer:
    """struct outer."""

    kind: int
    """As of enum encapsulation."""
    carries_ip: bool = False
    vlan: tuple[int, ...] = ()
    ipv6: bool = False
    has_id: bool = True

    @property
    def header_bytes(self) -> int:
        tunnel = (8 if self.has_id else 4) if self.kind == GRE_KIND else 16
        return 14 + 4 * len(self.vlan) + (40 if self.ipv6 else 20) + tunnel

    @property
    def addresses(self) -> tuple[str, str]:
        if self.ipv6:
            return "2001:2::101", "2001:2:0:1::101"
        return "198.18.1.1", "198.19.1.1"

    @property
    def id_field(self) -> str:
        """What tells its tunnels apart."""
        if not self.has_id:
            return ""
        return {GRE_KIND: "key", GTPU_KIND: "teid"}.get(self.kind, "vni")


VXLAN_KIND, GENEVE_KIND, GRE_KIND, GTPU_KIND = range(1, 5)
OUTERS = (
    None,
    Outer(VXLAN_KIND, ipv6=True, vlan=(0x2065, 0x3066)),
    Outer(VXLAN_KIND),
    Outer(VXLAN_KIND, vlan=(0x2065,)),
    Outer(GENEVE_KIND),
    Outer(GENEVE_KIND, ipv6=True),
    Outer(GRE_KIND),
    Outer(GRE_KIND, ipv6=True, has_id=False),
)
OUTERS_OF_IP = (
    Outer(GTPU_KIND, carries_ip=True),
    Outer(GTPU_KIND, carries_ip=True, ipv6=True, vlan=(0x65,)),
    Outer(GRE_KIND, carries_ip=True),
    Outer(GRE_KIND, carries_ip=True, has_id=False, ipv6=True),
)


@dataclass(frozen=True)
class Template:
    """struct headers, with addresses as numbers."""

    vlan: tuple[int, ...] = ()
    mpls: tuple[int, ...] = ()
    ipv6: bool = False
    tcp: bool = False
    outer: Outer | None = None
    source_mac: int = 0x02000000AA01
    destination_mac: int = 0x02000000BB02
    source_ip: int = int(IPv4Address("198.18.0.1"))
    destination_ip: int = int(IPv4Address("198.19.255.254"))
    source_port: int = 1024
    destination_port: int = 65000
    dscp: int = 46
    ttl: int = 61
    id: int = 0x123456

    @property
    def has_ethernet(self) -> bool:
        return self.outer is None or not self.outer.carries_ip

    @property
    def header_bytes(self) -> int:
        below = 4 * len(self.vlan) + 4 * len(self.mpls) + (14 if self.has_ethernet else 0)
        below += self.outer.header_bytes if self.outer else 0
        return below + (40 if self.ipv6 else 20) + (20 if self.tcp else 8)

    @property
    def smallest(self) -> int:
        return max(64, self.header_bytes + PAYLOAD_BYTES + 4)

    @property
    def tunnel_port(self) -> int:
        """The outer source port: a hash of the inner addresses, outer tag and ports (RFC 7348)."""
        length = 16 if self.ipv6 else 4
        macs = b""
        if self.has_ethernet:
            macs = self.destination_mac.to_bytes(6, "big") + self.source_mac.to_bytes(6, "big")
        tag = self.vlan[0].to_bytes(4, "big") if self.vlan else b""
        addresses = self.source_ip.to_bytes(length, "big")
        addresses += self.destination_ip.to_bytes(length, "big")
        ports = self.source_port.to_bytes(2, "big") + self.destination_port.to_bytes(2, "big")
        value = 0
        for (word,) in struct.iter_unpack("!I", macs + tag + addresses + ports):
            value = (value ^ word) * 0x9E3779B97F4A7C15 % 2**64
        return 0xC000 | value >> 50

    def line(self, size: int) -> str:
        """Return the order for frame-dump."""
        digits = 32 if self.ipv6 else 8
        words = {
            "size": size,
            "layer3": int(self.ipv6),
            "layer4": int(self.tcp),
            "source_mac": f"{self.source_mac:012x}",
            "destination_mac": f"{self.destination_mac:012x}",
            "source_ip": f"{self.source_ip:0{digits}x}",
            "destination_ip": f"{self.destination_ip:0{digits}x}",
            "source_port": self.source_port,
            "destination_port": self.destination_port,
            "dscp": self.dscp,
            "ttl": self.ttl,
        }
        if self.vlan:
            words["vlan"] = ",".join(map(str, self.vlan))
        if self.mpls:
            words["mpls"] = ",".join(map(str, self.mpls))
        if self.outer:
            source, destination = map(ip_address, self.outer.addresses)
            words |= {
                "outer": self.outer.kind,
                "outer_layer3": int(self.outer.ipv6),
                "carries_ip": int(self.outer.carries_ip),
                "outer_source_mac": "02000000cc03",
                "outer_destination_mac": "02000000dd04",
                "outer_source_ip": source.packed.hex(),
                "outer_destination_ip": destination.packed.hex(),
            }
            if self.outer.has_id:
                words["id"] = self.id
            if self.outer.vlan:
                words["outer_vlan"] = ",".join(map(str, self.outer.vlan))
        return " ".join(f"{name}={value}" for name, value in words.items())

    def scapy(self, size: int, payload: bytes) -> bytes:
        """Return the frame as scapy builds it, lengths and checksums worked out by scapy."""
        fill = bytes(at & 0xFF for at in range(size - 4 - self.header_bytes - PAYLOAD_BYTES))
        frame = self._layer3() / self._layer4() / Raw(fill + payload)
        if self.has_ethernet:
            frame = (
                _layer2(self.source_mac, self.destination_mac, self.vlan, self._labels()) / frame
            )
        if self.outer:
            frame = self._underlay(self.outer) / self._tunnel(self.outer, frame)
        return bytes(frame)

    def _underlay(self, outer: Outer) -> Packet:
        source, destination = outer.addresses
        ip: Packet
        if outer.ipv6:
            ip = IPv6(src=source, dst=destination, tc=self.dscp << 2, hlim=self.ttl)
        else:
            ip = IP(src=source, dst=destination, tos=self.dscp << 2, ttl=self.ttl, id=0, flags="DF")
        return _layer2(0x02000000CC03, 0x02000000DD04, outer.vlan, ()) / ip

    def _tunnel(self, outer: Outer, frame: Packet) -> Packet:
        """Return the frame in its tunnel; on IPv4 without, on IPv6 with an outer UDP checksum."""
        inside = 0x6558 if not outer.carries_ip else 0x86DD if self.ipv6 else 0x0800
        if outer.kind == GRE_KIND:
            bare = GRE(proto=inside)
            return (GRE(proto=inside, key_present=1, key=self.id) if outer.has_id else bare) / frame
        udp = UDP(sport=self.tunnel_port)
        if not outer.ipv6:
            udp.chksum = 0
        if outer.kind == VXLAN_KIND:
            udp.dport = 4789
            return udp / VXLAN(flags=0x08, vni=self.id) / frame
        if outer.kind == GENEVE_KIND:
            udp.dport = 6081
            return udp / GENEVE(vni=self.id, proto=inside) / frame
        udp.dport = 2152
        return udp / GTP_U_Header(teid=self.id, gtp_type=255) / frame

    def _labels(self) -> tuple[Packet, ...]:
        last = len(self.mpls) - 1
        return tuple(
            MPLS(label=label, cos=0, s=int(number == last), ttl=self.ttl)
            for number, label in enumerate(self.mpls)
        )

    def _layer3(self) -> Packet:
        if self.ipv6:
            source, destination = IPv6Address(self.source_ip), IPv6Address(self.destination_ip)
            return IPv6(src=str(source), dst=str(destination), tc=self.dscp << 2, hlim=self.ttl)
        return IP(
            src=str(IPv4Address(self.source_ip)),
            dst=str(IPv4Address(self.destination_ip)),
            tos=self.dscp << 2,
            ttl=self.ttl,
            id=0,
            flags="DF",
        )

    def _layer4(self) -> Packet:
        source, destination = self.source_port, self.destination_port
        if self.tcp:
            return TCP(sport=source, dport=destination, seq=1, ack=1, flags="A", window=65535)
        return UDP(sport=source, dport=destination)

    def has(self, field: str) -> bool:
        """Whether flows can differ by this field."""
        if field in {"vni", "key", "teid"}:
            return self.outer is not None and self.outer.id_field == field
        if field == "vlan":
            return bool(self.vlan)
        return self.has_ethernet or not field.endswith("_mac")

    def moved(self, field: str, by: int) -> Template:
        """Return the template of a flow whose field has the value `by` higher."""
        if field == "vlan":
            return replace(self, vlan=(self.vlan[0] + by, *self.vlan[1:]))
        if field in {"vni", "key", "teid"}:
            field = "id"
        changes: dict[str, Any] = {field: getattr(self, field) + by}
        return replace(self, **changes)


def _layer2(
    source: int, destination: int, vlan: tuple[int, ...], labels: tuple[Packet, ...]
) -> Packet:
    frame: Packet = Ether(src=_mac(source), dst=_mac(destination))
    for number, tag in enumerate(vlan):
        kind = Dot1AD if len(vlan) == 2 and number == 0 else Dot1Q
        frame /= kind(prio=tag >> 13, dei=tag >> 12 & 1, vlan=tag & 0xFFF)
    for label in labels:
        frame /= label
    return frame


def _mac(number: int) -> str:
    return ":".join(f"{byte:02x}" for byte in number.to_bytes(6, "big"))


def payload(trial: int, stream: int, sequence: int, departure: int) -> bytes:
    """Return the test payload as its layout says it."""
    head = b"\x54\x76" + bytes([trial, stream])
    body = head + sequence.to_bytes(6, "little") + departure.to_bytes(6, "little")
    total = sum(int.from_bytes(body[at : at + 2], "little") for at in range(0, 16, 2))
    while total > 0xFFFF:
        total = (total & 0xFFFF) + (total >> 16)
    return body + (0xFFFF - total).to_bytes(2, "little")


def _templates() -> list[Template]:
    ipv6 = {
        "source_ip": int(IPv6Address("2001:2::1")),
        "destination_ip": int(IPv6Address("2001:2:0:8000::ffff:fffe")),
    }
    insides = list(itertools.product([(False, None), (True, ipv6)], [False, True]))
    tags = list(
        itertools.product([(), (0xE064,), (0x3FFF, 0x0001)], [(), (0xFFFFF,), (16, 17, 18)])
    )
    below = [
        *((vlan, mpls, outer) for (vlan, mpls), outer in itertools.product(tags, OUTERS[:2])),
        *((vlan, mpls, outer) for (vlan, mpls), outer in itertools.product(tags[::5], OUTERS[2:])),
        *(((), (), outer) for outer in OUTERS_OF_IP),
    ]
    return [
        Template(vlan=vlan, mpls=mpls, tcp=tcp, outer=outer, **(addresses or {}), ipv6=is_ipv6)
        for (vlan, mpls, outer), ((is_ipv6, addresses), tcp) in itertools.product(below, insides)
    ]


TEMPLATES = _templates()
