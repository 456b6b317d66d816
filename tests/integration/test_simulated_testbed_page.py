"""What the page on the simulated testbed promises is what vsperf says."""

from __future__ import annotations

import json
import re
import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import get_args

import pytest

from vsperf.cli.main import run_cli
from vsperf.records.flags import Flag
from vsperf.records.result import Limit
from vsperf.records.run import Outcome
from vsperf.simulation.generator import Fault
from vsperf.simulation.models import AnyBehaviour

pytestmark = pytest.mark.everyday

PAGE = Path(__file__).parents[2] / "docs" / "simulated-testbed.md"


@dataclass(frozen=True)
class Row:
    """One line of the page's tables."""

    name: str
    arguments: tuple[str, ...]
    said: frozenset[str]


def rows() -> list[Row]:
    """Return every row that says what to try."""
    found = []
    for line in PAGE.read_text().splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if len(cells) == 4 and cells[2].startswith("`--"):
            said = frozenset(re.findall(r"`([^`]+)`", cells[3]))
            found.append(Row(cells[0].strip("`"), tuple(shlex.split(cells[2].strip("`"))), said))
    return found


def base_command() -> list[str]:
    """Return the command that the page asks to put in front."""
    found = re.search(r"^    vsperf (run .*)$", PAGE.read_text(), re.MULTILINE)
    assert found is not None
    return shlex.split(found[1])


@pytest.mark.parametrize("row", rows(), ids=lambda row: " ".join(row.arguments))
def test_vsperf_says_what_the_page_says(
    row: Row, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("VSPERF_PATH", raising=False)
    how = ["--results", str(tmp_path / "results"), "--progress", "quiet", "--json"]
    run_cli([*base_command(), *row.arguments, *how])
    run = json.loads(capsys.readouterr().out)
    (case,) = run["cases"]
    assert run["simulated"] is True
    words = {case["outcome"], *case["flags"], *filter(None, [case["limit"]])}
    assert row.said == words, case["reason"]


def test_the_page_shows_every_model_and_every_fault() -> None:
    kinds = {
        get_args(model.model_fields["kind"].annotation)[0]
        for model in get_args(get_args(AnyBehaviour)[0])
    }
    assert {row.name for row in rows()} == kinds | set(Fault)


def test_the_page_uses_the_words_of_results_only() -> None:
    known = {*Outcome, *Flag, *Limit}
    assert frozenset().union(*(row.said for row in rows())) <= known
