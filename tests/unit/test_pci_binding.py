"""A NIC is bound for a while and given back; a refused one leaves everything as it was.

No NIC has been tried: a thread does to files of sysfs what the kernel would do.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from machine_tree import MachineTree, kernel

from vsperf.errors import ComponentError, NotReadyError
from vsperf.host import binding
from vsperf.host.binding import bound, pci_addresses
from vsperf.host.files import Roots, link_name
from vsperf.host.journal import NAME, pending
from vsperf.host.network import Network
from vsperf.host.undo import BindDriver
from vsperf.host.workspace import Workspace, workspace

PORTS = ("0000:03:00.0", "0000:03:00.1")


@pytest.fixture(name="tree")
def fixture_tree(tmp_path: Path) -> MachineTree:
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


def test_nics_are_bound_and_get_their_old_drivers_back(tree: MachineTree, place: Workspace) -> None:
    with kernel(tree):
        with bound(PORTS, place, roots=tree.roots, network=Network()) as nics:
            assert [driver_of(tree, address) for address in PORTS] == ["vfio-pci"] * 2
            assert [nic.driver for nic in nics] == ["i40e"] * 2
        for address in PORTS:
            wait_for(tree, address, "i40e")
            override = tree.devices / address / "driver_override"
            assert override.read_text().strip() == ""


def test_what_to_give_back_is_on_disk_while_a_nic_is_bound(
    tree: MachineTree, place: Workspace
) -> None:
    with kernel(tree):
        with bound(PORTS[:1], place, roots=tree.roots, network=Network()):
            (undo,) = promised(place)
            assert (undo.address, undo.driver) == (PORTS[0], "i40e")
        assert promised(place) == []


def test_a_nic_that_had_no_driver_has_none_again(tree: MachineTree, place: Workspace) -> None:
    (tree.devices / PORTS[0] / "driver").unlink()
    with kernel(tree):
        with bound(PORTS[:1], place, roots=tree.roots, network=Network()):
            assert driver_of(tree, PORTS[0]) == "vfio-pci"
        wait_for(tree, PORTS[0], None)


def test_nothing_is_touched_when_one_of_several_is_refused(
    tree: MachineTree, place: Workspace
) -> None:
    network = Network(addresses={"lab1": ("192.0.2.7",)})
    asked = (*PORTS, "0000:09:00.0")
    with (
        pytest.raises(NotReadyError) as raised,
        bound(asked, place, roots=tree.roots, network=network),
    ):
        pytest.fail("it was bound")
    assert [problem.what for problem in raised.value.problems] == [
        f"{PORTS[1]} must not be taken from the kernel",
        "there is no NIC at 0000:09:00.0",
    ]
    assert all(problem.fix for problem in raised.value.problems)
    assert [driver_of(tree, address) for address in PORTS] == ["i40e"] * 2
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
    tree: MachineTree, place: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(binding, "BOUND_S", 0.1)
    with kernel(tree, ignored="vfio-pci"):
        with (
            pytest.raises(ComponentError, match="no driver, not to vfio-pci"),
            bound(PORTS[:1], place, roots=tree.roots, network=Network()),
        ):
            pytest.fail("it was bound")
        wait_for(tree, PORTS[0], "i40e")


def test_pci_addresses_are_told_from_other_devices() -> None:
    devices = ("0000:03:00.0,queues=2", "03:00.1", "net_af_packet0,iface=veth0", "/run/sock")
    assert pci_addresses(devices) == ("0000:03:00.0", "0000:03:00.1")
