"""System recovery: how long loss goes on when an overload ends."""

from __future__ import annotations

from dataclasses import replace

import pytest
from bench_models import LOADS, FluidBench, figures, method
from hypothesis import given
from hypothesis import strategies as st
from search_models import LINE_RATE, case_of

from vsperf.record.limit import Limit
from vsperf.record.result import Level, Standard
from vsperf.units import NANOSECONDS

GIVEN = replace(LOADS, reference=5_000_000)


@given(
    recovery_ns=st.integers(0, 50 * NANOSECONDS),
    capacity=st.integers(100_000, LOADS.maximum * 10 // 11),
)
def test_whatever_a_switch_can_do_and_takes_to_recover_is_found(
    recovery_ns: int, capacity: int
) -> None:
    loads = replace(LOADS, reference=capacity)
    bench = FluidBench(capacity, 1000, recovery_ns=recovery_ns, loads=loads)

    (figure,) = method("recovery", throughput=f"{capacity}fps").run(bench).figures

    assert figure.value == recovery_ns


@pytest.mark.parametrize("recovery_ns", [0, 1_000_000, NANOSECONDS])
def test_the_time_from_the_change_to_the_last_loss_is_found(recovery_ns: int) -> None:
    bench = FluidBench(5_000_000, 1000, recovery_ns=recovery_ns, loads=GIVEN)

    result = method("recovery", throughput="5Mfps").run(bench)

    (figure,) = result.figures
    assert figure.value == recovery_ns
    assert figure.limit is Limit.DUT
    assert figure.at == "5.500 Mfps, then 2.750 Mfps"
    assert figure.spread is not None and figure.spread.runs == 5


def test_the_throughput_is_looked_for_and_exceeded_by_a_tenth() -> None:
    bench = FluidBench(5_000_000, recovery_ns=1_000_000)

    result = method("recovery", repeats=1).run(bench)

    found = result.goals[0].lower_fps
    assert found is not None
    assert bench.made[-1].load_fps == pytest.approx(found * 1.1, abs=1)
    assert bench.made[-1].reference == "110% of the throughput, then 50% of that"


def test_what_forwards_the_highest_load_cannot_be_overloaded() -> None:
    (figure,) = method("recovery").run(FluidBench(LINE_RATE)).figures

    assert figure.value is None
    assert "nothing overloads it" in figure.reason


def test_a_load_that_was_no_overload_tells_nothing() -> None:
    """The buffer takes all that is too much."""
    bench = FluidBench(5_000_000, 10**9, loads=GIVEN)

    (figure,) = method("recovery", throughput="5Mfps").run(bench).figures

    assert figure.value is None
    assert figure.reason == "in 5 of 5 trials nothing was lost above the throughput"


def test_the_standard_s_own_shares_and_times_comply() -> None:
    asked = method("recovery", throughput_duration="60s", throughput_sum="60s")
    result = asked.run(FluidBench(5_000_000))

    (found,) = asked.compliance(
        case_of("mlr", search=asked), [64, 128, 256, 512, 1024, 1280, 1518], result
    )

    assert (found.level, found.deviations) == (Level.UNCONDITIONAL, ())


def test_what_a_single_size_leaves_out_is_named() -> None:
    asked = method("recovery", throughput_duration="60s", throughput_sum="60s")

    (found,) = asked.compliance(
        case_of("mlr", search=asked), [64], asked.run(FluidBench(5_000_000))
    )

    assert found.level is Level.CONDITIONAL
    assert "128, 256, 512, 1024, 1280, 1518" in "; ".join(found.deviations)


def test_an_overload_that_the_generator_could_not_offer_does_not_comply() -> None:
    weak = replace(LOADS, maximum=5_100_000, generator_cap=5_100_000)
    asked = method("recovery", throughput_duration="60s", throughput_sum="60s")

    result = asked.run(FluidBench(5_000_000, loads=weak))

    (found,) = asked.compliance(
        case_of("mlr", search=asked), [64, 128, 256, 512, 1024, 1280, 1518], result
    )
    assert found.level is Level.NOT
    assert "the overload was 5.100 Mfps instead of 5.498 Mfps" in "; ".join(found.deviations)
    assert figures(result)["overload_share"] == pytest.approx(5.1 / 5.5, rel=0.01)


AWAY: dict[str, int | None] = {"restart-switch": NANOSECONDS, "kill-switch": NANOSECONDS}


@pytest.mark.parametrize(
    ("kind", "standard"),
    [
        ("latency", Standard.RFC2544),
        ("latency", Standard.RFC8219),
        ("recovery", Standard.RFC2544),
        ("reset", Standard.RFC6201),
    ],
)
@pytest.mark.parametrize("seconds", [59, 60])
def test_a_throughput_from_short_trials_is_not_that_of_the_standard(
    kind: str, standard: Standard, seconds: int
) -> None:
    asked = method(kind, throughput_duration=f"{seconds}s", throughput_sum="60s")
    result = asked.run(FluidBench(5_000_000, outages_ns=AWAY))

    words = asked.compliance(case_of("mlr", search=asked), [64], result)

    (found,) = (one for one in words if one.standard is standard)
    why = f"the throughput is from trials of {seconds}s instead of 60s"
    assert (why in found.deviations) == (seconds < 60)


def test_other_shares_do_not() -> None:
    asked = method("recovery", throughput="5Mfps", overload="20%", after="10%", duration="1s")
    result = asked.run(FluidBench(5_000_000, loads=GIVEN))

    (found,) = asked.compliance(case_of("mlr", search=asked), [64], result)

    assert found.level is Level.NOT
    assert "20% above the throughput instead of 10%" in found.deviations
    assert figures(result)["recovery_time"] == 0


def test_loss_that_never_ends_is_no_recovery_time() -> None:
    bench = FluidBench(5_000_000, recovery_ns=60 * NANOSECONDS - 1, loads=GIVEN)

    (figure,) = method("recovery", throughput="5Mfps").run(bench).figures

    assert figure.value is None
    assert figure.reason.startswith(
        "in 5 of 5 trials frames were lost to the end of the lower load"
    )
