"""Taps for NICs of VNFs and for links: made with a promise to remove them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from vsperf.errors import NotReadyError
from vsperf.host.tuntap import DEVICE, make_tap
from vsperf.host.undo import RemoveTap
from vsperf.host.workspace import Workspace


@contextmanager
def tap(name: str, workspace: Workspace, *, mtu: int, several_queues: bool) -> Iterator[None]:
    """Give a tap for the time of the context; whoever holds its other end must end before."""
    with workspace.undoing(RemoveTap(name=name)):
        make(name, workspace, mtu=mtu, several_queues=several_queues)
        yield


def make(name: str, workspace: Workspace, *, mtu: int, several_queues: bool) -> None:
    """Make one that somebody else has promised to remove, such as the network that it is in."""
    try:
        make_tap(name, mtu=mtu, several_queues=several_queues, label=workspace.name)
    except OSError as error:
        raise NotReadyError(
            f"cannot make the tap {name}, which a port of the switch leads to",
            why=f"{DEVICE}: {error.strerror or error}",
            fix="run vsperf with sudo, and modprobe tun; `vsperf doctor` looks at tap devices",
        ) from error
