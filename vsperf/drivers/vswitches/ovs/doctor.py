"""What `vsperf doctor` asks about Open vSwitch."""

from __future__ import annotations

from functools import partial

from vsperf.drivers.vswitches.ovs.programs import find_programs
from vsperf.drivers.vswitches.ovs.spec import OvsSettings
from vsperf.errors import NotReadyError
from vsperf.host.doctor.finding import Answer, Check, Group, Host, missing, ok
from vsperf.host.tree import HERE, Tree


def check_of(kind: str, settings: type[OvsSettings], *, dpdk: bool) -> Check:
    """Return the check of a driver's programs.

    It is not among those of a run: a case may name another install, and the driver looks at that.
    """
    return Check(kind, Group.PROGRAMS, partial(_programs, settings, dpdk))


def _programs(settings: type[OvsSettings], dpdk: bool, here: Host) -> Answer:
    """Look for the install that was chosen, or that is used where a case names no other."""
    chosen = here.settings(settings)
    tree = HERE if chosen is None else Tree.of(chosen)
    try:
        programs = find_programs(None if chosen is None else chosen.install, tree, dpdk=dpdk)
        daemon = ", ".join(programs.version(programs.daemon).splitlines())
        database = programs.version(programs.database_server).partition("\n")[0]
    except NotReadyError as error:
        return missing(error.problems[0], wanted=True)
    return ok(f"{programs.daemon}{tree.within}: {daemon}; {database}")
