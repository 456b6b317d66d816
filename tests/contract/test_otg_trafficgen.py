"""The OTG driver keeps the promises of all generators: on our own server, with real frames."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import psutil
import pytest
from attacker import as_nobody
from loopbacks import tgen_case
from otg_servers import RINGS, ask, fixture_server, transmit
from places import PLACEMENT, started_generator
from simulated_cases import WAYS
from trafficgen_contract import LIGHT, Rig, TrafficGeneratorContract

from vsperf.config.case import CaseSpec
from vsperf.drivers.generators.otg.driver import OtgGenerator, OtgSpec
from vsperf.errors import ComponentError, UsageError
from vsperf.host.places import workspaces
from vsperf.otg.server import OtgServer
from vsperf.records.run import Endpoint

pytestmark = pytest.mark.machine
__all__ = ["fixture_server"]


def otg_case(server: OtgServer | str, traffic: dict[str, Any] | None = None) -> CaseSpec:
    """Return a case for a server whose ports are p1 and p2."""
    where = server if isinstance(server, str) else server.url
    spec = {"kind": "otg", "server": where, "ports": {"phy0": "p1", "phy1": "p2"}}
    return tgen_case(traffic=traffic).model_copy(update={"generator": OtgSpec(**spec)})


ENDS = tuple(Endpoint(link=f"phy{n}", kind="vdev", address=f"net_cable{n}") for n in range(2))


class TestOnACable(TrafficGeneratorContract):
    """The switch is a piece of wire."""

    drives = OtgGenerator

    @pytest.fixture(scope="class")
    @classmethod
    def case(cls, server: OtgServer) -> CaseSpec:
        return otg_case(server)

    @pytest.fixture(scope="class")
    @classmethod
    def rig(cls, case: CaseSpec) -> Iterator[Rig]:
        yield Rig(ENDS, WAYS["both"])


@pytest.mark.parametrize(
    "traffic",
    [
        {"frame_size": "1514B", "flows": 4096},
        {"frame_size": "128B", "vlans": [100, 7]},
        {"frame_size": "128B", "layer3": "ipv6", "flows": 64},
        {"frame_size": "128B", "flows": 64, "vary": "mac", "vlans": [5]},
        {"frame_size": "128B", "flows": 64, "vary": "port", "destination": "broadcast"},
    ],
    ids=str,
)
def test_whatever_the_frames_all_of_them_are_counted(
    traffic: dict[str, Any], server: OtgServer
) -> None:
    case = otg_case(server, traffic)
    with started_generator(OtgGenerator(), case, ENDS, WAYS["both"]) as session:
        for way in session.run(LIGHT).directions:
            assert way.intended_frames == way.sent_frames == way.received_frames == LIGHT.frames
            assert way.foreign_frames == 0


def test_directions_may_have_loads_of_their_own(server: OtgServer) -> None:
    case = otg_case(server, {"frame_size": "64B", "reverse_load": "10%"})
    with started_generator(OtgGenerator(), case, ENDS, WAYS["both"]) as session:
        counts = session.run(LIGHT)
    assert [way.intended_frames for way in counts.directions] == [LIGHT.frames, LIGHT.frames // 10]
    assert [way.received_frames for way in counts.directions] == [LIGHT.frames, LIGHT.frames // 10]


def test_flows_that_fields_in_step_cannot_tell_apart_are_refused() -> None:
    case = otg_case("http://127.0.0.1:1", {"frame_size": "64B", "flows": 1 << 20})
    with pytest.raises(UsageError, match="cannot say exactly 1048576 flows") as refused:
        OtgGenerator().plan(case, ENDS, PLACEMENT)
    assert refused.value.problems[0].fix == "--set traffic.flows=65534"


RING_ENDS = tuple(
    Endpoint(link=f"phy{n}", kind="vdev", address=text.partition("=")[2])
    for n, text in enumerate(RINGS)
)
TO_ITSELF = (("phy0", "phy0"), ("phy1", "phy1"))


@pytest.mark.everyday
@pytest.mark.needs("tgen")
def test_a_private_server_sends_on_the_ports_of_a_switch_and_is_gone_with_the_session() -> None:
    with started_generator(OtgGenerator(), otg_case("start"), RING_ENDS, TO_ITSELF) as session:
        for way in session.run(LIGHT).directions:
            assert way.sent_frames == way.received_frames == LIGHT.frames
        assert session.facts()["ports"] == {"phy0": "phy0", "phy1": "phy1"}


@pytest.mark.needs("tgen")
def test_a_private_server_that_was_killed_is_named_and_leaves_nothing() -> None:
    with started_generator(OtgGenerator(), otg_case("start"), RING_ENDS, TO_ITSELF) as session:
        assert session.failure() is None
        assert session.private is not None
        session.private.process.kill()
        with pytest.raises(ComponentError, match="OTG server"):
            session.run(LIGHT)
        why = session.failure()
        assert why is not None
        assert why.startswith("otg-server was killed by SIGKILL")
        number = session.private.pid
    assert not [path for path in workspaces() if f"-{number}-" in path.name]


@pytest.mark.everyday
@pytest.mark.needs("tgen", "root")
def test_another_user_can_ask_a_private_server_for_nothing() -> None:
    driver, case = OtgGenerator(), otg_case("start")
    with started_generator(driver, case, RING_ENDS, TO_ITSELF) as session:
        url = session.facts()["server"]

        def attack() -> list[int]:
            return [
                ask(url, "GET", "/config")[0],
                ask(url, "POST", "/config", {})[0],
                ask(url, "POST", "/monitor/metrics", {"choice": "port"})[0],
                ask(url, "GET", "/nowhere", Authorization="Basic dnNwZXJmOnZzcGVyZg==")[0],
                *(transmit(url, "stop")[0] for _ in range(30)),
            ]

        assert set(as_nobody(attack)) == {401}
        for way in session.run(LIGHT).directions:
            assert way.sent_frames == way.received_frames == LIGHT.frames
        argv = " ".join(word for one in children_of(os.getpid()) for word in one)
        assert "--password-file" in argv
        assert session.client._session.auth[1] not in f"{argv} {session.facts()}"


def children_of(pid: int) -> list[list[str]]:
    found = []
    for one in psutil.Process(pid).children(recursive=True):
        with suppress(psutil.Error):  # some have just ended
            found.append(one.cmdline())
    return found
