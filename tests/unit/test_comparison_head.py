"""The head of a comparison: its verdict with the size, and the picture of its changes."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from compared_runs import found, of, run
from report_pages import Reader

from vsperf.output.compare_page import html_page, markdown
from vsperf.output.compare_picture import picture_of
from vsperf.output.compare_text import headline
from vsperf.output.figures.drawing import Points


def test_a_headline_says_the_verdict_and_the_size(tmp_path: Path) -> None:
    run(tmp_path, "aaaa", {1: [1000_000], 2: [1000_000]})
    run(tmp_path, "bbbb", {1: [900_000], 2: [980_000]})
    head = headline(of(tmp_path, "aaaa", "bbbb"))
    assert (head.word, head.tone) == ("WORSE", "bad")
    assert head.text.startswith("The most: 64B ndr -10.00 % [-10.89 … -9.10 %]. 2 of 2 numbers")


def test_where_nothing_changed_it_says_how_far_it_can_have(tmp_path: Path) -> None:
    run(tmp_path, "aaaa", {1: [1000_000]})
    run(tmp_path, "bbbb", {1: [1000_000]})
    head = headline(of(tmp_path, "aaaa", "bbbb"))
    assert head.word == "NO CHANGE"
    assert head.text.endswith("none changed by more than +1.00 %.")


def test_a_page_and_a_merge_request_begin_with_it(tmp_path: Path) -> None:
    run(tmp_path, "aaaa", {1: [1000_000]})
    run(tmp_path, "bbbb", {1: [1200_000]})
    found_one = of(tmp_path, "aaaa", "bbbb")
    assert markdown(found_one).startswith("## BETTER: ")
    reader = Reader()
    reader.feed(html_page(found_one))
    words = reader.words
    assert "BETTER The most: 64B ndr +20.00 %" in words


def test_each_change_is_a_point_with_its_interval(tmp_path: Path) -> None:
    run(tmp_path, "aaaa", {1: [1000_000], 2: [1000_000]})
    run(tmp_path, "bbbb", {1: [900_000], 2: [1000_000]})
    drawing = picture_of(of(tmp_path, "aaaa", "bbbb"))
    assert drawing is not None
    _, layer = drawing.panels[0].layers
    assert [tick.name for tick in drawing.panels[0].x.ticks] == ["64B ndr", "128B ndr"]
    assert isinstance(layer, Points)
    assert layer.points[0].y == pytest.approx(-0.1)
    assert layer.points[0].low == pytest.approx(-0.1089, abs=1e-4)
    assert drawing.simulated


def test_where_no_change_is_a_number_there_is_none(tmp_path: Path) -> None:
    run(tmp_path, "aaaa", {1: [found(1000_000, -1)]})
    run(tmp_path, "bbbb", {1: [found(1000_000, -1)]})
    found_one = of(tmp_path, "aaaa", "bbbb")
    open_ended = [replace(row, differences=(None,)) for row in found_one.rows]
    assert picture_of(replace(found_one, rows=tuple(open_ended))) is None
