"""What series say of each trial: how much counters grew in it, and how gauges stood. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from vsperf.records.series import Nature, Sample, SeriesHeader, Value

NS = 1e9


@dataclass(slots=True)
class Course:
    """One quantity of one thing within one trial; samples are not kept."""

    nature: Nature
    first: Value
    first_ns: int
    last: Value
    last_ns: int
    least: Value
    most: Value

    @property
    def value(self) -> Value | None:
        """What it came to: growth of a counter, the last of a gauge, the sum of totals.

        None of a counter that was seen once, or that was reset.
        """
        if self.nature is not Nature.COUNTER:
            return self.last
        grown = self.last - self.first
        return grown if self.last_ns > self.first_ns and grown >= 0 else None

    @property
    def per_second(self) -> float | None:
        """How fast a counter grew; None where that is not known."""
        span_ns, grown = self.last_ns - self.first_ns, self.value
        return None if grown is None or not span_ns else grown * NS / span_ns


Key = tuple[int, str, str]
"""Trial, what it is about, name of the quantity."""


@dataclass(slots=True)
class Digest:
    """What one collector saw, trial by trial; as much as trials, not as samples."""

    header: SeriesHeader
    courses: dict[Key, Course] = field(default_factory=dict)

    def value(self, trial: int, of: str, name: str) -> Value | None:
        """Return what a quantity came to in a trial; None where nobody knows."""
        found = self.courses.get((trial, of, name))
        return None if found is None else found.value

    def of_trial(self, trial: int) -> Mapping[str, Mapping[str, Course]]:
        """Return what was seen in a trial, by what it is about and by name."""
        found: dict[str, dict[str, Course]] = {}
        for (number, of, name), course in self.courses.items():
            if number == trial:
                found.setdefault(of, {})[name] = course
        return found


def digest(header: SeriesHeader, samples: Iterable[Sample]) -> Digest:
    """Go through the samples of a collector once."""
    found = Digest(header)
    for sample in samples:
        for name, value in sample.values.items():
            key = (sample.trial, sample.of, name)
            course = found.courses.get(key)
            if course is None:
                quantity = header.quantity(name)
                nature = quantity.nature if quantity is not None else Nature.GAUGE
                at_ns = sample.at_ns
                found.courses[key] = Course(nature, value, at_ns, value, at_ns, value, value)
                continue
            total = course.last if course.nature is Nature.TOTAL else 0
            course.last, course.last_ns = total + value, sample.at_ns
            course.least, course.most = min(course.least, value), max(course.most, value)
    return found
