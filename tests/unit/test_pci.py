"""NICs as sysfs shows them, and what speaks against taking one from the kernel."""

from __future__ import annotations

from pathlib import Path

import pytest
from machine_tree import MachineTree, link, write

from vsperf.host.network import Network
from vsperf.host.pci import Nic, find_nic, read_nics, refusal

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
                above={"lab0": ("bond0",), "bond0": ("bond0.5",)},
                session=frozenset({"bond0.5"}),
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
