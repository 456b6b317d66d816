"""Carrying out a plan: each part registers its undo with the stack before it acts."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass

from vsperf.deploy.planner import CasePlan, Drivers
from vsperf.host.binding import bound, pci_addresses
from vsperf.host.hugepages import reserve
from vsperf.host.workspace import Workspace
from vsperf.spec.case import CaseSpec
from vsperf.trafficgens.base import GeneratorSession
from vsperf.vswitches.base import RunningSwitch


@dataclass(frozen=True, slots=True)
class Deployment:
    """The running parts; they end with the stack that they were deployed on."""

    switch: RunningSwitch
    generator: GeneratorSession


def deploy(
    spec: CaseSpec, plan: CasePlan, drivers: Drivers, workspace: Workspace, stack: ExitStack
) -> Deployment:
    """Start everything that the plan names, the switch first."""
    placement = plan.plan.placement
    switch = stack.enter_context(drivers.vswitch.start(spec, plan.switch, placement, workspace))
    endpoints = tuple(
        endpoint.model_copy(update={"address": workspace.fill(endpoint.address)})
        for endpoint in plan.plan.endpoints
    )
    generator = stack.enter_context(
        drivers.generator.start(spec, endpoints, plan.plan.directions, placement, workspace)
    )
    return Deployment(switch, generator)


def prepare(spec: CaseSpec, plan: CasePlan, workspace: Workspace, stack: ExitStack) -> None:
    """Give the parts the network cards and the memory that they will ask for."""
    links = spec.testbed.links.values()
    addresses = pci_addresses(device for link in links for device in (link.switch, link.generator))
    if addresses:
        stack.enter_context(bound(addresses, workspace))
    if plan.plan.hugepage_bytes:
        stack.enter_context(reserve(plan.plan.hugepage_bytes, workspace))
