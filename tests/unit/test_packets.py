"""Packets by a clock: how long each took from when it was due, also where its client was away."""

from __future__ import annotations

from fractions import Fraction

import pytest
from pydantic import ValidationError

from vsperf.records.packets import Packets, Times, enough

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


def times(count: int, lost: int = 0) -> Times:
    """Return packets that took 1, 2, 3 … ns, of which the last were lost."""
    back = tuple(range(1, count + 1 - lost))
    return Times(due=count, sent=count, lost=lost, from_due_ns=back, from_sent_ns=back)


P50, P99, P999, MOST = (Fraction(one) for one in ("1/2", "99/100", "999/1000", "1"))


def test_a_share_is_told_of_those_that_are_enough_for_it() -> None:
    found = times(1000)
    assert [found.from_due(share) for share in (P50, P99, P999, MOST)] == [500, 990, 999, 1000]
    assert times(999).from_due(P999) is None
    assert not enough(999, P999)
    assert times(1).from_due(MOST) == 1
    assert times(0).from_due(MOST) is None


def test_one_that_was_lost_took_longer_than_all_others() -> None:
    """as RFC 2681 has it; of those that came back alone nobody would see that most did not."""
    found = times(1000, lost=10)
    assert [found.from_due(share) for share in (P50, P99, P999, MOST)] == [500, 990, None, 990]
    assert times(1000, lost=11).from_due(P99) is None
    assert times(1000, lost=501).from_due(P50) is None
    assert [found.from_sent(share) for share in (P50, P99)] == [495, 981]


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


@pytest.mark.parametrize("interval_ns", [0, -1])
def test_a_record_of_packets_with_no_time_between_them_is_refused(interval_ns: int) -> None:
    """Whoever shows it would divide by that."""
    sound = packets((0, MS)).model_dump()
    with pytest.raises(ValidationError, match="need time between them"):
        Packets.model_validate({**sound, "interval_ns": interval_ns})
