"""What a load beside a case did during a trial, by its own count and the kernel's."""

from __future__ import annotations

from vsperf.record.base import Record


class NoiseActivity(Record):
    """One instance of a load, between its last words before a trial and its last ones in it.

    What nobody counted is missing, never 0.
    """

    instance: str
    """Such as `noise 1`."""
    elapsed_ns: int | None = None
    """Time between the two counts."""
    read_bytes: int | None = None
    written_bytes: int | None = None
    cpu_ns: int | None = None
    """CPU time that it got."""
    worked_ns: int | None = None
    """Time in which its guest says that it worked. A guest that is emulated does not see that it
    waits for a CPU, and takes that for work."""

    def since(self, before: NoiseActivity) -> NoiseActivity:
        """Return what was done from one count to another of the same instance."""
        return NoiseActivity(
            instance=self.instance,
            elapsed_ns=_grown(self.elapsed_ns, before.elapsed_ns),
            read_bytes=_grown(self.read_bytes, before.read_bytes),
            written_bytes=_grown(self.written_bytes, before.written_bytes),
            cpu_ns=_grown(self.cpu_ns, before.cpu_ns),
            worked_ns=_grown(self.worked_ns, before.worked_ns),
        )

    @property
    def bytes_per_second(self) -> float | None:
        """What it read and wrote together; None where it does not count that."""
        if self.read_bytes is None or self.written_bytes is None or not self.elapsed_ns:
            return None
        return (self.read_bytes + self.written_bytes) * 1e9 / self.elapsed_ns

    @property
    def cpu_share(self) -> float | None:
        """The part of the time in which it had a CPU; None where that is not known."""
        return None if self.cpu_ns is None or not self.elapsed_ns else self.cpu_ns / self.elapsed_ns


def _grown(now: int | None, before: int | None) -> int | None:
    return None if now is None or before is None else now - before
