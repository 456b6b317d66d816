"""Programs between places, for real: through the kernel's bridge and OVS, and when one dies."""

from __future__ import annotations

import random
import re
import signal
import socket
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path

import pytest
from conftest import not_here
from leave_no_trace import networks
from named_programs import named_program
from places import room
from real_runs import Place, fixture_calibrations, fixture_place, wait_until
from switch_cases import TWO_CPUS, plugins, real_case

from vsperf.config.case import CaseSpec
from vsperf.config.noise import NOISE
from vsperf.deploy import running
from vsperf.deploy.cpu_looks import SwitchCpus
from vsperf.deploy.deployment import PORTS_S, prepare
from vsperf.deploy.exchanging import Part, exchanged, pairs_of
from vsperf.deploy.places import Place as NetworkPlace
from vsperf.deploy.places import Places, made_places
from vsperf.deploy.planner import Drivers, make_plan
from vsperf.deploy.running import room_of
from vsperf.drivers.programs.base import InstalledProgram
from vsperf.drivers.vswitches.base import RunningSwitch
from vsperf.errors import ExitCode
from vsperf.host.netns import within
from vsperf.host.places import HOST_END
from vsperf.host.veth import known_in
from vsperf.host.workspace import Workspace
from vsperf.methods.exchanges import ExchangeAsked
from vsperf.quantities.human import human_bytes
from vsperf.quantities.units import NANOSECONDS
from vsperf.records.exchange import CLIENTS, SERVERS, Exchange
from vsperf.records.files.series import series_of
from vsperf.records.flags import Flag
from vsperf.records.run import Outcome, Plan
from vsperf.records.threads import SWITCH

pytestmark = [pytest.mark.machine, pytest.mark.needs("iperf3")]
__all__ = ["fixture_calibrations", "fixture_place"]

BRIEF = ("--set=search.duration=4s", "--set=search.warm_up=1s", "--set=search.repeats=1")
"""So long that a machine which is away when clients start makes none late by a tenth of it."""
NEEDS = {"linux-bridge": "bridges", "ovs": "ovs", "ovs-dpdk": "ovs-dpdk"}
HELD = ("ovs/internal", "ovs/tap")
"""A switch and its kind of ports, of those whose other end it holds."""
SENT_BYTES = 8 << 20
ROOM_BYTES = 128 << 10
"""Of each socket: so what is under way has room in the rings of a switch that is kept waiting."""


def through(switch: str, require: Callable[[str], None]) -> tuple[str, ...]:
    """Return the settings of a switch, with those of its ports behind a stroke, if it is here."""
    kind, _, ports = switch.partition("/")
    require(NEEDS[kind])
    more = (f"--set=vswitch.ports={ports}",) if ports else ()
    return (f"--set=vswitch.kind={kind}", *more)


def exchanges(place: Place) -> tuple[Exchange, ...]:
    (case,) = place.records().cases()
    return tuple(case.exchanges)


@pytest.mark.everyday("the one path from a program to a report, which no recorded answer goes")
@pytest.mark.parametrize(
    "switch",
    [
        "linux-bridge",
        pytest.param("ovs", marks=pytest.mark.thorough),
        pytest.param("ovs-dpdk", marks=pytest.mark.thorough),
    ],
)
def test_streams_go_through_and_devices_bear_them_out(
    place: Place, require: Callable[[str], None], switch: str
) -> None:
    require(NEEDS[switch])
    before = networks()
    words = (f"--set=vswitch.kind={switch}", "--set=search.instances=2", *BRIEF)
    ended = place.until_decided("run", "places_tcp_stream", *words)
    assert ended.code == 0, ended.said
    (case,) = place.records().cases()
    assert case.record is not None and case.record.outcome is Outcome.PASS
    assert case.record.result is not None
    assert case.record.result.figures[0].value
    one = next(one for one in case.exchanges if one.valid)
    assert [instance.port for instance in one.instances] == [11_001, 11_002]
    arrived = sum(instance.received_bytes or 0 for instance in one.instances)
    (target,) = (device for device in one.devices if device.place == "phy1")
    assert target.received_bytes > arrived
    # Without offloads a frame on the way is no longer than those of the case.
    assert target.received_bytes <= 1514 * target.received_frames
    assert case.start is not None
    assert case.start.plan.placement.of(CLIENTS)
    assert networks() == before
    assert place.traces() == []
    shown = place("show", "latest", case.planned.label, "--all")
    assert "instance 2" in shown.out
    assert place("report", "latest", "--output", str(place.folder / "report.html")).code == 0
    assert "iperf3" in (place.folder / "report.html").read_text()
    table = place("export", "csv", "latest", "--table", "cases").out
    assert "rate_bps" in table.partition("\n")[0]
    assert "places_tcp_stream" in place("export", "junit", "latest").out


@pytest.mark.thorough
@pytest.mark.parametrize("switch", ["linux-bridge", "ovs", "ovs-dpdk"])
def test_one_place_exchanges_data_with_several_at_the_same_time(
    place: Place, require: Callable[[str], None], switch: str
) -> None:
    require(NEEDS[switch])
    words = (f"--set=vswitch.kind={switch}", "--set=topology=star3", *BRIEF)
    one_way = "--set=traffic.direction=forward"
    ended = place.until_decided("run", "places_star_stream", *words, one_way)
    assert ended.code == 0, ended.said
    (case,) = place.records().cases()
    one = next(one for one in case.exchanges if one.valid)
    assert one.directions == ("phy0 to phy1", "phy0 to phy2", "phy0 to phy3")
    came = {device.place: device.received_bytes for device in one.devices}
    for instance in one.instances:
        target = instance.direction.rpartition(" ")[2]
        assert came[target] >= (instance.received_bytes or 0) > 0
    assert case.record is not None and case.record.result is not None
    figures = {figure.name: figure.value for figure in case.record.result.figures}
    assert figures["total"] == one.total_rate
    assert (figures["rate"] or 0) * 3 <= (figures["total"] or 0)


@pytest.mark.thorough
@pytest.mark.parametrize("switch", ["linux-bridge", "ovs"])
def test_cpu_time_is_told_by_role_and_what_runs_and_looks_beside_programs_too(
    place: Place, require: Callable[[str], None], switch: str
) -> None:
    require(NEEDS[switch])
    require("stress-ng")
    words = (f"--set=vswitch.kind={switch}", "--set=noise.kind=stress", *BRIEF)
    near = ("--set=noise.near=same-cpu", "--set=collect=proc")
    ended = place.until_decided("run", "places_tcp_stream", *words, *near)
    assert ended.code == 0, ended.said
    (case,) = place.records().cases()
    one = next(one for one in case.exchanges if one.valid)
    assert one.cpu is not None and one.window is not None
    # A client that began late moves the window, and no look at CPUs.
    assert one.warm_up_ns <= one.cpu.began_ns < one.cpu.ended_ns <= one.window.ended_ns
    for role in (CLIENTS, SERVERS, SWITCH):
        assert one.cpu_ns(role), role
    # Each device counted as sar would between both looks, all of which is among what it has.
    assert [each.counts.place for each in one.device_use] == ["phy0", "phy1"]
    for each, whole in zip(one.device_use, one.devices, strict=True):
        assert 0 < each.counts.received_frames <= whole.received_frames
        assert each.speed_bps and each.length_ns >= one.cpu.length_ns // 2
    assert bool(one.cpu.forwarding_cpus) is (switch == "linux-bridge")
    # No CPU gave more time than passed, to a tick or two of each that has a part in it.
    for cpu in one.cpu.cpus:
        used = sum(each.time_ns or 0 for each in one.cpu.placed_on(cpu.cpu))
        assert used <= one.cpu.length_ns + 100_000_000
    assert [each.instance for each in one.noise] == ["noise 1"]
    assert one.noise[0].cpu_ns
    assert one.cpu.of(NOISE)
    assert case.record is not None and case.record.result is not None
    figures = {figure.name: figure for figure in case.record.result.figures}
    assert figures["cpu_per_bit"].value
    assert figures["rate"].reason
    (series,) = series_of(case.folder, case.key, 1)
    assert {"clients", "servers"} <= {sample.of for sample in series.samples()}
    shown = place("show", "latest", case.planned.label, "--all").out
    for words_ in (
        "CPU time by role",
        "limit of exchange",
        "what proc saw",
        "as sar -n DEV",
        "noise 1: ",
    ):
        assert words_ in shown


@pytest.mark.thorough
@pytest.mark.needs("bridges", "perf")
def test_a_heavy_collector_has_exchanges_of_its_own_and_sees_both_ends(place: Place) -> None:
    words = ("--set=vswitch.kind=linux-bridge", "--set=collect={perf: {trials: 1, duration: 2s}}")
    ended = place.until_decided("run", "places_tcp_stream", *words, *BRIEF)
    assert ended.code == 0, ended.said
    (case,) = place.records().cases()
    assert case.record is not None and case.record.warnings == ()
    (series,) = series_of(case.folder, case.key, 1)
    (own,) = series.own_exchanges()
    assert own.exchange.valid
    seen = {sample.of: sample.values for sample in series.samples()}
    assert {CLIENTS, SERVERS} <= set(seen)
    assert all(seen[role]["task_ns"] > 0 for role in (CLIENTS, SERVERS))
    assert "for a bit" in place("show", "latest", case.planned.label, "--all").out


@pytest.mark.parametrize(
    "switch",
    ["linux-bridge", *(pytest.param(one, marks=pytest.mark.thorough) for one in HELD)],
)
def test_with_offloads_fewer_and_longer_frames_pass(
    place: Place, require: Callable[[str], None], switch: str
) -> None:
    words = (*through(switch, require), "--set=search.offloads=on", *BRIEF)
    ended = place.until_decided("run", "places_tcp_stream", *words)
    assert ended.code == 0, ended.said
    one = next(one for one in exchanges(place) if one.valid)
    (target,) = (device for device in one.devices if device.place == "phy1")
    assert one.offloads
    assert target.received_bytes > 1514 * target.received_frames


@pytest.mark.needs("bridges")
def test_a_client_that_is_killed_leaves_no_number_and_says_who_it_was(place: Place) -> None:
    run = place.start(
        *("run", "places_tcp_stream", "--set=vswitch.kind=linux-bridge"),
        *("--set=search.duration=60s", "--set=search.repeats=1", "--set=trial.retries=0"),
    )
    run.wait_until(lambda: "exchange-1-client-1" in place.programs().values())
    place.signal("exchange-1-client-1", signal.SIGKILL)
    ended = run.end()
    assert ended.code == ExitCode.INVALID_RESULT, ended.said
    (case,) = place.records().cases()
    assert case.record is not None and case.record.outcome is Outcome.INVALID
    assert case.record.result is None
    assert case.record.flags == (Flag.PROGRAM_FAILED,)
    assert "instance 1, phy0 to phy1: its client was killed by SIGKILL" in case.record.reason
    assert place.traces() == []


@pytest.mark.parametrize("switch", ["linux-bridge", "ovs-dpdk"])
def test_what_a_killed_run_left_of_places_is_cleaned_up(
    place: Place, require: Callable[[str], None], switch: str
) -> None:
    require(NEEDS[switch])
    before = networks()
    run = place.start(
        *("run", "places_tcp_stream", f"--set=vswitch.kind={switch}"),
        *("--set=search.duration=60s", "--set=search.repeats=1"),
    )
    run.wait_until(lambda: "exchange-1-client-1" in place.programs().values())
    run.process.kill()
    run.process.wait()
    assert len(networks()) == len(before) + 3
    assert place("clean").code == 0
    assert networks() == before
    assert place.traces() == []


@pytest.mark.parametrize("switch", ["ovs", "ovs-dpdk"])
def test_data_arrive_as_they_were_sent_and_ports_count_what_devices_count(
    require: Callable[[str], None], switch: str
) -> None:
    require(NEEDS[switch])
    program = plugins().driver("program", "iperf3").Spec.model_validate({"kind": "iperf3"})
    case = real_case(
        switch,
        search={"kind": "stream", "duration": "1s"},
        traffic={"frame_size": "1518B"},
        program=program,
    )
    with between_places(case) as (running, places, *_):
        assert all(told["tcp_forgets_paths"] for told in places.facts().values())
        data = random.Random(7).randbytes(SENT_BYTES)
        assert sent_through(places, data) == data
        # The last segments may still be on their way, such as who ends a connection.
        wait_until(lambda: counted(running) == seen_by(places), patience_s=10)
        assert counted(running) == seen_by(places)
        (source, _) = places.counts()
        assert source.sent_bytes > SENT_BYTES
        assert source.sent_bytes <= 1514 * source.sent_frames


@pytest.mark.thorough
@pytest.mark.needs("ovs")
def test_streams_go_through_xdp_sockets_of_ovs(place: Place) -> None:
    words = ("--set=vswitch.kind=ovs", "--set=vswitch.ports=afxdp", *BRIEF)
    ended = place.until_decided("run", "places_tcp_stream", *words)
    if ended.code == ExitCode.NOT_READY and "AF_XDP" in ended.said:
        not_here("xdp", ended.said)
    assert ended.code == 0, ended.said
    one = next(one for one in exchanges(place) if one.valid)
    assert all(instance.received_bytes for instance in one.instances)
    assert one.switch is not None and one.switch.pmds, "threads of its own polled"


@pytest.mark.thorough
@pytest.mark.parametrize("switch", HELD)
def test_streams_go_through_devices_whose_other_end_ovs_holds(
    place: Place, require: Callable[[str], None], switch: str
) -> None:
    before = networks()
    words = (*through(switch, require), "--set=traffic.direction=both", *BRIEF)
    ended = place.until_decided("run", "places_tcp_stream", *words)
    assert ended.code == 0, ended.said
    one = next(one for one in exchanges(place) if one.valid)
    arrived = {each.direction: each.received_bytes or 0 for each in one.instances}
    for device, way in zip(one.devices, ("phy1 to phy0", "phy0 to phy1"), strict=True):
        assert device.received_bytes > arrived[way] > 0
        assert device.received_bytes <= 1514 * device.received_frames
    assert one.cpu_ns(SWITCH), "its main thread forwards"
    assert one.switch is not None
    assert one.switch.ports == (), "OVS counts nothing of a device that is in another network"
    assert networks() == before


ELSEWHERE = """#!/bin/sh
case " $* " in *' --client '*) taskset -pc 0-"$(($(nproc --all) - 1))" $$ >/dev/null;; esac
exec iperf3 "$@"
"""


@pytest.mark.thorough
@pytest.mark.needs("bridges")
def test_a_program_that_moves_itself_to_all_cpus_is_named_and_its_rate_is_in_doubt(
    place: Place, tmp_path: Path
) -> None:
    (path := tmp_path / "iperf3").write_text(ELSEWHERE)
    path.chmod(0o755)
    words = ("--set=vswitch.kind=linux-bridge", f"--set=program.path={path}", *BRIEF)
    ended = place.until_decided("run", "places_tcp_stream", *words)
    assert ended.code == 0, ended.said
    (case,) = place.records().cases()
    assert case.record is not None and Flag.PROGRAM_MISPINNED in case.record.flags
    one = next(one for one in case.exchanges if one.valid)
    (said,) = (reason for reason in one.reasons if " was put on CPU " in reason)
    assert said.startswith("client of instance 1 was put on CPU ")
    assert said in " ".join(place("show", "latest", case.planned.label, "--all").out.split())
    report = place.folder / "report.html"
    assert place("report", "latest", "--output", str(report)).code == 0
    assert said in report.read_text()


# The host as a place: nothing of it is left in its network, whoever was killed.

HOST = "--set=places.phy1.kind=host"


def host_devices() -> set[str]:
    """Return the devices of the host's network that a place of some deployment may have left.

    Tests beside this one make taps there, for VNFs.
    """
    own = re.compile(rf"vsp[0-9a-f]{{6}}-{HOST_END}-\d+")
    return {name for _, name in socket.if_nameindex() if own.fullmatch(name)}


@pytest.mark.thorough
@pytest.mark.parametrize("switch", ["linux-bridge", "ovs", "ovs-dpdk", *HELD])
def test_streams_go_through_to_the_host_whose_network_is_as_it_was(
    place: Place, require: Callable[[str], None], switch: str
) -> None:
    before, known = host_devices(), known_in("198.18.0.0/15")
    words = (*through(switch, require), HOST, "--set=traffic.direction=both", *BRIEF)
    ended = place.until_decided("run", "places_tcp_stream", *words)
    assert ended.code == 0, ended.said
    one = next(one for one in exchanges(place) if one.valid)
    assert all(instance.received_bytes for instance in one.instances)
    arrived = {each.direction: each.received_bytes or 0 for each in one.instances}
    (host,) = (device for device in one.devices if device.place == "phy1")
    assert host.received_bytes > arrived["phy0 to phy1"]
    assert host.sent_bytes > arrived["phy1 to phy0"]
    assert (host_devices(), known_in("198.18.0.0/15")) == (before, known)


@pytest.mark.thorough
@pytest.mark.parametrize("switch", ["linux-bridge", *HELD])
def test_what_a_killed_run_left_in_the_network_of_the_host_is_cleaned_up(
    place: Place, require: Callable[[str], None], switch: str
) -> None:
    words, before = through(switch, require), host_devices()
    run = place.start("run", "places_tcp_stream", *words, HOST)
    run.wait_until(lambda: "exchange-1-client-1" in place.programs().values())
    assert host_devices() > before
    run.process.kill()
    run.process.wait()
    assert place("clean").code == 0
    assert host_devices() == before
    assert place.traces() == []


@pytest.mark.thorough
def test_a_run_that_was_killed_goes_on_behind_the_case_that_it_had_finished(
    place: Place, require: Callable[[str], None]
) -> None:
    words = (*through("linux-bridge", require), "--set=search.instances=[1,2]", *BRIEF)
    run = place.start("run", "places_tcp_stream", *words)
    run.wait_for("CaseFinished")
    run.process.kill()
    run.process.wait()
    assert place("clean").code == 0
    first, _ = place.records().cases()
    had = first.record, tuple(first.exchanges)
    ended = place("run", "--resume=latest")
    assert ended.code in (0, ExitCode.INVALID_RESULT), ended.said
    first, second = place.records().cases()
    assert (first.record, tuple(first.exchanges)) == had
    assert second.record is not None and second.exchanges


FLOODS = 4
"""As often as a flood is made anew that kept client and server from agreeing."""
UNREAD = 1_000
"""More datagrams than a socket holds that nobody has read when it is closed."""
PROTOCOLS = Path("/proc/thread-self/net/snmp")


def protocols() -> dict[str, int]:
    """Return what the kernel of this network counts, such as `UdpInErrors`."""
    rows = [line.split() for line in PROTOCOLS.read_text().splitlines()]
    return {
        f"{names[0].rstrip(':')}{name}": int(value)
        for names, values in zip(rows[::2], rows[1::2], strict=True)
        for name, value in zip(names[1:], values[1:], strict=True)
    }


def all_is_counted(places: Places, end: NetworkPlace) -> bool:
    """Whether nothing came to a device between two looks, and IP has what is not dropped there."""
    before, found = places.counts(), within(end.network, protocols)
    *_, target = after = places.counts()
    missing = target.received_frames - found["IpInReceives"]
    return before == after and 0 <= missing <= target.received_dropped


@pytest.mark.thorough
@pytest.mark.parametrize("switch", sorted(NEEDS))
def test_of_a_flood_each_frame_is_accounted_for_from_the_device_to_the_program(
    require: Callable[[str], None], switch: str
) -> None:
    require(NEEDS[switch])
    driver = plugins().driver("program", "iperf3")
    case = real_case(
        switch,
        search={"kind": "stream", "protocol": "udp", "duration": "2s"},
        traffic={"frame_size": "1518B", "direction": "forward"},
        program=driver.Spec.model_validate({"kind": "iperf3"}),
    )
    asked = ExchangeAsked("udp-stream", 1, 2 * NANOSECONDS, write_bytes=1400)
    for number in range(FLOODS):
        with between_places(case) as (_, places, place, plan):
            part = Part(driver, driver.find(case), asked, pairs_of(case, asked, plan.placement))
            made = exchanged(
                (part,),
                places=places,
                workspace=place,
                label=f"flood-{number}",
                switch=SwitchCpus.of(plan.placement, place),
            )
            ((one,),) = made.instances
            end = places.by_link["phy1"]
            assert isinstance(end, NetworkPlace)
            # What is still on its way comes to the device first, and to IP soon after it.
            wait_until(partial(all_is_counted, places, end), patience_s=10)
            source, target = places.counts()
            found = within(end.network, protocols)
        if not one.problem:
            break
    assert one.problem == ""
    assert one.sent_packets is not None and one.lost_packets is not None
    arrived = one.sent_packets - one.lost_packets
    assert 0 < arrived <= found["UdpInDatagrams"] <= target.received_frames <= source.sent_frames
    # From the device to IP, from there to TCP and to sockets of UDP, or to none that had room.
    assert 0 <= target.received_frames - found["IpInReceives"] <= target.received_dropped
    handed = ("TcpInSegs", "UdpInDatagrams", "UdpInErrors", "UdpNoPorts", "IcmpInMsgs")
    assert 0 <= found["IpInDelivers"] - sum(found[name] for name in handed) <= UNREAD
    # And no program has what its socket had no room for.
    assert arrived + found["UdpRcvbufErrors"] <= one.sent_packets


@pytest.mark.thorough
@pytest.mark.parametrize("switch", sorted(NEEDS))
def test_of_a_flood_the_record_says_where_each_datagram_went(
    place: Place, require: Callable[[str], None], switch: str
) -> None:
    require(NEEDS[switch])
    ended = place.until_decided("run", "places_udp_stream", f"--set=vswitch.kind={switch}", *BRIEF)
    assert ended.code == 0, ended.said
    (case,) = place.records().cases()
    one = next(one for one in case.exchanges if one.valid)
    account = one.account
    assert account is not None
    assert [kernel.place for kernel in one.sockets] == ["phy0", "phy1"]
    sender, reader = one.sockets
    assert account.sent > account.received > 0
    assert sender.out_datagrams + sender.sndbuf_errors >= account.sent
    assert reader.in_datagrams >= account.received
    # What is left was under way when the server ceased to read, or in its socket.
    assert abs(account.unexplained) <= max(UNREAD, account.sent // 10_000), account
    assert "RcvbufErrors" in place("show", "latest", case.planned.label, "--all").out


ENDLESS = """#!/bin/sh
case " $* " in *' --client '*) exec yes;; esac
exec iperf3 "$@"
"""


@pytest.mark.needs("bridges")
def test_programs_that_write_without_end_are_ended_at_their_shares_of_the_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(running, "LONGEST_TOGETHER", 1 << 20)
    (path := tmp_path / "iperf3").write_text(ENDLESS)
    path.chmod(0o755)
    program = plugins().driver("program", "iperf3")
    case = real_case(
        "linux-bridge",
        search={"kind": "stream", "duration": "4s"},
        traffic={"frame_size": "1518B"},
        program=program.Spec.model_validate({"kind": "iperf3"}),
    )
    asked = ExchangeAsked("tcp-stream", 4, 4 * NANOSECONDS)
    with between_places(case) as (_, places, place, plan):
        part = Part(
            program, InstalledProgram(str(path), "3"), asked, pairs_of(case, asked, plan.placement)
        )
        switch = SwitchCpus.of(plan.placement, place)
        made = exchanged((part,), places=places, workspace=place, label="x", switch=switch)
        assert [*place.folder.glob("x-*")] == []
    ((*instances,),) = made.instances
    room = human_bytes(room_of(len(instances)))
    said = f"its client was killed by SIGXFSZ, and wrote more than the {room} that are read of it"
    assert said in {one.problem for one in instances}
    assert all(one.received_bytes is None for one in instances)


# Guests as places: each is emulated here, and boots anew for its test.

GUESTS = tuple(f"--set=places.{link}.accelerator=tcg" for link in ("phy0", "phy1"))
FROM_A_GUEST, BETWEEN_GUESTS = GUESTS[:1], GUESTS
AT_EASE = ("--set=search.duration=20s", "--set=search.warm_up=1s", "--set=search.repeats=1")
"""So long that a second in which an emulated guest loads a program is no tenth of it."""
SMALL = "--set=search.buffer=128KiB"
"""Of sockets: no more than any host gives."""


@pytest.mark.thorough
@pytest.mark.parametrize("switch", sorted(NEEDS))
@pytest.mark.parametrize(
    ("testcase", "words", "guests"),
    [
        ("places_vm_to_vm_stream", BETWEEN_GUESTS, {"phy0", "phy1"}),
        ("places_vm_to_host_stream", FROM_A_GUEST, {"phy0"}),
    ],
)
def test_streams_go_through_between_guests_and_their_devices_bear_them_out(
    place: Place,
    require: Callable[[str], None],
    testcase: str,
    words: tuple[str, ...],
    guests: set[str],
    switch: str,
) -> None:
    require("guests")
    before, devices = networks(), host_devices()
    two = (*through(switch, require), "--set=search.instances=2", SMALL)
    ended = place.until_decided("run", testcase, *words, *two, *AT_EASE)
    assert ended.code == 0, ended.said
    (case,) = place.records().cases()
    record = case.record
    assert record is not None and record.outcome is Outcome.PASS
    assert Flag.EMULATED in record.flags, "the result is functional only"
    one = next(one for one in case.exchanges if one.valid)
    arrived = sum(instance.received_bytes or 0 for instance in one.instances)
    (target,) = (device for device in one.devices if device.place == "phy1")
    assert target.received_bytes > arrived > 0
    assert target.received_bytes <= 1514 * target.received_frames
    # A guest's QEMU is what its clients, or servers, use.
    assert one.cpu is not None
    roles = {"phy0": CLIENTS, "phy1": SERVERS}
    assert {(roles[link], f"{link}-vm") for link in guests} <= {
        (each.role, each.name) for each in one.cpu.programs
    }
    assert one.cpu_ns(CLIENTS) and one.cpu_ns(SERVERS)
    assert record.conditions is not None
    assert set(record.conditions.vnfs) == {f"{link}-vm" for link in guests}
    assert (networks(), host_devices()) == (before, devices)
    assert place.traces() == []
    assert "phy0-vm" in place("show", "latest", case.planned.label, "--all").out


@pytest.mark.thorough
@pytest.mark.needs("ovs-dpdk", "guests", "netperf")
def test_requests_of_a_guest_are_answered_by_another_one(place: Place) -> None:
    path = f"--set=program.path={named_program('netperf')}"
    ended = place.until_decided("run", "places_vm_to_vm_rr", *BETWEEN_GUESTS, path, *AT_EASE)
    assert ended.code == 0, ended.said
    one = next(one for one in exchanges(place) if one.valid)
    (instance,) = one.instances
    assert instance.transactions and one.worst_rate
    assert all(device.received_frames >= instance.transactions for device in one.devices)


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("testcase", "program"),
    [("places_vm_to_vm_http", "wrk"), ("places_vm_to_vm_http_open", "h2load")],
)
def test_requests_of_http_of_a_guest_are_answered_by_another_one(
    place: Place, require: Callable[[str], None], testcase: str, program: str
) -> None:
    """Both ends read files: nginx its settings and an object, and wrk its script."""
    for part in ("ovs-dpdk", "guests", "nginx", program):
        require(part)
    long = () if program == "h2load" else ("--set=search.object=40KiB",)
    ended = place.until_decided("run", testcase, *BETWEEN_GUESTS, *long, *AT_EASE)
    assert ended.code == 0, ended.said
    one = next(one for one in exchanges(place) if one.valid)
    (instance,) = one.instances
    assert instance.transactions and instance.round_trips is not None
    assert (instance.from_due is not None) is (program == "h2load")


@pytest.mark.thorough
@pytest.mark.needs("ovs-dpdk", "guests", "netperf")
def test_connections_for_each_request_are_opened_from_guest_to_guest(place: Place) -> None:
    path = f"--set=program.path={named_program('netperf')}"
    ended = place.until_decided("run", "places_vm_to_vm_crr", *BETWEEN_GUESTS, path, *AT_EASE)
    assert ended.code == 0, ended.said
    one = next(one for one in exchanges(place) if one.valid)
    (instance,) = one.instances
    assert instance.transactions
    assert all(device.received_frames >= 2 * instance.transactions for device in one.devices)


@pytest.mark.thorough
@pytest.mark.needs("ovs-dpdk", "guests", "irtt", "iperf3")
def test_latency_under_load_is_measured_between_guests(place: Place) -> None:
    guests = ("--set=places.phy0.kind=vm", "--set=places.phy1.kind=vm", *BETWEEN_GUESTS)
    rare = (
        "--set=traffic.direction=forward",
        "--set=search.interval=100ms",
        "--set=trial.retries=4",
    )
    ended = place("run", "places_latency_under_load", *guests, *rare, *AT_EASE)
    made = exchanges(place)
    assert {one.traffic for one in made} >= {"udp-echo"}, ended.said
    # An emulated guest may be too slow for a clock, and that is said then; but nobody fails.
    flags = {flag for one in made for flag in one.flags}
    assert Flag.PROGRAM_FAILED not in flags, [one.reasons for one in made]


@pytest.mark.thorough
@pytest.mark.needs("ovs-dpdk", "guests")
def test_a_guest_that_is_lost_while_programs_run_is_named_and_measured_anew(place: Place) -> None:
    run = place.start("run", "places_vm_to_host_stream", *FROM_A_GUEST, SMALL, *AT_EASE)
    run.wait_for("ExchangeStarted")
    place.signal("phy0-vm", signal.SIGKILL)
    ended = run.end()
    assert ended.code == 0, ended.said
    (case,) = place.records().cases()
    assert case.record is not None
    (anew,) = (warning for warning in case.record.warnings if "measured anew" in warning)
    assert "phy0-vm" in anew and "SIGKILL" in anew


@pytest.mark.thorough
@pytest.mark.parametrize("switch", sorted(NEEDS))
def test_what_a_killed_run_left_of_guests_is_cleaned_up(
    place: Place, require: Callable[[str], None], switch: str
) -> None:
    require("guests")
    words, before = through(switch, require), (networks(), host_devices())
    run = place.start("run", "places_vm_to_vm_stream", *words, *BETWEEN_GUESTS)
    run.wait_until(lambda: {"phy0-vm", "phy1-vm"} <= set(place.programs().values()))
    run.process.kill()
    run.process.wait()
    assert place("clean").code == 0
    assert (networks(), host_devices()) == before
    assert place.traces() == []


@contextmanager
def between_places(case: CaseSpec) -> Iterator[tuple[RunningSwitch, Places, Workspace, Plan]]:
    """Have a switch between places, as a run does."""
    drivers = Drivers.of(case, plugins())
    plan = make_plan(case, drivers, TWO_CPUS)
    with room("a test of places") as workspace, ExitStack() as stack:
        prepare(case, plan, workspace, stack)
        places = stack.enter_context(made_places(case, plan.plan.endpoints, workspace))
        start = drivers.vswitch.start(case, plan.switch, plan.plan.placement, workspace)
        running = stack.enter_context(start)
        places.join(offloads=False)
        running.await_ports(case.topology.links, PORTS_S)
        yield running, places, workspace, plan.plan


def sent_through(places: Places, data: bytes) -> bytes:
    """Send by TCP from the first place to the second one, and return what arrived."""
    near, far = places.by_link.values()
    assert isinstance(near, NetworkPlace) and isinstance(far, NetworkPlace)
    with within(far.network, socket.socket) as listening, within(near.network, socket.socket) as to:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, ROOM_BYTES)
        to.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, ROOM_BYTES)
        listening.bind((far.address, 0))
        listening.listen()
        to.connect(listening.getsockname())
        taken, _ = listening.accept()

        def send() -> None:
            to.sendall(data)
            to.shutdown(socket.SHUT_WR)

        with taken, ThreadPoolExecutor(1) as pool:
            sending = pool.submit(send)
            arrived = b"".join(iter(lambda: taken.recv(1 << 20), b""))
            sending.result()
            return arrived


def counted(running: RunningSwitch) -> list[tuple[int, int]]:
    """Return the frames that each port has received and sent."""
    counters = running.counters()
    assert counters is not None
    return [(port.received_frames, port.sent_frames) for port in counters.ports]


def seen_by(places: Places) -> list[tuple[int, int]]:
    """Return the frames that each place has sent and received."""
    return [(one.sent_frames, one.received_frames) for one in places.counts()]
