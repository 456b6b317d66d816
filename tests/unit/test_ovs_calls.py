"""When OVS is given the path of a socket: as soon as somebody listens there, and not before."""

from __future__ import annotations

import socket
from collections.abc import Mapping
from pathlib import Path

import pytest

from vsperf.vswitches.ovs.calls import PATH, Calls
from vsperf.vswitches.ovs.layout import SwitchPort

Given = list[dict[str, dict[str, str]]]
"""What the switch was given, call by call."""


@pytest.fixture(name="given")
def fixture_given() -> Given:
    return []


@pytest.fixture(name="calls")
def fixture_calls(given: Given) -> Calls:
    def give(options: Mapping[str, Mapping[str, str]]) -> None:
        given.append({name: dict(told) for name, told in options.items()})

    return Calls(give)


def port(folder: Path, number: int) -> SwitchPort:
    options = {PATH: str(folder / f"phy{number}.sock"), "tx-retries-max": "8"}
    return SwitchPort(f"phy{number}", number, f"phy{number}", "dpdkvhostuserclient", options)


def listen(one: SwitchPort) -> socket.socket:
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(one.options[PATH])
    listener.listen()
    return listener


def test_a_port_is_made_with_its_path_where_somebody_listens(calls: Calls, tmp_path: Path) -> None:
    ports = (port(tmp_path, 0), port(tmp_path, 1))
    with listen(ports[0]):
        made = calls.hold_back(ports)
    assert made[0] == ports[0]
    assert made[1].options == {"tx-retries-max": "8"}


def test_each_is_called_once_when_somebody_listens(
    calls: Calls, given: Given, tmp_path: Path
) -> None:
    ports = (port(tmp_path, 0), port(tmp_path, 1))
    calls.hold_back(ports)
    calls.make()
    assert given == []
    with listen(ports[1]):
        calls.make()
        calls.make()
    assert given == [{"phy1": ports[1].options}]
    with listen(ports[0]):
        calls.make()
    assert given[1:] == [{"phy0": ports[0].options}]


def test_in_the_end_all_are_called_whoever_may_come(
    calls: Calls, given: Given, tmp_path: Path
) -> None:
    ports = (port(tmp_path, 0), port(tmp_path, 1))
    calls.hold_back(ports)
    calls.make_all()
    calls.make_all()
    assert given == [{one.name: one.options for one in ports}]


def test_what_is_no_socket_is_not_called(calls: Calls, given: Given, tmp_path: Path) -> None:
    one = port(tmp_path, 0)
    Path(one.options[PATH]).touch()
    calls.hold_back((one,))
    calls.make()
    assert given == []


def test_a_port_without_a_path_is_left_as_it_is(calls: Calls, given: Given) -> None:
    server = SwitchPort("phy0", 1, "phy0", "dpdkvhostuser", {"tx-retries-max": "8"})
    assert calls.hold_back((server,)) == (server,)
    calls.make_all()
    assert given == []
