"""What `vsperf doctor` asks about testpmd as a switch."""

from __future__ import annotations

from vsperf.dpdk.running import find_testpmd
from vsperf.drivers.vswitches.testpmd.spec import TestpmdSpec
from vsperf.errors import NotReadyError
from vsperf.host.doctor.finding import Answer, Check, Group, Host, missing, ok
from vsperf.host.software import package_versions
from vsperf.host.tree import HERE, Tree

PACKAGE = "dpdk"
PURPOSE = "it is the switch (vswitch.kind=testpmd)"


def _program(here: Host) -> Answer:
    """Look for the program that was chosen, or the machine's own."""
    chosen = here.settings(TestpmdSpec)
    tree = HERE if chosen is None else Tree.of(chosen)
    try:
        program = find_testpmd(PURPOSE, tree)
    except NotReadyError as error:
        return missing(error.problems[0], wanted=chosen is not None)
    known = package_versions((PACKAGE,), tree.root)  # the program itself tells none
    about = "".join(f", package {name} {version}" for name, version in known.items())
    return ok(f"{program}{tree.within}{about}")


CHECKS = (Check("testpmd as a switch", Group.PROGRAMS, _program),)
"""Not among the checks of a run: a case may name a tree, and the driver looks at that."""
