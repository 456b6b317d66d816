"""Text of drawings: letters that the font of the drawings has not."""

from __future__ import annotations

import pytest

from vsperf.output.figures.drawing import Axis, Drawing, Line, Panel, Point
from vsperf.output.figures.render import svg
from vsperf.output.figures.text import width


@pytest.mark.parametrize("letter", ["一", "\u0526", "\uffff"])
def test_a_letter_that_the_font_has_not_has_a_width_and_is_drawn(letter: str) -> None:
    lines = (Line(letter, (Point(1, 2),)), Line("other", (Point(1, 3),)))
    drawing = Drawing(letter, letter, (Panel(Axis(letter), Axis("y"), lines, title=letter),))
    assert width(letter, 8) > 0
    assert svg(drawing)
