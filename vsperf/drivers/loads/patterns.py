"""Two patterns of access to memory, each with a block size and a rate: what `memory-load` does."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Self

from pydantic import model_validator

from vsperf.config.noise import NoiseSpec
from vsperf.host.own_program import OwnProgram
from vsperf.quantities.byte_units import ByteRate, ByteSize
from vsperf.records.switch import NoiseActivity
from vsperf.trust.plain_json import MOST_COUNTED, loads

MEMORY_LOAD = OwnProgram("memory-load", "memory-load, the program that loads memory,")
REPORT_MS = 100
WORD = 8
LEAST_BLOCK = 64
COUNTED = ("elapsed_ns", "read_bytes", "written_bytes", "cpu_ns")
TAIL_BYTES = 4096
"""The end of a log that surely holds a whole line."""


class PatternSpec(NoiseSpec):
    """Settings of a load on memory; it reads and writes blocks of a buffer, one after the other."""

    buffer: ByteSize = ByteSize.parse("64MiB")
    """The memory of each instance."""
    read_size: ByteSize = ByteSize.parse("4MiB")
    """What is read in one piece."""
    write_size: ByteSize = ByteSize.parse("4MiB")
    """What is written in one piece."""
    read_rate: ByteRate = ByteRate.parse("10000MB/s")
    """How much each instance is to read; it reads as much as it can if that is less."""
    write_rate: ByteRate = ByteRate.parse("5000MB/s")
    """How much each instance is to write."""
    random: bool = False
    """Visit the blocks in random order."""
    sleep: bool = False
    """Leave the CPU to others for 1 ms whenever it is ahead of its rates: accesses come in bursts.
    Otherwise it waits by looking at the clock, and they come evenly."""

    @model_validator(mode="after")
    def _blocks_fit(self) -> Self:
        for name in ("read_size", "write_size"):
            size: ByteSize = getattr(self, name)
            if not LEAST_BLOCK <= size.bytes <= self.buffer.bytes:
                raise ValueError(
                    f"{name} is {size}; it is to be from {LEAST_BLOCK}B to the size of the buffer, "
                    f"{self.buffer}"
                )
            if size.bytes % WORD:
                raise ValueError(f"{name} is {size}; it is to be a multiple of {WORD}B, a word")
        if not self.read_rate.per_second and not self.write_rate.per_second:
            raise ValueError("read_rate and write_rate are both 0, which is no load")
        return self

    @property
    def asked(self) -> str:
        """What it is asked to do, for people."""
        return (
            f"read {self.read_size} at {self.read_rate} and write {self.write_size} at "
            f"{self.write_rate} in {self.buffer}"
        )


def words_of(spec: PatternSpec) -> tuple[str, ...]:
    """Return the words of the program's command line, but for its CPU."""
    return (
        f"--buffer={spec.buffer.bytes}",
        f"--read-size={spec.read_size.bytes}",
        f"--write-size={spec.write_size.bytes}",
        f"--read-rate={spec.read_rate.per_second}",
        f"--write-rate={spec.write_rate.per_second}",
        f"--random={int(spec.random)}",
        f"--sleep={int(spec.sleep)}",
        f"--report-ms={REPORT_MS}",
    )


def last_report(log: Path, instance: str) -> NoiseActivity:
    """Return what an instance said last; all of it is missing before its first words."""
    try:
        with log.open("rb") as file:
            size = os.fstat(file.fileno()).st_size
            text = os.pread(file.fileno(), TAIL_BYTES, max(0, size - TAIL_BYTES))
    except OSError:
        return NoiseActivity(instance=instance)
    for line in reversed(text.decode(errors="replace").split("\n")[:-1]):
        found = _report(line, instance)
        if found is not None:
            return found
    return NoiseActivity(instance=instance)


def _report(line: str, instance: str) -> NoiseActivity | None:
    """Return a line's counts; None for one that was cut off, or written by somebody else.

    It may come out of a guest, which may say anything.
    """
    try:
        said = loads(line)
        counts = {name: said[name] for name in COUNTED}
    except (ValueError, KeyError, TypeError, RecursionError):
        return None
    if not all(type(one) is int and 0 <= one <= MOST_COUNTED for one in counts.values()):
        return None
    return NoiseActivity(instance=instance, **counts)
