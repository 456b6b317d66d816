"""Figures of what noise costs: levels as places or as lines, and nothing where there are none."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from assertions import known
from figure_cases import case
from record_samples import goal

from vsperf.output.figures.drawing import Drawing, Line, Point
from vsperf.output.figures.plot import Options, drawings
from vsperf.records.files.view import CaseView
from vsperf.records.flags import Flag
from vsperf.records.result import SearchResult


def tput(
    noise: str | None, kfps: int, size: str = "64B", repeat: int = 1, **goals: Any
) -> CaseView:
    point = {"frame_size": size} | ({} if noise is None else {"noise": noise})
    found = SearchResult(goals=(goal(kfps * 1000, kfps * 1010, **goals),))
    return case(size, result=found, point=point, repeat=repeat)


def drawn(name: str, *cases: CaseView) -> Drawing | None:
    return dict(drawings(cases, [name], Options())).get(name)


def lines(drawing: Drawing) -> dict[str, tuple[Point, ...]]:
    return {one.name: one.points for one in drawing.layers if isinstance(one, Line)}


BOTH = (
    *(tput(level, rate) for level, rate in (("level_1", 5000), ("none", 8000), ("level_0", 7000))),
    *(tput(level, rate, "512B") for level, rate in (("none", 4000), ("level_1", 3000))),
)


def test_levels_are_places_in_order_and_the_quiet_case_is_the_first() -> None:
    found = known(drawn("noise-levels", *BOTH))
    (panel,) = found.panels
    assert [tick.name for tick in panel.x.ticks] == ["none", "level_0", "level_1"]
    assert panel.y.from_zero
    rates = {name: [point.y for point in points] for name, points in lines(found).items()}
    assert rates == {"64B": [8e6, 7e6, 5e6], "512B": [4e6, 3e6]}


def test_over_frame_sizes_each_level_is_a_line() -> None:
    found = known(drawn("noise", *BOTH))
    assert {name: [point.x for point in points] for name, points in lines(found).items()} == {
        "noise=level_1": [64, 512],
        "noise=none": [64, 512],
        "noise=level_0": [64],
    }


def test_repeats_of_a_level_are_one_point_with_a_bar() -> None:
    repeats = [
        tput(level, rate, repeat=at)
        for at, shift in enumerate((0, 100, 300), 1)
        for level, rate in (("none", 8000 + shift), ("level_1", 5000 + shift))
    ]
    found = known(drawn("noise-levels", *repeats))
    ((_, (quiet, loud)),) = lines(found).items()
    assert (quiet.low, quiet.y, quiet.high) == (8_000_000, 8_100_000, 8_300_000)
    assert loud.y == 5_100_000
    assert "medians of up to 3 repeats" in found.caption


@pytest.mark.parametrize("name", ["noise", "noise-levels"])
def test_there_is_no_figure_without_two_levels(name: str) -> None:
    assert drawn(name, tput(None, 8000), tput(None, 7000, "128B")) is None
    assert drawn(name, tput("level_1", 8000), tput("level_1", 7000, "128B")) is None


def test_what_is_not_to_be_believed_is_left_out_and_said() -> None:
    doubted = tput("level_1", 6000, flags=(Flag.REFUTED,))
    found = known(drawn("noise-levels", *BOTH[1:3], doubted))
    assert [tick.name for tick in found.panels[0].x.ticks] == ["none", "level_0"]
    assert "not to be believed" in found.caption


def test_levels_on_a_shared_cpu_are_called_functional_only() -> None:
    shared = tput("level_0", 6000)
    assert shared.record is not None
    marked = shared.record.model_copy(update={"flags": (*shared.record.flags, Flag.SHARED_CPU)})
    found = known(drawn("noise-levels", tput("none", 8000), replace(shared, record=marked)))
    assert "Functional only, on a shared CPU: 1 case." in found.caption
