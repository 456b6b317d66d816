"""Pages of comparisons as a browser shows them; they are held to what reports are held to."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import pytest
from browsing import NARROW, OVERFLOWING, WIDE, fixture_browser, serious, shown
from conftest import HERE
from playwright.sync_api import Browser

from vsperf.results.compare_page import html_page
from vsperf.results.comparison import compare
from vsperf.results.sides import side

__all__ = ["fixture_browser"]  # a fixture is found by its name in the module

GOLDEN = HERE / "golden" / "records"


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
