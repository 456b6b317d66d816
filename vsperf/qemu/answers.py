"""What the agent in a guest says, looked at before it is believed: a guest is not trusted."""

from __future__ import annotations

from typing import Annotated, Any, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from vsperf.errors import ComponentError
from vsperf.trust.plain_json import MOST_COUNTED

LONGEST_PLACE = 100
"""Letters of where in a message something is wrong: names in it are the guest's."""
Message = dict[str, Any]
Count = Annotated[int, Field(ge=0, le=MOST_COUNTED)]
Moment = Annotated[int, Field(ge=0, le=4 * MOST_COUNTED)]
"""Nanoseconds by the wall, which began to count in 1970."""


class _Answer(BaseModel):
    """A message; what nobody reads may be anything."""

    model_config = ConfigDict(frozen=True, strict=True, extra="ignore")


class SeenNic(_Answer):
    """A NIC as the guest finds it."""

    mac: str | None = None
    pci: str | None = None


class Booted(_Answer):
    """The guest is up."""

    protocol: int
    nics: list[SeenNic] = Field(default_factory=list)


class Ended(_Answer):
    """The application ended by itself."""

    app: str = "the application"
    how: str = "by itself"
    log: str | None = None


class Refused(_Answer):
    """The agent could not do what it was asked."""

    error: str
    log: str | None = None


class CountedNic(_Answer):
    """Counters of a NIC; None where the guest does not count."""

    received: Count | None = None
    sent: Count | None = None
    drops: dict[str, Count] | None = None


class Counted(_Answer):
    """Counters of all NICs."""

    nics: list[CountedNic] | None = None


class SeenProcessor(_Answer):
    """What a processor did since the guest booted, as its kernel counts it."""

    number: Count
    user_ns: Count
    system_ns: Count
    idle_ns: Count
    interrupts_ns: Count
    steal_ns: Count


class SeenSystem(_Answer):
    """What the guest's kernel counts."""

    processors: list[SeenProcessor] = Field(default_factory=list)
    interrupts: Count
    switches: Count


class Clocks(_Answer):
    """What a guest's clocks say: the one that nobody sets, and that of the wall."""

    now_ns: Count
    wall_ns: Moment


class Joined(_Answer):
    """A guest's own stack has the address of a place."""

    device: Annotated[str, Field(pattern=r"^[A-Za-z0-9_.-]{1,15}$")]
    send_bytes: Count
    """Of a socket of TCP that the kernel sizes, at most; 0 where it does not say."""
    receive_bytes: Count
    forgets_paths: bool
    offloads: dict[str, bool]


class CountedDevice(_Answer):
    """What the device of a place has counted."""

    received_bytes: Count
    received_frames: Count
    received_dropped: Count
    sent_bytes: Count
    sent_frames: Count
    sent_dropped: Count


class Listening(_Answer):
    """Whether somebody can be called at a port."""

    listens: bool


class Piece(_Answer):
    """A part of what a program wrote, and how long all of that is."""

    size: Count
    text: str


class Exited(_Answer):
    """A program ended by itself, or was killed in its guest."""

    program: Count
    code: Annotated[int, Field(ge=0, le=255)] = 0
    signal: Annotated[int, Field(ge=0, le=64)] = 0
    """0 where it was none."""

    @property
    def exit_code(self) -> int:
        """Its exit code, negative for a signal, as Python has it."""
        return -self.signal if self.signal else self.code


AnyAnswer = TypeVar("AnyAnswer", bound=_Answer)


def understood(vm: str, message: Message, kind: type[AnyAnswer]) -> AnyAnswer:
    """Return a message as what it should be; raises `ComponentError` when it is something else."""
    try:
        return kind.model_validate(message)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        place = ".".join(str(part) for part in first["loc"])[:LONGEST_PLACE]
        raise ComponentError(
            f"{vm}: what its agent says makes no sense: {place}: {first['msg']}",
            why="it is another agent than this vsperf's, or something in the guest speaks for it",
        ) from error
