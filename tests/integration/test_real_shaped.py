"""Programs on a link of a known rate, through each switch: they tell it, and agree.

A token bucket lets a rate out of a place. What a program has of it follows from the headers alone.
A machine that is away makes it less and never more, so the best of several exchanges counts.
"""

from __future__ import annotations

import subprocess
from collections.abc import Callable

import pytest
from named_programs import NAMED, named_program
from real_runs import Place, fixture_calibrations, fixture_place

pytestmark = [pytest.mark.machine, pytest.mark.thorough]
__all__ = ["fixture_calibrations", "fixture_place"]

NEEDS = {"linux-bridge": "bridges", "ovs": "ovs", "ovs-dpdk": "ovs-dpdk"}
STREAMS = {"places_tcp_stream": (1448, 1514), "places_udp_stream": (1400, 1442)}
"""Testcase → bytes of data in a frame, and bytes of it that a bucket counts."""
ASKED = ("--set=search.duration=8s", "--set=search.warm_up=2s", "--set=search.repeats=3")
BURST_BYTES, WAITING_BYTES = 3_100, 60_000


def best_rate(place: Place, name: str, program: str, switch: str, megabits: int) -> int:
    """Return the best rate that a program had through a switch, at so many Mbit/s."""
    path = (f"--set=program.path={named_program(program)}",) if program in NAMED else ()
    tcp = ("--set=program.congestion=cubic",) if name == "places_tcp_stream" else ()
    which = (f"--set=vswitch.kind={switch}", f"--set=program.kind={program}", *path, *tcp)
    run = place.start("run", name, *which, *ASKED)
    run.wait_for("ExchangeStarted")
    (deployment,) = (one.name for one in place.runtime.iterdir() if one.name.startswith("vsperf-"))
    bucket = ("tbf", "rate", f"{megabits}mbit")
    room = ("burst", str(BURST_BYTES), "limit", str(WAITING_BYTES))
    command = ("tc", "-n", f"{deployment}-phy0", "qdisc", "add", "dev", "eth0", "root")
    subprocess.run((*command, *bucket, *room), check=True, timeout=10)
    ended = run.end()
    assert ended.code == 0, ended.said
    (case,) = place.records().cases()
    rates = [one.worst_rate for one in case.exchanges if one.valid]
    assert place.traces() == []
    return max(rate for rate in rates if rate is not None)


def known_rate(name: str, megabits: int) -> float:
    data, frame = STREAMS[name]
    return megabits * 1e6 * data / frame


@pytest.mark.parametrize("switch", sorted(NEEDS))
@pytest.mark.parametrize("name", sorted(STREAMS))
def test_two_programs_tell_the_rate_of_a_link_and_agree(
    place: Place, require: Callable[[str], None], name: str, switch: str
) -> None:
    for part in ("tc", "iperf3", "netperf", NEEDS[switch]):
        require(part)
    one, other = (best_rate(place, name, which, switch, 20) for which in ("iperf3", "netperf"))
    for rate in (one, other):
        assert rate == pytest.approx(known_rate(name, 20), rel=0.02)
    assert one == pytest.approx(other, rel=0.01)


@pytest.mark.parametrize("megabits", [10, 20, 50])
@pytest.mark.parametrize("name", sorted(STREAMS))
@pytest.mark.parametrize("program", ["iperf3", "iperf"])
def test_a_program_tells_the_rate_of_a_link_whichever_it_is(
    place: Place, require: Callable[[str], None], program: str, name: str, megabits: int
) -> None:
    for part in ("tc", program, "bridges"):
        require(part)
    rate = best_rate(place, name, program, "linux-bridge", megabits)
    assert rate == pytest.approx(known_rate(name, megabits), rel=0.02)
