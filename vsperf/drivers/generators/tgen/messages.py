"""A trial as tgen is asked for it; as records its answer, its slots, and what it says meanwhile."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from vsperf.config.traffic import Bursts, TrialPolicy
from vsperf.drivers.generators.base import OnSample, TrialRequest
from vsperf.drivers.generators.tgen.client import Event
from vsperf.drivers.generators.tgen.spec import TgenSpec
from vsperf.drivers.generators.tgen.traffic import Replayed, TrafficDirection, direction
from vsperf.errors import ComponentError
from vsperf.quantities.units import NANOSECONDS
from vsperf.records.slots import Slot, Slots
from vsperf.records.trial import (
    DirectionSample,
    GeneratorActivity,
    LatencySample,
    RateStep,
    Sample,
    TrialCounts,
)

LEAST_QUIET_NS = 1_000_000


def trial_message(
    request: TrialRequest,
    ways: tuple[TrafficDirection, ...],
    spec: TgenSpec,
    policy: TrialPolicy,
    replay: Replayed | None = None,
    bursts: Bursts | None = None,
) -> dict[str, Any]:
    """Return the parameters of a `trial`: exact frames, and when to give up sending the rest.

    With bursts they are those of a `burst`.

    By the times of a file, tgen itself finds how many frames are due.
    """
    grace_ns = min(spec.grace.ns, policy.allowed_late_ns(request.duration_ns) // 2)
    quiet_ns = max(policy.drain.ns, LEAST_QUIET_NS)
    found: dict[str, Any] = {
        "burst": spec.burst,
        "quiet_ns": quiet_ns,
        "linger_ns": max(policy.shortest_drain.ns, LEAST_QUIET_NS),
        "drain_ns": 2 * quiet_ns + NANOSECONDS,
        "latency": request.latency,
    }
    if request.latency_after_ns:
        found["latency_after_ns"] = request.latency_after_ns
    if request.latency_ranges:
        found["latency_ranges"] = [list(ends) for ends in request.latency_ranges]
    if request.steps:
        if bursts is not None:
            raise ComponentError(
                "the loads of a trial cannot change while frames come in bursts",
                fix="choose another method, or no traffic.bursts",
            )
        return found | _steps(request, ways, replay) | {"grace_ns": min(grace_ns, NANOSECONDS)}
    if replay is not None and replay.own_rhythm:
        times = {"duration_ns": request.duration_ns, "grace_ns": min(grace_ns, NANOSECONDS)}
        return found | replay.speed(request.load_fps) | times
    (step,) = request.parts
    if bursts is not None:
        return found | _bursts(step, bursts, grace_ns)
    return found | _load(step, ways) | {"duration_ns": request.duration_ns + grace_ns}


def _bursts(step: RateStep, bursts: Bursts, grace_ns: int) -> dict[str, Any]:
    """Return the bursts that fill a time, and how long they may take."""
    count = bursts.count(step.load_fps, step.duration_ns)
    sending_ns = int(bursts.frames) * count * NANOSECONDS // step.load_fps
    gaps_ns = (count - 1) * bursts.gap.ns
    return {
        "rate_fps": step.load_fps,
        "frames": int(bursts.frames),
        "timeout_ns": sending_ns + gaps_ns + grace_ns + NANOSECONDS,
        **({"bursts": count, "gap_ns": bursts.gap.ns} if count > 1 else {}),
    }


def _load(step: RateStep, ways: tuple[TrafficDirection, ...]) -> dict[str, Any]:
    """Return rate and frames of a step: one number for all streams, or one for each."""
    each = [step.shared(way.share) for way in ways]
    if all(one == step for one in each):
        return {"rate_fps": step.load_fps, "frames": step.frames}
    return {"rate_fps": [one.load_fps for one in each], "frames": [one.frames for one in each]}


def _steps(
    request: TrialRequest, ways: tuple[TrafficDirection, ...], replay: Replayed | None
) -> dict[str, Any]:
    """Return how a trial says its loads one after the other."""
    if replay is not None and replay.own_rhythm:
        raise ComponentError(
            "the loads of a trial cannot change while a file is sent by its own times",
            fix="--set traffic.replay.rhythm=even",
        )
    return {
        "steps": [{**_load(step, ways), "duration_ns": step.duration_ns} for step in request.steps]
    }


def counts(
    result: dict[str, Any],
    ways: tuple[TrafficDirection, ...],
    intended: int | list[int] | None,
    elapsed_ns: int,
    ring: int | None = None,
    missed: int = 0,
) -> TrialCounts:
    """Return vsperf's view of a trial's result.

    `missed` are frames that found a ring full and that no device tells of.
    """
    ports = {port["port"]: port for port in result.get("ports", ())}
    found = []
    sending = []
    for number, (way, stream) in enumerate(zip(ways, result["streams"], strict=True)):
        foreign = ports.get(way.receive, {}).get("foreign")
        due = intended[number] if isinstance(intended, list) else intended
        found.append(direction(way, due, stream, foreign))
        sending.append(stream.get("sending_ns"))
    known = [span for span in sending if span is not None]
    return TrialCounts(
        directions=tuple(found),
        sending_ns=max(known) if known else None,
        elapsed_ns=elapsed_ns,
        settled=bool(result["settled"]),
        generator=_activity(result, ring, missed),
        slots=slots_of(result),
    )


def _activity(result: dict[str, Any], ring: int | None, missed: int) -> GeneratorActivity | None:
    workers = result.get("workers")
    if not workers:
        return None
    ports = result.get("ports", ())
    return GeneratorActivity(
        busy_ppm=max(worker["busy_ppm"] for worker in workers),
        longest_gap_ns=max(worker["longest_gap_ns"] for worker in workers),
        gaps_over_10us=sum(worker["gaps_over_10us"] for worker in workers),
        paused_ns=max(worker["paused_ns"] for worker in workers),
        no_buffers=sum(port.get("no_buffers", 0) for port in ports),
        ring_frames=ring,
        behind_ns=max((port.get("receive_behind_ns", 0) for port in ports), default=0),
        missed_frames=missed + sum(port.get("missed", 0) for port in ports),
    )


WIDTH_NS = 3_000_000
"""About: tgen takes the nearest power of two of its clock's cycles. On a shared virtual machine a
generator is away some 25 times a second; slots of 10 ms, and their neighbours, would be half of all
time."""
MOST = 4096
"""About, in a trial: those of longer ones are wider."""
LONGEST_NS = 4 * 3600 * 1_000_000_000
"""Of trials that take longer tgen does not count so."""


def asked_ns(sending_ns: int) -> int:
    """Return how wide slots should be in a trial that sends for so long; 0 for none."""
    return max(WIDTH_NS, sending_ns // MOST) if sending_ns <= LONGEST_NS else 0


def slots_of(result: Mapping[str, Any]) -> Slots | None:
    """Return the slots in a trial's result; None if it has none."""
    if (found := result.get("slots")) is None:
        return None
    return Slots.of(
        width_ns=found["slot_ns"],
        count=found["count"],
        **_frames(found["totals"]),
        noted=[
            Slot(
                index=slot["slot"],
                **_frames(slot),
                away_ns=slot["away_ns"],
                silent_ns=slot["silent_ns"],
            )
            for slot in found["noted"]
        ],
    )


def _frames(found: Mapping[str, Any]) -> dict[str, tuple[int, ...]]:
    return {f"{name}_frames": tuple(found[name]) for name in ("sent", "received", "refused")}


def sampler(ways: tuple[TrafficDirection, ...], on_sample: OnSample | None) -> Event:
    """Return what is to be told of tgen's events, so that `on_sample` hears of each second."""

    def on_event(event: Mapping[str, Any]) -> None:
        if on_sample is not None and event["event"] == "stats":
            on_sample(sample_of(ways, event))

    return on_event


def sample_of(ways: tuple[TrafficDirection, ...], event: Mapping[str, Any]) -> Sample:
    """Return the sample of an event."""
    found = zip(ways, event["streams"], strict=True)
    return Sample(
        elapsed_ns=event["elapsed_ns"],
        directions=tuple(_direction(way, stream) for way, stream in found),
    )


def _direction(way: TrafficDirection, stream: Mapping[str, Any]) -> DirectionSample:
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
