"""Frames that the real OVS modifies, drops, or is sent from a file."""

from __future__ import annotations

import hashlib
import re
import shutil
from pathlib import Path
from typing import Any

import pytest
from conftest import Require
from loopbacks import PATIENTLY
from ovs_cases import deployed, ovs_case
from ovs_traffic import WAYS, generator
from places import PLACEMENT, hugepages
from real_runs import FIXED, Place, fixture_calibrations, fixture_place
from scapy.layers.inet import IP, TCP, UDP
from scapy.layers.l2 import ARP, Ether
from scapy.packet import Raw
from scapy.utils import wrpcap

from vsperf.config.flows import link_mac
from vsperf.drivers.generators.tgen.look import frames_in, read
from vsperf.drivers.generators.tgen.traffic import streams
from vsperf.drivers.vswitches.ovs.bringup import command
from vsperf.drivers.vswitches.ovs.dpdk.driver import OvsDpdk
from vsperf.drivers.vswitches.ovs.parse import Matched
from vsperf.drivers.vswitches.ovs.programs import planned_programs
from vsperf.errors import ComponentError, ExitCode
from vsperf.records.files.view import CaseView
from vsperf.records.flags import Flag
from vsperf.records.result import Standard
from vsperf.records.trial import Purpose, Trial, intended_frames

pytestmark = pytest.mark.machine
__all__ = ["fixture_calibrations", "fixture_place"]


# The modifiers of RFC 2544, section 11, on the real OVS: counts, and frames as they arrived.

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
    cases = {str(case.planned.spec["name"]): case for case in place.records().cases()}
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


def filters_of(case: CaseView) -> object:
    assert case.record is not None and case.record.conditions is not None
    return case.record.conditions.switch.get("filters")


# Runs whose switch modifies frames: the record proves it, and a switch that forgets is noticed.

MODIFIED = (*FIXED, "--set=vswitch.modify.dscp=46", "--set=vswitch.modify.push_vlan=100")


def test_a_run_records_the_headers_that_prove_it(place: Place) -> None:
    ended = place(*MODIFIED)
    assert ended.code == 0, ended.said
    (case,) = place.records().cases()
    checks, others = parted(case)
    for way in checks[-1].directions:
        assert way.first_headers
        for headers in way.first_headers:
            assert (headers.vlans, headers.dscp, headers.ttl) == ((100,), 46, 64)
    assert all(not way.first_headers for trial in others for way in trial.directions)


def parted(case: CaseView) -> tuple[list[Trial], list[Trial]]:
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
    (case,) = place.records().cases()
    assert case.record is not None
    reason = case.record.reason or ""
    assert "the switch did not modify the frames as vswitch.modify asks" in reason
    assert "vlans is absent and not 100" in reason
    assert "dscp is 0 and not 46" in reason
    assert {trial.purpose for trial in case.trials} == {Purpose.PATH_CHECK}
    assert case.record.result is None


SHORT_MODIFY = (
    *(word for word in FIXED if word.startswith("--set")),
    "--set=search.loads=[100kfps]",
)
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
    "vnf": (
        ("pvp_tput_mod_vlan", "pvp_ipv6_tput"),
        (SIZE, "--vnf=process", "--set=search.loads=[5kfps]"),
    ),
    "mix for a VNF": (("pvp_imix",), ("--vnf=process", "--set=search.loads=[5kfps]")),
}


@pytest.mark.parametrize("which", TOGETHER)
@pytest.mark.needs("dpdk-testpmd")
def test_each_testcase_gets_its_frames_through_of_modify(which: str, place: Place) -> None:
    """Briefly, and with loads that any machine can bear: every path check passes."""
    names, settings = TOGETHER[which]
    ended = place("run", *names, *SHORT_MODIFY, *settings)
    assert ended.code == 0, ended.said + ended.out
    cases = place.records().cases()
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
    (case,) = place.records().cases()
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
    (case,) = place.records().cases()
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


# A capture file as the traffic of a testcase, through the real OVS-DPDK.

BURST = 10
GAP_NS = 1_000_000
ROUNDS = 20
FRAMES_REPLAY = BURST * ROUNDS
UNMARKED = 2 * ROUNDS
"""In each burst an ARP request, and a TCP segment without data."""
SPAN_NS = (ROUNDS - 1) * GAP_NS
PERIOD_NS = SPAN_NS + SPAN_NS // (FRAMES_REPLAY - 1)
OWN_FPS = FRAMES_REPLAY * 1_000_000_000 // PERIOD_NS
TRIAL_NS = 400_000_000
MEASURED = (ExitCode.OK, ExitCode.CRITERION_MISSED, ExitCode.INVALID_RESULT)


@pytest.fixture(name="file")
def fixture_file(tmp_path: Path) -> Path:
    """Bursts of ten frames, a millisecond from one to the next."""
    ethernet = Ether(src="02:00:00:00:00:05", dst="02:00:00:00:00:06")
    ip = IP(src="10.0.0.1", dst="10.0.0.2")
    burst = [
        ethernet / ARP(psrc="10.0.0.1", pdst="10.0.0.2"),
        ethernet / ip / TCP(sport=1, dport=2, flags="A"),
        *(
            ethernet / ip / UDP(sport=1000 + i, dport=7) / Raw(b"x" * (50 * i + 18))
            for i in range(8)
        ),
    ]
    frames = []
    for number in range(ROUNDS):
        for frame in burst:
            copy = Ether(bytes(frame))
            copy.time = 1000 + number * GAP_NS / 1e9
            frames.append(copy)
    path = tmp_path / "file.pcap"
    wrpcap(str(path), frames)
    return path


def due_in_a_trial() -> int:
    """Return how many frames there are in whole rounds of the file, and in the one that is cut."""
    rounds, rest_ns = divmod(TRIAL_NS, PERIOD_NS)
    return rounds * FRAMES_REPLAY + min(ROUNDS, -(-rest_ns // GAP_NS)) * BURST


def unmarked(sent: int) -> int:
    """Return how many frames without a mark are among those sent: the first two of each burst."""
    return sent // BURST * 2 + min(2, sent % BURST)


def test_a_file_is_sent_by_its_own_times(place: Place, file: Path) -> None:
    ended = place(
        *FIXED,
        f"--set=traffic.replay.file={file}",
        "--set=traffic.replay.rhythm=file",
        f"--set=search.loads=[{OWN_FPS}fps]",
    )
    assert ended.code in MEASURED, ended.err
    (case,) = place.records().cases()
    trial = next(trial for trial in case.trials if trial.purpose is Purpose.SEARCH)
    assert Flag.UNCHECKED in trial.flags
    for way in trial.directions:
        assert way.intended_frames == due_in_a_trial()
        assert way.unmarked_frames == unmarked(way.sent_frames)
        assert way.foreign_frames is None
    assert case.record is not None
    assert case.record.conditions is not None
    facts: Any = case.record.conditions.generator["replay"]
    assert facts["sha256"] == hashlib.sha256(file.read_bytes()).hexdigest()
    assert (facts["frames"], facts["unmarked"]) == (FRAMES_REPLAY, UNMARKED)


def test_a_throughput_search_sends_a_file_at_its_loads(place: Place, file: Path) -> None:
    ended = place(
        "run",
        "phy2phy_smoke",
        "--set=trial.warm_up=0s",
        "--set=search.width=25%",
        "--set=search.max_load=200kfps",
        "--set=latency=null",
        f"--set=traffic.replay.file={file}",
    )
    assert ended.code in MEASURED, ended.err
    (case,) = place.records().cases()
    loads = {trial.load_fps for trial in case.trials if trial.purpose is Purpose.SEARCH}
    assert loads
    for trial in case.trials:
        for way in trial.directions:
            assert way.intended_frames == intended_frames(trial.load_fps, trial.duration_ns)
            assert way.unmarked_frames == unmarked(way.sent_frames)
            assert way.good_frames <= way.sent_frames


def test_a_file_that_cannot_be_replayed_is_named(place: Place, tmp_path: Path) -> None:
    broken = tmp_path / "broken.pcap"
    broken.write_bytes(b"no capture at all, by no means")
    ended = place(*FIXED, f"--set=traffic.replay.file={broken}")
    assert ended.code != 0
    assert f"{broken}: neither a pcap nor a pcapng file" in ended.err
