"""Whether stalls of the machine made trials fail, or leave too little to tell who did."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from vsperf.quantities.human import human_fps
from vsperf.records.clean import LEAST, CleanTrial, clean_share, in_clean_time, kept_silent
from vsperf.records.result import Limit
from vsperf.records.trial import Trial
from vsperf.search.classify import failed_in_switch
from vsperf.search.words import percent


def told_by_stalls(
    own: Sequence[Trial], loss_ratio: Fraction, trials: Sequence[Trial]
) -> tuple[Limit, str] | None:
    """Say what stalls have to do with trials at one load that the switch failed.

    Where none would have failed in clean time the loss is the machine's. Where less than half of
    their time was clean nobody can tell whose it was, and least of all that it was the switch's.
    None where clean time says that it was, or where nobody knows what time was clean. `trials` are
    all there are: together they say whether silence was the switch's own.
    """
    silent = kept_silent(trials)
    seen = [in_clean_time(trial, silent) for trial in own]
    left = [one for one in seen if isinstance(one, CleanTrial)]
    share = clean_share(left)
    if share is None:
        return None
    where, fail = human_fps(own[0].load_fps), [failed_in_switch(one, loss_ratio) for one in left]
    if share < LEAST:
        little = f"at {where} only {percent(share)} of the time was clean"
        if any(fail) or len(left) < len(own):
            return Limit.UNKNOWN, f"{little}: whose loss it was nobody can tell"
        return Limit.HOST, f"{little}, and no trial would have failed in that"
    told = [not fails for one, fails in zip(left, fail, strict=True) if one.enough]
    if len(left) < len(own) or not told or not all(told):
        return None
    return Limit.HOST, (
        f"at {where} no trial would have failed without loss in time in which "
        f"generator or switch were kept from running ({percent(1 - share)} of it)"
    )
