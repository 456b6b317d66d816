"""What is told of noise after a run: what it reached in its trials, and in which it was lost."""

from __future__ import annotations

from record_samples import case_record, trial

from vsperf.record.flags import Flag
from vsperf.record.host import Surroundings
from vsperf.record.noise import NoiseActivity
from vsperf.record.trial import Trial
from vsperf.report.noise import noise_table
from vsperf.stats.noise import noise_lines

SECOND = 1_000_000_000
AROUND = Surroundings(noise={"settled": {"noise 1": 7.5e9, "noise 2": 0.98}, "least": 0.8})
RECORD = case_record("one", surroundings=AROUND)


def beside(index: int, *did: NoiseActivity, flags: tuple[Flag, ...] = ()) -> Trial:
    return trial(index, noise=did, flags=flags)


def memory(megabytes: int, cpu: float = 0.5) -> NoiseActivity:
    return NoiseActivity(
        instance="noise 1",
        elapsed_ns=SECOND,
        read_bytes=megabytes * 1_000_000,
        written_bytes=0,
        cpu_ns=int(cpu * SECOND),
    )


def stress(cpu: float) -> NoiseActivity:
    return NoiseActivity(instance="noise 2", elapsed_ns=SECOND, cpu_ns=int(cpu * SECOND))


TRIALS = (
    trial(1),
    beside(2, memory(7000), stress(0.9)),
    beside(3, memory(5000, 0.25), stress(0.9), flags=(Flag.NOISE_SLACKENED,)),
)


def test_each_instance_is_told_with_what_it_settled_at_and_reached() -> None:
    assert list(noise_lines(RECORD, TRIALS)) == [
        "noise 1: settled at 7,500 MB/s, 5,000 MB/s to 7,000 MB/s in trials, "
        "a CPU for 25% to 50% of the time",
        "noise 2: settled at 98% of a CPU, a CPU for 90% of the time",
        "noise died or slackened in #3: nothing is concluded from these trials",
    ]


def test_the_report_has_the_same_as_a_table() -> None:
    found = noise_table(RECORD, TRIALS)
    assert found is not None
    assert found.rows == (
        ("noise 1", "7,500 MB/s", "5,000 MB/s to 7,000 MB/s", "25% to 50%", "2 of 2 trials", "#3"),
        ("noise 2", "98% of a CPU", "–", "90%", "2 of 2 trials", "#3"),
    )


def test_who_was_not_heard_of_did_nothing_that_is_known_and_never_0() -> None:
    silent = beside(1, NoiseActivity(instance="noise 1"))
    assert list(noise_lines(None, (silent,))) == ["noise 1: nothing is known of what it did"]
    found = noise_table(None, (silent,))
    assert found is not None
    assert found.rows == (("noise 1", "–", "–", "–", "0 of 1 trials", "none"),)


def test_a_case_without_noise_says_nothing_of_it() -> None:
    assert list(noise_lines(case_record("one"), (trial(1),))) == []
    assert noise_table(case_record("one"), (trial(1),)) is None
