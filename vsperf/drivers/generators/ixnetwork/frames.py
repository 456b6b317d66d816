"""What IxNetwork is told of the frames of a stream: its headers, and the fields of each. Pure."""

from __future__ import annotations

from dataclasses import dataclass, field

from vsperf.drivers.generators.streams import Field, Stream

ETHERNET, VLAN, IPV4, UDP = "ethernet", "vlan", "ipv4", "udp"
VLAN_TYPE = 0x8100
"""Of a tag, where nobody says more."""
FIELDS = {
    "source ip": (IPV4, "ipv4.header.srcIp"),
    "destination ip": (IPV4, "ipv4.header.dstIp"),
    "source port": (UDP, "udp.header.srcPort"),
    "destination port": (UDP, "udp.header.dstPort"),
    "source mac": (ETHERNET, "ethernet.header.sourceAddress"),
    "destination mac": (ETHERNET, "ethernet.header.destinationAddress"),
}
"""By what flows differ by: the header, and what IxNetwork calls the field."""


@dataclass(frozen=True, slots=True)
class Layer:
    """One header."""

    kind: str
    """What IxNetwork calls its template."""
    fields: dict[str, dict[str, object]] = field(default_factory=dict)
    """By what IxNetwork calls a field, what it is set to."""


def layers_of(stream: Stream) -> tuple[Layer, ...]:
    """Return the headers from the outside in."""
    named = stream.named
    types = [kind for kind, _ in named.tags]
    ethernet = Layer(
        ETHERNET,
        {
            "ethernet.header.destinationAddress": _single(named.destination_mac),
            "ethernet.header.sourceAddress": _single(named.source_mac),
        },
    )
    if types and types[0] != VLAN_TYPE:
        ethernet.fields["ethernet.header.etherType"] = _single(f"{types[0]:x}")
    tags = [Layer(VLAN, {"vlan.header.vlanTag.vlanID": _single(one)}) for _, one in named.tags]
    ip = Layer(
        IPV4,
        {
            "ipv4.header.ttl": _single(named.ttl),
            "ipv4.header.srcIp": _single(named.source_ip),
            "ipv4.header.dstIp": _single(named.destination_ip),
        },
    )
    udp = Layer(
        UDP,
        {
            "udp.header.srcPort": _single(named.source_port),
            "udp.header.dstPort": _single(named.destination_port),
        },
    )
    found = (ethernet, *tags, ip, udp)
    for one in stream.fields:
        kind, name = FIELDS[one.name]
        (layer,) = (layer for layer in found if layer.kind == kind)
        layer.fields[name] = _counted(one, stream.header)
    return found


def _single(value: object) -> dict[str, object]:
    return {"auto": False, "valueType": "singleValue", "singleValue": str(value)}


def _counted(one: Field, header: bytes) -> dict[str, object]:
    first, step = one.whole(header)
    return {
        "auto": False,
        "valueType": "increment",
        "startValue": first,
        "stepValue": step,
        "countValue": str(one.count),
    }
