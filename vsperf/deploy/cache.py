"""Who has which part of the last-level cache: from the words of a case to CPUs and steps."""

from __future__ import annotations

import re
from collections.abc import Mapping

from vsperf.config.case import CaseSpec
from vsperf.errors import Problem, SpecError
from vsperf.host.files import Roots
from vsperf.host.resctrl import shared_with_devices
from vsperf.records.run import Placement, Step

ROLES = {"switch": "pmd", "generator": "generator", "noise": "noise"}
"""Words of a case → the role of their CPUs; guests have several."""
GUEST = re.compile(r"vm[1-9][0-9]*")


def cache_cpus(spec: CaseSpec, placement: Placement) -> dict[str, tuple[int, ...]]:
    """Return the CPUs of each part of the cache; raise `SpecError` where two would be in one."""
    found: dict[str, tuple[int, ...]] = {role: _cpus(role, placement) for role in spec.cache}
    problems = [
        Problem(
            f"`cache` gives a part to {role}, which has no CPU of its own in this case",
            fix=f"--set cache.{role}=null",
        )
        for role, cpus in found.items()
        if not cpus
    ]
    problems += [_shared(role, found, placement) for role in found if _others(role, placement)]
    if problems:
        raise SpecError(problems)
    return found


def cache_steps(
    spec: CaseSpec, cpus: Mapping[str, tuple[int, ...]], roots: Roots | None = None
) -> tuple[Step, ...]:
    """Return what is done for the parts of the cache; it says what of them devices share."""
    if not spec.cache:
        return ()
    devices = shared_with_devices({**spec.cache}, roots or Roots())
    steps = [
        Step(
            component="cache",
            action=f"give {role} {share} of the last-level cache, for CPU "
            + ", ".join(str(cpu) for cpu in cpus[role])
            + _with_devices(devices.get(role, 0)),
        )
        for role, share in spec.cache.items()
    ]
    rest = "leave all others the ways that are left, until the case has ended"
    return (*steps, Step(component="cache", action=rest))


def _with_devices(ways: int) -> str:
    if not ways:
        return ""
    return f"; devices write into {ways} of them, too (info/L3/shareable_bits)"


def _cpus(role: str, placement: Placement) -> tuple[int, ...]:
    if role in ROLES:
        return placement.of(ROLES[role])
    return tuple(
        cpu for name, cpus in placement.cpus.items() if GUEST.fullmatch(name) for cpu in cpus
    )


def _others(role: str, placement: Placement) -> list[str]:
    """Return the other parts on the CPUs of one, those that mostly sleep left out."""
    mine = set(_cpus(role, placement))
    parts = {**ROLES, "guests": "guests"}
    return [one for one in parts if one != role and mine & set(_cpus(one, placement))]


def _shared(role: str, found: Mapping[str, tuple[int, ...]], placement: Placement) -> Problem:
    where = ", ".join(str(cpu) for cpu in found[role])
    return Problem(
        f"{role} cannot have a part of the cache for itself",
        why=f"on CPU {where} is {' and '.join(_others(role, placement))}, too, and parts belong to "
        "CPUs",
        fix="take a machine with more CPUs, or leave `cache` out",
    )
