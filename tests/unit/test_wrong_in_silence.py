"""No search is wrong in silence of a switch that changes, tires or hides what it lost.

The truth is known of each model; over more seeds `tools/bench/coverage.py` asks the same.
"""

from __future__ import annotations

import sys

import pytest
from all_wrong import none_wrong
from conftest import REPOSITORY

sys.path.insert(0, str(REPOSITORY / "tools" / "bench"))

from coverage import SEARCHES, Answer, hold
from coverage_models import MODELS, Model

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
