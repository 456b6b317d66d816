"""The external switch: whatever lies between the devices that the testbed names.

It is deployed by others, on this machine or elsewhere, and vsperf only sends through it. So its
ports are the generator's own devices, and it has no counters and no facts.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import ClassVar, Literal

from pydantic import field_validator

from vsperf.config.base import DriverSpec
from vsperf.config.case import CaseSpec
from vsperf.config.method import GIVEN_OTHER_RULES, MADE_TO_FORGET, RESTARTED
from vsperf.config.modify import Modify
from vsperf.drivers.vswitches.base import DeploysNothing, Filters, NothingRuns, SwitchPlan, step
from vsperf.drivers.vswitches.ports import CHASSIS, VIRTUAL_DEVICE, chassis_endpoint
from vsperf.errors import UsageError
from vsperf.host.binding import pci_addresses
from vsperf.host.workspace import Workspace
from vsperf.records.run import Endpoint, Placement


class ExternalSpec(DriverSpec):
    """Settings of a switch that others deploy: they only say what it was set up for."""

    ELSEWHERE: ClassVar[bool] = True
    """How many frames are on their way in it, nobody knows."""
    MADE_ANEW: ClassVar[bool] = False
    NOT_HELD: ClassVar[str] = "all but one are held still, and this one is somewhere else"

    kind: Literal["external"]
    modify: Modify | None = None
    """What the device was set up to change in each frame; it is looked for where frames arrive."""
    filters: Filters = 0
    """None: vsperf cannot put them in."""

    @field_validator("filters")
    @classmethod
    def _filters_are_put_in_by_others(cls, filters: int) -> int:
        if filters:
            raise ValueError(
                "a switch that others deploy cannot be given filters, and nobody could see whether "
                "they are there; leave them out, or choose a switch that vsperf deploys"
            )
        return filters


class RunningExternal(NothingRuns):
    """A switch of which nothing is known; whether it forwards, only frames tell."""

    def restart(self, *, kill: bool) -> None:
        raise _out_of_reach(RESTARTED)

    def forget_flows(self) -> None:
        raise _out_of_reach(MADE_TO_FORGET)

    def change_rules(self, count: int) -> None:
        raise _out_of_reach(GIVEN_OTHER_RULES)


def _out_of_reach(what: str) -> UsageError:
    return UsageError(
        f"a switch that others deploy cannot be {what}",
        why="vsperf does not reach it, but by the frames that it forwards",
        fix="choose a testcase that does nothing to the switch, or a switch that vsperf deploys",
    )


class ExternalSwitch(DeploysNothing):
    """Deploys nothing: says where the generator's ends of the cables are."""

    kind = "external"
    summary = "a device under test that others deploy, between the links' devices"
    Spec = ExternalSpec

    def plan(self, case: CaseSpec, placement: Placement) -> SwitchPlan:
        if case.topology.vnfs:
            raise UsageError(
                f"topology {case.topology.name} has {', '.join(case.topology.vnfs)}, which an "
                "external switch cannot be given",
                why="vsperf does not deploy it, so it cannot plug VNFs in",
                fix="--set topology=p2p, whatever the frames pass inside of the device under test",
            )
        if case.search.done_to_switch is not None:
            raise _out_of_reach(case.search.done_to_switch)
        endpoints = tuple(_endpoint(case, link) for link in case.topology.links)
        ends = ", ".join(f"{endpoint.link} ({endpoint.address})" for endpoint in endpoints)
        action = f"deploy nothing: what is tested lies between {ends}"
        return SwitchPlan((step(action),), endpoints)

    @contextmanager
    def start(
        self, case: CaseSpec, plan: SwitchPlan, placement: Placement, workspace: Workspace
    ) -> Iterator[RunningExternal]:
        yield RunningExternal()


def _endpoint(case: CaseSpec, link: str) -> Endpoint:
    device = case.testbed.links[link].generator
    setting = f"testbed.links.{link}.generator"
    if device is None:
        raise UsageError(
            f"testbed link {link} names no device at the generator's end",
            why="an external switch is reached by devices of the generator, and by nothing else",
            fix=f"name a PCI address or a virtual device of DPDK: --set {setting}=0000:03:00.0",
        )
    if pci_addresses([device]):
        return Endpoint(link=link, kind="pci", address=device)
    if device.startswith(CHASSIS):
        return chassis_endpoint(link, device)
    if device.startswith(VIRTUAL_DEVICE):
        return Endpoint(link=link, kind="vdev", address=device)
    raise UsageError(
        f"{setting} is {device!r}, which is no device of DPDK",
        why="a device is a PCI address, such as 0000:03:00.0, a virtual device of DPDK, or a port "
        "of a chassis, such as chassis:0/2",
        fix=f"for a network device of the kernel: {setting}=net_af_packet0,iface={device}",
    )
