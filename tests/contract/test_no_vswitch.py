"""No switch at all keeps the promises of all switch drivers, too."""

from __future__ import annotations

import pytest
from vswitch_contract import ForwardingContract, real_case

from vsperf.config.case import CaseSpec
from vsperf.drivers.vswitches.none import NoSwitch

pytestmark = [pytest.mark.machine, pytest.mark.needs("tgen")]


class TestNoSwitch(ForwardingContract):
    restarts = changes_rules = runs_programs = counts_at_ports = False

    drives = NoSwitch

    @pytest.fixture(scope="class")
    @classmethod
    def case(cls) -> CaseSpec:
        return real_case(NoSwitch.Spec.model_validate({"kind": "none"}))
