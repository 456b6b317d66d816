"""What a virtual switch driver offers."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal, Protocol, runtime_checkable

from pydantic import Field

from vsperf.config.base import DriverSpec
from vsperf.config.case import CaseSpec
from vsperf.config.counted import Counted
from vsperf.config.wiring import Nic
from vsperf.errors import ComponentError, DiedError, NotReadyError
from vsperf.host.cpus import Needs
from vsperf.host.workspace import Workspace
from vsperf.records.run import Endpoint, Placement, Step, Wire
from vsperf.records.switch import Kept, SwitchCounters
from vsperf.records.trial import TrialCounts
from vsperf.waits import sleep

POLL_S = 0.02
Rules = Literal["port", "network", "l2", "l3", "l4", "learn"]
"""By what a switch is told to forward: where a frame came in; that and an IP network, for which it
has to look into each frame; what tells the streams of the traffic apart; or, as `learn`, as a
bridge that learns from the frames themselves behind which port each address is."""

Filters = Annotated[int, Field(ge=0, le=1000), Counted]
"""Rules that forbid what no frame of the test is, and that come before all others."""


@dataclass(frozen=True, slots=True)
class SwitchPlan:
    """What a driver will do, and where its ports will be."""

    steps: tuple[Step, ...]
    endpoints: tuple[Endpoint, ...]
    """Where the generator finds the ports of the links."""
    wires: tuple[Wire, ...] = ()
    """What the NICs of VNFs are plugged into."""


def step(action: str, *lines: str, argv: tuple[str, ...] | None = None) -> Step:
    """Return a step of the switch: what it runs, if it does, and what is written."""
    return Step(component="vswitch", action=action, argv=argv, lines=lines)


def wire_of(nic: Nic, kind: str, address: str) -> Wire:
    """Return what a NIC is plugged into, by what is spoken there and where."""
    return Wire(
        vnf=nic.vnf,
        nic=nic.number,
        kind=kind,
        address=address,
        mac=nic.mac,
        peer_mac=nic.peer_mac,
    )


def require_root(who: str, why: str, user: int | None = None) -> None:
    """Raise `NotReadyError` for anybody but root; `user` stands in for the own."""
    if (os.geteuid() if user is None else user) != 0:
        raise NotReadyError(f"{who} needs root", why=why, fix="run vsperf with sudo")


def await_ports(
    waiting_for: Callable[[], list[str]],
    failure: Callable[[], str | None],
    look: Callable[[], None],
    patience_s: float,
    who: str = "the switch",
    why: str = "nobody is at its other end, or the switch could not take it up",
) -> None:
    """Wait until somebody is at the other end of each port.

    `look` raises when another part of the deployment has ended.
    """
    deadline = time.monotonic() + patience_s
    while waiting := waiting_for():
        if (reason := failure()) is not None:
            raise DiedError("the switch failed while it took up its ports", why=reason)
        look()
        if time.monotonic() > deadline:
            raise ComponentError(
                f"port {', '.join(waiting)} of {who} did not come up within {patience_s:g} s",
                why=why,
                fix="`vsperf plan` prints the commands of both ends, to be tried by hand",
            )
        sleep(POLL_S)  # between two looks at a condition, never instead of one


class RunningSwitch(Protocol):
    """A switch that forwards."""

    def failure(self) -> str | None:
        """Return why the switch no longer works, or None while it does."""

    def await_ports(self, places: tuple[str, ...], patience_s: float) -> None:
        """Wait until these ports forward, their other ends being there; else `ComponentError`.

        A port is named by its link, or as a VNF's NIC names it.
        """

    def counters(self) -> SwitchCounters | None:
        """Return all counters as they stand; None where there are none, as in a model."""

    def facts(self) -> dict[str, Any]:
        """Return versions, build flags and settings as found, for the record."""

    def restart(self, *, kill: bool) -> None:
        """End the switch and start it again, ports and rules included, while others go on."""

    def forget_flows(self) -> None:
        """Forget which flows were seen: the next frame of each is looked up in the rules.

        A switch that learns addresses forgets these, too.
        """

    def change_rules(self, count: int) -> None:
        """Add so many rules that no frame of a test matches; below 0, take those out again."""

    def access(self) -> tuple[str, ...]:
        """Return the commands by which a person looks at the running switch."""


class NothingRuns:
    """What a switch answers where nothing runs that could be asked; frames alone tell."""

    def failure(self) -> str | None:
        return None

    def await_ports(self, places: tuple[str, ...], patience_s: float) -> None:
        pass

    def counters(self) -> SwitchCounters | None:
        return None

    def facts(self) -> dict[str, Any]:
        return {}

    def access(self) -> tuple[str, ...]:
        return ()


@runtime_checkable
class HeldStill(Protocol):
    """A running switch that can be held still, and goes on where it was (`HELD_STILL`)."""

    def processes(self) -> tuple[int, ...]:
        """Return the numbers of the processes that forward; none where nothing needs to stop."""


@runtime_checkable
class Routes(Protocol):
    """A running switch that is a hop of its own: it takes no frame that is not addressed to it."""

    def next_hops(self) -> Mapping[str, str]:
        """Return, by link, the MAC address that frames from its end are to be sent to."""


@runtime_checkable
class KeepsConnections(Protocol):
    """A running switch that can tell how many connections it keeps, and what that takes."""

    def kept(self) -> Kept:
        """Return what it keeps now."""


@runtime_checkable
class ForgetsConnections(Protocol):
    """A running switch that can be told to forget all connections that it keeps."""

    def forget_connections(self) -> None:
        """Forget them all; nothing where it keeps none."""


@runtime_checkable
class ModelledSwitch(Protocol):
    """A running switch that is a model: what is done to it happens in the time of a trial."""

    def away_ns(self, *, kill: bool) -> int:
        """Return for how long it forwards nothing when it is restarted."""

    def carried(self, counts: TrialCounts, duration_ns: int) -> None:
        """Be told which frames it had to do with in a trial, as it saw none."""


class VSwitch(Protocol):
    """Deploys one kind of switch."""

    kind: ClassVar[str]
    summary: ClassVar[str]
    Spec: ClassVar[type[DriverSpec]]

    def needs(self, case: CaseSpec) -> Needs:
        """Return what the switch asks of the machine; touches nothing."""

    def plan(self, case: CaseSpec, placement: Placement) -> SwitchPlan:
        """Say what `start` will do; touches nothing.

        What is only known when it runs, such as its folder, is a `Placeholder`.
        """

    def require(self, case: CaseSpec) -> None:
        """Raise `NotReadyError` for what the machine lacks; asked before anything is started."""

    def start(
        self, case: CaseSpec, plan: SwitchPlan, placement: Placement, workspace: Workspace
    ) -> AbstractContextManager[RunningSwitch]:
        """Bring the switch up; leaving the context takes it down."""


class DeploysNothing(VSwitch):
    """A driver of what asks nothing of the machine."""

    def needs(self, case: CaseSpec) -> Needs:
        return Needs()

    def require(self, case: CaseSpec) -> None:
        pass
