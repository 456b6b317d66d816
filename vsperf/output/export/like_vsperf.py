"""The columns that users of VSPERF's CSV know, one row per case; what is not known stays empty.

Two more follow them: the run, and whether its numbers come from a model.

As its generators did, rates and counts are sums over both directions, and latency is that of all
frames. They come from the last valid trial at the load that the case found: the lower bound of its
first goal, or the load that was given.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import BinaryIO, ClassVar

from vsperf.analysis.summary import CaseRow, Latency
from vsperf.output.export.base import Format, Watch, all_cases
from vsperf.output.export.columns import as_specified, is_told
from vsperf.output.export.csv_tables import CsvSheet
from vsperf.output.table import Column, Kind, Value
from vsperf.quantities.units import NANOSECONDS
from vsperf.records.files.view import RunView
from vsperf.records.run import Outcome
from vsperf.records.trial import Purpose, Trial

STATUS = {Outcome.PASS: "OK", Outcome.FAIL: "FAIL"}


class LikeVsperf(Format):
    """VSPERF wrote the word Unknown where this has nothing."""

    summary = "the columns that users of VSPERF's CSV know; unknown ones are empty"
    tables: ClassVar[Mapping[str, str]] = {"cases": "result.csv"}

    def write(self, runs: Sequence[RunView], outputs: Mapping[str, BinaryIO], watch: Watch) -> None:
        columns = _columns()
        with CsvSheet(outputs["cases"], [column.name for column in columns]) as sheet:
            for view in watch(all_cases(runs)):
                case = _Case(CaseRow.of(view))
                sheet.add([column.value(case) for column in columns])


class _Case:
    """A case with the trial that its numbers come from."""

    def __init__(self, row: CaseRow) -> None:
        self.row = row
        self.view = row.view

    @cached_property
    def trial(self) -> Trial | None:
        """The last valid trial at the load that stands for the case."""
        row = self.row
        given: list[int | None] = [load.load_fps for load in row.loads]
        loads = given or [goal.lower_fps for goal in row.goals[:1]]
        if len(loads) != 1 or not row.rates_fps:
            return None
        fitting = [
            trial
            for trial in self.view.standing_trials
            if trial.purpose is Purpose.SEARCH
            and trial.valid
            and trial.directions
            and trial.load_fps == loads[0]
        ]
        return fitting[-1] if fitting else None

    def rate(self, frames: str) -> float | None:
        """Return a count of the trial per second."""
        if self.trial is None or not self.trial.duration_ns:
            return None
        return float(getattr(self.trial, frames) * NANOSECONDS / self.trial.duration_ns)

    def percent(self, frames: str) -> float | None:
        """Return a rate as a share of what all directions could carry; None without a line rate."""
        rate = self.rate(frames)
        if rate is None or self.trial is None or self.row.virtual:
            return None
        row = self.row
        line = float(row.link.frames_per_second(row.frame_size)) * len(self.trial.directions)
        return 100 * rate / line

    def mbps(self, frames: str) -> float | None:
        """Return a rate in Mbit/s of frames, without preamble and gap."""
        rate = self.rate(frames)
        return None if rate is None else rate * 8 * float(self.row.frame_size.mean) / 1e6

    def figure(self, name: str) -> float | None:
        """Return a figure of the case by its name; None of one that is not used."""
        found = (one for one in self.row.figures if one.name == name)
        usable = (one.value for one in found if is_told(self.row, one))
        return next(usable, None)


_C = Column[_Case]


def _columns() -> tuple[_C, ...]:
    return (
        *_identity(),
        *_rates(),
        *_latency(),
        *_counters(),
        *_back_to_back(),
        Column("stream_count", int, lambda case: case.view.asked.flows),
        *_unknown("match_type", "pre-installed_flows"),
        Column("forwarding_rate_fps", float, _forwarding_rate),
        Column("caching_capacity_addrs", float, lambda case: case.figure("addresses")),
        *_unknown("addr_learned_percent"),
        Column("optimal_learning_rate_fps", float, lambda case: case.figure("learning_rate")),
        *_times(),
        *_unknown("capture_tx", "capture_rx"),
        Column("imix_genome", str, lambda case: case.view.asked.text("traffic", "imix")),
        Column("imix_avg_framesize", float, _mean_of_mix),
        Column("status", str, _status),
        Column("details", str, lambda case: (case.view.record and case.view.record.reason) or None),
        Column("run", str, lambda case: case.view.run),
        Column("simulated", bool, lambda case: case.view.simulated),
    )


def _identity() -> tuple[_C, ...]:
    return (
        Column("type", str, lambda case: case.view.asked.kind("search")),
        Column("id", str, lambda case: case.view.testcase),
        Column("packet_size", int, lambda case: case.view.asked.frame_bytes),
        Column("deployment", str, lambda case: case.view.asked.text("topology", "name")),
        Column("vswitch", str, lambda case: case.view.asked.kind("vswitch")),
        Column("traffic_type", str, lambda case: case.view.asked.text("traffic", "layer3")),
        *_unknown("guest_loopback_app"),
        Column(
            "tunnel_type",
            str,
            lambda case: case.view.asked.text("traffic", "encapsulation", "kind"),
        ),
    )


def _rates() -> tuple[_C, ...]:
    return (
        Column("tx_rate_fps", float, lambda case: case.rate("sent_frames")),
        Column("throughput_rx_fps", float, lambda case: case.rate("received_frames")),
        Column("tx_rate_mbps", float, _mbps("sent_frames")),
        Column("throughput_rx_mbps", float, _mbps("received_frames")),
        Column("tx_rate_percent", float, _percent("sent_frames")),
        Column(
            "throughput_rx_percent",
            float,
            _percent("received_frames"),
        ),
    )


def _mbps(frames: str) -> Callable[[_Case], Value]:
    return as_specified(lambda case: case.mbps(frames))


def _percent(frames: str) -> Callable[[_Case], Value]:
    return as_specified(lambda case: case.percent(frames))


def _latency() -> tuple[_C, ...]:
    def column(name: str, kind: Kind, of: Callable[[Latency], Value]) -> _C:
        def found(case: _Case) -> Value:
            latency = case.row.middle_latency
            return of(latency) if latency else None

        return Column(name, kind, found)

    return (
        column("min_latency_ns", int, lambda found: found.summary.minimum_ns),
        column("max_latency_ns", int, lambda found: found.summary.maximum_ns),
        column("avg_latency_ns", float, lambda found: found.summary.mean_ns),
    )


def _counters() -> tuple[_C, ...]:
    return (
        Column("frame_loss_percent", float, _loss_percent),
        Column("tx_frames", int, lambda case: case.trial.sent_frames if case.trial else None),
        Column("rx_frames", int, lambda case: case.trial.received_frames if case.trial else None),
        *_unknown("tx_bytes", "rx_bytes"),
        Column("payload_err", int, lambda case: _sum(case, "corrupted_frames")),
        Column("seq_err", int, lambda case: _sum(case, "reordered_frames")),
    )


def _back_to_back() -> tuple[_C, ...]:
    return (
        *_unknown("b2b_rx_fps", "b2b_tx_fps", "b2b_rx_percent", "b2b_tx_percent", "b2b_tx_count"),
        Column("b2b_frames", float, lambda case: case.figure("burst")),
        *_unknown("b2b_frame_loss_frames", "b2b_frame_loss_percent"),
    )


def _times() -> tuple[_C, ...]:
    return (
        Column("test_execution_time", float, _seconds),
        Column("start_time", str, _started),
        Column("stop_time", str, _finished),
    )


def _unknown(*names: str) -> tuple[_C, ...]:
    return tuple(Column(name, str, lambda case: None) for name in names)


def _loss_percent(case: _Case) -> Value:
    """Return the lost share of all frames that should have been sent."""
    if case.trial is None or case.trial.intended_frames <= 0:
        return None
    return 100 * case.trial.lost_frames / case.trial.intended_frames


def _forwarding_rate(case: _Case) -> Value:
    """Return the highest forwarding rate of all directions together."""
    rate, start = case.figure("mfr"), case.view.start
    return None if rate is None or start is None else rate * len(start.plan.directions)


def _sum(case: _Case, name: str) -> Value:
    counts = [getattr(way, name) for way in case.trial.directions] if case.trial else []
    return None if not counts or None in counts else sum(counts)


def _seconds(case: _Case) -> Value:
    return case.view.record.measured_ns / NANOSECONDS if case.view.record else None


def _started(case: _Case) -> Value:
    return case.view.start.started_at if case.view.start else None


def _finished(case: _Case) -> Value:
    return case.view.record.finished_at if case.view.record else None


def _mean_of_mix(case: _Case) -> Value:
    size = case.view.asked.size
    return float(size.mean) if size and case.view.asked.value("traffic", "imix") else None


def _status(case: _Case) -> Value:
    return STATUS.get(case.view.outcome) if case.view.outcome else None
