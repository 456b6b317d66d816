"""The ways that a generator is told to send, against the links that it can reach. Pure."""

from __future__ import annotations

from collections.abc import Collection

from vsperf.errors import UsageError


def check_directions(
    who: str,
    links: Collection[str],
    directions: tuple[tuple[str, str], ...],
    known: str = "the switch has a port on",
) -> None:
    """Refuse ways that begin or end where there is no port; `known` says what the links are."""
    if not directions:
        raise UsageError(
            f"{who} was given no direction to send in",
            fix="choose a topology whose paths begin and end at links, such as p2p",
        )
    for way in directions:
        for link in way:
            if link not in links:
                raise UsageError(
                    f"{who} has no endpoint on link {link!r}",
                    why=f"traffic goes from {way[0]} to {way[1]}, but {known} "
                    + ", ".join(sorted(links)),
                    fix="use links in the topology that the switch has ports on",
                )
