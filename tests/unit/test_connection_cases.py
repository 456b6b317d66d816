"""Cases of connections: what of the traffic means something to them, and what is refused."""

from __future__ import annotations

import pytest

from vsperf.cli.main import run_cli

REFUSED = {
    "traffic.frame_size=64B": "`traffic.frame_size` is 64B, and connections have frames of up to",
    "traffic.frame_size=9018B": "`traffic.frame_size` is 9018B, and connections have frames of",
    "traffic.flows=1k": "`traffic.flows` says nothing to connections",
    "traffic.layer3=ipv6": "`traffic.layer3` says nothing to connections",
    "traffic.vlans=[100]": "`traffic.vlans` says nothing to connections",
    "traffic.direction=reverse": "`traffic.direction` is reverse, and clients are at the end of",
}


@pytest.mark.parametrize("setting", REFUSED)
def test_what_no_connection_would_follow_is_refused(
    setting: str, capfd: pytest.CaptureFixture[str]
) -> None:
    code = run_cli(["plan", "phy2phy_cps", "--testbed", "local", "--set", setting])
    said = capfd.readouterr().err
    assert code == 2, said
    assert REFUSED[setting] in said
    assert f"at: --set {setting}" in said


NO_MESSAGES = {
    ("phy2phy_cps", "search.request=47"): "`search.request` is 47, and a request of HTTP has 48",
    ("nat_udp_cps", "search.response=2000"): "`search.response` is 2,000, and a datagram carries",
}


@pytest.mark.parametrize(("testcase", "setting"), NO_MESSAGES)
def test_a_message_that_cannot_be_is_refused_where_it_is_written(
    testcase: str, setting: str, capfd: pytest.CaptureFixture[str]
) -> None:
    code = run_cli(["plan", testcase, "--testbed", "local", "--set", setting])
    said = capfd.readouterr().err
    assert code == 2, said
    assert NO_MESSAGES[testcase, setting] in said
    assert f"at: --set {setting}" in said


NO_RANGE = {
    ("phy2phy_cps", "search.min_rate=2M"): "`search.min_rate` is 2,000,000, and max_rate is",
    ("phy2phy_cc", "search.min_connections=1M"): "`search.min_connections` is 1,000,000, and max_",
    ("phy2phy_pps", "search.min_rate=100"): "`search.min_rate` is 100, and 10,000 connections ask",
    ("phy2phy_goodput", "search.max_rate=100"): "`search.max_rate` is 100, and min_rate is 20,000",
    ("nat_udp_cps", "search.min_rate=300k"): "`search.min_rate` is 300,000, and search.clients is",
}


@pytest.mark.parametrize(("testcase", "setting"), NO_RANGE)
def test_a_range_in_which_nothing_can_be_searched_is_refused_where_it_is_written(
    testcase: str, setting: str, capfd: pytest.CaptureFixture[str]
) -> None:
    code = run_cli(["plan", testcase, "--testbed", "local", "--set", setting])
    said = capfd.readouterr().err
    assert code == 2, said
    assert NO_RANGE[testcase, setting] in said
    assert f"at: --set {setting}" in said


@pytest.mark.parametrize("direction", ["forward", "both"])
def test_clients_are_at_one_end_whichever_way_frames_go(direction: str) -> None:
    setting = f"traffic.direction={direction}"
    assert run_cli(["plan", "phy2phy_cps", "--testbed", "local", "--set", setting]) == 0


@pytest.mark.parametrize("testcase", ["phy2phy_cps", "nat_udp_cps"])
def test_a_model_that_opens_no_connections_leads_to_a_real_testbed(
    testcase: str, capfd: pytest.CaptureFixture[str]
) -> None:
    assert run_cli(["plan", testcase, "--testbed", "sim"]) == 2
    assert "  fix: a testbed that is real, such as --testbed local\n" in capfd.readouterr().err
