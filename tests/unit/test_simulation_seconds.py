"""What a simulated generator says once a second, while a long trial goes on."""

from __future__ import annotations

import time

from simulated_cases import behaving, session, simulated_case

from vsperf.record.sample import Sample
from vsperf.trafficgens.base import TrialRequest

SECOND = 1_000_000_000


def told(request: TrialRequest) -> list[Sample]:
    samples: list[Sample] = []
    with session(simulated_case(behaving("ideal"))) as running:
        running.run(request, samples.append)
    return samples


def test_each_second_of_a_trial_for_latency_has_latencies() -> None:
    samples = told(TrialRequest(500_000, 3 * SECOND, latency=True))

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
            for way in told(TrialRequest(fps, SECOND, latency=True))[0].directions
            if way.latency is not None
        )
        for fps in (100_000, 990_000)
    )
    assert low < high


def test_a_second_of_another_trial_has_none() -> None:
    (sample,) = told(TrialRequest(500_000, SECOND))

    assert [way.latency for way in sample.directions] == [None, None]


def test_in_real_time_each_second_is_told_when_it_is_over() -> None:
    """So a trial that is killed has told of what was over by then."""
    moments: list[float] = []
    case = simulated_case(behaving("ideal"), {"realtime": 0.05})
    began = time.monotonic()
    with session(case) as running:
        running.run(
            TrialRequest(1000, 4 * SECOND), lambda _: moments.append(time.monotonic() - began)
        )

    assert len(moments) == 4
    assert all(moment >= 0.05 * (number + 1) for number, moment in enumerate(moments))
    assert moments[-1] - moments[0] >= 0.1
