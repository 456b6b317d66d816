"""A run whose generator is a server of the OTG model: our own, private, on the taps of a bridge."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from real_runs import Place, fixture_calibrations, fixture_place, trials_at

from vsperf.record.flags import Flag

pytestmark = pytest.mark.machine
__all__ = ["fixture_calibrations", "fixture_place"]


def test_a_bridge_is_measured_by_it_and_every_trial_accounted_for(
    place: Place, require: Callable[[str], None]
) -> None:
    for part in ("bridges", "tgen"):
        require(part)
    settings = (
        "--set=generator.kind=otg",
        "--set=generator.server=start",
        "--set=trial.stretch_tolerance=100%",  # a busy machine may be late
    )
    trials = trials_at(
        place, "2kfps, 4kfps", "phy2phy_tput", "--set=vswitch.kind=linux-bridge", *settings
    )
    assert [trial.intended_frames for trial in trials] == [2 * 1000, 2 * 2000]
    for trial in trials:
        assert trial.unexplained_frames == 0
        for way in trial.directions:
            assert 0 < way.good_frames <= way.sent_frames <= way.intended_frames
        assert Flag.UNTIMED in trial.flags
    (case,) = place.records().cases
    assert case.record is not None and case.record.surroundings is not None
    told = case.record.surroundings.generator
    assert str(told["application"]).startswith("vsperf ")
    assert told["ports"] == {"phy0": "phy0", "phy1": "phy1"}
