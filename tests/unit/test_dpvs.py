"""DPVS as the device: what it is told, and what is refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from all_wrong import hold_each
from config_world import CHECKOUT
from dperf_cases import dperf_case
from dpvs_cases import dpvs_case
from places import PLACEMENT, known_too_early
from pydantic import ValidationError
from simulated_cases import simulated_case
from switch_cases import PVP, V2V

from vsperf.config.case import CaseSpec
from vsperf.config.connections import answering_of, clients_of, servers_of
from vsperf.config.loader import Request, load_cases
from vsperf.config.lookup import Library
from vsperf.drivers.generators.dperf.plan import case_ends, check
from vsperf.drivers.vswitches.dpvs.driver import Dpvs
from vsperf.drivers.vswitches.dpvs.layout import Design, DpvsSpec
from vsperf.drivers.vswitches.ipvs.driver import IpvsSpec
from vsperf.errors import UsageError
from vsperf.plugins import Plugins
from vsperf.records.run import Placement, shown

TWO = Placement(cpus={"pmd": (1, 3), "generator": (0,)})
NICS = {
    "phy0": {"switch": "0000:af:00.1", "generator": "0000:b1:00.0"},
    "phy1": {"switch": "0000:af:00.0", "generator": "0000:b1:00.1"},
}


def design(case: CaseSpec, placement: Placement = PLACEMENT) -> Design:
    assert isinstance(case.vswitch, DpvsSpec)
    return Design(case, case.vswitch, placement)


def spec(**settings: Any) -> DpvsSpec:
    return DpvsSpec.model_validate({"kind": "dpvs", **settings})


def told(case: CaseSpec) -> list[str]:
    return [" ".join(command) for command in design(case).told()]


def configured(case: CaseSpec, placement: Placement = PLACEMENT) -> dict[str, list[str]]:
    """Return the words of its configuration by the sections that they are in."""
    found: dict[str, list[str]] = {}
    within: list[str] = []
    for line in (one.strip() for one in design(case, placement).configuration()):
        if line.endswith("{"):
            within.append(line.removesuffix(" {"))
        elif line == "}":
            within.pop()
        else:
            found.setdefault("/".join(within), []).append(line)
    assert within == []
    return found


def test_a_plan_shows_all_that_is_done_and_names_nothing_of_one_run() -> None:
    plan = Dpvs().plan(dpvs_case({"install": "/its"}, clients=2, servers=2), PLACEMENT)
    assert known_too_early(step for step in plan.steps if step.argv is None) == []
    assert [(end.kind, shown(end.address)) for end in plan.endpoints] == [
        ("tap", "NAME/TAP-0-0"),
        ("tap", "NAME/TAP-0-1"),
    ]
    (argv,) = (step.argv for step in plan.steps if step.argv is not None)
    assert [shown(word) for word in argv] == [
        *("nsenter", "--net=/run/netns/NAME", "--", "/its/dpvs"),
        *("-c", "RUN/dpvs.conf", "-p", "RUN/dpvs.pid", "-x", "RUN/dpvs.ipc", "--"),
        *("--no-pci", "--in-memory", "--single-file-segments", "-m"),
        *(str(design(dpvs_case(servers=2)).memory_mb), "--file-prefix=NAME-dpvs"),
        "--lcores=0@1,1@1",
        "--vdev=net_af_packet0,iface=TAP-0-0,qpairs=1,framecnt=1024",
        "--vdev=net_af_packet1,iface=TAP-0-1,qpairs=1,framecnt=1024",
    ]


def test_its_master_has_a_cpu_of_its_own_only_where_one_is_named() -> None:
    (shared,) = (step.action for step in Dpvs().plan(dpvs_case(), PLACEMENT).steps if step.argv)
    assert "TAKES HALF OF A WORKER'S TIME" in shared
    (need,) = Dpvs().needs(dpvs_case()).cpus
    assert (need.role, need.count, need.busy) == ("pmd", 1, True)
    apart = dpvs_case({"main_cpu": 0, "worker_cpus": "1,3"})
    workers, master = Dpvs().needs(apart).cpus
    assert (workers.pinned, master.role, master.pinned) == ((1, 3), "switch main", (0,))
    (step,) = (step for step in Dpvs().plan(apart, TWO).steps if step.argv)
    assert "--lcores=0@0,1@1,2@3" in (step.argv or ())
    assert "HALF" not in step.action


def test_each_worker_has_a_queue_of_each_port() -> None:
    found = configured(dpvs_case({"workers": 2}), TWO)
    assert found["worker_defs/worker cpu0"] == ["type master", "cpu_id 0"]
    for number in (1, 2):
        here = f"worker_defs/worker cpu{number}"
        assert found[here] == ["type slave", f"cpu_id {number}"]
        for port in ("dpdk0", "dpdk1"):
            queue = [f"rx_queue_ids {number - 1}", f"tx_queue_ids {number - 1}"]
            assert found[f"{here}/port {port}"] == queue
    assert "queue_number 2" in found["netif_defs/device dpdk0/rx"]
    # Packet sockets bring answers to another worker than that of their connection.
    assert "redirect on" in found["ipvs_defs/conn"]
    assert "redirect off" in configured(dpvs_case())["ipvs_defs/conn"]


def test_it_does_without_what_a_virtual_device_has_not() -> None:
    found = configured(dpvs_case())
    assert found["sa_pool"] == ["pool_hash_size 1", "flow_enable off"]
    assert {"kni off", "pdump off"} <= set(found["global_defs"])
    assert "conn_pool_size 262143" in found["ipvs_defs/conn"], "a power of two less one"
    assert found["ipvs_defs/udp"] == ["uoa_max_trail 0"], "frames of its own for each flow"


def test_nics_are_counted_in_the_order_of_the_bus_and_bring_workers_what_is_theirs() -> None:
    case = dpvs_case({"workers": 2}, NICS)
    plan = Dpvs().plan(case, TWO)
    assert [(end.link, end.kind, end.address) for end in plan.endpoints] == [
        ("phy0", "pci", "0000:b1:00.0"),
        ("phy1", "pci", "0000:b1:00.1"),
    ]
    (argv,) = (step.argv for step in plan.steps if step.argv is not None)
    assert "nsenter" not in argv and "--no-pci" not in argv
    allowed = [word for word in argv if word.startswith("--allow")]
    assert allowed == ["--allow=0000:af:00.0", "--allow=0000:af:00.1"]
    assert [port.name for port in design(case, TWO).ports] == ["dpdk1", "dpdk0"]
    assert "dpip addr add 198.18.255.1/32 dev dpdk1" in told(case)
    found = configured(case, TWO)
    assert "flow_enable on" in found["sa_pool"] and "redirect off" in found["ipvs_defs/conn"]
    nat = configured(dpvs_case({"workers": 2, "mode": "nat"}, NICS), TWO)
    assert "redirect on" in nat["ipvs_defs/conn"], "servers answer to any worker"


def test_a_virtual_device_of_the_testbed_is_taken_as_it_is() -> None:
    device = "net_af_packet7,iface=veth0"
    case = dpvs_case(links={"phy0": {"switch": device, "generator": "net_tap0,iface=veth1"}})
    plan = Dpvs().plan(case, PLACEMENT)
    assert [end.kind for end in plan.endpoints] == ["vdev", "tap"]
    assert f"--vdev={device}" in design(case).command("dpvs")


def test_in_shared_memory_it_is_the_guests_side_and_has_the_address_that_is_called() -> None:
    case = dpvs_case({"ports": "virtio-user"})
    plan = Dpvs().plan(case, PLACEMENT)
    assert [(end.kind, shown(end.address)) for end in plan.endpoints] == [
        ("vhost-user-backend", "RUN/phy0.sock"),
        ("vhost-user-backend", "RUN/phy1.sock"),
    ]
    first, second = (shown(port.device) for port in design(case).ports)
    assert first.endswith(f"server=1,queue_size=1024,mac={servers_of(case).mac}")
    assert second.endswith(f"mac={clients_of(case).mac}")
    assert [shown(one) for one in design(case).sockets] == [
        *("RUN/phy0.sock", "RUN/phy1.sock", "RUN/dpvs.ipc")
    ], "it listens there only when somebody has called at both"
    assert "nsenter" not in design(case).command("dpvs")


def test_it_knows_every_host_at_both_ends_and_asks_nobody() -> None:
    case = dpvs_case(clients=2, servers=3)
    for end, port, net in (
        (clients_of(case), "dpdk0", "198.18.0.0/16"),
        (servers_of(case), "dpdk1", "198.19.0.0/16"),
    ):
        assert f"dpip route add {net} dev {port}" in told(case)
        for ip in end.ips:
            assert f"dpip neigh add {ip} lladdr {end.mac} dev {port}" in told(case)


@pytest.mark.parametrize(
    ("mode", "word", "local"),
    [("fnat", "-b", ["198.19.255.253", "198.19.255.254"]), ("nat", "-m", []), ("dr", "-g", [])],
)
@pytest.mark.parametrize(("protocol", "service"), [("tcp", "-t"), ("udp", "-u")])
def test_one_address_is_called_for_all_servers(
    mode: str, word: str, local: list[str], protocol: str, service: str
) -> None:
    settings = {"mode": mode, **({"local_addresses": 2} if local else {})}
    case = dpvs_case(settings, servers=2, protocol=protocol)
    called = f"{service} 198.18.255.1:80"
    assert [line for line in told(case) if line.startswith("ipvsadm")] == [
        f"ipvsadm -A {called} -s rr",
        *(f"ipvsadm -a {called} -r {ip}:80 {word} -w 1" for ip in servers_of(case).ips),
        *(f"ipvsadm --add-laddr -z {ip} {called} -F dpdk1" for ip in local),
    ]
    assert local[-1:] in ([], [servers_of(case).device_ip]), "others know that one"


def test_servers_answer_as_who_was_called_where_addresses_are_not_rewritten() -> None:
    through = dpvs_case({"mode": "nat"}, servers=3)
    assert answering_of(through) == servers_of(through)
    direct = dpvs_case({"mode": "dr"}, servers=3)
    end = answering_of(direct)
    assert end.ips == (clients_of(direct).service_ip,)
    assert (end.link, end.mac) == (servers_of(direct).link, servers_of(direct).mac)
    assert case_ends(direct).server.end == end
    # What they say comes back by way of DPVS, which routes it.
    assert configured(direct)["ipv4_defs"] == ["forwarding on"]
    assert configured(through)["ipv4_defs"] == ["forwarding off"]


def test_it_forgets_as_fast_as_asked_and_else_as_it_does_by_itself() -> None:
    usual = configured(dpvs_case())
    assert "ipvs_defs/tcp/timeout" not in usual and "ipvs_defs/udp/timeout" not in usual
    asked = configured(dpvs_case({"time_wait": "5s", "udp_timeout": "9s"}))
    assert set(asked["ipvs_defs/tcp/timeout"]) == {
        *("fin_wait 5", "time_wait 5", "close_wait 5", "last_ack 5")
    }
    assert asked["ipvs_defs/udp/timeout"] == ["oneway 9", "normal 9"]


def test_memory_grows_with_what_takes_it_and_comes_from_hugepages_unless_told_otherwise() -> None:
    def taken(servers: int = 1, **settings: Any) -> int:
        return Dpvs().needs(dpvs_case(settings, servers=servers)).hugepage_bytes

    more: list[dict[str, Any]] = [
        {"connections": 1 << 20},
        {"workers": 2},
        {"ring": 8192, "workers": 4},
        {"servers": 8},
        {"local_addresses": 8},
    ]

    def grows(settings: dict[str, Any]) -> None:
        assert taken(**settings) > taken()

    hold_each(more, grows)
    assert taken(memory=300) == 300 << 20
    assert taken(hugepages=False) == 0
    assert "--no-huge" in design(dpvs_case({"hugepages": False})).command("dpvs")


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"connections": 200_000}, "200,000 is no power of two"),
        ({"connections": 65_536}, "greater than or equal to 131072"),
        ({"ring": 1_000}, "1,000 is no power of two"),
        ({"mode": "nat", "local_addresses": 2}, "servers see no address of DPVS"),
        ({"worker_cpus": "1-17"}, "16 queues of a port at most"),
        ({"workers": 2, "worker_cpus": "1"}, "workers is 2"),
        ({"time_wait": "500ms"}, "counted in whole seconds"),
        ({"mode": "snat"}, "'fnat', 'nat' or 'dr'"),
    ],
)
def test_settings_that_it_does_not_have_are_refused(settings: dict[str, Any], words: str) -> None:
    with pytest.raises(ValidationError, match=words):
        spec(**settings)


def behind_a_guest() -> CaseSpec:
    return dpvs_case().model_copy(update={"topology": simulated_case(topology=PVP).topology})


@pytest.mark.parametrize(
    ("made", "words"),
    [
        (lambda: simulated_case(vswitch=spec()), "takes connections"),
        (behind_a_guest, "shares connections out between two links"),
        (lambda: dpvs_case(links={"phy0": {"switch": "eth0"}}), "which DPVS cannot take"),
        (lambda: dpvs_case({"workers": 2, "ports": "virtio-user"}), "have one queue"),
    ],
    ids=["frames", "guests", "a name", "queues"],
)
def test_what_it_cannot_do_is_refused_with_another_way(
    made: Callable[[], CaseSpec], words: str
) -> None:
    with pytest.raises(UsageError, match=words) as refused:
        Dpvs().plan(made(), TWO)
    assert refused.value.problems[0].fix


def test_guests_alone_are_refused_before_their_ends_are_looked_for() -> None:
    alone = dpvs_case().model_copy(update={"topology": simulated_case(topology=V2V).topology})
    with pytest.raises(UsageError, match="between two links, and topology v2v has"):
        Dpvs().needs(alone)


def test_dperf_knows_one_address_of_it() -> None:
    def with_addresses(count: int) -> CaseSpec:
        switch = spec(local_addresses=count)
        return dperf_case().model_copy(update={"vswitch": switch})

    check(with_addresses(1))
    with pytest.raises(UsageError, match="know one address of a device"):
        check(with_addresses(2))


def test_the_testcases_of_load_balancers_are_for_it_too() -> None:
    def check(made: CaseSpec) -> None:
        assert Dpvs().plan(made, PLACEMENT).endpoints

    named = (
        *("lb_cps", "lb_udp_cps", "lb_workers", "lb_cps_flood", "lb_cc"),
        *("lb_pps", "lb_udp_pps", "lb_goodput"),
    )
    drivers = {**Plugins.load().specs()}
    drivers["vswitch"] = {**drivers["vswitch"], "dpvs": DpvsSpec, "ipvs": IpvsSpec}
    request = Request(named, testbed="local", sets=("vswitch.kind=dpvs", "vswitch.workers=1"))
    cases = load_cases(request, Library.find({}, CHECKOUT), drivers)
    assert {one.spec.name for one in cases} == set(named)
    hold_each([one.spec for one in cases], check)
