"""A deployment that stands, as rows for people: its parts, their NICs, and where to plug in."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from vsperf.config.case import CaseSpec
from vsperf.deploy.planner import OWN_ROLE
from vsperf.engine.standing import Standing
from vsperf.records.run import Endpoint, Placement, Wire


@dataclass(frozen=True, slots=True)
class Part:
    """Something that runs."""

    name: str
    runs: str
    cpus: dict[str, tuple[int, ...]]
    """By role."""


@dataclass(frozen=True, slots=True)
class Plug:
    """Where a generator of the user's own is plugged in."""

    link: str
    how: str
    """Who has to do what there."""
    device: str
    """What a DPDK program calls it."""


def parts_of(standing: Standing, *, with_generator: bool) -> tuple[Part, ...]:
    """Return what runs, in the order in which frames meet it first."""
    spec, placement = standing.planned.case.spec, standing.planned.plan.plan.placement
    machines = tuple(_machine(name, standing, placement) for name in spec.topology.machines)
    generator = {role: cpus for role, cpus in placement.cpus.items() if _first(role) == "generator"}
    others = {*spec.topology.machines, "generator", OWN_ROLE}
    switch = {role: cpus for role, cpus in placement.cpus.items() if _first(role) not in others}
    found = (Part("switch", spec.vswitch.kind, switch), *machines)
    if with_generator:
        return (*found, Part("generator", f"{spec.generator.kind}, sends nothing", generator))
    return found


def _machine(name: str, standing: Standing, placement: Placement) -> Part:
    spec, machines = standing.planned.case.spec, standing.deployment.machines
    facts = machines.facts().get(name, {}) if machines is not None else {}
    words = [spec.vnf.kind if spec.vnf else "?", facts.get("accelerator")]
    application = facts.get("application", {}).get("app")
    forwards = f"forwards with {application}" if application else None
    runs = ", ".join(str(word) for word in (*words, forwards) if word)
    return Part(
        name, runs, {role: cpus for role, cpus in placement.cpus.items() if _first(role) == name}
    )


def _first(role: str) -> str:
    return role.partition(" ")[0]


def cpus_text(part: Part) -> str:
    """Return the CPUs of a part, each with its role, such as `1 pmd, 0 switch main`."""
    found = []
    for role, cpus in part.cpus.items():
        inner = role.removeprefix(part.name).strip()
        found.append(" ".join((",".join(str(cpu) for cpu in cpus), inner)).strip())
    return "; ".join(found)


def wires_of(standing: Standing) -> tuple[Wire, ...]:
    """Return the NICs of all machines, with the places of their sockets filled in."""
    fill = standing.workspace.fill
    return tuple(
        wire.model_copy(update={"address": fill(wire.address)})
        for wire in standing.planned.plan.plan.wires
    )


def plugs_of(standing: Standing) -> tuple[Plug, ...]:
    """Return where a generator finds the ports of the links."""
    fill = standing.workspace.fill
    found: Iterable[Endpoint] = standing.planned.plan.plan.endpoints
    return tuple(
        _plug(one.link, one.kind, fill(one.address), number) for number, one in enumerate(found)
    )


def _plug(link: str, kind: str, address: str, number: int) -> Plug:
    match kind:
        case "vhost-user-client":
            device = f"net_virtio_user{number},path={address},server=1"
            return Plug(link, "listen on the socket; the switch calls", device)
        case "vhost-user":
            return Plug(link, "call the socket", f"net_virtio_user{number},path={address}")
        case "pci":
            return Plug(link, "send by the NIC at the other end of the cable", address)
        case _:
            return Plug(link, "send by the device at the other end", address)


def lanes_text(spec: CaseSpec) -> str | None:
    """Say how frames of parallel paths are told apart; None when there is one path."""
    if len(spec.topology.paths) == 1:
        return None
    by = {"mac": "destination MAC", "ip": "destination IP", "udp": "UDP port"}
    return f"parallel paths are told apart by {by[spec.topology.dispatch]}"
