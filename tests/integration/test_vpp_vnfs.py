"""Frames go through VPP and VNFs behind it, which are processes, on each way that it knows."""

from __future__ import annotations

from typing import Any

import pytest
from switch_cases import PVP, PVPV, PVVP, V2V, deployed, real_case
from vpp_cases import vpp_install

from vsperf.config.case import CaseSpec
from vsperf.deploy.deployment import PORTS_S
from vsperf.drivers.generators.base import TrialRequest
from vsperf.engine.checks import check_headers
from vsperf.records.trial import Purpose, Trial, TrialCounts

pytestmark = [
    pytest.mark.machine,
    pytest.mark.thorough,
    pytest.mark.needs("vpp", "tgen", "dpdk-testpmd"),
]

HALF_A_SECOND = 500_000_000
SLOWLY = TrialRequest(2000, HALF_A_SECOND, headers=True)
ALL = [1000, 1000]
SIX = {"traffic": {"layer3": "ipv6", "frame_size": "128B"}}


def vpp(switch: dict[str, Any] | None = None, **sections: Any) -> CaseSpec:
    settings = {"install": vpp_install(), "hugepages": False, **(switch or {})}
    return real_case("vpp", settings, **sections)


def as_trial(counts: TrialCounts) -> Trial:
    return Trial(
        **dict(counts), index=1, purpose=Purpose.PATH_CHECK, load_fps=2000,
        duration_ns=HALF_A_SECOND, started_at="2026-01-01T00:00:00.000+00:00",
    )  # fmt: skip


@pytest.mark.parametrize(
    ("switch", "sections"),
    [
        ({"forwarding": "xconnect"}, {}),
        ({"forwarding": "xconnect", "ports": "memif"}, {}),
        ({"forwarding": "bridge"}, {}),
        ({"forwarding": "ip4"}, {}),
        ({"forwarding": "ip6"}, SIX),
    ],
    ids=lambda value: " ".join(f"{name}={word}" for name, word in value.items()),
)
def test_frames_pass_a_vnf_and_look_as_they_should(
    switch: dict[str, Any], sections: dict[str, Any]
) -> None:
    case = vpp(switch, topology=PVP, **sections)
    with deployed(case) as (running, _):
        before = running.switch.counters()
        counts = running.generator.run(SLOWLY)
        after = running.switch.counters()
    assert [way.good_frames for way in counts.directions] == ALL
    assert check_headers(case, as_trial(counts)) == ()
    assert before is not None and after is not None
    growth = after.since(before)
    assert [port.received_frames for port in growth.ports] == [1000] * 4
    assert growth.dropped_frames == 0


def test_a_bridge_that_is_told_all_addresses_finds_vnfs_side_by_side() -> None:
    case = vpp({"forwarding": "bridge", "learn": False}, topology={**PVPV, "dispatch": "mac"})
    with deployed(case) as (running, _):
        counts = running.generator.run(SLOWLY)
    assert [way.good_frames for way in counts.directions] == ALL


@pytest.mark.parametrize(
    ("forwarding", "topology", "ports"),
    [
        ("xconnect", PVVP, 6),
        ("ip4", PVVP, 6),
        ("xconnect", V2V, 2),
        ("ip4", {**PVPV, "dispatch": "ip"}, 6),
    ],
    ids=["in a row", "in a row, routed", "to each other", "side by side, routed"],
)
def test_every_frame_passes_several_vnfs(
    forwarding: str, topology: dict[str, Any], ports: int
) -> None:
    case = vpp({"forwarding": forwarding}, topology=topology)
    with deployed(case) as (running, _):
        before = running.switch.counters()
        counts = running.generator.run(SLOWLY)
        after = running.switch.counters()
    assert [way.good_frames for way in counts.directions] == ALL
    assert before is not None and after is not None
    growth = after.since(before)
    assert len(growth.ports) == ports
    assert all(port.received_frames > 0 for port in growth.ports)
    assert growth.dropped_frames == 0


@pytest.mark.parametrize("kill", [False, True], ids=["asked", "killed"])
def test_a_vnf_is_taken_up_again_after_a_restart(kill: bool) -> None:
    case = vpp(topology=PVP)
    with deployed(case) as (running, _):
        running.generator.run(SLOWLY)
        running.switch.restart(kill=kill)
        running.switch.await_ports(case.topology.links, PORTS_S)
        counts = running.generator.run(SLOWLY)
    assert [way.good_frames for way in counts.directions] == ALL
