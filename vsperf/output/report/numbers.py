"""The answers of a case with their bounds, and how each was computed, in words."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction

from vsperf.analysis.answers import (
    INVALID,
    another,
    by_draw,
    by_regime,
    interval,
    longest_away,
    loss_text,
    most_lost,
    over_draws,
    share_text,
)
from vsperf.analysis.kept import kept_of, made_at
from vsperf.analysis.summary import LOSSY, PERCENTILES, CaseRow
from vsperf.output.case_tables import gigabits
from vsperf.output.report.account import ending_of, told
from vsperf.output.report.page import Fact, Number
from vsperf.output.table import Table, columns
from vsperf.quantities.human import (
    End,
    human_count,
    human_fps,
    human_interval,
    human_ns,
    human_seconds,
    rounded_share,
)
from vsperf.quantities.unit import Unit
from vsperf.records.flags import Severity, worst
from vsperf.records.meaning import LIMITED_BY, LIMITS
from vsperf.records.result import (
    COUNTED,
    NO_ANSWER,
    Figure,
    GoalResult,
    Limit,
    LoadResult,
    amount,
    answering,
    heading,
)
from vsperf.records.trial import Trial
from vsperf.records.words import meaning

LOSS = (
    "The loss of a trial is that of its worse direction: (frames that were due − distinct, intact "
    "frames that arrived) ÷ frames that were due. What was not sent counts as lost."
)
TELLING = (Limit.DUT, Limit.VNF, Limit.UNCOUNTED)
"""With these the reason of a goal tells of one trial."""
NAMED = 12
"""So many trials are named one by one."""


def numbers_of(row: CaseRow, trials: Sequence[Trial]) -> tuple[Number, ...]:
    """Return the answers of a case, the one that matters most first."""
    trials = answering(trials)
    figures = [_figure(figure) for figure in row.figures]
    goals = [_goal(row, goal, trials) for goal in row.goals]
    loads = [_load(row, load, trials) for load in row.loads]
    return (*figures, *goals, *loads)


def _goal(row: CaseRow, goal: GoalResult, trials: Sequence[Trial]) -> Number:
    limit = Fraction(goal.loss_ratio)
    kept = kept_of(made_at(goal.lower_fps, trials), limit)
    allowed = "without loss" if limit == 0 else f"with {loss_text(goal.loss_ratio)} loss or less"
    passed = "highest load" if kept is None or kept.whole else f"highest load that {kept.share}"
    used = None if worst(goal.flags) is Severity.INVALID else goal.lower_fps
    facts = [
        _limited(goal.limit),
        *([Fact("trials at the lower bound", kept.text)] if kept and kept.whole else []),
        *(_rates(row, used) if used is not None else ()),
    ]
    how = [
        *_search(row),
        *_bound("Lower bound", goal.lower_fps, made_at(goal.lower_fps, trials)),
        *_bound("Upper bound", goal.upper_fps, made_at(goal.upper_fps, trials)),
        LOSS,
        *(_formulas(row, used) if used is not None else ()),
        f"Limited by {goal.limit.value}: {LIMITS[goal.limit]}",
    ]
    if goal.clean is not None:
        share = share_text(Fraction(goal.clean.share))
        facts += _clean(goal, share)
        how.append(f"Clean time ({share} of it all): {meaning('clean')}")
    if goal.regimes:
        facts += _by_regime(goal)
        how.append(f"Near and far: {meaning('regime')}")
    facts += _by_draw(goal)
    how.append(f"{_deployments(goal)} A draw: {meaning('draw')}")
    ending = ending_of(goal, trials) if goal.limit in TELLING else None
    return Number(
        goal.goal.upper(),
        f"{passed} {allowed}, per direction",
        interval(goal),
        " ".join([_sentence(goal), *([f"That is trial #{ending.index}."] if ending else [])]),
        tuple(facts),
        tuple(how),
        "" if kept is None or kept.whole else f"Of the trials at the lower bound, {kept.text}.",
        _in_clean_time(goal),
    )


def _in_clean_time(goal: GoalResult) -> str:
    clean = another(goal)
    if clean is None or goal.clean is None:
        return ""
    return f"{interval(clean)} in clean time ({share_text(Fraction(goal.clean.share))})"


def _clean(goal: GoalResult, share: str) -> Iterator[Fact]:
    """Say what the answer from clean time is, where it is another one, or why there is none."""
    clean = another(goal)
    if clean is not None:
        yield Fact(f"in clean time ({share})", f"{interval(clean)}: {clean.reason}")
    elif goal.clean is not None and goal.clean.limit is None:
        yield Fact("in clean time", f"no answer: {goal.clean.reason}")


def _by_regime(goal: GoalResult) -> Iterator[Fact]:
    """Say what the answer is while CPUs are near each other, and while they are far."""
    found = {there.regime: one for there, one in by_regime(goal)}
    for there in goal.regimes:
        clean = "" if there.clean is None else f", {share_text(Fraction(there.clean))} clean"
        where = f"{there.regime} ({rounded_share(Fraction(there.share))} of the time{clean})"
        one = found.get(there.regime)
        told = "no answer" if one is None else interval(one)
        yield Fact(where, f"{told}: {there.reason}")


def _by_draw(goal: GoalResult) -> Iterator[Fact]:
    """Say how far deployments lie apart, and what each came to."""
    each = [f"{draw.deployment}: {told or NO_ANSWER}" for draw, told in by_draw(goal)]
    if each:
        yield Fact("on several deployments", over_draws(goal) or "no answer on a second one")
        yield Fact("on each of them", "; ".join(each))


def _deployments(goal: GoalResult) -> str:
    """Say on how many deployments an answer rests."""
    if goal.draws is None:
        return "The interval is that of one deployment, one draw; search.draws asks further ones."
    found = [
        f"deployment {draw.deployment}: {draw.reason}"
        for draw, told in by_draw(goal)
        if draw.deployment > 1
    ]
    return (
        f"Asked again on further deployments, by the same rule in a short search from the known "
        f"bounds, by {goal.draws.view}. {'; '.join(found)}."
    )


def _limited(limit: Limit) -> Fact:
    words = LIMITED_BY[limit]
    return Fact("limit", words if limit.value in words else f"{words} ({limit.value})")


def _sentence(goal: GoalResult) -> str:
    """Say what a goal came to; never one bare number."""
    reason = f"{goal.reason[:1].upper()}{goal.reason[1:]}"
    return reason if reason.endswith((".", "!", "?")) or not reason else f"{reason}."


def _rates(row: CaseRow, fps: int) -> Iterator[Fact]:
    nothing: Fraction | None = None
    if (share := told(lambda: row.line_share(fps), nothing)) is not None:
        yield Fact("of the line rate", share_text(share, End.LOWER))
    for layer, name in ((1, "on the wire (L1)"), (2, "of frames (L2)")):
        if (bps := _bps(row, fps, layer)) is not None:
            yield Fact(f"Gbit/s {name}", gigabits(bps))


def _bps(row: CaseRow, fps: int, layer: int) -> int | None:
    unknown: int | None = None
    return told(lambda: row.bps(fps, layer), unknown)


def _formulas(row: CaseRow, fps: int) -> Iterator[str]:
    def told_formulas() -> list[str]:
        size = row.frame_size
        wire, mean = float(size.on_wire), float(size.mean)
        found = [
            f"Gbit/s L1 = {human_count(fps)} fps × {wire:g} bytes (frame, FCS, preamble and gap) "
            f"× 8; L2 = {human_count(fps)} fps × {mean:g} bytes × 8. One direction."
        ]
        if not row.virtual:
            most = float(row.link.frames_per_second(size))
            found.append(
                f"Share of the line rate = {human_count(fps)} ÷ {human_count(int(most))} fps, all "
                f"that {row.link} carries of these frames."
            )
        return found

    nothing: list[str] = []
    yield from told(told_formulas, nothing)


def _search(row: CaseRow) -> Iterator[str]:
    search = row.asked.section("search")
    if "kind" in search:
        asked = {name: search.get(name) for name in ("min_load", "max_load", "width")}
        words = [f"Found by the method {search['kind']}"]
        if asked["min_load"] and asked["max_load"]:
            words.append(f"among loads from {asked['min_load']} to {asked['max_load']}")
        if asked["width"]:
            words.append(f"until the interval was no wider than {asked['width']}")
        yield f"{', '.join(words)}. The result is the interval, and not one of its ends."


def _bound(name: str, fps: int | None, made: Sequence[Trial]) -> Iterator[str]:
    if fps is None:
        yield f"{name}: {NO_ANSWER}."
        return
    if not made:
        yield f"{name} {human_count(fps)} fps."
        return
    shown = ", ".join(f"#{one.index} ({_lost(one)})" for one in made[:NAMED])
    more = f" and {len(made) - NAMED} more" if len(made) > NAMED else ""
    sent = human_count(sum(one.sent_frames for one in made))
    lasting = human_seconds(sum(one.duration_ns for one in made) / 1e9)
    number = "one trial" if len(made) == 1 else f"{len(made)} trials"
    yield (
        f"{name} {human_count(fps)} fps: {number} of {lasting} together, {sent} frames sent: "
        f"{shown}{more}."
    )


def _lost(trial: Trial) -> str:
    if not trial.valid:
        return "invalid"
    lost = trial.lost_frames
    if lost == 0:
        return "lost none"
    due = sum(way.intended_frames for way in trial.directions)
    told = f"lost {human_count(lost)} of {human_count(due)}, {loss_text(Fraction(lost, due))}"
    if len(trial.directions) == 1 or Fraction(lost, due) == trial.loss_ratio:
        return told
    return f"{told}; {loss_text(trial.loss_ratio)} in the worse direction"


def _load(row: CaseRow, load: LoadResult, trials: Sequence[Trial]) -> Number:
    through = human_fps(load.throughput_fps, End.LOWER)
    made = [one for one in trials if one.load_fps == load.load_fps and one.purpose in COUNTED]
    facts = [
        Fact("worst loss", most_lost(load)),
        Fact("trials that passed", f"{load.passed} of {load.trials}"),
        _limited(load.limit),
        *([Fact("came through, per direction", through)] if load.outages_ns else []),
        *_rates(row, load.throughput_fps),
    ]
    if not load.believed:
        facts = [_limited(load.limit)]
    how = [
        "The load was given and not searched, so there is no interval. The rate is the least that "
        "came through in any of its trials, in the worse direction.",
        *_bound("Load", load.load_fps, made),
        LOSS,
        *(_formulas(row, load.throughput_fps) if load.believed else ()),
        f"Limited by {load.limit.value}: {LIMITS[load.limit]}",
    ]
    meaning, value = "came through, per direction", through
    if load.outages_ns:
        meaning = "longest time without a frame around what was done"
        value = longest_away(load) or "frames did not come back"
    return Number(
        f"at {human_fps(load.load_fps)}",
        meaning,
        value if load.believed else INVALID,
        f"{load.reason[:1].upper()}{load.reason[1:]}.".replace("..", "."),
        tuple(facts),
        tuple(how),
    )


def _figure(figure: Figure) -> Number:
    facts = []
    if figure.unit is Unit.FACTOR and figure.lower is not None:
        facts.append(Fact("where it lies", _between(figure)))
    else:
        if figure.lower is not None:
            held = amount(figure.lower, figure.unit, End.LOWER)
            facts.append(Fact("highest that held", held))
        if figure.upper is not None:
            did_not = amount(figure.upper, figure.unit, End.UPPER)
            facts.append(Fact("lowest that did not", did_not))
    if figure.spread_text:
        facts.append(Fact("over the repeats", figure.spread_text))
    if figure.limit is not None:
        facts.append(_limited(figure.limit))
    name = heading(figure.name)
    what = meaning(name)
    how = [] if what is None else [f"{name[:1].upper()}{name[1:]}: {what}"]
    how += [f"Measured at: {figure.at}."] if figure.at else []
    if figure.limit is not None:
        how.append(f"Limited by {figure.limit.value}: {LIMITS[figure.limit]}")
    return Number(name, figure.at, figure.text, figure.reason, tuple(facts), tuple(how))


def _between(figure: Figure) -> str:
    """Write between which two values a comparison lies, as far as it has two."""
    if figure.open_below or figure.lower is None or figure.upper is None:
        return figure.text
    return human_interval(
        figure.lower, figure.upper, lambda value, end: amount(value, figure.unit, end)
    )


def latency_table(row: CaseRow) -> Table | None:
    """Return latency percentiles at each load; None where none were measured."""
    names = ("at", "load", *(f"p{percent:g}" for percent in PERCENTILES), "frames lost")
    rows = tuple(
        (
            one.at,
            human_fps(one.load_fps),
            *(human_ns(one.percentiles_ns[percent]) for percent in PERCENTILES),
            f"{human_count(one.lost_frames)}: {LOSSY}" if one.lost_frames else "none",
        )
        for one in row.latency
    )
    return Table("latency", columns(*names), rows) if rows else None
