"""Carrying out a plan: each part registers its undo with the stack before it acts."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Protocol

from vsperf.config.case import CaseSpec
from vsperf.config.wiring import nics
from vsperf.deploy.cache import cache_cpus
from vsperf.deploy.planner import CasePlan, Drivers, entries_of
from vsperf.drivers.generators.base import GeneratorSession
from vsperf.drivers.vnfs.base import RunningVnfs
from vsperf.drivers.vswitches.base import RunningSwitch
from vsperf.errors import ComponentError, DiedError
from vsperf.host.binding import bound, pci_addresses
from vsperf.host.hugepages import reserve
from vsperf.host.resctrl import Groups, partitioned
from vsperf.host.workspace import Workspace
from vsperf.quantities.units import Duration
from vsperf.records.run import Endpoint

PORTS_S = 10.0
"""Patience with ports whose other ends are there; a switch may call again only once a second."""


@dataclass(frozen=True, slots=True)
class Deployment:
    """The running parts; they end with the stack that they were deployed on."""

    switch: RunningSwitch
    generator: GeneratorSession
    vnfs: RunningVnfs | None = None
    """None where no VNF takes part."""
    entries: tuple[Endpoint, ...] = ()
    """Where the frames of each direction leave the generator."""

    @property
    def access(self) -> tuple[str, ...]:
        """The commands by which a person looks at what runs."""
        return (*(self.vnfs.access() if self.vnfs else ()), *self.switch.access())


def deploy(
    spec: CaseSpec,
    plan: CasePlan,
    drivers: Drivers,
    workspace: Workspace,
    stack: ExitStack,
    *,
    with_generator: bool = True,
) -> Deployment:
    """Start everything that the plan names.

    VNFs take longest to come up, and most of them wait for the switch to call: they begin.
    """
    placement = plan.plan.placement
    wires = tuple(
        wire.model_copy(update={"address": workspace.fill(wire.address)})
        for wire in plan.plan.wires
    )
    vnfs = None
    if drivers.vnf is not None:
        vnfs = stack.enter_context(drivers.vnf.start(spec, wires, placement, workspace))
    switch = stack.enter_context(drivers.vswitch.start(spec, plan.switch, placement, workspace))
    endpoints = tuple(
        endpoint.model_copy(update={"address": workspace.fill(endpoint.address)})
        for endpoint in plan.plan.endpoints
    )
    with blaming("the generator started", switch):
        generator = stack.enter_context(
            drivers.generator.start(spec, endpoints, plan.plan.directions, placement, workspace)
        )
    if vnfs is not None:
        with blaming("VNFs were waited for", switch, generator):
            vnfs.await_forwarding()
    switch.await_ports(awaited(spec, with_generator=with_generator), patience_s(spec))
    return Deployment(switch, generator, vnfs, entries_of(endpoints, plan.plan.directions))


class _Part(Protocol):
    def failure(self) -> str | None:
        """Return why it no longer works, or None while it does."""


@contextmanager
def blaming(when: str, *others: _Part) -> Iterator[None]:
    """Name another part that has failed, where one waited for it in vain.

    A program that ends is noticed at once; one that hangs, only when there is nothing left to wait
    for.
    """
    try:
        yield
    except DiedError:
        raise
    except ComponentError as error:
        for other in others:
            if (reason := other.failure()) is not None:
                raise DiedError(f"another part failed while {when}", why=reason) from error
        raise


def awaited(spec: CaseSpec, *, with_generator: bool) -> tuple[str, ...]:
    """Return the ports that somebody is at: without a generator, those of VNFs only."""
    own = tuple(nic.port for nic in nics(spec.topology) if nic.faces is not None)
    return (*spec.topology.links, *own) if with_generator else own


def patience_s(spec: CaseSpec) -> float:
    """Return how long ports may take: a guest of the user's own plugs in while it boots."""
    boot = getattr(spec.vnf, "boot_timeout", None) if spec.topology.vnfs else None
    return boot.seconds if isinstance(boot, Duration) else PORTS_S


def prepare(
    spec: CaseSpec, plan: CasePlan, workspace: Workspace, stack: ExitStack
) -> Groups | None:
    """Give the parts the NICs and the memory that they will ask for, and their parts of the cache.

    Returns the latter, if anybody has one.
    """
    if addresses := pci_addresses(spec.testbed.devices):
        stack.enter_context(bound(addresses, workspace))
    if plan.plan.hugepage_bytes:
        stack.enter_context(reserve(plan.plan.hugepage_bytes, workspace))
    if not spec.cache:
        return None
    cpus = cache_cpus(spec, plan.plan.placement)
    return stack.enter_context(partitioned({**spec.cache}, cpus, workspace))
