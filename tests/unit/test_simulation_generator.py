"""The simulated generator: its limits, faults, clock, latencies and seconds."""

from __future__ import annotations

import time

import pytest
from assertions import known
from places import PLACEMENT
from pydantic import ValidationError
from simulated_cases import SECOND, behaving, session, simulated_case, trials

from vsperf.config.abilities import Ability
from vsperf.config.base import DriverSpec
from vsperf.drivers.generators.base import TrialRequest
from vsperf.drivers.generators.sim import SimulatedGenerator
from vsperf.drivers.vswitches.sim import SimulatedSwitch
from vsperf.errors import ComponentError, UsageError
from vsperf.records.histogram import percentiles_ns, summary
from vsperf.records.run import Endpoint
from vsperf.records.trial import Sample, intended_frames
from vsperf.simulation import path

# The simulated generator: its limits, its faults, its clock and its latencies.

LINE_FPS = 14_880_952
SANE = behaving("never-lossy")
IDEAL = behaving("ideal")


def test_a_sound_generator_sends_every_frame_in_the_time_asked() -> None:
    (trial,) = trials(simulated_case(SANE), 1_234_567, duration_ns=700_000_001)
    for way in trial.directions:
        assert way.sent_frames == way.intended_frames == intended_frames(1_234_567, 700_000_001)
    assert trial.sending_ns == 700_000_001
    assert trial.settled


@pytest.mark.parametrize("duration_ns", [1, 333_333_333, SECOND, 60 * SECOND])
def test_the_highest_whole_rate_of_the_line_is_sent_in_full(duration_ns: int) -> None:
    (trial,) = trials(simulated_case(SANE), LINE_FPS, duration_ns=duration_ns)
    assert trial.directions[0].unsent_frames == 0


@pytest.mark.parametrize(
    ("max_rate", "load_fps", "sent"),
    [
        (None, 20_000_000, LINE_FPS),
        ("83%", LINE_FPS, 12_351_190),
        ("83%", 12_000_000, 12_000_000),
        ("5Mpps", LINE_FPS, 5_000_000),
        ("1Gbit/s L1", LINE_FPS, 1_488_095),
    ],
)
def test_a_generator_sends_no_more_than_line_and_limit_allow_and_the_rest_counts_as_unsent(
    max_rate: str | None, load_fps: int, sent: int
) -> None:
    (trial,) = trials(simulated_case(SANE, {"max_rate": max_rate}), load_fps)
    way = trial.directions[0]
    assert (way.sent_frames, way.received_frames) == (sent, sent)
    assert way.unsent_frames == load_fps - sent
    assert way.switch_loss_ratio == 0


def test_a_generator_that_raises_does_so_in_every_trial() -> None:
    with session(simulated_case(SANE, {"fault": "raises"})) as running:
        for _ in range(3):
            with pytest.raises(ComponentError, match="failed in its trial"):
                running.run(TrialRequest(1_000, SECOND))


def test_a_generator_can_raise_in_one_trial_and_recover() -> None:
    case = simulated_case(SANE, {"fault": "raises", "raises_in_trial": 2})
    with session(case) as running:
        first = running.run(TrialRequest(1_000, SECOND))
        with pytest.raises(ComponentError):
            running.run(TrialRequest(1_000, SECOND))
        assert running.run(TrialRequest(1_000, SECOND)) == first


def test_frames_counted_too_late_appear_in_the_next_trial() -> None:
    case = simulated_case(SANE, {"fault": "late-counters"})
    high, low, after = trials(case, 1_000_000, 100_000, 100_000)
    received = [trial.directions[0].received_frames for trial in (high, low, after)]
    assert received == [999_000, 100_000 - 100 + 1_000, 100_000 - 100 + 100]
    assert low.directions[0].good_frames > low.directions[0].sent_frames
    assert high.settled


@pytest.mark.parametrize(
    ("fault", "sent", "received", "settled"),
    [
        ("oversends", 1_010_000, 1_010_000, True),
        ("dead", 0, 0, True),
        ("early-counters", 1_000_000, 999_000, False),
    ],
)
def test_a_fault_shows_in_what_is_counted(
    fault: str, sent: int, received: int, settled: bool
) -> None:
    (trial,) = trials(simulated_case(SANE, {"fault": fault}), 1_000_000)
    way = trial.directions[0]
    assert (way.intended_frames, way.sent_frames) == (1_000_000, sent)
    assert (way.received_frames, trial.settled) == (received, settled)


def test_a_stretching_generator_sends_all_frames_over_a_longer_time() -> None:
    (trial,) = trials(simulated_case(IDEAL, {"fault": "stretches"}), 1_050_000)
    assert trial.sending_ns == 1_100_000_000
    assert trial.directions[0].unsent_frames == 0
    assert trial.directions[0].lost_frames == 0, "the load that really arrived was lower"


def test_a_trial_takes_its_sending_and_the_waits_of_the_policy() -> None:
    (trial,) = trials(simulated_case(SANE), 1_000)
    assert trial.elapsed_ns == SECOND + 111_000_000


def test_simulated_hours_do_not_take_real_time_unless_asked(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    waited: list[float] = []
    with monkeypatch.context() as patched:
        patched.setattr(time, "sleep", waited.append)
        trials(simulated_case(SANE), 1_000_000, duration_ns=24 * 3600 * SECOND)
    assert sum(waited) == 0
    case = simulated_case(SANE, {"realtime": 0.05})
    begin = time.monotonic()
    trials(case, 1_000_000, duration_ns=2 * SECOND)
    assert time.monotonic() - begin >= 0.1


def test_waiting_changes_no_number() -> None:
    settings = {"seed": 3, "realtime": 0.001}
    assert trials(simulated_case(behaving("noisy"), settings), 1_000_000) == trials(
        simulated_case(behaving("noisy"), {"seed": 3}), 1_000_000
    )


def test_latency_is_measured_only_when_asked_for() -> None:
    with session(simulated_case(IDEAL)) as running:
        without = running.run(TrialRequest(500_000, SECOND))
        given = running.run(TrialRequest(500_000, SECOND, latency=True))
    assert [way.latency_histogram for way in without.directions] == [None, None]
    assert all(way.latency_histogram for way in given.directions)


def test_latency_has_a_tail_and_grows_as_the_load_nears_the_capacity() -> None:
    tails, medians = [], []
    with session(simulated_case(IDEAL)) as running:
        for load in (100_000, 500_000, 900_000, 990_000, 1_200_000):
            trial = running.run(TrialRequest(load, SECOND, latency=True))
            found = known(percentiles_ns(trial.directions[0].latency_histogram, (50, 99)))
            assert found[99] > found[50] > 0
            medians.append(found[50])
            tails.append(found[99])
    assert medians == sorted(medians)
    assert tails == sorted(tails)


def test_latency_is_sampled_from_the_frames_that_arrived_and_none_without_any() -> None:
    with session(simulated_case(behaving("dies", in_trial=2))) as running:
        few = running.run(TrialRequest(100, SECOND, latency=True)).directions[0]
        none = running.run(TrialRequest(100, SECOND, latency=True)).directions[0]
    found = known(summary(few.latency_histogram))
    assert found.count == 100
    assert none.latency_histogram is None


def test_ports_of_a_real_switch_are_refused_with_a_way_out() -> None:
    case = simulated_case()
    foreign = (Endpoint(link="phy0", kind="vhost-user", address="/run/x/phy0.sock"),)
    with pytest.raises(UsageError) as caught:
        SimulatedGenerator().plan(case, foreign, PLACEMENT)
    assert "vhost-user" in str(caught.value)
    assert caught.value.problems[0].fix is not None


def test_a_file_cannot_be_replayed_to_a_model() -> None:
    case = simulated_case(traffic={"replay": {"file": "/tmp/x.pcap"}})
    assert not SimulatedGenerator().capabilities(case).can(Ability.REPLAY)


def test_ports_of_two_different_switches_are_refused() -> None:
    one = SimulatedSwitch().plan(simulated_case(), PLACEMENT).endpoints[0]
    other = SimulatedSwitch().plan(simulated_case(IDEAL), PLACEMENT).endpoints[1]
    with pytest.raises(UsageError, match="2 switches"):
        SimulatedGenerator().plan(simulated_case(), (one, other), PLACEMENT)


def test_an_address_that_is_no_switch_is_refused() -> None:
    junk = (Endpoint(link="phy0", kind="sim", address='{"ports": 7}'),)
    with pytest.raises(UsageError, match="describes no simulated switch"):
        SimulatedGenerator().plan(simulated_case(), junk, PLACEMENT)


def test_settings_of_another_kind_are_refused() -> None:
    foreign = DriverSpec(kind="real")
    sound = simulated_case()
    with pytest.raises(UsageError, match="'real'"):
        SimulatedSwitch().plan(sound.model_copy(update={"vswitch": foreign}), PLACEMENT)
    case = sound.model_copy(update={"generator": foreign})
    with pytest.raises(UsageError, match="'real'"):
        endpoints = SimulatedSwitch().plan(sound, PLACEMENT).endpoints
        SimulatedGenerator().plan(case, endpoints, PLACEMENT)


def test_a_topology_without_links_has_no_place_for_the_generator() -> None:
    case = simulated_case(topology={"name": "v2v", "paths": [["vm1", "vm2"]]})
    with pytest.raises(UsageError, match="no port in topology v2v"):
        SimulatedSwitch().plan(case, PLACEMENT)


@pytest.mark.parametrize(
    ("settings", "hint"),
    [
        ({"capacity": "50%"}, "write it as 5Mpps"),
        ({"behaviour": {"kind": "noisy", "spread": "11%"}}, "at most 10%"),
        ({"behaviour": {"kind": "always-lossy", "lost": "0"}}, "above 0"),
        ({"behaviour": {"kind": "ideal", "spread": "1%"}}, "Extra inputs"),
        ({"behaviour": {"probability": "1%"}}, "kind"),
    ],
)
def test_settings_that_make_no_switch_are_refused(settings: dict[str, object], hint: str) -> None:
    with pytest.raises(ValidationError, match=hint):
        simulated_case(settings)


def test_each_behaviour_gives_a_case_an_identity_of_its_own() -> None:
    texts = {
        str(simulated_case({"behaviour": {"kind": kind}}).measured()["vswitch"])
        for kind in ("ideal", "never-lossy", "one-frame-loss")
    }
    assert len(texts) == 3


# What a simulated generator says once a second, while a long trial goes on.

SECOND_LONG = 1_000_000_000


def told(request: TrialRequest) -> list[Sample]:
    samples: list[Sample] = []
    with session(simulated_case(behaving("ideal"))) as running:
        running.run(request, samples.append)
    return samples


def test_each_second_of_a_trial_for_latency_has_latencies() -> None:
    samples = told(TrialRequest(500_000, 3 * SECOND_LONG, latency=True))

    assert len(samples) == 3
    for sample in samples:
        for way in sample.directions:
            assert way.latency is not None
            latency = way.latency
            assert latency.frames == 500_000
            assert 4000 <= latency.min_ns < latency.p50_ns < latency.p99_ns < latency.max_ns


def test_latencies_of_a_second_are_higher_at_a_higher_load() -> None:
    low, high = (
        max(
            way.latency.p99_ns
            for way in told(TrialRequest(fps, SECOND_LONG, latency=True))[0].directions
            if way.latency is not None
        )
        for fps in (100_000, 990_000)
    )
    assert low < high


def test_a_second_of_another_trial_has_none() -> None:
    (sample,) = told(TrialRequest(500_000, SECOND_LONG))

    assert [way.latency for way in sample.directions] == [None, None]


def test_in_real_time_each_second_is_told_when_it_is_over(monkeypatch: pytest.MonkeyPatch) -> None:
    """So a trial that is killed has told of what was over by then."""
    happened: list[str] = []
    waited: list[float] = []

    def wait(seconds: float) -> None:
        happened.append("waited")
        waited.append(seconds)

    case = simulated_case(behaving("ideal"), {"realtime": 100})
    with session(case) as running, monkeypatch.context() as patched:
        patched.setattr(path, "sleep", wait)
        running.run(TrialRequest(1000, 4 * SECOND_LONG), lambda _: happened.append("told"))

    assert happened[:8] == ["waited", "told"] * 4
    # Nothing was waited for in truth, so each has to be waited for from the begin of the trial.
    assert [round(seconds / 100) for seconds in waited[:4]] == [1, 2, 3, 4]
