"""What `vsperf doctor` asks about OVS-DPDK."""

from __future__ import annotations

from vsperf.errors import NotReadyError
from vsperf.host.doctor.finding import Answer, Check, Group, Surroundings, failure, ok
from vsperf.vswitches.ovs.programs import find_programs, version_text


def _programs(here: Surroundings) -> Answer:
    """Look for the install that is used where a case names no other."""
    try:
        programs = find_programs(None)
        daemon = ", ".join(version_text(programs.daemon).splitlines())
        database = version_text(programs.database_server).partition("\n")[0]
    except NotReadyError as error:
        problem = error.problems[0]
        why = f": {problem.why}" if problem.why else ""
        return failure(f"{problem.what}{why}", problem.fix)
    return ok(f"{programs.daemon}: {daemon}; {database}")


CHECKS = (Check("ovs-dpdk", Group.PROGRAMS, _programs),)
"""Not among the checks of a run: a case may name another install, and the driver looks at that."""
