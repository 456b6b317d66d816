"""The headers of a flow's frames, as its `packet` says them, and the values of their fields."""

from __future__ import annotations

import ipaddress
import math
from collections.abc import Callable
from dataclasses import dataclass, field

from vsperf.otg.document import Node, shown

MOST_VLANS = 2
TPID, SERVICE_TPID = 0x8100, 0x88A8
UNSET_TPID = 65535
"""What the model calls reserved: whatever fits."""
TAG_TYPES = (TPID, SERVICE_TPID, 0x9100, 0x9200, 0x9300)
"""What may stand in front of a tag."""
TYPES = {"ipv4": 0x0800, "ipv6": 0x86DD}
PROTOCOLS = {"tcp": 6, "udp": 17}
TCP_FLAGS = (
    "ctl_fin",
    "ctl_syn",
    "ctl_rst",
    "ctl_psh",
    "ctl_ack",
    "ctl_urg",
    "ecn_echo",
    "ecn_cwr",
)
TCP_NUMBERS = {"seq_num": 32, "ack_num": 32, "window": 16}
"""Fields beside ports and flags, with their bits."""
FILE_ONLY = ("identification", "flow_label")
"""Fields that tgen's own headers have no key for."""
SUPPORTED = "ethernet, up to two of vlan, ipv4 or ipv6, udp or tcp"
MOST_VALUES = 1 << 24
MOST_LISTED = 1 << 16
CHOICES = ("value", "values", "increment", "decrement")


@dataclass(frozen=True, slots=True)
class Values:
    """One after the other, and from the first one again."""

    listed: tuple[int, ...] = ()
    """All of them, where they are not evenly spaced."""
    first: int = 0
    step: int = 1
    count: int = 1

    @classmethod
    def of(cls, listed: tuple[int, ...]) -> Values:
        """Return them as evenly spaced ones if they are, whichever way."""
        if not listed:
            return cls()
        step = listed[1] - listed[0] if len(listed) > 1 else 1
        even = all(one == listed[0] + n * step for n, one in enumerate(listed))
        if even and (step or len(listed) == 1):
            return cls((), listed[0], step, len(listed))
        return cls(listed, listed[0], 1, len(listed))

    @property
    def rising(self) -> bool:
        """Whether each is greater than the one before by the same number."""
        return not self.listed and (self.count == 1 or self.step > 0)

    def at(self, number: int) -> int:
        """Return the value of a frame, counted from 0."""
        turn = number % self.count
        return self.listed[turn] if self.listed else self.first + turn * self.step


@dataclass(frozen=True, slots=True)
class Notation:
    """How values of a field are written, and how many bits they have."""

    bits: int
    read: Callable[[object], int]

    @property
    def most(self) -> int:
        return (1 << self.bits) - 1


def _mac(text: object) -> int:
    parts = str(text).split(":")
    if len(parts) != 6 or not all(0 < len(part) <= 2 for part in parts):
        raise ValueError
    return int.from_bytes(bytes(int(part, 16) for part in parts))


def _whole(value: object) -> int:
    if type(value) is not int:
        raise ValueError
    return value


def _ipv6_number(text: object) -> int:
    address = ipaddress.IPv6Address(str(text))
    if address.scope_id is not None:
        raise ValueError
    return int(address)


MAC = Notation(48, _mac)
IPV4 = Notation(32, lambda text: int(ipaddress.IPv4Address(str(text))))
IPV6 = Notation(128, _ipv6_number)


def integer(bits: int) -> Notation:
    """Return the notation of a number of so many bits."""
    return Notation(bits, _whole)


def read(header: Node, key: str, notation: Notation, default: int) -> Values:
    """Return the values of a field; those of a field that nobody set are its default."""
    if not header.has(key):
        return Values(first=default)
    field = header.node(key)
    match field.choice(CHOICES, "value"):
        case "values":
            listed = field.get("values") or []
            if not isinstance(listed, list):
                field.refuse("must be a list", "values")
                listed = []
            if len(listed) > MOST_LISTED:
                field.refuse(f"{len(listed)} are too many, there can be {MOST_LISTED}", "values")
                listed = []
            return Values.of(
                tuple(_one(field, f"values[{n}]", one, notation) for n, one in enumerate(listed))
            )
        case ("increment" | "decrement") as way:
            return _counted(field, way, notation)
    return Values(first=_one(field, "value", field.get("value"), notation, default))


def fixed(header: Node, key: str, notation: Notation, default: int, least: int = 0) -> int:
    """Return the value of a field that is the same in all frames."""
    values = read(header, key, notation, default)
    if values.count > 1:
        header.refuse("must be the same in all frames", key)
    if values.first < least:
        header.refuse(f"must be {least} at least", key)
    return values.first


def computed(header: Node, key: str, *right: int) -> int | None:
    """Accept a field that is filled in: `auto`, or a value that it can get; return that value."""
    if not header.has(key):
        return None
    field = header.node(key)
    if field.choice(("auto", "value"), "auto") == "auto":
        field.get("auto")
        return None
    said = field.get("value")
    if type(said) is int and said in right:
        return said
    header.refuse(f"is filled in; {said!r} cannot be had", key)
    return None


def checksum(header: Node, key: str) -> None:
    """Accept a checksum that is right."""
    if header.has(key):
        field = header.node(key)
        field.only("choice", "generated", why="all checksums are right")
        field.only("generated", "good", why="all checksums are right")


def _counted(field: Node, way: str, notation: Notation) -> Values:
    counter = field.node(way)
    first = _one(counter, "start", counter.get("start"), notation, 0)
    step = _one(counter, "step", counter.get("step"), notation, 1)
    count = counter.whole("count", 1, 1, MOST_VALUES)
    step = -step if way == "decrement" else step
    last = first + (count - 1) * step
    if not 0 <= last <= notation.most:
        counter.refuse("the values would begin again at the other end of the range")
        return Values(first=first)
    return Values(first=first, step=step, count=count)


def _one(
    field: Node, key: str, said: object, notation: Notation, default: int | None = None
) -> int:
    if said is None and default is not None:
        return default
    try:
        found = notation.read(said)
    except ValueError:
        found = -1
    if not 0 <= found <= notation.most:
        field.refuse(f"{said!r} is no value of this field", key)
        return 0
    return found


@dataclass(frozen=True, slots=True)
class Tag:
    """A VLAN tag."""

    id: int
    priority: int
    drop_eligible: int
    tpid: int | None
    """None where nobody said it."""


@dataclass
class Headers:
    """All that is said of the headers."""

    fields: dict[str, Values] = field(default_factory=dict)
    """Those that may change from frame to frame, by the names that tgen has for them."""
    vlans: tuple[Tag, ...] = ()
    layer3: str = "ipv4"
    layer4: str = "udp"
    dscp: int = 0
    ecn: int = 0
    ttl: int = 64
    more: dict[str, int] = field(default_factory=dict)
    """Fields that are the same in all frames, such as the flags of TCP: 0 where nothing is said."""
    custom: bytes = b""
    """The first bytes of the payload."""

    @property
    def varied(self) -> dict[str, Values]:
        return {name: values for name, values in self.fields.items() if values.count > 1}

    @property
    def flows(self) -> int:
        """After how many frames everything comes again: all fields change with each frame."""
        return math.lcm(*(values.count for values in self.varied.values()))

    @property
    def needs_file(self) -> bool:
        """Whether tgen's own headers cannot say it: frames are written one by one."""
        varied = list(self.varied.values())
        odd = any(not values.rising or values.step >= 1 << 32 for values in varied)
        tags = any(
            tag.drop_eligible or tag.tpid not in (None, own)
            for tag, own in zip(self.vlans, own_tpids(len(self.vlans)), strict=True)
        )
        unknown = any(self.more.get(key) for key in FILE_ONLY)
        return bool(odd or tags or self.ecn or self.custom or unknown or len(varied) > 1)

    @property
    def tagged(self) -> bool:
        """Whether the kernel sees a tag, for which it has room beside the longest frame."""
        return bool(self.vlans) and self.tpids[0] == TPID

    @property
    def tpids(self) -> tuple[int, ...]:
        """What stands in front of each tag."""
        own = own_tpids(len(self.vlans))
        return tuple(
            fits if tag.tpid is None else tag.tpid
            for tag, fits in zip(self.vlans, own, strict=True)
        )


def own_tpids(tags: int) -> tuple[int, ...]:
    """Return the types of tgen's tags."""
    return (SERVICE_TPID, TPID) if tags == MOST_VLANS else (TPID,) * tags


def read_headers(flow: Node) -> Headers:
    """Read the packet of a flow."""
    found = Headers()
    stack = flow.nodes("packet")
    kinds = [header.text("choice", "ethernet") for header in stack]
    vlans = kinds.count("vlan")
    known = ["ethernet", *["vlan"] * vlans]
    layers = kinds[len(known) :]
    plain = kinds[: len(known)] == known and vlans <= MOST_VLANS and 2 <= len(layers) <= 3
    if not (
        plain and layers[0] in TYPES and layers[1] in PROTOCOLS and layers[2:] in ([], ["custom"])
    ):
        said = ", ".join(map(shown, kinds)) or "nothing"
        flow.refuse(f"{said} is not supported, only {SUPPORTED}, custom", "packet")
        for header, kind in zip(stack, kinds, strict=True):
            header.get(kind)
        return found
    found.layer3, found.layer4 = layers[0], layers[1]
    parts = [header.node(kind) for header, kind in zip(stack, kinds, strict=True)]
    tag_type = _ethernet(parts[0], found, tagged=vlans > 0)
    tags = parts[1 : 1 + vlans]
    found.vlans = tuple(
        _tag(tag, found, tag_type if n == 0 else None, first=n == 0) for n, tag in enumerate(tags)
    )
    (_ipv4 if found.layer3 == "ipv4" else _ipv6)(parts[len(known)], found)
    _ports(parts[len(known) + 1], found)
    if layers[2:]:
        found.custom = _custom(parts[-1])
    return found


def _ethernet(header: Node, found: Headers, *, tagged: bool) -> int | None:
    """Read the addresses; return what is said to stand in front of the first tag."""
    found.fields["destination_mac"] = read(header, "dst", MAC, 0)
    found.fields["source_mac"] = read(header, "src", MAC, 0)
    return computed(header, "ether_type", *(TAG_TYPES if tagged else (TYPES[found.layer3],)))


def _tag(header: Node, found: Headers, said: int | None, *, first: bool) -> Tag:
    """Read a tag; `said` is what the header before it says of its type."""
    ids = read(header, "id", integer(12), 0)
    if first:
        found.fields["vlan"] = ids
    elif ids.count > 1:
        header.refuse("only that of the first tag may change", "id")
    tpid = fixed(header, "tpid", integer(16), UNSET_TPID)
    if tpid not in (*TAG_TYPES, UNSET_TPID):
        header.refuse(
            f"{tpid:#06x} is not supported, only {', '.join(map(hex, TAG_TYPES))}", "tpid"
        )
    if said is not None and tpid not in (said, UNSET_TPID):
        header.refuse(f"is {tpid:#06x}, and ether_type in front of it {said:#06x}", "tpid")
    return Tag(
        ids.first,
        fixed(header, "priority", integer(3), 0),
        fixed(header, "cfi", integer(1), 0),
        said if tpid == UNSET_TPID else tpid,
    )


def _ipv4(header: Node, found: Headers) -> None:
    found.fields["source_ip"] = read(header, "src", IPV4, 0)
    found.fields["destination_ip"] = read(header, "dst", IPV4, 0)
    found.ttl = fixed(header, "time_to_live", integer(8), 64, 1)
    computed(header, "version", 4)
    computed(header, "header_length", 5)
    computed(header, "total_length")
    computed(header, "protocol", PROTOCOLS[found.layer4])
    checksum(header, "header_checksum")
    for key, bits in (("identification", 16), ("dont_fragment", 1)):
        found.more[key] = fixed(header, key, integer(bits), 0)
    for key, bits in (("more_fragments", 1), ("fragment_offset", 13), ("reserved", 1)):
        if fixed(header, key, integer(bits), 0):
            header.refuse("frames are no fragments, so only 0", key)
    if header.has("priority"):
        _priority(header.node("priority"), found)


def _priority(priority: Node, found: Headers) -> None:
    if priority.choice(("dscp", "raw"), "dscp") == "raw":
        _traffic_class(fixed(priority, "raw", integer(8), 0), found)
        return
    dscp = priority.node("dscp")
    found.dscp = fixed(dscp, "phb", integer(6), 0)
    found.ecn = fixed(dscp, "ecn", integer(2), 0)


def _traffic_class(number: int, found: Headers) -> None:
    found.dscp, found.ecn = number >> 2, number & 3


def _ipv6(header: Node, found: Headers) -> None:
    found.fields["source_ip"] = read(header, "src", IPV6, 0)
    found.fields["destination_ip"] = read(header, "dst", IPV6, 0)
    found.ttl = fixed(header, "hop_limit", integer(8), 64, 1)
    _traffic_class(fixed(header, "traffic_class", integer(8), 0), found)
    found.more["flow_label"] = fixed(header, "flow_label", integer(20), 0)
    computed(header, "version", 6)
    computed(header, "payload_length")
    computed(header, "next_header", PROTOCOLS[found.layer4])


def _ports(header: Node, found: Headers) -> None:
    found.fields["source_port"] = read(header, "src_port", integer(16), 0)
    found.fields["destination_port"] = read(header, "dst_port", integer(16), 0)
    checksum(header, "checksum")
    if found.layer4 == "udp":
        computed(header, "length")
        return
    computed(header, "data_offset", 5)
    for key, bits in TCP_NUMBERS.items():
        found.more[key] = fixed(header, key, integer(bits), 0)
    said = [fixed(header, key, integer(1), 0) for key in TCP_FLAGS]
    found.more["flags"] = sum(bit << place for place, bit in enumerate(said))


def _custom(header: Node) -> bytes:
    text = header.text("bytes")
    try:
        return bytes.fromhex(text if len(text) % 2 == 0 else f"0{text}")
    except ValueError:
        header.refuse(f"{text!r} is no hexadecimal number", "bytes")
        return b""
