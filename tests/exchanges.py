"""Exchanges as they would be recorded, for tests of who judges, computes and shows them."""

from __future__ import annotations

from typing import Any

from vsperf.records.cpu_time import CpuTime, CpuUse, ProgramTime
from vsperf.records.exchange import (
    CLIENTS,
    SERVERS,
    DeviceCounts,
    DeviceUse,
    Exchange,
    Instance,
    Interval,
    window_of,
)
from vsperf.records.threads import SWITCH

SECOND = 1_000_000_000
DURATION_NS = 4 * SECOND
RATE = 125_000_000
"""Bytes a second, which are 1 Gbit/s."""
FORWARD, REVERSE = "phy0 to phy1", "phy1 to phy0"


def instance(number: int = 1, began_ns: int | None = 0, **changed: Any) -> Instance:
    """One that received steadily from its begin on, for four seconds and the warm-up of one."""
    seconds, first_ns = 5, began_ns or 0
    known: dict[str, Any] = {
        "name": f"instance {number}",
        "direction": FORWARD,
        "port": 11_000 + number,
        "began_ns": began_ns,
        "elapsed_ns": seconds * SECOND,
        "write_bytes": 131_072,
        "congestion": "cubic",
        "sent_bytes": seconds * RATE,
        "received_bytes": seconds * RATE,
        "sent_packets": None,
        "lost_packets": None,
        "transactions": None,
        "round_trips": None,
        "repeated_segments": 3,
        "intervals": tuple(
            Interval(
                began_ns=first_ns + second * SECOND,
                ended_ns=first_ns + (second + 1) * SECOND,
                amount=RATE,
            )
            for second in range(seconds)
        ),
        "problem": "",
    }
    return Instance(**{**known, **changed})


def device(place: str, received_bytes: int, frames: int | None = None) -> DeviceCounts:
    """One that counted so much, in frames of 1,000 bytes at most."""
    frames = max(10_000, received_bytes // 1_000) if frames is None else frames
    return DeviceCounts(
        place=place,
        received_bytes=received_bytes,
        sent_bytes=0,
        received_frames=frames,
        sent_frames=0,
        received_dropped=0,
        sent_dropped=0,
    )


def device_use(place: str, speed_bps: int | None = 10**10, **counted: int) -> DeviceUse:
    """What one counted in four seconds."""
    counts = device(place, 0, 0).model_copy(update=counted)
    return DeviceUse(counts=counts, length_ns=DURATION_NS, speed_bps=speed_bps)


def exchange(*instances: Instance, **changed: Any) -> Exchange:
    """One that nobody has judged yet."""
    made = instances or (instance(),)
    known: dict[str, Any] = {
        "index": 1,
        "retry_of": None,
        "started_at": "2026-11-26T12:00:00.000+00:00",
        "traffic": "tcp-stream",
        "program": "iperf3",
        "version": "3.12",
        "asked_ns": DURATION_NS,
        "warm_up_ns": SECOND,
        "under_way_bytes": 1_000_000,
        "packet_bytes": 1500,
        "offloads": False,
        "client_cpus": (0,),
        "server_cpus": (0,),
        "instances": made,
        "window": window_of(made, SECOND),
        "devices": (device("phy0", 0), device("phy1", 10 * len(made) * RATE)),
        "elapsed_ns": 6 * SECOND,
        "flags": (),
        "reasons": (),
    }
    return Exchange(**{**known, **changed})


def program(role: str, share: float, *cpus: int, name: str = "", **changed: Any) -> ProgramTime:
    """One that used a share of a CPU for four seconds, a quarter of it in its own code."""
    used = round(share * DURATION_NS)
    known: dict[str, Any] = {
        "role": role,
        "name": name or f"{role} 1",
        "cpus": cpus,
        "user_ns": used // 4,
        "system_ns": used - used // 4,
        "voluntary": 10,
        "involuntary": 2,
    }
    return ProgramTime(**{**known, **changed})


def cpu(
    number: int, *, busy: float = 0, soft: float = 0, idle: float | None = None, steal: float = 0
) -> CpuTime:
    """One that was idle for all the time that is not said to be spent."""
    left = 1 - busy - soft - steal if idle is None else idle
    return CpuTime(
        cpu=number,
        user_ns=0,
        system_ns=round(busy * DURATION_NS),
        interrupts_ns=0,
        soft_ns=round(soft * DURATION_NS),
        idle_ns=round(left * DURATION_NS),
        stolen_ns=round(steal * DURATION_NS),
    )


def use(
    *cpus: CpuTime, clients: float = 0, servers: float = 0, switch: float | None = 0, **changed: Any
) -> CpuUse:
    """Clients on CPU 0, servers on CPU 1, a switch on CPU 2, whose kernel forwards without one."""
    programs = [program(CLIENTS, clients, 0), program(SERVERS, servers, 1)]
    programs += [] if switch is None else [program(SWITCH, switch, 2, name="ovs-vswitchd")]
    known: dict[str, Any] = {
        "began_ns": SECOND,
        "ended_ns": SECOND + DURATION_NS,
        "programs": tuple(programs),
        "cpus": cpus,
        "forwarding_cpus": (2,) if switch is None else (),
    }
    return CpuUse(**{**known, **changed})
