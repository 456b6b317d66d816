"""Guests as places: what goes with them, what is planned, and what is asked of their agents."""

from __future__ import annotations

import json
import os
import signal
import socket
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from config_world import see_refused
from places import short_room
from qemu_cases import ACCELERATED, EMULATED, UNTRIED
from switch_cases import TWO_CPUS, plugins, real_case

from vsperf.cli.main import run_cli
from vsperf.config.case import Case, CaseSpec
from vsperf.config.guest import AskedPlace
from vsperf.config.places import place_ip
from vsperf.deploy.cpu_looks import SwitchCpus
from vsperf.deploy.exchanging import Made, Part, exchanged, pairs_of
from vsperf.deploy.guests import (
    Guest,
    guest_notes,
    planned_guests,
    require_guests,
    role_of,
    write_disk,
)
from vsperf.deploy.places import Places
from vsperf.deploy.planner import Drivers, make_plan
from vsperf.drivers.programs.base import InstalledProgram, Program, Said, Told, problem_of
from vsperf.engine.conditions import flags_around
from vsperf.errors import ComponentError, NotReadyError
from vsperf.host.offloads import COMMANDS
from vsperf.methods.exchanges import ExchangeAsked
from vsperf.qemu.agent import MOST_WORDS, Agent, AgentRefused
from vsperf.qemu.answers import Joined, understood
from vsperf.qemu.programs import MOST_PROGRAMS, clock_of, counted, run
from vsperf.qemu.vm import RunningVm
from vsperf.records.exchange import CLIENTS, SERVERS
from vsperf.records.flags import Flag
from vsperf.records.host import Conditions
from vsperf.records.run import Placement, Plan, shown

VM = {"kind": "vm"}
BOTH, ONE = {"phy0": VM, "phy1": VM}, {"phy0": VM}
MEGABYTE = 1 << 20
JOINED = {"device": "eth0", "send_bytes": 1, "receive_bytes": 2, "forgets_paths": True}
"""What an agent says of its device, beside its offloads."""
PLACED = Placement(cpus={CLIENTS: (2,), SERVERS: (3, 4), "pmd": (1,), "switch main": (0,)})


def guest_case(
    places: dict[str, Any], direction: str = "forward", switch: str = "ovs-dpdk", **search: Any
) -> CaseSpec:
    """Return a case with a switch and iperf3, and guests at some ends."""
    program = plugins().driver("program", "iperf3").Spec.model_validate({"kind": "iperf3"})
    return real_case(
        switch,
        search={"kind": "stream", "duration": "1s", **search},
        traffic={"frame_size": "1518B", "direction": direction},
        program=program,
        places={link: AskedPlace.model_validate(asked) for link, asked in places.items()},
    )


def plan_of(case: CaseSpec) -> Plan:
    return make_plan(case, Drivers.of(case, plugins()), TWO_CPUS).plan


# What is planned.


def test_each_guest_is_plugged_into_a_port_of_the_switch_and_has_the_address_of_the_place() -> None:
    plan = plan_of(guest_case(BOTH))
    assert [(one.link, one.kind) for one in plan.endpoints] == [
        ("phy0", "vhost-user-client"),
        ("phy1", "vhost-user-client"),
    ]
    first, joined, *_ = [step for step in plan.steps if step.component == "place"]
    assert first.argv is not None
    words = " ".join(map(shown, first.argv))
    assert "path=RUN/phy0.sock,server=on" in words
    (told,) = joined.lines
    asked = json.loads(told)
    assert (asked["verb"], asked["address"], asked["mtu"]) == ("join", "198.18.0.1", 1500)
    assert f"mac={asked['nic']}" in words
    assert [one["address"] for one in asked["neighbours"]] == ["198.19.0.1"]
    assert not any("make a place" in step.action for step in plan.steps)
    assert not any("pair of devices" in step.action for step in plan.steps)


@pytest.mark.parametrize("switch", ["linux-bridge", "ovs"])
def test_on_a_switch_of_devices_a_guest_holds_a_tap_which_the_switch_takes_into_its_network(
    switch: str,
) -> None:
    plan = plan_of(guest_case(ONE, switch=switch))
    assert [(one.link, one.kind, shown(one.address)) for one in plan.endpoints] == [
        ("phy0", "tap", "TAP-0-0"),
        ("phy1", "place", "NAME-phy1/eth0"),
    ]
    guest = next(step for step in plan.steps if step.component == "place" and step.argv)
    assert any("tap,id=net0,ifname=TAP-0-0," in shown(word) for word in guest.argv or ())
    said = [shown(" ".join((step.action, *step.lines))) for step in plan.steps if not step.argv]
    made = [one for one in said if "make the pair" in one or "make a pair" in one]
    assert len(made) == 1
    assert "TAP-0-1" in made[0] and "TAP-0-0" not in made[0], "that one QEMU has"
    moved = [one for one in said if "TAP-0-0" in one]
    assert moved, "the switch says that it takes it"


def test_where_there_is_no_guest_the_end_is_a_network_of_its_own() -> None:
    plan = plan_of(guest_case(ONE))
    assert [(one.link, one.kind) for one in plan.endpoints] == [
        ("phy0", "vhost-user-client"),
        ("phy1", "place"),
    ]
    actions = [step.action for step in plan.steps]
    assert any(action.startswith("make a place at the end of phy1") for action in actions)
    assert any("start the client of instance 1 at phy0, in its guest," in one for one in actions)
    assert any("start the server of instance 1 at phy1 on CPU" in one for one in actions)


def test_the_memory_of_guests_is_asked_for_with_that_of_the_switch() -> None:
    none, both, without = (
        sum(plan_of(guest_case(places)).hugepage_bytes.values())
        for places in (
            {},
            {"phy0": VM, "phy1": {**VM, "memory": 512}},
            {link: {**VM, "hugepages": False} for link in BOTH},
        )
    )
    assert both - none == (256 + 512) * MEGABYTE
    assert without == none


def test_a_guest_runs_on_the_cpus_of_those_that_it_has() -> None:
    case = guest_case({"phy0": VM, "phy1": {**VM, "vcpus": 3}})
    client, server = planned_guests(case, plan_of(case).endpoints, PLACED, EMULATED).values()
    assert (client.cpus, client.emulator_cpus) == ((2,), (2,))
    assert (server.cpus, server.emulator_cpus) == ((3, 4, 3), (3, 4))
    assert len({client.index, server.index}) == 2, "each is another user"


def test_cpu_time_is_that_of_clients_or_servers_and_of_neither_where_a_guest_has_both() -> None:
    assert [role_of(guest_case(BOTH), link) for link in BOTH] == [CLIENTS, SERVERS]
    assert [role_of(guest_case(BOTH, "reverse"), link) for link in BOTH] == [SERVERS, CLIENTS]
    assert [role_of(guest_case(BOTH, "both"), link) for link in BOTH] == ["phy0-vm", "phy1-vm"]


def test_a_plan_says_what_guests_run_on_and_a_result_of_emulated_ones_is_called_so() -> None:
    case = guest_case(ONE)
    ends = plan_of(case).endpoints
    for here, wanted in (
        (EMULATED, "are emulated (TCG): the result is functional only"),
        (ACCELERATED, "run on KVM"),
        (UNTRIED, "which has not been tried"),
    ):
        (note,) = guest_notes(planned_guests(case, ends, PLACED, here), here)
        assert wanted in note
    around = Conditions(vnfs={"phy0-vm": {"accelerator": "tcg"}})
    assert flags_around((), around, shared_cpu=False) == (Flag.EMULATED,)


def test_guests_decide_which_case_it_is_and_a_case_without_any_is_as_ever() -> None:
    keys = [Case(guest_case(places)).id for places in ({}, ONE, BOTH)]
    assert len(set(keys)) == 3
    assert "places" not in guest_case({}).measured()


REFUSED: dict[str, tuple[tuple[str, ...], *tuple[str, ...]]] = {
    "a switch without such ports": (
        ("--vswitch", "testpmd"),
        "vswitch testpmd has no ports that a guest with programs can be plugged into",
        "--set vswitch.kind=ovs-dpdk",
        "--set places.phy0=null",
    ),
    "offloads": (
        ("--set", "search.offloads=on"),
        "the NICs of guests at phy0 leave nothing to others",
        "--set search.offloads=off",
    ),
    "an end that is none": (
        ("--set", "places.phy7.kind=vm"),
        "`places` names phy7, which topology p2p does not have",
        "--set places.phy7=null",
    ),
    "a method without places": (
        ("--set", "search={kind: fixed, loads: [1kfps], duration: 1s}"),
        "`places` says nothing to the method fixed",
    ),
    "more than a guest is given to read": (
        ("--set", "search={kind: http, object: 2MiB, duration: 1s}", "--program", "wrk"),
        "the program wrk reads nginx-11001.conf, object, told.lua: 2.00",
        "1.000 MiB are the most that the guest at phy0 is given",
        "--set places.phy0=null",
    ),
    "more programs than a guest runs": (
        ("--set", "search.instances=33", "--set", "traffic.direction=both"),
        "the guest at phy0 would have 66 programs",
        "64 are the most that one runs",
    ),
    "a kind that is none": (("--set", "places.phy1.kind=container"), "places.phy1.kind"),
    "memory that is no whole page": (("--set", "places.phy0.memory=257"), "a multiple of 2"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_does_not_go_with_guests_is_refused_with_a_way_out(
    name: str, capfd: pytest.CaptureFixture[str]
) -> None:
    words, *wanted = REFUSED[name]
    guest = ("--set", "places.phy0.kind=vm")
    see_refused(capfd, "places_tcp_stream", [*guest, *words], wanted)


def test_the_testcases_of_guests_need_no_option_on_the_default_testbed(
    capfd: pytest.CaptureFixture[str],
) -> None:
    assert run_cli(["plan", "places_vm_*", "--json"]) == 0
    planned = json.loads(capfd.readouterr().out)
    found = {case["spec"]["name"]: sorted(case["spec"]["places"]) for case in planned}
    assert found == {
        "places_vm_to_vm_stream": ["phy0", "phy1"],
        "places_vm_to_host_stream": ["phy0"],
        "places_vm_to_vm_rr": ["phy0", "phy1"],
        "places_vm_to_host_rr": ["phy0"],
        "places_vm_to_vm_crr": ["phy0", "phy1"],
        "places_vm_to_vm_http": ["phy0", "phy1"],
        "places_vm_to_vm_http_open": ["phy0", "phy1"],
    }


def test_an_image_whose_agent_runs_no_programs_is_refused_before_anything_starts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("vmlinuz", "initrd"):
        (tmp_path / name).touch()
    monkeypatch.setenv("VSPERF_GUEST", str(tmp_path))
    monkeypatch.setattr("vsperf.deploy.guests.check_program", lambda _: None)
    case = guest_case({"phy0": {**VM, "accelerator": "tcg"}})
    for sources, missing in (({"agent/main.c": "1"}, True), ({"agent/programs.c": "1"}, False)):
        (tmp_path / "manifest.json").write_text(json.dumps({"sources": sources}))
        with ExitStack() as stack:
            if missing:
                refused = pytest.raises(NotReadyError, match="cannot run programs that it is given")
                stack.enter_context(refused)
            require_guests(case)


def test_the_disk_of_guests_has_all_programs_what_they_need_and_the_image_before_them(
    tmp_path: Path,
) -> None:
    image, disk = tmp_path / "initrd", tmp_path / "disk"
    image.write_bytes(b"image")
    write_disk(image, [Path("/bin/true"), Path("/bin/false")], disk)
    content = disk.read_bytes()
    assert content.startswith(b"image" + bytes(3) + b"070701")
    for name in (
        b"usr/bin/true\0",
        b"usr/bin/false\0",
        b"/libc.so",
        b"etc/protocols\0",
        b"etc/passwd\0",
    ):
        assert name in content, name
    assert content.count(b"/libc.so.6\0") == 1, "what both need is there once"


# What is asked of the agent of a guest, which a test plays.

AHEAD_NS, WALL_AHEAD_NS = 5_000_000_000_000, -3_600_000_000_000
COUNTS = {
    f"{way}_{what}": 7 for way in ("received", "sent") for what in ("bytes", "frames", "dropped")
}
PIECE = 7000


@dataclass
class Played:
    """An agent that runs programs in words only: a client ends when it has sent for a second."""

    text: str = ""
    """What each of them wrote."""
    ending: dict[str, int] = field(default_factory=lambda: {"code": 0})
    silent: frozenset[str] = frozenset()
    asked: list[dict[str, Any]] = field(default_factory=list)
    lasts_s: float | None = 1.0
    """From the instant on; None where each ends with the client that it serves."""
    server: Played | None = None
    """Whose programs serve these, number by number."""
    serving: dict[int, Callable[[], None]] = field(default_factory=dict)
    """What tells of the end of those that end with their clients."""
    timers: list[threading.Timer] = field(default_factory=list)

    @contextmanager
    def agent(self) -> Iterator[Agent]:
        ours, theirs = socket.socketpair()
        thread = threading.Thread(target=self._serve, args=(theirs,))
        thread.start()
        agent = Agent("phy0-vm", ours)
        try:
            yield agent
        finally:
            agent.close()
            thread.join()
            for timer in self.timers:
                timer.cancel()

    def verbs(self) -> list[str]:
        return [one["verb"] for one in self.asked]

    def _serve(self, connection: socket.socket) -> None:
        with suppress(OSError), connection, connection.makefile("rb") as lines:
            for line in lines:
                request = json.loads(line)
                self.asked.append(request)
                if request["verb"] in self.silent:
                    continue
                self._say(connection, {"id": request["id"], **self._answer(request)})
                if request["verb"] == "run":
                    self._end_later(connection, request)

    def _end_later(self, connection: socket.socket, request: dict[str, Any]) -> None:
        number = request["program"]
        event = {"event": "exited", "program": number, **self.ending}
        said = partial(self._say, connection, event)
        if self.lasts_s is None:
            self.serving[number] = said
            return
        instant_ns = request["instant_ns"] or time.monotonic_ns() + AHEAD_NS
        lasts_s = (instant_ns - AHEAD_NS - time.monotonic_ns()) / 1e9 + self.lasts_s
        self.timers.append(threading.Timer(lasts_s, self._end, (number, said)))
        self.timers[-1].start()

    def _end(self, number: int, said: Callable[[], None]) -> None:
        said()
        if self.server is not None and number in self.server.serving:
            self.server.serving[number]()

    def _say(self, connection: socket.socket, message: dict[str, Any]) -> None:
        with suppress(OSError):  # who asked has gone
            connection.sendall(json.dumps(message).encode() + b"\n")

    def _answer(self, request: dict[str, Any]) -> dict[str, Any]:
        if request["verb"] == "output":
            piece = self.text[request["from"] : request["from"] + PIECE]
            return {"size": len(self.text), "text": piece}
        answers: dict[str, dict[str, Any]] = {
            "join": {
                **{"device": "eth0", "send_bytes": 4, "receive_bytes": 6, "forgets_paths": True},
                "offloads": dict.fromkeys(COMMANDS, False),
            },
            "clock": {
                "now_ns": time.monotonic_ns() + AHEAD_NS,
                "wall_ns": time.time_ns() + WALL_AHEAD_NS,
            },
            "device": COUNTS,
            "listens": {"listens": True},
        }
        return answers.get(request["verb"], {})


def guest_of(agent: Agent, link: str = "phy0", role: str = CLIENTS) -> Guest:
    """Return a guest that has booted, as far as a place needs one."""
    boot = SimpleNamespace(boot_timeout=SimpleNamespace(seconds=1.0))
    vm = SimpleNamespace(
        name=f"{link}-vm",
        agent=agent,
        vm=SimpleNamespace(spec=boot, cpus=(0,), emulator_cpus=(0,)),
        program=SimpleNamespace(pid=os.getpid()),
        boot=lambda deadline: None,
        pin=lambda: None,
    )
    return Guest(link, place_ip(guest_case({}), link), cast("RunningVm", vm), role)


def test_a_guest_joins_with_its_address_and_all_others_and_its_clock_is_read() -> None:
    played, case = Played(), guest_case(ONE)
    with played.agent() as agent:
        guest = guest_of(agent)
        places = Places(case, {"phy0": guest})
        places.join(offloads=False)
        assert guest.clock is not None
        assert abs(guest.clock.ahead_ns - AHEAD_NS) <= guest.clock.within_ns + 1_000_000
        assert places.socket_bytes() == 10
        assert places.counts()[0].received_bytes == 7
        assert guest.received() == {}, "nobody tells of single connections there"
    assert [one["address"] for one in played.asked[0]["neighbours"]] == ["198.19.0.1"]
    assert places.speeds_bps == {"phy0": None}


NAMES = "InDatagrams NoPorts InErrors OutDatagrams RcvbufErrors SndbufErrors"


@pytest.mark.parametrize(
    ("text", "code", "room"),
    [(f"Udp: {NAMES}\nUdp: 7 0 3 9 2 1\n", 0, 2), ("cat: no such file\n", 1, None), ("", 0, None)],
)
def test_the_kernel_of_a_guest_is_asked_for_datagrams_by_a_program_that_reads_its_table(
    text: str, code: int, room: int | None
) -> None:
    played = Played(text, {"code": code}, lasts_s=0)
    with played.agent() as agent:
        found = Places(guest_case(ONE), {"phy0": guest_of(agent)}).sockets()
        assert agent.programs == {}, "it has ended"
    assert [one.rcvbuf_errors for one in found] == ([] if room is None else [room])
    assert all((one.place, one.in_datagrams) == ("phy0", 7) for one in found)
    (asked,) = [one for one in played.asked if one["verb"] == "run"]
    assert asked["argv"] == ["/bin/cat", "/proc/net/snmp"]
    assert asked["instant_ns"] == 0, "at once"


def test_an_agent_that_does_not_tell_what_its_device_leaves_undone_is_an_old_one() -> None:
    played = Played()
    with played.agent() as agent, pytest.MonkeyPatch.context() as patch:
        answer = played._answer({"verb": "join"}) | {"offloads": {}}
        patch.setattr(played, "_answer", lambda _: answer)
        with pytest.raises(ComponentError, match="does not tell whether its device"):
            guest_of(agent).join(guest_case(ONE), {}, offloads=False)


ASKED = ExchangeAsked("tcp-stream", 2, 900_000_000)


def stub(files: Mapping[str, str] | None = None) -> Program:
    """Return a program that tells how both ends ended, and how much they wrote."""

    def told(asked: ExchangeAsked, client: Said, server: Said) -> Told:
        problem = problem_of(client, "")
        return Told(problem, elapsed_ns=asked.sending_ns, sent_bytes=len(client.text))

    found = SimpleNamespace(
        kind="stub",
        files=lambda *_: files or {},
        server=lambda case, path, asked, meet: (path, "-s", str(meet.port)),
        client=lambda case, path, asked, meet: (path, "-c", meet.address, str(meet.port)),
        told=told,
        SERVER_ENDS=True,
    )
    return cast("Program", found)


class Other:
    """Does what another one does, and is of no kind that anybody knows."""

    def __init__(self, one: Any) -> None:
        self.one = one

    def __getattr__(self, name: str) -> Any:
        return getattr(self.one, name)

    @contextmanager
    def running(self, *asked: Any) -> Iterator[Other]:
        with self.one.running(*asked) as running:
            yield Other(running)


def between(
    client: Played,
    server: Played,
    kind: Callable[[Guest], Any] = lambda one: one,
    files: Mapping[str, str] | None = None,
) -> Made:
    """Have a program exchange data between two guests that are played, as places of a kind."""
    case = guest_case(BOTH, instances=2)
    placement = Placement(cpus={CLIENTS: (0,), SERVERS: (0,)})
    found = InstalledProgram("/stub/of-mine", "1", "/stub/of-mine-too")
    part = Part(stub(files), found, ASKED, pairs_of(case, ASKED, placement))
    client.server = server
    with ExitStack() as stack:
        place = stack.enter_context(short_room("a test of guests"))
        ends = {
            link: kind(guest_of(stack.enter_context(one.agent()), link, role))
            for link, one, role in (("phy0", client, CLIENTS), ("phy1", server, SERVERS))
        }
        return exchanged(
            [part],
            places=Places(case, dict(ends)),
            workspace=place,
            label="exchange-1",
            switch=SwitchCpus(()),
        )


def test_all_clients_begin_at_one_instant_of_this_machine_and_all_that_they_write_is_read() -> None:
    client, server = Played("x" * 20_000), Played(lasts_s=None)
    (instances,) = between(client, server).instances
    assert [one.problem for one in instances] == ["", ""]
    assert [one.sent_bytes for one in instances] == [20_000, 20_000]
    clients, servers = (
        [one for one in each.asked if one["verb"] == "run"] for each in (client, server)
    )
    assert [one["argv"][0] for one in clients] == ["/usr/bin/of-mine"] * 2
    assert [one["argv"] for one in servers] == [
        ["/usr/bin/of-mine-too", "-s", "11001"],
        ["/usr/bin/of-mine-too", "-s", "11002"],
    ]
    (instant_ns,) = {one["instant_ns"] for one in clients}
    assert instant_ns > AHEAD_NS, "it is one of the guest's clock"
    assert {one["instant_ns"] for one in servers} == {0}
    assert [one["program"] for one in clients] == [1, 2]
    for one in (client, server):
        assert one.verbs().count("end") == 2


def test_what_a_program_reads_is_written_in_its_guest_before_it_runs() -> None:
    client, server = Played(), Played(lasts_s=None)
    files = {"own.conf": 'say "yes";\n' * 500, "empty": ""}
    between(client, server, files=files)
    for played in (client, server):
        for number in (1, 2):
            *written, (last, _) = [
                (one["verb"], one)
                for one in played.asked
                if one.get("program") == number and one["verb"] in ("file", "run")
            ]
            assert last == "run"
            found = dict.fromkeys(files, "")
            for verb, one in written:
                assert verb == "file"
                found[one["name"]] += one["text"]
            assert found == files
    assert all(len(json.dumps(one)) < 16_384 for one in client.asked), "each is one line"


def test_an_image_whose_agent_takes_no_files_is_to_be_built_anew() -> None:
    played = Played()
    with played.agent() as agent, pytest.MonkeyPatch.context() as patch:
        patch.setattr(played, "_answer", lambda _: {"error": "there is no such verb"})
        with (
            pytest.raises(ComponentError, match="cannot be written in the guest") as refused,
            run(agent, ["/bin/true"], files={"own.conf": "x"}),
        ):
            pass
    assert "older than this vsperf" in (refused.value.problems[0].fix or "")


def test_cpu_time_of_an_exchange_is_that_of_each_guest_once() -> None:
    use = between(Played(), Played(lasts_s=None)).cpu
    assert use is not None
    assert [(one.role, one.name) for one in use.programs] == [
        (CLIENTS, "phy0-vm"),
        (SERVERS, "phy1-vm"),
    ]


def test_a_place_is_one_by_what_it_does_and_nobody_asks_of_what_kind_it_is() -> None:
    made = between(Played("xx"), Played(lasts_s=None), Other)
    ((first, second),) = made.instances
    assert (first.problem, first.sent_bytes) == (second.problem, second.sent_bytes) == ("", 2)
    assert made.cpu is not None
    assert [one.name for one in made.cpu.programs] == ["phy0-vm", "phy1-vm"]


def test_a_client_that_is_killed_in_its_guest_is_named_and_those_with_it_are_ended() -> None:
    killed = Played(ending={"signal": signal.SIGKILL}, lasts_s=0.0)
    (instances,) = between(killed, Played(lasts_s=60.0)).instances
    # Both are killed at once: whichever is heard first has the other one ended.
    assert any("was killed by SIGKILL" in one.problem for one in instances)


def test_a_guest_is_not_believed_about_programs_that_nobody_started() -> None:
    played = Played()
    with played.agent() as agent:
        with run(agent, ["/bin/true"]) as program:
            for number, code in ((2, 0), (1, 3)):
                agent._take_note({"event": "exited", "program": number, "code": code})
            assert program.exit_code == 3
            assert set(agent.programs) == {1}
        assert agent.programs == {}
        for lie in ({"code": 256}, {"signal": 65}, {"code": "0"}):
            with pytest.raises(ComponentError, match="makes no sense"):
                agent._take_note({"event": "exited", "program": 1, **lie})


def test_a_guest_that_says_more_than_it_wrote_is_heard_up_to_a_limit(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("vsperf.qemu.programs.MOST_WRITTEN", 10_000)
    for length, whole in ((10_000, True), (10_001, False)):
        with Played("x" * length).agent() as agent, run(agent, ["/bin/true"]) as program:
            text, told = program.written()
            assert (len(text), told) == (10_000, whole)


def test_what_a_guest_says_of_what_went_wrong_is_told_in_few_words() -> None:
    """A message may have a megabyte, and what goes wrong is recorded, and shown on a terminal."""
    flood = "x" * 500_000
    with Played().agent() as agent:
        agent._take_note({"event": "ended", "app": flood, "how": flood, "log": flood})
        assert agent.ended is not None and len(agent.ended) < 4 * MOST_WORDS
    refused = AgentRefused("vm1", "run", flood, f"{flood}\n{flood}")
    assert len(refused.text) == MOST_WORDS
    assert len(refused.with_why) < 3 * MOST_WORDS
    with pytest.raises(ComponentError, match="makes no sense: offloads") as caught:
        understood("vm1", {**JOINED, "offloads": {flood: "x"}}, Joined)
    assert len(caught.value.with_why) < MOST_WORDS


def test_of_a_guests_device_nothing_is_recorded_that_nobody_asks_for() -> None:
    told = {**JOINED, "offloads": {**dict.fromkeys(COMMANDS, False), "\x1b[2J": True}}
    joined = understood("vm1", told, Joined)
    vm: Any = SimpleNamespace(
        boot=lambda _: None,
        pin=lambda: None,
        agent=None,
        vm=SimpleNamespace(spec=SimpleNamespace(boot_timeout=SimpleNamespace(seconds=1))),
    )
    guest = Guest("phy0", "198.18.0.1", vm, "clients")
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("vsperf.deploy.guests.programs.join", lambda *_, **__: joined)
        patched.setattr(Guest, "agent", None)
        patched.setattr(Guest, "read_clock", lambda _: None)
        patched.setattr("vsperf.deploy.guests._asked", lambda *_: {})
        case: Any = None
        assert set(guest.join(case, {}, offloads=False).offloads) == set(COMMANDS)


def test_a_guest_that_hangs_is_asked_once_to_end_what_it_runs(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("vsperf.qemu.programs.END_S", 0.1)
    played = Played(silent=frozenset({"end"}))
    with played.agent() as agent, ExitStack() as stack:
        for _ in range(3):
            stack.enter_context(run(agent, ["/bin/true"]))
        stack.close()
        assert agent.hangs
    assert played.verbs().count("end") == 1


def test_a_guest_runs_no_more_programs_than_its_agent_has_numbers_for() -> None:
    with Played().agent() as agent, ExitStack() as stack:
        for _ in range(MOST_PROGRAMS):
            stack.enter_context(run(agent, ["/bin/true"]))
        with pytest.raises(ComponentError, match="runs 64 programs, and no more"):
            stack.enter_context(run(agent, ["/bin/true"]))


def test_what_the_agent_refuses_is_said_in_its_words() -> None:
    played = Played()
    with played.agent() as agent, pytest.MonkeyPatch.context() as patch:
        patch.setattr(played, "_answer", lambda _: {"error": "there is no such verb"})
        with pytest.raises(AgentRefused, match="there is no such verb"):
            counted(agent)
        with pytest.raises(AgentRefused):
            clock_of(agent)
