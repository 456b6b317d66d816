"""The real VPP: it comes up, forwards, counts, says why it failed, and leaves nothing."""

from __future__ import annotations

import os
import signal
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from ovs_traffic import SLOWLY, accounts_close_at_overload, generator, send, wait_until
from places import PLACEMENT, hugepages
from vpp_cases import deployed, vpp_case

from vsperf.config.case import CaseSpec
from vsperf.drivers.generators.tgen.byhand import Sending
from vsperf.drivers.generators.tgen.process import Tgen
from vsperf.drivers.vswitches.vpp.api import ApiError
from vsperf.drivers.vswitches.vpp.driver import Vpp
from vsperf.drivers.vswitches.vpp.running import RunningVpp
from vsperf.errors import ComponentError, VsperfError
from vsperf.host.hugepages import read_pools
from vsperf.host.workspace import Workspace

pytestmark = [pytest.mark.machine, pytest.mark.thorough]

SECOND = 1_000_000_000
LINKS = ("phy0", "phy1")
PATIENCE_S = 20.0
ATTEMPTS = 5
KINDS = ("vhost-user-client", "vhost-user", "memif")


@pytest.fixture(autouse=True)
def _needs_vpp(require: Callable[[str], None]) -> Iterator[None]:
    for part in ("vpp", "hugepages", "tgen"):
        require(part)
    with hugepages():
        yield


@contextmanager
def forwarding(case: CaseSpec, **options: Any) -> Iterator[tuple[RunningVpp, Workspace, Tgen]]:
    """Bring VPP up, with tgen at its ports."""
    endpoints = Vpp().plan(case, PLACEMENT).endpoints
    with (
        deployed(case) as (running, place),
        generator(endpoints, running, place, ready=False, **options) as tgen,
    ):
        running.await_ports(LINKS, PATIENCE_S)
        yield running, place, tgen


def all_arrive(tgen: Tgen, **stream: Any) -> None:
    """See that no frame is lost in one of several trials; others may keep a worker from running."""
    seen = []
    for _ in range(ATTEMPTS):
        seen.append(send(tgen, SLOWLY, **stream))
        if seen[-1] == (40_000, 40_000):
            return
    pytest.fail(f"frames (sent, arrived) in {ATTEMPTS} trials: {seen}")


def test_nodes_are_told_by_thread_with_their_calls_frames_and_cycles() -> None:
    node = "worker 1: vhost-user-input"
    seen = []
    with forwarding(vpp_case()) as (running, _, tgen):
        for _ in range(ATTEMPTS):
            running.counters()  # as before every trial, so it knows how many frames there were
            before = running.insides()
            sent, _ = send(tgen, SLOWLY)
            after = running.insides()
            grown = {name: after[node][name] - before[node][name] for name in after[node]}
            assert grown["frames"] >= sent, "the copy that is read knows of all of them"
            assert grown["calls"] >= sent // 256 and grown["cycles"] > 0, "a vector has at most 256"
            seen.append((sent, grown["frames"]))
            if sent == grown["frames"]:  # else VPP has counted some twice, as it copied them
                break
    assert seen[-1] == (40_000, 40_000), seen
    assert after["daemon"]["buffers_default-numa-0"] > 0


@pytest.mark.parametrize(
    "switch",
    [
        {"forwarding": "bridge"},
        {"forwarding": "bridge", "learn": False},
        {"forwarding": "ip4"},
        {"forwarding": "xconnect", "packed": True, "mergeable": False},
        {"hugepages": False},
    ],
    ids=lambda switch: " ".join(f"{name}={value}" for name, value in switch.items()),
)
def test_frames_find_their_way(switch: dict[str, Any]) -> None:
    with forwarding(vpp_case(switch)) as (running, _, tgen):
        all_arrive(tgen)
        assert running.failure() is None


def test_long_frames_get_through() -> None:
    with forwarding(vpp_case(traffic={"frame_size": "9018B"})) as (_, _, tgen):
        all_arrive(tgen, size=9018)


@pytest.mark.parametrize("ports", KINDS)
def test_every_frame_is_accounted_for_at_overload(ports: str) -> None:
    with forwarding(vpp_case({"ports": ports}), hugepages=True) as (running, _, tgen):
        accounts_close_at_overload(tgen, running)


def test_the_worker_is_busy_with_frames_and_idle_without() -> None:
    def pauses() -> bool:
        return any(one.idle_cycles for one in running.counters().since(before).pmds)

    with forwarding(vpp_case()) as (running, _, tgen):
        before = running.counters()
        wait_until(pauses)  # what workers do is copied once a second
        (idle,) = running.counters().since(before).pmds
        for _ in range(ATTEMPTS):
            between = running.counters()
            sent, _ = send(tgen, Sending(rate_fps="500000", frames=500_000))
            after = running.counters()
            if busy := after.since(between).pmds:  # else it is known that they are wrong
                break
    assert (idle.cpu, idle.frames, idle.busy_cycles) == (1, 0, 0)
    assert busy[0].frames == sent
    assert (busy[0].busy_cycles or 0) > 0


def test_a_bridge_says_what_it_learned_and_forgets_it_when_told() -> None:
    with forwarding(vpp_case({"forwarding": "bridge"})) as (running, _, tgen):
        send(tgen, SLOWLY)
        addresses = running.counters().addresses
        assert addresses is not None
        assert addresses.known == 2
        assert addresses.learned >= 2  # each frame of a burst that was not known yet
        running.forget_flows()
        addresses = running.counters().addresses
        assert addresses is not None and addresses.known == 0


@pytest.mark.parametrize("ports", KINDS)
def test_the_other_end_of_a_port_may_come_anew(ports: str) -> None:
    case = vpp_case({"ports": ports})
    endpoints = Vpp().plan(case, PLACEMENT).endpoints
    with deployed(case) as (running, place):
        for _ in range(2):
            with generator(endpoints, running, place, ready=False) as tgen:
                running.await_ports(LINKS, PATIENCE_S)
                all_arrive(tgen)


def test_a_vpp_that_was_killed_is_named() -> None:
    with deployed(vpp_case()) as (running, _):
        os.kill(running.daemon.pid, signal.SIGKILL)
        running.daemon.await_end(5)
        failure = running.failure()
    assert failure is not None and failure.startswith("vpp was killed by SIGKILL")


def test_a_vpp_that_hangs_is_not_waited_for() -> None:
    with deployed(vpp_case()) as (running, _):
        running.api.patience_s = 0.2
        os.kill(running.daemon.pid, signal.SIGSTOP)
        failure = running.failure()
        with pytest.raises(ApiError, match=r"did not answer control_ping within 0\.2 s"):
            running.api.ping()
        os.kill(running.daemon.pid, signal.SIGCONT)
    assert failure is not None and failure.startswith("vpp is stopped")


def test_a_port_that_nobody_is_at_is_not_waited_for_without_end() -> None:
    with (
        deployed(vpp_case()) as (running, _),
        pytest.raises(ComponentError, match=r"port phy0, phy1 of the switch did not come up"),
    ):
        running.await_ports(LINKS, 0.5)


def test_its_sockets_are_private_and_in_its_folder() -> None:
    with deployed(vpp_case({"ports": "vhost-user"})) as (running, _):
        sockets = [path for path in running.folder.iterdir() if path.is_socket()]
        modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in sockets}
    assert modes == dict.fromkeys(
        ["api.sock", "cli.sock", "stats.sock", "phy0.sock", "phy1.sock"], 0o600
    )


def test_facts_say_what_it_is_and_what_was_agreed_on() -> None:
    with forwarding(vpp_case()) as (running, _, _tgen):
        facts = running.facts()
    assert facts["build"]["version"]
    assert len(facts["daemon_sha256"]) == 64
    assert "vhost_plugin.so" in facts["plugins"] and "memif_plugin.so" not in facts["plugins"]
    assert facts["asked"]["buffers"] == 16_384
    (pool,) = facts["buffers"].values()
    assert pool > 0
    assert [thread["cpu"] for thread in facts["threads"]] == [0, 1]
    first = facts["ports"][0]
    assert (first["name"], first["up"], first["listens"]) == ("phy0", True, False)
    assert "version_1" in first["features"] and first["memory_regions"] > 0
    assert {(one["port"], one["worker"], one["mode"]) for one in facts["queues"]} == {
        ("phy0", 1, "polling"),
        ("phy1", 1, "polling"),
    }


def test_too_few_hugepages_are_refused_and_none_taken_from_the_machine() -> None:
    """VPP would make as many as it lacks, which stay when it has ended."""
    before = [(pool.node, pool.total) for pool in read_pools()]
    with (
        pytest.raises(VsperfError, match="too few free hugepages") as caught,
        deployed(vpp_case({"buffers": 4_194_304})),
    ):
        pass
    assert "hugepages" in str(caught.value.problems[0].fix)
    assert [(pool.node, pool.total) for pool in read_pools()] == before
