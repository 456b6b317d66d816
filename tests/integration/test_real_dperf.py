"""A real dperf on both ports of the kernel's router: what it tells, and what is left of it.

It has to be one that takes devices of DPDK other than NICs: `VSPERF_DPERF` names its folder.
"""

from __future__ import annotations

import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import pytest
from connection_cases import opened_through
from dperf_cases import dperf_case, dperf_program
from hop_cases import CLIENTS, SERVERS
from real_runs import Place, fixture_calibrations, fixture_place
from switch_cases import deployed

from vsperf.config.case import CaseSpec
from vsperf.config.connections import clients_of, servers_of
from vsperf.drivers.generators.base import (
    ConnectionEnd,
    ConnectionEnds,
    ConnectionsRequest,
    ConnectsSession,
)
from vsperf.drivers.vswitches.nftables.driver import TABLE, RunningRouter
from vsperf.errors import ExitCode
from vsperf.host.netns import entering
from vsperf.methods.connections import ConnectionsAsked
from vsperf.quantities.units import NANOSECONDS
from vsperf.records.connections import ConnectionCounts

pytestmark = [
    pytest.mark.machine,
    pytest.mark.thorough,
    pytest.mark.needs("dperf", "nftables", "tgen", "hugepages"),
]
__all__ = ["fixture_calibrations", "fixture_place"]

ADMITTED_CPS, AT_ONCE = 1_500, 1_000
"""What a rule lets pass of new connections: so many a second, and so many more in a burst."""
OVERLOAD = ConnectionsAsked(rate_cps=3_000, connections=15_000, response_bytes=128, attempts=1)
CALMLY = ConnectionsAsked(rate_cps=500, connections=1_000, response_bytes=128)
BRIEF = (
    "--set=search.duration=2s",
    "--set=search.resolution=50%",
    "--set=search.max_rate=1000",
    "--set=trial.stretch_tolerance=100%",
)


@dataclass
class Opened:
    """A router, and who opens connections through it."""

    router: RunningRouter
    session: ConnectsSession
    case: CaseSpec

    def made(self, asked: ConnectionsAsked) -> ConnectionCounts:
        clients, servers = clients_of(self.case), servers_of(self.case)
        hops = self.router.next_hops()
        shared_out: bool = getattr(self.case.vswitch, "shares_out", False)
        ends = ConnectionEnds(
            ConnectionEnd(clients, hops[clients.link]),
            ConnectionEnd(servers, hops[servers.link]),
            clients.service_ip if shared_out else str(servers.first_ip),
            1 if shared_out else servers.addresses,
        )
        return self.session.connect(ConnectionsRequest(asked, ends))

    def nft(self, *words: str) -> None:
        argv = [*entering(self.router.network), self.router.nft.path, *words]
        subprocess.run(argv, check=True, capture_output=True)


@contextmanager
def opened(case: CaseSpec) -> Iterator[Opened]:
    with deployed(case) as (running, _):
        assert isinstance(running.switch, RunningRouter)
        assert isinstance(running.generator, ConnectsSession)
        yield Opened(running.switch, running.generator, case)
        assert running.generator.failure() is None


def of_dperf(nat: str) -> CaseSpec:
    return dperf_case("nftables", clients=CLIENTS, servers=SERVERS, real=True, nat=nat)


@pytest.mark.parametrize("nat", ["none", "source", "destination"])
def test_each_connection_is_three_packets_each_way_and_an_entry_of_the_router(nat: str) -> None:
    with opened(of_dperf(nat)) as parts:
        before = parts.router.counters()
        made = parts.made(CALMLY)
        growth = parts.router.counters().since(before)
        entries = parts.router.netfilter.connections()
    assert made.client is not None and made.server is not None
    assert made.client.completed == made.client.launched == CALMLY.connections
    assert made.client.responses == made.server.responses == made.server.accepted == entries
    assert made.client_segments is not None and made.server_segments is not None
    sent = made.client_segments.segments_sent
    assert sent == 3 * entries + made.client_segments.repeated
    taken = {port.link: port.received_frames for port in growth.ports}
    assert taken["phy0"] >= sent
    assert taken["phy1"] >= made.server_segments.segments_sent


def test_a_second_trial_has_other_ports_and_the_same_server() -> None:
    with opened(of_dperf("none")) as parts:
        first, second = parts.made(CALMLY), parts.made(CALMLY)
        entries = parts.router.netfilter.connections()
    for made in (first, second):
        assert made.client is not None and made.server is not None
        assert made.client.completed == CALMLY.connections
    assert first.server is not None and second.server is not None
    assert first.begin_port is not None and second.begin_port is not None
    ports = second.begin_port - first.begin_port
    assert ports > 0
    room = ports * CLIENTS * SERVERS  # a machine that was away has more begun, by ports from anew
    served = [made.server.accepted for made in (first, second) if made.server is not None]
    assert entries == sum(min(room, accepted) for accepted in served)


def test_where_the_rules_let_nothing_pass_no_connection_is_answered() -> None:
    with opened(of_dperf("none")) as parts:
        parts.nft(*f"insert rule ip {TABLE} forward drop".split())
        made = parts.made(ConnectionsAsked(200, 400, response_bytes=128))
    assert made.client is not None
    assert made.client.completed == made.client.answered == 0
    assert set(made.client.failed) <= {"no_answer", "given_up"}


def test_where_each_is_reset_none_has_come_to_its_end() -> None:
    """Its own counters then tell of as many closed as opened, and of no error."""
    with opened(of_dperf("none")) as parts:
        reset = f"insert rule ip {TABLE} forward tcp dport 80 reject with tcp reset"
        parts.nft(*reset.split())
        made = parts.made(ConnectionsAsked(200, 400, response_bytes=128))
    assert made.client is not None
    assert made.client.failed == {"refused": made.client.launched}


def admitted_cps(case: CaseSpec) -> float:
    """Return what a generator finds that a router lets pass in a second, which is told how many.

    Those above that are refused at once, so nobody tries again.
    """
    with opened(case) as parts:
        over = f"limit rate over {ADMITTED_CPS}/second burst {AT_ONCE} packets"
        syn = "tcp flags & (syn | ack) == syn"
        refused = f"insert rule ip {TABLE} forward {syn} {over} reject with tcp reset"
        parts.nft(*refused.split())
        made = parts.made(OVERLOAD)
    assert made.client is not None
    assert set(made.client.failed) <= {"refused"}
    lasted_ns = made.launching_ns or OVERLOAD.duration_ns  # who does not tell was not longer
    return (made.client.completed - AT_ONCE) * NANOSECONDS / lasted_ns


def test_tgen_and_dperf_agree_on_a_devices_connections_a_second_within_5_percent() -> None:
    by_tgen = admitted_cps(
        opened_through("nftables", clients=CLIENTS, servers=SERVERS, real=True, nat="none")
    )
    by_dperf = admitted_cps(of_dperf("none"))
    assert by_dperf == pytest.approx(by_tgen, rel=0.05)
    assert by_tgen == pytest.approx(ADMITTED_CPS, rel=0.05)


def test_both_are_held_against_each_other_in_one_run(place: Place) -> None:
    both = f"--set=generator=[tgen, {{kind: dperf, path: {dperf_program()}}}]"
    ended = place.until_decided("run", "nat_cps", both, *BRIEF)
    assert ended.code in {ExitCode.OK, ExitCode.INVALID_RESULT}, ended.said
    cases = {case.planned.driver("generator"): case for case in place.records().cases()}
    assert set(cases) == {"tgen", "dperf"}
    for case in cases.values():
        made = [one for one in case.connections if one.client is not None]
        assert sum(one.client.completed for one in made if one.client is not None) > 0
    compared = place("compare", "latest", "--by", "generator")
    assert compared.code == ExitCode.OK, compared.said
    assert "dperf" in compared.out


def test_where_there_is_no_switch_each_client_reaches_the_server_by_their_memory(
    place: Place,
) -> None:
    alone = f"--set=generator={{kind: dperf, path: {dperf_program()}}}"
    ended = place.until_decided("run", "http_one_core_cps", alone, *BRIEF)
    assert ended.code in {ExitCode.OK, ExitCode.INVALID_RESULT}, ended.said
    (case,) = place.records().cases()
    made = [one.client for one in case.connections if one.client is not None]
    assert len(made) > 1
    assert all(client.launched == client.completed for client in made)


def test_what_a_killed_run_left_is_cleaned_up_and_no_page_is_lost(place: Place) -> None:
    alone = f"--set=generator={{kind: dperf, path: {dperf_program()}}}"
    run = place.start("run", "nat_cps", alone, "--set=search.duration=20s")
    run.wait_for("ConnectionsStarted")
    run.wait_until(lambda: "dperf-client" in place.programs().values())
    run.send(signal.SIGKILL)
    run.process.wait()
    assert place("clean").code == ExitCode.OK
    assert place.traces() == []
