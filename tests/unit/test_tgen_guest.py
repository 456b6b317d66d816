"""tgen in a guest: its plan, and the clock of the guest."""

from __future__ import annotations

import json
import socket
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from ovs_cases import ovs_case

from vsperf.config.abilities import OF_CONNECTIONS, Ability
from vsperf.config.case import CaseSpec
from vsperf.drivers.generators.tgen import guest
from vsperf.drivers.generators.tgen.client import Gone
from vsperf.drivers.generators.tgen.command import Options
from vsperf.drivers.generators.tgen.driver import TgenGenerator
from vsperf.drivers.generators.tgen.guest import (
    GuestClient,
    GuestPlan,
    GuestTgen,
    guest_of,
    steps_of,
)
from vsperf.drivers.generators.tgen.process import PROTOCOL
from vsperf.drivers.generators.tgen.spec import TgenSpec
from vsperf.drivers.generators.tgen.tsc import Drift, Reading, read_clock
from vsperf.engine.conditions import flags_around
from vsperf.errors import ComponentError, NotReadyError, UsageError
from vsperf.qemu.agent import Agent
from vsperf.qemu.command import command_line
from vsperf.qemu.host import QemuHost
from vsperf.qemu.image import GuestImage
from vsperf.records.flags import Flag
from vsperf.records.host import Conditions as Around
from vsperf.records.run import Endpoint, Placement

# tgen in a guest is planned as a VM whose NICs are where tgen's own ports would be.

IMAGE = GuestImage(Path("guest"), {"image": "abc", "versions": {"tgen": "123"}})
EMULATED = QemuHost(IMAGE, "tcg")
PLACEMENT = Placement(cpus={"pmd": (1,), "generator": (2, 3), "generator emulator": (0,)})


def in_a_guest(**settings: Any) -> TgenSpec:
    return TgenSpec.model_validate({"kind": "tgen", "place": "vm", **settings})


def case_with(spec: TgenSpec, **sections: Any) -> CaseSpec:
    return ovs_case(**sections).model_copy(update={"generator": spec})


def endpoints(kind: str = "vhost-user-client") -> tuple[Endpoint, ...]:
    links = ("phy0", "phy1")
    return tuple(Endpoint(link=link, kind=kind, address=f"/run/{link}.sock") for link in links)


def planned(kind: str = "vhost-user-client", here: QemuHost = EMULATED, **more: Any) -> GuestPlan:
    spec = in_a_guest(**more)
    options = Options((2, 3), spec.hugepages, spec.queues, spec.ring, 1518, spec.eal)
    return guest_of(spec, endpoints(kind), PLACEMENT, options, here)


def after(words: tuple[str, ...], name: str) -> list[str]:
    return [word for before, word in pairwise(words) if before == name]


@pytest.mark.parametrize(
    ("kind", "way"),
    [("vhost-user-client", "server=on,wait=off"), ("vhost-user", "server=off,reconnect=1")],
)
def test_its_cards_are_plugged_in_where_ports_would_be(kind: str, way: str) -> None:
    words = command_line("qemu", planned(kind).vm)
    wires = [word for word in after(words, "-chardev") if "id=wire" in word]
    assert wires == [
        f"socket,id=wire0,path=/run/phy0.sock,{way}",
        f"socket,id=wire1,path=/run/phy1.sock,{way}",
    ]


def test_tgen_takes_these_cards_and_speaks_over_its_own_port() -> None:
    plan = planned(eal=["--log-level=8"])
    assert plan.words == (
        *("--in-memory", "--iova-mode=pa", "-d", "/lib/dpdk", "--lcores=0@0,1@1,2@2"),
        *("--allow=0000:00:10.0", "--allow=0000:00:11.0", "--log-level=8"),
        *("--", "--stdin", "--queues", "1", "--ring", "1024", "--max-frame", "1518"),
    )
    assert [port.name for port in plan.ports.values()] == ["0000:00:10.0", "0000:00:11.0"]
    serial = after(command_line("qemu", plan.vm), "-device")
    assert "virtserialport,chardev=application,name=vsperf.tgen" in serial
    assert plan.vm.application in plan.vm.sockets


def test_workers_are_on_the_cpus_of_the_generator_and_all_else_is_not() -> None:
    vm = planned().vm
    assert vm.spec.vcpu_count == 3
    assert vm.cpus == (0, 2, 3)
    assert vm.emulator_cpus == (0,)


def test_the_agent_is_told_the_cards_and_the_memory() -> None:
    plan = planned()
    assert plan.message["nics"] == [wire.mac for wire in plan.vm.wires]
    assert 0 < plan.message["memory"] < plan.vm.spec.memory
    (_, told) = steps_of(plan, EMULATED)
    assert json.loads(told.lines[0]) == {"verb": "start", **plan.message}


def test_more_queues_take_more_memory_and_its_rings_are_those_that_qemu_has() -> None:
    plain, large = planned().vm.spec, planned(queues=4, ring=4096).vm.spec
    assert large.memory > plain.memory and not large.memory % 2
    assert (large.queues, large.rx_ring, large.tx_ring) == (4, 1024, 1024)
    assert planned(ring=64).vm.spec.rx_ring == 256


@pytest.mark.parametrize(
    ("accelerator", "said", "only"),
    [
        ("tcg", "emulated (TCG)", True),
        ("kvm", "on KVM", False),
        (None, "has not been tried", False),
    ],
)
def test_a_plan_says_what_the_guest_runs_on(accelerator: str | None, said: str, only: bool) -> None:
    here = QemuHost(IMAGE, accelerator)
    start, _ = steps_of(planned(here=here), here)
    assert said in start.action
    assert ("functional only" in start.action) == only


def test_it_needs_memory_for_the_guest_and_a_cpu_for_all_but_frames() -> None:
    case = case_with(in_a_guest(workers=2))
    needs = TgenGenerator().needs(case)
    assert [(one.role, one.count, one.busy) for one in needs.cpus] == [
        ("generator", 2, True),
        ("generator emulator", 1, False),
    ]
    assert needs.hugepage_bytes == planned(workers=2).vm.spec.memory << 20


@pytest.mark.parametrize("kind", ["tap", "pci", "vdev", "vhost-user-backend"])
def test_other_ports_are_refused(kind: str) -> None:
    with pytest.raises(UsageError, match=f"which is a {kind} port"):
        planned(kind)


def test_what_takes_a_file_or_process_that_guest_and_host_see_it_cannot_do() -> None:
    there = TgenGenerator().capabilities(case_with(in_a_guest()))
    here = TgenGenerator().capabilities(case_with(TgenSpec(kind="tgen")))
    assert here.does - there.does == {
        *OF_CONNECTIONS,
        Ability.REPLAY,
        Ability.HEADERS,
        Ability.TURNS,
    }


def test_settings_of_a_guest_that_there_is_none_of_are_refused() -> None:
    with pytest.raises(ValueError, match="nobody reads accelerator"):
        TgenSpec.model_validate({"kind": "tgen", "accelerator": "tcg"})


def test_an_image_without_tgen_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(guest, "check_program", lambda program: None)
    monkeypatch.setattr(guest, "find_image", lambda: GuestImage(Path("guest"), {"versions": {}}))
    with pytest.raises(NotReadyError, match="has no tgen"):
        guest.check(in_a_guest())


def test_there_is_no_cap_of_a_generator_in_a_guest() -> None:
    case = case_with(in_a_guest())
    nowhere: Any = None  # nothing is started
    assert TgenGenerator().calibrate(case, PLACEMENT, nowhere) is None


@pytest.mark.parametrize("accelerator", ["kvm", "tcg"])
def test_a_result_of_an_emulated_generator_is_called_so(accelerator: str) -> None:
    around = Around(generator={"accelerator": accelerator})
    flags = flags_around((), around, shared_cpu=False)
    assert (Flag.EMULATED in flags) == (accelerator == "tcg")


def test_the_end_of_tgen_is_heard_of_at_once_though_its_port_tells_of_none() -> None:
    ours, _port = socket.socketpair()
    heard, agents = socket.socketpair()
    with ours, _port, heard, agents:
        client = GuestClient(ours, agent=Agent("tgen-vm", heard))
        agents.sendall(b'{"event":"ended","app":"tgen","how":"signal 4","log":"last"}\n')
        with pytest.raises(Gone, match="ended in its guest"):
            client.ask("hello", 60.0)
        assert client.agent is not None and client.agent.ended is not None
        assert "signal 4" in client.agent.ended


def test_an_answer_is_taken_while_the_agent_speaks_of_other_things() -> None:
    ours, port = socket.socketpair()
    heard, agents = socket.socketpair()
    with ours, port, heard, agents:
        client = GuestClient(ours, agent=Agent("tgen-vm", heard))
        agents.sendall(b'{"event":"else"}\n')
        port.sendall(b'{"id":1,"ok":true,"result":{"protocol":1}}\n')
        assert client.ask("hello", 60.0) == {"protocol": 1}


# The clock of a guest is held against the host's, and a trial by a wrong one is refused.

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
    """Give a tgen whose clock goes so many times as fast as the host's in each trial."""
    ours, theirs = socket.socketpair()
    program: Any = Program()
    with ours, theirs:
        served = threading.Thread(target=serve, args=(theirs, speed))
        served.start()
        yield GuestTgen("tgen-vm", Path("none"), program, GuestClient(ours), hello=HELLO)
        ours.close()
        served.join()


TRIAL_NS = 10_000_000_000
"""How long a trial is by that clock at the host's speed: none of it is waited for, and nobody is as
long away."""


def serve(port: socket.socket, speed: float) -> None:
    ahead_ns = 0
    with port.makefile("rwb") as lines:
        for line in lines:
            asked = json.loads(line)
            if asked["verb"] == "trial":
                ahead_ns += int((speed - 1) * TRIAL_NS)
            now_ns = time.clock_gettime_ns(time.CLOCK_MONOTONIC_RAW)
            result = {"tsc": now_ns + ahead_ns}
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
