"""Where parts are placed, and what is refused: CPUs and paths that the machine does not have."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from vsperf.config.case import Testbed
from vsperf.deploy.placement import place
from vsperf.errors import NotReadyError, SpecError
from vsperf.host.binding import pci_addresses
from vsperf.host.cpus import Cpu, CpuNeed, CpuTopology, read_topology
from vsperf.host.files import Roots
from vsperf.host.workspace import require_short

TWO_CPUS = CpuTopology((Cpu(0, core=0), Cpu(1, core=1)))


def test_threads_of_one_part_never_share_a_cpu() -> None:
    with pytest.raises(SpecError, match="3 CPUs are wanted for pmd, and there are 2"):
        place([CpuNeed("pmd", 3)], TWO_CPUS)


def test_different_parts_may_share_a_cpu_and_the_plan_says_so() -> None:
    found = place([CpuNeed("pmd", 2), CpuNeed("generator", 1)], TWO_CPUS)
    assert sorted(found.of("pmd")) == [0, 1]
    assert any("functional only" in note for note in found.notes)


def test_a_folder_whose_sockets_would_have_too_long_a_path_is_refused() -> None:
    require_short(["phy0.sock"], Path("/run/vsperf"))
    with pytest.raises(NotReadyError, match="too long for sockets"):
        require_short(["phy0.sock"], Path("/" + "x" * 80))
    with pytest.raises(NotReadyError, match="too long for sockets"):
        require_short(["x" * 80 + ".sock"], Path("/run/vsperf"))


PARTS = [CpuNeed("pmd", 1), CpuNeed("switch main", 1, busy=False), CpuNeed("generator", 1)]


def test_vnfs_share_with_the_switch_before_they_share_with_the_generator() -> None:
    """What the generator does late it does not do at all, and the result would be its own."""
    found = place([*PARTS, CpuNeed("vm1", 1), CpuNeed("vm2", 1)], TWO_CPUS)
    assert found.of("vm1") == found.of("vm2") == found.of("pmd") != found.of("generator")


def test_vnfs_get_cpus_of_their_own_where_there_are_enough() -> None:
    four = CpuTopology(tuple(Cpu(number, core=number) for number in range(4)))
    found = place([*PARTS, CpuNeed("vm1", 1), CpuNeed("vm2", 1)], four)
    assert len({found.of(role) for role in ("pmd", "generator", "vm1", "vm2")}) == 4
    assert not any("functional only" in note for note in found.notes)


NODES = tuple(Cpu(number, node=number // 4, core=number) for number in range(8))
NIC, OTHER_NIC = "0000:81:00.0", "0000:01:00.0"
TWO_NODES = CpuTopology(NODES, {NIC: 1, OTHER_NIC: 0})


def programs(cpus: int, *others: CpuNeed) -> Mapping[str, tuple[int, ...]]:
    """Place clients and servers apart from each other, with others, on so many CPUs."""
    clients = CpuNeed("clients", 1, busy=False)
    servers = CpuNeed("servers", 1, busy=False, apart_from="clients")
    there = CpuTopology(tuple(Cpu(number, core=number) for number in range(cpus)))
    return place([*others, clients, servers], there).cpus


def test_a_part_that_is_to_be_apart_from_another_shares_with_one_that_polls_before_it_does() -> (
    None
):
    assert programs(2) == {"clients": (0,), "servers": (1,)}
    switch = CpuNeed("pmd", 1)
    few = programs(2, switch)
    assert few["clients"] != few["servers"] == few["pmd"]
    enough = programs(3, switch)
    assert len({*enough.values()}) == 3
    with pytest.raises(SpecError, match="no CPU for servers beside that of clients"):
        programs(1)


def test_polling_cpus_are_taken_near_the_nic() -> None:
    assert place(PARTS, TWO_NODES).nodes["pmd"] == (0,)
    found = place(PARTS, TWO_NODES, [NIC])
    assert (found.nodes["pmd"], found.nodes["generator"]) == ((1,), (1,))
    assert found.notes == ()


def test_isolated_cpus_come_before_near_ones() -> None:
    """What the system does on a CPU costs more than the way to another node."""
    cpus = tuple(replace(cpu, isolated=cpu.node == 0) for cpu in NODES)
    found = place(PARTS, CpuTopology(cpus, TWO_NODES.devices), [NIC])
    assert found.nodes["pmd"] == (0,)
    assert [note for note in found.notes if note.startswith(f"{NIC} is on memory node 1")]


def test_a_nic_that_is_far_from_the_cpus_that_were_chosen_is_named() -> None:
    pinned = [CpuNeed("pmd", 1, pinned=(1,)), CpuNeed("generator", 1, pinned=(2,))]
    (note,) = place(pinned, TWO_NODES, [NIC, OTHER_NIC]).notes
    assert note.startswith(f"{NIC} is on memory node 1, where none of the polling CPUs is")


def test_the_machine_says_which_node_a_device_is_near(tmp_path: Path) -> None:
    roots = Roots(tmp_path)
    for address, node in ((NIC, "1"), (OTHER_NIC, "-1")):
        folder = roots.pci / "devices" / address
        folder.mkdir(parents=True)
        (folder / "numa_node").write_text(f"{node}\n")
    assert read_topology(roots=roots).devices == {NIC: 1}


def test_the_testbed_says_which_nics_a_case_uses() -> None:
    links = {"phy0": {"speed": "10G", "switch": "81:00.0,mprq_en=1"}, "phy1": {"speed": "10G"}}
    testbed = Testbed.model_validate({"name": "lab", "links": links})
    assert pci_addresses(testbed.devices) == (NIC,)
