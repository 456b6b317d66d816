"""What `vsperf doctor` asks about guests: QEMU, the image, and whether KVM boots one."""

from __future__ import annotations

import shutil

from vsperf.errors import NotReadyError
from vsperf.host.doctor.finding import (
    Answer,
    Check,
    Group,
    Surroundings,
    absent,
    ok,
    unknown,
    warning,
)
from vsperf.host.software import package_versions
from vsperf.vnfs.qemu.checks import INSTALL
from vsperf.vnfs.qemu.image import find_image, planned_image
from vsperf.vnfs.qemu.kvm import Probe, cache_file
from vsperf.vnfs.qemu.plan import PROGRAM

PACKAGE = "qemu-system-x86"
PARTS = frozenset({"qemu"})


def _qemu(here: Surroundings) -> Answer:
    found = shutil.which(PROGRAM, path=here.environment.get("PATH"))
    if found is None:
        return absent("not installed; for testcases with guests", INSTALL)
    version = package_versions((PACKAGE,)).get(PACKAGE)
    return ok(f"{found}, package {PACKAGE} {version}" if version else found)


def _image(here: Surroundings) -> Answer:
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


def _boots_on_kvm(here: Surroundings) -> Answer:
    """Say how trying it ended; the first run with a guest tries it."""
    probe = Probe(planned_image(here.environment), PROGRAM, cache_file())
    known = probe.known()
    if known is None:
        return unknown("no guest has been booted on it since this machine started")
    if not known.works:
        again = f"rm {probe.cache} lets the next run try again" if probe.cache.exists() else None
        return warning(f"guests are emulated: {known.why}", again)
    return ok(known.why)


CHECKS = (
    Check("qemu", Group.PROGRAMS, _qemu),
    Check("guest image", Group.PROGRAMS, _image, PARTS),
    Check("guests on kvm", Group.DEVICES, _boots_on_kvm, PARTS),
)
