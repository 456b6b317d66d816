"""Which ports a TRex server has, and the configuration of one that is started. Pure."""

from __future__ import annotations

import json

from vsperf.config.case import CaseSpec
from vsperf.config.flows import link_mac
from vsperf.drivers.generators.dpdk_ports import Port, device_port
from vsperf.drivers.generators.trex.spec import TrexSpec
from vsperf.drivers.settings import own_settings
from vsperf.errors import UsageError
from vsperf.records.run import Endpoint, Placeholder

DRIVERS = ("net_af_packet", "net_memif")
"""DPDK's drivers of devices without a NIC that TRex takes; it has no vhost-user."""
NUMBERED = "chassis"
"""Kind of an endpoint that is a port of a server that runs."""
PREFIX = f"{Placeholder.NAME}-trex"


def numbers_of(case: CaseSpec, endpoints: tuple[Endpoint, ...]) -> dict[str, int]:
    """Return by link which port of the server is there; a started one has them in our order."""
    spec = spec_of(case)
    if spec.starts:
        devices_of(endpoints)
        return {endpoint.link: number for number, endpoint in enumerate(endpoints)}
    found = {}
    for endpoint in endpoints:
        if endpoint.kind != NUMBERED or not endpoint.address.isdecimal():
            raise UsageError(
                f"TRex cannot send to {endpoint.link}, which is a {endpoint.kind} port",
                why=f"the server at {spec.server} runs, and its ports have numbers",
                fix=f"name the port: --set testbed.links.{endpoint.link}.generator=chassis:0",
            )
        found[endpoint.link] = int(endpoint.address)
    return found


def devices_of(endpoints: tuple[Endpoint, ...]) -> tuple[Port, ...]:
    """Return the devices of DPDK by which a started server reaches the switch."""
    for endpoint in endpoints:
        if endpoint.kind != "vdev":
            raise _unreachable(endpoint.link, f"a {endpoint.kind} port")
        if endpoint.address.rstrip().partition(",")[0].rstrip("0123456789") not in DRIVERS:
            raise _unreachable(endpoint.link, endpoint.address.partition(",")[0])
    return tuple(device_port(endpoint.address) for endpoint in endpoints)


def _unreachable(link: str, what: str) -> UsageError:
    return UsageError(
        f"a TRex that vsperf starts cannot send to {link}, which is {what}",
        why=f"of devices without a NIC it takes {' and '.join(DRIVERS)} only",
        fix="take a switch or ports that offer one, such as --vswitch ovs, or start TRex yourself "
        "and give its address: --set generator.server=192.0.2.7",
    )


def configuration(case: CaseSpec, endpoints: tuple[Endpoint, ...], cpu: int) -> tuple[str, ...]:
    """Return the lines of the file that a started server reads, not filled in."""
    spec, links = spec_of(case), case.topology.links
    devices = [f"--vdev={port.device}" for port in devices_of(endpoints)]
    if len(devices) % 2:
        devices.append("dummy")  # its ports come in pairs
    lines = [
        "- version: 2",
        f"  port_limit: {len(devices)}",
        "  interfaces:",
        *(f"    - {json.dumps(device)}" for device in devices),
        "  low_end: true",
        f"  low_end_core: {cpu}",
        f"  limit_memory: {spec.memory_mb}",
        f"  prefix: {PREFIX}",
        f"  zmq_rpc_port: {spec.rpc_port}",
        "  enable_zmq_pub: false",
        "  port_info:",
    ]
    for number in range(len(devices)):
        link = endpoints[number].link if number < len(endpoints) else endpoints[0].link
        own = links.index(link)
        lines += [
            f'    - src_mac: "{link_mac(own)}"',
            f'      dest_mac: "{link_mac(own ^ 1)}"',
        ]
    return tuple(lines)


def spec_of(case: CaseSpec) -> TrexSpec:
    """Return the settings; refuse those of another driver."""
    return own_settings(case.generator, TrexSpec, "TRex", "generator.kind=trex")
