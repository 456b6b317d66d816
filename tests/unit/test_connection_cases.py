"""Cases of connections: what of the traffic means something to them, and what is refused."""

from __future__ import annotations

from typing import Any

import pytest
from config_world import see_refused
from connection_models import Device, held, packets, rate
from pydantic import ValidationError
from search_models import case_of

from vsperf.cli.connections_view import segments_table
from vsperf.cli.main import run_cli
from vsperf.config.abilities import Ability
from vsperf.engine.connections import added_up
from vsperf.errors import ComponentError
from vsperf.methods.connection_search import ConnectionSearch
from vsperf.methods.connections import ConnectionsAsked
from vsperf.records.result import Figure

REFUSED = {
    # What no connection would follow.
    ("phy2phy_cps", "traffic.frame_size=64B"): "`traffic.frame_size` is 64B, and connections have",
    ("phy2phy_cps", "traffic.frame_size=9018B"): "`traffic.frame_size` is 9018B, and connections",
    ("phy2phy_cps", "traffic.flows=1k"): "`traffic.flows` says nothing to connections",
    ("phy2phy_cps", "traffic.layer3=ipv6"): "`traffic.layer3` says nothing to connections",
    ("phy2phy_cps", "traffic.vlans=[100]"): "`traffic.vlans` says nothing to connections",
    ("phy2phy_cps", "traffic.direction=reverse"): "`traffic.direction` is reverse, and clients",
    # A message that cannot be.
    ("phy2phy_cps", "search.request=47"): "`search.request` is 47, and a request of HTTP has 48",
    ("nat_udp_cps", "search.response=2000"): "`search.response` is 2,000, and a datagram carries",
    # A range in which nothing can be searched.
    ("phy2phy_cps", "search.min_rate=2M"): "`search.min_rate` is 2,000,000, and max_rate is",
    ("phy2phy_cc", "search.min_connections=1M"): "`search.min_connections` is 1,000,000, and max_",
    ("phy2phy_pps", "search.min_rate=100"): "`search.min_rate` is 100, and 10,000 connections ask",
    ("phy2phy_goodput", "search.max_rate=100"): "`search.max_rate` is 100, and min_rate is 20,000",
    ("nat_udp_cps", "search.min_rate=300k"): "`search.min_rate` is 300,000, and search.clients is",
}


@pytest.mark.parametrize(("testcase", "setting"), REFUSED)
def test_what_says_nothing_to_connections_or_cannot_be_is_refused_where_it_is_written(
    testcase: str, setting: str, capfd: pytest.CaptureFixture[str]
) -> None:
    wanted = [REFUSED[testcase, setting], f"at: --set {setting}"]
    see_refused(capfd, testcase, ["--set", setting], wanted)


@pytest.mark.parametrize("direction", ["forward", "both"])
def test_clients_are_at_one_end_whichever_way_frames_go(direction: str) -> None:
    setting = f"traffic.direction={direction}"
    assert run_cli(["plan", "phy2phy_cps", "--testbed", "local", "--set", setting]) == 0


@pytest.mark.parametrize("testcase", ["phy2phy_cps", "nat_udp_cps"])
def test_a_model_that_opens_no_connections_leads_to_a_real_testbed(
    testcase: str, capfd: pytest.CaptureFixture[str]
) -> None:
    assert run_cli(["plan", testcase, "--testbed", "sim"]) == 2
    (fix,) = (line for line in capfd.readouterr().err.splitlines() if line.startswith("  fix: "))
    assert "such as phy2phy_tput" in fix
    assert "--testbed local" in fix


# Connections by UDP: what is asked for, what is told of them, and what is refused.


def figures(method: ConnectionSearch, device: Device) -> dict[str, Figure]:
    return {one.name: one for one in method.play(device).figures}


def test_a_flood_is_of_tcp() -> None:
    with pytest.raises(ValidationError, match="syn_flood is of TCP, and protocol is udp"):
        rate(protocol="udp", syn_flood="5k")


def test_flows_of_udp_are_asked_for_and_told_without_a_handshake() -> None:
    method, device = rate(protocol="udp"), Device(rate=10_000)
    found = figures(method, device)
    assert {one.protocol for one in device.made} == {"udp"}
    assert method.checking().protocol == "udp"
    assert {*found} == {"connection_rate", "first_response_p99", "repeated_datagrams"}
    only_of_others = {f"connection_rate_{one}" for one in ("clean", "near", "far")}
    assert {*found} == {*method.metrics()} - only_of_others
    assert (
        "datagrams were sent again, as no response had come" in found["repeated_datagrams"].reason
    )
    assert rate().checking().protocol == "tcp"


def test_flows_are_held_like_connections() -> None:
    asked = held(protocol="udp").trial_at(5_000)
    assert (asked.protocol, asked.connections) == ("udp", 5_000)
    assert asked.hold_ns > 0


def test_messages_are_as_long_as_their_protocol_makes_them() -> None:
    case = case_of("mlr")

    def refused(**settings: Any) -> list[tuple[str, str | None]]:
        found = rate(**settings).contradictions(case.traffic.frame_size, case.slowest_link)
        return [(one.path, one.fix) for one in found]

    assert refused(request=47, response=77) == [
        ("request", "--set search.request=48"),
        ("response", "--set search.response=78"),
    ]
    assert refused(request=48, response=65_536) == []
    assert refused(protocol="udp", request=4, response=1460) == []
    assert refused(protocol="udp", response=1461) == [("response", "--set search.response=1460")]


def test_requests_go_over_flows_of_udp_where_that_is_asked_for() -> None:
    method = packets(protocol="udp")
    assert method.trial_at(30_000).protocol == "udp"
    found = figures(method, Device(requests=50_000))
    assert {"response_p99", "repeated_datagrams"} < {*found}
    assert "handshake_p99" not in found


def test_a_generator_is_asked_for_flows_or_for_connections() -> None:
    assert rate().asks_generator == {Ability.CONNECTIONS}
    assert rate(protocol="udp").asks_generator == {Ability.UDP_FLOWS}


def test_what_both_ends_counted_is_told_as_what_it_was() -> None:
    def title(**asked: Any) -> str:
        one = Device().connect(ConnectionsAsked(rate_cps=1_000, connections=1_000, **asked))
        return segments_table(one).title

    assert title() == "segments in trial #1"
    assert title(protocol="udp") == "datagrams in trial #1"


@pytest.mark.parametrize("end", ["client", "server", "asking"])
def test_a_generator_whose_accounts_do_not_add_up_has_failed_whoever_wrote_its_driver(
    end: str,
) -> None:
    one = Device().connect(
        ConnectionsAsked(rate_cps=1_000, connections=100, request_rps=1_000, requests_due=1_000)
    )
    assert one.counts is not None
    assert added_up(one.counts) is one.counts
    accounts = getattr(one.counts, end)
    told = {"asking": "asked", "client": "completed", "server": "closed"}[end]
    wrong = accounts.model_copy(update={told: getattr(accounts, told) + 1})
    with pytest.raises(ComponentError, match="adds up to") as refused:
        added_up(one.counts.model_copy(update={end: wrong}))
    assert refused.value.problems[0].fix


@pytest.mark.parametrize(
    ("end", "both"),
    [
        ("client", ("unsent", "launched")),
        ("server", ("left", "closed")),
        ("asking", ("unasked", "asked")),
    ],
)
def test_a_count_below_zero_makes_up_for_none_that_is_too_high(
    end: str, both: tuple[str, str]
) -> None:
    one = Device().connect(
        ConnectionsAsked(rate_cps=1_000, connections=100, request_rps=1_000, requests_due=1_000)
    )
    assert one.counts is not None
    low, high = both
    accounts = getattr(one.counts, end)
    update = {low: -5, high: getattr(accounts, high) + getattr(accounts, low) + 5}
    if end == "client":  # of which each that was launched is among those that were answered
        update |= {"answered": accounts.answered + 5, "completed": accounts.completed + 5}
    wrong = accounts.model_copy(update=update)
    with pytest.raises(ComponentError, match=f"-5 connections or requests that are {low}"):
        added_up(one.counts.model_copy(update={end: wrong}))
