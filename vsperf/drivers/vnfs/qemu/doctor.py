"""What `vsperf doctor` asks about guests: QEMU, the image, and whether KVM boots one."""

from __future__ import annotations

import shutil
from dataclasses import replace

from vsperf.drivers.vnfs.qemu.spec import QemuSpec
from vsperf.errors import NotReadyError
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
from vsperf.host.software import package_versions, version_text
from vsperf.host.tree import HERE, Tree
from vsperf.qemu.checks import PACKAGE, check_program
from vsperf.qemu.host import PROGRAM, program_of
from vsperf.qemu.image import find_image, planned_image
from vsperf.qemu.kvm import Probe, cache_file

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
        return replace(unknown(tried), proviso="KVM not tried")
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
