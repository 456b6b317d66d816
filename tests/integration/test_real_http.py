"""Requests of HTTP between places, for real: wrk and h2load against nginx, and when that dies."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest
from real_runs import Place, fixture_calibrations, fixture_place

from vsperf.errors import ExitCode
from vsperf.records.exchange import Exchange
from vsperf.records.flags import Flag
from vsperf.records.run import Outcome

pytestmark = [pytest.mark.machine, pytest.mark.needs("wrk", "h2load", "nginx", "bridges")]
__all__ = ["fixture_calibrations", "fixture_place"]

BRIEF = ("--set=search.duration=2s", "--set=search.warm_up=1s", "--set=search.repeats=1")
BRIDGE = "--set=vswitch.kind=linux-bridge"


def believed(place: Place) -> list[Exchange]:
    return [next(one for one in case.exchanges if one.valid) for case in place.records().cases()]


def servers(place: Place) -> list[int]:
    """Return the processes of nginx of this place: the one that was started, then its workers.

    They write over the mark in their environment, so they are found by the folder that they run in.
    """
    found = []
    for process in Path("/proc").iterdir():
        with suppress(OSError):
            if (process / "comm").read_text().strip() != "nginx":
                continue
            if (process / "cwd").resolve().is_relative_to(place.runtime):
                found.append(int(process.name))
    return sorted(found)


@pytest.mark.everyday("both loops, whose programs, server and files nothing else brings together")
def test_requests_go_through_in_both_loops_and_devices_bear_them_out(place: Place) -> None:
    words = (BRIDGE, "--set=search.connections=10", "--set=search.object=4KiB", *BRIEF)
    for name, more in (("places_http", ()), ("places_http_open", ("--set=search.rate=200",))):
        ended = place.until_decided("run", name, *words, *more)
        assert ended.code == 0, ended.said
        (one,) = believed(place)
        (instance,) = one.instances
        assert instance.transactions
        assert instance.round_trips is not None
        assert instance.failures is not None
        assert (instance.from_due is not None) is (name == "places_http_open")
        (client,) = (device for device in one.devices if device.place == "phy0")
        assert client.received_bytes > instance.transactions * 4096
    assert "p99 from due" in place("show", "latest", "places_http_open-1518B", "--all").out
    assert [*place.traces(), *servers(place)] == []


@pytest.mark.thorough
@pytest.mark.parametrize("switch", ["linux-bridge", "ovs"])
def test_each_request_can_have_a_connection_of_its_own(
    place: Place, require: Callable[[str], None], switch: str
) -> None:
    if switch == "ovs":
        require("ovs")
    words = (f"--set=vswitch.kind={switch}", "--set=search.instances=2", *BRIEF)
    ended = place.until_decided("run", "places_http_close", *words)
    assert ended.code == 0, ended.said
    (one,) = believed(place)
    made = sum(instance.transactions or 0 for instance in one.instances)
    assert all(device.received_frames >= 2 * made for device in one.devices)


@pytest.mark.thorough
def test_who_stood_still_made_all_late_who_came_meanwhile(place: Place) -> None:
    """A second of ten: the 99th percentile is so long, less a hundredth of all the time."""
    length_s = 10
    words = ("--set=search.rate=500", f"--set=search.duration={length_s}s", "--set=trial.retries=0")
    run = place.start("run", "places_http_open", BRIDGE, *words, *BRIEF[1:])
    run.wait_until(lambda: "exchange-1-client-1" in place.programs().values())
    run.wait_until(lambda: len(servers(place)) == 2)
    time.sleep(4)  # into the midst of what is measured, wherever that is
    _, worker = servers(place)
    os.kill(worker, signal.SIGSTOP)
    began = time.monotonic()
    time.sleep(1)  # it is about how long it stood still, and not about when
    os.kill(worker, signal.SIGCONT)
    still_s = time.monotonic() - began
    ended = run.end()
    assert ended.code == 0, ended.said
    (one,) = believed(place)
    (instance,) = one.instances
    assert instance.from_due is not None and instance.round_trips is not None
    expected_ns = (still_s - 0.01 * length_s) * 1e9
    assert instance.from_due.p99_ns == pytest.approx(expected_ns, rel=0.05)
    assert instance.round_trips.p99_ns < instance.from_due.p99_ns / 4
    shown = place("show", "latest", "places_http_open-1518B", "--all").out
    assert "p99 from due" in shown and "p99 from sent" in shown


@pytest.mark.thorough
@pytest.mark.parametrize("name", ["places_http_user_space", "places_http_open"])
@pytest.mark.needs("tgen")
def test_a_server_in_user_space_answers_in_both_loops_and_leaves_nothing(
    place: Place, name: str
) -> None:
    words = (BRIDGE, "--set=program.stack=user-space", "--set=search.object=5000B", *BRIEF)
    ended = place.until_decided("run", name, *words)
    assert ended.code == 0, ended.said
    (one,) = believed(place)
    (instance,) = one.instances
    assert one.polling_servers and "a server in user space" in one.version
    assert instance.transactions
    assert (instance.from_due is not None) is (name == "places_http_open")
    (client,) = (device for device in one.devices if device.place == "phy0")
    assert client.received_bytes > instance.transactions * 5000
    assert [*place.traces(), *servers(place)] == []


OWN_PORT = ("--set=vswitch.kind=ovs-dpdk", "--set=places.phy1.kind=user-space")
"""A vhost-user port that the server has to itself."""


@pytest.mark.thorough
@pytest.mark.parametrize("ports", ["vhost-user-client", "vhost-user"])
@pytest.mark.needs("tgen", "ovs-dpdk")
def test_a_server_in_user_space_answers_at_a_port_of_the_switch_in_one_exchange_after_the_other(
    place: Place, ports: str
) -> None:
    """Each has a server of its own at the same port, whose predecessor was ended."""
    words = (*OWN_PORT, f"--set=vswitch.ports={ports}", *BRIEF[:-1], "--set=search.repeats=2")
    ended = place.until_decided("run", "places_http_user_space", *words)
    assert ended.code == 0, ended.said
    (case,) = place.records().cases()
    made = [one for one in case.exchanges if one.valid]
    assert len(made) >= 2
    for one in made:
        (instance,) = one.instances
        assert one.polling_servers and instance.transactions
        assert [device.place for device in one.devices] == ["phy0"], "the other end has none"
        assert one.devices[0].received_frames >= instance.transactions
        assert "a server in user space" in one.version


@pytest.mark.thorough
@pytest.mark.parametrize("words", [(BRIDGE,), OWN_PORT], ids=["a device", "a port of the switch"])
@pytest.mark.needs("tgen")
def test_a_server_in_user_space_that_is_killed_leaves_no_number(
    place: Place, require: Callable[[str], None], words: tuple[str, ...]
) -> None:
    if words == OWN_PORT:
        require("ovs-dpdk")
    words += ("--set=search.duration=60s", "--set=search.repeats=1", "--set=trial.retries=0")
    run = place.start("run", "places_http_user_space", *words)
    run.wait_until(lambda: "exchange-1-client-1" in place.programs().values())
    place.signal("exchange-1-server-1", signal.SIGKILL)
    ended = run.end()
    assert ended.code == ExitCode.INVALID_RESULT, ended.said
    (case,) = place.records().cases()
    assert case.record is not None and case.record.outcome is Outcome.INVALID
    assert case.record.flags == (Flag.PROGRAM_FAILED,)
    assert "its server was killed by SIGKILL" in case.record.reason
    assert place.traces() == []


@pytest.mark.thorough
def test_a_process_of_the_server_that_is_killed_leaves_no_number(place: Place) -> None:
    words = ("--set=search.duration=5s", "--set=search.repeats=1", "--set=trial.retries=0")
    run = place.start("run", "places_http", BRIDGE, *words)
    run.wait_until(lambda: "exchange-1-client-1" in place.programs().values())
    run.wait_until(lambda: len(servers(place)) == 2)
    os.kill(servers(place)[-1], signal.SIGKILL)
    ended = run.end()
    assert ended.code == ExitCode.INVALID_RESULT, ended.said
    (case,) = place.records().cases()
    assert case.record is not None and case.record.outcome is Outcome.INVALID
    assert case.record.result is None
    assert case.record.flags == (Flag.PROGRAM_FAILED,)
    assert "exited on signal 9" in case.record.reason
    assert [*place.traces(), *servers(place)] == []


@pytest.mark.thorough
def test_what_a_killed_run_left_of_a_server_is_cleaned_up(place: Place) -> None:
    run = place.start("run", "places_http", BRIDGE, "--set=search.duration=60s")
    run.wait_until(lambda: "exchange-1-client-1" in place.programs().values())
    run.wait_until(lambda: len(servers(place)) == 2)
    run.process.kill()
    run.process.wait()
    assert len(servers(place)) == 2
    assert place("clean").code == 0
    assert [*place.traces(), *servers(place)] == []
