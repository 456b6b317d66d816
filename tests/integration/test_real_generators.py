"""Several real generators in one run, and the table that puts them side by side."""

from __future__ import annotations

import json

import pytest
from conftest import Require
from real_runs import Place, fixture_calibrations, fixture_place

from vsperf.record.run import Outcome

__all__ = ["fixture_calibrations", "fixture_place"]

pytestmark = pytest.mark.machine
TWO = "[{kind: tgen, stalls: 100ms}, testpmd]"
QUICK = (
    "--set=traffic.frame_size=64B",
    "--set=trial.warm_up=0s",
    "--set=trial.drain=500ms",
    "--set=trial.linger=20ms",
    "--set=search.duration=400ms",
    "--set=trial.stretch_tolerance=100%",
    "--set=trial.retries=5",
)


def test_generators_take_turns_on_one_switch_and_stand_side_by_side(
    place: Place, require: Require
) -> None:
    require("dpdk-testpmd")
    ended = place("run", "generators_flood", *QUICK, f"--set=generator={TWO}", "--repeat=2")
    stored = place.records()
    assert [case.planned.point["generator"] for case in stored.cases] == [
        "tgen", "testpmd", "testpmd", "tgen",
    ]  # fmt: skip
    for case in stored.cases:
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
