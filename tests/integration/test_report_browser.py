"""Reports as a browser shows them: with and without scripts, light and dark, wide, narrow, printed.

Nothing is fetched, nothing overflows, nothing is said on the console, and axe-core finds nothing
serious.
"""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any, Literal

import pytest
from browsing import CLIPPED, NARROW, OVERFLOWING, WIDE, fixture_browser, serious, shown
from conftest import HERE
from playwright.sync_api import Browser

from vsperf.report.form import Form
from vsperf.report.target import write_report
from vsperf.report.write import write_html

__all__ = ["fixture_browser"]  # a fixture is found by its name in the module

GOLDEN = HERE / "golden" / "records"
RUNS = {
    "simulated": GOLDEN / "2026-11-20-phy2phy_tput-gxq9",
    "interrupted": GOLDEN / "2026-11-20-phy2phy_tput-w9dt",
    "real": GOLDEN / "2026-11-21-phy2phy_smoke-acj4",
    "machines": GOLDEN / "2026-11-21-pvp_vhost_reconnect-r5cp",
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


@pytest.mark.parametrize(
    "run",
    [pytest.param(run, marks=pytest.mark.everyday if run == "real" else ()) for run in RUNS],
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
    browser: Browser,
    pages: dict[str, Path],
    run: str,
    scheme: Literal["light", "dark"],
    width: int,
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
