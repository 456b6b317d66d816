"""Without a switch, for real: every frame comes back, and what is found is the generator's."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from real_runs import Place, fixture_calibrations, fixture_place
from switch_cases import deployed, real_case

from vsperf.record.limit import Limit
from vsperf.record.run import Outcome
from vsperf.trafficgens.base import TrialRequest

pytestmark = pytest.mark.machine
__all__ = ["fixture_calibrations", "fixture_place"]

SLOWLY = TrialRequest(2000, 500_000_000)


@pytest.mark.parametrize("size", ["64B", "9018B"])
def test_frames_come_from_one_port_to_the_other(size: str, require: Callable[[str], None]) -> None:
    require("tgen")
    with deployed(real_case("none", traffic={"frame_size": size})) as (running, _):
        counts = running.generator.run(SLOWLY)
        assert running.switch.counters() is None
    assert [way.good_frames for way in counts.directions] == [1000, 1000]


def test_a_run_blames_no_switch_however_much_it_asks_for(place: Place) -> None:
    ended = place(
        "run",
        "phy2phy_tput",
        "--set=vswitch.kind=none",
        "--set=traffic.frame_size=64",
        "--set=trial.warm_up=0s",
        "--set=trial.drain=500ms",
        "--set=trial.linger=50ms",
        "--set=trial.retries=5",
        "--set=search={kind: fixed, loads: [1kfps, 100Mfps], duration: 300ms}",
        "--set=latency=null",
    )
    assert ended.code == 0, ended.err[-1000:]
    (case,) = place.records().cases
    assert case.record is not None and case.record.outcome is Outcome.PASS
    assert case.record.result is not None
    below, above = case.record.result.loads
    assert above.limit is Limit.GENERATOR
    assert "the switch" not in below.reason + above.reason
    assert all(trial.switch is None for trial in case.trials)
