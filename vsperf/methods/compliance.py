"""Held against standards: one of three words each, with every deviation named.

House rule for RFC 2544. What changes the meaning of "throughput" makes a result not compliant:
loss above zero, final trials under 60 s, loss that may be disregarded, and a search that did not
come to the switch's own limit. What leaves the meaning and weakens the evidence (frame sizes,
waits, learning frames, a single direction) leaves it conditionally compliant.

A case is judged by its strictest goal. TST 009 is known here at second hand, and RFC 9971 from
its last draft; their levels are to be read with that in mind. Of delay and of long duration TST 009
has no least times that are known here: 60 s are those of its trials, 24 h those of RFC 8204.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

from vsperf.config.case import CaseSpec
from vsperf.config.traffic import FULL, TrafficProfile
from vsperf.quantities.units import NANOSECONDS, Duration, Ratio
from vsperf.records.flags import FUNCTIONAL_ONLY, Flag, Severity, worst
from vsperf.records.meaning import ETHERNET_SIZES
from vsperf.records.result import Compliance, GoalResult, Level, Limit, SearchResult, Standard

USUAL_BROADCASTS = Ratio(Fraction(1, 100))
"""RFC 2544 section 11.1."""
USUAL_FILTERS = (1, 24)
"""RFC 2544 section 11.4: before the rule that permits the frames."""
BLIND = ("port", "learn")
"""Rules that let any frame pass."""
NOT_ITS_OWN = {
    Limit.GENERATOR: "the generator limited the result, not the switch",
    Limit.HOST: "the host limited the result, not the switch",
    Limit.UNCOUNTED: "nobody counted where the missing frames were lost",
    Limit.SETTING: "the highest load allowed lies below the line rate, and it passed",
    Limit.BUDGET: "the time ended before the search did",
    Limit.UNKNOWN: "the trials contradict each other, or do not tell",
}
"""Why a result is not the throughput of the switch, by what limited it."""
FULL_NS = 60 * NANOSECONDS
"""RFC 2544 section 24: least duration of the trials that decide."""


@dataclass
class Findings:
    """Deviations as they are found, by their weight."""

    breaking: list[str] = field(default_factory=list)
    """They change what the result means."""
    weakening: list[str] = field(default_factory=list)
    """They leave its meaning."""

    def verdict(self, standard: Standard) -> Compliance:
        """Return the level that the deviations leave."""
        level = Level.UNCONDITIONAL
        if self.weakening:
            level = Level.CONDITIONAL
        if self.breaking:
            level = Level.NOT
        deviations = (*self.breaking, *self.weakening)
        return Compliance(standard=standard, level=level, deviations=deviations)


def qualified(found: Iterable[Compliance], flags: Sequence[Flag]) -> tuple[Compliance, ...]:
    """Return how a case stands to standards by all that is to be said against its numbers.

    A method knows its settings and its answers. What later trials and the machine say is known only
    at the end, and with a reservation nothing complies unconditionally.
    """
    return tuple(_qualified(one, flags) for one in found)


def _qualified(found: Compliance, flags: Sequence[Flag]) -> Compliance:
    breaking, weakening = [], []
    if any(flag in FUNCTIONAL_ONLY for flag in flags):
        breaking.append("functional only: it says nothing of how fast the switch is")
    weakening += [
        f"{flag.value}: {flag.gist}"
        for flag in flags
        if flag.severity is not Severity.NOTE and flag not in FUNCTIONAL_ONLY
    ]
    level = found.level
    if weakening and level is Level.UNCONDITIONAL:
        level = Level.CONDITIONAL
    return Compliance(
        standard=found.standard,
        level=Level.NOT if breaking else level,
        deviations=(*breaking, *found.deviations, *weakening),
    )


def another_method(kind: str) -> Findings:
    """Return how a method stands to RFC 9971 that is not its own."""
    return Findings([f"the method is {kind}, not a multiple loss ratio search"])


def verifies_no_loss(kind: str) -> Findings:
    """Return how a method stands to TST 009 that takes a loss for granted."""
    return Findings([f"the method is {kind}, which verifies no loss"])


def too_short(found: Findings, duration_ns: int) -> None:
    """Add that the trials that decide are shorter than the standards ask, if they are."""
    if duration_ns < FULL_NS:
        found.breaking.append(f"trial duration {Duration(duration_ns)} instead of 60s")


def loss_allowed(found: Findings, name: str, allowed: Ratio) -> None:
    """Add that a goal allows loss, if it does."""
    if allowed.value:
        found.breaking.append(f"the strictest goal, {name}, allows a loss of {allowed}")


def undetermined(found: Findings, goal: GoalResult | None) -> None:
    """Add why a result is not the throughput of the switch, if it is not."""
    if goal is None:
        found.breaking.append("there is no result")
        return
    if goal.limit in NOT_ITS_OWN:
        found.breaking.append(NOT_ITS_OWN[goal.limit])
    elif goal.lower_fps is None:
        found.breaking.append("no lower bound, so there is no throughput")
    elif worst(goal.flags) is Severity.INVALID:
        found.breaking.append("the result is invalid")
    elif Flag.OUT_OF_BUDGET in goal.flags:
        found.weakening.append("the time ended before the upper bound was tried again")


def unnumbered(found: Findings, result: SearchResult, *names: str) -> None:
    """Add which figures of a result have no number; of these names only, if some are given."""
    for figure in result.figures:
        if figure.value is None and (figure.name in names or not names):
            found.breaking.append(f"there is no {figure.name.replace('_', ' ')}")


def _other_frames(traffic: TrafficProfile) -> Iterator[str]:
    """Yield what makes frames other than those that RFC 2544 has."""
    if traffic.imix is not None:
        yield "a mix of frame sizes, not each alone (section 9.1)"
    if traffic.layer3 == "ipv6":
        yield "IPv6 frames, as RFC 5180 has them, not the test frames (section 8)"
    if traffic.replay is not None:
        yield "frames of a capture file, not the test frames (section 8)"


def _modifiers(case: CaseSpec) -> Iterator[str]:
    """Yield the modifiers of RFC 2544 that a case is measured with; each is a test beside others.

    Of 25 filters the last one permits the frames, and so is no filter of ours but the rule itself.
    """
    share = case.traffic.broadcasts
    if share.value:
        usual = "" if share == USUAL_BROADCASTS else f" instead of {USUAL_BROADCASTS}"
        yield f"with a modifier: {share}{usual} of the frames are broadcast (section 11.1)"
    if case.filters:
        usual = "" if case.filters in USUAL_FILTERS else " instead of 1 or 24"
        rules = f"{case.filters} filter{'s' if case.filters > 1 else ''}{usual}"
        blind = getattr(case.vswitch, "flows", None) in BLIND
        which = ", which looks at no address" if blind else ""
        permits = f"the rule that permits the frames{which}"
        yield f"with a modifier: {rules} before {permits} (section 11.4)"


def unmeasured_sizes(case: CaseSpec, sister_sizes: Sequence[int]) -> str:
    """Return which of the frame sizes of Ethernet no sister of a case has; nothing if all do."""
    sizes = {*sister_sizes, case.traffic.frame_size.bytes}
    return ", ".join(str(size) for size in ETHERNET_SIZES if size not in sizes)


def fewer_sizes(found: Findings, case: CaseSpec, sister_sizes: Sequence[int]) -> None:
    """Add which frame sizes were not measured, if any were not."""
    if missing := unmeasured_sizes(case, sister_sizes):
        found.weakening.append(f"frame sizes not measured: {missing}")


def evidence(found: Findings, case: CaseSpec, sister_sizes: Sequence[int]) -> None:
    """Add what RFC 2544 asks for around the trials and between the cases."""
    if missing := unmeasured_sizes(case, sister_sizes):
        found.weakening.append(f"frame sizes not measured (section 9.1): {missing}")
    sizes = {*sister_sizes, case.traffic.frame_size.bytes}
    if len(sizes) < 5:
        found.weakening.append(f"{len(sizes)} of at least 5 frame sizes (section 9)")
    found.weakening += _other_frames(case.traffic)
    found.weakening += _modifiers(case)
    if case.traffic.reverse_load < FULL:
        found.weakening.append(f"{case.traffic.reverse_load} of the load in reverse (section 14)")
    if case.traffic.direction != "both":
        found.weakening.append("traffic in one direction only (section 14)")
    if case.latency is not None and case.latency.loads:
        found.weakening.append("latency from one trial at a load instead of 20 (section 26.2)")
    policy = case.trial
    if not policy.learning:
        found.weakening.append("no learning frames before a trial (section 23)")
    waits = (
        ("before the test stream", policy.settle, 2),
        ("for late frames", policy.shortest_drain, 2),
        ("after a trial", policy.pause, 5),
    )
    for what, wait, seconds in waits:
        if wait.ns < seconds * NANOSECONDS:
            found.weakening.append(f"wait {what} {wait} instead of {seconds}s (section 23)")
