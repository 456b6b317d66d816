"""Cases of which every plot has something to say, for the tests that go through all plots."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from figure_cases import case
from paired_models import PairedModel, method, session
from record_samples import goal, trial

from vsperf.quantities.unit import Unit
from vsperf.records.files.view import CaseView, views
from vsperf.records.histogram import encode
from vsperf.records.result import Figure, SearchResult
from vsperf.records.switch import PmdCounters, SwitchCounters
from vsperf.records.trial import Direction, Purpose, Trial

GOLDEN = Path(__file__).parents[1] / "golden" / "records"
COLLECTED = GOLDEN.parent / "series"
"""Its first case has series of a real run."""
SOAK = GOLDEN / "2026-11-22-phy2phy_soak-n10t"
LETTERS = ("aaaa", "cccc", "dddd")
HOSTILE = "<script>alert('x')</script> $x^2$ =1+1 \x1b[31m \u202e交换机 " + "long" * 40


def way(lost: int = 0, latencies: tuple[int, ...] = ()) -> Direction:
    """Return the counters of one direction that was to send a million frames."""
    return Direction(
        name="phy0 to phy1",
        intended_frames=1_000_000,
        sent_frames=1_000_000,
        received_frames=1_000_000 - lost,
        latency_histogram=encode(latencies) if latencies else None,
    )


def tried(index: int, load_fps: int, lost: int = 0, **changes: Any) -> Trial:
    """Return a trial of a search, with what its switch counted."""
    pmd = PmdCounters(
        cpu=1, frames=1_000_000, busy_cycles=200_000_000, idle_cycles=50_000_000,
        hits={"emc": 900_000, "megaflow": 90_000, "upcall": 10_000},
    )  # fmt: skip
    values: dict[str, Any] = {
        "directions": (way(lost),),
        "load_fps": load_fps,
        "switch": SwitchCounters(pmds=(pmd,)),
    }
    return trial(index, **{**values, **changes})


def timed(index: int, load_fps: int, latencies: tuple[int, ...], share: str) -> Trial:
    """Return a trial of latency."""
    return tried(
        index,
        load_fps,
        directions=(way(0, latencies),),
        purpose=Purpose.LATENCY,
        reference=f"{share} of ndr",
    )


def throughput_case(size: str, fps: int, **changes: Any) -> CaseView:
    """Return a case with a search, and latency at two loads."""
    trials = (
        tried(1, 2 * fps, 400_000),
        tried(2, fps),
        tried(3, fps + fps // 100, 40),
        timed(4, fps // 10, (1_000, 1_100, 1_500, 2_000), "10%"),
        timed(5, fps // 2, (2_000, 2_500, 9_000, 90_000), "50%"),
    )
    goals = (goal(fps, fps + fps // 100), goal(fps + 1, None, "pdr", loss_ratio="1/200"))
    values: dict[str, Any] = {"result": SearchResult(goals=goals), "trials": trials}
    return case(size, **{**values, **changes})


def buffer_case(size: str, time_ns: float, run: str, rate: str = "") -> CaseView:
    """Return a case of back-to-back frames; `rate` is what the names of slow bursts end with."""
    names = (f"buffer_time{rate}", f"implied_buffer_time{rate}")
    figures = tuple(Figure(name=one, unit=Unit.NANOSECONDS, value=time_ns) for one in names)
    return case(size, run=run, result=SearchResult(figures=figures))


def cost_case(size: str, **roles: float) -> CaseView:
    """Return a case of requests that cost each role so many nanoseconds."""
    figures = tuple(
        Figure(name=f"cpu_per_request_{role}", unit=Unit.NANOSECONDS, value=value)
        for role, value in roles.items()
    )
    return case(size, result=SearchResult(figures=figures))


def turns_case(
    *shares: float,
    model: PairedModel | None = None,
    settings: Mapping[str, Any] | None = None,
    **changes: Any,
) -> CaseView:
    """Return a case of switches in turns, of which each has a share of the first one's rate."""
    asked = method(**{"rounds": 6, "pairs": 20, **(settings or {})})
    bench = session(model or PairedModel("noise", {"noise": "1.5%"}), 1, *shares)
    result = asked.play(bench)
    search = {"search": asked.model_dump(mode="json")}
    values: dict[str, Any] = {"result": result, "spec": search, **changes}
    return replace(case("64B", **values), rounds=tuple(bench.rounds))


def all_cases(*, simulated: bool = False, name: str = "ovs-dpdk") -> list[CaseView]:
    """Return cases of which every plot has something to say; `name` is what the switch is."""
    sizes = (("64B", 8_000_000), ("128B", 7_000_000), ("1518B", 800_000))
    cases = [
        throughput_case(
            size,
            fps * threads,
            simulated=simulated,
            spec={"vswitch": {"kind": name, "pmds": threads}},
        )
        for threads, (size, fps) in itertools.product((1, 2), sizes)
    ]
    few, many = (
        {"traffic": {"frame_size": "64B", "flows": flows, "direction": "both"}}
        for flows in ("1", "1M")
    )
    cases += [throughput_case("64B", 6_000_000, spec=few, repeat=n) for n in (2, 3)]
    cases += [throughput_case("64B", 5_000_000, spec=many)]
    cases += [
        throughput_case(
            size, fps // slower, simulated=simulated, point={"frame_size": size, "noise": level}
        )
        for slower, level in enumerate(("none", "level_0"), start=1)
        for size, fps in sizes
    ]
    runs = tuple(f"2026-11-{20 + day}-b2b-{letters}" for day, letters in enumerate(LETTERS))
    cases += [buffer_case("64B", 400_000.0 + at, run) for at, run in enumerate(runs)]
    cases += [cost_case(size, clients=7_000, servers=6_000, switch=9_000) for size, _ in sizes]
    collected = replace(throughput_case("64B", 4_000_000, simulated=simulated), folder=COLLECTED)
    turns = turns_case(0.95, simulated=simulated)
    return [*cases, collected, turns, *views(SOAK)]
