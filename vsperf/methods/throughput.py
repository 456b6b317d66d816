"""What methods have in common that look for the highest load: goals, a range, and the way there."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import Annotated, Protocol

from pydantic import Field

from vsperf.config.case import CaseSpec
from vsperf.methods.base import Bench, TrialOptions, probe_on
from vsperf.methods.compliance import (
    Findings,
    another_method,
    evidence,
    loss_allowed,
    undetermined,
    verifies_no_loss,
)
from vsperf.methods.range import WithinRange
from vsperf.records.result import COUNTED, Compliance, GoalResult, SearchResult, Standard
from vsperf.records.trial import Purpose, Trial
from vsperf.search import base
from vsperf.search.confirm import Confirmed
from vsperf.search.draws import drawn, expected_ns, first_of
from vsperf.search.verdict import Question, answer


class GoalSearch(base.Search, Protocol):
    """A search algorithm whose goals can be asked once more, in clean time."""

    @property
    def questions(self) -> Mapping[str, Question]:
        """What each goal asks."""

    @property
    def duration_ns(self) -> int:
        """Of a full-length trial."""


class Throughput(WithinRange):
    """Looks for the highest load at which each goal is met."""

    draws: Annotated[int, Field(ge=1, le=100)] = 1
    """Deployments on which the answer is asked for. On each one after the first it is asked again
    in a short search that begins at the known bounds, and the answer has how far they lie apart: a
    switch that is deployed twice differs from itself by 1 to 4.5 %, for as long as it lives."""

    @abstractmethod
    def search(self, loads: base.Loads) -> GoalSearch:
        """Return the algorithm alone, as others have it."""

    @abstractmethod
    def rfc2544(self) -> Findings:
        """Return where the method itself leaves RFC 2544."""

    def rfc9971(self, case: CaseSpec, result: SearchResult) -> Findings:
        """Return where it leaves RFC 9971."""
        return another_method(self.kind)

    def tst009(self) -> Findings:
        """Return where the method itself leaves TST 009."""
        return verifies_no_loss(self.kind)

    def confirmed(self, loads: base.Loads) -> Confirmed:
        """Return the search whose bounds are answered in clean time, too, and tried at the end."""
        search = self.search(loads)
        return Confirmed(search, search.questions, search.duration_ns)

    def run(self, bench: Bench) -> SearchResult:
        return self.confirmed(bench.loads).run(probe_on(bench))

    def so_far(self, loads: base.Loads, trials: Sequence[Trial]) -> tuple[GoalResult, ...]:
        """Return where each goal stands while it is searched for, by the rules of its answer.

        One that is not there yet is cut short, as if the time were over.
        """
        known = [one for one in trials if one.valid and one.purpose in COUNTED]
        return tuple(
            answer(question.ended(complete=False), known)
            for question in self.search(loads).questions.values()
        )

    def reconsidered(
        self, result: SearchResult, bench: Bench, trials: Sequence[Trial]
    ) -> SearchResult:
        """Go on from what was found where later trials take a bound back; else leave it as it is.

        A trial at a share of the answer is a trial at that load like any other.
        """
        known = [one for one in trials if one.valid and one.purpose in COUNTED]
        probe = probe_on(bench)
        probe.trials.extend(known)
        confirmed = self.confirmed(bench.loads)
        return result if confirmed.stands(probe, result) else confirmed.agreed(probe, result)

    @property
    def deployments(self) -> int:
        return self.draws

    def asks_again(self, result: SearchResult) -> bool:
        """Whether any of its answers is that of the deployment, and not of the machine or time."""
        return any(first_of(goal) is not None for goal in result.goals)

    def drawing_ns(self, bench: Bench) -> int:
        """Return the time of short searches on all deployments but the first."""
        search = self.search(bench.loads)
        once_ns = expected_ns(
            list(search.questions.values()), search.duration_ns, bench.overhead_ns
        )
        return (self.draws - 1) * once_ns

    def drawn(
        self, result: SearchResult, bench: Bench, first: Sequence[Trial], deployment: int
    ) -> SearchResult:
        """Ask each goal again, from the bounds that it has."""
        search = self.search(bench.loads)
        goals = drawn(
            result.goals,
            search.questions,
            probe_on(bench, TrialOptions(Purpose.DRAW)),
            [one for one in first if one.valid and one.purpose in COUNTED],
            search.duration_ns,
            (deployment, self.draws),
        )
        return result.model_copy(update={"goals": goals})

    def compliance(
        self, case: CaseSpec, sister_sizes: Sequence[int], result: SearchResult
    ) -> tuple[Compliance, ...]:
        """Judge a case by its strictest goal."""
        asked = self.asked()
        name = min(asked, key=lambda goal: asked[goal].loss_ratio.value)
        strictest = next((goal for goal in result.goals if goal.goal == name), None)
        rfc2544, tst009 = self.rfc2544(), self.tst009()
        for found in (rfc2544, tst009):
            loss_allowed(found, name, asked[name].loss_ratio)
            undetermined(found, strictest)
        if strictest is not None and strictest.regimes:
            tst009.breaking.append(
                "the machine moved its CPUs: loads were chosen by what trials said of each regime, "
                "and not by a binary search"
            )
        evidence(rfc2544, case, sister_sizes)
        return (
            rfc2544.verdict(Standard.RFC2544),
            self.rfc9971(case, result).verdict(Standard.RFC9971),
            tst009.verdict(Standard.TST009),
        )
