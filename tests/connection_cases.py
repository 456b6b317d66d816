"""Cases in which connections are opened, for tests of what is between their ends."""

from __future__ import annotations

from typing import Any, ClassVar

from switch_cases import real_case, switch_case

from vsperf.config.case import CaseSpec
from vsperf.methods.fixed import FixedLoad

ONE_LOAD = {"kind": "fixed", "loads": ["1kfps"], "duration": "1s"}


class Opened(FixedLoad):
    """A method of which a switch knows no more than that there are connections, and between whom.

    Whatever opens them is the test's own.
    """

    CONNECTIONS: ClassVar[bool] = True

    clients: int = 1
    servers: int = 1


def opened_through(
    kind: str, *, clients: int = 1, servers: int = 1, real: bool = False, **settings: Any
) -> CaseSpec:
    """Return a case in which so many clients call so many servers through a switch of a kind."""
    case = (real_case if real else switch_case)(kind, settings)
    asked = ONE_LOAD | {"clients": clients, "servers": servers}
    return case.model_copy(update={"search": Opened.model_validate(asked)})
