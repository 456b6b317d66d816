"""What neighbours cost: frames per second and latency with and without noise, one line a level."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Protocol, TypeVar

from vsperf.config.noise import NOISE, QUIET
from vsperf.output.figures import latency_sizes
from vsperf.output.figures.drawing import Axis, Drawing, Panel, Scale, Tick
from vsperf.output.figures.groups import Traits, drawn, groups_of, most_of, size_axis
from vsperf.output.figures.latency_case import Case
from vsperf.output.figures.latency_case import gather as gather_latencies
from vsperf.output.figures.plot import Options, Plot
from vsperf.output.figures.rates import (
    RATE_AXIS,
    Rate,
    gather,
    left_out,
    line_of,
    missing,
    remarks,
    shown_of,
)


class _Told(Protocol):
    @property
    def traits(self) -> Traits: ...


S = TypeVar("S", bound=_Told)


def draw(samples: Sequence[Rate], options: Options) -> Drawing | None:
    """Draw one line for each level, the quiet case among them; of one size there is no line."""
    told = of_levels(samples)
    found = shown_of(told)
    if min(len({level_of(one) for one in found}), len({one.size for one in found})) < 2:
        return None
    groups, more = most_of(groups_of(found, by=options.by, without=("size",)))
    shown = [one for group in groups for one in group.samples]
    lines = tuple(line_of(group, number, _size) for number, group in enumerate(groups))
    sizes = [(one.size, one.size_name) for one in (*shown, *left_out(told))]
    return drawn(
        "Frames per second with and without noise",
        [one.evidence for one in (*shown, *left_out(told))],
        (Panel(size_axis(sizes), RATE_AXIS, lines),),
        *remarks(shown, groups, _size),
        more,
    )


def draw_levels(samples: Sequence[Rate], options: Options) -> Drawing | None:
    """Draw frames per second over the levels, one line for each size of frames."""
    told = of_levels(samples)
    found = shown_of(told)
    names = sorted({level_of(one) or "" for one in found}, key=_loudness)
    if len(names) < 2:
        return None
    places = {name: float(at) for at, name in enumerate(names)}

    def place(one: Rate) -> float:
        return places[level_of(one) or ""]

    groups, more = most_of(groups_of(found, by=options.by, without=(NOISE,)))
    shown = [one for group in groups for one in group.samples]
    ticks = tuple(Tick(at, name.removeprefix(f"{NOISE}=")) for name, at in places.items())
    return drawn(
        "Frames per second by level of noise",
        [one.evidence for one in (*shown, *left_out(told))],
        (
            Panel(
                Axis("noise beside the case", "", Scale.NAMES, ticks=ticks),
                RATE_AXIS,
                tuple(line_of(group, number, place) for number, group in enumerate(groups)),
            ),
        ),
        *remarks(shown, groups, place),
        more,
    )


def draw_latency(samples: Sequence[Case], options: Options) -> Drawing | None:
    """Draw the latency of the cases that have levels of noise."""
    told = of_levels(samples)
    if len({level_of(one) for one in told}) < 2:
        return None
    return latency_sizes.draw(told, options)


def of_levels(samples: Iterable[S]) -> list[S]:
    """Return the samples of cases that are told apart by their noise."""
    return [one for one in samples if level_of(one) is not None]


def level_of(sample: _Told) -> str | None:
    """Return which noise a case had; None where that was no matter of it."""
    return dict(sample.traits).get(NOISE)


def _loudness(name: str) -> tuple[bool, str]:
    """Order the quiet case before all levels."""
    return name != f"{NOISE}={QUIET}", name


def _size(one: Rate) -> float:
    return one.size


PLOT = Plot(
    name="noise",
    title="frames per second with and without noise, a line for each level",
    needs="a quiet case and one beside noise: `vsperf run TESTCASE --noise none,level_1`",
    gather=gather,
    missing=missing,
    draw=draw,
)
LEVELS = Plot(
    name="noise-levels",
    title="frames per second over the levels of noise, a line for each frame size",
    needs="two levels of noise or more: `vsperf run TESTCASE --noise none,level_1,level_2`",
    gather=gather,
    missing=missing,
    draw=draw_levels,
)
LATENCY = Plot(
    name="noise-latency",
    title="latency with and without noise, at each load",
    needs="latency of a quiet case and of one beside noise: `vsperf run pvp_latency_noise`",
    gather=gather_latencies,
    draw=draw_latency,
)
