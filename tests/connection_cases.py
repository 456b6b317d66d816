"""Cases in which connections are opened, for tests of what is between their ends."""

from __future__ import annotations

from typing import Any

from switch_cases import real_case, switch_case

from vsperf.config.case import CaseSpec
from vsperf.config.connections import Protocol
from vsperf.methods.connection_search import ConnectionRate


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
