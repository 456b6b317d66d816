"""Checks of programs that only some testcases need. Drivers bring the checks of their own."""

from __future__ import annotations

import shutil
from collections.abc import Callable

from vsperf.host.doctor.finding import Answer, Check, Group, Surroundings, absent, ok
from vsperf.host.software import package_versions

WANTED = (
    ("testpmd", ("dpdk-testpmd", "testpmd"), "calibration", "apt-get install dpdk", "dpdk"),
    ("tshark", ("tshark",), "looking into captures", "apt-get install tshark", "tshark"),
    ("perf", ("perf",), "collecting hardware counters", "apt-get install linux-perf", "linux-perf"),
    ("trex", ("t-rex-64",), "testbeds that name it as their generator", None, None),
)
"""Name, programs of which one will do, what for, how to install it, package that has it."""


def _program(
    names: tuple[str, ...], purpose: str, fix: str | None, package: str | None
) -> Callable[[Surroundings], Answer]:
    def ask(here: Surroundings) -> Answer:
        path = here.environment.get("PATH")
        found = next((place for name in names if (place := shutil.which(name, path=path))), None)
        if found is None:
            return absent(f"not installed; for {purpose}", fix)
        version = package_versions((package,)).get(package) if package else None
        return ok(f"{found}, package {package} {version}" if version else found)

    return ask


CHECKS = tuple(
    Check(name, Group.PROGRAMS, _program(names, purpose, fix, package))
    for name, names, purpose, fix, package in WANTED
)
