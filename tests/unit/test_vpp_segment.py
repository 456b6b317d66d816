"""Statistics of VPP are read where they lie, and only as a whole."""

from __future__ import annotations

import threading

import pytest
from vpp_segment import WrittenSegment

from vsperf.vswitches.vpp.reading import buffer_pools, reading
from vsperf.vswitches.vpp.segment import Segment, SegmentError

SOON_S = 0.05


def test_counters_are_read_by_thread_and_index() -> None:
    written = WrittenSegment()
    written.simple("/if/drops", [[1, 2, 3], [4, 5, 6]])
    found = Segment(written.memory).read(lambda segment: segment.simple("/if/drops"))
    assert found == ((1, 2, 3), (4, 5, 6))


def test_of_frames_and_bytes_the_frames_are_taken() -> None:
    written = WrittenSegment()
    written.combined("/if/rx", [[(0, 0), (7, 448)], [(1, 60), (9, 576)]])
    found = Segment(written.memory).read(lambda segment: segment.combined("/if/rx"))
    assert found == ((0, 7), (1, 9))


def test_what_vpp_does_not_count_is_missing() -> None:
    segment = Segment(WrittenSegment().memory)
    assert segment.read(lambda segment: segment.simple("/if/drops")) == ()
    assert segment.read(lambda segment: segment.number("/sys/heartbeat")) is None


def test_a_name_may_be_missing_in_between() -> None:
    written = WrittenSegment()
    written.names("/if/names", ["local0", None, "VirtualEthernet0/0/0"])
    found = Segment(written.memory).read(lambda segment: segment.names("/if/names"))
    assert found == ("local0", "", "VirtualEthernet0/0/0")


def test_errors_are_places_in_one_vector_and_summed_over_threads() -> None:
    written = WrittenSegment()
    vector = written.simple("/node/errors", [[0, 5, 0], [0, 2, 0]])
    written.symlink("/err/ip4-input/ip4 ttl <= 1", vector, 1)
    written.symlink("/err/ip4-input/bad checksum", vector, 2)
    found = Segment(written.memory).read(lambda segment: segment.errors())
    assert found == {"ip4-input/ip4 ttl <= 1": 7}


def test_a_number_is_read_anew_where_nothing_moved() -> None:
    written = WrittenSegment()
    written.number("/sys/boottime", 1)
    written.number("/sys/heartbeat", 3)
    segment = Segment(written.memory)
    assert segment.read(lambda segment: segment.number("/sys/heartbeat")) == 3
    written.change_number(1, 4)
    assert segment.read(lambda segment: segment.number("/sys/heartbeat")) == 4


def test_buffers_of_a_pool_are_counted_wherever_they_are() -> None:
    written = WrittenSegment()
    for state, count in (("cached", 40), ("used", 60), ("available", 16_000), ("rate", 7)):
        written.number(f"/buffer-pools/default-numa-0/{state}", count)
    written.number("/buffer-pools/default-numa-1/available", 0)  # not counted yet
    found = Segment(written.memory).read(buffer_pools)
    assert found == {"default-numa-0": 16_100}


def test_what_is_added_later_is_found() -> None:
    written = WrittenSegment()
    segment = Segment(written.memory)
    assert segment.read(lambda segment: segment.number("/sys/heartbeat")) is None
    written.number("/sys/heartbeat", 3)
    written.header(epoch=2)
    assert segment.read(lambda segment: segment.number("/sys/heartbeat")) == 3


def test_a_change_that_ends_is_waited_for() -> None:
    written = WrittenSegment()
    written.number("/sys/heartbeat", 3)
    written.header(changing=1)
    ending = threading.Timer(SOON_S, written.header)
    ending.start()
    assert Segment(written.memory).read(lambda segment: segment.number("/sys/heartbeat")) == 3
    ending.join()


def test_a_change_that_does_not_end_is_not_waited_for_without_end() -> None:
    written = WrittenSegment()
    written.header(changing=1)
    with pytest.raises(SegmentError, match=r"did not come to rest within 0\.05 s"):
        Segment(written.memory).read(reading, patience_s=SOON_S)


def test_what_changed_while_it_was_read_is_read_again() -> None:
    written = WrittenSegment()
    written.number("/sys/heartbeat", 3)
    epochs = iter([2, 2])

    def slowly(segment: Segment) -> int | None:
        if (epoch := next(epochs, None)) is not None and epoch != 1:
            written.header(epoch=epoch)
        return segment.number("/sys/heartbeat")

    assert Segment(written.memory).read(slowly) == 3


def test_a_place_outside_of_the_segment_is_never_followed() -> None:
    written = WrittenSegment()
    written.number("/if/drops", 0)
    written._entries[-1] = b"\2\0\0\0\0\0\0\0" + b"\xff" * 8 + b"/if/drops".ljust(128, b"\0")
    written.header(epoch=2)
    with pytest.raises(SegmentError):
        Segment(written.memory).read(lambda found: found.simple("/if/drops"), patience_s=SOON_S)
