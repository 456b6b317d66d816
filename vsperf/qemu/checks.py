"""What can be known to fail before any guest is started, whoever needs it."""

from __future__ import annotations

import os
import shutil
from collections.abc import Collection
from pathlib import Path

from vsperf.errors import NotReadyError
from vsperf.host.tree import HERE, Tree
from vsperf.qemu.image import find_image
from vsperf.qemu.kvm import Probe

PACKAGE = "qemu-system-x86"


def check_program(program: str, tree: Tree = HERE) -> None:
    """Refuse to go on without QEMU, or with one that cannot run."""
    tree.require()
    path = program if tree.root is not None else shutil.which(program)
    if path is None or not tree.runs(Path(path)):
        raise NotReadyError(
            f"the program {program}{tree.within} is not installed",
            why="it runs the virtual machines",
            fix=tree.to_install(PACKAGE),
        )
    tree.require_program(Path(path))


def check_accelerator(chosen: Collection[str], probe: Probe, section: str) -> None:
    """Try KVM where it decides something, and refuse it where it was asked for and fails.

    `section` is that of a case in which it was asked for.
    """
    if set(chosen) == {"tcg"}:
        return
    if "kvm" in chosen and not os.access(probe.device, os.R_OK | os.W_OK):
        outcome = probe.known()
    else:
        if probe.known() is None:
            find_image()  # that is what is booted on it
        outcome = probe.outcome()
    if "kvm" in chosen and outcome is not None and not outcome.works:
        fix = f"--set {section}.accelerator=auto takes emulation where KVM does not work"
        raise NotReadyError("guests do not boot on KVM here", why=outcome.why, fix=fix)
