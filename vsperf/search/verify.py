"""Trying an upper bound again: one lossy trial may be overload or an accident."""

from __future__ import annotations

from vsperf.search.base import BudgetExhausted, Probe
from vsperf.search.classify import DurationRule, bounds_of, failed
from vsperf.search.verdict import limited_by_generator, lossy_trials


def verify_upper(
    rule: DurationRule, probe: Probe, duration_ns: int, repeats: int
) -> tuple[bool | None, bool]:
    """Return whether the upper bound stood, and whether the time ended before that was known.

    A bound of a single lossy trial is tried again, up to `repeats` times, if it is the switch that
    failed; the first repeat that passes ends it. Repeats that another goal caused count as well.
    Where no load has passed, the lowest one is tried once more whatever it rests on: the switch
    may just have been cold.
    """
    bounds = bounds_of(rule, probe.trials)
    upper = bounds.upper
    if upper is None or repeats == 0:
        return None, False
    trials = [trial for trial in probe.trials if trial.load_fps == upper]
    lossy = lossy_trials(rule, trials)
    settled = bounds.lower is not None and rule.exceed_ratio > 0 and len(lossy) > 1
    if settled or limited_by_generator(rule, trials):
        return None, False
    full = [trial for trial in trials if trial.duration_ns >= duration_ns]
    if len(lossy) <= repeats and any(trial not in lossy for trial in full):
        return False, False
    least = 1 if bounds.lower is None else 0
    return _try_again(rule, probe, upper, duration_ns, max(least, repeats + 1 - len(lossy)))


def _try_again(
    rule: DurationRule, probe: Probe, load_fps: int, duration_ns: int, times: int
) -> tuple[bool | None, bool]:
    try:
        for _ in range(times):
            if not failed(probe(load_fps, duration_ns), rule.loss_ratio):
                return False, False
    except BudgetExhausted:
        return None, True
    return True, False
