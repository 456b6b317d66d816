"""Everything that starting an instance does, as steps and as the argument vectors it runs. Pure."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

from vsperf.config.case import CaseSpec
from vsperf.drivers.vswitches.base import SwitchPlan, step
from vsperf.drivers.vswitches.ovs import layout
from vsperf.drivers.vswitches.ovs.layout import OvsSettings, SwitchPort
from vsperf.drivers.vswitches.ovs.programs import Programs
from vsperf.drivers.vswitches.ovs.rules import (
    FILTER_COOKIE,
    IDLE_COOKIE,
    rule_count,
    shown_rules,
    tags_to_see,
)
from vsperf.host.netns import entering
from vsperf.host.threads import Polling
from vsperf.records.run import Endpoint, Placeholder, Placement, Step, Wire

QUIET = ("-vsyslog:off", "-vconsole:info")
"""The log goes to standard error, which is kept in the folder of the run, and not to the system."""
OWN_NETWORK = ("unshare", "--net")
"""The devices that OVS makes for its bridge are called the same in every instance. In a network of
its own they meet no others, nobody sends into them, and they vanish with the daemon."""
PMD_ROLE = "pmd"
MAIN_ROLE = "switch main"
USUAL_FLOW_LIMIT = 200_000
"""Flows that OVS keeps in its datapath unless told; a rule per flow needs a place for each."""
USUAL_TAGS = 1
"""VLAN tags that OVS looks at unless told; it takes an inner one for the frame's payload."""


def caches(spec: OvsSettings) -> dict[str, str]:
    """Return the entries on the flow caches of the userspace datapath."""
    return {
        "emc-insert-inv-prob": str(spec.emc_probability),
        "smc-enable": word(spec.smc),
    }


def limits(rules: int, tags: int) -> dict[str, str]:
    """Return what must be more than OVS has unless told, for so many rules and VLAN tags."""
    settings = {}
    if rules > USUAL_FLOW_LIMIT:
        settings["flow-limit"] = str(rules + USUAL_FLOW_LIMIT)
    if tags > USUAL_TAGS:
        settings["vlan-limit"] = str(tags)
    return settings


def word(value: bool) -> str:
    """Return a value as the database has it."""
    return "true" if value else "false"


@dataclass(frozen=True)
class Design(ABC):
    """What one case makes of OVS; what its ports decide, each driver says for itself."""

    case: CaseSpec
    spec: OvsSettings
    placement: Placement

    title: ClassVar[str]
    """What people call it."""
    dpdk: ClassVar[bool]
    """Whether it has to be an OVS with DPDK, and DPDK has to come up."""
    patience_s: ClassVar[float]
    """With a daemon that starts, until it can be given ports."""

    @property
    @abstractmethod
    def ports(self) -> tuple[SwitchPort, ...]:
        """The ports of the bridge."""

    @property
    @abstractmethod
    def endpoints(self) -> tuple[Endpoint, ...]:
        """Where the generator finds the ports of links."""

    @property
    @abstractmethod
    def wires(self) -> tuple[Wire, ...]:
        """What the NICs of VNFs are plugged into."""

    @property
    @abstractmethod
    def other_config(self) -> dict[str, str]:
        """Settings of the daemon, with RUN and NAME not filled in."""

    @property
    @abstractmethod
    def host_ports(self) -> tuple[SwitchPort, ...]:
        """The ports that are devices of the host's network."""

    @property
    @abstractmethod
    def polling(self) -> Polling:
        """Which of the daemon's threads forward, by their names."""

    @property
    @abstractmethod
    def about(self) -> str:
        """Where it forwards, for people."""

    @property
    def own_network(self) -> bool:
        """Whether the daemon gets a network of its own: unless it needs a device of the host's."""
        return not self.host_ports

    @property
    def apart(self) -> bool:
        """Whether that network has a name, and the devices of links are in it."""
        return False

    @property
    def network(self) -> tuple[str, ...]:
        """What stands before the daemon to put it into its network."""
        if self.apart:
            return entering(str(Placeholder.NAME))
        return OWN_NETWORK if self.own_network else ()

    @property
    def polling_cpus(self) -> tuple[int, ...]:
        """CPUs on which a thread of OVS's own polls; they are looked for when it is there."""
        return self.placement.of(PMD_ROLE)

    @property
    def userspace(self) -> bool:
        """Whether the daemon forwards, and not the kernel."""
        return True

    @property
    def datapath(self) -> str:
        return "netdev" if self.userspace else "system"

    @property
    def devices(self) -> tuple[str, ...]:
        """What the daemon needs of /dev, where it is run in a tree."""
        return ("net/tun",)

    @property
    def pinned(self) -> tuple[str, ...]:
        """What stands before the daemon to keep it to some CPUs."""
        return ()

    @property
    def taps(self) -> tuple[str, ...]:
        """Taps, or ends of pairs, that have to be there before the daemon, not filled in."""
        return tuple(port.tap for port in self.ports if port.link is not None and port.tap)

    @property
    def taken(self) -> tuple[SwitchPort, ...]:
        """Ports whose device is a tap that a guest holds, and comes from the host's network."""
        guests = self.case.guests
        return tuple(port for port in self.ports if port.link in guests and port.device)

    @property
    def mtu(self) -> int:
        """The largest packet that passes the ports, without its Ethernet header."""
        return layout.mtu_request(self.case, self.spec.mtu) or layout.LARGEST_USUAL_MTU

    @cached_property
    def rules(self) -> int:
        return rule_count(self.case, self.spec)

    @cached_property
    def tags(self) -> int:
        """How many VLAN tags are looked at in a frame."""
        return tags_to_see(self.case, self.spec)

    def create_database(self, programs: Programs) -> tuple[str, ...]:
        tool, schema = programs.database_tool, str(programs.schema)
        return programs.command(tool, "create", layout.DATABASE, schema)

    def serve_database(self, programs: Programs) -> tuple[str, ...]:
        return programs.command(
            programs.database_server,
            layout.DATABASE,
            f"--remote=punix:{layout.DATABASE_SOCKET}",
            f"--unixctl={layout.DATABASE_CONTROL}",
            *QUIET,
        )

    def switch(self, programs: Programs) -> tuple[str, ...]:
        return (
            *self.network,
            *self.pinned,
            *programs.command(
                programs.daemon,
                f"unix:{layout.DATABASE_SOCKET}",
                f"--unixctl={layout.SWITCH_CONTROL}",
                *QUIET,
                devices=self.devices,
            ),
        )

    def install_rules(self, programs: Programs) -> tuple[str, ...]:
        """Return the command that puts all rules in, in place of all others."""
        return (
            *self.openflow(programs),
            "--bundle",
            "add-flows",
            f"unix:{layout.OPENFLOW_SOCKET}",
            layout.RULES_FILE,
        )

    def flood_to_links_only(self, programs: Programs) -> tuple[str, ...]:
        """Return the command that keeps the bridge's own port from what goes to all ports.

        OVS would write each such frame to a device of the kernel, which nobody reads.
        """
        bridge = f"unix:{layout.OPENFLOW_SOCKET}"
        return (*self.openflow(programs), "mod-port", bridge, layout.BRIDGE, "no-forward")

    def add_idle_rules(self, programs: Programs) -> tuple[str, ...]:
        """Return the command that adds rules that nothing matches."""
        bridge = f"unix:{layout.OPENFLOW_SOCKET}"
        return (*self.openflow(programs), "--bundle", "add-flows", bridge, layout.IDLE_RULES_FILE)

    def remove_idle_rules(self, programs: Programs) -> tuple[str, ...]:
        """Return the command that takes them out again."""
        bridge = f"unix:{layout.OPENFLOW_SOCKET}"
        return (*self.openflow(programs), "del-flows", bridge, f"cookie={IDLE_COOKIE}/-1")

    def count_rules(self, programs: Programs) -> tuple[str, ...]:
        return (*self.openflow(programs), "dump-aggregate", f"unix:{layout.OPENFLOW_SOCKET}")

    def count_filters(self, programs: Programs) -> tuple[str, ...]:
        """Return the command that says how many filters there are, and how many frames met one."""
        return (*self.count_rules(programs), f"cookie={FILTER_COOKIE}/-1")

    def port_statistics(self, programs: Programs) -> tuple[str, ...]:
        """Return the command that prints what OpenFlow knows of the ports."""
        bridge = f"unix:{layout.OPENFLOW_SOCKET}"
        return (*self.openflow(programs), "--no-names", "dump-ports", bridge)

    def openflow(self, programs: Programs) -> tuple[str, ...]:
        return programs.command(programs.openflow, "-O", "OpenFlow14")


def switch_plan(design: Design, programs: Programs) -> SwitchPlan:
    """Return all steps, and where the ports will be."""
    settings = tuple(f"{name}={value}" for name, value in design.other_config.items())
    where = " in it" if design.apart else ""
    kind = "pair of devices" if design.case.has_places else "tap"
    bridge = f"bridge {layout.BRIDGE} datapath_type={design.datapath} fail_mode=secure"
    steps: tuple[Step, ...] = (
        *([step(f"make the network namespace {Placeholder.NAME}")] if design.apart else []),
        *(step(f"make the {kind} {tap}{where}, silent and up") for tap in design.taps),
        *(
            step(f"take the tap {port.device} of the guest at {port.link} into it")
            for port in design.taken
        ),
        step("make a database of its own", argv=design.create_database(programs)),
        step("serve it", argv=design.serve_database(programs)),
        step("write the settings that are read at the start", *settings),
        step(f"start the switch, {design.about}", argv=design.switch(programs)),
        step(
            "add the bridge and its ports at once, and see that each was opened",
            bridge,
            *map(_port_line, design.ports),
        ),
        *(
            step(f"give {port.interface}, whose other end it holds, to the place at {port.link}")
            for port in design.ports
            if port.handed
        ),
        step(
            f"put the rules in at once, in place of all others{_filters(design.spec)}, and count "
            "them",
            *shown_rules(design.case, design.spec, design.ports),
            argv=design.install_rules(programs),
        ),
    )
    if design.spec.flows == "learn":
        flood = design.flood_to_links_only(programs)
        steps += (step("keep the bridge's own port from what goes to all ports", argv=flood),)
    return SwitchPlan(steps, design.endpoints, design.wires)


def _filters(spec: OvsSettings) -> str:
    return f", {spec.filters} of them filters that no test frame meets" if spec.filters else ""


def _port_line(port: SwitchPort) -> str:
    words = [f"port {port.number} {port.interface} type={port.type}"]
    words += [f"options:{name}={value}" for name, value in port.options.items()]
    words += [f"other_config:{name}={value}" for name, value in port.other_config.items()]
    if port.mtu_request is not None:
        words.append(f"mtu_request={port.mtu_request}")
    return " ".join(words)
