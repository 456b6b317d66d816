"""Shares as people read them in the reasons of answers."""

from __future__ import annotations

from fractions import Fraction


def percent(ratio: Fraction) -> str:
    """Write a ratio for people, with enough digits that a small one is not shown as zero."""
    return f"{float(ratio) * 100:.4g}%"
