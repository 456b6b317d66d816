"""Sizes of rings, as settings have them."""

from __future__ import annotations

from pydantic import AfterValidator


def _power_of_two(ring: int) -> int:
    if ring & (ring - 1):
        raise ValueError(f"{ring} is no power of two, such as 256, 512 or 1024")
    return ring


PowerOfTwo = AfterValidator(_power_of_two)
"""Refuses any other size: a slot is found by masking a count."""
