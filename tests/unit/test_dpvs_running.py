"""A DPVS that runs: what its tools tell, what it counts, how it is found, and how it fails.

What these answer is written here as their sources print it: no run of theirs is on record.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from dpvs_cases import dpvs_case
from machine_tree import script

from vsperf.config.case import CaseSpec
from vsperf.drivers.vswitches.base import KeepsConnections, Routes
from vsperf.drivers.vswitches.dpvs.driver import (
    CHECKS,
    LINKS,
    POOLS,
    SERVED,
    TABLE,
    THREADS,
    Programs,
    RunningDpvs,
    Served,
    Talk,
    blocks_in,
    entries_in,
    entry_bytes_in,
    find_programs,
    macs_in,
    missed_in,
    planned_program,
    served_in,
)
from vsperf.drivers.vswitches.dpvs.layout import Design, DpvsSpec
from vsperf.errors import ComponentError, DiedError, NotReadyError, UsageError
from vsperf.host.doctor.finding import Host, Status
from vsperf.host.workspace import Nowhere
from vsperf.records.run import Placement, shown
from vsperf.records.switch import ConnectionCounters, Kept

TWO = Placement(cpus={"pmd": (1, 3), "generator": (0,)})
PORT = """\
{number}: dpdk{port}: socket 0 mtu 1500 rx-queue 1 tx-queue 1
    addr 02:01:00:00:00:0{number} OF_TX_FAST_FREE
    ipackets            opackets            ibytes              obytes
    {came:<20}{left:<20}81000               82000
    ierrors             oerrors             imissed             rx_nombuf
    0                   2                   {missed:<20}0
"""
PORTS = PORT.format(number=1, port=0, came=600, left=599, missed=7) + PORT.format(
    number=2, port=1, came=601, left=600, missed=0
)
THREAD = """\
{number}: cpu{cpu}: socket 0
    queues none
    z2hpktburst         h2fpktburst         dropped
    0                   0                   {dropped:<20}
    ipackets            ibytes              opackets            obytes
    {came:<20}0                   0                   0
"""
TWO_WORKERS = (
    "<< Controll Plane >>\n"  # codespell:ignore - as it spells it
    + THREAD.format(number=1, cpu=0, dropped=1, came=0)
    + "<< Data Plane >>\n"
    + THREAD.format(number=2, cpu=1, dropped=2, came=900)
    + THREAD.format(number=3, cpu=2, dropped=0, came=301)
)
STATISTICS = """\
IP Virtual Server version 1.10.2 (size=0)
Prot LocalAddress:Port               Conns   InPkts  OutPkts  InBytes OutBytes
  -> RemoteAddress:Port
TCP  198.18.255.1:80                   200      601      600     7000     8000
  -> 198.19.0.1:80                     120      361      360     4000     5000
  -> 198.19.0.2:80                      80      240 12345678901    3000     3000
"""
ENTRIES = """\
IP Virtual Server version 1.10.2 (size=0)
Prot LocalAddress:Port Scheduler Flags
  -> RemoteAddress:Port           Forward Weight ActiveConn InActConn
TCP  198.18.255.1:80 rr
  -> 198.19.0.1:80                FullNat 1      100        20
  -> 198.19.0.2:80                FullNat 1      0          80
"""
ADDRESSES = """\
inet 198.18.255.1/32 scope global dpdk0
    valid_lft forever preferred_lft forever
inet 198.19.255.254/32 scope global dpdk1
    valid_lft forever preferred_lft forever sa_used 200 sa_free 1031976 sa_miss 3
"""
OBJECTS = """\
pool_name                 flags   elt_size header_size trailer_size private_data_size       size       used    Mem(MB)
mbuf_pool_0                   0       2304          64            0                64      65535        600        148
dp_vs_conn_0                  0        640          64            0                 0     262143        456        176
"""  # noqa: E501 - as it prints them


def design(case: CaseSpec) -> Design:
    assert isinstance(case.vswitch, DpvsSpec)
    return Design(case, case.vswitch, TWO)


def spec(**settings: Any) -> DpvsSpec:
    return DpvsSpec.model_validate({"kind": "dpvs", **settings})


def test_what_ports_and_threads_count_is_read_by_name() -> None:
    ports = blocks_in(PORTS)
    assert set(ports) == {"dpdk0", "dpdk1"}
    assert (ports["dpdk0"]["ipackets"], ports["dpdk0"]["imissed"]) == (600, 7)
    assert (ports["dpdk1"]["opackets"], ports["dpdk1"]["oerrors"]) == (600, 2)
    threads = blocks_in(TWO_WORKERS)
    assert [one["ipackets"] for one in threads.values()] == [0, 900, 301]
    assert macs_in(PORTS) == {"dpdk0": "02:01:00:00:00:01", "dpdk1": "02:01:00:00:00:02"}


def test_what_the_service_has_done_is_the_sum_over_its_servers() -> None:
    assert served_in(STATISTICS) == Served(200, 601, 12_345_679_261)
    with pytest.raises(ComponentError, match="tells of no server"):
        served_in(STATISTICS.partition("TCP")[0])


def test_its_table_is_counted_by_its_servers_and_measured_by_its_pool() -> None:
    assert entries_in(ENTRIES) == 200
    assert entries_in("") is None
    assert entry_bytes_in(OBJECTS) == 704
    assert entry_bytes_in(OBJECTS.replace("elt_size", "bytes")) is None
    assert entry_bytes_in("") is None
    assert missed_in(ADDRESSES) == 3


class Tools:
    """Answers for DPVS, and keeps what it was told."""

    programs = Programs("/its/bin/dpvs", "1.10-2")

    def __init__(self) -> None:
        self.answers = {
            LINKS: PORTS,
            ("dpip", "link", "show"): PORTS,
            THREADS: TWO_WORKERS,
            SERVED: STATISTICS,
            TABLE: ENTRIES,
            POOLS: OBJECTS,
            ("dpip", "-s", "addr", "show"): ADDRESSES,
        }
        self.told: list[tuple[str, ...]] = []
        self.silent = False

    def say(self, command: Sequence[str]) -> str:
        if self.silent:
            raise ComponentError(f"dpvs does not answer `{' '.join(command)}`", why="timed out")
        if (answer := self.answers.get(tuple(command))) is not None:
            return answer
        self.told.append(tuple(command))
        return ""

    def shown(self, command: Sequence[str]) -> str:
        return " ".join(command)


class Folder(Nowhere):
    """A place with a folder, in which nothing runs."""

    def __init__(self, folder: Path) -> None:
        super().__init__()
        self.folder = folder

    def fill(self, text: str) -> str:
        return shown(text).replace("RUN", str(self.folder))

    def attend(self, when: str, but: str | None = None) -> None:
        pass


def program(**said: Any) -> Any:
    silent = {"failure": lambda: None, "last_words": lambda: "Start dpdk1 failed, skipping ..."}
    return SimpleNamespace(name="dpvs", argv=("dpvs",), kept_s=lambda _: 0.0, **(silent | said))


@pytest.fixture(name="ready")
def fixture_ready(tmp_path: Path) -> RunningDpvs:
    """Return one whose ports are there, and that has been told nothing yet."""
    (tmp_path / "dpvs.pid").write_text("1\n")
    return RunningDpvs(
        design=design(dpvs_case({"workers": 2}, clients=2, servers=2)),
        talk=Tools(),  # type: ignore[arg-type]  # whoever answers will do
        workspace=Folder(tmp_path),
        daemon=program(),
        start_again=lambda before, kill: before,
    )


def tools(running: RunningDpvs) -> Tools:
    """Return who answers for it."""
    found: Any = running.talk
    assert isinstance(found, Tools)
    return found


BOTH = ("phy0", "phy1")


def test_it_is_told_everything_once_when_its_ports_are_there(ready: RunningDpvs) -> None:
    assert ready.counters() is None and ready.kept() == Kept(), "nothing has passed it yet"
    assert ready.failure() is None, "it cannot answer yet, and nothing is wrong"
    ready.await_ports(BOTH, 1.0)
    ready.await_ports(BOTH, 1.0)
    assert tools(ready).told == [*ready.design.told()]
    assert isinstance(ready, Routes)
    assert isinstance(ready, KeepsConnections)
    assert ready.next_hops() == {"phy0": "02:01:00:00:00:01", "phy1": "02:01:00:00:00:02"}


def test_its_own_counts_are_told_and_what_nobody_counts_is_missing(ready: RunningDpvs) -> None:
    ready.await_ports(BOTH, 1.0)
    counters = ready.counters()
    assert counters is not None
    clients, servers = counters.ports
    assert (clients.link, clients.received_frames, clients.sent_frames) == ("phy0", 600, 599)
    assert clients.drops == {"rx missed": 7, "rx errors": 0, "rx no buffer": 0, "tx errors": 2}
    assert servers.link == "phy1"
    assert [(pmd.cpu, pmd.frames, pmd.busy_cycles) for pmd in counters.pmds] == [
        (1, 900, None),
        (3, 301, None),
    ]
    assert counters.drops == {"worker dropped": 3}
    assert counters.connections == ConnectionCounters(accepted=200, opened=200)
    assert counters.reasons["no port free"] == 3
    assert ready.kept() == Kept(entries=200, memory_bytes=200 * 704)


def test_a_port_of_which_it_tells_nothing_is_none_without_frames(ready: RunningDpvs) -> None:
    ready.await_ports(BOTH, 1.0)
    tools(ready).answers[LINKS] = PORTS.partition("2: dpdk1")[0]
    with pytest.raises(ComponentError, match="no frames at dpdk1, the port of phy1"):
        ready.counters()


def test_one_that_died_hangs_or_was_stopped_says_so(ready: RunningDpvs) -> None:
    ready.await_ports(BOTH, 1.0)
    assert ready.failure() is None
    tools(ready).silent = True
    assert "does not answer" in str(ready.failure())
    ready.daemon = program(failure=lambda: "was killed by SIGKILL")
    assert ready.failure() == "dpvs was killed by SIGKILL"
    ready.ended = True
    assert ready.failure() == "the switch was stopped"


def test_ports_that_do_not_come_up_end_the_wait(ready: RunningDpvs, tmp_path: Path) -> None:
    (tmp_path / "dpvs.pid").unlink()
    with pytest.raises(ComponentError, match="did not come up within 0 s") as late:
        ready.await_ports(BOTH, 0.0)
    assert "Start dpdk1 failed" in str(late.value.problems[0].why)
    ready.daemon = program(failure=lambda: "ended with exit code 1; its last words: no memory")
    with pytest.raises(DiedError, match="failed while it took up its ports"):
        ready.await_ports(BOTH, 0.0)


def test_a_port_that_it_goes_on_without_is_named_with_its_words(
    ready: RunningDpvs, tmp_path: Path
) -> None:
    said = "RSS support requested but not supported\nStart dpdk1 failed, skipping ...\n"
    (tmp_path / "dpvs.log").write_text(f"before\n{said}behind\n")
    with pytest.raises(ComponentError, match=r"goes on without dpdk1, .* of phy1") as left:
        ready.await_ports(BOTH, 1.0)
    why = "before | RSS support requested but not supported | Start dpdk1 failed, skipping ..."
    assert left.value.problems[0].why == why
    (tmp_path / "dpvs.log").unlink()
    tools(ready).answers["dpip", "link", "show"] = PORTS.partition("2: dpdk1")[0]
    with pytest.raises(ComponentError, match="goes on without dpdk1"):
        ready.await_ports(BOTH, 1.0)


def test_one_that_was_restarted_is_told_everything_anew(ready: RunningDpvs) -> None:
    kills: list[bool] = []
    again = program()

    def start(before: Any, kill: bool) -> Any:
        kills.append(kill)
        return again

    ready.await_ports(BOTH, 1.0)
    ready.start_again = start
    ready.restart(kill=True)
    assert (kills, ready.daemon) == ([True], again)
    assert tools(ready).told == [*ready.design.told()] * 2
    assert ready.failure() is None


def test_it_forgets_nothing_and_has_no_rules(ready: RunningDpvs) -> None:
    for asked in (ready.forget_flows, lambda: ready.change_rules(10)):
        with pytest.raises(UsageError) as refused:
            asked()
        assert refused.value.problems[0].why and refused.value.problems[0].fix


def test_what_it_is_is_told_before_it_answers(ready: RunningDpvs) -> None:
    facts = ready.facts()
    assert facts["dpvs_version"] == "1.10-2"
    assert [one["mac"] for one in facts["ports"]] == [None, None]
    assert (facts["mode"], facts["service"]) == ("fnat", "198.18.255.1:80")
    assert all(ready.access())


def install(
    folder: Path, version: str = "1.10-2", tools: Sequence[str] = ("dpip", "ipvsadm")
) -> Path:
    """Make programs that do no more than tell a version, or who they are told to look for."""
    said = f'echo "dpvs version: {version}, build on 2025.06.12.10:00:00" >&2'
    texts = {"dpvs": said, **dict.fromkeys(tools, 'echo "$0 $* at $DPVS_IPC_FILE"')}
    for name, text in texts.items():
        script(folder / name, text)
    return folder


@pytest.mark.parametrize("below", ["", "bin"])
def test_it_is_found_where_it_was_built_or_installed(tmp_path: Path, below: str) -> None:
    made = install(tmp_path / below)
    found = find_programs(spec(install=str(tmp_path)))
    assert found == Programs(str(made / "dpvs"), "1.10-2")
    assert planned_program(str(tmp_path)) == found.daemon
    assert found.tool("ipvsadm") == str(made / "ipvsadm")
    (check,) = CHECKS
    answer = check.ask(Host(chosen=(spec(install=str(tmp_path)),)))
    assert (answer.status, "1.10-2" in answer.evidence) == (Status.OK, True)


def test_one_that_is_missing_too_old_or_without_its_tools_is_refused(tmp_path: Path) -> None:
    with pytest.raises(NotReadyError, match="cannot be run"):
        find_programs(spec(install=str(tmp_path)))
    install(tmp_path / "old", version="1.9-4")
    with pytest.raises(NotReadyError, match=r"is DPVS 1\.9-4"):
        find_programs(spec(install=str(tmp_path / "old")))
    install(tmp_path / "bare", tools=["dpip"])
    with pytest.raises(NotReadyError, match="ipvsadm cannot be run") as bare:
        find_programs(spec(install=str(tmp_path / "bare")))
    assert "vswitch.install" in str(bare.value.problems[0].fix)


def test_its_tools_are_told_where_it_listens(tmp_path: Path) -> None:
    found = Programs(str(install(tmp_path) / "dpvs"), "1.10-2")
    said = Talk(found, "/run/x/dpvs.ipc").say(("dpip", "link", "show"))
    assert said == f"{tmp_path}/dpip link show at /run/x/dpvs.ipc\n"
    assert Talk(found, "S").shown(SERVED).startswith(f"DPVS_IPC_FILE=S {tmp_path}/ipvsadm -ln")


@pytest.mark.parametrize("code", [0, 1])
def test_what_it_refuses_is_no_success_whatever_the_exit_code(tmp_path: Path, code: int) -> None:
    found = Programs(str(install(tmp_path) / "dpvs"), "1.10-2")
    (tmp_path / "dpip").write_text(
        f"#!/bin/sh\necho 'errcode set in socket msg' >&2\nexit {code}\n"
    )
    with pytest.raises(ComponentError, match="refused `dpip link show`") as refused:
        Talk(found, "S").say(("dpip", "link", "show"))
    assert refused.value.problems[0].why == "errcode set in socket msg"
