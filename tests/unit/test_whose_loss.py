"""The dirtier a machine, the less is the switch to blame: below half clean time nobody can tell."""

from __future__ import annotations

import pytest
from all_wrong import none_wrong
from coverage import searched
from coverage_models import MODELS
from search_models import search, spec_of
from slot_samples import in_slots

from vsperf.records.result import Limit
from vsperf.records.trial import Trial

SEEDS = range(8)
CAPACITY = 4_000_000


@pytest.mark.parametrize("per_second", [5, 40, 80, 150])
def test_stalls_of_the_generator_alone_are_never_the_switchs_loss(per_second: int) -> None:
    """Each loses a batch at any load, so there is no load without loss."""
    model = next(one for one in MODELS if one.stalls_per_second == per_second)

    def wrong(seed: int) -> str | None:
        found = searched("quick", model, seed)
        assert found is not None
        limit = next(goal.limit for goal in found[1].goals if goal.goal == "ndr")
        return None if limit in (Limit.HOST, Limit.UNKNOWN) else f"seed {seed}: {limit}"

    none_wrong(said for seed in SEEDS if (said := wrong(seed)) is not None)


@pytest.mark.parametrize("own_loss", [0, 5])
def test_what_is_lost_beside_most_of_the_time_is_nobodys(own_loss: int) -> None:
    """Of 100 slots 40 are away, with their neighbours nearly all; the switch loses in one left."""

    def measure(load_fps: int, duration_ns: int) -> Trial:
        return in_slots(load_fps, duration_ns, CAPACITY, 30, 32, own_loss)

    spec = spec_of("mlr", goals={"ndr": {"loss_ratio": "0"}})
    (goal,) = search(spec, measure).goals
    assert goal.limit is (Limit.UNKNOWN if own_loss else Limit.HOST)
    assert "of the time was clean" in goal.reason
