"""Packets that a client sent by a clock and a server sent back: one by one, as they were seen.

A client that is kept from running sends nothing meanwhile, so whoever looks at sent packets alone
misses just the time in which others would have waited. So each packet that was due has a place
here, and a time from when it was due, whether it was sent then, later, or not at all.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Self

from pydantic import model_validator

from vsperf.records.base import Record


@dataclass(frozen=True, slots=True)
class Times:
    """How long packets of a part of the time took, in order of their lengths."""

    due: int
    """Packets that were due."""
    sent: int
    lost: int
    """Sent, and never back."""
    from_due_ns: tuple[int, ...]
    """From when each was due to its answer, of those that were answered."""
    from_sent_ns: tuple[int, ...]
    """From when those were sent that were, to their answers."""

    @property
    def unsent(self) -> int:
        """Packets that were due, and that the client did not send."""
        return self.due - self.sent

    def from_due(self, share: Fraction) -> int | None:
        """Return the time from when they were due that such a share did not exceed.

        One that was lost took infinitely long (as RFC 2681 has it), so there is none where more
        were lost than the share leaves out. The longest is that of those that were answered.
        """
        return _at(self.from_due_ns, share, self.due)

    def from_sent(self, share: Fraction) -> int | None:
        """Return the same from when they were sent, of those that came back alone."""
        return _at(self.from_sent_ns, share, len(self.from_sent_ns))


def enough(count: int, share: Fraction) -> bool:
    """Whether so many packets can tell: of a thousand one is the longest of a thousand."""
    return count > 0 and (share == 1 or count * (1 - share) >= 1)


def _at(ordered: Sequence[int], share: Fraction, count: int) -> int | None:
    if share == 1:
        return ordered[-1] if ordered else None
    rank = -(-share.numerator * count // share.denominator)
    return ordered[rank - 1] if enough(count, share) and rank <= len(ordered) else None


class Packets(Record):
    """All packets that were due by the clock of one client.

    Number k was due k intervals after the first one was sent. It is the one that was sent nearest
    to that: whoever comes later by more than half an interval is the next one.
    """

    interval_ns: int
    late_ns: tuple[int | None, ...]
    """How long after it was due each of them was sent, below 0 for before; None if it was not."""
    took_ns: tuple[int | None, ...]
    """From when it was sent until it was back; None if it was not sent, or lost."""
    lost_there: int
    """Lost on the way to the server, as far as the program tells which way it was."""
    lost_back: int
    duplicates: int
    """Came back once more."""
    out_of_order: int
    """Came back after one that was sent later."""

    @model_validator(mode="after")
    def _accounts_add_up(self) -> Self:
        if self.interval_ns <= 0:
            raise ValueError("packets by a clock need time between them")
        pairs = tuple(zip(self.late_ns, self.took_ns, strict=False))
        if len(self.late_ns) != len(self.took_ns) or any(
            late is None and took is not None for late, took in pairs
        ):
            raise ValueError("packets came back that nobody sent")
        lost = sum(late is not None and took is None for late, took in pairs)
        if self.lost_there + self.lost_back > lost:
            raise ValueError("more packets were lost there and back than were lost")
        return self

    @property
    def whole(self) -> Times:
        return self.within(0, len(self.late_ns) * self.interval_ns)

    def within(self, began_ns: int, ended_ns: int) -> Times:
        """Return how long those took that were due in a time, which counts from the first one."""
        numbers = self._numbers(began_ns, ended_ns)
        sent = [number for number in numbers if self.late_ns[number] is not None]
        told = [self.took_ns[number] for number in sent]
        due = [self.from_due_ns[number] for number in numbers]
        return Times(
            due=len(numbers),
            sent=len(sent),
            lost=told.count(None),
            from_due_ns=tuple(sorted(one for one in due if one is not None)),
            from_sent_ns=tuple(sorted(one for one in told if one is not None)),
        )

    def longest_ns(self, began_ns: int, ended_ns: int) -> int | None:
        """Return the longest time of those that were due in a time; None where no one was back."""
        found = (self.from_due_ns[number] for number in self._numbers(began_ns, ended_ns))
        return max((one for one in found if one is not None), default=None)

    @cached_property
    def from_due_ns(self) -> tuple[int | None, ...]:
        """How long each took from when it was due; None of those that were lost.

        One that was not sent took until the answer to the next that was, since that is when its
        client came back; behind the last one, as long as there was time.
        """
        found: list[int | None] = []
        answered_ns: int | None = len(self.late_ns) * self.interval_ns
        for number in range(len(self.late_ns) - 1, -1, -1):
            late, took = self.late_ns[number], self.took_ns[number]
            due_ns = number * self.interval_ns
            if late is not None:
                answered_ns = None if took is None else due_ns + max(0, late) + took
            found.append(None if answered_ns is None else answered_ns - due_ns)
        return tuple(reversed(found))

    def _numbers(self, began_ns: int, ended_ns: int) -> range:
        first, last = (-(-max(0, at) // self.interval_ns) for at in (began_ns, ended_ns))
        return range(min(first, len(self.late_ns)), min(last, len(self.late_ns)))
