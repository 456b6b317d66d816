"""The plan: everything a deployment will do, in order, as a value to print and to store."""

from __future__ import annotations

from vsperf.record.base import Record


class Endpoint(Record):
    """Where a switch port can be reached by the generator."""

    link: str
    """Name of the testbed link."""
    kind: str
    """What has to be spoken there, such as `sim` or `vhost-user`."""
    address: str
    """Socket, PCI address or model."""


class Step(Record):
    """One thing that will be done."""

    component: str
    """Who does it, such as `vswitch` or `generator`."""
    action: str
    """What is done, for people."""
    argv: tuple[str, ...] | None = None
    """The command line, if it is one."""


class Plan(Record):
    """All steps, in order."""

    steps: tuple[Step, ...]
    endpoints: tuple[Endpoint, ...]
    directions: tuple[tuple[str, str], ...]
    """Ways of the test traffic: (link it enters by, link it leaves by)."""
    notes: tuple[str, ...] = ()
    """What a reader of the result must know about the deployment."""
