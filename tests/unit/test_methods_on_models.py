"""Methods on simulated switches whose truth is known, over seeds: what they say is that truth."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from fractions import Fraction
from random import Random
from typing import Any

import pytest
from all_wrong import hold_each
from bench_models import LOADS, FluidBench, figures, method
from search_models import LINE_RATE
from simulated_cases import SECOND, session, simulated_case, switch_of

from vsperf.engine.disturb import run_trial
from vsperf.engine.happenings import Parts
from vsperf.methods.base import PLAIN, SHARE_BEFORE, Manner
from vsperf.record.trial import Trial
from vsperf.simulation.switch import Offer
from vsperf.spec.case import CaseSpec
from vsperf.trafficgens.base import TrialRequest
from vsperf.trafficgens.sim import SimulatedSession
from vsperf.units import FrameSize
from vsperf.vswitches.sim import RunningModel, SimulatedSwitchSpec

SEEDS = range(12)
LOSSY = ("ideal", "soft-knee", "noisy", "random-loss", "asymmetric", "always-lossy", "inversion")
SHARES = {"ideal": 1.0, "noisy": 1.0, "duplicating": 1.0, "asymmetric": 0.7}
"""Of the capacity, what comes through of the worse direction."""
FOUR_SIGMAS = 0.04
"""So far the capacity of a noisy switch wobbles at most."""


@dataclass
class ModelBench(FluidBench):
    """A simulated switch behind the simulated generator, in one session as a case has it."""

    running: SimulatedSession | None = None
    parts: Parts | None = None

    def trial(self, load_fps: int, duration_ns: int, manner: Manner = PLAIN) -> Trial:
        assert self.running is not None and self.parts is not None
        request = TrialRequest(load_fps, duration_ns)
        counts, happened = run_trial(
            self.running.run, request, manner, self.parts, duration_ns // SHARE_BEFORE
        )
        way = counts.directions[0]
        trial = self._kept(way, load_fps, duration_ns, manner, happened.event)
        self.made[-1] = trial.model_copy(update={"directions": counts.directions})
        return self.made[-1]


@contextmanager
def stand(case: CaseSpec, reference: int | None = None) -> Iterator[ModelBench]:
    """Deploy a case, to be measured by a method; `reference` is a throughput that is given."""
    assert isinstance(case.vswitch, SimulatedSwitchSpec)
    with session(case) as running:
        loads = replace(LOADS, reference=reference)
        parts = Parts(RunningModel(case.vswitch))
        yield ModelBench(0, loads=loads, running=running, parts=parts)


def drawn(seed: int, kind: str, **switch: Any) -> tuple[CaseSpec, int]:
    """Return a switch with a capacity that follows from the seed, and that capacity."""
    capacity = Random(seed).randint(2_000_000, 13_000_000)
    told = {"capacity": f"{capacity}fps", "behaviour": {"kind": kind}, **switch}
    return simulated_case(told, {"seed": seed + 1}), capacity


@pytest.mark.parametrize("kind", LOSSY)
def test_a_loss_curve_loses_above_the_truth_of_the_switch_and_not_below(kind: str) -> None:
    def check(seed: int) -> None:
        case, _ = drawn(seed, kind)
        truths = switch_of(case).true_capacity_fps(Offer(FrameSize(64)), Fraction(0), seed + 1)

        with stand(case) as bench:
            result = method("loss", step="5%").run(bench)

        ends = [truth.crossings[-1] for truth in truths]
        for load in result.loads:
            lost = Fraction(load.worst_loss_ratio) > 0
            if any(end.upper_fps is not None and load.load_fps >= end.upper_fps for end in ends):
                assert lost
            starts = [truth.crossings[0].lower_fps or 0 for truth in truths]
            if load.load_fps <= min(starts) and not any(truth.accidents for truth in truths):
                assert not lost
        lossless = result.figures[0]
        if lossless.value is not None:
            assert all(end.upper_fps is None or lossless.value < end.upper_fps for end in ends)
        elif not any(truth.accidents for truth in truths):
            least = round(LINE_RATE * 0.1)
            assert any((truth.crossings[0].lower_fps or 0) < least for truth in truths)

    hold_each(SEEDS, check, "seed {}".format)


def test_a_loss_curve_of_a_sharp_capacity_is_exact() -> None:
    def check(seed: int) -> None:
        case, capacity = drawn(seed, "ideal")

        with stand(case) as bench:
            result = method("loss", step="5%").run(bench)

        for load in result.loads:
            assert Fraction(load.worst_loss_ratio) == max(0, 1 - Fraction(capacity, load.load_fps))
        steps = [round(LINE_RATE * (1 - Fraction(number, 20))) for number in range(20)]
        assert figures(result)["lossless_load"] == next(step for step in steps if step <= capacity)

    hold_each(SEEDS, check, "seed {}".format)


@pytest.mark.parametrize("kind", SHARES)
def test_the_maximum_forwarding_rate_is_what_the_switch_can_do(kind: str) -> None:
    def check(seed: int) -> None:
        case, capacity = drawn(seed, kind)

        with stand(case) as bench:
            found = figures(method("forwarding", duration="1s").run(bench))

        expected = capacity * SHARES[kind]
        off = FOUR_SIGMAS * expected if kind == "noisy" else 1
        assert found["mfr"] == pytest.approx(expected, abs=off)
        assert found["frmol"] == pytest.approx(expected, abs=off)

    hold_each(SEEDS, check, "seed {}".format)


def test_a_reset_takes_as_long_as_the_model_says_by_both_methods() -> None:
    def check(seed: int) -> None:
        chance = Random(seed)
        takes = {name: chance.randint(1_000_000, 20 * SECOND) for name in ("restart", "kill")}
        told = {f"{name}_takes": f"{ns}ns" for name, ns in takes.items()}
        case, capacity = drawn(seed, "ideal", **told)
        asked = method("reset", throughput=f"{capacity}fps", duration="40s", repeats=2)

        with stand(case, capacity) as bench:
            found = figures(asked.run(bench))

        gap_ns = SECOND / capacity
        for name, ns in takes.items():
            assert found[f"{name}_time"] == pytest.approx(ns, abs=2 * gap_ns + 2)
            assert found[f"{name}_lost_time"] == pytest.approx(ns, abs=2 * gap_ns)
            assert found[f"{name}_difference"] == pytest.approx(0, abs=2 * gap_ns + 2)

    hold_each(SEEDS, check, "seed {}".format)


def test_a_switch_that_loses_frames_besides_shows_it_in_the_difference() -> None:
    def check(seed: int) -> None:
        case, capacity = drawn(seed, "always-lossy", restart_takes="2s")
        asked = method(
            "reset",
            throughput=f"{capacity // 2}fps",
            duration="40s",
            repeats=1,
            events=["restart-switch"],
        )

        with stand(case, capacity // 2) as bench:
            found = figures(asked.run(bench))

        assert found["restart_time"] == pytest.approx(2 * SECOND, rel=1e-3)
        assert found["restart_difference"] == pytest.approx(0.4 * SECOND, rel=0.06)  # 1 % of 40 s

    hold_each(SEEDS, check, "seed {}".format)
