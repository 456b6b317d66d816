"""Settings of VPP. What decides a number is always written, also at its default."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, Self

from pydantic import Field, ValidationInfo, field_validator, model_validator

from vsperf.config.counted import Counted, PowerOfTwo
from vsperf.config.flows import TTL, link_mac
from vsperf.config.rooted import RootedSpec
from vsperf.drivers.settings import WholeSeconds, require_as_many
from vsperf.drivers.vswitches.base import Filters, Rules
from vsperf.quantities.units import CpuSet

if TYPE_CHECKING:
    from vsperf.config.case import CaseSpec

Forwarding = Literal["xconnect", "bridge", "ip4", "ip6"]
PluginName = Annotated[str, Field(pattern=r"^[a-z0-9_]+$")]
MOST_ROUTES = 1_048_576
OF_NAT = ("sessions", "time_wait", "udp_timeout")
"""Settings that say something only beside `nat`."""
FORWARDS: dict[Rules, dict[str, object]] = {
    "port": {"forwarding": "xconnect"},
    "l2": {"forwarding": "bridge", "learn": False},
    "learn": {"forwarding": "bridge", "learn": True},
}
"""What `flows`, the word of all switches, means here; who routes says by which protocol."""


class VppSpec(RootedSpec):
    """Settings of VPP."""

    WORDS: ClassVar[Mapping[str, tuple[str, ...]]] = {"flows": ("forwarding", "learn")}
    NOT_HELD: ClassVar[str] = (
        "it routes, so frames have to be addressed to it, and in turns nobody asks by which address"
    )
    TELLS: ClassVar[str] = "vpp"
    """The collector that it answers to."""

    kind: Literal["vpp"]
    install: str | None = None
    """Folder that VPP is installed under, such as /usr/local, or in which it was built; what the
    distribution has when not given. Several may live side by side. With `root`, a folder of that
    tree."""
    workers: Annotated[int, Field(ge=1, le=128)] = 1
    """Polling threads, when `worker_cpus` does not say where they run."""
    worker_cpus: CpuSet | None = None
    """CPUs of the polling threads, one each."""
    main_cpu: Annotated[int, Field(ge=0)] | None = None
    """CPU of the main thread: it answers questions, and mostly sleeps. No worker runs there."""
    forwarding: Forwarding = "xconnect"
    """How frames find their way: `xconnect` joins ports in pairs and looks at no frame; `bridge`
    looks at MAC addresses; `ip4` and `ip6` route, which also counts the TTL down."""
    learn: bool = True
    """Whether a bridge learns behind which port each address is; otherwise it is told, and never
    floods."""
    nat: Literal["source", "destination"] | None = None
    """What becomes of the addresses of connections, of which VPP keeps a table then (NAT44):
    clients get one towards the servers (`source`), or one address is called, and for each
    connection a server is chosen at random (`destination`). Only for methods that open
    connections."""
    sessions: Annotated[int, Field(ge=1, le=16_777_216), Counted] | None = None
    """Connections that the table of each worker has room for, with `nat`; 64,512 when not given, as
    VPP has it."""
    time_wait: WholeSeconds | None = None
    """How long a connection stays in the table after its last frame when it has ended, or was not
    established, in whole seconds; four minutes when not given, as VPP has it."""
    udp_timeout: WholeSeconds | None = None
    """How long a flow of UDP stays in the table after its last frame, in whole seconds; five
    minutes when not given, as VPP has it."""
    routes: Annotated[int, Field(ge=0, le=MOST_ROUTES), Counted] = 0
    """Routes, or addresses of a bridge, beside those of the test; no test frame is for one."""
    buffers: Annotated[int, Field(ge=1024, le=16_777_216), Counted] | None = None
    """Packet buffers on each memory node; what the ports of the case can use when not given."""
    hugepages: bool = True
    """Take the buffers from hugepages; without, it is slower, and enough for trying things out."""
    heap: Annotated[int, Field(ge=64, le=1_048_576)] = 512
    """Memory [MB] for all but buffers, such as routes; what is not used costs nothing."""
    ports: Literal["vhost-user-client", "vhost-user", "memif"] = "vhost-user-client"
    """Ports of links without a device in the testbed. As `vhost-user-client` the switch calls and
    the other end listens; as `vhost-user` the switch listens; `memif` is VPP's own kind of port in
    shared memory, for which it listens."""
    vnf_ports: Literal["vhost-user", "tap"] = "vhost-user"
    """What the NICs of VNFs are plugged into: `vhost-user`, where `ports` says who calls (with
    `memif` the switch does), or taps of the kernel, which VPP opens as packet sockets."""
    queues: Annotated[int, Field(ge=1, le=255)] = 1
    """Receive queues of each device and memif; a vhost-user port has as many as the other end asks
    for."""
    ring: Annotated[int, Field(ge=64, le=16384), PowerOfTwo] = 1024
    """Descriptors in each ring of a device or memif, a power of 2; the rings of a vhost-user port
    belong to the other end."""
    mergeable: bool = True
    """Offer that a frame may be spread over several buffers of a vhost-user port (mrg_rxbuf)."""
    packed: bool = False
    """Offer packed rings on vhost-user ports."""
    plugins: tuple[PluginName, ...] = ()
    """Plugins that are loaded beside those that the ports need, such as `acl`."""
    filters: Filters = 0
    """None: filters would need another plugin, and other paths of the code."""

    @model_validator(mode="before")
    @classmethod
    def _flows_say_how_to_forward(cls, given: Any) -> Any:
        """Take the word of all switches for how frames find their way, as testcases have it."""
        if not isinstance(given, dict) or "flows" not in given:
            return given
        said = {name: value for name, value in given.items() if name != "flows"}
        meant = next((one for word, one in FORWARDS.items() if word == given["flows"]), None)
        if meant is None:
            raise ValueError(
                f"VPP has no rules of the kind flows={given['flows']}; it forwards by "
                f"flows={', '.join(FORWARDS)}, or by forwarding=ip4 or ip6"
            )
        if {**meant, **said} != {**said, **meant}:
            raise ValueError(
                f"flows={given['flows']} and what is said of forwarding and learn contradict each "
                "other; leave one out"
            )
        return {**said, **meant}

    @field_validator("filters")
    @classmethod
    def _filters_are_not_offered(cls, filters: int) -> int:
        if filters:
            raise ValueError(
                "vsperf puts no filters into VPP; leave them out, or choose a switch with rules, "
                "such as ovs-dpdk"
            )
        return filters

    @model_validator(mode="after")
    def _pins_agree(self, info: ValidationInfo) -> Self:
        require_as_many(self, "workers", "worker_cpus", info)
        if self.worker_cpus is not None and self.main_cpu in self.worker_cpus.cpus:
            raise ValueError(f"main_cpu and worker_cpus both name CPU {self.main_cpu}")
        return self

    @model_validator(mode="after")
    def _nat_stands_alone(self) -> Self:
        if self.nat is None:
            if idle := [name for name in OF_NAT if getattr(self, name) is not None]:
                raise ValueError(
                    f"{idle[0]} is of a table of connections, and VPP keeps none; say with "
                    "nat=source or nat=destination what becomes of their addresses, or leave "
                    f"{idle[0]} out"
                )
        elif self.forwarding != "xconnect" or self.routes:
            raise ValueError(
                f"nat={self.nat} routes between its two ports by itself; leave forwarding and "
                "routes out, or nat"
            )
        return self

    @model_validator(mode="after")
    def _routes_have_a_table(self) -> Self:
        if self.routes and self.forwarding == "xconnect":
            raise ValueError(
                "routes need a table to be in, and xconnect has none; choose forwarding=ip4, ip6 "
                "or bridge"
            )
        return self

    @property
    def shares_out(self) -> bool:
        """Whether clients call one address for all servers."""
        return self.nat == "destination"

    @property
    def worker_count(self) -> int:
        return self.workers if self.worker_cpus is None else len(self.worker_cpus)

    @property
    def learns(self) -> bool:
        return self.forwarding == "bridge" and self.learn

    @property
    def routed(self) -> bool:
        """Whether frames are routed, which rewrites their headers."""
        return self.forwarding in ("ip4", "ip6")

    @property
    def rewriting(self) -> str | None:
        """The setting by which frames are changed; None where they are left as they are."""
        return "vswitch.forwarding" if self.routed else None

    def arriving(self, case: CaseSpec, enters: str, leaves: str) -> dict[str, Any]:
        """Return the headers that frames of a direction have at its end: a router's work shows."""
        if not self.routed or enters not in case.topology.links:
            return {}
        ends = {enters, leaves}
        path = next((one for one in case.topology.paths if {one[0], one[-1]} == ends), None)
        if path is None:
            return {}
        target = link_mac(case.topology.links.index(leaves))
        return {"ttl": TTL - (len(path) - 1), "destination_mac": target}

    @property
    def HELD_STILL(self) -> bool:
        """Whether it can take turns with others."""
        return not self.routed

    @property
    def CAPPED(self) -> bool:
        """Whether the generator's cap, measured on vhost-user ports, says something here."""
        return self.ports != "memif"

    @property
    def WITHHELD(self) -> tuple[str, ...]:
        """What it does not offer on vhost-user ports; whoever is there then takes other code."""
        return ("in_order",) if self.mergeable else ("in_order", "mrg_rxbuf")

    @property
    def flows(self) -> Rules:
        """By what it forwards, in the words of all switches."""
        for word, meant in FORWARDS.items():
            if all(getattr(self, name) == value for name, value in meant.items()):
                return word
        return "network"
