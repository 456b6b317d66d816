"""Latency under load, for real: irtt alone and beside iperf3, and when one of both is killed."""

from __future__ import annotations

import os
import signal
import subprocess

import pytest
from real_runs import Place, fixture_calibrations, fixture_place

from vsperf.errors import ExitCode
from vsperf.records.flags import Flag
from vsperf.records.run import Outcome

pytestmark = [pytest.mark.machine, pytest.mark.needs("irtt", "iperf3", "bridges")]
__all__ = ["fixture_calibrations", "fixture_place"]

NAME = "places_latency_under_load"
BRIEF = ("--set=search.duration=2s", "--set=search.warm_up=1s", "--set=search.repeats=1")
BRIDGE = ("--set=vswitch.kind=linux-bridge", "--set=search.instances=1")


@pytest.mark.everyday("two programs at one time, which nothing else brings together")
def test_packets_by_a_clock_go_there_and_back_alone_and_beside_streams(place: Place) -> None:
    ended = place.until_decided("run", NAME, *BRIDGE, *BRIEF)
    assert ended.code == 0, ended.said
    (case,) = place.records().cases()
    idle, loaded = (one for one in case.exchanges if one.valid)
    assert (idle.traffic, idle.beside) == ("udp-echo", None)
    assert loaded.traffic == "tcp-stream" and loaded.beside is not None
    assert loaded.directions == ("phy0 to phy1", "phy1 to phy0")
    for one in (idle, loaded):
        assert one.times is not None and one.window is not None
        assert one.times.due >= 100
        assert one.times.from_sent_ns and min(one.times.from_sent_ns) > 0
        echoing = one.echoing
        assert echoing is not None and echoing.transactions is not None
        assert all(device.received_frames >= echoing.transactions for device in one.devices)
    shown = place("show", "latest", f"{NAME}-1518B").out
    assert "packets by a clock" in shown
    assert "1 × tcp-stream" not in shown and "2 × tcp-stream" in shown


@pytest.mark.thorough
@pytest.mark.parametrize("end", ["client-1", "server-1", "client-2"])
def test_whoever_is_killed_beside_the_others_leaves_no_number(place: Place, end: str) -> None:
    words = ("--set=search.duration=10s", "--set=search.repeats=1", "--set=trial.retries=0")
    run = place.start("run", NAME, *BRIDGE, *words, "--set=search.interval=100ms")
    run.wait_until(lambda: f"exchange-2-{end}" in place.programs().values())
    run.wait_until(lambda: "exchange-2-client-3" in place.programs().values())
    (number,) = (pid for pid, name in place.programs().items() if name == f"exchange-2-{end}")
    os.kill(number, signal.SIGKILL)
    ended = run.end()
    assert ended.code == ExitCode.INVALID_RESULT, ended.said
    (case,) = place.records().cases()
    assert case.record is not None and case.record.outcome is Outcome.INVALID
    assert case.record.result is None
    assert case.record.flags == (Flag.PROGRAM_FAILED,)
    who = "probe" if end.endswith("-1") else "instance 1"
    assert f"{who}, phy0 to phy1: its {end.partition('-')[0]} was killed" in case.record.reason
    assert place.traces() == []


@pytest.mark.thorough
@pytest.mark.needs("tc")
def test_a_queue_that_stands_on_the_way_is_in_the_answer(place: Place) -> None:
    """Datagrams fill what a token bucket lets wait; 10 Mbit/s take 24.2 ms for 21 of 1442 bytes."""
    udp = (
        "--set=traffic.direction=forward",
        "--set=search.protocol=udp",
        "--set=search.write=1400B",
    )
    run = place.start("run", NAME, *BRIDGE, *udp, *BRIEF)
    run.wait_until(lambda: "exchange-2-client-1" in place.programs().values())
    (deployment,) = (one.name for one in place.runtime.iterdir() if one.name.startswith("vsperf-"))
    bucket = ("tbf", "rate", "10mbit", "burst", "3000", "limit", "30720")
    command = ("tc", "-n", f"{deployment}-phy0", "qdisc", "add", "dev", "eth0", "root", *bucket)
    subprocess.run(command, check=True, timeout=10)
    ended = run.end()
    assert ended.code == 0, ended.said
    idle, loaded = (one for one in next(iter(place.records().cases())).exchanges if one.valid)
    assert idle.times is not None and loaded.times is not None
    half = len(loaded.times.from_sent_ns) // 2
    assert loaded.times.from_sent_ns[half] > 23_000_000
    assert min(idle.times.from_sent_ns) < 23_000_000
