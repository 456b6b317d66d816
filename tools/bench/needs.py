"""What each benchmark needs of the machine, so that all that is missing is said before the first.

What is no program of a package, such as hugepages that others have taken, only shows on the way.
"""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests"))

from loopbacks import tgen_dut

from vsperf.cli.problems import print_problems
from vsperf.drivers.generators.tgen.process import TGEN
from vsperf.drivers.vswitches.ovs.programs import find_programs
from vsperf.errors import NotReadyError, Problem

VETH = ("unshare", "ip", "tcpdump", "tcpreplay", "taskset")
MEND = "tools/bootstrap --bench"


def require_programs(*names: str) -> None:
    """Raise `NotReadyError` with all programs that are not installed."""
    if absent := [name for name in names if shutil.which(name) is None]:
        raise NotReadyError(f"not installed: {', '.join(absent)}", fix=MEND)


def require_reference_dut() -> None:
    """Raise `NotReadyError` where tgen is built without its tests."""
    if not tgen_dut().is_file():
        raise NotReadyError(
            "the reference DUT of tgen is not built",
            why=f"there is no {tgen_dut()}",
            fix="make setup-dev",
        )


def _tgen() -> None:
    TGEN.find()


def _testpmd() -> None:
    require_programs("dpdk-testpmd")


def _veth() -> None:
    require_programs(*VETH)


def _switch() -> None:
    find_programs(None)


def _root() -> None:
    if os.geteuid() != 0:
        raise NotReadyError("only root may reserve hugepages and make links", fix="sudo make bench")


NEEDS: Mapping[str, tuple[Callable[[], None], ...]] = {
    "tgen_rate": (_tgen, _testpmd, _switch, _root),
    "tgen_cycles": (_tgen, _testpmd, _root),
    "tgen_pacing": (_tgen, _root),
    "tgen_veth": (_tgen, _veth, _root),
    "tgen_truth": (_tgen, require_reference_dut),
    "real_run": (_tgen, _switch, _root),
    "estimate": (_tgen, _switch, _root),
    "runs_agree": (_tgen, _switch, _root),
    "paired_sessions": (_tgen, _switch, _root),
    "paired_table": (_tgen, _switch, _testpmd, _root),
}
"""Of benchmarks that need more than vsperf itself."""


def lacking(program: str) -> list[Problem]:
    """Return all that keeps a benchmark from measuring."""
    found: list[Problem] = []
    for require in NEEDS.get(program, ()):
        try:
            require()
        except NotReadyError as error:
            found += error.problems
    return found


def tell_lacking(programs: Iterable[str]) -> list[str]:
    """Print all that is missing, each once; return which of the benchmarks will not measure."""
    found = {program: lacking(program) for program in programs}
    print_problems(problem for problems in found.values() for problem in problems)
    return [program for program, problems in found.items() if problems]
