"""What `vsperf doctor` asks about VPP."""

from __future__ import annotations

from vsperf.errors import NotReadyError
from vsperf.host.doctor.finding import Answer, Check, Group, Surroundings, absent, ok
from vsperf.vswitches.vpp.programs import find_programs, version_text


def _programs(here: Surroundings) -> Answer:
    """Look for the install that is used where a case names no other."""
    try:
        programs = find_programs(None)
        version = version_text(programs).partition("\n")[0]
    except NotReadyError as error:
        problem = error.problems[0]
        why = f": {problem.why}" if problem.why else ""
        return absent(f"{problem.what}{why}", problem.fix)
    return ok(f"{programs.daemon}: {version}")


CHECKS = (Check("vpp", Group.PROGRAMS, _programs),)
"""Not among the checks of a run: a case may name another install, and the driver looks at that."""
