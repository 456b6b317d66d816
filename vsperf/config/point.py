"""The point of a case: what it has of each list that makes several, and how its label says so."""

from __future__ import annotations

WORDS = {
    **{"flows": "{}flows", "instances": "{}instances", "offloads": "offloads-{}"},
    **{"pinning": "cpus-{}", "pmds": "{}pmds", "workers": "{}workers"},
}
"""Of values that say nothing without a word."""


def point_label(name: str, value: str) -> str:
    """Return how a value of a list stands in the label of its case, such as 4096flows."""
    return WORDS.get(name, "{}").format(value)
