"""All checks, in the order in which they are shown; and those that matter to a run."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Set
from dataclasses import replace
from typing import Any

from vsperf.errors import NotReadyError, Problem
from vsperf.host.activity import Activity
from vsperf.host.doctor import (
    clock,
    devices,
    installation,
    memory,
    others,
    processors,
    programs,
    rights,
)
from vsperf.host.doctor.finding import Check, Finding, Group, Host, Status, unknown
from vsperf.host.doctor.wants import Want
from vsperf.plugins import Plugins
from vsperf.stop import raise_if_stopped

GENERAL = (
    *installation.CHECKS,
    *rights.CHECKS,
    *processors.CHECKS,
    *memory.CHECKS,
    *devices.CHECKS,
    *programs.CHECKS,
    *clock.CHECKS,
    *others.CHECKS,
)
"""Checks of the machine; what looks at its load comes last, and has had time to look."""


def checks(plugins: Plugins) -> tuple[Check, ...]:
    """Return all checks; a driver brings its own as `checks`, if it has any."""
    return _in_order(*_own(plugin.driver for plugin in plugins.all), *GENERAL)


def _own(drivers: Iterable[object]) -> Iterator[Check]:
    """Yield what drivers bring; two that bring the same check bring one."""
    yield from dict.fromkeys(check for one in drivers for check in getattr(one, "checks", ()))


def _in_order(*found: Check) -> tuple[Check, ...]:
    order = list(dict.fromkeys(check.group for check in GENERAL))
    return tuple(sorted(found, key=lambda check: order.index(check.group)))


def examine(here: Host, chosen: Iterable[Check] | None = None) -> Iterator[Finding]:
    """Make the checks one after the other: all of them, or those that are chosen."""
    if here.before is None:
        here = replace(here, before=Activity.read(here.roots))
    for check in checks(here.plugins) if chosen is None else tuple(chosen):
        raise_if_stopped()
        try:
            answer = check.ask(here)
        except (OSError, ValueError) as error:
            answer = unknown(str(error))
        yield Finding(
            check.name, check.group, answer.status, answer.evidence, answer.fix, answer.proviso
        )


def examine_parts(drivers: Iterable[object], here: Host) -> list[Finding]:
    """Make all checks that say whether these drivers can be used here.

    What others do on the machine passes, and is not looked at.
    """
    chosen = tuple(drivers)
    wanted = {want for one in chosen for want in getattr(one, "wants", ())}
    host = (one for one in GENERAL if one.wants & wanted and one.group is not Group.OTHERS)
    return list(examine(here, _in_order(*_own(chosen), *host)))


def examine_for(
    drivers: Iterable[object], here: Host, more: Set[Want] = frozenset()
) -> list[Finding]:
    """Make the checks that matter to a run with these drivers: what they bring, and want.

    A driver says what it wants as `wants`, if there is anything; `more` is what others want.
    """
    chosen = tuple(drivers)
    wanted = {*more, *(want for one in chosen for want in getattr(one, "wants", ()))}
    own = (check for check in _own(chosen) if check.before_runs)
    return list(examine(here, _in_order(*own, *(one for one in GENERAL if one.wants & wanted))))


def demand(findings: Iterable[Finding]) -> None:
    """Raise `NotReadyError` with every failure among the findings, if there is one."""
    failures = [finding for finding in findings if finding.status is Status.FAILURE]
    if not failures:
        return
    error = NotReadyError("; ".join(f"{one.name}: {one.evidence}" for one in failures))
    error.problems = tuple(
        Problem(f"this machine is not ready: {one.name}", why=one.evidence, fix=one.fix)
        for one in failures
    )
    raise error


def as_data(findings: Iterable[Finding]) -> list[dict[str, Any]]:
    """Return findings as a record keeps them: what was found, not how to mend it."""
    return [
        {"name": one.name, "status": str(one.status), "evidence": one.evidence} for one in findings
    ]
