"""A look at frames that arrive: tgen writes the first ones down, and their headers are read."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from vsperf.drivers.generators.tgen.headers import frames_in, read
from vsperf.drivers.generators.tgen.process import Tgen
from vsperf.drivers.generators.tgen.traffic import Way
from vsperf.errors import ComponentError
from vsperf.records.trial import Direction, Headers, TrialCounts

FRAMES = 32
"""Captured of each port, each way."""
KEPT = 4
"""Whose headers are told, of each direction."""


@dataclass(frozen=True, slots=True)
class Look:
    """Captures of the ports where frames arrive."""

    tgen: Tgen
    ways: tuple[Way, ...]
    senders: int
    """Workers of each direction; the frames of each of them are marked as a part of their own."""
    folder: Path

    def arm(self) -> None:
        """Have the first frames of the next trial written down."""
        for port in {way.receive for way in self.ways}:
            self.tgen.ask("capture", port=port, path=str(self._file(port)), frames=FRAMES)

    def added_to(self, counts: TrialCounts) -> TrialCounts:
        """Return the counts of that trial with what was seen, and forget the frames."""
        arrived = {port: self._arrived(port) for port in {way.receive for way in self.ways}}
        directions = tuple(
            _with(direction, [head for part, head in arrived[way.receive] if part in parts])
            for way, direction, parts in zip(
                self.ways, counts.directions, self._parts(), strict=True
            )
        )
        return counts.model_copy(update={"directions": directions})

    def _parts(self) -> list[range]:
        """Return the marks of each direction: tgen counts the parts of all streams in a row."""
        return [
            range(number * self.senders, (number + 1) * self.senders)
            for number in range(len(self.ways))
        ]

    def _arrived(self, port: int) -> list[tuple[int | None, Headers]]:
        """Return whose frames a port has seen; those that it sent itself are of other parts."""
        file = self._file(port)
        try:
            content = file.read_bytes()
            file.unlink()
        except OSError as error:
            raise ComponentError(f"{file.name} cannot be read", why=error.strerror) from error
        seen = (read(frame) for frame in frames_in(content))
        return [(one.part, one.headers) for one in seen if one is not None]

    def _file(self, port: int) -> Path:
        return self.folder / f"port-{port}.pcap"


def _with(direction: Direction, headers: list[Headers]) -> Direction:
    return direction.model_copy(update={"first_headers": tuple(headers[:KEPT])})
