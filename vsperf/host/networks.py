"""A network of a deployment's own, apart from the host's: made with a promise to remove it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from vsperf.errors import NotReadyError
from vsperf.host.devices import Devices
from vsperf.host.netns import FOLDER, make_namespace
from vsperf.host.steering import steer
from vsperf.host.undo import RemoveNetwork
from vsperf.host.workspace import Workspace


@contextmanager
def private_network(workspace: Workspace, of: str = "") -> Iterator[str]:
    """Give the name of a network namespace, for the time of the context: the deployment's own.

    Or that of a part of it, such as a place at the end of a link.
    """
    name = f"{workspace.name}-{of}" if of else workspace.name
    with workspace.undoing(RemoveNetwork(name=name)):
        try:
            make_namespace(name)
        except OSError as error:
            raise NotReadyError(
                f"cannot make a network namespace in {FOLDER}",
                why=error.strerror or str(error),
                fix="run vsperf with sudo; in a container, with the rights to mount and to "
                "administer networks",
            ) from error
        yield name


def hand_over(devices: Iterable[str], network: str, cpus: tuple[int, ...]) -> None:
    """Hand devices of the host's network to another one, where these CPUs handle what they receive.

    That is told by files which are there in the network of the host alone, so before they leave.
    """
    names = tuple(devices)
    for name in names:
        steer(name, cpus)
    with Devices.connected() as host:
        for name in names:
            host.move(name, network)
