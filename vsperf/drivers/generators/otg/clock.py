"""Time as trials have it."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

from vsperf.waits import sleep


@dataclass(frozen=True, slots=True)
class Clock:
    """Time as it passes here; tests have another one."""

    now: Callable[[], float] = time.monotonic
    """In seconds."""
    sleep: Callable[[float], None] = sleep
