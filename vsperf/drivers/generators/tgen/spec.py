"""Settings of tgen."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal, Self

from pydantic import AfterValidator, Field, model_validator

from vsperf.config.base import DriverSpec
from vsperf.config.counted import Counted
from vsperf.quantities.units import CpuSet, Duration

LEAST_NS = 10_000_000
QUICK_BOOT = Duration(60_000_000_000)
FOR_GUESTS = ("accelerator", "boot_timeout")
"""Settings that nothing but a guest reads."""


def _long_enough(value: Duration) -> Duration:
    if value.ns < LEAST_NS:
        raise ValueError("the least time in which stalls can be seen is 10ms")
    return value


class TgenSpec(DriverSpec):
    """Settings of the DPDK traffic generator of this project."""

    BESIDE: ClassVar[frozenset[str]] = frozenset({"stalls"})

    kind: Literal["tgen"]
    cpus: CpuSet | None = None
    """CPUs that send and receive, one worker each; as many as `workers` says when not given. One
    worker serves all ports both ways; of several, the first half sends and the others receive."""
    workers: Annotated[int, Field(ge=1, le=64)] = 1
    """How many CPUs send and receive, where `cpus` does not name them."""
    hugepages: bool = True
    """Take memory from hugepages; without, it is slower, and enough for trying things out."""
    burst: Annotated[int, Field(ge=1, le=64)] = 32
    """Most frames sent back to back; smaller is smoother, larger is faster."""
    queues: Annotated[int, Field(ge=1, le=16)] = 1
    """Queues of each port. Those workers that send share the directions; so many of them, and no
    more than there are queues, send one together."""
    ring: Annotated[int, Field(ge=64, le=32768)] = 1024
    """Descriptors of each queue."""
    in_flight: Annotated[int, Field(ge=0, le=1_000_000), Counted] | None = None
    """Most frames of a direction on their way at a time, with one CPU that does everything: as long
    as they all have room in its ring, no stall of the generator loses any. 0 for no bound. Unless
    given, there is one where nothing but a switch on vhost-user is between the ports, and 64 where
    these are packet sockets. Switches in turns have that bound alone, or the one that is given."""
    respond: bool = False
    """Answer devices that ask by ARP, or by neighbour discovery of IPv6, where the addresses of the
    traffic are; one that routes needs that."""
    grace: Duration = Duration(1_000_000)
    """How long sending may go on after its time, to catch up with a stall of the host; never more
    than `trial.stretch_tolerance` allows."""
    stalls: Annotated[Duration, AfterValidator(_long_enough)] = Duration(1_000_000_000)
    """How long the CPUs are watched for stalls before the first case; what is rare needs longer."""
    place: Literal["host", "vm"] = "host"
    """Where it runs: on this machine, or in a guest of its own whose NICs are on the switch."""
    accelerator: Literal["auto", "kvm", "tcg"] = "auto"
    """What that guest runs on: KVM, or emulation (TCG), with which results are functional only.
    `auto` is KVM where a guest has been seen to boot on it."""
    boot_timeout: Duration = QUICK_BOOT
    """How long that guest may take until tgen answers in it."""
    eal: tuple[str, ...] = ()
    """More arguments for DPDK's environment layer, such as --log-level=8."""

    @model_validator(mode="after")
    def _settings_are_read(self) -> Self:
        """Refuse what would change nothing."""
        fields = type(self).model_fields
        ignored = [name for name in FOR_GUESTS if getattr(self, name) != fields[name].default]
        if self.place == "host" and ignored:
            raise ValueError(
                f"nobody reads {', '.join(ignored)}, since place is host; say `place: vm`"
            )
        return self
