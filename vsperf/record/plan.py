"""The plan: everything a deployment will do, in order, as a value to print and to store."""

from __future__ import annotations

from pydantic import Field

from vsperf.record.base import Record
from vsperf.record.placeholder import Open, Shown


class Endpoint(Record):
    """Where a switch port can be reached by the generator."""

    link: str
    """Name of the testbed link."""
    kind: str
    """What has to be spoken there, such as `sim` or `vhost-user`."""
    address: Open
    """Socket, PCI address or model."""


class Wire(Record):
    """What a network card of a virtual machine is plugged into."""

    machine: str
    """Such as vm1."""
    nic: int
    """Number of the card within its machine, from 0."""
    kind: str
    """What has to be spoken there: with `vhost-user-client` the other side calls and the machine
    listens, with `vhost-user` the other way round."""
    address: Open
    """Socket or device."""
    mac: str
    """Address of the card."""
    peer_mac: str
    """Where frames that leave by the card go to."""


class Step(Record):
    """One thing that will be done."""

    component: str
    """Who does it, such as `vswitch` or `generator`."""
    action: Shown
    """What is done, for people."""
    argv: tuple[Shown, ...] | None = None
    """The command line, if it is one."""
    lines: tuple[Shown, ...] = ()
    """What is written: the lines of a file, flow rules, settings of a database."""


class Placement(Record):
    """Which CPUs do what."""

    cpus: dict[str, tuple[int, ...]] = Field(default_factory=dict)
    """By role, such as `pmd`, `generator` or `switch main`."""
    nodes: dict[str, tuple[int, ...]] = Field(default_factory=dict)
    """Memory nodes of these CPUs, by role; a role that is not named here is on node 0."""
    notes: tuple[str, ...] = ()
    """What a reader must know: roles that share a CPU or a core, memory of another node."""

    def of(self, role: str) -> tuple[int, ...]:
        """Return the CPUs of a role; empty if it has none."""
        return self.cpus.get(role, ())


class Plan(Record):
    """All steps, in order."""

    steps: tuple[Step, ...]
    endpoints: tuple[Endpoint, ...]
    wires: tuple[Wire, ...] = ()
    """The network cards of all machines."""
    directions: tuple[tuple[str, str], ...]
    """Ways of the test traffic: (link it enters by, link it leaves by)."""
    placement: Placement = Placement()
    hugepage_bytes: dict[int, int] = Field(default_factory=dict)
    """Memory in hugepages that all parts together take, by memory node."""
    notes: tuple[str, ...] = ()
    """What a reader of the result must know about the deployment."""
