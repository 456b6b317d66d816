"""Programs in a guest, which its agent runs: started at an instant, read whole, and ended.

The guest is not believed: what it says is bounded in bytes and in time, and when something ended is
when that was heard here. What it says of its clocks decides only when programs there begin, and
where those that tell times of the wall had them.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from vsperf.errors import ComponentError
from vsperf.qemu.agent import Agent, AgentRefused, AgentSilent
from vsperf.qemu.answers import Clocks, CountedDevice, Joined, Listening, Piece, understood
from vsperf.qemu.image import BUILD_COMMAND
from vsperf.waits import wait_for

MOST_PROGRAMS = 64
"""In one guest, as its agent has it."""
MOST_WRITTEN = 4 << 20
"""Bytes of what a program writes there; one more says that it would have gone on."""
MOST_FILES = 1 << 20
"""Bytes of the files that a program reads there: they come through its agent."""
PIECE = 2_000
"""Characters of a file in one request, which is a line of 16 KiB at most, however they are written.
"""
ANSWER_S = 10.0
"""Patience with an answer: an emulated guest on a busy machine takes its time."""
JOIN_S = 20.0
"""The same while its device comes up."""
READ_S = 60.0
"""Patience with all that a program wrote."""
END_S = 3.0
READINGS = 5
"""Of its clocks, of which the one counts that took least."""


@dataclass(frozen=True, slots=True)
class GuestClock:
    """How a guest's clocks stand to those of this machine."""

    ahead_ns: int
    """Its monotonic clock, before ours."""
    wall_ahead_ns: int
    """Its clock of the wall, before ours."""
    within_ns: int
    """By so much either may be wrong: half of the time that the question took."""


@dataclass(frozen=True, slots=True)
class GuestProgram:
    """A program that was started in a guest."""

    agent: Agent
    number: int

    @property
    def exit_code(self) -> int | None:
        """Its exit code, negative for a signal; None while nobody has heard of its end."""
        exited = self.agent.programs.get(self.number)
        return None if exited is None else exited.exit_code

    def notice(self) -> int | None:
        """Return the same, with what the guest has said meanwhile; does not wait."""
        self.agent.notice()
        return self.exit_code

    def await_end(self, patience_s: float) -> bool:
        deadline = time.monotonic() + patience_s
        while self.notice() is None:
            left_s = deadline - time.monotonic()
            if left_s <= 0:
                return False
            wait_for((self.agent.connection.fileno(),), left_s)
        return True

    def written(self) -> tuple[str, bool]:
        """Return what it wrote and whether that is all; of too much, the first part."""
        deadline, parts, length = time.monotonic() + READ_S, list[str](), 0
        while True:
            answer = self.agent.ask("output", ANSWER_S, program=self.number, **{"from": length})
            piece = understood(self.agent.vm, answer, Piece)
            parts.append(piece.text)
            length += len(piece.text)
            if not piece.text or length >= min(piece.size, MOST_WRITTEN):
                whole = piece.size <= MOST_WRITTEN and length >= piece.size
                return "".join(parts)[:MOST_WRITTEN], whole
            if time.monotonic() > deadline:
                raise AgentSilent(
                    f"{self.agent.vm}: what a program wrote was not read within {READ_S:g} s"
                )


def join(agent: Agent, **asked: Any) -> Joined:
    """Give a NIC of a guest an address in its own stack, and tell it where all others are."""
    return understood(agent.vm, agent.ask("join", JOIN_S, **asked), Joined)


def counted(agent: Agent) -> CountedDevice:
    """Return what the device that has joined has counted."""
    return understood(agent.vm, agent.ask("device", ANSWER_S), CountedDevice)


def listens(agent: Agent, port: int) -> bool:
    """Whether somebody in a guest can be called at a port."""
    return understood(agent.vm, agent.ask("listens", ANSWER_S, port=port), Listening).listens


def clock_of(agent: Agent) -> GuestClock:
    """Return how a guest's clocks stand to ours, by the question that took least."""
    found = []
    for _ in range(READINGS):
        before_ns = time.monotonic_ns()
        told = understood(agent.vm, agent.ask("clock", ANSWER_S), Clocks)
        after_ns, wall_ns = time.monotonic_ns(), time.time_ns()
        within_ns = (after_ns - before_ns) // 2
        found.append(
            GuestClock(
                told.now_ns - (before_ns + within_ns),
                told.wall_ns - (wall_ns - within_ns),
                within_ns,
            )
        )
    return min(found, key=lambda one: one.within_ns)


@contextmanager
def run(
    agent: Agent, argv: Sequence[str], instant_ns: int = 0, files: Mapping[str, str] | None = None
) -> Iterator[GuestProgram]:
    """Run a program from an instant of the guest's clock on; 0 is at once.

    It runs in a folder of its own with the files, by name. Leaving the context ends it, with all
    that it started.
    """
    free = (one for one in range(1, MOST_PROGRAMS + 1) if one not in agent.programs)
    if (number := next(free, None)) is None:
        raise ComponentError(f"{agent.vm} runs {MOST_PROGRAMS} programs, and no more")
    agent.programs[number] = None
    try:
        for name, text in (files or {}).items():
            _write(agent, number, name, text)
        agent.ask("run", ANSWER_S, program=number, argv=list(argv), instant_ns=instant_ns)
        yield GuestProgram(agent, number)
    finally:
        _end(agent, number)


def _write(agent: Agent, number: int, name: str, text: str) -> None:
    """Write a file into the folder that a program will run in."""
    for first in range(0, max(1, len(text)), PIECE):
        piece = text[first : first + PIECE]
        try:
            agent.ask("file", ANSWER_S, program=number, name=name, text=piece)
        except AgentRefused as error:
            raise ComponentError(
                f"{agent.vm}: {name} cannot be written in the guest",
                why=error.text,
                fix=f"where the guest image is older than this vsperf: {BUILD_COMMAND}",
            ) from error


def _end(agent: Agent, number: int) -> None:
    """End a program; a guest that hangs is asked once, as it is ended with all that is in it."""
    if agent.hangs:
        return
    try:
        agent.ask("end", END_S, program=number)
        del agent.programs[number]
    except AgentSilent:
        agent.hangs = True
    except ComponentError:  # its number stays taken
        return
