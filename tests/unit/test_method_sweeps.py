"""Loads gone through downwards: RFC 2544 section 26.3 and RFC 2889 section 5."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest
from bench_models import LOADS, FluidBench, UnevenBench, figures, method
from hypothesis import given
from hypothesis import strategies as st
from search_models import LINE_RATE, case_of

from vsperf.record.limit import Limit
from vsperf.record.result import Level
from vsperf.search.base import Budget
from vsperf.units import NANOSECONDS


def test_the_loss_curve_ends_with_two_loads_without_loss() -> None:
    bench = FluidBench(LINE_RATE * 3 // 4)

    result = method("loss", step="10%").run(bench)

    assert [round(load.load_fps / LINE_RATE, 3) for load in result.loads] == [1, 0.9, 0.8, 0.7, 0.6]
    lost = [float(Fraction(load.worst_loss_ratio)) for load in result.loads]
    assert [round(share, 4) for share in lost] == [0.25, 0.1667, 0.0625, 0, 0]
    assert figures(result)["lossless_load"] == round(LINE_RATE * 0.7)
    assert figures(result)["loss_at_top"] == pytest.approx(0.25, abs=1e-6)
    assert result.figures[0].upper == round(LINE_RATE * 0.8)
    assert result.figures[0].limit is Limit.DUT
    assert result.figures[0].reason == (
        "it and the next lower load lost nothing; at it, none of 10,416,666 frames sent each way "
        "was lost: a loss ratio above 2.9e-07 is unlikely (3/n, at 95 %)"
    )


@given(
    capacity=st.integers(LOADS.minimum, LOADS.maximum),
    step=st.sampled_from([1, 5, 10, 20]),
)
def test_a_loss_curve_is_that_of_the_switch_whatever_it_can_do(capacity: int, step: int) -> None:
    result = method("loss", step=f"{step}%").run(FluidBench(capacity))

    for number, load in enumerate(result.loads):
        assert load.load_fps == pytest.approx(LINE_RATE * (1 - number * step / 100), abs=1)
        lost = max(0, 1 - capacity / load.load_fps)
        assert float(Fraction(load.worst_loss_ratio)) == pytest.approx(lost, abs=1e-6)
    passed = [load.load_fps for load in result.loads if load.load_fps <= capacity]
    assert figures(result)["lossless_load"] == (passed[0] if len(passed) > 1 else None)


def test_one_load_without_loss_between_lossy_ones_does_not_end_the_curve() -> None:
    """Two in a row are asked for: 90 % passes here, 80 % does not."""
    bench = FluidBench(LINE_RATE)
    bench.lossy_loads = {LINE_RATE, round(LINE_RATE * 0.8)}

    result = method("loss", step="10%").run(bench)

    assert len(result.loads) == 5
    assert figures(result)["lossless_load"] == round(LINE_RATE * 0.7)


def test_without_two_loads_that_pass_there_is_no_lossless_load() -> None:
    result = method("loss", step="50%").run(FluidBench(1000))

    lossless = result.figures[0]
    assert lossless.value is None
    assert lossless.reason == "no two loads in a row passed without loss"
    assert lossless.limit is Limit.DUT


def test_a_generator_that_is_the_top_is_named() -> None:
    loads = replace(LOADS, maximum=5_000_000, generator_cap=5_000_000, virtual=True)

    result = method("loss").run(FluidBench(9_000_000, loads=loads))

    assert result.figures[0].limit is Limit.GENERATOR
    assert result.figures[1].at == "the cap of the generator"  # after "measured at"


def test_a_curve_is_cut_short_by_the_time() -> None:
    bench = FluidBench(1000, budget=Budget(3 * NANOSECONDS))

    result = method("loss").run(bench)

    assert len(result.loads) == 3
    assert not result.complete


def test_steps_above_a_tenth_do_not_comply() -> None:
    asked = method("loss", step="20%", duration="60s")

    (found,) = asked.compliance(
        case_of("mlr", search=asked), [64], asked.run(FluidBench(LINE_RATE // 2))
    )

    assert found.level is Level.NOT
    assert "steps of 20% instead of at most 10% (section 26.3)" in found.deviations


def test_the_loss_rate_in_full_complies_but_for_the_frame_sizes() -> None:
    asked = method("loss", duration="60s")

    (found,) = asked.compliance(
        case_of("mlr", search=asked),
        [64, 128, 256, 512, 1024, 1280, 1518],
        asked.run(FluidBench(LINE_RATE // 2)),
    )

    assert (found.level, found.deviations) == (Level.UNCONDITIONAL, ())


def test_the_maximum_forwarding_rate_may_lie_below_the_highest_load() -> None:
    """A switch that forwards less when it is overloaded more."""
    bench = FluidBench(10_000_000)
    bench.collapse = 0.5

    result = method("forwarding", step="10%").run(bench)

    found = figures(result)
    mfr, frmol = found["mfr"], found["frmol"]
    assert mfr is not None and frmol is not None
    assert mfr > frmol
    assert result.figures[0].at == "offered 10.42 Mfps"


@given(capacity=st.integers(LOADS.minimum, LOADS.maximum))
def test_all_that_a_switch_can_do_is_its_maximum_forwarding_rate(capacity: int) -> None:
    found = figures(method("forwarding", step="10%", duration="1s").run(FluidBench(capacity)))

    assert found["mfr"] == pytest.approx(capacity, abs=1)
    assert found["frmol"] == pytest.approx(capacity, abs=1)


def test_forwarding_ends_where_lower_loads_cannot_let_more_pass() -> None:
    result = method("forwarding", step="10%").run(FluidBench(10_000_000))

    assert len(result.loads) == 5
    assert figures(result)["mfr"] == 10_000_000


def test_forwarding_rates_in_trials_of_30s_comply() -> None:
    asked = method("forwarding")

    (found,) = asked.compliance(
        case_of("mlr", search=asked),
        [64, 128, 256, 512, 1024, 1280, 1518],
        asked.run(FluidBench(10_000_000)),
    )

    assert (found.level, found.deviations) == (Level.UNCONDITIONAL, ())


@pytest.mark.parametrize(
    ("asked", "budget", "deviation"),
    [
        ({"max_load": "50%"}, Budget(), "it begins at 50%, not at the line rate"),
        ({}, Budget(60 * NANOSECONDS), "the time ended before the sweep did"),
    ],
)
def test_forwarding_rates_of_half_a_sweep_do_not_comply(
    asked: dict[str, str], budget: Budget, deviation: str
) -> None:
    forwarding = method("forwarding", **asked)
    result = forwarding.run(FluidBench(1_000_000, budget=budget))

    (found,) = forwarding.compliance(case_of("mlr", search=forwarding), [64], result)

    assert found.level is Level.NOT
    assert deviation in found.deviations


def test_the_most_that_passed_is_told_of_the_loads_that_were_tried() -> None:
    """Where the time ended there are others, and they may well let more pass."""
    result = method("forwarding").run(FluidBench(1_000_000, budget=Budget(60 * NANOSECONDS)))

    most = next(one for one in result.figures if one.name == "mfr")
    assert most.reason == "no other load that was tried let more pass"


def test_the_rate_that_comes_through_is_of_the_whole_load_in_both_directions() -> None:
    found = figures(method("forwarding").run(UnevenBench(5_000_000)))

    assert found["mfr"] == pytest.approx(5_000_000, rel=1e-3)
