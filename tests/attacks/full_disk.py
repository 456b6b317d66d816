"""Runs whose results are on a disk that becomes full, and go on when there is room again."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path

from attacks.arena import Arena
from attacks.kills import Round
from vsperf.errors import ExitCode

MOUNT = 'mount -t tmpfs -o size="$1"k,mode=755 none "$0" && echo mounted && read -r _'
LEAST_KB, MOST_KB, MOST_REAL_KB = 4, 120, 32
"""From less than a header needs to more than a whole run does; real ones are shorter."""
ROOMY = "remount,size=64m"


@dataclass
class FullDisk(Round):
    """A round whose disk is small until it is made larger."""

    def _carry_out(self, most: int) -> None:
        most_kb = MOST_REAL_KB if self.scenario.real else MOST_KB
        size_kb = 4 * self.chance.randint(LEAST_KB // 4, most_kb // 4)
        with small_disk(self.arena, size_kb) as arena:
            self.arena = arena
            self._run_until_full()
            self._clean(0)
            stored = arena.stored()
            self._look_into(stored)
            subprocess.run(
                [*arena.wrapped, "mount", "-o", ROOMY, str(arena.results)], check=True, timeout=10
            )
            if stored is None or stored.end is None:
                again = self.scenario.arguments if stored is None else ("run", "--resume=latest")
                self._run_and_end(again, disturbed=False)
                stored = arena.stored()
                self._look_into(stored)
                if stored is None or stored.end is None:
                    self.problems.append("with room on the disk again it did not come to its end")

    def _run_until_full(self) -> None:
        ended = self._end(self.arena.start(*self.scenario.arguments))
        said = ended.of("TrialFinished")
        self.said += said
        self.tally.announced += len(said)
        full = "No space left on device" in ended.said
        if full:
            self.tally.full_disks += 1
            stored = self.arena.stored()
            if stored is not None and stored.end is not None:
                self.problems.append("a full disk closed a run, so that it cannot be resumed")
        if ended.code != ExitCode.COMPONENT_FAILED if full else ended.code not in (0, 5):
            self.problems.append(f"on a full disk it ended with {ended.code}: {ended.said[-600:]}")


@contextmanager
def small_disk(arena: Arena, size_kb: int) -> Iterator[Arena]:
    """Give the arena with its results on a disk of that size, which only its commands see."""
    arena.results.mkdir(exist_ok=True)
    with subprocess.Popen(
        ["unshare", "--mount", "sh", "-c", MOUNT, str(arena.results), str(size_kb)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"mounted\n", "no tmpfs could be mounted"
        inside = ("nsenter", f"--mount=/proc/{holder.pid}/ns/mnt", f"--wdns={arena.called_in}")
        small = replace(arena, wrapped=inside, view=Path(f"/proc/{holder.pid}/root"))
        try:
            yield small
        finally:
            with suppress(OSError):  # somebody may want to look at them
                shutil.copytree(small.seen_results, arena.folder / "seen", symlinks=True)
            holder.communicate(b"\n")
