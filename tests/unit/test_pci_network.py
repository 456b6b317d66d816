"""What interfaces are used for: addresses, default routes, and the ssh session, sudo or not."""

from __future__ import annotations

from pathlib import Path

import pytest
from machine_tree import MachineTree

from vsperf.host.addresses import address_towards, default_routes, interface_addresses
from vsperf.host.network import Network, session_connection

ROUTES = """\
Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\tWindow\tIRTT
eth0\t00000000\t010200C0\t0003\t0\t0\t0\t00000000\t0\t0\t0
lab0\t000200C0\t00000000\t0001\t0\t0\t0\t00FFFFFF\t0\t0\t0
"""
NOWHERE = "0" * 32
ROUTER = "fe80000000000000fc00fffe00000001"
ROUTES_V6 = f"""\
{NOWHERE} 00 {NOWHERE} 00 {ROUTER} 00000400 00000001 00000000 00450003 eth1
{NOWHERE} 00 {NOWHERE} 00 {NOWHERE} ffffffff 00000001 00000000 00200200 lo
"""


@pytest.fixture(name="tree")
def fixture_tree(tmp_path: Path) -> MachineTree:
    return MachineTree(tmp_path)


def test_the_kernel_tells_the_addresses_of_this_machine() -> None:
    assert "127.0.0.1" in interface_addresses()["lo"]


def test_addresses_that_every_interface_gives_itself_do_not_count() -> None:
    everything = [address for held in interface_addresses().values() for address in held]
    assert not [address for address in everything if address.startswith("fe80:")]


def test_the_way_to_a_peer_is_known_without_sending() -> None:
    assert address_towards("127.0.0.1") == "127.0.0.1"
    assert address_towards("no address") is None


def test_default_routes_of_both_versions_are_found(tree: MachineTree) -> None:
    tree.proc("net/route", ROUTES)
    tree.proc("net/ipv6_route", ROUTES_V6)
    assert default_routes(tree.roots) == {"eth0", "eth1"}


def test_no_tables_mean_no_default_routes(tree: MachineTree) -> None:
    assert default_routes(tree.roots) == frozenset()


def test_the_session_is_found_where_sudo_took_the_variable_away(tree: MachineTree) -> None:
    tree.proc("self/stat", "30 (vsperf) S 20 30 30 0")
    tree.proc("20/stat", "20 (sudo) S 10 20 20 0")
    tree.proc("20/environ", "PATH=/bin\0")
    tree.proc("10/stat", "10 (bash (login)) S 1 10 10 0")
    tree.proc("10/environ", "HOME=/\0SSH_CONNECTION=192.0.2.9 50000 192.0.2.7 22\0")
    assert session_connection(tree.roots, {}) == "192.0.2.9 50000 192.0.2.7 22"


def test_a_session_at_the_console_is_none(tree: MachineTree) -> None:
    tree.proc("self/stat", "30 (vsperf) S 1 30 30 0")
    tree.proc("1/stat", "1 (init) S 0 1 1 0")
    assert session_connection(tree.roots, {}) is None


def test_the_interface_of_the_session_is_the_one_with_its_address(tree: MachineTree) -> None:
    environment = {"SSH_CONNECTION": "127.0.0.1 50000 127.0.0.1 22"}
    assert Network.read(tree.roots, environment).session == {"lo"}
