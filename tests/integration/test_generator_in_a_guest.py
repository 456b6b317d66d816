"""tgen in a guest of its own: frames pass the switch both ways, and each is accounted for.

One run does for all of it, since a guest that is emulated takes its time to boot: the first one is
lost in mid-trial, and the second measures.
"""

from __future__ import annotations

import signal
import time

import pytest
from real_runs import Place, fixture_calibrations, fixture_place

from vsperf.records.flags import Flag
from vsperf.records.run import CaseRecord, Outcome
from vsperf.records.threads import GENERATOR, SWITCH
from vsperf.records.trial import Purpose, Trial

pytestmark = pytest.mark.machine
__all__ = ["fixture_calibrations", "fixture_place"]

IN_A_GUEST = (
    "--set=generator.place=vm",
    "--set=generator.accelerator=tcg",
    "--set=traffic.frame_size=64",
    "--set=trial.warm_up=0s",
    "--set=trial.drain=1s",
    "--set=trial.offered_tolerance=5%",
    "--set=trial.stretch_tolerance=50%",
    "--set=search={kind: fixed, loads: [1kfps], duration: 1s, loss_ratio: 20%}",
    "--set=latency=null",
)
"""A load that an emulated guest bears; what the busy machine of a test makes late is forgiven,
and what is on its way at the end is waited for."""


@pytest.mark.needs("guests")
def test_a_guest_lost_in_mid_trial_is_named_and_the_next_accounts_for_every_frame(
    place: Place,
) -> None:
    run = place.start("run", "phy2phy_tput", *IN_A_GUEST)
    run.wait_for("TrialStarted", purpose="search")
    time.sleep(0.3)
    place.signal("tgen-vm", signal.SIGKILL)
    ended = run.end()
    assert ended.code == 0, ended.err
    (case,) = place.records().cases()
    (struck,) = [trial for trial in case.trials if trial.error is not None]
    assert "tgen-vm" in str(struck.error) and "SIGKILL" in str(struck.error)
    assert case.record is not None
    assert any("measured anew" in warning for warning in case.record.warnings)
    later = [trial for trial in case.trials if trial.index > struck.index and trial.valid]
    assert {trial.purpose for trial in later} >= {Purpose.PATH_CHECK, Purpose.SEARCH}
    for trial in later:
        is_accounted_for(trial)
    is_described(case.record)


def is_accounted_for(trial: Trial) -> None:
    assert all(way.good_frames > 0 for way in trial.directions)
    assert not any(way.corrupted_frames or way.duplicate_frames for way in trial.directions)
    assert trial.unexplained_frames == 0
    assert {thread.part for thread in trial.threads} == {SWITCH, GENERATOR}
    assert not trial.round_trips_ns, "nobody can tell it from there"
    assert not any(way.first_headers for way in trial.directions), "captures are files of the guest"


def is_described(record: CaseRecord) -> None:
    assert record.outcome is Outcome.PASS
    assert Flag.EMULATED in record.flags
    around = record.conditions
    assert around is not None and around.calibration is None
    found = around.generator
    assert (found["place"], found["accelerator"]) == ("vm", "tcg")
    clock = found["clock"]
    assert isinstance(clock, dict) and clock["within_ppm"] > 0
