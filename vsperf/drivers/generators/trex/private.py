"""A TRex server of a deployment's own: its ports, found, configured, started, and ended with it."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from vsperf.config.case import CaseSpec
from vsperf.config.flows import link_mac
from vsperf.drivers.generators.dpdk_ports import Port, device_port
from vsperf.drivers.generators.trex.spec import TrexSpec
from vsperf.drivers.settings import own_settings
from vsperf.errors import NotReadyError, UsageError
from vsperf.host.process import Managed, managed
from vsperf.host.workspace import Workspace
from vsperf.records.run import Endpoint, Placeholder

NAME = "trex"
PROGRAM = "_t-rex-64"
"""The program itself; the script beside it, without the line below, sets drivers of NICs up."""
LIBRARIES = ("so/x86_64", "so")
CONFIGURATION = f"{Placeholder.RUN}/{NAME}.yaml"
START_S = 60.0
CONNECT_S = 0.2
LOCAL = "127.0.0.1"
STATELESS, STATEFUL = ("--stl", "--hdrh"), ("--astf",)
"""What a server is to do: send frames, or open connections."""
OPTIONS = (
    "--software",  # frames are counted by streams on ports of any kind
    "--no-key",
    "--no-termio",
    "--no-scapy-server",
    "--no-ofed-check",
)
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


def command(case: CaseSpec) -> tuple[str, ...]:
    """Return how the server is run, not filled in."""
    folder = folder_of(case)
    libraries = ":".join(str(folder / name) for name in LIBRARIES)
    inside = ("env", f"--chdir={folder}", f"LD_LIBRARY_PATH={libraries}")
    mode = STATEFUL if case.has_connections else STATELESS
    run = (f"./{PROGRAM}", "-i", "--cfg", CONFIGURATION, *mode, *OPTIONS, "--iom", "0")
    return (*inside, *run)


def folder_of(case: CaseSpec) -> Path:
    """Return where TRex is installed."""
    install = spec_of(case).install
    if install is None:
        raise UsageError(
            "nobody says where TRex is installed",
            why="no package has it, so a server cannot be started without its folder",
            fix="--set generator.install=/usr/local/trex, or the address of a server that runs: "
            "--set generator.server=192.0.2.7; beside other generators by --set "
            "'generator=[tgen, {kind: trex, install: /usr/local/trex}]', or, for --generator "
            "tgen,trex, by `generators: {trex: {install: /usr/local/trex}}` in the testbed",
        )
    return Path(install).absolute()


def require_program(folder: Path) -> None:
    """Raise `NotReadyError` where there is none."""
    if not (folder / PROGRAM).is_file():
        raise NotReadyError(
            f"there is no {PROGRAM} in {folder}",
            why="generator.install has to name the folder of an installed TRex",
            fix="see https://trex-tgn.cisco.com for packed versions",
        )


@contextmanager
def started(case: CaseSpec, lines: tuple[str, ...], workspace: Workspace) -> Iterator[Managed]:
    """Run a server until the context is left."""
    require_program(folder_of(case))
    port = spec_of(case).rpc_port
    if _listens(port):
        raise NotReadyError(
            f"somebody listens at TCP port {port} of this machine already",
            why="a TRex server that is started is asked there",
            fix="choose another: --set generator.rpc_port=14501",
        )
    text = "".join(f"{workspace.fill(line)}\n" for line in lines)
    Path(workspace.fill(CONFIGURATION)).write_text(text)
    with managed(
        [workspace.fill(word) for word in command(case)],
        name=NAME,
        workspace=workspace,
        ready=lambda: _listens(port),
        timeout_s=START_S,
        environment={"RUNTIME_DIRECTORY": str(workspace.folder)},
    ) as program:
        yield program


def _listens(port: int) -> bool:
    try:
        socket.create_connection((LOCAL, port), CONNECT_S).close()
    except OSError:
        return False
    return True
