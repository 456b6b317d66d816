"""What a generator tells less exactly than vsperf would have it: a flag, and a line in the plan."""

from __future__ import annotations

from collections.abc import Iterator

from vsperf.config.abilities import Ability, Capabilities
from vsperf.records.flags import Flag

LESS_EXACT = {
    Ability.PACED: Flag.UNPACED,
    Ability.OWN_COUNTS: Flag.COUNTED_BY_SWITCH,
    Ability.NUMBERED: Flag.UNCHECKED,
    Ability.EVERY_LATENCY: Flag.LATENCY_SAMPLED,
}
"""What is a reservation where it is lacking, and no reason to refuse a case."""


def reservations(can: Capabilities, *, latency: bool) -> tuple[Flag, ...]:
    """Return what is to be said against each trial of a generator; `latency`: it was measured."""
    return tuple(
        flag
        for ability, flag in LESS_EXACT.items()
        if not can.can(ability) and (latency or flag is not Flag.LATENCY_SAMPLED)
    )


def less_exact(kind: str, can: Capabilities) -> Iterator[str]:
    """Yield the same for people who plan a case."""
    for flag in reservations(can, latency=can.can(Ability.LATENCY)):
        yield f"generator {kind}, {flag}: {flag.gist[0].lower()}{flag.gist[1:]}"
