"""The ports of DPDK by which a generator reaches a switch, as DPDK is told of them. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from vsperf.errors import UsageError
from vsperf.host import netns
from vsperf.records.run import MARK, Endpoint
from vsperf.trust.programs import whole

KINDS = ("vhost-user", "vhost-user-client", "vhost-user-backend", "tap", "vdev", "pci")
"""Kinds of endpoints that programs of DPDK speak to."""
FILES = {"net_virtio_user": ("path",), "net_vhost": ("iface",), "net_pcap": ("rx_pcap", "tx_pcap")}
"""What names a file, by the beginning of a device's name."""


@dataclass(frozen=True, slots=True)
class Port:
    """One port of a generator, named as DPDK names it."""

    name: str
    """Such as `net_virtio_user0`; the generator calls it so, too."""
    device: str
    """The argument of --vdev that makes it, or of --allow that admits it."""
    pci: bool = False
    """Whether it is a device on the PCI bus."""
    network: str = ""
    """The network namespace that its device is in; that of the host where there is no name."""


def reaching(endpoint: Endpoint, number: int, who: str, *, ring: int, queues: int) -> Port:
    """Return the port that reaches an endpoint; `who` is the generator, for people."""
    match endpoint.kind:
        case "vdev":
            return device_port(endpoint.address)
        case "pci":
            return _card(endpoint.address)
        case "vhost-user" | "vhost-user-client":
            name = f"net_virtio_user{number}"
            device = f"{name},path={endpoint.address},queue_size={_power(ring)}"
            if queues > 1:
                device += f",queues={queues}"
            if endpoint.kind == "vhost-user-client":
                device += ",server=1"  # the switch calls, so it may restart without us
            return Port(name, device)
        case "vhost-user-backend":
            name = f"net_vhost{number}"  # the switch's part: a VNF listens, we call
            return Port(name, f"{name},iface={endpoint.address},queues={queues},client=1")
        case "tap":
            network, device = endpoint.located
            name = f"net_tap{number}"
            return Port(name, f"{name},iface={device}", network=network)
    raise UsageError(
        f"{who} cannot send to {endpoint.link}, which is a {endpoint.kind} port",
        why="it speaks " + ", ".join(KINDS),
        fix="take a switch that offers one of these, or a generator that fits the switch",
    )


def device_port(argument: str) -> Port:
    """Return the port that an argument of --vdev makes; files are named by their whole paths."""
    name, *words = argument.split(",")
    files = next((keys for driver, keys in FILES.items() if name.startswith(driver)), ())
    return Port(name, ",".join([name, *(_named_wholly(word, files) for word in words)]))


def entering(ports: Iterable[Port], who: str) -> tuple[str, ...]:
    """Return the words before a command line that take it into the network of its ports."""
    networks = sorted({port.network for port in ports} - {""})
    if len(networks) > 1:
        raise UsageError(
            f"{who} cannot be in the networks {', '.join(networks)} at once",
            why="its ports are devices of several network namespaces, and a process is in one",
            fix="let all links of the generator be in one namespace, or use a switch that is",
        )
    return tuple(word for name in networks for word in netns.entering(name))


def _named_wholly(word: str, files: tuple[str, ...]) -> str:
    """Return KEY=VALUE of a device, which is made elsewhere than where the user named it."""
    key, equals, value = word.partition("=")
    named = key in files and equals and value and not value.startswith(MARK)
    return f"{key}={whole(value)}" if named else word


def _card(argument: str) -> Port:
    """Return the port of a NIC; DPDK calls it what it was called here, so with its domain."""
    address, comma, arguments = argument.partition(",")
    name = address.lower() if address.count(":") == 2 else f"0000:{address.lower()}"
    return Port(name, f"{name}{comma}{arguments}", pci=True)


def _power(ring: int) -> int:
    """Return the least power of two that is not below `ring`; virtio rings have no other size."""
    return 1 << max(ring - 1, 1).bit_length()
