"""NICs: how sysfs shows them, what they are used for, and how one is bound for a while."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from machine_tree import MachineTree, kernel, link, write

from vsperf.errors import ComponentError, NotReadyError
from vsperf.host import binding
from vsperf.host.binding import bound, pci_addresses
from vsperf.host.files import Roots, link_name
from vsperf.host.journal import NAME, pending
from vsperf.host.network import (
    Network,
    address_towards,
    default_routes,
    interface_addresses,
    session_connection,
)
from vsperf.host.pci import Nic, find_nic, read_nics, refusal
from vsperf.host.undo import BindDriver
from vsperf.host.workspace import Workspace, workspace

# NICs as sysfs shows them, and what speaks against taking one from the kernel.

PORT = "0000:03:00.0"
SISTER = "0000:03:00.1"


@pytest.fixture(name="tree")
def fixture_tree(tmp_path: Path) -> MachineTree:
    return MachineTree(tmp_path)


def only(tree: MachineTree, network: Network | None = None) -> Nic:
    (nic,) = read_nics(tree.roots, network or Network())
    return nic


def test_a_nic_is_read_with_driver_node_group_and_interfaces(tree: MachineTree) -> None:
    tree.device(PORT, "i40e", group=17)
    tree.interface("lab0", PORT)
    nic = only(tree)
    assert (nic.address, nic.vendor, nic.device) == (PORT, 0x8086, 0x1572)
    assert (nic.driver, nic.node, nic.group) == ("i40e", 0, 17)
    assert [interface.name for interface in nic.interfaces] == ["lab0"]
    assert nic.interfaces[0].carrier is True


def test_devices_that_are_no_nics_are_left_out(tree: MachineTree) -> None:
    tree.device("0000:00:1f.2", "ahci", code=0x010601)
    assert read_nics(tree.roots, Network()) == ()


def test_an_interface_deeper_below_its_device_is_found(tree: MachineTree) -> None:
    tree.device(PORT, "virtio-pci")
    tree.interface("eth0", PORT, below="virtio2")
    assert [interface.name for interface in only(tree).interfaces] == ["eth0"]


def test_a_machine_that_does_not_name_the_node_has_none_and_not_zero(tree: MachineTree) -> None:
    folder = tree.device(PORT)
    write(folder / "numa_node", "-1\n")
    assert only(tree).node is None


def test_an_interface_that_is_down_has_an_unknown_carrier(tree: MachineTree) -> None:
    tree.device(PORT, "i40e")
    (tree.interface("lab0", PORT) / "carrier").unlink()
    assert only(tree).interfaces[0].carrier is None


def test_an_idle_nic_behind_an_iommu_may_be_taken(tree: MachineTree) -> None:
    tree.device(PORT, "i40e", group=17)
    tree.interface("lab0", PORT)
    assert refusal(only(tree)) is None


@pytest.mark.parametrize(
    ("network", "reason"),
    [
        (Network(addresses={"lab0": ("192.0.2.7",)}), "lab0 has the address 192.0.2.7"),
        (Network(default_routes=frozenset({"lab0"})), "default route leads through lab0"),
        (Network(session=frozenset({"lab0"})), "ssh session goes through lab0"),
        (Network(above={"lab0": ("br0",)}), "lab0 is part of br0"),
        (
            Network(
                above={"lab0": ("bond0",), "bond0": ("bond0.5",)}, session=frozenset({"bond0.5"})
            ),
            "ssh session goes through lab0",
        ),
        (
            Network(above={"lab0": ("bond0",)}, default_routes=frozenset({"bond0"})),
            "default route leads through lab0",
        ),
    ],
)
def test_a_nic_that_the_machine_depends_on_is_refused(
    tree: MachineTree, network: Network, reason: str
) -> None:
    tree.device(PORT, "i40e", group=17)
    tree.interface("lab0", PORT)
    assert reason in (refusal(only(tree, network)) or "")


def test_a_nic_without_an_iommu_is_refused_unless_the_user_says_so(tree: MachineTree) -> None:
    tree.device(PORT, "i40e")
    assert "no IOMMU" in (refusal(only(tree)) or "")
    assert refusal(only(tree), without_iommu=True) is None


def test_a_group_shared_with_a_device_in_use_is_refused(tree: MachineTree) -> None:
    tree.device(PORT, "i40e", group=17)
    tree.device("0000:03:00.4", "ahci", code=0x010601, group=17)
    reason = refusal(only(tree)) or ""
    assert "group 17" in reason
    assert "0000:03:00.4 (ahci)" in reason


def test_bridges_and_unused_devices_of_a_group_do_not_matter(tree: MachineTree) -> None:
    tree.device(PORT, "i40e", group=17)
    tree.device("0000:00:02.0", "pcieport", code=0x060400, group=17)
    tree.device("0000:03:00.4", None, code=0x010601, group=17)
    assert refusal(only(tree)) is None


def test_two_ports_of_one_group_may_be_taken_together_only(tree: MachineTree) -> None:
    tree.device(PORT, "i40e", group=17)
    tree.device(SISTER, "i40e", group=17)
    first, second = read_nics(tree.roots, Network())
    assert SISTER in (refusal(first) or "")
    assert refusal(first, together=(PORT, SISTER)) is None
    assert refusal(second, together=(PORT, SISTER)) is None


def test_a_driver_that_shares_its_nic_needs_no_iommu_and_no_other_driver(tree: MachineTree) -> None:
    tree.device(PORT, "mlx5_core")
    nic = only(tree)
    assert not nic.rebindable
    assert refusal(nic) is None


def test_a_shared_nic_with_an_address_is_refused_all_the_same(tree: MachineTree) -> None:
    tree.device(PORT, "mlx5_core")
    tree.interface("lab0", PORT)
    network = Network(addresses={"lab0": ("2001:db8::1",)})
    assert "2001:db8::1" in (refusal(only(tree, network)) or "")


def test_a_nic_with_virtual_functions_is_refused(tree: MachineTree) -> None:
    folder = tree.device(PORT, "i40e", group=17)
    write(folder / "sriov_numvfs", "4\n")
    assert "4 virtual functions" in (refusal(only(tree)) or "")


def test_a_nic_that_another_program_holds_is_refused_with_its_process(tree: MachineTree) -> None:
    tree.device(PORT, "vfio-pci", group=17)
    handle = tree.roots.proc / "4711" / "fd" / "9"
    handle.parent.mkdir(parents=True)
    handle.symlink_to("/dev/vfio/17")
    assert "process 4711" in (refusal(only(tree)) or "")


def test_an_address_may_leave_the_domain_out(tree: MachineTree) -> None:
    tree.device(PORT, "i40e")
    nics = read_nics(tree.roots, Network())
    assert find_nic("03:00.0", nics) == find_nic(PORT, nics) == nics[0]
    assert find_nic("04:00.0", nics) is None


def test_uppers_are_read_from_links_of_the_interface(tree: MachineTree) -> None:
    tree.device(PORT, "i40e", group=17)
    folder = tree.interface("lab0", PORT)
    bond = tree.roots.sys / "devices" / "virtual" / "net" / "bond0"
    write(bond / "carrier", "1\n")
    link(tree.roots.sys / "class" / "net" / "bond0", bond)
    link(folder / "upper_bond0", bond)
    link(folder / "master", bond)
    network = Network.read(tree.roots, {})
    assert network.uppers("lab0") == ("bond0",)
    assert "part of bond0" in (refusal(only(tree, network)) or "")


# A NIC is bound for a while and given back; a refused one leaves everything as it was.

PORTS = ("0000:03:00.0", "0000:03:00.1")


@pytest.fixture(name="tree_of_binding")
def fixture_tree_of_binding(tmp_path: Path) -> MachineTree:
    tree = MachineTree(tmp_path / "machine")
    tree.driver("vfio-pci")
    for number, address in enumerate(PORTS):
        tree.device(address, "i40e", group=17 + number)
        tree.interface(f"lab{number}", address)
    return tree


@pytest.fixture(name="place")
def fixture_place(tmp_path: Path) -> Iterator[Workspace]:
    with workspace("test", tmp_path / "run", Roots(tmp_path / "machine")) as place:
        yield place


def driver_of(tree: MachineTree, address: str) -> str | None:
    return link_name(tree.devices / address / "driver")


def promised(place: Workspace) -> list[BindDriver]:
    """Return the devices that are still to be given back."""
    found = (entry.undo for entry in pending(place.folder / NAME))
    return [undo for undo in found if isinstance(undo, BindDriver)]


def wait_for(tree: MachineTree, address: str, driver: str | None) -> None:
    """The kernel is a thread here; the real one has done it when the write returns."""
    deadline = time.monotonic() + 5
    while driver_of(tree, address) != driver and time.monotonic() < deadline:
        time.sleep(0.001)
    assert driver_of(tree, address) == driver


def test_nics_are_bound_and_get_their_old_drivers_back(
    tree_of_binding: MachineTree, place: Workspace
) -> None:
    with kernel(tree_of_binding):
        with bound(PORTS, place, roots=tree_of_binding.roots, network=Network()) as nics:
            assert [driver_of(tree_of_binding, address) for address in PORTS] == ["vfio-pci"] * 2
            assert [nic.driver for nic in nics] == ["i40e"] * 2
        for address in PORTS:
            wait_for(tree_of_binding, address, "i40e")
            override = tree_of_binding.devices / address / "driver_override"
            assert override.read_text().strip() == ""


def test_what_to_give_back_is_on_disk_while_a_nic_is_bound(
    tree_of_binding: MachineTree, place: Workspace
) -> None:
    with kernel(tree_of_binding):
        with bound(PORTS[:1], place, roots=tree_of_binding.roots, network=Network()):
            (undo,) = promised(place)
            assert (undo.address, undo.driver) == (PORTS[0], "i40e")
        assert promised(place) == []


def test_a_nic_that_had_no_driver_has_none_again(
    tree_of_binding: MachineTree, place: Workspace
) -> None:
    (tree_of_binding.devices / PORTS[0] / "driver").unlink()
    with kernel(tree_of_binding):
        with bound(PORTS[:1], place, roots=tree_of_binding.roots, network=Network()):
            assert driver_of(tree_of_binding, PORTS[0]) == "vfio-pci"
        wait_for(tree_of_binding, PORTS[0], None)


def test_nothing_is_touched_when_one_of_several_is_refused(
    tree_of_binding: MachineTree, place: Workspace
) -> None:
    network = Network(addresses={"lab1": ("192.0.2.7",)})
    asked = (*PORTS, "0000:09:00.0")
    with (
        pytest.raises(NotReadyError) as raised,
        bound(asked, place, roots=tree_of_binding.roots, network=network),
    ):
        pytest.fail("it was bound")
    assert [problem.what for problem in raised.value.problems] == [
        f"{PORTS[1]} must not be taken from the kernel",
        "there is no NIC at 0000:09:00.0",
    ]
    assert all(problem.fix for problem in raised.value.problems)
    assert [driver_of(tree_of_binding, address) for address in PORTS] == ["i40e"] * 2
    assert promised(place) == []


def test_a_missing_driver_is_named_with_the_command_that_loads_it(
    tmp_path: Path, place: Workspace
) -> None:
    tree = MachineTree(tmp_path / "machine")
    tree.device(PORTS[0], "i40e", group=17)
    with (
        pytest.raises(NotReadyError) as raised,
        bound(PORTS[:1], place, roots=tree.roots, network=Network()),
    ):
        pytest.fail("it was bound")
    assert raised.value.problems[0].fix == "modprobe vfio-pci"


@pytest.mark.parametrize("driver", ["mlx5_core", "vfio-pci", "uio_pci_generic"])
def test_a_driver_that_already_lets_programs_in_stays(
    tmp_path: Path, place: Workspace, driver: str
) -> None:
    tree = MachineTree(tmp_path / "machine")
    tree.device(PORTS[0], driver, group=17)
    with bound(PORTS[:1], place, roots=tree.roots, network=Network()):
        assert driver_of(tree, PORTS[0]) == driver
        assert promised(place) == []


def test_without_an_iommu_vfio_has_to_be_told_too(tmp_path: Path, place: Workspace) -> None:
    tree = MachineTree(tmp_path / "machine")
    tree.driver("vfio-pci")
    tree.device(PORTS[0], "i40e")
    switch = tree.sys("module/vfio/parameters/enable_unsafe_noiommu_mode", "N\n")
    asked = bound(PORTS[:1], place, roots=tree.roots, network=Network(), without_iommu=True)
    with pytest.raises(NotReadyError) as raised, asked:
        pytest.fail("it was bound")
    assert raised.value.problems[0].fix == f"echo Y > {switch}"
    switch.write_text("Y\n")
    with (
        kernel(tree),
        bound(PORTS[:1], place, roots=tree.roots, network=Network(), without_iommu=True),
    ):
        assert driver_of(tree, PORTS[0]) == "vfio-pci"


def test_a_driver_that_refuses_the_device_is_an_error_and_the_old_one_comes_back(
    tree_of_binding: MachineTree, place: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    def seen(path: Path) -> str | None:
        """From when it is free on, nobody takes it, and so that is waited for briefly."""
        if (found := link_name(path)) is None:
            monkeypatch.setattr(binding, "BOUND_S", 0.1)
        return found

    monkeypatch.setattr(binding, "link_name", seen)
    with kernel(tree_of_binding, ignored="vfio-pci"):
        with (
            pytest.raises(ComponentError, match="no driver, not to vfio-pci"),
            bound(PORTS[:1], place, roots=tree_of_binding.roots, network=Network()),
        ):
            pytest.fail("it was bound")
        wait_for(tree_of_binding, PORTS[0], "i40e")


def test_pci_addresses_are_told_from_other_devices() -> None:
    devices = ("0000:03:00.0,queues=2", "03:00.1", "net_af_packet0,iface=veth0", "/run/sock")
    assert pci_addresses(devices) == ("0000:03:00.0", "0000:03:00.1")


# What interfaces are used for: addresses, default routes, and the ssh session, sudo or not.

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
