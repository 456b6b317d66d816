"""What is sent, without a word on how fast and by which generator."""

from __future__ import annotations

import math
from collections.abc import Mapping
from fractions import Fraction
from typing import Annotated, Any, Literal, Self

from pydantic import Field, ValidationInfo, field_validator, model_validator
from pydantic_core import PydanticKnownError

from vsperf.config.base import Spec
from vsperf.config.imix import Imix
from vsperf.quantities.units import NANOSECONDS, Count, Duration, FrameSize, Ratio

Directions = Literal["both", "forward", "reverse"]
TunnelKind = Literal["vxlan", "geneve", "gre", "gtpu"]
Layer3 = Literal["ipv4", "ipv6"]
Destination = Literal["unicast", "broadcast", "multicast"]
VlanId = Annotated[int, Field(ge=0, le=4094)]
"""IEEE 802.1Q keeps 4095 for itself: no frame may have it."""
MplsLabel = Annotated[int, Field(ge=0, le=1_048_575)]

TAG_BYTES = 4
"""Of a VLAN tag, and of an MPLS label."""
IPV6_BYTES = 20
"""By which the header of IPv6 is longer than that of IPv4."""

NONE, FULL = Ratio(Fraction(0)), Ratio(Fraction(1))
MOST_BETWEEN = 1_000_000
"""Frames from one for everybody to the next."""
MEAN_OF_A_MIX: Any = ""
"""Stands for a frame size that nobody wrote."""
TUNNEL_BYTES: dict[TunnelKind, int] = {"vxlan": 50, "geneve": 50, "gre": 38, "gtpu": 36}
"""What a tunnel on IPv4 adds to a frame; GTP-U carries IP, and so spares the inner Ethernet."""
ID_BITS: dict[TunnelKind, int] = {"vxlan": 24, "geneve": 24, "gre": 32, "gtpu": 32}


class Encapsulation(Spec):
    """A tunnel that carries all frames, as the switch sees them."""

    kind: TunnelKind
    """VXLAN, Geneve and GRE carry Ethernet, GTP-U carries IP."""
    id: Annotated[int, Field(ge=0)] | None = None
    """What tells tunnels apart: the VNI, the key of GRE (which may have none), or the TEID."""
    underlay: Layer3 = "ipv4"
    """The IP on which the tunnel is built."""
    vlans: Annotated[tuple[VlanId, ...], Field(max_length=2)] = ()
    """Ids of up to two outer VLAN tags, the first one outermost."""

    @property
    def added_bytes(self) -> int:
        """How much longer a frame is than without."""
        key = 4 if self.kind == "gre" and self.id is not None else 0
        underlay = IPV6_BYTES if self.underlay == "ipv6" else 0
        return TUNNEL_BYTES[self.kind] + key + underlay + TAG_BYTES * len(self.vlans)

    @model_validator(mode="after")
    def _tells_tunnels_apart(self) -> Self:
        bits = ID_BITS[self.kind]
        if self.id is None and self.kind != "gre":
            raise ValueError(f"{self.kind} needs an id of up to {bits} bits")
        if self.id is not None and self.id >> bits:
            raise ValueError(f"the id {self.id} does not fit in the {bits} bits of {self.kind}")
        return self


class Replay(Spec):
    """A capture file whose frames are sent in place of made ones."""

    file: Annotated[str, Field(min_length=2, max_length=1023)]
    """Absolute path of a pcap or pcapng file, whose frames are sent each way, over and over."""
    rhythm: Literal["even", "file"] = "even"
    """`even` sends them at the trial's load, all equally far apart; `file` as far apart as they
    were, all faster or slower by one factor, so that the load is their mean rate."""

    @model_validator(mode="after")
    def _is_found_from_anywhere(self) -> Self:
        if not self.file.startswith("/"):
            raise ValueError(f"the path {self.file!r} must be absolute: begin with a slash")
        return self


class Bursts(Spec):
    """Frames close together, then a gap, over and over (RFC 2544, section 21)."""

    frames: Count
    """Of each burst."""
    gap: Duration
    """From the last frame of a burst to the first one of the next."""

    @model_validator(mode="after")
    def _are_apart(self) -> Self:
        if not self.gap.ns:
            raise ValueError("gap: bursts without a gap are a load; leave `traffic.bursts` out")
        return self

    def count(self, load_fps: int, duration_ns: int) -> int:
        """Return how many there is time for, one at least, if frames of each come at a load."""
        period = Fraction(int(self.frames) * NANOSECONDS, load_fps) + self.gap.ns
        return max(1, math.floor((duration_ns + self.gap.ns) / period))


class TrafficProfile(Spec):
    """Frames, flows and direction of the offered traffic."""

    imix: Imix | None = None
    """A mix of sizes in place of one, as a genome of RFC 6985 (`7a4d1g`: seven frames of 64B, four
    of 512B, one of 1518B, over and over) or as a list of `{size: 64, share: 7}`."""
    frame_size: FrameSize = Field(default=MEAN_OF_A_MIX, validate_default=True)
    """Size with FCS; a list makes one case per size. Of a mix the mean, which may be left out."""
    flows: Count = Count(1)
    """Distinct flows per direction; a list makes one case per number."""
    vary: Literal["ip", "mac", "port"] = "ip"
    """What flows differ by: IP addresses, source MAC addresses, or UDP ports."""
    flow_order: Literal["in-order", "shuffled"] = "in-order"
    """How flows follow each other; each is sent once before any is sent again."""
    direction: Directions = "both"
    """`both` offers a load each way at once, as RFC 2544 section 14 asks."""
    bursts: Bursts | None = None
    """Bursts of frames with a gap after each, in place of frames that are equally far apart. A load
    is then the rate of the frames within a burst."""
    reverse_load: Ratio = FULL
    """What the reverse direction is offered of the load, with `direction: both`; a load and all
    results are those of the forward direction then."""
    destination: Destination = "unicast"
    """Whom frames are for: the station at the other end, all of them (`broadcast`), or a group of
    them (`multicast`), by their destination MAC address."""
    broadcasts: Ratio = NONE
    """Share of the frames that are for everybody, in place of the station at the other end: with
    1% the 100th, the 200th and so on of each direction (RFC 2544, section 11.1)."""
    vlans: Annotated[tuple[VlanId, ...], Field(max_length=2)] = ()
    """Ids of up to two VLAN tags, the first one outermost; two are QinQ (IEEE 802.1ad)."""
    mpls: Annotated[tuple[MplsLabel, ...], Field(max_length=3)] = ()
    """Up to three MPLS labels, the first one outermost."""
    layer3: Layer3 = "ipv4"
    """IP of the frames; in a tunnel, of those that it carries."""
    encapsulation: Encapsulation | None = None
    """A tunnel that carries the frames; `frame_size` counts all of it. Flows differ inside."""
    replay: Replay | None = None
    """A capture file to send; `frame_size` is then the mean size by which shares of a line rate are
    reckoned. Frames may have up to 1518B, or up to that if it is more."""

    @field_validator("frame_size", mode="before")
    @classmethod
    def _mean_of_a_mix(cls, value: object, info: ValidationInfo) -> object:
        """Fill in the mean size of a mix; another one beside it would be a contradiction."""
        ungiven = value == MEAN_OF_A_MIX
        mix: Imix | None = info.data.get("imix")
        if mix is None:
            if ungiven and "imix" in info.data:
                raise PydanticKnownError("missing")
            return FrameSize.MINIMUM if ungiven else value  # a mix that is none is told already
        given = mix.mean if ungiven or value is None else FrameSize.parse(value)
        if given.bytes != mix.mean.bytes:
            raise ValueError(
                f"is {given}, and the frames of imix-{mix} have {mix.mean} on average; leave "
                f"it out, or give --set traffic.frame_size={mix.mean}"
            )
        return mix.mean

    @model_validator(mode="after")
    def _frames_hold_their_headers(self) -> Self:
        least = FrameSize.MINIMUM + self.header_bytes
        if self.shortest.bytes < least:
            setting = "imix" if self.imix else "frame_size"
            raise ValueError(
                f"{setting}: frames of {self.shortest} cannot hold their headers; they need at "
                f"least {least}B"
            )
        return self

    @model_validator(mode="after")
    def _a_tunnel_is_outside_of_all(self) -> Self:
        tunnel = self.encapsulation
        if tunnel is not None and (self.vlans or self.mpls):
            setting = "vlans" if self.vlans else "mpls"
            raise ValueError(
                f"{setting}: nobody sees what is inside of {tunnel.kind}; outer tags of a tunnel "
                "are encapsulation.vlans"
            )
        if tunnel is not None and (self.vary == "mac" or self.destination != "unicast"):
            setting = "vary" if self.vary == "mac" else "destination"
            raise ValueError(f"{setting}: MAC addresses are not visible inside of {tunnel.kind}")
        return self

    @model_validator(mode="after")
    def _some_are_for_everybody(self) -> Self:
        share = self.broadcasts
        if not share.value:
            return self
        if share == FULL or self.destination != "unicast":
            raise ValueError(
                "broadcasts: are some of the frames, among others for one station; for all of them "
                "write `destination: broadcast`"
            )
        if self.encapsulation is not None:
            raise ValueError(
                "broadcasts: frames in a tunnel go to the station at its other end, all of them"
            )
        if share.value.numerator != 1:
            raise ValueError(
                f"broadcasts: {share} is not one frame in so many; a share is such as 1% (one in "
                "100), 2% (one in 50) or 0.1% (one in 1000)"
            )
        if self.broadcast_every > MOST_BETWEEN:
            raise ValueError(f"broadcasts: {share} is less than one frame in {MOST_BETWEEN}")
        return self

    @model_validator(mode="after")
    def _a_file_is_sent_as_it_is(self) -> Self:
        if self.replay is None:
            return self
        if self.encapsulation is not None or int(self.flows) != 1:
            raise ValueError("a file that is replayed has its own flows and tunnels: set neither")
        for setting in FRAME_SETTINGS:
            if getattr(self, setting) != type(self).model_fields[setting].default:
                raise ValueError(
                    f"{setting}: a file that is replayed has frames of its own; leave it out"
                )
        return self

    @model_validator(mode="after")
    def _unequal_loads_are_two(self) -> Self:
        if self.reverse_load == FULL:
            return self
        if self.direction != "both" or not self.reverse_load.value:
            raise ValueError(
                "reverse_load: is a share above 0 of what the forward direction is offered, with "
                "direction: both; for one direction alone write `direction: forward`"
            )
        if not self.evenly:
            what = "bursts" if self.bursts else "frames by the times of a file"
            raise ValueError(f"reverse_load: {what} come equally fast each way")
        return self

    @property
    def broadcast_every(self) -> int:
        """One frame in so many is for everybody, the last one of them; 0 if none is."""
        return self.broadcasts.value.denominator if self.broadcasts.value else 0

    @property
    def header_bytes(self) -> int:
        """How much more room headers need than those of UDP on IPv4."""
        tunnel = self.encapsulation.added_bytes if self.encapsulation else 0
        tags = TAG_BYTES * (len(self.vlans) + len(self.mpls))
        return tunnel + tags + (IPV6_BYTES if self.layer3 == "ipv6" else 0)

    @property
    def size_label(self) -> str:
        """What cases with frames of that size, or of those sizes, are called."""
        return str(self.frame_size) if self.imix is None else f"imix-{self.imix}"

    @property
    def mixed_sizes(self) -> bool:
        """Whether frames of several sizes follow each other; RFC 9004 has no answer for such."""
        return self.imix is not None or self.replay is not None

    @property
    def shortest(self) -> FrameSize:
        """The smallest frames, unless they come from a file."""
        return self.imix.shortest if self.imix else self.frame_size

    @property
    def longest(self) -> FrameSize:
        """The largest frames, unless they come from a file."""
        return self.imix.longest if self.imix else self.frame_size

    @property
    def outer_vlans(self) -> tuple[int, ...]:
        """Ids of the VLAN tags that a switch sees, outermost first."""
        return self.encapsulation.vlans if self.encapsulation else self.vlans

    @property
    def outer_layer3(self) -> Layer3:
        """The IP that a switch sees."""
        return self.encapsulation.underlay if self.encapsulation else self.layer3

    @property
    def evenly(self) -> bool:
        """Whether frames are equally far apart, and not in bursts, or as they were in a file."""
        return self.bursts is None and (self.replay is None or self.replay.rhythm == "even")


FRAME_SETTINGS = (
    *("imix", "bursts", "vary", "flow_order", "destination", "broadcasts", "vlans", "mpls"),
    "layer3",
)
"""What makes frames other than in a file."""


def size_of(traffic: Mapping[str, Any]) -> FrameSize:
    """Return the frame size of a recorded traffic, exact also where it is the mean of a mix."""
    if traffic.get("imix") is not None:
        return Imix.parse(traffic["imix"]).mean
    return FrameSize.parse(traffic["frame_size"])


LATE_NS = 2_000_000
"""By how much sending may be late or early however short it is."""


class TrialPolicy(Spec):
    """How one trial is carried out and when it is believed."""

    warm_up: Duration
    """Length of one trial before the search whose result is ignored; 0 for none. Of switches in
    turns so much at the begin of each round is."""
    learning: bool
    """Send learning frames before each trial (RFC 2544 section 23 b)."""
    settle: Duration
    """Wait after learning frames, before the test stream."""
    drain: Duration
    """Wait for frames still on their way after the last one was sent."""
    linger: Duration | None = None
    """The same where every frame is back, and only copies of them could still come; as long as
    `drain` where not given. Of generators, tgen and trex make use of it."""
    pause: Duration
    """Wait after a trial, for the switch to come to rest."""
    retries: int = Field(ge=0, le=100)
    """How often a trial that cannot be believed is repeated before the case is given up."""
    offered_tolerance: Ratio
    """Share of the intended frames that may stay unsent before the generator counts as short."""
    stretch_tolerance: Ratio
    """Share by which sending may take longer or shorter than intended, but always 2 ms: what a
    generator on a machine that others use may need to catch up."""
    unexplained_tolerance: Ratio = Ratio(Fraction(1, 10_000))
    """Share of the sent frames that may be missing without a counter that says where."""

    @property
    def overhead_ns(self) -> int:
        """Time that each trial takes beyond its traffic."""
        return self.settle.ns + self.drain.ns + self.pause.ns

    @property
    def shortest_drain(self) -> Duration:
        """Return how long late frames are waited for at least."""
        return self.drain if self.linger is None else min(self.drain, self.linger)

    def allowed_late_ns(self, duration_ns: int) -> int:
        """Return by how much sending for that long may differ from it."""
        return max(LATE_NS, int(self.stretch_tolerance.value * duration_ns))


class LatencyTrials(Spec):
    """Latency trials after the search, at shares of a goal's result."""

    goal: str
    """The goal whose lower bound is the reference, such as `ndr`."""
    loads: tuple[Ratio, ...]
    """Shares of that bound; an empty list switches latency trials off."""
    duration: Duration
    """Length of a trial."""
