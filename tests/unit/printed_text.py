"""What is printed, as text."""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import Any

from vsperf.cli.terminal import PlainConsole


def printed(show: Callable[..., object], *told: Any, width: int = 200, **how: Any) -> str:
    """Return what something prints of what it is told, where there are so many columns."""
    out = PlainConsole(stderr=False, width=width)
    out.file = file = io.StringIO()
    show(out, *told, **how)
    return file.getvalue()
