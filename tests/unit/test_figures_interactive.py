"""Drawings as data for plotly.js: where numbers stand, how they look, and what is said of them."""

from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.figure import Figure

from vsperf.output.figures.drawing import (
    Axis,
    Bars,
    Boxes,
    Diagram,
    Drawing,
    Intervals,
    Layer,
    Line,
    Look,
    Panel,
    Point,
    Points,
    Scale,
    Spans,
    Tick,
)
from vsperf.output.figures.interactive import plots
from vsperf.output.figures.paint import paint
from vsperf.output.figures.theme import PAPER, SERIES

SIZES = Axis("frame size", "B", Scale.NAMES, ticks=(Tick(64, "64"), Tick(1518, "1518")))
RATE = Axis("throughput", "fps", from_zero=True)
TWO = (Point(64, 5e6, low=4e6, high=7e6), Point(1518, 8e5))


def plot(*layers: Layer, x: Axis = SIZES, y: Axis = RATE) -> dict[str, Any]:
    (found,) = plots(Drawing("title", "caption", (Panel(x, y, layers),)))
    return found


def trace(*layers: Layer, x: Axis = SIZES, y: Axis = RATE) -> dict[str, Any]:
    found: dict[str, Any] = plot(*layers, x=x, y=y)["data"][-1]
    return found


def test_a_line_stands_where_its_axes_say_and_tells_values_with_units() -> None:
    found = trace(Line("switch", TWO))
    assert found["x"] == [0, 1]
    assert found["y"] == [5, 0.8]
    assert found["error_y"]["array"] == [2, 0]
    assert found["error_y"]["arrayminus"] == [1, 0]
    assert found["hovertext"][0] == (
        "<b>switch</b><br>frame size: 64 B<br>throughput: 5 Mfps<br>from 4 Mfps to 7 Mfps"
    )


def test_a_long_name_takes_several_lines_of_the_legend_and_is_not_cut() -> None:
    name = "description=the-build-of-the-networking-team-with-link-time-optimisation, p99 " * 2
    found = trace(Line(name.strip(), TWO))
    assert found["name"].count("<br>") == 1
    assert found["name"].replace("<br>", " ") == name.strip()
    assert found["hovertext"][0].startswith(f"<b>{found['name']}</b>")


def test_axes_have_the_labels_names_and_ends_of_the_drawing() -> None:
    layout = plot(Line("switch", TWO))["layout"]
    assert layout["xaxis"]["ticktext"] == ["64", "1518"]
    assert layout["xaxis"]["range"] == [-0.5, 1.5]
    assert layout["yaxis"]["title"]["text"] == "throughput [Mfps]"
    assert layout["yaxis"]["range"][0] == 0


def test_a_logarithmic_axis_stays_one_so_that_it_can_be_zoomed() -> None:
    latency = Axis("latency", "ns", Scale.LOG)
    found = plot(Line("p99", (Point(64, 2e3), Point(1518, 2e5))), y=latency)
    assert found["data"][0]["y"] == pytest.approx([2, 200])
    assert found["layout"]["yaxis"]["type"] == "log"
    assert "tickvals" not in found["layout"]["yaxis"]


def test_colours_and_markers_are_those_of_the_theme() -> None:
    first, second = plot(Line("a", TWO), Line("b", TWO))["data"]
    assert (first["marker"]["symbol"], first["line"]["color"]) == ("circle", SERIES[0])
    assert (second["marker"]["symbol"], second["line"]["color"]) == ("square", SERIES[1])
    ceiling = trace(Line("line rate", TWO, look=Look.CEILING))
    assert ceiling["line"]["dash"] != "solid"
    assert trace(Points("theirs", TWO, look=Look.PUBLISHED))["marker"]["symbol"] == "circle-open"


def test_between_names_that_were_left_out_no_line_is_drawn() -> None:
    three = Axis("", "", Scale.NAMES, ticks=(Tick(1, "a"), Tick(2, "b"), Tick(3, "c")))
    found = trace(Line("switch", (Point(1, 1, low=0.5), Point(3, 2))), x=three)
    assert found["y"] == [1, None, 2]
    assert len(found["error_y"]["array"]) == len(found["hovertext"]) == 3


def test_bars_stand_beside_each_other_or_on_each_other() -> None:
    first, second = plot(Bars("a", TWO), Bars("b", TWO))["data"]
    assert first["x"][0] < 0 < second["x"][0]
    low, high = plot(Bars("a", TWO, stacked=True), Bars("b", TWO, stacked=True))["data"]
    assert high["base"] == low["y"]


def test_simulated_bars_are_hatched_and_simulated_series_say_so_among_others() -> None:
    found = trace(Line("real", TWO), Bars("model", TWO, simulated=True))
    assert found["marker"]["pattern"]["shape"] == "/"
    assert found["marker"]["color"] == PAPER
    assert found["name"] == "model (SIMULATED)"
    assert "(SIMULATED)" in found["hovertext"][0]


def test_a_panel_of_simulated_numbers_alone_is_marked_across() -> None:
    marks = plot(Line("model", TWO, simulated=True))["layout"]["annotations"]
    assert [mark["text"] for mark in marks] == ["SIMULATED"]


def test_an_open_interval_has_an_arrow_and_says_or_more() -> None:
    found = plot(Intervals("ndr", (Point(64, 5e6, high=6e6), Point(1518, 8e5))))
    bars, points = found["data"]
    assert bars["y"] == [5, 6, None]
    assert [text.split("<br>")[-1] for text in points["hovertext"]] == [
        "throughput: 5 Mfps to 6 Mfps",
        "throughput: 0.8 Mfps or more",
    ]
    (arrow,) = found["layout"]["annotations"]
    assert (arrow["x"], arrow["y"], arrow["arrowside"]) == (1, 0.8, "start")


def test_boxes_have_the_quartiles_of_the_renderer_and_all_their_values() -> None:
    values = [Point(64, value * 1e6) for value in (1, 2, 3, 4, 40)]
    box, points = plot(Boxes("repeats", tuple(values)))["data"]
    assert (box["q1"], box["median"], box["q3"]) == ([2], [3], [4])
    assert box["upperfence"] == [4]
    assert points["y"] == [1, 2, 3, 4, 40]


def test_a_stretch_of_time_can_be_pointed_at() -> None:
    seconds = Axis("time", "s", from_zero=True)
    found = trace(Line("rate", (Point(0, 1), Point(9, 1))), Spans("pause", ((2, 3),)), x=seconds)
    assert found["hoveron"] == "fills"
    assert found["text"] == "<b>pause</b><br>2 s to 3 s"


def test_a_diagram_has_no_counterpart() -> None:
    assert plots(Drawing("topology", "", diagram=Diagram((), ()))) == []


def texts(content: Any, *, key: str = "") -> list[tuple[str, str]]:
    if isinstance(content, dict):
        return [one for key, value in content.items() for one in texts(value, key=key)]
    if isinstance(content, list):
        return [one for value in content for one in texts(value, key=key)]
    return [(key, content)] if isinstance(content, str) else []


@given(
    st.one_of(st.text(max_size=20), st.sampled_from(["<a href='//x'>y</a>", "&lt;b&gt;", "$x^2$"]))
)
def test_no_name_becomes_markup_of_plotly(word: str) -> None:
    axis = Axis(word, word, Scale.NAMES, ticks=(Tick(64, word), Tick(1518, word)))
    spans = Spans(word, ((64, 1518),))
    found = plot(Line(word, TWO), Bars(word, TWO), Intervals(word, TWO), spans, x=axis)
    for key, text in texts([found["data"], found["layout"]]):
        bare = text.replace("<b>", "").replace("</b>", "").replace("<br>", "")
        assert not set("<>&$") & set(re.sub("&#(36|38|60|62);", "", bare)), key


def compared(*, bars: bool) -> Panel:
    """Return a panel in which three series have a number at the same name."""
    one = Point(64, 1e6, 0.9e6, 1.1e6) if bars else Point(64, 1e6)
    layers = tuple(Points(name, (one,), color=number) for number, name in enumerate("abc"))
    return Panel(x=SIZES, y=RATE, layers=layers)


def test_error_bars_at_the_same_name_stand_beside_each_other_and_hide_none() -> None:
    panel = compared(bars=True)
    (found,) = plots(Drawing(title="", caption="", panels=(panel,)))
    across = [one["x"] for one in found["data"]]
    assert len({x for (x,) in across}) == 3
    axes: Any = Figure().subplots()
    paint(axes, panel)
    places = [list(line.get_xdata()) for line in axes.lines if line.get_marker() not in {"_", "|"}]
    assert [one for one in places if one in across] == across


def test_points_without_error_bars_stand_at_their_name() -> None:
    (found,) = plots(Drawing(title="", caption="", panels=(compared(bars=False),)))
    assert len({tuple(one["x"]) for one in found["data"]}) == 1
