"""Cases with dperf as their generator."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from connection_cases import opened_through

from vsperf.config.case import CaseSpec
from vsperf.drivers.generators.dperf.plan import DperfSpec

DPERF_VARIABLE = "VSPERF_DPERF"


def dperf_program() -> Path | None:
    """Return the dperf to test, if there is one: `dperf` in the folder that is named."""
    named = os.environ.get(DPERF_VARIABLE)
    return None if not named else Path(named) / "dperf"


def dperf_case(
    kind: str = "external", settings: Mapping[str, Any] | None = None, **more: Any
) -> CaseSpec:
    """Return a case whose generator is dperf; `more` is what `opened_through` takes."""
    program = dperf_program()
    generator: dict[str, Any] = {"kind": "dperf", **(settings or {})}
    if program is not None:
        generator.setdefault("path", str(program))
    case = opened_through(kind, **more)
    return case.model_copy(update={"generator": DperfSpec.model_validate(generator)})
