"""Connections through the kernel's router, for real: NAT, a load balancer, lost rules."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from leave_no_trace import networks
from real_runs import Place, fixture_calibrations, fixture_place
from vpp_cases import vpp_words

from vsperf.drivers.vswitches.nftables.driver import Nft
from vsperf.errors import ExitCode
from vsperf.records.connections import ConnectionTrial

pytestmark = [pytest.mark.machine, pytest.mark.needs("nftables", "tgen")]
__all__ = ["fixture_calibrations", "fixture_place"]

BRIEF = (
    "--set=search.duration=500ms",
    "--set=search.resolution=50%",
    "--set=search.max_rate=1000",
    "--set=trial.stretch_tolerance=100%",
)
"""A search that has an answer, however late a busy machine has its trials."""
HELD = "--set=search.duration=20s"
"""A trial that is not over before somebody strikes."""
SHUT = """table ip vsperf
delete table ip vsperf
table ip vsperf {
chain passing {
type filter hook forward priority filter; policy drop;
}
}
"""


def trials(place: Place) -> tuple[ConnectionTrial, ...]:
    (case,) = place.records().cases()
    return tuple(case.connections)


def completed(place: Place) -> int:
    """Return how many connections of the search came to their end: few on a busy machine."""
    searched = (one for one in trials(place) if one.purpose == "search")
    return sum(one.client.completed for one in searched if one.client is not None)


@pytest.mark.everyday("the one path of connections that a device rewrites")
def test_connections_pass_a_load_balancer_and_the_router_counts_their_packets(place: Place) -> None:
    before = networks()
    ended = place("run", "lb_cps", *BRIEF)
    assert ended.code in {ExitCode.OK, ExitCode.INVALID_RESULT}, ended.said
    assert completed(place) > 0
    for one in trials(place):
        if one.client is None or one.switch is None:
            continue
        assert {port.link for port in one.switch.ports} == {"phy0", "phy1"}
        # SYN, request and FIN come from a client; the last ACK is its own where FINs do not cross.
        assert one.switch.ports[0].received_frames >= 3 * one.client.completed
    (case,) = place.records().cases()
    assert case.record is not None and case.record.conditions is not None
    assert '"max"' in case.record.conditions.model_dump_json()
    assert (place.traces(), networks()) == ([], before)


@pytest.mark.parametrize("nat", ["none", "source"])
def test_connections_pass_a_firewall_and_a_nat(place: Place, nat: str) -> None:
    ended = place("run", "nat_cps", *BRIEF, f"--set=vswitch.nat={nat}")
    assert ended.code in {ExitCode.OK, ExitCode.INVALID_RESULT}, ended.said
    assert completed(place) > 0


@pytest.mark.parametrize("testcase", ["nat_udp_cps", "nat_udp_pps", "lb_udp_cps"])
def test_flows_of_udp_pass_a_nat_and_a_load_balancer(place: Place, testcase: str) -> None:
    few = ("--set=search.connections=100", "--set=search.min_rate=200")
    ended = place("run", testcase, *BRIEF, *(few if testcase.endswith("pps") else ()))
    assert ended.code in {ExitCode.OK, ExitCode.INVALID_RESULT}, ended.said
    assert completed(place) > 0
    told = (one.counts.begin_port for one in trials(place) if one.counts is not None)
    ports = [port for port in told if port is not None]
    assert len({*ports}) > 1
    assert ports == sorted(ports), "each begins behind the one before"


@pytest.mark.parametrize("switch", ["ovs-dpdk", "ovs", "vpp"])
@pytest.mark.parametrize("testcase", ["nat_cps", "lb_cps", "nat_udp_cps", "lb_udp_cps"])
def test_connections_pass_switches_that_rewrite_them(
    place: Place, require: Callable[[str], None], testcase: str, switch: str
) -> None:
    require(switch)
    words = vpp_words() if switch == "vpp" else (f"--vswitch={switch}",)
    ended = place("run", testcase, *BRIEF, *words)
    assert ended.code in {ExitCode.OK, ExitCode.INVALID_RESULT}, ended.said
    assert completed(place) > 0


@pytest.mark.everyday("the one router that a killed run leaves")
def test_a_run_that_is_killed_leaves_nothing_that_clean_does_not_remove(place: Place) -> None:
    before = networks()
    run = place.start("run", "nat_cps", *BRIEF, HELD)
    run.wait_for("ConnectionsStarted", number=2)
    run.process.kill()
    run.end()
    assert networks() != before
    assert place("clean").code == 0
    assert (place.traces(), networks()) == ([], before)


def test_a_router_that_lets_nothing_pass_any_more_is_seen_by_what_becomes_of_connections(
    place: Place,
) -> None:
    before = set(networks())
    once = ("--set=search.duration=4s", "--set=search.attempts=1", "--set=search.verify_upper=0")
    run = place.start("run", "nat_cps", *BRIEF, *once)
    run.wait_for("ConnectionsStarted", number=2)
    (network,) = set(networks()) - before
    Nft.find().read(network, SHUT)
    ended = run.end()
    assert ended.code in {ExitCode.OK, ExitCode.INVALID_RESULT}, ended.said
    struck = trials(place)[-1]
    assert struck.client is not None
    assert struck.client.completed == 0
    assert struck.causes == {"no_answer": struck.client.launched}
    assert place.traces() == []
