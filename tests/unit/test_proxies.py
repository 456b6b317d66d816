"""Proxies as the device: what they are told, what is refused, what is read of them."""

from __future__ import annotations

import os
import socket
import threading
from contextlib import ExitStack, nullcontext
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from all_methods import method_of
from connection_cases import lines_of, opened_through
from places import PLACEMENT
from pydantic import ValidationError

from vsperf.config.case import CaseSpec
from vsperf.drivers.programs.base import InstalledProgram
from vsperf.drivers.programs.find import PackagedProgram, said_by
from vsperf.drivers.vswitches.base import SwitchPlan
from vsperf.drivers.vswitches.hops import Hop
from vsperf.drivers.vswitches.proxy import driver as proxy_driver
from vsperf.drivers.vswitches.proxy.driver import ProxySwitch, _Maker, proxy_check
from vsperf.drivers.vswitches.proxy.haproxy.driver import Haproxy, HaproxySpec, asked, told_in
from vsperf.drivers.vswitches.proxy.layout import Design, ProxySpec
from vsperf.drivers.vswitches.proxy.nginx.driver import NginxSpec, NginxStream, module_of
from vsperf.drivers.vswitches.proxy.running import (
    InstalledProxy,
    Instance,
    RunningProxy,
    Tcp,
    Told,
    counted,
    in_use,
)
from vsperf.errors import ComponentError, NotReadyError, UsageError
from vsperf.host.doctor.finding import Host, Status
from vsperf.host.workspace import Nowhere
from vsperf.records.run import Placement, shown

BOTH = (Haproxy(), NginxStream())
EACH = pytest.mark.parametrize("proxy", BOTH, ids=lambda proxy: str(proxy.kind))
TWO = Placement(cpus={"pmd": (1, 3), "generator": (0,)})
GOLDEN = Path(__file__).parents[1] / "golden" / "haproxy"
PROGRAM = InstalledProxy("/usr/sbin/program", "1.2")
SNMP = """\
Ip: Forwarding DefaultTTL
Ip: 2 64
Tcp: RtoAlgorithm MaxConn ActiveOpens PassiveOpens AttemptFails EstabResets RetransSegs InErrs
Tcp: 1 -1 200 201 3 4 5 0
"""
NETSTAT = """\
TcpExt: SyncookiesSent ListenOverflows ListenDrops TCPBacklogDrop TCPReqQFullDoCookies
TcpExt: 0 7 9 1 2
IpExt: InOctets
IpExt: 1234
"""
SOCKSTAT = """\
sockets: used 30
TCP: inuse 21 orphan 0 tw 4 alloc 22 mem 3
UDP: inuse 0 mem 0
"""


def opened(proxy: ProxySwitch, **settings: Any) -> CaseSpec:
    return opened_through(proxy.kind, **settings)


def plan_of(proxy: ProxySwitch, case: CaseSpec, placement: Placement = PLACEMENT) -> SwitchPlan:
    return proxy.plan(case, placement)


def told(proxy: ProxySwitch, placement: Placement = PLACEMENT, **settings: Any) -> list[str]:
    """Return the configuration of a program that was found, line by line."""
    case = opened(proxy, **settings)
    assert isinstance(case.vswitch, ProxySpec)
    lines = proxy.configuration(Design(case, case.vswitch, placement), PROGRAM)
    return [shown(line).strip() for line in lines]


@EACH
def test_it_asks_for_a_cpu_for_each_worker(proxy: ProxySwitch) -> None:
    (need,) = proxy.needs(opened(proxy, workers=3)).cpus
    assert (need.role, need.count, need.pinned) == ("pmd", 3, None)


@EACH
def test_a_plan_shows_the_program_and_what_the_kernel_is_told(proxy: ProxySwitch) -> None:
    def program(case: CaseSpec) -> str:
        (argv,) = (step.argv for step in plan_of(proxy, case).steps if step.argv is not None)
        return shown(argv[3])

    case = opened(proxy, clients=3, servers=2)
    assert program(case) == proxy.program
    assert program(opened(proxy, path="/usr/local/sbin/it")) == "/usr/local/sbin/it"
    seen = lines_of(plan_of(proxy, case))
    assert "TAP-0-0 is 198.18.255.1/32, too: whom clients call" in seen
    assert "ipv4.ip_local_port_range = 1024\t65535" in seen
    assert "ipv4.tcp_max_tw_buckets = 0" in seen


@EACH
def test_clients_call_one_address_and_all_servers_are_called(proxy: ProxySwitch) -> None:
    assert proxy.Spec.model_validate({"kind": proxy.kind}).shares_out  # type: ignore[attr-defined]
    lines = told(proxy, servers=256)
    assert sum("198.18.255.1:80" in line for line in lines) == 1
    assert sum(line.startswith("server ") and "198.19." in line for line in lines) == 256


def test_haproxy_passes_tcp_on_with_a_thread_on_each_cpu() -> None:
    lines = told(Haproxy(), TWO, servers=2, connections="5k", idle="90s")
    assert lines == [
        "global",
        "stats socket RUN/haproxy.sock mode 600 level admin",
        "maxconn 5000",
        "nbthread 2",
        "cpu-map auto:1/1-2 1 3",
        "defaults",
        "mode tcp",
        "maxconn 5000",
        "backlog 4096",
        "timeout connect 5s",
        "timeout client 90000ms",
        "timeout server 90000ms",
        "frontend clients",
        "bind 198.18.255.1:80",
        "default_backend servers",
        "backend servers",
        "balance roundrobin",
        "server s1 198.19.0.1:80",
        "server s2 198.19.0.2:80",
    ]
    assert "cpu-map auto:1/1 1" in told(Haproxy())


def test_nginx_passes_tcp_on_with_a_process_on_each_cpu() -> None:
    lines = told(NginxStream(), TWO, servers=2, connections="5k", idle="90s")
    assert "worker_processes 2;" in lines
    assert "worker_cpu_affinity 10 1000;" in lines
    assert "worker_rlimit_nofile 10128;" in lines
    assert "listen 198.18.255.1:80 backlog=4096 reuseport;" in lines
    assert "proxy_timeout 90000ms;" in lines
    assert "server 198.19.0.2:80 max_fails=0;" in lines
    assert "listen 198.18.255.1:80 backlog=4096;" in told(NginxStream())


def test_neither_writes_a_line_for_each_connection_that_it_cannot_make() -> None:
    assert "-q" in Haproxy().words("haproxy")
    assert "error_log stderr emerg;" in told(NginxStream())


@EACH
def test_ports_of_connections_that_are_over_are_the_kernels_where_nobody_says(
    proxy: ProxySwitch,
) -> None:
    def kept(**settings: Any) -> list[str]:
        return [
            line for line in lines_of(plan_of(proxy, opened(proxy, **settings))) if "tw" in line
        ]

    assert kept() == ["ipv4.tcp_max_tw_buckets = 0"]
    assert kept(time_wait_sockets="20k") == ["ipv4.tcp_max_tw_buckets = 20000"]
    assert kept(time_wait_sockets=None) == []


@EACH
def test_what_is_no_connection_of_tcp_is_refused(proxy: ProxySwitch) -> None:
    with pytest.raises(UsageError, match="connections of TCP") as refused:
        plan_of(proxy, opened(proxy, protocol="udp"))
    assert refused.value.problems[0].fix


@EACH
def test_more_connections_at_a_time_than_it_has_room_for_are_refused(proxy: ProxySwitch) -> None:
    def asking(**settings: Any) -> CaseSpec:
        return opened(proxy, **settings).model_copy(update={"search": method_of({"kind": "pps"})})

    with pytest.raises(UsageError, match=r"has room for 8,000 .*connections is 10,000") as refused:
        plan_of(proxy, asking())
    assert "--set vswitch.connections=10000" in str(refused.value.problems[0].fix)
    plan_of(proxy, asking(connections=10_000))
    two = opened(proxy, workers=2).vswitch
    assert isinstance(two, ProxySpec)
    assert two.room == 8_000 * (2 if proxy.leads else 1), "of nginx each process has its own"


@pytest.mark.parametrize("spec", [HaproxySpec, NginxSpec], ids=lambda spec: spec.__name__)
def test_settings_that_contradict_each_other_are_refused(spec: type[ProxySpec]) -> None:
    (kind,) = spec.model_fields["kind"].annotation.__args__  # type: ignore[union-attr]
    for wrong in ({"workers": 3, "cpus": "1-2"}, {"idle": "500ms"}, {"connections": 0}):
        with pytest.raises(ValidationError):
            spec.model_validate({"kind": kind, **wrong})
    assert spec.model_validate({"kind": kind, "cpus": "1-2"}).worker_count == 2


# Where it is.


def test_a_module_is_loaded_where_nginx_was_built_with_it_apart(tmp_path: Path) -> None:
    built = "nginx version: nginx/1.22.1\nconfigure arguments: --prefix=/x{} --with-threads\n"
    assert module_of(built.format(" --with-stream"), "nginx") is None
    apart = built.format(f" --modules-path={tmp_path} --with-stream=dynamic")
    with pytest.raises(NotReadyError) as missing:
        module_of(apart, "nginx")
    assert "is not installed" in str(missing.value.problems[0].why)
    (tmp_path / "ngx_stream_module.so").touch()
    assert module_of(apart, "nginx") == str(tmp_path / "ngx_stream_module.so")
    for without in ("", " --with-stream_ssl_module"):
        with pytest.raises(NotReadyError) as missing:
            module_of(built.format(without), "nginx")
        assert "built without" in str(missing.value.problems[0].why)
    module = InstalledProxy("nginx", "1.22.1", "/modules/it.so")
    case = opened(NginxStream())
    assert isinstance(case.vswitch, ProxySpec)
    lines = NginxStream().configuration(Design(case, case.vswitch, PLACEMENT), module)
    assert lines[0] == "load_module /modules/it.so;"


def test_an_nginx_that_would_write_into_the_log_of_the_systems_own_is_not_taken(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    old = InstalledProgram("/its/nginx", "1.18.0")
    monkeypatch.setattr(PackagedProgram, "find", lambda *_: old)
    with pytest.raises(NotReadyError, match=r"nginx 1\.18\.0 cannot be told") as refused:
        NginxStream.find(None)
    assert "vswitch.path" in str(refused.value.problems[0].fix)


def test_a_program_that_cannot_be_asked_is_replaced_by_the_setting_that_names_it(
    tmp_path: Path,
) -> None:
    with pytest.raises(NotReadyError) as refused:
        said_by((str(tmp_path / "none"), "-V"), "vswitch.path")
    assert "name another program: vswitch.path" in str(refused.value.problems[0].fix)


def test_doctor_says_whether_it_is_there_and_fails_where_it_is_wanted() -> None:
    def nowhere(spec: ProxySpec | None) -> InstalledProxy:
        raise NotReadyError("it cannot be run", why="it is not installed", fix="install it")

    there = proxy_check("it", HaproxySpec, lambda _: InstalledProxy("/it", "3.0", "/module"))
    assert there.ask(Host()).evidence == "/it, version 3.0, which loads /module"
    gone = proxy_check("it", HaproxySpec, nowhere)
    assert gone.ask(Host()).status is Status.ABSENT
    wanted = Host(chosen=(HaproxySpec(kind="haproxy"),))
    assert gone.ask(wanted).status is Status.FAILURE


# What the kernel and the programs tell.


def test_what_the_kernel_counts_of_tcp_is_read_by_its_names() -> None:
    tcp = Tcp(counted(SNMP) | counted(NETSTAT) | in_use(SOCKSTAT))
    assert (tcp.accepted, tcp.opened) == (201, 200)
    assert [tcp.open_beside(called) for called in (1, 3, 30)] == [10, 9, 0]
    assert tcp.drops == {"listen queue full": 9, "socket queue full": 1}
    assert tcp.reasons == {
        "accept queue full": 7,
        "SYN cookies sent": 2,
        "connections not made": 3,
        "connections reset": 4,
        "segments sent again": 5,
        "segments damaged": 0,
    }, "what a kernel does not count is missing"


def test_what_haproxy_counts_is_summed_up_over_its_servers() -> None:
    """Six clients: a server answered three of them, and another one refused three, as often."""
    told_then = told_in(
        (GOLDEN / "show-stat.csv").read_text(), (GOLDEN / "show-activity.txt").read_text()
    )
    assert (told_then.accepted, told_then.attempts) == (6, 15)
    assert {name: count for name, count in told_then.reasons.items() if count} == {
        "haproxy connect errors": 3,
        "haproxy retries": 9,
        "haproxy stream calls of thread 1": 14,
        "haproxy stream calls of thread 2": 25,
    }


def test_of_one_thread_there_are_no_shares_to_tell() -> None:
    statistics = (GOLDEN / "show-stat.csv").read_text()
    alone = told_in(statistics, "thread_id: 1 (1..1)\nstream_calls: 39\n")
    assert [name for name in alone.reasons if "thread" in name] == []


def test_an_answer_of_another_kind_is_refused_in_words() -> None:
    for wrong in ("", "Unknown command: 'show stat'", "# pxname,svname\nclients,FRONTEND\n"):
        with pytest.raises(ComponentError, match="tells of no connections"):
            told_in(wrong, "")


def test_attempts_that_never_became_a_connection_had_no_port() -> None:
    def without_port(attempts: int | None, opened: int) -> dict[str, int]:
        return Instance(program=None, workers=(), opened_before=100).without_port(attempts, opened)  # type: ignore[arg-type]

    assert without_port(50, 147) == {"no port free": 3}
    assert without_port(50, 150) == without_port(50, 151) == {"no port free": 0}
    assert without_port(None, 147) == {}, "nobody counts attempts"


def test_a_program_that_is_asked_answers_in_time_or_is_told_not_to(tmp_path: Path) -> None:
    path = tmp_path / "socket"
    with pytest.raises(ComponentError, match="haproxy does not answer"):
        asked(path, "show stat")
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(path))
        listening.listen()

        def answer() -> None:
            one, _ = listening.accept()
            with one:
                one.sendall(b"heard " + one.recv(100))

        thread = threading.Thread(target=answer)
        thread.start()
        assert asked(path, "show stat") == "heard show stat\n"
        thread.join()


def running(**changes: Any) -> RunningProxy:
    """Return a proxy of which nothing runs: two taps are there, and whoever is asked answers."""
    case = opened(Haproxy())
    assert isinstance(case.vswitch, ProxySpec)
    design = Design(case, case.vswitch, PLACEMENT)
    taps: Any = SimpleNamespace(devices=lambda: {"tap0": None, "tap1": None})
    program: Any = SimpleNamespace(name="haproxy", failure=lambda: None)
    given: dict[str, Any] = {
        "hop": Hop(design.ports, "network", {"phy0": "tap0", "phy1": "tap1"}, taps),
        "who": "haproxy",
        "workspace": Nowhere(),
        "design": design,
        "found": PROGRAM,
        "configuration": (),
        "instance": Instance(program, (os.getpid(),), 0),
        "start_again": lambda instance, kill: instance,
        "ask": Told,
        "commands": (),
    }
    return RunningProxy(**given | changes)


def test_whatever_is_gone_of_a_proxy_is_named() -> None:
    def silent() -> Told:
        raise ComponentError("haproxy does not answer", why="timed out")

    assert running().failure() is None
    hop = running().hop
    short: Any = SimpleNamespace(devices=lambda: {"tap0": None})
    assert running(hop=replace(hop, talk=short)).failure() == "the tap of phy1 is gone"
    killed: Any = SimpleNamespace(name="haproxy", failure=lambda: "was killed by SIGKILL")
    gone = Instance(killed, (), 0)
    assert running(instance=gone).failure() == "haproxy was killed by SIGKILL"
    program = running().instance.program
    nobody = Instance(program, (1 << 23,), 0)
    assert "a worker of haproxy has ended" in str(running(instance=nobody).failure())
    assert running(ask=silent).failure() == "haproxy does not answer: timed out"
    assert running(ended=True).failure() == "the switch was stopped"


def test_sockets_at_which_workers_are_called_are_no_connections(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(Tcp, "of", lambda network: Tcp({"TCP.inuse": 3}))
    program: Any = SimpleNamespace(name="nginx", pid=os.getpid())
    three = Instance(program, (1 << 23, (1 << 23) + 1, (1 << 23) + 2), 0)
    assert running(instance=three).kept().entries == 0
    assert running(instance=Instance(program, (os.getpid(),), 0)).kept().entries == 1


def test_its_configuration_is_not_proved_again_while_nobody_can_connect(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked_for: list[object] = []
    program: Any = SimpleNamespace(name="haproxy", pid=1 << 23)
    monkeypatch.setattr(proxy_driver, "managed", lambda *_, **__: nullcontext(program))
    monkeypatch.setattr(proxy_driver, "end", lambda *_: None)
    monkeypatch.setattr(proxy_driver, "run", lambda argv, _: asked_for.append(argv))
    monkeypatch.setattr(Tcp, "of", lambda network: Tcp({"Tcp.ActiveOpens": 7}))
    before = running()
    with ExitStack() as stack:
        made = _Maker(Haproxy(), before.design, PROGRAM, before.hop, Nowhere(), stack)
        again = made.start_again(before.instance, kill=False)
    assert again == Instance(program, (program.pid,), 7)
    assert asked_for == []


def test_a_proxy_has_no_rules_and_no_flows() -> None:
    running().forget_flows()
    with pytest.raises(UsageError) as refused:
        running().change_rules(10)
    assert "vswitch nftables" in str(refused.value.problems[0].fix)


def test_connections_are_the_programs_to_count_where_it_does_and_else_the_kernels(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    tcp = Tcp(counted(SNMP) | counted(NETSTAT) | in_use(SOCKSTAT))
    monkeypatch.setattr(Tcp, "of", lambda network: tcp)
    monkeypatch.setattr(Hop, "counted", lambda self: ())
    kernels = running().counters()
    assert kernels.connections is not None
    assert kernels.connections.all_counts == (201, 200)
    assert "no port free" not in kernels.reasons
    own = Told(accepted=199, attempts=210, reasons={"haproxy retries": 8})
    counters = running(ask=lambda: own).counters()
    assert counters.connections is not None
    assert counters.connections.all_counts == (199, 200)
    assert counters.reasons["haproxy retries"] == 8
    assert counters.reasons["no port free"] == 10
    assert counters.drops == {"listen queue full": 9, "socket queue full": 1}
