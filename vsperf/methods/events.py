"""What can be done to a switch or to VNFs in the midst of a trial, by name.

A name is a verb and what it is done to, such as `kill-switch` or `reboot-vnfs`; whoever reads
a record needs no more. How it is done is an entry point `vsperf.events`, which the engine loads
when a trial asks for it.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from importlib.metadata import entry_points
from typing import Annotated, Any

from pydantic import AfterValidator, Field

from vsperf.config.method import Contradiction
from vsperf.config.topology import Topology
from vsperf.records.trial import to_vnfs

GROUP = "vsperf.events"


@cache
def known_events() -> tuple[str, ...]:
    """Return what can be done, by the names that installed packages give."""
    return tuple(sorted(entry_points(group=GROUP).names))


def _known(name: str) -> str:
    if name not in known_events():
        raise ValueError(f"there is no event {name!r}; known: {', '.join(known_events())}")
    return name


def _choices(schema: dict[str, Any]) -> None:
    schema["enum"] = list(known_events())


EventName = Annotated[str, AfterValidator(_known), Field(json_schema_extra=_choices)]


RESETS = ("restart-switch", "kill-switch")
"""What RFC 6201 asks for, where a case names no events."""


def word_of(event: str) -> str:
    """Return the verb of an event, by which figures are named."""
    return event.partition("-")[0]


def without_vnfs(event: str, topology: Topology, path: str) -> Iterator[Contradiction]:
    """Yield that there is no VNF for an event that needs one."""
    if to_vnfs(event) and not topology.vnfs:
        yield Contradiction(
            path,
            f"names {event}, and topology {topology.name} has no VNF",
            f"only a VNF can {word_of(event)}",
            "choose a topology with a VNF, such as pvp, or leave this event out",
        )
