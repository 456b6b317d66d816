"""VPP as it runs: what it answers, counts and copies, and where its statistics lie."""

from __future__ import annotations

import shutil
import socket
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import pytest
from switch_cases import PVP
from vpp_cases import vpp_case
from vpp_segment import WrittenSegment

from vsperf.drivers.vswitches.vpp import programs
from vsperf.drivers.vswitches.vpp.api import (
    FEW,
    ON_THE_WAY,
    Api,
    ApiError,
    Messages,
    call_many,
    call_over,
    connect,
)
from vsperf.drivers.vswitches.vpp.calls import Call, InterfaceOf
from vsperf.drivers.vswitches.vpp.driver import CHECKS, not_started
from vsperf.drivers.vswitches.vpp.layout import SwitchPort, ports_of
from vsperf.drivers.vswitches.vpp.reading import (
    Read,
    Reading,
    at_rest,
    buffer_pools,
    reading,
    settled,
    whole,
)
from vsperf.drivers.vswitches.vpp.running import Meter, address_counts, switch_counters
from vsperf.drivers.vswitches.vpp.segment import Segment, SegmentError, mapped
from vsperf.drivers.vswitches.vpp.spec import VppSpec
from vsperf.errors import NotReadyError
from vsperf.host.doctor.finding import Host, Status
from vsperf.host.software import to_install_extra
from vsperf.records.switch import SwitchCounters

# A VPP that does not answer is noticed in time, whatever it does instead.

SOON_S = 0.1
PATIENCE_S = 60.0
"""With who answers, however late."""


def known_messages() -> Messages:
    """Return the messages that the library itself has: those of the greeting, and a ping."""
    import vpp_papi

    return Messages([Path(vpp_papi.__file__).parent / "data" / "memclnt.api.json"])


@contextmanager
def listening(path: Path, kind: int, answer: bytes | None) -> Iterator[None]:
    """Take one connection and answer it, or hang up at once when there is no answer."""
    with socket.socket(socket.AF_UNIX, kind) as server:
        server.bind(str(path))
        server.listen(1)
        done = threading.Event()

        def serve() -> None:
            connection, _ = server.accept()
            with connection, suppress(OSError):  # who asks may have given up before
                if answer is not None:
                    if kind == socket.SOCK_STREAM:
                        connection.recv(1024)
                    if answer:
                        connection.sendall(answer)
                    done.wait(10)

        thread = threading.Thread(target=serve)
        thread.start()
        try:
            yield
        finally:
            done.set()
            thread.join()


def test_nobody_at_the_socket_is_said_at_once(tmp_path: Path) -> None:
    with pytest.raises(ApiError, match=r"api\.sock cannot be reached"):
        connect(tmp_path / "api.sock", known_messages(), SOON_S)


HALF_AN_ANSWER = bytes(8) + b"\0\0\1\0" + bytes(4) + b"\0\x10"


@pytest.mark.parametrize(
    ("answer", "said", "patience_s"),
    [
        (b"", r"did not answer a greeting within 0\.1 s", SOON_S),
        (HALF_AN_ANSWER, "did not answer", SOON_S),
        (None, r"closed the connection|cannot be reached", PATIENCE_S),
    ],
    ids=["it hangs", "half of an answer", "closed"],
)
def test_a_vpp_that_does_not_answer_is_not_waited_for_without_end(
    tmp_path: Path, answer: bytes | None, said: str, patience_s: float
) -> None:
    path = tmp_path / "api.sock"
    with listening(path, socket.SOCK_STREAM, answer), pytest.raises(ApiError, match=said):
        connect(path, known_messages(), patience_s)


def test_statistics_that_are_not_shared_are_an_error(tmp_path: Path) -> None:
    path = tmp_path / "stats.sock"
    with listening(path, socket.SOCK_SEQPACKET, b"x"), pytest.raises(SegmentError, match="share"):
        mapped(path, PATIENCE_S)


def test_definitions_that_are_none_are_an_error(tmp_path: Path) -> None:
    (tmp_path / "memclnt.api.json").write_text("{")
    with pytest.raises(NotReadyError, match="definitions of VPP's API cannot be read"):
        Messages([tmp_path / "memclnt.api.json"])


def test_a_field_that_this_version_has_not_is_named() -> None:
    with pytest.raises(ApiError, match="control_ping has no field colour"):
        known_messages().packed("control_ping", 1, {"colour": 7})


@pytest.mark.parametrize(
    ("fields", "line"),
    [
        ({"flags": 1, "sw_if_index": InterfaceOf("phy0")}, "call flags=1 sw_if_index=phy0"),
        ({"up": True, "paths": [{"nh": "10.0.0.1"}]}, "call up=true paths=[{nh=10.0.0.1}]"),
        ({"label_stack": ({}, {})}, "call "),
    ],
)
def test_a_call_can_be_read(fields: dict[str, Any], line: str) -> None:
    assert Call("call", fields).line == line


def test_paths_and_interfaces_are_filled_in_wherever_they_stand() -> None:
    call = Call("call", {"route": {"paths": [{"sw_if_index": InterfaceOf("phy1")}]}, "to": "RUN/a"})
    filled = call.filled(lambda text: text.replace("RUN", "/run"), {"phy1": 7})
    assert filled == {"route": {"paths": [{"sw_if_index": 7}]}, "to": "/run/a"}


@pytest.mark.parametrize(
    ("log", "why"),
    [
        ("buffer: failed to allocate buffer pool(s)", "too few free hugepages"),
        ("vpp: error while loading shared libraries: libvnet.so.26.06", "libraries are not where"),
        ("cpu: corelist: cpu 9 is not available", "cannot run on the CPUs"),
        ("plugins: unknown input `plugin foo'", "does not know a line"),
    ],
)
def test_the_log_says_why_it_did_not_start(log: str, why: str) -> None:
    error = not_started(log, "ended with exit code 1")
    assert isinstance(error, NotReadyError)
    assert why in str(error.problems[0].why)
    assert error.problems[0].fix


def test_a_log_that_says_nothing_leaves_the_obituary() -> None:
    assert not_started("", "was killed by SIGSEGV").problems[0].why == "was killed by SIGSEGV"


class Connection(Api):
    """A connection that answers whatever it is asked, and counts what it owes."""

    def __init__(self) -> None:
        self.owed = 0
        self.most_owed = 0
        self.asked: list[str] = []

    def ask(self, name: str, fields: Mapping[str, Any], context: int | None = None) -> int:
        self.asked.append(name)
        self.owed += 1
        self.most_owed = max(self.most_owed, self.owed)
        return len(self.asked)

    def answer(self, name: str, context: int) -> Any:
        assert self.asked[context - 1] == name
        self.owed -= 1
        return name


def test_calls_over_several_connections_are_made_in_turns_and_answered_in_order() -> None:
    connections = [Connection(), Connection(), Connection()]
    names = [f"call {number}" for number in range(1_000)]
    assert [*call_over(connections, ((name, {}) for name in names))] == names
    assert [one.asked for one in connections] == [names[0::3], names[1::3], names[2::3]]
    assert [one.most_owed for one in connections] == [ON_THE_WAY] * 3
    assert [one.owed for one in connections] == [0, 0, 0]


def test_a_few_calls_are_made_over_the_connection_that_there_is(tmp_path: Path) -> None:
    known = Connection()
    call_many(tmp_path / "nobody.sock", known, known_messages(), [("call", {})] * FEW)
    assert len(known.asked) == FEW and known.owed == 0


def test_many_calls_need_more_connections(tmp_path: Path) -> None:
    known = Connection()
    known.patience_s = SOON_S
    with pytest.raises(ApiError, match=r"nobody\.sock cannot be reached"):
        call_many(tmp_path / "nobody.sock", known, known_messages(), [("call", {})] * (FEW + 1))


# Statistics of VPP are read where they lie, and only as a whole.

SOON_S_SEGMENT = 0.05


def heartbeat(segment: Segment) -> int | None:
    return segment.number("/sys/heartbeat")


def test_counters_are_read_by_thread_and_index_and_of_frames_and_bytes_the_frames() -> None:
    written = WrittenSegment()
    written.simple("/if/drops", [[1, 2, 3], [4, 5, 6]])
    written.combined("/if/rx", [[(0, 0), (7, 448)], [(1, 60), (9, 576)]])
    segment = Segment(written.memory)
    assert segment.read(lambda found: found.simple("/if/drops")) == ((1, 2, 3), (4, 5, 6))
    assert segment.read(lambda found: found.combined("/if/rx")) == ((0, 7), (1, 9))


def test_what_vpp_does_not_count_is_missing() -> None:
    segment = Segment(WrittenSegment().memory)
    assert segment.read(lambda segment: segment.simple("/if/drops")) == ()
    assert segment.read(heartbeat) is None


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
    assert segment.read(heartbeat) == 3
    written.change_number(1, 4)
    assert segment.read(heartbeat) == 4


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
    assert segment.read(heartbeat) is None
    written.number("/sys/heartbeat", 3)
    written.header(epoch=2)
    assert segment.read(heartbeat) == 3


def test_a_change_that_ends_is_waited_for() -> None:
    written = WrittenSegment()
    written.number("/sys/heartbeat", 3)
    written.header(changing=1)
    ending = threading.Timer(SOON_S_SEGMENT, written.header)
    ending.start()
    assert Segment(written.memory).read(heartbeat) == 3
    ending.join()


def test_a_change_that_does_not_end_is_not_waited_for_without_end() -> None:
    written = WrittenSegment()
    written.header(changing=1)
    with pytest.raises(SegmentError, match=r"did not come to rest within 0\.05 s"):
        Segment(written.memory).read(reading, patience_s=SOON_S_SEGMENT)


def test_what_changed_while_it_was_read_is_read_again() -> None:
    written = WrittenSegment()
    written.number("/sys/heartbeat", 3)
    epochs = iter([2, 2])

    def slowly(segment: Segment) -> int | None:
        if (epoch := next(epochs, None)) is not None and epoch != 1:
            written.header(epoch=epoch)
        return heartbeat(segment)

    assert Segment(written.memory).read(slowly) == 3


def test_a_place_outside_of_the_segment_is_never_followed() -> None:
    written = WrittenSegment()
    written.number("/if/drops", 0)
    written._entries[-1] = b"\2\0\0\0\0\0\0\0" + b"\xff" * 8 + b"/if/drops".ljust(128, b"\0")
    written.header(epoch=2)
    segment = Segment(written.memory)
    with pytest.raises(SegmentError):
        segment.read(lambda found: found.simple("/if/drops"), patience_s=SOON_S_SEGMENT)


# What VPP counts becomes the counters of a switch, and closes the account of a trial.

FIRST, SECOND = "VirtualEthernet0/0/0", "VirtualEthernet0/0/1"
FULL = "tx packet drops (no available descriptors)"
INTERFACES = {"phy0": 1, "phy1": 2}


def ports(switch: dict[str, Any] | None = None, **case: Any) -> tuple[SwitchPort, ...]:
    made = vpp_case(switch, **case)
    assert isinstance(made.vswitch, VppSpec)
    return ports_of(made, made.vswitch)


def found(**changed: Any) -> Reading:
    """Return a reading of two workers; the main thread is the first, and forwards nothing."""
    usual: dict[str, Any] = {
        "names": ("local0", FIRST, SECOND),
        "received": ((0, 0, 0), (0, 600, 0), (0, 0, 400)),
        "sent": ((0, 0, 0), (0, 0, 600), (0, 400, 0)),
        "dropped": ((0, 0, 0), (0, 0, 0), (0, 0, 0)),
    }
    return Reading(**{**usual, **changed})


def test_frames_are_summed_over_threads() -> None:
    counters = switch_counters(ports(), INTERFACES, found())
    assert [(one.name, one.received_frames, one.sent_frames) for one in counters.ports] == [
        ("phy0", 600, 400),
        ("phy1", 400, 600),
    ]
    assert counters.dropped_frames == 0


def test_a_frame_that_found_a_full_ring_was_dropped_once_and_not_sent() -> None:
    """VPP counts it as sent, among the dropped ones of the interface, and by its reason."""
    read = found(dropped=((0, 0, 0), (0, 0, 90)), errors={f"{SECOND}-tx/{FULL}": 90})
    _, second = switch_counters(ports(), INTERFACES, read).ports
    assert second.sent_frames == 510
    assert {reason: count for reason, count in second.drops.items() if count} == {f"tx {FULL}": 90}
    assert second.lost_on_sending == 90


def test_a_memif_does_not_count_those_among_the_dropped_ones() -> None:
    read = found(
        names=("local0", "memif1/0", "memif2/0"),
        dropped=((0, 0, 0), (0, 0, 7)),
        errors={"memif2/0-tx/no_free_slots": 90, "memif2/0-tx/rollback": 3},
    )
    _, second = switch_counters(ports({"ports": "memif"}), INTERFACES, read).ports
    assert second.lost_on_sending == second.drops["tx no_free_slots"] == 90
    assert second.drops["rx dropped"] == 7


def test_what_was_dropped_inside_is_lost_at_the_port_where_it_entered() -> None:
    read = found(dropped=((0, 0, 0), (0, 25, 0)), errors={"ip4-input/ip4 ttl <= 1": 25})
    first, _ = switch_counters(ports(), INTERFACES, read).ports
    assert first.drops["rx dropped"] == 25
    assert switch_counters(ports(), INTERFACES, read).dropped_frames == 25


def test_frames_that_a_full_tap_refused_were_not_sent() -> None:
    counters = switch_counters(ports(), INTERFACES, found(), refused={"phy1": 40})
    assert counters.ports[1].sent_frames == 560
    assert counters.ports[1].drops["tx tap full"] == 40


def test_a_port_that_vpp_does_not_count_for_is_missing() -> None:
    counters = switch_counters(ports(), {"phy0": 1, "phy1": 5}, found())
    assert [one.name for one in counters.ports] == ["phy0"]


def test_a_port_says_which_vnf_is_behind_it() -> None:
    index = {"phy0": 1, "phy1": 2, "vm1_0": 1, "vm1_1": 2}
    counters = switch_counters(ports(topology=PVP), index, found())
    assert [(one.link, one.vnf) for one in counters.ports] == [
        ("phy0", None), ("phy1", None), (None, "vm1"), (None, "vm1"),
    ]  # fmt: skip


def test_a_bridge_says_how_many_addresses_it_has_learned() -> None:
    counts = address_counts(40, 1000, found(errors={"l2-learn/L2 learn misses": 50}))
    assert (counts.known, counts.most, counts.learned) == (40, 1000, 50)


NODES = ("vhost-user-input", "ethernet-input", "l2-output")


def worked(
    frames: int, polls: int, finds: int, clocks: tuple[int, int, int], known: int = 0
) -> Reading:
    """Return what one worker has counted so far; `known` frames by its nodes."""
    return Reading(
        names=("local0", FIRST),
        received=((0, 0), (0, frames)),
        nodes=NODES,
        calls=((0, 0, 0), (polls, finds, finds)),
        clocks=((0, 0, 0), clocks),
        vectors=((0, 0, 0), (known, known, known)),
    )


def meter() -> Meter:
    """Return a meter that has seen that a poll in vain takes 50 cycles."""
    made = Meter(cpus=(3,), indices=(1,))
    made.learn(worked(0, 100, 0, (5_000, 0, 0)), worked(0, 300, 0, (15_000, 0, 0)))
    return made


def test_a_worker_that_only_polls_is_idle() -> None:
    made = meter()
    made.add(worked(0, 1_000, 0, (50_000, 0, 0)))
    (worker,) = made.add(worked(0, 2_000, 0, (110_000, 0, 0)))
    assert (worker.cpu, worker.frames, worker.busy_cycles, worker.idle_cycles) == (3, 0, 0, 60_000)


def test_polls_in_vain_are_idle_and_all_else_is_busy() -> None:
    made = meter()
    made.add(worked(0, 0, 0, (0, 0, 0)))
    (worker,) = made.add(worked(2_560, 1_010, 10, (150_000, 20_000, 30_000)))
    assert worker.idle_cycles == 1_000 * 50
    assert worker.busy_cycles == 150_000 + 20_000 + 30_000 - 50_000


def test_cycles_never_count_backwards() -> None:
    """VPP copies these counters while its workers write them, so now and then one is off."""
    made = meter()
    made.add(worked(100, 1_000, 10, (90_000, 9_000, 9_000)))
    (first,) = made.add(worked(200, 5_000, 20, (91_000, 9_100, 9_100)))
    (second,) = made.add(worked(300, 5_100, 30, (80_000, 9_200, 9_200)))
    assert (second.busy_cycles or 0) >= (first.busy_cycles or 0) >= 0
    assert (second.idle_cycles or 0) >= (first.idle_cycles or 0) >= 0


def test_a_worker_whose_nodes_found_more_frames_than_came_is_left_out_once() -> None:
    made = meter()
    made.add(worked(100, 1_000, 10, (50_000, 0, 0), known=100))
    assert made.add(worked(200, 9_000, 20, (500_000, 9_000, 9_000), known=300)) == ()
    (worker,) = made.add(worked(300, 9_100, 30, (510_000, 9_900, 9_900), known=400))
    assert (worker.frames, worker.busy_cycles) == (300, 10_000 - 90 * 50 + 2 * 900)


def test_without_knowing_what_polling_takes_nothing_is_said() -> None:
    made = Meter(cpus=(3,), indices=(1,))
    assert made.add(worked(100, 1_000, 10, (90_000, 9_000, 9_000))) == ()


def test_polling_is_not_learned_while_frames_come() -> None:
    made = Meter(cpus=(3,), indices=(1,))
    made.learn(worked(0, 100, 0, (5_000, 0, 0)), worked(9, 300, 9, (90_000, 0, 0)))
    assert made.empty_poll == {}


def test_counters_of_nodes_that_do_not_know_of_all_frames_are_waited_for() -> None:
    made = meter()
    made.add(worked(100, 1_000, 1, (50_000, 0, 0), known=100))
    assert made.knows_all(worked(100, 1_000, 1, (50_000, 0, 0), known=100))
    assert not made.knows_all(worked(400, 1_000, 1, (50_000, 0, 0), known=100))
    assert made.knows_all(worked(400, 3_000, 9, (90_000, 9_000, 9_000), known=400))


def test_what_nodes_did_is_told_of_each_worker() -> None:
    made = meter()
    before = made.add(worked(100, 1_000, 10, (50_000, 0, 0), known=100))
    after = made.add(worked(400, 3_000, 30, (90_000, 9_000, 0), known=400))
    growth = SwitchCounters(pmds=after).since(SwitchCounters(pmds=before))
    first, second, _ = growth.pmds[0].stages
    assert (first.name, first.calls, first.frames, first.cycles) == (
        "vhost-user-input", 2_000, 300, 40_000,
    )  # fmt: skip
    assert (second.name, second.calls) == ("ethernet-input", 20)


def test_reasons_that_did_not_grow_are_left_out() -> None:
    before = switch_counters(ports(), INTERFACES, found(errors={"a/b": 7, "c/d": 1}))
    after = switch_counters(ports(), INTERFACES, found(errors={"a/b": 7, "c/d": 5}))
    assert after.since(before).reasons == {"c/d": 4}


# What VPP copies now and then is read next to a copy, and never across one.

BEFORE, CLOCKS, CALLS, VECTORS, AFTER = range(1, 6)
"""The looks of one reading: at the heartbeat, at what nodes count, and at the heartbeat again."""


@dataclass
class Statistics:
    """Statistics of which a copy is made right before some of the looks at them."""

    copied_before: tuple[int, ...]
    looks: int = 0
    copies: int = 0

    def read(self, what: Callable[[Segment], Read]) -> Read:
        return what(cast(Segment, self))

    def number(self, name: str) -> int:
        return self._look()

    def simple(self, name: str) -> tuple[tuple[int, ...], ...]:
        return ((self._look(),),) if name.startswith("/sys/node") else ()

    def combined(self, name: str) -> tuple[tuple[int, ...], ...]:
        return ()

    def names(self, name: str) -> tuple[str, ...]:
        return ()

    def errors(self) -> dict[str, int]:
        return {}

    def _look(self) -> int:
        self.looks += 1
        self.copies += self.looks in self.copied_before
        return self.copies


def copies_in(found: Reading) -> set[int | None]:
    """Return the copies that the parts of a reading are of."""
    nodes = (found.clocks, found.calls, found.vectors)
    return {found.beats, *(count for part in nodes for thread in part for count in thread)}


def test_a_reading_is_of_one_copy() -> None:
    assert copies_in(whole(Statistics(()))) == {0}
    for beside in (CLOCKS, CALLS, VECTORS, AFTER):
        assert copies_in(whole(Statistics((beside,)))) == {1}


def test_statistics_that_never_rest_are_read_all_the_same() -> None:
    assert whole(Statistics(tuple(range(1, 100)))).beats == AFTER * 3


def test_before_the_first_trial_two_copies_are_enough() -> None:
    statistics = Statistics((4, 12))
    first, later = at_rest(statistics)
    assert (copies_in(first), copies_in(later)) == ({1}, {2})
    assert statistics.copies == 2


def test_what_is_enough_is_not_waited_for() -> None:
    statistics = Statistics(())
    assert settled(statistics, lambda found: True).beats == 0
    assert statistics.looks == AFTER


def test_a_copy_that_may_have_begun_before_is_not_the_last_word() -> None:
    statistics = Statistics((6, 16, 26))
    assert settled(statistics, lambda found: False).beats == 2


# `vsperf doctor` says whether VPP is there; without it, only some testcases miss something.


def test_a_machine_without_vpp_is_well_all_the_same() -> None:
    (check,) = CHECKS
    answer = check.ask(Host())
    if shutil.which("vpp") is None:
        assert answer.status is Status.ABSENT
        assert answer.fix is not None and "vswitch.install=PATH" in answer.fix


def test_one_that_was_chosen_is_looked_for_where_it_is(tmp_path: Path) -> None:
    """And that it is not there keeps a run from working."""
    (check,) = CHECKS
    chosen = VppSpec(kind="vpp", install=str(tmp_path))
    answer = check.ask(Host(chosen=(chosen,)))
    assert answer.status is Status.FAILURE
    assert str(tmp_path) in answer.evidence


def test_a_missing_library_is_named_with_the_way_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(programs, "PYTHON", "no_such_library")
    with pytest.raises(NotReadyError, match="no_such_library is not installed") as caught:
        programs.require_library()
    assert caught.value.problems[0].fix == to_install_extra("vpp")
