"""Cases with TRex as their generator, and a cable with both of its ports on it."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from connection_cases import opened_through
from switch_cases import real_case

from vsperf.config.case import CaseSpec
from vsperf.config.traffic import TrialPolicy
from vsperf.drivers.generators.trex.driver import TrexSpec
from vsperf.records.run import Endpoint

TREX_VARIABLE = "VSPERF_TREX"
FIXED = {"kind": "fixed", "loads": ["1000fps"], "duration": "500ms"}


def trex_install() -> Path | None:
    """Return the folder of the TRex to test, if there is one."""
    named = os.environ.get(TREX_VARIABLE)
    return None if not named else Path(named)


def trex_case(
    settings: Mapping[str, Any] | None = None, kind: str = "external", **sections: Any
) -> CaseSpec:
    """Return a case whose generator is a TRex; a server is started unless settings name one."""
    return _by_trex(real_case(kind, **{"search": FIXED, **sections}), settings)


def stateful_case(
    settings: Mapping[str, Any] | None = None, kind: str = "external", **more: Any
) -> CaseSpec:
    """Return the same whose method opens connections; `more` is what `opened_through` takes."""
    return _by_trex(opened_through(kind, **more), settings)


def _by_trex(case: CaseSpec, settings: Mapping[str, Any] | None) -> CaseSpec:
    """Return a case of TRex's; what is late is stopped, and only some tests are about that."""
    policy = case.trial.model_dump() | {"stretch_tolerance": "100%"}
    trial = TrialPolicy.model_validate(policy)
    return case.model_copy(update={"generator": trex_spec(settings), "trial": trial})


def trex_spec(settings: Mapping[str, Any] | None = None) -> TrexSpec:
    """Return settings of a TRex, the one to test unless they name a server."""
    generator: dict[str, Any] = {"kind": "trex", **(settings or {})}
    if "server" not in generator and trex_install() is not None:
        generator["install"] = str(trex_install())
    return TrexSpec.model_validate(generator)


def ends(cable: str) -> tuple[Endpoint, ...]:
    """Return both ends of a cable as ports of DPDK."""
    return tuple(
        Endpoint(link=f"phy{number}", kind="vdev", address=packet_socket(number, f"{cable}{end}"))
        for number, end in enumerate("sg")
    )


def packet_socket(number: int, device: str) -> str:
    """Return a device of DPDK on a device of the kernel."""
    return f"net_af_packet{number},iface={device}"


class Clock:
    """The time of a driver and its server, which goes on where somebody waits.

    So a trial lasts for as long as it was asked to, also where the machine is away.
    """

    def __init__(self) -> None:
        self.now_ns = 1_000_000_000

    def monotonic_ns(self) -> int:
        return self.now_ns

    def monotonic(self) -> float:
        return self.now_ns / 1e9

    def sleep(self, seconds: float) -> None:
        self.now_ns += round(seconds * 1e9)
