"""Where datagrams went: what kernels, devices and the switch count, and what that says."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from datagram_floods import SENT, flood, port, sockets
from exchanges import REVERSE, cpu, device, exchange, instance, use

from vsperf.cli.exchange_view import exchanges_data
from vsperf.engine.judge_exchange import judged
from vsperf.host.udp_counts import udp_counts
from vsperf.output.datagram_tables import account_table, account_text
from vsperf.output.report.account import OF_EXCHANGES
from vsperf.quantities.units import Ratio
from vsperf.records.datagrams import socket_growth
from vsperf.records.exchange import Exchange
from vsperf.records.flags import Flag
from vsperf.records.result import Limit
from vsperf.search.exchange_verdict import limited

TABLE = """\
Ip: Forwarding DefaultTTL
Ip: 1 64
Udp: InDatagrams NoPorts InErrors OutDatagrams RcvbufErrors SndbufErrors InCsumErrors IgnoredMulti MemErrors
Udp: 700 3 41 9 40 2 1 0 0
UdpLite: InDatagrams NoPorts InErrors OutDatagrams RcvbufErrors SndbufErrors InCsumErrors IgnoredMulti MemErrors
UdpLite: 5 5 5 5 5 5 5 5 5
"""  # noqa: E501 - as the kernel writes it
TOLERANCE = Ratio.parse("0.01%").value


def account(one: Exchange) -> tuple[dict[str, int], int]:
    assert one.account is not None
    assert one.account.sent == SENT
    return dict(one.account.dropped), one.account.unexplained


# What is read.


def test_the_kernel_s_table_is_read_by_its_own_names() -> None:
    assert udp_counts(TABLE) == {
        "in_datagrams": 700,
        "no_ports": 3,
        "in_errors": 41,
        "out_datagrams": 9,
        "rcvbuf_errors": 40,
        "sndbuf_errors": 2,
    }


@pytest.mark.parametrize(
    "text",
    [
        "",
        "Udp: InDatagrams\n",
        TABLE.replace("RcvbufErrors", "Rcvbuf"),
        TABLE.replace(" 41 ", " many "),
        TABLE.replace(" 41 ", " "),
        TABLE.replace(" 41 ", " -41 "),
    ],
)
def test_a_table_that_does_not_say_all_of_it_says_nothing(text: str) -> None:
    assert udp_counts(text) is None


def test_counters_grow_by_what_was_counted_meanwhile_where_both_times_are_known() -> None:
    before = [sockets("phy0", in_datagrams=5), sockets("phy1", rcvbuf_errors=7)]
    after = [sockets("phy1", rcvbuf_errors=9, no_ports=1), sockets("phy2", in_errors=1)]
    assert socket_growth(before, after) == (sockets("phy1", rcvbuf_errors=2, no_ports=1),)


# What is made of it.


def test_each_that_was_dropped_is_named_and_the_rest_is_unexplained() -> None:
    kernel = sockets("phy1", rcvbuf_errors=400, in_errors=410, no_ports=5, in_datagrams=9)
    busy = port("phy0", rx_socket_full=80)
    dropped, unexplained = account(flood(500, sockets("phy0"), kernel, ports=(busy,)))
    assert dropped == {
        "switch phy0 rx socket full": 80,
        "phy1 RcvbufErrors": 400,
        "phy1 other InErrors": 10,
        "phy1 NoPorts": 5,
    }
    assert unexplained == 5


def test_what_both_ends_of_a_pair_of_devices_count_is_counted_once() -> None:
    # The kernel says of one frame that the sender's socket, its device and the port dropped it.
    counted = (
        device("phy0", 0).model_copy(update={"sent_dropped": 60}),
        device("phy1", SENT * 1442).model_copy(update={"received_dropped": 30}),
    )
    ports = (port("phy0", rx_dropped=60), port("phy1", tx_tap_full=30))
    ends = (sockets("phy0", sndbuf_errors=60), sockets("phy1"))
    dropped, unexplained = account(flood(90, *ends, ports=ports, devices=counted))
    assert dropped == {"switch phy0 rx dropped": 60, "switch phy1 tx tap full": 30}
    assert unexplained == 0
    # A switch that has no such ports counts nothing of it.
    dropped, unexplained = account(flood(90, *ends, devices=counted))
    assert dropped == {"phy0 SndbufErrors": 60, "phy1 device in": 30}
    dropped, _ = account(flood(90, devices=counted))
    assert dropped == {"phy0 device out": 60, "phy1 device in": 30}


def test_counters_that_have_more_than_was_lost_leave_less_than_nothing() -> None:
    assert account(flood(10, sockets("phy1", rcvbuf_errors=12)))[1] == -2


def test_there_is_no_account_of_what_nobody_counts_or_takes_several_frames() -> None:
    assert exchange().account is None
    one = flood(10)
    parts = one.instances[0].model_copy(update={"write_bytes": 8000})
    assert one.model_copy(update={"instances": (parts,)}).account is None
    assert one.model_copy(update={"devices": ()}).account is None


def test_each_direction_is_a_part_of_it() -> None:
    back = instance(2, direction=REVERSE, sent_packets=100, lost_packets=40, write_bytes=1400)
    one = flood(10, sockets("phy0", rcvbuf_errors=40), sockets("phy1", rcvbuf_errors=9))
    both = one.model_copy(update={"instances": (*one.instances, back)}).account
    assert both is not None
    assert (both.sent, both.received, both.unexplained) == (SENT + 100, SENT + 50, 1)
    assert both.dropped == {"phy1 RcvbufErrors": 9, "phy0 RcvbufErrors": 40}


# What is said of it.


def test_of_what_a_socket_had_no_room_for_its_kernel_is_believed_and_no_difference() -> None:
    kernel = sockets("phy1", rcvbuf_errors=250, in_errors=250)
    assert flood(300).unread_packets == 300
    assert flood(300, sockets("phy0"), kernel).unread_packets == 250
    looks = use(cpu(0, busy=0.3), cpu(1, busy=0.3), cpu(2, busy=0.3))
    much = sockets("phy1", rcvbuf_errors=250_000, in_errors=250_000)
    limit, why = limited(flood(300_000, sockets("phy0"), much, cpu=looks))
    assert limit is Limit.SERVER
    assert "RcvbufErrors" in why
    none = sockets("phy1")
    assert limited(flood(300_000, sockets("phy0"), none, cpu=looks))[0] is Limit.UNCOUNTED


def test_more_that_nobody_counts_than_sockets_hold_at_the_end_is_a_doubt() -> None:
    ends = (sockets("phy0"), sockets("phy1", in_datagrams=SENT))
    held = judged(flood(100 + 300, *ends), unexplained=TOLERANCE)
    assert held.flags == ()
    more = judged(flood(100 + 301, *ends), unexplained=TOLERANCE)
    assert more.flags == (Flag.UNEXPLAINED,)
    assert more.valid, "the number stands"
    assert more.reasons == (
        "401 of 1,000,000 datagrams did not arrive, and 0 were dropped by those who count",
    )
    assert judged(flood(500, *ends)).flags == (), "nobody asked"


def test_a_program_that_has_more_than_its_kernel_gave_is_not_believed() -> None:
    few = sockets("phy1", in_datagrams=SENT // 2)
    found = judged(flood(0, sockets("phy0"), few), unexplained=TOLERANCE)
    assert found.flags == (Flag.DEVICES_DISAGREE,)
    assert "at phy1 programs received 1,000,000 datagrams, and its kernel gave" in found.reasons[0]
    enough = sockets("phy1", in_datagrams=SENT - SENT // 200)
    assert judged(flood(0, sockets("phy0"), enough), unexplained=TOLERANCE).valid


def test_it_is_shown_in_the_order_of_the_way_and_in_data_and_reports() -> None:
    one = flood(500, sockets("phy0"), sockets("phy1", rcvbuf_errors=495, in_errors=495))
    table = account_table(one)
    assert table is not None
    assert [tuple(map(str, row)) for row in table.rows] == [
        ("sent", "1,000,000", "100%"),
        ("received", "999,500", "99.95%"),
        ("phy1 RcvbufErrors", "495", "0.0495%"),
        ("unexplained", "5", "0.0005%"),
    ]
    assert account_text(one).splitlines()[-1] == "5 unexplained"
    case: Any = SimpleNamespace(exchanges=(one, exchange()))
    first, second = exchanges_data(case)["all_exchanges"]
    assert first["account"] == {
        "sent": SENT,
        "received": SENT - 500,
        "dropped": {"phy1 RcvbufErrors": 495},
        "unexplained": 5,
    }
    assert second["account"] is None
    (column,) = (column for column in OF_EXCHANGES if column.name == "datagrams")
    assert "495 phy1 RcvbufErrors" in str(column.of(one))
    assert account_table(exchange()) is None
