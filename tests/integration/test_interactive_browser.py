"""Interactive reports in a browser: pointing at numbers, looking closer, and doing without."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from browsing import NARROW, OVERFLOWING, WIDE, fixture_browser, shown
from playwright.sync_api import Browser, Page, expect
from test_report_browser import RUNS

from vsperf.report.form import Form
from vsperf.report.interactive import library
from vsperf.report.target import write_report

__all__ = ["fixture_browser"]
PATIENCE_MS = 60_000


@pytest.fixture(name="pages", scope="module")
def fixture_pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Return an interactive report of some runs."""
    folder, packed, found = tmp_path_factory.mktemp("interactive"), library(), {}
    for name in ("simulated", "soak"):
        found[name] = folder / f"{name}.html"
        write_report([RUNS[name]], found[name], Form.HTML, lambda *_: None, packed)
    return found


def look_at_all(page: Page) -> None:
    """Bring each figure into sight, and wait until it is live."""
    for figure in page.locator("figure:has(.plots)").all():
        figure.scroll_into_view_if_needed()
        expect(figure).to_have_class(re.compile("is-live"), timeout=PATIENCE_MS)


def layout(page: Page, name: str) -> Any:
    """Return something of the layout of the first plot."""
    return page.evaluate(f"document.querySelector('.js-plotly-plot').layout.{name}")


def wait_until(page: Page, question: Callable[[], bool]) -> None:
    """Ask again and again; the page's policy lets playwright evaluate no text on its own."""
    for _ in range(PATIENCE_MS // 100):
        if question():
            return
        page.wait_for_timeout(100)
    raise AssertionError("it did not come true")


@pytest.mark.parametrize("run", ["simulated", "soak"])
@pytest.mark.parametrize("width", [WIDE, NARROW])
def test_figures_come_to_life_quietly_fetch_nothing_and_fit(
    browser: Browser, pages: dict[str, Path], run: str, width: int
) -> None:
    with shown(browser, pages[run], width=width) as seen:
        look_at_all(seen.page)
        assert not seen.page.locator("figure svg.figure").first.is_visible()
        assert seen.console == []
        assert seen.requests == [pages[run].as_uri()]
        assert seen.page.evaluate("document.documentElement.scrollWidth") <= width
        overflowing = OVERFLOWING.replace("'.wide, pre'", "'.wide, pre, #js-plotly-tester'")
        assert seen.page.evaluate(overflowing) == []


def test_pointing_at_a_point_shows_its_series_and_values_with_units(
    browser: Browser, pages: dict[str, Path]
) -> None:
    with shown(browser, pages["simulated"]) as seen:
        look_at_all(seen.page)
        seen.page.locator(".is-live .points path").first.hover(force=True)
        said = seen.page.locator(".hoverlayer .hovertext").first
        said.wait_for(timeout=PATIENCE_MS)
        assert "throughput per direction: 14.881 Mfps" in (said.text_content() or "")


def test_dragging_looks_closer_and_a_double_click_leads_back(
    browser: Browser, pages: dict[str, Path]
) -> None:
    with shown(browser, pages["simulated"]) as seen:
        look_at_all(seen.page)
        plot = seen.page.locator(".js-plotly-plot .nsewdrag").first
        plot.scroll_into_view_if_needed()
        box = plot.bounding_box()
        assert box is not None
        (_, most) = layout(seen.page, "yaxis.range")
        mouse, middle = seen.page.mouse, (box["x"] + box["width"] / 2, box["y"] + 80)
        mouse.move(*middle)
        mouse.down()
        mouse.move(middle[0] + 90, middle[1] + 70, steps=5)
        mouse.up()
        wait_until(seen.page, lambda: layout(seen.page, "yaxis.range")[1] < most)
        mouse.dblclick(*middle)
        wait_until(seen.page, lambda: layout(seen.page, "yaxis.range")[1] == most)


def test_without_scripts_and_in_print_the_pictures_are_there(
    browser: Browser, pages: dict[str, Path]
) -> None:
    how: dict[str, Any] = {"java_script_enabled": False}
    with shown(browser, pages["simulated"], **how) as seen:
        assert seen.page.locator("figure svg.figure").first.is_visible()
        assert not seen.page.locator(".live").first.is_visible()
        assert seen.console == []
    with shown(browser, pages["simulated"]) as seen:
        look_at_all(seen.page)
        seen.page.emulate_media(media="print")
        assert seen.page.locator("figure svg.figure").first.is_visible()
        assert not seen.page.locator(".live").first.is_visible()


def test_in_the_dark_figures_are_written_in_light_letters(
    browser: Browser, pages: dict[str, Path]
) -> None:
    with shown(browser, pages["simulated"], color_scheme="light") as seen:
        look_at_all(seen.page)
        dark = "rgba(232,232,232,1)"
        assert layout(seen.page, "font.color") != dark
        seen.page.emulate_media(color_scheme="dark")
        wait_until(seen.page, lambda: layout(seen.page, "font.color") == dark)
