"""`vpp`: what the nodes of VPP's graph did, thread by thread: its `show runtime`, as counters."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from vsperf.config.base import DriverSpec
from vsperf.drivers.collectors.asked import Asked
from vsperf.records.series import Nature, Quantity, Value


class VppCollectorSpec(DriverSpec):
    """Settings of `vpp`; it has none."""

    kind: Literal["vpp"]


class VppInsides(Asked):
    """Calls, frames and cycles of every node, and what that is per call and per frame."""

    kind = "vpp"
    summary = "VPP: calls, vectors per call and clocks per frame, by thread and node"
    Spec = VppCollectorSpec

    def quantities(self, settings: DriverSpec) -> tuple[Quantity, ...]:
        gauge = Nature.GAUGE
        per_call, per_frame = "vectors per call, in the trial", "clocks per frame, in the trial"
        return (
            Quantity(name="calls", unit="1", meaning="calls of a node"),
            Quantity(name="frames", unit="1", meaning="frames that it was called with (vectors)"),
            Quantity(name="cycles", unit="cycles", meaning="time in it (clocks)"),
            Quantity(name="frames_per_call", unit="1", nature=gauge, meaning=per_call),
            Quantity(name="cycles_per_frame", unit="cycles", nature=gauge, meaning=per_frame),
            Quantity(name="count_*", unit="1", meaning="what a node counts, by its own words"),
            Quantity(name="buffers_*", unit="1", nature=gauge, meaning="buffers of a pool"),
        )

    def derived(self, before: Mapping[str, Value], now: Mapping[str, Value]) -> Mapping[str, Value]:
        """Return what a node had on average in a trial; nothing where it had no frames."""
        calls, frames, cycles = (
            now.get(name, 0) - before.get(name, 0) for name in ("calls", "frames", "cycles")
        )
        if calls <= 0 or frames <= 0 or cycles < 0:
            return {}
        return {
            "frames_per_call": round(frames / calls, 3),
            "cycles_per_frame": round(cycles / frames, 3),
        }
