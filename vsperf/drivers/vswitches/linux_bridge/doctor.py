"""What `vsperf doctor` asks about the kernel's bridge."""

from __future__ import annotations

import os
import platform

from vsperf.drivers.vswitches.linux_bridge.netlink import require_bridges
from vsperf.errors import NotReadyError
from vsperf.host.doctor.finding import Answer, Check, Group, Host, absent, ok


def _bridge(here: Host) -> Answer:
    """Make a bridge where nobody sees it, and which ends at once."""
    if os.geteuid() != 0:
        return absent("only root can try; for vswitch.kind=linux-bridge", "sudo vsperf doctor")
    try:
        require_bridges()
    except NotReadyError as error:
        problem = error.problems[0]
        return absent(f"{problem.what}: {problem.why}", problem.fix)
    return ok(f"kernel {platform.release()} makes one, in a network of its own")


CHECKS = (Check("kernel bridge", Group.DEVICES, _bridge),)
"""Not among the checks of a run: the driver tries it itself before it starts."""
