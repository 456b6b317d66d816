"""Whether the machine is ready for a run: asked before anything starts, and recorded with it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from vsperf.deploy.guests import require_guests
from vsperf.deploy.planner import Drivers
from vsperf.engine.run import Planned
from vsperf.host.binding import pci_addresses, require_bindable
from vsperf.host.dead import refuse_beside_dead
from vsperf.host.doctor.examine import as_data, demand, examine_for
from vsperf.host.doctor.finding import Host
from vsperf.host.doctor.wants import Want
from vsperf.host.files import Roots
from vsperf.host.hugepages import require_memory
from vsperf.host.lock import testbed_lock
from vsperf.host.resctrl import abilities, masks_of
from vsperf.host.workspace import require_short
from vsperf.plugins import Plugins
from vsperf.records.run import Placeholder


def require_ready(
    planned: Sequence[Planned], plugins: Plugins, results: Path
) -> list[dict[str, Any]]:
    """Return the findings that matter to these cases; raise `NotReadyError` if one forbids them."""
    specs = [item.case.spec for item in planned]
    if all(spec.testbed.simulated for spec in specs):
        return []
    with testbed_lock(specs[0].testbed.name, "about to begin"):
        pass  # who holds it would refuse the run later, and has memory that is free again then
    wires = [wire for item in planned for wire in item.plan.plan.wires]
    places = [in_run(wire.address) for wire in wires]
    links = [f"{link}.sock" for spec in specs for link in spec.testbed.links]
    drivers = tuple(dict.fromkeys(driver for item in planned for driver in _of(item.drivers)))
    own = [in_run(name) for driver in drivers for name in getattr(driver, "sockets", ())]
    require_short([*own, *links, *places])
    refuse_beside_dead()
    addresses = pci_addresses(device for spec in specs for device in spec.testbed.devices)
    here = Host(results=results, plugins=plugins)
    found = examine_for(drivers, here, {Want.NICS} if addresses else frozenset())
    demand(found)
    require_bindable(addresses)
    for item in planned:
        if item.case.spec.testbed.simulated:
            continue
        require_memory(item.plan.plan.hugepage_bytes)
        item.drivers.vswitch.require(item.case.spec)
        if item.drivers.vnf is not None:
            item.drivers.vnf.require(item.case.spec)
        for program in item.drivers.programs.all if item.drivers.programs is not None else ():
            program.find(item.case.spec)
        require_guests(item.case.spec)
        for name, collector in item.drivers.collectors.items():
            collector.require(item.case.spec, item.case.spec.collect[name])
        if item.case.spec.cache:
            masks_of({**item.case.spec.cache}, abilities(Roots()))
        if item.drivers.noise is not None:
            item.drivers.noise.require(item.case.spec)
    return as_data(found)


def _of(drivers: Drivers) -> Iterator[object]:
    """Yield whoever takes part in a case, and may have something to look for."""
    programs = drivers.programs.all if drivers.programs is not None else ()
    yield from (*drivers.all, *drivers.sides, *drivers.collectors.values(), *programs)


def in_run(address: str) -> str:
    """Return a socket's name within the folder of a run."""
    return address.removeprefix(f"{Placeholder.RUN}/")
