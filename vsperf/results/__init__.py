"""Stored results, put side by side and one after the other: comparison, trend, and notebooks.

import vsperf.results as r
book = r.open("results")
book.cases()
"""

from vsperf.results.book import Answer, Case, Compared, Followed, Results, Run
from vsperf.results.book import open_results as open

__all__ = ["Answer", "Case", "Compared", "Followed", "Results", "Run", "open"]
