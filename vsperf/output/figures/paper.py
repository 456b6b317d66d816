"""A figure of matplotlib as a sheet of paper, measured in points from its upper left corner."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from vsperf.output.figures import theme

LEADING = 1.35


@dataclass(frozen=True, slots=True)
class Page:
    """The sheet."""

    figure: Any
    height: float
    width: float = theme.WIDTH

    def axes(self, left: float, top: float, wide: float, high: float) -> Any:
        """Return axes that take a part of the sheet."""
        axes = self.figure.add_axes(
            (
                left / self.width,
                1 - (top + high) / self.height,
                wide / self.width,
                high / self.height,
            )
        )
        axes.set_facecolor("none")
        return axes

    def text(self, left: float, top: float, text: str, size: float, **style: Any) -> None:
        """Write a line; its baseline is at `top`, unless `va` says otherwise."""
        x, y = self._at(left, top)
        self.figure.text(x, y, text, fontsize=size, **{"color": theme.INK, **style})

    def lines(
        self, left: float, top: float, lines: Sequence[str], size: float, **style: Any
    ) -> None:
        """Write several lines below each other, the first one below `top`."""
        for number, line in enumerate(lines):
            self.text(left, top + (number * LEADING + 1) * size, line, size, **style)

    def rule(self, begin: tuple[float, float], end: tuple[float, float]) -> None:
        """Draw a thin line, such as a tick."""
        from matplotlib.lines import Line2D

        (x0, y0), (x1, y1) = self._at(*begin), self._at(*end)
        self.figure.add_artist(Line2D([x0, x1], [y0, y1], color=theme.MUTED, linewidth=0.8))

    def line(self, xs: Sequence[float], top: float, style: dict[str, Any]) -> None:
        """Draw a sample of a line, with its marker in the middle."""
        from matplotlib.lines import Line2D

        places = [self._at(x, top) for x in xs]
        self.figure.add_artist(
            Line2D(
                [x for x, _ in places],
                [y for _, y in places],
                **{**style, "markevery": [len(places) // 2]},
            )
        )

    def arrow(self, begin: tuple[float, float], end: tuple[float, float], *, both: bool) -> None:
        """Draw an arrow, with a head at one end or at both."""
        from matplotlib.patches import FancyArrowPatch

        self.figure.add_artist(
            FancyArrowPatch(
                self._at(*begin),
                self._at(*end),
                transform=self.figure.transFigure,
                arrowstyle="<|-|>" if both else "-|>",
                mutation_scale=8,
                color=theme.MUTED,
                linewidth=1.2,
                shrinkA=0,
                shrinkB=0,
            )
        )

    def patch(
        self, left: float, top: float, wide: float, high: float, style: dict[str, Any]
    ) -> None:
        from matplotlib.patches import Rectangle

        corner = self._at(left, top + high)
        patch = Rectangle(
            corner,
            wide / self.width,
            high / self.height,
            transform=self.figure.transFigure,
            **style,
        )
        self.figure.add_artist(patch)

    def _at(self, left: float, top: float) -> tuple[float, float]:
        return left / self.width, 1 - top / self.height
