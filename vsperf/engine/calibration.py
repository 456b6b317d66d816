"""What is found out about machine and generator before a switch is deployed.

The cap of the generator is measured once per machine, frame size and CPUs, and kept for a while:
it takes seconds, and changes little, unless a hypervisor moves the CPUs. Stalls are looked at in
each run: they always change. What was measured on CPUs that others had is for that run alone.
"""

from __future__ import annotations

import hashlib
import json
import math
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

from pydantic import ValidationError

from vsperf.config.case import CaseSpec
from vsperf.config.noise import NOISE
from vsperf.config.traffic import FRAME_SETTINGS
from vsperf.deploy.planner import CasePlan, Drivers
from vsperf.drivers.generators.base import HostJitter
from vsperf.engine.conditions import moved
from vsperf.errors import InvalidTrialError
from vsperf.host.cache import cache_folder, read_found, write_found
from vsperf.host.procfs import boot_id
from vsperf.host.workspace import Workspace
from vsperf.records.host import Calibration, fallen

KEPT_S = 24 * 3600
BUSY = 10
"""A CPU that was kept from running for one part of its time in so many is one that others have."""
LOOKED_S = 60
"""For so long a look at the stalls says whether others have the CPUs while a cap is measured."""
FORMAT = 2
ATTEMPTS = 3


Cpus = tuple[tuple[str, tuple[int, ...]], ...]
"""The CPUs of generator and switch, by role."""


@dataclass(frozen=True, slots=True)
class Kept:
    """A calibration, and where it was made: what it can be held against is from there."""

    place: str
    found: Calibration


def nobody(refuted: Mapping[str, str]) -> None:
    """Have no case to measure again."""


@dataclass
class Calibrator:
    """The calibrations of this machine, and the stalls as this run found them."""

    recalibrate: bool = False
    """Measure anew what is known from an earlier run."""
    cache: Path = field(default_factory=lambda: cache_folder() / "calibration.json")
    jitters: dict[Cpus, tuple[float, HostJitter]] = field(default_factory=dict)
    """With when it was looked, in seconds that pass; the last time."""
    fresh: dict[str, Kept] = field(default_factory=dict)
    """What this run has measured itself, by key; it knows that without a cache, too."""
    gone_by: dict[str, Kept] = field(default_factory=dict)
    """By key, what cases of this run went by, those that were finished before it was resumed too.
    """
    refute: Callable[[Mapping[str, str]], None] = nobody
    """Told by key of what is not believed any more, and why, before anything goes by what is."""

    def calibration(
        self, spec: CaseSpec, plan: CasePlan, drivers: Drivers, workspace: Workspace
    ) -> Calibration | None:
        """Return the generator's cap for a case, from an earlier measurement if one is young.

        None where it says nothing about the case.
        """
        if not spec.capped:
            return None
        key, place = cap_key(spec, plan), _place(spec, plan)
        found = self._found(spec, plan, drivers, workspace)
        if found is not None:
            self.gone_by[key] = Kept(place, found)
        return found

    def _found(
        self, spec: CaseSpec, plan: CasePlan, drivers: Drivers, workspace: Workspace
    ) -> Calibration | None:
        """Return the cap by what is known, or else measure it."""
        key = cap_key(spec, plan)
        if key in self.fresh:
            return self.fresh[key].found
        kept = _read(self.cache).get(key)
        known = None if kept is None else kept.found
        jitter = self.jitter(spec, plan, drivers, workspace)
        if known is not None and not self.recalibrate and not _moved(known, jitter.round_trip_ns):
            self._refute(_place(spec, plan), known)
            return known.model_copy(update={"cached": True})
        jitter = self.jitter(spec, plan, drivers, workspace, within_s=LOOKED_S)
        before = [one for _, one in self.like(_place(spec, plan))]
        for _ in range(ATTEMPTS):
            found = drivers.generator.calibrate(spec, plan.plan.placement, workspace)
            if found is None:
                return None
            if (doubt := fallen(found, before)) is None:
                break
        else:
            raise InvalidTrialError(
                "what the generator can do without a switch could not be measured",
                why=f"{doubt}, {ATTEMPTS} times in a row: the machine kept it from running",
                fix="measure on a quieter machine (`--wait 30m`); `--recalibrate` forgets what "
                "earlier runs found",
            )
        if found.round_trip_ns is None:
            found = found.model_copy(update={"round_trip_ns": jitter.round_trip_ns})
        self._keep(spec, plan, found, busy=_busy(jitter))
        return found

    def _keep(self, spec: CaseSpec, plan: CasePlan, found: Calibration, *, busy: bool) -> None:
        """Keep what was found, and none any more that is absurdly far below it.

        The first of a place may be the one that fell: there was nothing to hold it against. What a
        busy machine let it do is for this run, whose cases find the same machine, and not for one
        in whose time it may do several times as much.
        """
        key, place = cap_key(spec, plan), _place(spec, plan)
        gone = self._refute(place, found)
        every = {name: one for name, one in _read(self.cache).items() if name not in gone}
        self.fresh[key] = Kept(place, found)
        _write(self.cache, every if busy else {**every, key: self.fresh[key]})

    def _refute(self, place: str, found: Calibration) -> set[str]:
        """Forget what a cap shows to have fallen, and say so of what cases went by; return it."""
        doubts = {
            other: doubt
            for other, one in self.like(place)
            if (doubt := fallen(one, [found])) is not None
        }
        for other in doubts:
            self.fresh.pop(other, None)
        wrong = {name: doubts[name] for name in doubts if self.gone_by.pop(name, None) is not None}
        if wrong:
            self.refute(wrong)
        return set(doubts)

    def gone_by_before(self, spec: CaseSpec, plan: CasePlan, found: Calibration) -> None:
        """Remember what a case went by that was finished before the run was resumed."""
        self.gone_by[cap_key(spec, plan)] = Kept(_place(spec, plan), found)

    def like(self, place: str) -> list[tuple[str, Calibration]]:
        """Return with its key all that was found on the same CPUs and ports, of any frame size.

        By this run alone, where it is to measure all anew.
        """
        earlier = {} if self.recalibrate else _read(self.cache)
        every = [*earlier.items(), *self.gone_by.items(), *self.fresh.items()]
        return [(key, one.found) for key, one in every if one.place == place]

    def forget(self, spec: CaseSpec, plan: CasePlan, doubted: Calibration) -> tuple[str, ...]:
        """Have a cap measured anew that is doubted, by the next run at the latest; say so."""
        key = cap_key(spec, plan)
        self.fresh.pop(key, None)
        _write(self.cache, {name: one for name, one in _read(self.cache).items() if name != key})
        return (
            f"the generator was calibrated at {doubted.measured_at} and may do more by now: the "
            "next run measures it anew",
        )

    def stand_by(self, spec: CaseSpec, plan: CasePlan, doubted: Calibration) -> None:
        """Go by a cap that was doubted after all: what a generator can do is what it once did."""
        key = cap_key(spec, plan)
        self.fresh[key] = self.gone_by[key] = Kept(_place(spec, plan), doubted)

    def known(self, spec: CaseSpec, plan: CasePlan) -> Calibration | None:
        """Return the cap that an earlier run has measured, if any; measures nothing."""
        unknown = self.recalibrate or not spec.capped
        kept = None if unknown else _read(self.cache).get(cap_key(spec, plan))
        return None if kept is None else kept.found

    def jitter(
        self,
        spec: CaseSpec,
        plan: CasePlan,
        drivers: Drivers,
        workspace: Workspace,
        within_s: float = math.inf,
    ) -> HostJitter:
        """Return what the machine does to the CPUs in use, as it did within so many seconds.

        Without such a limit it is looked at once per run and choice of CPUs.
        """
        cpus, now_s = tuple(sorted(_cpus(spec, plan).items())), time.monotonic()
        if cpus not in self.jitters or now_s - self.jitters[cpus][0] > within_s:
            looked = drivers.generator.jitter(spec, plan.plan.placement, workspace)
            self.jitters[cpus] = (now_s, looked)
        return self.jitters[cpus][1]


def _place(spec: CaseSpec, plan: CasePlan) -> str:
    """Name what two calibrations have to share to be held against each other."""
    generator = spec.generator.model_dump(mode="json", exclude=set(spec.generator.BESIDE))
    endpoints = [endpoint.kind for endpoint in plan.plan.endpoints]
    parts = [generator, endpoints, _cpus(spec, plan), spec.traffic.direction, boot_id()]
    return json.dumps([*parts, str(spec.traffic.flows)], sort_keys=True)


def cap_key(spec: CaseSpec, plan: CasePlan) -> str:
    """Name everything that a cap depends on."""
    parts: dict[str, object] = {
        "frame_size": str(spec.traffic.frame_size),
        "flows": str(spec.traffic.flows),
        "direction": spec.traffic.direction,
        "endpoints": [endpoint.kind for endpoint in plan.plan.endpoints],
        "generator": spec.generator.model_dump(mode="json", exclude=set(spec.generator.BESIDE)),
        "cpus": _cpus(spec, plan),
        "boot": boot_id(),
    }
    if spec.cache:
        parts["cache"] = {role: str(share) for role, share in spec.cache.items()}
    rare = spec.traffic.model_dump(mode="json", exclude_defaults=True)
    parts |= {name: rare[name] for name in (*FRAME_SETTINGS, "encapsulation") if name in rare}
    if spec.withheld:
        parts["withheld"] = spec.withheld
    if spec.traffic.replay is not None:
        parts["replay"] = _state(Path(spec.traffic.replay.file))
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:16]


def _cpus(spec: CaseSpec, plan: CasePlan) -> dict[str, tuple[int, ...]]:
    """Return the CPUs of generator and switch: nothing else is there yet when this is measured."""
    later = {NOISE, *spec.topology.vnfs}
    return {
        role: cpus
        for role, cpus in plan.plan.placement.cpus.items()
        if role not in later and role.removesuffix(" emulator") not in later
    }


def _state(file: Path) -> list[str | int]:
    """Return what changes when a file does; nothing but its name when it is not there."""
    try:
        facts = file.stat()
    except OSError:
        return [str(file)]
    return [str(file), facts.st_size, facts.st_mtime_ns, facts.st_ino]


def _busy(jitter: HostJitter) -> bool:
    """Whether others had the CPUs when it was looked at them."""
    return any(one.total_ns * BUSY >= one.observed_ns > 0 for one in jitter.stalls)


def _moved(known: Calibration, distance_ns: int | None) -> bool:
    """Whether the CPUs are not where they were when the generator was calibrated."""
    if known.round_trip_ns is None or distance_ns is None:
        return False
    return moved((known.round_trip_ns, distance_ns))


def _read(path: Path) -> dict[str, Kept]:
    """Return the young calibrations; one that cannot be read is left out."""
    found = {}
    for key, item in read_found(path, FORMAT).items():
        with suppress(KeyError, TypeError, ValidationError):
            if 0 <= time.time() - item["at"] < KEPT_S:  # one of the future proves a wrong clock
                calibration = Calibration.model_validate(item["calibration"])
                found[key] = Kept(str(item["place"]), calibration)
    return found


def _write(path: Path, known: dict[str, Kept]) -> None:
    found = {
        name: {
            "at": _age(one.found),
            "place": one.place,
            "calibration": one.found.model_dump(mode="json"),
        }
        for name, one in known.items()
    }
    write_found(path, FORMAT, found)


def _age(calibration: Calibration) -> float:
    return datetime.fromisoformat(calibration.measured_at).timestamp()
