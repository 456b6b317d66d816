"""A server with a tgen of its own: begun, and gone without a trace."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from vsperf.errors import UsageError
from vsperf.otg.config import Place
from vsperf.otg.generator import Generator
from vsperf.otg.server import OtgServer, listening
from vsperf.programs import whole
from vsperf.record.plan import Endpoint
from vsperf.trafficgens.dpdk_ports import KINDS, Port, device_port
from vsperf.trafficgens.tgen.command import Options, port_of
from vsperf.trafficgens.tgen.process import running

MEGABIT = 1_000_000


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


@contextmanager
def serving(
    locations: Sequence[Location],
    options: Options,
    address: tuple[str, int],
    burst: int,
    password: str | None = None,
) -> Iterator[OtgServer]:
    """Start tgen with its ports, and listen; nothing of either is left behind."""
    _check(locations)
    ports = {one.name: one.port(number, options) for number, one in enumerate(locations)}
    with running(ports.values(), options) as tgen:
        numbers = tgen.port_numbers(ports)
        speeds = {int(port["port"]): port.get("link_mbps") for port in tgen.ports()}
        places = {
            name: Place(numbers[name], _bps(port, speeds[numbers[name]]))
            for name, port in ports.items()
        }
        generator = Generator(tgen, places, tgen.control.parent, burst)
        with listening(address, generator, password) as server:
            yield server


def _bps(port: Port, mbps: int | None) -> int | None:
    """Return the speed of a line; one of a virtual port means nothing."""
    return mbps * MEGABIT if port.pci and mbps else None


def _check(locations: Sequence[Location]) -> None:
    names = [one.name for one in locations]
    for name in names:
        if names.count(name) > 1:
            raise UsageError(f"the location {name!r} is there twice", fix="name each port once")
