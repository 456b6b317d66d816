"""`vsperf report --interactive`: what is on the page, what may run on it, and who is refused."""

from __future__ import annotations

import base64
import gzip
import hashlib
import html
import io
import json
import re
import sys
import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from report_pages import Reader, html_of, quietly
from stored_runs import RUN, store, store_finished
from test_report_hostile import FEW, WORDS, hostile

from vsperf.cli.main import run_cli
from vsperf.errors import ExitCode
from vsperf.output.figures.drawing import Axis, Drawing, Line, Panel, Point
from vsperf.output.report.interactive import Library, library, plots_of
from vsperf.output.report.write import write_html

PLOTS = re.compile(r'<script type="application/json" class="plots">(.*?)</script>', re.DOTALL)


@pytest.fixture(name="packed", scope="module")
def fixture_packed() -> Library:
    return library()


def page(folder: Path, packed: Library) -> str:
    out = io.StringIO()
    write_html([folder], out, quietly, packed)
    return out.getvalue()


def test_the_page_lets_our_script_and_the_library_run_and_nothing_else(
    tmp_path: Path, packed: Library
) -> None:
    text = page(store_finished(tmp_path), packed)
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', text)
    assert policy
    rules = dict(rule.strip().split(" ", 1) for rule in policy[1].split(";"))
    found = re.search(r'id="library">(.*?)</script>', text)
    assert found
    scripts = [
        *(one.encode() for one in re.findall(r"<script>(.*?)</script>", text, re.DOTALL)),
        gzip.decompress(base64.b64decode(html.unescape(found[1]))),
    ]
    digests = [base64.b64encode(hashlib.sha256(one).digest()).decode() for one in scripts]
    assert rules["script-src"].split() == [f"'sha256-{digest}'" for digest in digests]
    assert rules["default-src"] == "'none'"


def test_every_figure_is_there_as_picture_and_as_data_and_the_licence_is_named(
    tmp_path: Path, packed: Library
) -> None:
    text = page(store_finished(tmp_path), packed)
    found = PLOTS.findall(text)
    assert len(found) == text.count("<svg") > 0
    assert all(json.loads(one)[0]["data"] for one in found)
    assert "under the MIT licence" in text
    assert "Permission is hereby granted" in text
    assert text.count(packed.packed[:80]) == 1


def test_a_page_that_is_not_interactive_has_no_script(tmp_path: Path) -> None:
    text = html_of(store_finished(tmp_path))
    assert "<script" not in text
    assert "script-src" not in text


@FEW
@given(word=WORDS)
def test_no_text_leaves_the_data_of_a_figure(word: str) -> None:
    packed = Library("library", word, "", "", "{}", ("a", "b"))
    with tempfile.TemporaryDirectory() as name:
        text = page(store(Path(name), RUN, hostile(word)), packed)
    reader = Reader()
    reader.feed(text)
    assert reader.open == []
    assert reader.handlers == []
    assert all(link.startswith("#") for link in reader.links)
    found = PLOTS.findall(text)
    assert text.count("<script") == len(found) + 3
    assert not any(set("<>&\u2028\u2029") & set(one) for one in found)


@given(word=WORDS)
def test_data_of_a_figure_is_read_as_it_was_written(word: str) -> None:
    line = Line(word, (Point(1, 2),))
    drawing = Drawing("title", "", (Panel(Axis("x"), Axis("y"), (line,), title=word),))
    text = plots_of(drawing)
    assert not set("<>&\u2028\u2029") & set(text)
    assert "color" in json.loads(text)[0]["data"][0]["line"]


@pytest.mark.parametrize("form", ["md", "pdf"])
def test_only_html_can_be_interactive(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], form: str
) -> None:
    store_finished(tmp_path)
    target = tmp_path / f"page.{form}"
    argv = ["report", "k7f3", "--results", str(tmp_path), "-o", str(target), "--interactive"]
    assert run_cli(argv) == ExitCode.BAD_INPUT
    assert f"the format {form} cannot be interactive" in capsys.readouterr().err
    assert not target.exists()


def test_without_the_package_it_says_what_to_install_and_writes_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "plotly", None)
    monkeypatch.setitem(sys.modules, "plotly.offline", None)
    store_finished(tmp_path)
    target = tmp_path / "page.html"
    argv = ["report", "k7f3", "--results", str(tmp_path), "-o", str(target), "--interactive"]
    assert run_cli(argv) == ExitCode.NOT_READY
    assert "pip install" in capsys.readouterr().err
    assert not target.exists()
