"""A figure of matplotlib as SVG, whose text is measured once and not anew in each figure.

Names along axes come again from one figure to the next, and to load the outlines of their letters
took a fifth of the time.
"""

from __future__ import annotations

import functools
import io
from typing import Any

from matplotlib.backends.backend_svg import FigureCanvasSVG, RendererSVG
from matplotlib.font_manager import FontProperties
from matplotlib.textpath import text_to_path

DPI = 72
"""One point is one unit."""


class Renderer(RendererSVG):
    """Writes SVG as matplotlib does."""

    def get_text_width_height_descent(
        self, s: str, prop: FontProperties, ismath: Any
    ) -> tuple[float, float, float]:
        """Return how much room a text takes."""
        return _measured(s, prop.copy(), ismath)


@functools.lru_cache(maxsize=4096)
def _measured(text: str, font: FontProperties, formula: Any) -> tuple[float, float, float]:
    return text_to_path.get_text_width_height_descent(text, font, formula)


def painted(figure: Any) -> str:
    """Return a figure as an SVG document without a date."""
    figure.dpi = DPI
    wide, high = figure.get_size_inches()
    out = io.StringIO()
    FigureCanvasSVG(figure)
    renderer: Any = Renderer(  # type: ignore[no-untyped-call]
        wide * DPI, high * DPI, out, metadata={"Date": None}
    )
    figure.draw(renderer)
    renderer.finalize()
    return out.getvalue()
