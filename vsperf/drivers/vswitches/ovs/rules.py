"""The OpenFlow rules that a topology and its traffic ask for, or connections. Pure.

Others match no frame of a test: filters above all others, and rules that come and go. They have
the addresses for documentation (RFC 5737, RFC 3849), however many flows there are.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from vsperf.config.case import CaseSpec
from vsperf.config.connections import SERVICE_PORT, clients_of, protocol_of, servers_of
from vsperf.config.flows import (
    BENCHMARKS,
    DESTINATION_PORT,
    Flow,
    counts,
    flows_between,
    group_mac,
    host_ip,
    lane_mac,
    link_mac,
)
from vsperf.config.modify import Modify
from vsperf.config.traffic import Encapsulation, Layer3, TrafficProfile
from vsperf.config.wiring import Pass, forks, passes
from vsperf.drivers.vswitches.ovs.layout import OvsSettings, SwitchPort
from vsperf.errors import UsageError

PRIORITY = 10
SHOWN = 8
"""Rules that a plan lists one by one."""
MOST_RULES = 2_097_152
"""A million flows each way, with some to spare; the daemon needs about a kilobyte for each."""
TOLD_APART = {"l2": ("mac",), "l3": ("ip",), "l4": ("ip", "port")}
"""By what rules for single streams tell flows apart."""
WORDS: dict[Layer3, tuple[str, str, str, str]] = {
    "ipv4": ("ip", "udp", "nw_src", "nw_dst"),
    "ipv6": ("ipv6", "udp6", "ipv6_src", "ipv6_dst"),
}
"""What matches call a protocol, it with UDP, and its addresses."""
IP_FIELDS: dict[Layer3, tuple[str, str]] = {
    "ipv4": ("ip_src", "ip_dst"),
    "ipv6": ("ipv6_src", "ipv6_dst"),
}
"""What actions call the addresses."""
TAGGED = 0x1000
"""Set in a tag that is there."""
CUSTOMER_TAG, PROVIDER_TAG = 0x8100, 0x88A8
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


def rules(case: CaseSpec, spec: OvsSettings, ports: tuple[SwitchPort, ...]) -> Iterator[str]:
    """Yield every rule, in the words of ovs-ofctl."""
    if spec.nat is not None:
        yield from tracking_rules(case, spec, ports)
        return
    _check(case, spec)
    numbers = {port.place: port.number for port in ports}
    forked = forks(case.topology)
    for way in passes(case.topology):
        head = f"priority={PRIORITY},in_port={numbers[way.enters]}"
        changes = actions(spec.modify, case.traffic) if spec.modify and way.ends else ()
        onward = "NORMAL" if spec.flows == "learn" else f"output:{numbers[way.leaves]}"
        tail = ",".join((*changes, onward))
        for match in _matches(case, spec, way, forked=way in forked):
            needed = _needed(spec.modify, case.traffic, match) if changes else ()
            yield ",".join((head, *needed, *((match,) if match else ()), f"actions={tail}"))
    yield from filter_rules(case.traffic, spec.filters)


def rule_count(case: CaseSpec, spec: OvsSettings) -> int:
    """Return how many rules there are, without making them."""
    if spec.nat is not None:
        return TRACKING_RULES
    apart = case.traffic.vary in TOLD_APART.get(spec.flows, ())
    flows = int(case.traffic.flows) if apart else 1
    ways = passes(case.topology)
    return sum(flows if _from_link(case, way) else 1 for way in ways) + spec.filters


def shown_rules(case: CaseSpec, spec: OvsSettings, ports: tuple[SwitchPort, ...]) -> list[str]:
    """Return the first rules, and how many more there are."""
    count = rule_count(case, spec)
    first = [rule for rule, _ in zip(rules(case, spec, ports), range(SHOWN), strict=False)]
    return first if count <= SHOWN else [*first, f"… and {count - SHOWN} more"]


def _from_link(case: CaseSpec, way: Pass) -> bool:
    """Whether frames come from outside, where they are as the generator made them."""
    return way.enters in case.topology.links


def _matches(case: CaseSpec, spec: OvsSettings, way: Pass, *, forked: bool) -> Iterator[str]:
    """Yield what tells the frames of one way from others that enter by the same port.

    Only rules at links look for single streams: a VNF may have rewritten their addresses.
    """
    if forked:
        yield _lane(case, spec, way)
    elif spec.flows == "network":
        yield _network(case.traffic)
    elif spec.flows in ("port", "learn") or not _from_link(case, way):
        yield ""
    else:
        yield from _streams(case, spec, way)


def _lane(case: CaseSpec, spec: OvsSettings, way: Pass) -> str:
    """Return what tells one of several parallel paths, or one of two directions, from the other."""
    number = case.topology.links.index(way.path[-1])
    match case.topology.dispatch:
        case "mac":
            found = f"dl_dst={lane_mac(number, way.lane)}"
            network = f",{_network(case.traffic)}"
            return found + (network if spec.flows == "network" else "")
        case "ip":
            address = host_ip(number, way.lane, case.traffic.layer3)
            protocol, _, _, target = WORDS[case.traffic.layer3]
            return f"{protocol},{target}={address}"
        case "udp":
            protocol = WORDS[case.traffic.layer3][1]
            return f"{protocol},dl_dst={link_mac(number)},tp_dst={DESTINATION_PORT + way.lane}"


def _network(traffic: TrafficProfile) -> str:
    """Return what all frames of the test have in common, by their addresses."""
    protocol, _, source, target = WORDS[traffic.outer_layer3]
    network = BENCHMARKS[traffic.outer_layer3]
    return f"{protocol},{source}={network},{target}={network}"


def _streams(case: CaseSpec, spec: OvsSettings, way: Pass) -> Iterator[str]:
    """Yield a match for each stream of the traffic from one link to another that rules tell apart.

    Flows that differ by something else are one stream to them.
    """
    source, destination = (case.topology.links.index(end) for end in (way.path[0], way.path[-1]))
    flows = flows_between(case.traffic, source, destination)
    if case.traffic.vary not in TOLD_APART[spec.flows]:
        flows = islice(flows, 1)
    target = group_mac(case.traffic.destination, destination)
    for flow in flows:
        if spec.flows == "l2":
            yield f"dl_src={flow.source_mac},dl_dst={target}"
        else:
            yield _addressed(flow, case.traffic.layer3, ports=spec.flows == "l4")


def _addressed(flow: Flow, layer3: Layer3, *, ports: bool) -> str:
    protocol, with_ports, source, target = WORDS[layer3]
    udp = f",tp_src={flow.source_port},tp_dst={flow.destination_port}" if ports else ""
    kind = with_ports if ports else protocol
    return f"{kind},{source}={flow.source_ip},{target}={flow.destination_ip}{udp}"


def actions(modify: Modify, traffic: TrafficProfile) -> tuple[str, ...]:
    """Return the actions that modify a frame, in OpenFlow's words and in the order that they need.

    Fields are set between taking a tag away and putting one on: a tag may hide them.
    """
    source, target = IP_FIELDS[traffic.outer_layer3]
    fields = (
        ("eth_src", modify.source_mac),
        ("eth_dst", modify.destination_mac),
        (source, modify.source_ip),
        (target, modify.destination_ip),
        ("ip_dscp", modify.dscp),
        ("nw_ttl", None if modify.ttl == "decrement" else modify.ttl),
    )
    found = ["pop_vlan"] if modify.pop_vlan else []
    found += [f"set_field:{value}->{name}" for name, value in fields if value is not None]
    if modify.ttl == "decrement":
        found.append("dec_ttl")
    if modify.push_vlan is not None:
        tag = PROVIDER_TAG if len(modify.tags_of(traffic)) > 1 else CUSTOMER_TAG
        found.append(f"push_vlan:{tag:#06x}")
        found.append(f"set_field:{modify.push_vlan | TAGGED}->vlan_vid")
    return tuple(found)


def _needed(modify: Modify | None, traffic: TrafficProfile, match: str) -> tuple[str, ...]:
    """Return what a match has to say before OpenFlow takes actions on it."""
    if modify is None:
        return ()
    found = []
    if modify.pop_vlan:
        found.append(f"dl_vlan={traffic.outer_vlans[0]}")
    protocol, with_ports = WORDS[traffic.outer_layer3][:2]
    if modify.looks_into_ip and not {protocol, with_ports} & set(match.split(",")):
        found.append(protocol)
    return tuple(found)


def tags_to_see(case: CaseSpec, spec: OvsSettings) -> int:
    """Return how many VLAN tags the switch has to look behind, or at."""
    if spec.flows == "port" and not case.modify.anything and not spec.filters:
        return 0
    return max(len(case.traffic.outer_vlans), len(case.modify.tags_of(case.traffic)))


def _check_tunnel(tunnel: Encapsulation, spec: OvsSettings, *, forked: bool) -> None:
    """Refuse rules by what the switch would only find inside of a tunnel."""
    if forked:
        raise UsageError(
            f"frames in {tunnel.kind} cannot be sent several ways from one port",
            why="what tells their paths apart lies inside of the tunnel",
            fix="choose another topology, or no traffic.encapsulation",
        )
    if spec.flows in ("l2", "l3", "l4"):
        raise UsageError(
            f"vswitch.flows={spec.flows} asks for rules by what is inside of {tunnel.kind}",
            why="a switch that forwards sees the outer headers only",
            fix="--set vswitch.flows=port",
        )


def _check_replay(spec: OvsSettings, *, forked: bool) -> None:
    """Refuse rules by addresses, which in a file are whatever they are."""
    if forked:
        raise UsageError(
            "the frames of a file cannot be sent several ways from one port",
            why="nothing in them tells their paths apart",
            fix="choose another topology, or no traffic.replay",
        )
    if spec.flows != "port":
        raise UsageError(
            f"vswitch.flows={spec.flows} asks for rules by the generator's own addresses",
            why="those of a file that is replayed are others",
            fix="--set vswitch.flows=port",
        )


def _check_labels(traffic: TrafficProfile, spec: OvsSettings, *, forked: bool) -> None:
    """Refuse rules by what stands behind labels, or by an address that all have."""
    by_ip = spec.flows in ("network", "l3", "l4")
    if traffic.mpls and (by_ip or forked):
        raise UsageError(
            "vswitch.flows and parallel paths need addresses that MPLS labels hide",
            why="a switch sees the labels, and not what is behind them",
            fix="--set vswitch.flows=port and a topology without parallel paths, or no "
            "traffic.mpls",
        )
    if forked and traffic.destination != "unicast":
        raise UsageError(
            f"{traffic.destination} frames cannot be sent several ways from one port",
            why="their paths are told apart by whom they are for, and these are for all",
            fix="choose another topology, or --set traffic.destination=unicast",
        )


def _check_everybody(case: CaseSpec, spec: OvsSettings) -> None:
    """Refuse rules that only frames for one station match."""
    if case.traffic.broadcasts.value and spec.flows == "l2":
        raise UsageError(
            "vswitch.flows=l2 asks for rules by whom frames are for, and some are for everybody",
            why="no rule would match these, and all of them would be dropped",
            fix="--set vswitch.flows=port, or learn, or --set traffic.broadcasts=0",
        )


def _check_bridge(case: CaseSpec) -> None:
    """Refuse a bridge that frames would go round in."""
    if case.topology.vnfs or len(case.topology.paths) > 1:
        raise UsageError(
            f"vswitch.flows=learn makes one bridge of all ports of topology {case.topology.name}",
            why="a frame for an address that it does not know leaves by all of them, and would "
            "come to its end several ways, or go round",
            fix="--set topology=p2p, or --set vswitch.flows=port",
        )


def _check(case: CaseSpec, spec: OvsSettings) -> None:
    forked, flows = forks(case.topology), int(case.traffic.flows)
    if spec.flows == "learn":
        _check_bridge(case)
    if case.traffic.encapsulation is not None:
        _check_tunnel(case.traffic.encapsulation, spec, forked=bool(forked))
    if case.traffic.replay is not None:
        _check_replay(spec, forked=bool(forked))
    if forked and spec.flows in ("l2", "l3", "l4"):
        raise UsageError(
            f"topology {case.topology.name} sends frames from {forked[0].enters} several ways, "
            f"and vswitch.flows={spec.flows} asks for rules by stream",
            why=f"they are told apart by topology.dispatch={case.topology.dispatch} already",
            fix="--set vswitch.flows=port, or network",
        )
    _check_labels(case.traffic, spec, forked=bool(forked))
    _check_everybody(case, spec)
    check_filters(case.traffic, spec.filters)
    if spec.flows in TOLD_APART and counts(case.traffic) is None:
        raise UsageError(
            f"there are no rules for exactly {flows} flows",
            why="flows are a product of two fields' values, such as hosts times hosts of "
            "198.18.0.0/15, and this number is no such product",
            fix="--set traffic.flows=1048576, or --set vswitch.flows=port",
        )
    count = rule_count(case, spec)
    if count > MOST_RULES:
        raise UsageError(
            f"{count} rules are too many",
            why=f"a rule per flow is meant for at most {MOST_RULES} of them",
            fix="--set vswitch.flows=port, or fewer flows",
        )


ZONE = 1
TRACKED = 1
"""Table of rules for what has been looked up among known connections."""
TRACKING_RULES = 5


def tracking_rules(
    case: CaseSpec, spec: OvsSettings, ports: tuple[SwitchPort, ...]
) -> Iterator[str]:
    """Yield rules that let pass what a client began, and what belongs to it."""
    check_tracking(case, spec)
    numbers = {port.place: port.number for port in ports}
    clients, servers, protocol = clients_of(case), servers_of(case), protocol_of(case)
    inner, outer = numbers[clients.link], numbers[servers.link]
    looked_up = f"ct(table={TRACKED},zone={ZONE},nat)"
    for port in (inner, outer):
        yield f"priority={PRIORITY},in_port={port},ct_state=-trk,{protocol},actions={looked_up}"
    known = f"table={TRACKED},priority={PRIORITY},ct_state=+trk+est,{protocol}"
    yield f"{known},in_port={inner},actions=output:{outer}"
    yield f"{known},in_port={outer},actions=output:{inner}"
    called, rewritten = "", ""
    if spec.nat == "source":
        rewritten = f",nat(src={servers.device_ip})"
    elif spec.nat == "destination":
        called = f",nw_dst={clients.service_ip},tp_dst={SERVICE_PORT}"
        first, last = servers.ips[0], servers.ips[-1]
        rewritten = f",nat(dst={first}{'' if first == last else f'-{last}'})"
    new = f"table={TRACKED},priority={PRIORITY},ct_state=+trk+new,{protocol}{called}"
    yield f"{new},in_port={inner},actions=ct(commit,zone={ZONE}{rewritten}),output:{outer}"


def check_tracking(case: CaseSpec, spec: OvsSettings) -> None:
    """Refuse what does not go with rules for connections."""
    if not case.has_connections:
        raise UsageError(
            f"vswitch.nat is {spec.nat}, and the method {case.search.kind} opens no connections",
            why="rules that track connections let nothing else pass",
            fix="--set search.kind=cps, or leave vswitch.nat out",
        )
    others = {
        "vswitch.flows": spec.flows != "port",
        "vswitch.modify": spec.modify is not None,
        "vswitch.filters": bool(spec.filters),
        f"topology {case.topology.name}": bool(case.topology.vnfs),
    }
    for name, there in others.items():
        if there:
            raise UsageError(
                f"vswitch.nat is {spec.nat}, which does not go with {name}",
                why="it has rules of its own, between the two ends of connections",
                fix=f"leave {name} out, or vswitch.nat",
            )
