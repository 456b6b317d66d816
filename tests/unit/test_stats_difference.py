"""What is called a change: by which means, how surely, and never where there is none."""

from __future__ import annotations

import math
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vsperf.analysis.answers import Basis, Finding
from vsperf.analysis.difference import (
    LEVEL,
    Change,
    Means,
    Sample,
    Scatter,
    can_tell,
    difference_of,
    least_repeats,
    outermost,
    ratio_interval,
    scatter_of,
)
from vsperf.quantities.unit import Unit

RATES = st.integers(1, 10**9)
INTERVALS = st.tuples(RATES, st.one_of(st.just(math.inf), st.integers(0, 10**8)))
SAMPLES = st.lists(INTERVALS, min_size=1, max_size=6).map(
    lambda pairs: searched(*[(low, low + width) for low, width in pairs])
)
OPPOSITE = {Change.UP: Change.DOWN, Change.DOWN: Change.UP, Change.NONE: Change.NONE}


def searched(*bounds: tuple[float, float]) -> Sample:
    """Answers of searches, by their bounds."""
    return Sample(tuple(Finding("ndr", Unit.FPS, low, low, high) for low, high in bounds))


def single(*values: float) -> Sample:
    """Numbers of which nobody knows how far they can be off."""
    return Sample(
        tuple(Finding("p99", Unit.NANOSECONDS, v, v, v, None, Basis.NOTHING) for v in values)
    )


def normal(chance: random.Random, count: int, mean: float = 1e6, share: float = 0.03) -> Sample:
    """Repeats that scatter normally, found by a search with a width of 0.5 %."""
    values = [chance.gauss(mean, share * mean) for _ in range(count)]
    return searched(*[(value, value * 1.005) for value in values])


def two_states(chance: random.Random, count: int, factor: float) -> Sample:
    """Repeats on a machine that is in one of two states, each of which scatters little."""
    values = [factor * chance.choice((1.0, 0.9)) * chance.gauss(1, 0.001) for _ in range(count)]
    return searched(*[(1e6 * value, 1e6 * value * 1.0001) for value in values])


@given(SAMPLES, SAMPLES)
def test_turned_round_a_change_goes_the_other_way(base: Sample, other: Sample) -> None:
    there, back = difference_of(base, other), difference_of(other, base)
    assert there.change is OPPOSITE[back.change]
    assert there.means is back.means
    assert there.p == (None if back.p is None else pytest.approx(back.p))
    if there.share is not None and back.share is not None:
        assert (1 + there.share) * (1 + back.share) == pytest.approx(1)


@given(SAMPLES)
def test_equal_samples_never_differ(sample: Sample) -> None:
    found = difference_of(sample, sample)
    assert found.change is Change.NONE
    assert found.share in (None, 0)


@given(SAMPLES, SAMPLES)
def test_what_it_can_be_holds_what_it_is(base: Sample, other: Sample) -> None:
    found = difference_of(base, other)
    if found.share is None:
        return
    assert found.least is None or found.least <= found.share * (1 + 1e-9) + 1e-9
    assert found.most is None or found.most >= found.share * (1 - 1e-9) - 1e-9


@given(SAMPLES, SAMPLES)
def test_a_change_does_not_depend_on_the_unit(base: Sample, other: Sample) -> None:
    def thrice(sample: Sample) -> Sample:
        return searched(*[(3 * one.low, 3 * one.high) for one in sample.findings])

    found = difference_of(base, other)
    scaled = difference_of(thrice(base), thrice(other))
    assert (found.change, found.means, found.p) == (scaled.change, scaled.means, scaled.p)


class TestOneOfEach:
    def test_intervals_that_lie_apart_are_a_change(self) -> None:
        found = difference_of(searched((100, 101)), searched((110, 111)))
        assert (found.means, found.change) == (Means.INTERVALS, Change.UP)
        assert found.share == pytest.approx(0.1)
        assert found.least == pytest.approx(110 / 101 - 1)
        assert found.most == pytest.approx(0.11)

    def test_intervals_that_overlap_are_none(self) -> None:
        assert not difference_of(searched((100, 105)), searched((104, 109))).significant

    def test_nothing_is_above_what_has_no_end(self) -> None:
        found = difference_of(searched((100, math.inf)), searched((200, 201)))
        assert (found.change, found.share, found.least) == (Change.NONE, None, None)
        assert found.most == pytest.approx(1.01)

    def test_what_has_no_end_can_be_above(self) -> None:
        found = difference_of(searched((100, 101)), searched((200, math.inf)))
        assert (found.change, found.share, found.most) == (Change.UP, None, None)
        assert found.least == pytest.approx(200 / 101 - 1)

    def test_numbers_without_bounds_say_nothing(self) -> None:
        found = difference_of(single(100), single(1000))
        assert (found.means, found.change, found.share) == (Means.NOTHING, Change.NONE, 9)

    def test_a_share_of_nothing_is_no_number(self) -> None:
        assert difference_of(single(0), single(5)).share is None


class TestFewRepeats:
    def test_they_are_held_against_their_scatter(self) -> None:
        scatter = Scatter(0.03, 4)
        near = difference_of(searched((100, 101)), searched((105, 106)), scatter)
        far = difference_of(searched((100, 101)), searched((120, 121)), scatter)
        assert near.means is far.means is Means.SCATTER
        assert (near.change, far.change) == (Change.NONE, Change.UP)

    def test_with_scatter_numbers_without_bounds_say_something(self) -> None:
        found = difference_of(single(100, 101), single(200, 202), Scatter(0.01, 4))
        assert (found.means, found.change) == (Means.SCATTER, Change.UP)

    def test_the_scatter_of_several_groups_is_put_together(self) -> None:
        found = scatter_of([(100, 102), (1000, 1020), (7,)])
        assert found is not None
        assert found.freedom == 2
        assert found.share == pytest.approx(math.log(1.02) / math.sqrt(2))

    def test_nothing_repeated_has_no_scatter(self) -> None:
        assert scatter_of([(100,), (200,)]) is None


class TestRanks:
    def test_four_on_each_side_are_the_least(self) -> None:
        assert least_repeats() == 4
        assert not can_tell(3, 3)
        assert can_tell(3, 5)
        assert not can_tell(0, 100)

    def test_the_least_p_is_one_of_all_arrangements(self) -> None:
        found = difference_of(single(1, 2, 3, 4), single(5, 6, 7, 8))
        assert found.p == pytest.approx(2 / math.comb(8, 4))

    def test_equal_numbers_are_counted_as_what_they_are(self) -> None:
        # Of the 70 ways to share out 1 1 1 1 2 2 2 2, one is this, and one its mirror image.
        found = difference_of(single(1, 1, 1, 1), single(2, 2, 2, 2))
        assert found.p == pytest.approx(2 / 70)
        assert difference_of(single(1, 1, 2, 2), single(1, 2, 2, 1)).p == 1

    def test_a_change_within_the_width_of_the_search_is_none(self) -> None:
        base = searched(*[(1000 + n, 1100 + n) for n in range(5)])
        other = searched(*[(1010 + n, 1110 + n) for n in range(5)])
        found = difference_of(base, other)
        assert difference_of(single(*base.values), single(*other.values)).significant
        assert found.p == 1
        assert found.change is Change.NONE

    def test_a_load_that_held_where_others_failed_is_a_change(self) -> None:
        base, other = searched(*[(100, 105)] * 4), searched(*[(105, 110)] * 4)
        assert difference_of(base, other).change is Change.UP
        assert difference_of(other, base).change is Change.DOWN

    def test_size_and_direction_are_of_one_estimate(self) -> None:
        """A machine of two states: in each of them the other side is 3 % better."""
        chance, changed = random.Random(0), 0
        for _ in range(60):
            base = two_states(chance, 20, 1.0)
            other = two_states(chance, 20, 1.03)
            found = difference_of(base, other)
            assert found.share is not None and found.least is not None
            assert found.most is not None and found.least <= found.share <= found.most
            assert found.significant == (not found.least <= 0 <= found.most)
            assert found.change in (Change.NONE, Change.UP if found.share > 0 else Change.DOWN)
            changed += found.change is Change.UP
        assert changed > 30, "or it says nothing"

    @given(SAMPLES, SAMPLES)
    def test_a_change_has_the_sign_of_its_interval(self, base: Sample, other: Sample) -> None:
        found = difference_of(base, other)
        if found.change is Change.UP:
            assert (found.share is None or found.share >= 0) and (found.least or 0) >= 0
        elif found.change is Change.DOWN:
            assert (found.share is None or found.share <= 0) and (found.most or 0) <= 0

    def test_what_was_nothing_and_is_something_went_up(self) -> None:
        none, some = single(0, 0, 0, 0, 0), single(1, 2, 3, 4, 5)
        assert difference_of(none, some).change is Change.UP
        fell = difference_of(some, none)
        assert (fell.change, fell.share) == (Change.DOWN, -1)

    def test_what_lies_below_0_goes_up_and_down_as_well(self) -> None:
        low, high = single(-5, -4, -3, -2), single(-1, 0, 1, 2)
        assert difference_of(low, high).change is Change.UP
        assert difference_of(high, low).change is Change.DOWN

    def test_what_may_be_higher_is_taken_as_high_as_can_be(self) -> None:
        open_ended = searched(*[(100 + n, math.inf) for n in range(5)])
        above = searched(*[(200 + n, 201 + n) for n in range(5)])
        below = searched(*[(50 + n, 51 + n) for n in range(5)])
        assert difference_of(open_ended, above).change is Change.NONE
        assert difference_of(open_ended, below).change is Change.DOWN

    @pytest.mark.parametrize("count", [1, 5])
    def test_of_what_are_lower_bounds_alone_nobody_can_tell(self, count: int) -> None:
        fast, slow = (
            searched(*[(low + n, math.inf) for n in range(count)]) for low in (2_550_000, 9_184)
        )
        for base, other in ((fast, fast), (fast, slow), (slow, fast)):
            told = difference_of(base, other)
            assert (told.means, told.change, told.share) == (Means.NOTHING, Change.NONE, None)

    @pytest.mark.parametrize("sizes", [(4, 4), (3, 5), (5, 7), (10, 10)])
    def test_the_interval_of_the_ratio_ends_where_the_test_begins(
        self, sizes: tuple[int, int]
    ) -> None:
        chance = random.Random(sum(sizes))
        for _ in range(30):
            base = [chance.lognormvariate(0, 0.1) for _ in range(sizes[0])]
            other = [chance.lognormvariate(0.12, 0.1) for _ in range(sizes[1])]
            ends = ratio_interval(base, other)
            found = difference_of(single(*base), single(*other))
            if found.together == 1:  # else it is a test of fewer, which has another interval
                assert found.p is not None
                assert (found.p < LEVEL) == (not ends[0] <= 1 <= ends[1])

    def test_the_outermost_pairs_are_as_tables_have_them(self) -> None:
        # Critical values of U, two-sided at 5 %, as in any textbook.
        assert [outermost(n, n) for n in (4, 5, 8, 10, 20)] == [0, 2, 13, 23, 127]


class TestFalseAlarms:
    """Of samples of one kind, no more than 5 % may differ."""

    ROUNDS = 400

    @pytest.mark.parametrize("count", [4, 6])
    def test_by_ranks(self, count: int) -> None:
        chance = random.Random(count)
        pairs = [(normal(chance, count), normal(chance, count)) for _ in range(self.ROUNDS)]
        alarms = sum(difference_of(base, other).significant for base, other in pairs)
        assert alarms <= 0.072 * self.ROUNDS  # two standard deviations above 5 %

    @pytest.mark.parametrize("count", [2, 3])
    def test_by_scatter(self, count: int) -> None:
        chance, alarms = random.Random(count), 0
        for _ in range(self.ROUNDS):
            base, other = normal(chance, count), normal(chance, count)
            scatter = scatter_of([base.values, other.values])
            alarms += difference_of(base, other, scatter).significant
        assert alarms <= 0.072 * self.ROUNDS

    def test_as_many_repeats_as_were_said_see_a_change(self) -> None:
        chance, seen, share = random.Random(3), 0, 0.02
        count = Scatter(share, 10).repeats_to_see(0.03)
        for _ in range(200):
            base = [chance.gauss(1, share) for _ in range(count)]
            other = [chance.gauss(1.03, share) for _ in range(count)]
            seen += difference_of(single(*base), single(*other)).significant
        assert 0.72 * 200 <= seen <= 0.9 * 200


def test_a_steady_machine_needs_the_least_repeats_and_a_restless_one_many() -> None:
    assert Scatter(0.001, 10).repeats_to_see() == 4
    assert Scatter(0.10, 10).repeats_to_see() > 100


class TestForecast:
    """How many repeats show 3 %, as it was found by trying."""

    def test_repeats_in_two_states_need_few_where_their_deviation_lets_expect_many(self) -> None:
        chance = random.Random(5)
        groups = [two_states(chance, 20, 1.0).values for _ in range(20)]
        found = [known.repeats_to_see() for one in groups if (known := scatter_of([one]))]
        assert all(10 <= count <= 35 for count in found), found
        seen = sum(
            difference_of(two_states(chance, 20, 1.0), two_states(chance, 20, 1.03)).significant
            for _ in range(200)
        )
        assert 0.72 * 200 <= seen <= 0.9 * 200

    def test_few_repeats_go_by_the_normal_distribution_and_say_so(self) -> None:
        few, many = scatter_of([(1.0, 1.1, 1.2)]), scatter_of([(1.0, 1.1, 1.2)] * 5)
        assert few is not None and many is not None
        assert (few.presumes_normal, many.presumes_normal) == (True, False)

    def test_a_change_that_no_repeat_shows_needs_more_than_anybody_makes(self) -> None:
        known = scatter_of([(1.0, 2.0, 4.0, 8.0)] * 4)
        assert known is not None
        assert known.repeats_to_see() > 1000


class TestRepeatsThatDependOnEachOther:
    """A machine that stays in a state for six repeats."""

    def sticky(self, chance: random.Random, count: int) -> Sample:
        first = chance.randrange(12)
        states = [0.9 if (first + place) // 6 % 2 else 1.0 for place in range(count)]
        values = [1e6 * state * chance.gauss(1, 0.005) for state in states]
        return searched(*[(value, value * 1.001) for value in values])

    def test_ten_in_one_state_and_the_next_are_no_ten_answers(self) -> None:
        chance, alarms, found = random.Random(1), 0, 0
        for _ in range(100):
            one = difference_of(self.sticky(chance, 10), self.sticky(chance, 10))
            alarms += one.significant
            found += one.together != 1
        assert found > 50
        assert alarms <= 0.072 * 100

    def test_where_nothing_is_left_there_is_no_verdict(self) -> None:
        drifting = searched(*[(1000 + n, 1001 + n) for n in range(7)])
        steady = searched(*[(2000 + n, 2001 + n) for n in (3, 1, 4, 1, 5, 9, 2)])
        found = difference_of(drifting, steady)
        assert (found.means, found.change, found.together) == (Means.NOTHING, Change.NONE, None)
