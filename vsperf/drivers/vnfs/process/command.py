"""What a case makes of each VNF, and testpmd's command line. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from vsperf.config.case import CaseSpec
from vsperf.config.wiring import nics
from vsperf.dpdk.command import MEGABYTE, Rings, Testpmd
from vsperf.drivers.vnfs.process.spec import ProcessSpec
from vsperf.drivers.vnfs.settings import by_vnf, deal_out, require_ways_told_apart
from vsperf.errors import UsageError
from vsperf.host.cpus import CpuNeed, Needs
from vsperf.records.run import Placeholder, Placement, Wire
from vsperf.trust import own_python


@dataclass(frozen=True, slots=True)
class PlannedVnf:
    """One VNF, with everything decided."""

    name: str
    spec: ProcessSpec
    wires: tuple[Wire, ...]
    """By number of the NIC."""
    cpus: tuple[int, ...]
    frame_bytes: int
    loops: bool
    """Whether frames go back out of the NIC by which they came."""

    @property
    def testpmd(self) -> Testpmd:
        """The program that stands in for it."""
        spec = self.spec
        writes = spec.forward in ("mac", "csum")
        return Testpmd(
            prefix=f"{Placeholder.NAME}-{self.name}",
            cpus=self.cpus,
            devices=tuple(_device(wire, spec) for wire in self.wires),
            rings=_rings(spec, len(self.wires), self.frame_bytes),
            forward=spec.forward,
            loops=self.loops,
            peers=tuple((wire.nic, wire.peer_mac) for wire in self.wires) if writes else (),
            burst=spec.burst,
            memory=spec.memory,
            hugepages=spec.hugepages,
            arguments=spec.arguments,
            options=spec.testpmd_arguments,
        )


def needs_of(case: CaseSpec, spec: ProcessSpec) -> Needs:
    """Return a CPU for each forwarding thread, and the memory of all VNFs."""
    settings = by_vnf(spec, case.topology)
    counts = {name: own.vcpu_count for name, own in settings.items()}
    pins = deal_out(spec.cpus, counts, "forwarding threads")
    nics_of = Counter(nic.vnf for nic in nics(case.topology))
    memory = sum(
        own.memory or _rings(own, nics_of[name], case.traffic.longest.bytes).memory_mb
        for name, own in settings.items()
        if own.hugepages
    )
    cpus = tuple(
        CpuNeed(name, own.vcpu_count, pinned=pins.get(name)) for name, own in settings.items()
    )
    return Needs(cpus=cpus, hugepage_bytes=memory * MEGABYTE)


def vnfs_of(
    case: CaseSpec, spec: ProcessSpec, wires: Sequence[Wire], placement: Placement
) -> tuple[PlannedVnf, ...]:
    """Return every VNF, in the order of the topology."""
    settings = by_vnf(spec, case.topology)
    writers = {
        name: f"vnf.forward={own.forward}" for name, own in settings.items() if own.forward != "io"
    }
    require_ways_told_apart(case.topology, writers)
    ends = {hop for path in case.topology.paths for hop in (path[0], path[-1])}
    return tuple(
        PlannedVnf(
            name=name,
            spec=own,
            wires=tuple(
                sorted((wire for wire in wires if wire.vnf == name), key=lambda wire: wire.nic)
            ),
            cpus=placement.of(name) or (0,),
            frame_bytes=case.traffic.longest.bytes,
            loops=case.topology.nics == 1 and name not in ends,
        )
        for name, own in settings.items()
    )


def command_line(program: str, vnf: PlannedVnf) -> tuple[str, ...]:
    """Return the whole command line; one that calls the switch waits until that listens."""
    testpmd = vnf.testpmd.command_line(program)
    listening = tuple(wire.address for wire in vnf.wires if wire.kind == "vhost-user")
    if not listening:
        return testpmd
    return own_python.module("vsperf.drivers.vnfs.process.waiting", *listening, "--", *testpmd)


def _device(wire: Wire, spec: ProcessSpec) -> str:
    if wire.kind not in ("vhost-user", "vhost-user-client"):
        raise UsageError(
            f"NIC {wire.nic} of {wire.vnf} is plugged into a {wire.kind} port, which a "
            "process cannot take",
            why="it speaks vhost-user and vhost-user-client",
            fix="--vnf qemu, which takes it, or a switch with ports of that kind: for OVS-DPDK, "
            "--set vswitch.vnf_ports=vhost-user",
        )
    words = [
        f"net_virtio_user{wire.nic}",
        f"path={wire.address}",
        f"mac={wire.mac}",
        f"queues={spec.queues}",
        f"queue_size={spec.rx_ring}",
    ]
    if spec.packed:
        words.append("packed_vq=1")
    if wire.kind == "vhost-user-client":
        words.append("server=1")  # the switch calls, so it may restart
    return ",".join(words)


def _rings(spec: ProcessSpec, ports: int, frame_bytes: int) -> Rings:
    return Rings(
        ports=ports,
        threads=spec.vcpu_count,
        queues=spec.queues,
        rx_descriptors=spec.rx_descriptors,
        tx_descriptors=spec.tx_descriptors,
        frame_bytes=frame_bytes,
    )
