"""A criterion from the command line: no rival may be slower than the first switch by more than so.

It becomes one of the case's own, so that its record holds what it was judged by.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from vsperf.config.case import Case
from vsperf.config.expect import Bound, Expectation
from vsperf.errors import UsageError
from vsperf.quantities.quantity import decimal_text
from vsperf.quantities.units import Ratio
from vsperf.records.turns import CONTROL, FIRST, ratio_name


def not_slower(cases: Sequence[Case], by: Ratio | None) -> tuple[Case, ...]:
    """Return the cases with a criterion for each rival, if a share is given."""
    if by is None:
        return tuple(cases)
    if by.value >= 1:
        raise UsageError(f"--fail-above {by} leaves nothing to ask for", fix="such as 3%")
    found = tuple(_of(case, by) for case in cases)
    if all(case is before for case, before in zip(found, cases, strict=True)):
        raise UsageError(
            "--fail-above says how much slower a rival may be, and no case has one",
            why="switches are held against each other in turns by a method that compares them",
            fix="vsperf run phy2phy_paired --vswitch A,B --fail-above 3%; of runs that were made, "
            "`vsperf compare` has the same option",
        )
    return found


def _of(case: Case, by: Ratio) -> Case:
    rivals = [side for side in case.spec.sides if side.letter not in (FIRST, CONTROL)]
    if not rivals:
        return case
    least = Bound.parse(f"{decimal_text((1 - by.value) * 100)}%")
    asked = (Expectation(metric=ratio_name(side.letter), min=least) for side in rivals)
    expect = (*case.spec.expect, *asked)
    return replace(case, spec=case.spec.model_copy(update={"expect": expect}))
