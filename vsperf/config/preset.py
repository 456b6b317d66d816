"""The header of a preset file; the rest of such a file is a layer like any other."""

from __future__ import annotations

from pydantic import Field

from vsperf.config.base import Spec


class PresetHeader(Spec):
    """Names a preset and what it builds upon."""

    name: str = Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$")
    """What `--preset` calls it; its file is called the same."""
    title: str = ""
    """One line for lists."""
    extends: str | None = None
    """Another preset, whose values this one overrides."""
