"""What tgen says once a second while a trial runs, as a record."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from vsperf.drivers.generators.base import OnSample
from vsperf.drivers.generators.tgen.client import Event
from vsperf.drivers.generators.tgen.traffic import Way
from vsperf.records.trial import DirectionSample, LatencySample, Sample


def sampler(ways: tuple[Way, ...], on_sample: OnSample | None) -> Event:
    """Return what is to be told of tgen's events, so that `on_sample` hears of each second."""

    def on_event(event: Mapping[str, Any]) -> None:
        if on_sample is not None and event["event"] == "stats":
            on_sample(sample_of(ways, event))

    return on_event


def sample_of(ways: tuple[Way, ...], event: Mapping[str, Any]) -> Sample:
    """Return the sample of an event."""
    found = zip(ways, event["streams"], strict=True)
    return Sample(
        elapsed_ns=event["elapsed_ns"],
        directions=tuple(_direction(way, stream) for way, stream in found),
    )


def _direction(way: Way, stream: Mapping[str, Any]) -> DirectionSample:
    return DirectionSample(
        name=way.name,
        sent_frames=stream["sent"],
        received_frames=stream["received"],
        refused_frames=stream.get("refused"),
        lost_frames=stream.get("lost"),
        latency=_latency(stream.get("latency")),
    )


def _latency(found: Mapping[str, Any] | None) -> LatencySample | None:
    if not found or not found["count"]:
        return None
    shares = found["percentiles_ns"]
    return LatencySample(
        frames=found["count"],
        min_ns=found["min_ns"],
        p50_ns=shares["50"],
        p99_ns=shares["99"],
        p999_ns=shares["99.9"],
        max_ns=found["max_ns"],
    )
