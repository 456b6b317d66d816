"""Everything that starting an instance does, as steps, lines and calls. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import islice

from vsperf.config.case import CaseSpec
from vsperf.drivers.vswitches.base import SwitchPlan
from vsperf.drivers.vswitches.vpp import layout
from vsperf.drivers.vswitches.vpp.calls import Call
from vsperf.drivers.vswitches.vpp.forwarding import forwarding, idle
from vsperf.drivers.vswitches.vpp.interfaces import making
from vsperf.drivers.vswitches.vpp.layout import SwitchPort
from vsperf.drivers.vswitches.vpp.programs import Programs
from vsperf.drivers.vswitches.vpp.spec import VppSpec
from vsperf.drivers.vswitches.vpp.startup import WORKER_ROLE, startup_lines
from vsperf.records.run import Placeholder, Placement, Step

SHOWN = 8
"""Routes beside those of the test that a plan lists one by one."""
SAID = {
    "xconnect": "join the ports in pairs",
    "bridge": "make a bridge of each group of ports",
    "ip4": "route between the ports",
    "ip6": "route between the ports",
    "source": "keep a table of connections, and give clients one address towards the servers",
    "destination": "keep a table of connections, and choose a server for each",
}


@dataclass(frozen=True)
class Design:
    """What one case makes of VPP."""

    case: CaseSpec
    spec: VppSpec
    placement: Placement

    @cached_property
    def ports(self) -> tuple[SwitchPort, ...]:
        """The ports of the switch."""
        return layout.ports_of(self.case, self.spec)

    def configuration(self, programs: Programs) -> tuple[str, ...]:
        """Return the start-up configuration."""
        return startup_lines(self.spec, self.placement, self.ports, programs)

    def switch(self, programs: Programs) -> tuple[str, ...]:
        """Return the command that runs the switch."""
        argv = (str(programs.daemon), "-c", layout.CONFIGURATION)
        return programs.command(*argv, folder=str(Placeholder.RUN))

    @property
    def making(self) -> tuple[Call, ...]:
        """The calls that make the ports."""
        return tuple(making(self.spec, self.ports))

    @property
    def forwarding(self) -> tuple[Call, ...]:
        """The calls after which frames find their way."""
        return tuple(forwarding(self.case, self.spec, self.ports))

    @property
    def standing(self) -> range:
        """The numbers of the routes that no frame is for and that are there from the beginning."""
        return range(self.spec.routes)

    def idle(self, numbers: range, *, add: bool) -> Iterator[Call]:
        """Yield the calls that add routes that no frame is for, or take them out."""
        return idle(self.case, self.spec, self.ports, numbers, add=add)


def switch_plan(design: Design, programs: Programs) -> SwitchPlan:
    """Return all steps, and where the ports will be."""
    workers = ", ".join(str(cpu) for cpu in design.placement.of(WORKER_ROLE))
    memory = "" if design.spec.hugepages else "; WITHOUT HUGEPAGES, so it is slower than it can be"
    learns = ", which learn addresses" if design.spec.learns else ""
    says = SAID[design.spec.nat or design.spec.forwarding]
    steps: tuple[Step, ...] = (
        _step("write its start-up configuration", lines=design.configuration(programs)),
        _step(f"start the switch, polling on CPU {workers}{memory}", design.switch(programs)),
        _step("make the ports, over the API", lines=_lines(design.making)),
        _step(f"{says}{learns}", lines=_lines(design.forwarding)),
    )
    if routes := design.spec.routes:
        first = _lines(islice(design.idle(design.standing, add=True), SHOWN))
        what = "addresses" if design.spec.forwarding == "bridge" else "routes"
        more = (f"… and so on, {routes} for each table",) if routes > SHOWN else ()
        steps = (*steps, _step(f"add {routes} {what} that no frame is for", lines=(*first, *more)))
    endpoints = layout.endpoints_of(design.case, design.spec, design.ports)
    return SwitchPlan(steps, endpoints, layout.wires_of(design.ports))


def _lines(calls: Iterable[Call]) -> tuple[str, ...]:
    return tuple(call.line for call in calls)


def _step(action: str, argv: tuple[str, ...] | None = None, lines: tuple[str, ...] = ()) -> Step:
    return Step(component="vswitch", action=action, argv=argv, lines=lines)
