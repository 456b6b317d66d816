"""Everything that starting an instance does, as steps and as the argument vectors it runs. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from vsperf.errors import UsageError
from vsperf.record.plan import Placement, Step
from vsperf.spec.case import CaseSpec
from vsperf.vswitches.base import SwitchPlan
from vsperf.vswitches.ovs import layout
from vsperf.vswitches.ovs.dpdk.memory import memory_mb
from vsperf.vswitches.ovs.dpdk.settings import PMD_ROLE, other_config
from vsperf.vswitches.ovs.dpdk.spec import OvsDpdkSpec
from vsperf.vswitches.ovs.layout import SwitchPort
from vsperf.vswitches.ovs.programs import Programs
from vsperf.vswitches.ovs.rules import rule_count, shown_rules, tags_to_see
from vsperf.vswitches.ovs.unmatched import FILTER_COOKIE, IDLE_COOKIE

QUIET = ("-vsyslog:off", "-vconsole:info")
"""The log goes to standard error, which is kept in the folder of the run, and not to the system."""
OWN_NETWORK = ("unshare", "--net")
"""The devices that OVS makes for its bridge are called the same in every instance. In a network of
its own they meet no others, nobody sends into them, and they vanish with the daemon."""


@dataclass(frozen=True)
class Design:
    """What one case makes of OVS."""

    case: CaseSpec
    spec: OvsDpdkSpec
    placement: Placement

    @cached_property
    def ports(self) -> tuple[SwitchPort, ...]:
        """The ports of the bridge."""
        return layout.ports_of(self.case, self.spec)

    @property
    def own_network(self) -> bool:
        """Whether the daemon gets a network of its own: unless it needs a device of the kernel."""
        return not layout.needs_network(self.ports)

    @property
    def other_config(self) -> dict[str, str]:
        """Settings of the daemon, with RUN and NAME not filled in."""
        return other_config(
            self.spec,
            self.placement,
            memory_mb=memory_mb(self.spec, self.ports),
            pci=layout.needs_pci(self.ports),
            rules=rule_count(self.case, self.spec),
            tags=tags_to_see(self.case, self.spec),
        )

    def create_database(self, programs: Programs) -> tuple[str, ...]:
        """Return the command that makes the database."""
        tool = str(programs.database_tool)
        return (tool, "create", layout.DATABASE, str(programs.schema))

    def serve_database(self, programs: Programs) -> tuple[str, ...]:
        """Return the command that serves the database."""
        return (
            str(programs.database_server),
            layout.DATABASE,
            f"--remote=punix:{layout.DATABASE_SOCKET}",
            f"--unixctl={layout.DATABASE_CONTROL}",
            *QUIET,
        )

    def switch(self, programs: Programs) -> tuple[str, ...]:
        """Return the command that runs the switch."""
        return (
            *(OWN_NETWORK if self.own_network else ()),
            str(programs.daemon),
            f"unix:{layout.DATABASE_SOCKET}",
            f"--unixctl={layout.SWITCH_CONTROL}",
            *QUIET,
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
        """Return the command that says how many rules there are."""
        return (*self.openflow(programs), "dump-aggregate", f"unix:{layout.OPENFLOW_SOCKET}")

    def count_filters(self, programs: Programs) -> tuple[str, ...]:
        """Return the command that says how many filters there are, and how many frames met one."""
        return (*self.count_rules(programs), f"cookie={FILTER_COOKIE}/-1")

    def port_statistics(self, programs: Programs) -> tuple[str, ...]:
        """Return the command that prints what OpenFlow knows of the ports."""
        bridge = f"unix:{layout.OPENFLOW_SOCKET}"
        return (*self.openflow(programs), "--no-names", "dump-ports", bridge)

    def openflow(self, programs: Programs) -> tuple[str, ...]:
        """Return the beginning of every OpenFlow command."""
        return (str(programs.openflow), "-O", "OpenFlow14")


def switch_plan(design: Design, programs: Programs) -> SwitchPlan:
    """Return all steps, and where the ports will be."""
    if not design.ports:
        raise UsageError(
            f"the switch has no port in topology {design.case.topology.name}",
            fix="choose a topology with links, such as p2p",
        )
    _check_affinity(design)
    settings = tuple(f"{name}={value}" for name, value in design.other_config.items())
    pmds = ", ".join(str(cpu) for cpu in design.placement.of("pmd"))
    memory = "" if design.spec.hugepages else "; WITHOUT HUGEPAGES, so it is slower than it can be"
    steps: tuple[Step, ...] = (
        _step("make a database of its own", design.create_database(programs)),
        _step("serve it", design.serve_database(programs)),
        _step("write the settings that are read at the start", lines=settings),
        _step(f"start the switch, polling on CPU {pmds}{memory}", design.switch(programs)),
        _step(
            "add the bridge and its ports at once, and see that each was opened",
            lines=(
                f"bridge {layout.BRIDGE} datapath_type=netdev fail_mode=secure",
                *(_port_line(port) for port in design.ports),
            ),
        ),
        _step(
            f"put the rules in at once, in place of all others{_filters(design.spec)}, and count "
            "them",
            design.install_rules(programs),
            tuple(shown_rules(design.case, design.spec, design.ports)),
        ),
    )
    if design.spec.flows == "learn":
        flood = design.flood_to_links_only(programs)
        steps += (_step("keep the bridge's own port from what goes to all ports", flood),)
    endpoints = layout.endpoints_of(design.case, design.ports)
    return SwitchPlan(steps, endpoints, layout.wires_of(design.ports))


def _check_affinity(design: Design) -> None:
    """Refuse what OVS would only mention in its log, to choose another CPU by itself."""
    pmds = design.placement.of(PMD_ROLE)
    for link, text in design.spec.rxq_affinity.items():
        for pair in text.split(","):
            if (cpu := int(pair.partition(":")[2])) not in pmds:
                raise UsageError(
                    f"vswitch.rxq_affinity.{link} names CPU {cpu}, where no thread polls",
                    why=f"the polling threads run on CPU {', '.join(str(one) for one in pmds)}",
                    fix="name one of these, or say where they run: vswitch.pmd_cpus",
                )


def _step(action: str, argv: tuple[str, ...] | None = None, lines: tuple[str, ...] = ()) -> Step:
    return Step(component="vswitch", action=action, argv=argv, lines=lines)


def _filters(spec: OvsDpdkSpec) -> str:
    return f", {spec.filters} of them filters that no test frame meets" if spec.filters else ""


def _port_line(port: SwitchPort) -> str:
    words = [f"port {port.number} {port.name} type={port.type}"]
    words += [f"options:{name}={value}" for name, value in port.options.items()]
    words += [f"other_config:{name}={value}" for name, value in port.other_config.items()]
    if port.mtu_request is not None:
        words.append(f"mtu_request={port.mtu_request}")
    return " ".join(words)
