"""What a case makes of tgen in a guest: the VM, and the words that tgen gets there. Pure.

The NICs of the guest are plugged in where tgen's own ports would be. So neither the switch nor a
topology sees a difference.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from vsperf.config.abilities import OF_CONNECTIONS, Ability, Capabilities
from vsperf.dpdk.command import lcores
from vsperf.drivers.generators.dpdk_ports import Port
from vsperf.drivers.generators.tgen.command import Options, more_memory, sizes
from vsperf.drivers.generators.tgen.spec import TgenSpec
from vsperf.errors import UsageError
from vsperf.host.cpus import CpuNeed, Needs
from vsperf.qemu.command import Vm, command_line
from vsperf.qemu.host import ON, PROGRAM, QemuHost
from vsperf.qemu.settings import OwnGuest
from vsperf.records.run import Endpoint, Placement, Step, Wire

NAME = "tgen-vm"
"""Of the VM."""
GUEST_PORT = "vsperf.tgen"
"""The serial port in the guest that tgen reads and writes."""
PROGRAM_THERE = "/usr/bin/tgen"
DRIVERS_THERE = "/lib/dpdk"
KINDS = ("vhost-user", "vhost-user-client")
"""Endpoints that a NIC of a guest can be plugged into as well as a port of tgen."""
EMULATOR = "generator emulator"
"""The role of the guest's first vCPU, where all but frames is done, and of QEMU's other threads."""
MEGABYTE = 1 << 20
TGEN_MB = 256
"""Hugepages in the guest, with one worker and one queue."""
REST_MB = 192
"""Memory of the guest beside them."""
ABLE = Capabilities(
    frozenset(Ability) - OF_CONNECTIONS - {Ability.REPLAY, Ability.HEADERS, Ability.TURNS},
    clock="the time stamp counter of its guest",
)
"""What tgen can do there: all but what takes a file or process that both it and the host see."""
LONGEST_RING = 1024
LEAST_RING = 256


@dataclass(frozen=True, slots=True)
class GuestPlan:
    """tgen in a guest, with everything decided."""

    vm: Vm[OwnGuest]
    options: Options
    """tgen's, on the CPUs of the guest."""
    ports: dict[str, Port]
    """The guest's NICs, by link."""

    @property
    def message(self) -> dict[str, Any]:
        """Return what the agent is told to start."""
        return {
            "app": "tgen",
            "nics": [wire.mac for wire in self.vm.wires],
            "memory": tgen_mb(self.options),
            "arguments": list(self.words),
        }

    @property
    def words(self) -> tuple[str, ...]:
        """Return tgen's command line in the guest, behind its own name."""
        return (
            "--in-memory",
            "--iova-mode=pa",
            "-d",
            DRIVERS_THERE,
            f"--lcores=0@0,{lcores(self.options.cpus).partition(',')[2]}",
            *(f"--allow={port.device}" for port in self.ports.values()),
            *self.options.extra,
            "--",
            "--stdin",
            *sizes(self.options),
        )


def needs_of(spec: TgenSpec) -> Needs:
    """Return a CPU for each worker, one for all else of the guest, and its memory."""
    pinned = spec.cpus.cpus if spec.cpus else None
    workers = len(pinned) if pinned else spec.workers
    memory = memory_mb(workers, spec.queues, spec.ring) * MEGABYTE
    return Needs(
        cpus=(
            CpuNeed("generator", workers, pinned=pinned),
            CpuNeed(EMULATOR, 1, busy=False),
        ),
        hugepage_bytes=memory if spec.hugepages else 0,
    )


def guest_of(
    spec: TgenSpec,
    endpoints: tuple[Endpoint, ...],
    placement: Placement,
    options: Options,
    here: QemuHost,
) -> GuestPlan:
    """Return tgen in a guest; `options` are those that it would have on the host."""
    check_guest(endpoints)
    workers = len(options.cpus)
    own = OwnGuest(
        app="tgen",
        queues=options.queues,
        vcpu_count=workers + 1,
        memory=memory_mb(workers, options.queues, options.ring),
        hugepages=spec.hugepages,
        rx_ring=_ring(options.ring),
        tx_ring=_ring(options.ring),
        accelerator=spec.accelerator,
        boot_timeout=spec.boot_timeout,
    )
    vm = Vm(
        name=NAME,
        index=0,
        spec=own,
        wires=tuple(_wire(number, endpoint) for number, endpoint in enumerate(endpoints)),
        accelerator=here.accelerator_of(own) or "tcg",
        image=here.image,
        frame_bytes=options.max_frame,
        cpus=(*placement.of(EMULATOR)[:1], *options.cpus),
        emulator_cpus=placement.of(EMULATOR),
        nodes=placement.nodes.get("generator", (0,)) if here.nodes > 1 else (),
        root=here.root,
        run_with=here.run_with,
        settings="generator",
        port=GUEST_PORT,
    )
    there = Options(
        cpus=tuple(range(1, workers + 1)),
        queues=options.queues,
        ring=options.ring,
        max_frame=options.max_frame,
        extra=options.extra,
    )
    nics = {endpoint.link: vm.card_address(number) for number, endpoint in enumerate(endpoints)}
    ports = {link: Port(address, address, pci=True) for link, address in nics.items()}
    return GuestPlan(vm, there, ports)


def steps_of(plan: GuestPlan, here: QemuHost) -> tuple[Step, ...]:
    """Return how the guest and tgen in it are started."""
    vm = plan.vm
    known = here.accelerator_of(vm.spec)
    only = ", so the result is functional only" if known == "tcg" else ""
    first, *workers = vm.cpus
    busy = ", ".join(str(cpu) for cpu in workers)
    return (
        Step(
            component="generator",
            action=f"start {vm.name}, vsperf's own guest for tgen, {ON[known]}{only}; its "
            f"workers on CPU {busy}, all else on CPU {first}",
            argv=command_line(PROGRAM, vm),
        ),
        Step(
            component="generator",
            action=f"tell {vm.name} to start tgen, which is spoken to over {GUEST_PORT}",
            argv=(PROGRAM_THERE, *plan.words),
            lines=(json.dumps({"verb": "start", **plan.message}),),
        ),
    )


def check_guest(endpoints: tuple[Endpoint, ...]) -> None:
    """Refuse ports that only tgen on the host can have."""
    for endpoint in endpoints:
        if endpoint.kind not in KINDS:
            raise UsageError(
                f"tgen in a VM cannot send to {endpoint.link}, which is a {endpoint.kind} port",
                why="NICs of its guest are plugged into " + " or ".join(KINDS) + " ports",
                fix="--set generator.place=host, or a switch that offers one of these",
            )


def tgen_mb(options: Options) -> int:
    """Return the hugepages that tgen needs in its guest."""
    return TGEN_MB + (more_memory(len(options.cpus), options.queues, options.ring) >> 20)


def memory_mb(workers: int, queues: int, ring: int) -> int:
    """Return how much memory the guest has, in whole hugepages."""
    return tgen_mb(Options(cpus=tuple(range(workers)), queues=queues, ring=ring)) + REST_MB


def _wire(number: int, endpoint: Endpoint) -> Wire:
    return Wire(
        vnf=NAME,
        nic=number,
        kind=endpoint.kind,
        address=endpoint.address,
        mac=f"52:54:00:01:00:{number:02x}",
        peer_mac="ff:ff:ff:ff:ff:ff",
    )


def _ring(ring: int) -> int:
    """Return the least ring that QEMU has and that is not below `ring`, or its longest."""
    return min(LONGEST_RING, max(LEAST_RING, 1 << max(ring - 1, 1).bit_length()))
