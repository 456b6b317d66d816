"""What links lead to, made where the switch is before it starts: taps, or for places pairs."""

from __future__ import annotations

from contextlib import ExitStack
from functools import partial

from vsperf.drivers.vswitches.ovs.plan import Design
from vsperf.drivers.vswitches.ports import far_end
from vsperf.errors import NotReadyError
from vsperf.host.netns import within
from vsperf.host.networks import private_network
from vsperf.host.taps import tap
from vsperf.host.tuntap import make_tap
from vsperf.host.veths import joined
from vsperf.host.workspace import Workspace


def make_taps(design: Design, workspace: Workspace, stack: ExitStack) -> str | None:
    """Make the devices, each with a promise to remove it; those in a network apart go with that.

    Returns the name of that network, if there is one.
    """
    names = [workspace.fill(name) for name in design.taps]
    if not design.apart:
        for name in names:
            stack.enter_context(tap(name, workspace, mtu=design.mtu, several_queues=False))
        return None
    network = stack.enter_context(private_network(workspace))
    if design.case.has_places:
        for port in design.ports:
            far = far_end(design.case, port.place, workspace)
            name = workspace.fill(str(port.tap))
            within(network, partial(joined, name, workspace, mtu=design.mtu, far=far))
        return network
    for name in names:
        label = workspace.name
        make = partial(make_tap, name, mtu=design.mtu, several_queues=True, label=label)
        try:
            within(network, make)
        except OSError as error:
            raise NotReadyError(
                f"cannot make the tap {name} in a network of its own",
                why=error.strerror or str(error),
                fix="run vsperf with sudo, and modprobe tun; `vsperf doctor` looks at tap devices",
            ) from error
    return network
