"""Chassis in tests: what a case asks of one, and what is said to it.

Each line that is said stands in `tests/golden/chassis` where it is said first: how often counters
are asked for is a matter of time.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from switch_cases import switch_case

from vsperf.config.base import DriverSpec
from vsperf.config.case import CaseSpec
from vsperf.records.run import Endpoint

FOLDER = Path(__file__).parent / "golden" / "chassis"
OWNER = re.compile(r"vsp[0-9a-f]{5}\b")
WAYS = (("phy0", "phy1"), ("phy1", "phy0"))


def ports_at(*places: str) -> tuple[Endpoint, ...]:
    """Return the ports of a chassis at these places, link by link."""
    return tuple(
        Endpoint(link=f"phy{number}", kind="chassis", address=place)
        for number, place in enumerate(places)
    )


def chassis_case(generator: DriverSpec, traffic: dict[str, Any] | None = None) -> CaseSpec:
    """Return a case whose generator is a chassis, of which nobody waits for a wire."""
    case = switch_case("external", search={"kind": "fixed", "loads": ["1%"], "duration": "1s"})
    profile = case.traffic.model_validate(case.traffic.model_dump() | (traffic or {}))
    policy = case.trial.model_dump() | {"drain": "10ms", "pause": "0s"}
    sections = {"generator": generator, "traffic": profile}
    return case.model_copy(update={**sections, "trial": case.trial.model_validate(policy)})


def told(lines: Iterable[str]) -> str:
    """Return a conversation, with the name of each deployment replaced."""
    return "".join(f"{line}\n" for line in dict.fromkeys(OWNER.sub("OWNER", one) for one in lines))


def expected(name: str) -> str:
    """Return a conversation as it was written down; a change of it is a change of the driver."""
    return (FOLDER / f"{name}.txt").read_text()
