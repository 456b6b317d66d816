"""Several switches in one run, and switches from trees."""

from __future__ import annotations

import json

import pytest
from real_runs import FIXED, Place, fixture_calibrations, fixture_place

from vsperf.records.run import Outcome

pytestmark = pytest.mark.machine
__all__ = ["fixture_calibrations", "fixture_place"]


# Several real switches in one run: deployed one after the other, and compared at its end.

TWO = "[{kind: ovs-dpdk, name: pages}, {kind: ovs-dpdk, name: ordinary, hugepages: false}]"


def test_two_switches_take_turns_and_are_compared(place: Place) -> None:
    ended = place(*FIXED, f"--set=vswitch={TWO}", "--repeat=2")
    stored = place.records()
    assert [case.planned.point["vswitch"] for case in stored.cases()] == [
        "pages", "ordinary", "ordinary", "pages",
    ]  # fmt: skip
    for case in stored.cases():
        assert case.record is not None, ended.err
        assert case.record.outcome in (Outcome.PASS, Outcome.INVALID), ended.said
    starts = [case.start for case in stored.cases()]
    pages = [sum(start.plan.hugepage_bytes.values()) for start in starts if start is not None]
    assert pages[0] == pages[3] > pages[1] == pages[2]  # each has the memory of its own plan
    compared = place("compare", "latest", "--by", "vswitch", "--json")
    assert compared.code == 0, compared.err
    found = json.loads(compared.out)
    assert [side["name"] for side in found["sides"]] == ["pages", "ordinary"]
    assert {one["name"] for one in found["environment"]} >= {"vswitch.hugepages"}


@pytest.mark.needs("dpdk-testpmd")
def test_two_kinds_are_compared_by_what_both_of_them_have(place: Place) -> None:
    ended = place(*FIXED, "--vswitch=ovs-dpdk,testpmd")
    stored = place.records()
    assert [case.planned.label for case in stored.cases()] == [
        "phy2phy_smoke-64B-ovs-dpdk", "phy2phy_smoke-64B-testpmd",
    ]  # fmt: skip
    for case in stored.cases():
        assert case.record is not None, ended.err
        assert case.record.outcome in (Outcome.PASS, Outcome.INVALID), ended.said
    assert "to compare: vsperf compare" in ended.out
    compared = place("compare", "latest", "--by", "vswitch", "--json")
    assert compared.code == 0, compared.err
    told = {one["name"]: one["values"] for one in json.loads(compared.out)["environment"]}
    assert told["vswitch.kind"] == [["ovs-dpdk"], ["testpmd"]]
    own = [name for name in told if name.startswith(("vswitch.", "switch."))]
    settings = tuple(stored.cases())[1].planned.spec["vswitch"]
    assert {name.split(".")[1] for name in own if name.startswith("vswitch.")} <= set(settings)
    shown = place("show", "latest", "testpmd", "--all")
    assert "answered by" not in shown.out  # it has no caches
    assert "answered by" in place("show", "latest", "ovs-dpdk", "--all").out


def test_a_switch_that_is_not_there_is_missed_before_any_other_is_started(place: Place) -> None:
    two = "[ovs-dpdk, {kind: ovs-dpdk, name: elsewhere, install: /nowhere}]"
    ended = place(*FIXED, f"--set=vswitch={two}")
    assert ended.code == 3, ended.err
    assert "/nowhere" in ended.said
    assert not place.results.exists()


# Several real generators in one run, and the table that puts them side by side.

TWO_GENERATORS = "[{kind: tgen, stalls: 100ms}, testpmd]"
QUICK = (
    "--set=traffic.frame_size=64B",
    "--set=trial.warm_up=0s",
    "--set=trial.drain=500ms",
    "--set=trial.linger=20ms",
    "--set=search.duration=400ms",
    "--set=trial.stretch_tolerance=100%",
    "--set=trial.retries=5",
)


@pytest.mark.needs("dpdk-testpmd")
def test_generators_take_turns_on_one_switch_and_stand_side_by_side(place: Place) -> None:
    ended = place(
        "run", "generators_flood", *QUICK, f"--set=generator={TWO_GENERATORS}", "--repeat=2"
    )
    stored = place.records()
    assert [case.planned.point["generator"] for case in stored.cases()] == [
        "tgen", "testpmd", "testpmd", "tgen",
    ]  # fmt: skip
    for case in stored.cases():
        assert case.record is not None, ended.err
        assert case.record.outcome in (Outcome.PASS, Outcome.INVALID), ended.said
    assert "--by generator" in ended.out
    compared = place("compare", "latest", "--by", "generator", "--json")
    assert compared.code == 0, compared.err
    ours, others = json.loads(compared.out)["generators"]
    assert (ours["generator"], others["generator"]) == ("tgen", "testpmd")
    assert ours["checked_fps"] > 0
    assert ours["per_cpu_fps"] > 0
    assert ours["beside_ns"] > 0
    assert set(ours["missing"]) <= {"loss_free", "scatter", "floor", "pacing"}
    assert others["per_cpu_fps"] > 0
    assert others["missing"]["checked"] == "it does not look at each frame"
    assert {"unpaced", "unchecked-frames"} <= set(others["reservations"])
