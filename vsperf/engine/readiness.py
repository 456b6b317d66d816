"""Whether the machine is ready for a run: asked before anything starts, and recorded with it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from vsperf.engine.run import Planned
from vsperf.host.binding import pci_addresses
from vsperf.host.dead import refuse_beside_dead
from vsperf.host.doctor.examine import as_data, demand, examine_for
from vsperf.host.doctor.finding import Surroundings
from vsperf.host.lock import testbed_lock
from vsperf.host.workspace import require_short
from vsperf.plugins import Plugins

SOCKET = "ovs-vswitchd.ctl"
"""As long as any name of a socket that does not depend on the testbed."""


def require_ready(
    planned: Sequence[Planned], plugins: Plugins, results: Path
) -> list[dict[str, Any]]:
    """Return the findings that matter to these cases; raise `NotReadyError` if one forbids them."""
    specs = [item.case.spec for item in planned]
    if all(spec.testbed.simulated for spec in specs):
        return []
    sockets = [SOCKET, *(f"{link}.sock" for spec in specs for link in spec.testbed.links)]
    require_short(sockets)
    refuse_beside_dead()
    parts = {kind for spec in specs for kind in (spec.vswitch.kind, spec.generator.kind)}
    devices = [
        device
        for spec in specs
        for link in spec.testbed.links.values()
        for device in (link.switch, link.generator)
    ]
    if pci_addresses(devices):
        parts.add("pci")
    found = examine_for(parts, Surroundings(results=results, plugins=plugins))
    demand(found)
    for item in planned:
        item.drivers.vswitch.require(item.case.spec)
    with testbed_lock(specs[0].testbed.name, "about to begin"):
        pass  # who holds it would refuse the run later, with a folder of results made for nothing
    return as_data(found)
