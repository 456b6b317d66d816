"""The physical quantities of a benchmark, parsed once from human text and exact ever after.

Every quantity is an immutable value with one canonical integer or rational inside, so two ways of
writing the same thing (``1M`` and ``1000000``) are equal, hash alike and print alike. Rates stay
exact fractions until something really has to count frames.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from types import MappingProxyType
from typing import Any, ClassVar, Self

from vsperf.quantities.quantity import (
    DECIMAL,
    NUMBER,
    ONLY_ZERO,
    Quantity,
    UnitError,
    decimal_text,
    match,
    number_in,
    scaled,
    shown,
    whole,
)

FCS_BYTES = 4
"""Frame check sequence: part of a frame's size, made and checked by the port, so not in memory."""
WIRE_OVERHEAD_BYTES = 20
"""Preamble (7), start delimiter (1) and minimum inter-frame gap (12)."""
NANOSECONDS = 1_000_000_000
"""Of a second."""


@functools.total_ordering
@dataclass(frozen=True, slots=True)
class FrameSize(Quantity):
    """An Ethernet frame's size in bytes with its FCS, as every standard counts it, such as 64B."""

    EXAMPLES: ClassVar[tuple[str, ...]] = ("64B", "1518", "9018B")
    TEXT: ClassVar[str] = NUMBER + r"\s*(?:B|bytes?)?"
    MINIMUM: ClassVar[int] = 64
    MAXIMUM: ClassVar[int] = 9216
    OTHERS: ClassVar[Mapping[str, Any]] = {
        "type": ["integer"], "minimum": MINIMUM, "maximum": MAXIMUM,
    }  # fmt: skip

    bytes: int

    def __post_init__(self) -> None:
        if not self.MINIMUM <= self.bytes <= self.MAXIMUM:
            raise UnitError(
                f"a frame of {self.bytes} B (FCS included) is outside "
                f"{self.MINIMUM}B to {self.MAXIMUM}B"
            )

    @classmethod
    def _parse(cls, value: object) -> Self:
        found = match(cls.TEXT, value, "a frame size", cls.EXAMPLES)
        return cls(whole(number_in(found), "a frame size"))

    @property
    def mean(self) -> Fraction:
        """Bytes of a frame on average, from which rates follow."""
        return Fraction(self.bytes)

    @property
    def on_wire(self) -> Fraction:
        """Bytes of line time: the frame, its preamble and the gap behind it."""
        return self.mean + WIRE_OVERHEAD_BYTES

    def __lt__(self, other: FrameSize) -> bool:
        return self.bytes < other.bytes

    def __str__(self) -> str:
        return f"{self.bytes}B"


TIMES: Mapping[str, int] = MappingProxyType(
    {
        "h": 3600 * NANOSECONDS,
        "m": 60 * NANOSECONDS,
        "min": 60 * NANOSECONDS,
        "s": NANOSECONDS,
        "ms": 10**6,
        "us": 10**3,
        "µs": 10**3,
        "ns": 1,
    }
)
"""Units of time in nanoseconds."""
TIME = rf"([0-9]+(?:\.[0-9]+)?)\s*({'|'.join(sorted(TIMES, key=len, reverse=True))})"
SPAN = rf"(?:{TIME}\s*)+"


def _nanoseconds(span: str) -> Fraction:
    """Return what the parts of a time come to together."""
    parts = re.finditer(TIME, span)
    return sum((Fraction(part[1]) * TIMES[part[2]] for part in parts), Fraction(0))


@dataclass(frozen=True, slots=True, order=True)
class Duration(Quantity):
    """A span of time, exact to the nanosecond, such as 10s, 250ms or 1h30m."""

    EXAMPLES: ClassVar[tuple[str, ...]] = ("10s", "250ms", "1h30m")
    TEXT: ClassVar[str] = rf"0|{SPAN}"
    OTHERS: ClassVar[Mapping[str, Any]] = ONLY_ZERO

    ns: int

    def __post_init__(self) -> None:
        if self.ns < 0:
            raise UnitError("a duration cannot be negative")

    @classmethod
    def _parse(cls, value: object) -> Self:
        if isinstance(value, (int, float)) and not isinstance(value, bool) and value != 0:
            raise UnitError(f"{shown(value)} has no unit; did you mean {value}s?")
        found = match(cls.TEXT, value, "a duration", cls.EXAMPLES)
        return cls(whole(_nanoseconds(found[0]), "a duration in nanoseconds"))

    @property
    def seconds(self) -> float:
        """The duration in seconds, for arithmetic that needs no exactness."""
        return self.ns / NANOSECONDS

    def __str__(self) -> str:
        if self.ns == 0:
            return "0s"
        text, rest = "", self.ns
        for unit in ("h", "m", "s", "ms", "us", "ns"):
            count, rest = divmod(rest, TIMES[unit])
            text += f"{count}{unit}" if count else ""
        return text


@functools.total_ordering
@dataclass(frozen=True, slots=True)
class Count(Quantity):
    """A whole number of things, such as 4096, 8k or 16.8M."""

    EXAMPLES: ClassVar[tuple[str, ...]] = ("1", "4096", "8k", "1M", "16.8M")
    TEXT: ClassVar[str] = NUMBER + r"\s*(?P<scale>[kKMG]?)"
    LEAST: ClassVar[int] = 1
    OTHERS: ClassVar[Mapping[str, Any]] = {"type": ["integer"], "minimum": LEAST}

    value: int

    def __post_init__(self) -> None:
        if self.value < self.LEAST:
            raise UnitError(f"a count must be at least {self.LEAST}")

    @classmethod
    def _parse(cls, value: object) -> Self:
        found = match(cls.TEXT, value, "a count", cls.EXAMPLES)
        return cls(whole(number_in(found) * DECIMAL[found["scale"]], "a count"))

    def __int__(self) -> int:
        return self.value

    def __lt__(self, other: Count) -> bool:
        return self.value < other.value

    def __str__(self) -> str:
        return scaled(self.value, {"k": 10**3, "M": 10**6, "G": 10**9})


@dataclass(frozen=True, slots=True, order=True)
class LinkSpeed(Quantity):
    """A link's bit rate, such as 10G or 25Gbit/s."""

    EXAMPLES: ClassVar[tuple[str, ...]] = ("10G", "25Gbit/s", "100Gbps")
    TEXT: ClassVar[str] = (
        NUMBER + r"\s*(?:(?P<scale>[kKMGT])(?:b|bps|bit/s|bits/s)?|(?:bps|bit/s|bits/s))"
    )

    bps: int

    def __post_init__(self) -> None:
        if self.bps <= 0:
            raise UnitError("a link speed must be above zero")

    @classmethod
    def _parse(cls, value: object) -> Self:
        found = match(cls.TEXT, value, "a link speed", cls.EXAMPLES)
        return cls(whole(number_in(found) * DECIMAL[found["scale"] or ""], "a link speed"))

    def frames_per_second(self, size: FrameSize) -> Fraction:
        """Return the theoretical frame rate of one direction, as an exact fraction."""
        return self.bps / (8 * size.on_wire)

    def __str__(self) -> str:
        return scaled(self.bps, {"k": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}) + "bit/s"


@dataclass(frozen=True, slots=True, order=True)
class Ratio(Quantity):
    """A share between 0 and 1, such as 0.5%, 1e-5 or 0."""

    EXAMPLES: ClassVar[tuple[str, ...]] = ("0", "0.5%", "0.001", "1e-5")
    TEXT: ClassVar[str] = NUMBER + r"\s*(?P<percent>%?)"
    OTHERS: ClassVar[Mapping[str, Any]] = {"type": ["number"], "minimum": 0, "maximum": 1}

    value: Fraction

    def __post_init__(self) -> None:
        if not 0 <= self.value <= 1:
            raise UnitError(f"a ratio lies between 0 and 1 (0% and 100%), {self} does not")

    @classmethod
    def _parse(cls, value: object) -> Self:
        found = match(cls.TEXT, value, "a ratio", cls.EXAMPLES)
        return cls(number_in(found) / (100 if found["percent"] else 1))

    def __float__(self) -> float:
        return float(self.value)

    def __str__(self) -> str:
        return "0" if not self.value else decimal_text(self.value * 100) + "%"


@dataclass(frozen=True, slots=True)
class Rate(Quantity):
    """An offered load per direction: frames (14.88Mpps), line share (40%) or bits (5Gbit/s L2).

    Bits are ambiguous without a layer: L1 counts preamble and gap, L2 counts the frame alone; so
    a bit rate always says which.
    """

    EXAMPLES: ClassVar[tuple[str, ...]] = ("14.88Mpps", "9001fps", "40%", "5Gbit/s L2")
    NO_LAYER: ClassVar[str] = r"(?:bps|bit/s|bits/s)[\s_]*"
    TEXT: ClassVar[str] = NUMBER + (
        r"\s*(?:(?P<percent>%)"
        rf"|(?P<scale>[kKMG]?)(?P<what>fps|pps|{NO_LAYER}(?P<layer>[lL][12])))"
    )

    number: Fraction
    unit: str
    """One of ``fps``, ``%``, ``bps_l1``, ``bps_l2``."""

    @classmethod
    def _parse(cls, value: object) -> Self:
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            raise UnitError(f"{shown(value)} has no unit; write {value}fps, {value}% or the like")
        text = str(value).strip()
        if len(text) <= 64 and re.fullmatch(rf"{NUMBER}\s*[kKMG]?{cls.NO_LAYER}", text):
            raise UnitError(
                f"{text!r} does not say which bits it counts; write '{text} L1' (with preamble "
                f"and gap) or '{text} L2' (frames only)"
            )
        found = match(cls.TEXT, value, "a rate", cls.EXAMPLES)
        number = number_in(found)
        if found["percent"]:
            if number > 100:
                raise UnitError("a load above 100% of the line rate cannot be offered")
            return cls(number, "%")
        number *= DECIMAL[found["scale"]]
        if found["what"] in ("fps", "pps"):
            return cls(number, "fps")
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
                return self.number / (8 * size.mean)

    def __str__(self) -> str:
        if self.unit == "%":
            return decimal_text(self.number) + "%"
        for suffix in ("G", "M", "k"):
            scaled = self.number / DECIMAL[suffix]
            if scaled >= 1 and Fraction(decimal_text(scaled)) == scaled:
                return decimal_text(scaled) + suffix + self._suffix
        return decimal_text(self.number) + self._suffix

    @property
    def _suffix(self) -> str:
        return {"fps": "fps", "bps_l1": "bit/s L1", "bps_l2": "bit/s L2"}[self.unit]


@dataclass(frozen=True, slots=True)
class MeasuredCount(Count):
    """What was counted in the end: it may be none, such as the frames lost."""

    LEAST: ClassVar[int] = 0
    OTHERS: ClassVar[Mapping[str, Any]] = {"type": ["integer"], "minimum": LEAST}


@dataclass(frozen=True, slots=True, order=True)
class MeasuredTime(Quantity):
    """A time that was found, such as 20us, 0.4ns for each bit, or -3ms of a difference."""

    EXAMPLES: ClassVar[tuple[str, ...]] = ("20us", "0.4ns", "-3ms")
    TEXT: ClassVar[str] = rf"0|(?P<sign>-?){SPAN}"
    OTHERS: ClassVar[Mapping[str, Any]] = ONLY_ZERO

    ns: Fraction

    @classmethod
    def _parse(cls, value: object) -> Self:
        if isinstance(value, (int, float)) and not isinstance(value, bool) and value != 0:
            raise UnitError(f"{shown(value)} has no unit; did you mean {value}s?")
        found = match(cls.TEXT, value, "a duration", cls.EXAMPLES)
        span = _nanoseconds(found[0])
        return cls(-span if found["sign"] else span)

    def __float__(self) -> float:
        return float(self.ns)

    def __str__(self) -> str:
        return f"{decimal_text(self.ns)}ns"


@dataclass(frozen=True, slots=True)
class CpuSet(Quantity):
    """A set of CPU numbers, such as 2,4-7 or the mask 0xf4."""

    EXAMPLES: ClassVar[tuple[str, ...]] = ("2", "2,4-7", "0xf4")
    MASK: ClassVar[str] = "0x[0-9a-fA-F]+"
    PART: ClassVar[str] = r"[0-9]{1,5}(?:\s*-\s*[0-9]{1,5})?"
    TEXT: ClassVar[str] = rf"{MASK}|{PART}(?:\s*,\s*{PART})*"
    LIMIT: ClassVar[int] = 8192
    # To most readers of YAML a mask is a number, so a number by itself may be as large as one.
    OTHERS: ClassVar[Mapping[str, Any]] = {
        "type": ["integer", "array"],
        "minimum": 0,
        "items": {"type": "integer", "minimum": 0, "maximum": LIMIT - 1},
        "minItems": 1,
    }

    cpus: tuple[int, ...]

    @classmethod
    def _parse(cls, value: object) -> Self:
        if isinstance(value, (list, tuple)):
            if not all(isinstance(cpu, int) and not isinstance(cpu, bool) for cpu in value):
                raise UnitError("a list of CPUs holds CPU numbers only")
            return cls.of(value)
        text = str(value).strip()
        if len(text) <= 2048 and re.fullmatch(cls.MASK, text):
            mask = int(text, 16)
            return cls.of(cpu for cpu in range(mask.bit_length()) if mask >> cpu & 1)
        ok = not isinstance(value, (bool, float, dict)) and len(text) <= 4096
        if not ok or not re.fullmatch(cls.TEXT, text):
            wanted = ", ".join(cls.EXAMPLES)
            raise UnitError(f"{shown(value)} is not a CPU set; one is written like {wanted}")
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
