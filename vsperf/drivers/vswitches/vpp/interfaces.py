"""The calls that make the ports of VPP. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from vsperf.drivers.vswitches.vpp.calls import Call, InterfaceOf
from vsperf.drivers.vswitches.vpp.layout import SwitchPort
from vsperf.drivers.vswitches.vpp.spec import VppSpec

POLLING = 1
"""The mode of a queue that is looked at without being told, as the API has it."""
UP = 1
MASTER = 0
"""Of the two ends of a memif, the one that listens."""
ETHERNET = 0
ETHERNET_PACKETS = 1
MEMIF_BUFFER = 2048
"""Bytes of each place in a memif; longer frames take several."""


def making(spec: VppSpec, ports: tuple[SwitchPort, ...]) -> Iterator[Call]:
    """Yield the calls after which all ports are there and up; their other ends need not be."""
    if any(port.kind == "memif" for port in ports):  # its queues come with the other end
        yield Call("sw_interface_set_default_rx_mode", {"mode": POLLING})
    for port in ports:
        yield from _made(spec, port)
        here = {"sw_if_index": InterfaceOf(port.name)}
        if port.kind == "packet":  # it would wait to be told of frames
            yield Call("sw_interface_set_rx_mode", {**here, "mode": POLLING})
        yield Call("sw_interface_set_flags", {**here, "flags": UP})


def _made(spec: VppSpec, port: SwitchPort) -> Iterator[Call]:
    match port.kind:
        case "vhost":
            yield Call("create_vhost_user_if_v2", _vhost(spec, port), makes=port.name)
        case "memif":
            socket = {"socket_id": port.number, "socket_filename": port.endpoint}
            yield Call("memif_socket_filename_add_del_v2", {"is_add": True, **socket})
            yield Call("memif_create_v2", _memif(spec, port), makes=port.name)
        case "packet":
            yield Call("af_packet_create_v3", _packet(spec, port), makes=port.name)
        case "pci":
            yield Call("sw_interface_dump", _named(port.name), makes=port.name)
            if port.mac:
                fields = {"sw_if_index": InterfaceOf(port.name), "mac_address": port.mac}
                yield Call("sw_interface_set_mac_address", fields)


def _vhost(spec: VppSpec, port: SwitchPort) -> dict[str, Any]:
    return {
        "is_server": port.listens,
        "sock_filename": port.endpoint,
        "disable_mrg_rxbuf": not spec.mergeable,
        "enable_packed": spec.packed,
        **({"use_custom_mac": True, "mac_address": port.mac} if port.mac else {}),
        "tag": port.name,
    }


def _memif(spec: VppSpec, port: SwitchPort) -> dict[str, Any]:
    return {
        "role": MASTER,
        "mode": ETHERNET,
        "rx_queues": spec.queues,
        "tx_queues": spec.queues,
        "id": 0,
        "socket_id": port.number,
        "ring_size": spec.ring,
        "buffer_size": MEMIF_BUFFER,
        **({"hw_addr": port.mac} if port.mac else {}),
    }


def _packet(spec: VppSpec, port: SwitchPort) -> dict[str, Any]:
    return {
        "mode": ETHERNET_PACKETS,
        **({"hw_addr": port.mac} if port.mac else {"use_random_hw_addr": True}),
        "host_if_name": port.device,
        "num_rx_queues": spec.queues,
        "num_tx_queues": spec.queues,
    }


def _named(name: str) -> dict[str, Any]:
    """Return what asks for the interface of a NIC, which the start-up configuration has named."""
    return {"name_filter_valid": True, "name_filter": name}
