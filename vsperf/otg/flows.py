"""The flows of a configuration: who sends what to whom, how fast, and for how long.

Where tgen's own headers cannot say it, the frames are made one by one for a file that it replays.
"""

from __future__ import annotations

import ipaddress
import math
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

from vsperf.otg.document import Node
from vsperf.otg.headers import PROTOCOLS, TYPES, Headers, Values, read_headers

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


OVERHEAD = 20
"""Preamble and gap: what a frame takes on the wire beside its bytes."""
LONGEST_S = 29 * 24 * 3600
"""tgen's trials end after 30 days, and so does what goes on and on."""
LARGEST_FRAME = 9216
MOST_FPS = 10**10
MOST_SENT = (1 << 48) - 2
"""What tgen takes of rates, and of frames of a flow."""
ALL_FRAMES = 2 * MOST_FRAMES
ALL_BYTES = 2 * MOST_BYTES
"""Of the files of all flows."""
BITS = {"bps": 1, "kbps": 10**3, "mbps": 10**6, "gbps": 10**9}
TCP_KEYS = {
    "seq_num": "sequence",
    "ack_num": "acknowledgement",
    "flags": "flags",
    "window": "window",
}
"""What tgen calls the fields of TCP."""
MOST_64 = (1 << 64) - 1
LATENCY_NOTE = (
    "latency is from the moment a frame was handed to the port to the one it was found at the other"
)


@dataclass(frozen=True, slots=True)
class Line:
    """What is known of a port for a flow that sends on it."""

    number: int
    """tgen's."""
    bps: int | None
    """The speed of its line; None where nobody knows."""
    longest: int = LARGEST_FRAME
    """Bytes of the longest frame that it takes, with FCS."""
    tag_room: int = 0
    """What it has room for beside that where a frame has a tag."""


@dataclass(frozen=True, slots=True)
class Flow:
    """A flow that can be sent."""

    name: str
    transmit: str
    """Name of the port that sends."""
    receive: str
    size: int
    """With FCS."""
    rate_fps: Fraction
    frames: int
    """Exactly so many, unless somebody stops it or its time ends."""
    seconds: float | None
    """When it ends, whatever is left then; None for one that ends with its frames."""
    metrics: bool
    loss: bool
    latency: bool
    stream: Mapping[str, Any]
    """As tgen takes it."""
    written: Headers | None = None
    """The headers of frames that tgen cannot make by itself: they are sent from a file."""


def write_frames(flows: Sequence[Flow], folder: Path) -> tuple[Flow, ...]:
    """Write the frames that tgen cannot make into files of a folder, and have them sent."""
    found = []
    for number, flow in enumerate(flows):
        if flow.written is not None:
            path = folder / f"flow-{number}.pcap"
            write(path, flow.written, flow.size, flow.written.flows)
            flow = replace(flow, stream={**flow.stream, "replay": str(path)})  # noqa: PLW2901
        found.append(flow)
    return tuple(found)


def check_files(root: Node, flows: Sequence[Flow]) -> None:
    """Refuse more frames in files than there is room for."""
    files = [(flow.written.flows, flow.size) for flow in flows if flow.written is not None]
    frames = sum(count for count, _ in files)
    if frames > ALL_FRAMES or sum(count * size for count, size in files) > ALL_BYTES:
        root.refuse(
            f"{frames} different frames of all flows are too many for fields that change together",
            "flows",
        )


def read_flow(node: Node, lines: Mapping[str, Line], warnings: list[str]) -> Flow:
    """Read a flow."""
    name = node.text("name")
    transmit, receive = _ends(node, lines)
    size = _size(node.node("size"))
    rate = _rate(node.node("rate"), lines.get(transmit), size)
    frames, seconds = _duration(node.node("duration"), rate)
    metrics, loss, latency = _metrics(node.node("metrics"))
    headers = read_headers(node)
    stream: dict[str, Any] = {}
    written = None
    if transmit in lines and receive in lines and headers.fields:
        stream = {"transmit_port": lines[transmit].number, "receive_port": lines[receive].number}
        _fits(node, headers, size, {name: lines[name] for name in (transmit, receive)})
        if headers.needs_file:
            written = headers if _can_be_written(node, headers, size) else None
        else:
            stream |= _template(headers, size)
    if latency:
        warnings.append(f"{node.path}.metrics.latency: {LATENCY_NOTE}, whatever the mode")
    return Flow(
        name=name,
        transmit=transmit,
        receive=receive,
        size=size,
        rate_fps=rate,
        frames=frames,
        seconds=seconds,
        metrics=metrics,
        loss=loss,
        latency=latency,
        stream=stream,
        written=written,
    )


def _ends(node: Node, lines: Mapping[str, Line]) -> tuple[str, str]:
    ends = node.node("tx_rx")
    ends.only("choice", "port", why="there are no emulated devices")
    ports = ends.node("port")
    transmit = ports.text("tx_name")
    named = ports.texts("rx_names") or [ports.text("rx_name", "")]
    others = [one for one in lines if one != transmit]
    if named == [""]:
        named = others if len(others) == 1 else [transmit] if not others else []
    if len(named) != 1:
        ports.refuse("exactly one port has to receive a flow", "rx_names")
        named = [transmit]
    for key, name in (("tx_name", transmit), ("rx_names", named[0])):
        if name and name not in lines:
            ports.refuse(f"there is no port {name!r}", key)
    return transmit, named[0]


def _size(node: Node) -> int:
    node.choice(("fixed",), "fixed")
    return node.whole("fixed", 64, 64, LARGEST_FRAME)


def _rate(node: Node, line: Line | None, size: int) -> Fraction:
    """Return frames per second, to the thousandth; bits are those on the wire."""
    match node.choice(("pps", "percentage", *BITS), "pps"):
        case "pps":
            rate = Fraction(node.whole("pps", 1000, 1, MOST_FPS))
        case "percentage":
            share = Fraction(str(node.number("percentage", 100, 0, 100))) / 100
            if line is None or line.bps is None:
                node.refuse("nobody knows the speed of this port; say it in layer1", "percentage")
                return Fraction(1)
            rate = share * line.bps / (8 * (size + OVERHEAD))
        case unit:
            bits = node.whole(unit, None, 1, MOST_64) * BITS[unit]
            rate = Fraction(bits, 8 * (size + OVERHEAD))
    rate = Fraction(math.floor(rate * 1000), 1000)
    if rate <= 0:
        node.refuse("is less than a frame in 1000 seconds")
        return Fraction(1)
    if rate > MOST_FPS:
        node.refuse(f"is more than {MOST_FPS} frames a second")
        return Fraction(1)
    return rate


def _duration(node: Node, rate: Fraction) -> tuple[int, float | None]:
    """Return how many frames there are, and when they end at the latest."""
    longest = min(max(1, int(rate * LONGEST_S)), MOST_SENT)
    kind = node.choice(("continuous", "fixed_packets", "fixed_seconds"), "continuous")
    said = node.node(kind)
    said.only("gap", 12, why="frames are as far apart as the rate says")
    if said.has("delay"):
        delay = said.node("delay")
        unit = delay.choice(("bytes", "nanoseconds", "microseconds"), "bytes")
        delay.only(unit, 0, why="flows begin together")
    if kind == "fixed_packets":
        return said.whole("packets", 1, 1, longest), None
    if kind == "fixed_seconds":
        seconds = said.number("seconds", 1, 0, LONGEST_S)
        frames = min(int(rate * Fraction(str(seconds))), MOST_SENT)
        if frames < 1:
            said.refuse("no frame is due in that time at this rate", "seconds")
        return max(1, frames), seconds
    return longest, None


def _metrics(node: Node) -> tuple[bool, bool, bool]:
    """Return what is to be told of it: anything, its loss, its latency."""
    enabled = node.flag("enable", default=False)
    loss = node.flag("loss", default=False)
    node.only("timestamps", False, why="when frames came is not told")
    if node.has("rx_tx_ratio"):
        ratio = node.node("rx_tx_ratio")
        ratio.only("choice", "value")
        ratio.only("value", 1, 1.0, why="each frame should arrive once")
    if node.has("predefined_metric_tags"):
        node.node("predefined_metric_tags").only("rx_name", False)
    latency = node.node("latency")
    wanted = latency.flag("enable", default=False)
    latency.one_of("mode", ("store_forward", "cut_through"), "store_forward")
    return enabled, loss, wanted and enabled


def _fits(node: Node, headers: Headers, size: int, lines: Mapping[str, Line]) -> None:
    """Refuse frames that are too short for what is in them, or too long for a port."""
    least = smallest_bytes(headers)
    if size < least:
        node.refuse(
            f"{size} bytes with FCS are too few for these headers and the mark, {least} are enough",
            "size",
        )
    for name, line in lines.items():
        most = line.longest + (line.tag_room if headers.tagged else 0)
        if size > most:
            node.refuse(f"{size} bytes with FCS are too many for port {name!r}: {most}", "size")


def _can_be_written(node: Node, headers: Headers, size: int) -> bool:
    """Refuse more different frames than a file has room for."""
    if headers.flows > MOST_FRAMES or headers.flows * size > MOST_BYTES:
        node.refuse(
            f"{headers.flows} different frames are too many for fields that change together; one "
            "field that rises evenly takes any number",
            "packet",
        )
        return False
    return True


def _template(headers: Headers, size: int) -> dict[str, Any]:
    """Return the keys of a stream whose frames tgen makes."""
    found: dict[str, Any] = {
        "size": size,
        "layer3": headers.layer3,
        "layer4": headers.layer4,
        "ttl": headers.ttl,
        "dscp": headers.dscp,
    }
    if headers.layer3 == "ipv4":
        found["dont_fragment"] = bool(headers.more["dont_fragment"])
    if headers.layer4 == "tcp":
        found["tcp"] = {name: headers.more[key] for key, name in TCP_KEYS.items()}
    if headers.vlans:
        found["vlans"] = [{"id": tag.id, "priority": tag.priority} for tag in headers.vlans]
    for name, values in headers.fields.items():
        if name != "vlan":
            found[name] = _written(name, values, headers.layer3)
    if varied := headers.varied:
        ((name, values),) = varied.items()
        one = {"field": name, "count": values.count, "step": values.step}
        found["flows"] = {"vary": [one]}
    return found


def _written(name: str, values: Values, layer3: str) -> str | int:
    """Return the first value of a field as tgen reads it."""
    if name.endswith("_mac"):
        return values.first.to_bytes(6).hex(":")
    if name.endswith("_ip"):
        family = ipaddress.IPv4Address if layer3 == "ipv4" else ipaddress.IPv6Address
        return str(family(values.first))
    return values.first
