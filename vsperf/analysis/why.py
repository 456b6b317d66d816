"""Why a case came to no more: which resource was full, in sentences with the figures. Pure.

Each sentence rests on something that somebody counted. Where nobody did, it says that it cannot be
told, and who would have counted it. Nothing is guessed.
"""

from __future__ import annotations

import enum
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from statistics import median

from vsperf.analysis.collected import Digest
from vsperf.quantities.human import End, counted, human_count, human_fps, human_ns, human_share
from vsperf.quantities.units import NANOSECONDS
from vsperf.records.flags import Flag
from vsperf.records.meaning import LIMITED_BY
from vsperf.records.result import Limit
from vsperf.records.run import CaseRecord
from vsperf.records.switch import PmdCounters, SwitchCounters
from vsperf.records.threads import GENERATOR, SWITCH, ThreadActivity
from vsperf.records.trial import Purpose, Trial

# What explanations go by: a case with its trials and series, and the sentences they come to.


class Verdict(enum.StrEnum):
    """What a sentence says of its resource."""

    FULL = "full"
    """It kept the result from being higher, or may have."""
    FREE = "free"
    """It did not."""
    UNKNOWN = "cannot be told"


@dataclass(frozen=True, slots=True)
class Sentence:
    """What is known of one resource."""

    resource: str
    verdict: Verdict
    text: str


@dataclass(frozen=True, slots=True)
class Spread:
    """What trials at one load found of one thing."""

    load_fps: int
    found: tuple[float, ...]
    digits: int = 0
    """Places after the point that are said of it; what differs by less is the same."""

    @property
    def middle(self) -> float | None:
        """What stands for them all; None where there is none."""
        return median(self.found) if self.found else None

    def said(self) -> str:
        """Return it in words, with what single trials say of it."""
        if not self.found:
            return "nothing"
        least, middle, most = (
            f"{one:.{self.digits}f}"
            for one in (min(self.found), median(self.found), max(self.found))
        )
        ends = f"{least} to {most} in {len(self.found)} trials"
        return f"{middle} ({ends if len(self.found) > 1 else 'in a single trial'})"


@dataclass(frozen=True, slots=True)
class Measured:
    """A case with all that is known of it."""

    label: str
    record: CaseRecord
    trials: Sequence[Trial]
    series: Sequence[Digest] = ()
    own: Sequence[tuple[str, Trial]] = ()
    """Trials that heavy collectors had for themselves, by the names of these."""

    @property
    def bound_fps(self) -> int | None:
        """The load that the case came to."""
        result = self.record.result
        goals = [one.lower_fps for one in result.goals] if result is not None else []
        loads = [one.load_fps for one in result.loads if one.passed] if result is not None else []
        return next((fps for fps in goals if fps is not None), max(loads, default=None))

    @property
    def counted(self) -> list[Trial]:
        """Trials that something may be concluded from."""
        return [
            one
            for one in self.trials
            if one.valid and one.purpose is Purpose.SEARCH and one.intended_frames > 0
        ]

    @property
    def at_bound(self) -> list[Trial]:
        """Trials at the load that the case came to."""
        return [one for one in self.counted if one.load_fps == self.bound_fps]

    @property
    def cycles(self) -> Spread:
        """What a frame cost the switch, in each trial at that load in which it counts cycles."""
        return Spread(
            self.bound_fps or 0,
            tuple(
                cycles
                for one in self.at_bound
                if one.switch is not None
                and not one.counts_backwards
                and (cycles := one.switch.cycles_per_frame) is not None
            ),
        )

    @property
    def beyond(self) -> Trial | None:
        """The trial just above it that lost frames: there, something was full."""
        bound = self.bound_fps or 0
        lossy = [one for one in self.counted if one.load_fps > bound and one.lost_frames > 0]
        return min(lossy, key=lambda one: (one.load_fps, one.loss_ratio), default=None)


def busy_shares(trial: Trial) -> list[tuple[PmdCounters, Fraction | None]]:
    """Return each polling thread with the share of the sending time in which it had work; about.

    A thread that counted no cycles has no share, and none has where a counter fell. A mean over all
    would hide the one that is full.
    """
    if trial.switch is None or trial.counts_backwards:
        return []
    return [(pmd, trial.busy_share((pmd,))) for pmd in trial.switch.pmds]


# What a switch counted as dropped, and which of it was a full ring. Pure.
#
# A driver of ours has the words of its program, so that people find them there; for any other one
# `full` is the word. Where a word stands for more than full rings, it is not said to be one.

OF_RINGS = (
    "full",  # of a tap or of a packet socket: OVS, VPP, the bridge of Linux
    "missed",  # of a device: VPP, testpmd
    "not taken",  # testpmd
    "tx dropped",  # OVS
    "tx failure",  # OVS, at a port of the kind dpdkvhostuser
    "no free",  # VPP: memif, tap, AF_XDP
    "no available descriptors",  # VPP: vhost, and its name in other versions
    "nobuf",
    "overrun",  # VPP: packet socket
)
"""What is in the reasons that can only be a ring or queue without room."""
PERHAPS_OF_RINGS = ("rx dropped", "no buffer")
"""What is in reasons that may be one, or something else, such as a frame that no rule is for."""


@dataclass(frozen=True, slots=True)
class Drop:
    """Frames that the switch lost for one reason, at one place."""

    where: str
    reason: str
    frames: int

    @property
    def of_ring(self) -> bool:
        """Whether it can only have been a full ring."""
        return is_ring(self.reason)

    @property
    def perhaps_of_ring(self) -> bool:
        """Whether it may have been one."""
        return any(word in self.reason for word in PERHAPS_OF_RINGS)


def is_ring(reason: str) -> bool:
    """Whether a reason says that a ring or queue was full."""
    words = reason.replace("_", " ").lower()
    return any(word in words for word in OF_RINGS)


def dropped_in(trial: Trial) -> list[Drop]:
    """Return what the switch dropped; nothing where a counter fell, as none is believed then."""
    if trial.switch is None or trial.counts_backwards:
        return []
    at_ports = [
        Drop(f"at {port.link or port.vnf or port.name} ({reason})", reason, count)
        for port in trial.switch.ports
        for reason, count in port.drops.items()
    ]
    elsewhere = [Drop(name, name, count) for name, count in trial.switch.drops.items()]
    return [one for one in (*at_ports, *elsewhere) if one.frames > 0]


def counts_rings(trial: Trial) -> bool:
    """Whether a ring before or behind the switch could not be full without being counted."""
    switch = trial.switch
    if switch is None:
        return False
    told = all(way.refused_frames is not None for way in trial.directions)
    return _counts_behind(switch) and (told or _counts_before(switch))


def _counts_behind(switch: SwitchCounters) -> bool:
    """Whether each port counts full rings, or the switch does for ports that count nothing."""
    places = [port.drops for port in switch.ports]
    if any(is_ring(reason) for reason in switch.drops):
        places.append(switch.drops)
    return bool(places) and all(any(map(is_ring, reasons)) for reasons in places)


def _counts_before(switch: SwitchCounters) -> bool:
    """Whether each port to a link counts what it did not take in."""
    places = [port.drops for port in switch.ports if port.link is not None]
    return bool(places) and all(
        any(reason.startswith("rx ") for reason in reasons) for reasons in places
    )


FULL = Fraction(95, 100)
"""From this share of what there is on, a resource counts as full."""
MORE = Fraction(105, 100)
"""What is more than that of the sister's is up, if no trial of the sister's came to as much."""
SAME_LOAD = Fraction(1, 10)
"""Loads further apart than this share of the greater say nothing of each other's frames."""
TOLD = Fraction(1, 100)
"""Share of the time from which on waiting is worth a sentence."""


def explain(case: Measured, sister: Measured | None = None) -> tuple[Sentence, ...]:
    """Return what is known of each resource, those that were full first.

    The sister is the same case but for one thing, such as the noise beside it.
    """
    found = [
        *_generator(case),
        *_late(case),
        *_threads(case),
        *_cycles(case, sister),
        *_cache(case, sister),
        *_rings(case),
        *_vnfs(case),
        *_unexplained(case),
        *_stalls(case),
    ]
    order = list(Verdict)
    return tuple(sorted(found, key=lambda one: order.index(one.verdict)))


def headline(case: Measured, sentences: Sequence[Sentence]) -> str:
    """Say in a sentence what the others come to."""
    full = [one.resource for one in sentences if one.verdict is Verdict.FULL]
    limit = case.record.limit
    by = f"the verdict of the search is: limited by {LIMITED_BY[limit]}" if limit else "no result"
    if not full:
        return f"Which resource was full cannot be told from what was counted; {by}."
    return f"Full, or in the way: {', '.join(full)}; {by}."


def _generator(case: Measured) -> Iterator[Sentence]:
    around, bound = case.record.conditions, case.bound_fps
    cap = around.calibration if around is not None else None
    if bound is None or cap is None or cap.cap_fps <= 0:
        why = "there is no lower bound" if bound is None else "it was not calibrated on these ports"
        yield Sentence(
            "the generator", Verdict.UNKNOWN, f"Whether the generator was at its cap: {why}."
        )
        return
    share = Fraction(bound, cap.cap_fps)
    short = _limited(case, Limit.GENERATOR) and share < FULL
    sent = (
        f"The generator sent {human_fps(bound)} of the {human_fps(cap.cap_fps)} that it was "
        f"seen to do without a switch{cap.where} ({human_share(share, End.LOWER)})"
    )
    yield Sentence(
        "the generator",
        Verdict.FULL if share >= FULL or short else Verdict.FREE,
        f"{sent}, and was too slow in the trials that failed." if short else f"{sent}.",
    )


def _late(case: Measured) -> Iterator[Sentence]:
    """Say what of a loss never came to the switch, though nothing stood in its way."""
    trial = case.beyond
    late = sum(map(trial.late_frames, trial.directions)) if trial is not None else 0
    if trial is None or not late:
        return
    yield Sentence(
        "the generator, which did not send all",
        Verdict.FULL if 2 * late > trial.lost_frames else Verdict.FREE,
        f"In trial {trial.index} {human_count(late)} of {human_count(trial.lost_frames)} frames "
        "that are missing were not sent, and by what was counted the port was not full: "
        f"{why_not_sent(trial)}.",
    )


def why_not_sent(trial: Trial) -> str:
    """Say why frames were not sent that the port did not refuse."""
    if any(way.short_frames > trial.late_frames(way) for way in trial.directions):
        return "the generator was too slow, or its port full for a while, which nobody tells apart"
    kept = max((one.kept_ns for one in trial.threads if one.part == GENERATOR), default=0)
    if kept <= TOLD * trial.elapsed_ns:
        return "the generator was too slow"
    return (
        f"the generator was too slow, and kept from running for {human_ns(kept)} of "
        f"{human_ns(trial.elapsed_ns)}"
    )


def _limited(case: Measured, limit: Limit) -> bool:
    return case.record.limit is limit


def _moved(case: Measured) -> bool:
    """Whether the host limits an answer by where it had the CPUs, and not by stalls."""
    goals = case.record.result.goals if case.record.result is not None else ()
    return any(goal.regimes for goal in goals)


def _threads(case: Measured) -> Iterator[Sentence]:
    name, trial = "the polling threads of the switch", case.beyond
    if trial is None:
        yield Sentence(
            name,
            Verdict.UNKNOWN,
            "How busy the switch is when it loses frames: no trial above the result lost any.",
        )
        return
    shares = busy_shares(trial)
    known = [(share, pmd.cpu) for pmd, share in shares if share is not None]
    if not known:
        yield Sentence(
            name, Verdict.UNKNOWN, "How busy the switch was: it counts no busy and idle cycles."
        )
        return
    busy, cpu = max(known)
    free = Verdict.FREE if len(known) == len(shares) else Verdict.UNKNOWN
    many = f"the busiest of the {len(shares)} polling threads of the switch, on CPU {cpu},"
    which = many if len(shares) > 1 else "the polling thread of the switch"
    others = "" if free is Verdict.FREE else "; nobody counted it of all"
    yield Sentence(
        name,
        Verdict.FULL if busy >= FULL else free,
        f"In trial {trial.index} at {human_fps(trial.load_fps)}, which lost "
        f"{human_count(trial.lost_frames)} frames, {which} was "
        f"busy {human_share(float(busy))} of the time{others}.",
    )


def _cycles(case: Measured, sister: Measured | None) -> Iterator[Sentence]:
    name, own = "the cost of a frame", case.cycles
    if not own.found:
        yield Sentence(
            name, Verdict.UNKNOWN, "What a frame costs the switch: nobody counted cycles."
        )
        return
    here = f"Cycles that a frame cost the switch: {own.said()} at {human_fps(own.load_fps)}"
    yield _held_against(name, here, own, sister, sister.cycles if sister is not None else None)


def _cache(case: Measured, sister: Measured | None) -> Iterator[Sentence]:
    name, own = "the last-level cache", _misses_of(case)
    if own is None:
        yield Sentence(
            name,
            Verdict.UNKNOWN,
            "What the last-level cache did: nobody counted its misses (collect: perf, on a machine "
            "with hardware counters).",
        )
        return
    here = (
        f"How often the switch missed the last-level cache for a frame: {own.said()} at "
        f"{human_fps(own.load_fps)}"
    )
    yield _held_against(name, here, own, sister, _misses_of(sister) if sister is not None else None)


def _held_against(
    name: str, here: str, own: Spread, sister: Measured | None, other: Spread | None
) -> Sentence:
    """Hold what a frame costs against what it costs the sister, trial by trial."""
    if sister is None or other is None or not other.found:
        why = (
            "no case of this run is the same but quiet beside the switch"
            if sister is None
            else f"{sister.label} has none"
        )
        text = f"{here}; whether that is more than usual cannot be told: {why}."
        return Sentence(name, Verdict.UNKNOWN, text)
    verdict, why = _compared(own, other)
    return Sentence(
        name,
        verdict,
        f"{here}, and {other.said()} at {human_fps(other.load_fps)} in {sister.label}"
        f"{_change(own, other)}{why}.",
    )


def _change(own: Spread, other: Spread) -> str:
    mine, theirs = own.middle, other.middle
    return f" ({mine / theirs - 1:+.0%})" if mine is not None and theirs else ""


def _compared(own: Spread, other: Spread) -> tuple[Verdict, str]:
    """Say whether one is more than the other by more than chance; if that cannot be told, why."""
    if abs(own.load_fps - other.load_fps) > SAME_LOAD * max(own.load_fps, other.load_fps):
        return Verdict.UNKNOWN, "; their loads are too different to tell whether that is more"
    if min(len(own.found), len(other.found)) < 2:
        return Verdict.UNKNOWN, "; a single trial cannot tell whether that is more"
    mine, theirs = own.middle or 0, other.middle or 0
    if mine <= theirs * MORE or mine - theirs <= 10**-own.digits:
        return Verdict.FREE, ""
    if min(own.found) <= max(other.found):
        return Verdict.UNKNOWN, "; their trials overlap, so it may be chance"
    return Verdict.FULL, ""


def _misses_of(case: Measured) -> Spread | None:
    """Return the misses of the switch for each frame, in the trials that were made to count them.

    An invalid one counts nothing, and neither do two that go by one number: their sums are of both.
    """
    for one in case.series:
        trials = [trial for name, trial in case.own if name == one.header.collector]
        numbers = Counter(trial.index for trial in trials)
        found = [
            (trial.load_fps, misses / trial.received_frames)
            for trial in trials
            if trial.valid and trial.received_frames > 0 and numbers[trial.index] == 1
            if (misses := one.value(trial.index, SWITCH, "llc_misses")) is not None
        ]
        if found:
            load_fps = found[-1][0]
            return Spread(load_fps, tuple(misses for load, misses in found if load == load_fps), 2)
    return None


def _rings(case: Measured) -> Iterator[Sentence]:
    trial = case.beyond
    if trial is None:
        return
    refused = sum(way.refused_frames or 0 for way in trial.directions)
    drops = dropped_in(trial)
    full = [one for one in drops if one.of_ring]
    if refused:
        yield Sentence(
            "a receive ring of the switch",
            Verdict.FULL,
            f"In trial {trial.index} a ring before the switch was full to the end: it did not take "
            f"{human_count(refused)} frames.",
        )
    if full:
        yield Sentence(
            "a ring or queue that the switch sends to or reads from",
            Verdict.FULL,
            f"In trial {trial.index} the switch counted frames that it lost as a ring was full: "
            f"{_listed(full)}.",
        )
    if not refused and not full:
        yield _no_ring(trial, drops)
    yield from _other_drops(trial, [one for one in drops if not one.of_ring])


def _no_ring(trial: Trial, drops: Sequence[Drop]) -> Sentence:
    """Say that no ring was full, if there is a counter of each that would have seen it."""
    if trial.counts_backwards:
        why = "a counter of the switch or of a VNF fell"
    elif not counts_rings(trial):
        why = "generator and switch do not count that here"
    elif perhaps := [one for one in drops if one.perhaps_of_ring]:
        why = f"what else do these stand for: {_listed(perhaps)}"
    else:
        return Sentence("rings", Verdict.FREE, f"No ring was seen full in trial {trial.index}.")
    return Sentence(
        "rings", Verdict.UNKNOWN, f"Whether a ring was full in trial {trial.index}: {why}."
    )


def _other_drops(trial: Trial, drops: Sequence[Drop]) -> Iterator[Sentence]:
    """Say what the switch dropped though no ring was full; it may have been of others' frames."""
    if not drops:
        return
    missing = max(0, trial.lost_frames)
    named = drops[0].where if len(drops) == 1 else _listed(drops)
    most = 2 * sum(one.frames for one in drops) > missing > 0
    yield Sentence(
        "what the switch drops",
        Verdict.FULL if most else Verdict.UNKNOWN,
        f"In trial {trial.index}, in which {human_count(missing)} frames are missing, the switch "
        f"dropped {human_count(sum(one.frames for one in drops))} frames: {named}. That "
        "says of no ring that it was full.",
    )


def _listed(drops: Sequence[Drop]) -> str:
    return ", ".join(f"{human_count(one.frames)} {one.where}" for one in drops)


def _vnfs(case: Measured) -> Iterator[Sentence]:
    trial = case.beyond
    if trial is None or not trial.vnfs:
        return
    missing = max(0, trial.lost_frames)
    verdict = Verdict.FULL if 2 * trial.vnf_frames > missing > 0 else Verdict.FREE
    silent = any(one.lost_frames is None for one in trial.vnfs)
    if silent or trial.counts_backwards:
        why = "one of them counts nothing" if silent else "a counter of theirs or the switch's fell"
        yield Sentence("the VNFs", Verdict.UNKNOWN, f"What VNFs lost: {why}.")
        return
    yield Sentence(
        "the VNFs",
        verdict,
        f"Of {human_count(missing)} frames that are missing in trial {trial.index}, VNFs lost "
        f"or refused {human_count(trial.vnf_frames)}.",
    )


def _unexplained(case: Measured) -> Iterator[Sentence]:
    """Say in which trial most frames disappeared; below 0 a switch dropped those of others."""
    flagged = [one for one in case.counted if Flag.UNEXPLAINED in one.flags]
    counts = [(one.unexplained_frames or 0, one) for one in flagged]
    found = [(frames, one) for frames, one in counts if frames > 0]
    if not found:
        return
    frames, worst = max(found, key=lambda each: each[0])
    more = f"; so are some in {counted(len(found) - 1, 'more trial')}" if len(found) > 1 else ""
    yield Sentence(
        "frames that nobody counted",
        Verdict.UNKNOWN,
        f"In trial {worst.index} {human_count(frames)} of "
        f"{human_count(worst.lost_frames)} lost frames are unexplained: they were sent, and no "
        f"counter has them{more}.",
    )


def _stalls(case: Measured) -> Iterator[Sentence]:
    name, trial = "the host's CPUs", case.beyond or next(iter(case.at_bound), None)
    if trial is None or not trial.threads:
        yield Sentence(name, Verdict.UNKNOWN, "Whether the host took CPUs away: nobody looked.")
        return
    waited = _interruptions(case, trial)
    if all(one.delay_ns is None and one.steal_ns is None for one in trial.threads):
        why = "the kernel said of no thread how long it waited"
        text = f"Whether the host took CPUs away in trial {trial.index}: {why}{waited}."
        yield Sentence(name, Verdict.UNKNOWN, text)
        return
    late = trial.lost_frames > 0 and all(
        way.lost_frames == trial.late_frames(way) for way in trial.directions
    )
    # of frames that were not sent, the stalls of who had room for them say nothing
    asked = [one for one in trial.threads if not late or one.part == GENERATOR] or trial.threads
    kept = next(iter(trial.held_up), max(asked, key=lambda one: one.kept_ns))
    text = (
        f"In trial {trial.index} {kept.name} ({kept.part}) was kept from running for "
        f"{human_ns(kept.kept_ns)} of {human_ns(trial.elapsed_ns)}"
    )
    if trial.held_up:
        verdict, why = Verdict.FULL, ", which alone can explain what is missing"
    elif late and kept.part == GENERATOR and kept.kept_ns * trial.load_fps >= _worst(trial):
        verdict, why = Verdict.FULL, ", in which more was due than it did not send"
    elif _limited(case, Limit.HOST) and not _moved(case):
        verdict, why = Verdict.FULL, "; the search found that stalls made trials fail"
    else:
        verdict, why = _short_of_all(trial, kept)
    yield Sentence(name, verdict, f"{text}{why}{waited}.")


def _worst(trial: Trial) -> int:
    """Return what is missing in the worse direction, by frames a second for a nanosecond."""
    return NANOSECONDS * max(way.lost_frames for way in trial.directions)


def _short_of_all(trial: Trial, longest: ThreadActivity) -> tuple[Verdict, str]:
    """Say what stalls mean that explain not all that is missing."""
    if longest.kept_ns > TOLD * trial.elapsed_ns:
        return Verdict.UNKNOWN, "; how much of what is missing that explains cannot be told"
    silent = [one.name for one in trial.threads if one.delay_ns is None]
    if silent:
        return Verdict.UNKNOWN, f"; how long these waited was not counted: {', '.join(silent)}"
    return Verdict.FREE, ""


def _interruptions(case: Measured, trial: Trial) -> str:
    """Say what else the CPUs did, where somebody collected it."""
    words = []
    for one in case.series:
        for of, courses in sorted(one.of_trial(trial.index).items()):
            course = courses.get("interrupts")
            rate = course.per_second if course is not None else None
            if of.startswith("cpu ") and rate:
                words.append(f"{of} had {human_count(round(rate))} interrupts a second")
    return f"; {', '.join(words)}" if words else ""
