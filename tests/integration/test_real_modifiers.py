"""The modifiers of RFC 2544, section 11, on the real OVS: counts, and frames as they arrived.

As a bridge the switch hands on frames for everybody apart from others, so their order is nobody's
business, and no speed is.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from conftest import Require
from loopbacks import PATIENTLY
from ovs_cases import deployed, ovs_case
from ovs_traffic import WAYS, generator
from places import PLACEMENT, hugepages
from real_runs import FIXED, Place, fixture_calibrations, fixture_place

from vsperf.errors import ComponentError
from vsperf.record.result import Standard
from vsperf.record.trial import Trial
from vsperf.spec.flows import link_mac
from vsperf.store.reader import StoredCase
from vsperf.trafficgens.tgen.headers import frames_in, read
from vsperf.trafficgens.tgen.traffic import streams
from vsperf.vswitches.ovs.command import command
from vsperf.vswitches.ovs.dpdk.driver import OvsDpdk
from vsperf.vswitches.ovs.parse import Matched

pytestmark = pytest.mark.machine
__all__ = ["fixture_calibrations", "fixture_place"]

FRAMES = 1000
SLOWLY = {"rate_fps": 2000, **PATIENTLY}
EVERYBODY = "ff:ff:ff:ff:ff:ff"
IN_FLIGHT = 256
"""Frames on their way, so that a ring has room for all of them, whatever else the machine does."""
SHORT = (
    *(word for word in FIXED if word.startswith("--set")),
    "--set=search.loads=[20kfps]",
    "--set=traffic.frame_size=64",
    f"--set=generator.in_flight={IN_FLIGHT}",
    "--set=trial.drain=500ms",
    "--set=trial.retries=5",
    "--set=trial.stretch_tolerance=20%",
)


@pytest.mark.parametrize("flows", ["port", "learn"])
def test_a_captured_frame_in_100_is_for_everybody(
    flows: str, tmp_path: Path, require: Require
) -> None:
    for thing in ("ovs-dpdk", "hugepages", "tgen"):
        require(thing)
    case = ovs_case({"flows": flows}, traffic={"frame_size": "64B", "broadcasts": "1%"})
    endpoints = OvsDpdk().plan(case, PLACEMENT).endpoints
    with (
        hugepages(),
        deployed(case) as (running, place),
        generator(endpoints, running, place) as tgen,
    ):
        tgen.ask("configure", streams=streams(case.traffic, WAYS))
        files = {way.receive: tmp_path / f"{way.receive}.pcap" for way in WAYS}
        for port, file in files.items():
            tgen.ask("capture", port=port, path=str(file), frames=2 * FRAMES)
        asked = {"frames": FRAMES, "check_fill": True, "in_flight": IN_FLIGHT, **SLOWLY}
        found = tgen.ask("trial", 60, **asked)["streams"]
        growth = running.counters()
    for way, counted in zip(WAYS, found, strict=True):
        assert [counted[name] for name in ("sent", "distinct", "corrupted", "misrouted")] == [
            *(FRAMES, FRAMES, 0, 0)
        ]
        frames = [read(frame) for frame in frames_in(files[way.receive].read_bytes())]
        arrived = [
            one.headers.destination_mac
            for one in frames
            if one is not None and one.headers.source_mac == link_mac(way.transmit)
        ]
        assert arrived.count(EVERYBODY) == FRAMES // 100
        assert arrived.count(link_mac(way.receive)) == FRAMES - FRAMES // 100
    assert [port.sent_frames for port in growth.ports] == [FRAMES, FRAMES]
    assert growth.dropped_frames == 0


def test_filters_drop_what_they_forbid_and_nothing_else(require: Require) -> None:
    for thing in ("ovs-dpdk", "hugepages", "tgen"):
        require(thing)
    case = ovs_case({"flows": "l3", "filters": 24})
    endpoints = OvsDpdk().plan(case, PLACEMENT).endpoints
    forbidden = {"source_ip": "198.51.100.24", "destination_ip": "203.0.113.24"}
    asked = {"frames": FRAMES, **SLOWLY}
    with (
        hugepages(),
        deployed(case) as (running, place),
        generator(endpoints, running, place) as tgen,
    ):
        tgen.ask("configure", streams=streams(case.traffic, WAYS))
        found = tgen.ask("trial", 60, in_flight=IN_FLIGHT, **asked)["streams"]
        assert [counted["distinct"] for counted in found] == [FRAMES, FRAMES]
        assert running.facts()["filters"] == {"rules": 24, "frames": 0}
        *argv, bridge = running.access()[1].split()
        environment = {"OVS_RUNDIR": str(running.folder)}
        rules = command("ovs-ofctl", [*argv, bridge, "cookie=0xf117e5/-1"], environment, 10)
        assert re.findall(r"n_packets=(\d+)", rules) == ["0"] * 24

        one = streams(case.traffic, WAYS)[0]
        tgen.ask("configure", streams=[one | forbidden])
        (counted,) = tgen.ask("trial", 60, **asked)["streams"]
        assert (counted["sent"], counted["received"]) == (FRAMES, 0)
        running.forget_flows()  # which adds up what flows have counted
        assert running.read_filters() == Matched(24, FRAMES)
        with pytest.raises(ComponentError, match="1000 frames met a rule of vswitch"):
            running.counters()


def test_each_testcase_gets_its_frames_through(place: Place) -> None:
    names = ("phy2phy_tput_broadcasts", "phy2phy_tput_filter", "phy2phy_tput_filters")
    ended = place("run", *names, *SHORT)
    assert ended.code == 0, ended.said + ended.out
    cases = {str(case.planned.spec["name"]): case for case in place.records().cases}
    assert set(cases) == set(names)
    for case in cases.values():
        assert sum(trial.received_frames for trial in case.trials) > 0
        for trial in case.trials:
            assert_no_rule_dropped(trial)
    assert filters_of(cases["phy2phy_tput_filter"]) == {"rules": 1, "frames": 0}
    assert filters_of(cases["phy2phy_tput_filters"]) == {"rules": 24, "frames": 0}
    assert filters_of(cases["phy2phy_tput_broadcasts"]) is None
    for case, words in zip(
        (cases[name] for name in names), ("1% of the frames", "1 filter", "24 filters"), strict=True
    ):
        assert case.record is not None
        (found,) = [one for one in case.record.compliance if one.standard is Standard.RFC2544]
        assert [text for text in found.deviations if text.startswith(f"with a modifier: {words}")]


def assert_no_rule_dropped(trial: Trial) -> None:
    """See that whatever is not back was lost elsewhere: a busy machine may be late with frames."""
    assert trial.switch is not None
    assert not [name for name in trial.switch.drops if name.startswith("drop_action")]
    given = sum(port.sent_frames for port in trial.switch.ports)
    assert sum(way.good_frames for way in trial.directions) <= given


def filters_of(case: StoredCase) -> object:
    assert case.record is not None and case.record.surroundings is not None
    return case.record.surroundings.switch.get("filters")
