"""What can be known to fail before anything is started."""

from __future__ import annotations

import os

from vsperf.drivers.vswitches.ovs import layout
from vsperf.drivers.vswitches.ovs.layout import SwitchPort
from vsperf.drivers.vswitches.ovs.plan import Design
from vsperf.errors import NotReadyError
from vsperf.host.tuntap import is_there
from vsperf.host.undo import BRIDGE_DEVICES
from vsperf.host.workspace import Workspace, require_fitting
from vsperf.records.run import Placeholder


def check(design: Design, workspace: Workspace, user: int | None = None) -> None:
    """Raise `NotReadyError` for the first thing that cannot work; `user` stands in for the own."""
    if (os.geteuid() if user is None else user) != 0:
        raise NotReadyError(
            f"{design.title} needs root",
            why="it locks hugepages, pins threads, and makes network devices",
            fix="run vsperf with sudo",
        )
    require_fitting(sockets(design.ports), workspace)


def require_network(design: Design) -> None:
    """Raise `NotReadyError` where the host's network is needed, and another OVS is in it.

    Every instance makes devices of the same names there, and cannot open a port without them.
    """
    if design.own_network:
        return
    for name in BRIDGE_DEVICES:
        if is_there(name):
            devices = ", ".join(port.name for port in design.host_ports)
            raise NotReadyError(
                f"another Open vSwitch has the network device {name}",
                why=f"the ports {devices} are devices of the host's network, so the switch has to "
                "run in it, and make a device of this name there as every OVS does",
                fix="stop the other one for the time of the run (systemctl stop "
                "openvswitch-switch), or do without such ports: for VNFs of OVS-DPDK, "
                "--set vswitch.vnf_ports=vhost-user",
            )


def sockets(ports: tuple[SwitchPort, ...]) -> tuple[str, ...]:
    """Return every socket of an instance."""
    servers = [f"{Placeholder.RUN}/{port.name}" for port in ports if port.type == "dpdkvhostuser"]
    clients = [port.options.get("vhost-server-path") for port in ports]
    return (
        layout.DATABASE_SOCKET,
        layout.DATABASE_CONTROL,
        layout.SWITCH_CONTROL,
        layout.OPENFLOW_SOCKET,
        *servers,
        *(path for path in clients if path is not None),
    )
