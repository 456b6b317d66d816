"""testpmd in the place of a switch, for real: it forwards, counts, restarts, and ends well."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import AbstractContextManager

import pytest
from kept import Kept, State, keeping
from switch_cases import PVP, all_arrived, deployed, real_case, started

from vsperf.deploy.deployment import Deployment
from vsperf.drivers.generators.base import TrialRequest
from vsperf.engine.checks import check_headers
from vsperf.errors import ComponentError
from vsperf.host.workspace import Workspace
from vsperf.records.switch import SwitchCounters
from vsperf.records.trial import Purpose, Trial, TrialCounts

pytestmark = [pytest.mark.machine, pytest.mark.needs("tgen", "dpdk-testpmd")]

ORDINARY = {"hugepages": False}
Deployed = tuple[Deployment, Workspace]
PATIENCE_S = 10.0
HALF_A_SECOND = 500_000_000
FEW = TrialRequest(1000, 200_000_000, headers=True)
"""So many as a ring between two of them has room for, whoever does not run meanwhile."""
FASTER_THAN_ANY = TrialRequest(30_000_000, HALF_A_SECOND)


def as_trial(counts: TrialCounts, switch: SwitchCounters | None = None) -> Trial:
    return Trial(
        **dict(counts), index=1, purpose=Purpose.PATH_CHECK, load_fps=2000, switch=switch,
        duration_ns=HALF_A_SECOND, started_at="2026-01-01T00:00:00.000+00:00",
    )  # fmt: skip


@pytest.fixture(scope="module")
def kept() -> Iterator[Kept[Deployed]]:
    def made(ports: str) -> AbstractContextManager[Deployed]:
        return deployed(real_case("testpmd", {"ports": ports, **ORDINARY}))

    with keeping(made, state) as kept:
        yield kept


@pytest.fixture(
    scope="module",
    params=["vhost-user-client", pytest.param("vhost-user", marks=pytest.mark.thorough)],
)
def ports(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(autouse=True)
def _room(request: pytest.FixtureRequest, kept: Kept[Deployed]) -> None:
    if "shared" not in request.fixturenames:
        kept.take_down()


@pytest.fixture
def shared(request: pytest.FixtureRequest, kept: Kept[Deployed], ports: str) -> Deployed:
    """Return a testpmd with a generator, which stands from one test to the next."""
    return kept.lent(request.node.name, ports)


def state(standing: Deployed) -> State:
    """Return what every test leaves as it was: it works, and nothing is under way in it."""
    switch = standing[0].switch
    switch.await_ports(("phy0", "phy1"), PATIENCE_S)
    return {
        "its failure": switch.failure(),
        "whether it rests": switch.counters() == switch.counters(),
    }


@pytest.mark.everyday
def test_frames_go_through_both_ways_and_are_counted(shared: Deployed) -> None:
    running, _ = shared
    before = running.switch.counters()
    assert before is not None
    counts = running.generator.run(FEW)
    after = running.switch.counters()
    assert after is not None
    assert running.switch.failure() is None
    there, back = all_arrived(counts)
    growth = after.since(before)
    assert [(port.link, port.received_frames, port.sent_frames) for port in growth.ports] == [
        ("phy0", there, back),
        ("phy1", back, there),
    ]
    assert growth.pmds == (), "how busy it is, testpmd does not say; so it is not there, and not 0"


def test_every_frame_is_accounted_for_at_overload(shared: Deployed) -> None:
    running, _ = shared
    before = running.switch.counters()
    counts = running.generator.run(FASTER_THAN_ANY)
    after = running.switch.counters()
    assert before is not None and after is not None
    trial = as_trial(counts, after.since(before))
    assert trial.unexplained_frames == 0
    assert trial.sent_frames > 0


def test_facts_say_what_it_is(shared: Deployed) -> None:
    running, place = shared
    facts = running.switch.facts()
    assert all(str(place.folder) in command for command in running.switch.access())
    assert facts["dpdk_version"].startswith("DPDK ")
    assert [(port["place"], port["name"]) for port in facts["ports"]] == [
        ("phy0", "net_vhost0"),
        ("phy1", "net_vhost1"),
    ]


def test_frames_pass_a_vnf_and_every_port_counts_them() -> None:
    with deployed(real_case("testpmd", ORDINARY, topology=PVP)) as (running, _):
        before = running.switch.counters()
        counts = running.generator.run(FEW)
        after = running.switch.counters()
    assert before is not None and after is not None
    sent = all_arrived(counts)
    growth = {port.name: port for port in after.since(before).ports}
    assert set(growth) == {"phy0", "phy1", "vm1_0", "vm1_1"}
    assert growth["vm1_0"].vnf == "vm1"
    for one in growth.values():
        assert sorted((one.received_frames, one.sent_frames)) == sorted(sent)


def test_what_a_vnf_has_no_room_for_is_counted_at_its_port() -> None:
    case = real_case("testpmd", ORDINARY, topology=PVP)
    generator = case.generator.model_copy(update={"in_flight": 0})
    with deployed(case.model_copy(update={"generator": generator})) as (running, _):
        vnfs = running.vnfs
        assert vnfs is not None
        before, inside = running.switch.counters(), vnfs.counters()
        counts = running.generator.run(FASTER_THAN_ANY)
        after, later = running.switch.counters(), vnfs.counters()
    assert before is not None and after is not None
    growth = after.since(before)
    grown = tuple(now.since(then) for now, then in zip(later, inside, strict=True))
    trial = as_trial(counts, growth).model_copy(update={"vnfs": grown})
    assert trial.unexplained_frames == 0
    assert growth.dropped_frames + sum(one.lost_frames or 0 for one in grown) > 0


@pytest.mark.parametrize("mode", ["mac", "macswap", "5tswap"])
def test_what_it_writes_into_frames_is_what_arrives(mode: str) -> None:
    case = real_case("testpmd", {"forward": mode, **ORDINARY})
    with deployed(case) as (running, _):
        counts = running.generator.run(FEW)
    assert all_arrived(counts)
    assert all(way.first_headers for way in counts.directions)
    assert check_headers(case, as_trial(counts)) == ()


def test_one_that_was_killed_is_named() -> None:
    with started(real_case("testpmd", ORDINARY)) as (running, _):
        program = running.testpmd.program
        os.kill(program.pid, signal.SIGKILL)
        program.await_end(5)
        assert str(running.failure()).startswith("testpmd was killed by SIGKILL")
        with pytest.raises(ComponentError, match="killed by SIGKILL"):
            running.counters()


def test_a_port_that_nobody_is_at_is_named_when_its_time_is_over() -> None:
    with (
        started(real_case("testpmd", ORDINARY)) as (running, _),
        pytest.raises(ComponentError, match="the link of phy1 is down"),
    ):
        running.await_ports(("phy1",), 0.3)


def test_arguments_that_dpdk_does_not_know_are_shown_with_what_it_said() -> None:
    links = {"phy0": {"switch": "net_nonsense0", "generator": "net_null0"}}
    with (
        pytest.raises(ComponentError) as caught,
        started(real_case("testpmd", ORDINARY, links=links)),
    ):
        pass
    assert "net_nonsense" in str(caught.value.problems[0].why)
