"""Devices of places: pairs that are made with a promise to remove them, and what is handed over."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from vsperf.errors import NotReadyError
from vsperf.host.undo import RemoveVeth
from vsperf.host.veth import hand_over, make_veth
from vsperf.host.workspace import Workspace


@dataclass(frozen=True, slots=True)
class FarEnd:
    """The device that is in a place, such as the end of a pair."""

    network: str
    """By name; it is there already. That of the host without one."""
    device: str
    mac: str
    mtu: int


@contextmanager
def veth(name: str, workspace: Workspace, *, mtu: int, far: FarEnd) -> Iterator[None]:
    """Give a pair for the time of the context; whoever uses either end must end before."""
    with workspace.undoing(RemoveVeth(name=name)):
        joined(name, workspace, mtu=mtu, far=far)
        yield


def joined(name: str, workspace: Workspace, *, mtu: int, far: FarEnd) -> None:
    """Make a pair without a promise, in a network that goes with both ends."""
    try:
        make_veth(
            name,
            mtu=mtu,
            label=workspace.name,
            far=far.device,
            far_network=far.network,
            far_mac=far.mac,
            far_mtu=far.mtu,
        )
    except OSError as error:
        raise NotReadyError(
            f"cannot make the pair of devices {name}, which joins a place to the switch",
            why=error.strerror or str(error),
            fix="run vsperf with sudo, on a kernel with veth (CONFIG_VETH, modprobe veth)",
        ) from error


def handed(name: str, *, far: FarEnd) -> None:
    """Give a place a device of this network, whose removal its own network's, or a promise, is."""
    try:
        hand_over(
            name,
            far=far.device,
            far_network=far.network,
            far_mac=far.mac,
            far_mtu=far.mtu,
        )
    except OSError as error:
        raise NotReadyError(
            f"the device {name} cannot be given to a place",
            why=error.strerror or str(error),
            fix="run vsperf with sudo; or have pairs of devices: --set vswitch.ports=packet",
        ) from error
