"""Packets by a clock: how long each took from when it was due, also where its client was away."""

from __future__ import annotations

from fractions import Fraction

import pytest
from pydantic import ValidationError

from vsperf.records.packets import Packets, at_share

MS = 1_000_000
STEP = 10 * MS


def packets(*rows: tuple[int | None, int | None], **counts: int) -> Packets:
    """Return packets 10 ms apart, each as how late it was sent and how long it took."""
    known = {"lost_there": 0, "lost_back": 0, "duplicates": 0, "out_of_order": 0, **counts}
    late, took = zip(*rows, strict=True)
    return Packets(interval_ns=STEP, late_ns=late, took_ns=took, **known)


def test_one_that_was_sent_late_took_as_long_as_from_when_it_was_due() -> None:
    found = packets((0, MS), (3 * MS, MS), (-2 * MS, MS))
    assert found.from_due_ns == (MS, 4 * MS, MS), "one that left early took what it took"
    assert found.whole.from_sent_ns == (MS, MS, MS)


def test_one_that_was_not_sent_waited_for_the_answer_to_the_next_one() -> None:
    """Its client stood still for 25 ms: of what was sent nobody would see that."""
    found = packets((0, MS), (None, None), (None, None), (5 * MS - 1, MS), (0, MS))
    assert found.from_due_ns == (MS, 26 * MS - 1, 16 * MS - 1, 6 * MS - 1, MS)
    assert max(found.whole.from_sent_ns) == MS
    assert (found.whole.due, found.whole.sent, found.whole.unsent, found.whole.lost) == (5, 3, 2, 0)


def test_those_that_a_stall_at_the_end_kept_waited_as_long_as_there_was_time() -> None:
    found = packets((0, MS), (None, None), (None, None))
    assert found.from_due_ns == (MS, 2 * STEP, STEP)


def test_what_was_lost_has_no_time_and_lends_none_to_those_before_it() -> None:
    found = packets((0, MS), (None, None), (0, None), (0, 2 * MS))
    assert found.from_due_ns == (MS, None, None, 2 * MS)
    assert (found.whole.lost, found.whole.unsent) == (1, 1)


@pytest.mark.parametrize(
    ("began_ns", "ended_ns", "taken"),
    [
        (0, 3 * STEP, (1, 2, 3)),
        (1, 3 * STEP, (2, 3)),
        (STEP, 2 * STEP, (2,)),
        (STEP, 2 * STEP + 1, (2, 3)),
        (-STEP, 9 * STEP, (1, 2, 3)),
        (5 * STEP, 9 * STEP, ()),
    ],
)
def test_a_window_has_those_that_were_due_in_it(
    began_ns: int, ended_ns: int, taken: tuple[int, ...]
) -> None:
    found = packets((0, 1), (0, 2), (0, 3))
    assert found.within(began_ns, ended_ns).from_due_ns == taken
    assert found.longest_ns(began_ns, ended_ns) == max(taken, default=None)


def test_a_share_is_told_of_those_that_are_enough_for_it() -> None:
    ordered = tuple(range(1, 1001))
    assert at_share(ordered, Fraction(1, 2)) == 500
    assert at_share(ordered, Fraction(99, 100)) == 990
    assert at_share(ordered, Fraction(999, 1000)) == 999
    assert at_share(ordered, Fraction(1)) == 1000
    assert at_share(ordered[:999], Fraction(999, 1000)) is None
    assert at_share((7,), Fraction(1)) == 7
    assert at_share((), Fraction(1)) is None


@pytest.mark.parametrize(
    "wrong",
    [
        {"late_ns": (0, None), "took_ns": (1, 1)},
        {"late_ns": (0, 0), "took_ns": (1,)},
        {"late_ns": (0, 0), "took_ns": (1, None), "lost_there": 1, "lost_back": 1},
    ],
    ids=["back and not sent", "of another length", "more lost than lost"],
)
def test_accounts_that_do_not_add_up_are_refused(wrong: dict[str, object]) -> None:
    known = {"interval_ns": STEP, "lost_there": 0, "lost_back": 0}
    counts = {"duplicates": 0, "out_of_order": 0}
    with pytest.raises(ValidationError):
        Packets.model_validate({**known, **counts, **wrong})
