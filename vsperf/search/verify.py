"""Trying an upper bound again: one lossy trial may be overload or an accident."""

from __future__ import annotations

from vsperf.search.base import BudgetExhausted, Probe
from vsperf.search.classify import DurationRule, bounds_of, failed
from vsperf.search.verdict import limited_by_generator, lossy_trials


def verify_upper(
    rule: DurationRule, probe: Probe, duration_ns: int, repeats: int
) -> tuple[bool | None, bool]:
    """Return whether the upper bound stood, and whether the time ended before that was known.

    Only a goal without an exceed ratio needs it: there a single lossy trial makes the bound. It is
    tried again if it is the switch that failed; the first repeat that passes ends it. Repeats that
    another goal caused count as well.
    """
    upper = bounds_of(rule, probe.trials).upper
    if upper is None or repeats == 0 or rule.exceed_ratio > 0:
        return None, False
    trials = [trial for trial in probe.trials if trial.load_fps == upper]
    lossy = lossy_trials(rule, trials)
    if limited_by_generator(rule, trials):
        return None, False
    full = [trial for trial in trials if trial.duration_ns >= duration_ns]
    if len(lossy) == 1 and any(trial not in lossy for trial in full):
        return False, False
    try:
        for _ in range(repeats + 1 - len(lossy)):
            if not failed(probe(upper, duration_ns), rule.loss_ratio):
                return False, False
    except BudgetExhausted:
        return None, True
    return True, False
