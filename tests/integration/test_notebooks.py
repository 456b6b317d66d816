"""The notebooks of docs/ do what they show: each is executed anew, and says the same again."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient

NOTEBOOKS = Path(__file__).parents[2] / "docs" / "notebooks"
PASSING = re.compile(r"\d{4}-\d\d-\d\d[-\w:. ]*|(?<=B-)[0-9a-f]{8}\b")
"""What is another each time: runs and moments, and the digest of a case at each new setting."""


def outputs(notebook: Any) -> list[str]:
    """What the cells show as text, one after the other, without what is another each time."""
    shown = [output for cell in notebook.cells for output in cell.get("outputs", [])]
    assert not [one for one in shown if one["output_type"] == "error"]
    return [PASSING.sub("…", one.get("data", {}).get("text/plain", "")) for one in shown]


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::ResourceWarning")
@pytest.mark.parametrize("path", sorted(NOTEBOOKS.glob("*.ipynb")), ids=lambda path: path.stem)
def test_a_notebook_says_what_it_said(path: Path, tmp_path: Path) -> None:
    stored: Any = nbformat.read(path, as_version=4)  # type: ignore[no-untyped-call]
    again: Any = nbformat.read(path, as_version=4)  # type: ignore[no-untyped-call]
    resources = {"metadata": {"path": str(tmp_path)}}
    NotebookClient(again, timeout=300, kernel_name="python3", resources=resources).execute()
    assert outputs(again) == outputs(stored)
    assert "SIMULATED" in path.read_text(encoding="utf-8")
