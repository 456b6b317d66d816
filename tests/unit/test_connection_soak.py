"""Hours of connections: what failed, what was another at the end, and what a device kept."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest
from config_world import see_refused
from connection_models import POLICY, Device, held, packets, rate
from pydantic import ValidationError
from reread_connections import answers_of_connections
from search_models import case_of

from vsperf.analysis.answers import may_be_negative, more_is_better
from vsperf.cli.connections_view import segments_table
from vsperf.cli.main import run_cli
from vsperf.config.abilities import Ability
from vsperf.drivers.vswitches.hops import slab_bytes
from vsperf.engine.connections import added_up
from vsperf.errors import ComponentError
from vsperf.host.procfs import resident_bytes
from vsperf.methods.connection_search import ConnectionSearch
from vsperf.methods.connection_soak import ConnectionSoak
from vsperf.methods.connections import ConnectionsAsked
from vsperf.methods.estimate import estimate
from vsperf.quantities.units import NANOSECONDS
from vsperf.records.connections import ConnectionTrial
from vsperf.records.histogram import encode
from vsperf.records.result import Figure, Limit, SearchResult
from vsperf.records.switch import Kept
from vsperf.search.base import Budget, Loads

MIB = 1 << 20


def method(**settings: Any) -> ConnectionSoak:
    asked = {"kind": "connection_soak", "duration": "60s", "part": "10s"}
    return ConnectionSoak.model_validate({**asked, **settings})


@dataclass
class Keeper(Device):
    """A switch that keeps so much after each part."""

    entries: Callable[[int], int | None] = lambda part: 500
    memory: Callable[[int], int | None] = lambda part: 10 * MIB
    handshake_ns: Callable[[int], int] = lambda part: 100_000

    def connect(self, asked: ConnectionsAsked) -> ConnectionTrial:
        one = super().connect(asked)
        part = len(self.made)
        assert one.counts is not None and one.counts.times is not None
        times = one.counts.times.model_copy(
            update={"handshake": encode([self.handshake_ns(part)] * 100)}
        )
        after = Kept(entries=self.entries(part), memory_bytes=self.memory(part))
        made = one.model_copy(
            update={
                "kept": (Kept(entries=0, memory_bytes=4 * MIB), after, after),
                "counts": one.counts.model_copy(update={"times": times}),
            }
        )
        self.made[-1] = made
        return made


def figures(result: SearchResult) -> dict[str, Figure]:
    return {one.name: one for one in result.figures}


def test_its_time_is_cut_into_parts_of_one_rate() -> None:
    device = Keeper()
    found = method(rate="2k").play(device)
    assert [(one.rate_cps, one.asked) for one in device.made] == [(2_000, 20_000)] * 6
    assert figures(found)["failed_connections"].value == 0
    assert figures(found)["failed_connections"].limit is Limit.SETTING
    assert "of 120,000 that were begun: none" in figures(found)["failed_connections"].reason


def test_what_the_generator_did_not_begin_is_told_and_no_connection_that_held() -> None:
    failed = figures(method().play(Keeper(generator=500)))["failed_connections"]
    assert (failed.value, failed.limit) == (0, Limit.GENERATOR)
    assert failed.reason.startswith("of 30,000 that were begun, when 60,000 were due: none")


def test_where_the_time_ends_it_is_said_for_how_long_it_was() -> None:
    short = Keeper(budget=Budget(35 * NANOSECONDS))
    assert "/s for 30 s of 1m; " in figures(method().play(short))["failed_connections"].at
    assert "/s for 1m; " in figures(method().play(Keeper()))["failed_connections"].at


def test_what_fails_is_counted_by_cause() -> None:
    failed = figures(method().play(Keeper(rate=990, cause="refused")))["failed_connections"]
    assert (failed.value, failed.limit) == (600, Limit.DUT)
    assert "600 refused" in failed.reason


def test_where_there_is_no_switch_none_is_blamed() -> None:
    failed = figures(method().play(Keeper(rate=990, switched=False)))["failed_connections"]
    assert (failed.value, failed.limit) == (600, Limit.GENERATOR)


def test_where_the_generator_had_no_time_left_nobody_can_tell_whose_failures_are() -> None:
    busy = Keeper(rate=990, busy_ppm=980_000)
    failed = figures(method().play(busy))["failed_connections"]
    assert (failed.value, failed.limit) == (600, Limit.GENERATOR)
    assert "no time left" in failed.reason


@pytest.mark.parametrize("parts", [1, 3])
def test_what_was_looked_at_too_seldom_has_not_grown_by_nothing(parts: int) -> None:
    """Of one part the first is the last, and its middle one, too."""
    leaks = Keeper(
        entries=lambda part: 100 * part,
        handshake_ns=lambda part: 100_000 * part,
        budget=Budget((10 * parts + 5) * NANOSECONDS),
    )
    found = method().play(leaks)
    names = {*figures(found)}
    assert names == {"failed_connections"} | ({"handshake_drift"} if parts > 1 else set())
    settings = method().model_dump(mode="json")
    told = answers_of_connections(settings, leaks.made, found)
    assert [(who, text) for who, against in told for text in against] == []


def test_what_a_switch_keeps_is_better_where_it_is_less_and_may_shrink() -> None:
    for name, unit in ConnectionSoak.metrics(method()).items():
        assert not more_is_better(name, unit), name
    assert not more_is_better("memory_per_connection", held().metrics()["memory_per_connection"])
    assert may_be_negative("entries_growth") and may_be_negative("memory_growth")
    assert not may_be_negative("failed_connections")


def test_a_table_that_fills_and_stays_has_not_grown() -> None:
    """What a device knows of closed connections for a while is there after the first half, too."""
    found = figures(method().play(Keeper(entries=lambda part: min(part, 2) * 500)))
    assert found["entries_growth"].value == 0


def test_a_table_that_forgets_too_little_grows_and_so_does_memory() -> None:
    leaks = Keeper(entries=lambda part: 100 * part, memory=lambda part: (9 + part) * MIB)
    found = figures(method().play(leaks))
    assert (found["entries_growth"].value, found["memory_growth"].value) == (300, 3 * MIB)
    assert "300 after half of the time, 600 in the end" in found["entries_growth"].reason
    assert "12.00 MiB after half of the time" in found["memory_growth"].reason


def test_a_switch_that_does_not_tell_is_not_said_to_keep_nothing() -> None:
    silent = Keeper(entries=lambda part: None, memory=lambda part: None)
    found = method().play(silent)
    assert {*figures(found)} == {"failed_connections", "handshake_drift"}
    (curve,) = found.curves
    assert {point[3:] for point in curve.points} == {(None, None)}


def test_handshakes_that_get_longer_are_seen() -> None:
    slower = Keeper(handshake_ns=lambda part: 100_000 * part)
    drift = figures(method().play(slower))["handshake_drift"]
    assert drift.value == pytest.approx(500_000, rel=0.01)


def test_time_that_is_over_leaves_what_was_seen() -> None:
    found = method().play(Keeper(budget=Budget(45 * NANOSECONDS)))
    assert not found.complete
    (curve,) = found.curves
    assert [point[0] for point in curve.points] == [number * 10e9 for number in range(1, 5)]


def test_less_than_four_parts_tell_nothing() -> None:
    with pytest.raises(ValidationError, match="has 3 parts of 20s"):
        method(part="20s")


def test_a_plan_knows_how_long_it_takes() -> None:
    assert estimate(method(), POLICY, Loads(1_000, 1_000, 1_001)).seconds == pytest.approx(
        60, abs=2
    )


@pytest.mark.parametrize("leak", [0, 7])
def test_what_was_printed_is_what_the_trials_say(leak: int) -> None:
    device = Keeper(rate=999, entries=lambda part: 100 + leak * part)
    result = method().play(device)
    found = answers_of_connections(method().model_dump(mode="json"), device.made, result)
    assert [(who, text) for who, against in found for text in against] == []
    changed = result.figures[2].model_copy(update={"value": 1})
    wrong = result.model_copy(update={"figures": (*result.figures[:2], changed)})
    found = answers_of_connections(method().model_dump(mode="json"), device.made, wrong)
    assert any(against for _, against in found)


def test_what_a_connection_takes_is_held_against_before_the_first_one() -> None:
    """The second trial finds memory that the first one took, and no longer needs."""

    @dataclass
    class Large(Keeper):
        def connect(self, asked: ConnectionsAsked) -> ConnectionTrial:
            one = super().connect(asked)
            before = Kept(entries=0, memory_bytes=(4 if len(self.made) == 1 else 9) * MIB)
            most = Kept(entries=one.asked, memory_bytes=4 * MIB + 512 * one.asked)
            made = one.model_copy(update={"kept": (before, most, before)})
            self.made[-1] = made
            return made

    found = figures(held(max_connections=8_000).play(Large()))["memory_per_connection"]
    assert found.value == 512
    assert "4.000 MiB before there were any" in found.reason


def test_memory_of_a_process_and_of_kinds_of_the_kernel_is_read() -> None:
    slabs = "slabinfo - version: 2.1\nnf_conntrack_expect 1 2 208 3\nnf_conntrack 80 144 256 16 1\n"
    assert slab_bytes(slabs, "nf_conntrack") == 80 * 256
    assert slab_bytes(slabs, "nf") is None
    own = resident_bytes(1)
    assert own is not None and own > 0
    assert resident_bytes(2**22 + 1) is None


# Cases of connections: what of the traffic means something to them, and what is refused.

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


def figures_by_name(method: ConnectionSearch, device: Device) -> dict[str, Figure]:
    return {one.name: one for one in method.play(device).figures}


def test_a_flood_is_of_tcp() -> None:
    with pytest.raises(ValidationError, match="syn_flood is of TCP, and protocol is udp"):
        rate(protocol="udp", syn_flood="5k")


def test_flows_of_udp_are_asked_for_and_told_without_a_handshake() -> None:
    method, device = rate(protocol="udp"), Device(rate=10_000)
    found = figures_by_name(method, device)
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
    found = figures_by_name(method, Device(requests=50_000))
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
