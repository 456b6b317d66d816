"""The methods that a case can have, as this package offers them."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.metadata import distribution
from typing import Any

from vsperf.methods.base import Method

METHODS: dict[str, type[Method]] = {
    entry.name: entry.load()
    for entry in distribution("vsperf").entry_points
    if entry.group == "vsperf.methods"
}


def method_of(settings: Mapping[str, Any]) -> Method:
    """Return the method that settings describe."""
    return METHODS[settings["kind"]].model_validate(settings)
