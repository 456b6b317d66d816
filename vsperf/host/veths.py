"""Pairs of devices for places: made with a promise to remove them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from vsperf.errors import NotReadyError
from vsperf.host.undo import RemoveVeth
from vsperf.host.veth import make_veth
from vsperf.host.workspace import Workspace


@dataclass(frozen=True, slots=True)
class FarEnd:
    """The end of a pair that is in a place."""

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
