"""Turns: one of several devices runs, frames go to it alone, and in the end all of them run.

Most of these hold processes that do nothing, beside rings that give back what they get: what is
held still does not matter there, only that it is.
"""

from __future__ import annotations

import json
import os
import select
import signal
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import psutil
import pytest
from loopbacks import OPTIONS, PATIENCE_S, Loopback, reference_dut
from preloads import preload

from vsperf.config.traffic import Directions
from vsperf.drivers.generators.tgen.byhand import Stream, at_hand, directions_between
from vsperf.drivers.generators.tgen.cap import loop
from vsperf.drivers.generators.tgen.client import TgenError
from vsperf.drivers.generators.tgen.process import Tgen
from vsperf.drivers.generators.tgen.traffic import TrafficDirection
from vsperf.drivers.generators.tgen.turns_session import (
    StreamSide,
    StreamTurns,
    take_turns,
    turns_message,
    turns_of,
)
from vsperf.records.turn_columns import Turn
from vsperf.records.turns import Turns

pytestmark = [pytest.mark.machine, pytest.mark.needs("tgen")]

RINGS = ("net_ring0", "net_ring1")
ABBA = (0, 1, 1, 0)
LOAD_FPS = 10_000
"""So few that all frames of some turns have room in a ring."""
IDLE = [sys.executable, "-c", "import signal; print(flush=True); signal.pause()"]
FOR_LONG = (0, 1) * 1000
ASKED = 7_000_001
"""The id of a request that nobody waits for."""


def is_held(process: int) -> bool:
    """Whether the kernel says of a process that it is stopped."""
    after_name = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2]
    return after_name.split()[0] == "T"


def wait_until(condition: Callable[[], bool], patience_s: float = PATIENCE_S) -> None:
    deadline = time.monotonic() + patience_s
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.001)  # between two looks


@pytest.fixture(name="idle")
def fixture_idle() -> Iterator[list[subprocess.Popen[bytes]]]:
    """Two processes that do nothing; they end, however they were left."""
    with ExitStack() as stack:
        started = []
        for _ in range(2):
            process = stack.enter_context(subprocess.Popen(IDLE, stdout=subprocess.PIPE))
            stack.callback(process.kill)
            assert process.stdout is not None
            process.stdout.readline()
            started.append(process)
        yield started


@contextmanager
def two_rings() -> Iterator[Tgen]:
    """A tgen with a stream for each of two rings."""
    with at_hand(RINGS, OPTIONS) as tgen:
        configure(tgen, (0, 0), (1, 1))
        yield tgen


def configure(tgen: Tgen, *ways: tuple[int, int]) -> None:
    named = [
        TrafficDirection(f"{sends} to {receives}", sends, receives) for sends, receives in ways
    ]
    tgen.ask("configure", streams=[Stream(64).on(way) for way in named])


def each_a_side(processes: Sequence[subprocess.Popen[bytes]]) -> tuple[StreamSide, ...]:
    return tuple(StreamSide((number,), (each.pid,)) for number, each in enumerate(processes))


def begin(tgen: Tgen, processes: Sequence[subprocess.Popen[bytes]]) -> None:
    """Ask for turns that take long, and see that they are under way."""
    assert tgen.client is not None
    request = StreamTurns(each_a_side(processes), FOR_LONG, (LOAD_FPS, LOAD_FPS))
    message = {"id": ASKED, "verb": "turns", **turns_message(request, burst=32)}
    tgen.client.connection.settimeout(PATIENCE_S)
    tgen.client.connection.sendall(json.dumps(message).encode() + b"\n")
    wait_until(lambda: any(is_held(each.pid) for each in processes))


def hear(tgen: Tgen) -> dict[str, Any]:
    """Return what the turns under way are answered with."""
    assert tgen.client is not None
    with tgen.client.connection.makefile() as lines:
        while (answer := json.loads(lines.readline())).get("id") != ASKED:
            pass
    found: dict[str, Any] = answer
    return found


def nobody_is_held(processes: Sequence[subprocess.Popen[bytes]]) -> bool:
    return not any(is_held(each.pid) for each in processes)


def assert_accounted_for(found: Turns) -> None:
    """See that all that was sent arrived, and that turns have no more than all of it."""
    for number, side in enumerate(found.sides):
        assert side.sent_frames == side.arrived_frames == side.received_frames
        turns = [turn for turn in found.turns if turn.side == number]
        assert sum(turn.turn_sent_frames for turn in turns) == side.sent_frames
        in_turns = sum(turn.turn_received_frames for turn in turns)
        assert in_turns + side.elsewhere_frames <= side.received_frames
        for turn in turns:
            assert turn.sent_frames <= turn.turn_sent_frames
            assert turn.received_frames <= turn.turn_received_frames
            assert turn.ended_ns - turn.began_ns > turn.measured_ns
            assert turn.sent_by_direction is not None
            assert len(turn.sent_by_direction) == len(side.directions)
            assert turn.behind_ns is not None
            assert turn.missed_frames in {0, None}


@contextmanager
def joined(
    switches: Sequence[Loopback], ways: Directions = "both"
) -> Iterator[tuple[Tgen, tuple[StreamSide, ...]]]:
    """A tgen with ports to two switches and traffic for them, and the sides that they are."""
    devices = [
        f"net_virtio_user{2 * number + port},path={path},queue_size=1024"
        for number, switch in enumerate(switches)
        for port, path in enumerate(switch.sockets)
    ]
    streams = [Stream(64).on(way) for way in directions_between(4, ways)]
    each = len(streams) // 2
    with at_hand(devices, OPTIONS) as tgen:
        tgen.ports()
        tgen.ask("configure", streams=streams)
        yield (
            tgen,
            tuple(
                StreamSide(tuple(range(number * each, (number + 1) * each)), (one.process.pid,))
                for number, one in enumerate(switches)
            ),
        )


@pytest.mark.everyday
@pytest.mark.needs("tgen-dut")
def test_every_frame_is_accounted_for_and_each_switch_has_those_of_its_turns(
    tmp_path: Path,
) -> None:
    with reference_dut(tmp_path) as first, reference_dut(tmp_path) as second:
        switches = (first, second)
        with joined(switches) as (tgen, sides):
            request = StreamTurns(sides, ABBA, (LOAD_FPS,) * 4, silent_ns=1_000_000)
            found, _ = take_turns(tgen, request)
            assert nobody_is_held([switch.process for switch in switches])
    assert found.end == "complete"
    assert found.settled
    assert [turn.side for turn in found.turns] == list(ABBA)
    assert_accounted_for(found)
    for switch, side in zip(switches, found.sides, strict=True):
        assert side.sent_frames > 0
        ports = switch.report["ports"]
        assert sum(port["received"] for port in ports) == side.sent_frames
        assert sum(port["other"] for port in ports) == 0


def test_turns_begin_and_end_one_after_the_other_and_frames_are_due_by_the_rate(
    idle: list[subprocess.Popen[bytes]],
) -> None:
    with two_rings() as tgen:
        request = StreamTurns(
            each_a_side(idle), ABBA * 4, (LOAD_FPS, 2 * LOAD_FPS), 5_000_000, latency=True
        )
        found, _ = take_turns(tgen, request)
    assert_accounted_for(found)
    assert found.settled
    assert len(found.turns) == 16
    now_ns = 0
    for turn in found.turns:
        assert now_ns <= turn.began_ns < turn.ended_ns
        now_ns = turn.ended_ns
        assert turn.measured_ns >= 5_000_000
        due = LOAD_FPS * (1 + turn.side) * 5_000_000 // 1_000_000_000
        assert turn.intended_frames is not None
        assert turn.intended_frames <= due
        assert turn.intended_frames == due or turn.gaps_ns > 2_500_000
        assert turn.sent_frames <= turn.intended_frames
        assert turn.latencies == turn.received_frames
        assert turn.latency_p50_ns is not None
        assert turn.latency_p99_ns is not None
        assert 0 < turn.latency_p50_ns <= turn.latency_p99_ns
        assert turn.elsewhere_frames == turn.refused_frames == 0
    assert now_ns <= found.elapsed_ns
    for number, side in enumerate(found.sides):
        assert side.latency_histogram is not None
        assert side.directions == (number,)


def test_a_side_that_is_sent_flat_out_goes_on_where_it_was(
    idle: list[subprocess.Popen[bytes]],
) -> None:
    """Numbers of frames, and so what is new, go through all turns."""
    with two_rings() as tgen:
        request = StreamTurns(each_a_side(idle), ABBA * 2, turn_ns=1_000_000, guard_ns=0)
        found, _ = take_turns(tgen, request)
    assert_accounted_for(found)
    assert all(side.sent_frames > 0 for side in found.sides)
    assert all(side.duplicate_frames == side.reordered_frames == 0 for side in found.sides)
    assert {turn.intended_frames for turn in found.turns} == {None}


def test_sides_without_processes_take_turns_as_well(idle: list[subprocess.Popen[bytes]]) -> None:
    with two_rings() as tgen:
        sides = (StreamSide((0,)), StreamSide((1,), (idle[0].pid,)))
        found, _ = take_turns(tgen, StreamTurns(sides, ABBA, (LOAD_FPS, LOAD_FPS)))
    assert found.end == "complete"
    assert_accounted_for(found)


def filled_turns(switches: Sequence[Loopback], ways: Directions = "both") -> Turns:
    """Have two switches empty their rings in turns."""
    with joined(switches, ways) as (tgen, sides):
        filled = tuple(replace(side, rings=True) for side in sides)
        found, _ = take_turns(tgen, StreamTurns(filled, ABBA * 2))
        assert nobody_is_held([one.process for one in switches])
    assert found.end == "complete"
    return found


def of_side(found: Turns, side: int) -> list[Turn]:
    turns = [turn for turn in found.turns if turn.side == side]
    assert all(turn.fillings for turn in turns)
    return turns


def rate_of(found: Turns, side: int) -> float:
    """Return what a side forwards in the middle of its turns."""
    turns = [turn for turn in of_side(found, side) if turn.measured_ns]
    return statistics.median(turn.received_frames / turn.measured_ns for turn in turns)


@pytest.mark.everyday
@pytest.mark.needs("tgen-dut")
def test_what_a_switch_loses_of_what_rings_hold_is_not_waited_for(tmp_path: Path) -> None:
    """Its numbers say that it is lost, so the time that frames took which came is that of all."""
    rules = ["drop=0", "drop=2"]
    with reference_dut(tmp_path, rules, period=4) as lossy, reference_dut(tmp_path) as other:
        found = filled_turns((lossy, other))
    lost, whole = found.sides
    assert whole.sent_frames == whole.received_frames
    assert lost.sent_frames // 2 - 2 <= lost.received_frames <= lost.sent_frames // 2 + 2
    # A turn in which the machine kept one from running is short as well: one is enough.
    assert any(turn.fillings_short == 0 for turn in of_side(found, 0))


@pytest.mark.everyday
@pytest.mark.needs("tgen-dut")
def test_rings_are_filled_in_the_one_direction_that_there_is(tmp_path: Path) -> None:
    with reference_dut(tmp_path) as first, reference_dut(tmp_path) as second:
        found = filled_turns((first, second), "forward")
    assert_accounted_for(found)
    for side in (0, 1):
        assert any(turn.received_frames for turn in of_side(found, side))


@pytest.mark.everyday
@pytest.mark.needs("tgen-dut")
def test_rings_that_are_filled_while_a_switch_stands_are_emptied_by_it(tmp_path: Path) -> None:
    """The slow one needs longer for a frame than tgen does to receive it, and so is seen itself.

    Where the machine keeps tgen away while one empties its rings, tgen is behind: so one turn that
    was left alone tells.
    """
    with reference_dut(tmp_path, work=2000) as slow, reference_dut(tmp_path) as other:
        found = filled_turns((slow, other))
    assert rate_of(found, 0) < rate_of(found, 1)
    assert_accounted_for(found)
    assert any(turn.fillings_behind == 0 for turn in of_side(found, 0))
    for turn in found.turns:
        assert turn.received_frames < turn.turn_received_frames
        assert bool(turn.received_frames) is (turn.measured_ns > 0)
        if not turn.fillings_short:  # else it was kept from being held, or from running
            assert turn.received_frames > 0
            fillings = (turn.fillings or 0) + 12  # and those of the guard
            assert turn.turn_sent_frames <= 2 * 1024 * fillings
        assert turn.silence_ns == turn.full_ns == 0


@pytest.mark.everyday
@pytest.mark.needs("tgen-dut")
def test_a_switch_that_empties_no_ring_in_a_turn_is_slow_and_not_faster_than_tgen(
    tmp_path: Path,
) -> None:
    """It needs more than the 10 ms of a turn for all, of which what came meanwhile is measured."""
    with reference_dut(tmp_path, work=40_000) as slow, reference_dut(tmp_path) as other:
        found = filled_turns((slow, other))
    assert_accounted_for(found)
    told = [turn for turn in of_side(found, 0) if turn.received_frames]
    assert any(turn.fillings_behind == 0 and not turn.drained for turn in told)


def test_who_forwards_while_he_is_held_says_nothing(
    idle: list[subprocess.Popen[bytes]],
) -> None:
    """A ring gives back at once what it gets, so it is never full."""
    with two_rings() as tgen:
        sides = tuple(replace(one, rings=True) for one in each_a_side(idle))
        found, _ = take_turns(tgen, StreamTurns(sides, ABBA))
    assert_accounted_for(found)
    for turn in found.turns:
        assert turn.fillings
        assert turn.fillings_short == turn.fillings
        assert turn.measured_ns == turn.received_frames == 0
        assert turn.was_short


@pytest.mark.parametrize(
    ("side", "why"),
    [
        (StreamSide((0,), rings=True), "this one has no processes"),
        (StreamSide((0,), (1,), in_flight=8, rings=True), "in_flight bounds nothing"),
    ],
)
def test_rings_that_cannot_be_filled_are_refused(side: StreamSide, why: str) -> None:
    with two_rings() as tgen, pytest.raises(TgenError, match=why):
        take_turns(tgen, StreamTurns((side, StreamSide((1,))), ABBA))


def test_a_side_that_is_not_held_is_sent_to_all_the_time(
    idle: list[subprocess.Popen[bytes]],
) -> None:
    with two_rings() as tgen:
        sides = (StreamSide((0,)), StreamSide((1,), (idle[0].pid,), rings=True))
        request = StreamTurns(sides, ABBA, (LOAD_FPS, LOAD_FPS))
        found, _ = take_turns(tgen, request)
    assert_accounted_for(found)
    for turn in found.turns:
        assert bool(turn.fillings) is (turn.side == 1)
        assert bool(turn.intended_frames) is (turn.side == 0)


def test_frames_that_come_in_on_ports_of_another_side_are_told(
    idle: list[subprocess.Popen[bytes]],
) -> None:
    """The ports lead to each other, so that all frames of a side come to the other one."""
    with loop("memif", ()) as devices, at_hand(devices, OPTIONS) as tgen:
        tgen.ports()
        configure(tgen, (0, 0), (1, 1))
        found, _ = take_turns(tgen, StreamTurns(each_a_side(idle), ABBA, (LOAD_FPS,) * 2))
    first, second = found.sides
    assert found.end == "complete"
    for side, other in ((first, second), (second, first)):
        assert side.sent_frames == side.misrouted_frames == side.arrived_frames > 0
        assert side.received_frames == 0
        assert other.elsewhere_frames == side.sent_frames
    for turn in found.turns:
        assert turn.elsewhere_frames == turn.turn_sent_frames > 0
        assert turn.first_ns is None


def test_no_more_frames_of_a_side_are_on_their_way_than_it_may_have(
    idle: list[subprocess.Popen[bytes]],
) -> None:
    """None comes back to it; after a tenth of a second without one, those on their way are lost."""
    with loop("memif", ()) as devices, at_hand(devices, OPTIONS) as tgen:
        tgen.ports()
        configure(tgen, (0, 0), (1, 1))
        sides = (StreamSide((0,), (idle[0].pid,), in_flight=8), StreamSide((1,), (idle[1].pid,)))
        found, _ = take_turns(tgen, StreamTurns(sides, ABBA, (LOAD_FPS,) * 2))
    bounded, free = found.sides
    assert 8 <= bounded.sent_frames <= 8 * (1 + found.elapsed_ns // 100_000_000)
    assert free.sent_frames > bounded.sent_frames
    first = next(turn for turn in found.turns if turn.side == 0)
    assert first.refused_frames or first.gaps_ns > first.measured_ns / 2


def test_time_in_which_nothing_arrives_is_silence_and_a_gap_of_the_worker_is_none(
    idle: list[subprocess.Popen[bytes]],
) -> None:
    """Ports that lead to each other bring no side its frames; rings bring each all of its own."""
    with loop("memif", ()) as devices, at_hand(devices, OPTIONS) as tgen:
        tgen.ports()
        configure(tgen, (0, 0), (1, 1))
        lost, _ = take_turns(tgen, StreamTurns(each_a_side(idle), ABBA, (LOAD_FPS,) * 2))
    for turn in lost.turns:
        ran_ns = turn.measured_ns - turn.gaps_ns
        if ran_ns > 600_000:
            assert turn.silence_ns == pytest.approx(ran_ns, abs=2)
    with two_rings() as tgen:
        request = StreamTurns(each_a_side(idle), ABBA * 4, (LOAD_FPS, LOAD_FPS))
        found, _ = take_turns(tgen, request)
    for turn in found.turns:  # a frame every 100 us, and all of them come back at once
        assert turn.silence_ns == 0 or turn.gaps_ns > 0


def test_what_an_ordinary_trial_counts_is_the_same_after_turns(
    idle: list[subprocess.Popen[bytes]],
) -> None:
    with two_rings() as tgen:
        take_turns(tgen, StreamTurns(each_a_side(idle), ABBA, latency=True))
        found = tgen.ask("trial", PATIENCE_S, frames=500, linger_ns=1)
    for stream in found["streams"]:
        assert stream["sent"] == stream["distinct"] == stream["latency"]["count"] == 500
    assert {port["stale"] for port in found["ports"]} == {0}


def test_all_go_on_when_turns_are_stopped(idle: list[subprocess.Popen[bytes]]) -> None:
    with two_rings() as tgen:
        begin(tgen, idle)
        assert tgen.client is not None
        tgen.client.connection.sendall(b'{"id":7000002,"verb":"stop"}\n')
        answer = hear(tgen)
        assert nobody_is_held(idle)
        found = turns_of(answer["result"])
        assert found.end == "stopped"
        assert len(found.turns) < len(FOR_LONG)
        for side in found.sides:
            assert side.sent_frames == side.received_frames


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_all_go_on_when_tgen_is_told_to_end(
    number: signal.Signals, idle: list[subprocess.Popen[bytes]]
) -> None:
    with two_rings() as tgen:
        begin(tgen, idle)
        tgen.process.send_signal(number)
        assert tgen.process.wait(PATIENCE_S) == 128 + number
        assert nobody_is_held(idle)


@pytest.mark.parametrize("number", [signal.SIGSEGV, signal.SIGBUS, signal.SIGABRT])
def test_all_go_on_when_tgen_dies_of_an_error(
    number: signal.Signals, idle: list[subprocess.Popen[bytes]]
) -> None:
    with two_rings() as tgen:
        begin(tgen, idle)
        tgen.process.send_signal(number)
        assert tgen.process.wait(PATIENCE_S) == -number
        assert nobody_is_held(idle)


def test_all_go_on_when_the_controller_goes(idle: list[subprocess.Popen[bytes]]) -> None:
    with two_rings() as tgen:
        begin(tgen, idle)
        assert tgen.client is not None
        tgen.client.close()
        assert tgen.process.wait(PATIENCE_S) == 4
        assert nobody_is_held(idle)
        tgen.client = None


def test_all_go_on_when_tgen_is_asked_to_quit(idle: list[subprocess.Popen[bytes]]) -> None:
    with two_rings() as tgen:
        begin(tgen, idle)
        assert tgen.client is not None
        tgen.client.connection.sendall(b'{"id":7000002,"verb":"quit"}\n')
        assert hear(tgen)["error"]["code"] == "stopped"
        assert tgen.process.wait(PATIENCE_S) == 0
        assert nobody_is_held(idle)


@pytest.mark.parametrize("waited_for", [True, False])
def test_turns_end_when_a_process_does_and_the_others_go_on(
    waited_for: bool, idle: list[subprocess.Popen[bytes]]
) -> None:
    _, second = idle
    with two_rings() as tgen:
        begin(tgen, idle)
        second.kill()
        if waited_for:
            second.wait(PATIENCE_S)
        found = turns_of(hear(tgen)["result"])
        assert nobody_is_held(idle[:1])
        assert (found.end, found.ended_side, found.ended_process) == (
            "process-ended",
            1,
            second.pid,
        )
        assert tgen.ask("hello")["state"] == "idle"


@pytest.mark.thorough
@pytest.mark.needs("tgen-dut")
def test_all_go_on_when_the_worker_is_away_for_very_long(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, idle: list[subprocess.Popen[bytes]]
) -> None:
    """It does not come back before the processes go on; what it has seen is told when it does."""
    preload("faults", tmp_path, monkeypatch, TGEN_FAULT="silent", TGEN_SILENT="300:15000")
    with two_rings() as tgen:
        begin(tgen, idle)
        assert tgen.client is not None
        # A look at each may fall between two turns, of which there are none any more.
        wait_until(lambda: quiet_and_free(idle))
        answered, _, _ = select.select([tgen.client.connection], [], [], 0)
        assert not answered
        assert turns_of(hear(tgen)["result"]).end == "worker-lost"
        assert nobody_is_held(idle)


def quiet_and_free(processes: Sequence[subprocess.Popen[bytes]]) -> bool:
    """Whether all run in a hundred looks, over more than a turn."""
    for _ in range(100):
        if not nobody_is_held(processes):
            return False
        time.sleep(0.001)  # between two looks
    return True


def refused(tgen: Tgen, sides: Sequence[StreamSide]) -> str:
    with pytest.raises(TgenError) as error:
        take_turns(tgen, StreamTurns(tuple(sides), (0, 1)))
    return f"{error.value.code}: {error.value}"


def test_processes_that_cannot_be_held_are_refused(idle: list[subprocess.Popen[bytes]]) -> None:
    first, second = idle
    with two_rings() as tgen:
        own = tgen.process.pid
        parent = psutil.Process(own).ppid()

        def why(process: int) -> str:
            return refused(tgen, [StreamSide((0,), (first.pid,)), StreamSide((1,), (process,))])

        assert "is this tgen" in why(own)
        assert "is the parent of this tgen" in why(parent)
        assert "is named twice" in why(first.pid)
        second.kill()
        os.waitid(os.P_PID, second.pid, os.WEXITED | os.WNOWAIT)
        assert "no-process" in why(second.pid)
        second.wait()
        assert "no-process" in why(second.pid)
        assert nobody_is_held([first])
        found, _ = take_turns(tgen, StreamTurns((StreamSide((0,)), StreamSide((1,))), (0, 1)))
        assert found.end == "complete"


def test_sides_that_share_a_port_are_refused() -> None:
    with at_hand(RINGS, OPTIONS) as tgen:
        configure(tgen, (0, 0), (0, 0), (1, 1))
        assert "port 0 is" in refused(tgen, [StreamSide((0,)), StreamSide((1, 2))])


def test_several_workers_take_no_turns() -> None:
    with at_hand(RINGS, replace(OPTIONS, cpus=(0, 0))) as tgen:
        configure(tgen, (0, 0), (1, 1))
        assert "one worker" in refused(tgen, [StreamSide((0,)), StreamSide((1,))])
