"""What can be known to fail before any VNF is started, and what the doctor asks about guests."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from vsperf.drivers.vnfs.qemu.plan import QemuSpec
from vsperf.errors import NotReadyError, UsageError
from vsperf.host.binding import require_bindable
from vsperf.host.doctor.devices import ask_kvm
from vsperf.host.doctor.finding import (
    Answer,
    Check,
    Group,
    Host,
    Status,
    absent,
    missing,
    ok,
    unknown,
    warning,
)
from vsperf.host.files import Roots
from vsperf.host.software import package_versions, version_text
from vsperf.host.tree import HERE, Tree
from vsperf.qemu.checks import PACKAGE, check_accelerator, check_program
from vsperf.qemu.command import files_of, image_format, require_within_reach
from vsperf.qemu.host import PROGRAM, program_of
from vsperf.qemu.image import find_image, planned_image
from vsperf.qemu.kvm import Probe, cache_file
from vsperf.qemu.qcow2 import why_exchanged, why_not_alone
from vsperf.trust.programs import program_path, whole
from vsperf.trust.trusted import opened_file
from vsperf.waits import run

EMULATED = "emulated"


def _qemu(here: Host) -> Answer:
    chosen = here.settings(QemuSpec)
    if chosen is not None and chosen.root is not None:
        return _in_tree(chosen.tree)
    found = shutil.which(PROGRAM, path=here.environment.get("PATH"))
    if found is None:
        return absent("not installed; for testcases with guests", HERE.to_install(PACKAGE))
    version = package_versions((PACKAGE,)).get(PACKAGE)
    return ok(f"{found}, package {PACKAGE} {version}" if version else found)


def _in_tree(tree: Tree) -> Answer:
    program = program_of(tree)
    try:
        check_program(program, tree)
        said = version_text(tree.command((program, "--version")), f"{program}{tree.within}")
    except NotReadyError as error:
        return missing(error.problems[0], wanted=True)
    return ok(f"{program}{tree.within}: {said.partition(chr(10))[0]}")


def _image(here: Host) -> Answer:
    try:
        image = find_image(here.environment)
    except NotReadyError as error:
        problem = error.problems[0]
        return absent(f"{error}; for testcases with guests", problem.fix)
    versions = image.manifest.get("versions")
    shown = versions if isinstance(versions, dict) else {}
    parts = ", ".join(f"{name} {version}" for name, version in shown.items())
    evidence = f"{image.folder}, {image.hash or 'without a hash'}"
    return ok(f"{evidence}: {parts}" if parts else evidence)


TRY_KVM = "vsperf run pvp_smoke"
"""Boots a guest on KVM, if it does boot there."""


def _boots_on_kvm(here: Host) -> Answer:
    """Say in one answer whether there is KVM, and how trying it ended.

    The first run with a guest tries it. Without it guests are emulated, and so can be used.
    """
    device = ask_kvm(here)
    if device.status is not Status.OK:
        return replace(device, proviso=EMULATED)
    chosen = here.settings(QemuSpec)
    tree = HERE if chosen is None else chosen.tree
    image = planned_image(here.environment)
    probe = Probe(image, program_of(tree), cache_file(), tree=tree)
    known = probe.known()
    if known is None:
        tried = f"{device.evidence}, and no guest has been booted on it since this one started"
        return replace(unknown(tried), proviso="KVM not tried", fix=TRY_KVM)
    if not known.works:
        evidence = f"{device.evidence}, and guests are emulated: {known.why}"
        if not probe.cache.exists():
            return replace(warning(evidence), proviso=EMULATED)
        again = warning(f"{evidence}; told from {probe.cache}", f"rm {probe.cache}")
        return replace(again, proviso=EMULATED)
    return ok(known.why)


CHECKS = (
    Check("qemu", Group.PROGRAMS, _qemu),
    Check("guest image", Group.PROGRAMS, _image, before_runs=True),
    Check("guests on kvm", Group.DEVICES, _boots_on_kvm, before_runs=True),
)


IMAGE_TOOL = "qemu-img"
ASK_S = 10.0
SECTOR = 512
BOOT_SIGNATURE = b"\x55\xaa"
GPT_SIGNATURE = b"EFI PART"
BZIMAGE_AT, BZIMAGE = 0x202, b"HdrS"
ELF = b"\x7fELF"
RAM_DISKS = (
    b"\x1f\x8b", b"\xfd7zXZ", b"BZh", b"\x28\xb5\x2f\xfd", b"\x02\x21\x4c\x18", b"\x5d\x00\x00",
    b"\x89LZO", b"070701", b"070702",
)  # fmt: skip
"""How an initial RAM disk may begin: compressed in one of six ways, or plain."""


def check(settings: Mapping[str, QemuSpec], probe: Probe, roots: Roots | None = None) -> None:
    """Raise `NotReadyError` for the first thing that cannot work; tries KVM if that decides."""
    check_program(probe.program, probe.tree)
    for name, spec in settings.items():
        _check_guest(name, spec)
        image = find_image() if spec.own_guest else probe.image
        require_within_reach(spec, files_of(spec, image))
    devices = [address for spec in settings.values() for address in spec.devices]
    _check_devices(devices, roots or Roots())
    chosen = {spec.accelerator for spec in settings.values()}
    check_accelerator(chosen, probe, "vnf")


def require_no_devices(settings: Mapping[str, QemuSpec]) -> None:
    """Refuse to run with devices of the host, which can be planned only.

    The switch makes a port for every NIC of a VNF all the same, and would wait for a guest
    that plugs nothing into it.
    """
    for name, spec in settings.items():
        if spec.devices:
            raise UsageError(
                f"{name} cannot run with vnf.devices, such as {spec.devices[0]}",
                why="the switch has no way yet to reach devices that a VNF has for itself; "
                "they can be planned only",
                fix="leave vnf.devices out; `vsperf plan` shows the command line with them",
            )


def _check_guest(name: str, spec: QemuSpec) -> None:
    if spec.image is not None:
        check_image(name, Path(spec.image), bootable=spec.kernel is None)
    if spec.kernel is not None:
        check_kernel(name, Path(spec.kernel))
    if spec.initrd is not None:
        check_ram_disk(name, Path(spec.initrd))
    if spec.cloud_init is not None:
        _beginning(name, "cloud_init", Path(spec.cloud_init), 1)


def check_image(name: str, path: Path, *, bootable: bool) -> None:
    """Refuse what is no disk image, by what is in it."""
    beginning = _beginning(name, "image", path, 2 * SECTOR)
    if image_format(path) == "raw":
        size = path.stat().st_size
        signed = beginning[510:512] == BOOT_SIGNATURE or beginning[SECTOR:].startswith(
            GPT_SIGNATURE
        )
        if size == 0 or size % SECTOR or (bootable and not signed):
            raise _refusal(
                name, "image", path, "it is neither qcow2 nor a raw disk that could be booted"
            )
    else:
        _refuse_other_files(name, path)
    _ask_tool(name, path)


def _refuse_other_files(name: str, path: Path) -> None:
    """Refuse an image by which whoever made it chooses files of this machine for the guest."""
    try:
        why = why_not_alone(path)
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or str(error)
    if why is not None:
        raise NotReadyError(
            f"{name} cannot be started from {path}",
            why=why,
            fix="ask who made it for a whole one; or, if what it names is yours, lay that beside "
            f"it: {IMAGE_TOOL} rebase -u -F qcow2 -b NAME {path}",
        )


def check_kernel(name: str, path: Path) -> None:
    """Refuse what is no Linux kernel."""
    beginning = _beginning(name, "kernel", path, BZIMAGE_AT + len(BZIMAGE))
    if beginning[BZIMAGE_AT:] != BZIMAGE and not beginning.startswith(ELF):
        raise _refusal(name, "kernel", path, "it is no Linux kernel for x86 (bzImage or ELF)")


def check_ram_disk(name: str, path: Path) -> None:
    """Refuse what is no initial RAM disk."""
    beginning = _beginning(name, "initrd", path, 16)
    if not beginning.startswith(RAM_DISKS):
        raise _refusal(name, "initrd", path, "it is no initial RAM disk (cpio, or compressed cpio)")


def _ask_tool(name: str, path: Path) -> None:
    """Let QEMU's own tool look at an image: its header may lie, or its backing file be gone."""
    tool = program_path(IMAGE_TOOL)
    if tool is None:
        return
    argv = [tool, "info", "--output=json", "-f", image_format(path), whole(path)]
    try:
        done = run(argv, ASK_S)
        found = json.loads(done.stdout) if done.returncode == 0 else {}
    except (OSError, subprocess.TimeoutExpired, ValueError) as error:
        raise _refusal(name, "image", path, f"{IMAGE_TOOL} cannot read it: {error}") from error
    if done.returncode:
        said = done.stderr.strip().splitlines()
        raise _refusal(name, "image", path, said[-1] if said else f"{IMAGE_TOOL} refuses it")
    backing = found.get("full-backing-filename")
    if backing and not Path(backing).exists():
        raise _refusal(name, "image", path, f"its backing file {backing} is not there")


def _beginning(name: str, setting: str, path: Path, size: int) -> bytes:
    """Return how a file begins; refuse one that cannot be read, is empty, or can be exchanged."""
    try:
        with opened_file(path) as file:
            found = file.read(size)
        exchanged = why_exchanged(path)
    except OSError as error:
        raise _refusal(name, setting, path, error.strerror or str(error)) from error
    if not found:
        raise _refusal(name, setting, path, "it is empty")
    if exchanged is not None:
        raise NotReadyError(
            f"{name} cannot be started from {path}",
            why=exchanged,
            fix=f"copy it to where nobody else can change it, and let vnf.{setting} name that",
        )
    return found


def _refusal(name: str, setting: str, path: Path, why: str) -> NotReadyError:
    return NotReadyError(
        f"{name} cannot be started from {path}",
        why=why,
        fix=f"mend vnf.{setting}, or leave it out: vsperf has a guest of its own",
    )


def _check_devices(devices: list[str], roots: Roots) -> None:
    if not devices:
        return
    doubled = next((one for one in devices if devices.count(one) > 1), None)
    if doubled is not None:
        raise NotReadyError(
            f"the device {doubled} is given to two NICs",
            fix="name each device of vnf.devices once; `vnf.each` has settings of one VNF",
        )
    if not (roots.dev / "vfio").is_dir() and not (roots.pci / "drivers" / "vfio-pci").is_dir():
        raise NotReadyError(
            f"{devices[0]} cannot be given to a VNF",
            why="this kernel has no VFIO, by which a guest gets a device to itself",
            fix="modprobe vfio-pci, with the IOMMU switched on in the firmware and the kernel",
        )
    require_bindable(devices, roots)
