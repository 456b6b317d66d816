"""The real OVS without DPDK: frames go through taps and cables, and accounts close."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path

import pytest
from cable import fixture_cables
from kept import Kept, keeping
from ovs_cases import deployed, plain_case
from ovs_traffic import Connected, connected, generator, send
from places import PLACEMENT
from real_runs import FIXED, Place, fixture_calibrations, fixture_place

from vsperf.drivers.generators.tgen.byhand import Sending
from vsperf.drivers.vswitches.ovs.plain.driver import Ovs
from vsperf.errors import ExitCode, NotReadyError
from vsperf.host.tuntap import is_there
from vsperf.records.flags import Flag
from vsperf.records.trial import Purpose

pytestmark = [pytest.mark.machine, pytest.mark.needs("ovs", "tgen")]
__all__ = ["fixture_cables", "fixture_calibrations", "fixture_place"]

SLOWLY = Sending(rate_fps="5000", frames=5000, in_flight=64)
"""A tap has room for 500 frames: even if the switch does not run for 300 ms, no more are there."""
SECOND = 1_000_000_000
PORTS = ("tap", "packet")


@pytest.fixture(scope="module")
def kept() -> Iterator[Kept[Connected]]:
    with keeping(lambda _: connected(plain_case()), Connected.state) as kept:
        yield kept


@pytest.fixture(autouse=True)
def _no_device_is_left(request: pytest.FixtureRequest, kept: Kept[Connected]) -> Iterator[None]:
    """See that there is none of OVS's own; taps are looked for by their labels, after each test."""
    if "shared" in request.fixturenames:
        yield
        return
    kept.take_down()
    yield
    assert not is_there("ovs-netdev")


@pytest.fixture
def shared(request: pytest.FixtureRequest, kept: Kept[Connected]) -> Connected:
    """Return a switch on taps with a generator, which stands from one test to the next."""
    return kept.lent(request.node.name)


@pytest.mark.everyday
def test_frames_go_through_both_ways(shared: Connected) -> None:
    before = shared.running.counters()
    assert send(shared.tgen, SLOWLY) == (10_000, 10_000)
    growth = shared.running.counters().since(before)
    assert shared.running.failure() is None
    assert [(port.name, port.link) for port in growth.ports] == [("phy0", "phy0"), ("phy1", "phy1")]
    assert [port.received_frames for port in growth.ports] == [5000, 5000]
    assert [port.sent_frames for port in growth.ports] == [5000, 5000]
    assert growth.dropped_frames == 0


def test_every_frame_is_accounted_for_at_overload(shared: Connected) -> None:
    before = shared.running.counters()
    sent, received = send(shared.tgen, Sending(duration_ns=SECOND))
    growth = shared.running.counters().since(before)
    refused = sum(port.drops["rx dropped"] for port in growth.ports)
    assert sum(port.received_frames for port in growth.ports) + refused == sent
    assert growth.dropped_frames == sent - received


def test_it_runs_where_it_was_placed(shared: Connected) -> None:
    daemon = shared.running.daemons["ovs-vswitchd"].pid
    assert os.sched_getaffinity(daemon) == {1}
    facts = shared.running.facts()
    assert "openvswitch-switch/" in facts["daemon"]
    assert facts["dpdk_version"] in (None, "none")


@pytest.mark.parametrize("kind", ["network", "l3", "learn"])
def test_rules_are_those_of_every_ovs(kind: str) -> None:
    case = plain_case({"flows": kind}, traffic={"flows": 100})
    endpoints = Ovs().plan(case, PLACEMENT).endpoints
    with deployed(case) as (running, place), generator(endpoints, running, place) as tgen:
        assert send(tgen, SLOWLY, flows=100) == (10_000, 10_000)


def test_a_daemon_that_was_killed_is_named_and_leaves_no_device() -> None:
    with deployed(plain_case()) as (running, _):
        os.kill(running.daemons["ovs-vswitchd"].pid, signal.SIGKILL)
        running.daemons["ovs-vswitchd"].await_end(5)
        assert (running.failure() or "").startswith("ovs-vswitchd was killed by SIGKILL")


@pytest.mark.parametrize("prefix", ["", "afxdp:"])
@pytest.mark.usefixtures("cables")
def test_devices_of_the_kernel_can_be_ports(prefix: str) -> None:
    links = {
        f"phy{number}": {
            "switch": f"{prefix}vscable{number}s",
            "generator": f"net_af_packet{number},iface=vscable{number}g",
        }
        for number in (0, 1)
    }
    case = plain_case(links=links)
    endpoints = Ovs().plan(case, PLACEMENT).endpoints
    with deployed(case) as (running, place), generator(endpoints, running, place) as tgen:
        before = running.counters()
        sent, received = send(tgen, Sending(rate_fps="1000", frames=1000))
        growth = running.counters().since(before)
    assert sent == 2000
    assert received > 0, "how many arrive is the kernel's affair"
    assert [port.link for port in growth.ports] == ["phy0", "phy1"]
    assert all(0 < port.received_frames <= 1000 for port in growth.ports)


def test_the_kernels_datapath_is_refused_where_the_kernel_has_none() -> None:
    has_one = Path("/sys/module/openvswitch").exists()
    refused = pytest.raises(NotReadyError, match="datapath of Open vSwitch")
    with nullcontext() if has_one else refused:
        Ovs().require(plain_case({"datapath": "kernel"}))


@pytest.mark.parametrize("ports", PORTS)
def test_a_run_on_taps_ends_with_accounts_that_close(ports: str, place: Place) -> None:
    chosen = ("--set=vswitch.kind=ovs", f"--set=vswitch.ports={ports}")
    # A frame that somebody still has when the counters are read is nobody's.
    patient = "--set=trial.drain=500ms"
    ended = place(*FIXED, *chosen, patient, "--set=search.loads=[5kfps,400kfps]")
    assert ended.code in {ExitCode.OK, ExitCode.INVALID_RESULT}, ended.err  # as busy as it is
    (case,) = place.records().cases()
    assert case.record is not None
    loads = [trial for trial in case.trials if trial.purpose is Purpose.SEARCH]
    assert loads[0].switch is not None
    assert not [trial.flags for trial in loads if Flag.UNEXPLAINED in trial.flags]


def test_a_run_that_was_killed_leaves_taps_that_clean_removes(place: Place) -> None:
    run = place.start(*FIXED, "--set=vswitch.kind=ovs", "--set=search.loads=[5kfps]")
    run.wait_for("TrialStarted", purpose="search")
    run.process.kill()
    run.end()
    cleaned = place("clean")
    assert (cleaned.code, place.traces()) == (0, [])
