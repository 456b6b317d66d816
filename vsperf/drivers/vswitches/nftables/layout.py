"""What a case makes of the kernel, and in which steps: settings, ports, and rules of nftables."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Literal

from vsperf.config.base import DriverSpec
from vsperf.config.case import CaseSpec
from vsperf.config.connections import SERVICE_PORT, protocol_of
from vsperf.drivers.settings import WholeSeconds
from vsperf.drivers.vswitches.base import SwitchPlan, step
from vsperf.drivers.vswitches.hops import HopDesign, check_hop, hop_endpoints, hop_steps
from vsperf.drivers.vswitches.kernel_ports import NETWORK, OF_CONNECTIONS
from vsperf.drivers.vswitches.rule_programs import RuleProgram
from vsperf.host.netns import entering
from vsperf.quantities.units import CpuSet, Duration
from vsperf.records.run import Placement


class NftablesSpec(DriverSpec):
    """Settings of a router of the Linux kernel with nftables."""

    CAPPED: ClassVar[bool] = False
    """The generator's cap is one of vhost-user ports, and these are taps."""

    NOT_HELD: ClassVar[str] = OF_CONNECTIONS

    kind: Literal["nftables"]
    nat: Literal["none", "source", "destination"] = "source"
    """Which addresses are rewritten: none, so it is a firewall that lets pass what clients have
    begun; the clients' (`source`), who are all seen as the device's own address by the servers; or
    the one that is called (`destination`), so it shares connections out to the servers, in turns.
    In all three each connection is tracked."""
    time_wait: WholeSeconds | None = None
    """How long a connection stays in the table after it has ended, in whole seconds; what the
    kernel has when not given, which is two minutes as a rule."""
    udp_timeout: WholeSeconds | None = None
    """How long a flow of UDP stays in the table after its last frame, in whole seconds; what the
    kernel has when not given, which is 30 s as a rule, and two minutes where it has gone on for a
    while."""
    cpus: CpuSet | None = None
    """CPUs that forward what comes in; the kernel hands each frame to one of them. One that vsperf
    chooses when not given."""

    @property
    def shares_out(self) -> bool:
        """Whether clients call one address of the device, which chooses a server for each call."""
        return self.nat == "destination"


@dataclass(frozen=True, slots=True)
class Nft(RuleProgram):
    """It takes all rules that it reads, or where one is refused none."""

    NAME: ClassVar[str] = "nft"
    READING: ClassVar[tuple[str, ...]] = ("nft", "-f", "-")
    DRIVER: ClassVar[str] = "vswitch.kind=nftables"
    PACKAGE: ClassVar[str] = "nftables"
    PURPOSE: ClassVar[str] = (
        "it tells the kernel which connections pass, and what becomes of their addresses"
    )
    RULES: ClassVar[str] = "rules that track connections and rewrite addresses"
    DO: ClassVar[str] = "tracks connections by its rules"
    KERNEL: ClassVar[str] = (
        "take a kernel with nftables, connection tracking and NAT, as those of distributions have "
        "them: modprobe nf_tables nft_ct nft_nat nft_numgen"
    )
    TRIED: ClassVar[str] = """table ip vsperf {
	counter refused {
	}
	chain forward {
		type filter hook forward priority filter; policy drop;
		ct state established,related accept
		counter name "refused" drop
	}
	chain prerouting {
		type nat hook prerouting priority dstnat; policy accept;
		tcp dport 80 dnat to numgen inc mod 2 map { 0 : 198.19.0.1, 1 : 198.19.0.2 }
	}
	chain postrouting {
		type nat hook postrouting priority srcnat; policy accept;
		oifname "lo" snat to 198.19.255.254
	}
}
"""


TABLE = "vsperf"
"""Of nftables, in a network in which there is no other."""
BEGUN, REFUSED = "begun", "refused"
"""Counters of frames that begin what a rule lets pass, and of those that no rule lets pass."""
IDLE = "idle"
"""Chain of rules that no frame matches. It is gone through for each frame that belongs to no
connection yet: in a firewall, too, rules are looked at when a connection begins."""
FIRST_IDLE = 0xF0000000
"""As an address of IPv4, 240.0.0.0: in a network that nobody uses."""


@dataclass(frozen=True)
class Design(HopDesign):
    """What one case makes of the kernel."""

    case: CaseSpec
    spec: NftablesSpec
    placement: Placement

    @property
    def service(self) -> str | None:
        """What clients call where the device chooses the server; None where they call these."""
        if not self.spec.shares_out:
            return None
        return f"{self.ports[0].end.service_ip}:{SERVICE_PORT}"

    def ruleset(self) -> str:
        """Return the rules as nftables reads them, with the names of devices not filled in.

        They take the place of those that there are, all at once.
        """
        clients, servers = self.ports
        begins = f'iifname "{clients.device}" oifname "{servers.device}" ct state new'
        if self.spec.shares_out:
            begins += " ct status dnat"  # what calls a server by itself is none of ours
        lines = [
            f"table ip {TABLE}",
            f"delete table ip {TABLE}",
            f"table ip {TABLE} {{",
            *(line for name in (BEGUN, REFUSED) for line in (f"\tcounter {name} {{", "\t}")),
            f"\tchain {IDLE} {{",
            "\t}",
            "\tchain forward {",
            "\t\ttype filter hook forward priority filter; policy drop;",
            "\t\tct state established,related accept",
            f"\t\tjump {IDLE}",
            f'\t\t{begins} counter name "{BEGUN}" accept',
            f'\t\tcounter name "{REFUSED}" drop',
            "\t}",
            *self._translation(),
            "}",
        ]
        return "\n".join(lines) + "\n"

    def _translation(self) -> list[str]:
        clients, servers = self.ports
        match self.spec.nat:
            case "source":
                rule = f'oifname "{servers.device}" snat to {servers.end.device_ip}'
                return _chain("postrouting", "srcnat", rule)
            case "destination":
                number = servers.end.addresses
                chosen = ", ".join(f"{n} : {ip}" for n, ip in enumerate(servers.end.ips))
                protocol = protocol_of(self.case)
                called = f"ip daddr {clients.end.service_ip} {protocol} dport {SERVICE_PORT}"
                turns = f"dnat to numgen inc mod {number} map {{ {chosen} }}"
                rule = f'iifname "{clients.device}" {called} {turns}'
                return _chain("prerouting", "dstnat", rule)
        return []


def idle_rules(first: int, count: int) -> str:
    """Return what adds so many rules that no frame of a test matches."""
    lines = []
    for number in range(FIRST_IDLE + first, FIRST_IDLE + first + count):
        address = ".".join(str(byte) for byte in number.to_bytes(4))
        lines.append(f"add rule ip {TABLE} {IDLE} ip daddr {address} drop\n")
    return "".join(lines)


NO_IDLE_RULES = f"flush chain ip {TABLE} {IDLE}\n"
"""What takes all of them out again."""


TIMEOUTS = {
    "time_wait": ("tcp_timeout_time_wait",),
    "udp_timeout": ("udp_timeout", "udp_timeout_stream"),
}
"""By our setting, what the kernel calls it: of UDP it has two, of which flows that have gone on for
two seconds have the second."""


def sysctls(spec: NftablesSpec) -> Mapping[str, str]:
    """Return what the kernel is told of the network besides, by its file below /proc/sys/net."""
    told = {"ipv4/ip_forward": "1"}
    for setting, names in TIMEOUTS.items():
        timeout: Duration | None = getattr(spec, setting)
        if timeout is not None:
            seconds = str(int(timeout.seconds))
            told |= {f"netfilter/nf_conntrack_{name}": seconds for name in names}
    return told


def _chain(hook: str, priority: str, rule: str) -> list[str]:
    return [
        f"\tchain {hook} {{",
        f"\t\ttype nat hook {hook} priority {priority}; policy accept;",
        f"\t\t{rule}",
        "\t}",
    ]


def switch_plan(design: Design) -> SwitchPlan:
    """Return all steps, and where the ports will be; refuse what it cannot do."""
    check_hop(
        design.case,
        design.cpus,
        "routes",
        "it routes: frames of a test are not addressed to it, and begin no connection",
    )
    steps = (
        *hop_steps(design.ports, design.cpus),
        step(
            "tell the kernel which connections pass, and what becomes of their addresses",
            *design.ruleset().splitlines(),
            argv=(*entering(NETWORK), *Nft.READING),
        ),
        step(
            "have it forward between them",
            *(
                f"{name.replace('/', '.')} = {value}"
                for name, value in sysctls(design.spec).items()
            ),
        ),
    )
    return SwitchPlan(steps, hop_endpoints(design.case, design.ports))
