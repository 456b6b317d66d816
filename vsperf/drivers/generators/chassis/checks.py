"""What a chassis is not asked, and which endpoints it has. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping

from vsperf.drivers.generators.directions import check_directions
from vsperf.errors import UsageError
from vsperf.records.run import Endpoint

KIND = "chassis"
"""Of an endpoint that is a port of a chassis."""
OTHER = "--set generator.kind=tgen"


def places_of(who: str, endpoints: tuple[Endpoint, ...]) -> dict[str, str]:
    """Return by link which port of the chassis is there; refuse ports that are elsewhere."""
    for endpoint in endpoints:
        if endpoint.kind != KIND:
            raise UsageError(
                f"{who} cannot send to {endpoint.link}, which is a {endpoint.kind} port",
                why="its ports are in a chassis, and cables lead to the switch from there",
                fix=f"name the port: --set testbed.links.{endpoint.link}.generator=chassis:PORT",
            )
    return {endpoint.link: endpoint.address for endpoint in endpoints}


def check_ways(who: str, places: dict[str, str], directions: tuple[tuple[str, str], ...]) -> None:
    """Refuse ways that begin or end where there is no port, and several from one port."""
    senders = [way[0] for way in directions]
    if len(set(senders)) < len(senders):
        raise UsageError(
            f"{who} is told to send one stream from each port, and this needs several of one",
            fix=f"--set topology=p2p, or {OTHER}",
        )
    check_directions(who, places, directions, known="there are ports on")


def check_places(
    places: Mapping[str, str], pattern: re.Pattern[str], who: str, called: str, example: str
) -> None:
    """Refuse what is no name of a port; `who` ends the sentence on a port that there is not."""
    for link, place in places.items():
        if not pattern.fullmatch(place):
            raise UsageError(
                f"testbed link {link} names the port {place!r}, which {who}",
                why=f"its ports are called by {called}",
                fix=f"--set testbed.links.{link}.generator=chassis:{example}",
            )
