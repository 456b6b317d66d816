"""`ovs`: what Open vSwitch counts beyond what is in the record of every trial."""

from __future__ import annotations

from typing import Literal

from vsperf.config.base import DriverSpec
from vsperf.drivers.collectors.asked import Asked
from vsperf.records.series import Nature, Quantity


class OvsCollectorSpec(DriverSpec):
    """Settings of `ovs`; it has none.

    Histograms and the last second are collected where the switch keeps them, which costs its
    polling threads time: `vswitch.other_config`, `pmd-perf-metrics: "true"`.
    """

    kind: Literal["ovs"]


class OvsInsides(Asked):
    """Iterations, batches and upcalls of polling threads, and all events of the daemon.

    With `pmd-perf-metrics` also histograms of what an iteration, a frame, a batch and an upcall
    took, and what the last second was like, millisecond by millisecond.
    """

    kind = "ovs"
    summary = "Open vSwitch: iterations, batches and upcalls, coverage counters"
    Spec = OvsCollectorSpec

    def quantities(self, settings: DriverSpec) -> tuple[Quantity, ...]:
        return (
            Quantity(name="iterations", unit="1", meaning="rounds over all receive queues"),
            Quantity(name="idle_iterations", unit="1", meaning="rounds that found nothing"),
            Quantity(name="busy_iterations", unit="1", meaning="rounds that found frames"),
            Quantity(name="sleep_iterations", unit="1", meaning="rounds that slept"),
            Quantity(name="used_cycles", unit="cycles", meaning="of the CPU's clock"),
            Quantity(name="received_frames", unit="1", meaning="frames taken from receive queues"),
            Quantity(name="passes", unit="1", meaning="ways through the datapath"),
            Quantity(name="upcalls", unit="1", meaning="frames that no cache knew"),
            Quantity(name="lost_upcalls", unit="1", meaning="those that were dropped for it"),
            Quantity(name="sent_frames", unit="1", meaning="frames handed to ports"),
            Quantity(name="sent_batches", unit="1", meaning="times that frames were handed over"),
            Quantity(name="bin_*", unit="1", meaning="histogram: at most so much; more: the rest"),
            gauge("milliseconds", "1", "milliseconds that are known of the last second"),
            gauge("busy_milliseconds", "1", "those with frames"),
            gauge("longest_queue", "1", "most frames in a vhost queue, as the mean of one of them"),
            gauge("upcalls_in_milliseconds", "1", "upcalls in all of them"),
            gauge("most_frames_in_ms", "1", "frames in the busiest of them"),
            gauge("most_cycles_per_frame_in_ms", "cycles", "in the slowest of them"),
            Quantity(name="coverage_*", unit="1", meaning="events in the daemon, by its own name"),
        )


def gauge(name: str, unit: str, meaning: str) -> Quantity:
    """Return a quantity of the last second."""
    return Quantity(name=name, unit=unit, nature=Nature.GAUGE, meaning=meaning)
