"""`vsperf doctor` says whether VPP is there; without it, only some testcases miss something."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from vsperf.errors import NotReadyError
from vsperf.host.doctor.finding import Status, Surroundings
from vsperf.vswitches.vpp import programs
from vsperf.vswitches.vpp.doctor import CHECKS
from vsperf.vswitches.vpp.spec import VppSpec


def test_a_machine_without_vpp_is_well_all_the_same() -> None:
    (check,) = CHECKS
    answer = check.ask(Surroundings())
    if shutil.which("vpp") is None:
        assert answer.status is Status.ABSENT
        assert answer.fix is not None and "vswitch.install=PATH" in answer.fix


def test_one_that_was_chosen_is_looked_for_where_it_is(tmp_path: Path) -> None:
    """And that it is not there keeps a run from working."""
    (check,) = CHECKS
    chosen = VppSpec(kind="vpp", install=str(tmp_path))
    answer = check.ask(Surroundings(chosen=(chosen,)))
    assert answer.status is Status.FAILURE
    assert str(tmp_path) in answer.evidence


def test_a_missing_library_is_named_with_the_way_to_get_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(programs, "PYTHON", "no_such_library")
    with pytest.raises(NotReadyError, match="no_such_library is not installed") as caught:
        programs.require_library()
    assert caught.value.problems[0].fix == "pip install 'vsperf[vpp]'"
