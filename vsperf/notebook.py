"""Stored results, put side by side and one after the other: comparison, trend, and notebooks.

import vsperf.notebook as r
book = r.open("results")
book.cases()
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from vsperf.output.book import Answer, Case, Compared, Followed, Results, Run
    from vsperf.output.book import open_results as open

__all__ = ["Answer", "Case", "Compared", "Followed", "Results", "Run", "open"]


def __getattr__(name: str) -> Any:
    """Return what notebooks use; commands that need one module of this package load no other."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from vsperf.output import book

    return getattr(book, "open_results" if name == "open" else name)
