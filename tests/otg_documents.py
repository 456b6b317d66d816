"""Configurations of the OTG model, as clients write them."""

from __future__ import annotations

from typing import Any


def value(said: object) -> dict[str, Any]:
    """Return a field with one value."""
    return {"choice": "value", "value": said}


def increment(start: object, count: int, step: object = None) -> dict[str, Any]:
    """Return a field that rises."""
    counter = {"start": start, "count": count} | ({} if step is None else {"step": step})
    return {"choice": "increment", "increment": counter}


def packet(**fields: Any) -> list[dict[str, Any]]:
    """Return headers of UDP on IPv4; `vlan`, `ip` and `udp` are merged into theirs."""
    found: list[dict[str, Any]] = [
        {
            "choice": "ethernet",
            "ethernet": {"src": value("02:00:00:00:00:01"), "dst": value("02:01:00:00:00:01")},
        }
    ]
    found += [{"choice": "vlan", "vlan": tag} for tag in fields.pop("vlans", ())]
    ip = {"src": value("198.18.0.1"), "dst": value("198.19.0.1"), **fields.pop("ip", {})}
    udp = {"src_port": value(49184), "dst_port": value(7), **fields.pop("udp", {})}
    found += [{"choice": "ipv4", "ipv4": ip}, {"choice": "udp", "udp": udp}]
    return found


def flow(name: str = "f", **changes: Any) -> dict[str, Any]:
    """Return a flow of 100 frames from port a to port b."""
    return {
        "name": name,
        "tx_rx": {"choice": "port", "port": {"tx_name": "a", "rx_names": ["b"]}},
        "packet": packet(),
        "size": {"choice": "fixed", "fixed": 128},
        "rate": {"choice": "pps", "pps": "1000"},
        "duration": {"choice": "fixed_packets", "fixed_packets": {"packets": 100}},
        "metrics": {"enable": True, "loss": True},
        **changes,
    }


def config(*flows: dict[str, Any], **more: Any) -> dict[str, Any]:
    """Return a configuration of two ports."""
    ports = [{"name": "a", "location": "p1"}, {"name": "b", "location": "p2"}]
    return {"ports": ports, "flows": list(flows), **more}
