"""The physical quantities of a benchmark, parsed once from human text and exact ever after.

Every quantity is an immutable value with one canonical integer or rational inside, so two ways of
writing the same thing (``1M`` and ``1000000``) are equal, hash alike and print alike. Rates stay
exact fractions until something really has to count frames.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation, localcontext
from fractions import Fraction
from typing import Any, ClassVar, Self

FCS_BYTES = 4
"""Frame check sequence: part of a frame's size, but not of its buffer in memory."""
WIRE_OVERHEAD_BYTES = 20
"""Preamble (7), start delimiter (1) and minimum inter-frame gap (12)."""
NANOSECONDS = 1_000_000_000

_NUMBER = r"(?P<number>\d+(?:_\d+)*(?:\.\d+)?(?:[eE][+-]?\d+)?)"
_DECIMAL = {"": 1, "k": 10**3, "K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}


class UnitError(ValueError):
    """A text that is no such quantity; the message says what would be one."""


class Quantity:
    """What the quantities share: pydantic reads them from text or number, and writes text."""

    EXAMPLES: ClassVar[tuple[str, ...]] = ()

    @classmethod
    def parse(cls, value: object) -> Self:
        """Return the quantity that `value` (text, number or already a quantity) means."""
        raise NotImplementedError

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: Any) -> Any:
        """Validate by `parse`, serialise by `str`."""
        from pydantic_core import core_schema

        return core_schema.no_info_plain_validator_function(
            cls.parse,
            serialization=core_schema.to_string_ser_schema(),
        )

    @classmethod
    def __get_pydantic_json_schema__(cls, schema: Any, handler: Any) -> dict[str, Any]:
        """Describe the quantity to JSON Schema by its examples."""
        summary = (cls.__doc__ or "").strip().splitlines()[0]
        return {"type": ["string", "number"], "description": summary, "examples": [*cls.EXAMPLES]}


def _match(pattern: str, value: object, what: str, examples: Iterable[str]) -> re.Match[str]:
    wanted = f"{what} is written like {', '.join(examples)}"
    if isinstance(value, bool) or not isinstance(value, (str, int, float, Decimal)):
        raise UnitError(f"{_shown(value)} is not {what}; {wanted}")
    text = str(value).strip()
    found = re.fullmatch(pattern, text) if len(text) <= 64 else None
    if found is None:
        raise UnitError(f"{_shown(value)} is not {what}; {wanted}")
    return found


def _shown(value: object) -> str:
    """Quote a rejected value, shortened: it may be megabytes of junk."""
    if value is None:
        return "an empty value"
    if isinstance(value, dict):
        return "a mapping"
    if isinstance(value, list):
        return "a list"
    text = repr(value)
    return text if len(text) <= 40 else text[:37] + "..."


def _number(found: re.Match[str]) -> Fraction:
    try:
        decimal = Decimal(found["number"].replace("_", ""))
    except InvalidOperation as error:  # pragma: no cover - the pattern admits only decimals
        raise UnitError(f"{found['number']!r} is not a number") from error
    if abs(decimal.adjusted()) > 30:
        raise UnitError(f"{found['number']} is far outside any real quantity")
    return Fraction(decimal)


def _whole(value: Fraction, what: str) -> int:
    if value.denominator != 1:
        raise UnitError(f"{what} must be a whole number, {float(value):g} is not")
    return value.numerator


def _scaled(value: int, steps: dict[str, int]) -> str:
    """Write `value` with the largest suffix that keeps it exact."""
    for suffix, factor in sorted(steps.items(), key=lambda item: -item[1]):
        if value and value % factor == 0:
            return f"{value // factor}{suffix}"
    return str(value)


@functools.total_ordering
@dataclass(frozen=True, slots=True)
class FrameSize(Quantity):
    """An Ethernet frame's size in bytes with its FCS, as every standard counts it, such as 64B."""

    EXAMPLES: ClassVar[tuple[str, ...]] = ("64B", "1518", "9018B")
    MINIMUM: ClassVar[int] = 64
    MAXIMUM: ClassVar[int] = 9216

    bytes: int

    def __post_init__(self) -> None:
        if not self.MINIMUM <= self.bytes <= self.MAXIMUM:
            raise UnitError(
                f"a frame of {self.bytes} B (FCS included) is outside "
                f"{self.MINIMUM}B to {self.MAXIMUM}B"
            )

    @classmethod
    def parse(cls, value: object) -> Self:
        if isinstance(value, cls):
            return value
        found = _match(_NUMBER + r"\s*(?:B|bytes?)?", value, "a frame size", cls.EXAMPLES)
        return cls(_whole(_number(found), "a frame size"))

    @property
    def in_memory(self) -> int:
        """Bytes in a packet buffer: the FCS is made and checked by the port."""
        return self.bytes - FCS_BYTES

    @property
    def on_wire(self) -> int:
        """Bytes of line time: the frame, its preamble and the gap behind it."""
        return self.bytes + WIRE_OVERHEAD_BYTES

    def __lt__(self, other: FrameSize) -> bool:
        return self.bytes < other.bytes

    def __str__(self) -> str:
        return f"{self.bytes}B"


@functools.total_ordering
@dataclass(frozen=True, slots=True)
class Duration(Quantity):
    """A span of time, exact to the nanosecond, such as 10s, 250ms or 1h30m."""

    EXAMPLES: ClassVar[tuple[str, ...]] = ("10s", "250ms", "1h30m")
    UNITS: ClassVar[dict[str, int]] = {
        "h": 3600 * NANOSECONDS,
        "m": 60 * NANOSECONDS,
        "min": 60 * NANOSECONDS,
        "s": NANOSECONDS,
        "ms": 10**6,
        "us": 10**3,
        "µs": 10**3,
        "ns": 1,
    }

    ns: int

    def __post_init__(self) -> None:
        if self.ns < 0:
            raise UnitError("a duration cannot be negative")

    @classmethod
    def parse(cls, value: object) -> Self:
        if isinstance(value, cls):
            return value
        if isinstance(value, (int, float)) and not isinstance(value, bool) and value != 0:
            raise UnitError(f"{_shown(value)} has no unit; did you mean {value}s?")
        number = r"\d+(?:\.\d+)?"
        unit = "|".join(sorted(cls.UNITS, key=len, reverse=True))
        pattern = rf"0|(?:{number}\s*(?:{unit})\s*)+"
        found = _match(pattern, value, "a duration", cls.EXAMPLES)
        total = Fraction(0)
        for part in re.finditer(rf"({number})\s*({unit})", found[0]):
            total += Fraction(part[1]) * cls.UNITS[part[2]]
        return cls(_whole(total, "a duration in nanoseconds"))

    @classmethod
    def of_seconds(cls, seconds: float) -> Self:
        """Return the duration of `seconds`, rounded to the nanosecond."""
        return cls(round(seconds * NANOSECONDS))

    @property
    def seconds(self) -> float:
        """The duration in seconds, for arithmetic that needs no exactness."""
        return self.ns / NANOSECONDS

    def __lt__(self, other: Duration) -> bool:
        return self.ns < other.ns

    def __str__(self) -> str:
        if self.ns == 0:
            return "0s"
        text, rest = "", self.ns
        for unit in ("h", "m", "s", "ms", "us", "ns"):
            count, rest = divmod(rest, self.UNITS[unit])
            text += f"{count}{unit}" if count else ""
        return text


@functools.total_ordering
@dataclass(frozen=True, slots=True)
class Count(Quantity):
    """A whole number of things, such as 4096, 8k or 16.8M."""

    EXAMPLES: ClassVar[tuple[str, ...]] = ("1", "4096", "8k", "1M", "16.8M")

    value: int

    def __post_init__(self) -> None:
        if self.value < 1:
            raise UnitError("a count must be at least 1")

    @classmethod
    def parse(cls, value: object) -> Self:
        if isinstance(value, cls):
            return value
        found = _match(_NUMBER + r"\s*(?P<scale>[kKMG]?)", value, "a count", cls.EXAMPLES)
        return cls(_whole(_number(found) * _DECIMAL[found["scale"]], "a count"))

    def __int__(self) -> int:
        return self.value

    def __lt__(self, other: Count) -> bool:
        return self.value < other.value

    def __str__(self) -> str:
        return _scaled(self.value, {"k": 10**3, "M": 10**6, "G": 10**9})


@functools.total_ordering
@dataclass(frozen=True, slots=True)
class LinkSpeed(Quantity):
    """A link's bit rate, such as 10G or 25Gbit/s."""

    EXAMPLES: ClassVar[tuple[str, ...]] = ("10G", "25Gbit/s", "100Gbps")

    bps: int

    def __post_init__(self) -> None:
        if self.bps <= 0:
            raise UnitError("a link speed must be above zero")

    @classmethod
    def parse(cls, value: object) -> Self:
        if isinstance(value, cls):
            return value
        unit = r"\s*(?:(?P<scale>[kKMGT])(?:b|bps|bit/s|bits/s)?|(?:bps|bit/s|bits/s))"
        found = _match(_NUMBER + unit, value, "a link speed", cls.EXAMPLES)
        return cls(_whole(_number(found) * _DECIMAL[found["scale"] or ""], "a link speed"))

    def frames_per_second(self, size: FrameSize) -> Fraction:
        """Return the theoretical frame rate of one direction, as an exact fraction."""
        return Fraction(self.bps, 8 * size.on_wire)

    def __lt__(self, other: LinkSpeed) -> bool:
        return self.bps < other.bps

    def __str__(self) -> str:
        return _scaled(self.bps, {"k": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}) + "bit/s"


@functools.total_ordering
@dataclass(frozen=True, slots=True)
class Ratio(Quantity):
    """A share between 0 and 1, such as 0.5%, 1e-5 or 0."""

    EXAMPLES: ClassVar[tuple[str, ...]] = ("0", "0.5%", "0.001", "1e-5")

    value: Fraction

    def __post_init__(self) -> None:
        if not 0 <= self.value <= 1:
            raise UnitError(f"a ratio lies between 0 and 1 (0% and 100%), {self} does not")

    @classmethod
    def parse(cls, value: object) -> Self:
        if isinstance(value, cls):
            return value
        found = _match(_NUMBER + r"\s*(?P<percent>%?)", value, "a ratio", cls.EXAMPLES)
        return cls(_number(found) / (100 if found["percent"] else 1))

    def __float__(self) -> float:
        return float(self.value)

    def __lt__(self, other: Ratio) -> bool:
        return self.value < other.value

    def __str__(self) -> str:
        return "0" if not self.value else _decimal_text(self.value * 100) + "%"


@dataclass(frozen=True, slots=True)
class Rate(Quantity):
    """An offered load per direction: frames (14.88Mpps), line share (40%) or bits (5Gbit/s L2).

    Bits are ambiguous without a layer: L1 counts preamble and gap, L2 counts the frame alone; so
    a bit rate always says which.
    """

    EXAMPLES: ClassVar[tuple[str, ...]] = ("14.88Mpps", "9001fps", "40%", "5Gbit/s L2")

    number: Fraction
    unit: str
    """One of ``fps``, ``%``, ``bps_l1``, ``bps_l2``."""

    @classmethod
    def parse(cls, value: object) -> Self:
        if isinstance(value, cls):
            return value
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            raise UnitError(f"{_shown(value)} has no unit; write {value}fps, {value}% or the like")
        unit = (
            r"\s*(?:(?P<percent>%)"
            r"|(?P<scale>[kKMG]?)(?P<what>fps|pps|(?:bps|bit/s|bits/s)[\s_]*(?P<layer>[lL][12])?))"
        )
        found = _match(_NUMBER + unit, value, "a rate", cls.EXAMPLES)
        number = _number(found)
        if found["percent"]:
            if number > 100:
                raise UnitError("a load above 100% of the line rate cannot be offered")
            return cls(number, "%")
        number *= _DECIMAL[found["scale"]]
        if found["what"] in ("fps", "pps"):
            return cls(number, "fps")
        if found["layer"] is None:
            text = str(value).strip()
            raise UnitError(
                f"{text!r} does not say which bits it counts; write '{text} L1' (with preamble "
                f"and gap) or '{text} L2' (frames only)"
            )
        return cls(number, f"bps_{found['layer'].lower()}")

    def frames_per_second(self, size: FrameSize, link: LinkSpeed) -> Fraction:
        """Return the rate in frames per second and direction for frames of `size` on `link`."""
        match self.unit:
            case "fps":
                return self.number
            case "%":
                return self.number / 100 * link.frames_per_second(size)
            case "bps_l1":
                return self.number / (8 * size.on_wire)
            case _:
                return self.number / (8 * size.bytes)

    def __str__(self) -> str:
        if self.unit == "%":
            return _decimal_text(self.number) + "%"
        for suffix in ("G", "M", "k"):
            scaled = self.number / _DECIMAL[suffix]
            if scaled >= 1 and Fraction(_decimal_text(scaled)) == scaled:
                return _decimal_text(scaled) + suffix + self._suffix
        return _decimal_text(self.number) + self._suffix

    @property
    def _suffix(self) -> str:
        return {"fps": "fps", "bps_l1": "bit/s L1", "bps_l2": "bit/s L2"}[self.unit]


@dataclass(frozen=True, slots=True)
class CpuSet(Quantity):
    """A set of CPU numbers, such as 2,4-7 or the mask 0xf4."""

    EXAMPLES: ClassVar[tuple[str, ...]] = ("2", "2,4-7", "0xf4")
    LIMIT: ClassVar[int] = 8192

    cpus: tuple[int, ...]

    @classmethod
    def parse(cls, value: object) -> Self:
        if isinstance(value, cls):
            return value
        if isinstance(value, (list, tuple)):
            if not all(isinstance(cpu, int) and not isinstance(cpu, bool) for cpu in value):
                raise UnitError("a list of CPUs holds CPU numbers only")
            return cls.of(value)
        text = str(value).strip()
        if len(text) <= 2048 and re.fullmatch(r"0x[0-9a-fA-F]+", text):
            mask = int(text, 16)
            return cls.of(cpu for cpu in range(mask.bit_length()) if mask >> cpu & 1)
        part = r"\d{1,5}(?:\s*-\s*\d{1,5})?"
        ok = not isinstance(value, (bool, float, dict)) and len(text) <= 4096
        if not ok or not re.fullmatch(rf"{part}(?:\s*,\s*{part})*", text):
            wanted = ", ".join(cls.EXAMPLES)
            raise UnitError(f"{_shown(value)} is not a CPU set; one is written like {wanted}")
        return cls.of(cpu for piece in text.split(",") for cpu in cls._span(piece))

    @classmethod
    def of(cls, cpus: Iterable[int]) -> Self:
        """Return the set of `cpus`, sorted and without repetition."""
        numbers = tuple(sorted(set(cpus)))
        if not numbers:
            raise UnitError("a CPU set holds at least one CPU")
        if not 0 <= numbers[0] <= numbers[-1] < cls.LIMIT:
            raise UnitError(f"CPU numbers lie between 0 and {cls.LIMIT - 1}")
        return cls(numbers)

    @staticmethod
    def _span(piece: str) -> range:
        first, _, last = piece.partition("-")
        low, high = int(first), int(last or first)
        if high < low:
            raise UnitError(f"the CPU range {piece.strip()} runs backwards")
        return range(low, high + 1)

    @property
    def mask(self) -> str:
        """The set as a hexadecimal mask, as OVS and taskset take it."""
        return hex(sum(1 << cpu for cpu in self.cpus))

    def __iter__(self) -> Iterator[int]:
        return iter(self.cpus)

    def __len__(self) -> int:
        return len(self.cpus)

    def __contains__(self, cpu: object) -> bool:
        return cpu in self.cpus

    def __str__(self) -> str:
        pieces: list[str] = []
        start = previous = None
        for cpu in (*self.cpus, None):
            if previous is not None and cpu != previous + 1:
                pieces.append(str(start) if start == previous else f"{start}-{previous}")
                start = cpu
            elif previous is None:
                start = cpu
            previous = cpu
        return ",".join(pieces)


def _decimal_text(value: Fraction) -> str:
    """Write a fraction as a decimal: exact where it has one, to 12 digits where it has none."""
    denominator = value.denominator
    for prime in (2, 5):
        while denominator % prime == 0:
            denominator //= prime
    if denominator != 1:
        return f"{float(value):.12g}"
    with localcontext(prec=100):  # the default of 28 digits would round
        text = f"{Decimal(value.numerator) / Decimal(value.denominator):f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def human_fps(fps: float) -> str:
    """Write a frame rate for people: four significant digits and a prefix."""
    return _human(fps, "fps")


def human_bps(bps: float) -> str:
    """Write a bit rate for people: four significant digits and a prefix."""
    return _human(bps, "bit/s")


def _human(value: float, unit: str) -> str:
    scales: tuple[tuple[float, str], ...] = ((1e9, "G"), (1e6, "M"), (1e3, "k"))
    for factor, prefix in scales:
        if abs(value) >= factor:
            return f"{_digits(value / factor)} {prefix}{unit}"
    return f"{_digits(value)} {unit}"


def _digits(value: float) -> str:
    decimals = 3 if abs(value) < 10 else 2 if abs(value) < 100 else 1
    return f"{value:.{decimals}f}"


def human_ns(ns: float) -> str:
    """Write a latency for people in the unit that fits it."""
    scales: tuple[tuple[float, str], ...] = ((1e9, "s"), (1e6, "ms"), (1e3, "µs"))
    for factor, unit in scales:
        if ns >= factor:
            return f"{_digits(ns / factor)} {unit}"
    return f"{ns:.0f} ns"


def human_seconds(seconds: float) -> str:
    """Write a waiting time for people: 42 s, 3 min 20 s, 2 h 05 min."""
    whole = round(seconds)
    if whole < 60:
        return f"{seconds:.1f} s" if seconds < 10 else f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02d} s"
    return f"{whole // 3600} h {whole % 3600 // 60:02d} min"
