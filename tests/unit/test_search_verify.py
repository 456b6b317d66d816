"""Trying an upper bound again: when it is worth a trial, and what a repeat may show."""

from __future__ import annotations

from fractions import Fraction

from search_models import lossy, probe_of, switch, trial, way

from vsperf.record.flags import Flag
from vsperf.record.trial import Trial
from vsperf.search.base import Probe
from vsperf.search.classify import DurationRule
from vsperf.search.verify import verify_upper
from vsperf.units import NANOSECONDS

ONE, MINUTE = NANOSECONDS, 60 * NANOSECONDS
STRICT = DurationRule(Fraction(0), Fraction(0), MINUTE, MINUTE)
LOSSY = lossy(10**6, 60, Fraction(1, 100))


def _probe(capacity: int, *made: Trial, budget_s: float | None = None) -> Probe:
    """Return a probe on an ideal switch, with trials that were made before."""
    probe = probe_of(switch(capacity), budget_s)
    probe.trials.extend(made)
    return probe


def test_loss_that_comes_again_confirms_the_bound() -> None:
    probe = _probe(500_000, LOSSY)
    assert verify_upper(STRICT, probe, MINUTE, 2) == (True, False)
    assert [(each.load_fps, each.duration_ns) for each in probe.trials[1:]] == [(10**6, MINUTE)] * 2


def test_the_first_repeat_that_passes_ends_it() -> None:
    probe = _probe(2 * 10**6, LOSSY)
    assert verify_upper(STRICT, probe, MINUTE, 5) == (False, False)
    assert len(probe.trials) == 2


def test_lossy_trials_that_are_there_already_count_as_repeats() -> None:
    probe = _probe(500_000, LOSSY, LOSSY)
    assert verify_upper(STRICT, probe, MINUTE, 2) == (True, False)
    assert len(probe.trials) == 3
    settled = _probe(2 * 10**6, lossy(1000, 60), LOSSY, LOSSY, LOSSY)
    assert verify_upper(STRICT, settled, MINUTE, 2) == (True, False)
    assert len(settled.trials) == 4


def test_a_full_trial_that_passed_already_needs_no_repeat() -> None:
    short = lossy(10**6, 1, Fraction(1, 100))
    probe = _probe(500_000, short, lossy(10**6, 60))
    assert verify_upper(STRICT, probe, MINUTE, 2) == (False, False)
    assert len(probe.trials) == 2


def test_a_short_trial_that_passed_says_nothing_on_a_full_one() -> None:
    probe = _probe(500_000, LOSSY, lossy(10**6, 1))
    assert verify_upper(STRICT, probe, MINUTE, 2) == (True, False)
    assert len(probe.trials) == 4


def test_a_load_that_the_generator_could_not_send_is_not_tried_again() -> None:
    short = trial(10**6, MINUTE, [way(60 * 10**6, unsent=10**6)], Flag.SHORT_OFFER)
    probe = _probe(500_000, short)
    assert verify_upper(STRICT, probe, MINUTE, 2) == (None, False)
    assert probe.trials == [short]


def test_a_goal_with_an_exceed_ratio_has_its_own_repeats() -> None:
    half = DurationRule(Fraction(0), Fraction(1, 2), MINUTE, MINUTE)
    made = [lossy(1000, 60), LOSSY, LOSSY]
    probe = _probe(500_000, *made)
    assert verify_upper(half, probe, MINUTE, 2) == (None, False)
    assert probe.trials == made


def test_a_single_lossy_trial_is_tried_again_whatever_the_exceed_ratio() -> None:
    half = DurationRule(Fraction(0), Fraction(1, 2), MINUTE, MINUTE)
    assert verify_upper(half, _probe(500_000, lossy(1000, 60), LOSSY), MINUTE, 2) == (True, False)
    assert verify_upper(half, _probe(2 * 10**6, lossy(1000, 60), LOSSY), MINUTE, 2)[0] is False


def test_where_nothing_passed_the_lowest_load_is_tried_once_more() -> None:
    half = DurationRule(Fraction(0), Fraction(1, 2), MINUTE, MINUTE)
    assert verify_upper(half, _probe(2 * 10**6, LOSSY, LOSSY), MINUTE, 2) == (False, False)
    assert verify_upper(half, _probe(500_000, LOSSY, LOSSY), MINUTE, 2) == (True, False)


def test_without_an_upper_bound_there_is_nothing_to_try() -> None:
    probe = _probe(500_000, lossy(10**6, 60))
    assert verify_upper(STRICT, probe, MINUTE, 2) == (None, False)


def test_when_the_time_ends_the_bound_is_unverified_and_not_wrong() -> None:
    probe = _probe(500_000, LOSSY, budget_s=70)
    assert verify_upper(STRICT, probe, MINUTE, 2) == (None, True)
    assert len(probe.trials) == 2
