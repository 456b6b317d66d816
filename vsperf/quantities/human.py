"""Numbers as people like to read them: a few digits and a prefix. Never parsed again."""

from __future__ import annotations

import enum
import math
import re
from collections.abc import Callable, Iterable
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction

NO_MATTER = 0.05
"""A spread below this share of a time is not worth a word."""
FEW_NS = 10
"""Below it a part of a nanosecond matters, such as of the CPU time that a bit costs."""
SOME_S = 30
"""Up to here it does not matter how long somebody waits."""
NOBODY_KNOWS = "unknown"
"""What stands where neither end of an interval is known."""
DIGEST = re.compile(r"(?<![\w/.-])([0-9a-f]{12})[0-9a-f]{52}(?![\w/.-])")
"""A SHA-256 that is no part of a path, and the digits that tell two of them apart."""


class End(enum.Enum):
    """Which end of an interval a number is.

    It is rounded away from what it bounds, so that what is printed is still true: of a rate of
    4,528,985 it can be said that it is at least 4.528 M, and not that it is at least 4.529 M.
    """

    LOWER = "lower"
    """At least so much: rounded down."""
    UPPER = "upper"
    """At most so much: rounded up."""

    @property
    def opposite(self) -> End:
        """What an end of numbers is of the same numbers below 0."""
        return End.UPPER if self is End.LOWER else End.LOWER


Written = Callable[[float, End | None], str]
"""How a number is written, if it is an end of an interval likewise."""


def human_interval(lower: float | None, upper: float | None, written: Written) -> str:
    """Write between which two numbers something lies, as far as both are known."""
    if lower is None:
        return NOBODY_KNOWS if upper is None else f"≤ {written(upper, End.UPPER)}"
    first = written(lower, End.LOWER)
    if upper is None:
        return f"≥ {first}"
    last = written(upper, End.UPPER)
    number, _, unit = first.partition(" ")
    return f"{number if last.endswith(f' {unit}') else first} … {last}"


def human_span(values: Iterable[float], written: Written) -> str:
    """Write from which to which of them what was found several times reaches, or the one value."""
    found = sorted(values)
    if found[0] == found[-1]:
        return written(found[0], None)
    ends = (written(found[0], End.LOWER), written(found[-1], End.UPPER))
    return " to ".join(dict.fromkeys(ends))


def _exact(value: float | Fraction) -> Fraction:
    """Return a number as it is meant: what computations add behind 13 digits is their own."""
    return Fraction(f"{value:.13g}") if isinstance(value, float) else Fraction(value)


def outward(value: float | Fraction, decimals: int, end: End) -> Fraction:
    """Round an end of an interval to so many decimals, away from what it bounds."""
    raised = _exact(value) * 10**decimals
    whole = math.floor(raised) if end is End.LOWER else math.ceil(raised)
    return Fraction(whole, 10**decimals)


def _fixed(value: float | Fraction, decimals: int, end: End | None) -> float:
    return float(value if end is None else outward(value, decimals, end))


def significant(value: float | Fraction, digits: int, end: End | None) -> float:
    """Round a number to so many digits, an end of an interval away from what it bounds."""
    if end is None:
        return float(value)
    exact, rounding = _exact(value), ROUND_FLOOR if end is End.LOWER else ROUND_CEILING
    context = Context(prec=digits, rounding=rounding)
    # The integers of a fraction are not rounded, the quotient alone is.
    return float(context.divide(Decimal(exact.numerator), Decimal(exact.denominator)))


def human_fps(fps: float, end: End | None = None) -> str:
    """Write a frame rate for people: four significant digits and a prefix."""
    return _human(fps, "fps", end)


def human_bps(bits: float, end: End | None = None) -> str:
    """Write a bit rate for people."""
    return _human(bits, "bit/s", end)


def _human(value: float, unit: str, end: End | None = None) -> str:
    scales: tuple[tuple[int, str], ...] = ((10**9, "G"), (10**6, "M"), (10**3, "k"))
    for factor, prefix in scales:
        if abs(value) >= factor:
            return f"{_digits(value, factor, end)} {prefix}{unit}"
    return f"{_digits(value, 1, end)} {unit}"


def _digits(value: float, factor: int, end: End | None) -> str:
    shown: float | Fraction = value / factor if end is None else _exact(value) / factor
    size = abs(float(shown))
    decimals = 3 if size < 10 else 2 if size < 100 else 1
    return f"{_fixed(shown, decimals, end):.{decimals}f}"


def human_bytes(count: float, end: End | None = None) -> str:
    """Write an amount of memory for people, in the binary unit that fits it."""
    if count < 0:
        return f"-{human_bytes(-count, end and end.opposite)}"
    for step, unit in ((2**30, "GiB"), (2**20, "MiB"), (2**10, "KiB")):
        if count >= step:
            return f"{_digits(count, step, end)} {unit}"
    return f"{_fixed(count, 0, end):.0f} B"


def human_byte_rate(per_second: float) -> str:
    """Write how fast bytes are moved for people."""
    return _human(per_second, "B/s")


def human_count(count: float, end: End | None = None) -> str:
    """Write a number of things for people: whole where it is, in groups of three digits."""
    if float(count).is_integer():
        return f"{count:,.0f}"
    if abs(count) >= 10:
        return f"{_fixed(count, 1, end):,.1f}"
    return f"{significant(count, 3, end):.3g}"


def counted(count: int, noun: str) -> str:
    """Write how many there are of what has a name, as people count: 1 trial, 1,200 trials."""
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def human_share(share: float | Fraction, end: End | None = None) -> str:
    """Write a share in percent; a small one is not shown as zero, nor nearly all of it as all.

    An end of an interval is rounded instead: at most 100% is true of what is nearly all.
    """
    if share == 0:
        return "0"
    if end is not None:
        return f"{significant(_exact(share) * 100, 4, end):.4g}%"
    return _unless_whole(share, f"{float(share) * 100:.4g}%")


def above_text(ratio: float) -> str:
    """Write from which loss ratio on one is unlikely."""
    return f"{significant(ratio, 2, End.UPPER):.1e}"


def human_factor(factor: float, end: End | None = None) -> str:
    """Write how many times as much something is, with the digits that tell it from as much."""
    if not factor:
        return "0"
    hundredfold: float | Fraction = factor * 100 if end is None else _exact(factor) * 100
    texts = (f"{significant(hundredfold, digits, end):.{digits}g}%" for digits in range(4, 18))
    return next((text for text in texts if text != "100%" or factor == 1), "100%")


def human_change(share: float, decimals: int, end: End | None = None) -> str:
    """Write by which share something is another one, with its sign: -7.5%, +0.25%."""
    return f"{_fixed(share, decimals + 2, end):+.{decimals}%}"


def rounded_share(share: float | Fraction, decimals: int = 0, end: End | None = None) -> str:
    """Write a share coarsely, with so many decimals; what is something is not shown as nothing."""
    text = f"{_fixed(share, decimals + 2, end):.{decimals}%}"
    if share > 0 and text == f"{0:.{decimals}%}":
        return "> 0%"
    return text if end is not None else _unless_whole(share, text)


def _unless_whole(share: float | Fraction, text: str) -> str:
    """Return what is written of a share, unless rounding has made all of something out of it."""
    if share == 1 or float(text.removesuffix("%")) != 100:
        return text
    return "< 100%" if share < 1 else "> 100%"


def human_ns(ns: float, end: End | None = None) -> str:
    """Write a time for people in the unit that fits it; a difference may be below 0."""
    if ns < 0:
        return f"-{human_ns(-ns, end and end.opposite)}"
    scales: tuple[tuple[int, str], ...] = ((10**9, "s"), (10**6, "ms"), (10**3, "µs"))
    for factor, unit in scales:
        if ns >= factor:
            return f"{_digits(ns, factor, end)} {unit}"
    if ns < FEW_NS:
        return f"{significant(ns, 3, end):.3g} ns"
    return f"{_fixed(ns, 0, end):.0f} ns"


def human_seconds(seconds: float, end: End | None = None) -> str:
    """Write a waiting time for people: 42 s, 3 min 20 s, 2 h 05 min."""
    whole = round(_fixed(seconds, 0, end))
    if whole < 60:
        return f"{_fixed(seconds, 1, end):.1f} s" if seconds < 10 else f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02d} s"
    minutes = round(_fixed(Fraction(whole, 60), 0, end or End.LOWER))
    return f"{minutes // 60} h {minutes % 60:02d} min"


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


def percent(ratio: Fraction, end: End | None = None) -> str:
    """Write a ratio for people like a share, and nothing as 0%."""
    return human_share(ratio, end) if ratio else "0%"
