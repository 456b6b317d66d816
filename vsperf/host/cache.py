"""What may be lost: findings that are kept between runs because they take long to make.

A cache that others can have written is none, and one that cannot be read is an empty one. Where it
cannot be written, the next run finds out anew.
"""

from __future__ import annotations

import json
import os
from contextlib import suppress
from pathlib import Path
from typing import Any

from vsperf.trust import trusted


def cache_folder() -> Path:
    """Return the folder for what may be lost."""
    base = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return Path(base).expanduser() / "vsperf"


def read_found(path: Path, version: int) -> dict[str, Any]:
    """Return what was found, by key; nothing where it was written in another version."""
    with suppress(OSError, ValueError, KeyError, TypeError, RecursionError):
        content = json.loads(trusted.read(path))
        if content["format"] == version:
            return dict(content["found"])
    return {}


def write_found(path: Path, version: int, found: dict[str, Any]) -> None:
    """Put `found` in the place of what was there, whole or not at all."""
    with suppress(OSError):
        trusted.make_folder(path.parent)
        trusted.replace(path, json.dumps({"format": version, "found": found}).encode())
