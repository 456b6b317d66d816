"""Bursts at a stated gap: how many fill a trial, what tgen is asked for, and who refuses them."""

from __future__ import annotations

from typing import Any

import pytest
from bench_models import method
from pydantic import ValidationError
from search_models import case_of
from simulated_cases import SECOND, simulated_case

from vsperf.engine.surroundings import uneven
from vsperf.errors import ComponentError, SpecError
from vsperf.methods.base import loads_of
from vsperf.record.load import RateStep
from vsperf.spec.traffic import Bursts, TrafficProfile
from vsperf.trafficgens.base import TrialRequest
from vsperf.trafficgens.tgen.messages import trial_message
from vsperf.trafficgens.tgen.spec import TgenSpec
from vsperf.trafficgens.tgen.traffic import Way

WAYS = (Way("phy0 to phy1", 0, 1), Way("phy1 to phy0", 1, 0))
BURSTS = Bursts.model_validate({"frames": 100, "gap": "9ms"})
CASE = simulated_case(traffic={"bursts": {"frames": 100, "gap": "9ms"}})


@pytest.mark.parametrize(
    ("duration_ns", "count"),
    [(SECOND, 100), (SECOND - 9_000_000, 100), (SECOND - 9_000_001, 99), (1, 1), (20_000_000, 2)],
)
def test_as_many_bursts_are_sent_as_there_is_time_for(duration_ns: int, count: int) -> None:
    """At 100 kfps a burst of 100 frames takes a millisecond; behind the last one is no gap."""
    assert BURSTS.count(100_000, duration_ns) == count


def test_tgen_is_asked_for_bursts_at_the_load_and_the_gaps_between_them() -> None:
    message = trial_message(
        TrialRequest(100_000, SECOND), WAYS, TgenSpec(kind="tgen"), CASE.trial, bursts=BURSTS
    )
    asked = {"rate_fps": 100_000, "frames": 100, "bursts": 100, "gap_ns": 9_000_000}
    assert asked.items() <= message.items()
    assert "duration_ns" not in message
    assert message["timeout_ns"] > SECOND - 9_000_000


def test_a_single_burst_has_no_gap() -> None:
    message = trial_message(
        TrialRequest(100_000, 1000), WAYS, TgenSpec(kind="tgen"), CASE.trial, bursts=BURSTS
    )
    assert message["frames"] == 100
    assert not {"bursts", "gap_ns"} & set(message)


def test_a_result_says_that_its_rates_are_those_within_bursts() -> None:
    assert not CASE.traffic.evenly
    (warning,) = uneven(CASE)
    assert warning == "rates are those within bursts of 100 frames, 9ms apart"


def test_loads_do_not_change_while_frames_come_in_bursts() -> None:
    request = TrialRequest.of_steps(RateStep(2_000, SECOND), RateStep(1_000, SECOND))
    with pytest.raises(ComponentError, match="in bursts"):
        trial_message(request, WAYS, TgenSpec(kind="tgen"), CASE.trial, bursts=BURSTS)


@pytest.mark.parametrize("kind", ["recovery", "back2back"])
def test_methods_that_have_a_rhythm_of_their_own_are_refused(kind: str) -> None:
    case = case_of("mlr", traffic=CASE.traffic, search=method(kind))
    with pytest.raises(SpecError, match=r"in bursts"):
        loads_of(case)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"bursts": {"frames": 64, "gap": "0s"}}, "bursts without a gap"),
        ({"bursts": {"frames": 64}}, "gap"),
        ({"bursts": {"frames": 64, "gap": "1ms"}, "reverse_load": "50%"}, "bursts come equally"),
        (
            {"bursts": {"frames": 64, "gap": "1ms"}, "replay": {"file": "/tmp/x.pcap"}},
            "frames of its own",
        ),
    ],
)
def test_bursts_that_mean_nothing_are_refused(settings: dict[str, Any], words: str) -> None:
    with pytest.raises(ValidationError, match=words):
        TrafficProfile.model_validate({"frame_size": "64B", **settings})
