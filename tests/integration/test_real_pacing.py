"""A pacing monitor of real frames: it sees each of them leave, and whether they come evenly."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from fractions import Fraction

import pytest
from cable import fixture_cables
from conftest import Require
from loopbacks import OPTIONS
from real_runs import Place, fixture_calibrations, fixture_place
from switch_cases import deployed, real_case

from vsperf.drivers.collectors.pacing import View, pace
from vsperf.drivers.generators.base import TrialRequest
from vsperf.drivers.generators.tgen.byhand import Stream, at_hand, directions_between
from vsperf.host.frame_stamps import Stamps, stamping
from vsperf.records.files.series import series_of
from vsperf.records.trial import TrialCounts

pytestmark = [pytest.mark.machine, pytest.mark.needs("tgen", "root")]
__all__ = ["fixture_cables", "fixture_calibrations", "fixture_place"]

FRAMES, GAP_NS = 640, 2_000_000
"""Of a stream, and the gap between two bursts of 32."""


def seen(device: str, send: Callable[[], object], *, sent: bool, network: str = "") -> Stamps:
    with stamping(device, network, sent=sent, frames=10_000) as socket:
        socket.begin()
        send()
        return socket.read()


@pytest.mark.usefixtures("cables")
def test_frames_that_are_paced_and_frames_in_bursts_are_told_apart() -> None:
    device = "net_af_packet0,iface=vscable0g,qdisc_bypass=0"
    (way,) = directions_between(1, "both")
    waits = {"quiet_ns": 1_000_000, "drain_ns": 1_000_000}
    with at_hand([device], OPTIONS) as tgen:
        tgen.ask("configure", streams=[Stream().on(way)])
        tgen.ask("learn")
        paced = seen(
            "vscable0g",
            lambda: tgen.ask("trial", 30.0, frames=FRAMES, rate_fps=1000, **waits),
            sent=True,
        )
        burst = {"frames": 32, "bursts": FRAMES // 32, "gap_ns": GAP_NS}
        bursts = seen("vscable0g", lambda: tgen.ask("burst", 30.0, **burst, **waits), sent=True)
    for found in (paced, bursts):
        assert (len(found.times_ns), found.missed) == (FRAMES, 0)
    # Held against the rate that was meant, whatever a busy machine makes of it: tgen never catches
    # up by several frames at this rate, and has no reason to stop within a burst.
    assert pace(paced.times_ns, Fraction(1000))["close_gaps"] < 20
    assert pace(bursts.times_ns, Fraction(32 * 1_000_000_000, GAP_NS))["close_gaps"] > 80


@pytest.mark.parametrize(
    ("kind", "settings"),
    [("ovs", {}), ("ovs", {"ports": "packet"}), ("linux-bridge", {})],
    ids=["socket", "tap", "bridge"],
)
def test_every_frame_is_seen_on_its_way_into_the_switch(
    kind: str, settings: dict[str, str], require: Require
) -> None:
    require({"ovs": "ovs", "linux-bridge": "bridges"}[kind])
    counted: list[TrialCounts] = []
    with deployed(real_case(kind, settings)) as (running, _):
        (view, back) = (View.of(entry) for entry in running.entries)
        assert view is not None and back is not None and view.device != back.device
        found = seen(
            view.device,
            lambda: counted.append(running.generator.run(TrialRequest(2000, 250_000_000))),
            sent=view.sent,
            network=view.network,
        )
    (counts,) = counted
    assert (len(found.times_ns), found.missed) == (counts.directions[0].sent_frames, 0)


@pytest.mark.needs("ovs")
def test_a_run_and_a_comparison_tell_the_pace_of_each_generator(place: Place) -> None:
    began = time.time_ns()
    ended = place(
        "run",
        "generators_pacing",
        "--set=trial.warm_up=0s",
        "--set=trial.drain=500ms",
        "--set=trial.linger=20ms",
        "--set=trial.stretch_tolerance=100%",
        "--set=trial.offered_tolerance=50%",
        "--set=search.loads=[2kfps]",
        "--set=search.duration=200ms",
        "--set=collect.pacing.duration=1s",
    )
    assert ended.code == 0, ended.err
    stored = place.records()
    for case in stored.cases():
        (found,) = series_of(stored.folder, case.planned.key, 1)
        assert list(found.notes()) == []
        (sample,) = found.samples()
        (own,) = found.own_trials()
        assert sample.values["seen_frames"] == own.trial.sent_frames
        assert 0 < sample.values["gap_min_ns"] <= sample.values["gap_p50_ns"]
        assert began < sample.at_ns < time.time_ns()
    shown = place("show", "latest", case.planned.key, "--all").out
    assert "what pacing saw, in a trial of its own" in shown
    compared = place("compare", "latest", "--by", "generator", "--json")
    smooth = json.loads(compared.out)["generators"][1]
    assert smooth["generator"] == "tgen-smooth"
    assert smooth["pace"] == {"repeats": 1, **sample.values}
    assert "pacing" not in smooth["missing"]
