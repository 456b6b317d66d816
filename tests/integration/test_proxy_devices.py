"""Proxies as the device, for real: what passes them, what they count, what is left of them."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from connection_cases import opened_through
from hop_cases import CONNECTIONS, SECOND_NS, between, briefly, completed
from leave_no_trace import networks
from real_runs import Place, fixture_calibrations, fixture_place, wait_until
from switch_cases import started

from vsperf.drivers.vswitches.proxy.running import RunningProxy
from vsperf.errors import ExitCode
from vsperf.host.dead import dead_deployments
from vsperf.host.netns import FOLDER
from vsperf.host.procfs import in_session

pytestmark = pytest.mark.machine
__all__ = ["fixture_calibrations", "fixture_place"]

PATIENCE_S = 30.0
BRIEF = ("--set=search.duration=500ms", "--set=search.resolution=50%", "--set=search.max_rate=1000")
KILLED = """
import os, pathlib, signal, sys
sys.path[:0] = sys.argv[3:]
from connection_cases import opened_through
from places import PLACEMENT
from switch_cases import driver_of
from vsperf.host.workspace import workspace
case = opened_through(sys.argv[2], real=True)
driver = driver_of(sys.argv[2])
plan = driver.plan(case, PLACEMENT)
with workspace("a run", pathlib.Path(sys.argv[1])) as place:
    with driver.start(case, plan, PLACEMENT, place) as running:
        print(place.name, place.short_name, running.instance.program.pid, flush=True)
        os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.fixture(name="kind", params=["haproxy", "nginx-stream"])
def fixture_kind(request: pytest.FixtureRequest, require: Callable[[str], None]) -> str:
    kind: str = request.param
    for part in ("taps", "tgen", kind):
        require(part)
    return kind


def test_connections_pass_by_two_each_and_both_ends_are_counted(kind: str) -> None:
    with between(kind, RunningProxy) as parts:
        before = parts.device.counters()
        made = parts.made(parts.calls())
        growth = parts.device.counters().since(before)
        assert parts.device.failure() is None
        assert wait_until(lambda: parts.device.kept().entries == 0, PATIENCE_S)
    assert completed(made) == CONNECTIONS
    assert made.client is not None and made.client.failed == {}
    assert made.server is not None and made.server.accepted == CONNECTIONS
    assert growth.connections is not None
    assert growth.connections.all_counts == (CONNECTIONS, CONNECTIONS)
    assert growth.dropped_frames == 0
    assert {port.link for port in growth.ports} == {"phy0", "phy1"}
    assert made.client_segments is not None and made.server_segments is not None
    taken = {port.link: port.received_frames for port in growth.ports}
    assert taken["phy0"] >= made.client_segments.segments_sent
    assert taken["phy1"] >= made.server_segments.segments_sent


@pytest.mark.needs("two-cpus")
def test_two_workers_share_connections(kind: str) -> None:
    with between(kind, RunningProxy, workers=2) as parts:
        before = parts.device.counters()
        assert completed(parts.made(parts.calls())) == CONNECTIONS
        growth = parts.device.counters().since(before)
        assert wait_until(lambda: parts.device.kept().entries == 0, PATIENCE_S)
    assert growth.connections is not None
    assert growth.connections.accepted == CONNECTIONS


def test_where_no_server_is_behind_it_clients_are_answered_and_not_served(kind: str) -> None:
    """The kernel ends their handshake before anybody knows of a server."""
    with between(kind, RunningProxy) as parts:
        alone = replace(briefly(parts.calls()), server=None, patience_ns=2 * SECOND_NS)
        before = parts.device.counters()
        made = parts.made(alone)
        growth = parts.device.counters().since(before)
    assert made.client is not None
    assert made.client.answered == 20
    assert made.client.failed == {"no_response": 20}
    assert growth.connections is not None
    assert growth.connections.accepted == 20


@pytest.mark.needs("taps", "tgen", "haproxy")
def test_connections_beyond_its_room_are_answered_and_not_served() -> None:
    """They wait in a queue of the kernel, which has ended their handshake already."""
    with between("haproxy", RunningProxy, connections=10) as parts:
        few = briefly(parts.calls())
        made = parts.made(replace(few, patience_ns=2 * SECOND_NS, hold_ns=20 * SECOND_NS))
    assert made.client is not None
    assert made.client.completed == 10
    assert made.client.failed == {"no_response": 10}


def test_ports_of_connections_that_are_over_are_free_at_once_unless_asked_otherwise(
    kind: str,
) -> None:
    def waiting(**settings: int | None) -> str:
        with between(kind, RunningProxy, **settings) as parts:
            assert completed(parts.made(parts.calls())) == CONNECTIONS
            assert wait_until(lambda: parts.device.kept().entries == 0, PATIENCE_S)
            command = f"ip netns exec {parts.device.network} cat /proc/net/sockstat"
            done = subprocess.run(command.split(), capture_output=True, text=True, check=True)
        (line,) = (one for one in done.stdout.splitlines() if one.startswith("TCP:"))
        words = line.split()
        return words[words.index("tw") + 1]

    assert waiting() == "0"
    assert waiting(time_wait_sockets=None) == str(CONNECTIONS)


@pytest.mark.parametrize("kill", [False, True], ids=["kindly", "killed"])
def test_connections_pass_again_after_a_restart(kind: str, kill: bool) -> None:
    with between(kind, RunningProxy) as parts:
        before = parts.device.instance.program.pid
        parts.device.restart(kill=kill)
        assert parts.device.instance.program.pid != before
        assert in_session(before) == ()
        assert parts.device.failure() is None
        assert completed(parts.made(parts.calls())) == CONNECTIONS


def test_a_worker_that_stands_still_or_is_gone_is_named(kind: str) -> None:
    with started(opened_through(kind, real=True)) as (running, _):
        worker = running.instance.workers[0]
        os.kill(worker, signal.SIGSTOP)
        assert wait_until(running.failure, PATIENCE_S)
        assert "stopped" in running.failure()
        os.kill(worker, signal.SIGCONT)
        assert wait_until(lambda: running.failure() is None, PATIENCE_S)
        os.kill(worker, signal.SIGKILL)
        assert wait_until(running.failure, PATIENCE_S)


def test_what_it_is_and_how_it_was_told_is_known(kind: str) -> None:
    with started(opened_through(kind, servers=2, real=True)) as (running, place):
        facts, hops = running.facts(), running.next_hops()
    assert facts["network"] == place.name
    assert facts["service"] == "198.18.255.1"
    assert facts["servers"] == ["198.19.0.1:80", "198.19.0.2:80"]
    assert facts["settings"]["ipv4/ip_local_port_range"].split() == ["1024", "65535"]
    assert facts["settings"]["ipv4/tcp_max_tw_buckets"] == "0"
    assert {port["place"]: port["mac"] for port in facts["ports"]} == hops
    assert any("198.18.255.1:80" in line for line in facts["configuration"])


def test_what_a_killed_run_started_is_ended_by_cleaning(kind: str) -> None:
    with TemporaryDirectory(prefix="rt-") as runtime:  # short, as sockets need
        root = Path(runtime) / "run"
        argv = [sys.executable, "-c", KILLED, str(root), kind, *sys.path]
        killed = subprocess.run(argv, capture_output=True, text=True, check=False)
        assert killed.returncode == -signal.SIGKILL, killed.stderr
        network, short, pid = killed.stdout.split()
        assert (FOLDER / network).exists()
        assert in_session(int(pid)) != ()
        (dead,) = dead_deployments((root,))
        assert dead.take_down() == ()
    assert in_session(int(pid)) == ()
    assert not (FOLDER / network).exists()
    assert not [*Path("/sys/class/net").glob(f"{short}*")]


def test_a_testcase_of_a_load_balancer_runs_through_it(kind: str, place: Place) -> None:
    before = networks()
    ended = place("run", "lb_cps", *BRIEF, f"--vswitch={kind}")
    assert ended.code in {ExitCode.OK, ExitCode.INVALID_RESULT}, ended.said
    (case,) = place.records().cases()
    seen = [one for one in case.connections if one.client is not None and one.switch is not None]
    assert seen
    for one in seen:
        assert one.client is not None and one.switch is not None
        assert one.switch.connections is not None
        assert one.client.completed <= min(one.switch.connections.all_counts)
    assert any(one.client.completed for one in seen if one.client is not None)
    assert (place.traces(), networks()) == ([], before)
