"""What a switch changes in every frame, in words that no driver owns.

The same for whoever makes rules of it and whoever looks whether it was done.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterator
from typing import Annotated, Literal

from pydantic import AfterValidator, Field, StrictBool

from vsperf.config.base import Spec
from vsperf.config.method import Contradiction
from vsperf.config.traffic import TAG_BYTES, Layer3, TrafficProfile, VlanId

MOST_TAGS = 2
LAYER3_FIELDS = ("source_ip", "destination_ip", "dscp", "ttl")


def _mac(text: str) -> str:
    if not re.fullmatch(r"[0-9A-Fa-f]{2}(:[0-9A-Fa-f]{2}){5}", text):
        raise ValueError(f"{text!r} is no MAC address; one is written like 02:00:00:00:00:aa")
    return text.lower()


def _ip(text: str) -> str:
    try:
        return str(ipaddress.ip_address(text))
    except ValueError:
        example = "198.18.7.7 or 2001:2:0:7::7"
        raise ValueError(f"{text!r} is no IP address; one is written like {example}") from None


MacAddress = Annotated[str, AfterValidator(_mac)]
IpAddress = Annotated[str, AfterValidator(_ip)]


class Modify(Spec):
    """What becomes of each frame when the switch sends it on to the end of its way.

    A tag is taken away first, then fields are set, then a tag is put on. In a tunnel all this is
    about the outer headers: others a switch does not see.
    """

    pop_vlan: StrictBool = False
    """Take the outermost VLAN tag away."""
    source_mac: MacAddress | None = None
    """Set the source MAC address."""
    destination_mac: MacAddress | None = None
    """Set the destination MAC address."""
    source_ip: IpAddress | None = None
    """Set the source IP address."""
    destination_ip: IpAddress | None = None
    """Set the destination IP address."""
    dscp: Annotated[int, Field(ge=0, le=63)] | None = None
    """Set the class of service (DSCP)."""
    ttl: Literal["decrement"] | Annotated[int, Field(ge=1, le=255)] | None = None
    """Set the TTL, or hop limit, to a number; or count it down by one, as a router does."""
    push_vlan: VlanId | None = None
    """Put a VLAN tag with this id on, in front of those that are there."""

    @property
    def anything(self) -> bool:
        return self != Modify()

    @property
    def looks_into_ip(self) -> bool:
        return any(getattr(self, name) is not None for name in LAYER3_FIELDS)

    @property
    def grows_bytes(self) -> int:
        """How much longer a frame leaves than it came; below zero when it is shorter."""
        return TAG_BYTES * ((self.push_vlan is not None) - self.pop_vlan)

    def __str__(self) -> str:
        """Say in the words of a testcase what is done."""
        done = self.model_dump(mode="json", exclude_defaults=True)
        return ", ".join(f"{name} {value}".lower() for name, value in done.items())

    def tags_of(self, traffic: TrafficProfile) -> tuple[int, ...]:
        """Return the ids of the VLAN tags of frames that leave, outermost first."""
        left = traffic.outer_vlans[1:] if self.pop_vlan else traffic.outer_vlans
        return left if self.push_vlan is None else (self.push_vlan, *left)

    def contradictions(self, traffic: TrafficProfile) -> Iterator[Contradiction]:
        """Yield what cannot be done to the frames of a traffic."""
        if not self.anything:
            return
        if traffic.replay is not None:
            first = next(iter(self.model_dump(exclude_defaults=True)))
            why = "what is in a file nobody knows, so nobody could see whether it was done"
            fix = "take vswitch.modify out, or traffic.replay"
            yield Contradiction(first, "cannot be done to the frames of a file", why, fix)
            return
        if self.pop_vlan and not traffic.outer_vlans:
            what = "takes a VLAN tag away, and the frames have none"
            why = "neither traffic.vlans nor traffic.encapsulation.vlans gives them one"
            fix = "give them one, as by --set traffic.vlans=[100], or take pop_vlan out"
            yield Contradiction("pop_vlan", what, why, fix)
        elif self.push_vlan is not None and len(self.tags_of(traffic)) > MOST_TAGS:
            what = f"would be tag number {len(self.tags_of(traffic))} of each frame"
            why = f"a frame has at most {MOST_TAGS} of them"
            yield Contradiction("push_vlan", what, why, "take one off by pop_vlan: true")
        for name in LAYER3_FIELDS:
            if getattr(self, name) is not None and traffic.mpls:
                why = "a switch sees MPLS labels, and not what is behind them"
                what, fix = "cannot be set in frames with traffic.mpls", f"take {name} or mpls out"
                yield Contradiction(name, what, why, fix)
        for name in ("source_ip", "destination_ip"):
            if (text := getattr(self, name)) is not None and _kind(text) != traffic.outer_layer3:
                what = f"is the {_said(_kind(text))} address {text}"
                frames = _said(traffic.outer_layer3)
                fix = f"write an address of {frames}"
                yield Contradiction(name, what, f"the frames are {frames}", fix)


def _kind(text: str) -> Layer3:
    return "ipv6" if ":" in text else "ipv4"


def _said(layer3: Layer3) -> str:
    return {"ipv4": "IPv4", "ipv6": "IPv6"}[layer3]
