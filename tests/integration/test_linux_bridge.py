"""The kernel's bridge, for real: it forwards, counts, learns, and leaves the host as it was."""

from __future__ import annotations

import os
import signal
import socket
import struct
import subprocess
import sys
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from real_runs import Place, fixture_calibrations, fixture_place, trials_at, wait_until
from switch_cases import all_arrived, deployed, real_case, started

from vsperf.analysis.collected import digest
from vsperf.config.case import CaseSpec
from vsperf.drivers.generators.base import TrialRequest
from vsperf.drivers.vswitches.linux_bridge.netlink import Netlink
from vsperf.errors import ComponentError
from vsperf.host.dead import dead_deployments
from vsperf.host.netns import FOLDER, apart, within
from vsperf.host.networks import private_network
from vsperf.host.packet_sockets import Rings
from vsperf.host.workspace import workspace
from vsperf.records.files.series import series_of

pytestmark = [pytest.mark.machine, pytest.mark.needs("bridges", "tgen")]
__all__ = ["fixture_calibrations", "fixture_place"]

EVERY_PROTOCOL, SOL_PACKET, RX_RING = 3, 263, 5
PAGE = os.sysconf("SC_PAGESIZE")
HALF_A_SECOND = 500_000_000
SLOWLY = TrialRequest(2000, HALF_A_SECOND)
FASTER_THAN_ANY = TrialRequest(2_000_000, HALF_A_SECOND)
KILLED = """
import os, pathlib, signal, sys
from vsperf.host.networks import private_network
from vsperf.host.workspace import workspace
with workspace("a run", pathlib.Path(sys.argv[1])) as place, private_network(place) as name:
    print(name, flush=True)
    os.kill(os.getpid(), signal.SIGKILL)
"""


PORTS = pytest.mark.parametrize("ports", ["tap", "pair"])


def bridge_case(ports: str, **sections: Any) -> CaseSpec:
    """Return a case in which tgen has as many frames on their way as it has unasked on a pair."""
    case = real_case("linux-bridge", {"ports": ports}, **sections)
    own = case.generator.model_copy(update={"in_flight": None})
    return case if ports == "tap" else case.model_copy(update={"generator": own})


@pytest.mark.everyday
@pytest.mark.parametrize("flows", ["learn", pytest.param("l2", marks=pytest.mark.thorough)])
@PORTS
def test_frames_go_through_both_ways_and_are_counted(flows: str, ports: str) -> None:
    with deployed(real_case("linux-bridge", {"flows": flows, "ports": ports})) as (running, _):
        running.generator.run(SLOWLY)  # by now each address is known
        before = running.switch.counters()
        counts = running.generator.run(SLOWLY)
        after = running.switch.counters()
        assert running.switch.failure() is None
    assert before is not None and after is not None
    there, back = all_arrived(counts)
    growth = after.since(before)
    assert [(port.link, port.received_frames, port.sent_frames) for port in growth.ports] == [
        ("phy0", there, back),
        ("phy1", back, there),
    ]


@PORTS
@pytest.mark.parametrize("size", ["64B", "1518B"])
def test_every_frame_is_accounted_for_at_overload(ports: str, size: str) -> None:
    with deployed(bridge_case(ports, traffic={"frame_size": size})) as (running, _):
        running.generator.run(SLOWLY)
        before = running.switch.counters()
        counts = running.generator.run(FASTER_THAN_ANY)
        after = running.switch.counters()
    assert before is not None and after is not None
    sent = sum(way.sent_frames for way in counts.directions)
    good = sum(way.good_frames for way in counts.directions)
    assert sent - good == after.since(before).dropped_frames


@PORTS
def test_the_longest_frames_get_through(ports: str) -> None:
    case = bridge_case(ports, traffic={"frame_size": "1518B"})
    with deployed(case) as (running, _):
        counts = running.generator.run(SLOWLY)
    assert all_arrived(counts)


def test_it_forgets_what_it_has_learned_and_knows_addresses_that_no_frame_has() -> None:
    with deployed(real_case("linux-bridge")) as (running, place):
        running.generator.run(SLOWLY)
        assert "02:00:00:00:00:01" in known(place.name)
        running.switch.forget_flows()
        assert "02:00:00:00:00:01" not in known(place.name)
        running.switch.change_rules(1_000)
        assert known(place.name).count("06:00:00") == 1_000
        counts = running.generator.run(SLOWLY)
        running.switch.change_rules(-1_000)
        assert "06:00:00" not in known(place.name)
    assert all_arrived(counts)


def known(network: str) -> str:
    argv = ["bridge", "-netns", network, "fdb", "show"]
    return subprocess.run(argv, capture_output=True, text=True, check=True).stdout


@pytest.mark.everyday
def test_a_bridge_that_somebody_removes_is_named() -> None:
    with started(real_case("linux-bridge")) as (running, place):
        with Netlink.connected(place.name) as netlink:
            netlink.remove("br0")
        assert running.failure() == "the bridge br0 is gone"


def test_a_tap_that_nobody_holds_is_named_when_its_time_is_over() -> None:
    with (
        started(real_case("linux-bridge")) as (running, _),
        pytest.raises(ComponentError, match="port phy1 of the bridge did not come up"),
    ):
        running.await_ports(("phy1",), 0.3)


def test_what_a_socket_in_its_network_has_no_room_for_is_told() -> None:
    """The kernel tells of sockets of one network, and vsperf is in another than the generator."""
    two_frames = struct.pack("=IIII", PAGE, 1, PAGE // 2, 2)
    with started(real_case("linux-bridge", {"ports": "pair"})) as (running, place):
        (near, *_) = (port["device"] for port in running.facts()["ports"])

        def opened(device: str) -> socket.socket:
            made = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(EVERY_PROTOCOL))
            made.bind((device, EVERY_PROTOCOL))
            return made

        with (
            within(place.name, partial(opened, f"{near}g")) as full,
            within(place.name, partial(opened, near)) as sends,
        ):
            full.setsockopt(SOL_PACKET, RX_RING, two_frames)
            for _ in range(100):
                sends.send(bytes(60))
            rings = Rings(place.name)
            assert wait_until(lambda: rings.drops_of(os.getpid()).get(f"{near}g", 0) >= 98, 10)
            assert f"{near}g" not in Rings().drops_of(os.getpid())


def test_facts_and_access_name_its_network() -> None:
    with started(real_case("linux-bridge")) as (running, place):
        assert running.facts()["network"] == place.name
        assert running.facts()["bridges"] == {"br0": ["phy0", "phy1"]}
        for command in running.access():
            assert subprocess.run(command.split(), capture_output=True, check=True).stdout


@pytest.mark.everyday
def test_the_network_of_a_killed_run_is_removed_by_cleaning(tmp_path: Path) -> None:
    root = tmp_path / "run"
    argv = [sys.executable, "-c", KILLED, str(root)]
    killed = subprocess.run(argv, capture_output=True, text=True, check=False)
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    name = killed.stdout.strip()
    assert (FOLDER / name).exists()
    (dead,) = dead_deployments((root,))
    assert any(f"remove the network namespace {name}" in step for step in dead.steps())
    assert dead.take_down() == ()
    assert not (FOLDER / name).exists()


def devices() -> list[str]:
    with Netlink.connected() as netlink:
        return sorted(netlink.devices())


def test_a_network_apart_has_none_of_the_hosts_devices_and_ends(tmp_path: Path) -> None:
    outside = devices()
    with workspace("a test of networks", tmp_path / "run") as place:
        with private_network(place) as name:
            assert within(name, devices) == ["lo"]
            assert devices() == outside
        assert not (FOLDER / name).exists()
    assert apart(devices) == ["lo"]


def test_a_run_measures_it_and_accounts_for_every_trial(place: Place) -> None:
    settings = ("--set=vswitch.kind=linux-bridge", "--set=collect=network")
    trials = trials_at(place, "2kfps, 20kfps", "phy2phy_tput", *settings)
    assert [trial.load_fps for trial in trials] == [2_000, 20_000]
    assert all(trial.unexplained_frames == 0 for trial in trials)
    stored = place.records()
    (one,) = series_of(stored.folder, next(stored.cases()).planned.key, 1)
    seen = digest(one.header, one.samples())
    for trial in trials:
        counted = seen.of_trial(trial.index)
        assert "generator: br0" in counted, "the devices of its own network are looked at, too"
        taps = [counts["rx_frames"].value for of, counts in counted.items() if ": vsp" in of]
        assert len(taps) == len(trial.directions)
        for taken, way in zip(taps, trial.directions, strict=True):
            assert taken is not None and 0 < taken <= way.sent_frames


@pytest.mark.needs("guests")
def test_frames_pass_a_guest_on_taps(place: Place) -> None:
    settings = ("--set=vswitch.kind=linux-bridge", "--set=vnf.accelerator=tcg")
    (trial,) = trials_at(place, "2kfps", "pvp_tput", *settings)
    assert all(way.good_frames > 0 for way in trial.directions)
    assert all(nic.received_frames > 0 for vnf in trial.vnfs for nic in vnf.nics)
