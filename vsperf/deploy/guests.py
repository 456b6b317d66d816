"""Guests as places: vsperf's own guest on a port of the switch, with programs in its RAM disk.

Its port is a vhost-user one, or a tap that QEMU holds and the switch takes into its network.

The guest's kernel has the stack, and its agent runs the programs. QEMU is the part of the
deployment that can end, so what it uses of CPUs is what a guest's clients, or servers, use: which
of it is the program's, and which the guest's kernel or QEMU itself, nobody tells from outside.
"""

from __future__ import annotations

import json
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from vsperf.config.case import CaseSpec
from vsperf.config.guest import AskedPlace
from vsperf.config.places import PREFIX_BITS, place_ip, place_mac, place_mtu
from vsperf.config.wiring import directions_of
from vsperf.deploy.places import Device
from vsperf.deploy.running import How
from vsperf.drivers.programs.base import NOT_ENDED, InstalledProgram, Said
from vsperf.errors import ComponentError, NotReadyError
from vsperf.host.cpu_time import Watched
from vsperf.host.cpus import Needs
from vsperf.host.offloads import COMMANDS
from vsperf.host.threads import Polling
from vsperf.host.udp_counts import udp_counts
from vsperf.host.workspace import Workspace
from vsperf.qemu import programs
from vsperf.qemu.agent import Agent
from vsperf.qemu.answers import Joined
from vsperf.qemu.checks import check_accelerator, check_program
from vsperf.qemu.command import Vm, command_line
from vsperf.qemu.host import ON, PROGRAM, QemuHost, probe, qemu_host
from vsperf.qemu.image import BUILD_COMMAND, find_image
from vsperf.qemu.initrd import carried, initrd_of, joined
from vsperf.qemu.launch import started
from vsperf.qemu.settings import OwnGuest
from vsperf.qemu.vm import RunningVm
from vsperf.records.datagrams import SocketCounts
from vsperf.records.exchange import CLIENTS, SERVERS, DeviceCounts
from vsperf.records.run import Endpoint, Placeholder, Placement, Step, Wire
from vsperf.waits import how_it_ended

DISK = "places.initrd"
THERE = "/usr/bin"
"""Where programs are in a guest."""
READS_COUNTS = ("/bin/cat", "/proc/net/snmp")
RUNS_PROGRAMS = "agent/programs.c"
"""What is among the sources of an image whose agent does so."""
NAMES = {
    "etc/protocols": b"ip 0 IP\nicmp 1 ICMP\ntcp 6 TCP\nudp 17 UDP\n",
    "etc/passwd": b"root:x:0:0:root:/root:/bin/sh\n",
    "etc/group": b"root:x:0:\n",
}
"""Without the first netperf complains of each datagram's socket, and without the others nginx knows
no user."""
MEGABYTE = 1 << 20
FIRST_INDEX = 500
"""Far from the numbers of VNFs and of loads, so that their users differ."""
NOBODY = "ff:ff:ff:ff:ff:ff"
"""What a NIC is told of who is behind the switch: its agent is told of all."""
Planned = Vm[OwnGuest]


def roles_at(case: CaseSpec, link: str) -> tuple[str, ...]:
    """Return what the programs at the end of a link are: clients, servers, or both."""
    ways = directions_of(case.topology, case.traffic.direction)
    ends = {CLIENTS: [source for source, _ in ways], SERVERS: [target for _, target in ways]}
    return tuple(role for role, links in ends.items() if link in links)


def role_of(case: CaseSpec, link: str) -> str:
    """Return the role whose CPU time a guest's is; of one that has both, nobody can tell."""
    found = roles_at(case, link)
    return found[0] if len(found) == 1 else name_of(link)


def name_of(link: str) -> str:
    """Return what the guest at the end of a link is called."""
    return f"{link}-vm"


def guest_needs(case: CaseSpec, needs: Needs) -> tuple[Needs, ...]:
    """Return the memory of each guest; `needs` are those of programs, on whose CPUs it runs."""
    return tuple(
        Needs(
            cpus=tuple(one for one in needs.cpus if one.role in roles_at(case, link)[:1]),
            hugepage_bytes=guest.memory * MEGABYTE if guest.hugepages else 0,
        )
        for link, guest in case.guests.items()
    )


def planned_guests(
    case: CaseSpec, endpoints: Sequence[Endpoint], placement: Placement, here: QemuHost
) -> dict[str, Planned]:
    """Return all guests by their links, with everything decided; each has a NIC."""
    image = replace(here.image, disk=Path(str(Placeholder.RUN)) / DISK)
    found = {}
    for number, endpoint in enumerate(endpoints):
        link, asked = endpoint.link, case.guest_at(endpoint.link)
        if asked is None:
            continue
        own = _own(asked)
        roles = roles_at(case, link)
        cpus = tuple(sorted({cpu for role in roles for cpu in placement.of(role)}))
        found[link] = Vm(
            name=name_of(link),
            index=FIRST_INDEX + number,
            spec=own,
            wires=(
                Wire(
                    vnf=name_of(link),
                    nic=0,
                    kind=endpoint.kind,
                    address=endpoint.address,
                    mac=place_mac(case, link),
                    peer_mac=NOBODY,
                ),
            ),
            accelerator=here.accelerator_of(own) or "tcg",
            image=image,
            frame_bytes=case.traffic.frame_size.bytes,
            cpus=tuple(cpus[number % len(cpus)] for number in range(own.vcpu_count)),
            emulator_cpus=cpus,
            nodes=placement.nodes.get(roles[0], (0,)) if here.nodes > 1 else (),
            vhost=here.vhost,
            root=here.root,
            run_with=here.run_with,
            settings=f"places.{link}",
            does="have programs exchange data",
        )
    return found


@dataclass(frozen=True, slots=True)
class GuestsPlan:
    """What a plan has of guests; nothing where none are places."""

    links: frozenset[str] = frozenset()
    steps: tuple[Step, ...] = ()
    notes: tuple[str, ...] = ()


def plan_guests(case: CaseSpec, endpoints: Sequence[Endpoint], placement: Placement) -> GuestsPlan:
    """Return what is done for guests; who has none need not have QEMU."""
    if not case.guests:
        return GuestsPlan()
    here = qemu_host()
    guests = planned_guests(case, endpoints, placement, here)
    steps = guest_steps(case, guests, here)
    return GuestsPlan(frozenset(guests), steps, guest_notes(guests, here))


def guest_steps(case: CaseSpec, guests: Mapping[str, Planned], here: QemuHost) -> tuple[Step, ...]:
    """Return how guests are started, and what their agents are told."""
    steps = []
    for link, vm in guests.items():
        known = here.accelerator_of(vm.spec)
        only = ", so the result is functional only" if known == "tcg" else ""
        on = ", ".join(map(str, vm.emulator_cpus))
        steps.append(
            Step(
                component="place",
                action=f"start {vm.name}, vsperf's own guest with the programs in it, at the end "
                f"of {link}, {ON[known]}{only}; all of it on CPU {on}",
                argv=command_line(PROGRAM, vm),
            )
        )
        asked = {"verb": "join", **_asked(case, link, _known(case, link))}
        steps.append(
            Step(
                component="place",
                action=f"give {vm.name} the address {place_ip(case, link)}, once the switch runs",
                lines=(json.dumps(asked),),
            )
        )
    return tuple(steps)


def guest_notes(guests: Mapping[str, Planned], here: QemuHost) -> tuple[str, ...]:
    """Return what guests run on, as far as it is known."""
    kinds = dict.fromkeys(here.accelerator_of(vm.spec) for vm in guests.values())
    told = {
        "tcg": "guests at places are emulated (TCG): the result is functional only",
        "kvm": "guests at places run on KVM",
        None: "guests at places run on KVM if one boots on it, which has not been tried; else they "
        "are emulated (TCG), and the result is functional only",
    }
    return tuple(told[kind] for kind in kinds)


def require_guests(case: CaseSpec) -> None:
    """Raise `NotReadyError` for the first thing without which no guest can be a place."""
    if not case.guests:
        return
    check_program(PROGRAM)
    image = find_image()
    sources = image.manifest.get("sources")
    if not isinstance(sources, dict) or RUNS_PROGRAMS not in sources:
        raise NotReadyError(
            f"the guest image in {image.folder} cannot run programs that it is given",
            why="it was built from older sources than this vsperf",
            fix=BUILD_COMMAND,
        )
    for link, guest in case.guests.items():
        check_accelerator({guest.accelerator}, probe(), f"places.{link}")


@contextmanager
def started_guests(
    case: CaseSpec,
    endpoints: Sequence[Endpoint],
    placement: Placement,
    found: Collection[InstalledProgram],
    workspace: Workspace,
) -> Iterator[dict[str, Guest]]:
    """Start all guests; the switch calls them before they boot. Leaving the context ends them."""
    if not case.guests:
        yield {}
        return
    require_guests(case)
    if any(guest.accelerator == "auto" for guest in case.guests.values()):
        probe().outcome()
    paths = dict.fromkeys(path for one in found for path in (one.path, one.server) if path)
    write_disk(find_image().initrd, [Path(path) for path in paths], workspace.folder / DISK)
    vms = planned_guests(case, endpoints, placement, qemu_host())
    with ExitStack() as stack:
        guests = {}
        for link, vm in vms.items():
            role = role_of(case, link)
            running = stack.enter_context(started(vm, PROGRAM, workspace, Polling(role, "")))
            guests[link] = Guest(link, place_ip(case, link), running, role)
        try:
            yield guests
        finally:
            if not workspace.kept:
                for guest in guests.values():
                    guest.vm.power_off()  # all of them now; each is waited for in its turn


def write_disk(image: Path, paths: Sequence[Path], disk: Path) -> None:
    """Write the disk that all guests boot from: the image's, with programs unpacked over it."""
    over = joined(carried(*paths), initrd_of(NAMES))
    disk.write_bytes(joined(image.read_bytes(), over))


@dataclass
class Guest:
    """A guest that is a place."""

    link: str
    address: str
    vm: RunningVm
    role: str
    """Whose CPU time its is."""
    told: Joined | None = None
    """What its kernel said when it joined."""
    socket: None = None
    """Its kernel has it."""
    clock: programs.GuestClock | None = None
    """How its clocks stand to ours, as they were read last."""

    @property
    def agent(self) -> Agent:
        """Whom to ask; it has booted by then."""
        if self.vm.agent is None:
            raise ComponentError(f"{self.vm.name} is not spoken with")
        return self.vm.agent

    @property
    def access(self) -> str:
        return f"vsperf shell {self.vm.name}"

    def join(self, case: CaseSpec, known: Mapping[str, str], *, offloads: bool) -> Device:
        """Wait until it has booted, and give its stack the address of the place."""
        self.vm.boot(time.monotonic() + self.vm.vm.spec.boot_timeout.seconds)
        self.vm.pin()
        self.told = programs.join(self.agent, **_asked(case, self.link, known))
        if untold := [name for name in COMMANDS if name not in self.told.offloads]:
            raise ComponentError(
                f"{self.vm.name} does not tell whether its device leaves {untold[0]} to others",
                why="the guest image was built from other sources than this vsperf",
                fix=BUILD_COMMAND,
            )
        self.read_clock()
        return Device({name: self.told.offloads[name] for name in COMMANDS}, None)

    def read_clock(self) -> None:
        """Look how its clocks stand to ours."""
        self.clock = programs.clock_of(self.agent)

    def counts(self) -> DeviceCounts:
        return DeviceCounts(place=self.link, **programs.counted(self.agent).model_dump())

    def sockets(self) -> SocketCounts | None:
        """Return what its kernel counts, as a program of its own reads it there."""
        with programs.run(self.agent, READS_COUNTS) as program:
            if not program.await_end(programs.ANSWER_S) or program.exit_code != 0:
                return None
            found = udp_counts(program.written()[0])
        return None if found is None else SocketCounts(place=self.link, **found)

    def received(self) -> Mapping[int, int]:
        """Return nothing: its kernel is not asked for single connections."""
        return {}

    def socket_bytes(self) -> int:
        """Return the greatest sizes of a socket that sends, and of one that receives."""
        return 0 if self.told is None else self.told.send_bytes + self.told.receive_bytes

    def failure(self) -> str | None:
        """Return how QEMU, or its agent, ended; None while both are there."""
        return self.vm.failure()

    def facts(self) -> dict[str, Any]:
        """Return what it is, and how exactly its programs begin at an instant of this machine."""
        told, clock = self.told, self.clock
        return {
            "guest": self.vm.name,
            "device": None if told is None else told.device,
            "tcp_forgets_paths": None if told is None else told.forgets_paths,
            "clock_within_ns": None if clock is None else clock.within_ns,
        }

    def watched(self) -> Watched:
        """Return how its CPU time is looked at: all of QEMU's threads."""
        cpus = tuple(sorted({*self.vm.vm.cpus, *self.vm.vm.emulator_cpus}))
        return Watched(self.role, self.vm.name, self.vm.program.pid, cpus)

    @contextmanager
    def running(self, argv: Sequence[str], how: How, workspace: Workspace) -> Iterator[InGuest]:
        """Run a program: it is the first word, wherever it is on this machine."""
        ahead_ns = 0 if self.clock is None else self.clock.ahead_ns
        words = (f"{THERE}/{Path(argv[0]).name}", *argv[1:])
        there_ns = max(1, how.instant_ns + ahead_ns) if how.instant_ns else 0
        with programs.run(self.agent, words, there_ns, how.files) as program:
            yield InGuest(self, program)


@dataclass
class InGuest:
    """A program of a pair that was started in a guest."""

    guest: Guest
    program: programs.GuestProgram
    ended_ns: int | None = field(default=None)
    """When its end was heard of."""

    @property
    def wall_ahead_ns(self) -> int:
        """How far its clock of the wall is before ours."""
        return 0 if self.guest.clock is None else self.guest.clock.wall_ahead_ns

    @contextmanager
    def descriptor(self) -> Iterator[int]:
        """Return what is ready when the guest says something."""
        yield self.guest.agent.connection.fileno()

    def notice(self, ready_ns: int | None) -> None:
        """Note when its end was heard of, maybe while the guest was asked for something else."""
        if self.has_ended():
            self.ended_ns = time.monotonic_ns()

    def watched(self, role: str, name: str, cpus: tuple[int, ...]) -> Watched:
        """Return that its guest is looked at."""
        return self.guest.watched()

    def has_ended(self) -> bool:
        """Whether its end was heard of."""
        return self.program.notice() is not None

    def await_end(self, patience_s: float) -> bool:
        return self.program.await_end(patience_s)

    def listens(self, port: int) -> bool:
        return programs.listens(self.guest.agent, port)

    def obituary(self) -> str:
        said = self.said()
        words = " ".join(said.text.split())[-200:]
        return f"{said.ending}; its last words: {words}" if words else said.ending

    def said(self) -> Said:
        """Return how it ended, and what it wrote."""
        code = self.program.notice()
        text, whole = self.program.written()
        ending = NOT_ENDED if code is None else how_it_ended(code)
        if not whole:
            most = f"more than the {programs.MOST_WRITTEN >> 20} MiB that are read of it"
            ending = f"{ending}, and wrote {most}"
        return Said(code, ending, text, whole)


def _own(asked: AskedPlace) -> OwnGuest:
    return OwnGuest(
        vcpu_count=asked.vcpus,
        memory=asked.memory,
        hugepages=asked.hugepages,
        accelerator=asked.accelerator,
        boot_timeout=asked.boot_timeout,
    )


def _known(case: CaseSpec, link: str) -> dict[str, str]:
    """Return where all other places are."""
    others = (other for other in case.topology.links if other != link)
    return {place_ip(case, other): place_mac(case, other) for other in others}


def _asked(case: CaseSpec, link: str, known: Mapping[str, str]) -> dict[str, Any]:
    """Return what the agent of a guest is told, so that it is the place."""
    return {
        "nic": place_mac(case, link),
        "address": place_ip(case, link),
        "prefix": PREFIX_BITS,
        "mtu": place_mtu(case),
        "neighbours": [{"address": ip, "mac": mac} for ip, mac in known.items()],
    }
