"""What is said to a chassis, held against what stands in `tests/golden/chassis`.

Each line stands where it is said first: how often counters are asked for is a matter of time.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

FOLDER = Path(__file__).parent / "golden" / "chassis"
OWNER = re.compile(r"vsp[0-9a-f]{5}\b")


def told(lines: Iterable[str]) -> str:
    """Return a conversation, with the name of each deployment replaced."""
    return "".join(f"{line}\n" for line in dict.fromkeys(OWNER.sub("OWNER", one) for one in lines))


def expected(name: str) -> str:
    """Return a conversation as it was written down; a change of it is a change of the driver."""
    return (FOLDER / f"{name}.txt").read_text()
