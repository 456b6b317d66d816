"""The plan of a case as it can be carried out by hand, each step told once in a report."""

from __future__ import annotations

import shlex
from dataclasses import dataclass, field

from vsperf.record.placeholder import shown
from vsperf.record.plan import Plan
from vsperf.record.plan import Step as PlanStep
from vsperf.report.page import Planned, Step

FEW = 4
"""A plan that differs in so many steps at most is told by these."""


@dataclass(slots=True)
class Plans:
    """The plans that a report has told so far; cases of one testcase share nearly all steps."""

    _told: list[tuple[str, str, tuple[PlanStep, ...]]] = field(default_factory=list)

    def tell(self, plan: Plan, anchor: str, label: str) -> Planned:
        """Return a plan, by what is different where one like it was told before."""
        memory = tuple(
            f"{size >> 20} MB of hugepages on memory node {node}"
            for node, size in plan.hugepage_bytes.items()
        )
        for other, name, steps in self._told:
            if len(steps) != len(plan.steps):
                continue
            pairs = zip(plan.steps, steps, strict=True)
            changed = [place for place, (one, two) in enumerate(pairs) if one != two]
            if len(changed) <= FEW and len(changed) < len(steps):
                found = tuple(_step(place + 1, plan.steps[place]) for place in changed)
                return Planned(found, other, name, memory)
        self._told.append((anchor, label, plan.steps))
        whole = tuple(_step(number, step) for number, step in enumerate(plan.steps, start=1))
        return Planned(whole, "", "", memory)


def _step(number: int, step: PlanStep) -> Step:
    command = "" if step.argv is None else shlex.join(shown(word) for word in step.argv)
    return Step(number, step.component, step.action, command, tuple(step.lines))
