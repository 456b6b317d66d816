"""Without a switch of ours: the generator's own devices, and what others put between them."""

from __future__ import annotations

import os
from collections.abc import Callable

import pytest
from loopbacks import tgen_case
from places import started_generator, started_switch

from vsperf.record.plan import Placement
from vsperf.trafficgens.base import TrialRequest
from vsperf.trafficgens.tgen.driver import TgenGenerator
from vsperf.vswitches.external import ExternalSwitch

pytestmark = pytest.mark.machine

MEMIF = "net_memif{0},role={1},id=0,socket=@vsperf-{2},socket-abstract=yes,rsize=10"


def test_frames_pass_a_wire_that_others_put_between_the_devices_of_the_links(
    require: Callable[[str], None],
) -> None:
    require("tgen")
    ends = (MEMIF.format(0, "server", os.getpid()), MEMIF.format(1, "client", os.getpid()))
    links = {
        f"phy{number}": {"speed": "10G", "generator": device} for number, device in enumerate(ends)
    }
    case = tgen_case()
    case = case.model_copy(
        update={
            "vswitch": ExternalSwitch.Spec.model_validate({"kind": "external"}),
            "testbed": case.testbed.model_validate({"name": "lab", "links": links}),
        }
    )
    switch = ExternalSwitch()
    plan = switch.plan(case, Placement())
    ways = (("phy0", "phy1"), ("phy1", "phy0"))
    with (
        started_switch(switch, case, plan) as running,
        started_generator(TgenGenerator(), case, plan.endpoints, ways) as session,
    ):
        counts = session.run(TrialRequest(2000, 500_000_000))
        assert running.counters() is None
    assert [way.received_frames for way in counts.directions] == [1000, 1000]
