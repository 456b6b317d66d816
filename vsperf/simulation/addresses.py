"""The table of a simulated bridge: which addresses it knows, and how fast it learns them."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction

from vsperf.quantities.units import NANOSECONDS
from vsperf.records.switch import AddressCounts


@dataclass
class AddressTable:
    """Learns the first so many of those that come too fast, and forgets the oldest when full.

    The addresses of one direction are numbered, and each trial begins with the first of them.
    """

    most: int
    per_second: Fraction | None = None
    """Addresses that it can learn in a second; None for as many as come."""
    learned: int = 0
    evicted: int = 0
    _known: dict[tuple[str, int], None] = field(default_factory=dict)
    """Link and number of each, the oldest first."""

    @property
    def counts(self) -> AddressCounts:
        """The counters, as a switch says them."""
        return AddressCounts(
            known=len(self._known),
            most=self.most,
            learned=self.learned,
            evicted=self.evicted,
            expired=0,
        )

    def see(self, link: str, addresses: int, duration_ns: int) -> None:
        """Learn what can be learned of addresses that come evenly within a time."""
        new = addresses
        if self.per_second is not None:
            new = min(new, int(self.per_second * duration_ns / NANOSECONDS))
        for number in range(new):
            if (link, number) in self._known:
                del self._known[link, number]  # it moves to the end
            else:
                self.learned += 1
                if len(self._known) >= self.most:
                    del self._known[next(iter(self._known))]
                    self.evicted += 1
            self._known[link, number] = None

    def flush(self) -> None:
        """Forget all addresses."""
        self._known.clear()
