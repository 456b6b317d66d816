"""TRex as client and server: what its counters are worth, what it is told, and what it is believed.

No answer here is recorded: all are made by the sources of TRex v3.08, in whose words counters are
told (`stt_cp.cpp`) and profiles read (`astf_db.cpp`).
"""

from __future__ import annotations

import base64
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from places import PLACEMENT, refused
from trex_cases import Clock, stateful_case
from trex_server import STATEFUL_FAULTS, StatefulTrexServer, opened, run_in_thread, served

from vsperf.config.case import CaseSpec
from vsperf.config.connections import clients_of, servers_of
from vsperf.config.demands import refusals
from vsperf.drivers.generators.base import (
    ConnectionEnd,
    ConnectionEnds,
    ConnectionsRequest,
    ConnectsSession,
    TrialRequest,
)
from vsperf.drivers.generators.trex import stateful
from vsperf.drivers.generators.trex.driver import TrexGenerator, command, connected_stateful
from vsperf.drivers.generators.trex.profile import (
    WANTED,
    client_accounts,
    open_now,
    profile_of,
    request_of,
    response_of,
    segments,
    server_accounts,
)
from vsperf.drivers.generators.trex.stateful import StatefulSession
from vsperf.errors import ComponentError, NotReadyError, UsageError
from vsperf.methods.connections import ConnectionsAsked
from vsperf.records.connections import ClientAccounts
from vsperf.records.run import Endpoint

ASKED = ConnectionsAsked(rate_cps=1000, connections=100, request_bytes=100, response_bytes=1024)
SOCKETS = tuple(
    Endpoint(link=f"phy{number}", kind="vdev", address=f"net_af_packet{number},iface=veth{number}")
    for number in (0, 1)
)
INSTALLED = {"server": "start", "install": "/usr/local/trex"}


def ends_of(case: CaseSpec) -> ConnectionEnds:
    """Return both ends of a case, with a device between them that is a hop."""
    clients, servers = clients_of(case), servers_of(case)
    return ConnectionEnds(
        ConnectionEnd(clients, "02:00:00:00:00:99"),
        ConnectionEnd(servers, "02:00:00:00:00:88"),
        str(servers.first_ip),
        servers.addresses,
    )


def became(asked: ConnectionsAsked = ASKED, /, **counts: int) -> ClientAccounts:
    """Return what became of connections, by counters of which those not named are zero."""
    return client_accounts(dict.fromkeys(WANTED, 0) | counts, asked)


# What its counters are worth.


def test_of_connections_in_order_all_are_completed() -> None:
    accounts = became(**opened(100))
    assert accounts.completed == accounts.answered == accounts.launched == 100
    assert accounts.failed == {}
    assert (accounts.requests, accounts.responses, accounts.unsent) == (100, 100, 0)
    assert accounts.response_bytes == 102_400


def test_what_was_not_begun_in_time_was_not_sent() -> None:
    accounts = became(**opened(90), err_c_tuple_err=7, err_dct=2)
    assert (accounts.unsent, accounts.launched, accounts.completed) == (10, 90, 90)
    assert accounts.no_port == 9


def test_connections_that_nobody_answered_have_their_cause() -> None:
    early = {"tcps_connattempt": 30, "tcps_closed": 30, "tcps_conndrops": 24}
    by_timer = {"tcps_keepdrops": 9, "tcps_timeoutdrop": 5, "tcps_rexmttimeo_syn": 70}
    accounts = became(**opened(70, **early), **by_timer, tcps_testdrops=6)
    assert accounts.failed == {"refused": 10, "no_answer": 14, "given_up": 6}
    assert (accounts.answered, accounts.completed, accounts.repeated_syns) == (70, 70, 70)


def test_each_way_to_fail_after_an_answer_has_its_cause() -> None:
    later = {"tcps_connattempt": 30, "tcps_connects": 30, "tcps_closed": 30}
    accounts = became(
        **opened(70, **later, user_counter_A=30, user_counter_B=11, user_counter_C=11),
        tcps_drops=18,
        tcps_timeoutdrop=8,
        tcps_testdrops=12,
    )
    assert accounts.failed == {"reset": 10, "no_response": 19, "not_closed": 1}
    assert accounts.completed == 70


def test_one_that_was_reset_when_it_had_its_response_is_not_completed() -> None:
    accounts = became(**opened(100), tcps_drops=4)
    assert (accounts.completed, accounts.failed) == (96, {"reset": 4})


def test_where_a_timer_may_have_ended_either_the_syns_sent_again_say_which() -> None:
    """As many were dropped early as late, and by timers: which of both these are is not told."""
    both = {
        **{"tcps_connattempt": 100, "tcps_connects": 90, "tcps_closed": 100},
        **{"tcps_conndrops": 10, "tcps_drops": 10, "tcps_timeoutdrop": 10},
        **dict.fromkeys(("user_counter_A", "user_counter_B", "user_counter_C"), 90),
    }
    silent = became(**both, tcps_rexmttimeo_syn=50)
    assert silent.failed == {"no_answer": 10, "reset": 10}
    refused = became(**both)
    assert refused.failed == {"refused": 10, "not_closed": 10}


def test_one_that_was_answered_fewer_times_than_it_asked_has_no_response() -> None:
    """Two responses that are missing may be those of one connection, or of two."""
    asked = replace(ASKED, requests=3)
    for short in (1, 2):
        told = {"user_counter_A": 300, "user_counter_B": 298, "user_counter_C": 100 - short}
        accounts = became(asked, **opened(100) | told)
        assert (accounts.completed, accounts.failed) == (100 - short, {"no_response": short})


def test_one_that_was_dropped_before_it_was_open_is_not_taken_from_those_that_are() -> None:
    told = {"tcps_connects": 90, "tcps_closed": 15, "tcps_conndrops": 10}
    assert open_now(dict.fromkeys(WANTED, 0) | told) == 85


def test_more_than_were_asked_for_are_of_another_trial() -> None:
    with pytest.raises(ComponentError, match="began 101 connections, and was asked for 100"):
        became(**opened(101))


@given(
    st.fixed_dictionaries(
        {name: st.integers(0, 120) for name in sorted(WANTED) if name.startswith(("tcps", "user"))}
        | {"tcps_connattempt": st.integers(0, 100)}
    )
)
def test_whatever_it_counts_each_connection_has_one_outcome(counts: dict[str, int]) -> None:
    accounts = became(**counts)
    assert all(count is None or count >= 0 for count in accounts.model_dump().values())
    assert accounts.completed <= counts["user_counter_C"]
    assert accounts.completed <= counts["tcps_closed"]
    server = server_accounts(dict.fromkeys(WANTED, 0) | counts)
    assert server.accepted == counts["tcps_accepts"] + counts["tcps_conndrops"]


def test_what_became_of_connections_at_the_server_adds_up() -> None:
    """What it drops while its SYN-ACK is unanswered it has not counted as accepted."""
    told = dict.fromkeys(WANTED, 0) | served(90, tcps_closed=10, tcps_conndrops=10)
    again = {"tcps_timeoutdrop": 10, "tcps_rexmttimeo_syn": 50}
    accounts = server_accounts(told | again | {"tcps_drops": 3, "tcps_keepdrops": 1})
    assert (accounts.accepted, accounts.established, accounts.half_open) == (100, 90, 10)
    assert (accounts.not_closed, accounts.reset, accounts.closed) == (1, 2, 87)
    assert accounts.requests == accounts.responses == 90
    assert accounts.idle is accounts.wrong_payload is None


def test_segments_that_were_sent_again_are_counted_once() -> None:
    """A SYN is told by itself, data at a timeout twice, and a FIN at a timeout once."""
    told = dict.fromkeys(WANTED, 0) | opened(10)
    again = {"tcps_rexmttimeo_syn": 2, "tcps_sndrexmitpack": 3, "tcps_rexmttimeo": 4}
    found = segments(told | again | {"err_cwf": 5, "tcps_rcvbadsum": 6, "tcps_nombuf": 7})
    assert (found.segments_sent, found.segments_received) == (40, 30)
    assert (found.repeated, found.stray, found.damaged, found.no_room) == (6, 5, 6, 7)


# What it is told.


def told_to(asked: ConnectionsAsked, **case: Any) -> dict[str, Any]:
    of = stateful_case(INSTALLED, **case)
    return profile_of(ConnectionsRequest(asked, ends_of(of)))


def test_a_profile_has_an_exact_number_of_connections_at_a_rate_between_both_ends() -> None:
    profile = told_to(ASKED, clients=16, servers=4)
    pools = [(one["dir"], one["ip_start"], one["ip_end"]) for one in profile["ip_gen_dist_list"]]
    assert pools == [("c", "198.18.0.1", "198.18.0.16"), ("s", "198.19.0.1", "198.19.0.4")]
    (template,) = profile["templates"]
    begun = template["client_template"]
    assert (begun["cps"], begun["limit"], begun["port"]) == (1000.0, 100, 80)
    assert template["server_template"] == {"program_index": 1, "assoc": [{"port": 80}]}
    assert [len(base64.b64decode(one)) for one in profile["buf_list"]] == [100, 1024]


def test_a_client_asks_once_it_is_open_and_closes_and_a_server_waits_for_that() -> None:
    client, server = (one["commands"] for one in told_to(ASKED)["program_list"])
    assert client == [
        {"name": "connect"},
        {"name": "add_stats", "stats_id": 0, "val": 1},
        {"name": "tx", "buf_index": 0},
        {"name": "rx", "min_bytes": 1024, "clear": True},
        {"name": "add_stats", "stats_id": 1, "val": 1},
        {"name": "add_stats", "stats_id": 2, "val": 1},
    ]
    assert server == [
        {"name": "rx", "min_bytes": 100, "clear": True},
        {"name": "add_stats", "stats_id": 0, "val": 1},
        {"name": "tx", "buf_index": 1},
        {"name": "nc"},
    ]


def test_several_requests_are_a_loop_that_goes_back_to_its_first_command() -> None:
    for one in told_to(replace(ASKED, requests=5))["program_list"]:
        names = [each["name"] for each in one["commands"]]
        begin, end = names.index("set_var"), names.index("jmp_nz")
        assert one["commands"][begin] == {"name": "set_var", "id": 0, "val": 5}
        assert one["commands"][end]["offset"] == begin + 1 - end


def test_a_connection_that_is_held_waits_before_it_closes() -> None:
    client = told_to(replace(ASKED, hold_ns=2_500_000_000))["program_list"][0]["commands"]
    assert client[-1] == {"name": "delay", "usec": 2_500_000}
    with pytest.raises(ComponentError, match="cannot hold connections for 5,000 s"):
        told_to(replace(ASKED, hold_ns=5_000 * 10**9))


@pytest.mark.parametrize("size", [48, 100, 1460, 65_536])
def test_messages_are_http_of_the_size_that_was_asked_for(size: int) -> None:
    request, response = request_of(size), response_of(max(78, size))
    assert len(request) == size
    assert request.startswith(b"GET /") and request.endswith(b"\r\n\r\n")
    head, _, body = response.partition(b"\r\n\r\n")
    assert len(response) == max(78, size)
    assert int(head.rpartition(b": ")[2]) == len(body)
    assert (len(request_of(4)), len(response_of(4))) == (4, 4)


# What it says, and what it is believed.


@pytest.fixture(autouse=True)
def _hurry(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock()
    monkeypatch.setattr(stateful, "time", clock)
    monkeypatch.setattr(stateful, "sleep", clock.sleep)


@contextmanager
def session_of(server: StatefulTrexServer, **more: Any) -> Iterator[StatefulSession]:
    with run_in_thread(server):
        case = stateful_case({"server": "127.0.0.1", "rpc_port": server.port, **more}, clients=4)
        with connected_stateful(case, {"phy0": 0, "phy1": 1}, "vsperf-1") as session:
            yield session


def request(session: StatefulSession, **asked: Any) -> ConnectionsRequest:
    return ConnectionsRequest(replace(ASKED, **asked), ends_of(session.case))


def test_a_trial_is_what_both_ends_counted_of_it() -> None:
    server = StatefulTrexServer()
    with session_of(server) as session:
        assert isinstance(session, ConnectsSession)
        for _ in range(2):
            made = session.connect(request(session)).balanced()
            assert made.client is not None and made.server is not None
            assert made.client.completed == made.client.intended == 100
            assert made.server.closed == made.server.accepted == 100
            assert made.settled and made.missed_frames == 0
            assert (made.launching_ns, made.paused_ns, made.times) == (None, None, None)
            assert (made.busy_ppm, made.begin_port) == (415_000, None)
            assert made.client.most_established is None
        facts = session.facts()
        assert (facts["version"], facts["mode"]) == ("v3.08", "ASTF")
        assert session.failure() is None
    assert [port.owner for port in server.ports] == ["", ""]
    assert session.failure() == "the session has ended"


def test_clients_send_to_the_device_that_is_between_which_is_told_once() -> None:
    server = StatefulTrexServer()
    with session_of(server) as session:
        for _ in range(2):
            session.connect(request(session))
    told = [given for method, given in server.questions if method == "set_l2"]
    assert [(one["port_id"], one["dst_mac"]) for one in told] == [(0, "02:00:00:00:00:99")]


def test_none_is_begun_when_its_time_is_over_and_the_others_may_come_to_their_end() -> None:
    server = StatefulTrexServer()
    with session_of(server) as session:
        session.connect(request(session))
        late_s = session.case.trial.allowed_late_ns(100_000_000) / 1e9
    started = server.started
    assert started["duration"] == pytest.approx(0.1 + late_s)
    assert (started["t_duration"], started["nc"]) == (stateful.CLOSING_S, False)
    assert started["client_mask"] == 1


def test_one_that_is_too_slow_is_told_by_this_machine_s_clock_to_begin_no_more() -> None:
    """By its own, which stands still whenever it is late, the time would never be over."""
    server = StatefulTrexServer(fault="too-slow")
    with session_of(server) as session:
        made = session.connect(request(session)).client
    assert made is not None
    assert (made.unsent, made.launched, made.completed) == (50, 50, 50)
    (told,) = (given for method, given in server.questions if method == "update")
    assert told["mult"] * ASKED.rate_cps * 3_600 < 1, "not one more in an hour"


def test_one_that_is_in_time_is_left_alone() -> None:
    server = StatefulTrexServer()
    with session_of(server) as session:
        session.connect(request(session))
    assert "update" not in [method for method, _ in server.questions]


def test_of_connections_that_are_held_it_tells_how_many_were_open_at_most() -> None:
    server = StatefulTrexServer(looks=4)
    with session_of(server) as session:
        made = session.connect(request(session, hold_ns=2_000_000_000))
    assert made.client is not None
    assert made.client.most_established == 100
    assert server.started["t_duration"] == stateful.CLOSING_S + 2


def test_where_some_were_cut_off_it_has_not_settled() -> None:
    told = {"client": opened(100), "server": served(100, tcps_testdrops=2)}
    with session_of(StatefulTrexServer(told=told)) as session:
        made = session.connect(request(session))
    assert not made.settled
    assert made.server is not None and made.server.left == 2


def test_one_that_goes_on_for_longer_than_it_may_is_halted() -> None:
    server = StatefulTrexServer(fault="goes-on")
    with session_of(server) as session:
        before = [method for method, _ in server.questions].count("stop")
        assert session.connect(request(session)).client is not None
        after = [method for method, _ in server.questions].count("stop")
    assert after == before + 1


LIES = {
    "refused": "no port",
    "hangs": "does not come to an end",
    "begins-more": "began 101 connections",
    "no-counter": "does not tell the counter tcps_drops",
    "misses-less": "fell in the middle",
    "not-busy": "does not tell m_cpu_util",
}
OTHERS = {"another-mode", "goes-on", "stolen", "too-slow"}


def test_every_fault_of_the_server_is_tried() -> None:
    assert {*LIES, *OTHERS} == set(STATEFUL_FAULTS)


@pytest.mark.parametrize("fault", LIES)
def test_a_liar_gives_an_error_and_never_a_number(fault: str) -> None:
    server = StatefulTrexServer()
    with session_of(server) as session:
        server.fault = fault
        with pytest.raises(ComponentError) as error:
            session.connect(request(session))
        assert LIES[fault] in error.value.with_why
        server.fault, server.left = "", 0


def test_who_has_lost_the_server_begins_no_other_trial() -> None:
    server = StatefulTrexServer()
    with session_of(server) as session:
        server.fault = "stolen"
        session.connect(request(session))
        with pytest.raises(ComponentError, match="TRex refused profile_fragment"):
            session.connect(request(session))


def test_a_server_that_was_started_for_frames_is_refused_with_the_way_out() -> None:
    error = refused(
        NotReadyError, session_of(StatefulTrexServer(fault="another-mode")), "runs in mode STL"
    )
    assert "--astf" in str(error.problems[0].fix)


def test_ports_of_somebody_else_are_left_to_them_unless_they_are_to_be_taken() -> None:
    refused(
        NotReadyError,
        session_of(StatefulTrexServer(owners=("", "mallory"))),
        "port 1 of TRex belongs to mallory",
    )
    with session_of(StatefulTrexServer(owners=("", "mallory")), force=True) as session:
        assert session.connect(request(session)).client is not None


def test_a_server_with_more_than_a_pair_of_ports_would_part_what_is_asked_for() -> None:
    server = StatefulTrexServer()
    server.ports += [type(server.ports[0])() for _ in range(2)]
    refused(NotReadyError, session_of(server), r"has the ports 0, 1, 2, 3, and 0, 1 are to be")


def test_clients_are_at_the_first_port_of_the_pair() -> None:
    with run_in_thread(StatefulTrexServer()) as server:
        case = stateful_case({"server": "127.0.0.1", "rpc_port": server.port})
        refused(
            NotReadyError,
            connected_stateful(case, {"phy0": 1, "phy1": 0}, "vsperf-1"),
            "1, 0 are to be those of clients and of servers",
        )


def test_what_a_dead_deployment_has_is_released_in_this_mode_too() -> None:
    with run_in_thread(StatefulTrexServer(owners=("vsperf-1", "vsperf-1"))) as server:
        TrexGenerator().release(f"127.0.0.1:{server.port}", "vsperf-1", ("0", "1"), None)
        assert [port.owner for port in server.ports] == ["", ""]


def test_it_sends_no_frames_and_begins_nothing_when_it_is_over() -> None:
    with (
        session_of(StatefulTrexServer()) as session,
        pytest.raises(ComponentError, match="sends no frames here"),
    ):
        session.run(TrialRequest(1_000, 1_000_000))
    with pytest.raises(ComponentError, match="no longer connected"):
        session.connect(request(session))


# What a case may ask of it.


@pytest.mark.parametrize(
    ("search", "lacking"),
    [
        ({"kind": "cps"}, None),
        ({"kind": "cps", "requests": 2}, None),
        ({"kind": "cc"}, None),
        ({"kind": "connection_soak"}, None),
        ({"kind": "cps", "syn_flood": 1000}, "send SYNs of nobody beside connections"),
        ({"kind": "cps", "protocol": "udp"}, "ask and answer over flows of UDP"),
        ({"kind": "pps"}, "ask by a clock on connections that are open"),
        ({"kind": "goodput"}, "ask by a clock on connections that are open"),
        ({"kind": "reconnect"}, "tell when connections were answered"),
    ],
)
def test_what_it_cannot_do_is_refused_by_what_it_declares(
    search: dict[str, Any], lacking: str | None
) -> None:
    from vsperf.plugins import Plugins  # drivers of methods, found as a run finds them

    kind = Plugins.load().specs()["search"][search["kind"]]
    case = stateful_case(INSTALLED).model_copy(update={"search": kind.model_validate(search)})
    words = [one.what for one in refusals(case, TrexGenerator().capabilities(case), 1)]
    assert words == ([] if lacking is None else [f"generator trex cannot {lacking}"])


def test_a_server_is_started_for_connections_where_a_case_has_some() -> None:
    case = stateful_case(INSTALLED)
    assert "--astf" in command(case)
    assert "--stl" not in command(case)
    *_, loading = TrexGenerator().plan(case, SOCKETS, PLACEMENT)
    assert "take the ports 0 (phy0), 1 (phy1), and load a program of clients" in loading.action


def test_a_tap_is_no_port_that_it_can_take() -> None:
    tap = tuple(one.model_copy(update={"kind": "tap", "address": "net/tap0"}) for one in SOCKETS)
    with pytest.raises(UsageError, match="cannot send to phy0, which is a tap port"):
        TrexGenerator().plan(stateful_case(INSTALLED), tap, PLACEMENT)
