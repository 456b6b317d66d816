"""What every figure does with any records; it joins by one fixture.

class TestMyFigure(FigureContract):
    @pytest.fixture(scope="class")
    @classmethod
    def plot(cls) -> Plot: ...
"""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import pytest

from vsperf.output.figures import render
from vsperf.output.figures.drawing import Drawing
from vsperf.output.figures.plot import Options, Plot, Scope
from vsperf.records.files.view import CaseView, open_run

GOLDEN = sorted((Path(__file__).parents[1] / "golden" / "records").glob("2026-*"))
HOSTILE = "<script>alert('x')</script> $x^2$ =1+1 \x1b[31m \u202e" + "long" * 40
SAYS_SO = "SIMULATED"


class FigureContract:
    """Checks that hold for any figure."""

    @pytest.fixture(scope="class")
    @classmethod
    def plot(cls) -> Plot:
        raise NotImplementedError

    @pytest.fixture(scope="class")
    @classmethod
    def cases(cls) -> tuple[CaseView, ...]:
        return tuple(case for folder in GOLDEN for case in open_run(folder).cases())

    @pytest.fixture
    def shows(self) -> bool:
        """Whether there is something to draw of the cases."""
        return True

    def test_it_draws_something_where_there_is_something(
        self, plot: Plot, cases: tuple[CaseView, ...], shows: bool
    ) -> None:
        titles = [drawing.title for drawing in drawn(plot, cases)]
        assert bool(titles) is shows, f"{plot.name} has drawn: {titles}"

    def test_it_says_what_it_shows(self, plot: Plot) -> None:
        assert plot.name, "by which people choose it"
        assert plot.name == plot.name.lower()
        assert len(plot.title.splitlines()) == 1, "one line for lists"

    def test_of_a_case_it_keeps_little_that_can_be_compared(
        self, plot: Plot, cases: tuple[CaseView, ...]
    ) -> None:
        for case in cases:
            kept = plot.gather(case)
            assert list(plot.gather(case)) == list(kept)
            assert list(pickle.loads(pickle.dumps(tuple(kept)))) == list(kept)

    def test_the_same_cases_give_the_same_drawing_and_the_drawing_the_same_bytes(
        self, plot: Plot, cases: tuple[CaseView, ...]
    ) -> None:
        found = drawn(plot, cases)
        assert drawn(plot, cases) == found
        for drawing in found[:1]:
            assert render.content(drawing, "svg") == render.content(drawing, "svg")

    def test_a_case_that_never_began_stops_nobody(
        self, plot: Plot, cases: tuple[CaseView, ...]
    ) -> None:
        never = replace(cases[0], start=None, record=None, trials=(), seconds=(), attempt=0)
        assert len(drawn(plot, [never, *cases])) >= len(drawn(plot, cases))

    def test_a_drawing_has_a_title_a_caption_and_axes_with_words(
        self, plot: Plot, cases: tuple[CaseView, ...]
    ) -> None:
        for drawing in drawn(plot, cases):
            assert drawing.title and drawing.caption, "what it shows, and of what"
            axes = [axis for panel in drawing.panels for axis in (panel.x, panel.y)]
            assert [axis for axis in axes if not axis.label] == [], "axes without words"

    def test_what_a_model_did_is_called_simulated(
        self, plot: Plot, cases: tuple[CaseView, ...]
    ) -> None:
        for simulated in (True, False):
            found = drawn(plot, [as_if(case, simulated=simulated) for case in cases])
            assert {drawing.simulated for drawing in found} <= {simulated}
            assert {SAYS_SO in words(drawing) for drawing in found[:1]} <= {simulated}

    def test_names_of_others_are_text_and_nothing_else(
        self, plot: Plot, cases: tuple[CaseView, ...]
    ) -> None:
        changed = [as_if(case, labels={"revision": HOSTILE}) for case in cases]
        for drawing in drawn(plot, changed)[:1]:
            content = render.content(drawing, "svg").decode()
            assert "<script" not in content and "\x1b" not in content
            ElementTree.fromstring(content)


def as_if(case: CaseView, **header: object) -> CaseView:
    """Return a case as if its run had been another one."""
    return replace(case, header=case.header.model_copy(update=header))


def drawn(plot: Plot, cases: Sequence[CaseView]) -> list[Drawing]:
    """Return what a figure makes of cases, as a report would have it made."""
    samples = [plot.gather(case) for case in cases]
    if plot.scope is Scope.CASE:
        found = [plot.draw(one, Options()) for one in samples if one]
    else:
        together = [sample for some in samples for sample in some]
        found = [plot.draw(together, Options())] if together else []
    return [drawing for drawing in found if drawing is not None]


def words(drawing: Drawing) -> str:
    """Return all that a drawing says, as a file shows it."""
    root = ElementTree.fromstring(render.content(drawing, "svg").decode())
    return " ".join(text for one in root.iter() for text in one.itertext())
