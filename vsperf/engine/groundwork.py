"""What is found out about machine and generator before a switch is deployed.

The cap of the generator is measured once per machine, frame size and CPUs, and kept for a while:
it takes seconds, and changes little. Stalls are looked at in each run: they always change.
"""

from __future__ import annotations

import hashlib
import json
import os
import time
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

from pydantic import ValidationError

from vsperf.deploy.planner import CasePlan, Drivers
from vsperf.host.workspace import Workspace
from vsperf.record.host import Calibration, Stalls
from vsperf.spec.case import CaseSpec

KEPT_S = 24 * 3600
FORMAT = 1


@dataclass
class Groundwork:
    """The calibrations of this machine, and the stalls as this run found them."""

    recalibrate: bool = False
    """Measure anew what is known from an earlier run."""
    cache: Path = field(default_factory=lambda: cache_folder() / "calibration.json")
    stalls: dict[tuple[tuple[str, tuple[int, ...]], ...], tuple[Stalls, ...]] = field(
        default_factory=dict
    )
    fresh: set[str] = field(default_factory=set)
    """What this run has measured itself."""

    def calibration(
        self, spec: CaseSpec, plan: CasePlan, drivers: Drivers, workspace: Workspace
    ) -> Calibration | None:
        """Return the generator's cap for a case, from an earlier measurement if one is young."""
        key = _key(spec, plan)
        known = _read(self.cache)
        if key in known and (key in self.fresh or not self.recalibrate):
            return known[key].model_copy(update={"cached": key not in self.fresh})
        found = drivers.generator.calibrate(spec, plan.plan.placement, workspace)
        if found is not None:
            self.fresh.add(key)
            _write(self.cache, key, found)
        return found

    def known(self, spec: CaseSpec, plan: CasePlan) -> Calibration | None:
        """Return the cap that an earlier run has measured, if any; measures nothing."""
        return None if self.recalibrate else _read(self.cache).get(_key(spec, plan))

    def noise(
        self, spec: CaseSpec, plan: CasePlan, drivers: Drivers, workspace: Workspace
    ) -> tuple[Stalls, ...]:
        """Return the stalls of the CPUs in use; looked at once per run and choice of CPUs."""
        cpus = tuple(sorted(plan.plan.placement.cpus.items()))
        if cpus not in self.stalls:
            self.stalls[cpus] = drivers.generator.stalls(spec, plan.plan.placement, workspace)
        return self.stalls[cpus]


def cache_folder() -> Path:
    """Return the folder for what may be lost."""
    base = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return Path(base).expanduser() / "vsperf"


def _key(spec: CaseSpec, plan: CasePlan) -> str:
    """Name everything that a cap depends on."""
    parts = {
        "frame_size": str(spec.traffic.frame_size),
        "flows": str(spec.traffic.flows),
        "direction": spec.traffic.direction,
        "endpoints": [endpoint.kind for endpoint in plan.plan.endpoints],
        "generator": spec.generator.model_dump(mode="json"),
        "cpus": dict(plan.plan.placement.cpus),
        "boot": _boot_id(),
    }
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:16]


def _boot_id() -> str | None:
    with suppress(OSError):
        return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    return None


def _read(path: Path) -> dict[str, Calibration]:
    """Return the young calibrations; a cache that cannot be read is an empty one."""
    found = {}
    with suppress(OSError, ValueError, KeyError, TypeError, AttributeError):
        content = json.loads(path.read_text())
        if content["format"] != FORMAT:
            return {}
        for key, item in content["found"].items():
            if time.time() - item["at"] < KEPT_S:
                with suppress(ValidationError):
                    found[key] = Calibration.model_validate(item["calibration"])
    return found


def _write(path: Path, key: str, calibration: Calibration) -> None:
    """Add one to the cache; when it cannot be written, the next run measures again."""
    known = {**_read(path), key: calibration}
    content = {
        "format": FORMAT,
        "found": {
            name: {"at": _age(one), "calibration": one.model_dump(mode="json")}
            for name, one in known.items()
        },
    }
    with suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        scratch = path.with_suffix(f".{os.getpid()}")
        scratch.write_text(json.dumps(content))
        scratch.replace(path)


def _age(calibration: Calibration) -> float:
    return datetime.fromisoformat(calibration.measured_at).timestamp()
