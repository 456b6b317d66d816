"""CPUs that a hypervisor moved: the result says between which distances."""

from __future__ import annotations

from record_samples import trial

from vsperf.engine.surroundings import distances
from vsperf.record.trial import Trial


def looked(*round_trips_ns: tuple[int, ...]) -> list[Trial]:
    return [
        trial().model_copy(update={"round_trips_ns": trips, "index": index})
        for index, trips in enumerate(round_trips_ns)
    ]


def test_near_and_far_trials_are_told_apart() -> None:
    (said,) = distances(looked((94, 91), (91, 102), (102, 435), (435, 448), ()))
    assert "94 to 102 ns apart (there and back) in 2 trials and 435 to 448 ns in 2" in said


def test_they_are_those_of_the_regimes_where_there_are_two() -> None:
    """Within one of them a way may take nearly twice as long as another."""
    (said,) = distances(looked((70, 72), (119, 125), (380, 391), (500, 402), (120, 430)))
    assert "72 to 125 ns apart (there and back) in 2 trials and 391 to 500 ns in 3" in said


def test_of_one_distance_nothing_is_said() -> None:
    assert distances(looked((94, 91), (91, 120))) == ()


def test_nor_where_nobody_looked() -> None:
    assert distances(looked((), ())) == ()
