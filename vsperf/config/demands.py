"""What a case needs of its generator, and why one that lacks it is refused. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from vsperf.config.abilities import (
    CONNECTING,
    OF_CONNECTIONS,
    OF_MODELS,
    Ability,
    Capabilities,
)
from vsperf.config.case import CaseSpec
from vsperf.errors import Problem


@dataclass(frozen=True, slots=True)
class Demand:
    """What a case cannot do without."""

    ability: Ability
    asked_by: str
    """The setting that it follows from."""
    fix: str
    """How to do without."""
    why: str = ""
    """What it does with it, where that does not go without saying."""


ONE_AT_A_TIME = "measure one switch at a time: --set search.kind=mlr"
TUNNELS = {
    "vxlan": Ability.VXLAN,
    "geneve": Ability.GENEVE,
    "gre": Ability.GRE,
    "gtpu": Ability.GTPU,
}
VARIED = {"ip": Ability.VARY_IP, "mac": Ability.VARY_MAC, "port": Ability.VARY_PORT}
TO_MANY = {"broadcast": Ability.BROADCAST, "multicast": Ability.MULTICAST}


def refusals(case: CaseSpec, can: Capabilities, ways: int) -> list[Problem]:
    """Return why a generator cannot do a case with so many directions, all reasons at once."""
    name = f"generator {case.generator.kind}"
    lacking = [demand for demand in demands(case, ways) if not can.can(demand.ability)]
    if any(demand.ability in CONNECTING for demand in lacking):  # then of what kind says no more
        more = OF_CONNECTIONS - CONNECTING
        lacking = [demand for demand in lacking if demand.ability not in more]
    found = [
        Problem(
            f"{name} cannot {demand.ability.words}",
            why=f"{demand.asked_by} asks for it{demand.why}",
            fix=demand.fix,
        )
        for demand in lacking
    ]
    flows = int(case.traffic.flows)
    if can.flows is not None and flows > can.flows:
        found.append(
            Problem(
                f"{name} cannot send {flows} flows",
                why=f"it can tell at most {can.flows} of a direction apart",
                fix=f"--set traffic.flows={can.flows}, or another generator",
            )
        )
    if can.directions is not None and ways > can.directions:
        found.append(
            Problem(
                f"{name} cannot send in {ways} directions at once",
                why=f"it can in at most {can.directions}",
                fix="--set traffic.direction=forward, or another generator",
            )
        )
    return found


def demands(case: CaseSpec, ways: int) -> tuple[Demand, ...]:
    """Return all that a case needs of its generator."""
    return (*_of_traffic(case, ways), *_of_trials(case))


def _of_traffic(case: CaseSpec, ways: int) -> Iterator[Demand]:
    traffic = case.traffic
    another = "or another generator"
    if ways > 1:
        yield Demand(
            Ability.PER_DIRECTION, "direction both", f"--set traffic.direction=forward, {another}"
        )
    if traffic.replay is not None:
        yield Demand(Ability.REPLAY, "traffic.replay", f"leave traffic.replay out, {another}")
    else:
        yield from _of_frames(case)
    if traffic.bursts is not None:
        yield Demand(Ability.BURSTS, "traffic.bursts", f"leave traffic.bursts out, {another}")
    if traffic.reverse_load.value != 1:
        yield Demand(Ability.UNEQUAL, "traffic.reverse_load", f"leave it at 100%, {another}")
    if any(case.topology.lanes(path[0], path[-1]) > 1 for path in case.topology.paths):
        yield Demand(
            Ability.LANES, f"topology {case.topology.name}", f"--set topology=p2p, {another}"
        )


def _of_frames(case: CaseSpec) -> Iterator[Demand]:
    """Yield what the frames need; those of a file are as they are."""
    traffic, tunnel = case.traffic, case.traffic.encapsulation
    asked: dict[str, tuple[Ability, ...]] = {
        "traffic.imix": (Ability.MIX,) if traffic.imix is not None else (),
        "traffic.vary": (VARIED[traffic.vary],) if int(traffic.flows) > 1 else (),
        "traffic.flow_order": (Ability.SHUFFLED,) if traffic.flow_order == "shuffled" else (),
        "traffic.layer3": (Ability.IPV6,) if traffic.layer3 == "ipv6" else (),
        "traffic.vlans": _tags(len(traffic.vlans)),
        "traffic.mpls": (Ability.MPLS,) if traffic.mpls else (),
        "traffic.destination": (TO_MANY[traffic.destination],)
        if traffic.destination != "unicast"
        else (),
        "traffic.broadcasts": (Ability.SOME_BROADCASTS,) if traffic.broadcast_every else (),
    }
    if tunnel is not None:
        asked["traffic.encapsulation"] = (TUNNELS[tunnel.kind],)
        asked["traffic.encapsulation.vlans"] = _tags(len(tunnel.vlans))
        asked["traffic.encapsulation.underlay"] = (
            (Ability.IPV6,) if tunnel.underlay == "ipv6" else ()
        )
    for setting, abilities in asked.items():
        for ability in abilities:
            yield Demand(ability, setting, f"leave {setting} out, or another generator")


def _tags(count: int) -> tuple[Ability, ...]:
    return (Ability.VLAN, Ability.QINQ)[max(0, count - 1) : count]


def _of_turns(case: CaseSpec) -> Demand:
    """Return what it takes to hold switches still; the words are for who lacks it."""
    guest = getattr(case.generator, "place", "host") != "host"
    return Demand(
        Ability.TURNS,
        f"search.kind={case.search.kind}",
        "--set generator.place=host"
        if guest
        else f"--generator tgen, which can; or {ONE_AT_A_TIME}",
        ", and from a guest nobody holds processes of the host still"
        if guest
        else ": it holds all switches but one still",
    )


def _of_connections(case: CaseSpec, ability: Ability) -> Demand:
    """Return what it takes to open connections; a model of a generator has none to offer."""
    fix = "--generator tgen, on the host itself (--set generator.place=host)"
    if case.testbed.simulated:
        fix = OF_MODELS
    return Demand(ability, f"search.kind={case.search.kind}", fix)


def _of_trials(case: CaseSpec) -> Iterator[Demand]:
    method = case.search
    for ability in sorted(method.asks_generator, key=list(Ability).index):
        if ability is Ability.TURNS:
            yield _of_turns(case)
            continue
        if ability in OF_CONNECTIONS:
            yield _of_connections(case, ability)
            continue
        yield Demand(
            ability,
            f"search.kind={method.kind}",
            "another generator, or a method that asks for less, such as fixed at 100%",
        )
    if case.latency is not None and case.latency.loads and method.asked():
        yield Demand(Ability.LATENCY, "latency", "--set latency=null, or another generator")
    if case.trial.learning:
        yield Demand(Ability.LEARNING, "trial.learning", "--set trial.learning=false")
    if case.rewriting is not None:
        yield Demand(Ability.HEADERS, case.rewriting, f"no {case.rewriting}, or another generator")
