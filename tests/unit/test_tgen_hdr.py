"""tgen's histograms, read by the package that everybody reads such histograms with."""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path

import pytest
import tgen_programs
from conftest import Require
from hdrh.histogram import HdrHistogram

from vsperf.record.histogram import percentiles_ns, summary

SHARES = (0.001, 0.01, 0.1, 0.5, 0.9, 0.99, 0.999, 0.9999)
HIGHEST_NS = 100_000_000_000


@pytest.fixture(name="hdr_dump", scope="module")
def fixture_hdr_dump(require: Require) -> Path:
    require("tgen-programs")
    return tgen_programs.build("hdr-dump")


class Encoded:
    """What the program says of a histogram of TSC cycles."""

    def __init__(self, program: Path, hertz: int, cycles: Counter[int]) -> None:
        lines = tgen_programs.answers(
            program,
            (f"{value} {count}" for value, count in cycles.items()),
            str(hertz),
            *(str(share) for share in SHARES),
        )
        self.text = lines[0]
        self.count, self.minimum_ns, self.mean_ns, self.maximum_ns = map(int, lines[1].split())
        self.quantiles_ns = dict(zip(SHARES, map(int, lines[2:]), strict=True))


def _true_quantile(cycles: Counter[int], share: float) -> int:
    rank = max(1, -int(-share * cycles.total() // 1))
    for value in sorted(cycles):
        rank -= cycles[value]
        if rank <= 0:
            return value
    raise AssertionError("a share above 1")


def _recorded(histogram: HdrHistogram) -> dict[int, int]:
    items = (item for item in histogram.get_recorded_iterator())
    return {
        item.value_iterated_to: item.count_added_in_this_iter_step
        for item in items
        if item.count_added_in_this_iter_step
    }


def _about(value: float, truth: float) -> bool:
    """Within 1 %, or within the nanosecond that a short time is rounded to."""
    return abs(value - truth) <= max(truth / 100, 1)


@pytest.mark.parametrize("hertz", [1_000_000_000, 2_599_998_765, 5_000_000_000])
@pytest.mark.parametrize("seed", range(4))
def test_counts_and_quantiles_survive(hdr_dump: Path, hertz: int, seed: int) -> None:
    drawn = random.Random(seed)
    centre = drawn.choice([6, 9, 12, 16])
    cycles = Counter(int(drawn.lognormvariate(centre, 1.5)) for _ in range(20_000))
    encoded = Encoded(hdr_dump, hertz, cycles)
    histogram = HdrHistogram.decode(encoded.text)

    assert histogram.get_total_count() == encoded.count == cycles.total()
    assert sum(_recorded(histogram).values()) == cycles.total()
    for share in SHARES:
        truth = _true_quantile(cycles, share) * 1e9 / hertz
        assert _about(histogram.get_value_at_percentile(share * 100), truth)
        assert _about(encoded.quantiles_ns[share], truth)


def test_minimum_maximum_and_mean_are_exact(hdr_dump: Path) -> None:
    encoded = Encoded(hdr_dump, 2_600_000_000, Counter({2600: 1, 26_026: 3, 2_600_000: 1}))
    assert (encoded.minimum_ns, encoded.maximum_ns) == (1000, 1_000_000)
    assert encoded.mean_ns == round((1000 + 3 * 10_010 + 1_000_000) / 5)


def test_an_empty_one_is_read_as_empty(hdr_dump: Path) -> None:
    encoded = Encoded(hdr_dump, 2_600_000_000, Counter())
    assert HdrHistogram.decode(encoded.text).get_total_count() == 0


def test_the_range_is_1_ns_to_100_s(hdr_dump: Path) -> None:
    encoded = Encoded(hdr_dump, 1_000_000_000, Counter({0: 1, 1: 1, 2: 1, 10**11: 1, 10**13: 1}))
    histogram = HdrHistogram.decode(encoded.text)
    assert histogram.lowest_trackable_value == 1
    assert histogram.highest_trackable_value == HIGHEST_NS
    assert histogram.significant_figures == 3
    assert list(_recorded(histogram).values()) == [2, 1, 2]
    assert histogram.get_min_value() == 1
    assert _about(histogram.get_max_value(), HIGHEST_NS)
    assert encoded.maximum_ns == 10**13


def test_counts_may_be_huge(hdr_dump: Path) -> None:
    counts = {1000: 1, 10_000: 127, 100_000: 2**32 + 5, 1_000_000: 2**55 + 3}
    histogram = HdrHistogram.decode(Encoded(hdr_dump, 10**9, Counter(counts)).text)
    assert list(_recorded(histogram).values()) == list(counts.values())


def test_vsperf_reads_it_as_its_own(hdr_dump: Path) -> None:
    encoded = Encoded(hdr_dump, 10**9, Counter({1000: 90, 50_000: 10}))
    assert summary(encoded.text).count == 100
    percentiles = percentiles_ns(encoded.text, [50, 99])
    assert _about(percentiles[50], 1000)
    assert _about(percentiles[99], 50_000)
