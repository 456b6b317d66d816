"""What collectors saw of a case, as rows of texts: what each quantity came to over its trials."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from statistics import median

from vsperf.human import human_count, human_ns, human_share
from vsperf.record.series import Nature, Note, OwnTrial, Quantity, Sample, SeriesHeader
from vsperf.stats.growth import NS, Course, digest

MOST_ROWS = 24
"""Of a collector; the file has all of them."""
NAMES = ("of", "what", "median", "least", "most", "for a frame")
NOTHING = "nothing that it looks at grew, or stood above 0, in any trial"


@dataclass(frozen=True, slots=True)
class Saw:
    """What somebody saw over the trials of a case, such as a collector."""

    title: str
    """What is told, and of what."""
    rows: tuple[tuple[str, ...], ...]
    """By `NAMES`; what a cell has nothing to say on is empty."""
    notes: tuple[str, ...]


def title_of(collector: str, *, heavy: bool, trials: int = 1, left_out: int = 0) -> str:
    """Say what a collector is told of; a heavy one had trials for itself, and no result is by them.

    `left_out` are rows beyond what is told.
    """
    count = f"{trials} trials" if trials > 1 else "a trial"
    own = f", in {count} of its own" if heavy else ", over all trials"
    more = f"; {left_out} more rows are in its file" if left_out else ""
    return f"what {collector} saw{own}{more}"


def saw(
    header: SeriesHeader,
    samples: Iterable[Sample],
    notes: Iterable[Note],
    own: Iterable[OwnTrial],
) -> Saw:
    """Return what a collector saw: how fast counters grew, how gauges stood, what came together."""
    courses: dict[tuple[str, str], dict[int, Course]] = {}
    for (trial, of, name), course in digest(header, samples).courses.items():
        courses.setdefault((of, name), {})[trial] = course
    frames = {one.trial.index: one.trial.sent_frames for one in own if one.trial.valid}
    if header.heavy:  # of a trial that went wrong nothing is told
        courses = {
            key: {trial: course for trial, course in found.items() if trial in frames}
            for key, found in courses.items()
        }
    rows = list(_rows(header, courses, frames))
    said = tuple(dict.fromkeys(note.text for note in notes))
    if not rows and not said:
        said = ("no trial of it counts" if header.heavy else NOTHING,)
    heavy, more = header.heavy, len(rows[MOST_ROWS:])
    title = title_of(header.collector, heavy=heavy, trials=len(frames), left_out=more)
    return Saw(title, tuple(rows[:MOST_ROWS]), said)


def _rows(
    header: SeriesHeader,
    courses: Mapping[tuple[str, str], Mapping[int, Course]],
    frames: Mapping[int, int],
) -> Iterator[tuple[str, ...]]:
    order = [quantity.name for quantity in header.quantities]
    known = [
        (quantity, of, name, found)
        for (of, name), found in courses.items()
        if (quantity := header.quantity(name)) is not None
    ]
    known.sort(key=lambda one: order.index(one[0].name))
    for quantity, of, name, found in known:
        values = {
            trial: value for trial, one in found.items() if (value := _value(one)) is not None
        }
        if any(values.values()):
            each = _each(values, frames) if quantity.nature is Nature.TOTAL else ""
            write = partial(_text, quantity)
            yield (of, _what(quantity, name), *spread(list(values.values()), write), each)
    yield from _instructions_per_cycle(courses)


def _value(course: Course) -> float | None:
    """Return a gauge as it stood, a total, or by how much a counter grew in a second."""
    return course.per_second if course.nature is Nature.COUNTER else course.value


def _what(quantity: Quantity, name: str) -> str:
    share = quantity.unit == "ns" and quantity.nature is Nature.COUNTER
    text = name.removesuffix("_ns").replace("_", " ")
    return f"{text}, of the time" if share else text


def spread(values: Sequence[float], write: Callable[[float], str]) -> tuple[str, str, str]:
    """Return the middle, the least and the most in words; of a single value no more than that."""
    middle, least, most = (write(one) for one in (median(values), min(values), max(values)))
    return (middle, least, most) if len(values) > 1 else (middle, "", "")


def _text(quantity: Quantity, value: float) -> str:
    if quantity.unit == "ns":
        return human_share(value / NS) if quantity.nature is Nature.COUNTER else human_ns(value)
    unit = "" if quantity.unit in ("1", "?") else f" {quantity.unit}"
    each = "/s" if quantity.nature is Nature.COUNTER else ""
    return f"{human_count(value)}{unit}{each}"


def _each(values: Mapping[int, float], frames: Mapping[int, int]) -> str:
    """Return what a total comes to for one frame."""
    sent = sum(frames.get(trial, 0) for trial in values)
    return f"{sum(values.values()) / sent:.3g}" if sent else ""


def _instructions_per_cycle(
    courses: Mapping[tuple[str, str], Mapping[int, Course]],
) -> Iterator[tuple[str, ...]]:
    for (of, name), found in courses.items():
        cycles = courses.get((of, "cycles"), {}) if name == "instructions" else {}
        shares = [
            one.value / below
            for trial, one in found.items()
            if one.value is not None and trial in cycles and (below := cycles[trial].value)
        ]
        if shares:
            yield (of, "instructions per cycle", *spread(shares, "{:.2f}".format), "")
