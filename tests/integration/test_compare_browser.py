"""Pages of comparisons as a browser shows them; they are held to what reports are held to."""

from __future__ import annotations

from pathlib import Path

import pytest
from conftest import HERE
from playwright.sync_api import Browser
from test_report_browser import OVERFLOWING, fixture_browser

from vsperf.results.compare_page import html_page
from vsperf.results.comparison import compare
from vsperf.results.sides import side

__all__ = ["fixture_browser"]  # a fixture is found by its name in the module

GOLDEN = HERE / "golden" / "records" / "version-1"


@pytest.fixture(name="_warm", scope="module", autouse=True)
def fixture_warm(browser: Browser) -> None:
    """Let the browser start its helpers, so that no test is blamed for them."""
    page = browser.new_page()
    page.goto(GOLDEN.as_uri())
    page.close()


@pytest.fixture(name="page_file")
def fixture_page_file(tmp_path: Path) -> Path:
    runs = sorted(folder.name for folder in GOLDEN.iterdir())
    found = compare([side(GOLDEN, runs[0]), side(GOLDEN, runs[0])], latency=True)
    file = tmp_path / "change.html"
    file.write_text(html_page(found), encoding="utf-8")
    return file


@pytest.mark.parametrize("width", [1280, 360])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_nothing_overflows_and_nothing_is_fetched(
    browser: Browser, page_file: Path, width: int, scheme: str
) -> None:
    page = browser.new_page(
        viewport={"width": width, "height": 900},
        color_scheme=scheme,  # type: ignore[arg-type]
    )
    requests, console = list[str](), list[str]()
    page.on("request", lambda one: requests.append(one.url))
    page.on("console", lambda one: console.append(one.text))
    page.goto(page_file.as_uri())
    assert page.evaluate(OVERFLOWING) == []
    assert requests == [page_file.as_uri()]
    assert console == []
    page.close()
