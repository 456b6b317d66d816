"""Checks of devices: what NICs need, what guests need, and what a switch needs of the kernel."""

from __future__ import annotations

import fcntl
import os
import platform
from contextlib import suppress
from pathlib import Path

from vsperf.host.doctor.finding import Answer, Check, Group, Host, absent, failure, ok, warning
from vsperf.host.doctor.wants import Want
from vsperf.host.files import numbered
from vsperf.host.network import Network
from vsperf.host.pci import read_nics, refusal

KVM_GET_API_VERSION = 0xAE00
KVM_CREATE_VM = 0xAE01
KVM_API = 12


def _tap(here: Host) -> Answer:
    """Look for what OVS makes the inner port of each bridge with, and the kernel's bridge all."""
    device = here.roots.dev / "net" / "tun"
    if device.exists():
        return ok(f"{device} is there")
    return failure(
        f"no {device}: no tap can be made, and so no bridge of OVS or of the kernel", "modprobe tun"
    )


def _iommu(here: Host) -> Answer:
    units = sorted(path.name for path in (here.roots.sys / "class" / "iommu").glob("*"))
    groups = len(numbered(here.roots.sys / "kernel" / "iommu_groups", ""))
    if units and groups:
        return ok(f"{', '.join(units)}; {groups} groups")
    fix = "switch VT-d or AMD-Vi on in the firmware, and boot with intel_iommu=on iommu=pt"
    return absent("none; NICs on vfio-pci want one, virtual ports do not", fix)


def _vfio(here: Host) -> Answer:
    if (here.roots.pci / "drivers" / "vfio-pci").is_dir():
        return ok("vfio-pci is loaded")
    modules = here.roots.root / "lib" / "modules" / platform.release()
    for table in ("modules.dep", "modules.builtin"):
        with suppress(OSError):
            if "/vfio-pci.ko" in (modules / table).read_text():
                return absent("vfio-pci is not loaded; for NICs", "modprobe vfio-pci")
    return absent("this kernel has no vfio-pci; only NICs need it", "use a kernel that has it")


def _nics(here: Host) -> Answer:
    nics = read_nics(here.roots, Network.read(here.roots, here.environment))
    if not nics:
        return absent("no NIC on the PCI bus; virtual ports need none")
    shown = []
    for nic in nics:
        why_not = refusal(nic)
        shown.append(f"{nic.text}: {f'not to be used, {why_not}' if why_not else 'can be used'}")
    if all(refusal(nic) for nic in nics):
        return absent("; ".join(shown))
    return ok("; ".join(shown))


def ask_kvm(here: Host) -> Answer:
    """Ask KVM itself; whether a guest boots on it a driver of guests adds, in one answer."""
    device = here.roots.dev / "kvm"
    if not device.exists():
        return absent(
            f"no {device}; guests are emulated, which is slow",
            "modprobe kvm_intel, or modprobe kvm_amd; in a virtual machine: nested virtualisation",
        )
    try:
        api = _create_vm(device)
    except OSError as error:
        return warning(f"{device}: {error.strerror}", "run as root, or join the group kvm")
    if api != KVM_API:
        return warning(f"{device} speaks version {api}, not {KVM_API}")
    return ok(f"{device} makes a virtual machine")


def _create_vm(device: Path) -> int:
    """Return the version of KVM's interface after making an empty VM, which is dropped."""
    descriptor = os.open(device, os.O_RDWR | os.O_CLOEXEC)
    try:
        api = fcntl.ioctl(descriptor, KVM_GET_API_VERSION, 0)
        os.close(fcntl.ioctl(descriptor, KVM_CREATE_VM, 0))
    finally:
        os.close(descriptor)
    return api


def _vhost(here: Host) -> Answer:
    """Look for the kernel's own vhost, which guests on taps gain from; vhost-user needs none."""
    if (here.roots.dev / "vhost-net").exists():
        return ok("/dev/vhost-net is there; VNFs on taps use it, vhost-user does not")
    return absent(
        "no /dev/vhost-net; VNFs on taps do without, more slowly, and vhost-user needs none",
        "modprobe vhost_net",
    )


CHECKS = (
    Check("tap devices", Group.DEVICES, _tap, frozenset({Want.TAPS})),
    Check("iommu", Group.DEVICES, _iommu, frozenset({Want.NICS})),
    Check("vfio", Group.DEVICES, _vfio, frozenset({Want.NICS})),
    Check("nics", Group.DEVICES, _nics, frozenset({Want.NICS})),
    Check("kernel vhost", Group.DEVICES, _vhost),
)
