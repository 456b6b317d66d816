"""What a VPP is, for the record: versions, settings as found, and what was agreed on with ports."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from vsperf.drivers.vswitches.vpp.api import Api
from vsperf.drivers.vswitches.vpp.layout import SwitchPort
from vsperf.drivers.vswitches.vpp.plan import Design, buffers_of
from vsperf.drivers.vswitches.vpp.programs import Programs, plugin_file
from vsperf.drivers.vswitches.vpp.reading import buffer_pools
from vsperf.drivers.vswitches.vpp.segment import Segment
from vsperf.host.procfs import mapped_files

FEATURES = {
    0: "csum",
    15: "mrg_rxbuf",
    22: "mq",
    27: "any_layout",
    28: "indirect_desc",
    29: "event_idx",
    32: "version_1",
    34: "ring_packed",
    35: "in_order",
}
"""Bits of virtio that decide how frames are handed over."""
MODES = {1: "polling", 2: "interrupt", 3: "adaptive"}
LINK_UP = 2
NOT_TOLD = "not told"
"""Of what VPP knows and its API does not say: the rings of a vhost-user port, made by the other
end."""


def facts(
    design: Design,
    programs: Programs,
    api: Api,
    segment: Segment,
    pid: int,
    interfaces: Mapping[str, int],
) -> dict[str, Any]:
    """Ask what there is."""
    build = api.call("show_version")
    found = {entry.sw_if_index: entry for entry in _interfaces(api)}
    return {
        "daemon": str(programs.daemon),
        "daemon_sha256": programs.tree.digest(programs.daemon),
        "version": programs.version().splitlines(),
        **({"tree": tree} if (tree := programs.tree.facts()) else {}),
        "build": {"version": build.version, "date": build.build_date},
        "plugins": sorted(name for name in mapped_files(pid) if name.endswith(plugin_file(""))),
        "buffers": segment.read(buffer_pools),
        "asked": {
            "buffers": buffers_of(design.spec, design.ports),
            "hugepages": design.spec.hugepages,
        },
        "threads": [
            {"name": one.name, "cpu": one.cpu_id} for one in api.call("show_threads").thread_data
        ],
        **({} if design.spec.nat is None else {"connection_tracking": _tracking(design, api)}),
        "queues": _queues(design, api, interfaces),
        "ports": [
            _port(port, found[interfaces[port.name]], api)
            for port in design.ports
            if interfaces[port.name] in found
        ],
    }


def _interfaces(api: Api) -> tuple[Any, ...]:
    return api.dump("sw_interface_dump", {"sw_if_index": 0xFFFFFFFF})


def _tracking(design: Design, api: Api) -> dict[str, Any]:
    """Return what VPP says of its table of connections; each worker has one of that size."""
    found = api.call("nat44_show_running_config")
    times = ("udp", "tcp_established", "tcp_transitory", "icmp")
    return {
        "nat": design.spec.nat,
        "sessions": found.sessions,
        "buckets": found.translation_buckets,
        **{f"{name}_timeout": getattr(found.timeouts, name) for name in times},
    }


def _queues(design: Design, api: Api, interfaces: Mapping[str, int]) -> list[dict[str, Any]]:
    return [
        {
            "port": port.name,
            "queue": entry.queue_id,
            "worker": entry.worker_id,
            "mode": MODES.get(int(entry.mode), "unknown"),
        }
        for port in design.ports
        for entry in api.dump(
            "sw_interface_rx_placement_dump", {"sw_if_index": interfaces[port.name]}
        )
    ]


def _port(port: SwitchPort, entry: Any, api: Api) -> dict[str, Any]:
    about: dict[str, Any] = {
        "name": port.name,
        "interface": entry.interface_name,
        "kind": port.kind,
        "mac": str(entry.l2_address),
        "up": bool(int(entry.flags) & LINK_UP),
        "mtu": entry.mtu[0],
    }
    if port.kind == "vhost":
        about |= {"listens": port.listens, "ring": NOT_TOLD, **_agreed(entry.sw_if_index, api)}
    if port.kind == "memif":
        about |= _memif(entry.sw_if_index, api)
    return about


def _agreed(interface: int, api: Api) -> dict[str, Any]:
    """Return what was negotiated with the other end of a vhost-user port."""
    for one in api.dump("sw_interface_vhost_user_dump", {"sw_if_index": interface}):
        if one.sw_if_index == interface:
            bits = int(one.features_first_32) | int(one.features_last_32) << 32
            return {
                "features": [name for bit, name in FEATURES.items() if bits >> bit & 1],
                "feature_bits": f"{bits:#x}",
                "header_bytes": one.virtio_net_hdr_sz,
                "memory_regions": one.num_regions,
            }
    return {}


def _memif(interface: int, api: Api) -> dict[str, Any]:
    for one in api.dump("memif_dump"):
        if one.sw_if_index == interface:
            return {
                "ring": one.ring_size,
                "buffer_bytes": one.buffer_size,
                "zero_copy": bool(one.zero_copy),
            }
    return {}
