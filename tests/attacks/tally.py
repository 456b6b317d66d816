"""What attacks did and found: counted, and shown as one table."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Finding:
    """Something that vsperf must not do."""

    attack: str
    """The attack and its number, such as `p2p 17`."""
    what: str

    def __str__(self) -> str:
        return f"{self.attack}: {self.what}"


@dataclass
class Tally:
    """Figures of a soak."""

    rounds: Counter[str] = field(default_factory=Counter)
    """Rounds of kills by scenario, and inputs by fuzzer."""
    kills: Counter[str] = field(default_factory=Counter)
    """Kills by what was killed."""
    moments: Counter[tuple[str, str, str]] = field(default_factory=Counter)
    """Kills by scenario, what was killed, and the phase in which that was."""
    announced: int = 0
    """Trials that runs called recorded."""
    lost: int = 0
    """Those of them that were not in the records."""
    left: int = 0
    """Things that were still there after `vsperf clean`."""
    tracebacks: int = 0
    """Of runs and of `vsperf clean`."""
    misnamed: int = 0
    """Runs that named a part which had not ended, and none that was killed."""
    full_disks: int = 0
    """Runs that a full disk ended."""
    findings: list[Finding] = field(default_factory=list)
    began: float = field(default_factory=time.monotonic)

    @property
    def minutes(self) -> float:
        return (time.monotonic() - self.began) / 60

    def killed(self, scenario: str, victim: str, phase: str) -> None:
        """Count a kill."""
        self.kills[victim] += 1
        self.moments[scenario, victim, phase] += 1

    def figures(self) -> dict[str, int]:
        """Return what was done to runs, and what must not come of it."""
        return {
            "kills": self.kills.total(),
            "trials announced": self.announced,
            "trials lost": self.lost,
            "things left": self.left,
            "tracebacks": self.tracebacks,
            "wrong parts named": self.misnamed,
        }

    def progress(self) -> str:
        """Say in one line how far it is."""
        inputs = sum(self.rounds.values())
        return (
            f"{self.minutes:.0f} min: {self.kills.total()} kills, {self.announced} trials "
            f"announced, {self.lost} lost, {self.left} left, {inputs} rounds and inputs, "
            f"{len(self.findings)} findings"
        )

    def table(self) -> str:
        """Return all figures, one per line."""
        rows = [*self._rows()]
        width = max(len(name) for name, _ in rows)
        return "\n".join(f"{name:<{width}}  {number}" for name, number in rows)

    def _rows(self) -> Iterator[tuple[str, str]]:
        yield "minutes", f"{self.minutes:.1f}"
        for name, number in sorted(self.rounds.items()):
            yield f"{name}", f"{number:,}"
        for victim, number in sorted(self.kills.items()):
            yield f"kills of {victim}", f"{number:,}"
        yield "moments covered (scenario × victim × phase)", f"{len(self.moments):,}"
        yield "runs ended by a full disk", f"{self.full_disks:,}"
        for name, number in self.figures().items():
            yield name, f"{number:,}"
        yield "findings", f"{len(self.findings):,}"
