"""The conversation with servers of the OTG model, by HTTP and snappi."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from otg_fakes import FRAMES, REQUEST, FakeGenerator, case_for, fake_server
from places import started_generator
from simulated_cases import WAYS

from vsperf.errors import ComponentError, NotReadyError
from vsperf.record.plan import Endpoint
from vsperf.trafficgens.otg.client import fitting
from vsperf.trafficgens.otg.driver import OtgGenerator
from vsperf.trafficgens.otg.session import OtgSession
from vsperf.trafficgens.otg.taken import differences

ENDPOINTS = tuple(Endpoint(link=f"phy{n}", kind="vdev", address=f"net_p{n}") for n in range(2))


@contextmanager
def session_with(generator: FakeGenerator, **settings: Any) -> Iterator[OtgSession]:
    driver = OtgGenerator(generator.time.clock)
    with (
        fake_server(generator) as server,
        started_generator(driver, case_for(server, **settings), ENDPOINTS, WAYS["both"]) as session,
    ):
        yield session


def test_a_trial_of_an_honest_one_and_its_ports_are_let_go_of_at_the_end() -> None:
    honest = FakeGenerator()
    with session_with(honest) as session:
        counts = session.run(REQUEST)
        assert honest.config["ports"][0] == {"name": "phy0", "location": "net_p0"}
        assert session.facts()["application"] == "fake"
    assert [way.good_frames for way in counts.directions] == [FRAMES, FRAMES]
    assert honest.config == {}


class Hangs(FakeGenerator):
    """Never answers when asked for counters of a trial."""

    def hang(self, path: str) -> bool:
        return path == "/monitor/metrics" and self.began is not None


class LosesReplies(FakeGenerator):
    """Does what it is told, and does not say so."""

    def lose(self, path: str) -> bool:
        return path == "/control/state"


class TakesLess(FakeGenerator):
    """Takes another rate than it was given."""

    def taken(self, config: dict[str, Any]) -> dict[str, Any]:
        flows = [
            {**flow, "rate": {"choice": "pps", "pps": "1"}} for flow in config.get("flows", ())
        ]
        return {**config, "flows": flows}


class LeavesAHeaderOut(FakeGenerator):
    """Takes other frames than it was given."""

    def taken(self, config: dict[str, Any]) -> dict[str, Any]:
        flows = [{**flow, "packet": flow["packet"][:-1]} for flow in config.get("flows", ())]
        return {**config, "flows": flows}


class Silent(FakeGenerator):
    """Tells of one flow only."""

    def flows(self) -> list[dict[str, Any]]:
        return super().flows()[:1]


class Blank(FakeGenerator):
    """Leaves a counter out: it is not known, and so not 0."""

    def flow(self, flow: dict[str, Any]) -> dict[str, Any]:
        found = super().flow(flow)
        del found["frames_rx"]
        return found


class Busy(FakeGenerator):
    """Sends for somebody else."""

    def ports(self) -> list[dict[str, Any]]:
        return [{"name": "theirs", "transmit": "started"}]


class NoneOfThem(FakeGenerator):
    """Speaks JSON, and of something else."""

    def answer(self, path: str, body: dict[str, Any] | None) -> dict[str, Any]:
        return {"status": "ok"}


def test_one_that_does_not_answer_is_an_error_in_its_time() -> None:
    with (
        pytest.raises(ComponentError, match="was asked for counters of flows, and failed"),
        session_with(Hangs(), patience="1s") as session,
    ):
        session.run(REQUEST)


def test_one_that_sends_for_somebody_else_is_left_alone() -> None:
    theirs = {"ports": [{"name": "theirs", "location": "x"}], "flows": []}
    busy = Busy(config=theirs)
    with (
        pytest.raises(NotReadyError, match="sending for somebody else") as refused,
        session_with(busy),
    ):
        pytest.fail("a session was given")
    assert "theirs" in str(refused.value.problems[0].why)
    assert busy.config == theirs


def test_nobody_there_is_an_error_with_a_way_out() -> None:
    case = case_for("http://127.0.0.1:9")
    with (
        pytest.raises(ComponentError, match="was asked its version") as refused,
        started_generator(OtgGenerator(), case, ENDPOINTS, WAYS["both"]),
    ):
        pytest.fail("a session was given")
    assert "see that it runs" in str(refused.value.problems[0].fix)


@pytest.mark.parametrize(
    ("liar", "words"),
    [
        (LosesReplies(), "was asked to start, and failed"),
        (LeavesAHeaderOut(), "took another configuration than it was given"),
        (Silent(), "tells no counters of phy1 to phy0"),
        (Blank(), "tells no counters of phy0 to phy1"),
        (NoneOfThem(), "follows version unknown of the model"),
    ],
    ids=lambda one: type(one).__name__ if isinstance(one, FakeGenerator) else "",
)
def test_one_that_does_not_do_what_it_is_told_is_an_error(liar: FakeGenerator, words: str) -> None:
    with pytest.raises(ComponentError, match=words), session_with(liar) as session:
        session.run(REQUEST)


def test_another_version_of_the_model_is_refused_before_anything_is_sent() -> None:
    liar = FakeGenerator(version="2.0.0")
    with pytest.raises(ComponentError, match="follows version 2") as refused, session_with(liar):
        pytest.fail("a session was given")
    assert refused.value.problems[0].fix
    assert liar.asked == ["/capabilities/version"]


@pytest.mark.parametrize(
    ("model", "fits"),
    [("1.0.0", True), ("^1.40.1", True), ("2.0.0", False), ("0.9.1", False), ("", False)],
)
def test_only_one_major_version_fits(model: str, fits: bool) -> None:
    assert fitting(model, "1.62.0") is fits


GIVEN = {
    "flows": [
        {"name": "a", "rate": {"choice": "pps", "pps": "1000"}, "packet": [{}, {"dst": "00:AA"}]}
    ]
}


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({}, []),
        ({"rate": {"pps": "1000", "more": 1}, "metrics": {}}, []),
        ({"packet": [{}, {"dst": "00:aa"}]}, []),
        ({"packet": [{}]}, ["flows[0].packet: 1, not 2"]),
        ({"rate": {"pps": "1"}}, ["flows[0].rate.pps: 1, not 1000"]),
        ({"rate": {"choice": "gbps", "gbps": "1"}}, None),
        ({"packet": [{}, {}]}, ["flows[0].packet[1].dst: nothing, not 00:AA"]),
    ],
)
def test_a_server_may_fill_in_more_and_change_nothing(
    change: dict[str, Any], said: list[str] | None
) -> None:
    taken = {"flows": [{**GIVEN["flows"][0], **change}], "ports": []}
    found = list(differences(GIVEN, taken))
    assert found == said if said is not None else found


def test_addresses_may_be_written_otherwise() -> None:
    assert not list(differences({"value": "2001:DB8::1"}, {"value": "2001:db8:0::1"}))
    assert list(differences({"value": "2001:db8::1"}, {"value": "2001:db8::2"}))
