"""How long a run took: the one definition, for the index and for whoever looks at one run."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime


@dataclass(slots=True)
class Took:
    """From the begin of a run to its end, or to the last case that was stored.

    The time between an interruption and its resumption is none of it.
    """

    begun: str
    """When the run was, or was resumed last; as recorded."""
    seen: str
    """The last moment of it that a line tells."""
    before_s: float | None = 0.0
    """What it took until it was resumed last; None where lines tell no times."""

    @classmethod
    def since(cls, moment: str) -> Took:
        """Return that of a run of which the begin is all that is known."""
        return cls(moment, moment)

    def resume(self, moment: str) -> None:
        """Count what it took so far, and go on from another moment."""
        self.before_s, self.begun, self.seen = self._so_far(), moment, moment

    @property
    def seconds(self) -> float | None:
        """None where lines tell no times, or a clock was set back meanwhile."""
        found = self._so_far()
        return None if found is None or found < 0 else found

    def _so_far(self) -> float | None:
        try:
            stretch = datetime.fromisoformat(self.seen) - datetime.fromisoformat(self.begun)
        except (TypeError, ValueError):  # one with a zone and one without cannot be subtracted
            return None
        return None if self.before_s is None else self.before_s + stretch.total_seconds()
