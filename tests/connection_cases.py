"""Cases in which connections are opened, for tests of what is between their ends."""

from __future__ import annotations

from typing import Any

from switch_cases import real_case, switch_case

from vsperf.config.case import CaseSpec
from vsperf.config.connections import Protocol
from vsperf.drivers.vswitches.base import SwitchPlan
from vsperf.methods.connection_search import ConnectionRate
from vsperf.records.run import shown


def lines_of(plan: SwitchPlan) -> list[str]:
    """Return all that a plan shows of what is written or told."""
    return [shown(line) for step in plan.steps for line in step.lines]


def opened_through(
    kind: str,
    *,
    clients: int = 1,
    servers: int = 1,
    real: bool = False,
    protocol: Protocol = "tcp",
    **settings: Any,
) -> CaseSpec:
    """Return a case in which so many clients call so many servers through a switch of a kind."""
    case = (real_case if real else switch_case)(kind, settings)
    asked = {"kind": "cps", "clients": clients, "servers": servers, "protocol": protocol}
    return case.model_copy(update={"search": ConnectionRate.model_validate(asked)})
