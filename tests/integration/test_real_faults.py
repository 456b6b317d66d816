"""Faults of the real thing: programs killed or hung in mid-trial, vsperf killed at every stage.

Whatever dies: the record says what it was, nothing goes on sending, and the machine is given back.
"""

from __future__ import annotations

import signal
import time
from collections.abc import Callable
from dataclasses import dataclass

import pytest
from attacks.announced import assert_recorded
from real_runs import FIXED, PATIENCE_S, Place, Run, fixture_calibrations, fixture_place, wait_until
from vpp_cases import vpp_words

from vsperf.drivers.generators.tgen.process import LINKS_S
from vsperf.drivers.vswitches.linux_bridge.netlink import Netlink
from vsperf.host.netns import FOLDER as NETWORKS
from vsperf.records.flags import Flag
from vsperf.records.run import Outcome
from vsperf.records.trial import Purpose

pytestmark = pytest.mark.machine
__all__ = ["fixture_calibrations", "fixture_place"]

FLAGS = {
    "tgen": Flag.GENERATOR_ERROR,
    "ovs-vswitchd": Flag.SWITCH_ERROR,
    "ovsdb-server": Flag.SWITCH_ERROR,
}
PARTS = {"testpmd": "dpdk-testpmd", "linux-bridge": "bridges", "vpp": "vpp"}
"""Switches other than OVS, and what a test of them requires."""
IN_MID_TRIAL_S = 0.15
STRIKABLE = (*FIXED, "--set=search.duration=2s", "--set=search.loads=[100kfps]")
"""A trial so long that whoever strikes in the middle of it may be late, and by several stalls."""
SLOWLY = "--set=search.loads=[20kfps]"
"""A load that the kernel bears, too."""
SOON_S = 15.0
"""Five seconds, on a machine that is not busy with something else."""
SEARCHING = (("purpose", "search"),)
"""Of a trial; those before check the path, once or, on a restless machine, more often."""


@dataclass(frozen=True)
class Stage:
    """A moment in a run."""

    name: str
    kind: str
    values: tuple[tuple[str, object], ...] = ()
    number: int = 1
    later_s: float = 0.0
    program: str | None = None
    """Waited for, too."""
    more: tuple[str, ...] = ()
    """Arguments without which the moment would not come."""
    connected: bool = True
    """Whether vsperf speaks to its generator, if one runs; until then, that waits and is silent."""
    speaks: bool = False
    """Whether to wait until it does."""
    resumed: bool = False
    """Whether the run that was killed then is also brought to its end, which takes seconds."""

    def reach(self, run: Run, place: Place) -> None:
        run.wait_for(self.kind, self.number, **dict(self.values))
        if self.program is not None:
            run.wait_until(lambda: self.program in place.programs().values())
        if self.speaks:
            run.wait_until(place.speaks_to_generator)
        time.sleep(self.later_s)

    def __str__(self) -> str:
        return self.name


def phase(name: str) -> tuple[tuple[str, object], ...]:
    return (("phase", name),)


STAGES = (
    Stage("stalls", "PhaseEntered", phase("calibrate"), program="tgen", connected=False),
    Stage(
        "calibrate",
        "PhaseEntered",
        phase("calibrate"),
        program="mirror",
        speaks=True,
        more=("--recalibrate",),
    ),
    Stage("database", "PhaseEntered", phase("deploy"), program="ovsdb-server"),
    Stage("switch", "PhaseEntered", phase("deploy"), program="ovs-vswitchd"),
    Stage("generator", "PhaseEntered", phase("deploy"), program="tgen", connected=False),
    Stage("check", "PhaseEntered", phase("check the path")),
    Stage(
        "trial",
        "TrialStarted",
        SEARCHING,
        later_s=IN_MID_TRIAL_S,
        more=("--set=search.duration=6s", "--set=search.loads=[100kfps]"),
        resumed=True,
    ),
    Stage("tear-down", "PhaseEntered", phase("tear down")),
)
BEGIN = Stage("begin", "RunStarted", connected=False)
KILLED = (BEGIN, *(stage for stage in STAGES if stage.name in ("calibrate", "switch", "trial")))
SIGNALLED = tuple(stage for stage in STAGES if stage not in KILLED)
"""Each stage is struck once here, in one way; the soak strikes at any moment, in all of them."""


def in_mid_trial(run: Run, number: int = 1) -> None:
    run.wait_for("TrialStarted", number, **dict(SEARCHING))
    time.sleep(IN_MID_TRIAL_S)


SAID = {signal.SIGKILL: "was killed by SIGKILL", signal.SIGSTOP: "is stopped"}


def struck_in_mid_trial(
    place: Place, name: str, flag: Flag, *settings: str, number: signal.Signals = signal.SIGKILL
) -> None:
    """See that a run which loses a program is told so, and measures the case anew."""
    run = place.start(*STRIKABLE, *settings)
    in_mid_trial(run)
    place.signal(name, number)
    ended = run.end()
    assert ended.code == 0, ended.err
    (case,) = place.records().cases()
    assert case.record is not None
    assert case.record.outcome is Outcome.PASS
    (again,) = (text for text in case.record.warnings if text.startswith("measured anew"))
    assert f"{name} {SAID[number]}" in again
    (failed,) = (trial for trial in case.trials if flag in trial.flags)
    assert failed.purpose is Purpose.SEARCH
    assert not failed.valid
    assert f"{name} {SAID[number]}" in (failed.error or "")
    assert ended.phases.count("deploy") == 2
    assert len(case.trials) >= 2 + 2, "all is measured anew; a restless machine may cost repeats"


@pytest.mark.parametrize(
    "name",
    [
        pytest.param("ovs-vswitchd", marks=pytest.mark.everyday),
        *(name for name in FLAGS if name != "ovs-vswitchd"),
    ],
)
def test_when_a_part_is_killed_in_mid_trial_the_case_is_measured_anew(
    name: str, place: Place
) -> None:
    struck_in_mid_trial(place, name, FLAGS[name])


@pytest.mark.parametrize("number", SAID, ids=SAID.values())
@pytest.mark.needs("dpdk-testpmd")
def test_when_testpmd_is_the_switch_and_is_struck_the_case_is_measured_anew(
    number: signal.Signals, place: Place
) -> None:
    struck_in_mid_trial(place, "testpmd", Flag.SWITCH_ERROR, "--vswitch=testpmd", number=number)


@pytest.mark.parametrize("number", SAID, ids=SAID.values())
@pytest.mark.needs("vpp")
def test_when_vpp_is_struck_the_case_is_measured_anew(number: signal.Signals, place: Place) -> None:
    struck_in_mid_trial(place, "vpp", Flag.SWITCH_ERROR, *vpp_words(), number=number)


@pytest.mark.needs("bridges")
def test_when_the_kernels_bridge_is_removed_the_case_is_measured_anew(place: Place) -> None:
    run = place.start(*STRIKABLE, "--vswitch=linux-bridge", SLOWLY)
    in_mid_trial(run)
    (folder,) = (path.parent for path in place.runtime.glob("vsperf-*/owner.json"))
    with Netlink.connected(folder.name) as netlink:
        netlink.remove("br0")
    ended = run.end()
    assert ended.code == 0, ended.err
    (case,) = place.records().cases()
    assert case.record is not None
    (again,) = (text for text in case.record.warnings if text.startswith("measured anew"))
    assert "the bridge br0 is gone" in again
    assert any(Flag.SWITCH_ERROR in trial.flags for trial in case.trials)
    assert ended.phases.count("deploy") == 2


def test_what_a_mirror_let_through_that_was_killed_is_no_cap(place: Place) -> None:
    run = place.start(*FIXED, "--recalibrate")
    run.wait_for("PhaseEntered", phase="calibrate")
    run.wait_until(lambda: "mirror" in place.programs().values())
    run.wait_until(place.speaks_to_generator)
    place.signal("mirror", signal.SIGKILL)
    ended = run.end()
    assert ended.code == 0, ended.err
    (case,) = place.records().cases()
    assert case.record is not None
    (again,) = (text for text in case.record.warnings if text.startswith("measured anew"))
    assert "mirror was killed by SIGKILL" in again


def test_a_switch_that_is_killed_while_the_generator_starts_is_named_and_started_anew(
    place: Place,
) -> None:
    run = place.start(*FIXED)
    run.wait_for("PhaseEntered", phase="deploy")
    run.wait_until(lambda: "tgen" in place.programs().values())
    place.signal("tgen", signal.SIGSTOP)  # before it has opened its ports
    place.signal("ovs-vswitchd", signal.SIGKILL)
    killed = time.monotonic()
    run.wait_for("PhaseEntered", 2, phase="deploy")
    assert time.monotonic() - killed < LINKS_S, "it waited for a generator that cannot get ready"
    ended = run.end()
    assert ended.code == 0, ended.err
    (case,) = place.records().cases()
    assert case.record is not None
    (again,) = (text for text in case.record.warnings if text.startswith("measured anew"))
    assert "ovs-vswitchd was lost while tgen started" in again
    assert "ovs-vswitchd was killed by SIGKILL" in again


def test_parts_that_hang_are_noticed_and_the_second_time_the_case_ends_with_the_cause(
    place: Place,
) -> None:
    run = place.start(*STRIKABLE)
    in_mid_trial(run)
    place.signal("tgen", signal.SIGSTOP)
    in_mid_trial(run, number=2)
    place.signal("ovs-vswitchd", signal.SIGSTOP)
    ended = run.end()
    assert ended.code == 4, ended.err
    (case,) = place.records().cases()
    assert case.record is not None
    assert case.record.outcome is Outcome.ERROR
    assert "ovs-vswitchd is stopped" in case.record.reason
    assert ended.took_s < 60
    errors = [trial.error for trial in case.trials if trial.error is not None]
    assert len(errors) == 2
    assert "tgen did not answer `trial`" in errors[0]
    assert "ovs-vswitchd is stopped" in errors[1]


def test_a_case_whose_switch_is_killed_twice_is_given_up_with_the_cause(place: Place) -> None:
    run = place.start(*STRIKABLE)
    in_mid_trial(run)
    place.signal("ovs-vswitchd", signal.SIGKILL)
    in_mid_trial(run, number=2)
    place.signal("ovs-vswitchd", signal.SIGKILL)
    ended = run.end()
    assert ended.code == 4, ended.err
    stored = place.records()
    (case,) = stored.cases()
    assert case.record is not None
    assert case.record.outcome is Outcome.ERROR
    assert f"the switch failed during trial {case.trials[-1].index}" in case.record.reason
    assert "ovs-vswitchd was killed by SIGKILL" in case.record.reason
    failed = [trial.purpose for trial in case.trials if Flag.SWITCH_ERROR in trial.flags]
    assert failed == [Purpose.SEARCH] * 2
    assert len(ended.of("TrialFinished")) == len(case.trials) >= 4
    assert_recorded(ended.of("TrialFinished"), stored)
    assert (stored.end and stored.end.exit_code) == 4
    assert ended.phases.count("deploy") == 2


@pytest.mark.parametrize(
    "stage",
    [
        pytest.param(
            stage,
            id=stage.name,
            marks=pytest.mark.everyday("a kill amid a real trial, its clean-up, and the resume")
            if stage.resumed
            else (),
        )
        for stage in KILLED
    ],
)
def test_a_vsperf_that_is_killed_sends_no_more_and_can_be_cleaned_up_and_resumed(
    stage: Stage, place: Place
) -> None:
    run = place.start(*FIXED, *stage.more)
    stage.reach(run, place)
    run.process.kill()
    if stage.connected:  # that tgen does not send to the end of a trial is a test of its own
        assert wait_until(lambda: "tgen" not in place.programs().values(), PATIENCE_S)
    said = run.end().of("TrialFinished")
    assert_recorded(said, place.records())
    cleaned = place("clean")
    assert (cleaned.code, place.traces()) == (0, [])
    if not stage.resumed:
        return
    resumed = place("run", "--resume=latest")
    assert resumed.code == 0, resumed.err
    stored = place.records()
    assert_recorded(said, stored)
    assert stored.end is not None


@pytest.mark.parametrize("stage", ("deploy", "trial", "tear down"))
@pytest.mark.parametrize("kind", PARTS)
def test_what_other_switches_leave_when_vsperf_is_killed_is_cleaned_up(
    kind: str, stage: str, place: Place, require: Callable[[str], None]
) -> None:
    require(PARTS[kind])
    words = vpp_words() if kind == "vpp" else (f"--vswitch={kind}",)
    if stage == "trial":
        run = place.start(*STRIKABLE, *words, SLOWLY)
        in_mid_trial(run)
    else:
        run = place.start(*FIXED, *words, SLOWLY)
        run.wait_for("PhaseEntered", phase=stage)
    if stage == "deploy":
        run.wait_until(lambda: switch_began(kind, place))
    assert place.traces()
    run.process.kill()
    if stage != "deploy":  # by then vsperf speaks to its generator
        assert wait_until(lambda: "tgen" not in place.programs().values(), PATIENCE_S)
    assert_recorded(run.end().of("TrialFinished"), place.records())
    cleaned = place("clean")
    assert (cleaned.code, place.traces()) == (0, [])


def switch_began(kind: str, place: Place) -> bool:
    """Whether there is a first piece of the switch: its program, or the network it lives in."""
    if kind == "linux-bridge":
        deployed = (path.parent.name for path in place.runtime.glob("vsperf-*/owner.json"))
        return any((NETWORKS / name).exists() for name in deployed)
    return kind in place.programs().values()


@pytest.mark.parametrize(
    ("stage", "number"),
    [
        (stage, signal.SIGTERM if number % 2 else signal.SIGINT)
        for number, stage in enumerate(SIGNALLED)
    ],
    ids=str,
)
def test_a_signal_ends_a_run_soon_and_leaves_nothing(
    stage: Stage, number: signal.Signals, place: Place
) -> None:
    run = place.start(*FIXED, *stage.more)
    stage.reach(run, place)
    run.send(number)
    ended = run.end()
    assert (ended.code, place.traces()) == (128 + number, []), ended.err
    assert ended.took_s < SOON_S
    stored = place.records()
    assert_recorded(ended.of("TrialFinished"), stored)
    (case,) = stored.cases()
    assert case.record is not None
    if stage.name == "tear-down":  # all is measured, and what is being undone is undone to its end
        assert case.record.outcome in {Outcome.ABORTED, Outcome.PASS}
    else:
        assert case.record.outcome is Outcome.ABORTED
