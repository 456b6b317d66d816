"""What a generator can do and tell, as data that its driver declares.

What a case cannot do without is held against it in `plan` (`demands.py`), and refused. What is only
told less exactly is a flag on each trial (`drivers/generators/base.py`), and so on the result.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass


class Ability(enum.StrEnum):
    """One thing that a generator can do, or tell."""

    words: str

    def __new__(cls, name: str, words: str) -> Ability:
        member = str.__new__(cls, name)
        member._value_ = name
        member.words = words
        return member

    # How it sends.
    PACED = "paced", "send at the rate that it is asked for"
    EXACT = "exact", "send an exact number of frames"
    BRIEF = "brief", "make trials of much less than a second"
    STEPS = "steps", "change the load in the middle of a trial"
    TURNS = "turns", "take turns with several switches, of which one runs at a time"
    CONNECTIONS = "connections", "open TCP connections and answer them"
    UDP_FLOWS = "udp-flows", "ask and answer over flows of UDP"
    SEVERAL_REQUESTS = "several-requests", "ask several times on each connection"
    HELD = "held-connections", "hold all connections open for a while"
    BY_CLOCK = "requests-by-clock", "ask by a clock on connections that are open"
    SYN_FLOOD = "syn-flood", "send SYNs of nobody beside connections"
    UNEQUAL = "unequal-loads", "offer each direction a load of its own"
    BURSTS = "bursts", "send bursts with a gap after each"
    MIX = "mixed-sizes", "send frames of several sizes in a given order"
    REPLAY = "replay", "replay a capture file"
    SHUFFLED = "shuffled-flows", "send flows in a shuffled order"
    LEARNING = "learning", "send learning frames before a trial"
    LANES = "parallel-paths", "send along parallel paths between two links"
    # What it sends.
    IPV6 = "ipv6", "send IPv6"
    VLAN = "vlan", "send frames with a VLAN tag"
    QINQ = "qinq", "send frames with two VLAN tags"
    MPLS = "mpls", "send frames with MPLS labels"
    VXLAN = "vxlan", "send frames in a VXLAN tunnel"
    GENEVE = "geneve", "send frames in a Geneve tunnel"
    GRE = "gre", "send frames in a GRE tunnel"
    GTPU = "gtpu", "send frames in a GTP-U tunnel"
    BROADCAST = "broadcast", "send frames to everybody"
    MULTICAST = "multicast", "send frames to a group"
    SOME_BROADCASTS = "some-broadcasts", "send some frames to everybody, in place of others"
    VARY_IP = "vary-ip", "send flows that differ by their IP addresses"
    VARY_MAC = "vary-mac", "send flows that differ by their MAC addresses"
    VARY_PORT = "vary-port", "send flows that differ by their UDP ports"
    # What it tells.
    PER_DIRECTION = "per-direction", "count each direction by itself"
    OWN_COUNTS = "own-counts", "count itself what it sends and what arrives"
    NUMBERED = "numbered-frames", "tell each frame of the test from copies and from foreign ones"
    TIMED = "timed", "tell how long it sent"
    LATENCY = "latency", "measure latency"
    EVERY_LATENCY = "latency-of-each-frame", "measure the latency of every frame"
    LATENCY_FROM = "latency-from", "measure the latency of frames from a given moment on"
    LATENCY_RANGES = "latency-ranges", "measure latency by ranges of frames"
    SILENCE = "silence", "tell for how long no frame arrived"
    LAST_LOSS = "last-loss", "tell when the last frame was lost"
    SECONDS = "seconds", "tell once a second how a trial goes"
    HEADERS = "headers", "show the headers of frames that arrive"
    ANSWERED_WHEN = "answered-when", "tell when connections were answered"


OF_MODELS = (
    "here run what sends frames, as most in the groups phy2phy and vm of `vsperf list` do, such as "
    "phy2phy_tput; or this on a testbed that is real: --testbed local"
)
"""What to do where a simulated testbed is asked for more than frames."""
CONNECTING = frozenset({Ability.CONNECTIONS, Ability.UDP_FLOWS})
"""Of these a method that opens connections needs one; what else it asks for says more of them."""
OF_CONNECTIONS = CONNECTING | {
    *(Ability.SEVERAL_REQUESTS, Ability.HELD, Ability.BY_CLOCK, Ability.SYN_FLOOD),
    Ability.ANSWERED_WHEN,
}
"""All that says something to connections only."""


@dataclass(frozen=True, slots=True)
class Capabilities:
    """What a generator can do and tell, as it is set up for a case."""

    does: frozenset[Ability]
    flows: int | None = None
    """Most flows of a direction; None where nothing bounds them."""
    directions: int | None = None
    """Most ways in which it can send at once."""
    clock: str | None = None
    """What its latencies are measured by; None where it measures none."""
    trial_ns: int = 0
    """What a trial takes beyond its traffic, where the generator begins anew for each."""

    def can(self, ability: Ability) -> bool:
        return ability in self.does


EVERYTHING = Capabilities(frozenset(Ability))
"""Of a generator of which nothing else is said."""
