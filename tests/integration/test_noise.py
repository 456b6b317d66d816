"""Noise beside real runs: what each trial says of it, and what a trial is worth when it is lost."""

from __future__ import annotations

import re
import signal
from collections.abc import Callable
from pathlib import Path

import pytest
from real_runs import FIXED, Place, fixture_calibrations, fixture_place

from vsperf.errors import ExitCode
from vsperf.records.asked import part_of
from vsperf.records.flags import Flag
from vsperf.records.run import Outcome
from vsperf.records.trial import Purpose, Trial

pytestmark = [pytest.mark.machine, pytest.mark.needs("memory-load")]
__all__ = ["fixture_calibrations", "fixture_place"]

SOFTLY = (
    "--set=noise={kind: memory, share: true, sleep: true, buffer: 1MiB, read_size: 64KiB, "
    "write_size: 64KiB, read_rate: 20MB/s, write_rate: 10MB/s}"
)
"""So little that it disturbs nobody: on a machine with few CPUs it is on the generator's."""
IN_A_GUEST = SOFTLY.replace("kind: memory", "kind: memory-vm")
BESIDE = {
    "memory": SOFTLY,
    "stress": "--set=noise={kind: stress, share: true, load: irq, timer_frequency: 100}",
    "command": "--set=noise={kind: command, share: true, argv: [sleep, '999']}",
}
"""Kinds of noise that run as processes, each as little as it can."""
PATIENT = (
    "--set=trial.stretch_tolerance=100%",
    "--set=trial.offered_tolerance=100%",
    "--set=search.loss_ratio=100%",
)
"""Trials that stay valid whatever else runs on the machine."""
LONGER = (*FIXED, *PATIENT, "--set=search.loads=[100kfps]", "--set=search.duration=1s")


def searched(place: Place) -> list[Trial]:
    (case,) = place.records().cases()
    return [one for one in case.trials if one.purpose is Purpose.SEARCH]


def test_each_trial_says_what_noise_read_and_wrote_in_it(place: Place) -> None:
    ended = place(*FIXED, *PATIENT, SOFTLY)
    assert ended.code == 0, ended.out
    phases = ended.phases
    assert (
        phases.index("check the path") < phases.index("settle the noise") < phases.index("search")
    )
    (case,) = place.records().cases()
    paths = [one for one in case.trials if one.purpose is Purpose.PATH_CHECK]
    assert all(one.noise == () for one in paths), "it starts when the path is known"
    for trial in searched(place):
        (one,) = trial.noise
        assert one.read_bytes and one.written_bytes and one.cpu_ns
        assert one.elapsed_ns is not None
    assert case.record is not None and case.record.conditions is not None
    assert set(part_of(case.record.conditions.noise, "settled")) == {"noise 1"}
    shown = place("show", "latest", "smoke", "--all").out
    assert "noise 1: settled at" in shown


def test_noise_that_is_lost_costs_a_trial_and_not_the_case(place: Place) -> None:
    run = place.start(*LONGER, SOFTLY)
    run.wait_for("TrialStarted", purpose=Purpose.SEARCH)
    place.signal("noise-1", signal.SIGKILL)
    ended = run.end()
    assert ended.code == 0, ended.out
    lost, *others = searched(place)
    assert Flag.NOISE_ERROR in lost.flags
    assert not lost.valid
    assert lost.error is not None and "noise 1 was killed by SIGKILL" in lost.error
    assert [bool(one.noise) for one in others if one.valid] == [True]
    (case,) = place.records().cases()
    assert case.record is not None
    assert "measured anew on a fresh deployment" in "\n".join(case.record.warnings)
    shown = place("show", "latest", "smoke", "--all").out
    assert re.search(rf"#{lost.index} .* failed: noise 1 was killed by SIGKILL", shown), shown


@pytest.mark.needs("guests")
def test_noise_in_a_guest_counts_there_what_it_did(place: Place) -> None:
    ended = place(*FIXED, *PATIENT, IN_A_GUEST)
    assert ended.code == 0, ended.out
    for trial in searched(place):
        (one,) = trial.noise
        assert one.read_bytes and one.written_bytes
        assert one.elapsed_ns is not None


STRESSED = "--set=noise={{kind: stress-vm, share: true, load: cpu, {}}}"
GENTLY = STRESSED.format("cpu_share: 40, memory: 16MiB")


@pytest.mark.needs("guests", "stress-ng")
def test_stress_in_a_guest_takes_time_by_the_count_of_the_guest(place: Place) -> None:
    ended = place(*LONGER, GENTLY)
    assert ended.code == 0, ended.out
    for trial in searched(place):
        (one,) = trial.noise
        assert one.worked_ns, "the guest's own kernel saw it work"
        assert one.cpu_ns and one.elapsed_ns, "and this machine's gave it the time"
        assert one.read_bytes is None
    (case,) = place.records().cases()
    assert case.record is not None and case.record.conditions is not None
    told = case.record.conditions.noise["guests"]
    assert isinstance(told, list)
    (guest,) = told
    assert "/usr/bin/stress-ng" in guest["application"]["argv"]
    assert guest["guest"]["nics"] == [], "it has no network"


@pytest.mark.needs("guests", "stress-ng")
def test_words_that_stress_ng_does_not_know_are_its_last_ones_in_a_guest(place: Place) -> None:
    ended = place(*FIXED, STRESSED.format("arguments: [--make-coffee]"))
    assert ended.code == ExitCode.COMPONENT_FAILED, ended.out
    (case,) = place.records().cases()
    assert case.record is not None
    assert "the noise did not start" in case.record.reason
    assert "make-coffee" in case.record.reason
    assert "noise 1" in case.record.reason


@pytest.mark.needs("guests")
def test_a_guest_of_noise_that_is_killed_and_then_hangs_ends_the_case(place: Place) -> None:
    """It is killed in the first trial, and stopped in the one on the deployment after that."""
    run = place.start(*LONGER, IN_A_GUEST)
    for number, sent in enumerate((signal.SIGKILL, signal.SIGSTOP), start=1):
        run.wait_for("TrialStarted", number, purpose=Purpose.SEARCH)
        place.signal("noise-1", sent)
    ended = run.end()
    assert ended.code == ExitCode.COMPONENT_FAILED, ended.out
    said = ("noise 1 was killed by SIGKILL", "noise 1 is stopped")
    for trial, why in zip(searched(place), said, strict=True):
        assert Flag.NOISE_ERROR in trial.flags and not trial.valid
        assert trial.error is not None and why in trial.error
    (case,) = place.records().cases()
    assert case.record is not None
    assert said[0] in "\n".join(case.record.warnings)
    assert said[1] in case.record.reason


def hanging_guest(folder: Path) -> Path:
    """Make an image whose kernel does nothing but jump to where it is."""
    kernel = bytearray(4096)
    kernel[0x1F1] = 1  # sectors of code before what is loaded high
    kernel[0x1FE:0x200] = b"\x55\xaa"
    kernel[0x200:0x202] = b"\xeb\xfe"  # jump to itself, where a kernel begins
    kernel[0x202:0x206] = b"HdrS"
    kernel[0x206:0x208] = (0x0203).to_bytes(2, "little")
    kernel[0x211] = 1  # loaded high
    kernel[0x22C:0x230] = (0x37FFFFFF).to_bytes(4, "little")  # as far as a RAM disk may reach
    folder.mkdir()
    (folder / "vmlinuz").write_bytes(kernel)
    (folder / "initrd").write_bytes(b"")
    (folder / "manifest.json").write_text("{}")
    return folder


@pytest.mark.needs("guests")
def test_a_guest_that_hangs_at_boot_is_named_and_ended(place: Place, tmp_path: Path) -> None:
    guest = hanging_guest(tmp_path / "guest")
    kind = "kind: memory-vm, accelerator: tcg, settle_timeout: 3s"
    ended = place(*FIXED, SOFTLY.replace("kind: memory", kind), VSPERF_GUEST=str(guest))
    assert ended.code == ExitCode.COMPONENT_FAILED, ended.out
    (case,) = place.records().cases()
    assert case.record is not None
    assert case.record.outcome is Outcome.ERROR
    assert "nothing was heard of noise 1 within 3s" in case.record.reason
    assert "a guest that hangs" in case.record.reason


@pytest.mark.parametrize("load", ["io", "irq"])
@pytest.mark.needs("stress-ng")
def test_each_trial_says_that_stress_ng_ran_beside_it(place: Place, load: str) -> None:
    ended = place(*LONGER, f"--set=noise={{kind: stress, load: {load}, share: true}}")
    assert ended.code == 0, ended.out
    for trial in searched(place):
        (one,) = trial.noise
        assert one.elapsed_ns
        assert one.cpu_ns is not None
        assert one.read_bytes is None, "it counts no bytes, and none are made up"
    (case,) = place.records().cases()
    assert case.record is not None and case.record.conditions is not None
    assert case.record.conditions.noise["package"]


@pytest.mark.needs("stress-ng")
def test_stress_ng_that_does_not_understand_its_words_did_not_start(place: Place) -> None:
    ended = place(
        *FIXED, "--set=noise={kind: stress, load: io, share: true, arguments: [--make-coffee]}"
    )
    assert ended.code == ExitCode.COMPONENT_FAILED, ended.out
    (case,) = place.records().cases()
    assert case.record is not None
    assert "the noise did not start" in case.record.reason
    assert "make-coffee" in case.record.reason


@pytest.mark.parametrize("kind", ["memory", "stress", "command"])
def test_nothing_of_noise_outlives_a_run_that_is_killed(
    place: Place, kind: str, require: Callable[[str], None]
) -> None:
    if kind == "stress":
        require("stress-ng")
    run = place.start(*LONGER, BESIDE[kind])
    run.wait_for("TrialStarted", purpose=Purpose.SEARCH)
    run.send(signal.SIGKILL)
    run.process.wait()
    assert place("clean").code == 0
    assert place.traces() == []


def test_nothing_outlives_a_run_that_is_killed_while_its_noise_settles(place: Place) -> None:
    run = place.start(*LONGER, SOFTLY)
    run.wait_for("PhaseEntered", phase="settle the noise")
    run.wait_until(lambda: "noise-1" in place.programs().values())
    run.send(signal.SIGKILL)
    run.process.wait()
    assert place("clean").code == 0
    assert place.traces() == []


def test_a_program_that_ends_at_once_is_told_with_its_last_words(place: Place) -> None:
    argv = "[sh, -c, 'echo no licence >&2; exit 3']"
    words = f"--set=noise={{kind: command, share: true, argv: {argv}}}"
    ended = place(*FIXED, words, "--set=noise.steady=true")
    assert ended.code == ExitCode.COMPONENT_FAILED, ended.out
    (case,) = place.records().cases()
    assert case.record is not None
    assert case.record.outcome is Outcome.ERROR
    assert "the noise did not start" in case.record.reason
    assert "no licence" in case.record.reason


def test_a_program_that_is_missing_is_said_before_anything_is_started(place: Place) -> None:
    words = "--set=noise={kind: command, share: true, argv: [load-of-nobody]}"
    ended = place(*FIXED, words)
    assert ended.code == ExitCode.NOT_READY
    assert "the program load-of-nobody of the noise cannot be run" in ended.said
    assert not place.results.exists()


def test_parts_of_a_cache_are_refused_where_there_are_not_so_many(place: Place) -> None:
    ended = place(*FIXED, "--set=cache={switch: 64 ways}")
    assert ended.code == ExitCode.NOT_READY
    assert "cache" in ended.said
    assert not place.results.exists()
