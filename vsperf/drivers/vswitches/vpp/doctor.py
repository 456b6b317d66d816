"""What `vsperf doctor` asks about VPP."""

from __future__ import annotations

from vsperf.drivers.vswitches.vpp.programs import find_programs
from vsperf.drivers.vswitches.vpp.spec import VppSpec
from vsperf.errors import NotReadyError
from vsperf.host.doctor.finding import Answer, Check, Group, Host, missing, ok
from vsperf.host.tree import HERE, Tree


def _programs(here: Host) -> Answer:
    """Look for the install that was chosen, or that is used where a case names no other."""
    chosen = here.settings(VppSpec)
    tree = HERE if chosen is None else Tree.of(chosen)
    try:
        programs = find_programs(None if chosen is None else chosen.install, tree)
        version = programs.version().partition("\n")[0]
    except NotReadyError as error:
        return missing(error.problems[0], wanted=chosen is not None)
    return ok(f"{programs.daemon}{tree.within}: {version}")


CHECKS = (Check("vpp", Group.PROGRAMS, _programs),)
"""Not among the checks of a run: a case may name another install, and the driver looks at that."""
