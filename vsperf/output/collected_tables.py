"""What collectors saw of a case, and parts of the cache: what each came to over its trials."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from statistics import median
from typing import Final

from vsperf.analysis.collected import NS, Course, digest
from vsperf.errors import StoreError
from vsperf.output.table import Table, columns
from vsperf.quantities.human import (
    counted,
    human_byte_rate,
    human_bytes,
    human_count,
    human_ns,
    human_share,
)
from vsperf.quantities.units import NANOSECONDS
from vsperf.records.exchange import Exchange
from vsperf.records.files.series import StoredSeries, series_of
from vsperf.records.series import (
    Nature,
    Note,
    OwnExchange,
    OwnTrial,
    Quantity,
    Sample,
    SeriesHeader,
)
from vsperf.records.switch import CacheActivity
from vsperf.records.trial import Purpose, Trial

MOST_ROWS = 24
"""Of a collector; the file has all of them."""
NAMES = ("of", "what", "median", "least", "most", "for a frame")
NOTHING = "nothing that it looks at grew, or stood above 0, in any trial"


@dataclass(frozen=True, slots=True)
class Saw:
    """What somebody saw over the trials of a case, such as a collector."""

    table: Table
    """What a cell has nothing to say on is empty."""
    notes: tuple[str, ...]

    @property
    def title(self) -> str:
        """What is told, as a heading."""
        return f"{self.table.title[0].upper()}{self.table.title[1:]}"

    @classmethod
    def of(
        cls,
        title: str,
        rows: Iterable[tuple[str, ...]],
        notes: tuple[str, ...],
        each: str = NAMES[-1],
    ) -> Saw:
        """Return rows by `NAMES`; the last may be for something else than a frame."""
        names = (*NAMES[:-1], each)
        return cls(Table(title, columns(*names, right=range(2, 6)), tuple(rows), keys=2), notes)


def title_of(collector: str, *, heavy: bool, trials: int = 1, left_out: int = 0) -> str:
    """Say what a collector is told of; a heavy one had trials for itself, and no result is by them.

    `left_out` are rows beyond what is told.
    """
    count = f"{trials} trials" if trials > 1 else "a trial"
    own = f", in {count} of its own" if heavy else ", over all trials"
    more = f"; its file has {counted(left_out, 'more row')}" if left_out else ""
    return f"what {collector} saw{own}{more}"


def saw(
    header: SeriesHeader,
    samples: Iterable[Sample],
    notes: Iterable[Note],
    own: Iterable[OwnTrial | OwnExchange],
) -> Saw:
    """Return what a collector saw: how fast counters grew, how gauges stood, what came together."""
    courses: dict[tuple[str, str], dict[int, Course]] = {}
    for (trial, of, name), course in digest(header, samples).courses.items():
        courses.setdefault((of, name), {})[trial] = course
    frames: dict[int, int] = {}
    each = NAMES[-1]
    for one in own:
        if isinstance(one, OwnExchange):
            each = f"for a {'bit' if one.exchange.streams else 'request'}"
        made = one.exchange if isinstance(one, OwnExchange) else one.trial
        if made.valid:
            frames[made.index] = made.amount if isinstance(made, Exchange) else made.sent_frames
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
    return Saw.of(title, rows[:MOST_ROWS], said, each)


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
    return human_count(sum(values.values()) / sent) if sent else ""


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


# What parts of the last-level cache held and moved in the trials of a case, as rows of texts.

TITLE: Final = "what parts of the last-level cache held and moved, over all trials"
HELD, MOVED, LOCAL = "held when the trial ended", "moved from and to memory", "on its own node"
SILENT: Final = "not counted here: {}; not every processor monitors that (CMT, MBM)"


def cached(trials: Sequence[Trial]) -> Saw | None:
    """Return what each part did over the trials; None of a case that shares out no cache."""
    looked = [one for one in trials if one.cache and one.purpose is not Purpose.PATH_CHECK]
    roles = dict.fromkeys(part.role for one in looked for part in one.cache)
    if not roles:
        return None
    rows = tuple(row for role in roles for row in _cache_rows(role, looked))
    told = {row[1] for row in rows}
    missing = [what for what in (HELD, MOVED) if what not in told]
    notes = (SILENT.format(" and ".join(f"what they {what}" for what in missing)),)
    return Saw.of(TITLE, rows, notes if missing else ())


def _cache_rows(role: str, trials: Sequence[Trial]) -> Iterator[tuple[str, ...]]:
    """Yield what a part held, and what it moved in a second and for a frame."""
    found = [(trial, part) for trial in trials for part in trial.cache if part.role == role]
    held = [part.occupancy_bytes for _, part in found if part.occupancy_bytes is not None]
    if held:
        yield (role, HELD, *spread(held, human_bytes), "")
    for what, name in ((MOVED, "total_bytes"), (LOCAL, "local_bytes")):
        yield from _moved(role, what, name, found)


def _moved(
    role: str, what: str, name: str, found: Sequence[tuple[Trial, CacheActivity]]
) -> Iterator[tuple[str, ...]]:
    """Yield the row of a counter; a trial that took no time, such as one that failed, has none."""
    counts = [
        (trial, count)
        for trial, part in found
        if (count := getattr(part, name)) is not None and trial.elapsed_ns > 0
    ]
    if not counts:
        return
    rates = [count * NANOSECONDS / trial.elapsed_ns for trial, count in counts]
    frames = sum(trial.sent_frames for trial, _ in counts)
    each = f"{human_count(sum(count for _, count in counts) / frames)} B" if frames else ""
    yield (role, what, *spread(rates, human_byte_rate), each)


# What was seen around the trials of a case, as tables; of a file that is damaged, that it is.


def sights(
    run: Path, case: str, attempt: int, trials: Sequence[Trial], since: int = 1
) -> tuple[Saw, ...]:
    """Return what parts of the cache did, then what each collector saw in an attempt at a case.

    Of collectors, those of whole cases come first. Trials count from number `since` on.
    """
    series = series_of(run, case, max(1, attempt))
    found = sorted(series, key=lambda one: (one.header.heavy, one.header.collector))
    parts = cached(trials)
    return (*(() if parts is None else (parts,)), *(_sight(one, since) for one in found))


def _sight(stored: StoredSeries, since: int) -> Saw:
    try:
        own: list[OwnTrial | OwnExchange] = [*stored.own_trials(), *stored.own_exchanges()]
        return saw(stored.header, stored.samples(since=since), stored.notes(), own)
    except StoreError as error:
        header = stored.header
        return Saw.of(title_of(header.collector, heavy=header.heavy), (), (str(error),))
