"""The clock of a guest is held against the host's, and a trial by a wrong one is refused."""

from __future__ import annotations

import json
import socket
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from vsperf.errors import ComponentError
from vsperf.trafficgens.tgen.guest import GuestClient, GuestTgen
from vsperf.trafficgens.tgen.guest_clock import Drift, Reading, read_clock
from vsperf.trafficgens.tgen.process import PROTOCOL

SECOND_NS = 1_000_000_000
HELLO = {"protocol": PROTOCOL, "tsc_hz": SECOND_NS, "verbs": ["hello", "clock", "trial"]}


@dataclass(frozen=True)
class Program:
    """As much of QEMU as an error names."""

    name: str = "tgen-vm"
    argv: tuple[str, ...] = ("qemu",)


def drift(over_ns: int, there_ns: int, within_ns: int = 0) -> Drift:
    return Drift.between(Reading(0, 5, 0), Reading(over_ns, there_ns + 5, within_ns))


def test_the_shortest_answer_says_most() -> None:
    times = iter((0, 900, 1000, 1100, 2000, 2900, 3000, 3900, 4000, 4900))
    told = iter((1, 2, 3, 4, 5))
    found = read_clock(lambda: {"tsc": next(told)}, 1000, lambda: next(times))
    assert found == Reading(here_ns=1050, there_ns=2_000_000, within_ns=51)


@pytest.mark.parametrize(
    ("there_ns", "within_ns", "said"),
    [
        (SECOND_NS, 0, None),
        (SECOND_NS + 900_000, 0, None),
        (SECOND_NS - 900_000, 0, None),
        (SECOND_NS + 2_000_000, 0, "2.0 ms fast over 1000.0 ms"),
        (SECOND_NS - 300_000_000, 500_000, "300.0 ms slow over 1000.0 ms"),
        (SECOND_NS + 2_000_000, 1_000_000, None),
    ],
)
def test_a_clock_is_wrong_only_by_more_than_what_the_readings_leave_open(
    there_ns: int, within_ns: int, said: str | None
) -> None:
    problem = drift(SECOND_NS, there_ns, within_ns).problem
    assert problem is None if said is None else said in str(problem)


def test_the_record_holds_millionths_and_how_sure_they_are() -> None:
    assert drift(2 * SECOND_NS, 2 * SECOND_NS - 1000, 3001).facts() == {
        "over_ns": 2 * SECOND_NS,
        "ahead_ppm": 0,
        "within_ppm": 2,
    }


@pytest.fixture(name="speed")
def fixture_speed(request: pytest.FixtureRequest) -> float:
    speed: float = request.param
    return speed


@pytest.fixture(name="tgen")
def fixture_tgen(speed: float) -> Iterator[GuestTgen]:
    """Give a tgen whose clock goes so many times as fast as the host's."""
    ours, theirs = socket.socketpair()
    program: Any = Program()
    with ours, theirs:
        served = threading.Thread(target=serve, args=(theirs, speed))
        served.start()
        yield GuestTgen("tgen-vm", Path("none"), program, GuestClient(ours), hello=HELLO)
        ours.close()
        served.join()


def serve(port: socket.socket, speed: float) -> None:
    with port.makefile("rwb") as lines:
        for line in lines:
            asked = json.loads(line)
            if asked["verb"] == "trial":
                time.sleep(0.02)  # what is sent takes its time
            now_ns = time.clock_gettime_ns(time.CLOCK_MONOTONIC_RAW)
            result = {"tsc": int(now_ns * speed)}
            lines.write(json.dumps({"id": asked["id"], "ok": True, "result": result}).encode())
            lines.write(b"\n")
            lines.flush()


@pytest.mark.parametrize("speed", [1.0], indirect=True)
def test_a_trial_by_a_good_clock_is_believed(tgen: GuestTgen) -> None:
    assert tgen.ask("trial", 60.0)["tsc"] > 0


@pytest.mark.parametrize("speed", [0.5, 1.5], indirect=True)
def test_a_trial_by_a_wrong_clock_is_not(tgen: GuestTgen) -> None:
    with pytest.raises(ComponentError, match="no rate and no time of tgen in tgen-vm holds"):
        tgen.ask("trial", 60.0)
    assert tgen.ask("hello", 60.0), "only trials are by the clock"


@pytest.mark.parametrize("speed", [1.0], indirect=True)
@pytest.mark.parametrize("lacks", ["protocol", "verbs"])
def test_a_tgen_of_an_older_image_is_refused_with_the_way_to_build_one(
    tgen: GuestTgen, lacks: str
) -> None:
    assert tgen.other_sources() is None
    tgen.hello = {key: value for key, value in HELLO.items() if key != lacks}
    problem = tgen.other_sources()
    assert problem is not None
    assert "tgen-vm is older" in str(problem)
    assert "vnfs/build" in str(problem.problems[0].fix)


def test_an_emulated_guest_is_given_more_time_to_answer() -> None:
    ours, theirs = socket.socketpair()
    program: Any = Program()
    with ours, theirs:
        tgen = GuestTgen("tgen-vm", Path("none"), program, GuestClient(ours), patience=5.0)
        with pytest.raises(ComponentError, match=r"did not answer `ports` within 0\.1 s"):
            tgen.ask("ports", 0.02)
