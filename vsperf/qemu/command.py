"""How QEMU is run, the machine's own or that of a tree, and its command line for one VM.

Paths begin with RUN, which the workspace fills in when the VM is started. Pure, but for following
links.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, TypeVar

from vsperf.errors import NotReadyError
from vsperf.host.enter_tree import OWN
from vsperf.qemu.image import GuestImage
from vsperf.qemu.qcow2 import MAGIC
from vsperf.qemu.settings import GuestSettings
from vsperf.records.run import Placeholder, Wire
from vsperf.trust.programs import whole
from vsperf.trust.trusted import opened_file

DEVICES = ("kvm", "net/tun", "vhost-net", "vfio")
"""What it may need of /dev, where it is run in a tree."""
TEMPORARY = "/var/tmp"  # noqa: S108 - QEMU's own choice
"""Where QEMU keeps what a guest writes to a disk image."""
LOADED = frozenset(("bin", "etc", "lib", "lib32", "lib64", "libx32", "sbin", "usr"))
"""Folders of a tree that programs are loaded from; none of the machine's can take their place."""


def files_of(settings: GuestSettings, image: GuestImage) -> tuple[str | Path, ...]:
    """Return what a guest is booted from."""
    if settings.own_guest:
        return (image.kernel, image.initrd)
    given = (settings.image, settings.kernel, settings.initrd)
    return tuple(path for path in given if path is not None)


def file_of(settings: GuestSettings, path: str | Path) -> str:
    """Return how QEMU is told of a file: by its whole path, in a tree without links.

    One in the deployment's folder has such a path once that is filled in.
    """
    if str(path).startswith(str(Placeholder.RUN)):
        return str(path)
    return whole(path) if settings.tree.root is None else str(Path(path).resolve())


def command_of(
    settings: GuestSettings, argv: Iterable[str], files: Iterable[str | Path]
) -> tuple[str, ...]:
    """Return how QEMU is run, where it finds its deployment and these files of the machine."""
    told = tuple(argv)
    if settings.tree.root is None:
        return told
    temporary = (TEMPORARY,) if settings.image is not None else ()
    shared = dict.fromkeys((str(Placeholder.RUN), *temporary, *_folders(settings, files)))
    return settings.tree.command(told, folders=tuple(shared), devices=DEVICES)


def require_within_reach(settings: GuestSettings, files: Iterable[str | Path]) -> None:
    """Raise `NotReadyError` for a file that cannot be shown to a QEMU in a tree."""
    root = settings.tree.root
    for folder in () if root is None else _folders(settings, files):
        top = Path(folder).parts[1:2]
        if not top or top[0] in LOADED | set(OWN) - {"run", "tmp"}:
            raise NotReadyError(
                f"QEMU of the tree {root} cannot be shown the folder {folder}",
                why=f"the tree has {'/' + top[0] if top else '/'} of its own, from which its "
                "programs are loaded",
                fix="copy what the guest boots into a folder elsewhere, such as /srv/guests",
            )


def _folders(settings: GuestSettings, files: Iterable[str | Path]) -> list[str]:
    return [str(Path(file_of(settings, path)).parent) for path in files]


CONTROL_PORT = "vsperf.control"
SHELL_PORT = "vsperf.shell"
OWN_GUEST_WORDS = "console=ttyS0 quiet panic=-1"
"""For the kernel of our own guest, where its manifest does not say more."""
FIRST_SLOT = 0x10
"""Of the NICs on the VM's bus, so that their place does not depend on other devices."""
SANDBOX = "on,obsolete=deny,spawn=deny"
NO_OTHER_USER = ",elevateprivileges=deny"
"""QEMU may not become anybody else. Where it has to, it has no rights and can get none: its sandbox
holds for what it starts, too, and it has let go of all three of its users."""
FIRST_USER = 1_987_600_000
"""Of VMs: numbers that no account and no range of a system has."""
LONGEST_TAP_TX_RING = 256
"""QEMU has longer rings from the guest on vhost-user only."""
OFFLOADS = (
    "csum", "gso", "guest_csum", "guest_tso4", "guest_tso6", "guest_ecn", "guest_ufo",
    "host_tso4", "host_tso6", "host_ecn", "host_ufo",
)  # fmt: skip
"""All off: a loopback passes frames on, and nobody may join or split them on the way."""
USUAL_MTU = 1500
ETHERNET_BYTES = 18
"""Header and FCS: a frame of 1518 bytes carries a packet of 1500."""


Settings_co = TypeVar("Settings_co", bound=GuestSettings, covariant=True)


@dataclass(frozen=True, slots=True)
class Vm(Generic[Settings_co]):
    """One VM, with everything decided."""

    name: str
    index: int
    """Counted from 1."""
    spec: Settings_co
    """Its own settings, templates filled in."""
    wires: tuple[Wire, ...]
    """What its NICs are plugged into, in their order."""
    accelerator: str
    """`kvm` or `tcg`."""
    image: GuestImage
    """Our own guest, whether this VM boots it or not."""
    frame_bytes: int
    """Longest frame with FCS."""
    cpus: tuple[int, ...] = ()
    """CPUs of the host for its vCPUs, in their order; anywhere when empty."""
    emulator_cpus: tuple[int, ...] = ()
    """CPUs of the host for QEMU's other threads; anywhere when empty."""
    nodes: tuple[int, ...] = ()
    """Memory nodes that its memory is bound to; any when empty."""
    root: bool = False
    """Whether QEMU is started by root."""
    run_with: bool = False
    """Whether it has `-run-with user=` in the place of `-runas`."""
    vhost: bool = False
    """Whether the kernel copies the frames of taps (vhost-net), or QEMU itself."""
    settings: str = "vnf"
    """Where users write its settings."""
    port: str | None = None
    """Of what the application in the guest speaks by itself, if there is such a thing."""
    does: str = "forward"
    """What it is there to do, for people who are told that it does not."""

    @property
    def control(self) -> str:
        return f"{Placeholder.RUN}/{self.name}.control"

    @property
    def shell(self) -> str:
        return f"{Placeholder.RUN}/{self.name}.shell"

    @property
    def application(self) -> str:
        return f"{Placeholder.RUN}/{self.name}.application"

    @property
    def qmp(self) -> str:
        """The socket of QEMU itself."""
        return f"{Placeholder.RUN}/{self.name}.qmp"

    @property
    def console(self) -> str:
        """The file with the end of what the guest's kernel wrote."""
        return f"{Placeholder.RUN}/{self.name}.console"

    @property
    def console_socket(self) -> str:
        """The socket that the guest's kernel writes to."""
        return f"{Placeholder.RUN}/{self.name}.tty"

    @property
    def seed(self) -> str:
        """The folder that cloud-init reads."""
        return f"{Placeholder.RUN}/{self.name}.cidata"

    @property
    def sockets(self) -> tuple[str, ...]:
        """Sockets that QEMU listens on as soon as it runs."""
        called = [wire.address for wire in self.nics if wire.kind == "vhost-user-client"]
        own = [
            self.qmp,
            self.console_socket,
            *((self.control, self.shell) if self.spec.has_agent else ()),
            *((self.application,) if self.port is not None else ()),
        ]
        return (*own, *called)

    @property
    def user(self) -> int | None:
        """The user that QEMU becomes before the guest runs; None where it stays who it is.

        It opens its sockets, memory, disks and taps before. What it opens later is in a folder of
        root's: files for cloud-init, and the switch's socket where that one listens.
        """
        calls = any(wire.kind == "vhost-user" for wire in self.nics)
        if not self.root or calls or self.spec.cloud_init is not None:
            return None
        return FIRST_USER + self.index

    @property
    def taps(self) -> tuple[Wire, ...]:
        """Wires that are taps, which have to be there before QEMU and before the switch."""
        return tuple(wire for wire in self.wires if wire.kind == "tap")

    @property
    def mtu(self) -> int:
        """Longest packet that its NICs pass on."""
        return max(USUAL_MTU, self.frame_bytes - ETHERNET_BYTES)

    @property
    def nics(self) -> tuple[Wire, ...]:
        """NICs plugged into the switch; none where devices of the host take their place."""
        return () if self.spec.devices else self.wires

    @property
    def mergeable(self) -> bool:
        """Whether a frame may span several buffers."""
        chosen = self.spec.mergeable
        return self.frame_bytes > 1518 if chosen is None else chosen

    @property
    def cpu_model(self) -> str:
        if self.spec.cpu != "auto":
            return self.spec.cpu
        return "host" if self.accelerator == "kvm" else "max"

    def nic_address(self, number: int) -> str:
        """Return where the guest finds a NIC on its PCI bus."""
        return f"0000:00:{FIRST_SLOT + number:02x}.0"


AnyVm = Vm[GuestSettings]


def command_line(program: str, vm: AnyVm) -> tuple[str, ...]:
    """Return the whole command line."""
    files = files_of(vm.spec, vm.image)
    return command_of(vm.spec, _words(program, vm), files)


def _words(program: str, vm: AnyVm) -> tuple[str, ...]:
    return (
        program,
        *_general(vm),
        *_processor(vm),
        *_memory(vm),
        *_ways_in(vm),
        *_boot(vm),
        *(word for number in range(len(vm.nics)) for word in _card(vm, number)),
        *(word for number in range(len(vm.spec.devices)) for word in _device(vm, number)),
        *vm.spec.arguments,
    )


def _general(vm: AnyVm) -> Iterator[str]:
    yield from ("-name", f"{vm.name},debug-threads=on")
    yield from ("-nodefaults", "-no-user-config", "-no-reboot")
    yield from ("-display", "none", "-vga", "none", "-monitor", "none")
    if vm.user is None:
        yield from ("-sandbox", SANDBOX + NO_OTHER_USER)
    else:
        becomes = f"{vm.user}:{vm.user}"
        known = ("-run-with", f"user={becomes}") if vm.run_with else ("-runas", becomes)
        yield from ("-sandbox", SANDBOX, *known)


def _processor(vm: AnyVm) -> Iterator[str]:
    accelerator = "tcg,thread=multi" if vm.accelerator == "tcg" else vm.accelerator
    yield from ("-machine", f"{vm.spec.machine},memory-backend=memory")
    yield from ("-accel", accelerator)
    yield from ("-cpu", vm.cpu_model)
    vcpus = vm.spec.vcpu_count
    yield from ("-smp", f"{vcpus},sockets=1,cores={vcpus},threads=1")


def _memory(vm: AnyVm) -> Iterator[str]:
    """Memory without a name in a file system, that the switch may map, all there from the start."""
    size = f"{vm.spec.memory}M"
    words = ["memory-backend-memfd", "id=memory", f"size={size}", "share=on", "prealloc=on"]
    if vm.spec.hugepages:
        words += ["hugetlb=on", "hugetlbsize=2M"]
    if vm.nodes:
        words += [f"host-nodes={node}" for node in vm.nodes] + ["policy=bind"]
    yield from ("-m", size, "-object", ",".join(words))


def _ways_in(vm: AnyVm) -> Iterator[str]:
    yield from ("-chardev", _listening("qmp", vm.qmp))
    yield from ("-mon", "chardev=qmp,mode=control")
    yield from ("-chardev", _listening("console", vm.console_socket))
    yield from ("-serial", "chardev:console")
    if vm.spec.has_agent:
        yield from ("-device", "virtio-serial-pci")
        ports = [
            ("control", vm.control, CONTROL_PORT),
            ("shell", vm.shell, SHELL_PORT),
        ]
        if vm.port is not None:
            ports.append(("application", vm.application, vm.port))
        for name, path, port in ports:
            yield from ("-chardev", _listening(name, path))
            yield from ("-device", f"virtserialport,chardev={name},name={port}")


def _listening(name: str, path: str) -> str:
    return f"socket,id={name},path={_quoted(path)},server=on,wait=off"


def _boot(vm: AnyVm) -> Iterator[str]:
    spec = vm.spec
    if spec.own_guest:
        words = vm.image.append or OWN_GUEST_WORDS
        kernel, initrd = (file_of(spec, path) for path in files_of(spec, vm.image))
        yield from ("-kernel", kernel, "-initrd", initrd)
        yield from ("-append", f"{words} {spec.append}".strip())
        return
    if spec.kernel is not None:
        yield from ("-kernel", file_of(spec, spec.kernel))
        if spec.initrd is not None:
            yield from ("-initrd", file_of(spec, spec.initrd))
        if spec.append:
            yield from ("-append", spec.append)
    if spec.image is not None:
        layout = image_format(Path(spec.image))
        drive = f"if=virtio,format={layout},snapshot=on,file={_quoted(file_of(spec, spec.image))}"
        yield from ("-drive", drive)
    if spec.cloud_init is not None:
        folder = _quoted(vm.seed)
        yield from (
            "-drive",
            f"if=virtio,format=raw,readonly=on,file.driver=vvfat,file.label=cidata,"
            f"file.dir={folder}",
        )


def _card(vm: AnyVm, number: int) -> Iterator[str]:
    """Return a NIC, and what it is plugged into."""
    spec, wire = vm.spec, vm.nics[number]
    yield from _plug(vm, number)
    longest = LONGEST_TAP_TX_RING if wire.kind == "tap" else spec.tx_ring
    settings = {
        "netdev": f"net{number}",
        "mac": wire.mac,
        "addr": f"{FIRST_SLOT + number:#x}",
        "romfile": "",
        "disable-legacy": "on",
        "mq": _switch(spec.queues > 1),
        "vectors": str(_vectors(vm)),
        "rx_queue_size": str(spec.rx_ring),
        "tx_queue_size": str(min(spec.tx_ring, longest)),
        "packed": _switch(spec.packed),
        "mrg_rxbuf": _switch(vm.mergeable),
        **dict.fromkeys(OFFLOADS, "off"),
    }
    words = ",".join(f"{name}={value}" for name, value in settings.items())
    yield from ("-device", f"virtio-net-pci,{words}")


def _plug(vm: AnyVm, number: int) -> Iterator[str]:
    """Return the host's side of a NIC: a tap, or a socket for vhost-user."""
    queues, wire = vm.spec.queues, vm.nics[number]
    if wire.kind == "tap":
        words = f"ifname={wire.address},script=no,downscript=no,vhost={_switch(vm.vhost)}"
        yield from ("-netdev", f"tap,id=net{number},{words},queues={queues}")
        return
    listening = wire.kind == "vhost-user-client"
    way = "server=on,wait=off" if listening else "server=off,reconnect=1"
    yield from ("-chardev", f"socket,id=wire{number},path={_quoted(wire.address)},{way}")
    yield from ("-netdev", f"vhost-user,id=net{number},chardev=wire{number},queues={queues}")


def _vectors(vm: AnyVm) -> int:
    """Return how many interrupts a NIC has: one per queue, and two for the rest.

    None when emulated: QEMU 7.2 then crashes as soon as the guest's kernel unmasks one of a NIC
    on vhost-user. The NIC falls back to the interrupt line, and polling needs neither.
    """
    return 2 * vm.spec.queues + 2 if vm.accelerator == "kvm" else 0


def _device(vm: AnyVm, number: int) -> Iterator[str]:
    """Return a device of the host that the guest has to itself."""
    address = vm.spec.devices[number]
    yield from ("-device", f"vfio-pci,host={address},addr={FIRST_SLOT + number:#x},romfile=")


def image_format(path: Path) -> str:
    """Return the format of a disk image by how it begins; a name stands in for a missing file."""
    try:
        with opened_file(path) as file:
            return "qcow2" if file.read(len(MAGIC)) == MAGIC else "raw"
    except OSError:
        return "qcow2" if path.suffix == ".qcow2" else "raw"


def _quoted(path: str) -> str:
    """Return a path as QEMU's options want it: a comma is written twice."""
    return path.replace(",", ",,")


def _switch(on: bool) -> str:
    return "on" if on else "off"
