"""What `vsperf doctor` asks about Open vSwitch."""

from __future__ import annotations

from functools import partial

from vsperf.errors import NotReadyError
from vsperf.host.doctor.finding import Answer, Check, Group, Surroundings, failure, ok
from vsperf.vswitches.ovs.programs import find_programs, version_text


def check_of(kind: str, *, dpdk: bool) -> Check:
    """Return the check of a driver's programs.

    It is not among those of a run: a case may name another install, and the driver looks at that.
    """
    return Check(kind, Group.PROGRAMS, partial(_programs, dpdk))


def _programs(dpdk: bool, here: Surroundings) -> Answer:
    """Look for the install that is used where a case names no other."""
    try:
        programs = find_programs(None, dpdk=dpdk)
        daemon = ", ".join(version_text(programs, programs.daemon).splitlines())
        database = version_text(programs, programs.database_server).partition("\n")[0]
    except NotReadyError as error:
        problem = error.problems[0]
        why = f": {problem.why}" if problem.why else ""
        return failure(f"{problem.what}{why}", problem.fix)
    return ok(f"{programs.daemon}: {daemon}; {database}")
