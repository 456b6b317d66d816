"""What cannot be placed is refused: CPUs and paths that the machine does not have."""

from __future__ import annotations

from pathlib import Path

import pytest

from vsperf.deploy.placement import place
from vsperf.errors import NotReadyError, SpecError
from vsperf.host.cpus import Cpu, CpuNeed, CpuTopology
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


def test_machines_share_with_the_switch_before_they_share_with_the_generator() -> None:
    """What the generator does late it does not do at all, and the result would be its own."""
    found = place([*PARTS, CpuNeed("vm1", 1), CpuNeed("vm2", 1)], TWO_CPUS)
    assert found.of("vm1") == found.of("vm2") == found.of("pmd") != found.of("generator")


def test_machines_get_cpus_of_their_own_where_there_are_enough() -> None:
    four = CpuTopology(tuple(Cpu(number, core=number) for number in range(4)))
    found = place([*PARTS, CpuNeed("vm1", 1), CpuNeed("vm2", 1)], four)
    assert len({found.of(role) for role in ("pmd", "generator", "vm1", "vm2")}) == 4
    assert not any("functional only" in note for note in found.notes)
