"""What the host decides about guests: the image, the accelerator, who starts QEMU."""

from __future__ import annotations

import os
import re
import subprocess
from dataclasses import dataclass
from functools import cache

from vsperf.errors import NotReadyError
from vsperf.host.files import Roots, numbered
from vsperf.host.tree import HERE, Tree
from vsperf.qemu.image import GuestImage, planned_image
from vsperf.qemu.kvm import Probe, cache_file
from vsperf.qemu.settings import GuestSettings
from vsperf.waits import KilledError, run

PROGRAM = "qemu-system-x86_64"
IN_A_TREE = f"/usr/bin/{PROGRAM}"
"""In a tree nobody looks along a path."""
ANSWER_S = 10.0
RUN_WITH = re.compile(r"^-run-with\b(?:.*\n[ \t])*.*\buser=", re.MULTILINE)
ON = {
    "kvm": "on KVM",
    "tcg": "emulated (TCG)",
    None: "emulated (TCG), unless a guest boots on KVM, which has not been tried",
}
"""What plans say of an accelerator; None where it is not known yet."""


@dataclass(frozen=True, slots=True)
class QemuHost:
    """What the host decides about VMs."""

    image: GuestImage
    accelerator: str | None
    """What `auto` means here, `kvm` or `tcg`; None while that is not known."""
    nodes: int = 1
    """Memory nodes of the host."""
    vhost: bool = False
    """Whether the kernel has vhost-net, which copies the frames of taps."""

    root: bool = False
    """Whether VMs are started by root."""
    run_with: bool = False
    """Whether QEMU has `-run-with user=`, which newer versions have in the place of `-runas`."""

    def accelerator_of(self, spec: GuestSettings) -> str | None:
        """Return what a VM runs on; None while that is not known."""
        return self.accelerator if spec.accelerator == "auto" else spec.accelerator


def program_of(tree: Tree) -> str:
    """Return what QEMU is called where it is run."""
    return PROGRAM if tree.root is None else IN_A_TREE


def probe(tree: Tree = HERE) -> Probe:
    """Return what can tell whether guests boot on KVM, with the QEMU of a tree."""
    return Probe(planned_image(), program_of(tree), cache_file(), tree=tree)


def qemu_host(tree: Tree = HERE) -> QemuHost:
    """Return what this host decides, as far as it is known without trying anything."""
    known = probe(tree).known()
    nodes = max(1, len(numbered(Roots().nodes, "node")))
    vhost = (Roots().dev / "vhost-net").exists()
    root = os.geteuid() == 0
    return QemuHost(
        planned_image(),
        known.accelerator if known else None,
        nodes,
        vhost,
        root=root,
        run_with=root and has_run_with(tree.command((program_of(tree), "-help"))),
    )


@cache
def has_run_with(command: tuple[str, ...]) -> bool:
    """Whether a QEMU's help has `-run-with user=`; a QEMU that is not there has nothing."""
    try:
        done = run(command, ANSWER_S)
    except (KilledError, subprocess.TimeoutExpired) as error:
        raise NotReadyError(
            f"{command[0]} does not tell how it gives up root's rights",
            why=str(error),
            fix=f"try again; see what `{' '.join(command)}` says",
        ) from error
    except OSError:
        return False
    return RUN_WITH.search(done.stdout) is not None
