"""No search is wrong in silence of a switch that changes, tires or hides what it lost.

The truth is known of each model; over more seeds `tools/bench/coverage.py` asks the same.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import coverage
import pytest
from all_wrong import none_wrong
from coverage import SEARCHES, Answer, Held, hold, measure
from coverage_models import MODELS, Model

import vsperf

SEEDS = range(2)
MORE_SEEDS = range(2, 20)
QUICKLY = ("quick", "rfc2544", "tst009")
CHANGING = [model for model in MODELS if model.course is not None]
HIDING = [model for model in MODELS if not (model.timed and model.numbered)]
TIRING = [model for model in MODELS if model.name == "tired until it rests"]


def silent(model_name: str, search: str, seeds: range) -> str | None:
    (model,) = (one for one in MODELS if one.name == model_name)
    held = hold(model, SEARCHES[search], seeds)
    told = held.raw + held.by_regime
    number = told[Answer.SILENT]
    return f"{model_name}, {search}: {number} of {told.total()}" if number else None


@pytest.mark.parametrize("search", QUICKLY)
@pytest.mark.parametrize("models", [CHANGING, HIDING, TIRING], ids=["changing", "hiding", "tiring"])
def test_what_can_be_seen_is_said(models: list[Model], search: str) -> None:
    none_wrong(said for one in models if (said := silent(one.name, search, SEEDS)))


@pytest.mark.thorough
@pytest.mark.parametrize("search", SEARCHES)
def test_so_it_is_over_many_seeds(search: str) -> None:
    models = [*CHANGING, *HIDING, *TIRING]
    none_wrong(said for one in models if (said := silent(one.name, search, MORE_SEEDS)))


def test_what_was_found_is_kept_world_by_world_and_the_same_command_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A hundred seeds take hours: a kill loses one world, and its torn line no other."""
    asked = {"model": ["ideal"], "search": ["quick"], "seeds": 2, "kept": False}
    tried: list[int] = []

    def counting(model: Model, search: dict[str, Any], seeds: Sequence[int]) -> Held:
        tried.extend(seeds)
        return hold(model, search, seeds)

    monkeypatch.setattr(coverage, "hold", counting)
    measure(argparse.Namespace(**asked, first=1, folder=tmp_path))
    (file,) = tmp_path.iterdir()
    with file.open("a") as torn:
        torn.write('\n{"model": "ideal", "sea')
    whole = measure(argparse.Namespace(**asked, first=0, folder=tmp_path))
    assert tried == [1, 0]
    capsys.readouterr()
    shown = measure(argparse.Namespace(**{**asked, "kept": True}, first=0, folder=tmp_path))
    assert (shown, tried) == (whole, [1, 0])
    assert "\n2 searches: 4 holds, 0 said, 0 assumed, 0 silent; 0 of " in capsys.readouterr().out


def test_other_code_that_decides_is_another_state_and_another_command_line_is_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(vsperf, "__file__", str(tmp_path / "__init__.py"))
    before = coverage.state()
    for folder, same in (("cli", True), ("search", False)):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "new.py").write_text("")
        assert (coverage.state() == before) is same
