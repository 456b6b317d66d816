"""What a case makes of IPVS, and in which steps: ports, and a service with its servers. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from vsperf.config.case import CaseSpec
from vsperf.config.connections import SERVICE_PORT, protocol_of
from vsperf.drivers.vswitches.base import SwitchPlan
from vsperf.drivers.vswitches.hops import HopDesign, check_hop, hop_endpoints, hop_steps
from vsperf.drivers.vswitches.ipvs.spec import IpvsSpec
from vsperf.drivers.vswitches.kernel_ports import NETWORK, step
from vsperf.drivers.vswitches.rule_programs import RuleProgram
from vsperf.host.netns import entering
from vsperf.records.run import Placement, Step

HOST_BITS = 32
FORWARDING = "ipv4/ip_forward"
PROTOCOLS = {"tcp": "-t", "udp": "-u"}
WAYS = {"nat": "-m", "dr": "-g"}


@dataclass(frozen=True, slots=True)
class Ipvsadm(RuleProgram):
    """It does what it reads, line by line; what of it was refused only the kernel can tell."""

    NAME: ClassVar[str] = "ipvsadm"
    READING: ClassVar[tuple[str, ...]] = ("ipvsadm", "-R")
    DRIVER: ClassVar[str] = "vswitch.kind=ipvs"
    PACKAGE: ClassVar[str] = "ipvsadm"
    PURPOSE: ClassVar[str] = "it tells the kernel's load balancer its services"
    RULES: ClassVar[str] = "services of IPVS"
    DO: ClassVar[str] = "shares out connections by IPVS"
    KERNEL: ClassVar[str] = (
        "take a kernel with IPVS, as those of distributions have it: modprobe ip_vs ip_vs_rr"
    )
    TRIED: ClassVar[str] = (
        "-A -t 198.18.255.1:80 -s rr\n-a -t 198.18.255.1:80 -r 198.19.0.1:80 -m\n"
    )


@dataclass(frozen=True)
class Design(HopDesign):
    """What one case makes of it."""

    case: CaseSpec
    spec: IpvsSpec
    placement: Placement

    @property
    def service_ip(self) -> str:
        """Whom clients call: an address of the device."""
        return self.ports[0].end.service_ip

    @property
    def service(self) -> str:
        """The same, with its port."""
        return f"{self.service_ip}:{SERVICE_PORT}"

    @property
    def servers(self) -> tuple[str, ...]:
        """Whom it passes connections on to."""
        return tuple(f"{ip}:{SERVICE_PORT}" for ip in self.ports[1].end.ips)

    def rules(self) -> str:
        """Return what it is told; it takes the place of what it was told before."""
        service, way = f"{PROTOCOLS[protocol_of(self.case)]} {self.service}", WAYS[self.spec.mode]
        lines = [
            "-C",
            f"-A {service} -s rr",
            *(f"-a {service} -r {server} {way}" for server in self.servers),
        ]
        if (timeout := self.spec.udp_timeout) is not None:
            lines.append(f"--set 0 0 {int(timeout.seconds)}")  # 0: as it is
        return "\n".join(lines) + "\n"

    def settings(self) -> Mapping[str, str]:
        """Return what the kernel is told of the network, by its file below /proc/sys/net.

        Names of devices are not filled in.
        """
        told = {FORWARDING: "1"}
        if self.spec.direct:  # what servers say comes from an address of the device itself
            for name in ("all", self.ports[1].device):
                told |= {
                    f"ipv4/conf/{name}/accept_local": "1",
                    f"ipv4/conf/{name}/rp_filter": "0",
                }
        return told


def switch_plan(design: Design) -> SwitchPlan:
    """Return all steps, and where the ports will be; refuse what it cannot do."""
    check_hop(
        design.case,
        design.cpus,
        "shares out connections",
        "frames of a test are not addressed to it, and begin no connection",
    )
    clients = design.ports[0]
    steps = (
        *hop_steps(
            design.ports,
            design.cpus,
            f"{clients.device} is {design.service_ip}/{HOST_BITS}, too: whom clients call",
        ),
        Step(
            component="vswitch",
            action="tell IPVS whom clients call, and its servers",
            argv=(*entering(NETWORK), *Ipvsadm.READING),
            lines=tuple(design.rules().splitlines()),
        ),
        step(
            "have the kernel forward between them",
            *(f"{name.replace('/', '.')} = {value}" for name, value in design.settings().items()),
        ),
    )
    return SwitchPlan(steps, hop_endpoints(design.case, design.ports))
