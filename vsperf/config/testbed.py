"""What exists on a testbed: hosts, and the links that join generator ports to switch ports."""

from __future__ import annotations

from pydantic import Field

from vsperf.config.base import Spec
from vsperf.quantities.units import CpuSet, LinkSpeed


class Host(Spec):
    """A computer that takes part, and which of its CPUs may be used."""

    address: str = "local"
    """`local`, or an ssh destination."""
    cpus: CpuSet | None = None
    """CPUs that may be used; all of them when not given."""


class Link(Spec):
    """A cable, real or virtual, from a port of the generator to a port of the switch."""

    speed: LinkSpeed
    """Bit rate of one direction; 100% of a load and the line rate in results refer to it."""
    virtual: bool = False
    """No cable: nothing carries a line rate, and `speed` only bounds the loads of a search."""
    generator: str | None = None
    """Device at the generator's end; made by the deployment when not given."""
    switch: str | None = None
    """Device at the switch's end; made by the deployment when not given."""


class Testbed(Spec):
    """The hosts and links that a testcase runs on; no test logic."""

    __test__ = False  # not a test class, whatever its name suggests to pytest

    name: str = Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$")
    """What `--testbed` and records call it; its file is called the same."""
    title: str = ""
    """One line for lists."""
    simulated: bool = False
    """True where numbers come from a model; every output then says so."""
    hosts: dict[str, Host] = Field(default_factory=lambda: {"local": Host()})
    links: dict[str, Link] = Field(min_length=1)
    """By name; topologies speak of these names (`phy0`, `phy1`)."""

    @property
    def devices(self) -> tuple[str, ...]:
        """The devices that links name, at either end."""
        ends = [end for link in self.links.values() for end in (link.switch, link.generator)]
        return tuple(end for end in ends if end is not None)
