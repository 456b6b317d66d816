"""How many workers send each direction, and where they run, on machines larger than this one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from simulated_cases import simulated_case

from vsperf.deploy.placement import place
from vsperf.errors import SpecError
from vsperf.host.cpus import Cpu, CpuNeed, CpuTopology
from vsperf.record.plan import Endpoint, Placement
from vsperf.spec.case import CaseSpec
from vsperf.spec.traffic import Replay
from vsperf.trafficgens.tgen.command import (
    MEMORY_BYTES,
    Options,
    command_line,
    memory_bytes,
    more_memory,
)
from vsperf.trafficgens.tgen.driver import TgenGenerator, senders
from vsperf.trafficgens.tgen.spec import TgenSpec
from vsperf.trafficgens.tgen.traffic import senders_each, workers_of
from vsperf.vnfs.process.spec import ProcessSpec

ENDPOINTS = tuple(Endpoint(link=f"phy{n}", kind="vhost-user", address=f"p{n}") for n in range(2))
TWO = CpuTopology(tuple(Cpu(number, core=number) for number in range(2)))
EIGHT = CpuTopology(tuple(Cpu(number, core=number) for number in range(8)))
SIXTY_FOUR = CpuTopology(
    tuple(Cpu(number, node=number % 32 // 16, core=number % 32) for number in range(64))
)
"""Two nodes of 16 cores with two threads each."""


def case(topology: dict[str, Any] | None = None, **settings: Any) -> CaseSpec:
    generator = TgenSpec.model_validate({"kind": "tgen", **settings})
    sections = {"topology": topology} if topology else {}
    return simulated_case(**sections).model_copy(update={"generator": generator})


def placed(asked: CaseSpec, topology: CpuTopology, pmds: int = 1) -> Placement:
    needs = TgenGenerator().needs(asked).cpus
    main = CpuNeed("switch main", 1, busy=False)
    return place([CpuNeed("pmd", pmds), main, *needs], topology)


def steps(asked: CaseSpec, placement: Placement) -> list[str]:
    return [step.action for step in TgenGenerator().plan(asked, ENDPOINTS, placement)]


@pytest.mark.parametrize(
    ("workers", "ways", "queues", "expected"),
    [
        (1, 2, 1, 1),
        (1, 2, 8, 1),
        (2, 2, 8, 1),
        (8, 2, 1, 1),
        (8, 2, 2, 2),
        (8, 1, 8, 4),
        (32, 2, 16, 8),
        (64, 2, 16, 16),
        (5, 1, 4, 2),
    ],
)
def test_those_that_send_share_the_ways(
    workers: int, ways: int, queues: int, expected: int
) -> None:
    assert senders_each(workers, ways, queues) == expected


def test_one_worker_is_no_word_of_a_stream() -> None:
    assert (workers_of(1), workers_of(3)) == ({}, {"workers": 3})


@pytest.mark.parametrize("topology", [TWO, EIGHT, SIXTY_FOUR], ids=["2", "8", "64"])
def test_unless_told_one_worker_does_all_on_any_machine(topology: CpuTopology) -> None:
    asked = case()
    placement = placed(asked, topology)
    assert len(placement.of("generator")) == 1
    start, configure = steps(asked, placement)
    assert "sends" not in start
    assert "workers" not in configure
    assert TgenGenerator().needs(asked).hugepage_bytes == MEMORY_BYTES


def test_on_eight_cpus_two_workers_send_each_direction_and_nobody_shares_a_cpu() -> None:
    asked = case(workers=6, queues=2)
    placement = placed(asked, EIGHT)
    cpus = placement.of("generator")
    assert len({*cpus, *placement.of("pmd")}) == 7
    assert not any("functional only" in note for note in placement.notes)
    one_way = asked.model_copy(
        update={"traffic": asked.traffic.model_copy(update={"direction": "forward"})}
    )
    start, configure = steps(one_way, placement)
    sending, receiving = (", ".join(map(str, half)) for half in (cpus[:3], cpus[3:]))
    assert start.endswith(f"; {sending} sends, {receiving} receives")
    assert configure.endswith("each by 2 workers with a queue of their own")
    assert "workers" not in steps(asked, placement)[1]  # three that send are one for each of two


def test_on_sixty_four_cpus_seven_send_each_direction_from_a_core_each() -> None:
    asked = case(workers=28, queues=8)
    placement = placed(asked, SIXTY_FOUR, pmds=2)
    cpus = placement.of("generator")
    assert len(set(cpus)) == 28
    cores = [SIXTY_FOUR[cpu].core for cpu in (*cpus, *placement.of("pmd"))]
    assert len(set(cores)) == len(cores)
    assert "each by 7 workers" in steps(asked, placement)[1]
    more = case(workers=32, queues=16)
    assert "each by 8 workers" in steps(more, placed(more, SIXTY_FOUR))[1]


def test_more_workers_than_cpus_are_refused() -> None:
    with pytest.raises(SpecError, match="4 CPUs are wanted for generator, and there are 2"):
        placed(case(workers=4), TWO)


def test_cpus_by_hand_say_how_many_workers_there_are() -> None:
    asked = case(cpus="1-4", workers=2, queues=2)
    (need,) = TgenGenerator().needs(asked).cpus
    assert (need.count, need.pinned) == (4, (1, 2, 3, 4))


def test_a_machine_with_one_queue_is_sent_to_by_one_worker() -> None:
    asked = case(topology={"name": "v2v", "paths": [["vm1", "vm2"]]}, queues=4)
    machines = ProcessSpec.model_validate({"kind": "process", "queues": 2})
    options = Options(cpus=tuple(range(32)), queues=4)
    assert senders(asked, options) == 1
    assert senders(asked.model_copy(update={"vnf": machines}), options) == 2


def test_a_file_is_replayed_by_one_worker() -> None:
    asked = case(queues=4)
    replay = Replay(file="/tmp/seen.pcap")
    traffic = asked.traffic.model_copy(update={"replay": replay})
    options = Options(cpus=tuple(range(8)), queues=4)
    assert senders(asked, options) == 2
    assert senders(asked.model_copy(update={"traffic": traffic}), options) == 1


def test_memory_grows_with_workers_and_queues() -> None:
    assert memory_bytes(1, 1, 1024) == MEMORY_BYTES
    sizes = [more_memory(workers, queues, 1024) for workers, queues in ((2, 1), (2, 2), (16, 8))]
    assert sizes == sorted(set(sizes))
    assert all(size % (2 << 20) == 0 for size in sizes)


def test_without_hugepages_memory_grows_as_well() -> None:
    options = Options(cpus=(0, 1), queues=2, hugepages=False)
    argv = command_line("tgen", "n", Path("/run/x.sock"), [], options)
    taken = int(argv[argv.index("-m") + 1])
    assert taken == 512 + (more_memory(2, 2, 1024) >> 20) > 512
