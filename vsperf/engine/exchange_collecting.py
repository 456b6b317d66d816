"""What is collected around exchanges of programs. It never changes what an exchange says.

Light collectors look when all programs wait for the instant, and when the last client has ended.
Heavy ones have exchanges of their own when the answer is there, as they have trials of frames: they
are started beside programs that wait, since they look at these.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field

from vsperf.deploy.exchanging import Around
from vsperf.deploy.live_rates import Tell
from vsperf.engine.collecting import Collecting, Taken, why_of
from vsperf.errors import ComponentError
from vsperf.quantities.human import human_ns
from vsperf.records.exchange import Exchange
from vsperf.records.series import OwnExchange
from vsperf.records.trial import Purpose
from vsperf.search.base import Budget

LIGHT_NS = 300_000_000
"""For which programs wait for each light collector: some ask the switch."""
HEAVY_NS = 3_000_000_000
"""For which they wait for a heavy one, which starts a program for each role."""
AROUND_NS = 2_000_000_000
"""What an exchange takes beside its time."""

Make = Callable[[int, int, Around], Exchange]
"""(index, how long, who looks) → an exchange that is in no record."""


@dataclass
class Looking:
    """Light collectors around one exchange, and who watches it."""

    collecting: Collecting
    index: int
    tell: Tell | None = None

    @property
    def lead_ns(self) -> int:
        """How long all of them may take for their first look."""
        return LIGHT_NS * len(self.collecting.running)

    def begin(self) -> None:
        """Have them look."""
        self.collecting.begin(self.index, Purpose.SEARCH)

    def end(self) -> None:
        """Have them look again."""
        self.collecting.end()


@dataclass
class _Own:
    """A heavy collector around an exchange of its own."""

    taken: Taken
    index: int
    stack: ExitStack
    collecting: Collecting = field(default_factory=Collecting)
    lead_ns: int = HEAVY_NS
    tell: None = None

    def begin(self) -> None:
        """Start it beside programs that wait."""
        began_ns, seat = time.monotonic_ns(), self.taken.seat
        settings = seat.case.collect[self.taken.name]
        running = self.stack.enter_context(self.taken.driver.start(settings, seat))
        self.collecting.running[self.taken.name] = (seat, running)
        self.collecting.begin(self.index, Purpose.SEARCH)
        if (took_ns := time.monotonic_ns() - began_ns) > self.lead_ns:
            raise ComponentError(f"it took {human_ns(took_ns)} to begin, and programs had begun")

    def end(self) -> None:
        """Have it look a last time, and end it."""
        self.collecting.end()
        self.stack.close()


def own_ns(collecting: Collecting) -> int:
    """Return what the exchanges of heavy collectors take."""
    lengths = [ns for taken in collecting.apart for ns in taken.own_ns]
    return sum(lengths) + len(lengths) * (HEAVY_NS + AROUND_NS)


def own_exchanges(collecting: Collecting, make: Make, budget: Budget) -> tuple[str, ...]:
    """Give each heavy collector its exchanges; return what failed, of light ones, too."""
    return (
        *collecting.warnings,
        *(said for one in collecting.apart for said in _own(one, make, budget)),
    )


def _own(taken: Taken, make: Make, budget: Budget) -> Iterator[str]:
    for index, duration_ns in enumerate(taken.own_ns, start=1):
        so_far = f"{index - 1} of {len(taken.own_ns)} exchanges for {taken.name} were made"
        without = so_far if index > 1 else f"nothing was collected by {taken.name}"
        left_ns = budget.left_ns
        if left_ns is not None and duration_ns + HEAVY_NS + AROUND_NS > left_ns:
            yield f"{without}: the time was over"
            return
        try:
            with ExitStack() as stack:
                around = _Own(taken, index, stack)
                one = make(index, duration_ns, around)
            budget.spend(one.elapsed_ns)
            taken.seat.file.append(OwnExchange(exchange=one))
        except Exception as error:  # whatever it is: the answer is there already
            yield f"the exchange for {taken.name} failed: {why_of(error)}"
            return
        yield from around.collecting.warnings
        if around.collecting.warnings:
            return
