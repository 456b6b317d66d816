"""Whether this kernel can forward for Open vSwitch."""

from __future__ import annotations

import platform
from contextlib import suppress

from vsperf.errors import NotReadyError
from vsperf.host.files import Roots

MODULE = "openvswitch"


def require_datapath(roots: Roots | None = None) -> None:
    """Raise `NotReadyError` where the kernel has no datapath of Open vSwitch in it."""
    roots = roots or Roots()
    if (roots.sys / "module" / MODULE).is_dir():
        return
    release = platform.release()
    modules = roots.root / "lib" / "modules" / release
    for table in ("modules.dep", "modules.builtin"):
        with suppress(OSError):
            if f"/{MODULE}.ko" in (modules / table).read_text():
                raise NotReadyError(
                    "the kernel's datapath of Open vSwitch is not loaded",
                    why=f"there is no {roots.sys}/module/{MODULE}",
                    fix=f"modprobe {MODULE}",
                )
    raise NotReadyError(
        "this kernel has no datapath of Open vSwitch",
        why=f"the module {MODULE} is neither loaded nor in {modules}",
        fix="use a kernel that has it, or let the daemon forward: --set vswitch.datapath=userspace",
    )
