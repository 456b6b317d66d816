"""The real OVS-DPDK: it comes up, forwards, counts, says why it failed, and leaves nothing."""

from __future__ import annotations

import os
import shutil
import signal
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

import pytest
from cable import fixture_cables
from kept import Kept, keeping
from ovs_cases import deployed, ovs_case
from ovs_traffic import (
    SLOWLY,
    Connected,
    accounts_close_at_overload,
    connected,
    generator,
    send,
    wait_until,
)
from places import PLACEMENT, hugepages

from vsperf.drivers.generators.tgen.byhand import Sending
from vsperf.drivers.vswitches.ovs.dpdk.driver import OvsDpdk
from vsperf.drivers.vswitches.ovs.programs import planned_programs
from vsperf.errors import ComponentError, NotReadyError
from vsperf.host.workspace import workspace
from vsperf.records.run import Placement

pytestmark = pytest.mark.machine
__all__ = ["fixture_cables"]

SECOND = 1_000_000_000
PORTS = ("vhost-user-client", pytest.param("vhost-user", marks=pytest.mark.thorough))


def free_hugepages() -> int:
    lines = Path("/proc/meminfo").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("HugePages_Free:"))


def folders() -> set[Path]:
    """Return the folders of deployments of this process, and of DPDK in them."""
    with workspace("to learn where workspaces are") as place:
        root, own = place.folder.parent, place.folder
    mine = f"vsperf-{os.getpid()}-*"
    return {*root.glob(mine), *Path("/run/dpdk").glob(mine)} - {own}


@contextmanager
def nothing_left() -> Iterator[None]:
    """See that hugepages are given back and that the folder of the deployment is gone."""
    pages, there = free_hugepages(), folders()
    yield
    assert free_hugepages() == pages
    assert folders() <= there


@pytest.fixture(scope="module", autouse=True)
def _needs_ovs(require: Callable[[str], None]) -> Iterator[None]:
    require("ovs-dpdk")
    require("hugepages")
    with nothing_left(), hugepages():
        yield


@pytest.fixture(scope="module")
def kept(_needs_ovs: None) -> Iterator[Kept[Connected]]:
    def made(ports: str) -> AbstractContextManager[Connected]:
        return connected(ovs_case({"ports": ports}), hugepages=True)

    with keeping(made, Connected.state) as kept:
        yield kept


@pytest.fixture(scope="module", params=PORTS)
def ports(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def shared(
    request: pytest.FixtureRequest,
    kept: Kept[Connected],
    ports: str,
    require: Callable[[str], None],
) -> Connected:
    """Return a switch with a generator, which stands from one test to the next."""
    require("tgen")
    return kept.lent(request.node.name, ports)


@pytest.fixture(autouse=True)
def _leaves_nothing(request: pytest.FixtureRequest, kept: Kept[Connected]) -> Iterator[None]:
    if "shared" in request.fixturenames:
        yield
        return
    kept.take_down()
    with nothing_left():
        yield


def refusal(case: Any, placement: Placement = PLACEMENT) -> NotReadyError:
    with pytest.raises(NotReadyError) as caught, deployed(case, placement):
        pass
    return caught.value


@pytest.mark.everyday
def test_frames_go_through_both_ways(shared: Connected) -> None:
    before = shared.running.counters()
    assert send(shared.tgen, SLOWLY) == (40_000, 40_000)
    growth = shared.running.counters().since(before)
    assert shared.running.failure() is None
    (pmd,) = growth.pmds
    assert (pmd.cpu, pmd.frames) == (1, 40_000)
    assert sum(pmd.hits.values()) == 40_000
    assert growth.dropped_frames == 0


@pytest.mark.everyday
def test_the_generator_makes_its_memory_before_the_switch_takes_it_up(shared: Connected) -> None:
    """Memory that came later would keep OVS from forwarding for a moment, and nobody knows when."""
    send(shared.tgen, SLOWLY, flows=5000)
    said = (shared.place.folder / "ovs-vswitchd.log").read_text()
    assert said.count("VHOST_USER_SET_MEM_TABLE") == 2
    assert "set queue enable: 0" not in said


@pytest.mark.needs("tgen")
def test_an_install_elsewhere_is_used_by_its_path_and_recorded(tmp_path: Path) -> None:
    ours, theirs = planned_programs(str(tmp_path)), planned_programs(None)
    for copy, original in zip(ours.paths, theirs.paths, strict=True):
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(original, copy)
    case = ovs_case({"install": str(tmp_path)})
    endpoints = OvsDpdk().plan(case, PLACEMENT).endpoints
    with deployed(case) as (running, place), generator(endpoints, running, place) as tgen:
        assert send(tgen, SLOWLY) == (40_000, 40_000)
        programs = {
            Path(f"/proc/{daemon.pid}/exe").resolve() for daemon in running.daemons.values()
        }
        facts = running.facts()
    assert programs == {ours.daemon, ours.database_server}
    assert (facts["daemon"], facts["daemon_sha256"]) == (
        str(ours.daemon),
        theirs.tree.digest(theirs.daemon),
    )


def test_every_frame_is_accounted_for_at_overload(shared: Connected) -> None:
    accounts_close_at_overload(shared.tgen, shared.running)


def test_a_daemon_that_hangs_is_not_waited_for(shared: Connected) -> None:
    daemon, usual = shared.running.daemons["ovs-vswitchd"].pid, shared.running.patience_s
    shared.running.patience_s = 0.2
    os.kill(daemon, signal.SIGSTOP)
    os.waitid(os.P_PID, daemon, os.WSTOPPED | os.WNOWAIT)
    try:
        failure = shared.running.failure()
        with pytest.raises(ComponentError, match="did not answer"):
            shared.running.counters()
    finally:
        os.kill(daemon, signal.SIGCONT)
        shared.running.patience_s = usual
    assert failure is not None
    assert failure.startswith("ovs-vswitchd is stopped: somebody sent it SIGSTOP")


@pytest.mark.needs("tgen")
def test_facts_say_what_was_negotiated() -> None:
    case = ovs_case({"smc": True, "emc": False})
    endpoints = OvsDpdk().plan(case, PLACEMENT).endpoints
    with deployed(case) as (running, place), generator(endpoints, running, place):
        facts = running.facts()
    assert facts["other_config"]["smc-enable"] == "true"
    assert facts["other_config"]["dpdk-extra"].endswith("--file-prefix=NAME-ovs")
    assert facts["other_config"]["emc-insert-inv-prob"] == "0"
    assert facts["dpdk_version"].startswith("DPDK ")
    assert len(facts["daemon_sha256"]) == 64
    ports = {port["name"]: port for port in facts["ports"]}
    assert ports["phy0"]["mtu"] == 1500
    assert ports["phy0"]["status"]["vring_0_size"] == "1024"
    assert int(ports["phy0"]["status"]["features"], 16) > 0
    assert {(queue["port"], queue["cpu"]) for queue in facts["queues"]} == {
        ("phy0", 1),
        ("phy1", 1),
    }


@pytest.mark.needs("tgen")
def test_long_frames_get_through_where_the_traffic_has_them() -> None:
    case = ovs_case(traffic={"frame_size": "9018B"})
    endpoints = OvsDpdk().plan(case, PLACEMENT).endpoints
    with deployed(case) as (running, place), generator(endpoints, running, place) as tgen:
        assert send(tgen, SLOWLY, size=9018) == (40_000, 40_000)


@pytest.mark.needs("tgen")
def test_without_hugepages_it_forwards_too() -> None:
    before = free_hugepages()
    case = ovs_case({"hugepages": False})
    endpoints = OvsDpdk().plan(case, PLACEMENT).endpoints
    with deployed(case) as (running, place), generator(endpoints, running, place) as tgen:
        assert free_hugepages() == before
        assert send(tgen, Sending(rate_fps="1000", frames=1000, in_flight=128)) == (2000, 2000)
        assert running.failure() is None


@pytest.mark.parametrize("kind", ["l2", "l3", "l4"])
@pytest.mark.needs("tgen")
def test_each_flow_meets_a_rule_of_its_own(kind: str) -> None:
    case = ovs_case({"flows": kind}, traffic={"flows": 5000})
    endpoints = OvsDpdk().plan(case, PLACEMENT).endpoints
    with deployed(case) as (running, place), generator(endpoints, running, place) as tgen:
        assert send(tgen, SLOWLY, flows=5000) == (40_000, 40_000)
        upcalls = sum(pmd.hits["upcall"] for pmd in running.counters().pmds)
    assert upcalls >= (2 if kind == "l2" else 10_000)


@pytest.mark.parametrize("name", ["ovs-vswitchd", "ovsdb-server"])
def test_a_daemon_that_was_killed_is_named(name: str) -> None:
    with deployed(ovs_case()) as (running, _):
        os.kill(running.daemons[name].pid, signal.SIGKILL)
        running.daemons[name].await_end(5)
        failure = running.failure()
    assert failure is not None
    assert failure.startswith(f"{name} was killed by SIGKILL")


@pytest.mark.needs("tgen")
def test_buffers_that_do_not_fit_when_the_generator_connects_are_a_failure() -> None:
    spec = {"hugepages": False, "other_config": {"per-port-memory": "false"}}
    case = ovs_case(spec)
    endpoints = OvsDpdk().plan(case, PLACEMENT).endpoints
    with deployed(case) as (running, place), generator(endpoints, running, place, ready=False):
        # That is final, though OVS tries again, and now and then comes by a smaller pool.
        wait_until(lambda: running.failure() is not None)
        assert "memory pool" in (running.failure() or "")


def test_more_memory_than_there_is_is_refused_with_the_line_of_the_log() -> None:
    error = refusal(ovs_case({"memory": 65536}))
    assert "hugepages" in str(error)
    assert "65536" in (error.problems[0].why or "")


def test_a_polling_thread_on_a_cpu_that_is_not_there_is_refused() -> None:
    error = refusal(ovs_case(), Placement(cpus={"pmd": (1, 500), "switch main": (0,)}))
    assert "CPU 500" in str(error)


def test_a_device_that_dpdk_refuses_is_named() -> None:
    links = {"phy0": {"switch": "net_nonsense0", "generator": "net_null0"}}
    error = refusal(ovs_case(links=links))
    assert "phy0" in str(error)
    assert "net_nonsense0" in (error.problems[0].why or "")


def test_a_device_of_dpdk_can_be_a_port() -> None:
    links = {"phy0": {"switch": "net_null0,no-rx=1", "generator": "net_null1"}}
    with deployed(ovs_case(links=links)) as (running, _):
        assert running.failure() is None
        (interface,) = (port for port in running.facts()["ports"] if port["name"] == "phy0")
        assert interface["number"] == 1
        assert interface["status"]["driver_name"] == "net_null"


@pytest.mark.parametrize("device", ["net_af_packet{0},iface=vscable{0}s", "afxdp:vscable{0}s"])
@pytest.mark.usefixtures("cables")
@pytest.mark.needs("tgen")
def test_devices_of_the_kernel_can_be_ports(device: str) -> None:
    """How many arrive is the kernel's affair: a socket drops what nobody fetches in time, and its
    driver does not count that.
    """
    links = {
        f"phy{number}": {
            "switch": device.format(number),
            "generator": f"net_af_packet{number},iface=vscable{number}g",
        }
        for number in (0, 1)
    }
    case = ovs_case(links=links)
    endpoints = OvsDpdk().plan(case, PLACEMENT).endpoints
    with deployed(case) as (running, place), generator(endpoints, running, place) as tgen:
        before = running.counters()
        send(tgen, Sending(rate_fps="1000", frames=1000))
        growth = running.counters().since(before)
    assert [port.link for port in growth.ports] == ["phy0", "phy1"]
    assert all(0 < port.received_frames <= 1000 for port in growth.ports)


def test_arguments_that_dpdk_does_not_know_are_refused_with_the_line_of_the_log() -> None:
    error = refusal(ovs_case({"other_config": {"dpdk-extra": "--no-such-thing"}}))
    assert "did not start" in str(error)
