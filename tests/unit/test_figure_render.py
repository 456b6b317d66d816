"""Every plot is drawn in every format; what stands in a page is harmless, unique and the same."""

from __future__ import annotations

import itertools
import re
import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any, cast
from xml.etree import ElementTree

import matplotlib as mpl
import pytest
from all_wrong import hold_each, relative
from figure_world import GOLDEN, HOSTILE, all_cases, throughput_case

from vsperf.errors import UsageError
from vsperf.output.figures import render, text, theme
from vsperf.output.figures.drawing import Axis, Drawing, Line, Panel, Point, Scale
from vsperf.output.figures.layout import LONGEST_LABEL, compose
from vsperf.output.figures.plot import Options, all_plots, drawings
from vsperf.output.figures.render import svg
from vsperf.output.figures.text import width
from vsperf.records.files.view import views

BESIDE = Options(beside=("plugfest_2017", "pod3_2016", "dpvs_1_9_2"))
SVG = "{http://www.w3.org/2000/svg}"
PLOTS = [plot.name for plot in all_plots()]

FONTS_ASKED = re.compile(r"font(?:-family)?: ?([^;\"]+)")


@pytest.fixture(scope="module")
def every() -> dict[str, Drawing]:
    """One drawing of each plot."""
    pair = drawings(one for one in all_cases() if "b2b" in one.run)  # all that can be compared
    mixed = drawings(all_cases(simulated=True, name=HOSTILE), options=BESIDE)
    return {**dict(pair), **dict(mixed)}


def words(svg: str) -> str:
    root = ElementTree.fromstring(svg)
    return " ".join(one.text or "" for one in root.iter(f"{SVG}text"))


def test_every_plot_has_something_to_say_of_these_cases(every: dict[str, Drawing]) -> None:
    assert set(every) == {plot.name for plot in all_plots()}


MAGIC = {"png": b"\x89PNG", "pdf": b"%PDF", "svg": b"<?xml"}


def test_plots_are_drawn_in_every_format_each_in_the_next_one(every: dict[str, Drawing]) -> None:
    formats = itertools.cycle(MAGIC)

    def check(plot: str) -> None:
        format_ = next(formats)
        assert render.content(every[plot], format_).startswith(MAGIC[format_])

    hold_each(PLOTS, check)


@pytest.mark.thorough
def test_every_plot_is_drawn_in_every_format(every: dict[str, Drawing]) -> None:
    def check(plot: str) -> None:
        for format_, magic in MAGIC.items():
            assert render.content(every[plot], format_).startswith(magic)

    hold_each(PLOTS, check)


def test_simulated_numbers_say_so_in_the_drawing_and_in_the_caption(
    every: dict[str, Drawing],
) -> None:
    def check(plot: str) -> None:
        (found,) = (one for name, one in every.items() if name == plot)
        assert found.simulated == ("SIMULATED" in words(render.svg(found)))
        assert found.simulated == ("SIMULATED" in found.caption)

    hold_each(PLOTS, check)


def test_an_svg_is_an_element_with_words_for_who_cannot_see(every: dict[str, Drawing]) -> None:
    svg = render.svg(every["throughput"])
    root = ElementTree.fromstring(svg)
    assert svg.startswith("<svg ")
    assert root.attrib["role"] == "img"
    named = {one.attrib["id"]: one.text for one in root if "id" in one.attrib}
    title, description = root.attrib["aria-labelledby"].split()
    assert named[title] == f"SIMULATED: {every['throughput'].title}"
    assert named[description] == every["throughput"].caption


def test_names_are_unique_across_drawings_of_a_page(every: dict[str, Drawing]) -> None:
    found = [set(re.findall(r'\bid="([^"]+)"', render.svg(one))) for one in every.values()]
    assert sum(map(len, found)) == len(set().union(*found))


def test_references_lead_to_what_is_there(every: dict[str, Drawing]) -> None:
    svg = render.svg(every["buffer"])
    there = set(re.findall(r'\bid="([^"]+)"', svg))
    used = set(re.findall(r'href="#([^"]+)"', svg)) | set(re.findall(r"url\(#([^)]+)\)", svg))
    assert used
    assert used <= there


def test_a_drawing_is_the_same_to_the_byte(every: dict[str, Drawing]) -> None:
    for form in render.FORMATS:
        first, second = (render.content(every["throughput"], form) for _ in range(2))
        assert first == second


def test_colours_are_those_of_the_page(every: dict[str, Drawing]) -> None:
    svg = render.svg(every["throughput"])
    assert "currentColor" in svg
    assert f"var(--figure-1, {theme.SERIES[0]})" in svg
    assert theme.INK not in svg


def test_text_names_fonts_that_take_the_place_of_ours_where_that_is_not_there(
    every: dict[str, Drawing],
) -> None:
    styles = [style for drawing in every.values() for style in FONTS_ASKED.findall(svg(drawing))]
    assert styles
    assert {tuple(style.split(", ")[-2:]) for style in styles} == {("Arial", "sans-serif")}
    assert all("'DejaVu Sans'" in style for style in styles)


def test_a_file_has_plain_colours_for_programs_that_know_no_variables(
    every: dict[str, Drawing],
) -> None:
    file = render.content(every["throughput"], "svg").decode()
    assert "var(" not in file
    assert "currentColor" not in file
    assert theme.SERIES[0] in file


def test_hostile_names_are_text_and_nothing_else(every: dict[str, Drawing]) -> None:
    for drawing in every.values():
        svg = render.svg(drawing)
        assert "<script" not in svg
        assert "\x1b" not in svg
        assert "\u202e" not in svg


def test_a_long_name_along_an_axis_leaves_its_unit_and_other_panels_alone() -> None:
    (found,) = (one for _, one in drawings(all_cases(), ["noise"]))
    (panel,) = found.panels
    axis = replace(panel.y, label="how often somebody looked " * 9)
    svg = render.svg(replace(found, panels=(replace(panel, y=axis),)))
    told = (one.text or "" for one in ElementTree.fromstring(svg).iter(f"{SVG}text"))
    (label,) = (one for one in told if one.startswith("how often"))
    assert len(label) == LONGEST_LABEL
    assert label.endswith("[Mfps]")


LABEL = "description=the-build-of-the-networking-team-with-link-time-optimisation-{}-of-many-at-o3"
LONG = [LABEL.format(number) for number in ("one", "two")]


def long_names() -> Drawing:
    """Lines whose names are longer than a row of the legend, and differ in the middle."""
    names = [f"{one}, {two}" for one in LONG for two in ("ovs-dpdk by tgen", "p99")]
    lines = tuple(Line(name, (Point(1, 2), Point(2, place))) for place, name in enumerate(names, 2))
    return Drawing("title", "caption", (Panel(Axis("x"), Axis("y"), lines),))


def test_a_long_name_goes_on_in_the_next_row_of_the_legend_and_is_not_cut() -> None:
    told = "".join(words(render.svg(long_names())).split())
    for name in LONG:
        assert told.count(name) == 2
    found = boxes(long_names())
    for (one, first), (other, second) in itertools.combinations(found, 2):
        across = min(first.x1, second.x1) - max(first.x0, second.x0)
        down = min(first.y1, second.y1) - max(first.y0, second.y0)
        assert across <= 1 or down <= 1, f"{one!r} covers {other!r}"
    dots = theme.WIDTH / 72 * mpl.rcParams["figure.dpi"]
    assert all(room.x1 <= dots for _, room in found)


def test_a_dollar_is_a_dollar() -> None:
    found = dict(drawings([throughput_case("64B", 5, spec={"vswitch": {"kind": "$x^2$"}})]))
    assert "$x^2$" in words(render.svg(found["topology"]))


def test_simulated_and_measured_lines_stand_in_one_drawing() -> None:
    sizes = (("64B", 8_000_000), ("128B", 7_000_000))
    cases = [throughput_case(size, fps) for size, fps in sizes]
    cases += [
        throughput_case(size, fps, simulated=True, run="2026-11-21-x-zzzz") for size, fps in sizes
    ]
    found = dict(drawings([*cases, *cases]))
    for name in ("throughput", "latency", "cycles", "intervals", "caches"):
        assert "(SIMULATED)" in words(render.svg(found[name]))


def test_a_format_that_there_is_not_is_refused(tmp_path: Path, every: dict[str, Drawing]) -> None:
    with pytest.raises(UsageError, match="names no format"):
        render.save(every["throughput"], tmp_path / "x.gif")


def test_records_of_every_version_are_drawn() -> None:
    def check(folder: Path) -> None:
        for _, drawing in drawings(views(folder)):
            assert render.svg(drawing).startswith("<svg ")
            assert drawing.simulated == all(view.simulated for view in views(folder))

    hold_each(sorted(GOLDEN.glob("2026-*")), check, relative)


def test_text_is_measured_alike_before_and_after_a_drawing(every: dict[str, Drawing]) -> None:
    before = text.width("words of before", 9)
    render.content(every["throughput"], "png")
    assert text.width("Words of before", 9) == pytest.approx(before, rel=0.1)


def boxes(drawing: Drawing) -> list[tuple[str, Any]]:
    """Return every text of a drawing with the room it takes, in pixels."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    with mpl.rc_context(cast("Any", theme.STYLE)), warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        figure = compose(drawing)
        canvas: Any = FigureCanvasAgg(figure)
        canvas.draw()
        straight = [one for one in figure.texts if one.get_rotation() in (0, 90)]
        return [(one.get_text(), one.get_window_extent()) for one in straight]


def test_no_text_covers_another_or_leaves_the_sheet(every: dict[str, Drawing]) -> None:
    def check(plot: str) -> None:
        found = boxes(every[plot])
        for (one, first), (other, second) in itertools.combinations(found, 2):
            across = min(first.x1, second.x1) - max(first.x0, second.x0)
            down = min(first.y1, second.y1) - max(first.y0, second.y0)
            assert across <= 1 or down <= 1, f"{one!r} covers {other!r}"
        for one, room in found:
            assert room.x0 >= 0, f"{one!r} begins left of the sheet"

    hold_each(PLOTS, check)


@pytest.mark.parametrize("least", [1e4, 1e7])
def test_what_a_logarithmic_axis_is_called_stands_beside_what_is_at_its_ticks(least: float) -> None:
    """Loads that lie far apart have a unit each, such as 500 kfps."""
    points = (Point(1, least), Point(2, 300 * least))
    load = Axis("load per direction", "fps", Scale.LOG)
    panel = Panel(Axis("trial"), load, (Line("ndr", points),))
    found = boxes(Drawing("Trace of the search", "n = 1", (panel,)))
    (called,) = (room for one, room in found if one.startswith("load per direction"))
    ticks = {one: room for one, room in found if one.endswith("fps")}
    assert len(ticks) > 4
    assert [one for one, room in ticks.items() if room.x0 < called.x1 + 2] == []


# Text of drawings: letters that the font of the drawings has not.


@pytest.mark.parametrize("letter", ["一", "\u0526", "\uffff"])
def test_a_letter_that_the_font_has_not_has_a_width_and_is_drawn(letter: str) -> None:
    lines = (Line(letter, (Point(1, 2),)), Line("other", (Point(1, 3),)))
    drawing = Drawing(letter, letter, (Panel(Axis(letter), Axis("y"), lines, title=letter),))
    assert width(letter, 8) > 0
    assert svg(drawing)
