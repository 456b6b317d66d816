"""Pages as a browser shows them: what tests of any page ask it.

The browser is Debian's chromium, driven by playwright; one for all tests of a module.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from shutil import which
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from conftest import Require
from playwright.sync_api import Browser, Page, sync_playwright

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
