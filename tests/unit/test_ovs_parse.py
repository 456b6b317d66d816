"""What OVS prints becomes typed values; the files in golden/ovs are what OVS 3.1.0 really said."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vsperf.vswitches.ovs import parse
from vsperf.vswitches.ovs.counters import switch_counters
from vsperf.vswitches.ovs.layout import SwitchPort

GOLDEN = Path(__file__).parents[1] / "golden" / "ovs"
CLIENTS = tuple(
    SwitchPort(f"phy{number}", number + 1, f"phy{number}", "dpdkvhostuserclient")
    for number in range(2)
)
SERVERS = tuple(
    SwitchPort(f"phy{number}", number + 1, f"phy{number}", "dpdkvhostuser") for number in range(2)
)


def golden(name: str) -> str:
    return (GOLDEN / f"{name}.txt").read_text()


def test_frames_and_drops_of_each_port_are_read() -> None:
    ports = {port.name: port for port in parse.port_statistics(golden("overload-dpctl-show"))}
    assert set(ports) == {"ovs-netdev", "vsperf-br", "phy0", "phy1"}
    assert ports["phy0"].received == {"packets": 6125280, "dropped": 0}
    assert ports["phy0"].sent == {"packets": 6124704, "dropped": 480}
    assert ports["phy1"].sent["dropped"] == 448


def test_a_counter_that_a_port_has_not_is_left_out_and_not_zero() -> None:
    ports = {port.name: port for port in parse.port_statistics(golden("overload-dpctl-show"))}
    assert "errors" not in ports["phy0"].received
    assert ports["vsperf-br"].received["errors"] == 0


def test_a_port_that_nobody_is_connected_to_is_there_without_counters() -> None:
    ports = {port.name: port for port in parse.port_statistics(golden("idle-dpctl-show"))}
    assert {"phy0", "phy1"} <= set(ports)
    assert (ports["phy0"].received, ports["phy0"].sent) == ({}, {})
    assert ports["phy0"].about.startswith("dpdkvhostuserclient: ")


def test_each_polling_thread_is_told_from_the_main_thread() -> None:
    threads = parse.thread_statistics(golden("two-pmds-pmd-stats-show"))
    assert [thread.cpu for thread in threads] == [0, 1, None]
    assert [thread.node for thread in threads] == [0, 0, None]
    assert threads[1].counters["packets received"] == 200000
    assert threads[1].counters["processing cycles"] == 263473930
    assert "idle cycles" not in threads[2].counters


def test_averages_are_no_counters() -> None:
    for thread in parse.thread_statistics(golden("two-pmds-pmd-stats-show")):
        assert not any("avg" in name for name in thread.counters if name.startswith("avg. "))


def test_performance_has_every_counter_of_a_thread() -> None:
    first, second = parse.thread_performance(golden("two-pmds-pmd-perf-show"))
    assert (first.cpu, second.cpu) == (0, 1)
    assert second.counters["Rx packets"] == 200000
    assert second.counters["Simple Match hits"] == 199999
    assert {"Iterations", "busy iterations", "idle iterations"} <= set(second.counters)


def test_every_queue_says_who_polls_it() -> None:
    queues = parse.queues(golden("two-pmds-pmd-rxq-show"))
    assert {(queue.port, queue.number, queue.cpu) for queue in queues} == {
        ("phy0", 1, 0),
        ("phy1", 0, 0),
        ("phy0", 0, 1),
        ("phy1", 1, 1),
    }
    assert all(queue.enabled for queue in queues)


def test_a_usage_that_is_not_known_yet_is_none() -> None:
    assert {queue.usage_percent for queue in parse.queues(golden("idle-pmd-rxq-show"))} == {None}
    known = "pmd thread numa_id 1 core_id 7:\n  isolated : true\n" + (
        "  port: dpdk0    queue-id:  3 (disabled)   pmd usage: 41 %\n  overhead:  2 %\n"
    )
    assert parse.queues(known) == (parse.Queue(7, "dpdk0", 3, False, 41),)


def test_older_versions_say_less_of_a_queue() -> None:
    old = "pmd thread numa_id 0 core_id 2:\n  port: dpdk0    queue-id:  0\n"
    assert parse.queues(old) == (parse.Queue(2, "dpdk0", 0, None, None),)


def test_events_are_read_by_their_totals() -> None:
    assert parse.coverage(golden("dropping-coverage-show"))["drop_action_of_pipeline"] == 100000


def test_drops_of_a_port_that_counts_nothing_else_are_read_from_openflow() -> None:
    found = parse.custom_drops(golden("server-dump-ports"))
    assert set(found) == {1, 2}
    assert found[1]["tx_failure_drops"] == 448
    assert found[2]["tx_failure_drops"] == 160


@given(st.text(max_size=200))
def test_whatever_is_printed_is_no_reason_to_fail(text: str) -> None:
    for read in (
        parse.port_statistics,
        parse.thread_statistics,
        parse.thread_performance,
        parse.queues,
        parse.coverage,
        parse.custom_drops,
    ):
        read(text)


@pytest.mark.parametrize("name", ["overload", "idle"])
def test_text_that_was_cut_off_is_no_reason_to_fail(name: str) -> None:
    text = golden(f"{name}-dpctl-show")
    for end in range(0, len(text), 7):
        parse.port_statistics(text[:end])


def test_counters_close_what_was_lost_at_overload() -> None:
    counters = switch_counters(
        CLIENTS,
        parse.port_statistics(golden("overload-dpctl-show")),
        parse.thread_statistics(golden("overload-pmd-stats-show")),
        parse.coverage(golden("overload-coverage-show")),
    )
    received = sum(port.received_frames for port in counters.ports)
    sent = sum(port.sent_frames for port in counters.ports)
    assert received - sent == counters.dropped_frames == 928
    assert [port.link for port in counters.ports] == ["phy0", "phy1"]


def test_counters_tell_which_cache_answered() -> None:
    counters = switch_counters(
        CLIENTS, (), parse.thread_statistics(golden("overload-pmd-stats-show")), {}
    )
    (pmd,) = counters.pmds
    assert pmd.cpu == 1
    assert sum(pmd.hits.values()) == pmd.frames
    assert (pmd.hits["simple"], pmd.hits["upcall"]) == (12250400, 2)


def test_frames_that_a_rule_drops_are_counted_as_drops() -> None:
    counters = switch_counters(
        CLIENTS,
        parse.port_statistics(golden("dropping-dpctl-show")),
        (),
        parse.coverage(golden("dropping-coverage-show")),
    )
    assert counters.drops == {"drop_action_of_pipeline": 100000}


def test_ports_without_counters_are_missing_and_not_at_zero() -> None:
    counters = switch_counters(CLIENTS, parse.port_statistics(golden("idle-dpctl-show")), (), {})
    assert counters.ports == ()


def test_drops_are_known_even_where_frames_are_not_counted() -> None:
    counters = switch_counters(
        SERVERS,
        parse.port_statistics(golden("server-dpctl-show")),
        (),
        {},
        parse.custom_drops(golden("server-dump-ports")),
    )
    assert counters.ports == ()
    assert counters.dropped_frames == 448 + 160
    assert counters.drops["phy0 tx failure"] == 448


def test_a_thread_that_does_not_say_its_cycles_is_left_out() -> None:
    text = "pmd thread numa_id 0 core_id 1:\n  packets received: 5\n"
    assert switch_counters((), (), parse.thread_statistics(text), {}).pmds == ()


def test_the_table_of_addresses_is_read() -> None:
    found = parse.addresses(golden("full-fdb-stats-show"))
    assert found is not None
    assert (found.known, found.most) == (10, 10)
    assert found.all_counts == (12, 2, 0), "learned, evicted, expired"


def test_of_a_daemon_that_says_less_of_its_table_nothing_is_made_up() -> None:
    lines = golden("full-fdb-stats-show").splitlines()
    assert parse.addresses("\n".join(line for line in lines if "evicted" not in line)) is None
    assert parse.addresses("") is None
