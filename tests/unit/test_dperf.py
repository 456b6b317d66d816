"""dperf: what its answers are worth, what its files say, and what a case may ask of it.

Texts are laid out by the formats in net_stats.c of dperf 1.9.0. Where numbers are not round they
are those of real runs: 8,880 connections through a NAT, as many that were all reset, and the totals
with losses that issue 327 of dperf shows.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from assertions import known
from dperf_answers import fake_dperf, in_order, second, total
from dperf_cases import dperf_case
from hypothesis import given
from hypothesis import strategies as st
from places import PLACEMENT, short_room

from vsperf.config.connections import FIRST_PORT, PORTS_EACH
from vsperf.config.demands import refusals
from vsperf.drivers.generators.base import ConnectionsRequest, ConnectsSession, TrialRequest
from vsperf.drivers.generators.dperf.answer import (
    Block,
    blocks_in,
    busy_ppm,
    client_accounts,
    segments,
    server_accounts,
    summed,
    totals_of,
)
from vsperf.drivers.generators.dperf.driver import CHECK, DperfGenerator, DperfSession, find
from vsperf.drivers.generators.dperf.plan import (
    DperfSpec,
    Process,
    case_ends,
    client_file,
    client_sockets,
    memory_mb,
    ports_from,
    processes_of,
    server_file,
    server_sockets,
)
from vsperf.drivers.vswitches.none import NoSwitch
from vsperf.errors import ComponentError, NotReadyError, UsageError
from vsperf.host.doctor.finding import Host, Status
from vsperf.host.pages_apart import mounted
from vsperf.methods.connections import ConnectionsAsked
from vsperf.records.run import Endpoint, Placeholder, Placement

ASKED = ConnectionsAsked(rate_cps=1000, connections=5000, request_bytes=100, response_bytes=1024)
TAPS = tuple(
    Endpoint(link=f"phy{number}", kind="tap", address=f"NETWORK/tap{number}") for number in (0, 1)
)
SOCKETS = tuple(
    Endpoint(link=f"phy{number}", kind="vhost-user-client", address=f"RUN/phy{number}.sock")
    for number in (0, 1)
)
ISSUE_327 = {
    **{"pktRx": 11_228_422, "pktTx": 15_031_092, "dropTx": 3_680},
    **{"tcpRx": 11_228_422, "tcpTx": 15_031_086, "tcpDrop": 287},
    **{"synRx": 6_620_642, "synTx": 3_480_460, "finRx": 2_249_848, "finTx": 2_249_848},
    **{"synRt": 1_862, "pushRt": 3_464_250, "httpGet": 7_050_930, "http2XX": 2_357_932},
    **{"skOpen": 3_478_598, "skClose": 3_214_750, "skCon": 263_848, "skErr": 1_077_390},
}


def said(**counts: int) -> Block:
    told = known(totals_of(blocks_in(total(**counts))))
    return told


# What it tells.


def test_of_connections_in_order_all_are_completed() -> None:
    told = said(**in_order(8_880))
    accounts = client_accounts(told, 8_880)
    assert accounts.completed == accounts.launched == accounts.answered == 8_880
    assert accounts.failed == {}
    assert (accounts.requests, accounts.responses, accounts.unsent) == (8_880, 8_880, 0)
    assert segments(told).segments_sent == segments(told).segments_received == 26_640


@pytest.mark.parametrize(("answered", "cause"), [(0, "refused"), (8_888, "reset")])
def test_connections_that_were_all_reset_have_failed_though_none_is_an_error(
    answered: int, cause: str
) -> None:
    told = said(skOpen=8_888, skClose=8_888, synRx=answered, rstRx=8_888, tcpRsp=0)
    accounts = client_accounts(told, 8_888)
    assert accounts.completed == 0
    assert accounts.failed == {cause: 8_888}


def test_where_nobody_answers_they_are_given_up_or_not_answered_in_the_end() -> None:
    told = said(skOpen=1_000, skClose=800, skErr=800, skCon=200, synRt=3_000)
    accounts = client_accounts(told, 1_000)
    assert accounts.failed == {"no_answer": 800, "given_up": 200}
    assert accounts.answered == 0
    assert accounts.repeated_syns == 3_000


def test_a_syn_that_was_sent_again_and_answered_has_not_failed() -> None:
    accounts = client_accounts(said(**in_order(500, synRt=4)), 500)
    assert (accounts.completed, accounts.repeated_syns) == (500, 4)


def test_each_way_to_fail_after_an_answer_has_its_cause() -> None:
    told = said(**in_order(70), **{"skErr": 12, "skCon": 8, "rstRx": 10})
    told = replace(
        told, counts={**told.counts, "skOpen": 100, "skClose": 92, "synRx": 100, "tcpRsp": 85}
    )
    accounts = client_accounts(told, 100)
    assert accounts.completed == 70
    assert accounts.failed == {"reset": 10, "no_response": 15, "not_closed": 5}


def test_of_counters_that_fit_no_account_the_least_is_taken() -> None:
    """More SYNs were answered than sockets opened, and more requests sent than answered."""
    accounts = client_accounts(said(**ISSUE_327), ISSUE_327["skOpen"])
    orderly = ISSUE_327["skClose"] - ISSUE_327["skErr"]
    assert accounts.completed == orderly < ISSUE_327["http2XX"]
    assert accounts.answered == ISSUE_327["skOpen"]
    assert sum(accounts.failed.values()) == ISSUE_327["skOpen"] - orderly


def test_what_it_does_not_tell_is_none() -> None:
    accounts = client_accounts(said(**in_order(5)), 5)
    served = server_accounts(said(**in_order(5)))
    untold = ("misanswered", "wrong_payload", "misanswers", "response_bytes", "most_established")
    assert [getattr(accounts, name) for name in (*untold, "no_port")] == [None] * 6
    assert served.half_open is served.most_connections is served.request_bytes is None
    assert segments(said(**in_order(5))).stray is None


def test_connections_beyond_those_asked_for_fail_like_all_others() -> None:
    """It goes on for a moment; a share that failed is rounded up."""
    all_well = client_accounts(said(**in_order(1_003)), 1_000)
    assert (all_well.launched, all_well.completed) == (1_000, 1_000)
    told = said(skOpen=200, skClose=200, synRx=151, tcpRsp=151, skErr=49, finRx=151)
    accounts = client_accounts(told, 20)
    assert (accounts.intended, accounts.launched) == (20, 20)
    assert accounts.failed == {"no_answer": 5}
    assert accounts.completed == 15


def test_what_it_did_not_begin_was_not_sent() -> None:
    accounts = client_accounts(said(**in_order(900)), 1_000)
    assert (accounts.unsent, accounts.launched, accounts.completed) == (100, 900, 900)
    assert client_accounts(said(), 10).launched == 0


@given(
    st.fixed_dictionaries(
        {
            name: st.integers(0, 2_000)
            for name in ("skOpen", "skClose", "skErr", "synRx", "rstRx", "tcpRsp", "skCon", "synRt")
        }
    ),
    st.integers(1, 2_000),
)
def test_whatever_it_counts_each_connection_has_one_outcome(
    counts: dict[str, int], asked: int
) -> None:
    told = said(**counts)
    accounts = client_accounts(told, asked)
    assert accounts.intended == asked
    assert all(count is None or count >= 0 for count in accounts.model_dump().values())
    opened, share = counts["skOpen"], accounts.launched
    evidence = min(counts["synRx"], counts["tcpRsp"], counts["skClose"], opened)
    assert accounts.completed * opened <= evidence * share
    assert server_accounts(told).accepted == opened


def test_messages_that_look_like_http_have_other_names() -> None:
    told = said(httpGet=9, httpPost=1, http2XX=7, httpErr=2)
    assert (told.requests(at_server=False), told.responses(at_server=False)) == (10, 9)
    plain = said(tcpReq=10, tcpRsp=9)
    for at_server in (False, True):
        assert plain.requests(at_server=at_server) == 10
        assert plain.responses(at_server=at_server) == 9


def test_a_server_has_as_many_responses_to_requests_that_do_not_look_like_http() -> None:
    """A request of fewer than 85 bytes does not; dperf 1.9.0 counted so behind a router."""
    served = server_accounts(said(skOpen=1_003, skClose=1_003, http2XX=1_003, httpErr=1_003))
    assert served.requests == served.responses == served.accepted == 1_003


def test_colours_commas_and_times_are_no_part_of_a_number() -> None:
    told = said(skErr=1_077_390, rstRx=12, imissed=3, skOpen=3_478_598)
    assert told.count("skErr") == 1_077_390
    assert (told.count("rstRx"), told.count("imissed")) == (12, 3)
    assert told.count("skOpen") == 3_478_598
    assert "us" not in told.counts


def test_a_block_that_is_not_whole_is_not_there_yet() -> None:
    text = second(0, skOpen=4) + second(1, skOpen=6)
    assert [one.second for one in blocks_in(text)] == [0, 1]
    cut = text[: text.rindex("skOpen")]
    assert [one.second for one in blocks_in(cut)] == [0]
    assert [one.second for one in blocks_in(text[20:])] == [1]
    assert totals_of(blocks_in(text)) is None


def test_seconds_add_up_but_for_what_is_told_anew() -> None:
    blocks = blocks_in(second(0, skOpen=4, skCon=2, imissed=1) + second(1, skOpen=6, imissed=1))
    told = summed(blocks)
    assert (told.count("skOpen"), told.count("skCon"), told.count("imissed")) == (10, 0, 1)


def test_how_busy_it_was_is_of_the_seconds_in_which_something_began() -> None:
    text = second(0, 1) + second(1, 50, skOpen=10) + second(2, 70, skOpen=10) + second(3, 2)
    assert busy_ppm(blocks_in(text)) == 600_000
    assert busy_ppm(()) == 0


def test_a_counter_that_is_missing_is_named() -> None:
    text = total(**in_order(3)).replace("skErr", "skBad")
    told = known(totals_of(blocks_in(text)))
    with pytest.raises(ComponentError, match="dperf's totals have no skErr"):
        client_accounts(told, 3)


def test_what_became_of_connections_at_the_server_adds_up() -> None:
    told = said(**in_order(100, skErr=3, rstRx=2))
    told = replace(told, counts={**told.counts, "skClose": 98})
    served = server_accounts(told)
    assert (served.accepted, served.closed, served.not_closed) == (100, 93, 3)
    assert (served.reset, served.left) == (2, 2)


# What a case makes of it.


def test_a_trial_has_a_client_that_begins_at_the_full_rate_when_its_slow_start_is_over() -> None:
    case = dperf_case("nftables", clients=4, servers=3)
    client, _ = processes_of(case, TAPS, Placement(cpus={"generator": (2, 3)}))
    ends = case_ends(case)
    lines = client_file(client, ends, ASKED, range(2000, 2500), 900)
    assert lines == (
        "mode client",
        "cpu 2",
        "socket_mem 900",
        "port net_tap0,iface=tap0,mac=02:00:00:00:00:fe 198.18.255.253 198.18.255.254 NEXT-HOP",
        "protocol tcp",
        "payload_size 101",
        "listen 80 1",
        "duration 6s",
        "slow_start 10",
        "wait 11",
        "cps 1000",
        "launch_num 1",
        f"client {ends.client.end.first_ip} 4",
        "client_port_range 2000 2499",
        f"server {ends.server.end.first_ip} 3",
    )


def test_the_server_knows_the_device_between_as_a_client_too() -> None:
    case = dperf_case("nftables", clients=4, servers=3)
    _, server = processes_of(case, TAPS, Placement(cpus={"generator": (2, 3)}))
    lines = server_file(server, case_ends(case), 1024, 700)
    assert lines[:3] == ("mode server", "cpu 3", "socket_mem 700")
    assert [line for line in lines if line.startswith(("client", "server"))] == [
        f"client {case_ends(case).client.end.first_ip} 4",
        "client 198.19.255.254 1",
        f"server {case_ends(case).server.end.first_ip} 3",
    ]
    assert "payload_size 1024" in lines


@pytest.mark.parametrize(("size", "word"), [(60, 60), (85, 85), (86, 87), (1459, 1460)])
def test_a_request_has_the_length_that_was_asked_for(size: int, word: int) -> None:
    """Of one that is HTTP dperf's file has to say a byte more than is sent."""
    case = dperf_case()
    client, _ = processes_of(case, SOCKETS, PLACEMENT)
    asked = replace(ASKED, request_bytes=size)
    lines = client_file(client, case_ends(case), asked, range(1024, 2000), 900)
    assert f"payload_size {word}" in lines


def test_where_a_device_shares_connections_out_one_address_is_called() -> None:
    case = dperf_case("nftables", clients=4, servers=3, nat="destination")
    client, _ = processes_of(case, TAPS, PLACEMENT)
    lines = client_file(client, case_ends(case), ASKED, range(1024, 2000), 900)
    assert "server 198.18.255.1 1" in lines


def test_ports_go_on_behind_those_of_the_trial_before_and_begin_anew_at_the_end() -> None:
    case = dperf_case(clients=4, servers=3)
    ends = case_ends(case)
    first = ports_from(ASKED, ends, FIRST_PORT)
    assert (first.start, len(first)) == (FIRST_PORT, 500)  # 6,000 of 12 pairs of addresses
    assert ports_from(ASKED, ends, first.stop).start == first.stop
    assert ports_from(ASKED, ends, 65_400).start == FIRST_PORT
    flat_out = replace(ASKED, rate_cps=1_000_000, connections=5_000_000)
    assert ports_from(flat_out, ends, 2_000) == range(FIRST_PORT, FIRST_PORT + PORTS_EACH)


def test_memory_is_for_all_connections_that_there_can_be() -> None:
    case = dperf_case(clients=4, servers=3)
    assert client_sockets(case) == 12 * PORTS_EACH
    assert server_sockets(case) == 5 * 3 * 65_536
    needs = DperfGenerator().needs(case)
    both = memory_mb(client_sockets(case)) + memory_mb(server_sockets(case))
    assert needs.hugepage_bytes == both << 20
    assert [need.count for need in needs.cpus] == [2]


def test_a_port_that_the_switch_calls_has_the_address_of_its_end_and_a_socket() -> None:
    client, server = processes_of(dperf_case(), SOCKETS, PLACEMENT)
    assert client.port.device.endswith(f",server=1,mac={client.end.mac}")
    assert (client.listens_at, server.listens_at) == ("RUN/phy0.sock", "RUN/phy1.sock")
    assert processes_of(dperf_case(), TAPS, PLACEMENT)[0].listens_at is None


def test_where_there_is_no_switch_its_processes_have_both_ends_of_one_memory() -> None:
    """The server, which is there in all trials, listens: the client of each trial calls it."""
    case = dperf_case("none")
    joined = NoSwitch().plan(case, PLACEMENT).endpoints
    client, server = processes_of(case, joined, PLACEMENT)
    assert client.port.device.startswith("net_memif0,role=client,id=0,")
    assert server.port.device.startswith("net_memif1,role=server,id=0,")
    assert (client.listens_at, server.listens_at) == (
        None,
        f"{Placeholder.RUN}/none.sock",
    )
    assert DperfGenerator().plan(case, joined, PLACEMENT)


def test_a_process_is_in_the_network_of_its_port_with_pages_of_its_own() -> None:
    client, _ = processes_of(dperf_case("nftables"), TAPS, PLACEMENT)
    argv = client.command("/usr/local/dperf")
    assert argv[0] == "nsenter"
    assert [Path(word).name for word in argv if word.endswith(".py")] == ["pages_apart.py"]
    assert argv[-3:-1] == ("/usr/local/dperf", "-c")


def test_the_plan_shows_what_both_processes_read() -> None:
    server, client = DperfGenerator().plan(dperf_case("nftables"), TAPS, PLACEMENT)
    assert server.lines[0] == "mode server"
    assert client.lines[0] == "mode client"
    assert "anew" in client.action
    assert server.argv is not None and server.argv[-1].endswith("dperf-server.conf")


def test_mounts_of_hugepages_are_found_by_what_the_kernel_says() -> None:
    text = (
        "proc /proc proc rw 0 0\n"
        "hugetlbfs /dev/hugepages hugetlbfs rw,pagesize=2M 0 0\n"
        "none /mnt/a\\040b hugetlbfs rw,pagesize=1024M 0 0\n"
    )
    assert mounted(text) == ["/mnt/a b", "/dev/hugepages"]


# What a case may ask of it.


@pytest.mark.parametrize(
    ("search", "lacking"),
    [
        ({"kind": "cps"}, None),
        ({"kind": "connection_soak"}, None),
        ({"kind": "cps", "requests": 2}, "ask several times on each connection"),
        ({"kind": "cps", "syn_flood": 1000}, "send SYNs of nobody beside connections"),
        ({"kind": "cps", "protocol": "udp"}, "ask and answer over flows of UDP"),
        ({"kind": "cc"}, "hold all connections open for a while"),
        ({"kind": "pps"}, "ask by a clock on connections that are open"),
        ({"kind": "goodput"}, "ask by a clock on connections that are open"),
        ({"kind": "reconnect"}, "tell when connections were answered"),
    ],
)
def test_what_it_cannot_do_is_refused_by_what_it_declares(
    search: dict[str, Any], lacking: str | None
) -> None:
    case = with_search(search)
    refused = refusals(case, DperfGenerator().capabilities(case), 1)
    words = [problem.what for problem in refused]
    assert words == ([] if lacking is None else [f"generator dperf cannot {lacking}"])


def with_search(search: dict[str, Any]) -> Any:
    from vsperf.plugins import Plugins  # drivers of methods, found as a run finds them

    case = dperf_case()
    kind = Plugins.load().specs()["search"][search["kind"]]
    return case.model_copy(update={"search": kind.model_validate(search)})


@pytest.mark.parametrize(
    ("search", "words"),
    [
        ({"kind": "cps", "clients": 255}, "254 addresses at an end at most, and search.clients"),
        ({"kind": "cps", "request": 1460}, "a request of 1,459 bytes at most"),
        ({"kind": "cps", "response": 2000}, "a response of 1,460 bytes at most"),
        (
            {"kind": "fixed", "loads": ["1000fps"], "duration": "1s"},
            "dperf opens connections, and the method fixed has none",
        ),
    ],
)
def test_what_it_could_not_send_is_refused_with_a_way_out(
    search: dict[str, Any], words: str
) -> None:
    with pytest.raises(UsageError, match=words) as refused:
        DperfGenerator().plan(with_search(search), SOCKETS, PLACEMENT)
    assert refused.value.problems[0].fix


def test_a_port_that_it_does_not_know_is_refused() -> None:
    foreign = tuple(one.model_copy(update={"kind": "carrier-pigeon"}) for one in SOCKETS)
    with pytest.raises(UsageError, match="carrier-pigeon"):
        DperfGenerator().plan(dperf_case(), foreign, PLACEMENT)


def test_three_cpus_are_more_than_it_has_processes() -> None:
    with pytest.raises(ValueError, match="client and server poll on a CPU each"):
        DperfSpec.model_validate({"kind": "dperf", "cpus": "1-3"})


# The program.


def test_doctor_tells_its_version_and_which_one_is_right(tmp_path: Path) -> None:
    fine, old = tmp_path / "fine", tmp_path / "old"
    for folder, version in ((fine, "1.9.0"), (old, "1.7.0")):
        folder.mkdir()
        fake_dperf(folder, version=version)
    here = Host(environment={"PATH": str(fine)})
    assert CHECK.ask(here).status is Status.OK
    assert "version 1.9.0 (1.9 or newer is right)" in CHECK.ask(here).evidence
    absent = CHECK.ask(Host(environment={"PATH": str(tmp_path)}))
    assert absent.status is Status.ABSENT
    chosen = DperfSpec(kind="dperf", path=str(old / "dperf"))
    wanted = CHECK.ask(Host(environment={"PATH": str(fine)}, chosen=(chosen,)))
    assert wanted.status is Status.FAILURE
    assert "is dperf 1.7.0" in wanted.evidence


def test_a_program_that_tells_no_version_is_none(tmp_path: Path) -> None:
    program = fake_dperf(tmp_path, version="hello")
    with pytest.raises(NotReadyError, match="is no dperf"):
        find(DperfSpec(kind="dperf", path=str(program)))


@pytest.fixture
def direct(monkeypatch: pytest.MonkeyPatch) -> None:
    """Run processes as they are: the program of these tests has no port, and no memory."""
    monkeypatch.setattr(Process, "command", lambda self, program: (program, "-c", self.file))


@contextmanager
def session_of(program: Path) -> Iterator[DperfSession]:
    case = dperf_case(settings={"path": str(program)})
    ways = (("phy0", "phy1"),)
    with (
        short_room("a test of dperf") as place,
        DperfGenerator().start(case, SOCKETS, ways, PLACEMENT, place) as session,
    ):
        yield session


@pytest.fixture
def session(tmp_path: Path, direct: None) -> Iterator[DperfSession]:
    with session_of(fake_dperf(tmp_path)) as found:
        yield found


REQUEST = ConnectionsRequest(ASKED, case_ends(dperf_case()))


def test_a_trial_is_what_both_ends_told_of_it(session: DperfSession) -> None:
    assert isinstance(session, ConnectsSession)
    assert session.failure() is None
    first, again = session.connect(REQUEST), session.connect(REQUEST)
    for made in (first, again):
        assert made.client is not None and made.server is not None
        assert (made.client.intended, made.client.launched) == (5_000, 1_000)
        assert made.client.completed == 1_000
        assert made.settled
        assert (made.launching_ns, made.paused_ns, made.times) == (None, None, None)
        assert made.busy_ppm == 400_000
    assert first.server is not None and first.server.accepted == 0  # 7 were before the trial
    assert again.begin_port != first.begin_port
    assert session.failure() is None
    assert session.facts()["dperf"] == "1.9.0"


def test_it_sends_no_frames(session: DperfSession) -> None:
    with pytest.raises(ComponentError, match="sends no frames of its own"):
        session.run(TrialRequest(1_000, 1_000_000))


def test_when_the_session_has_ended_no_trial_begins(session: DperfSession) -> None:
    session.ended = True
    with pytest.raises(ComponentError, match="no longer connected"):
        session.connect(REQUEST)
    assert session.failure() == "dperf is no longer connected"


def test_a_server_that_was_killed_is_named(session: DperfSession) -> None:
    session.connect(REQUEST)
    session.running[0].program.process.kill()
    session.running[0].program.await_end(10.0)
    assert session.failure() is not None
    assert "dperf-server was killed by SIGKILL" in str(session.failure())
    with pytest.raises(ComponentError, match="dperf-server"):
        session.connect(REQUEST)


def test_an_exit_code_says_nothing_and_totals_are_all(tmp_path: Path, direct: None) -> None:
    with session_of(fake_dperf(tmp_path, code=3)) as session:
        assert session.connect(REQUEST).client is not None


def test_without_totals_there_is_no_number(tmp_path: Path, direct: None) -> None:
    with (
        session_of(fake_dperf(tmp_path, cut=True)) as session,
        pytest.raises(ComponentError, match="ended with exit code 0 without totals"),
    ):
        session.connect(REQUEST)


def test_one_that_takes_no_such_port_is_refused_with_the_reason(
    tmp_path: Path, direct: None
) -> None:
    program = fake_dperf(tmp_path, refused="port")
    with (
        pytest.raises(NotReadyError, match="does not take the port net_virtio_user1") as refused,
        session_of(program),
    ):
        pass
    assert "PCI bus only" in str(refused.value.problems[0].why)


def test_a_file_that_it_does_not_take_is_quoted(tmp_path: Path, direct: None) -> None:
    program = fake_dperf(tmp_path, refused="payload_size")
    with pytest.raises(NotReadyError, match="does not take") as refused, session_of(program):
        pass
    assert "payload_size" in str(refused.value.problems[0].why)
