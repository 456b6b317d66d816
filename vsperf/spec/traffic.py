"""What is sent, without a word on how fast and by which generator."""

from __future__ import annotations

from fractions import Fraction
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from vsperf.spec.base import Spec
from vsperf.units import Count, Duration, FrameSize, Ratio

Directions = Literal["both", "forward", "reverse"]
TunnelKind = Literal["vxlan", "geneve", "gre", "gtpu"]
Layer3 = Literal["ipv4", "ipv6"]

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
    vlans: Annotated[tuple[Annotated[int, Field(ge=0, le=4095)], ...], Field(max_length=2)] = ()
    """Ids of up to two outer VLAN tags, the first one outermost."""

    @property
    def added_bytes(self) -> int:
        """How much longer a frame is than without."""
        key = 4 if self.kind == "gre" and self.id is not None else 0
        underlay = 20 if self.underlay == "ipv6" else 0
        return TUNNEL_BYTES[self.kind] + key + underlay + 4 * len(self.vlans)

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


class TrafficProfile(Spec):
    """Frames, flows and direction of the offered traffic."""

    frame_size: FrameSize
    """Size with FCS; a list makes one case per size."""
    flows: Count = Count(1)
    """Distinct flows per direction; a list makes one case per number."""
    direction: Directions = "both"
    """`both` offers the same load each way at once, as RFC 2544 section 14 asks."""
    encapsulation: Encapsulation | None = None
    """A tunnel that carries the frames; `frame_size` counts all of it. Flows differ inside."""
    replay: Replay | None = None
    """A capture file to send; `frame_size` is then the mean size by which shares of a line rate are
    reckoned. Frames may have up to 1518B, or up to that if it is more."""

    @model_validator(mode="after")
    def _frames_hold_their_headers(self) -> Self:
        least = FrameSize.MINIMUM + (self.encapsulation.added_bytes if self.encapsulation else 0)
        if self.frame_size.bytes < least:
            raise ValueError(f"frames of {self.frame_size} cannot hold a tunnel: at least {least}B")
        return self

    @property
    def evenly(self) -> bool:
        """Whether frames are equally far apart, and not as they were in a file."""
        return self.replay is None or self.replay.rhythm == "even"

    @model_validator(mode="after")
    def _a_file_is_sent_as_it_is(self) -> Self:
        if self.replay is not None and (self.encapsulation is not None or int(self.flows) != 1):
            raise ValueError("a file that is replayed has its own flows and tunnels: set neither")
        return self


LATE_NS = 2_000_000
"""By how much sending may be late or early however short it is."""


class TrialPolicy(Spec):
    """How one trial is carried out and when it is believed."""

    warm_up: Duration
    """Length of one trial before the search whose result is ignored; 0 for none."""
    learning: bool
    """Send learning frames before each trial (RFC 2544 section 23 b)."""
    settle: Duration
    """Wait after learning frames, before the test stream."""
    drain: Duration
    """Wait for frames still on their way after the last one was sent."""
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
