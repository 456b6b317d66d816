"""What a frame looks like when it comes out of a simulated switch."""

from __future__ import annotations

from vsperf.config.flows import (
    DESTINATION_PORT,
    SOURCE_PORT,
    TTL,
    group_mac,
    link_ip,
    link_mac,
)
from vsperf.config.modify import Modify
from vsperf.config.traffic import TrafficProfile
from vsperf.records.trial import Headers


def arriving(traffic: TrafficProfile, modify: Modify, source: int, destination: int) -> Headers:
    """Return the headers of a frame from one link to another, both by number."""
    layer3 = traffic.outer_layer3
    ttl = TTL - 1 if modify.ttl == "decrement" else modify.ttl
    return Headers(
        source_mac=modify.source_mac or link_mac(source),
        destination_mac=modify.destination_mac or group_mac(traffic.destination, destination),
        vlans=modify.tags_of(traffic),
        mpls=traffic.mpls,
        layer3=layer3,
        source_ip=modify.source_ip or link_ip(source, layer3),
        destination_ip=modify.destination_ip or link_ip(destination, layer3),
        dscp=modify.dscp or 0,
        ttl=TTL if ttl is None else ttl,
        source_port=SOURCE_PORT,
        destination_port=DESTINATION_PORT,
    )
