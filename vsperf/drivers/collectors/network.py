"""`network`: the counters of the kernel's network devices, wherever a role has some."""

from __future__ import annotations

from typing import Literal

from vsperf.config.base import DriverSpec
from vsperf.drivers.collectors.beside import Sampled, SamplerSpec
from vsperf.records.series import Quantity


class NetworkSpec(SamplerSpec):
    """Settings of `network`."""

    kind: Literal["network"]


class Network(Sampled):
    """What went through the devices of the host, and of the networks that roles are in."""

    kind = "network"
    summary = "counters of the kernel's network devices, in the networks in use"
    source = "devices"
    Spec = NetworkSpec

    def quantities(self, settings: DriverSpec) -> tuple[Quantity, ...]:
        return tuple(
            Quantity(name=f"{way}_{name}", unit=unit, meaning=f"{verb}: {what}")
            for way, verb in (("rx", "received"), ("tx", "sent"))
            for name, unit, what in (
                ("bytes", "bytes", "bytes"),
                ("frames", "1", "frames"),
                ("errors", "1", "frames with errors"),
                ("dropped", "1", "frames that were dropped"),
                ("fifo", "1", "frames that found a queue full"),
            )
        )
