"""No switch: the generator's own ports, joined to each other, as a case like any other.

What is found is the ceiling: no switch can do more on this machine with this generator. Two ports
of DPDK's memif in one process lead to each other by memory alone, so nothing forwards in between,
and nothing is counted there.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field

from vsperf.config.base import DriverSpec
from vsperf.config.case import CaseSpec
from vsperf.config.counted import PowerOfTwo
from vsperf.config.method import GIVEN_OTHER_RULES, RESTARTED
from vsperf.drivers.ending import until_left
from vsperf.drivers.settings import reading
from vsperf.drivers.vswitches.base import DeploysNothing, NothingRuns, SwitchPlan, step
from vsperf.drivers.vswitches.forwarding import partners
from vsperf.errors import UsageError
from vsperf.host.workspace import Workspace, require_short
from vsperf.records.run import Endpoint, Placeholder, Placement

SOCKET = "none.sock"
USUAL_BUFFER = 2048
"""Bytes that a slot of a memif ring has room for, unless told."""


class NoSwitchSpec(DriverSpec):
    """Settings where there is no switch."""

    FORWARDS: ClassVar[bool] = False
    """What is lost, the generator has lost."""
    CAPPED: ClassVar[bool] = False
    """What is found is the cap."""

    NOT_HELD: ClassVar[str] = "there is no switch, and so nothing that could have a turn"

    kind: Literal["none"]
    ring: Annotated[int, Field(ge=64, le=16384), PowerOfTwo] = 1024
    """Slots of the ring between two ports, for each direction; a power of two."""


@dataclass
class RunningNone(NothingRuns):
    """Nothing runs; it is over when the deployment is."""

    joined: str
    ended: bool = False

    def failure(self) -> str | None:
        return "the deployment has ended" if self.ended else None

    def facts(self) -> dict[str, Any]:
        return {"joined_by": self.joined}

    def restart(self, *, kill: bool) -> None:
        raise _nothing_there(RESTARTED)

    def forget_flows(self) -> None:
        """Do nothing: nobody is there who knows a flow."""

    def change_rules(self, count: int) -> None:
        raise _nothing_there(GIVEN_OTHER_RULES)


def _nothing_there(what: str) -> UsageError:
    return UsageError(
        f"where there is no switch, none can be {what}",
        why="vswitch.kind is none: the generator's ports are joined to each other",
        fix="choose a testcase that does nothing to the switch, or a switch",
    )


class NoSwitch(DeploysNothing):
    """Joins the generator's ports, pair by pair."""

    kind = "none"
    summary = "no switch: the generator's ports joined to each other, the ceiling"
    Spec = NoSwitchSpec

    def plan(self, case: CaseSpec, placement: Placement) -> SwitchPlan:
        spec = _spec_of(case)
        _check(case)
        endpoints = _endpoints(case, spec)
        pairs = ", ".join(f"{first} and {second}" for first, second in _pairs(case))
        action = f"deploy nothing: {pairs} are joined by memory that both have (memif)"
        return SwitchPlan((step(action),), endpoints)

    def require(self, case: CaseSpec) -> None:
        require_short((SOCKET,))

    def start(
        self, case: CaseSpec, plan: SwitchPlan, placement: Placement, workspace: Workspace
    ) -> AbstractContextManager[RunningNone]:
        return until_left(RunningNone("memif"))


def _check(case: CaseSpec) -> None:
    """Refuse what needs a switch."""
    if case.topology.vnfs:
        raise UsageError(
            f"topology {case.topology.name} has {', '.join(case.topology.vnfs)}, and there is "
            "no switch that they could be plugged into",
            why="vswitch.kind is none: the generator's ports are joined to each other",
            fix="--set topology=p2p, or a switch",
        )
    if case.search.done_to_switch is not None:
        raise _nothing_there(case.search.done_to_switch)
    for link in case.topology.links:
        named = case.testbed.links[link]
        if named.generator is not None or named.switch is not None:
            raise UsageError(
                f"testbed link {link} names a device, and nothing is joined to one",
                why="vswitch.kind is none: the generator's ports are made, and joined by memory",
                fix="for a cable between two devices of the generator: --set vswitch.kind=external",
            )


def _pairs(case: CaseSpec) -> tuple[tuple[str, str], ...]:
    """Return the links that are joined, each once."""
    found = partners(case.topology, "memory", "--set topology=p2p, or a switch")
    order = case.topology.links
    return tuple((one, found[one]) for one in order if order.index(one) < order.index(found[one]))


def _endpoints(case: CaseSpec, spec: NoSwitchSpec) -> tuple[Endpoint, ...]:
    """Return the ports: of each pair, one listens, and the other one calls."""
    links, devices = case.topology.links, {}
    longest = -(-max(USUAL_BUFFER, case.longest_bytes) // 64) * 64
    for number, pair in enumerate(_pairs(case)):
        for role, link in zip(("server", "client"), pair, strict=True):
            devices[link] = (
                f"net_memif{links.index(link)},role={role},id={number},"
                f"socket={Placeholder.RUN}/{SOCKET},socket-abstract=no,"
                f"rsize={spec.ring.bit_length() - 1},bsize={longest}"
            )
    return tuple(Endpoint(link=link, kind="vdev", address=devices[link]) for link in links)


_spec_of = reading("vswitch.kind=none", NoSwitchSpec, "a case without a switch")
