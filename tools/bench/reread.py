"""Reads stored runs again, from their trials alone, and says where a printed answer differs.

What reads shares no code with what searches: what a load is to a goal is written here once more,
from the standards, and of a trial only what was counted is read. The ratio is that of answers that
differ. What searches make of models is read by `coverage` likewise.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any, TypeVar

from common import Ratio, carry_out, options, say
from reread_connections import ANSWERS as CONNECTIONS
from reread_connections import answers_of_connections
from reread_cpu import KINDS as OF_PROGRAMS
from reread_cpu import answers_of_programs
from reread_figures import (
    READERS,
    alike,
    curves_differ,
    figures_differ,
    own_curves,
    own_figures,
    sweep_differs,
)
from reread_goals import (
    THROUGHPUT,
    Bounds,
    Goal,
    Is,
    Seen,
    as_it_is,
    bounds,
    by_load,
    clean_share,
    counted,
    from_decided,
    goals_of,
    in_clean_time,
    looks_for_throughput,
    on_less,
    share_of,
    silent_too,
    through_at,
    throughput_goal,
)
from reread_names import CURVES, reads
from reread_packets import KINDS as OF_PACKETS
from reread_packets import answers_of_packets
from reread_rounds import answers_of_rounds, criteria_differ
from reread_shown import shown_differs
from reread_trials import (
    SECOND,
    Measured,
    away_ns,
    believed,
    by_distance,
    drawn_on,
    intact,
    like_the_first,
    looking,
    met_alone,
    share_there,
    since_check,
    through,
)
from reread_verdicts import count_differs, trials_differ, verdicts_of

from vsperf.errors import ComponentError, StoreError
from vsperf.quantities.units import FrameSize, LinkSpeed, Rate
from vsperf.records.exchange import Exchange
from vsperf.records.files.folders import RECORDS
from vsperf.records.files.view import CaseView, views
from vsperf.records.flags import Flag
from vsperf.records.result import (
    CleanResult,
    Draw,
    Draws,
    Figure,
    GoalResult,
    Limit,
    LoadResult,
    PartialResult,
    RegimeResult,
    SearchResult,
    View,
)
from vsperf.records.trial import Purpose, Second, Trial

EXAMPLE = "tools/bench/reread.py results"
GOLDEN = Path(__file__).resolve().parents[2] / "tests" / "golden" / "records"
AT_THROUGHPUT = ("broadcast", "latency")
"""Methods whose answer is that of trials at it: what these lose speaks against it."""


Part = TypeVar("Part", bound=PartialResult)
Printed = GoalResult | PartialResult | Draw
"""An answer with bounds."""


def differs(goal: Goal, printed: Printed, trials: Sequence[Seen]) -> tuple[str, ...]:
    """Say where the printed bounds of a goal are not those of its trials."""
    decided = from_decided(goal, trials)
    if any(
        _same(one, printed, bounds(one, decided), trials) for one in _rules(goal, printed, trials)
    ):
        return ()
    return tuple(_against(goal, printed, bounds(goal, trials), trials))


def _rules(goal: Goal, printed: Printed, trials: Sequence[Seen]) -> list[Goal]:
    """Return by what an answer may have been found."""
    return [goal, goal.leniently(trials)] if on_less(printed) else [goal]


def _through_differs(goal: Goal, printed: GoalResult, trials: Sequence[Trial]) -> Iterator[str]:
    """Say where what came through at the lower bound is something else."""
    told, lower = printed.throughput_fps, printed.lower_fps
    if lower is None or all(one.load_fps != lower for one in trials):
        if told is not None:
            yield f"through printed {told:,}, and no trial was made at it"
        return
    found = [
        through_at(one, lower, some)
        for some in (trials, [one for one in trials if one.purpose is Purpose.SEARCH])
        for one in _rules(goal, printed, [as_it_is(each) for each in some])
        if any(each.load_fps == lower for each in some)
    ]
    if told not in found:
        yield f"through printed {told}, by all trials {found[0]:,}"


def _same(goal: Goal, printed: Printed, found: Bounds, trials: Sequence[Seen]) -> bool:
    return (printed.lower_fps, printed.upper_fps) == (found.lower, _of_switch(goal, found, trials))


def _of_switch(goal: Goal, found: Bounds, trials: Sequence[Seen]) -> int | None:
    """Return the upper bound, unless the generator was short of it: then it is none of a switch."""
    if found.upper is None or goal.judge(by_load(trials)[found.upper], own=True) is not Is.UPPER:
        return None
    return found.upper


def _as_printed(goal: Goal, trials: Sequence[Seen]) -> tuple[int | None, int | None]:
    found = bounds(goal, trials)
    return found.lower, _of_switch(goal, found, trials)


def _against(goal: Goal, printed: Printed, found: Bounds, trials: Sequence[Seen]) -> Iterator[str]:
    groups = by_load(trials)
    for name, load, own in (
        ("lower", printed.lower_fps, found.lower),
        ("upper", printed.upper_fps, found.upper),
    ):
        if load == own:
            continue
        group = groups.get(load, []) if load is not None else []
        passed = sum(not one.fails(goal.allowed, own=False) for one in group)
        what = "none" if load is None else f"{load:,} ({passed} of {len(group)} passed)"
        yield f"{name} bound printed {what}, by all trials {own and f'{own:,}'}"


def answers(
    search: Mapping[str, Any],
    trials: Sequence[Trial],
    result: SearchResult,
    seconds: Iterable[Second] = (),
) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield each answer that is printed, and where it differs from the trials."""
    goals, every = goals_of(search), counted(trials)
    known = looking(search, every) if looks_for_throughput(search) else every
    raw = [as_it_is(one) for one in known]
    for one in result.goals:
        if (goal := goals.get(one.goal)) is None:
            continue
        against = differs(goal, one, raw)
        yield one.goal, against or tuple(_through_differs(goal, one, known))
        if search["kind"] in AT_THROUGHPUT:
            yield f"{one.goal} again", tuple(_taken_back(goal, one, every))
        yield from _in_parts(goal, one, known)
        yield from _by_deployment(goal, one, known, trials)
    for load in result.loads:
        yield f"{load.load_fps:,}", tuple(_load_differs(search, load, trials))
    if (told := result.round_trips_ns) is not None:
        met = met_alone(believed(trials))
        yield "round trips", () if told == met else (f"printed {told}, by all trials {met}",)
    yield from _others(search, trials, result, seconds)


def with_surplus(
    trials: Sequence[Trial], result: SearchResult
) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield what stands though more arrived in a trial than was sent: another trial missed it.

    Of stored runs only: who searches a model alone has no engine that doubts its answers for that.
    """
    over = [
        one.index
        for one in since_check(trials)
        if one.purpose in {Purpose.SEARCH, Purpose.LATENCY}
        and any(intact(way) > way.sent_frames for way in one.directions)
    ]
    if not over:
        return
    answered: tuple[GoalResult | LoadResult | Figure, ...]
    answered = (*result.goals, *result.loads, *result.figures)
    stands = any(Flag.RX_EXCEEDS_TX not in one.flags for one in answered)
    said = f"stands, though more arrived than was sent in trials {over}"
    yield "surplus", (said,) if stands else ()


def _in_parts(
    goal: Goal, printed: GoalResult, known: Sequence[Trial]
) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield the answers from clean time and by regime, and which share of the time each is from."""
    silent, parted, name = silent_too(known), by_distance(known), printed.goal
    if printed.clean is not None:
        yield f"{name} clean share", _of_either(_clean_differs, printed.clean, known)
        if printed.clean.limit is not None:
            left = (in_clean_time(one, silent=silent) for one in known)
            clean = [one for one in left if one is not None]
            yield f"{name} in clean time", differs(goal, printed.clean, clean)
    for there in printed.regimes:
        yield f"{name} {there.regime} share", _of_either(_regime_differs, there, known)
        if there.limit is None:
            continue
        made = parted.get(there.regime.value, [])
        seen = [as_it_is(each) for each in made]
        if there.clean is not None:
            rest = (in_clean_time(each, silent=silent) for each in made)
            seen = [each for each in rest if each is not None]
        yield f"{name} {there.regime}", differs(goal, there, seen)


def _of_either(
    differing: Callable[[Part, Sequence[Trial]], Iterator[str]],
    printed: Part,
    known: Sequence[Trial],
) -> tuple[str, ...]:
    """Return where a share of the time differs from that of all trials, and of those that searched.

    Trials at shares of the answer come later, and only where they move it all is counted anew.
    """
    searched = [one for one in known if one.purpose is Purpose.SEARCH]
    against = tuple(differing(printed, searched))
    return against if against and tuple(differing(printed, known)) else ()


def _clean_differs(printed: CleanResult, known: Sequence[Trial]) -> Iterator[str]:
    """Say where the share of the time that is clean is another one."""
    share = clean_share(known, silent=silent_too(known))
    yield from _share_differs("share", printed.share, share)


def _share_differs(what: str, printed: str | None, share: Fraction | None) -> Iterator[str]:
    told = None if printed is None else Fraction(printed)
    nothing = share is None and told == 0
    if told != share and not nothing:
        yield f"{what} printed {printed}, by all trials {share}"


def _regime_differs(printed: RegimeResult, known: Sequence[Trial]) -> Iterator[str]:
    """Say where how often and how far CPUs were near each other, or far, is something else."""
    kind, silent = printed.regime.value, silent_too(known)
    yield from _share_differs("share of the time", printed.share, share_there(known, kind))
    there = by_distance(known).get(kind, [])
    clean = clean_share(there, silent=silent) if clean_share(known, silent=silent) else None
    yield from _share_differs("clean share", printed.clean, clean)
    trips = [trip for one in there for trip in one.round_trips_ns]
    told, ends = (printed.least_ns, printed.most_ns), (min(trips, default=0), max(trips, default=0))
    if told != ends:
        yield f"round trips printed {told}, by all trials {ends}"


def _by_deployment(
    goal: Goal, printed: GoalResult, first: Sequence[Trial], trials: Sequence[Trial]
) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield the answers on further deployments, each from the trials there."""
    draws = printed.draws
    if draws is None:
        return
    silent = silent_too(first)
    for draw in draws.made[1:]:
        if draw.limit is not None:
            drawn = drawn_on(trials, draw.deployment)
            seen = _as_viewed(draws.view, first, drawn, silent=silent)
            yield f"{printed.goal} on deployment {draw.deployment}", differs(goal, draw, seen)
    yield f"{printed.goal} over deployments", tuple(_over(printed, draws))


def _as_viewed(
    view: View, first: Sequence[Trial], drawn: Sequence[Trial], *, silent: bool
) -> list[Seen]:
    """Return trials on another deployment, as those on the first one were looked at."""
    apart = view in (View.NEAR, View.FAR)
    kept = like_the_first(first, drawn, view.value if apart else None)
    slots = any(in_clean_time(one, silent=silent) is not None for one in first)
    if view is View.ALL or (apart and not slots):
        return [as_it_is(one) for one in kept]
    left = (in_clean_time(one, silent=silent) for one in kept)
    return [one for one in left if one is not None]


def _over(printed: GoalResult, draws: Draws) -> Iterator[str]:
    """Say where what is printed over all deployments is not what each of them came to.

    The first one's is the answer of the search, from the same part of the time.
    """
    views = {
        View.ALL: printed,
        View.CLEAN: printed.clean,
        **{View(one.regime.value): one for one in printed.regimes},
    }
    found, first = views.get(draws.view), draws.made[0]
    if found is None or (found.lower_fps, found.upper_fps) != (first.lower_fps, first.upper_fps):
        yield "the first deployment has another answer than the search"
    answered = [
        one
        for one in draws.made
        if one.lower_fps is not None
        and one.limit not in (None, Limit.HOST, Limit.BUDGET, Limit.UNKNOWN)
    ]
    lower = upper = None
    if len(answered) > 1:
        lower = sorted(one.lower_fps or 0 for one in answered)[0]
        open_ended = any(one.upper_fps is None for one in answered)
        upper = None if open_ended else sorted(one.upper_fps or 0 for one in answered)[-1]
    told = (draws.lower_fps, draws.upper_fps)
    if told != (lower, upper):
        yield f"printed {told}, by all deployments {(lower, upper)}"


def _taken_back(goal: Goal, printed: GoalResult, trials: Sequence[Trial]) -> Iterator[str]:
    """Say where a throughput stands that was offered again, and is none by the same rule."""
    groups = by_load([as_it_is(one) for one in trials])
    for load, group in groups.items():
        below = printed.lower_fps is not None and load <= printed.lower_fps
        if below and goal.judge(group) is Is.UPPER and Flag.REFUTED not in printed.flags:
            passed = sum(not one.fails(goal.allowed, own=False) for one in group)
            yield f"stands, though {passed} of {len(group)} passed at {load:,}"


def _others(
    search: Mapping[str, Any],
    trials: Sequence[Trial],
    result: SearchResult,
    seconds: Iterable[Second],
) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield the figures and curves of a method likewise."""
    if search["kind"] == "churn":
        yield from _beside_changes(search, believed(trials), result)
    if not reads_figures(search):
        return
    there = believed(trials)
    fps = None
    if looks_for_throughput(search):
        there = there[len(looking(search, there)) :]
        fps = next((one.lower_fps for one in result.goals if one.goal == THROUGHPUT), None)
    elif search.get("throughput") is not None:
        fps = int(Rate.parse(search["throughput"]).number)
    case = Measured(search, there, since_check(trials), tuple(seconds), fps, result.whole)
    if search["kind"] in {"loss", "forwarding"}:
        yield "loads", tuple(sweep_differs(search, there, whole=result.whole))
    yield from figures_differ(result.figures, own_figures(case))
    yield from curves_differ(result.curves, own_curves(case))


def reads_figures(search: Mapping[str, Any]) -> bool:
    """Whether the figures of a method are read; a throughput that is given has to be in frames."""
    given = search.get("throughput")
    return search["kind"] in READERS and (given is None or Rate.parse(given).unit == "fps")


def _beside_changes(
    search: Mapping[str, Any], trials: Sequence[Trial], result: SearchResult
) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield what is left of the throughput beside each number of changes of rules."""
    given = search.get("throughput")
    found = next((one.lower_fps for one in result.goals), None)
    quiet = found if given is None else int(Rate.parse(given).number)
    rows: dict[float, list[float | None]] = {0: [0, quiet, None, 1]}
    for asked in search["rules_per_second"]:
        if not (there := [one for one in trials if one.reference == f"beside {asked} rules/s"]):
            break
        changes = sum(one.rules_changed or 0 for one in there)
        took_ns = sum(one.elapsed_ns for one in there)
        lower, upper = _as_printed(throughput_goal(search), [as_it_is(one) for one in there])
        share = lower / quiet if lower and quiet else None
        rows[asked] = [changes * SECOND / took_ns, lower, upper, share]
    for curve in result.curves:
        shown = {row[0]: row[1:] for row in curve.points}
        yield (
            curve.name,
            tuple(
                f"beside {asked}: printed {row}, by all trials {rows.get(asked or 0)}"
                for asked, row in shown.items()
                if not alike(row, rows.get(asked or 0, ()))
            ),
        )
    for one in result.figures:
        left = list(rows.values())[-1][-1] if len(rows) > 1 else None
        against = f"printed {one.value}, by all trials {left}"
        believed_in = one.value is None or alike([one.value], [left])
        yield one.name, () if believed_in else (against,)


def _load_differs(
    search: Mapping[str, Any], printed: LoadResult, trials: Sequence[Trial]
) -> Iterator[str]:
    """Say where what is printed of a given load is not what its trials come to."""
    there = [
        one
        for one in believed(trials)
        if one.load_fps == printed.load_fps and one.purpose is Purpose.SEARCH
    ]
    seen = [as_it_is(one) for one in there]
    allowed = share_of(search.get("loss_ratio") or "0")
    passed = sum(not one.fails(allowed, own=False) for one in seen)
    if (printed.trials, printed.passed) != (len(seen), passed):
        told = f"{printed.passed} of {printed.trials} passed"
        yield f"printed {told}, by all trials {passed} of {len(seen)}"
    short = max(map(_short, there), default=Fraction(0))
    if Fraction(printed.short_ratio) != short:
        yield f"short printed {printed.short_ratio}, by all trials {short}"
    worst = max((one.lost for one in seen), default=Fraction(0))
    if Fraction(printed.worst_loss_ratio) != worst:
        yield f"worst loss printed {printed.worst_loss_ratio}, by all trials {worst}"
    if there and printed.throughput_fps != (least := min(int(through(one)) for one in there)):
        yield f"through printed {printed.throughput_fps:,}, by all trials {least:,}"
    if printed.outages_ns != (away := tuple(away_ns(one) for one in there if one.event)):
        yield f"away printed {printed.outages_ns}, by all trials {away}"


def _short(trial: Trial) -> Fraction:
    """Return the share that a generator was too slow for, worse direction, if it is held so."""
    if Flag.SHORT_OFFER not in trial.flags:
        return Fraction(0)
    ways = [way for way in trial.directions if way.intended_frames > 0]
    unsent = (way.intended_frames - way.sent_frames - (way.refused_frames or 0) for way in ways)
    return max(map(Fraction, unsent, (way.intended_frames for way in ways)), default=Fraction(0))


def unread(search: Mapping[str, Any], result: SearchResult) -> int:
    """Return how many answers of a result nothing here can read again."""
    kind, goals = search["kind"], goals_of(search)
    known = kind not in READERS or reads_figures(search)
    figures = sum(not (known and reads(kind, one.name)) for one in result.figures)
    curves = sum(not (known and one.name in CURVES.get(kind, ())) for one in result.curves)
    return sum(one.goal not in goals for one in result.goals) + figures + curves


def asked_of(spec: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """Return what a method is asked by a specification, a throughput that is given in frames.

    A share of the line rate, or bits, are so many of the slowest link that is used.
    """
    search: Mapping[str, Any] | None = spec.get("search")
    if search is None or search.get("throughput") is None:
        return search
    given = Rate.parse(search["throughput"])
    if given.unit == "fps":
        return search
    hops = {hop for path in spec["topology"]["paths"] for hop in path}
    links = {name: one for name, one in spec["testbed"]["links"].items() if name in hops}
    slowest = min(LinkSpeed.parse(one["speed"]) for one in links.values())
    size = FrameSize.parse(spec["traffic"]["frame_size"])
    return {**search, "throughput": f"{int(given.frames_per_second(size, slowest))}fps"}


def runs_in(paths: Iterable[Path]) -> Iterator[Path]:
    """Yield each run that is named, and those in a folder that is none itself."""
    for path in paths:
        here = path / RECORDS
        found = [here] if here.exists() else sorted(path.rglob(RECORDS))
        if not found:
            fix = "name a run, or a folder that holds some"
            raise ComponentError(f"there is no run in {path}", fix=fix)
        yield from (one.parent for one in found)


def of_runs(
    folders: Iterable[Path], left: Counter[str] | None = None
) -> Iterator[tuple[str, str, tuple[str, ...]]]:
    """Yield the answers of stored runs: of which case, to which goal, and where it differs.

    Those that are not read are counted in `left`, by method. A run that cannot be read has answers
    that nobody can hold against anything: it differs.
    """
    for folder in folders:
        try:
            yield from _of_run(folder, left)
        except StoreError as error:
            yield folder.name, "records", (f"cannot be read: {error.with_why}",)


def _of_run(folder: Path, left: Counter[str] | None) -> Iterator[tuple[str, str, tuple[str, ...]]]:
    for case in views(folder):
        search = asked_of(case.planned.spec)
        if case.record is None or case.record.result is None or search is None:
            continue
        for name, against in _of_case(case, search, case.record.result, left):
            yield f"{folder.name} {case.planned.label}", name, against


def _of_case(
    case: CaseView, search: Mapping[str, Any], result: SearchResult, left: Counter[str] | None
) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield the answers of a case, and where each differs from what the case is made of."""
    kind = search["kind"]
    if left is not None:
        left[str(kind)] += unread(search, result)
    yield "how many were made", tuple(count_differs(case))
    if kind == "paired":
        yield from answers_of_rounds(search, case.rounds, result)
        if case.record is not None:
            yield "criteria", tuple(criteria_differ(case.planned.spec, case.record.checks, result))
    elif kind in CONNECTIONS:
        yield from answers_of_connections(search, case.connections, result)
    elif kind in OF_PACKETS:
        yield from answers_of_packets(exchanges_of(case), result)
    elif kind in OF_PROGRAMS:
        yield from answers_of_programs(exchanges_of(case), result)
    else:
        yield from answers(search, case.trials, result, case.seconds)
        yield from with_surplus(case.trials, result)
        yield from verdicts_of(case, search)
        yield from shown_differs(case)
        yield "trials", tuple(trials_differ(case.trials))


def exchanges_of(case: CaseView) -> list[Exchange]:
    """Return the exchanges that an answer is from: those on the deployment that came last."""
    made = list(case.exchanges)
    return made if case.record is None else made[max(0, len(made) - case.record.trials) :]


def main() -> None:
    """Print each answer that differs."""
    parser = options(__doc__, EXAMPLE)
    about = "a run, or a folder that holds some; without any, the golden runs of this checkout"
    parser.add_argument("runs", nargs="*", type=Path, default=[GOLDEN], metavar="RUN", help=about)
    carry_out(parser, lambda found: measure(found.runs))


def measure(paths: Sequence[Path]) -> Ratio:
    """Read all runs again."""
    folders = list(runs_in(paths))
    wrong: list[float] = []
    left: Counter[str] = Counter()
    for case, name, against in of_runs(folders, left):
        wrong.append(float(bool(against)))
        for text in against:
            say(f"{case}, {name}: {text}")
    for kind, count in sorted(left.items()):
        if count:
            say(f"not read: {count} answers of {kind}")
    if not wrong:
        raise ComponentError("no run has an answer that can be read again")
    say(f"{sum(wrong):.0f} of {len(wrong)} answers of {len(folders)} runs differ from their trials")
    return Ratio("differing answers to all", sum(wrong) / len(wrong), min(wrong), max(wrong), 1)


if __name__ == "__main__":
    main()
