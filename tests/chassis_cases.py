"""Chassis in tests: what a case asks of one, and what is said to it.

Each line that is said stands in `tests/golden/chassis` where it is said first: how often counters
are asked for is a matter of time.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from switch_cases import switch_case
from vsperf_chassis import session
from vsperf_chassis.ixnetwork import chassis as ixnetwork
from vsperf_chassis.ixnetwork import client
from vsperf_chassis.spirent.chassis import Spirent
from vsperf_chassis.xena.chassis import XenaChassis

from vsperf.config.base import DriverSpec
from vsperf.config.case import CaseSpec
from vsperf.drivers.generators.base import GeneratorSession, TrialRequest
from vsperf.engine.judge import Asked, judge
from vsperf.errors import ComponentError
from vsperf.host.undo import RELEASE
from vsperf.records.flags import Flag
from vsperf.records.run import Endpoint
from vsperf.records.trial import TrialCounts
from vsperf.trust import own_python

FOLDER = Path(__file__).parent / "golden" / "chassis"
OWNER = re.compile(r"vsp[0-9a-f]{5}\b")
WAYS = (("phy0", "phy1"), ("phy1", "phy0"))
SHORT = TrialRequest(load_fps=5_000, duration_ns=20_000_000)
"""A hundred frames each way."""


@pytest.fixture(name="runtime", autouse=True)
def fixture_runtime(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Keep journals apart: a user's `vsperf clean` must find none that names a chassis of ours."""
    monkeypatch.setenv("VSPERF_RUNTIME", str(tmp_path / "run"))
    return tmp_path / "run"


def hurry(patch: pytest.MonkeyPatch) -> None:
    """Let nobody wait for a wire: a server in memory has none."""
    for place, name, value in (
        *((session, name, 0.1) for name in ("LATE_S", "SETTLE_S")),
        (session, "LOOK_S", 0.01),
        *((one, "rest_s", 0.01) for one in (XenaChassis, Spirent, ixnetwork.Ixnetwork)),
        *((one, "POLL_S", 0.01) for one in (ixnetwork, client)),
    ):
        patch.setattr(place, name, value)


def judged(counts: TrialCounts, case: CaseSpec) -> tuple[Flag, ...]:
    """Return what is to be said against a short trial."""
    return judge(counts, Asked(SHORT.load_fps, SHORT.duration_ns, 2), case.trial)


def see_through(lie: Flag | str, running: GeneratorSession, case: CaseSpec) -> None:
    """See that a trial gives this flag, or an error with these words, and no number."""
    if isinstance(lie, Flag):
        assert lie in judged(running.run(SHORT), case)
        return
    with pytest.raises(ComponentError) as error:
        running.run(SHORT)
        running.facts()
    assert lie in error.value.with_why


def release(*words: str) -> None:
    """Have the program of an undo release what a killed run holds."""
    argv = own_python.module(RELEASE, *words)
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def ports_at(*places: str) -> tuple[Endpoint, ...]:
    """Return the ports of a chassis at these places, link by link."""
    return tuple(
        Endpoint(link=f"phy{number}", kind="chassis", address=place)
        for number, place in enumerate(places)
    )


def chassis_case(generator: DriverSpec, traffic: dict[str, Any] | None = None) -> CaseSpec:
    """Return a case whose generator is a chassis, of which nobody waits for a wire."""
    case = switch_case("external", search={"kind": "fixed", "loads": ["1%"], "duration": "1s"})
    profile = case.traffic.model_validate(case.traffic.model_dump() | (traffic or {}))
    policy = case.trial.model_dump() | {"drain": "10ms", "pause": "0s"}
    sections = {"generator": generator, "traffic": profile}
    return case.model_copy(update={**sections, "trial": case.trial.model_validate(policy)})


def told(lines: Iterable[str]) -> str:
    """Return a conversation, with the name of each deployment replaced."""
    return "".join(f"{line}\n" for line in dict.fromkeys(OWNER.sub("OWNER", one) for one in lines))


def expected(name: str) -> str:
    """Return a conversation as it was written down; a change of it is a change of the driver."""
    return (FOLDER / f"{name}.txt").read_text()
