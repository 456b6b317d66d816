"""`vsperf deploy`: bring the parts of a testcase up, say how to use them, and wait."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import click
from rich.console import Console

from vsperf.cli.drawing import draw
from vsperf.cli.selection import complete_testcase, load, overrides_cases
from vsperf.cli.stored import json_option, results_option, say_json
from vsperf.cli.tables import console, print_table
from vsperf.config.case import Case, CaseSpec
from vsperf.config.loader import Request
from vsperf.deploy.planner import OWN_ROLE
from vsperf.engine.standing import Standing, plan_standing, standing
from vsperf.errors import ExitCode
from vsperf.host.cpus import read_topology
from vsperf.output.table import Table, columns
from vsperf.plugins import Plugins
from vsperf.records.run import Endpoint, Placement, Wire
from vsperf.stop import forget_stop


@click.command(
    epilog="Examples:\n\n\b\n"
    "  vsperf deploy pvp_tput                 # OVS-DPDK and a guest, no generator\n"
    "  vsperf deploy pvp_tput --vnf process   # a process in place of the guest\n"
    "  vsperf deploy v2v_tput --with-generator\n"
    "  vsperf deploy pvp_tput --keep; vsperf shell vm1; vsperf clean\n"
)
@click.argument("testcase", shell_complete=complete_testcase)
@click.option(
    "--with-generator",
    is_flag=True,
    help="Deploy the generator as well; it sends nothing.",
)
@click.option(
    "--keep", is_flag=True, help="Do not wait: leave it up; `vsperf clean` takes it down."
)
@overrides_cases
@results_option
@json_option
def command(
    testcase: str,
    with_generator: bool,
    keep: bool,
    request: Request,
    results: Path,
    as_json: bool,
) -> int:
    """Bring up what TESTCASE would be measured with, and measure nothing.

    Prints what runs and how to use it, waits until Ctrl-C, and takes everything down. Without
    --with-generator the ports of the links wait for a generator of your own. Of a testcase with
    several cases, the first is deployed. Exits with 4 if a part fails while it waits.
    """
    plugins = Plugins.load()
    cases = load(replace(request, names=(testcase,)), plugins).cases
    planned = plan_standing(cases[0], plugins, read_topology(), with_generator=with_generator)
    progress = console(stderr=True)
    if len(cases) > 1:
        progress.print(_choice(cases))
    progress.print(f"deploying {planned.case.label}")
    up = False
    try:
        with standing(planned, plugins, results) as found:
            up = True
            if keep:
                found.workspace.keep()
            if as_json:
                say_json(_as_json(found, with_generator))
            else:
                _print(console(), found, with_generator)
            progress.print(_ending(keep), style="bold")
            if not keep:
                found.watch()
    except KeyboardInterrupt:
        if not up:
            raise
        forget_stop()
        progress.print("taken down")
    return ExitCode.OK


def _choice(cases: Sequence[Case]) -> str:
    others = ", ".join(case.label for case in cases[1:])
    return f"{cases[0].spec.name} has {len(cases)} cases; not deployed: {others}"


def _ending(keep: bool) -> str:
    return "kept up; `vsperf clean` takes it down" if keep else "Ctrl-C takes it down"


def _print(out: Console, found: Standing, with_generator: bool) -> None:
    spec, wires = found.planned.case.spec, wires_of(found)
    out.print(draw(spec.topology, spec.vswitch.kind))
    out.print(f"in {found.workspace.folder}")
    parts = [
        (part.name, part.runs, cpus_text(part))
        for part in parts_of(found, with_generator=with_generator)
    ]
    _table(out, ("part", "runs", "CPU"), parts)
    nics = [(f"{wire.vnf}_{wire.nic}", wire.mac, wire.peer_mac, wire.address) for wire in wires]
    if nics:
        _table(out, ("NIC", "MAC", "frames leave for", "plugged into"), nics)
    if not with_generator:
        plugs = [(plug.link, plug.how, plug.device) for plug in plugs_of(found)]
        _table(out, ("your generator", "has to", "as a device of DPDK"), plugs)
    if (lanes := lanes_text(spec)) is not None:
        out.print(lanes)
    out.print("\nlook at it", style="bold")
    for command_line in found.deployment.access:
        out.print(f"  {command_line}", style="cyan")
    for note in found.planned.plan.plan.notes:
        out.print(f"! {note}", style="yellow")


def _table(out: Console, names: Sequence[str], rows: Sequence[tuple[str, ...]]) -> None:
    out.print()
    print_table(out, Table(names[0], columns(*names, breaks=False), tuple(rows)), blocks=True)


def _as_json(found: Standing, with_generator: bool) -> dict[str, Any]:
    case = found.planned.case
    return {
        "case": case.key,
        "folder": str(found.workspace.folder),
        "parts": [asdict(part) for part in parts_of(found, with_generator=with_generator)],
        "nics": [wire.model_dump(mode="json") for wire in wires_of(found)],
        "plugs": [] if with_generator else [asdict(plug) for plug in plugs_of(found)],
        "access": list(found.deployment.access),
        "notes": list(found.planned.plan.plan.notes),
    }


# A deployment that stands, as rows for people: its parts, their NICs, and where to plug in.


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
    vnfs = tuple(_vnf(name, standing, placement) for name in spec.topology.vnfs)
    generator = {role: cpus for role, cpus in placement.cpus.items() if _first(role) == "generator"}
    others = {*spec.topology.vnfs, "generator", OWN_ROLE}
    switch = {role: cpus for role, cpus in placement.cpus.items() if _first(role) not in others}
    found = (Part("switch", spec.vswitch.kind, switch), *vnfs)
    if with_generator:
        return (*found, Part("generator", f"{spec.generator.kind}, sends nothing", generator))
    return found


def _vnf(name: str, standing: Standing, placement: Placement) -> Part:
    spec, vnfs = standing.planned.case.spec, standing.deployment.vnfs
    facts = vnfs.facts().get(name, {}) if vnfs is not None else {}
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
    """Return the NICs of all VNFs, with the places of their sockets filled in."""
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
