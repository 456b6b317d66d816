"""Scripts of the OTG ecosystem, as their authors meant them, against `vsperf otg serve`."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest
import snappi
from cable import apart
from conftest import Require
from otg_servers import CABLE, otg_server

from vsperf.otg.server import OtgServer

pytestmark = pytest.mark.machine

PATIENCE_S = 20.0


@pytest.fixture(name="api", scope="module")
def fixture_api(tmp_path_factory: pytest.TempPathFactory, require: Require) -> Iterator[snappi.Api]:
    """snappi, connected to a server on both ends of a cable."""
    for part in ("tgen", "root", "namespaces"):
        require(part)
    with apart(tmp_path_factory.mktemp("apart")), otg_server(CABLE) as server:
        yield connected(server)


def connected(server: OtgServer) -> snappi.Api:
    return snappi.api(location=server.url, verify=False, version_check=True)


def start(api: snappi.Api) -> None:
    state = api.control_state()
    state.traffic.flow_transmit.state = state.traffic.flow_transmit.START
    api.set_control_state(state)


def two_ports(api: snappi.Api) -> snappi.Config:
    config = api.config()
    config.ports.port(name="p1", location="p1").port(name="p2", location="p2")
    return config


def test_two_flows_with_ports_that_change_in_step_until_ports_have_counted_all(
    api: snappi.Api,
) -> None:
    """After the first script that most users of ixia-c run: two flows, back to back."""
    config = two_ports(api)
    there, back = config.flows.flow(name="p1->p2").flow(name="p2->p1")
    there.tx_rx.port.tx_name, there.tx_rx.port.rx_names = "p1", ["p2"]
    back.tx_rx.port.tx_name, back.tx_rx.port.rx_names = "p2", ["p1"]
    there.size.fixed, back.size.fixed = 128, 256
    for flow in config.flows:
        flow.duration.fixed_packets.packets = 200
        flow.rate.pps = 1000
        flow.metrics.enable = True
        ethernet, ip, udp = flow.packet.ethernet().ipv4().udp()
        ethernet.src.value, ethernet.dst.value = "00:AA:00:00:04:00", "00:AA:00:00:00:AA"
        ip.src.value, ip.dst.value = "10.0.0.1", "10.0.0.2"
        udp.src_port.increment.start = 5000
        udp.src_port.increment.step = 2
        udp.src_port.increment.count = 10
        udp.dst_port.values = [4000, 4044, 4060, 4074]
    api.set_config(config)
    start(api)
    request = api.metrics_request()
    request.port.port_names = ["p1", "p2"]
    request.port.column_names = [request.port.FRAMES_TX, request.port.FRAMES_RX]
    deadline = time.monotonic() + PATIENCE_S
    while True:
        ports = api.get_metrics(request).port_metrics
        counts = [(port.frames_tx, port.frames_rx) for port in ports]
        if counts == [(200, 200), (200, 200)]:
            break
        assert time.monotonic() < deadline, counts
        time.sleep(0.05)


def test_the_quick_start_with_bytes_of_ones_own_and_no_receiver_named(api: snappi.Api) -> None:
    """After the example of snappi's own front page."""
    config = two_ports(api)
    flow = config.flows.add(name="flow")
    flow.tx_rx.port.tx_name = "p1"
    flow.metrics.enable = True
    flow.duration.fixed_packets.packets = 100
    flow.size.fixed = 128
    ethernet, ip, udp, custom = flow.packet.ethernet().ipv4().udp().custom()
    ethernet.src.value, ethernet.dst.value = "00:11:22:33:44:55", "00:11:22:33:44:66"
    ip.src.value, ip.dst.value = "10.1.1.1", "20.1.1.1"
    udp.src_port.values = [5010, 5015, 5020, 5025, 5030]
    udp.dst_port.increment.start = 6010
    udp.dst_port.increment.step = 5
    udp.dst_port.increment.count = 5
    custom.bytes = b"..QUICKSTART SNAPPI..".hex()
    api.set_config(config)
    start(api)
    request = api.metrics_request()
    request.flow.flow_names = [flow.name]
    deadline = time.monotonic() + PATIENCE_S
    while True:
        (counted,) = api.get_metrics(request).flow_metrics
        if counted.transmit == counted.STOPPED:
            break
        assert time.monotonic() < deadline
        time.sleep(0.05)
    assert (counted.frames_tx, counted.frames_rx) == (100, 100)


def test_a_search_by_percentages_of_a_line_with_the_size_changed_in_place(
    api: snappi.Api,
) -> None:
    """After the scripts of RFC 2544 of that ecosystem: a rate in per cent, for a fixed time."""
    config = two_ports(api)
    layer1 = config.layer1.layer1(name="l1")[-1]
    layer1.port_names, layer1.speed = ["p1", "p2"], layer1.SPEED_1_GBPS
    flow = config.flows.add(name="f1")
    flow.tx_rx.port.tx_name, flow.tx_rx.port.rx_names = "p1", ["p2"]
    flow.metrics.enable = True
    flow.duration.fixed_seconds.seconds = 0.2
    flow.packet.ethernet().ipv4().udp()
    for size in (64, 1024):
        flow.size.fixed = size
        flow.rate.percentage = 0.1
        api.set_config(config)
        start(api)
        request = api.metrics_request()
        request.flow.flow_names = [flow.name]
        deadline = time.monotonic() + PATIENCE_S
        while api.get_metrics(request).flow_metrics[0].frames_tx == 0:
            assert time.monotonic() < deadline
            time.sleep(0.02)
        time.sleep(0.2)
        state = api.control_state()
        state.traffic.flow_transmit.state = state.traffic.flow_transmit.STOP
        api.set_control_state(state)
        (counted,) = api.get_metrics(request).flow_metrics
        due = int(0.2 * 1e6 / (8 * (size + 20)))
        assert 0 < counted.frames_tx <= due
        assert counted.frames_rx == counted.frames_tx
        assert counted.bytes_rx == counted.frames_rx * size


def test_what_is_refused_reaches_the_script_as_the_model_has_it(api: snappi.Api) -> None:
    config = two_ports(api)
    config.devices.device(name="d")[-1].ethernets.ethernet(name="e")
    flow = config.flows.add(name="f")
    flow.tx_rx.port.tx_name, flow.tx_rx.port.rx_names = "p1", ["p2"]
    flow.packet.ethernet().ipv4().icmp()
    with pytest.raises(Exception, match="devices") as refused:
        api.set_config(config)
    error = api.from_exception(refused.value)
    assert (error.code, error.kind) == (400, "validation")
    assert any(text.startswith("flows[0].packet: ethernet, ipv4, icmp") for text in error.errors)
