"""Whether a guest really boots on KVM here: tried once, and remembered until the next boot.

That /dev/kvm is there says little: under some hypervisors a guest stops half-way through its boot.
That it does not boot is remembered for a day at most, as the host may only have been busy; and not
at all where something else failed, which says nothing about KVM.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
import shutil
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from vsperf.errors import VsperfError
from vsperf.host.cache import cache_folder, read_found, write_found
from vsperf.host.procfs import boot_id
from vsperf.host.tree import HERE, Tree
from vsperf.host.workspace import given_or_own
from vsperf.qemu.agent import AgentSilent
from vsperf.qemu.command import Vm
from vsperf.qemu.image import GuestImage
from vsperf.qemu.launch import started
from vsperf.qemu.settings import OwnGuest

BOOT_S = 8.0
MEMORY_MB = 128
FORMAT = 1
FAILURE_S = 86_400.0
"""How long a failure is believed."""
DEVICE = Path("/dev/kvm")


@dataclass(frozen=True, slots=True)
class Outcome:
    """How trying KVM ended."""

    works: bool
    why: str
    """What was seen, for people."""
    telling: bool = True
    """Whether it says something about KVM, and not only about this try."""

    @property
    def accelerator(self) -> str:
        """What `auto` means here."""
        return "kvm" if self.works else "tcg"


@dataclass(frozen=True, slots=True)
class Probe:
    """Tries KVM with our own guest, or remembers how that ended."""

    image: GuestImage
    program: str
    cache: Path
    device: Path = DEVICE
    tree: Tree = HERE
    """Where the program is run."""

    def known(self) -> Outcome | None:
        """Return what is known without trying; None when only trying can tell."""
        if not os.access(self.device, os.R_OK | os.W_OK):
            present = self.device.exists()
            return Outcome(False, f"{self.device} is {'not ours to use' if present else 'absent'}")
        found = read_found(self.cache, FORMAT).get(self.key)
        if not isinstance(found, dict):
            return None
        works, tried_s = bool(found.get("works")), found.get("tried_s")
        age_s = time.time() - tried_s if isinstance(tried_s, int | float) else FAILURE_S
        if not works and not 0 <= age_s < FAILURE_S:
            return None
        return Outcome(works, str(found.get("why")))

    def outcome(self) -> Outcome:
        """Return what is known, after trying if need be."""
        known = self.known()
        if known is not None:
            return known
        found = self._try()
        if found.telling:
            remember(self.cache, self.key, found, time.time())
        return found

    @property
    def key(self) -> str:
        """Name everything that the outcome depends on."""
        named = self.tree.path(Path(self.program))
        program = named if self.tree.root else Path(shutil.which(self.program) or self.program)
        size = modified = 0
        with suppress(OSError):
            status = program.stat()
            size, modified = status.st_size, status.st_mtime_ns
        parts = [
            platform.release(), boot_id(), str(program), size, modified, self.image.hash,
            str(self.image.folder),
        ]  # fmt: skip
        return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:16]

    def _try(self) -> Outcome:
        """Boot our own guest with nothing to do, in a place of its own."""
        spec = OwnGuest(memory=MEMORY_MB, tree=self.tree)
        vm = Vm("vm1", 1, spec, (), "kvm", self.image, 64)
        began = time.monotonic()
        stuck = False
        try:
            with (
                given_or_own(None, "a look at whether guests boot on KVM") as place,
                started(vm, self.program, place) as guest,
            ):
                try:
                    guest.boot(began + BOOT_S)
                except VsperfError as error:
                    silent = isinstance(error.__cause__, AgentSilent)
                    stuck = silent or guest.program.poll() == 0  # or it gave up by itself
                    raise
        except VsperfError as error:
            why = error.problems[0].why or str(error)
            if stuck or "kvm" in why.lower():
                return Outcome(False, f"no guest booted on it within {BOOT_S:g} s: {why}")
            return Outcome(False, f"it could not be tried: {why}", telling=False)
        return Outcome(True, f"a guest boots on it in {time.monotonic() - began:.1f} s")


def cache_file() -> Path:
    """Return the file in which outcomes are remembered."""
    return cache_folder() / "kvm.json"


def remember(path: Path, key: str, outcome: Outcome, tried_s: float) -> None:
    """Remember an outcome, and forget those of other boots; the next run tries again if not."""
    found = {"works": outcome.works, "why": outcome.why, "tried_s": tried_s}
    write_found(path, FORMAT, {key: found})
