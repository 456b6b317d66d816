"""What a frame costs, held against the quiet sister: more than chance, or not to be told."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from record_samples import case_record, trial
from series_samples import header
from why_samples import BOUND, bound_at, case, passing, said, switch

from vsperf.analysis.collected import Digest, digest
from vsperf.analysis.why import Measured, Verdict, explain
from vsperf.records.flags import Flag
from vsperf.records.series import Nature, Quantity, Sample


def costing(*cycles: int, bound: int = BOUND) -> Measured:
    """A case whose trials at the bound cost a frame so much, one trial each."""
    one = case(*(passing(each, load_fps=bound) for each in cycles))
    return replace(one, record=case_record("case", result=bound_at(bound)))


class TestCostOfAFrame:
    def test_up_against_the_quiet_sister_in_each_trial(self) -> None:
        one = said(explain(costing(298, 302), costing(198, 202)), "cost of a frame")
        assert one.verdict is Verdict.FULL
        assert "300 (298 to 302 in 2 trials)" in one.text
        assert "200 (198 to 202 in 2 trials)" in one.text and "+50%" in one.text

    def test_the_same_as_the_sisters_is_no_reason(self) -> None:
        one = said(explain(costing(200, 201), costing(198, 199)), "cost of a frame")
        assert one.verdict is Verdict.FREE

    def test_no_more_than_trials_scatter_may_be_chance(self) -> None:
        one = said(explain(costing(205, 220, 225), costing(195, 200, 206)), "cost of a frame")
        assert one.verdict is Verdict.UNKNOWN
        assert "overlap" in one.text and "205 to 225" in one.text and "+10%" in one.text

    @pytest.mark.parametrize(
        ("own", "other"), [((300,), (198, 202)), ((298, 302), (200,))], ids=["own", "sister's"]
    )
    def test_a_single_trial_is_not_enough(
        self, own: tuple[int, ...], other: tuple[int, ...]
    ) -> None:
        one = said(explain(costing(*own), costing(*other)), "cost of a frame")
        assert one.verdict is Verdict.UNKNOWN
        assert "+50%" in one.text and "in a single trial" in one.text

    def test_frames_of_another_load_cost_something_else(self) -> None:
        sister = costing(198, 202, bound=BOUND * 12 // 10)
        one = said(explain(costing(298, 302), sister), "cost of a frame")
        assert one.verdict is Verdict.UNKNOWN
        assert "1.000 Mfps" in one.text and "1.200 Mfps" in one.text and "+50%" in one.text

    def test_trials_whose_counters_fell_are_left_out(self) -> None:
        reset = passing(switch=switch(2_000_000, 10**9, -1))
        one = case(passing(200), reset, passing(202))
        assert "200 to 202 in 2 trials" in said(explain(one), "cost of a frame").text

    def test_without_a_sister_it_is_a_number_without_a_meaning(self) -> None:
        one = said(explain(case()), "cost of a frame")
        assert one.verdict is Verdict.UNKNOWN
        assert "200 (in a single trial)" in one.text


def perf(*misses: int) -> Digest:
    quantity = Quantity(name="llc_misses", unit="1", nature=Nature.TOTAL)
    head = header("perf").model_copy(update={"quantities": (quantity,), "heavy": True})
    samples = [
        Sample(trial=number, at_ns=number, of="switch", values={"llc_misses": count})
        for number, count in enumerate(misses, start=1)
    ]
    return digest(head, samples)


def with_perf(*misses: int, **changes: Any) -> Measured:
    """A case in which perf had a trial of its own for each of these counts."""
    own = tuple(("perf", trial(number, **changes)) for number in range(1, len(misses) + 1))
    return replace(case(), series=(perf(*misses),), own=own)


class TestCache:
    def test_more_misses_than_the_sister_has_in_each_trial_are_a_reason(self) -> None:
        found = explain(with_perf(3_900_000, 4_100_000), with_perf(180_000, 220_000))
        one = said(found, "cache")
        assert one.verdict is Verdict.FULL
        assert "2.00 (1.95 to 2.05 in 2 trials)" in one.text
        assert "0.10 (0.09 to 0.11 in 2 trials)" in one.text

    def test_as_many_are_none(self) -> None:
        found = explain(with_perf(200_000, 200_000), with_perf(200_000, 200_000))
        assert said(found, "cache").verdict is Verdict.FREE

    def test_hardly_any_are_none_however_few_the_sister_has(self) -> None:
        found = explain(with_perf(2_000, 2_000), with_perf(0, 0))
        assert said(found, "cache").verdict is Verdict.FREE

    def test_a_single_trial_is_not_enough(self) -> None:
        one = said(explain(with_perf(4_000_000), with_perf(200_000)), "cache")
        assert one.verdict is Verdict.UNKNOWN
        assert "2.00 (in a single trial)" in one.text and "0.10 (in a single trial)" in one.text

    def test_misses_at_another_load_are_others(self) -> None:
        sister = with_perf(200_000, 200_000, load_fps=2 * BOUND)
        one = said(explain(with_perf(4_000_000, 4_000_000), sister), "cache")
        assert one.verdict is Verdict.UNKNOWN
        assert "2.000 Mfps" in one.text

    def test_an_invalid_trial_counts_nothing(self) -> None:
        spoilt = trial(1, flags=(Flag.GENERATOR_ERROR,))
        assert not spoilt.valid
        twice = replace(with_perf(9_000_000, 200_000), own=(("perf", spoilt), ("perf", trial(2))))
        assert "0.10 (in a single trial)" in said(explain(twice), "cache").text
        alone = replace(with_perf(9_000_000), own=(("perf", spoilt),))
        assert "nobody counted" in said(explain(alone), "cache").text

    def test_two_trials_by_one_number_cannot_be_told_apart(self) -> None:
        mixed = replace(with_perf(9_000_000), own=(("perf", trial(1)), ("perf", trial(1))))
        assert "nobody counted" in said(explain(mixed), "cache").text

    def test_nobody_counted(self) -> None:
        one = said(explain(case()), "cache")
        assert one.verdict is Verdict.UNKNOWN
        assert "perf" in one.text
