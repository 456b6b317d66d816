"""testpmd as a switch and as a generator: plans, refusals, answers."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Literal, cast

import pytest
from bench_models import method
from places import PLACEMENT
from pydantic import ValidationError
from switch_cases import PVP, PVPV, PVVP, V2V, driver_of, switch_case
from telemetry_socket import answering

from vsperf.config.abilities import Ability
from vsperf.config.case import CaseSpec
from vsperf.config.demands import refusals
from vsperf.dpdk.command import Rings
from vsperf.dpdk.console import Console, Forwarded, forwarded
from vsperf.dpdk.running import RunningTestpmd
from vsperf.drivers.generators.testpmd.driver import TestpmdGenerator
from vsperf.drivers.generators.testpmd.spec import TestpmdGeneratorSpec
from vsperf.drivers.vnfs.process.driver import ProcessVnf
from vsperf.drivers.vswitches.ports import Place
from vsperf.drivers.vswitches.testpmd.driver import TestpmdSwitch
from vsperf.drivers.vswitches.testpmd.running import RunningSwitch
from vsperf.drivers.vswitches.testpmd.spec import TestpmdSpec
from vsperf.engine.headers import expected, worth_a_look
from vsperf.errors import ComponentError, UsageError, VsperfError
from vsperf.host.process import Managed
from vsperf.methods.base import Method
from vsperf.methods.sweep import LoadSweep
from vsperf.plugins import Plugins
from vsperf.records.result import Compliance, Figure, LoadResult, SearchResult
from vsperf.records.run import Endpoint, Placement, shown
from vsperf.search.base import Loads

# testpmd as a switch: which ports it joins, its command line, what it writes, what it refuses.

RING0 = "net_ring0"
SPLIT = {"name": "split", "paths": [["phy0", "vm1", "phy1"], ["phy2", "vm2", "phy3"]]}
FOUR_LINKS: dict[str, dict[str, str]] = {"phy2": {}, "phy3": {}}


def pairs_case(switch: dict[str, Any] | None = None, **sections: Any) -> CaseSpec:
    return switch_case("testpmd", switch, **sections)


def command_line(case: CaseSpec, placement: Placement = PLACEMENT) -> list[str]:
    (step,) = TestpmdSwitch().plan(case, placement).steps
    assert step.argv is not None
    return [shown(word) for word in step.argv]


def devices(case: CaseSpec) -> list[str]:
    words = command_line(case)
    return [word.partition("=")[2] for word in words if word.startswith(("--vdev", "--allow"))]


def refusal(case: CaseSpec, placement: Placement = PLACEMENT) -> UsageError:
    with pytest.raises(UsageError) as caught:
        TestpmdSwitch().plan(case, placement)
    assert caught.value.problems[0].fix
    return caught.value


def test_it_is_found_by_its_kind() -> None:
    assert isinstance(driver_of("testpmd"), TestpmdSwitch)


def test_the_whole_command_line() -> None:
    assert command_line(pairs_case()) == [
        "dpdk-testpmd",
        "--no-pci",
        "--in-memory",
        "--single-file-segments",
        "-m",
        "128",
        "--file-prefix=NAME-testpmd",
        "--lcores=0@0,1@1",
        "--vdev=net_vhost0,iface=RUN/phy0.sock,queues=1,client=1",
        "--vdev=net_vhost1,iface=RUN/phy1.sock,queues=1,client=1",
        "--",
        "--auto-start",
        "--forward-mode=io",
        "--port-topology=paired",
        "--nb-cores=1",
        "--rxq=1",
        "--txq=1",
        "--rxd=512",
        "--txd=512",
        "--burst=32",
        "--total-num-mbufs=16384",
        "--disable-link-check",
        "--no-flush-rx",
        "--no-mlockall",
        "--stats-period=43200",
    ]


@pytest.mark.parametrize("role", ["vhost-user-client", "vhost-user"])
def test_endpoints_and_wires_are_of_the_role_that_was_chosen(role: str) -> None:
    plan = TestpmdSwitch().plan(pairs_case({"ports": role}, topology=PVP), PLACEMENT)
    assert [(end.link, end.kind, shown(end.address)) for end in plan.endpoints] == [
        ("phy0", role, "RUN/phy0.sock"),
        ("phy1", role, "RUN/phy1.sock"),
    ]
    assert [(wire.vnf, wire.nic, wire.kind, shown(wire.address)) for wire in plan.wires] == [
        ("vm1", 0, role, "RUN/vm1_0.sock"),
        ("vm1", 1, role, "RUN/vm1_1.sock"),
    ]


@pytest.mark.parametrize(
    ("topology", "links", "order"),
    [
        (PVP, None, ["phy0", "vm1_0", "phy1", "vm1_1"]),
        (PVVP, None, ["phy0", "vm1_0", "phy1", "vm2_1", "vm1_1", "vm2_0"]),
        (V2V, None, ["vm1_1", "vm2_0"]),
        (
            SPLIT,
            FOUR_LINKS,
            ["phy0", "vm1_0", "phy1", "vm1_1", "phy2", "vm2_0", "phy3", "vm2_1"],
        ),
    ],
)
def test_ports_stand_beside_the_ones_that_their_frames_go_to(
    topology: dict[str, Any], links: dict[str, dict[str, str]] | None, order: list[str]
) -> None:
    case = pairs_case(topology=topology, links=links)
    found = [device.partition("iface=RUN/")[2].partition(".sock")[0] for device in devices(case)]
    assert found == order


@pytest.mark.parametrize("topology", [PVPV, {**PVP, "nics": 1}])
def test_a_port_whose_frames_go_several_ways_is_refused_by_name(topology: dict[str, Any]) -> None:
    error = refusal(pairs_case(topology=topology))
    assert "testpmd joins ports in pairs" in str(error)
    assert "frames from" in str(error)


def test_threads_run_where_they_were_placed() -> None:
    placement = Placement(cpus={"pmd": (2, 5), "switch main": (3,)})
    words = command_line(pairs_case({"pmds": 2}), placement)
    assert {"--lcores=0@3,1@2,2@5", "--nb-cores=2"} <= set(words)


def test_needs_are_a_cpu_for_each_thread_one_that_sleeps_and_the_memory_of_the_buffers() -> None:
    pmd, main = TestpmdSwitch().needs(pairs_case({"pmd_cpus": "2-3", "main_cpu": 1})).cpus
    assert (pmd.role, pmd.count, pmd.busy, pmd.pinned) == ("pmd", 2, True, (2, 3))
    assert (main.role, main.count, main.busy, main.pinned) == ("switch main", 1, False, (1,))
    assert TestpmdSwitch().needs(pairs_case()).hugepage_bytes == 128 << 20
    assert TestpmdSwitch().needs(pairs_case({"hugepages": False})).hugepage_bytes == 0
    assert TestpmdSwitch().needs(pairs_case({"memory": 300})).hugepage_bytes == 300 << 20


def test_without_hugepages_the_plan_says_so_and_memory_is_ordinary() -> None:
    case = pairs_case({"hugepages": False})
    (step,) = TestpmdSwitch().plan(case, PLACEMENT).steps
    assert "WITHOUT HUGEPAGES" in step.action
    assert "--no-huge" in command_line(case)


def test_cycles_are_counted_where_they_are_asked_for() -> None:
    assert "--record-core-cycles" not in command_line(pairs_case())
    assert "--record-core-cycles" in command_line(pairs_case({"cycles": True}))


def test_a_long_frame_fits_into_one_buffer() -> None:
    words = command_line(pairs_case(traffic={"frame_size": "9018B"}))
    assert {"--max-pkt-len=9018", "--mbuf-size=9152"} <= set(words)
    assert Rings(ports=2, threads=1, frame_bytes=9018).memory_mb > Rings(2, 1).memory_mb


def test_pins_and_count_have_to_agree() -> None:
    with pytest.raises(ValidationError, match="pmd_cpus names 2 CPUs"):
        pairs_case({"pmds": 1, "pmd_cpus": "1-2"})


def test_more_threads_than_queues_are_refused() -> None:
    assert "3 forwarding threads" in str(refusal(pairs_case({"pmds": 3})))


def test_queues_that_the_other_end_does_not_have_are_refused_by_the_setting() -> None:
    assert "generator.queues is 1" in str(refusal(pairs_case({"rxqs": 2})))
    vnf = ProcessVnf.Spec.model_validate({"kind": "process", "queues": 2})
    assert "vnf.queues is 2" in str(refusal(pairs_case(topology=PVP, vnf=vnf)))


def test_a_device_of_dpdk_is_handed_on_and_the_generators_end_is_that_of_the_testbed() -> None:
    links = {"phy0": {"switch": f"{RING0},x=1", "generator": "net_null7"}}
    case = pairs_case(links=links)
    assert devices(case)[0] == f"{RING0},x=1"
    first, second = TestpmdSwitch().plan(case, PLACEMENT).endpoints
    assert (first.kind, first.address, second.kind) == ("vdev", "net_null7", "vhost-user-client")


def test_cards_come_in_the_order_in_which_dpdk_finds_them() -> None:
    links = {
        "phy0": {"switch": "0000:AF:00.0", "generator": "0000:5e:00.0"},
        "phy1": {"switch": "0000:18:00.0", "generator": "0000:5e:00.1"},
    }
    case = pairs_case(links=links)
    assert devices(case) == ["0000:18:00.0", "0000:AF:00.0"]
    assert "--no-pci" not in command_line(case)


def test_cards_with_vnfs_behind_are_refused_as_nobody_could_say_which_port_is_which() -> None:
    links = {"phy0": {"switch": "0000:af:00.0", "generator": "0000:5e:00.0"}}
    assert "phy0 is a NIC" in str(refusal(pairs_case(links=links, topology=PVP)))


def test_a_device_of_the_kernel_is_refused_with_the_way_to_take_it() -> None:
    error = refusal(pairs_case(links={"phy0": {"switch": "eth1", "generator": "net_null0"}}))
    assert "net_af_packet0,iface=eth1" in str(error.problems[0].why)


FORGETTING = {"flow_setup", "learning", "caching", "churn"}


@pytest.mark.parametrize("name", sorted(FORGETTING))
def test_what_takes_flows_or_rules_is_refused_before_anything_starts(name: str) -> None:
    more = {"rules_per_second": [10], "throughput_duration": "1s", "throughput_sum": "1s"}
    asked = method(name, **(more if name == "churn" else {}))
    case = pairs_case(search=asked.model_dump(mode="json"))
    assert "testpmd cannot be" in str(refusal(case))


def test_a_restart_needs_a_switch_that_calls() -> None:
    search = method("reset").model_dump(mode="json")
    assert TestpmdSwitch().plan(pairs_case(search=search), PLACEMENT).endpoints
    error = refusal(pairs_case({"ports": "vhost-user"}, search=search))
    assert "ports=vhost-user-client" in str(error.problems[0].fix)


def test_frames_that_are_left_alone_are_not_looked_at() -> None:
    assert not worth_a_look(pairs_case())
    assert expected(pairs_case(), "phy0 to phy1") == {}


@pytest.mark.parametrize("mode", ["mac", "macswap", "5tswap"])
def test_what_rewrites_frames_is_looked_for_where_they_arrive(mode: str) -> None:
    case = pairs_case({"forward": mode})
    assert worth_a_look(case)
    assert case.rewriting == f"vswitch.forward={mode}"
    assert f"--forward-mode={mode}" in command_line(case)


def test_the_next_hop_of_each_link_is_the_generator_there() -> None:
    case = pairs_case({"forward": "mac"})
    peers = [word for word in command_line(case) if word.startswith("--eth-peer")]
    assert peers == ["--eth-peer=0,02:00:00:00:00:01", "--eth-peer=1,02:01:00:00:00:01"]
    assert expected(case, "phy1 to phy0") == {
        "destination_mac": "02:00:00:00:00:01",
        "source_mac": "56:48:4f:53:54:00",
    }


def test_swapped_addresses_are_those_that_were_sent_the_other_way_round() -> None:
    assert expected(pairs_case({"forward": "macswap"}), "phy0 to phy1") == {
        "source_mac": "02:01:00:00:00:01",
        "destination_mac": "02:00:00:00:00:01",
    }
    found = expected(pairs_case({"forward": "5tswap"}), "phy0 to phy1")
    assert found == {
        "source_mac": "02:01:00:00:00:01",
        "destination_mac": "02:00:00:00:00:01",
        "source_ip": "198.19.0.1",
        "destination_ip": "198.18.0.1",
        "source_port": 7,
        "destination_port": 49184,
    }


@pytest.mark.parametrize(
    ("traffic", "unknown"),
    [
        ({"flows": 100}, {"destination_ip"}),
        ({"flows": 100, "vary": "mac"}, {"destination_mac"}),
        ({"flows": 100, "vary": "port"}, {"destination_port"}),
        (
            {"frame_size": "128B", "mpls": [16]},
            {"source_ip", "destination_ip", "source_port", "destination_port"},
        ),
    ],
)
def test_what_differs_from_flow_to_flow_is_not_asked_of_each_frame(
    traffic: dict[str, Any], unknown: set[str]
) -> None:
    case = pairs_case({"forward": "5tswap"}, traffic=traffic)
    plain = expected(pairs_case({"forward": "5tswap"}), "phy0 to phy1")
    found = case.arriving("phy0", "phy1")
    assert set(plain) - set(found) == unknown


@pytest.mark.parametrize(
    ("sections", "what"),
    [
        ({"topology": PVP}, "vm1 in between"),
        ({"traffic": {"destination": "broadcast"}}, "more than one station"),
        ({"traffic": {"broadcasts": "1%"}}, "more than one station"),
    ],
)
def test_rewriting_of_which_nobody_could_tell_whether_it_was_done_is_refused(
    sections: dict[str, Any], what: str
) -> None:
    error = refusal(pairs_case({"forward": "macswap"}, **sections))
    assert "vswitch.forward=macswap" in str(error)
    assert what in str(error)


# testpmd as a generator: what it refuses and why, its command lines, what it says at a stop.

ENDPOINTS = (
    Endpoint(link="phy0", kind="vhost-user-client", address="RUN/phy0.sock"),
    Endpoint(link="phy1", kind="vhost-user", address="RUN/phy1.sock"),
)
FULL = {"kind": "fixed", "loads": ["100%"], "duration": "1s"}
SEARCHED = {
    "min_load": "1%",
    "max_load": "100%",
    "goals": {"ndr": {"loss_ratio": "0"}},
    "duration": "1s",
    "resolution": "1%",
}
STOPPED = """
  ---------------------- Forward statistics for port 0  ----------------------
  RX-packets: 2757980        RX-dropped: 0             RX-total: 2757980
  TX-packets: 2757990        TX-dropped: 17            TX-total: 2758007
  ----------------------------------------------------------------------------

  ---------------------- Forward statistics for port 1  ----------------------
  RX-packets: 2757991        RX-dropped: 0             RX-total: 2757991
  TX-packets: 2757992        TX-dropped: 0             TX-total: 2757992
  ----------------------------------------------------------------------------

  +++++++++++++++ Accumulated forward statistics for all ports+++++++++++++++
  RX-packets: 5515971        RX-dropped: 0             RX-total: 5515971
  TX-packets: 5515982        TX-dropped: 17            TX-total: 5515999
  ++++++++++++++++++++++++++++++++++++++++++++++++++++++++++++++++++++++++++++

Done.
"""


def case_of(
    search: dict[str, Any] | None = None,
    generator: dict[str, Any] | None = None,
    traffic: dict[str, Any] | None = None,
    **sections: Any,
) -> CaseSpec:
    """Return a case that testpmd can send for, unless told otherwise."""
    spec = TestpmdGeneratorSpec.model_validate({"kind": "testpmd", **(generator or {})})
    case = switch_case("testpmd", search=search or FULL, **sections)
    profile = case.traffic.model_validate(case.traffic.model_dump() | (traffic or {}))
    return case.model_copy(update={"traffic": profile, "generator": spec})


def planned(case: CaseSpec) -> list[tuple[str, ...]]:
    """Return the command lines of a plan."""
    steps = TestpmdGenerator().plan(case, ENDPOINTS, PLACEMENT)
    return [step.argv or () for step in steps]


@pytest.mark.parametrize(
    ("told", "why"),
    [
        ({"search": {**SEARCHED, "kind": "rfc2544"}}, "unpaced"),
        ({"search": {**FULL, "loads": ["50%", "100%"]}}, "unpaced"),
        ({"search": {"kind": "forwarding", "duration": "1s"}}, "unpaced"),
        ({"traffic": {"layer3": "ipv6", "frame_size": "128B"}}, "UDP on IPv4"),
        ({"traffic": {"vlans": [7], "frame_size": "128B"}}, "UDP on IPv4"),
        ({"traffic": {"direction": "forward"}}, "every port"),
        ({"generator": {"mode": "txonly"}}, "nobody's"),
    ],
)
def test_what_it_cannot_do_is_refused_in_the_plan_with_reason_and_way_out(
    told: dict[str, Any], why: str
) -> None:
    """… and not found out when a switch has been deployed."""
    try:
        case = case_of(**told)
    except ValueError as error:  # a method that needs more settings than these
        pytest.fail(f"{told} makes no case: {error}")
    with pytest.raises(UsageError) as refused:
        planned(case)
    problem = refused.value.problems[0]
    assert problem.why is not None and why in problem.why
    assert problem.fix


def test_a_method_that_it_does_not_know_is_planned_where_its_loads_are_all_it_can_do() -> None:
    class Unheard(LoadSweep):
        """Its name stands nowhere in the driver; what it offers it says itself."""

        kind: Literal["unheard"]

        def enough(self, results: Sequence[LoadResult]) -> bool:
            return True

        def figures(
            self, loads: Loads, results: Sequence[LoadResult], sent: Sequence[int]
        ) -> tuple[Figure, ...]:
            return ()

        def compliance(
            self, case: CaseSpec, sister_sizes: Sequence[int], result: SearchResult
        ) -> tuple[Compliance, ...]:
            return ()

    class Ends(Unheard):
        """What it offers follows from its answers: both ends of the range stand for it."""

        def offered(self, loads: Loads) -> Iterator[int]:
            yield from Method.offered(self, loads)

    settings = {"kind": "unheard", "duration": "1s", "min_load": "99%"}
    top, range_ = (kind.model_validate(settings) for kind in (Unheard, Ends))

    assert planned(case_of().model_copy(update={"search": top}))
    with pytest.raises(UsageError, match="frames per second"):
        planned(case_of().model_copy(update={"search": range_}))


@pytest.mark.parametrize(
    ("search", "lacking"),
    [
        ({**SEARCHED, "kind": "rfc2544"}, {Ability.PACED, Ability.EXACT}),
        ({**FULL, "duration": "9s", "event": "restart-switch"}, {Ability.SILENCE}),
        (FULL, set()),
    ],
)
def test_what_a_method_needs_is_held_against_what_it_declares(
    search: dict[str, Any], lacking: set[Ability]
) -> None:
    case = case_of(search)
    refused = refusals(case, TestpmdGenerator().capabilities(case), 2)
    assert {problem.what for problem in refused} == {
        f"generator testpmd cannot {ability.words}" for ability in lacking
    }


def test_forwarding_at_the_full_rate_alone_is_planned() -> None:
    assert planned(case_of({"kind": "forwarding", "duration": "1s", "min_load": "99%"}))


def test_parallel_paths_are_refused() -> None:
    vnf = Plugins.load().driver("vnf", "process").Spec.model_validate({"kind": "process"})
    with pytest.raises(VsperfError, match="parallel paths"):
        planned(case_of(topology=PVPV, vnf=vnf))


def test_one_program_sends_and_receives_and_is_told_when_by_a_pipe() -> None:
    (argv,) = planned(case_of(traffic={"flows": 256}))
    assert argv[:3] == ("stdbuf", "-oL", "dpdk-testpmd")
    assert "--cmdline-file=RUN/flowgen.commands" in argv
    assert "--flowgen-flows=256" in argv
    assert "--auto-start" not in argv
    assert "--vdev=net_virtio_user0,path=RUN/phy0.sock,queue_size=1024,server=1" in argv
    assert "--vdev=net_virtio_user1,path=RUN/phy1.sock,queue_size=1024" in argv


def test_txonly_takes_a_second_program_that_receives() -> None:
    case = case_of(generator={"mode": "txonly", "cpus": "0,1"}, traffic={"direction": "forward"})
    sends, receives = planned(case)
    assert any("phy0.sock" in word for word in sends)
    assert not any("phy1.sock" in word for word in sends)
    assert any("phy1.sock" in word for word in receives)
    assert TestpmdGenerator().needs(case).cpus[0].count == 2


def test_the_plan_says_that_it_is_unpaced_and_who_counts() -> None:
    (step,) = TestpmdGenerator().plan(case_of(), ENDPOINTS, PLACEMENT)
    assert "UNPACED" in step.action and "counted by ports" in step.action


def test_pins_are_as_many_as_threads() -> None:
    with pytest.raises(ValueError, match="2 threads"):
        TestpmdGeneratorSpec.model_validate({"kind": "testpmd", "mode": "txonly", "cpus": "1"})


def test_what_it_says_at_a_stop_is_read_by_port_and_not_summed() -> None:
    assert forwarded(STOPPED) == {
        0: Forwarded(received=2757980, sent=2757990, refused=17),
        1: Forwarded(received=2757991, sent=2757992, refused=0),
    }


class TestConsole:
    """The pipe, with a thread in the place of testpmd."""

    @pytest.fixture
    def console(self, tmp_path: Path) -> Console:
        made = Console(tmp_path / "commands", tmp_path / "log")
        made.make()
        made.log.write_text("Done.\n")
        return made

    def test_it_is_open_when_somebody_reads(self, console: Console) -> None:
        assert not console.open()
        reader = os.open(console.path, os.O_RDONLY | os.O_NONBLOCK)
        assert console.open()
        console.say("set fwd flowgen", "start")
        assert os.read(reader, 100) == b"set fwd flowgen\nstart\n"
        console.close()
        assert os.read(reader, 100) == b""  # which ends testpmd
        os.close(reader)

    def test_a_stop_waits_for_what_is_said_after_it(self, console: Console) -> None:
        reader = os.open(console.path, os.O_RDONLY | os.O_NONBLOCK)
        assert console.open()

        def answer() -> None:
            with console.log.open("a") as log:
                log.write(STOPPED)

        threading.Timer(0.05, answer).start()
        assert console.stop(lambda: None)[0].refused == 17
        console.close()
        os.close(reader)

    def test_who_has_ended_is_not_waited_for(self, console: Console) -> None:
        reader = os.open(console.path, os.O_RDONLY | os.O_NONBLOCK)
        assert console.open()

        def dead() -> None:
            raise ComponentError("it has ended")

        with pytest.raises(ComponentError, match="it has ended"):
            console.stop(dead)
        os.close(reader)
        with pytest.raises(ComponentError, match="no more commands"):
            console.say("start")
        console.close()


# What a testpmd says over its socket becomes counters; what it does not say is missing.

COUNTED = {"ipackets": 10, "opackets": 8, "imissed": 0, "ierrors": 0, "oerrors": 0, "rx_nombuf": 0}
INFO = {"name": "net_vhost0", "mac_addr": "56:48:4F:53:54:00", "dev_started": 1}
ANSWERS: dict[str, Any] = {
    "/ethdev/stats,0": COUNTED,
    "/ethdev/stats,1": {**COUNTED, "opackets": 10},
    "/ethdev/info,0": INFO,
    "/ethdev/info,1": {**INFO, "name": "net_vhost1"},
    "/ethdev/link_status,0": {"status": "UP"},
    "/ethdev/link_status,1": {"status": "DOWN"},
}
BUSY = {"lcore_id": 1, "busy_cycles": 700, "total_cycles": 1000}


class Runs:
    """A program that runs, as far as anybody asks."""

    log = Path("/nowhere")

    def wait(self, patience_s: float) -> bool:
        return False

    def failure(self) -> None:
        return None


def switch_at(path: Path, **settings: Any) -> RunningSwitch:
    spec = switch_case("testpmd", settings).vswitch
    assert isinstance(spec, TestpmdSpec)
    places = (Place("phy0"), Place("phy1"))
    testpmd = RunningTestpmd("testpmd", cast(Managed, Runs()), path, ("phy0", "phy1"))
    return RunningSwitch(spec, places, testpmd, lambda kill: testpmd, (1,))


def test_frames_are_counted_by_port_and_what_did_not_leave_by_one_that_came_by_its_partner() -> (
    None
):
    with answering(ANSWERS) as path:
        counters = switch_at(path).counters()
    assert [(port.link, port.received_frames, port.sent_frames) for port in counters.ports] == [
        ("phy0", 10, 8),
        ("phy1", 10, 10),
    ]
    assert counters.ports[0].drops == {"rx missed": 0, "rx errors": 0, "tx not taken": 2}
    assert [port.lost_on_sending for port in counters.ports] == [2, 0]
    assert counters.pmds == ()


def test_what_a_frame_costs_is_told_where_testpmd_tells_it() -> None:
    with answering({**ANSWERS, "/eal/lcore/info,1": BUSY}) as path:
        (pmd,) = switch_at(path, cycles=True).counters().pmds
        assert switch_at(path).counters().pmds == ()
        several = switch_at(path, cycles=True)
        several.cpus = (1, 2)
        assert several.counters().pmds == ()
    assert (pmd.cpu, pmd.frames, pmd.busy_cycles, pmd.idle_cycles) == (1, 20, 700, 300)


def test_an_older_testpmd_does_not_tell_and_nothing_is_made_up() -> None:
    with answering({**ANSWERS, "/eal/lcore/info,1": {"lcore_id": 1}}) as path:
        assert switch_at(path, cycles=True).counters().pmds == ()


def test_a_port_that_counts_nothing_is_an_error() -> None:
    with answering({**ANSWERS, "/ethdev/stats,1": None}) as path:
        switch = switch_at(path)
        with pytest.raises(ComponentError, match="counts nothing on one of its ports"):
            switch.counters()


def test_what_is_waited_for_is_said_by_the_name_that_the_port_has_here() -> None:
    with answering(ANSWERS) as path:
        testpmd = switch_at(path).testpmd
        assert testpmd.waiting_for() == "the link of phy1 is down"
        assert testpmd.waiting_for(("phy0",)) is None
        assert testpmd.dpdk == "DPDK 24.11"
        assert [port["name"] for port in testpmd.ports] == ["net_vhost0", "net_vhost1"]


def test_one_that_does_not_answer_is_said_to_have_failed(tmp_path: Path) -> None:
    assert "does not answer" in str(switch_at(tmp_path / "nobody").failure())
