"""Stored latency histograms: written, read back, merged, and asked for percentiles.

A histogram travels as text (HdrHistogram V2, base64) from the generator to the record. It keeps
every latency to one part in a thousand, so percentiles of several trials come from merged
histograms and never from averaged percentiles. What was not measured is None, here as everywhere.
"""

from __future__ import annotations

import base64
import binascii
import weakref
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import compress
from typing import TYPE_CHECKING, Any, overload

from vsperf.errors import StoreError

if TYPE_CHECKING:
    from hdrh.histogram import HdrHistogram

LOWEST_NS = 1
HIGHEST_NS = 100_000_000_000
"""100 s; a longer latency is stored as this one."""
SIGNIFICANT_DIGITS = 3
HEAD_BYTES = 8
"""Before what is packed: a cookie and a length."""
MOST_BYTES = 1 << 20
"""Of an unpacked one, several times what all ranges of latency take. A record of others may say
anything, and a line of it can unpack to more than memory holds."""


@dataclass(frozen=True, slots=True)
class LatencySummary:
    """What a histogram holds in four numbers."""

    count: int
    """Latencies recorded; as a rule fewer than frames received."""
    minimum_ns: int
    mean_ns: float
    maximum_ns: int


def encode(latencies_ns: Iterable[int]) -> str | None:
    """Return the histogram of `latencies_ns` as text, or None if there are none."""
    histogram = _empty()
    for latency_ns, times in Counter(latencies_ns).items():
        histogram.record_value(min(max(latency_ns, LOWEST_NS), HIGHEST_NS), times)
    return _text(histogram)


def of_microseconds(encoded: str | None) -> str | None:
    """Return a histogram of whole microseconds as one of nanoseconds; what took less took 1 ns."""
    if encoded is None:
        return None
    coarse, histogram = _read(encoded), _empty()
    for index, count in _filled(coarse):
        latency_ns = int(coarse.get_value_from_index(index)) * 1000
        histogram.record_value(min(max(latency_ns, LOWEST_NS), HIGHEST_NS), count)
    return _text(histogram)


def merge(encoded: Iterable[str | None]) -> str | None:
    """Return one histogram of all latencies in `encoded`; what is None adds nothing."""
    return _text(_sum(encoded))


def merged_percentiles_ns(
    encoded: Iterable[str | None], percentiles: Iterable[float]
) -> dict[float, int] | None:
    """Return the percentiles of all latencies in `encoded`; None if there are none."""
    total = _sum(encoded)
    return _walk(total, sorted({*percentiles})) if total.get_total_count() else None


def merged_summary(
    encoded: Iterable[str | None], percentiles: Iterable[float]
) -> tuple[LatencySummary, dict[float, int]] | None:
    """Return both of all latencies in `encoded`; None if there are none."""
    total = _sum(encoded)
    if not total.get_total_count():
        return None
    return _summary(total), _walk(total, sorted({*percentiles}))


@overload
def percentiles_ns(encoded: str, percentiles: Iterable[float]) -> dict[float, int]: ...


@overload
def percentiles_ns(encoded: None, percentiles: Iterable[float]) -> None: ...


@overload
def percentiles_ns(
    encoded: str | None, percentiles: Iterable[float]
) -> dict[float, int] | None: ...


def percentiles_ns(encoded: str | None, percentiles: Iterable[float]) -> dict[float, int] | None:
    """Return percentile → the latency [ns] that this share of the frames did not exceed."""
    return None if encoded is None else merged_percentiles_ns([encoded], percentiles)


@overload
def summary(encoded: str) -> LatencySummary: ...


@overload
def summary(encoded: None) -> None: ...


@overload
def summary(encoded: str | None) -> LatencySummary | None: ...


def summary(encoded: str | None) -> LatencySummary | None:
    """Return count, least, mean and greatest latency."""
    return None if encoded is None else _summary(_read(encoded))


def _summary(histogram: Any) -> LatencySummary:
    return LatencySummary(
        count=int(histogram.get_total_count()),
        minimum_ns=int(histogram.get_min_value()),
        mean_ns=_mean_ns(histogram),
        maximum_ns=int(histogram.get_max_value()),
    )


def _filled(histogram: Any) -> Iterator[tuple[int, int]]:
    """Yield place and count of each range of latencies that there are.

    The library walks through every range there could be, which takes a fifth of a second.
    """
    counts = histogram.counts[:]
    for index in compress(range(len(counts)), counts):
        yield index, counts[index]


def _walk(histogram: Any, percentiles: Sequence[float]) -> dict[float, int]:
    """Return what each percentile is, the least one first, as HdrHistogram does."""
    found: dict[float, int] = {}
    left = [(histogram.get_target_count_at_percentile(one), one) for one in reversed(percentiles)]
    total = 0
    for index, count in _filled(histogram):
        total += count
        while left and total >= left[-1][0]:
            value = histogram.get_value_from_index(index)
            _, percentile = left.pop()
            found[percentile] = int(histogram.get_highest_equivalent_value(value))
            if not percentile:
                found[percentile] = int(value)
        if not left:
            break
    return found


def _mean_ns(histogram: Any) -> float:
    """Return the mean, each latency taken as the middle of its range, as HdrHistogram does."""
    total = 0
    for index, count in _filled(histogram):
        least = histogram.get_value_from_index(index)
        width = histogram.get_value_from_index(index + 1) - least
        total += count * (least + (width >> 1))
    counted = int(histogram.get_total_count())
    return float(total) / counted if counted else 0.0


def _sum(encoded: Iterable[str | None]) -> HdrHistogram:
    """Return one histogram of all latencies; the first one is what the others are added to."""
    total = None
    for text in encoded:
        if text is None:
            continue
        one = _read(text)
        if total is None:
            total = one
        else:
            total.add(one)
    return _empty() if total is None else total


def _empty() -> HdrHistogram:
    from hdrh.histogram import HdrHistogram

    return _freed_at_once(HdrHistogram(LOWEST_NS, HIGHEST_NS, SIGNIFICANT_DIGITS))


def _freed_at_once(histogram: HdrHistogram) -> HdrHistogram:
    """Return it so that its memory is free once nobody needs it.

    It and its encoder hold each other, and a quarter of a megabyte: a report of many cases would
    wait with hundreds of them for the garbage to be collected.
    """
    histogram.encoder.histogram = weakref.proxy(histogram)
    return histogram


def _text(histogram: Any) -> str | None:
    if not histogram.get_total_count():
        return None
    return str(histogram.encode().decode("ascii"))


def _read(encoded: str) -> HdrHistogram:
    from hdrh.codec import HdrCookieException, HdrLengthException
    from hdrh.histogram import HdrHistogram

    damage = (
        HdrCookieException,
        HdrLengthException,
        binascii.Error,
        zlib.error,
        ValueError,
        IndexError,
        OverflowError,
    )
    try:
        packed = base64.b64decode(encoded)[HEAD_BYTES:]
        unpacking = zlib.decompressobj()
        unpacking.decompress(packed, MOST_BYTES)
        if unpacking.unconsumed_tail:
            raise ValueError(f"it unpacks to more than {MOST_BYTES} bytes")
        return _freed_at_once(HdrHistogram.decode(encoded))
    except damage as error:
        raise StoreError(
            "a stored latency histogram cannot be read",
            why=f"it is no HdrHistogram V2 in base64 ({error or type(error).__name__})",
            fix="the record was damaged or written by hand; measure the case again",
        ) from error
