"""Stored histograms: what was put in comes out, merged or not, to one part in a thousand."""

import contextlib

import pytest
from assertions import known
from hdrh.histogram import HdrHistogram
from hypothesis import given, settings
from hypothesis import strategies as st

from vsperf.errors import StoreError
from vsperf.records.histogram import HIGHEST_NS, encode, merge, percentiles_ns, summary

LATENCIES = st.lists(st.integers(1, HIGHEST_NS), min_size=1, max_size=50)


def test_nothing_measured_stays_nothing() -> None:
    assert encode([]) is None
    assert merge([]) is None
    assert merge([None, None]) is None
    assert percentiles_ns(None, (50,)) is None
    assert summary(None) is None


def test_percentiles_are_those_of_the_values() -> None:
    encoded = known(encode(range(1, 1001)))
    assert percentiles_ns(encoded, (50, 99, 99.9, 100)) == {50: 500, 99: 990, 99.9: 999, 100: 1000}


@settings(max_examples=20)
@given(LATENCIES)
def test_the_summary_is_right_to_one_part_in_a_thousand(latencies: list[int]) -> None:
    encoded = known(encode(latencies))
    found = summary(encoded)
    assert found.count == len(latencies)
    assert found.minimum_ns == pytest.approx(min(latencies), rel=1e-3)
    assert found.mean_ns == pytest.approx(sum(latencies) / len(latencies), rel=1e-3)
    assert found.maximum_ns == pytest.approx(max(latencies), rel=1e-3)


@settings(max_examples=20)
@given(LATENCIES, LATENCIES)
def test_merging_is_as_if_all_had_been_recorded_in_one(one: list[int], other: list[int]) -> None:
    wanted = (1, 50, 90, 99, 99.9)
    merged = merge([encode(one), None, encode(other)])
    assert percentiles_ns(merged, wanted) == percentiles_ns(encode([*one, *other]), wanted)
    assert summary(merged) == summary(encode([*one, *other]))


def test_latencies_outside_the_range_are_kept_at_its_ends() -> None:
    found = known(summary(encode([0, 10 * HIGHEST_NS])))
    assert found.minimum_ns == 1
    assert found.maximum_ns == pytest.approx(HIGHEST_NS, rel=1e-3)


@pytest.mark.parametrize("text", ["", "abc", "AAAA", "x" * 100, "é", "HISTFAAAABx42pNpmSzM"])
def test_a_damaged_histogram_is_named_as_such(text: str) -> None:
    with pytest.raises(StoreError, match="cannot be read"):
        percentiles_ns(text, (50,))


@given(st.text(max_size=60))
def test_no_text_whatever_gives_a_traceback(text: str) -> None:
    with pytest.raises(StoreError):
        summary(text)


@given(st.data())
def test_no_flipped_character_gives_a_traceback(data: st.DataObject) -> None:
    encoded = known(encode([1_000, 2_000, 50_000]))
    place = data.draw(st.integers(0, len(encoded) - 1))
    damaged = encoded[:place] + data.draw(st.characters()) + encoded[place + 1 :]
    with contextlib.suppress(StoreError):
        summary(damaged)


@given(st.lists(st.integers(1, 10**9), min_size=1))
def test_the_mean_is_the_one_of_the_library(latencies: list[int]) -> None:
    encoded = encode(latencies)
    found = summary(encoded)
    assert encoded is not None and found is not None
    assert found.mean_ns == pytest.approx(HdrHistogram.decode(encoded).get_mean_value(), rel=1e-12)
