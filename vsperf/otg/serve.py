"""A server with a tgen of its own: begun, and gone without a trace."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from vsperf.drivers.generators.dpdk_ports import KINDS, Port, device_port
from vsperf.drivers.generators.tgen.command import Options, port_of
from vsperf.drivers.generators.tgen.process import running
from vsperf.errors import UsageError
from vsperf.otg.config import Place
from vsperf.otg.generator import Generator, say_nothing
from vsperf.otg.server import OtgServer, listening
from vsperf.records.run import Endpoint
from vsperf.trust.programs import whole

MEGABIT = 1_000_000
ETHERNET, FCS, TAG = 14, 4, 4
PACKET_SOCKET = "net_af_packet"
USUAL_SLOT = 2048
SLOT_HEAD = 66
"""What the kernel keeps of a slot for itself, when a frame comes in. It takes a tag out first."""


@dataclass(frozen=True, slots=True)
class Location:
    """A port that clients know by its location."""

    name: str
    device: str
    """As DPDK's --vdev takes it, or KIND:ADDRESS of another kind of endpoint."""

    @classmethod
    def of(cls, text: str) -> Location:
        """Read LOCATION=DEVICE."""
        name, equals, device = text.partition("=")
        if not equals or not name or not device or "," in name:
            raise UsageError(
                f"{text!r} is no port", fix="write LOCATION=DEVICE, such as p1=net_ring0"
            )
        return cls(name, device)

    def port(self, number: int, options: Options) -> Port:
        """Return what tgen is given for it."""
        kind, colon, address = self.device.partition(":")
        if colon and kind in KINDS:
            address = whole(address) if kind.startswith("vhost-user") else address
            return port_of(Endpoint(link=self.name, kind=kind, address=address), number, options)
        return device_port(self.device)


@dataclass(frozen=True, slots=True)
class Serving:
    """How a server goes about it."""

    burst: int = 32
    password: str | None = None
    """Of whoever may speak to it; everybody may where there is none."""
    whole_payload: bool = True
    """Whether all bytes behind the headers are looked at, and not only tgen's mark."""
    say: Callable[[str], None] = say_nothing
    """Told what a user of the server should know, a line each."""


@contextmanager
def serving(
    locations: Sequence[Location],
    options: Options,
    address: tuple[str, int],
    served: Serving,
) -> Iterator[OtgServer]:
    """Start tgen with its ports, and listen; nothing of either is left behind."""
    _check(locations)
    ports = {one.name: one.port(number, options) for number, one in enumerate(locations)}
    with running(ports.values(), options) as tgen:
        numbers = tgen.port_numbers(ports)
        facts = {int(port["port"]): port for port in tgen.ports()}
        places = {
            name: place_of(port, facts[numbers[name]], options.max_frame)
            for name, port in ports.items()
        }
        folder = tgen.control.parent
        generator = Generator(tgen, places, folder, served.burst, served.whole_payload, served.say)
        with listening(address, generator, served.password) as server:
            yield server


def place_of(port: Port, facts: Mapping[str, Any], most: int) -> Place:
    """Return what is known of a port, by what tgen says of it."""
    mbps = facts.get("link_mbps")
    longest, tag_room = most, 0
    if (mtu := _mtu(port, facts)) is not None:
        longest, tag_room = min(longest, mtu + ETHERNET + FCS), TAG
    if port.name.startswith(PACKET_SOCKET):
        longest = min(longest, _slot_bytes(port.device) - SLOT_HEAD + FCS)
    bps = mbps * MEGABIT if port.pci and mbps else None  # that of a virtual port means nothing
    return Place(int(facts["port"]), bps, longest, tag_room)


def _mtu(port: Port, facts: Mapping[str, Any]) -> int | None:
    """Return the longest packet of a device of the kernel, or a NIC; others take any."""
    found = facts.get("kernel_mtu", facts["mtu"] if port.pci else None)
    return None if found is None else int(found)


def _slot_bytes(device: str) -> int:
    """Return how large the slots are that a packet socket shares with the kernel."""
    for word in device.split(","):
        name, _, value = word.partition("=")
        if name == "framesz" and value.isascii() and value.isdigit():
            return int(value)
    return USUAL_SLOT


def _check(locations: Sequence[Location]) -> None:
    names = [one.name for one in locations]
    for name in names:
        if names.count(name) > 1:
            raise UsageError(f"the location {name!r} is there twice", fix="name each port once")
