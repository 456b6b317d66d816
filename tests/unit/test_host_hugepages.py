"""Hugepages: what is missing is added, what was added is taken back, and no more than that.

The tree stands for a kernel whose pages nobody uses: each page that there is, is free.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from conftest import Require
from hugepage_tree import add_pool, tree

from vsperf.errors import NotReadyError
from vsperf.host.files import Roots
from vsperf.host.hugepages import Machine, read_pools, reserve
from vsperf.host.workspace import Workspace, workspace

MEGABYTE = 1 << 20


@pytest.fixture
def place() -> Iterator[Workspace]:
    folder = Path(tempfile.mkdtemp(prefix="hugepages-"))
    folder.chmod(0o755)
    try:
        with workspace("a test", folder / "run", Roots(folder)) as made:
            yield made
    finally:
        shutil.rmtree(folder)


@pytest.fixture
def machine(place: Workspace) -> Machine:
    return tree(place.folder.parent.parent)


def use_all(number: Path) -> None:
    """Let somebody use all pages of a pool."""
    free = number.parent / "free_hugepages"
    free.unlink()
    free.write_text("0\n")


def test_pools_are_told_by_node_and_size(machine: Machine) -> None:
    for node, page_kb, pages in ((1, 2048, 3), (0, 1048576, 2), (0, 2048, 1)):
        add_pool(machine, node, page_kb, pages)
    found = [(pool.node, pool.page_bytes // MEGABYTE, pool.total) for pool in read_pools(machine)]
    assert found == [(0, 2, 1), (0, 1024, 2), (1, 2, 3)]


def test_a_kernel_without_nodes_has_its_pools_elsewhere(machine: Machine) -> None:
    pool = machine.sysfs / "kernel/mm/hugepages/hugepages-2048kB"
    pool.mkdir(parents=True)
    (pool / "nr_hugepages").write_text("5\n")
    assert [(pool.node, pool.total) for pool in read_pools(machine)] == [(0, 5)]


def test_what_is_there_is_taken_as_it_is(place: Workspace, machine: Machine) -> None:
    number = add_pool(machine, 0, 2048, 600)
    with reserve({0: 1024 * MEGABYTE}, place, machine) as (reservation,):
        assert (reservation.pages, reservation.added) == (512, 0)
        assert number.read_text() == "600\n"


def test_what_is_missing_is_added_and_taken_back(place: Workspace, machine: Machine) -> None:
    number = add_pool(machine, 0, 2048, 100)
    with reserve({0: 1024 * MEGABYTE}, place, machine) as (reservation,):
        assert (reservation.pages, reservation.added) == (512, 412)
        assert int(number.read_text()) == 512
    assert int(number.read_text()) == 100


def test_each_node_gets_its_own(place: Workspace, machine: Machine) -> None:
    first, second = (add_pool(machine, node, 2048, 0) for node in (0, 1))
    with reserve({0: 20 * MEGABYTE, 1: 40 * MEGABYTE}, place, machine):
        assert (int(first.read_text()), int(second.read_text())) == (10, 20)
    assert (int(first.read_text()), int(second.read_text())) == (0, 0)


def test_large_pages_do_where_there_are_enough_of_them(place: Workspace, machine: Machine) -> None:
    small, large = add_pool(machine, 0, 2048, 0), add_pool(machine, 0, 1048576, 4)
    with reserve({0: 1500 * MEGABYTE}, place, machine) as (reservation,):
        assert (reservation.page_bytes, reservation.pages) == (1024 * MEGABYTE, 2)
    assert (int(small.read_text()), int(large.read_text())) == (0, 4)


def test_pages_that_are_in_use_are_never_taken_back(place: Workspace, machine: Machine) -> None:
    number = add_pool(machine, 0, 2048, 0)
    with reserve({0: 20 * MEGABYTE}, place, machine):
        use_all(number)
    assert int(number.read_text()) == 10


def test_short_memory_is_refused_with_numbers(place: Workspace, machine: Machine) -> None:
    number = add_pool(machine, 0, 2048, 50)
    with (
        pytest.raises(NotReadyError) as caught,
        reserve({0: 9000 * MEGABYTE}, place, machine),
    ):
        pass
    problem = caught.value.problems[0]
    assert problem.what == "9000 MB of hugepages are needed on node 0, and 100 MB are free"
    assert problem.why is not None
    assert "8900 MB more would have to come from 8192 MB of memory" in problem.why
    assert int(number.read_text()) == 50


def test_fewer_pages_than_asked_for_are_refused(place: Workspace, machine: Machine) -> None:
    number = add_pool(machine, 0, 2048, 0)
    use_all(number)  # whatever is added has gone to somebody else at once
    with pytest.raises(NotReadyError) as caught, reserve({0: 20 * MEGABYTE}, place, machine):
        pass
    assert caught.value.problems[0].what == (
        "20 MB of hugepages are needed on node 0, and 0 MB are free"
    )


def test_without_root_the_command_that_mends_it_is_told(
    place: Workspace, machine: Machine, require: Require
) -> None:
    require("root")
    number = add_pool(machine, 0, 2048, 4)
    os.seteuid(65534)
    try:
        with pytest.raises(NotReadyError) as caught, reserve({0: 20 * MEGABYTE}, place, machine):
            pass
    finally:
        os.seteuid(0)
    problem = caught.value.problems[0]
    assert problem.why == "only root can reserve more"
    assert problem.fix == f"run vsperf as root, or: echo 10 | sudo tee {number}"


def test_a_node_without_hugepages_is_named(place: Workspace, machine: Machine) -> None:
    add_pool(machine, 0, 2048, 4)
    with (
        pytest.raises(NotReadyError, match="node 3 of this machine has no hugepages"),
        reserve({3: MEGABYTE}, place, machine),
    ):
        pass
