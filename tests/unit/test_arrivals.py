"""Who sees frames from outside: a pacing monitor of known arrivals, and packet sockets."""

from __future__ import annotations

import os
import random
import socket
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from record_samples import trial
from series_samples import CASE, header
from switch_cases import TWO_CPUS, switch_case

from vsperf.config.case import CaseSpec
from vsperf.deploy.planner import Drivers, make_plan
from vsperf.drivers.collectors.base import Parts, Seat
from vsperf.drivers.collectors.pacing import PacingMonitor, PacingSpec, RunningMonitor, View, pace
from vsperf.drivers.generators.tgen.spec import TgenSpec
from vsperf.errors import UsageError
from vsperf.host.frame_stamps import Stamps
from vsperf.host.netlink import dump, messages
from vsperf.host.packet_sockets import (
    BY_FAMILY,
    SOCK_DIAG,
    SOL_PACKET,
    PacketSocket,
    Rings,
    drops_of,
    packet_sockets,
    read_socket,
)
from vsperf.plugins import Plugins
from vsperf.records.files.series import SeriesFile, StoredSeries, series_of
from vsperf.records.run import Endpoint, Placement
from vsperf.records.trial import Direction

# A pacing monitor of known arrivals says what is known of them, and nothing of what it did not see.

BEGAN = 1_763_600_000_000_000_000
RATE = Fraction(100_000)
GAP = 10_000
FRAMES = 20_000
SETTINGS = PacingSpec(kind="pacing")
QUEUED = "net_af_packet0,iface=tap7,qdisc_bypass=0,framecnt=64"


def schedule(frames: int = FRAMES, gap: int = GAP) -> list[int]:
    return [BEGAN + number * gap for number in range(frames)]


def bursts(length: int, frames: int = FRAMES) -> list[int]:
    """Frames at the same mean rate that come 100 ns apart, so many at a time."""
    return [BEGAN + n // length * length * GAP + n % length * 100 for n in range(frames)]


class TestPace:
    def test_a_schedule_that_is_kept_is_off_by_nothing(self) -> None:
        found = pace(schedule(), RATE)
        assert found["rate_fps"] == pytest.approx(100_000)
        for name in ("gap_min_ns", "gap_p1_ns", "gap_p50_ns", "gap_p99.9_ns", "gap_max_ns"):
            assert found[name] == GAP
        for name in ("gap_off_p99_ns", "late_rms_ns", "late_max_ns", "close_gaps"):
            assert found[name] == 0
        assert found["rate_off_ppm"] == pytest.approx(0, abs=1e-6)

    def test_of_every_other_frame_too_late_the_size_of_it_is_found(self) -> None:
        times = [at + 1000 * (number % 2) for number, at in enumerate(schedule())]
        found = pace(times, RATE)
        assert (found["gap_min_ns"], found["gap_max_ns"]) == (GAP - 1000, GAP + 1000)
        assert (found["gap_off_p50_ns"], found["gap_off_p99_ns"]) == (1000, 1000)
        assert found["late_rms_ns"] == pytest.approx(500)
        assert found["late_max_ns"] == pytest.approx(500)

    def test_of_scattered_frames_the_scatter_is_found(self) -> None:
        chance = random.Random(7)
        times = [at + round(chance.gauss(0, 200)) for at in schedule()]
        found = pace(times, RATE)
        assert found["late_rms_ns"] == pytest.approx(200, rel=0.03)
        # Two frames make a gap, and 99 % of a normal distribution lie within 2.576 deviations.
        assert found["gap_off_p99_ns"] == pytest.approx(2.576 * 200 * 2**0.5, rel=0.05)

    def test_one_frame_in_a_thousand_that_is_late_shows_at_the_edge_only(self) -> None:
        times = [at + 3000 * (number % 1000 == 500) for number, at in enumerate(schedule())]
        found = pace(times, RATE)
        assert (found["gap_p50_ns"], found["gap_p99_ns"]) == (GAP, GAP)
        assert found["gap_max_ns"] == GAP + 3000
        assert found["late_max_ns"] == pytest.approx(3000, rel=0.01)

    @pytest.mark.parametrize(("length", "close"), [(1, 0), (2, 50), (32, 31 / 32 * 100)])
    def test_bursts_are_known_by_their_close_gaps(self, length: int, close: float) -> None:
        found = pace(bursts(length), RATE)
        assert found["close_gaps"] == pytest.approx(close, abs=0.1)
        assert found["rate_fps"] == pytest.approx(100_000, rel=0.002), "the mean rate is the same"

    def test_another_rate_than_was_asked_for_is_told_in_parts_per_million(self) -> None:
        found = pace(schedule(gap=10_100), RATE)
        assert found["rate_off_ppm"] == pytest.approx(-9901, abs=1)
        assert found["gap_off_p99_ns"] == 100

    def test_a_generator_that_stood_still_is_late_from_then_on(self) -> None:
        times = [at + 1_000_000 * (number >= FRAMES // 2) for number, at in enumerate(schedule())]
        found = pace(times, RATE)
        assert found["gap_max_ns"] == GAP + 1_000_000
        assert found["gap_off_p99_ns"] == 0
        assert found["late_rms_ns"] == pytest.approx(500_000)


@dataclass
class Saw:
    """A socket that has seen frames at these times."""

    times: Sequence[int]
    missed: int = 0

    def read(self) -> Stamps:
        return Stamps(list(self.times), self.missed)


def told(folder: Path, saw: Saw) -> StoredSeries:
    """Return what is written of a trial in which a thousand frames were sent at 100 kfps."""
    quantities = PacingMonitor().quantities(SETTINGS)
    head = header("pacing").model_copy(update={"quantities": quantities, "heavy": True})
    place: Any = SimpleNamespace()
    socket: Any = saw
    parts = Parts(None, None, None)
    file = SeriesFile.begin(folder, head)
    seat = Seat("pacing", switch_case("ovs"), Placement(), place, parts, file)
    way = Direction(name="phy0-phy1", intended_frames=1000, sent_frames=1000, received_frames=990)
    RunningMonitor(seat, (socket,)).hear(trial(1, load_fps=100_000, directions=(way,)))
    (found,) = series_of(folder, CASE, 1)
    return found


class TestWhatIsTold:
    def test_of_a_trial_that_was_seen_whole_it_is_the_pace(self, tmp_path: Path) -> None:
        found = told(tmp_path, Saw(schedule(1000)))
        (sample,) = found.samples()
        assert sample.of == "phy0-phy1"
        assert (sample.values["seen_frames"], sample.values["missed_frames"]) == (1000, 0)
        assert sample.values["rate_off_ppm"] == pytest.approx(0, abs=1e-6)
        assert set(sample.values) == {one.name for one in found.header.quantities}
        assert list(found.notes()) == []

    @pytest.mark.parametrize(
        ("saw", "why"),
        [
            (Saw(schedule(900), missed=100), "no room for 100 of 1000 frames; raise `frames`"),
            (Saw(schedule(999)), "999 frames were seen, and the generator counted 1000"),
            (Saw(schedule(1001)), "1001 frames were seen, and the generator counted 1000"),
        ],
        ids=["full", "fewer", "more"],
    )
    def test_of_one_that_was_not_it_is_why_there_is_none(
        self, tmp_path: Path, saw: Saw, why: str
    ) -> None:
        found = told(tmp_path, saw)
        (sample,) = found.samples()
        assert set(sample.values) == {"seen_frames", "missed_frames"}
        (note,) = found.notes()
        assert why in note.text


def endpoint(kind: str, address: str) -> Endpoint:
    return Endpoint(link="phy0", kind=kind, address=address)


def test_frames_are_seen_as_they_come_in_by_a_tap_or_leave_by_a_packet_socket() -> None:
    assert View.of(endpoint("tap", "net-1/tap7")) == View("tap7", "net-1", sent=False)
    assert View.of(endpoint("packet", "net-1/veth7")) == View("veth7", "net-1", sent=True)
    assert View.of(endpoint("vdev", QUEUED)) == View("tap7", "", sent=True)


@pytest.mark.parametrize(
    ("kind", "address"),
    [
        ("vhost-user", "/run/phy0.sock"),
        ("vdev", "net_memif0,role=server"),
        ("vdev", "net_af_packet0,iface=veth0"),
        ("vdev", "net_af_packet0,iface=veth0,qdisc_bypass=1"),
        ("pci", "0000:03:00.0"),
    ],
)
def test_where_the_kernel_shows_no_frames_there_is_nothing_to_see(kind: str, address: str) -> None:
    assert View.of(endpoint(kind, address)) is None


def planned(kind: str, links: dict[str, dict[str, str]] | None = None, **sections: Any) -> CaseSpec:
    """Plan a case with a pacing monitor, as `vsperf plan` does."""
    real = {"generator": TgenSpec(kind="tgen", hugepages=False), "collect": {"pacing": SETTINGS}}
    case = switch_case(kind, links=links, **sections).model_copy(update=real)
    make_plan(case, Drivers.of(case, Plugins.load()), TWO_CPUS)
    return case


class TestPlan:
    @pytest.mark.parametrize("kind", ["ovs", "linux-bridge"])
    def test_a_switch_with_ports_of_the_kernel_has_something_to_see(self, kind: str) -> None:
        planned(kind)

    def test_where_nothing_is_seen_the_plan_says_why_and_what_to_do(self) -> None:
        with pytest.raises(UsageError, match="pacing has nothing to collect") as refused:
            planned("ovs-dpdk")
        (problem,) = refused.value.problems
        assert problem.why is not None and problem.why.startswith("the port of phy0 is vhost-user-")
        assert problem.fix is not None and "--vswitch ovs" in problem.fix

    def test_a_cable_without_the_kernels_queues_needs_a_word(self) -> None:
        links = {
            f"phy{number}": {"generator": f"net_af_packet{number},iface=veth{number}"}
            for number in (0, 1)
        }
        with pytest.raises(UsageError) as refused:
            planned("external", links)
        assert "testbed.links.phy0.generator needs qdisc_bypass=0" in str(
            refused.value.problems[0].why
        )
        queued = {
            name: {"generator": f"{link['generator']},qdisc_bypass=0"}
            for name, link in links.items()
        }
        planned("external", queued)

    @pytest.mark.parametrize(
        ("traffic", "why"),
        [
            ({"bursts": {"frames": 32, "gap": "1ms"}}, "in bursts"),
            ({"destination": "broadcast"}, "for everybody"),
            ({"broadcasts": "1%"}, "for everybody"),
        ],
        ids=["bursts", "broadcast", "some"],
    )
    def test_frames_without_a_pace_of_their_own_are_refused(
        self, traffic: dict[str, Any], why: str
    ) -> None:
        with pytest.raises(UsageError) as refused:
            planned("ovs", traffic=traffic)
        assert why in str(refused.value.problems[0].why)

    def test_two_directions_by_one_port_are_refused(self) -> None:
        ends = (endpoint("tap", "/tap7"), endpoint("tap", "/tap7"))
        with pytest.raises(UsageError, match="pacing has nothing to collect"):
            PacingMonitor().fits(switch_case("ovs"), ends)


# What the kernel tells of packet sockets is read as it is written, and of programs as they are.

ALL = 0x0003


def attribute(kind: int, *numbers: int) -> bytes:
    content = b"".join(struct.pack("=I", number) for number in numbers)
    return struct.pack("=HH", 4 + len(content), kind) + content


def test_a_message_says_the_device_and_the_drops_of_a_socket() -> None:
    body = struct.pack("=BBHIII", socket.AF_PACKET, 3, ALL, 4711, 0, 0)
    body += attribute(0, 7, 0, 0, 0, 0, 1) + attribute(5, 0) + attribute(6, *range(8), 99)
    assert read_socket(body) == PacketSocket(inode=4711, device=7, drops=99)


def test_what_a_message_lacks_is_missing_and_not_0() -> None:
    body = struct.pack("=BBHIII", socket.AF_PACKET, 3, ALL, 4711, 0, 0)
    assert read_socket(body) is None
    assert read_socket(body + attribute(0, 7)) is None
    assert read_socket(body + attribute(0, 7) + attribute(6, *range(8))) is None
    assert read_socket(body + b"\0\0\0\0") is None


def test_messages_that_are_damaged_are_not_read() -> None:
    whole = struct.pack("=IHHII", 20, 3, 0, 0, 0) + b"\0\0\0\0"
    assert [kind for kind, _ in messages(whole * 2)] == [3, 3]
    assert list(messages(whole[:10])) == []
    with pytest.raises(OSError, match="damaged"):
        list(messages(b"\0" * 64))


def test_a_question_that_the_kernel_does_not_take_is_an_error() -> None:
    with pytest.raises(OSError, match="Invalid argument"):
        list(dump(SOCK_DIAG, BY_FAMILY, b""))


@pytest.mark.needs("root")
def test_an_own_socket_is_found_with_what_it_dropped() -> None:
    with socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ALL)) as own:
        own.bind(("lo", ALL))
        own.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1)
        inode = os.fstat(own.fileno()).st_ino
        assert inode in [one.inode for one in packet_sockets()]
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
            for _ in range(100):
                sender.sendto(b"x" * 1000, ("127.0.0.1", 9))
        (found,) = (one for one in packet_sockets() if one.inode == inode)
        assert found.drops > 0
        # Others may talk on lo meanwhile, so it drops more while we look.
        assert drops_of(os.getpid())["lo"] >= found.drops
    assert drops_of(2**22 + 1) == {}


RX_RING = 5
PAGE = os.sysconf("SC_PAGESIZE")
TWO_FRAMES = struct.pack("=IIII", PAGE, 1, PAGE // 2, 2)
"""Bytes of a block, blocks, bytes of a frame, frames."""


@pytest.mark.needs("root")
def test_what_a_ring_had_no_room_for_is_added_up_though_the_kernel_tells_it_once() -> None:
    rings, ours = Rings(), os.getpid()
    with socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ALL)) as own:
        own.setsockopt(SOL_PACKET, RX_RING, TWO_FRAMES)
        own.bind(("lo", ALL))
        counts = [rings.drops_of(ours)["lo"]]
        for _ in range(2):
            with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
                for _ in range(100):
                    sender.sendto(b"x" * 1000, ("127.0.0.1", 9))
            counts.append(rings.drops_of(ours)["lo"])
        # Two frames stay in the ring, and others may talk on lo meanwhile.
        assert counts[1] - counts[0] >= 98
        assert counts[2] - counts[1] >= 100
    assert rings.drops_of(ours)["lo"] >= counts[2], "what is closed does not count anew"
    assert Rings().drops_of(2**22 + 1) == {}
