"""Hostile command lines: no traceback, no bug told, nothing that hangs."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from hostile_inputs import give_some, seeds

pytestmark = pytest.mark.thorough


@seeds
def test_each_has_an_answer_or_a_reason(
    seed: int, tmp_path: Path, require: Callable[[str], None]
) -> None:
    give_some("cli", seed, tmp_path, require)
