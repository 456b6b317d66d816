"""Less load in one direction than in the other: who is offered what, and what a result means."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest
from pydantic import ValidationError
from simulated_cases import SECOND, simulated_case, trials

from vsperf.engine.surroundings import uneven
from vsperf.record.load import RateStep
from vsperf.spec.case import Case
from vsperf.spec.traffic import TrafficProfile
from vsperf.spec.wiring import load_shares
from vsperf.trafficgens.base import TrialRequest
from vsperf.trafficgens.tgen.messages import counts, trial_message
from vsperf.trafficgens.tgen.spec import TgenSpec
from vsperf.trafficgens.tgen.traffic import Way

WHOLE, HALF = Fraction(1), Fraction(1, 2)
WAYS = (Way("phy0 to phy1", 0, 1), Way("phy1 to phy0", 1, 0, share=Fraction(1, 3)))


def test_the_reverse_direction_is_offered_its_share() -> None:
    case = simulated_case(traffic={"reverse_load": "50%"})
    assert load_shares(case.topology, case.traffic) == (WHOLE, HALF)
    (trial,) = trials(case, 1_000_001)
    assert [way.intended_frames for way in trial.directions] == [1_000_001, 500_000]


def test_both_directions_are_offered_the_same_unless_told() -> None:
    case = simulated_case()
    assert load_shares(case.topology, case.traffic) == (WHOLE, WHOLE)
    assert Case(simulated_case(traffic={"reverse_load": "100%"})).id == Case(case).id
    assert uneven(case) == ()


def test_a_result_says_whose_rates_it_has() -> None:
    (warning,) = uneven(simulated_case(traffic={"reverse_load": "12.5%"}))
    assert "forward direction" in warning
    assert "12.5%" in warning


def test_a_model_has_one_core_for_both_directions() -> None:
    """What the reverse direction does not need, the forward one can have."""
    fps = {
        share: trials(
            simulated_case({"behaviour": {"kind": "ideal"}}, traffic={"reverse_load": share}),
            14_880_952,
        )[0].directions[0].received_frames
        for share in ("100%", "50%")
    }  # fmt: skip
    assert fps["50%"] == pytest.approx(fps["100%"] * 4 / 3, rel=1e-6)


@pytest.mark.parametrize(
    "settings",
    [
        {"reverse_load": "0"},
        {"reverse_load": "50%", "direction": "forward"},
        {"reverse_load": "50%", "replay": {"file": "/tmp/x.pcap", "rhythm": "file"}},
    ],
)
def test_a_share_that_means_nothing_is_refused(settings: dict[str, Any]) -> None:
    with pytest.raises(ValidationError, match="reverse_load"):
        TrafficProfile.model_validate({"frame_size": "64B", **settings})


def test_tgen_is_told_the_rate_and_the_frames_of_each_direction() -> None:
    case = simulated_case()
    request = TrialRequest(1_000, 2 * SECOND)
    message = trial_message(request, WAYS, TgenSpec(kind="tgen"), case.trial)
    assert (message["rate_fps"], message["frames"]) == ([1_000, 333], [2_000, 666])
    streams = [
        {"sent": sent, "received": sent, "misrouted": 0, "duplicates": 0, "beyond_window": 0,
         "corrupted": 0}
        for sent in (2_000, 666)
    ]  # fmt: skip
    found = counts({"streams": streams, "settled": True}, WAYS, message["frames"], SECOND)
    assert [way.intended_frames for way in found.directions] == [2_000, 666]
    assert [way.lost_frames for way in found.directions] == [0, 0]


def test_a_direction_is_offered_a_frame_at_least() -> None:
    assert RateStep(1, SECOND).shared(Fraction(1, 100)).load_fps == 1
    assert RateStep(999, SECOND).shared(HALF) == RateStep(499, SECOND)
