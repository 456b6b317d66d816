"""All VNFs of a deployment, asked one by one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

from vsperf.records.switch import VnfCounters


class Member(Protocol):
    """One VNF that runs."""

    @property
    def name(self) -> str:
        """Such as vm1."""

    def failure(self) -> str | None:
        """Return why it no longer works, or None while it does."""

    def counters(self) -> VnfCounters:
        """Return its counters."""

    def facts(self) -> dict[str, Any]:
        """Return what it is, for the record."""


AnyMember = TypeVar("AnyMember", bound=Member)


@dataclass
class Group(Generic[AnyMember]):
    """The VNFs, in the order of the topology."""

    vnfs: Sequence[AnyMember]

    def failure(self) -> str | None:
        found = (running.failure() for running in self.vnfs)
        return next((why for why in found if why is not None), None)

    def counters(self) -> tuple[VnfCounters, ...]:
        return tuple(running.counters() for running in self.vnfs)

    def facts(self) -> dict[str, Any]:
        return {running.name: running.facts() for running in self.vnfs}
