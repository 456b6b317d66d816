"""Where noise runs: as near to the part that it disturbs as was asked for, or refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from vsperf.deploy.placement import place, sharing
from vsperf.errors import SpecError
from vsperf.host.cpus import Beside, Cpu, CpuNeed, CpuTopology, read_topology
from vsperf.host.files import Roots

PARTS = [CpuNeed("pmd", 1), CpuNeed("generator", 1), CpuNeed("vsperf", 1, busy=False)]
THREADS = CpuTopology(
    tuple(
        Cpu(number, core=number % 8, cache=number // 4 % 2 * 4, socket=number // 4 % 2)
        for number in range(16)
    )
)
"""Two sockets of four cores with two threads each, one last-level cache per socket."""
TWO_CPUS = CpuTopology((Cpu(0, core=0, cache=0), Cpu(1, core=1, cache=0)))


def noise(near: str, count: int = 1, to: str = "pmd", *, share: bool = False) -> CpuNeed:
    return CpuNeed("noise", count, beside=Beside(to, near, share))


@pytest.mark.parametrize("near", ["same-cpu", "sibling", "same-cache", "other-socket"])
def test_the_other_parts_are_where_they_are_without_noise(near: str) -> None:
    quiet, loud = place(PARTS, THREADS), place([*PARTS, noise(near)], THREADS)
    assert {role: loud.of(role) for role in quiet.cpus} == quiet.cpus


def test_each_distance_is_what_it_says() -> None:
    def seen(near: str) -> tuple[Cpu, Cpu]:
        found = place([*PARTS, noise(near)], THREADS)
        return THREADS[found.of("pmd")[0]], THREADS[found.of("noise")[0]]

    switch, load = seen("same-cpu")
    assert load.number == switch.number
    switch, load = seen("sibling")
    assert (load.core, load.number != switch.number) == (switch.core, True)
    switch, load = seen("same-cache")
    assert (load.cache, load.core != switch.core) == (switch.cache, True)
    switch, load = seen("other-socket")
    assert load.socket != switch.socket


def test_noise_takes_no_cpu_that_polls_while_there_is_another() -> None:
    found = place([*PARTS, noise("same-cache", 2)], THREADS)
    taken = {*found.of("pmd"), *found.of("generator")}
    assert len(found.of("noise")) == 2
    assert not taken & set(found.of("noise"))
    assert not any("functional only" in note for note in found.notes)


def test_on_two_cpus_noise_is_refused_unless_it_is_to_share_one() -> None:
    with pytest.raises(SpecError, match="no CPU is left for noise") as caught:
        place([*PARTS, noise("same-cache")], TWO_CPUS)
    (problem,) = caught.value.problems
    assert "CPU 0 has generator" in str(problem.why)
    assert "noise.share=true" in str(problem.fix)


def test_noise_that_may_share_a_cpu_takes_a_free_one_while_there_is_one() -> None:
    either = [place([*PARTS, noise("same-cache", share=share)], THREADS) for share in (True, False)]
    assert either[0] == either[1]


def test_noise_that_is_to_disturb_by_sharing_a_cpu_does_so_unasked() -> None:
    needs = [*PARTS, noise("same-cpu")]
    found = place(needs, THREADS)
    assert found.of("noise") == found.of("pmd")
    assert sharing(found, needs) == {"pmd", "noise"}
    assert any("functional only" in note for note in found.notes)


def test_on_two_cpus_noise_shares_the_generators_and_the_plan_says_what_that_is_worth() -> None:
    needs = [*PARTS, noise("same-cache", share=True)]
    found = place(needs, TWO_CPUS)
    assert found.of("noise") == found.of("generator") != found.of("pmd")
    assert any("shared by generator and noise" in note for note in found.notes)
    assert any("functional only" in note for note in found.notes)
    assert sharing(found, needs) == {"generator", "noise"}


def test_a_core_that_noise_has_to_share_with_another_part_is_said() -> None:
    """Of two cores with two threads each, the switch has one and the generator the other."""
    threads = CpuTopology(tuple(Cpu(number, core=number % 2, cache=0) for number in range(4)))
    found = place([*PARTS, noise("same-cache")], threads)
    (generator,) = found.of("generator")
    (load,) = found.of("noise")
    assert threads[load].core == threads[generator].core
    assert any(f"a thread of the core of generator ({generator})" in one for one in found.notes)
    quiet = place([*PARTS, noise("same-cache")], THREADS)
    assert not any("a thread of the core" in one for one in quiet.notes)


def test_instances_without_a_cpu_of_their_own_take_turns() -> None:
    found = place([*PARTS, noise("same-cache", 3, share=True)], TWO_CPUS)
    assert len(found.of("noise")) == 1
    assert any("3 instances of noise take turns" in note for note in found.notes)


@pytest.mark.parametrize(
    ("near", "said"),
    [("sibling", "thread of the core"), ("other-socket", "another socket")],
)
def test_what_a_machine_does_not_have_is_refused(near: str, said: str) -> None:
    with pytest.raises(SpecError, match=said) as caught:
        place([*PARTS, noise(near)], TWO_CPUS)
    assert "0, 1" in str(caught.value.problems[0].why)


def test_noise_near_a_part_without_a_cpu_is_refused() -> None:
    with pytest.raises(SpecError, match="near vm3, which has no CPU of its own"):
        place([*PARTS, noise("same-cpu", to="vm3")], TWO_CPUS)


def test_a_machine_that_hides_its_caches_is_told_of() -> None:
    hidden = CpuTopology(tuple(Cpu(number, core=number) for number in range(4)))
    found = place([*PARTS, noise("same-cache")], hidden)
    assert any("this machine does not say" in note for note in found.notes)


def test_chosen_cpus_are_taken() -> None:
    need = CpuNeed("noise", 1, pinned=(15,), beside=Beside("pmd", "same-cache"))
    assert place([*PARTS, need], THREADS).of("noise") == (15,)


def test_caches_and_sockets_are_read_from_the_kernels_files(tmp_path: Path) -> None:
    roots = Roots(tmp_path)
    for number in range(4):
        folder = roots.cpus / f"cpu{number}"
        (folder / "topology").mkdir(parents=True)
        (folder / "topology" / "physical_package_id").write_text(f"{number // 2}\n")
        for index, (level, shared) in enumerate([(1, f"{number}"), (3, f"{number // 2 * 2}-3")]):
            cache = folder / "cache" / f"index{index}"
            cache.mkdir(parents=True)
            (cache / "level").write_text(f"{level}\n")
            (cache / "shared_cpu_list").write_text(f"{shared}\n")
    found = read_topology(frozenset(range(4)), roots)
    assert [(cpu.cache, cpu.socket) for cpu in found.cpus] == [(0, 0), (0, 0), (2, 1), (2, 1)]
