"""A script of the OTG model, as its clients of all versions 1 have it: the same in `main.go`.

It is run by the Python of a client, which knows nothing of these tests: with the address of a
server and a file for what was captured. What it says is what the client made of the answers.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

import snappi

PATIENCE_S = 60.0


def wanted(api: Any) -> Any:
    """Two flows: one of exactly so many frames, and one that goes on until it is stopped."""
    config = api.config()
    for name in ("p1", "p2"):
        config.ports.add(name=name, location=name)
    config.captures.add(name="seen").port_names = ["p1"]
    for name, port in (("counted", "p1"), ("endless", "p2")):
        flow = config.flows.add(name=name)
        flow.tx_rx.port.tx_name, flow.tx_rx.port.rx_names = port, [port]
        flow.size.fixed = 128
        flow.rate.pps = 500
        flow.metrics.enable = flow.metrics.loss = True
        ethernet, ip, udp = flow.packet.ethernet().ipv4().udp()
        ethernet.src.value, ethernet.dst.value = "02:00:00:00:00:01", "02:01:00:00:00:01"
        ip.src.increment.start, ip.src.increment.count = "198.18.0.1", 4
        ip.dst.value = "198.19.0.1"
        udp.src_port.value, udp.dst_port.value = 5000, 6000
    config.flows[0].duration.fixed_packets.packets = 100
    config.flows[1].duration.continuous.gap = 12
    return config


def refused(api: Any) -> dict[str, Any]:
    """Return what a client knows of a refusal."""
    config = wanted(api)
    config.devices.add(name="d")
    try:
        api.set_config(config)
    except Exception as failure:
        error = api.from_exception(failure)
        return {"code": error.code, "kind": error.kind, "errors": list(error.errors)}
    raise AssertionError("devices were taken")


def transmit(api: Any, name: str, state: str) -> None:
    control = api.control_state()
    control.traffic.flow_transmit.flow_names = [name]
    control.traffic.flow_transmit.state = state
    api.set_control_state(control)


def capture(api: Any, state: str) -> None:
    control = api.control_state()
    control.port.capture.port_names = ["p1"]
    control.port.capture.state = state
    api.set_control_state(control)


def counted(api: Any, name: str) -> Any:
    request = api.metrics_request()
    request.flow.flow_names = [name]
    (found,) = api.get_metrics(request).flow_metrics
    return found


def until(api: Any, name: str, state: str) -> dict[str, Any]:
    """Wait until a flow sends, or no more; return its counters."""
    deadline = time.monotonic() + PATIENCE_S
    while True:
        one = counted(api, name)
        if one.transmit == state and (state == "stopped" or one.frames_tx > 0):
            keys = ("name", "port_tx", "port_rx", "transmit", "frames_tx", "frames_rx")
            return {
                **{key: getattr(one, key) for key in (*keys, "bytes_tx", "bytes_rx", "loss")},
                "rates": [one.frames_tx_rate, one.frames_rx_rate],
            }
        assert time.monotonic() < deadline, one
        time.sleep(0.02)


def ports(api: Any) -> list[dict[str, Any]]:
    """Return all that a client can read of ports."""
    request = api.metrics_request()
    request.port.port_names = []
    keys = ("name", "location", "link", "capture", "frames_tx", "frames_rx", "bytes_tx", "bytes_rx")
    rates = ("frames_tx_rate", "frames_rx_rate", "bytes_tx_rate", "bytes_rx_rate")
    return [
        {
            **{key: getattr(port, key) for key in keys},
            "rates": [getattr(port, key) for key in rates],
        }
        for port in api.get_metrics(request).port_metrics
    ]


def main(url: str, file: Path) -> None:
    api = snappi.api(location=url, verify=False, version_check=True)
    api.check_version_compatibility()
    told: dict[str, Any] = {
        "client": api.get_local_version().sdk_version,
        "server": api.get_remote_version().app_version,
        "refused": refused(api),
    }
    api.set_config(wanted(api))
    told["kept"] = [flow.name for flow in api.get_config().flows]
    capture(api, "start")
    transmit(api, "counted", "start")
    told["counted"] = until(api, "counted", "stopped")
    told["ports"] = ports(api)
    capture(api, "stop")
    request = api.capture_request()
    request.port_name = "p1"
    file.write_bytes(api.get_capture(request).read())
    transmit(api, "endless", "start")
    until(api, "endless", "started")
    transmit(api, "endless", "stop")
    told["endless"] = until(api, "endless", "stopped")
    sys.stdout.write(json.dumps(told))


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
