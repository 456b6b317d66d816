"""Pages as a browser shows them: reports, still and interactive, and comparisons."""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from shutil import which
from typing import Any, Literal

import pytest
from axe_playwright_python.sync_playwright import Axe
from conftest import HERE, Require
from playwright.sync_api import Browser, Page, expect, sync_playwright

from vsperf.analysis.comparison import compare
from vsperf.analysis.sides import side
from vsperf.output.compare_page import html_page
from vsperf.output.report.form import Form
from vsperf.output.report.interactive import library
from vsperf.output.report.target import write_report
from vsperf.output.report.write import write_html

WIDE, NARROW = 1280, 360
OVERFLOWING = """() => {
  const most = document.documentElement.clientWidth;
  const scrolls = element => element.closest('.wide, pre') !== null;
  return [...document.body.querySelectorAll('*')]
    .filter(one => !scrolls(one) && !one.closest('svg'))
    .filter(one => one.getBoundingClientRect().right > most + 1)
    .map(one => one.outerHTML.slice(0, 120));
}"""
"""What sticks out of the page, tables that scroll on their own left out."""
CLIPPED = """() => [...document.querySelectorAll('p, dd, dt, h1, h2, h3, li, summary')]
    .filter(one => one.scrollWidth > one.clientWidth + 1 && one.clientWidth > 0)
    .map(one => one.outerHTML.slice(0, 120))"""


@dataclass(slots=True)
class Seen:
    """What a browser met while it showed a page."""

    page: Page
    console: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)


@pytest.fixture(name="browser", scope="module")
def fixture_browser(require: Require) -> Iterator[Browser]:
    require("chromium")
    with sync_playwright() as driver:
        # Root and containers have no sandbox to give it; the pages are our own.
        browser = driver.chromium.launch(executable_path=which("chromium"), args=["--no-sandbox"])
        yield browser
        browser.close()


@contextmanager
def shown(browser: Browser, page: Path, *, width: int = WIDE, **how: Any) -> Iterator[Seen]:
    context = browser.new_context(viewport={"width": width, "height": 800}, **how)
    seen = Seen(context.new_page())
    seen.page.on("console", lambda message: seen.console.append(message.text))
    seen.page.on("pageerror", lambda error: seen.console.append(str(error)))
    seen.page.on("request", lambda request: seen.requests.append(request.url))
    seen.page.goto(page.as_uri())
    try:
        yield seen
    finally:
        context.close()


def serious(page: Page) -> list[tuple[str, list[Any]]]:
    """Return what axe-core finds that keeps people from reading a page, and where."""
    return [
        (one["id"], [node["target"] for node in one["nodes"]][:3])
        for one in Axe().run(page).response["violations"]
        if one["impact"] in ("serious", "critical")
    ]


__all__ = ["fixture_browser"]


# Reports as a browser shows them: with and without scripts, light and dark, wide, narrow, printed.

GOLDEN = HERE / "golden" / "records"
RUNS = {
    "simulated": GOLDEN / "2026-11-20-phy2phy_tput-gxq9",
    "interrupted": GOLDEN / "2026-11-20-phy2phy_tput-w9dt",
    "real": GOLDEN / "2026-11-21-phy2phy_smoke-acj4",
    "vnfs": GOLDEN / "2026-11-21-pvp_vhost_reconnect-r5cp",
    "soak": GOLDEN / "2026-11-22-phy2phy_soak-n10t",
}


@pytest.fixture(name="pages", scope="module")
def fixture_pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Return a report of each run."""
    folder, found = tmp_path_factory.mktemp("reports"), {}
    for name, run in RUNS.items():
        out = io.StringIO()
        write_html([run], out, lambda *_: None)
        found[name] = folder / f"{name}.html"
        found[name].write_text(out.getvalue())
    return found


@pytest.mark.parametrize("width", [NARROW, 900, WIDE])
def test_no_figure_of_the_first_screen_is_parted_from_its_unit_or_cut(
    browser: Browser, tmp_path: Path, width: int
) -> None:
    page = tmp_path / "several.html"
    with page.open("w") as out:
        write_html(
            [RUNS[name] for name in ("simulated", "interrupted", "real", "soak")],
            out,
            lambda *_: None,
        )
    with shown(browser, page, width=width) as seen:
        values = seen.page.locator(".answer .value")
        assert values.count() >= 3
        for value in values.all():
            lines, most, inside = value.evaluate(
                "one => [one.getBoundingClientRect().height / parseFloat(getComputedStyle(one)"
                ".lineHeight), one.scrollWidth, one.clientWidth]"
            )
            assert lines < 1.5
            assert most <= inside


@pytest.mark.parametrize(
    "run", [pytest.param(run, marks=pytest.mark.everyday if run == "real" else ()) for run in RUNS]
)
@pytest.mark.parametrize(
    ("width", "scripts"), [(WIDE, True), (WIDE, False), (768, True), (NARROW, True)]
)
def test_a_page_is_quiet_fetches_nothing_and_fits(
    browser: Browser, pages: dict[str, Path], run: str, width: int, scripts: bool
) -> None:
    how: dict[str, Any] = {"java_script_enabled": scripts}
    with shown(browser, pages[run], width=width, **how) as seen:
        assert seen.page.locator("h1").is_visible()
        assert seen.console == []
        assert seen.requests == [pages[run].as_uri()]
        if scripts:  # without them a page cannot be asked, and looks the same
            assert seen.page.evaluate("document.documentElement.scrollWidth") <= width
            assert seen.page.evaluate(OVERFLOWING) == []
            assert seen.page.evaluate(CLIPPED) == []


@pytest.mark.parametrize("run", RUNS)
def test_everything_that_is_folded_fits_when_it_is_opened(
    browser: Browser, pages: dict[str, Path], run: str
) -> None:
    with shown(browser, pages[run], width=NARROW) as seen:
        seen.page.evaluate("document.querySelectorAll('details').forEach(one => one.open = true)")
        assert seen.page.evaluate(OVERFLOWING) == []


@pytest.mark.parametrize("run", RUNS)
@pytest.mark.parametrize(("scheme", "width"), [("light", WIDE), ("dark", NARROW)])
def test_axe_finds_nothing_serious(
    browser: Browser, pages: dict[str, Path], run: str, scheme: Literal["light", "dark"], width: int
) -> None:
    how: dict[str, Any] = {"color_scheme": scheme, "bypass_csp": True}
    with shown(browser, pages[run], width=width, **how) as seen:
        seen.page.evaluate("document.querySelectorAll('details').forEach(one => one.open = true)")
        assert serious(seen.page) == []


def test_a_dark_desktop_has_a_dark_page(browser: Browser, pages: dict[str, Path]) -> None:
    background = "getComputedStyle(document.body).backgroundColor"
    found = {}
    for scheme in ("light", "dark"):
        how: dict[str, Any] = {"color_scheme": scheme}
        with shown(browser, pages["real"], **how) as seen:
            found[scheme] = sum(
                int(part) for part in seen.page.evaluate(background)[4:-1].split(",")
            )
    assert found["dark"] < 200 < 600 < found["light"]


def test_the_answer_is_on_the_first_screen(browser: Browser, pages: dict[str, Path]) -> None:
    with shown(browser, pages["real"]) as seen:
        for place in (".verdict", ".answer .value", ".chart svg", "#what", "#worries"):
            box = seen.page.locator(place).first.bounding_box()
            assert box is not None, place
            assert box["y"] + min(box["height"], 40) < 800, place


def test_what_is_folded_is_printed_and_trials_are_not(
    browser: Browser, pages: dict[str, Path]
) -> None:
    with shown(browser, pages["real"]) as seen:
        computed = seen.page.locator("details:not(.bulk) > ul").first
        trials = seen.page.locator("details.bulk table").first
        assert not computed.is_visible()
        seen.page.emulate_media(media="print")
        assert computed.is_visible()
        assert not trials.is_visible()
        assert seen.page.locator(".printed").first.is_visible()


def test_a_link_of_the_results_leads_to_its_case(browser: Browser, pages: dict[str, Path]) -> None:
    with shown(browser, pages["simulated"]) as seen:
        seen.page.locator("table.results a").last.click()
        box = seen.page.locator("section.case h3").last.bounding_box()
        assert box is not None
        assert -5 < box["y"] < 800


def test_a_pdf_is_printed_without_anybody_looking(
    browser: Browser, pages: dict[str, Path], tmp_path: Path
) -> None:
    target = tmp_path / "report.pdf"
    found = write_report([RUNS["real"]], target, Form.PDF, lambda *_: None)
    assert found is not None
    assert target.read_bytes().startswith(b"%PDF-")
    assert [path.name for path in tmp_path.iterdir()] == ["report.pdf"]


# Interactive reports in a browser: pointing at numbers, looking closer, and doing without.

PATIENCE_MS = 60_000


@pytest.fixture(name="pages_of_browser", scope="module")
def fixture_pages_of_browser(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
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
    browser: Browser, pages_of_browser: dict[str, Path], run: str, width: int
) -> None:
    with shown(browser, pages_of_browser[run], width=width) as seen:
        look_at_all(seen.page)
        assert not seen.page.locator("figure svg.figure").first.is_visible()
        assert seen.console == []
        assert seen.requests == [pages_of_browser[run].as_uri()]
        assert seen.page.evaluate("document.documentElement.scrollWidth") <= width
        overflowing = OVERFLOWING.replace("'.wide, pre'", "'.wide, pre, #js-plotly-tester'")
        assert seen.page.evaluate(overflowing) == []


def test_pointing_at_a_point_shows_its_series_and_values_with_units(
    browser: Browser, pages_of_browser: dict[str, Path]
) -> None:
    with shown(browser, pages_of_browser["simulated"]) as seen:
        look_at_all(seen.page)
        seen.page.locator(".is-live .points path").first.hover(force=True)
        said = seen.page.locator(".hoverlayer .hovertext").first
        said.wait_for(timeout=PATIENCE_MS)
        assert "throughput per direction: 14.881 Mfps" in (said.text_content() or "")


def test_dragging_looks_closer_and_a_double_click_leads_back(
    browser: Browser, pages_of_browser: dict[str, Path]
) -> None:
    with shown(browser, pages_of_browser["simulated"]) as seen:
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
    browser: Browser, pages_of_browser: dict[str, Path]
) -> None:
    how: dict[str, Any] = {"java_script_enabled": False}
    with shown(browser, pages_of_browser["simulated"], **how) as seen:
        assert seen.page.locator("figure svg.figure").first.is_visible()
        assert not seen.page.locator(".live").first.is_visible()
        assert seen.console == []
    with shown(browser, pages_of_browser["simulated"]) as seen:
        look_at_all(seen.page)
        seen.page.emulate_media(media="print")
        assert seen.page.locator("figure svg.figure").first.is_visible()
        assert not seen.page.locator(".live").first.is_visible()


def test_in_the_dark_figures_are_written_in_light_letters(
    browser: Browser, pages_of_browser: dict[str, Path]
) -> None:
    with shown(browser, pages_of_browser["simulated"], color_scheme="light") as seen:
        look_at_all(seen.page)
        dark = "rgba(232,232,232,1)"
        assert layout(seen.page, "font.color") != dark
        seen.page.emulate_media(color_scheme="dark")
        wait_until(seen.page, lambda: layout(seen.page, "font.color") == dark)


# Pages of comparisons as a browser shows them; they are held to what reports are held to.


@pytest.fixture(name="page_file")
def fixture_page_file(tmp_path: Path) -> Path:
    runs = sorted(folder.name for folder in GOLDEN.glob("2026-*"))
    found = compare([side(GOLDEN, runs[0]), side(GOLDEN, runs[0])], latency=True)
    file = tmp_path / "change.html"
    file.write_text(html_page(found), encoding="utf-8")
    return file


@pytest.mark.parametrize("width", [WIDE, NARROW])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_page_fits_fetches_nothing_and_can_be_read(
    browser: Browser, page_file: Path, width: int, scheme: Literal["light", "dark"]
) -> None:
    with shown(browser, page_file, width=width, color_scheme=scheme, bypass_csp=True) as seen:
        assert seen.page.evaluate(OVERFLOWING) == []
        assert seen.requests == [page_file.as_uri()]
        assert seen.console == []
        assert serious(seen.page) == []
