"""Has pytest say the values of an assert that fails in a contract, and in what tests share.

Else it does so in files of tests and nowhere else: of a contract it says `AssertionError`, and no
more. A package of its own takes it by `-p assertions`.
"""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
FOLDERS = (HERE, *(HERE / name for name in ("contract", "unit", "integration")))
NAMES = {one.stem for folder in FOLDERS for one in folder.glob("*.py")}

pytest.register_assert_rewrite(*(NAMES - sys.modules.keys()))
