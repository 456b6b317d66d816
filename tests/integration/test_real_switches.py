"""Several real switches in one run: deployed one after the other, and compared at its end."""

from __future__ import annotations

import json

import pytest
from real_runs import FIXED, Place, fixture_calibrations, fixture_place

from vsperf.record.run import Outcome

__all__ = ["fixture_calibrations", "fixture_place"]

pytestmark = pytest.mark.machine
TWO = "[{kind: ovs-dpdk, name: pages}, {kind: ovs-dpdk, name: ordinary, hugepages: false}]"


def test_two_switches_take_turns_and_are_compared(place: Place) -> None:
    ended = place(*FIXED, f"--set=vswitch={TWO}", "--repeat=2")
    stored = place.records()
    assert [case.planned.point["vswitch"] for case in stored.cases] == [
        "pages", "ordinary", "ordinary", "pages",
    ]  # fmt: skip
    for case in stored.cases:
        assert case.record is not None, ended.err
        assert case.record.outcome in (Outcome.PASS, Outcome.INVALID), ended.said
    starts = [case.attempts[-1].start for case in stored.cases]
    pages = [sum(start.plan.hugepage_bytes.values()) for start in starts if start is not None]
    assert pages[0] == pages[3] > pages[1] == pages[2]  # each has the memory of its own plan
    compared = place("compare", "latest", "--by", "vswitch", "--json")
    assert compared.code == 0, compared.err
    found = json.loads(compared.out)
    assert [side["name"] for side in found["sides"]] == ["pages", "ordinary"]
    assert {one["name"] for one in found["environment"]} >= {"vswitch.hugepages"}


def test_a_switch_that_is_not_there_is_missed_before_any_other_is_started(place: Place) -> None:
    two = "[ovs-dpdk, {kind: ovs-dpdk, name: elsewhere, install: /nowhere}]"
    ended = place(*FIXED, f"--set=vswitch={two}")
    assert ended.code == 3, ended.err
    assert "/nowhere" in ended.said
    assert not place.results.exists()
