"""Lists of methods: a case for each question, and criteria that say which they are for."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest
from config_world import DRIVERS, library, mistakes, plans, write
from config_world import cases as cases_of

from vsperf.config.loader import Request, load

START = """\
name: mine
topology: p2p
traffic: {frame_size: 1518, direction: forward}
latency: null
program: {kind: netperf}
"""
TWO = "search: [{kind: stream, name: many, write: 1B, protocol: udp}, rr, {kind: stream}]\n"


cases = partial(cases_of, start=START)


def wrong(folder: Path, text: str, *sets: str) -> list[tuple[str, str]]:
    return [(one.what, one.fix or "") for one in mistakes(folder, text, *sets, start=START)]


class TestCases:
    def test_each_method_is_a_case_that_is_called_by_its_name_or_kind(self, tmp_path: Path) -> None:
        found = cases(tmp_path, TWO)
        assert [case.label for case in found] == [
            "mine-1518B-many", "mine-1518B-rr", "mine-1518B-stream",
        ]  # fmt: skip
        assert [case.spec.search.kind for case in found] == ["stream", "rr", "stream"]
        assert found[0].point == {"search": "many"}
        assert found[0].spec.search.model_dump()["protocol"] == "udp"
        assert len({case.id for case in found}) == 3

    def test_they_change_before_what_is_compared(self, tmp_path: Path) -> None:
        switches = "vswitch: [sim, {kind: sim, name: late, seed: 7}]\n"
        found = cases(tmp_path, TWO.replace(", {kind: stream}]", "]") + switches)
        assert [tuple(case.point.values()) for case in found] == [
            ("many", "sim"), ("many", "late"), ("rr", "sim"), ("rr", "late"),
        ]  # fmt: skip

    def test_what_lies_below_holds_for_the_kind_that_it_names(self, tmp_path: Path) -> None:
        suite = START.removeprefix("name: mine\n") + (
            "search: {kind: stream, duration: 3s}\ntestcases:\n  mine:\n"
            "    search: [{kind: stream, name: long}, {kind: rr}]\n"
        )
        write(tmp_path, {"testcases/some.suite.yaml": suite})
        write(tmp_path, {"more.yaml": "methods: {rr: {duration: 4s}}\n"})
        asked = Request(("mine",), testbed="sim", conf=(tmp_path / "more.yaml",))
        found = load(asked, library(tmp_path, tmp_path), DRIVERS).cases
        assert [str(case.spec.search.model_dump()["duration"]) for case in found] == ["3s", "4s"]

    def test_settings_above_are_for_all_and_a_name_or_a_kind_chooses(self, tmp_path: Path) -> None:
        found = cases(tmp_path, TWO, "search.duration=2s")
        assert {str(case.spec.search.model_dump()["duration"]) for case in found} == {"2s"}
        (rr,) = cases(tmp_path, TWO, "search.kind=rr")
        assert (rr.spec.search.kind, rr.point) == ("rr", {})
        named = TWO.replace("{kind: stream}]", "{kind: stream, name: tcp}]")
        named = named.replace(" rr,", " {kind: rr, name: turns},")
        (only,) = cases(tmp_path, named, "search.name=turns", "search.duration=2s")
        assert (only.label, only.spec.search.kind) == ("mine-1518B-turns", "rr")


class TestRefused:
    def test_two_that_would_be_called_alike(self, tmp_path: Path) -> None:
        ((what, _),) = wrong(tmp_path, "search: [rr, rr]\n")
        assert what == "`search` holds 'rr' twice"

    def test_a_method_that_there_is_not(self, tmp_path: Path) -> None:
        ((what, fix),) = wrong(tmp_path, "search: [rr, streams]\n")
        assert what == "there is no search method 'streams'"
        assert "stream" in fix

    def test_one_that_has_switches_take_turns(self, tmp_path: Path) -> None:
        found = wrong(tmp_path, "search: [rr, {kind: paired}]\nvswitch: [sim, other]\n")
        assert found == [
            (
                "a method that holds switches against each other stands alone, and not in a list",
                "write it as a testcase of its own",
            )
        ]


class TestCriteria:
    def test_are_for_the_method_that_they_name(self, tmp_path: Path) -> None:
        expect = (
            "expect:\n- {metric: rate, min: 5G, search: stream}\n"
            "- {metric: rate, min: 2k, search: rr}\n"
            "- {metric: cpu_per_bit, max: 3ns, search: many}\n"
            "- {metric: context_switches_clients, max: 40}\n"
        )
        found = cases(tmp_path, TWO + expect)
        assert [[one.metric for one in case.spec.expect] for case in found] == [
            ["cpu_per_bit", "context_switches_clients"],
            ["rate", "context_switches_clients"],
            ["rate", "context_switches_clients"],
        ]
        assert [str(case.spec.expect[0].bound) for case in found] == ["3ns", "2k", "5G"]

    def test_that_name_a_metric_of_another_are_told_to_say_which(self, tmp_path: Path) -> None:
        ((what, fix),) = wrong(tmp_path, TWO + "expect: [{metric: mean_round_trip, max: 1ms}]\n")
        assert what == "expect names 'mean_round_trip', which is no metric of this case"
        assert fix.startswith("say which one it is for, by `search:` in it; many: this case has")

    def test_a_wrong_metric_is_told_with_all_else_that_is_wrong_in_its_item(
        self, tmp_path: Path
    ) -> None:
        item = "{metric: ratee, min: much, max_los: 1%}"
        told = [what for what, _ in wrong(tmp_path, f"{TWO}expect: [{item}]\n")]
        assert any("'ratee', which is no metric" in what for what in told)
        assert any("much" in what for what in told)
        assert any("max_los" in what for what in told)

    def test_for_what_nobody_asks_are_wrong_unless_it_was_left_out_above(
        self, tmp_path: Path
    ) -> None:
        ((what, fix),) = wrong(tmp_path, TWO + "expect: [{metric: rate, min: 1G, search: man}]\n")
        assert what == "an expectation is for 'man', which `search` does not ask"
        assert fix == "did you mean `many`?"
        text = TWO + "expect: [{metric: rate, min: 1G, search: many}]\n"
        (rr,) = cases(tmp_path, text, "search.kind=rr")
        assert rr.spec.expect == ()

    def test_one_method_alone_is_named_by_its_kind(self, tmp_path: Path) -> None:
        text = "search: {kind: rr}\nexpect: [{metric: rate, min: 2k, search: rr}]\n"
        (case,) = cases(tmp_path, text)
        assert [one.metric for one in case.spec.expect] == ["rate"]


class TestPlaces:
    def test_each_kind_is_a_case_that_is_called_by_it(self, tmp_path: Path) -> None:
        text = "search: {kind: rr}\nplaces: {phy0: {kind: vm}, phy1: {kind: [vm, network]}}\n"
        found = cases(tmp_path, text)
        assert [case.label for case in found] == ["mine-1518B-vm", "mine-1518B-network"]
        assert [case.point for case in found] == [{"phy1": "vm"}, {"phy1": "network"}]
        assert [tuple(case.spec.guests) for case in found] == [("phy0", "phy1"), ("phy0",)]
        (host,) = cases(tmp_path, text, "places.phy1.kind=host")
        assert (host.spec.hosts, host.point) == (("phy1",), {})

    def test_switches_change_before_them(self, tmp_path: Path) -> None:
        switches = "vswitch: [sim, {kind: sim, name: late, seed: 7}]\n"
        text = "search: {kind: rr}\nplaces: {phy1: {kind: [vm, host]}}\n" + switches
        assert [tuple(case.point.values()) for case in cases(tmp_path, text)] == [
            ("vm", "sim"), ("vm", "late"), ("host", "sim"), ("host", "late"),
        ]  # fmt: skip

    def test_a_network_is_the_same_case_with_an_entry_and_without(self, tmp_path: Path) -> None:
        (said,) = cases(tmp_path, "search: {kind: rr}\nplaces: {phy1: {kind: network}}\n")
        (unsaid,) = cases(tmp_path, "search: {kind: rr}\n")
        assert said.id == unsaid.id
        assert said.spec.places == {}

    def test_one_that_stands_twice_and_a_list_of_none_are_refused(self, tmp_path: Path) -> None:
        def refused(kinds: str) -> list[str]:
            text = f"search: {{kind: rr}}\nplaces: {{phy1: {{kind: {kinds}}}}}\n"
            return [what for what, _ in wrong(tmp_path, text)]

        assert refused("[vm, host, vm]") == ["`places.phy1.kind` holds 'vm' twice"]
        assert refused("[]") == ["`places.phy1.kind` is an empty list"]
        assert "'container' is not a choice here" in refused("[vm, container]")[0]


def test_the_paper_on_two_datapaths_is_one_testcase_with_its_four_scenarios(
    capfd: pytest.CaptureFixture[str],
) -> None:
    planned = plans(capfd, "places_guests_datapaths")
    start = "places_guests_datapaths-1518B"
    ways = [f"{start}-{end}-{switch}" for end in ("vm", "network") for switch in ("daemon", "dpdk")]
    assert [case["label"] for case in planned] == ways
    for case in planned:
        search = case["spec"]["search"]
        assert (search["instances"], search["duration"]) == (4, "1m")
        assert case["spec"]["collect"] == {"perf": case["spec"]["collect"]["perf"]}
        clients = [one for one in case["plan"]["steps"] if "start the client" in one["action"]]
        assert len(clients) == 4
        for step in clients:
            words = step["argv"]
            assert words[words.index("--window") + 1] == str(512 << 10)
            assert words[words.index("--length") + 1] == str(128 << 10)


def test_the_acceptance_test_of_a_cloud_is_one_testcase_with_all_of_its_questions(
    capfd: pytest.CaptureFixture[str],
) -> None:
    planned = plans(capfd, "places_acceptance")
    asked = ["packets", "datagrams", "streams", "rr", "crr"]
    start = "places_acceptance-1518B"
    ways = [f"{start}-{way}-{name}" for way in ("forward", "reverse") for name in asked]
    assert [case["label"] for case in planned] == ways
    for case in planned:
        servers = [one for one in case["plan"]["steps"] if "start the server" in one["action"]]
        assert [step["argv"][0] for step in servers] == ["netserver"] * 8
        ports = [step["argv"][step["argv"].index("-p") + 1] for step in servers]
        assert ports == [str(port) for port in range(11_001, 11_009)]
        ends = {one["action"].partition(" at ")[2].partition(" ")[0] for one in servers}
        helpers = {f"phy{number}" for number in range(1, 9)}
        assert ends == (helpers if "forward" in case["label"] else {"phy0"})
    kinds = [step["argv"] for step in planned[0]["plan"]["steps"] if "client" in step["action"]]
    assert all("UDP_STREAM" in argv and argv[argv.index("-m") + 1] == "1" for argv in kinds)
