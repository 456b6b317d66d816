"""Collectors beside real runs: what they see, and that nothing is left whatever happens to them."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest
from real_runs import FIXED, Place, fixture_calibrations, fixture_place

from vsperf.analysis.collected import Digest, digest
from vsperf.errors import ExitCode
from vsperf.records.files.series import StoredSeries, series_of
from vsperf.records.trial import Purpose

pytestmark = pytest.mark.machine
__all__ = ["fixture_calibrations", "fixture_place"]

PATIENT = (
    "--set=trial.stretch_tolerance=100%",
    "--set=trial.offered_tolerance=100%",
    "--set=search.loss_ratio=100%",
)
"""Trials that stay valid whatever else runs on the machine."""
LONGER = (*FIXED, *PATIENT, "--set=search.loads=[100kfps]", "--set=search.repeats=2",
          "--set=search.duration=1s")  # fmt: skip


def series(place: Place) -> dict[str, StoredSeries]:
    stored = place.records()
    (case,) = stored.cases()
    return {one.header.collector: one for one in series_of(stored.folder, case.planned.key, 1)}


def measured(place: Place) -> set[int]:
    """Return the trials that collectors look at, one that was repeated and its repeat too."""
    (case,) = place.records().cases()
    return {one.index for one in case.trials if one.purpose is not Purpose.PATH_CHECK}


def seen(one: StoredSeries) -> Digest:
    return digest(one.header, one.samples())


def warnings(place: Place) -> str:
    (case,) = place.records().cases()
    assert case.record is not None
    return "\n".join(case.record.warnings)


@pytest.mark.everyday("what collectors see, by the real switch and the real kernel")
def test_every_trial_has_what_the_kernel_and_the_switch_counted_around_it(place: Place) -> None:
    # A frame that is still on its way at the end is one that the switch has not counted yet.
    metrics = '--set=vswitch.other_config.pmd-perf-metrics="true"'
    words = ("--set=trial.drain=500ms", "--set=collect=proc+ovs+network", metrics)
    ended = place(*FIXED, *PATIENT, *words)
    assert ended.code == 0, ended.err
    (case,) = place.records().cases()
    trials = measured(place)
    found = {name: seen(one) for name, one in series(place).items()}
    assert set(found) == {"proc", "ovs", "network"}
    for one in found.values():
        assert {trial for trial, _, _ in one.courses} == trials
    (last,) = (one for one in case.trials if one.index == max(trials))
    polled = [of for of in found["proc"].of_trial(last.index) if of.startswith("switch: pmd")]
    assert len(polled) == 1
    running = found["proc"].value(last.index, polled[0], "running_ns")
    assert running is not None and running > 0
    told = [of for of in found["ovs"].of_trial(last.index) if of.startswith("pmd ")]
    (pmd,) = [of for of in told if ":" not in of]
    taken = found["ovs"].value(last.index, pmd, "received_frames")
    assert taken is not None and taken >= last.sent_frames > 0
    histogram = found["ovs"].of_trial(last.index)[f"{pmd}: packets/it"]
    busy = [course.value or 0 for name, course in histogram.items() if name != "bin_0"]
    assert 0 < sum(busy) <= taken, "an iteration with frames has one at least"
    assert (found["ovs"].value(last.index, f"{pmd}: last second", "milliseconds") or 0) > 0
    shown = place("show", "latest", "64B", "--all").out
    for name in found:
        assert f"what {name} saw, over all trials" in shown
    assert polled[0] in shown
    assert warnings(place) == "" or "collector" not in warnings(place)


def test_a_collector_that_is_killed_is_a_warning_and_the_case_goes_on(place: Place) -> None:
    run = place.start(*LONGER, "--set=collect=proc+ovs")
    run.wait_for("TrialStarted", purpose=Purpose.SEARCH)
    place.signal("collect-proc", signal.SIGKILL)
    ended = run.end()
    assert ended.code == 0, ended.err
    assert "the collector proc was lost at trial" in warnings(place)
    assert "collect-proc was killed by SIGKILL" in warnings(place)
    (case,) = place.records().cases()
    made = [one for one in case.trials if one.purpose is Purpose.SEARCH]
    assert sum(one.valid for one in made) == 2
    found = series(place)
    assert len(list(found["proc"].notes())) == 1
    assert {one.trial for one in found["ovs"].samples()} >= {one.index for one in made}


def test_nothing_of_a_collector_outlives_a_run_that_is_killed(place: Place) -> None:
    run = place.start(*LONGER, "--set=collect=proc")
    run.wait_for("TrialFinished", purpose=Purpose.SEARCH)  # so that there is something to keep
    run.send(signal.SIGKILL)
    run.process.wait()
    assert place("clean").code == 0
    assert place.traces() == []
    assert list(series(place)["proc"].samples()), "what was seen is kept"


def test_a_program_that_is_missing_is_said_before_anything_is_started(place: Place) -> None:
    words = "--set=collect={mine: {kind: command, argv: [pcm-of-nobody]}}"
    ended = place(*FIXED, words)
    assert ended.code == ExitCode.NOT_READY
    assert "the program of a collector is missing: pcm-of-nobody" in ended.said
    assert not place.results.exists()


def test_what_a_program_of_the_user_writes_belongs_to_trials(place: Place, tmp_path: Path) -> None:
    program = tmp_path / "says"
    program.write_text("#!/bin/sh\nwhile sleep 0.1; do echo '{\"ticks\": 7}'; done\n")
    program.chmod(0o755)
    words = f"--set=collect={{mine: {{kind: command, argv: ['{program}'], units: {{ticks: t}}}}}}"
    assert place(*LONGER, words).code == 0
    found = list(series(place)["mine"].samples())
    assert {one.values["ticks"] for one in found} == {7}
    assert {one.trial for one in found} == measured(place)


@pytest.mark.needs("perf")
def test_heavy_ones_have_trials_of_their_own_that_no_result_rests_on(place: Place) -> None:
    words = "--set=collect={perf: {duration: 1s, trials: 2}, switch-trace: {duration: 1s}}"
    ended = place(*FIXED, *PATIENT, words)
    assert ended.code == 0, ended.err
    (case,) = place.records().cases()
    assert all(one.reference is None for one in case.trials)
    found = series(place)
    for name, count in (("perf", 2), ("switch-trace", 1)):
        own = [one.trial for one in found[name].own_trials()]
        assert [one.index for one in own] == list(range(1, count + 1))
        assert {(one.reference, one.load_fps) for one in own} == {(f"for {name}", 200_000)}
    for number in (1, 2):
        switched = seen(found["perf"]).value(number, "switch", "task_ns")
        assert switched is not None and switched > 0
    drawn = {one.name for one in found["switch-trace"].beside}
    assert {"switch-trace.switch.svg", "switch-trace.switch.folded"} <= drawn
