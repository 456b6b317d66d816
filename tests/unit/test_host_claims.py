"""Claims on hugepages: runs that take place at once can count on theirs, and nothing stays."""

from __future__ import annotations

import threading

import pytest
from claims_world import PAGE, World, fixture_world

from vsperf.errors import NotReadyError
from vsperf.host.files import Roots
from vsperf.host.hugepages import remainders, require_memory, reserve
from vsperf.host.workspace import workspace

__all__ = ["fixture_world"]


@pytest.mark.parametrize("ends_first", ["a", "b"])
@pytest.mark.parametrize("used", [False, True])
def test_whichever_of_two_runs_ends_first_all_is_as_before(
    world: World, ends_first: str, used: bool
) -> None:
    pages = {"a": 10, "b": 30}
    world.begin("a", pages["a"])
    world.use(10 if used else 0)
    world.begin("b", pages["b"])
    assert world.total == 40
    world.use(40 if used else 0)
    stays = "b" if ends_first == "a" else "a"
    world.use(pages[stays] if used else 0)
    world.end(ends_first)
    assert world.total == pages[stays]
    world.use(0)
    world.end(stays)
    assert world.total == 7
    assert not world.ledger.parent.exists()


def test_a_run_does_not_count_on_free_pages_that_another_counts_on(world: World) -> None:
    world.set_total(20)
    world.begin("a", 15)
    world.begin("b", 15)
    assert world.total == 30
    world.end("a")
    assert world.total == 20  # as many as there were, and more than b needs


def test_what_the_first_run_added_stays_for_the_second_and_goes_with_it(world: World) -> None:
    world.begin("a", 100)
    world.end("a")
    world.begin("a", 100)
    world.begin("b", 20)
    world.end("a")
    assert world.total == 20
    world.end("b")
    assert world.total == 7


def test_pages_of_other_programs_are_not_counted_on(world: World) -> None:
    world.use(5)
    world.begin("a", 10)
    assert world.total == 15
    world.use(15)
    world.begin("b", 10)
    assert world.total == 25
    world.use(5)
    world.end("a")
    assert world.total == 15
    world.end("b")
    assert world.total == 7


def test_a_program_that_came_after_the_first_run_is_seen_by_the_second(world: World) -> None:
    world.begin("a", 10)
    world.use(6 + 10)  # of which 6 are not of a
    world.set_total(16)
    world.begin("b", 10)
    assert world.total == 26


def test_runs_that_begin_at_the_same_moment_have_pages_each(world: World) -> None:
    world.set_total(10)
    everybody_is_there, errors = threading.Barrier(4), []
    together = threading.Barrier(4)
    totals = []

    def run(name: str) -> None:
        try:
            with workspace(name, world.folder / "runs", Roots(world.folder)) as place:
                everybody_is_there.wait(10)
                with reserve({0: 10 * PAGE}, place, world.machine):
                    together.wait(10)
                    totals.append(world.total)
                    together.wait(10)
        except Exception as error:
            errors.append(error)

    threads = [threading.Thread(target=run, args=(f"run {number}",)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert errors == []
    assert totals == [40] * 4
    assert world.total == 10
    assert not world.ledger.exists()


def test_memory_that_another_run_counts_on_is_refused_before_anything_starts(world: World) -> None:
    world.set_total(4000)  # and 4096 more could be had
    world.begin("a", 3000)
    require_memory({0: 4900 * PAGE}, world.machine)
    with pytest.raises(NotReadyError) as caught:
        require_memory({0: 5000 * PAGE}, world.machine)
    assert caught.value.problems[0].what == (
        "10000 MB of hugepages are needed on node 0, and 2000 MB are free "
        "that no other run counts on, of 8000 MB"
    )


def test_pages_that_a_user_added_meanwhile_stay(world: World) -> None:
    world.begin("a", 10)
    world.set_total(world.total + 5)
    world.end("a")
    assert world.total == 7 + 5


def test_pages_that_another_program_took_back_meanwhile_are_not_added_again(world: World) -> None:
    world.begin("a", 10)
    world.set_total(world.total - 4)
    world.end("a")
    assert world.total == 7 - 4


def test_pages_that_somebody_uses_at_the_end_are_taken_back_by_the_next_run(world: World) -> None:
    world.begin("a", 20)
    world.use(12)
    world.end("a")
    assert world.total == 12
    world.use(0)
    world.begin("b", 5)
    assert world.total == 12
    world.end("b")
    assert world.total == 7
    assert not world.ledger.exists()


def test_pages_that_somebody_used_at_the_end_can_be_cleaned_up_later(world: World) -> None:
    world.begin("a", 20)
    assert remainders(world.machine) == ()
    world.use(15)
    world.end("a")
    assert remainders(world.machine) == ()  # there is nothing to take yet
    world.use(9)
    (rest,) = remainders(world.machine)
    assert rest.pages == 6
    rest.take_back()
    assert world.total == 9
    world.use(0)
    (rest,) = remainders(world.machine)
    rest.take_back()
    assert world.total == 7
    assert remainders(world.machine) == ()


def test_a_number_that_a_user_set_after_the_last_run_is_kept(world: World) -> None:
    world.begin("a", 20)
    world.use(12)
    world.end("a")
    world.set_total(50)
    world.use(0)
    world.begin("b", 60)
    world.end("b")
    assert world.total == 50
