"""Numbers as people like to read them: a few digits and a prefix. Never parsed again."""

from __future__ import annotations

import math
import re
from fractions import Fraction

NO_MATTER = 0.05
"""A spread below this share of a time is not worth a word."""
FEW_NS = 10
"""Below it a part of a nanosecond matters, such as of the CPU time that a bit costs."""
SOME_S = 30
"""Up to here it does not matter how long somebody waits."""
DIGEST = re.compile(r"(?<![\w/.-])([0-9a-f]{12})[0-9a-f]{52}(?![\w/.-])")
"""A SHA-256 that is no part of a path, and the digits that tell two of them apart."""


def human_fps(fps: float) -> str:
    """Write a frame rate for people: four significant digits and a prefix."""
    return _human(fps, "fps")


def human_bps(bits: float) -> str:
    """Write a bit rate for people."""
    return _human(bits, "bit/s")


def _human(value: float, unit: str) -> str:
    scales: tuple[tuple[float, str], ...] = ((1e9, "G"), (1e6, "M"), (1e3, "k"))
    for factor, prefix in scales:
        if abs(value) >= factor:
            return f"{_digits(value / factor)} {prefix}{unit}"
    return f"{_digits(value)} {unit}"


def _digits(value: float) -> str:
    decimals = 3 if abs(value) < 10 else 2 if abs(value) < 100 else 1
    return f"{value:.{decimals}f}"


def human_bytes(count: float) -> str:
    """Write an amount of memory for people, in the binary unit that fits it."""
    for step, unit in ((2**30, "GiB"), (2**20, "MiB"), (2**10, "KiB")):
        if count >= step:
            return f"{_digits(count / step)} {unit}"
    return f"{count:.0f} B"


def human_byte_rate(per_second: float) -> str:
    """Write how fast bytes are moved for people."""
    return _human(per_second, "B/s")


def human_count(count: float) -> str:
    """Write a number of things for people: whole where it is, in groups of three digits."""
    if float(count).is_integer():
        return f"{count:,.0f}"
    return f"{count:,.1f}" if abs(count) >= 10 else f"{count:.3g}"


def counted(count: int, noun: str) -> str:
    """Write how many there are of what has a name, as people count: 1 trial, 1,200 trials."""
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def human_share(share: float | Fraction) -> str:
    """Write a share in percent; a small one is not shown as zero, nor nearly all of it as all."""
    return "0" if share == 0 else _unless_whole(share, f"{float(share) * 100:.4g}%")


def human_factor(factor: float) -> str:
    """Write how many times as much something is, with the digits that tell it from as much."""
    if not factor:
        return "0"
    texts = (f"{factor * 100:.{digits}g}%" for digits in range(4, 18))
    return next((text for text in texts if text != "100%" or factor == 1), "100%")


def rounded_share(share: float | Fraction, decimals: int = 0) -> str:
    """Write a share coarsely, with so many decimals; what is something is not shown as nothing."""
    text = f"{float(share):.{decimals}%}"
    if share > 0 and text == f"{0:.{decimals}%}":
        return "> 0%"
    return _unless_whole(share, text)


def _unless_whole(share: float | Fraction, text: str) -> str:
    """Return what is written of a share, unless rounding has made all of something out of it."""
    if share == 1 or float(text.removesuffix("%")) != 100:
        return text
    return "< 100%" if share < 1 else "> 100%"


def human_ns(ns: float) -> str:
    """Write a time for people in the unit that fits it; a difference may be below 0."""
    if ns < 0:
        return f"-{human_ns(-ns)}"
    scales: tuple[tuple[float, str], ...] = ((1e9, "s"), (1e6, "ms"), (1e3, "µs"))
    for factor, unit in scales:
        if ns >= factor:
            return f"{_digits(ns / factor)} {unit}"
    return f"{ns:.3g} ns" if ns < FEW_NS else f"{ns:.0f} ns"


def human_seconds(seconds: float) -> str:
    """Write a waiting time for people: 42 s, 3 min 20 s, 2 h 05 min."""
    whole = round(seconds)
    if whole < 60:
        return f"{seconds:.1f} s" if seconds < 10 else f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02d} s"
    return f"{whole // 3600} h {whole % 3600 // 60:02d} min"


def human_expected(seconds: float, spread_s: float, here_s: float | None = None) -> str:
    """Write a time that is expected, and how far off it may well be: 4 min 33 s ± 65 s.

    Time that passes in a model takes `here_s` on this machine, of which only the scale is known.
    """
    spread = f" ± {human_seconds(spread_s)}" if spread_s > seconds * NO_MATTER else ""
    text = f"{human_seconds(seconds)}{spread}"
    if here_s is None:
        return text
    minutes = math.ceil(here_s / 60)
    here = "some seconds" if here_s <= SOME_S else f"about {minutes} min"
    return f"{text} of simulated time, {here} here"


def human_digests(text: str) -> str:
    """Write the digests in a text for people: their first digits."""
    return DIGEST.sub(r"\1…", text)


def percent(ratio: Fraction) -> str:
    """Write a ratio for people like a share, and nothing as 0%."""
    return human_share(ratio) if ratio else "0%"
