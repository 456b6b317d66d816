"""Fixed loads: nothing is searched, every load is offered as often as asked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from vsperf.quantities.human import End, human_fps, human_ns, human_span, percent
from vsperf.records.flags import Flag
from vsperf.records.result import Limit, LoadResult, SearchResult, none_lost
from vsperf.records.trial import Trial
from vsperf.search.base import BudgetExhausted, Loads, Probe
from vsperf.search.classify import failed, failed_in_switch
from vsperf.search.verdict import (
    counted_by_nobody,
    lost_by_the_generator,
    lost_in_vnfs,
    told_by_stalls,
)


@dataclass(frozen=True, slots=True)
class FixedLoads:
    """The measurement, ready to run."""

    loads: Loads
    durations_ns: Mapping[int, int]
    """Length of a trial, by load."""
    repeats: int
    loss_ratio: Fraction
    """Loss up to which a trial passes."""

    def run(self, probe: Probe) -> SearchResult:
        """Offer each load in turn; a load that the time did not suffice for is left out."""
        results: list[LoadResult] = []
        complete = True
        for load in self.loads.fixed:
            trials: list[Trial] = []
            try:
                while len(trials) < self.repeats:
                    trials.append(probe(load, self.durations_ns[load]))
            except BudgetExhausted:
                complete = False
            if trials:
                found = load_result(self.loads, trials, self.loss_ratio, self.repeats)
                results.append(_with_what_none_lost_means(found, trials))
            if not complete:
                break
        return SearchResult(loads=tuple(results), complete=complete)


def _with_what_none_lost_means(result: LoadResult, trials: Sequence[Trial]) -> LoadResult:
    """Add to a load at which no frame was lost what that proves, which is never that none will."""
    if not all(trial.directions for trial in trials) or any(
        trial.lost_frames or trial.event is not None for trial in trials
    ):
        return result
    ways = zip(*([way.sent_frames for way in trial.directions] for trial in trials), strict=False)
    said = f"{result.reason}; {none_lost(min(map(sum, ways)))}"
    return result.model_copy(update={"reason": said})


def load_result(
    loads: Loads, trials: Sequence[Trial], loss_ratio: Fraction = Fraction(0), repeats: int = 1
) -> LoadResult:
    """Return what became of one load, of which `repeats` trials were wanted."""
    lossy = [trial for trial in trials if failed(trial, loss_ratio)]
    limit, reason = _after_event(trials) or _limit(loads, trials[0].load_fps, lossy, loss_ratio)
    short = max(map(_short_ratio, trials))
    if short and limit is not Limit.GENERATOR:
        reason += f"; the generator was too slow for {percent(short)} of the load"
    if len(trials) < repeats:
        reason += f"; the time ended after {len(trials)} of {repeats} trials"
        limit = Limit.BUDGET if not lossy else limit
    return LoadResult(
        load_fps=trials[0].load_fps,
        trials=len(trials),
        passed=len(trials) - len(lossy),
        worst_loss_ratio=str(max(trial.loss_ratio for trial in trials)),
        short_ratio=str(short),
        throughput_fps=int(min(trial.forwarding_fps for trial in trials)),
        limit=limit,
        reason=reason,
        outages_ns=tuple(trial.outage_ns for trial in trials if trial.event is not None),
    )


def _short_ratio(trial: Trial) -> Fraction:
    """Return the share of frames that a generator was too slow for, if that is not tolerated."""
    if Flag.SHORT_OFFER not in trial.flags:
        return Fraction(0)
    ways = (way for way in trial.directions if way.intended_frames > 0)
    return max(
        (Fraction(way.short_frames, way.intended_frames) for way in ways), default=Fraction(0)
    )


def _limit(
    loads: Loads, load: int, lossy: Sequence[Trial], loss_ratio: Fraction
) -> tuple[Limit, str]:
    by_switch = [trial for trial in lossy if failed_in_switch(trial, loss_ratio)]
    if by_switch:
        return _blame(loads, by_switch, loss_ratio)
    if lossy:
        worst = percent(max(trial.loss_ratio for trial in lossy))
        return Limit.GENERATOR, f"up to {worst} is missing, and the generator is short of it"
    if load >= loads.line_rate:
        return Limit.LINK, f"{loads.whole_line} passed"
    if loads.generator_cap is not None and load >= loads.generator_cap:
        return Limit.GENERATOR, "all that the generator can do passed"
    return Limit.SETTING, "the load given passed"


def _blame(loads: Loads, trials: Sequence[Trial], loss_ratio: Fraction) -> tuple[Limit, str]:
    """Return whose loss it was in trials that lost more of what was offered than allowed."""
    worst = percent(max(trial.switch_loss_ratio for trial in trials))
    where = human_fps(trials[0].load_fps)
    if (stalls := told_by_stalls(trials, loss_ratio, trials, where)) is not None:
        return stalls
    if (behind := lost_by_the_generator(trials, where)) is not None:
        return Limit.GENERATOR, behind
    if (nobody := counted_by_nobody(trials, where)) is not None:
        return Limit.UNCOUNTED, nobody
    if (in_vnfs := lost_in_vnfs(trials)) is not None:
        return Limit.VNF, f"up to {worst} of what was offered is missing; {in_vnfs}"
    limit, who = loads.blamed
    return limit, f"{who} lost up to {worst} of what it was offered"


AWAY = Fraction(1, 10)
"""From this share of an outage on, that of a generator which stood still is not the switch's."""


def stood_still(trials: Sequence[Trial], outages_ns: Sequence[int]) -> str | None:
    """Say so if a generator stood still for long enough that an outage may be its own."""
    longest = [(one.generator and one.generator.longest_gap_ns) or 0 for one in trials]
    within = sum(map(min, longest, outages_ns))
    if within < AWAY * sum(outages_ns) or not within:
        return None
    most = human_ns(max(longest), End.UPPER)
    return (
        f"the generator itself stood still for up to {most}, so nobody can tell how much of it was "
        "the switch's"
    )


def _after_event(trials: Sequence[Trial]) -> tuple[Limit, str] | None:
    """Say how long frames stayed away after what was done to the switch, if something was."""
    events = [trial.event for trial in trials if trial.event is not None]
    if not events:
        return None
    name, outages = events[0].name, [trial.outage_ns for trial in trials]
    known = [outage for outage in outages if outage is not None]
    if len(known) < len(outages):
        missing = len(outages) - len(known)
        return (
            Limit.UNKNOWN,
            f"after {name} no frame came back in {missing} of {len(outages)} trials",
        )
    spread = human_span(known, human_ns)
    away = Limit.VNF if events[0].to_vnfs else Limit.DUT
    said = f"frames stayed away for {spread} after {name}"
    if (still := stood_still(trials, known)) is not None:
        return Limit.HOST, f"{said}; {still}"
    return away, said
