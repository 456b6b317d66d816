"""Runs as commands are given them: by an id, by a label, or as the latest."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from vsperf.errors import UsageError
from vsperf.records.files.folders import resolve
from vsperf.records.files.index import Index
from vsperf.records.files.query import Filter
from vsperf.records.run import parse_label


def is_label(text: str) -> bool:
    """Return whether a word names runs by a label, `KEY=VALUE`."""
    return "=" in text and "/" not in text


def labelled(results: Path, text: str) -> tuple[Path, ...]:
    """Return the folders of all runs with a label, as they began; there is at least one.

    Their order tells whether repeats depend on each other, and names of folders end by chance.
    """
    with Index.open(results) as index:
        index.refresh()
        found = index.runs(Filter(labels=(parse_label(text),)))
    if not found:
        raise UsageError(
            f"no stored run fits {text!r}",
            why="no run was given this by `vsperf run --label`, or it was refused before it began",
            fix="`vsperf results` lists the runs there are",
        )
    return tuple(results / run.run for run in reversed(found))


def find_runs(results: Path, texts: Iterable[str]) -> tuple[Path, ...]:
    """Return the run folders that RUN arguments mean, each once, in the order given.

    Each is a path, `latest`, a whole run id, its last letters, a beginning that fits only one, or
    `KEY=VALUE`, which means all runs with that label.
    """
    found = dict[Path, None]()
    for text in texts:
        folders = labelled(results, text) if is_label(text) else (resolve(results, text),)
        found.update(dict.fromkeys(folders))
    return tuple(found)
