"""Rules that no frame of a test matches: filters above all others, and rules that come and go.

Their addresses are those for documentation (RFC 5737, RFC 3849), which no test frame has, however
many flows there are. Pure.
"""

from __future__ import annotations

from collections.abc import Iterator

from vsperf.config.traffic import Layer3, TrafficProfile
from vsperf.errors import UsageError

IDLE_COOKIE = "0x1d1e"
"""Tells rules that come and go beside the traffic from the others."""
IDLE_PRIORITY = 11
FILTER_COOKIE = "0xf117e5"
"""Tells filters from the others."""
FILTER_PRIORITY = 20
"""Above all rules that forward: what they forbid has to be ruled out first."""
HOSTS = 254
"""Of a network for documentation."""
FORBIDDEN: dict[Layer3, str] = {
    "ipv4": "ip,nw_src=198.51.100.{source},nw_dst=203.0.113.{target}",
    "ipv6": "ipv6,ipv6_src=2001:db8:0:1::{source:x},ipv6_dst=2001:db8:0:2::{target:x}",
}
"""What filters forbid, of frames with that IP."""


def idle_rules(count: int) -> Iterator[str]:
    """Yield rules beside the traffic; they stand above its own, as those of a new tenant would."""
    for number in range(count):
        address = f"203.0.113.{number % 256}"
        port = f"udp,nw_src={address},tp_src={number // 256 % 65536}"
        yield f"cookie={IDLE_COOKIE},priority={IDLE_PRIORITY},{port},actions=drop"


def filter_rules(traffic: TrafficProfile, count: int) -> Iterator[str]:
    """Yield so many filters, each of which drops frames from one address to another.

    RFC 2544, section 11.4: neither address is one of the test frames.
    """
    forbidden = FORBIDDEN[traffic.outer_layer3]
    for number in range(count):
        source, target = number % HOSTS + 1, (number + number // HOSTS) % HOSTS + 1
        match = forbidden.format(source=source, target=target)
        yield f"cookie={FILTER_COOKIE},priority={FILTER_PRIORITY},{match},actions=drop"


def check_filters(traffic: TrafficProfile, count: int) -> None:
    """Refuse filters of which nobody knows that the frames pass them."""
    if not count:
        return
    if traffic.replay is not None:
        raise UsageError(
            "the frames of a file cannot be sent past vswitch.filters",
            why="nobody knows their addresses, so some of them may be those that are forbidden",
            fix="--set vswitch.filters=0, or no traffic.replay",
        )
    if traffic.mpls:
        raise UsageError(
            "vswitch.filters look at addresses that MPLS labels hide",
            why="a switch sees the labels, and not what is behind them: no filter would be asked",
            fix="--set vswitch.filters=0, or no traffic.mpls",
        )
