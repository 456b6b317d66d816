"""What stands beside a number, as far as it follows from trials: limits, reasons, flags, standards.

It shares no code with what decides on them. Where several words would do, that which is printed has
to be one of these; what only the machine knows, such as an emulated guest, is taken as it is told.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from reread_goals import (
    Goal,
    Is,
    Seen,
    Weighed,
    as_it_is,
    bounds,
    by_load,
    clean_share,
    from_decided,
    goals_of,
    in_clean_time,
    left_out,
    looks_for_throughput,
    on_less,
    share_of,
    silent_too,
)
from reread_trials import believed, intact, looking, missing_of, share_lost, since_check, stands

from vsperf.quantities.units import FrameSize, LinkSpeed
from vsperf.records.files.view import CaseView
from vsperf.records.flags import FUNCTIONAL_ONLY, Flag, Severity, worst
from vsperf.records.result import (
    Compliance,
    Figure,
    GoalResult,
    Level,
    Limit,
    LoadResult,
    SearchResult,
    Standard,
)
from vsperf.records.run import CaseRecord, Outcome
from vsperf.records.switch import PortCounters, SwitchCounters, VnfCounters
from vsperf.records.trial import Direction, Purpose, Trial

NEAR_CAP = Fraction(95, 100)
MOVED = Fraction(3, 2)
FULL_NS = 60 * 10**9
FEW_FRAMES, ALIKE_LOADS, ALIKE_SPAN = 16, 3, 2
ITS_OWN = (Limit.DUT, Limit.VNF, Limit.LINK)
"""With these an answer is the switch's, or all that its link carries."""
OWN_DOUBTS = (Flag.UPPER_NOT_REPRODUCED, Flag.CONSTANT_LOSS)
TAKEN_BACK = "later trials took back a bound"
NUMBER = r"([\d,]+)"
Against = tuple[str, tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class Around:
    """What a case was measured with."""

    cap_fps: int | None
    """What the generator does without a switch."""
    line_fps: int
    switched: bool


def verdicts_of(case: CaseView, search: Mapping[str, Any]) -> Iterator[Against]:
    """Yield each verdict beside the numbers of a case of frames, and where trials say otherwise."""
    record = case.record
    if record is None or record.result is None:
        return
    found = around(case)
    yield from goals_of_case(search, case.trials, record.result, found)
    for load in record.result.loads:
        there = [one for one in believed(case.trials) if one.load_fps == load.load_fps]
        there = [one for one in there if one.purpose is Purpose.SEARCH]
        yield f"{load.load_fps:,} limit", tuple(_load_limit(search, load, there, found))
    yield "flags of the case", tuple(_flags_of_case(record, case.trials))
    yield from standings_of(record, search)
    yield "outcome", tuple(outcome_differs(record))


def around(case: CaseView) -> Around:
    """Return what a case was measured with."""
    spec, told = case.planned.spec, case.record.conditions if case.record else None
    hops = {hop for path in spec["topology"]["paths"] for hop in path}
    links = {name: one for name, one in spec["testbed"]["links"].items() if name in hops}
    slowest = min(LinkSpeed.parse(one["speed"]) for one in links.values())
    size = FrameSize.parse(spec["traffic"]["frame_size"])
    return Around(
        told.calibration.cap_fps if told is not None and told.calibration is not None else None,
        int(slowest.frames_per_second(size)),
        str(spec["vswitch"].get("kind")) != "none",
    )


def goals_of_case(
    search: Mapping[str, Any], trials: Sequence[Trial], result: SearchResult, around: Around
) -> Iterator[Against]:
    """Yield the verdict on each goal, and where its trials say otherwise."""
    every = [one for one in believed(trials) if one.event is None]
    known = looking(search, every) if looks_for_throughput(search) else every
    searched = [one for one in known if one.purpose is Purpose.SEARCH]
    for name, goal in goals_of(search).items():
        printed = next((one for one in result.goals if one.goal == name), None)
        if printed is None or worst(printed.flags) is Severity.INVALID:
            continue  # what is not used is said to be invalid, and nothing else
        less = [goal.leniently([as_it_is(one) for one in known])] if on_less(printed) else []
        rules = [goal, *less]
        told = [
            tuple(Read(rule, goal, printed, some, around, result).against())
            for some in (known, searched)
            for rule in rules
        ]
        # A trial behind the search says something of a bound, and need not change words on others.
        yield f"{name} verdict", min(told, key=len)


@dataclass(frozen=True, slots=True)
class Read:
    """A goal whose verdict is read again, with the trials that it rests on."""

    goal: Goal
    asked: Goal
    """The same but where the time ended: what it decides stands."""
    printed: GoalResult
    trials: Sequence[Trial]
    around: Around
    result: SearchResult

    def against(self) -> Iterator[str]:
        """Say what of a verdict does not follow."""
        groups: dict[int, list[Trial]] = {}
        for one in self.trials:
            groups.setdefault(one.load_fps, []).append(one)
        seen = [as_it_is(one) for one in self.trials]
        found = bounds(self.goal, from_decided(self.asked, seen))
        there = groups.get(found.upper, []) if found.upper is not None else []
        own = [one for one in there if as_it_is(one).fails(self.goal.allowed, own=True)]
        allowed = self._limits(found.lower, found.upper, own)
        if self.printed.limit not in allowed:
            words = " or ".join(sorted(one.value for one in allowed))
            yield f"limit printed {self.printed.limit}, by its trials {words}"
        yield from self._reason(groups, found.lower, found.upper, own)
        yield from self._flags(seen, found.lower, found.upper, groups)

    def _limits(self, lower: int | None, upper: int | None, own: Sequence[Trial]) -> set[Limit]:
        printed, allowed = self.printed, self.goal.allowed
        found: set[Limit] = set()
        if not self.result.complete or Flag.OUT_OF_BUDGET in printed.flags:
            found.add(Limit.UNKNOWN if self._spoiled(upper) else Limit.BUDGET)
        if Flag.LEFT_TO_REGIMES in printed.flags:
            told = all(any(there.limit for there in one.regimes) for one in self.result.goals)
            return found | ({Limit.HOST} if told else set())
        if upper is None:
            open_still = lower is None or any(one.load_fps > lower for one in self.trials)
            found |= {Limit.UNKNOWN} if open_still else open_ended(lower or 0, self.around)
            return found
        if self._is_generators(upper):
            return found | {Limit.GENERATOR}
        taken_back = TAKEN_BACK in printed.reason
        if taken_back or any(flag in OWN_DOUBTS for flag in printed.flags):
            found.add(Limit.UNKNOWN)
        if any((one.lower_fps or 0) >= upper for one in printed.regimes):
            found.add(Limit.HOST)
        near = self.around.cap_fps is not None and (lower or 0) >= NEAR_CAP * self.around.cap_fps
        return found | {whose(own, allowed, self.trials, self.around, near=near)}

    def _spoiled(self, upper: int | None) -> bool:
        """Whether most of the time in which a load failed was not clean."""
        there = [one for one in self.trials if one.load_fps == upper]
        failing = [one for one in there if as_it_is(one).fails(self.goal.allowed, own=False)]
        share = clean_share(failing, silent=silent_too(self.trials))
        return share is not None and 2 * share < 1

    def _is_generators(self, upper: int) -> bool:
        there = [as_it_is(one) for one in self.trials if one.load_fps == upper]
        return self.goal.judge(there, own=True) is not Is.UPPER

    def _reason(
        self,
        groups: Mapping[int, Sequence[Trial]],
        lower: int | None,
        upper: int | None,
        own: Sequence[Trial],
    ) -> Iterator[str]:
        """Say which counts in a reason are not those of its trials."""
        text = self.printed.reason
        for told in re.finditer(rf"lost {NUMBER} of {NUMBER} frames from", text):
            lost, of = map(_whole, told.groups())
            ways = [way for one in own for way in one.directions]
            if (lost, of) not in {(offered(way) - intact(way), offered(way)) for way in ways}:
                yield f"reason says {told[0]}, and no trial there did"
        for told in re.finditer(rf"{NUMBER} of {NUMBER} missing frames were counted", text):
            counts = [(unexplained(one), frames_missing(one)) for one in own]
            if tuple(map(_whole, told.groups())) not in counts:
                yield f"reason says {told[0]}, and in no trial there were they"
        for pattern, load in (
            (r"below [^:;]+: (\d+) of (\d+) passed", upper),
            (r"(?:most passed|lower bound by time) at [^;(]+\((\d+) of (\d+)\)", lower),
            (r"passed in (\d+) of (\d+) trials", lower),
        ):
            for told in re.finditer(pattern, text):
                made = groups.get(load, []) if load is not None else []
                passed = sum(not as_it_is(o).fails(self.goal.allowed, own=False) for o in made)
                if tuple(map(_whole, told.groups())) != (passed, len(made)):
                    yield f"reason says {told[0]}, by its trials {passed} of {len(made)}"

    def _flags(
        self,
        seen: Sequence[Seen],
        lower: int | None,
        upper: int | None,
        groups: Mapping[int, Sequence[Trial]],
    ) -> Iterator[str]:
        """Say which flags of an answer do not follow, or are missing."""
        flags, allowed = self.printed.flags, self.goal.allowed
        in_question = [one for one in seen if upper is None or one.load <= upper]
        outcomes: dict[tuple[int, int], set[bool]] = {}
        for one in in_question:
            fails = one.fails(allowed, own=False)
            outcomes.setdefault((one.load, one.asked_ns), set()).add(fails)
        later = lower is not None and any(
            one.purpose is Purpose.LATENCY and one.load_fps <= lower and share_lost(one) > allowed
            for one in self.trials
        )
        disagree = any(len(one) > 1 for one in outcomes.values())
        follows = {
            Flag.UNSTABLE: disagree,
            Flag.LOSS_INVERSION: upper is not None
            and any(
                load > upper and self.goal.judge(group) is Is.LOWER
                for load, group in by_load(seen).items()
            ),
            Flag.CONSTANT_LOSS: lower is None and constant(groups),
        }
        for flag, is_so in follows.items():
            excused = flag is Flag.UNSTABLE and later
            if (flag in flags) != is_so and not excused:
                yield f"{flag.value} is {'' if flag in flags else 'not '}said"
        if Flag.AT_MINIMUM in flags and lower is not None:
            yield f"{Flag.AT_MINIMUM.value} is said, and a load passed"
        if self.printed.limit is Limit.BUDGET and Flag.OUT_OF_BUDGET not in flags:
            yield f"{Flag.OUT_OF_BUDGET.value} is not said"


def open_ended(lower: int, around: Around) -> set[Limit]:
    """Return what may have limited an answer of which no load failed."""
    if lower >= around.line_fps:
        return {Limit.LINK}
    if around.cap_fps is not None and lower >= around.cap_fps:
        return {Limit.GENERATOR}
    # What a generator says that it can do may be less than it was seen to do.
    return {Limit.SETTING} if around.cap_fps is None else {Limit.SETTING, Limit.GENERATOR}


def whose(
    own: Sequence[Trial],
    allowed: Fraction,
    trials: Sequence[Trial],
    around: Around,
    *,
    near: bool = False,
) -> Limit:
    """Return whose loss it was in trials at one load that lost too much of what was offered."""
    if (stalls := by_stalls(own, allowed, silent=silent_too(trials))) is not None:
        return stalls
    if all(lost_in_the_worse(one) <= behind(one) for one in own) or near:
        return Limit.GENERATOR
    missing = [(unexplained(one), in_vnfs(one), frames_missing(one)) for one in own]
    if all(nobody is not None and 2 * nobody > of for nobody, _, of in missing):
        return Limit.UNCOUNTED
    if all(2 * vnfs > of for _, vnfs, of in missing):
        return Limit.VNF
    return Limit.DUT if around.switched else Limit.GENERATOR


def by_stalls(own: Sequence[Trial], allowed: Fraction, *, silent: bool) -> Limit | None:
    """Say whether these would have failed in time in which nobody stood still; None if they do."""
    seen = [in_clean_time(one, silent=silent) for one in own]
    cleaned = [(one, trial) for one, trial in zip(seen, own, strict=True) if one is not None]
    share = clean_share([trial for _, trial in cleaned], silent=silent)
    if share is None:
        return None
    fail = [one.fails(allowed, own=True) for one, _ in cleaned]
    unknown = len(cleaned) < len(own)
    if 2 * share < 1:
        return Limit.UNKNOWN if any(fail) or unknown else Limit.HOST
    told = [
        not fails
        for fails, (_, trial) in zip(fail, cleaned, strict=True)
        if 0 < _clean_ns(trial, silent=silent) * 2 >= (trial.sending_ns or 0)
    ]
    return Limit.HOST if not unknown and told and all(told) else None


def _clean_ns(trial: Trial, *, silent: bool) -> int:
    lengths = left_out(trial, silent=silent) or {}
    return (trial.sending_ns or 0) - sum(lengths.values())


def offered(way: Direction) -> int:
    """Return how many frames were really offered, those that a full port refused among them."""
    return way.sent_frames + (way.refused_frames or 0)


def frames_missing(trial: Trial) -> int:
    """Return how many frames were offered and did not arrive, of all directions."""
    return sum(offered(way) - intact(way) for way in trial.directions)


def unexplained(trial: Trial) -> int | None:
    """Return how many sent frames are missing and were counted as dropped by nobody."""
    silent = any(not one.nics for one in trial.vnfs)
    if trial.switch is None or silent or min(_growths(trial), default=0) < 0:
        return None
    told = dropped(trial.switch) + sum(map(_inside, trial.vnfs))
    return sum(way.sent_frames - intact(way) for way in trial.directions) - told


def _growths(trial: Trial) -> Iterator[int]:
    """Yield what each counter of switch and VNFs grew by that only ever grows."""
    if (switch := trial.switch) is not None:
        yield from switch.drops.values()
        for port in switch.ports:
            yield from (port.received_frames, port.sent_frames, *port.drops.values())
        for pmd in switch.pmds:
            yield from (pmd.frames, *pmd.hits.values())
        if (table := switch.addresses) is not None:
            yield from (table.learned, table.evicted, table.expired)
        if (ends := switch.connections) is not None:
            yield from (ends.accepted, ends.opened)
    for vnf in trial.vnfs:
        for nic in vnf.nics:
            yield from (nic.received_frames, nic.sent_frames, *nic.drops.values())


def _inside(vnf: VnfCounters) -> int:
    """Return how many frames came into a VNF and not out of it."""
    return sum(nic.received_frames - nic.sent_frames for nic in vnf.nics)


def in_vnfs(trial: Trial) -> int:
    """Return how many frames VNFs lost, those that they had no room for among them."""
    begins = tuple(f"{vnf.name} to " for vnf in trial.vnfs)
    refused = (way.refused_frames or 0 for way in trial.directions if way.name.startswith(begins))
    ports = () if trial.switch is None else trial.switch.ports
    handed_on = (_unsent(port) for port in ports if port.vnf is not None)
    return sum(map(_inside, trial.vnfs)) + sum(refused) + sum(handed_on)


def _unsent(port: PortCounters) -> int:
    """Return how many frames did not go out by a port."""
    return sum(count for reason, count in port.drops.items() if reason.startswith("tx "))


def dropped(switch: SwitchCounters) -> int:
    """Return how many frames the switch says that it lost."""
    return sum(switch.drops.values()) + sum(sum(one.drops.values()) for one in switch.ports)


def lost_in_the_worse(trial: Trial) -> int:
    """Return how many frames are missing in the direction that lost the greater share."""
    ways = [way for way in trial.directions if way.intended_frames > 0]
    return missing_of(max(ways, key=lambda way: Fraction(missing_of(way), way.intended_frames)))


def behind(trial: Trial) -> int:
    """Return how many frames the generator's own rings may have lost, per direction."""
    if trial.generator is None:
        return 0
    came = trial.generator.behind_ns * trial.load_fps // 10**9 + trial.generator.missed_frames
    elsewhere = 0
    if (switch := trial.switch) is not None:
        at_links = (_unsent(port) for port in switch.ports if port.link is not None)
        elsewhere = dropped(switch) - sum(at_links)
    under_way = sum(way.sent_frames - intact(way) for way in trial.directions)
    return min(came, max(0, under_way - elsewhere))


def constant(groups: Mapping[int, Sequence[Trial]]) -> bool:
    """Whether as few frames are missing at low loads as at high ones, from the lowest one on."""
    alike: list[int] = []
    first: int | None = None
    for load, group in sorted(groups.items()):
        lost = {lost_in_the_worse(one) for one in group}
        first = min(lost) if first is None else first
        if lost != {first}:
            break
        alike.append(load)
    some = first is not None and 0 < first <= FEW_FRAMES
    return some and len(alike) >= ALIKE_LOADS and alike[-1] >= ALIKE_SPAN * alike[0]


def _load_limit(
    search: Mapping[str, Any], load: LoadResult, there: Sequence[Trial], around: Around
) -> Iterator[str]:
    """Say where what limited a given load is something else; around an event more is asked."""
    if not there or any(one.event is not None for one in there) or not stands(load.flags):
        return
    allowed = share_of(search.get("loss_ratio") or "0")
    seen = [as_it_is(one) for one in there]
    own = [t for t, one in zip(there, seen, strict=True) if one.fails(allowed, own=True)]
    if own:
        found = {whose(own, allowed, own, around)}
    elif any(one.fails(allowed, own=False) for one in seen):
        found = {Limit.GENERATOR}
    else:
        found = open_ended(load.load_fps, around) | {Limit.BUDGET}
    if load.limit not in found:
        words = " or ".join(sorted(one.value for one in found))
        yield f"printed {load.limit}, by its trials {words}"


def _flags_of_case(record: CaseRecord, trials: Sequence[Trial]) -> Iterator[str]:
    """Say which flags of a case are missing, or do not follow."""
    result, flags = record.result, record.flags
    assert result is not None  # it was looked at
    counted = [
        one for one in since_check(trials) if one.purpose in (Purpose.SEARCH, Purpose.LATENCY)
    ]
    answered: tuple[GoalResult | LoadResult | Figure, ...]
    answered = (*result.goals, *result.loads, *result.figures)
    needed = {flag for one in answered for flag in one.flags}
    for one in counted:
        needed |= {flag for flag in one.flags if flag.severity is Severity.SUSPECT}
    needed -= {Flag.BUFFERED, Flag.SHORT_OFFER}  # which matter where an answer says so
    needed |= set() if result.complete else {Flag.OUT_OF_BUDGET}
    needed |= {Flag.FEWER_REPEATS} if result.spoiled else set()
    for flag in sorted(needed - set(flags)):
        yield f"{flag.value} is not said of the case"
    # Each trial says of itself whether its silences were those of threads that were kept still.
    shares = [
        (one.sending_ns or 0, left_out(one, silent=silent_too([one]))) for one in believed(trials)
    ]
    known = [(ns, ns - sum(out.values())) for ns, out in shares if out is not None]
    whole, clean = sum(ns for ns, _ in known), sum(ns for _, ns in known)
    if (Flag.TOO_BUSY in flags) != bool(whole and 2 * clean < whole):
        share = f"{clean / whole:.1%}" if whole else "nobody knows how much"
        yield f"{Flag.TOO_BUSY.value}: {share} of the time was clean"
    told = record.clean_share
    if told is not None and (not whole or Fraction(told) != Fraction(clean, whole)):
        yield f"clean share printed {told}, by its trials {clean} of {whole} ns"
    trips = [trip for one in since_check(trials) for trip in one.round_trips_ns]
    if trips and max(trips) > MOVED * min(trips) and Flag.CORES_MOVED not in flags:
        yield f"{Flag.CORES_MOVED.value} is not said, of {min(trips)} to {max(trips)} ns"


# How a case stands to standards: what its own record says against what is claimed.


def standings_of(record: CaseRecord, search: Mapping[str, Any]) -> Iterator[Against]:
    """Yield each statement of compliance, and what of the record speaks against it."""
    for one in record.compliance:
        yield one.standard.value, tuple(_standing_differs(one, record, search))


def _standing_differs(
    one: Compliance, record: CaseRecord, search: Mapping[str, Any]
) -> Iterator[str]:
    if (one.level is Level.UNCONDITIONAL) == bool(one.deviations):
        yield f"{one.level.value} with {len(one.deviations)} deviations"
    if record.outcome is Outcome.INVALID:
        yield f"{one.level.value}, and the case is INVALID"
    if one.level is Level.NOT:
        return
    if functional := [flag.value for flag in record.flags if flag in FUNCTIONAL_ONLY]:
        yield f"{one.level.value}, and functional only: {', '.join(functional)}"
    grave = [flag.value for flag in record.flags if flag.severity is not Severity.NOTE]
    if grave and one.level is Level.UNCONDITIONAL:
        yield f"{one.level.value}, with {', '.join(grave)}"
    if goals_of(search) and record.result is not None:
        against = _of_strictest(one.standard, record.result, search)
        yield from (f"{one.level.value}, and {text}" for text in against)


def _of_strictest(
    standard: Standard, result: SearchResult, search: Mapping[str, Any]
) -> Iterator[str]:
    """Say why nothing complies by the goal that allows the least loss."""
    goals = goals_of(search)
    name = min(goals, key=lambda name: goals[name].allowed)
    goal, rule = next((one for one in result.goals if one.goal == name), None), goals[name]
    if goal is None:
        yield "there is no answer"
    elif standard is Standard.RFC9971:
        left = Flag.LEFT_TO_REGIMES in goal.flags
        if not result.complete or goal.limit is Limit.UNKNOWN or left:
            yield f"limited by {goal.limit}"
    else:
        if goal.limit not in ITS_OWN or goal.lower_fps is None:
            yield f"limited by {goal.limit}"
        if worst(goal.flags) is Severity.INVALID:
            yield "its answer is invalid"
        if standard is Standard.RFC2544 and search["kind"] in ("mlr", "rfc2544"):
            yield from _weaker(rule)


def _weaker(rule: Goal) -> Iterator[str]:
    if rule.allowed:
        yield f"a loss of {rule.allowed} is allowed"
    if isinstance(rule, Weighed) and (rule.exceed or rule.final_ns < FULL_NS):
        yield f"trials of {rule.final_ns} ns decide, of which {rule.exceed} may be lossy"


def outcome_differs(record: CaseRecord) -> Iterator[str]:
    """Say where an outcome is not what criteria and answers come to."""
    met = [one.met for one in record.checks]
    result = record.result
    answered: tuple[Figure | GoalResult | LoadResult, ...] = ()
    if result is not None:
        answered = (*result.figures, *result.goals, *result.loads)
        first = next((one.limit for one in answered if one.limit is not None), None)
        if record.limit != first:
            yield f"limit of the case {record.limit}, of its first answer {first}"
    single = (one for one in answered if not isinstance(one, LoadResult))
    invalid = not all(stands(one.flags) for one in single)
    if record.outcome is Outcome.PASS and (invalid or not all(met)):
        yield "PASS, and a criterion or an answer is not"
    if record.outcome is Outcome.PASS and any(
        one.limit is Limit.UNKNOWN and Flag.CONSTANT_LOSS not in one.flags for one in answered
    ):
        yield "PASS, and nobody can tell what limited an answer"
    if record.outcome is Outcome.FAIL and False not in met:
        yield "FAIL, and no criterion was missed"


def count_differs(case: CaseView) -> Iterator[str]:
    """Say where a case tells of more than was made for it, or of fewer than its answer is from."""
    if case.record is None:
        return
    told = case.record.trials
    made = len(case.trials) + len(case.rounds) + len(case.exchanges) + len(case.connections)
    least = len(believed(case.trials)) or int(made > 0)
    if not least <= told <= made:
        yield f"printed {told:,}, of {made:,} that are stored"


# What a trial says against itself.

FAULTS: Mapping[Flag, Callable[[Direction], bool]] = {
    Flag.NOTHING_SENT: lambda way: way.sent_frames == 0,
    Flag.NOTHING_RECEIVED: lambda way: way.received_frames == 0 < way.sent_frames,
    Flag.OVERSENT: lambda way: way.sent_frames > way.intended_frames,
    Flag.RX_EXCEEDS_TX: lambda way: intact(way) > way.sent_frames,
    Flag.DUPLICATES: lambda way: bool(way.duplicate_frames),
    Flag.CORRUPTED: lambda way: bool(way.corrupted_frames),
    Flag.REORDERED: lambda way: bool(way.reordered_frames),
    Flag.FOREIGN: lambda way: bool(way.foreign_frames),
}


def trials_differ(trials: Sequence[Trial]) -> Iterator[str]:
    """Say which trials contradict themselves: flags, steps, or what they repeat."""
    by_index = {one.index: one for one in trials}
    for one in trials:
        told = f"trial {one.index}"
        first = by_index.get(one.retry_of or 0)
        checks = one.purpose is Purpose.PATH_CHECK
        if first is not None and ((stands(first.flags) and not checks) or first.index >= one.index):
            yield f"{told} repeats {first.index}, which stands or came later"
        if not one.directions or Flag.COUNTERS_IMPOSSIBLE in one.flags:
            continue
        for flag, is_so in FAULTS.items():
            if (flag in one.flags) != any(map(is_so, one.directions)) and one.error is None:
                said = "said" if flag in one.flags else "not said"
                yield f"{told}: {flag.value} is {said}, and counts say otherwise"
        if (Flag.COUNTERS_MOVING in one.flags) == one.settled and one.error is None:
            yield f"{told}: {Flag.COUNTERS_MOVING.value}, and counters came to rest or did not"
        for way in one.directions:
            counts = [(step.intended_frames, step.sent_frames) for step in way.steps]
            due = tuple(map(sum, zip(*counts, strict=True)))
            if counts and due != (way.intended_frames, way.sent_frames):
                yield f"{told}: steps of {way.name} come to {due}"


def _whole(text: str) -> int:
    return int(text.replace(",", ""))
