"""VNFs behind the real switch: every topology forwards, and accounts for each frame."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable

import pytest
from real_runs import Place, fixture_calibrations, fixture_place, fixture_switch
from vpp_cases import vpp_words

from vsperf.records.files.view import CaseView, RunView
from vsperf.records.flags import Flag
from vsperf.records.run import Outcome
from vsperf.records.threads import GENERATOR, SWITCH
from vsperf.records.trial import Purpose, Trial

pytestmark = pytest.mark.machine
__all__ = ["fixture_calibrations", "fixture_place", "fixture_switch"]

LOAD = (
    "--set=traffic.frame_size=64",
    "--set=trial.warm_up=0s",
    "--set=trial.drain=1s",
    "--set=trial.offered_tolerance=5%",
    "--set=search={kind: fixed, loads: [2kfps], duration: 1s, loss_ratio: 20%}",
    "--set=latency=null",
)
"""A load that an emulated guest bears; what the busy machine of a test makes late is forgiven, and
what is on its way at the end is waited for."""
UNEXPLAINED = 10
"""Frames in a thousand: counters are read a moment before and after, and the machine is busy."""
LATE_S = 60.0


@pytest.fixture(name="guests", autouse=True)
def fixture_guests(require: Callable[[str], None]) -> None:
    require("guests")


def only(stored: RunView) -> tuple[Trial, ...]:
    (case,) = stored.cases()
    return measured(case)


def measured(case: CaseView) -> tuple[Trial, ...]:
    """Return the trials that the result of a case rests on."""
    assert case.record is not None
    assert case.record.outcome is Outcome.PASS, case.record.reason
    return tuple(one for one in case.trials if one.purpose is Purpose.SEARCH and one.valid)


def assert_accounted(trial: Trial, vnfs: int) -> None:
    """Frames pass both ways, every VNF sees them, and what is missing is where it says."""
    assert all(way.good_frames > 0 for way in trial.directions)
    assert not any(way.corrupted_frames or way.duplicate_frames for way in trial.directions)
    assert len(trial.vnfs) == vnfs
    for vnf in trial.vnfs:
        assert sum(nic.received_frames for nic in vnf.nics) > 0, vnf.name
    assert trial.unexplained_frames is not None
    assert abs(trial.unexplained_frames) * 1000 <= UNEXPLAINED * trial.sent_frames


@pytest.mark.parametrize(
    ("vnfs", "vnf"),
    [({"pvvp_tput": 2}, "qemu"), ({"pvp_tput": 1, "pvpv_tput": 2, "v2v_tput": 2}, "process")],
    ids=["qemu", "process"],
)
def test_frames_pass_through_vnfs(place: Place, vnfs: dict[str, int], vnf: str) -> None:
    ended = place("run", *vnfs, f"--vnf={vnf}", *LOAD)
    assert ended.code == 0, ended.err
    cases = {str(case.planned.spec["name"]): case for case in place.records().cases()}
    assert set(cases) == set(vnfs)
    for testcase, case in cases.items():
        trials = measured(case)
        names = {vnf.name for trial in trials for vnf in trial.vnfs}
        for trial in trials:
            assert_accounted(trial, vnfs[testcase])
            assert {thread.part for thread in trial.threads} == {SWITCH, GENERATOR, *names}
            assert all(thread.involuntary is not None for thread in trial.threads)
        assert case.record is not None
        emulated = vnf == "qemu" and "tcg" in str(case.record.conditions)
        assert (Flag.EMULATED in case.record.flags) == emulated


@pytest.mark.needs("vpp")
def test_frames_pass_a_guest_behind_vpp(place: Place) -> None:
    ended = place("run", "pvp_tput", "--vnf=qemu", *vpp_words(), *LOAD)
    assert ended.code == 0, ended.err
    for trial in only(place.records()):
        assert_accounted(trial, 1)


def test_a_guest_with_two_queues_forwards(place: Place) -> None:
    ended = place("run", "pvp_mq_tput", *LOAD)
    assert ended.code == 0, ended.err
    for trial in only(place.records()):
        assert_accounted(trial, 1)


@pytest.mark.parametrize("dispatch", ["udp"])
def test_vnfs_side_by_side_share_the_frames_equally(place: Place, dispatch: str) -> None:
    # As many as have room in the rings of a VNF that does not run for a while.
    settings = (f"--set=topology.dispatch={dispatch}", "--set=generator.in_flight=64")
    ended = place("run", "pvpv_tput", "--vnf=process", *settings, *LOAD)
    assert ended.code == 0, ended.err
    for trial in only(place.records()):
        first, second = (sum(nic.received_frames for nic in one.nics) for one in trial.vnfs)
        assert abs(first - second) <= 2 * UNEXPLAINED


def test_frames_go_back_out_of_a_single_nic(place: Place) -> None:
    topology = "--set=topology={name: pvp, nics: 1}"
    ended = place("run", "pvp_tput", "--vnf=process", topology, *LOAD)
    assert ended.code == 0, ended.err
    for trial in only(place.records()):
        assert_accounted(trial, 1)
        assert [len(vnf.nics) for vnf in trial.vnfs] == [1]


@pytest.mark.parametrize(("vnf", "event"), [("process", "kill-switch"), ("qemu", "restart-switch")])
def test_frames_come_back_when_the_switch_restarts(
    place: Place, switch: tuple[str, ...], vnf: str, event: str
) -> None:
    ended = place(
        "run",
        "pvp_vhost_reconnect",
        *switch,
        f"--vnf={vnf}",
        "--set=trial.warm_up=0s",
        "--set=trial.offered_tolerance=5%",
        "--set=search.duration=8s",
        "--set=search.repeats=1",
        f"--set=search.event={event}",
    )
    assert ended.code == 0, ended.err
    (trial,) = only(place.records())
    assert trial.event is not None and trial.event.name == event
    assert trial.outage_ns is not None
    assert trial.outage_ns < trial.duration_ns
    assert all(way.good_frames > way.intended_frames // 8 for way in trial.directions)


def test_frames_come_back_when_the_vnf_reboots(place: Place) -> None:
    ended = place(
        "run",
        "pvp_reset",
        "--vnf=process",
        "--set=traffic.frame_size=64",
        "--set=trial.warm_up=0s",
        "--set=trial.offered_tolerance=5%",
        "--set=trial.stretch_tolerance=10%",
        "--set=search.throughput=1kfps",
        "--set=search.events=[reboot-vnfs]",
        "--set=search.duration=8s",
        "--set=search.repeats=1",
    )
    assert ended.code == 0, ended.err
    (trial,) = only(place.records())
    (case,) = place.records().cases()
    assert case.record is not None and case.record.result is not None
    away = {figure.name: figure.value for figure in case.record.result.figures}["reboot_time"]
    assert trial.event is not None and trial.event.name == "reboot-vnfs"
    assert trial.event.began_ns < trial.event.ended_ns
    assert away is not None and 0 < away < trial.duration_ns
    assert trial.switch is not None and trial.vnfs == ()
    assert case.attempt == 1  # nothing died, and nothing was measured anew


@pytest.mark.parametrize(
    ("vnf", "number", "said"),
    [("process", signal.SIGKILL, "SIGKILL"), ("qemu", signal.SIGSTOP, "vm1 is stopped")],
)
def test_a_vnf_lost_in_mid_trial_is_named_and_the_case_measured_anew(
    place: Place, vnf: str, number: signal.Signals, said: str
) -> None:
    run = place.start("run", "pvp_tput", f"--vnf={vnf}", *LOAD)
    run.wait_for("TrialStarted", purpose="search")
    time.sleep(0.3)
    (name,) = {name for name in place.programs().values() if name.startswith("vm1")}
    place.signal(name, number)
    ended = run.end()
    assert ended.code == 0, ended.err
    (case,) = place.records().cases()
    (struck,) = [trial for trial in case.trials if Flag.VNF_ERROR in trial.flags]
    assert "vm1" in str(struck.error) and said in str(struck.error)
    assert case.record is not None
    assert any("measured anew" in warning for warning in case.record.warnings)


def test_parts_that_are_lost_while_a_guest_boots_are_named_and_not_waited_for(place: Place) -> None:
    run = place.start("run", "pvp_tput", "--vnf=qemu", "--set=vnf.boot_timeout=120s", *LOAD)
    run.wait_until(lambda: {"vm1", "tgen"} <= set(place.programs().values()))
    place.signal("ovs-vswitchd", signal.SIGKILL)
    run.wait_for("PhaseEntered", 2, phase="deploy")
    run.wait_until(lambda: {"vm1", "tgen"} <= set(place.programs().values()))
    place.signal("tgen", signal.SIGKILL)
    ended = run.end()
    assert ended.code == 4, ended.err
    assert ended.took_s < LATE_S
    (case,) = place.records().cases()
    assert case.record is not None
    assert "tgen" in case.record.reason
    assert "was killed by SIGKILL" in case.record.reason, "whichever step noticed it"


def test_a_guest_that_never_gets_ready_is_shown_with_its_console(place: Place) -> None:
    ended = place(
        "run",
        "pvp_tput",
        "--set=vnf.boot_timeout=12s",
        "--set=vnf.append=rdinit=/bin/nothing",
        *LOAD,
    )
    assert ended.code == 4
    assert "pvp_tput-64B: vm1 " in ended.out
    assert "console" in ended.out
    assert ended.took_s < LATE_S


@pytest.mark.parametrize("setting", ["vnf.image", "vnf.kernel"])
def test_a_wrong_image_is_refused_before_anything_starts(place: Place, setting: str) -> None:
    wrong = place.folder / "notes.txt"
    wrong.write_text("no image, and no kernel\n")
    ended = place("run", "pvp_tput", f"--set={setting}={wrong}", *LOAD)
    assert ended.code in (2, 3)
    assert str(wrong) in ended.said
    assert not place.results.exists()
