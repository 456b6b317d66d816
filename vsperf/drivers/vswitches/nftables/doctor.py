"""What `vsperf doctor` asks about nftables."""

from __future__ import annotations

import os
import platform

from vsperf.drivers.vswitches.nftables.program import NAME, Nft
from vsperf.errors import NotReadyError
from vsperf.host.doctor.finding import Answer, Check, Group, Host, absent, ok


def _rules(here: Host) -> Answer:
    """Tell the kernel rules where nobody sees them, and which end at once."""
    try:
        nft = Nft.find()
        if os.geteuid() != 0:
            return absent("only root can try; for vswitch.kind=nftables", "sudo vsperf doctor")
        nft.require_kernel()
    except NotReadyError as error:
        problem = error.problems[0]
        return absent(f"{problem.what}: {problem.why}", problem.fix)
    version = nft.version().removeprefix("nftables ")
    return ok(f"{nft.path} {version}; kernel {platform.release()} tracks connections by its rules")


CHECKS = (Check(NAME, Group.PROGRAMS, _rules),)
"""Not among the checks of a run: the driver tries it itself before it starts."""
