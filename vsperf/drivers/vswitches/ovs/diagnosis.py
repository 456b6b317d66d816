"""What to tell a user when OVS does not come up: from its log and its answers. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable

from vsperf.drivers.vswitches.ovs.database import Interface
from vsperf.drivers.vswitches.ovs.layout import SwitchPort
from vsperf.errors import ComponentError, NotReadyError, VsperfError

LOG_LINE = re.compile(r"\|(?P<module>\w+)(?:\([^)]*\))?\|(?P<level>EMER|ERR|WARN)\|(?P<text>.*)$")
NOT_OPENED = -1
HARMLESS = re.compile(
    r"No free \d+ kB hugepages|TELEMETRY|does not exist\. The Open vSwitch kernel|"
    r"dpdk_initialized|unix:.*(connection (closed|dropped)|send error)"
)
LATE = re.compile(r"Failed to (create memory pool for netdev|set interface \S+ new configuration)")
MEMORY_FIX = "reserve hugepages (sysctl vm.nr_hugepages=1024), or do with less: vswitch.memory"
CAUSES: tuple[tuple[str, str, str], ...] = (
    (
        r"Not enough memory available on socket|[Nn]o free .*hugepages|Cannot get hugepage",
        "there are too few free hugepages for its memory",
        MEMORY_FIX,
    ),
    (
        r"Cannot init memory|FATAL: Cannot init memory",
        "DPDK got no memory",
        MEMORY_FIX,
    ),
    (
        r"Invalid core|core \d+ (?:is )?(?:not detected|unavailable)|lcores? (?:are )?unavailable"
        r"|[Ii]nvalid core ?mask|unavailable; ",
        "it cannot run on the CPUs that it was given",
        "see `vsperf plan`, and choose others: vswitch.main_cpus, vswitch.pmd_cpus",
    ),
    (
        r"^EAL: Option|unrecognized option|invalid option|Invalid .*argument",
        "DPDK does not know one of its arguments",
        "mend dpdk-extra in vswitch.other_config, if it is set there",
    ),
)
"""What a line of the log looks like, what it means, and what helps."""


def complaints(log: str) -> tuple[str, ...]:
    """Return the warnings and errors of a log that mean something, without their time."""
    found = []
    for line in log.splitlines():
        match = LOG_LINE.search(line)
        if match is None:
            continue
        if not HARMLESS.search(match["text"]):
            found.append(match["text"].strip())
    return tuple(dict.fromkeys(found))


def not_started(log: str, obituary: str) -> VsperfError:
    """Return the error for a daemon that ended while it started."""
    said = complaints(log)
    for pattern, meaning, fix in CAUSES:
        line = next((text for text in said if re.search(pattern, text)), None)
        if line is not None:
            return NotReadyError(
                f"OVS did not start: {meaning}", why=f"its log says: {line}", fix=fix
            )
    return ComponentError("OVS ended while it started", why="; ".join(said[-3:]) or obituary)


def late_problem(log: str) -> str | None:
    """Return why a port fell out after it was added, from lines that were written since.

    Packet buffers of a vhost-user port are made when the other end connects, and may not fit then.
    """
    for text in complaints(log):
        if LATE.search(text):
            return text
    return None


def port_problems(
    ports: Iterable[SwitchPort], interfaces: Iterable[Interface], log: str
) -> VsperfError | None:
    """Return the error for the first port that is not as it was asked for."""
    found = {interface.name: interface for interface in interfaces}
    for port in ports:
        interface = found.get(port.interface)
        if interface is None:
            return ComponentError(f"the switch has no port {port.name}")
        if interface.error or interface.number in (None, NOT_OPENED):
            return NotReadyError(
                f"the switch could not open port {port.name} ({port.type})",
                why="; ".join(_about(port, interface, log)) or None,
                fix=_port_fix(port),
            )
        if interface.number != port.number:
            return ComponentError(
                f"port {port.name} has number {interface.number}, not {port.number}",
                why="the switch gave it another one than was asked for",
            )
    return None


def _about(port: SwitchPort, interface: Interface, log: str) -> list[str]:
    """Return what the switch says about one port: the database first, then the log."""
    said = [interface.error] if interface.error else []
    device = port.options.get("dpdk-devargs", port.interface).partition(",")[0]
    words = (port.name, device)
    return list(
        dict.fromkeys(
            said + [text for text in complaints(log) if any(word in text for word in words)][:3]
        )
    )


def _port_fix(port: SwitchPort) -> str:
    if port.vnf is not None and port.tap is not None:
        more = ", and that DPDK has its driver net_af_packet" if port.type == "dpdk" else ""
        return f"see that {port.vnf} runs, which brings the tap with it{more}"
    if port.type == "dpdk" and port.tap is not None:
        return f"see that DPDK has its driver net_af_packet, by which it opens {port.tap}"
    fixes = {
        "dpdk": "see that the device is there and that DPDK may have it: "
        f"{port.options.get('dpdk-devargs')} comes from the testbed's link {port.link}",
        **dict.fromkeys(
            ("tap", "internal"),
            "see that /dev/net/tun is there, and what the log of ovs-vswitchd says of the tap",
        ),
        "system": f"see that the host's network has the device {port.interface}",
        "afxdp": f"see that the device {port.interface} is there, and that OVS was built with "
        "AF_XDP",
    }
    return fixes.get(port.type, "see the log of ovs-vswitchd; `vsperf doctor` checks the machine")
