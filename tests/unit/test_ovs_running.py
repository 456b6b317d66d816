"""OVS as it runs: what it prints, when it is called, and why it did not come up."""

from __future__ import annotations

import os
import signal
import socket
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from ovs_cases import ovs_case
from places import PLACEMENT

from vsperf.drivers.vswitches.ovs import parse
from vsperf.drivers.vswitches.ovs.bringup import PATH, Calls, Instance, told_by_log
from vsperf.drivers.vswitches.ovs.database import Interface
from vsperf.drivers.vswitches.ovs.dpdk.driver import DpdkDesign, OvsDpdkSpec
from vsperf.drivers.vswitches.ovs.layout import SwitchPort, opened, opened_with_rings
from vsperf.drivers.vswitches.ovs.programs import planned_programs
from vsperf.drivers.vswitches.ovs.running import (
    DATABASE,
    RunningOvs,
    complaints,
    late_problem,
    not_started,
    port_problems,
    switch_counters,
)
from vsperf.errors import ComponentError, DiedError, NotReadyError
from vsperf.host.process import Managed, managed
from vsperf.host.workspace import Workspace, workspace

# What OVS prints becomes typed values; the files in golden/ovs are what OVS 3.1.0 really said.

GOLDEN = Path(__file__).parents[1] / "golden" / "ovs"
CLIENTS = tuple(
    SwitchPort(f"phy{number}", number + 1, f"phy{number}", "dpdkvhostuserclient")
    for number in range(2)
)
SERVERS = tuple(
    SwitchPort(f"phy{number}", number + 1, f"phy{number}", "dpdkvhostuser") for number in range(2)
)


def golden(name: str) -> str:
    return (GOLDEN / f"{name}.txt").read_text()


def test_frames_and_drops_of_each_port_are_read() -> None:
    ports = {port.name: port for port in parse.port_statistics(golden("overload-dpctl-show"))}
    assert set(ports) == {"ovs-netdev", "vsperf-br", "phy0", "phy1"}
    assert ports["phy0"].received == {"packets": 6125280, "dropped": 0}
    assert ports["phy0"].sent == {"packets": 6124704, "dropped": 480}
    assert ports["phy1"].sent["dropped"] == 448


def test_of_rings_of_packet_sockets_the_devices_are_known_and_of_other_ports_nothing() -> None:
    words = {
        "phy0": "net_af_packet_phy0,iface=vsp0-0-0,qdisc_bypass=0",
        "phy1": "net_af_packet0,framecnt=512,iface=eth1",
        "phy2": "0000:03:00.0",
        "phy3": "net_tap0,iface=tap9",
    }
    every = [
        SwitchPort(name, number, name, "dpdk", {"dpdk-devargs": devargs})
        for number, (name, devargs) in enumerate(words.items(), start=1)
    ]
    every.append(SwitchPort("phy4", 5, "phy4", "system", device="eth4"))
    assert opened_with_rings(every) == {"vsp0-0-0": "phy0", "eth1": "phy1"}
    assert opened(every) == {"eth4": "phy4"}


def test_a_counter_that_a_port_has_not_is_left_out_and_not_zero() -> None:
    ports = {port.name: port for port in parse.port_statistics(golden("overload-dpctl-show"))}
    assert "errors" not in ports["phy0"].received
    assert ports["vsperf-br"].received["errors"] == 0


def test_a_port_that_nobody_is_connected_to_is_there_without_counters() -> None:
    ports = {port.name: port for port in parse.port_statistics(golden("idle-dpctl-show"))}
    assert {"phy0", "phy1"} <= set(ports)
    assert (ports["phy0"].received, ports["phy0"].sent) == ({}, {})
    assert ports["phy0"].about.startswith("dpdkvhostuserclient: ")


def test_each_polling_thread_is_told_from_the_main_thread() -> None:
    threads = parse.thread_statistics(golden("two-pmds-pmd-stats-show"))
    assert [thread.cpu for thread in threads] == [0, 1, None]
    assert [thread.node for thread in threads] == [0, 0, None]
    assert threads[1].counters["packets received"] == 200000
    assert threads[1].counters["processing cycles"] == 263473930
    assert "idle cycles" not in threads[2].counters


def test_cycles_below_zero_which_ovs_prints_as_64_bits_are_unknown() -> None:
    text = golden("two-pmds-pmd-stats-show").replace("263473930", "18446744072054779047")
    assert text != golden("two-pmds-pmd-stats-show")
    first, second = switch_counters((), (), parse.thread_statistics(text), {}).pmds
    assert isinstance(first.busy_cycles, int)
    assert second.busy_cycles is None
    assert isinstance(second.idle_cycles, int)


def test_averages_are_no_counters() -> None:
    for thread in parse.thread_statistics(golden("two-pmds-pmd-stats-show")):
        assert not any("avg" in name for name in thread.counters if name.startswith("avg. "))


def test_performance_has_every_counter_of_a_thread() -> None:
    first, second = parse.thread_performance(golden("two-pmds-pmd-perf-show"))
    assert (first.cpu, second.cpu) == (0, 1)
    assert second.counters["Rx packets"] == 200000
    assert second.counters["Simple Match hits"] == 199999
    assert {"Iterations", "busy iterations", "idle iterations"} <= set(second.counters)


def test_every_queue_says_who_polls_it() -> None:
    queues = parse.queues(golden("two-pmds-pmd-rxq-show"))
    assert {(queue.port, queue.number, queue.cpu) for queue in queues} == {
        ("phy0", 1, 0),
        ("phy1", 0, 0),
        ("phy0", 0, 1),
        ("phy1", 1, 1),
    }
    assert all(queue.enabled for queue in queues)


def test_a_usage_that_is_not_known_yet_is_none() -> None:
    assert {queue.usage_percent for queue in parse.queues(golden("idle-pmd-rxq-show"))} == {None}
    known = "pmd thread numa_id 1 core_id 7:\n  isolated : true\n" + (
        "  port: dpdk0    queue-id:  3 (disabled)   pmd usage: 41 %\n  overhead:  2 %\n"
    )
    assert parse.queues(known) == (parse.Queue(7, "dpdk0", 3, False, 41),)


def test_older_versions_say_less_of_a_queue() -> None:
    old = "pmd thread numa_id 0 core_id 2:\n  port: dpdk0    queue-id:  0\n"
    assert parse.queues(old) == (parse.Queue(2, "dpdk0", 0, None, None),)


def test_events_are_read_by_their_totals() -> None:
    assert parse.coverage(golden("dropping-coverage-show"))["drop_action_of_pipeline"] == 100000


def test_drops_of_a_port_that_counts_nothing_else_are_read_from_openflow() -> None:
    found = parse.custom_drops(golden("server-dump-ports"))
    assert set(found) == {1, 2}
    assert found[1]["tx_failure_drops"] == 448
    assert found[2]["tx_failure_drops"] == 160


@given(st.text(max_size=200))
def test_whatever_is_printed_is_no_reason_to_fail(text: str) -> None:
    for read in (
        parse.port_statistics,
        parse.thread_statistics,
        parse.thread_performance,
        parse.queues,
        parse.coverage,
        parse.custom_drops,
    ):
        read(text)


@pytest.mark.parametrize("name", ["overload", "idle"])
def test_text_that_was_cut_off_is_no_reason_to_fail(name: str) -> None:
    text = golden(f"{name}-dpctl-show")
    for end in range(0, len(text), 7):
        parse.port_statistics(text[:end])


def test_counters_close_what_was_lost_at_overload() -> None:
    counters = switch_counters(
        CLIENTS,
        parse.port_statistics(golden("overload-dpctl-show")),
        parse.thread_statistics(golden("overload-pmd-stats-show")),
        parse.coverage(golden("overload-coverage-show")),
    )
    received = sum(port.received_frames for port in counters.ports)
    sent = sum(port.sent_frames for port in counters.ports)
    assert received - sent == counters.dropped_frames == 928
    assert [port.link for port in counters.ports] == ["phy0", "phy1"]


def test_counters_tell_which_cache_answered() -> None:
    counters = switch_counters(
        CLIENTS, (), parse.thread_statistics(golden("overload-pmd-stats-show")), {}
    )
    (pmd,) = counters.pmds
    assert pmd.cpu == 1
    assert sum(pmd.hits.values()) == pmd.frames
    assert (pmd.hits["simple"], pmd.hits["upcall"]) == (12250400, 2)


def test_frames_that_a_rule_drops_are_counted_as_drops() -> None:
    counters = switch_counters(
        CLIENTS,
        parse.port_statistics(golden("dropping-dpctl-show")),
        (),
        parse.coverage(golden("dropping-coverage-show")),
    )
    assert counters.drops == {"drop_action_of_pipeline": 100000}


def test_ports_without_counters_are_missing_and_not_at_zero() -> None:
    counters = switch_counters(CLIENTS, parse.port_statistics(golden("idle-dpctl-show")), (), {})
    assert counters.ports == ()


def test_drops_are_known_even_where_frames_are_not_counted() -> None:
    counters = switch_counters(
        SERVERS,
        parse.port_statistics(golden("server-dpctl-show")),
        (),
        {},
        parse.custom_drops(golden("server-dump-ports")),
    )
    assert counters.ports == ()
    assert counters.dropped_frames == 448 + 160
    assert counters.drops["phy0 tx failure"] == 448


def test_a_thread_that_does_not_say_its_cycles_is_left_out() -> None:
    text = "pmd thread numa_id 0 core_id 1:\n  packets received: 5\n"
    assert switch_counters((), (), parse.thread_statistics(text), {}).pmds == ()


def test_the_table_of_addresses_is_read() -> None:
    found = parse.addresses(golden("full-fdb-stats-show"))
    assert found is not None
    assert (found.known, found.most) == (10, 10)
    assert found.all_counts == (12, 2, 0), "learned, evicted, expired"


def test_of_a_daemon_that_says_less_of_its_table_nothing_is_made_up() -> None:
    lines = golden("full-fdb-stats-show").splitlines()
    assert parse.addresses("\n".join(line for line in lines if "evicted" not in line)) is None
    assert parse.addresses("") is None


# When OVS is given the path of a socket: as soon as somebody listens there, and not before.

Given = list[dict[str, dict[str, str]]]
"""What the switch was given, call by call."""


@pytest.fixture(name="given")
def fixture_given() -> Given:
    return []


@pytest.fixture(name="calls")
def fixture_calls(given: Given) -> Calls:
    def give(options: Mapping[str, Mapping[str, str]]) -> None:
        given.append({name: dict(told) for name, told in options.items()})

    return Calls(give)


def port(folder: Path, number: int) -> SwitchPort:
    options = {PATH: str(folder / f"phy{number}.sock"), "tx-retries-max": "8"}
    return SwitchPort(f"phy{number}", number, f"phy{number}", "dpdkvhostuserclient", options)


def listen(one: SwitchPort) -> socket.socket:
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(one.options[PATH])
    listener.listen()
    return listener


def test_a_port_is_made_with_its_path_where_somebody_listens(calls: Calls, tmp_path: Path) -> None:
    ports = (port(tmp_path, 0), port(tmp_path, 1))
    with listen(ports[0]):
        made = calls.hold_back(ports)
    assert made[0] == ports[0]
    assert made[1].options == {"tx-retries-max": "8"}


def test_each_is_called_once_when_somebody_listens(
    calls: Calls, given: Given, tmp_path: Path
) -> None:
    ports = (port(tmp_path, 0), port(tmp_path, 1))
    calls.hold_back(ports)
    calls.make()
    assert given == []
    with listen(ports[1]):
        calls.make()
        calls.make()
    assert given == [{"phy1": ports[1].options}]
    with listen(ports[0]):
        calls.make()
    assert given[1:] == [{"phy0": ports[0].options}]


def test_in_the_end_all_are_called_whoever_may_come(
    calls: Calls, given: Given, tmp_path: Path
) -> None:
    ports = (port(tmp_path, 0), port(tmp_path, 1))
    calls.hold_back(ports)
    calls.make_all()
    calls.make_all()
    assert given == [{one.name: one.options for one in ports}]


def test_what_is_no_socket_is_not_called(calls: Calls, given: Given, tmp_path: Path) -> None:
    one = port(tmp_path, 0)
    Path(one.options[PATH]).touch()
    calls.hold_back((one,))
    calls.make()
    assert given == []


def test_a_port_without_a_path_is_left_as_it_is(calls: Calls, given: Given) -> None:
    server = SwitchPort("phy0", 1, "phy0", "dpdkvhostuser", {"tx-retries-max": "8"})
    assert calls.hold_back((server,)) == (server,)
    calls.make_all()
    assert given == []


# When OVS does not come up, its log says why, and the error says it on.

TIME = "2026-11-21T02:12:19Z|00011|dpdk"
NIC = SwitchPort("phy0", 1, "phy0", "dpdk", {"dpdk-devargs": "0000:03:00.0"})


@pytest.mark.parametrize(
    ("line", "meaning"),
    [
        (
            "EAL: Not enough memory available on socket 0! Requested: 512MB",
            "too few free hugepages",
        ),
        ("EAL: FATAL: Cannot init memory", "got no memory"),
        ("EAL: lcore 99 unavailable; probably offline", "CPUs"),
        ("EAL: Option --legacy-mem is not compatible with --in-memory", "one of its arguments"),
    ],
)
def test_a_known_cause_is_named_with_what_helps(line: str, meaning: str) -> None:
    log = f"{TIME}|INFO|EAL: Detected CPU lcores: 2\n{TIME}|ERR|{line}\n{TIME}|EMER|Unable to"
    error = not_started(log, "ended with exit code 1")
    assert isinstance(error, NotReadyError)
    assert meaning in str(error)
    assert line in (error.problems[0].why or "")
    assert error.problems[0].fix


def test_an_unknown_cause_is_quoted() -> None:
    error = not_started(f"{TIME}|EMER|the moon is full", "was killed by SIGKILL")
    assert isinstance(error, ComponentError)
    assert error.problems[0].why == "the moon is full"


def test_a_daemon_that_said_nothing_has_its_obituary() -> None:
    assert not_started("", "was killed by SIGKILL").problems[0].why == "was killed by SIGKILL"


def test_lines_that_every_start_has_are_no_complaints() -> None:
    log = (
        f"{TIME}|WARN|EAL: No free 1048576 kB hugepages reported on node 0\n"
        f"{TIME}|WARN|TELEMETRY: No legacy callbacks, legacy socket not created\n"
        f"{TIME}|INFO|DPDK Enabled - initialized\n"
    )
    assert complaints(log) == ()


def test_a_port_that_fell_out_when_the_other_end_connected_is_found_in_the_log() -> None:
    said = late_problem((GOLDEN / "failed-log.txt").read_text())
    assert said is not None and said.startswith("Failed to create memory pool for netdev phy")
    assert late_problem(f"{TIME}|WARN|something else\n") is None


def test_a_port_that_could_not_be_opened_is_named_with_what_the_switch_says() -> None:
    interface = Interface("phy0", -1, "Error attaching device '0000:03:00.0' to DPDK", None, {})
    error = port_problems([NIC], [interface], f"{TIME}|ERR|EAL: Driver cannot attach 0000:03:00.0")
    assert isinstance(error, NotReadyError)
    why = error.problems[0].why or ""
    assert "Error attaching device" in why and "Driver cannot attach" in why


def test_a_packet_socket_that_could_not_be_opened_is_not_blamed_on_the_testbed() -> None:
    options = {"dpdk-devargs": "net_af_packet_phy0,iface=vsp-0-0"}
    port = SwitchPort("phy0", 1, "phy0", "dpdk", options, tap="vsp-0-0")
    error = port_problems([port], [Interface("phy0", -1, "could not add", None, {})], "")
    assert error is not None
    fix = error.problems[0].fix or ""
    assert "net_af_packet, by which it opens vsp-0-0" in fix and "testbed" not in fix


@pytest.mark.parametrize("kind", ["tap", "internal"])
def test_who_cannot_open_a_device_that_it_makes_itself_is_not_said_to_lack_it(kind: str) -> None:
    port = SwitchPort("phy0", 1, "phy0", kind, device="vsp-0-0", handed=True)
    error = port_problems([port], [Interface("vsp-0-0", -1, "could not add", None, {})], "")
    assert error is not None
    assert "/dev/net/tun" in (error.problems[0].fix or "")


@pytest.mark.parametrize("interfaces", [[], [Interface("phy0", 5, None, None, {})]])
def test_a_port_that_is_missing_or_has_another_number_is_an_error(
    interfaces: list[Interface],
) -> None:
    assert port_problems([NIC], interfaces, "") is not None


def test_ports_that_are_as_asked_for_are_fine() -> None:
    assert port_problems([NIC], [Interface("phy0", 1, None, 1500, {})], "") is None


# A daemon of OVS that says nothing: stopped by somebody, or busy with something else.

DAEMON = "ovs-vswitchd"
PATIENCE_S = 0.2


def test_a_port_that_forwarded_before_is_waited_for_again_by_its_link(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Its buffers stay when its other end leaves, so the datapath looks as if that were there."""
    device = SwitchPort("phy2", 3, "phy2", "dpdk")
    looks: list[frozenset[str]] = []

    def without_link() -> frozenset[str]:
        looks.append(frozenset({"phy0", "phy2"} if len(looks) < 2 else {"phy2"}))
        return looks[-1]

    running = RunningOvs(
        folder=tmp_path,
        programs=planned_programs(None),
        ports=(*CLIENTS, device),
        daemons={},
        controls={},
        read_interfaces=tuple,
        read_custom=str,
        start_again=lambda kill: None,
        read_without_link=without_link,
    )
    shown = "".join(f"  port {port.number}: {port.name} ({port.type})\n" for port in running.ports)
    monkeypatch.setattr(RunningOvs, "_ask", lambda *words: shown)
    monkeypatch.setattr(RunningOvs, "failure", lambda running: None)
    every = tuple(port.place for port in running.ports)
    running.await_ports(every, 60)
    assert looks == [], "the datapath says whether the other end was ever there"
    running.await_ports(every, 60)
    assert len(looks) == 3, "a device of the host has no such end, whatever its link says"


@contextmanager
def silent(place: Workspace) -> Iterator[tuple[RunningOvs, Managed]]:
    """Give a switch whose daemon has a control socket, and answers nobody there."""
    control = place.folder / "silent.ctl"
    with (
        socket.socket(socket.AF_UNIX) as listening,
        managed(["sleep", "100"], name=DAEMON, workspace=place) as daemon,
    ):
        listening.bind(str(control))
        listening.listen()
        yield (
            RunningOvs(
                folder=place.folder,
                programs=planned_programs(None),
                ports=(),
                daemons={DAEMON: daemon},
                controls={DAEMON: control},
                read_interfaces=tuple,
                read_custom=str,
                start_again=lambda kill: None,
                patience_s=PATIENCE_S,
            ),
            daemon,
        )


def test_a_command_is_given_up_when_a_daemon_has_ended(place: Workspace) -> None:
    """Without its database the switch reads nobody's OpenFlow, and `ovs-ofctl` waits for ever."""
    with managed(["sleep", "0.2"], name=DATABASE, workspace=place) as ends:
        case = ovs_case()
        assert isinstance(case.vswitch, OvsDpdkSpec)
        design = DpdkDesign(case, case.vswitch, PLACEMENT)
        instance = Instance(design, planned_programs(None), place, {DATABASE: ends})
        with pytest.raises(ComponentError, match=f"{DATABASE} ended"):
            instance.run(("sleep", "100"), 100.0)


@pytest.fixture(name="place")
def fixture_place(tmp_path: Path) -> Iterator[Workspace]:
    with workspace("a test", tmp_path / "run") as place:
        yield place


def test_one_that_runs_but_does_not_answer_is_not_waited_for(place: Workspace) -> None:
    with silent(place) as (running, _):
        assert running.failure() == (
            f"{DAEMON} does not answer: silent.ctl did not answer version within {PATIENCE_S:g} s"
        )


def test_one_that_somebody_stopped_is_called_that(place: Workspace) -> None:
    with silent(place) as (running, daemon):
        os.kill(daemon.pid, signal.SIGSTOP)
        os.waitid(os.P_PID, daemon.pid, os.WSTOPPED | os.WNOWAIT)
        assert running.failure() == f"{DAEMON} is stopped: somebody sent it SIGSTOP, or debugs it"
        os.kill(daemon.pid, signal.SIGCONT)


def test_a_port_that_fell_out_is_found_in_a_line_that_came_in_pieces(place: Workspace) -> None:
    said = (GOLDEN / "failed-log.txt").read_bytes()
    at = said.index(b"Failed to create memory pool")
    said = said[: said.index(b"\n", at) + 1]
    with silent(place) as (running, daemon), daemon.log.open("ab", buffering=0) as log:
        log.write(said[:at])
        running._look_at_log()
        log.write(said[at:])
        running._look_at_log()
    assert (running._problem or "").startswith("Failed to create memory pool for netdev phy")


def test_of_a_daemon_that_writes_without_end_the_last_part_is_read(place: Workspace) -> None:
    with silent(place) as (running, daemon), daemon.log.open("ab", buffering=0) as log:
        log.truncate(1 << 40)
        log.write((GOLDEN / "failed-log.txt").read_bytes())
        running._look_at_log()
        assert running._read == daemon.log.stat().st_size
    assert (running._problem or "").startswith("Failed to create memory pool for netdev phy")


LOG = "1|a\n2|b\n3|c\n4|it waits for pmd-c01 to quiesce\n"


def test_where_it_is_waited_for_in_vain_its_log_tells_what_it_did_last() -> None:
    with pytest.raises(ComponentError) as told, told_by_log(lambda: LOG):
        raise ComponentError("the switch has not taken up its ports within 30 s")
    assert told.value.with_why == (
        "the switch has not taken up its ports within 30 s: its log ends: 2|b; 3|c; 4|it waits for "
        "pmd-c01 to quiesce"
    )


@pytest.mark.parametrize(
    ("error", "log"),
    [
        (ComponentError("ended", why="it was killed"), LOG),
        (DiedError("a guest ended"), LOG),
        (ComponentError("it waits"), ""),
    ],
)
def test_what_is_known_or_not_there_is_not_replaced(error: ComponentError, log: str) -> None:
    with pytest.raises(ComponentError) as told, told_by_log(lambda: log):
        raise error
    assert told.value is error
