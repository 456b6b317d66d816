"""Runs whose switch modifies frames: the record proves it, and a switch that forgets is noticed."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from conftest import Require
from real_runs import FIXED, Place, fixture_calibrations, fixture_place

from vsperf.errors import ExitCode
from vsperf.record.flags import Flag
from vsperf.record.trial import Purpose, Trial
from vsperf.store.reader import StoredCase
from vsperf.vswitches.ovs.programs import planned_programs

pytestmark = pytest.mark.machine
__all__ = ["fixture_calibrations", "fixture_place"]

MODIFIED = (*FIXED, "--set=vswitch.modify.dscp=46", "--set=vswitch.modify.push_vlan=100")


def test_a_run_records_the_headers_that_prove_it(place: Place) -> None:
    ended = place(*MODIFIED)
    assert ended.code == 0, ended.said
    (case,) = place.records().cases
    checks, others = parted(case)
    for way in checks[-1].directions:
        assert way.first_headers
        for headers in way.first_headers:
            assert (headers.vlans, headers.dscp, headers.ttl) == ((100,), 46, 64)
    assert all(not way.first_headers for trial in others for way in trial.directions)


def parted(case: StoredCase) -> tuple[list[Trial], list[Trial]]:
    """Return the checks of the path, repeated where the machine made a frame late, and the rest."""
    checks = [trial for trial in case.trials if trial.purpose is Purpose.PATH_CHECK]
    return checks, [trial for trial in case.trials if trial not in checks]


def test_a_switch_that_forgets_to_modify_ends_the_run_without_a_number(
    place: Place, tmp_path: Path
) -> None:
    """A copy of OVS whose tool for rules leaves the actions out, and says nothing of it."""
    install = forgetful(tmp_path)
    ended = place(*MODIFIED, f"--set=vswitch.install={install}")
    assert ended.code == ExitCode.COMPONENT_FAILED
    (case,) = place.records().cases
    assert case.record is not None
    reason = case.record.reason or ""
    assert "the switch did not modify the frames as vswitch.modify asks" in reason
    assert "vlans is absent and not 100" in reason
    assert "dscp is 0 and not 46" in reason
    assert {trial.purpose for trial in case.trials} == {Purpose.PATH_CHECK}
    assert case.record.result is None


SHORT = (*(word for word in FIXED if word.startswith("--set")), "--set=search.loads=[100kfps]")
SIZE = "--set=traffic.frame_size=84"
"""The smallest frame that IPv6, and a tag that is taken off, leave long enough."""
TOGETHER: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "switch": (
        (
            *("phy2phy_tput_mod_vlan", "phy2phy_tput_mod_vlan_pop", "phy2phy_tput_mod_mac"),
            *("phy2phy_tput_mod_ip", "phy2phy_tput_mod_dscp", "phy2phy_tput_mod_ttl"),
            "phy2phy_ipv6_tput",
        ),
        (SIZE,),
    ),
    "mix": (("phy2phy_imix",), ()),
    "machine": (
        ("pvp_tput_mod_vlan", "pvp_ipv6_tput"),
        (SIZE, "--vnf=process", "--set=search.loads=[5kfps]"),
    ),
    "mix for a machine": (("pvp_imix",), ("--vnf=process", "--set=search.loads=[5kfps]")),
}


@pytest.mark.parametrize("which", TOGETHER)
def test_each_testcase_gets_its_frames_through(which: str, place: Place, require: Require) -> None:
    """Briefly, and with loads that any machine can bear: every path check passes."""
    require("dpdk-testpmd")
    names, settings = TOGETHER[which]
    ended = place("run", *names, *SHORT, *settings)
    assert ended.code == 0, ended.said + ended.out
    cases = place.records().cases
    assert {case.planned.spec["name"] for case in cases} == set(names)
    for case in cases:
        checks, others = parted(case)
        assert all(bool(way.first_headers) == ("mix" not in which) for way in checks[-1].directions)
        assert sum(trial.received_frames for trial in others) > 0
        assert case.record is not None
        assert not [text for text in case.record.warnings if "headers" in text]


def test_the_reverse_direction_is_sent_its_share(place: Place) -> None:
    ended = place(*FIXED, "--set=traffic.reverse_load=25%")
    assert ended.code == 0, ended.said
    (case,) = place.records().cases
    for trial in case.trials:
        forward, reverse = trial.directions
        assert (forward.name, reverse.name) == ("phy0 to phy1", "phy1 to phy0")
        assert forward.intended_frames == 4 * reverse.intended_frames
        assert 0 < reverse.sent_frames <= reverse.intended_frames
        assert Flag.WRONG_LOAD not in trial.flags
    assert case.record is not None
    assert any("the reverse one is offered 25%" in text for text in case.record.warnings)


def test_bursts_come_whole_and_fill_their_time(place: Place) -> None:
    bursts = "--set=traffic.bursts={frames: 50, gap: 2ms}"
    ended = place(*FIXED, bursts, "--set=search.loads=[100kfps]", "--set=trial.retries=5")
    assert ended.code == 0, ended.said
    (case,) = place.records().cases
    *_, trial = case.trials
    for way in trial.directions:
        assert way.intended_frames == 160 * 50  # 0.5 ms and 2 ms of gap, for 400 ms
    assert case.record is not None
    assert any("within bursts of 50 frames" in text for text in case.record.warnings)


def forgetful(folder: Path) -> Path:
    """Return an installation of OVS that drops every action but `output`."""
    install = folder / "ovs"
    ours, theirs = planned_programs(str(install)), planned_programs(None)
    for copy, original in zip(ours.paths, theirs.paths, strict=True):
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(original, copy)
    ours.openflow.write_text(
        "#!/bin/sh\n"
        'for word; do case "$word" in */rules.txt)\n'
        "sed -i -E 's/actions=.*output/actions=output/' \"$word\";; esac; done\n"
        f'exec {theirs.openflow} "$@"\n'
    )
    ours.openflow.chmod(0o755)
    return install
